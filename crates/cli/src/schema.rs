//! `hemiola schema`: the keys of a kind of file.

use hemiola_scenario::document::{json_schema, markdown};

use crate::args::{FileKind, Schema};

/// The JSON schema, or Markdown tables.
pub(crate) fn text(schema: &Schema) -> String {
    let table = match schema.kind {
        FileKind::Scenario => hemiola_scenario::TABLE,
        FileKind::Model => hemiola_model::file::TABLE,
        FileKind::Experiment => hemiola_measure::experiment::TABLE,
    };
    if schema.markdown { markdown(table) } else { json_schema(table) }
}
