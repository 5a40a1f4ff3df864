//! What the user reads when something went wrong: one sentence, then what to do about it.

use std::fmt::Display;
use std::process::ExitCode;

/// Why a command ended without doing what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    code: u8,
}

/// The command was understood and failed.
const FAILED: u8 = 1;
/// The input was wrong; the same code as for a wrong command line.
const BAD_INPUT: u8 = 2;
/// Ended by SIGINT, as a shell reports it.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn failed(error: impl Display) -> Self {
        Self { text: format!("error: {error}"), code: FAILED }
    }

    /// `text` is complete already, with its own `error:` lines.
    pub(crate) fn bad_input(text: String) -> Self {
        Self { text: text.trim_end().to_owned(), code: BAD_INPUT }
    }

    pub(crate) fn interrupted(error: impl Display) -> Self {
        Self { text: error.to_string(), code: INTERRUPTED }
    }

    /// Tells the user; data goes to standard output, everything else to standard error.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.text);
        ExitCode::from(self.code)
    }
}
