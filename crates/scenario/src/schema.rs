//! Tables of a document as data: their keys, and the shape of each value.
//!
//! [`crate::shape`] checks a document against these tables, and [`schema`] exports them for editors.

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::keys::Scenario;
use crate::section::{Declared, Section};

/// A table and its keys.
#[derive(Debug)]
pub struct Table {
    /// The table in a sentence: "a profile".
    pub noun: &'static str,
    /// Keys in the usual order.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// The key as it is written.
    pub word: &'static str,
    /// Whether the table must have it.
    pub required: bool,
    /// The shape of its value.
    pub shape: Shape,
    /// The words of another key, such as tasks, that permit this key; empty for all.
    pub of: &'static [&'static str],
    /// Its value where a file has none.
    pub default: DefaultValue,
    /// Its meaning in a sentence.
    pub doc: &'static str,
}

/// The value of a key where a file has none.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// No value.
    None,
    /// A constant, as TOML.
    Constant(fn() -> String),
    /// A value that depends on other keys or on the machine, in words.
    Words(&'static str),
}

impl DefaultValue {
    /// The default as it is written, or in words.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Constant(written) => Some(written()),
            Self::Words(words) => Some(words.into()),
        }
    }
}

impl Table {
    /// The keys of a section that `word` does not permit, and their places in the source.
    pub fn foreign<'t>(
        &'t self,
        word: &str,
        section: &Section<'_>,
    ) -> Vec<(&'t Key, Range<usize>)> {
        let foreign = self.keys.iter().filter(|key| !key.of.is_empty() && !key.of.contains(&word));
        foreign.filter_map(|key| Some((key, section.find(key.word)?))).collect()
    }

    /// The keys only for some words, among them `word`, that a section lacks.
    pub fn lacking(&self, word: &str, section: &Section<'_>) -> impl Iterator<Item = &Key> {
        self.keys
            .iter()
            .filter(move |key| key.of.contains(&word) && section.find(key.word).is_none())
    }
}

/// The shape of a value, checked before its meaning.
#[derive(Debug)]
pub enum Shape {
    /// Any string.
    Text,
    /// A string that is valid as a file name.
    Name,
    /// An array of strings.
    Texts,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// One of these strings, or a list of them.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// An integer from a minimum to a maximum.
    Whole(i64, i64),
    /// A finite number from a minimum to a maximum.
    Number(f64, f64),
    /// A duration above zero.
    Length,
    /// A duration, zero included.
    LengthOrZero,
    /// A frequency or a period.
    Rate,
    /// A frequency or a period, or a list with at most this many.
    Rates(usize),
    /// A percentage of a processor, or a list with at most this many.
    Shares(usize),
    /// A number of bytes.
    Size,
    /// A set of processors, or "first", or "last".
    Cpus,
    /// Mechanism and name.
    Endpoint,
    /// "latest" or { queue = N }.
    Delivery,
    /// A name or four numbers.
    Gain,
    /// "all" or an array of strings.
    Kinds,
    /// A formula: a string, or a bare number.
    Formula,
    /// An array of at most this many formulas.
    Formulas(usize),
    /// A table of at most this many formulas under names that the user chooses.
    NamedFormulas(usize),
    /// A table.
    One(&'static Table),
    /// An array of at most this many tables.
    Many(&'static Table, usize),
    /// A table of at most this many tables under names that the user chooses.
    Named(&'static Table, usize),
}

/// The longest queue: enough for a second of 1 kHz.
pub(crate) const QUEUE_LEN_MAX: i64 = 1024;
/// The largest share of a processor, percent. Linux throttles real-time processes at 95 % by default, and the
/// benchmark needs the rest.
pub(crate) const SHARE_MAX: f64 = 90.0;

/// The JSON schema (draft 2020-12) of a scenario, for editors that complete and check TOML.
///
/// It covers shapes only; the other checks of [`crate::read`] need the whole scenario.
#[must_use]
pub fn schema() -> String {
    schema_of(Scenario::TABLE, "Hemiola scenario")
}

/// The JSON schema (draft 2020-12) of another kind of file.
#[must_use]
pub fn schema_of(document: &Table, title: &str) -> String {
    let mut root = table(document);
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!(title));
    let mut text =
        serde_json::to_string_pretty(&Value::Object(root)).expect("a JSON value serialises");
    text.push('\n');
    text
}

fn table(table: &Table) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.keys {
        let mut value = shape(&key.shape);
        value.insert("description".into(), json!(key.doc));
        match key.default {
            DefaultValue::None => {}
            DefaultValue::Constant(written) => {
                value.insert("default".into(), toml_value(&written()));
            }
            DefaultValue::Words(words) => {
                let text = format!("{} Default: {words}.", key.doc);
                value.insert("description".into(), json!(text));
            }
        }
        properties.insert(key.word.into(), Value::Object(value));
    }
    let required: Vec<_> = table.keys.iter().filter(|key| key.required).map(|k| k.word).collect();
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("required".into(), json!(required));
    object.insert("additionalProperties".into(), json!(false));
    object
}

/// A TOML value as JSON.
fn toml_value(text: &str) -> Value {
    let table: toml::Table =
        format!("value = {text}").parse().expect("a default is written as TOML");
    serde_json::to_value(&table["value"]).expect("a TOML value converts to JSON")
}

fn shape(shape: &Shape) -> Map<String, Value> {
    const LENGTH: &str = r"^\s*\+?[0-9][0-9_.]*\s*(ns|us|µs|ms|s|min|h)\s*$";
    let formula = json!({"type": ["string", "number"]});
    let value = match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Name => json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}),
        Shape::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Words(words) => json!({"oneOf": [
            {"enum": words},
            {"type": "array", "items": {"enum": words}, "minItems": 1, "maxItems": words.len()},
        ]}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Number(min, max) => json!({"type": "number", "minimum": min, "maximum": max}),
        Shape::Length => json!({"type": "string", "pattern": LENGTH}),
        Shape::LengthOrZero => json!({"type": "string", "pattern": format!("{LENGTH}|^0$")}),
        Shape::Rate => json!({"type": "string", "examples": ["50Hz", "1kHz", "20ms"]}),
        Shape::Rates(max) => json!({"oneOf": [
            {"type": "string", "examples": ["50Hz", "1kHz", "20ms"]},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": max},
        ]}),
        Shape::Shares(max) => {
            let share = json!({"type": "number", "minimum": 0, "maximum": SHARE_MAX});
            json!({"oneOf": [
                share,
                {"type": "array", "items": share, "minItems": 1, "maxItems": max},
            ]})
        }
        Shape::Size => json!({"type": "string", "examples": ["64KiB"]}),
        Shape::Cpus => json!({"type": "string", "examples": ["0", "0,2-3", "first", "last"]}),
        Shape::Endpoint => {
            json!({"type": "string", "pattern": "^(local|shm|mq|pubsub):[A-Za-z0-9._-]{1,64}$"})
        }
        Shape::Delivery => json!({"oneOf": [
            {"const": "latest"},
            {
                "type": "object",
                "properties": {
                    "queue": {"type": "integer", "minimum": 1, "maximum": QUEUE_LEN_MAX},
                },
                "required": ["queue"],
                "additionalProperties": false,
            },
        ]}),
        Shape::Gain => json!({"oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
        ]}),
        Shape::Kinds => json!({"oneOf": [
            {"const": "all"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]}),
        Shape::Formula => formula,
        Shape::Formulas(max) => json!({"type": "array", "items": formula, "maxItems": max}),
        Shape::NamedFormulas(max) => json!({
            "type": "object",
            "additionalProperties": formula,
            "maxProperties": max,
        }),
        Shape::One(one) => return table(one),
        Shape::Many(many, max) => json!({"type": "array", "items": table(many), "maxItems": max}),
        Shape::Named(named, max) => json!({
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z0-9._-]{1,64}$"},
            "additionalProperties": table(named),
            "maxProperties": max,
        }),
    };
    match value {
        Value::Object(object) => object,
        _ => unreachable!("every arm above is an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(table: &'static Table, check: &mut dyn FnMut(&'static Table)) {
        check(table);
        for key in table.keys {
            if let Shape::One(inner) | Shape::Many(inner, _) | Shape::Named(inner, _) = key.shape {
                visit(inner, check);
            }
        }
    }

    #[test]
    fn every_key_of_a_table_is_unique() {
        visit(Scenario::TABLE, &mut |table| {
            let mut words: Vec<_> = table.keys.iter().map(|key| key.word).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), table.keys.len(), "{}", table.noun);
        });
    }

    #[test]
    fn the_schema_is_json_and_every_key_has_a_description() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let unit = &schema["properties"]["variant"]["items"]["properties"]["units"]["items"];
        assert_eq!(unit["required"], json!(["name"]));
        visit(Scenario::TABLE, &mut |table| {
            assert!(table.keys.iter().all(|key| key.doc.ends_with(['.', '…'])), "{}", table.noun);
        });
    }
}
