//! The small tables: dimensions, time, tags, synchronization points, transportations, switches, update rates, notes.

use hemiola_hla::{ResignAction, Switch};
use roxmltree::Node;

use super::reader::{Reader, tag};
use crate::module::{
    DatatypeColumns, Dimension, Entry, Note, Setting, SwitchSetting, SynchronizationPoint, Target,
    Transportation, UpdateRate,
};
use crate::problem::ProblemKind;
use crate::word::{Capability, TAGS};

pub(super) fn dimensions(reader: &mut Reader, table: Node<'_, '_>) -> Vec<Entry<Dimension>> {
    const COLUMNS: &[&str] =
        &["name", "dataType", "upperBound", "normalization", "value", "semantics"];
    let nodes = reader.children(table, &["dimension"]);
    let read = |node| {
        let row = reader.row(node, COLUMNS, &[]);
        let value = Dimension {
            datatype: reader.reference(&row, "dataType", Target::Datatype),
            upper_bound: reader.number(&row, "upperBound", "number of points"),
            normalization: row.text("normalization"),
            default: row.text("value"),
        };
        reader.entry(&row, "name", value)
    };
    nodes.into_iter().filter_map(read).collect()
}

pub(super) fn time(reader: &mut Reader, table: Node<'_, '_>) -> Vec<Entry<DatatypeColumns>> {
    datatype_entries(reader, table, &["timeStamp", "lookahead"])
}

pub(super) fn tags(reader: &mut Reader, table: Node<'_, '_>) -> Vec<Entry<DatatypeColumns>> {
    datatype_entries(reader, table, &TAGS)
}

/// Reads elements whose tag is the name of the entry.
fn datatype_entries(
    reader: &mut Reader,
    table: Node<'_, '_>,
    names: &[&str],
) -> Vec<Entry<DatatypeColumns>> {
    let nodes = reader.children(table, names);
    let read = |node: Node<'_, '_>| {
        let row = reader.row(node, &["dataType", "semantics"], &[]);
        let value =
            DatatypeColumns { datatype: reader.reference(&row, "dataType", Target::Datatype) };
        row.named(node.tag_name().name().to_owned(), tag(node), value)
    };
    nodes.into_iter().map(read).collect()
}

pub(super) fn synchronization_points(
    reader: &mut Reader,
    table: Node<'_, '_>,
) -> Vec<Entry<SynchronizationPoint>> {
    const COLUMNS: &[&str] = &["label", "dataType", "capability", "semantics"];
    let nodes = reader.children(table, &["synchronizationPoint", "synchronization"]);
    let read = |node| {
        let row = reader.row(node, COLUMNS, &[]);
        let value = SynchronizationPoint {
            datatype: reader.reference(&row, "dataType", Target::Datatype),
            capability: reader.word(&row, "capability", Capability::NAMES, Capability::from_name),
        };
        reader.entry(&row, "label", value)
    };
    nodes.into_iter().filter_map(read).collect()
}

pub(super) fn transportations(
    reader: &mut Reader,
    table: Node<'_, '_>,
) -> Vec<Entry<Transportation>> {
    let nodes = reader.children(table, &["transportation"]);
    let read = |node| {
        let row = reader.row(node, &["name", "reliable", "semantics"], &[]);
        let value = Transportation { reliable: reader.truth(&row, "reliable") };
        reader.entry(&row, "name", value)
    };
    nodes.into_iter().filter_map(read).collect()
}

pub(super) fn switches(reader: &mut Reader, table: Node<'_, '_>) -> Vec<Entry<SwitchSetting>> {
    let names: Vec<&str> = Switch::ALL.iter().map(|switch| switch.name()).collect();
    let nodes = reader.children(table, &names);
    nodes.into_iter().filter_map(|node| switch(reader, node)).collect()
}

fn switch(reader: &mut Reader, node: Node<'_, '_>) -> Option<Entry<SwitchSetting>> {
    let switch = Switch::from_name(node.tag_name().name())?;
    let row = reader.row(node, &[], &[]);
    let column = if switch == Switch::AutomaticResignAction { "resignAction" } else { "isEnabled" };
    // A switch without its attribute is not set.
    let attribute = node.attributes().find(|attribute| attribute.name() == column)?;
    let setting = match (switch, attribute.value().trim()) {
        (Switch::AutomaticResignAction, text) => {
            ResignAction::from_name(text).map(Setting::Directive)
        }
        (_, "true" | "1") => Some(Setting::Enabled(true)),
        (_, "false" | "0") => Some(Setting::Enabled(false)),
        _ => None,
    };
    let span = attribute.range_value().into();
    let Some(setting) = setting else {
        let message = format!("{:?} is not a setting of {}", attribute.value(), switch.name());
        let directives: Vec<&str> = ResignAction::ALL.iter().map(|action| action.name()).collect();
        let hint = match switch {
            Switch::AutomaticResignAction => format!("one of: {}", directives.join(", ")),
            _ => "true or false".to_owned(),
        };
        reader.problem(ProblemKind::Invalid, span, message, &hint);
        return None;
    };
    Some(row.named(switch.name().to_owned(), span, SwitchSetting { switch, setting }))
}

pub(super) fn update_rates(reader: &mut Reader, table: Node<'_, '_>) -> Vec<Entry<UpdateRate>> {
    let nodes = reader.children(table, &["updateRate"]);
    let read = |node| {
        let row = reader.row(node, &["name", "rate", "semantics"], &[]);
        let rate: Option<f64> = reader.number(&row, "rate", "number of updates per second");
        if rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            let message = "an update rate must be positive".to_owned();
            reader.problem(
                ProblemKind::Invalid,
                row.span("rate"),
                message,
                "give updates per second",
            );
        }
        reader.entry(&row, "name", UpdateRate { rate })
    };
    nodes.into_iter().filter_map(read).collect()
}

pub(super) fn notes(reader: &mut Reader, table: Node<'_, '_>) -> Vec<Entry<Note>> {
    let nodes = reader.children(table, &["note"]);
    let read = |node| {
        let row = reader.row(node, &["label", "semantics"], &[]);
        let value = Note { text: row.text("semantics").unwrap_or_default() };
        reader.entry(&row, "label", value)
    };
    nodes.into_iter().filter_map(read).collect()
}
