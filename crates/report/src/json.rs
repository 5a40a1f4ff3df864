//! Results as JSON for other programs.

use serde::Serialize;

/// `value` as indented JSON with a newline at the end.
///
/// # Panics
/// When `value` has no JSON form: a map whose keys are not text, or a failing `Serialize`.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data has a JSON form") + "\n"
}
