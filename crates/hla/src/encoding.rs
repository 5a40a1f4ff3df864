//! The encoding of the standard's data types (IEEE 1516.2-2025, clause 4.14).
//!
//! An [`Element`] is a value of a data type. Each data type has an octet boundary: in a message, its values begin at
//! multiples of it, after zero bytes of padding where needed. A basic type's boundary is its size; a record's boundary
//! is the greatest of its parts. Padding comes only between parts, never after the last. Since every part begins at its
//! boundary, offsets count from the start of the message.
//!
//! [`decode`] accepts arbitrary bytes: invalid ones give an error, never a panic, and it allocates no more than a small
//! multiple of its input.

mod array;
mod basic;
mod handle;
mod record;
mod text;
mod variant;

pub use array::{HLAfixedArray, HLAopaqueData, HLAtoken, HLAvariableArray};
pub use basic::{
    HLAASCIIchar, HLAboolean, HLAbyte, HLAfloat32BE, HLAfloat32LE, HLAfloat64BE, HLAfloat64LE,
    HLAinteger16BE, HLAinteger16LE, HLAinteger32BE, HLAinteger32LE, HLAinteger64BE, HLAinteger64LE,
    HLAoctet, HLAoctetPairBE, HLAoctetPairLE, HLAunicodeChar, HLAunsignedInteger8,
    HLAunsignedInteger16BE, HLAunsignedInteger16LE, HLAunsignedInteger32BE, HLAunsignedInteger32LE,
    HLAunsignedInteger64BE, HLAunsignedInteger64LE,
};
pub use handle::{HLAlogicalTime, HLAtimeInterval};
pub use record::HLAfixedRecord;
pub use text::{HLAASCIIstring, HLAunicodeString};
pub use variant::{Alternatives, HLAextendableVariantRecord, HLAvariantRecord};

/// A value of a data type.
pub trait Element: Sized {
    /// Its values begin at multiples of this many bytes: 1, 2, 4 or 8.
    const BOUNDARY: usize;

    /// The minimum size of a value in bytes. It limits how many values an input can hold.
    const LEN_MIN: usize;

    /// The size in bytes of what the methods `encode` of the standard's interfaces give, if data has the number of
    /// these bytes before them: for handles and times.
    const UNCOUNTED_LEN: Option<usize> = None;

    /// Appends the value. The writer is at the boundary.
    fn write(&self, to: &mut Writer);

    /// Reads a value. The reader is at the boundary.
    ///
    /// # Errors
    /// If the bytes end too early or do not encode a value.
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// Encodes a value.
pub fn encode<T: Element>(value: &T) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.put(value);
    writer.bytes
}

/// Decodes a value from all of these bytes.
///
/// # Errors
/// If the bytes end too early, continue after the value or do not encode one.
pub fn decode<T: Element>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = reader.get()?;
    match reader.left() {
        0 => Ok(value),
        more => Err(DecodeError::TooLong { more }),
    }
}

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They end within the value.
    #[error("byte {at}: {needed} bytes needed, {left} left")]
    TooShort {
        /// The position.
        at: usize,
        /// The least number of bytes that the next part needs.
        needed: usize,
        /// The number of bytes left.
        left: usize,
    },
    /// They continue after the value.
    #[error("{more} bytes follow the value")]
    TooLong {
        /// The number of excess bytes.
        more: usize,
    },
    /// An array's element count is negative or exceeds what the input can hold.
    #[error("byte {at}: invalid element count {count}")]
    Count {
        /// The position of the count.
        at: usize,
        /// The count.
        count: i32,
    },
    /// A part has a value outside its data type.
    #[error("byte {at}: not a value of {datatype}")]
    Value {
        /// Its position.
        at: usize,
        /// The data type.
        datatype: &'static str,
    },
    /// The part of an extendable record has another length than declared.
    #[error("byte {at}: the alternative is {is} bytes long, not {said} as declared")]
    Length {
        /// The position of the alternative.
        at: usize,
        /// The declared length.
        said: usize,
        /// The actual length.
        is: usize,
    },
}

/// Bytes in the making.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Appends a value at its boundary.
    pub fn put<T: Element>(&mut self, value: &T) {
        self.align(T::BOUNDARY);
        value.write(self);
    }

    /// Appends bytes as they are.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends zero bytes up to a multiple of `boundary`.
    pub fn align(&mut self, boundary: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(boundary), 0);
    }

    /// Appends the number of elements of an array.
    ///
    /// # Panics
    /// More than 2³¹ − 1: such an array has no encoding.
    pub fn put_count(&mut self, count: usize) {
        let count = i32::try_from(count).expect("an array has at most 2^31 - 1 elements");
        self.put_bytes(&count.to_be_bytes());
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are no bytes yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes a value as a message of its own; returns its length.
    fn put_measured(&mut self, write: impl FnOnce(&mut Self), length_at: usize) {
        let start = self.len();
        write(self);
        let length = i32::try_from(self.len() - start).expect("an alternative is below 2 GiB");
        self.bytes[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// A reader of encoded bytes.
#[derive(Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// Creates a reader at the start of these bytes.
    #[must_use]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the position.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads a value at its boundary.
    ///
    /// # Errors
    /// If the bytes end too early or do not encode a value.
    pub fn get<T: Element>(&mut self) -> Result<T, DecodeError> {
        self.align(T::BOUNDARY)?;
        T::read(self)
    }

    /// Reads this number of bytes.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn get_bytes(&mut self, len: usize) -> Result<&'b [u8], DecodeError> {
        let too_short = DecodeError::TooShort { at: self.at, needed: len, left: self.left() };
        let end = self.at.checked_add(len).ok_or(too_short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(too_short)?;
        self.at = end;
        Ok(bytes)
    }

    /// Reads a fixed number of bytes.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn get_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.get_bytes(N)?;
        Ok(bytes.try_into().expect("just as many were taken"))
    }

    /// Skips padding up to a multiple of `boundary`, whatever its bytes: the standard requires zeros, but other
    /// encoders leave arbitrary bytes.
    ///
    /// # Errors
    /// If the bytes end before.
    pub fn align(&mut self, boundary: usize) -> Result<(), DecodeError> {
        self.get_bytes(self.at.next_multiple_of(boundary) - self.at).map(|_| ())
    }

    /// Reads the element count of an array whose elements have at least `len_min` bytes.
    ///
    /// # Errors
    /// If the count is negative or exceeds what the remaining bytes can hold.
    pub fn get_count(&mut self, len_min: usize) -> Result<usize, DecodeError> {
        let at = self.at;
        let count = i32::from_be_bytes(self.get_array()?);
        let most = self.left().checked_div(len_min).unwrap_or(EMPTY_ELEMENTS_MAX);
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= most)
            .ok_or(DecodeError::Count { at, count })
    }
}

/// The maximum number of elements of an array whose elements have no bytes, which the input does not limit.
const EMPTY_ELEMENTS_MAX: usize = 65_536;

/// Returns the greatest of these boundaries, for composite data types.
#[must_use]
pub const fn greatest(boundaries: &[usize]) -> usize {
    let mut greatest = 1;
    let mut at = 0;
    while at < boundaries.len() {
        if boundaries[at] > greatest {
            greatest = boundaries[at];
        }
        at += 1;
    }
    greatest
}

#[cfg(test)]
mod tests;
