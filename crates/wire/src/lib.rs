//! The Protocol Buffers encoding, for messages that are read and written by the million.
//!
//! ```text
//! message = field*        field = key value        key = number << 3 | wire type, a varint
//! wire type 0: a varint   1: eight bytes   2: a length (a varint) and that many bytes   5: four bytes
//! ```
//!
//! [`WireReader`] splits a message into fields without copying; the `put_` functions append fields to a vector. Neither
//! knows a schema: `hemiola-trace` reads the kernel's events of a Perfetto trace with them, `hemiola-fedpro` the
//! messages of the Federate Protocol.
//!
//! ```
//! use hemiola_wire::{Value, WireReader, put_message, put_number};
//!
//! let mut bytes = Vec::new();
//! put_message(&mut bytes, 3, |out| put_number(out, 1, 150));
//! assert_eq!(bytes, [0x1a, 3, 0x08, 0x96, 1]);
//!
//! let mut fields = WireReader::new(&bytes);
//! assert_eq!(fields.field(), Ok(Some((3, Value::Bytes(&[0x08, 0x96, 1])))));
//! assert_eq!(fields.field(), Ok(None));
//! ```
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>. Groups (wire types 3 and 4) are rejected.

#![forbid(unsafe_code)]

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const FIXED32: u8 = 5;

/// The longest varint: 64 bits, seven in each byte.
const VARINT_LEN_MAX: usize = 10;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end inside a field, or a length reaches beyond the end.
    #[error("the message ends in the middle of a field")]
    Truncated,
    /// A varint has more than 64 bits, or a field has a number or wire type that does not exist.
    #[error("the message has a field with an impossible number, wire type or value")]
    Malformed,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0: an integer, a Boolean or an enumerated value.
    Varint(u64),
    /// Wire type 1: eight bytes, least significant first.
    Fixed64(u64),
    /// Wire type 5: four bytes, least significant first.
    Fixed32(u32),
    /// Wire type 2: a text, a nested message or a packed list.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the number, or 0 for [`Value::Bytes`].
    #[must_use]
    #[inline]
    pub const fn number(self) -> u64 {
        match self {
            Self::Varint(value) | Self::Fixed64(value) => value,
            Self::Fixed32(value) => value as u64,
            Self::Bytes(_) => 0,
        }
    }

    /// Returns the bytes, or an empty slice for a number.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// Reads the bytes of a message, or of a packed list, from the front.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireReader<'a> {
    rest: &'a [u8],
}

impl<'a> WireReader<'a> {
    /// Starts at the first of these bytes.
    #[must_use]
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the bytes that have not been read.
    #[must_use]
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads the number and the value of the next field; `None` at the end.
    ///
    /// # Errors
    /// The bytes are not a field. What follows them cannot be read either.
    #[inline]
    pub fn field(&mut self) -> Result<Option<(u32, Value<'a>)>, WireError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = match u32::try_from(key >> 3) {
            Ok(0) | Err(_) => return Err(WireError::Malformed),
            Ok(number) => number,
        };
        let value = match key as u8 & 7 {
            VARINT => Value::Varint(self.varint()?),
            FIXED64 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            BYTES => {
                let len = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
                let split = self.rest.split_at_checked(len);
                let (bytes, rest) = split.ok_or(WireError::Truncated)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            FIXED32 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(WireError::Malformed),
        };
        Ok(Some((number, value)))
    }

    /// Reads a varint.
    ///
    /// # Errors
    /// The varint does not end, or has more than 64 bits. The reader stays where it was.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, WireError> {
        match *self.rest {
            [one, ref rest @ ..] if one < 0x80 => {
                self.rest = rest;
                Ok(one.into())
            }
            [one, two, ref rest @ ..] if two < 0x80 => {
                self.rest = rest;
                Ok(u64::from(one & 0x7F) | u64::from(two) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0;
        for (index, &byte) in self.rest.iter().take(VARINT_LEN_MAX).enumerate() {
            if index == VARINT_LEN_MAX - 1 && byte > 1 {
                return Err(WireError::Malformed);
            }
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(WireError::Truncated)
    }

    /// Counts the varints of a packed list; `None` if the last one does not end.
    #[must_use]
    pub fn count_varints(&self) -> Option<usize> {
        let ends = |byte: u8| byte < 0x80;
        let whole = self.rest.last().is_none_or(|&last| ends(last));
        whole.then(|| self.rest.iter().filter(|&&byte| ends(byte)).count())
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*bytes)
    }
}

/// Appends a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else {
        let (bytes, len) = varint(value);
        out.extend_from_slice(&bytes[..len]);
    }
}

/// Encodes a varint; returns its bytes and how many of them count.
fn varint(mut value: u64) -> ([u8; VARINT_LEN_MAX], usize) {
    let (mut bytes, mut len) = ([0; VARINT_LEN_MAX], 0);
    while value >= 0x80 {
        bytes[len] = value as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    bytes[len] = value as u8;
    (bytes, len + 1)
}

#[inline]
fn put_key(out: &mut Vec<u8>, field: u32, wire_type: u8) {
    put_varint(out, u64::from(field) << 3 | u64::from(wire_type));
}

/// Appends a field that holds a varint.
#[inline]
pub fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_key(out, field, VARINT);
    put_varint(out, value);
}

/// Appends a field that holds eight bytes.
#[inline]
pub fn put_fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    put_key(out, field, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field that holds a text, an encoded message or a packed list.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_head(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// Begins a field that holds a text, an encoded message or a packed list. The caller appends its `len` bytes.
#[inline]
pub fn put_head(out: &mut Vec<u8>, field: u32, len: usize) {
    put_key(out, field, BYTES);
    put_varint(out, len as u64);
}

/// Returns the number of bytes that such a field occupies, with its head.
#[inline]
#[must_use]
pub const fn field_len(field: u32, len: usize) -> usize {
    varint_len((field as u64) << 3) + varint_len(len as u64) + len
}

/// Returns the number of bytes of a varint: one for each seven bits that count, and one for zero.
const fn varint_len(value: u64) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

/// Appends a field that holds a message, which `content` writes in place.
#[inline]
pub fn put_message(out: &mut Vec<u8>, field: u32, content: impl FnOnce(&mut Vec<u8>)) {
    put_head(out, field, 0);
    let begin = out.len();
    content(out);
    put_len(out, begin, out.len() - begin);
}

/// Ends a field that [`put_head`] has begun with the length 0: it is `len` bytes long, and those that were appended
/// stand from `begin` on. Returns by how many bytes these have moved.
#[inline]
pub fn put_len(out: &mut Vec<u8>, begin: usize, len: usize) -> usize {
    // Nearly every message is short and its length takes one byte. A longer message moves up by the rest of its length.
    if len < 0x80 {
        out[begin - 1] = len as u8;
        return 0;
    }
    let (prefix, prefix_len) = varint(len as u64);
    let (moved, end) = (prefix_len - 1, out.len());
    out.resize(end + moved, 0);
    out.copy_within(begin..end, begin + moved);
    out[begin - 1..begin + moved].copy_from_slice(&prefix[..prefix_len]);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_are_read_as_written(number: u64, bytes: Vec<u8>, field in 1..1_000_000_u32) {
            let mut out = Vec::new();
            put_number(&mut out, field, number);
            put_bytes(&mut out, field, &bytes);
            put_fixed64(&mut out, field, number);
            let mut fields = WireReader::new(&out);
            prop_assert_eq!(fields.field(), Ok(Some((field, Value::Varint(number)))));
            prop_assert_eq!(fields.field(), Ok(Some((field, Value::Bytes(&bytes)))));
            prop_assert_eq!(fields.field(), Ok(Some((field, Value::Fixed64(number)))));
            prop_assert_eq!(fields.field(), Ok(None));
        }

        #[test]
        fn the_length_of_a_field_is_known_before_it_is_written(
            field in 1..1_000_000_u32,
            len in prop_oneof![0..300_usize, 16_000..17_000_usize],
            value: u64,
        ) {
            let mut out = Vec::new();
            put_bytes(&mut out, field, &vec![0; len]);
            prop_assert_eq!(field_len(field, len), out.len());
            for value in [0, 1, 127, 128, value, value >> 40, u64::MAX] {
                prop_assert_eq!(varint_len(value), varint(value).1);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut fields = WireReader::new(&bytes);
            while let Ok(Some(_)) = fields.field() {}
        }
    }

    #[test]
    fn varints_of_every_length_are_read_as_written() {
        let edges = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit]);
        for value in edges.chain([300, u64::MAX]) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut list = WireReader::new(&out);
            assert_eq!(list.count_varints(), Some(1));
            assert_eq!((list.varint(), list.rest()), (Ok(value), &[][..]));
        }
    }

    #[test]
    fn message_longer_than_127_bytes_has_a_longer_length() {
        for len in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let content = vec![7; len];
            let mut out = vec![];
            put_message(&mut out, 300, |out| out.extend_from_slice(&content));
            let mut fields = WireReader::new(&out);
            assert_eq!(fields.field(), Ok(Some((300, Value::Bytes(&content)))));
            assert_eq!(fields.field(), Ok(None));
        }
    }

    #[test]
    fn impossible_fields_are_rejected() {
        let check = |bytes: &[u8], expected| {
            assert_eq!(WireReader::new(bytes).field(), Err(expected), "{bytes:?}");
        };
        check(&[0x08], WireError::Truncated);
        check(&[0x08, 0x80], WireError::Truncated);
        check(&[0x0a, 2, 0], WireError::Truncated);
        check(&[0x0d, 1, 2, 3], WireError::Truncated);
        let longest = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        check(&longest, WireError::Truncated);
        check(&[0x00, 0], WireError::Malformed);
        check(&[0x0b], WireError::Malformed);
        let too_large = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        check(&too_large, WireError::Malformed);
        check(&[0xff; 10], WireError::Malformed);
        assert_eq!(WireReader::new(&[1, 0x80]).count_varints(), None);
    }
}
