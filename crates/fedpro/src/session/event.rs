//! The events of a session, and the names of requests in them.

use hemiola_hla::Data;

use super::violation::End;
use crate::sequence::Sequence;

/// A request of the peer. It must be answered exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(super) Sequence);

impl RequestId {
    /// Returns the number of the frame that carried the request.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.number()
    }

    /// Returns the request that came in the frame with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match Sequence::new(number) {
            Some(sequence) => Some(Self(sequence)),
            None => None,
        }
    }
}

/// A request of this side: the number of requests that this side made before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// An event of a session, which the shell around it handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Open a connection, then call [`connected`](super::Session::connected) or
    /// [`disconnected`](super::Session::disconnected).
    Connect,
    /// Messages flow: the session was created or resumed.
    Running,
    /// The peer sent a call or a callback. Answer each exactly once, in any order.
    Request {
        /// The request to name in the answer.
        id: RequestId,
        /// The body of the request; it may [share its memory](crate::frame::Frame::payload) with others.
        body: Data,
    },
    /// The peer answered a request.
    Response {
        /// The request that was answered.
        to: Ticket,
        /// The body of the answer.
        body: Data,
    },
    /// The peer has answered all requests up to this one that had no answer: they were carried out, and the answers say
    /// nothing else. Only after an [agreement](super::Session::gather_answers).
    Done {
        /// The newest request that was answered.
        through: Ticket,
    },
    /// The session has ended. Requests without an answer will not get one.
    Ended(End),
    /// Close the connection. Bytes already transmitted may still be sent.
    Disconnect,
}
