//! Why something that a federate wanted did not happen.

use std::path::PathBuf;

use hemiola_fedpro::MessageError;
use hemiola_fedpro::session::End;
use hemiola_hla::encoding::DecodeError;
use hemiola_hla::time::TimeError;
use hemiola_hla::{Exception, Refusal};
use hemiola_units::RtiAddress;

/// Why a call, or waiting for a callback, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The RTI refuses the call, as the standard says it must. Nothing has changed.
    #[error("{call}: {refusal}")]
    Exception {
        /// The name of the call's message, such as `RegisterObjectInstance`.
        call: &'static str,
        /// The exception, and the RTI's words.
        refusal: Refusal,
    },
    /// The RTI has refused a call that was made before and not waited for. What was asked for now has not been done:
    /// ask again.
    #[error("an earlier {call}, which was not waited for: {refusal}")]
    Earlier {
        /// The name of that call's message.
        call: &'static str,
        /// The exception, and the RTI's words.
        refusal: Refusal,
    },
    /// There is no RTI there, or it does not answer. Start it, or wait longer for it (`patience`).
    #[error("no RTI answers at {address}: {reason}")]
    Unreachable {
        /// Where one should be.
        address: RtiAddress,
        /// What was found instead.
        reason: String,
    },
    /// The session with the RTI is over, and with it what the federate had. Nothing can be done but to connect anew.
    #[error("the session with the RTI is over: {0}")]
    Lost(End),
    /// So many callbacks wait that no call is made before some have been taken: evoke.
    #[error("{0} callbacks wait to be evoked; take them before making another call")]
    Backlog(usize),
    /// The RTI sent something that is no such message. It was left out.
    #[error("{what} of the RTI cannot be read: {error}")]
    Message {
        /// What it should have been.
        what: &'static str,
        /// What is wrong with it.
        error: MessageError,
    },
    /// A value of logical time that the federation does not have.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// A value that was received is none of its data type.
    #[error("a value that was received: {0}")]
    Value(#[from] DecodeError),
    /// A module of an object model cannot be read here.
    #[error("{path} cannot be read: {error}")]
    Module {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The thread of an ambassador waits for itself: use the federate that the handler is given.
    #[error(
        "an ambassador cannot be used in its own handler; use the federate that the handler is given"
    )]
    WithinHandler,
    /// The thread of an ambassador is gone.
    #[error("the thread of this ambassador has ended")]
    Stopped,
    /// The operating system refused what communication needs.
    #[error("{what}: {error}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// Its answer.
        error: std::io::Error,
    },
}

impl Error {
    /// The standard's exception, if it is one.
    #[must_use]
    pub fn exception(&self) -> Option<Exception> {
        match self {
            Self::Exception { refusal, .. } | Self::Earlier { refusal, .. } => {
                Some(refusal.exception)
            }
            _ => None,
        }
    }

    /// Is there no RTI any more, or was there none?
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Unreachable { .. } | Self::Stopped)
    }

    pub(crate) fn system(what: &'static str, error: impl Into<std::io::Error>) -> Self {
        Self::System { what, error: error.into() }
    }
}
