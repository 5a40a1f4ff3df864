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
/// Exit code for invalid input, the same as clap's for an invalid command line.
const BAD_INPUT: u8 = 2;
/// Exit code after SIGINT, as a shell reports it.
pub(crate) const INTERRUPTED: u8 = 130;

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

    /// Prints the message on standard error and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.text);
        ExitCode::from(self.code)
    }
}
