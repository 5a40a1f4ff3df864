//! Frames: what a stream of bytes is cut into. All numbers are big-endian.
//!
//! ```text
//!  0        4          8            16               20     24
//! ┌────────┬──────────┬────────────┬────────────────┬──────┬─────────────┐
//! │ length │ sequence │ session id │ newest message │ kind │ payload …   │
//! │ of all │ number   │            │ received       │      │             │
//! └────────┴──────────┴────────────┴────────────────┴──────┴─────────────┘
//! ```

use std::fmt;

use bytes::{Buf, Bytes};
use hemiola_hla::Data;

use crate::sequence::Sequence;

/// How long a header is, in bytes.
pub const HEADER_LEN: usize = 24;

/// Payloads up to here are copied out of what was received; longer ones are moved.
const COPIED_LEN_MAX: usize = 4096;

/// What a session is called. It is all that is needed to take a session over, so it is random, and never shown whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u64);

impl SessionId {
    /// What stands in a frame before there is a session.
    pub const NONE: Self = Self(0);

    /// A session of this number; 64 bits of a generator fit for secrets. `None` for 0, which means no session.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }
}

/// Its last four digits.
impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "…{:04x}", self.0 & 0xFFFF)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({self})")
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a frame is. Those above 20 carry messages of the High Level Architecture and are sent again if a
        /// connection breaks; the others control the session and are not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its number on the wire.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// The one of this number, if there is one.
            #[must_use]
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    /// A federate asks for a session: the version of the protocol.
    NewSession = 1,
    /// An RTI gives one or refuses: a reason.
    NewSessionStatus = 2,
    /// A federate that has nothing else to say is still there.
    Heartbeat = 3,
    /// So is the RTI: the number of the heartbeat.
    HeartbeatResponse = 4,
    /// A federate ends the session.
    TerminateSession = 5,
    /// It has ended; the last frame of it.
    SessionTerminated = 6,
    /// A federate takes a session up on a new connection: the newest number it has received, the oldest it can send
    /// again.
    ResumeRequest = 10,
    /// An RTI allows it or not: a status, the newest number it has received.
    ResumeStatus = 11,
    /// A call.
    CallRequest = 20,
    /// Its answer: the number of the call, the body.
    CallResponse = 21,
    /// A callback.
    CallbackRequest = 22,
    /// Its answer: the number of the callback, the body.
    CallbackResponse = 23,
}

/// Why bytes are no frame. The stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length is that of no frame.
    #[error("a frame of {0} bytes is shorter than its header")]
    TooShort(u32),
    /// The frame is longer than allowed.
    #[error("a frame of {len} bytes is longer than the {len_max} allowed")]
    TooLong {
        /// How long it claims to be.
        len: u32,
        /// How long one may be.
        len_max: u32,
    },
    /// There are no frames of this kind.
    #[error("{0} is no kind of frame")]
    UnknownKind(u32),
    /// A sequence number with the top bit set that does not mean the absence of one.
    #[error("{0:#x} is no sequence number")]
    BadSequence(u32),
}

/// What stands in front of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The frame's own number; only a request to resume has none.
    pub sequence: Option<Sequence>,
    /// Whose frame it is.
    pub session: SessionId,
    /// The newest call, callback or answer that the sender has received.
    pub last_received: Option<Sequence>,
    /// What it is.
    pub kind: Kind,
}

impl Header {
    /// Its bytes, in front of a payload of so many.
    ///
    /// # Panics
    /// When the frame would be longer than a length can say.
    #[must_use]
    pub fn to_bytes(self, payload_len: usize) -> [u8; HEADER_LEN] {
        let len = u32::try_from(HEADER_LEN + payload_len).expect("messages are shorter than 4 GiB");
        let mut bytes = [0; HEADER_LEN];
        bytes[0..4].copy_from_slice(&len.to_be_bytes());
        bytes[4..8].copy_from_slice(&Sequence::to_wire(self.sequence).to_be_bytes());
        bytes[8..16].copy_from_slice(&self.session.0.to_be_bytes());
        bytes[16..20].copy_from_slice(&Sequence::to_wire(self.last_received).to_be_bytes());
        bytes[20..24].copy_from_slice(&self.kind.number().to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, FrameError> {
        let kind = number_at(bytes, 20);
        Ok(Self {
            sequence: Sequence::from_wire(number_at(bytes, 4)).map_err(FrameError::BadSequence)?,
            session: SessionId(u64::from_be_bytes(
                bytes[8..16].try_into().expect("the range has eight"),
            )),
            last_received: Sequence::from_wire(number_at(bytes, 16))
                .map_err(FrameError::BadSequence)?,
            kind: Kind::from_number(kind).ok_or(FrameError::UnknownKind(kind))?,
        })
    }
}

/// The number that stands there.
///
/// # Panics
/// When the bytes end before.
pub(crate) fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("the range has four"))
}

/// A frame that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What stands in front.
    pub header: Header,
    /// The rest, in memory of its own.
    pub payload: Data,
}

/// Cuts a stream of bytes into frames. Keeps no more than one frame that is not complete, and of it no more than came.
#[derive(Clone, Debug)]
pub struct Deframer {
    len_max: u32,
    pending: Vec<u8>,
}

impl Deframer {
    /// For frames of at most so many bytes.
    #[must_use]
    pub const fn new(len_max: u32) -> Self {
        Self { len_max, pending: Vec::new() }
    }

    /// Takes the next frame off the front of what came; `None` when all of it is used up and the frame is not complete.
    ///
    /// # Errors
    /// Bytes that are no frame; nothing behind them can be understood.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if self.pending.is_empty() {
            // Most often frames come whole.
            if let Some(len) = self.announced(bytes)?
                && let Some((frame, rest)) = bytes.split_at_checked(len)
            {
                *bytes = rest;
                let header = Header::from_bytes(frame)?;
                let payload = Bytes::copy_from_slice(&frame[HEADER_LEN..]);
                return Ok(Some(Frame { header, payload }));
            }
        }
        self.gather(4, bytes);
        let Some(len) = self.announced(&self.pending)? else { return Ok(None) };
        self.gather(len, bytes);
        if self.pending.len() < len {
            return Ok(None);
        }
        let header = Header::from_bytes(&self.pending)?;
        let payload = if len <= COPIED_LEN_MAX {
            let payload = Bytes::copy_from_slice(&self.pending[HEADER_LEN..]);
            self.pending.clear();
            payload
        } else {
            let mut frame = Bytes::from(std::mem::take(&mut self.pending));
            frame.advance(HEADER_LEN);
            frame
        };
        Ok(Some(Frame { header, payload }))
    }

    /// How much there is of a frame that is not complete.
    #[must_use]
    pub const fn pending_len(&self) -> usize {
        self.pending.len()
    }

    /// How long the frame is that begins here, as soon as it says so.
    fn announced(&self, bytes: &[u8]) -> Result<Option<usize>, FrameError> {
        if bytes.len() < 4 {
            return Ok(None);
        }
        let (len, len_max) = (number_at(bytes, 0), self.len_max);
        match len as usize {
            ..HEADER_LEN => Err(FrameError::TooShort(len)),
            _ if len > len_max => Err(FrameError::TooLong { len, len_max }),
            len => Ok(Some(len)),
        }
    }

    /// Moves bytes over until there are so many.
    fn gather(&mut self, len: usize, bytes: &mut &[u8]) {
        let missing = len.saturating_sub(self.pending.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.pending.extend_from_slice(taken);
        *bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(payload: &[u8]) -> Vec<u8> {
        let header = Header {
            sequence: Sequence::new(payload.len() as u32),
            session: SessionId(7),
            last_received: None,
            kind: Kind::CallRequest,
        };
        [&header.to_bytes(payload.len())[..], payload].concat()
    }

    fn cut(mut bytes: &[u8], len_max: u32) -> Result<Vec<Frame>, FrameError> {
        let mut deframer = Deframer::new(len_max);
        let mut frames = Vec::new();
        while let Some(frame) = deframer.next(&mut bytes)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[test]
    fn a_frame_of_a_wrong_length_or_kind_is_refused() {
        let with = |at: usize, number: u32| {
            let mut bytes = frame(b"");
            bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
            cut(&bytes, 1000).unwrap_err()
        };
        assert_eq!(with(0, 23), FrameError::TooShort(23));
        assert_eq!(with(0, 0), FrameError::TooShort(0));
        assert_eq!(with(0, 1001), FrameError::TooLong { len: 1001, len_max: 1000 });
        assert_eq!(with(4, u32::MAX), FrameError::BadSequence(u32::MAX));
        assert_eq!(with(16, 0x8000_0001), FrameError::BadSequence(0x8000_0001));
        for kind in [0, 7, 9, 12, 19, 24, u32::MAX] {
            assert_eq!(with(20, kind), FrameError::UnknownKind(kind));
        }
    }

    #[test]
    fn a_length_is_refused_as_soon_as_it_is_read() {
        assert_eq!(
            cut(&u32::MAX.to_be_bytes(), 1000).unwrap_err(),
            FrameError::TooLong { len: u32::MAX, len_max: 1000 }
        );
    }

    #[test]
    fn kinds_are_known_by_their_numbers() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_number(kind.number()), Some(*kind));
        }
        assert_eq!(Kind::ALL.len(), 12);
    }

    #[test]
    fn a_session_is_never_shown_whole() {
        let id = SessionId::new(0x0123_4567_89AB_CDEF).unwrap();
        assert_eq!(format!("{id} {id:?}"), "…cdef SessionId(…cdef)");
        assert_eq!(SessionId::new(0), None);
    }

    proptest! {
        #[test]
        fn frames_are_the_same_however_they_are_split(
            lens in proptest::collection::vec(prop_oneof![0..40_usize, 4000..9000_usize], 1..8),
            parts in proptest::collection::vec(1..5000_usize, 1..20),
        ) {
            let bytes: Vec<u8> =
                lens.iter().flat_map(|len| frame(&vec![*len as u8; *len])).collect();
            let whole = cut(&bytes, 20_000).unwrap();
            prop_assert_eq!(whole.len(), lens.len());
            let mut deframer = Deframer::new(20_000);
            let (mut frames, mut rest) = (Vec::new(), &bytes[..]);
            for len in parts.iter().cycle() {
                let (mut part, behind) = rest.split_at((*len).min(rest.len()));
                rest = behind;
                while let Some(frame) = deframer.next(&mut part).unwrap() {
                    frames.push(frame);
                }
                prop_assert!(part.is_empty());
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(frames, whole);
        }
    }
}
