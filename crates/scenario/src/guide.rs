//! The keys of a kind of file as Markdown tables, for the guides.

use crate::schema::{DefaultValue, Key, SHARE_MAX, Shape, Table};

/// A Markdown table for each table of a document, between comments that name it. `cargo xtask guides` copies them to
/// the guides.
#[must_use]
pub fn markdown(document: &'static Table) -> String {
    let mut tables = Vec::new();
    collect(document, &mut tables);
    tables.into_iter().map(block).collect()
}

/// The table and those inside it, each once, in the order of their keys.
fn collect(table: &'static Table, tables: &mut Vec<&'static Table>) {
    if tables.iter().any(|known| known.noun == table.noun) {
        return;
    }
    tables.push(table);
    for key in table.keys {
        if let Shape::One(inner) | Shape::Many(inner, _) | Shape::Named(inner, _) = key.shape {
            collect(inner, tables);
        }
    }
}

fn block(table: &Table) -> String {
    let has_owners = table.by.is_some();
    let (owners, rule) = if has_owners { (" of |", "---|") } else { ("", "") };
    let head = format!("| key |{owners} value | default | meaning |\n|---|{rule}---|---|---|\n");
    let rows: String = table.keys.iter().map(|key| row(key, has_owners)).collect();
    let noun = table.noun;
    format!("<!-- keys of {noun} -->\nKeys of {noun}:\n\n{head}{rows}<!-- end -->\n")
}

fn row(key: &Key, has_owners: bool) -> String {
    let name = if key.required { format!("**`{}`**", key.word) } else { format!("`{}`", key.word) };
    let owners = if has_owners { format!(" {} |", code(key.of)) } else { String::new() };
    let default = match key.default {
        DefaultValue::None => String::new(),
        DefaultValue::Constant(written) => format!("`{}`", written()),
        DefaultValue::Words(words) => words.to_owned(),
    };
    format!("| {name} |{owners} {} | {default} | {} |\n", value(&key.shape), key.doc)
}

/// The values that a shape permits.
fn value(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::Name => "name".into(),
        Shape::Texts => "list of texts".into(),
        Shape::Numbers(max) => format!("1 to {max} numbers"),
        Shape::Rows(max) => format!("1 to {max} rows of 1 to {max} numbers"),
        Shape::Word(words) => code(words),
        Shape::Words(words) => format!("{}, or a list", code(words)),
        Shape::Boolean => "boolean".into(),
        Shape::Whole(min, i64::MAX) => format!("whole number from {min}"),
        Shape::Whole(min, max) => format!("{min} to {max}"),
        Shape::Number(min, max) => format!("{min} to {max}"),
        Shape::Length => "duration".into(),
        Shape::LengthOrZero => "duration or `\"0\"`".into(),
        Shape::Rate => "rate".into(),
        Shape::Rates(max) => format!("rate, or a list of up to {max}"),
        Shape::Shares(max) => format!("0 to {SHARE_MAX}, or a list of up to {max}"),
        Shape::Size => "size".into(),
        Shape::Cpus => "processors".into(),
        Shape::Endpoint => "endpoint".into(),
        Shape::Delivery => "`\"latest\"` or `{ queue = N }`".into(),
        Shape::Gain => "gain".into(),
        Shape::Kinds => "`\"all\"`, or a list of faults".into(),
        Shape::Formula => "formula".into(),
        Shape::Formulas(max) => format!("up to {max} formulas"),
        Shape::NamedFormulas(max) => format!("up to {max} formulas by name"),
        Shape::One(_) => "table".into(),
        Shape::Many(_, max) => format!("up to {max} tables"),
        Shape::Named(_, max) => format!("up to {max} named tables"),
    }
}

/// The words as code, separated by commas.
fn code(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
