//! Requests, answers and datagrams of a link as bytes; numbers are little-endian.
//!
//! ```text
//! hello     → "hemiola link 1\0\0"
//!           ← "hemiola link 1\0\0" · 0 granted, 1 busy · token · port of the datagrams
//! request   → kind · length · seed, 8 bytes each; then `length` bytes for ECHO and TAKE
//!           ← ECHO: these bytes   TAKE: their sum   GIVE: `length` bytes of the sequence `seed`
//!             COUNT: how many datagrams were returned, copies of them not counted
//! datagram  ⇄ token · number · any bytes
//! ```

use thiserror::Error;

/// The first bytes of a connection, in both directions.
pub(super) const MAGIC: [u8; 16] = *b"hemiola link 1\0\0";

/// The length of the answer to the hello.
pub(super) const WELCOME: usize = 40;

/// The length of a request.
pub(super) const REQUEST: usize = 24;

/// The least and the greatest length of a datagram.
pub(super) const DATAGRAM_MIN: usize = 16;
pub(super) const DATAGRAM_MAX: usize = 1400;

/// The most bytes of one echo; both sides keep them in memory.
pub(super) const ECHO_MAX: u64 = 65_536;

/// The most bytes of one transfer, which nobody keeps.
pub(super) const TRANSFER_MAX: u64 = 256 << 20;

/// What the measuring host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Return the bytes that follow.
    Echo { length: u64 },
    /// Read the bytes that follow, and answer with their sum.
    Take { length: u64 },
    /// Send bytes.
    Give { length: u64, seed: u64 },
    /// Say how many different datagrams were returned in this session.
    Count,
}

/// Why a request is refused. The session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Refused {
    /// No request has this number.
    #[error("there is no request {0}")]
    Unknown(u64),
    /// It asks for too much at once.
    #[error("{0} bytes are more than one request may move")]
    TooLong(u64),
}

impl Request {
    pub(super) fn encode(self) -> [u8; REQUEST] {
        let (kind, length, seed) = match self {
            Self::Echo { length } => (1, length, 0),
            Self::Take { length } => (2, length, 0),
            Self::Give { length, seed } => (3, length, seed),
            Self::Count => (4, 0, 0),
        };
        joined([kind, length, seed])
    }

    pub(super) fn decode(bytes: &[u8; REQUEST]) -> Result<Self, Refused> {
        let [kind, length, seed] = split(bytes);
        let (request, max) = match kind {
            1 => (Self::Echo { length }, ECHO_MAX),
            2 => (Self::Take { length }, TRANSFER_MAX),
            3 => (Self::Give { length, seed }, TRANSFER_MAX),
            4 => (Self::Count, u64::MAX),
            other => return Err(Refused::Unknown(other)),
        };
        if length > max { Err(Refused::TooLong(length)) } else { Ok(request) }
    }
}

/// The answer to a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Welcome {
    Granted { token: u64, port: u16 },
    Busy,
}

impl Welcome {
    pub(super) fn encode(self) -> [u8; WELCOME] {
        let words: [u8; REQUEST] = match self {
            Self::Granted { token, port } => joined([0, token, port.into()]),
            Self::Busy => joined([1, 0, 0]),
        };
        let mut bytes = [0; WELCOME];
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        bytes[MAGIC.len()..].copy_from_slice(&words);
        bytes
    }

    /// Reads the answer; `None` if it is none of this protocol.
    pub(super) fn decode(bytes: &[u8; WELCOME]) -> Option<Self> {
        let words: &[u8; REQUEST] = bytes.strip_prefix(&MAGIC)?.first_chunk()?;
        match split(words) {
            [0, token, port] => Some(Self::Granted { token, port: u16::try_from(port).ok()? }),
            [1, ..] => Some(Self::Busy),
            _ => None,
        }
    }
}

/// The head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    pub(super) token: u64,
    pub(super) number: u64,
}

impl Datagram {
    pub(super) fn write(self, bytes: &mut [u8]) {
        bytes[..8].copy_from_slice(&self.token.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (token, rest) = bytes.split_first_chunk()?;
        let number = rest.first_chunk()?;
        Some(Self { token: u64::from_le_bytes(*token), number: u64::from_le_bytes(*number) })
    }
}

fn joined(words: [u64; 3]) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn split(bytes: &[u8; REQUEST]) -> [u64; 3] {
    let mut words = [0; 3];
    for (word, place) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*place);
    }
    words
}

/// A sequence of bytes that follows from its seed, so that the receiver can tell whether all of it arrived.
///
/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence(pub(super) u64);

impl Sequence {
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for place in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            place.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..place.len()]);
        }
    }
}

/// The sum of bytes that arrive in pieces: of the words of eight bytes, wrapping.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    sum: u64,
    /// The bytes before the next whole word.
    rest: [u8; 8],
    count: usize,
}

impl Sum {
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        if self.count > 0 {
            let (first, others) = bytes.split_at(bytes.len().min(8 - self.count));
            self.rest[self.count..self.count + first.len()].copy_from_slice(first);
            self.count += first.len();
            bytes = others;
            if self.count < 8 {
                return;
            }
            self.sum = self.sum.wrapping_add(u64::from_le_bytes(self.rest));
        }
        let (words, rest) = bytes.as_chunks();
        self.sum =
            words.iter().fold(self.sum, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        self.rest[..rest.len()].copy_from_slice(rest);
        self.count = rest.len();
    }

    pub(super) fn value(mut self) -> u64 {
        self.rest[self.count..].fill(0);
        let last = if self.count > 0 { u64::from_le_bytes(self.rest) } else { 0 };
        self.sum.wrapping_add(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_request_is_read_as_it_was_written_or_refused(words in any::<[u64; 3]>(), kind in 0_u64..6) {
            match Request::decode(&joined([kind, words[1] >> (words[0] % 64), words[2]])) {
                Ok(request) => prop_assert_eq!(Request::decode(&request.encode()), Ok(request)),
                Err(Refused::Unknown(other)) => prop_assert_eq!(other, kind),
                Err(Refused::TooLong(length)) => prop_assert!(length > ECHO_MAX),
            }
        }

        #[test]
        fn a_sum_does_not_depend_on_the_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(0_usize..200, 0..9),
        ) {
            let (mut whole, mut parts) = (Sum::default(), Sum::default());
            whole.add(&bytes);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            cuts.windows(2).for_each(|cut| parts.add(&bytes[cut[0]..cut[1]]));
            prop_assert_eq!(whole.value(), parts.value());
        }
    }

    #[test]
    fn a_welcome_and_a_datagram_are_read_as_they_were_written() {
        for welcome in [Welcome::Granted { token: 7 << 60, port: 15168 }, Welcome::Busy] {
            assert_eq!(Welcome::decode(&welcome.encode()), Some(welcome));
        }
        assert_eq!(Welcome::decode(&[7; WELCOME]), None);
        let datagram = Datagram { token: 7 << 60, number: 9 };
        let mut bytes = [1; 20];
        datagram.write(&mut bytes);
        assert_eq!(Datagram::read(&bytes), Some(datagram));
        assert_eq!(Datagram::read(&bytes[..15]), None);
    }
}
