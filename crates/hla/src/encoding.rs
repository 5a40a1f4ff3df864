//! The standard's data types as bytes (IEEE 1516.2-2025, clause 4.14).
//!
//! An [`Element`] is a value of one data type. Every data type has an octet boundary: in a message, its values
//! begin at multiples of it, and zero bytes are put in front where they would not. Basic types are as long as
//! their boundary; a record has the greatest of its parts. Padding stands only between parts, never behind
//! the last. Since every part begins at its boundary, offsets may be counted from the start of the message.
//!
//! [`decode`] takes any bytes: what they do not say is an error, never a panic, and it allocates
//! no more than a small multiple of what it was given.

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

    /// The fewest bytes a value takes. Bounds how many values bytes can hold.
    const LEN_MIN: usize;

    /// Appends the value. The writer already stands at a boundary.
    fn write(&self, to: &mut Writer);

    /// Takes a value. The reader already stands at a boundary.
    ///
    /// # Errors
    /// Bytes that end too early or mean no value.
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// The bytes of a value.
#[must_use]
pub fn encode<T: Element>(value: &T) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.put(value);
    writer.bytes
}

/// The value that these bytes, all of them, mean.
///
/// # Errors
/// Bytes that end too early, go on too long, or mean no value.
pub fn decode<T: Element>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = reader.get()?;
    match reader.left() {
        0 => Ok(value),
        more => Err(DecodeError::TooLong { more }),
    }
}

/// Why bytes are no value of a data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They end in the middle of it.
    #[error("byte {at}: {needed} bytes are needed, {left} are left")]
    TooShort {
        /// Where.
        at: usize,
        /// How many bytes the next part takes at least.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// They go on behind it.
    #[error("{more} bytes follow the value")]
    TooLong {
        /// How many.
        more: usize,
    },
    /// An array has a negative number of elements, or more than there can be.
    #[error("byte {at}: there cannot be {count} elements")]
    Count {
        /// Where the number stands.
        at: usize,
        /// The number.
        count: i32,
    },
    /// A part has a value that its data type does not have.
    #[error("byte {at}: not a value of {datatype}")]
    Value {
        /// Where it stands.
        at: usize,
        /// The data type.
        datatype: &'static str,
    },
    /// The part of an extendable record is not as long as it says.
    #[error("byte {at}: the alternative is {said} bytes long, not {is}")]
    Length {
        /// Where the alternative begins.
        at: usize,
        /// How long it says it is.
        said: usize,
        /// How long its value is.
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

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Is there none yet?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes a value with its own beginning and end; gives how long it is.
    fn put_measured(&mut self, write: impl FnOnce(&mut Self), length_at: usize) {
        let start = self.len();
        write(self);
        let length = i32::try_from(self.len() - start).expect("an alternative is below 2 GiB");
        self.bytes[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Bytes that are being understood.
#[derive(Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// At the beginning of these.
    #[must_use]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where it stands.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Takes a value at its boundary.
    ///
    /// # Errors
    /// Bytes that end too early or mean no value.
    pub fn get<T: Element>(&mut self) -> Result<T, DecodeError> {
        self.align(T::BOUNDARY)?;
        T::read(self)
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// Fewer are left.
    pub fn get_bytes(&mut self, len: usize) -> Result<&'b [u8], DecodeError> {
        let too_short = DecodeError::TooShort { at: self.at, needed: len, left: self.left() };
        let end = self.at.checked_add(len).ok_or(too_short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(too_short)?;
        self.at = end;
        Ok(bytes)
    }

    /// Takes a fixed number of bytes.
    ///
    /// # Errors
    /// Fewer are left.
    pub fn get_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.get_bytes(N)?;
        Ok(bytes.try_into().expect("just as many were taken"))
    }

    /// Passes padding up to a multiple of `boundary`. Its bytes are not looked at: the standard has them
    /// zero, and other encoders leave what was there.
    ///
    /// # Errors
    /// The bytes end before.
    pub fn align(&mut self, boundary: usize) -> Result<(), DecodeError> {
        self.get_bytes(self.at.next_multiple_of(boundary) - self.at).map(|_| ())
    }

    /// Takes the number of elements of an array whose elements take at least `len_min` bytes.
    ///
    /// # Errors
    /// A number that is negative, or greater than the bytes that are left allow.
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

/// The most elements of an array whose elements take no bytes; nothing else bounds them.
const EMPTY_ELEMENTS_MAX: usize = 65_536;

/// The greatest of some boundaries, for data types put together from others.
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
