//! Error output: one sentence that says what went wrong, then a hint.

use std::fmt::Display;
use std::process::ExitCode;

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
/// Exit code for invalid input, the same as clap's for an invalid command line.
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
        eprintln!("gate: {reason}");
    }
    ExitCode::from(NOT_KEPT)
}

impl Failure {
    pub(crate) fn failed(error: impl Display) -> Self {
        Self { text: format!("error: {error}"), code: FAILED }
    }

    /// `text` is complete, including its `error:` lines.
    pub(crate) fn bad_input(text: String) -> Self {
        Self { text: text.trim_end().to_owned(), code: BAD_INPUT }
    }

    pub(crate) fn interrupted(error: impl Display) -> Self {
        Self { text: error.to_string(), code: INTERRUPTED }
    }

    /// The same failure with the exit code of invalid input, for commands whose exit code 1 is a verdict.
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
