//! `summary.json` of a model.

use crate::summary::Summary;

/// The text of `summary.json`, indented, with a newline at the end.
///
/// # Panics
/// Never: the summary contains only types with a JSON form.
#[must_use]
pub fn write(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary)
        .expect("the summary contains only types with a JSON form");
    text.push('\n');
    text
}
