//! What is wrong with modules, where, and what to do about it; as data and as text for a terminal.
//!
//! Not the problems of `scenario`: these stand in one of many files, and often in two at once.

use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use hemiola_hla::Exception;

/// The text of one module and what it is called.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Its designator: a file name, or the name of an entry in an archive.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// Without the text, which would drown everything around it.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?}, {} bytes)", self.name, self.text.len())
    }
}

/// A piece of a source's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        // Sources are far shorter than 4 GiB: see `limits`.
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: narrow(range.start), end: narrow(range.end) }
    }
}

/// A piece of a certain source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The source.
    pub source: Arc<Source>,
    /// The piece.
    pub span: Span,
}

impl Place {
    /// Its line and column, both from 1; columns count characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let shown = Shown::find(self);
        (shown.line, shown.column)
    }

    /// `file:line:column`.
    #[must_use]
    pub fn name(&self) -> String {
        let (line, column) = self.line_column();
        format!("{}:{line}:{column}", self.source.name)
    }
}

/// The kind of a problem, which decides the exception that a federate gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// There is only a URL, which an RTI does not follow.
    Unopened,
    /// The module cannot be read: it is not an archive, not XML, or too large.
    Unreadable,
    /// The module by itself violates the rules of object models.
    Invalid,
    /// The modules contradict each other.
    Inconsistent,
    /// The modules refer to something that none of them defines.
    Incomplete,
    /// A warning: valid, but probably not intended.
    Doubtful,
}

impl ProblemKind {
    /// Returns the standard's exception for this kind of problem; `None` for a warning.
    #[must_use]
    pub const fn exception(self) -> Option<Exception> {
        match self {
            Self::Unopened => Some(Exception::CouldNotOpenFOM),
            Self::Unreadable => Some(Exception::ErrorReadingFOM),
            Self::Invalid => Some(Exception::InvalidFOM),
            Self::Inconsistent | Self::Incomplete => Some(Exception::InconsistentFOM),
            Self::Doubtful => None,
        }
    }
}

/// A problem with one or several modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// The problem in one sentence, without a full stop.
    pub message: String,
    /// The places of the problem, each with a label; the first is the place to fix. Empty if there is no text to point at.
    pub places: Vec<(Place, String)>,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), places: Vec::new(), hint: String::new() }
    }

    pub(crate) fn at(mut self, place: Place, label: impl Into<String>) -> Self {
        self.places.push((place, label.into()));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Whether the problem makes the model invalid.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.kind != ProblemKind::Doubtful
    }

    /// Returns the sort key of problems: by place; at the same place, more severe problems first.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        let place = self
            .places
            .first()
            .map(|(place, _)| (place.source.name.clone(), place.span, place.source.text.len()));
        (place, self.kind, self.message.clone())
    }
}

/// Returns the exception for modules with these problems: that of reading before that of checking, and that of checking
/// before that of merging. `None` if there are only warnings.
#[must_use]
pub fn exception(problems: &[Problem]) -> Option<Exception> {
    problems.iter().map(|problem| problem.kind).min().and_then(ProblemKind::exception)
}

/// Returns the exception to raise instead, if the module with the problem is the management module.
#[must_use]
pub const fn exception_of_mim(exception: Exception) -> Exception {
    match exception {
        Exception::CouldNotOpenFOM => Exception::CouldNotOpenMIM,
        Exception::ErrorReadingFOM => Exception::ErrorReadingMIM,
        Exception::InvalidFOM | Exception::InconsistentFOM => Exception::InvalidMIM,
        other => other,
    }
}

/// The problems as plain text for a terminal: each with its sentence, its places with the source line and
/// carets, and its hint. The same text always, without colour.
///
/// At most 200 are shown, then how many there are besides.
#[must_use]
pub fn render(problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(SHOWN_MAX) {
        render_one(&mut text, problem).expect("a String takes all text");
    }
    if problems.len() > SHOWN_MAX {
        text += &format!("\n{} more problems are not shown\n", problems.len() - SHOWN_MAX);
    }
    text
}

/// The most problems in one text; finding each one's line takes time in proportion to the source.
const SHOWN_MAX: usize = 200;

/// The most characters of a source line that are shown: modules have whole pages, and pictures, in one line.
const LINE_LEN_MAX: usize = 160;

fn render_one(text: &mut String, problem: &Problem) -> fmt::Result {
    if !text.is_empty() {
        text.push('\n');
    }
    let severity = if problem.is_error() { "error" } else { "warning" };
    writeln!(text, "{severity}: {}", printable(&problem.message))?;
    let shown: Vec<(Shown, &str, &str)> = problem
        .places
        .iter()
        .map(|(place, label)| (Shown::find(place), place.source.name.as_str(), label.as_str()))
        .collect();
    let width = shown.iter().map(|(shown, ..)| shown.line.to_string().len()).max().unwrap_or(1);
    let margin = " ".repeat(width);
    for (at, (Shown { line, column, before, marked, text: source }, name, label)) in
        shown.iter().enumerate()
    {
        let arrow = if at == 0 { "-->" } else { ":::" };
        writeln!(text, "{margin}{arrow} {}:{line}:{column}", printable(name))?;
        writeln!(text, "{margin} |")?;
        writeln!(text, "{line:width$} | {source}")?;
        let carets = format!("{}{} {}", " ".repeat(*before), "^".repeat(*marked), printable(label));
        writeln!(text, "{margin} | {}", carets.trim_end())?;
    }
    if !problem.hint.is_empty() {
        writeln!(text, "{margin} = hint: {}", printable(&problem.hint))?;
    }
    Ok(())
}

/// A place as it is shown.
struct Shown {
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    /// Characters of `text` before the carets.
    before: usize,
    /// Carets to draw, at least one.
    marked: usize,
    /// The line, or the part of it around the place. Indentation is left out, a tab is one space.
    text: String,
}

impl Shown {
    fn find(place: &Place) -> Self {
        let source = place.source.text.as_str();
        let start = floor(source, place.span.start);
        let end = floor(source, place.span.end).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |at| start + at);
        let lead = &source[line_start..start];
        let rest = source[start..line_end].trim_end();
        // At most a third of what is shown stands before the place.
        let indent = lead.len() - lead.trim_start().len();
        let shown_lead = last_chars(&lead[indent..], LINE_LEN_MAX / 3);
        let before = shown_lead.chars().count();
        let text: String = shown_lead.chars().chain(rest.chars()).take(LINE_LEN_MAX).collect();
        let marked = source[start..end.min(line_end)].trim_end().chars().count();
        Self {
            line: source[..start].matches('\n').count() + 1,
            column: lead.chars().count() + 1,
            before,
            marked: marked.clamp(1, LINE_LEN_MAX - before),
            text: printable(&text),
        }
    }
}

/// The end of a text: at most `most` characters.
fn last_chars(text: &str, most: usize) -> &str {
    text.char_indices().rev().nth(most.saturating_sub(1)).map_or(text, |(at, _)| &text[at..])
}

/// The text on one line, without what a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The nearest character boundary at or before `at`.
fn floor(source: &str, at: u32) -> usize {
    source.floor_char_boundary(at as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, span: Range<usize>) -> Place {
        let source = Source { name: "a.xml".into(), text: text.into() };
        Place { source: Arc::new(source), span: span.into() }
    }

    #[test]
    fn a_problem_shows_all_its_places() {
        let one = place("<x>\n\t<name>Car</name>\n", 11..14);
        let other = place("<name>Car</name>", 6..9);
        let problem = Problem::new(ProblemKind::Inconsistent, "Car is two things")
            .at(one, "a class here")
            .at(other, "an array here")
            .hint("rename one");
        insta::assert_snapshot!(render(&[problem]), @r"
        error: Car is two things
         --> a.xml:2:8
          |
        2 | <name>Car</name>
          |       ^^^ a class here
         ::: a.xml:1:7
          |
        1 | <name>Car</name>
          |       ^^^ an array here
          = hint: rename one
        ");
    }

    #[test]
    fn any_span_can_be_shown() {
        let text = format!("a = \"äöü\"\n\t{}b = 1", "ä".repeat(400));
        for start in (0..text.len() + 3).step_by(7) {
            for end in (0..text.len() + 3).step_by(11) {
                let problem =
                    Problem::new(ProblemKind::Invalid, "x").at(place(&text, start..end), "");
                let shown = render(&[problem]);
                assert!(shown.contains('^'), "{start}..{end}");
                assert!(shown.lines().all(|line| line.chars().count() < LINE_LEN_MAX + 20));
            }
        }
    }

    #[test]
    fn exception_of_reading_comes_before_that_of_merging() {
        let of = |kind| Problem::new(kind, "");
        assert_eq!(exception(&[of(ProblemKind::Doubtful)]), None);
        assert_eq!(
            exception(&[
                of(ProblemKind::Inconsistent),
                of(ProblemKind::Unreadable),
                of(ProblemKind::Doubtful)
            ]),
            Some(Exception::ErrorReadingFOM)
        );
    }
}
