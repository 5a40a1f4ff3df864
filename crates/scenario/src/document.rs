//! Reads TOML files of other crates as strictly as a scenario: only known keys, every problem at once.
//!
//! A crate declares its tables with [`sections!`](crate::sections) and a function that interprets the values read;
//! [`read`] does the rest.
//!
//! ```
//! use hemiola_scenario::document::{Declared, Section, Shape, read};
//! use hemiola_scenario::sections;
//! use hemiola_diagnostic::{Problem, render};
//!
//! sections! {
//!     /// A note.
//!     pub struct Note<'s> = "a note" {
//!         must title: &'s str, Shape::Text, "One line.";
//!         may weight: u32 = 1, Shape::Whole(1, 9), "From 1.";
//!     }
//! }
//! let weight = |note: Section<'_>| (Note::from_section(note).weight.value(), Vec::new());
//! let source = "titel = \"x\"\nweight = 10\n";
//! let problems: Vec<Problem> = read(source, Note::TABLE, weight).unwrap_err();
//! let text = render(&problems, source, "note.toml");
//! assert!(text.contains("did you mean \"title\"?") && text.contains("weight is 10"), "{text}");
//! assert_eq!(read("title = \"x\"", Note::TABLE, weight).unwrap(), 1);
//! ```

use std::ops::Range;

use toml::de::DeTable;

pub use toml::Spanned;
pub use toml::de::DeValue;

pub use crate::guide::markdown;
pub use crate::schema::{DefaultValue, Key, Shape, Table, json_schema};
pub use crate::section::{
    At, Declared, Entry, FormulaText, Named, OneOrMany, Read, Section, Word, Written,
};

use crate::shape;
use hemiola_diagnostic::Problem;

/// The longest file, far longer than any written by hand.
const SOURCE_LEN_MAX: usize = 1 << 20;

/// Checks a document against `schema` and returns its value from `interpret`.
///
/// `interpret` also runs on a document of the wrong shape, so that all problems are reported together. It sees
/// a value of the wrong shape as absent.
///
/// # Errors
/// All problems in the order of the text, after those without a place in it. If a line is not valid TOML, only
/// syntax errors and the shape of the other lines are reported, because the line's content is unknown.
pub fn read<T>(
    source: &str,
    schema: &Table,
    interpret: impl FnOnce(Section<'_>) -> (T, Vec<Problem>),
) -> Result<T, Vec<Problem>> {
    if source.len() > SOURCE_LEN_MAX {
        let message = format!("{} may have at most {} KiB", schema.noun, SOURCE_LEN_MAX / 1024);
        return Err(vec![Problem::new(None, message)]);
    }
    let (document, errors) = DeTable::parse_recoverable(source);
    // The empty range marks problems of the whole document; `in_order` clears it.
    let start = 0..0;
    let mut problems = Vec::new();
    shape::check(document.get_ref(), schema, start.clone(), &mut problems);
    if !errors.is_empty() {
        let syntax: Vec<Problem> = errors
            .iter()
            .map(|error| Problem::new(error.span().unwrap_or(start.clone()), error.message()))
            .collect();
        let unsure: Vec<Range<usize>> = syntax.iter().map(|s| lines(source, s)).collect();
        problems.retain(|problem| {
            let at = problem.span.clone().unwrap_or(start.clone());
            at != start && !unsure.iter().any(|lines| lines.contains(&at.start))
        });
        problems.extend(syntax);
        return Err(in_order(problems));
    }
    let (value, found) = interpret(Section::new(document.get_ref(), start));
    problems.extend(found);
    if problems.is_empty() { Ok(value) } else { Err(in_order(problems)) }
}

/// The byte range of the lines that a problem covers.
fn lines(source: &str, problem: &Problem) -> Range<usize> {
    let at = problem.span.clone().unwrap_or(0..0);
    let bytes = source.as_bytes();
    let before = &bytes[..at.start.min(bytes.len())];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let after = &bytes[at.end.clamp(start, bytes.len())..];
    let end = after
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |length| bytes.len() - after.len() + length);
    start..end + 1
}

fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    for problem in &mut problems {
        problem.span.take_if(|span| *span == (0..0));
    }
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| (span.start, span.end)));
    problems
}
