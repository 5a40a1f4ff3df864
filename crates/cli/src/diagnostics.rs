//! Error output: one sentence that says what went wrong, then a hint.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use hemiola_record::FolderError;
use hemiola_report::text::printable;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    code: u8,
}

/// Exit code when the command was valid but failed.
const FAILED: u8 = 1;
/// Exit code of a gate: the command worked, and a verdict is not as it should be.
const NOT_KEPT: u8 = 1;
/// Exit code for input that is wrong or cannot be read, the same as clap's for an invalid command line.
const BAD_INPUT: u8 = 2;
/// Exit code after SIGINT, as a shell reports it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit code of a command with `--gate`: 1, with the reasons on standard error, if there are any; else 0. Without
/// the option always 0.
pub(crate) fn gate(is_asked: bool, reasons: &[String]) -> ExitCode {
    if !is_asked || reasons.is_empty() {
        return ExitCode::SUCCESS;
    }
    for reason in reasons {
        eprintln!("gate: {}", printable(reason));
    }
    ExitCode::from(NOT_KEPT)
}

/// The name of a file in a message: in one line, so that a newline in it cannot look like another message, and without
/// anything that could control a terminal.
pub(crate) fn shown(path: impl AsRef<Path>) -> String {
    printable(&path.as_ref().display().to_string())
}

impl Failure {
    pub(crate) fn failed(error: impl Display) -> Self {
        Self { text: format!("error: {error}"), code: FAILED }
    }

    /// An input that cannot be read, and what to do: which file to give, or how to make it.
    pub(crate) fn unreadable(path: &Path, error: impl Display, hint: &str) -> Self {
        Self::bad_input(format!("error: {} cannot be read: {error}\nhint: {hint}", shown(path)))
    }

    /// A command cannot have its result folder: it has done nothing yet.
    pub(crate) fn unusable(error: &FolderError) -> Self {
        match error {
            FolderError::InUse(_) | FolderError::Refused { .. } => {
                Self::bad_input(format!("error: {error}"))
            }
            error => Self::failed(error),
        }
    }

    /// `text` is complete, including its `error:` lines.
    pub(crate) fn bad_input(text: String) -> Self {
        Self { text: text.trim_end().to_owned(), code: BAD_INPUT }
    }

    pub(crate) fn interrupted(error: impl Display) -> Self {
        Self { text: error.to_string(), code: INTERRUPTED }
    }

    /// Adds another error, on a line of its own. The exit code stays.
    pub(crate) fn and(mut self, error: impl Display) -> Self {
        self.text += &format!("\nerror: {error}");
        self
    }

    /// The same failure with exit code 2, for commands whose exit code 1 is a verdict: a gate must be able to tell a
    /// deadline that is missed from an analysis that could not be made.
    pub(crate) fn apart_from_verdicts(mut self) -> Self {
        if self.code == FAILED {
            self.code = BAD_INPUT;
        }
        self
    }

    /// Prints the message on standard error and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.text);
        ExitCode::from(self.code)
    }
}
