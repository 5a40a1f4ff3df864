//! The two messages between I/O, decision and units, as bytes.
//!
//! Both are little-endian and of fixed size, so that a unit in any language can read them as a struct:
//!
//! ```text
//! Sensors, 64 bytes                              Command, 48 bytes
//!  0 u32 magic 0x53494E53                         0 u32 magic 0x444E4D43
//!  4 u16 version 1      6 u16 length 64           4 u16 version 1      6 u16 length 48
//!  8 u64 sequence: the cycle, from 0              8 u64 sequence of the sensors answered
//! 16 u64 release, ns                             16 u32 generation of the unit
//! 24 u64 sampled, ns                             20 u32 flags, 0
//! 32 f64 position, m                             24 f64 volts
//! 40 f64 angle, rad                              32 u64 stamp, ns
//! 48 f64 applied, V                              40 u32 0
//! 56 u32 period, µs                              44 u32 FNV-1a-32 over bytes 0..44
//! 60 u32 FNV-1a-32 over bytes 0..60
//! ```

use hemiola_units::Instant;
use thiserror::Error;

/// The I/O code's message to all other processes, once per cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sensors {
    /// Number of the cycle, from 0.
    pub sequence: u64,
    /// Nominal release of the cycle.
    pub release: Instant,
    /// When the converters were read.
    pub sampled: Instant,
    /// Cart position in m.
    pub position: f64,
    /// Rod angle in rad.
    pub angle: f64,
    /// Mean motor voltage since the previous sample, weighted by time, in V.
    pub applied: f64,
    /// Period of the loop in µs.
    pub period_us: u32,
}

/// A unit's answer to one [`Sensors`] message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// The sequence of the sensors answered.
    pub sequence: u64,
    /// The generation number that the unit was given at its start.
    pub unit: u32,
    /// The requested motor voltage in V. It may have any bit pattern: the receiver checks it.
    pub volts: f64,
    /// When the answer was computed.
    pub stamp: Instant,
}

/// Why bytes are not a message. The receiver can only drop and count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The number of bytes, or the length in the header, is wrong.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// The number of bytes, or the length in the header.
        found: usize,
        /// The required number.
        expected: usize,
    },
    /// Another kind of message, or no message.
    #[error("magic number {0:#010x} is not this message's")]
    Magic(u32),
    /// A version that this code does not know.
    #[error("version {0} is not known")]
    Version(u16),
    /// The bytes were changed in transit.
    #[error("checksum {found:#010x} instead of {expected:#010x}")]
    Checksum {
        /// The sum in the message.
        found: u32,
        /// The sum computed over it.
        expected: u32,
    },
}

const VERSION: u16 = 1;

impl Sensors {
    /// Bytes of the message.
    pub const SIZE: usize = 64;
    const MAGIC: u32 = 0x5349_4E53;

    /// Returns the message as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = begin(Self::MAGIC);
        put(&mut bytes, 8, self.sequence.to_le_bytes());
        put(&mut bytes, 16, self.release.nanos().to_le_bytes());
        put(&mut bytes, 24, self.sampled.nanos().to_le_bytes());
        put(&mut bytes, 32, self.position.to_le_bytes());
        put(&mut bytes, 40, self.angle.to_le_bytes());
        put(&mut bytes, 48, self.applied.to_le_bytes());
        put(&mut bytes, 56, self.period_us.to_le_bytes());
        finish(bytes)
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// If the bytes are not such a message. The values are not checked.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes = checked::<{ Self::SIZE }>(bytes, Self::MAGIC)?;
        Ok(Self {
            sequence: u64::from_le_bytes(get(bytes, 8)),
            release: Instant::from_nanos(u64::from_le_bytes(get(bytes, 16))),
            sampled: Instant::from_nanos(u64::from_le_bytes(get(bytes, 24))),
            position: f64::from_le_bytes(get(bytes, 32)),
            angle: f64::from_le_bytes(get(bytes, 40)),
            applied: f64::from_le_bytes(get(bytes, 48)),
            period_us: u32::from_le_bytes(get(bytes, 56)),
        })
    }
}

impl Command {
    /// Bytes of the message.
    pub const SIZE: usize = 48;
    const MAGIC: u32 = 0x444E_4D43;

    /// Returns the message as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = begin(Self::MAGIC);
        put(&mut bytes, 8, self.sequence.to_le_bytes());
        put(&mut bytes, 16, self.unit.to_le_bytes());
        put(&mut bytes, 24, self.volts.to_le_bytes());
        put(&mut bytes, 32, self.stamp.nanos().to_le_bytes());
        finish(bytes)
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// If the bytes are not such a message. The values are not checked.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes = checked::<{ Self::SIZE }>(bytes, Self::MAGIC)?;
        Ok(Self {
            sequence: u64::from_le_bytes(get(bytes, 8)),
            unit: u32::from_le_bytes(get(bytes, 16)),
            volts: f64::from_le_bytes(get(bytes, 24)),
            stamp: Instant::from_nanos(u64::from_le_bytes(get(bytes, 32))),
        })
    }
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

fn get<const N: usize, const SIZE: usize>(bytes: &[u8; SIZE], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn begin<const SIZE: usize>(magic: u32) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    put(&mut bytes, 0, magic.to_le_bytes());
    put(&mut bytes, 4, VERSION.to_le_bytes());
    put(&mut bytes, 6, (SIZE as u16).to_le_bytes());
    bytes
}

fn finish<const SIZE: usize>(mut bytes: [u8; SIZE]) -> [u8; SIZE] {
    let sum = fnv1a(&bytes[..SIZE - 4]);
    put(&mut bytes, SIZE - 4, sum.to_le_bytes());
    bytes
}

/// Checks from the outside in, so that the error shows how far the bytes were right.
fn checked<const SIZE: usize>(bytes: &[u8], magic: u32) -> Result<&[u8; SIZE], DecodeError> {
    let bytes: &[u8; SIZE] =
        bytes.try_into().map_err(|_| DecodeError::Length { found: bytes.len(), expected: SIZE })?;
    let found = u32::from_le_bytes(get(bytes, 0));
    if found != magic {
        return Err(DecodeError::Magic(found));
    }
    let version = u16::from_le_bytes(get(bytes, 4));
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    let length = usize::from(u16::from_le_bytes(get(bytes, 6)));
    if length != SIZE {
        return Err(DecodeError::Length { found: length, expected: SIZE });
    }
    let (found, expected) = (u32::from_le_bytes(get(bytes, SIZE - 4)), fnv1a(&bytes[..SIZE - 4]));
    if found != expected {
        return Err(DecodeError::Checksum { found, expected });
    }
    Ok(bytes)
}

/// FNV-1a with 32 bits (Fowler, Noll and Vo): four lines in any language, and every single flipped bit changes it. It
/// guards against errors, not against malice.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn checksum_matches_the_published_vectors() {
        assert_eq!(fnv1a(b""), 0x811c_9dc5);
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968);
    }

    #[test]
    fn layout_is_as_drawn() {
        let command =
            Command { sequence: 0x0102, unit: 7, volts: 1.0, stamp: Instant::from_nanos(9) };
        let bytes = command.encode();
        assert_eq!(&bytes[..10], b"CMND\x01\x00\x30\x00\x02\x01");
        assert_eq!((bytes[16], bytes[31], bytes[32]), (7, 0x3f, 9));
        assert_eq!(&Sensors::default().encode()[..8], b"SNIS\x01\x00\x40\x00");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = Command { sequence: 5, volts: 2.5, ..Command::default() }.encode();
        for bit in 0..Command::SIZE * 8 {
            let mut broken = bytes;
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(Command::decode(&broken).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn errors_say_how_far_the_bytes_were_right() {
        let good = Command::default().encode();
        let broken = |at: usize| {
            let mut bytes = good;
            bytes[at] ^= 0x40;
            Command::decode(&bytes).unwrap_err()
        };
        assert_eq!(
            Command::decode(&good[..47]),
            Err(DecodeError::Length { found: 47, expected: 48 })
        );
        assert_eq!(broken(0), DecodeError::Magic(0x444E_4D03));
        assert_eq!(broken(4), DecodeError::Version(0x41));
        assert_eq!(broken(6), DecodeError::Length { found: 0x70, expected: 48 });
        assert!(matches!(broken(24), DecodeError::Checksum { .. }));
        assert!(Sensors::decode(&good).is_err());
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(sequence: u64, unit: u32, volts: f64, a: u64, b: u64, x: u64) {
            let stamp = Instant::from_nanos(a);
            let command = Command { sequence, unit, volts, stamp };
            prop_assert_eq!(Command::decode(&command.encode()).unwrap().encode(), command.encode());
            let sensors = Sensors {
                sequence, release: stamp, sampled: Instant::from_nanos(b),
                position: f64::from_bits(x), angle: volts, applied: -volts, period_us: unit,
            };
            prop_assert_eq!(Sensors::decode(&sensors.encode()).unwrap().encode(), sensors.encode());
        }

        #[test]
        fn no_bytes_make_decoding_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (Command::decode(&bytes), Sensors::decode(&bytes));
        }
    }
}
