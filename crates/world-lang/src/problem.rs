//! The problems of a definition, as data and as text.

use hemiola_diagnostic::{Diagnostic, Label, Severity, render_all};

use crate::limits::PROBLEMS_MAX;
use crate::source::{Sources, Span};

/// One error in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The error in one sentence without a full stop.
    pub message: String,
    /// The places to look at with the text beside each, the most important one first; at least one.
    pub places: Vec<(Span, String)>,
    /// The suggested remedy; may be empty.
    pub hint: String,
}

impl Problem {
    /// A problem at one place.
    #[must_use]
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { message: message.into(), places: vec![(span, String::new())], hint: String::new() }
    }

    /// The same problem with this text beside the first place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.places[0].1 = text.into();
        self
    }

    /// The same problem with one more place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.places.push((span, text.into()));
        self
    }

    /// The same problem with this hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The most important place.
    #[must_use]
    pub fn span(&self) -> Span {
        self.places[0].0
    }
}

/// The problems as text, each with its source lines and carets.
#[must_use]
pub fn render(problems: &[Problem], sources: &Sources) -> String {
    render_all(problems, |problem| Diagnostic {
        severity: Severity::Error,
        message: &problem.message,
        labels: problem.places.iter().map(|(span, text)| label(sources, *span, text)).collect(),
        hint: &problem.hint,
    })
}

fn label<'s>(sources: &'s Sources, span: Span, text: &'s str) -> Label<'s> {
    let (file, span) = sources.locate(span);
    Label { file_name: &file.name, source: &file.text, span, text }
}

/// The problems found so far, at most [`PROBLEMS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        if self.0.len() < PROBLEMS_MAX {
            self.0.push(problem);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= PROBLEMS_MAX
    }

    /// All of them in the order of the text.
    pub(crate) fn sorted(mut self) -> Vec<Problem> {
        self.0.sort_by_key(Problem::span);
        self.0
    }
}
