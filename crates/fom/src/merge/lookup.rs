//! Checks of names across all modules: every name that is used must be defined.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contradiction;
use super::table::{Report, Said, Table};
use crate::model::{Model, enumerators, parts};
use crate::module::{Datatype, Entry, Module, Reference, Target};
use crate::problem::{Problem, ProblemKind};

/// Reports classes that modules name as parents but no module defines. Of nested classes, only the outermost is
/// reported.
pub(super) fn classes_are_defined<T>(
    classes: &Table<'_, T>,
    defined: &BTreeSet<&str>,
    what: &str,
    report: &mut Report,
) {
    for (name, said) in &classes.entries {
        let parent = name.rsplit_once('.').map(|(parent, _)| parent);
        // The roots are defined by the standard.
        let Some(parent) = parent else { continue };
        let parent_is_defined = !parent.contains('.') || defined.contains(parent);
        if defined.contains(&**name) || !parent_is_defined {
            continue;
        }
        let message = format!("{what} {name} is named but not defined by any module");
        let place = said[0].module.place(said[0].entry.span);
        let hint = report.missing_modules(said.iter().map(|said| said.module));
        report.add(Problem::new(ProblemKind::Incomplete, message).at(place, "").hint(hint));
    }
}

/// Reports attributes and parameters that a class declares although it inherits them. For each class, `names` has what
/// it declares, and `parents` its parent.
pub(super) fn members_are_declared_once<T, H>(
    table: &Table<'_, T>,
    names: &[BTreeMap<String, H>],
    parents: &[Option<usize>],
    class_name: impl Fn(usize) -> String,
    what: &str,
    report: &mut Report,
) {
    for (class, own) in names.iter().enumerate() {
        for name in own.keys() {
            let ancestors = std::iter::successors(parents[class], |above| parents[*above]);
            for above in ancestors.filter(|above| names[*above].contains_key(name)) {
                let [path, other] = [class, above].map(|at| format!("{}.{name}", class_name(at)));
                let declared = [&path, &other].map(|path| table.entries.get(path.as_str()));
                let [Some(said), Some(first)] = declared else { continue };
                let above = class_name(above);
                let message = format!("{what} {path} is already inherited from {above}");
                let kind = ProblemKind::Inconsistent;
                report.add(contradiction(kind, message, &first[0], &said[0], "name"));
            }
        }
    }
}

/// A reference and the module that contains it.
type Use<'m> = (&'m Arc<Module>, &'m Reference);

/// Reports references to names that no module defines, one problem for each name.
pub(super) fn references_are_defined(modules: &[Arc<Module>], model: &Model, report: &mut Report) {
    let mut undefined: BTreeMap<(Target, &str), Vec<Use<'_>>> = BTreeMap::new();
    for module in modules {
        let notes: BTreeSet<&str> = module.notes.iter().map(|note| note.name.as_str()).collect();
        for reference in &module.references {
            if !is_defined(reference, &notes, model) {
                let key = (reference.target, reference.name.as_str());
                undefined.entry(key).or_default().push((module, reference));
            }
        }
    }
    for ((target, name), uses) in undefined {
        let (module, reference) = uses[0];
        let more = match uses.len() {
            1 => String::new(),
            count => format!(" ({count} places)"),
        };
        let what = target.name();
        let (kind, message) = match (target, model.datatype(name)) {
            (Target::Note, _) => (ProblemKind::Doubtful, format!("this module has no note {name}")),
            (_, Some(datatype)) => {
                let message =
                    format!("{name} is {}, but {} is required", a(datatype.kind()), a(what));
                (ProblemKind::Inconsistent, message)
            }
            (_, None) => (ProblemKind::Incomplete, format!("{what} {name} is not defined")),
        };
        let hint = match kind {
            ProblemKind::Incomplete => {
                let missing = report.missing_modules(uses.iter().map(|(module, _)| &***module));
                if missing.is_empty() {
                    report.did_you_mean(name, || candidates(target, model))
                } else {
                    missing
                }
            }
            _ => String::new(),
        };
        let place = module.place(reference.span);
        report.add(Problem::new(kind, message + &more).at(place, "").hint(hint));
    }
}

fn is_defined(reference: &Reference, notes: &BTreeSet<&str>, model: &Model) -> bool {
    let name = reference.name.as_str();
    let datatype = || model.datatype(name);
    match reference.target {
        Target::Datatype => datatype().is_some(),
        Target::Representation => matches!(datatype(), Some(Datatype::Basic { .. })),
        Target::Discriminant => matches!(datatype(), Some(Datatype::Enumerated { .. })),
        Target::FixedRecord => matches!(datatype(), Some(Datatype::FixedRecord { .. })),
        Target::Transportation => model.transportation_named(name).is_some(),
        Target::Dimension => model.dimension_named(name).is_some(),
        Target::ObjectClass => model.object_class_named(name).is_some(),
        Target::InteractionClass => model.interaction_class_named(name).is_some(),
        Target::Note => notes.contains(name),
    }
}

/// Returns the names that a reference to this target may have.
fn candidates(target: Target, model: &Model) -> Vec<&str> {
    match target {
        Target::Datatype | Target::Representation | Target::Discriminant | Target::FixedRecord => {
            model.datatypes.keys().map(String::as_str).collect()
        }
        Target::Transportation => {
            model.transportations.iter().map(|kind| kind.name.as_str()).collect()
        }
        Target::Dimension => model.dimensions.iter().map(|one| one.name.as_str()).collect(),
        Target::ObjectClass => model.object_classes.iter().map(|one| one.name.as_str()).collect(),
        Target::InteractionClass => {
            model.interaction_classes.iter().map(|one| one.name.as_str()).collect()
        }
        Target::Note => Vec::new(),
    }
}

/// Checks the data types against each other: cycles, the discriminants of variant records, and the attributes of
/// reference types.
pub(super) fn check_datatypes(modules: &[Arc<Module>], model: &Model, report: &mut Report) {
    let table = Table::of(modules, |module| &module.datatypes);
    let mut choices = BTreeMap::new();
    for name in cycles(model) {
        let Some(said) = table.entries.get(name).map(|said| &said[0]) else { continue };
        let message = format!("data type {name} contains itself");
        report.add(at(ProblemKind::Doubtful, message, said, "name"));
    }
    for (name, said) in &table.entries {
        match model.datatype(name) {
            Some(Datatype::VariantRecord { .. }) => {
                for said in said {
                    check_discriminants(name, said, model, &mut choices, report);
                }
            }
            Some(Datatype::Reference {
                class: Some(class), attribute: Some(attribute), ..
            }) => {
                // The standard's own reference type names the handle of an instance, which is not an attribute.
                let Some(handle) = model.object_class_named(class) else { continue };
                let implied = attribute == "HLAobjectInstanceHandle";
                if !implied && model.attribute_named(handle, attribute).is_none() {
                    let message = format!("object class {class} has no attribute {attribute}");
                    report.add(at(
                        ProblemKind::Inconsistent,
                        message,
                        &said[0],
                        "referencedAttribute",
                    ));
                }
            }
            _ => {}
        }
    }
}

fn at<T>(kind: ProblemKind, message: String, said: &Said<'_, T>, column: &str) -> Problem {
    Problem::new(kind, message).at(said.module.place(said.entry.span_of(column)), "")
}

/// Reports alternatives of a variant record that are chosen by undefined enumerators. `choices` caches the enumerators
/// of the discriminants.
fn check_discriminants<'m>(
    name: &str,
    said: &Said<'m, Datatype>,
    model: &'m Model,
    choices: &mut BTreeMap<&'m str, BTreeSet<&'m str>>,
    report: &mut Report,
) {
    let Entry { value: Datatype::VariantRecord { alternatives, datatype, .. }, .. } = said.entry
    else {
        return;
    };
    let discriminant = match (datatype, model.datatype(name)) {
        (Some(discriminant), _)
        | (None, Some(Datatype::VariantRecord { datatype: Some(discriminant), .. })) => {
            discriminant
        }
        _ => return,
    };
    let Some(enumerated @ Datatype::Enumerated { .. }) = model.datatype(discriminant) else {
        return;
    };
    let names = choices
        .entry(discriminant)
        .or_insert_with(|| enumerators(enumerated).iter().map(|one| one.name.as_str()).collect());
    for chosen in alternatives.iter().flat_map(|alternative| &alternative.enumerators) {
        let range = chosen.strip_prefix('[').and_then(|range| range.strip_suffix(']'));
        let ends: Vec<&str> = match range.and_then(|range| range.split_once("..")) {
            Some((first, last)) => vec![first.trim(), last.trim()],
            None => vec![chosen.as_str()],
        };
        for end in ends {
            if end != "HLAother" && !names.contains(end) {
                let message = format!(
                    "{discriminant} has no enumerator {end}, which an alternative of {name} names"
                );
                let hint = report.did_you_mean(end, || names.iter().copied().collect());
                report.add(at(ProblemKind::Inconsistent, message, said, "name").hint(hint));
            }
        }
    }
}

/// Returns the data types that contain themselves: of each group of types that contain each other, the first by name.
///
/// Finds the strongly connected components with Tarjan's algorithm ("Depth-first search and linear graph algorithms",
/// 1972), with a path instead of recursion.
fn cycles(model: &Model) -> BTreeSet<&str> {
    const UNVISITED: usize = usize::MAX;
    let names: Vec<&str> = model.datatypes.keys().map(String::as_str).collect();
    let contained: Vec<Vec<usize>> = model
        .datatypes
        .values()
        .map(|datatype| {
            let parts = parts(&datatype.value).into_iter();
            parts.filter_map(|part| names.binary_search(&part).ok()).collect()
        })
        .collect();
    let mut found = BTreeSet::new();
    // For each type: when it was visited, and the earliest visit it can reach within its component.
    let mut visit = vec![UNVISITED; names.len()];
    let mut earliest = visit.clone();
    // Visited types whose component is not complete.
    let mut open: Vec<usize> = Vec::new();
    let mut is_open = vec![false; names.len()];
    let mut visits = 0;
    for start in 0..names.len() {
        // The types on the way from `start`, and how many parts of each have been followed.
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut next = (visit[start] == UNVISITED).then_some(start);
        loop {
            if let Some(at) = next.take() {
                (visit[at], earliest[at], is_open[at]) = (visits, visits, true);
                visits += 1;
                open.push(at);
                path.push((at, 0));
            }
            let Some((at, followed)) = path.last_mut() else { break };
            let at = *at;
            if let Some(&part) = contained[at].get(*followed) {
                *followed += 1;
                if visit[part] == UNVISITED {
                    next = Some(part);
                } else if is_open[part] {
                    earliest[at] = earliest[at].min(visit[part]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                earliest[*parent] = earliest[*parent].min(earliest[at]);
            }
            if earliest[at] < visit[at] {
                continue;
            }
            let (mut first, mut is_cycle) = (at, contained[at].contains(&at));
            while let Some(member) = open.pop() {
                is_open[member] = false;
                if member == at {
                    break;
                }
                (first, is_cycle) = (first.min(member), true);
            }
            found.extend(is_cycle.then_some(names[first]));
        }
    }
    found
}

/// Returns a noun with its indefinite article.
fn a(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}
