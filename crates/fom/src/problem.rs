//! Problems of modules, with their places and hints, as data and as text for a terminal.
//!
//! These problems stand in one of many files, and often in two at once.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hemiola_diagnostic::{Diagnostic, Label, Severity};
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
        hemiola_diagnostic::line_column(&self.source.text, self.span.start as usize)
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
    /// Parsing the module would need more memory than it may.
    TooLarge,
    /// Reading the module would take more memory than is left at the moment.
    Unaffordable,
    /// The module cannot be read: it is not an archive, not XML, or too large.
    Unreadable,
    /// The module by itself violates the rules of object models.
    Invalid,
    /// The modules contradict each other.
    Inconsistent,
    /// The modules refer to something that none of them defines.
    Incomplete,
    /// The module violates the rules of object models, but what it means to a federation is beyond doubt: an error to
    /// whoever checks the module, and a warning to a federation.
    Irregular,
    /// A warning: valid, but probably not intended.
    Doubtful,
}

impl ProblemKind {
    /// Returns the standard's exception for this kind of problem; `None` if a federation can be created all the same.
    #[must_use]
    pub const fn exception(self) -> Option<Exception> {
        match self {
            Self::Unopened => Some(Exception::CouldNotOpenFOM),
            Self::TooLarge | Self::Unaffordable => Some(Exception::RTIinternalError),
            Self::Unreadable => Some(Exception::ErrorReadingFOM),
            Self::Invalid => Some(Exception::InvalidFOM),
            Self::Inconsistent | Self::Incomplete => Some(Exception::InconsistentFOM),
            Self::Irregular | Self::Doubtful => None,
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
    /// The places of the problem, each with a label; the first is the place to fix. Empty if there is no text to point
    /// at.
    pub places: Vec<(Place, String)>,
    /// A hint at the solution; may be empty.
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

    /// Whether the module violates the standard.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.kind != ProblemKind::Doubtful
    }

    /// Whether no federation can be created with the module. An [irregular](ProblemKind::Irregular) module is an error,
    /// but not fatal.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        self.kind.exception().is_some()
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
/// before that of merging. `None` if no problem is fatal.
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

/// The problems as plain text for a terminal; see [`hemiola_diagnostic::render_all`].
#[must_use]
pub fn render(problems: &[Problem]) -> String {
    hemiola_diagnostic::render_all(problems, |problem| Diagnostic {
        severity: if problem.is_error() { Severity::Error } else { Severity::Warning },
        message: &problem.message,
        labels: problem
            .places
            .iter()
            .map(|(Place { source, span }, label)| Label {
                file_name: &source.name,
                source: &source.text,
                span: span.start as usize..span.end as usize,
                text: label,
            })
            .collect(),
        hint: &problem.hint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
