//! Tables of a document as data: their keys, and the shape of each value.
//!
//! [`crate::shape`] checks a document against these tables, [`json_schema`] exports them for editors, and
//! [`markdown`](crate::document::markdown) for the guides.

use hemiola_plant::STATES_MAX;
use serde_json::{Map, Value, json};

/// A table and its keys.
#[derive(Debug)]
pub struct Table {
    /// The table in a sentence: "a profile".
    pub noun: &'static str,
    /// The key whose word permits or forbids other keys, such as `task`.
    pub by: Option<&'static str>,
    /// Keys in the usual order.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// The key as it is written.
    pub word: &'static str,
    /// Whether the table must have it, where it is permitted.
    pub required: bool,
    /// The shape of its value.
    pub shape: Shape,
    /// The words of the key `by` that permit this key; empty for all.
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

/// The shape of a value, checked before its meaning.
#[derive(Debug)]
pub enum Shape {
    /// Any string.
    Text,
    /// A string that is valid as a file name.
    Name,
    /// An array of strings.
    Texts,
    /// An array of 1 to this many numbers.
    Numbers(usize),
    /// An array of 1 to this many arrays of as many numbers.
    Rows(usize),
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

/// The JSON schema (draft 2020-12) of a kind of file, for editors that complete and check TOML.
///
/// It covers shapes only; the other checks need the whole file.
#[must_use]
pub fn json_schema(document: &Table) -> String {
    let mut root = table(document);
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!(format!("Hemiola: {}", document.noun)));
    let mut text =
        serde_json::to_string_pretty(&Value::Object(root)).expect("a JSON value serialises");
    text.push('\n');
    text
}

fn numbers(max: usize) -> Value {
    json!({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": max})
}

fn table(table: &Table) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.keys {
        let mut value = shape(&key.shape);
        value.insert("description".into(), json!(description(key)));
        if let DefaultValue::Constant(written) = key.default {
            value.insert("default".into(), toml_value(&written()));
        }
        properties.insert(key.word.into(), Value::Object(value));
    }
    let required: Vec<_> =
        table.keys.iter().filter(|k| k.required && k.of.is_empty()).map(|k| k.word).collect();
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("required".into(), json!(required));
    object.insert("additionalProperties".into(), json!(false));
    object
}

/// The meaning of a key, the words that permit it, and a default that depends on other keys.
fn description(key: &Key) -> String {
    let of = if key.of.is_empty() { String::new() } else { format!("Of {}: ", key.of.join(", ")) };
    match key.default {
        DefaultValue::Words(words) => format!("{of}{} Default: {words}.", key.doc),
        _ => format!("{of}{}", key.doc),
    }
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
        Shape::Numbers(max) => numbers(*max),
        Shape::Rows(max) => {
            json!({"type": "array", "items": numbers(*max), "minItems": 1, "maxItems": max})
        }
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
            numbers(STATES_MAX),
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
    use crate::keys::Scenario;
    use crate::section::Declared;

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
        let schema: Value = serde_json::from_str(&json_schema(Scenario::TABLE)).unwrap();
        let unit = &schema["properties"]["variant"]["items"]["properties"]["units"]["items"];
        assert_eq!(unit["required"], json!(["name"]));
        visit(Scenario::TABLE, &mut |table| {
            assert!(table.keys.iter().all(|key| key.doc.ends_with(['.', '…'])), "{}", table.noun);
        });
    }
}
