//! The messages between the federates of a formation, as bytes.
//!
//! Both are fixed records of big-endian floating-point numbers without padding, as an object model encodes a record
//! of `HLAfloat64BE` (IEEE 1516.2, the predefined encodings):
//!
//! ```text
//! Report, 56 bytes            Command, 32 bytes
//!  0 f64 time, s               0 f64 time, s
//!  8 f64 x  16 f64 y  24 f64 z, m         8 f64 ux  16 f64 uy  24 f64 uz, m/s²
//! 32 f64 ẋ  40 f64 ẏ  48 f64 ż, m/s
//! ```

use thiserror::Error;

use super::Motion;

/// The state of a satellite, sent by its dynamics to its board computer and to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Simulated time since the start, s.
    pub time: f64,
    /// Position and velocity at that time.
    pub motion: Motion,
}

/// The thrust that a board computer requests from its satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// The time of the report it answers, s.
    pub time: f64,
    /// Along each axis, m/s².
    pub thrust: [f64; 3],
}

/// Why bytes are not a message. The receiver can only drop and count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Too few or too many bytes: the sender means another message.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// The number of bytes.
        found: usize,
        /// The required number.
        expected: usize,
    },
    /// A number is infinite or not-a-number.
    #[error("number {0} of the message is not finite")]
    NotFinite(usize),
}

impl Report {
    /// Bytes of the message.
    pub const SIZE: usize = 56;

    /// Returns the message as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let [x, y, z, vx, vy, vz] = self.motion.to_array();
        encoded([self.time, x, y, z, vx, vy, vz])
    }

    /// The inverse of [`Report::to_bytes`].
    ///
    /// # Errors
    /// Any [`MessageError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let [time, x, y, z, vx, vy, vz] = decoded(bytes)?;
        Ok(Self { time, motion: Motion::from_array([x, y, z, vx, vy, vz]) })
    }
}

impl Command {
    /// Bytes of the message.
    pub const SIZE: usize = 32;

    /// Returns the message as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let [ux, uy, uz] = self.thrust;
        encoded([self.time, ux, uy, uz])
    }

    /// The inverse of [`Command::to_bytes`].
    ///
    /// # Errors
    /// Any [`MessageError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let [time, ux, uy, uz] = decoded(bytes)?;
        Ok(Self { time, thrust: [ux, uy, uz] })
    }
}

fn encoded<const N: usize, const SIZE: usize>(numbers: [f64; N]) -> [u8; SIZE] {
    const { assert!(8 * N == SIZE) };
    let mut bytes = [0; SIZE];
    for (place, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
        *place = number.to_be_bytes();
    }
    bytes
}

fn decoded<const N: usize>(bytes: &[u8]) -> Result<[f64; N], MessageError> {
    let error = MessageError::Length { found: bytes.len(), expected: 8 * N };
    let (places, rest) = bytes.as_chunks::<8>();
    let places: &[[u8; 8]; N] = places.try_into().map_err(|_| error)?;
    if !rest.is_empty() {
        return Err(error);
    }
    let numbers = places.map(f64::from_be_bytes);
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(MessageError::NotFinite(index)),
        None => Ok(numbers),
    }
}
