//! `summary.json` of a model.

use crate::summary::Summary;

/// The text of `summary.json`, indented, with a newline at the end.
///
/// # Panics
/// Never: numbers, texts and lists under text keys always become JSON.
#[must_use]
pub fn write(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary)
        .expect("numbers, texts and lists under text keys always become JSON");
    text.push('\n');
    text
}
