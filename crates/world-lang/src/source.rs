//! The texts of a definition, and places in them.

use std::fmt;
use std::ops::Range;

use crate::limits::SOURCES_LEN_MAX;

/// Bytes of the texts of a definition, which are numbered through in the order in which they were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// From the start of this span to the end of `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.end) }
    }
}

/// The texts of a definition.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

/// One text.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name that problems show.
    pub name: String,
    /// The text.
    pub text: String,
    start: u32,
}

/// The texts exceed [`SOURCES_LEN_MAX`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} makes the definition longer than {SOURCES_LEN_MAX} bytes; divide it into several universes"
)]
pub struct TooLong {
    /// The name of the text that did not fit.
    pub name: String,
}

/// A place as editors count it (Language Server Protocol, `Position`): both numbers from 0, columns in UTF-16 code
/// units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub character: u32,
}

impl Sources {
    /// One text.
    ///
    /// # Errors
    /// When it is too long.
    pub fn of(name: impl Into<String>, text: impl Into<String>) -> Result<Self, TooLong> {
        let mut sources = Self::default();
        sources.add(name, text)?;
        Ok(sources)
    }

    /// Adds a text.
    ///
    /// # Errors
    /// When the texts together are too long.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> Result<(), TooLong> {
        let (name, text) = (name.into(), text.into());
        // One byte between two texts, so that the end of one is not the start of the next.
        let start = self.files.last().map_or(0, |last| last.start as usize + last.text.len() + 1);
        if start + text.len() > SOURCES_LEN_MAX {
            return Err(TooLong { name });
        }
        self.files.push(Source { name, text, start: start as u32 });
        Ok(())
    }

    /// The texts in the order in which they were added.
    #[must_use]
    pub fn files(&self) -> &[Source] {
        &self.files
    }

    /// The text of a span, and its bytes in it.
    ///
    /// # Panics
    /// If there is no text.
    #[must_use]
    pub fn locate(&self, span: Span) -> (&Source, Range<usize>) {
        let after = self.files.partition_point(|file| file.start <= span.start);
        let file = &self.files[after.saturating_sub(1)];
        let inside = |at: u32| (at.saturating_sub(file.start) as usize).min(file.text.len());
        (file, inside(span.start)..inside(span.end))
    }

    /// The start and the end of a span as an editor counts.
    #[must_use]
    pub fn positions(&self, span: Span) -> Range<Position> {
        let (file, bytes) = self.locate(span);
        position(&file.text, bytes.start)..position(&file.text, bytes.end)
    }
}

impl Source {
    /// The text of a span of this text.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        &self.text[(span.start - self.start) as usize..(span.end - self.start) as usize]
    }

    /// The span of bytes of this text.
    #[must_use]
    pub fn span(&self, bytes: Range<usize>) -> Span {
        Span { start: self.start + bytes.start as u32, end: self.start + bytes.end as u32 }
    }
}

fn position(text: &str, at: usize) -> Position {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Position {
        line: before.matches('\n').count() as u32,
        character: before[line_start..].encode_utf16().count() as u32,
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_leads_back_to_its_file() {
        let mut sources = Sources::of("a", "one\n").unwrap();
        sources.add("b", "").unwrap();
        sources.add("c", "two").unwrap();
        let span = sources.files()[2].span(1..3);
        let (file, bytes) = sources.locate(span);
        assert_eq!((&*file.name, &file.text[bytes]), ("c", "wo"));
        let end = sources.files()[0].span(4..4);
        assert_eq!(sources.locate(end).0.name, "a");
        let far = Span { start: 900, end: 901 };
        assert_eq!(sources.locate(far), (&sources.files[2], 3..3));
    }

    #[test]
    fn columns_count_utf_16_code_units_for_editors() {
        let sources = Sources::of("a", "x\n// 𝄞ä y").unwrap();
        let at = sources.files()[0].text.find('y').unwrap();
        let range = sources.positions(sources.files()[0].span(at..at + 1));
        assert_eq!((range.start.to_string(), range.end.to_string()), ("1:7".into(), "1:8".into()));
    }

    #[test]
    fn texts_together_have_a_limit() {
        let mut sources = Sources::of("a", "x".repeat(SOURCES_LEN_MAX)).unwrap();
        assert_eq!(sources.add("b", ""), Err(TooLong { name: "b".into() }));
    }

    impl PartialEq for Source {
        fn eq(&self, other: &Self) -> bool {
            self.start == other.start && self.name == other.name
        }
    }
}
