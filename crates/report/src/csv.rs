//! Fields of a comma-separated table (RFC 4180).

use crate::text::printable;

/// The field in quotes when it needs them. What could control a terminal is escaped, and a record is one line.
#[must_use]
pub fn quoted(field: &str) -> String {
    let field = printable(field);
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }

    #[test]
    fn what_could_control_a_terminal_is_escaped() {
        assert_eq!(quoted("a\x1b[31m\nb"), r"a\u{1b}[31m\u{a}b");
    }
}
