//! The keys of every kind of file: code, JSON schema and guide agree.

use std::process::Command;

use serde_json::Value;

use crate::command::PROGRAM;

fn schema(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM).arg("schema").args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Whether some table of the schema has the key.
fn has_key(schema: &Value, key: &str) -> bool {
    match schema {
        Value::Object(object) => {
            object.get("properties").is_some_and(|keys| keys.get(key).is_some())
                || object.values().any(|value| has_key(value, key))
        }
        Value::Array(items) => items.iter().any(|item| has_key(item, key)),
        _ => false,
    }
}

#[test]
fn guide_and_schema_have_the_keys_of_the_code() {
    let guides = [
        ("scenario", include_str!("../../../docs/guide/scenario.md")),
        ("model", include_str!("../../../docs/reference/model.md")),
        ("experiment", include_str!("../../../docs/guide/measure.md")),
    ];
    for (kind, guide) in guides {
        let keys: Value = serde_json::from_str(&schema(&[kind])).unwrap();
        let tables = schema(&[kind, "--markdown"]);
        for table in tables.split_inclusive("<!-- end -->\n") {
            assert!(guide.contains(table), "run `cargo xtask guides`; {kind} lacks:\n{table}");
            for row in table.lines().filter(|row| row.starts_with("| `") || row.starts_with("| **"))
            {
                let key = row.split('`').nth(1).unwrap();
                assert!(has_key(&keys, key), "{kind}: {key}");
            }
        }
    }
    assert_eq!(schema(&[]), schema(&["scenario"]));
}
