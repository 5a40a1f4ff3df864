//! The tables of object classes with attributes, and of interaction classes with parameters.

use hemiola_hla::OrderType;
use roxmltree::Node;

use super::reader::{Reader, Row};
use crate::limits::CLASS_DEPTH_MAX;
use crate::module::{
    Attribute, DirectedInteraction, Entry, InteractionClass, InteractionClassColumns, ObjectClass,
    ObjectClassColumns, Parameter, Target,
};
use crate::problem::ProblemKind;
use crate::word::{Ownership, Sharing, UpdateType};

/// The root of all object classes.
pub(crate) const OBJECT_ROOT: &str = "HLAobjectRoot";
/// The root of all interaction classes.
pub(crate) const INTERACTION_ROOT: &str = "HLAinteractionRoot";

pub(super) fn objects(reader: &mut Reader, table: Node<'_, '_>) -> Vec<ObjectClass> {
    let mut classes = Vec::new();
    for node in reader.children(table, &["objectClass"]) {
        object_class(reader, node, None, &mut classes);
    }
    classes
}

pub(super) fn interactions(reader: &mut Reader, table: Node<'_, '_>) -> Vec<InteractionClass> {
    let mut classes = Vec::new();
    for node in reader.children(table, &["interactionClass"]) {
        interaction_class(reader, node, None, &mut classes);
    }
    classes
}

/// Reads the class as an entry under its full name. A class at the top must be the root.
fn class_entry<T>(
    reader: &mut Reader,
    row: &Row<'_>,
    parent: Option<&str>,
    root: &str,
    value: T,
) -> Option<Entry<T>> {
    let mut entry = reader.entry(row, "name", value)?;
    match parent {
        Some(parent) if parent.split('.').count() >= CLASS_DEPTH_MAX => {
            let message = format!("classes are nested more than {CLASS_DEPTH_MAX} deep");
            reader.problem(ProblemKind::Invalid, entry.span, message, "");
            return None;
        }
        Some(parent) => entry.name = format!("{parent}.{}", entry.name),
        None if entry.name != root => {
            let message = format!("the class {} is outside the root class", entry.name);
            let hint = format!("put it inside {root}");
            reader.problem(ProblemKind::Invalid, entry.span, message, &hint);
            return None;
        }
        None => {}
    }
    Some(entry)
}

/// Whether a class only names a class of another module, to put classes below it.
fn is_reference(row: &Row<'_>, below: &[Node<'_, '_>], parent: Option<&str>) -> bool {
    row.is_only_a_name()
        && row.inner.len() == below.len()
        && (!below.is_empty() || parent.is_none())
}

/// Appends a class and those below it.
fn object_class(
    reader: &mut Reader,
    node: Node<'_, '_>,
    parent: Option<&str>,
    classes: &mut Vec<ObjectClass>,
) {
    const COLUMNS: &[&str] = &["name", "sharing", "semantics"];
    const INNER: &[&str] = &["attribute", "objectClass", "directedInteraction", "dimensions"];
    let row = reader.row(node, COLUMNS, INNER);
    let value =
        ObjectClassColumns { sharing: sharing(reader, &row), dimensions: reader.dimensions(&row) };
    let Some(entry) = class_entry(reader, &row, parent, OBJECT_ROOT, value) else { return };
    let name = entry.name.clone();
    let below = row.all("objectClass");
    let attributes: Vec<_> =
        row.all("attribute").into_iter().filter_map(|node| attribute(reader, node)).collect();
    let directed_interactions: Vec<_> = row
        .all("directedInteraction")
        .into_iter()
        .filter_map(|node| directed_interaction(reader, node))
        .collect();
    let is_reference = is_reference(&row, &below, parent);
    if !reader.take_full_names(&entry, attributes.len() + directed_interactions.len()) {
        return;
    }
    classes.push(ObjectClass { entry, is_reference, attributes, directed_interactions });
    for node in below {
        object_class(reader, node, Some(&name), classes);
    }
}

fn attribute(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Attribute>> {
    const COLUMNS: &[&str] = &[
        "name",
        "dataType",
        "updateType",
        "updateCondition",
        "valueRequired",
        "ownership",
        "sharing",
        "transportation",
        "order",
        "semantics",
    ];
    let row = reader.row(node, COLUMNS, &["dimensions"]);
    let value = Attribute {
        datatype: reader.reference(&row, "dataType", Target::Datatype),
        update_type: reader.word(&row, "updateType", UpdateType::NAMES, UpdateType::from_name),
        update_condition: row.text("updateCondition"),
        value_required: reader.truth(&row, "valueRequired"),
        ownership: reader.word(&row, "ownership", Ownership::NAMES, Ownership::from_name),
        sharing: sharing(reader, &row),
        dimensions: reader.dimensions(&row),
        transportation: reader.reference(&row, "transportation", Target::Transportation),
        order: order(reader, &row),
    };
    reader.entry(&row, "name", value)
}

/// Reads an entry whose name refers to an interaction class.
fn directed_interaction(
    reader: &mut Reader,
    node: Node<'_, '_>,
) -> Option<Entry<DirectedInteraction>> {
    let row = reader.row(node, &["name", "sharing", "semantics"], &[]);
    let value = DirectedInteraction { sharing: sharing(reader, &row) };
    match reader.reference(&row, "name", Target::InteractionClass) {
        Some(name) => Some(row.named(name, row.span("name"), value)),
        None => {
            let message = "<directedInteraction> has no name of an interaction class";
            reader.problem(ProblemKind::Invalid, row.span("name"), message.to_owned(), "");
            None
        }
    }
}

/// Appends a class and those below it.
fn interaction_class(
    reader: &mut Reader,
    node: Node<'_, '_>,
    parent: Option<&str>,
    classes: &mut Vec<InteractionClass>,
) {
    const COLUMNS: &[&str] = &["name", "sharing", "transportation", "order", "semantics"];
    let row = reader.row(node, COLUMNS, &["parameter", "interactionClass", "dimensions"]);
    let value = InteractionClassColumns {
        sharing: sharing(reader, &row),
        dimensions: reader.dimensions(&row),
        transportation: reader.reference(&row, "transportation", Target::Transportation),
        order: order(reader, &row),
    };
    let Some(entry) = class_entry(reader, &row, parent, INTERACTION_ROOT, value) else { return };
    let name = entry.name.clone();
    let below = row.all("interactionClass");
    let parameters: Vec<_> =
        row.all("parameter").into_iter().filter_map(|node| parameter(reader, node)).collect();
    let is_reference = is_reference(&row, &below, parent);
    if !reader.take_full_names(&entry, parameters.len()) {
        return;
    }
    classes.push(InteractionClass { entry, is_reference, parameters });
    for node in below {
        interaction_class(reader, node, Some(&name), classes);
    }
}

fn parameter(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<Parameter>> {
    let row = reader.row(node, &["name", "dataType", "semantics"], &[]);
    let value = Parameter { datatype: reader.reference(&row, "dataType", Target::Datatype) };
    reader.entry(&row, "name", value)
}

fn sharing(reader: &mut Reader, row: &Row<'_>) -> Option<Sharing> {
    reader.word(row, "sharing", Sharing::NAMES, Sharing::from_name)
}

fn order(reader: &mut Reader, row: &Row<'_>) -> Option<OrderType> {
    reader.word(row, "order", &["Receive", "TimeStamp"], OrderType::from_name)
}
