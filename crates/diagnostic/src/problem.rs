//! A problem of one file.

use std::ops::Range;

use crate::render::{Diagnostic, Label, Severity, render_all};

/// One error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The bytes of the source that are wrong; `None` for a part missing from the whole source, or an error on
    /// the command line.
    pub span: Option<Range<usize>>,
    /// The error in one sentence without a full stop.
    pub message: String,
    /// The text beside the carets; may be empty.
    pub label: String,
    /// The suggested remedy; may be empty.
    pub hint: String,
}

impl Problem {
    /// A problem without label and hint.
    pub fn new(span: impl Into<Option<Range<usize>>>, message: impl Into<String>) -> Self {
        let (label, hint) = (String::new(), String::new());
        Self { span: span.into(), message: message.into(), label, hint }
    }

    /// The same problem with this text beside the carets.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same problem with this hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// The problems of one file as [`render_all`] shows them.
#[must_use]
pub fn render(problems: &[Problem], source: &str, file_name: &str) -> String {
    render_all(problems, |problem| Diagnostic {
        severity: Severity::Error,
        message: &problem.message,
        labels: problem
            .span
            .iter()
            .map(|span| Label { file_name, source, span: span.clone(), text: &problem.label })
            .collect(),
        hint: &problem.hint,
    })
}
