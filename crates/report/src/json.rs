//! Results as JSON for other programs.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

/// `value` as indented JSON with a newline at the end.
///
/// # Panics
/// When `value` has no JSON form: a map whose keys are not text, or a failing `Serialize`.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data has a JSON form") + "\n"
}

/// Displays a value as [`pretty`] returns it, without holding the whole text: a report may have hundreds of megabytes.
#[derive(Debug)]
pub struct InPieces<'a, T>(pub &'a T);

/// How many bytes are passed on at once.
const PIECE: usize = 64 << 10;

impl<T: Serialize> fmt::Display for InPieces<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = BufWriter::with_capacity(PIECE, Text(f));
        serde_json::to_writer_pretty(&mut output, self.0).map_err(|_| fmt::Error)?;
        output.write_all(b"\n").and_then(|()| output.flush()).map_err(|_| fmt::Error)
    }
}

/// Takes whole strings as bytes. A buffer before it passes what was written to it on in the same pieces, or in several
/// of them at once.
struct Text<'f, 'a>(&'f mut fmt::Formatter<'a>);

impl Write for Text<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.write_str(text).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_pieces_the_text_is_the_same() {
        let long = "µs \"quoted\" \n".repeat(20_000);
        let short = |number: usize| "ä".repeat(number % 97);
        let value: Vec<(usize, String)> =
            (0..9_000).map(|number| (number, short(number))).collect();
        let value = (value, long, ());
        assert!(pretty(&value).len() > 8 * PIECE);
        assert_eq!(InPieces(&value).to_string(), pretty(&value));
    }
}
