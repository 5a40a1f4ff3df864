//! The value of a mark: a number or a short text.

/// The most bytes of a text; the rest is cut off, at a character boundary.
pub const TEXT_LEN_MAX: usize = 16;

/// The value of a mark. Every number and `&str` converts into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Unsigned(u64),
    /// A whole number with a sign.
    Signed(i64),
    /// A real number.
    Real(f64),
    /// A short text: its bytes with zeros behind them, as two little-endian words.
    Text([u64; 2]),
}

macro_rules! from {
    ($($variant:ident($wide:ty): $($number:ty),*;)*) => {$($(
        impl From<$number> for Value {
            #[inline]
            fn from(value: $number) -> Self {
                Self::$variant(value as $wide)
            }
        }
    )*)*};
}

from! {
    Unsigned(u64): bool, u8, u16, u32, u64, usize;
    Signed(i64): i8, i16, i32, i64, isize;
    Real(f64): f32, f64;
}

impl From<&str> for Value {
    #[inline]
    fn from(text: &str) -> Self {
        let mut bytes = [0_u8; TEXT_LEN_MAX];
        let text = &text.as_bytes()[..text.floor_char_boundary(TEXT_LEN_MAX)];
        bytes[..text.len()].copy_from_slice(text);
        let words = u128::from_le_bytes(bytes);
        Self::Text([words as u64, (words >> 64) as u64])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_keeps_its_type_and_a_text_is_cut_at_a_character() {
        assert_eq!([Value::from(42), Value::from(-1_i64)], [Value::Signed(42), Value::Signed(-1)]);
        assert_eq!(Value::from(u64::MAX), Value::Unsigned(u64::MAX));
        assert_eq!([Value::from(0.5), Value::from(0.5_f32)], [Value::Real(0.5); 2]);
        assert_eq!(Value::from("state"), Value::Text([0x65_7461_7473, 0]));
        assert_eq!(Value::from("fifteen letter\u{fc}!"), Value::from("fifteen letter\u{fc}"));
        assert_eq!(Value::from("fifteen letters\u{fc}"), Value::from("fifteen letters"));
    }
}
