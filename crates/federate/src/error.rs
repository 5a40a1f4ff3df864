//! The errors of calls and evocations.

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
    /// The call raised an exception of the standard and had no effect. A pipelined federate raises it itself if it is
    /// certain that the RTI would.
    #[error("{call}: {refusal}")]
    Exception {
        /// The name of the call's message, such as `RegisterObjectInstance`.
        call: &'static str,
        /// The exception, and the RTI's words.
        refusal: Refusal,
    },
    /// The RTI refused an earlier call that did not wait for its reply. The present call or evocation was not carried
    /// out: repeat it. The next call or evocation after the refusal has arrived returns this error, at the latest the
    /// next call that waits for its reply.
    #[error("an earlier {call}, which did not wait for its reply: {refusal}")]
    Earlier {
        /// The name of that call's message.
        call: &'static str,
        /// The exception, and the RTI's words.
        refusal: Refusal,
    },
    /// There is no RTI at the address, or it does not answer. Start it, or raise `connect_timeout`.
    #[error("no RTI answers at {address}: {reason}")]
    Unreachable {
        /// The address of the RTI.
        address: RtiAddress,
        /// Why the connection failed.
        reason: String,
    },
    /// The session with the RTI has ended, and the federate with it; the RTI has not said why. Connect again.
    #[error("the session with the RTI has ended: {0}")]
    Lost(End),
    /// The RTI has ended the session, and said why in the callback `ConnectionLost`. Connect again.
    #[error("the connection is lost: {0}")]
    ConnectionLost(String),
    /// Too many callbacks wait to be evoked. Evoke them before the next call.
    #[error("{0} callbacks wait to be evoked; evoke them before the next call")]
    Backlog(usize),
    /// The RTI sent a message that cannot be decoded. The message was skipped.
    #[error("{what} of the RTI cannot be decoded: {error}")]
    Message {
        /// The kind of message.
        what: &'static str,
        /// Why it cannot be decoded.
        error: MessageError,
    },
    /// A logical time is not valid in the federation.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// A received value does not have its data type.
    #[error("a received value cannot be decoded: {0}")]
    Value(#[from] DecodeError),
    /// The file of an object model module cannot be read.
    #[error("{path} cannot be read: {error}")]
    Module {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// An ambassador was used in its own handler, which would wait for itself. Use the federate passed to the handler.
    #[error(
        "an ambassador cannot be used in its own handler; use the federate passed to the handler"
    )]
    WithinHandler,
    /// The thread of the ambassador has ended.
    #[error("the thread of this ambassador has ended")]
    Stopped,
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// The system call.
        what: &'static str,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

impl Error {
    /// Returns the exception of the standard, if the error is one.
    #[must_use]
    pub fn exception(&self) -> Option<Exception> {
        match self {
            Self::Exception { refusal, .. } | Self::Earlier { refusal, .. } => {
                Some(refusal.exception)
            }
            Self::WithinHandler => Some(Exception::CallNotAllowedFromWithinCallback),
            _ => None,
        }
    }

    /// Whether there is no longer a session with an RTI.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Lost(_) | Self::ConnectionLost(_) | Self::Unreachable { .. } | Self::Stopped
        )
    }

    /// The refusal of an earlier call with this name is the method's own exception.
    pub(crate) fn of_its_own(self, name: &str) -> Self {
        match self {
            Self::Earlier { call, refusal } if call == name => Self::Exception { call, refusal },
            error => error,
        }
    }

    pub(crate) fn system(what: &'static str, error: impl Into<std::io::Error>) -> Self {
        Self::System { what, error: error.into() }
    }
}
