//! Protocol buffers as bytes: keys, variable-length numbers, and what stands between them.
//!
//! ```text
//! message = field*        field = key value        key = number << 3 | type, a variable-length number
//! type 0: a variable-length number   1: eight bytes   2: a length and so many bytes   5: four bytes
//! ```

use bytes::Bytes;
use hemiola_hla::Data;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// They end in the middle of a field, or a length leads beyond the end.
    #[error("the message ends in the middle of a field")]
    Truncated,
    /// A number of more than 64 bits, or a field of a kind or number that does not exist.
    #[error("the message has a field that cannot be")]
    Malformed,
    /// A field has another type than it has in the protocol.
    #[error("field {0} has a wrong type")]
    WrongType(u32),
    /// Text that is not UTF-8.
    #[error("field {0} is not text in UTF-8")]
    NotText(u32),
    /// More elements than [`ELEMENTS_MAX`] in one list.
    #[error("field {0} has more than {ELEMENTS_MAX} elements")]
    TooMany(u32),
    /// A number that means nothing in an enumeration, where no exception could say so.
    #[error("field {0} has the number {1}, which means nothing")]
    UnknownWord(u32, i32),
    /// None of the cases of the protocol is there.
    #[error("the message has no case that is known")]
    NoCase,
    /// The answer belongs to another call.
    #[error("the answer has case {found}, the call takes {expected}")]
    WrongCase {
        /// The case the call is answered with.
        expected: u32,
        /// The one that came.
        found: u32,
    },
}

/// How many elements one list of a message may have. An element may take two bytes and need forty in memory: this
/// bounds what a frame can become.
pub const ELEMENTS_MAX: usize = 1 << 18;

const VARIABLE: u8 = 0;
const EIGHT: u8 = 1;
const BYTES: u8 = 2;
const FOUR: u8 = 5;

/// A variable-length number, and how many bytes it takes.
fn variable(mut number: u64) -> ([u8; 10], usize) {
    let (mut bytes, mut len) = ([0; 10], 0);
    while number >= 0x80 {
        bytes[len] = number as u8 | 0x80;
        number >>= 7;
        len += 1;
    }
    bytes[len] = number as u8;
    (bytes, len + 1)
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    if number < 0x80 {
        out.push(number as u8);
    } else {
        let (bytes, len) = variable(number);
        out.extend_from_slice(&bytes[..len]);
    }
}

fn put_key(out: &mut Vec<u8>, field: u32, kind: u8) {
    put_number(out, u64::from(field) << 3 | u64::from(kind));
}

/// Appends a field that holds a number.
pub(crate) fn put_variable(out: &mut Vec<u8>, field: u32, number: u64) {
    put_key(out, field, VARIABLE);
    put_number(out, number);
}

/// Appends a field that holds eight bytes.
pub(crate) fn put_eight(out: &mut Vec<u8>, field: u32, bytes: [u8; 8]) {
    put_key(out, field, EIGHT);
    out.extend_from_slice(&bytes);
}

/// Appends a field that holds these bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_key(out, field, BYTES);
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field that holds a message.
pub(crate) fn put_message(out: &mut Vec<u8>, field: u32, content: impl FnOnce(&mut Vec<u8>)) {
    put_key(out, field, BYTES);
    // Nearly every message is short: its length takes one byte. The others move up by what theirs takes.
    let at = out.len();
    out.push(0);
    content(out);
    let len = out.len() - at - 1;
    if len < 0x80 {
        out[at] = len as u8;
    } else {
        let (prefix, prefix_len) = variable(len as u64);
        out.resize(out.len() + prefix_len - 1, 0);
        out.copy_within(at + 1..=at + len, at + prefix_len);
        out[at..at + prefix_len].copy_from_slice(&prefix[..prefix_len]);
    }
}

/// Bytes to read fields from, within the message whose memory they share.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    whole: &'a Bytes,
    rest: &'a [u8],
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(u64),
    Eight([u8; 8]),
    Bytes(Reader<'a>),
    /// Four bytes: no field of the protocol has them.
    Four,
}

/// A field.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    pub(crate) value: Value<'a>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(whole: &'a Bytes) -> Self {
        Self { whole, rest: whole }
    }

    /// The next field; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, WireError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.number()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
        let number = number.ok_or(WireError::Malformed)?;
        let value = match key as u8 & 7 {
            VARIABLE => Value::Number(self.number()?),
            EIGHT => Value::Eight(self.take(8)?.try_into().expect("eight were taken")),
            BYTES => {
                let len = usize::try_from(self.number()?).map_err(|_| WireError::Truncated)?;
                Value::Bytes(Self { rest: self.take(len)?, ..*self })
            }
            FOUR => {
                self.take(4)?;
                Value::Four
            }
            _ => return Err(WireError::Malformed),
        };
        Ok(Some(Field { number, value }))
    }

    /// All bytes left.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    /// All bytes left, sharing the memory of the message.
    pub(crate) fn data(&self) -> Data {
        self.whole.slice_ref(self.rest)
    }

    #[inline(always)]
    fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    fn number(&mut self) -> Result<u64, WireError> {
        // Nearly all keys and lengths take one byte.
        match self.rest.split_first() {
            Some((byte, rest)) if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, WireError> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return Err(WireError::Malformed);
            }
            number |= bits << shift;
            match byte {
                ..0x80 => return Ok(number),
                _ if shift == 63 => return Err(WireError::Malformed),
                _ => shift += 7,
            }
        }
    }
}

impl<'a> Field<'a> {
    pub(crate) fn number(self) -> Result<u64, WireError> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => Err(self.wrong()),
        }
    }

    pub(crate) fn eight(self) -> Result<[u8; 8], WireError> {
        match self.value {
            Value::Eight(bytes) => Ok(bytes),
            _ => Err(self.wrong()),
        }
    }

    pub(crate) fn bytes(self) -> Result<Reader<'a>, WireError> {
        match self.value {
            Value::Bytes(reader) => Ok(reader),
            _ => Err(self.wrong()),
        }
    }

    fn wrong(self) -> WireError {
        WireError::WrongType(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_as_written() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_variable(&mut out, 1, number);
            let bytes = Bytes::from(out);
            let field = Reader::new(&bytes).next().unwrap().unwrap();
            assert_eq!((field.number, field.number().unwrap()), (1, number));
        }
    }

    #[test]
    fn a_message_longer_than_127_bytes_has_a_longer_length() {
        for len in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let content = vec![7; len];
            let mut out = vec![];
            put_message(&mut out, 300, |out| out.extend_from_slice(&content));
            let bytes = Bytes::from(out);
            let mut reader = Reader::new(&bytes);
            let field = reader.next().unwrap().unwrap();
            assert_eq!((field.number, field.bytes().unwrap().bytes()), (300, &content[..]));
            assert!(reader.next().unwrap().is_none());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |bytes: &'static [u8], expected| {
            let bytes = Bytes::from_static(bytes);
            assert_eq!(Reader::new(&bytes).next().err(), Some(expected), "{bytes:?}");
        };
        check(&[0x08], WireError::Truncated);
        check(&[0x08, 0x80], WireError::Truncated);
        check(&[0x0a, 2, 0], WireError::Truncated);
        check(
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            WireError::Truncated,
        );
        check(&[0x00, 0], WireError::Malformed);
        check(&[0x0b], WireError::Malformed);
        check(
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            WireError::Malformed,
        );
        check(&[0xff; 10], WireError::Malformed);
    }
}
