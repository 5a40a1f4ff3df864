//! Protocol violations, and the reasons for which a session ends.

use crate::frame::{FrameError, FrameKind, SessionId};
use crate::sequence::Sequence;

/// How the peer violated the protocol. The session ends: the state of the peer is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The peer sent bytes that are not a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The peer sent a frame that is not allowed in this state.
    #[error("a frame of kind {0:?} is not allowed here")]
    Unexpected(FrameKind),
    /// The peer sent a frame of another session.
    #[error("a frame of session {0} arrived in another session")]
    WrongSession(SessionId),
    /// The peer sent a frame without a sequence number.
    #[error("a frame of kind {0:?} has no sequence number")]
    NoSequence(FrameKind),
    /// The payload of a frame is too short or too long for its kind.
    #[error("a frame of kind {kind:?} has a payload of {len} bytes")]
    BadPayload {
        /// The kind of the frame.
        kind: FrameKind,
        /// The length of the payload, in bytes.
        len: usize,
    },
    /// The peer acknowledged a frame that was never sent.
    #[error("frame {0} was acknowledged but never sent")]
    AcknowledgedUnsent(Sequence),
    /// The peer answered something that is not an open request.
    #[error("frame {0} was answered but is not an open request")]
    UnexpectedAnswer(u32),
    /// A request's number is so far ahead that it could be mistaken for an older, unanswered request.
    #[error("request {0} is too far ahead of the oldest unanswered request")]
    TooFarAhead(Sequence),
    /// A status is not defined.
    #[error("a frame of kind {1:?} has the status {0}, which is not defined")]
    BadStatus(u32, FrameKind),
}

/// Why an RTI refuses to create a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    /// The RTI does not support the requested version of the protocol.
    #[error("the RTI does not support this version of the Federate Protocol")]
    UnsupportedVersion,
    /// The RTI has reached its maximum number of sessions.
    #[error("the RTI has reached its maximum number of sessions")]
    OutOfResources,
    /// Any other reason.
    #[error("the RTI gives no reason")]
    Other,
}

/// Why an RTI refuses to resume a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeRefusal {
    /// The session does not exist or has ended.
    #[error("the RTI no longer has the session")]
    UnknownSession,
    /// Messages were lost and are no longer kept for retransmission.
    #[error("messages were lost and are no longer kept for retransmission")]
    NotKept,
    /// Any other reason.
    #[error("the RTI refuses to resume the session and gives no reason")]
    Other,
}

macro_rules! statuses {
    ($($refusal:ident { $($name:ident = $number:literal)* })*) => {$(
        impl $refusal {
            pub(super) const fn number(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// Returns `Ok(None)` for success.
            pub(super) const fn from_number(number: u32, kind: FrameKind) -> Result<Option<Self>, Violation> {
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

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum End {
    /// The federate terminated the session.
    #[error("the federate terminated the session")]
    Terminated,
    /// This side closed it.
    #[error("the session was closed")]
    Closed,
    /// The peer violated the protocol.
    #[error("the peer violated the protocol: {0}")]
    Violation(#[from] Violation),
    /// More data waited to be sent to the peer than is allowed.
    #[error("the peer does not read: more than {0} bytes are waiting to be sent to it")]
    Overflow(usize),
    /// The connection broke and the session was not resumed in time.
    #[error("the connection broke and the session was not resumed in time")]
    Expired,
    /// No connection could be opened, or the RTI did not answer.
    #[error("the RTI cannot be reached")]
    Unreachable,
    /// The RTI refused to create the session.
    #[error("the RTI refused the session: {0}")]
    Refused(SessionRefusal),
    /// The session could not be resumed after its connection broke.
    #[error("the session could not be resumed: {0}")]
    NotResumed(ResumeRefusal),
}
