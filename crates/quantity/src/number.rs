//! The parser for the number at the start of a text.

/// The number at the start of a text, without a sign, and its length in bytes: `1_000`, `2.5`, `.5`, `1e-3`.
/// A number that is too large for `f64` is infinite.
#[must_use]
pub fn number_at_start(text: &str) -> Option<(f64, usize)> {
    let digits = |from: usize| {
        from + text[from..].bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count()
    };
    let bytes = text.as_bytes();
    let digit_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = if digit_at(0) { digits(0) } else { 0 };
    if bytes.get(end) == Some(&b'.') && (end > 0 || digit_at(1)) {
        end = digits(end + 1);
    }
    if end == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit_at(end + 1 + signed) {
            end = digits(end + 1 + signed);
        }
    }
    text[..end].replace('_', "").parse().ok().map(|number| (number, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_where_its_unit_or_an_operator_begins() {
        for (text, number, taken) in [
            ("80 µs", 80.0, 2),
            ("1_000B", 1000.0, 5),
            ("2.5e-3s", 0.0025, 6),
            (".5", 0.5, 2),
            ("1e", 1.0, 1),
            ("3eV", 3.0, 1),
            ("1e+x", 1.0, 1),
            ("7-2", 7.0, 1),
            ("1e999", f64::INFINITY, 5),
        ] {
            assert_eq!(number_at_start(text), Some((number, taken)), "{text}");
        }
        for text in ["", "x", "-1", ".", "_1", "e5"] {
            assert_eq!(number_at_start(text), None, "{text}");
        }
    }
}
