//! Protobuf's wire format by hand, for the few messages that come by the million.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>.

/// Bytes that are read from their beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wire<'a>(pub(crate) &'a [u8]);

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The number, where it is one.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Varint(value) | Self::Fixed64(value) => value,
            Self::Fixed32(value) => value as u64,
            Self::Bytes(_) => 0,
        }
    }

    /// The bytes, where it is a text, a message or a packed list.
    pub(crate) const fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The bytes end within a value, or say something impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl<'a> Wire<'a> {
    /// The next number; `None` at the end, and where the number does not end.
    #[inline]
    pub(crate) fn varint(&mut self) -> Option<u64> {
        match *self.0 {
            [one, ref rest @ ..] if one < 0x80 => {
                self.0 = rest;
                Some(one.into())
            }
            [one, two, ref rest @ ..] if two < 0x80 => {
                self.0 = rest;
                Some(u64::from(one & 0x7F) | u64::from(two) << 7)
            }
            _ => self.long_varint(),
        }
    }

    /// How many numbers there are; `None` if the last one does not end.
    pub(crate) fn varints(&self) -> Option<usize> {
        let ends = |byte: u8| byte < 0x80;
        let whole = self.0.last().is_none_or(|&last| ends(last));
        whole.then(|| self.0.iter().filter(|&&byte| ends(byte)).count())
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, &byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                self.0 = &self.0[index + 1..];
                return Some(value);
            }
        }
        None
    }

    /// The next field: its number and its value.
    pub(crate) fn field(&mut self) -> Option<Result<(u32, Value<'a>), Malformed>> {
        (!self.0.is_empty()).then(|| self.some_field())
    }

    fn some_field(&mut self) -> Result<(u32, Value<'a>), Malformed> {
        let key = self.varint().ok_or(Malformed("a field's number breaks off"))?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint().ok_or(Malformed("a number breaks off"))?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint().ok_or(Malformed("a length breaks off"))?;
                let split = usize::try_from(length).ok().and_then(|at| self.0.split_at_checked(at));
                let (bytes, rest) = split.ok_or(Malformed("a field is longer than its message"))?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Malformed("a field of a wire type that does not exist")),
        };
        let number =
            u32::try_from(key >> 3).map_err(|_| Malformed("a field's number is too large"))?;
        Ok((number, value))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed("a number breaks off"))?;
        self.0 = rest;
        Ok(*bytes)
    }
}

/// Appends a number.
#[inline]
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a field that is a number.
pub(crate) fn put_number(bytes: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(bytes, u64::from(field) << 3);
    put_varint(bytes, value);
}

/// Appends a field that is a text, a message or a packed list.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_varint(bytes, u64::from(field) << 3 | 2);
    put_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(number: u64, text: Vec<u8>, field in 1..1_000_000_u32) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, field, number);
            put_bytes(&mut bytes, field, &text);
            let mut wire = Wire(&bytes);
            prop_assert_eq!(wire.field(), Some(Ok((field, Value::Varint(number)))));
            prop_assert_eq!(wire.field(), Some(Ok((field, Value::Bytes(&text)))));
            prop_assert_eq!(wire.field(), None);
        }
    }

    #[test]
    fn a_number_that_does_not_end_is_none() {
        assert_eq!(Wire(&[0x80]).varint(), None);
        assert_eq!(Wire(&[0xFF; 12]).varint(), None);
        assert_eq!(
            Wire(&[0x0A, 0x05, 1]).field(),
            Some(Err(Malformed("a field is longer than its message")))
        );
    }
}
