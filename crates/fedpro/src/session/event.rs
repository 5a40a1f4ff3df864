//! What a session and the shell around it tell each other of requests.

use hemiola_hla::Data;

use super::violation::End;
use crate::sequence::Sequence;

/// A request of the peer, to be answered once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(super) Sequence);

impl RequestId {
    /// The number of the frame it came in.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.number()
    }

    /// The request that came in the frame of this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match Sequence::new(number) {
            Some(sequence) => Some(Self(sequence)),
            None => None,
        }
    }
}

/// A request of this side: how many it made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What a session tells the shell around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Open a connection, and say [`connected`](super::Session::connected) or
    /// [`disconnected`](super::Session::disconnected).
    Connect,
    /// The session runs, for the first time or again.
    Running,
    /// The peer asks: a call, or a callback. Each has to be answered once; in which order is free.
    Request {
        /// What to answer it with.
        id: RequestId,
        /// Its body.
        body: Data,
    },
    /// The peer answered.
    Response {
        /// What it answered.
        to: Ticket,
        /// The body of its answer.
        body: Data,
    },
    /// The session is over; nobody is waited for any more.
    Ended(End),
    /// Close the connection. What was written before may still go out.
    Disconnect,
}
