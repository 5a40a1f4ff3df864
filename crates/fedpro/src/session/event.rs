//! The events of a session, and the names of requests in them.

use bytes::Buf;
use hemiola_hla::{Body, Data};

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

/// The bodies of the requests in one frame, in order. They share their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    whole: Data,
    count: usize,
}

impl Bodies {
    /// The number of bytes in front of each body: its length, big-endian.
    pub(super) const HEAD: usize = 4;

    /// Appends a body to the payload of a frame.
    pub(super) fn put(payload: &mut Vec<u8>, body: &Body) {
        let len = u32::try_from(body.len()).expect("messages are shorter than 4 GiB");
        payload.extend_from_slice(&len.to_be_bytes());
        body.append(0, body.len(), payload);
    }

    /// Returns the bodies in a payload; `None` if their lengths do not add up, or there are none.
    pub(super) fn new(payload: Data) -> Option<Self> {
        let (mut rest, mut count) = (&payload[..], 0);
        while let Some((len, behind)) = rest.split_first_chunk::<{ Self::HEAD }>() {
            rest = behind.get(u32::from_be_bytes(*len) as usize..)?;
            count += 1;
        }
        (rest.is_empty() && count > 0).then_some(Self { whole: payload, count })
    }

    /// Whether there are no further bodies.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of bodies.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns the length of all bodies together, in bytes.
    #[must_use]
    pub fn bodies_len(&self) -> usize {
        self.whole.len() - self.count * Self::HEAD
    }

    /// Returns the memory that the bodies share.
    #[must_use]
    pub const fn whole(&self) -> &Data {
        &self.whole
    }

    /// Returns the bodies as parts of [`whole`](Self::whole).
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.whole[..];
        std::iter::from_fn(move || {
            let (len, behind) = rest.split_first_chunk::<{ Self::HEAD }>()?;
            let (body, behind) = behind.split_at(u32::from_be_bytes(*len) as usize);
            rest = behind;
            Some(body)
        })
    }

    /// Returns the first body as a part of [`whole`](Self::whole).
    #[must_use]
    pub fn first(&self) -> Option<&[u8]> {
        let (len, behind) = self.whole.split_first_chunk::<{ Self::HEAD }>()?;
        Some(&behind[..u32::from_be_bytes(*len) as usize])
    }

    /// Removes the first body, if there is one. This costs less than to take it with [`next`](Self::next).
    pub fn skip_first(&mut self) {
        if let Some(len) = self.first_len() {
            self.whole.advance(Self::HEAD + len);
            self.count -= 1;
        }
    }

    /// Returns the length of the first body.
    fn first_len(&self) -> Option<usize> {
        let (len, _) = self.whole.split_first_chunk::<{ Self::HEAD }>()?;
        Some(u32::from_be_bytes(*len) as usize)
    }
}

impl Iterator for Bodies {
    type Item = Data;

    fn next(&mut self) -> Option<Data> {
        let len = self.first_len()?;
        self.whole.advance(Self::HEAD);
        self.count -= 1;
        Some(self.whole.split_to(len))
    }
}

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
    /// The peer sent a call of which it wants to know only whether it was carried out. Answer it with
    /// [`respond_done`](super::Session::respond_done) if it was, whatever its result is. Only after an
    /// [agreement](super::Session::gather_answers).
    Posted {
        /// The request to name in the answer.
        id: RequestId,
        /// The body of the call, as in [`Request`](Self::Request).
        body: Data,
    },
    /// The peer sent several callbacks in one frame. One answer is for all of them: give it when the last one has been
    /// processed. Only after an [agreement](super::Session::share_frames).
    Requests {
        /// The request to name in the answer.
        id: RequestId,
        /// The bodies of the callbacks, in order.
        bodies: Bodies,
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
