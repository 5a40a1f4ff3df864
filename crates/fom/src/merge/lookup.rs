//! Names that have to lead somewhere, once all modules are together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contradiction;
use super::table::{Report, Said, Table};
use crate::model::{Model, enumerators, parts};
use crate::module::{Datatype, Entry, Module, Reference, Target};
use crate::problem::{Kind, Problem};
use crate::word::nearest;

/// A class that modules only name, to put others below it, has to be defined by one of them. Of classes inside one
/// another, the outermost is reported.
pub(super) fn classes_are_defined<T>(
    classes: &Table<'_, T>,
    defined: &BTreeSet<&str>,
    what: &str,
    modules: &[Arc<Module>],
    report: &mut Report,
) {
    for (name, said) in &classes.entries {
        let parent = name.rsplit_once('.').map(|(parent, _)| parent);
        // A root is the standard's: it needs no definition to be known.
        let Some(parent) = parent else { continue };
        let parent_is = !parent.contains('.') || defined.contains(parent);
        if defined.contains(name.as_str()) || !parent_is {
            continue;
        }
        let message = format!("{what} {name} is only named, no module defines it");
        let place = said[0].module.place(said[0].entry.span);
        let hint = missing_modules(said.iter().map(|said| said.module), modules);
        report.add(Problem::new(Kind::Incomplete, message).at(place, "").hint(hint));
    }
}

/// An attribute or parameter may not be declared again in a class below.
pub(super) fn members_are_declared_once<T>(table: &Table<'_, T>, what: &str, report: &mut Report) {
    for (path, said) in &table.entries {
        let Some((class, name)) = path.rsplit_once('.') else { continue };
        let above =
            std::iter::successors(class.rsplit_once('.').map(|(above, _)| above), |class| {
                class.rsplit_once('.').map(|(above, _)| above)
            });
        for above in above {
            let Some(other) = table.entries.get(&format!("{above}.{name}")) else { continue };
            let message = format!("{what} {path} is inherited from {above} already");
            report.add(contradiction(Kind::Inconsistent, message, &other[0], &said[0], "name"));
        }
    }
}

/// Where a module refers to something.
type Use<'m> = (&'m Arc<Module>, &'m Reference);

/// Every name that a module refers to is that of something. One problem for each name.
pub(super) fn references_lead_somewhere(
    modules: &[Arc<Module>],
    model: &Model,
    report: &mut Report,
) {
    let mut lost: BTreeMap<(Target, &str), Vec<Use<'_>>> = BTreeMap::new();
    for module in modules {
        for reference in &module.references {
            if !is_found(reference, module, model) {
                let key = (reference.target, reference.name.as_str());
                lost.entry(key).or_default().push((module, reference));
            }
        }
    }
    for ((target, name), uses) in lost {
        let (module, reference) = uses[0];
        let more = match uses.len() {
            1 => String::new(),
            count => format!(" ({count} places)"),
        };
        let what = target.name();
        let (kind, message) = match (target, model.datatype(name)) {
            (Target::Note, _) => {
                (Kind::Doubtful, format!("note {name} is not among those of this module"))
            }
            (_, Some(datatype)) => {
                let message = format!("{name} is a {}, where a {what} is needed", datatype.kind());
                (Kind::Inconsistent, message)
            }
            (_, None) => (Kind::Incomplete, format!("{what} {name} is not defined")),
        };
        let hint = match kind {
            Kind::Incomplete => {
                let elsewhere = missing_modules(uses.iter().map(|(module, _)| &***module), modules);
                let near = || nearest(name, candidates(target, model));
                if elsewhere.is_empty() {
                    near().map(|near| format!("did you mean {near}?")).unwrap_or_default()
                } else {
                    elsewhere
                }
            }
            _ => String::new(),
        };
        let place = module.place(reference.span);
        report.add(Problem::new(kind, message + &more).at(place, "").hint(hint));
    }
}

fn is_found(reference: &Reference, module: &Module, model: &Model) -> bool {
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
        Target::Note => module.notes.iter().any(|note| note.name == name),
    }
}

/// What a name could have been.
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

/// What to do where something is missing: the modules that these say they depend on, and that are not there.
fn missing_modules<'m>(
    referring: impl Iterator<Item = &'m Module>,
    modules: &[Arc<Module>],
) -> String {
    // Dependencies are named as people write them.
    let plain = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let there: BTreeSet<String> =
        modules.iter().map(|module| plain(&module.identification.name)).collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for module in referring {
        for (kind, name) in &module.identification.references {
            let name = name.trim();
            if kind == "Dependency" && !name.is_empty() && !there.contains(&plain(name)) {
                missing.entry(module.name()).or_default().insert(name);
            }
        }
    }
    let Some((module, names)) = missing.first_key_value() else { return String::new() };
    let names: Vec<&str> = names.iter().copied().collect();
    format!("{module} says it depends on {}, not given here", names.join(", "))
}

/// What data types say about each other: no circle, discriminants that choose, references that identify.
pub(super) fn datatypes_are_sound(modules: &[Arc<Module>], model: &Model, report: &mut Report) {
    let table = Table::of(modules, |module| &module.datatypes);
    for name in circles(model) {
        let Some(said) = table.entries.get(name).map(|said| &said[0]) else { continue };
        let message = format!("data type {name} contains itself");
        report.add(at(Kind::Doubtful, message, said, "name"));
    }
    for (name, said) in &table.entries {
        match model.datatype(name) {
            Some(Datatype::VariantRecord { .. }) => {
                for said in said {
                    discriminants_choose(name, said, model, report);
                }
            }
            Some(Datatype::Reference {
                class: Some(class), attribute: Some(attribute), ..
            }) => {
                // The second of the standard's own refers to a thing that every instance has, and
                // that is no attribute.
                let Some(handle) = model.object_class_named(class) else { continue };
                let implied = attribute == "HLAobjectInstanceHandle";
                if !implied && model.attribute_named(handle, attribute).is_none() {
                    let message = format!("object class {class} has no attribute {attribute}");
                    report.add(at(Kind::Inconsistent, message, &said[0], "referencedAttribute"));
                }
            }
            _ => {}
        }
    }
}

fn at<T>(kind: Kind, message: String, said: &Said<'_, T>, column: &str) -> Problem {
    Problem::new(kind, message).at(said.module.place(said.entry.span_of(column)), "")
}

/// The alternatives that one module gives a variant record are chosen by enumerators that there are.
fn discriminants_choose(name: &str, said: &Said<'_, Datatype>, model: &Model, report: &mut Report) {
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
    let names: Vec<&str> = enumerators(enumerated).iter().map(|one| one.name.as_str()).collect();
    for chosen in alternatives.iter().flat_map(|alternative| &alternative.enumerators) {
        let range = chosen.strip_prefix('[').and_then(|range| range.strip_suffix(']'));
        let ends: Vec<&str> = match range.and_then(|range| range.split_once("..")) {
            Some((first, last)) => vec![first.trim(), last.trim()],
            None => vec![chosen.as_str()],
        };
        for end in ends {
            if end != "HLAother" && !names.contains(&end) {
                let message =
                    format!("{discriminant} has no enumerator {end}, which chooses in {name}");
                let near = nearest(end, names.iter().copied());
                let hint = near.map(|near| format!("did you mean {near}?")).unwrap_or_default();
                report.add(at(Kind::Inconsistent, message, said, "name").hint(hint));
            }
        }
    }
}

/// The data types that contain themselves: of each circle the first name.
fn circles(model: &Model) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in model.datatypes.keys() {
        // Depth first, without recursion: a path, and what is left to visit at each step of it.
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut next = Some(start.as_str());
        loop {
            if let Some(name) = next.take() {
                if path.iter().any(|(on_path, _)| *on_path == name) {
                    let at = path.iter().position(|(on_path, _)| *on_path == name).unwrap_or(0);
                    found.extend(path[at..].iter().map(|(name, _)| *name).min());
                } else if let Some(datatype) = model.datatypes.get_key_value(name)
                    && done.insert(datatype.0)
                {
                    path.push((datatype.0, parts(&datatype.1.value)));
                }
            }
            match path.last_mut() {
                None => break,
                Some((_, left)) => match left.pop() {
                    Some(name) => next = Some(name),
                    None => drop(path.pop()),
                },
            }
        }
    }
    found
}
