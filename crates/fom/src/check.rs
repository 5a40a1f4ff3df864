//! Checks one module by itself.

use std::collections::BTreeMap;

use crate::module::{Datatype, Entry, Module};
use crate::problem::{Problem, ProblemKind, Span};

/// Reports names that are declared twice in a table of the module.
pub(crate) fn check(module: &Module) -> Vec<Problem> {
    let mut names = Names { module, problems: Vec::new() };
    let Module { object_classes, interaction_classes, .. } = module;
    names.once("object class", object_classes.iter().map(|class| key(&class.entry)));
    for class in object_classes {
        names.once("attribute", class.attributes.iter().map(key));
        names.once("directed interaction", class.directed_interactions.iter().map(key));
    }
    names.once("interaction class", interaction_classes.iter().map(|class| key(&class.entry)));
    for class in interaction_classes {
        names.once("parameter", class.parameters.iter().map(key));
    }
    names.once("dimension", module.dimensions.iter().map(key));
    names.once("time", module.time.iter().map(key));
    names.once("tag", module.tags.iter().map(key));
    names.once("synchronization point", module.synchronization_points.iter().map(key));
    names.once("transportation", module.transportations.iter().map(key));
    names.once("switch", module.switches.iter().map(key));
    names.once("update rate", module.update_rates.iter().map(key));
    names.once("note", module.notes.iter().map(key));
    names.once("data type", module.datatypes.iter().map(key));
    for entry in &module.datatypes {
        let (what, parts): (&str, Vec<&str>) = match &entry.value {
            Datatype::Enumerated { enumerators, .. } => {
                ("enumerator", enumerators.iter().map(|one| one.name.as_str()).collect())
            }
            Datatype::FixedRecord { fields, .. } => {
                ("field", fields.iter().map(|one| one.name.as_str()).collect())
            }
            Datatype::VariantRecord { alternatives, .. } => {
                let chosen = alternatives.iter().flat_map(|one| &one.enumerators);
                ("enumerator of an alternative", chosen.map(String::as_str).collect())
            }
            _ => continue,
        };
        // The RTI does not encode values: to a federation, an enumerator that stands twice means the same as once.
        let kind = match &entry.value {
            Datatype::Enumerated { .. } => ProblemKind::Irregular,
            _ => ProblemKind::Invalid,
        };
        names.unique(kind, what, parts.into_iter().map(|name| (name, entry.span)));
    }
    names.problems
}

fn key<T>(entry: &Entry<T>) -> (&str, Span) {
    (&entry.name, entry.span)
}

struct Names<'m> {
    module: &'m Module,
    problems: Vec<Problem>,
}

impl Names<'_> {
    /// Reports each repeated name, with both places.
    fn once<'n>(&mut self, what: &str, names: impl Iterator<Item = (&'n str, Span)>) {
        self.unique(ProblemKind::Invalid, what, names);
    }

    /// Reports each repeated name as this kind of problem, with both places.
    fn unique<'n>(
        &mut self,
        kind: ProblemKind,
        what: &str,
        names: impl Iterator<Item = (&'n str, Span)>,
    ) {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for (name, span) in names {
            let Some(first) = seen.get(name) else {
                seen.insert(name, span);
                continue;
            };
            let problem = Problem::new(kind, format!("{what} {name} is declared twice"))
                .at(self.module.place(span), "again here");
            // The parts of a data type have only the place of the data type.
            self.problems.push(if *first == span {
                problem
            } else {
                problem.at(self.module.place(*first), "first here")
            });
        }
    }
}
