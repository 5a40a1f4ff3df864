//! Frames: the units that a stream of bytes is split into. All numbers are big-endian.
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

/// The length of a frame's header, in bytes.
pub const HEADER_LEN: usize = 24;

/// Frames up to this length are copied out of the receive buffer; the buffer of a longer frame is moved.
const COPIED_LEN_MAX: usize = 4096;

/// An incomplete frame of which so much has come gets all its room, in bytes. No more than twice that is ever copied.
const ROOM_FROM: usize = 128 << 10;

/// The name of a session. A peer that knows it can take the session over, so it is random and never displayed in full.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u64);

impl SessionId {
    /// The value in frames that are sent before the session has a name.
    pub const NONE: Self = Self(0);

    /// Returns the name with this number, or `None` for 0. Draw the 64 bits from a cryptographic random generator.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// Returns all its digits, hexadecimal. Anyone who knows them can take the session over or end it.
    #[must_use]
    pub fn secret(self) -> String {
        format!("{:016x}", self.0)
    }

    /// Returns the name with these digits, as [`secret`](Self::secret) returns them.
    #[must_use]
    pub fn from_secret(digits: &str) -> Option<Self> {
        u64::from_str_radix(digits.trim(), 16).ok().and_then(Self::new)
    }
}

/// Shows the last four hexadecimal digits.
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

macro_rules! frame_kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// The kind of a frame. Kinds from 20 carry messages of the High Level Architecture and are sent again if a
        /// connection breaks; the others control the session and are not sent again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FrameKind {
            $($(#[$doc])* $name,)*
        }

        impl FrameKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the number on the wire.
            pub const fn number(self) -> u32 {
                match self { $(Self::$name => $number,)* }
            }

            /// Returns the kind with this number, if there is one.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

frame_kinds! {
    /// A federate requests a session. Payload: the version of the protocol.
    NewSession = 1,
    /// The RTI creates the session or refuses. Payload: a status.
    NewSessionStatus = 2,
    /// A federate that has nothing else to send is still alive.
    Heartbeat = 3,
    /// The RTI answers a heartbeat. Payload: the number of the heartbeat.
    HeartbeatResponse = 4,
    /// A federate ends the session.
    TerminateSession = 5,
    /// The RTI has ended the session. This is the last frame of the session.
    SessionTerminated = 6,
    /// A federate resumes a session on a new connection. Payload: the newest number it has received, the oldest number
    /// it can send again.
    ResumeRequest = 10,
    /// The RTI resumes the session or refuses. Payload: a status, the newest number it has received.
    ResumeStatus = 11,
    /// A call.
    CallRequest = 20,
    /// The reply to a call. Payload: the number of the call, the body.
    CallResponse = 21,
    /// A callback.
    CallbackRequest = 22,
    /// The response to a callback. Payload: the number of the callback, the body.
    CallbackResponse = 23,
    /// A call whose result the federate does not want: if it is carried out, its reply says so and nothing else. Like
    /// [`CallsDone`](Self::CallsDone), this needs an agreement.
    CallPosted = 1020,
    /// The replies to all calls up to one that have none: each was carried out and has no result. Payload: the number
    /// of that call. Not part of the standard: both sides [agree](crate::Session::gather_answers) on it first.
    CallsDone = 1021,
    /// Several callbacks. Payload: of each, the length of its body and the body. Like [`CallsDone`](Self::CallsDone),
    /// this needs an [agreement](crate::Session::share_frames).
    CallbackRequests = 1022,
    /// The responses to all callbacks up to one that have none: each was processed. Payload: the number of that
    /// callback. Like [`CallsDone`](Self::CallsDone), this needs an agreement.
    CallbacksDone = 1023,
}

/// Why bytes are not a frame. The rest of the stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length is shorter than a header.
    #[error("a frame of {0} bytes is shorter than its header")]
    TooShort(u32),
    /// The frame is longer than the receiver allows.
    #[error("a frame of {len} bytes is longer than the {len_max} allowed")]
    TooLong {
        /// The length in the header.
        len: u32,
        /// The maximum length.
        len_max: u32,
    },
    /// The kind is not defined.
    #[error("there is no frame kind {0}")]
    UnknownKind(u32),
    /// The sequence number has the top bit set and is not the value for "no number".
    #[error("{0:#x} is not a sequence number")]
    BadSequence(u32),
}

/// The header in front of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of this frame; only a [`FrameKind::ResumeRequest`] has none.
    pub sequence: Option<Sequence>,
    /// The session that the frame belongs to.
    pub session: SessionId,
    /// The newest call, callback, reply or response that the sender has received.
    pub last_received: Option<Sequence>,
    /// The kind of the frame.
    pub kind: FrameKind,
}

impl Header {
    /// Encodes the header of a frame with a payload of `payload_len` bytes.
    ///
    /// # Panics
    /// If the frame would be longer than 4 GiB.
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
                bytes[8..16].try_into().expect("the range has eight bytes"),
            )),
            last_received: Sequence::from_wire(number_at(bytes, 16))
                .map_err(FrameError::BadSequence)?,
            kind: FrameKind::from_number(kind).ok_or(FrameError::UnknownKind(kind))?,
        })
    }
}

/// Reads the number at an offset.
///
/// # Panics
/// If there are fewer than four bytes at the offset.
pub(crate) fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("the range has four bytes"))
}

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The header.
    pub header: Header,
    /// The bytes behind the header. Up to [`BLOCK_LEN`] bytes that arrived together share their memory; to keep a few
    /// of them for long, copy them.
    pub payload: Data,
}

/// Frames that arrive together are copied out of the receive buffer together, in blocks of this many bytes. A block for
/// each frame would cost two allocations for each.
pub const BLOCK_LEN: usize = 2048;

/// Received bytes that have not been split into frames.
#[derive(Clone, Debug)]
pub struct Unread<'a> {
    bytes: &'a [u8],
    /// A copy of the first of them.
    block: Data,
}

impl<'a> Unread<'a> {
    /// All of these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, block: Data::new() }
    }

    /// Returns the bytes that are left.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Skips bytes and returns them.
    fn skip(&mut self, len: usize) -> &'a [u8] {
        let (skipped, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        self.block.advance(len.min(self.block.len()));
        skipped
    }

    /// Takes a frame out of a block.
    fn take(&mut self, len: usize) -> Data {
        if self.block.len() < len {
            let block_len = BLOCK_LEN.min(self.bytes.len()).max(len);
            self.block = Data::copy_from_slice(&self.bytes[..block_len]);
        }
        self.bytes = &self.bytes[len..];
        self.block.split_to(len)
    }
}

/// Splits a stream of bytes into frames. Buffers at most one incomplete frame, and only the bytes received of it.
#[derive(Clone, Debug)]
pub struct Deframer {
    len_max: u32,
    pending: Vec<u8>,
}

impl Deframer {
    /// Creates a deframer for frames of at most `len_max` bytes.
    #[must_use]
    pub const fn new(len_max: u32) -> Self {
        Self { len_max, pending: Vec::new() }
    }

    /// Takes the next frame off the front of `bytes`. Returns `None` when `bytes` is used up and the frame is not yet
    /// complete.
    ///
    /// # Errors
    /// The bytes are not a frame. The rest of the stream cannot be read.
    pub fn next(&mut self, bytes: &mut Unread<'_>) -> Result<Option<Frame>, FrameError> {
        // Most frames arrive whole.
        if self.pending.is_empty()
            && let Some(len) = self.frame_len(bytes.rest())?
            && len <= bytes.rest().len()
        {
            let header = Header::from_bytes(bytes.rest())?;
            let mut payload = bytes.take(len);
            payload.advance(HEADER_LEN);
            return Ok(Some(Frame { header, payload }));
        }
        self.gather(4, bytes);
        let Some(len) = self.frame_len(&self.pending)? else { return Ok(None) };
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

    /// Returns the memory of the incomplete frame, in bytes.
    #[must_use]
    pub const fn pending_len(&self) -> usize {
        self.pending.capacity()
    }

    /// Returns the length of the frame that begins here, once its length field has arrived.
    fn frame_len(&self, bytes: &[u8]) -> Result<Option<usize>, FrameError> {
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

    /// Moves bytes into the buffer until it has `len` bytes or `bytes` is used up.
    fn gather(&mut self, len: usize, bytes: &mut Unread<'_>) {
        let missing = len.saturating_sub(self.pending.len()).min(bytes.rest().len());
        let taken = bytes.skip(missing);
        let wanted = self.pending.len() + taken.len();
        if wanted > self.pending.capacity() {
            // The values of a call share this memory and may be kept for long, so it never exceeds the frame. A quarter
            // of the frame is worth room for all of it: growing further would copy much at once.
            let (frame, twice) = (len.max(COPIED_LEN_MAX), 2 * wanted);
            let room = if wanted >= ROOM_FROM.min(len / 4) { frame } else { twice.min(frame) };
            self.pending.reserve_exact(room - self.pending.len());
        }
        self.pending.extend_from_slice(taken);
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
            kind: FrameKind::CallRequest,
        };
        [&header.to_bytes(payload.len())[..], payload].concat()
    }

    fn cut(bytes: &[u8], len_max: u32) -> Result<Vec<Frame>, FrameError> {
        let mut bytes = Unread::new(bytes);
        let mut deframer = Deframer::new(len_max);
        let mut frames = Vec::new();
        while let Some(frame) = deframer.next(&mut bytes)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[test]
    fn frame_of_a_wrong_length_or_kind_is_rejected() {
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
        for kind in [0, 7, 9, 12, 19, 24, 1019, 1024, u32::MAX] {
            assert_eq!(with(20, kind), FrameError::UnknownKind(kind));
        }
    }

    #[test]
    fn length_is_checked_as_soon_as_it_is_read() {
        assert_eq!(
            cut(&u32::MAX.to_be_bytes(), 1000).unwrap_err(),
            FrameError::TooLong { len: u32::MAX, len_max: 1000 }
        );
    }

    #[test]
    fn every_kind_is_found_by_its_number() {
        for kind in FrameKind::ALL {
            assert_eq!(FrameKind::from_number(kind.number()), Some(*kind));
        }
        assert_eq!(FrameKind::ALL.len(), 16);
    }

    #[test]
    fn session_id_is_never_displayed_in_full() {
        let id = SessionId::new(0x0123_4567_89AB_CDEF).unwrap();
        assert_eq!(format!("{id} {id:?}"), "…cdef SessionId(…cdef)");
        assert_eq!(SessionId::new(0), None);
    }

    #[test]
    fn frames_that_arrive_together_share_blocks_of_limited_length() {
        let bytes: Vec<u8> = (0..100).flat_map(|_| frame(&[7; 76])).collect();
        let frames = cut(&bytes, 1000).unwrap();
        let places: Vec<usize> = frames.iter().map(|one| one.payload.as_ptr().addr()).collect();
        let blocks = 1 + places.windows(2).filter(|pair| pair[1] != pair[0] + 100).count();
        assert_eq!((frames.len(), blocks), (100, 5), "20 frames of 100 bytes fit into a block");
        // A frame that is longer than a block shares its memory with no other.
        let long = cut(&[frame(&[7; 3000]), frame(&[7; 76])].concat(), 5000).unwrap();
        let [long, short] = &long[..] else { panic!("two frames") };
        assert_ne!(long.payload.as_ptr().addr() + 3024, short.payload.as_ptr().addr());
    }

    #[test]
    fn room_for_a_large_frame_is_made_before_much_of_it_would_be_copied() {
        let bytes = frame(&vec![7; 15 << 20]);
        let (mut deframer, mut grown) = (Deframer::new(u32::MAX), 0);
        for part in bytes.chunks(64 << 10) {
            let (len, room) = (deframer.pending.len(), deframer.pending_len());
            let frame = deframer.next(&mut Unread::new(part)).unwrap();
            assert_eq!(frame.is_some(), len + part.len() == bytes.len());
            if frame.is_none() && deframer.pending_len() != room {
                grown += 1;
                assert!(len <= 2 * ROOM_FROM, "{len} bytes are copied at once");
            }
        }
        assert_eq!(grown, 2, "room for 128 KiB, and for all");
    }

    proptest! {
        #[test]
        fn frames_are_the_same_however_the_stream_is_split(
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
                let (part, behind) = rest.split_at((*len).min(rest.len()));
                rest = behind;
                let mut part = Unread::new(part);
                while let Some(frame) = deframer.next(&mut part).unwrap() {
                    frames.push(frame);
                }
                prop_assert!(part.rest().is_empty());
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(frames, whole);
        }
    }
}
