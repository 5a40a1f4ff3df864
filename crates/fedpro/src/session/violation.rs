//! What a peer may not do, and how a session ends.

use crate::frame::{FrameError, Kind, SessionId};
use crate::sequence::Sequence;

/// What the peer did against the protocol. The session is over: a peer in a wrong state cannot be understood again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// It sent something that is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// It sent a frame that has no place there.
    #[error("a frame of kind {0:?} has no place here")]
    Unexpected(Kind),
    /// It sent a frame of another session.
    #[error("a frame of session {0} came within another one")]
    WrongSession(SessionId),
    /// It sent a frame without a number.
    #[error("a frame of kind {0:?} has no sequence number")]
    NoSequence(Kind),
    /// It sent a frame with a payload that is too short or too long for its kind.
    #[error("a frame of kind {kind:?} has a payload of {len} bytes")]
    BadPayload {
        /// The frame.
        kind: Kind,
        /// How long its payload is.
        len: usize,
    },
    /// It has received what was never sent.
    #[error("frame {0} was acknowledged and never sent")]
    AcknowledgedUnsent(Sequence),
    /// It answered what was not asked, or once more.
    #[error("frame {0} was answered and waits for no answer")]
    AnsweredUnasked(u32),
    /// Its numbers went so far ahead that a request could be taken for one that has no answer yet.
    #[error("request {0} is too far ahead of one that has no answer yet")]
    Lapped(Sequence),
    /// It gave a reason or status that does not exist.
    #[error("{0} is no status of a frame of kind {1:?}")]
    BadStatus(u32, Kind),
}

/// Why an RTI gives no session; the numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    /// It does not speak this version of the protocol.
    #[error("the RTI does not speak this version of the Federate Protocol")]
    UnsupportedVersion,
    /// It has as many sessions as it can have.
    #[error("the RTI has as many sessions as it can have")]
    OutOfResources,
    /// Something else.
    #[error("the RTI gives no session, and no reason")]
    Other,
}

/// Why an RTI does not let a session go on; the numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeRefusal {
    /// There is no such session, or not any more.
    #[error("the RTI does not know the session any more")]
    UnknownSession,
    /// Messages that were lost are not kept any more.
    #[error("messages were lost that are not kept any more")]
    NotKept,
    /// Something else.
    #[error("the RTI does not let the session go on, and gives no reason")]
    Other,
}

macro_rules! statuses {
    ($($refusal:ident { $($name:ident = $number:literal)* })*) => {$(
        impl $refusal {
            pub(super) const fn number(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// `Ok(None)` for success.
            pub(super) const fn from_number(number: u32, kind: Kind) -> Result<Option<Self>, Violation> {
                match number {
                    0 => Ok(None),
                    $($number => Ok(Some(Self::$name)),)*
                    _ => Err(Violation::BadStatus(number, kind)),
                }
            }
        }
    )*};
}

statuses! {
    SessionRefusal { UnsupportedVersion = 1 OutOfResources = 2 Other = 99 }
    ResumeRefusal { UnknownSession = 1 NotKept = 2 Other = 99 }
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum End {
    /// The federate said goodbye.
    #[error("the federate ended the session")]
    Terminated,
    /// This side closed it.
    #[error("the session was closed")]
    Closed,
    /// The peer cannot be understood.
    #[error("the peer broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// More waited for the peer than is allowed.
    #[error("the peer does not read: more than {0} bytes wait for it")]
    Overflow(usize),
    /// The connection broke and did not come back in time.
    #[error("the connection broke, and was not resumed in time")]
    Expired,
    /// No connection, or no answer on it.
    #[error("the RTI cannot be reached")]
    Unreachable,
    /// The RTI gives no session.
    #[error("no session: {0}")]
    Refused(SessionRefusal),
    /// The session could not go on after its connection broke.
    #[error("the session is lost: {0}")]
    NotResumed(ResumeRefusal),
}
