//! Basic data types and the simple ones made of them: numbers, octets, characters, truth.

use super::{DecodeError, Element, Reader, Writer};

macro_rules! basic {
    ($($(#[$doc:meta])* $name:ident($type:ty) $to:ident $from:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(pub $type);

        impl Element for $name {
            const BOUNDARY: usize = size_of::<$type>();
            const LEN_MIN: usize = size_of::<$type>();

            fn write(&self, to: &mut Writer) {
                to.put_bytes(&self.0.$to());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                from.get_array().map(|bytes| Self(<$type>::$from(bytes)))
            }
        }

        impl From<$type> for $name {
            fn from(value: $type) -> Self {
                Self(value)
            }
        }
    )*};
}

basic! {
    /// Eight bits.
    HLAoctet(u8) to_be_bytes from_be_bytes;
    /// Eight bits of data that only federates understand.
    HLAbyte(u8) to_be_bytes from_be_bytes;
    /// A character of ASCII; bytes above 127 are kept as they are.
    HLAASCIIchar(u8) to_be_bytes from_be_bytes;
    /// Sixteen bits, big end first.
    HLAoctetPairBE(u16) to_be_bytes from_be_bytes;
    /// Sixteen bits, little end first.
    HLAoctetPairLE(u16) to_le_bytes from_le_bytes;
    /// A unit of UTF-16, big end first.
    HLAunicodeChar(u16) to_be_bytes from_be_bytes;
    /// A whole number of 8 bits.
    HLAunsignedInteger8(u8) to_be_bytes from_be_bytes;
    /// A signed number of 16 bits, big end first.
    HLAinteger16BE(i16) to_be_bytes from_be_bytes;
    /// A signed number of 32 bits, big end first.
    HLAinteger32BE(i32) to_be_bytes from_be_bytes;
    /// A signed number of 64 bits, big end first.
    HLAinteger64BE(i64) to_be_bytes from_be_bytes;
    /// A signed number of 16 bits, little end first.
    HLAinteger16LE(i16) to_le_bytes from_le_bytes;
    /// A signed number of 32 bits, little end first.
    HLAinteger32LE(i32) to_le_bytes from_le_bytes;
    /// A signed number of 64 bits, little end first.
    HLAinteger64LE(i64) to_le_bytes from_le_bytes;
    /// A whole number of 16 bits, big end first.
    HLAunsignedInteger16BE(u16) to_be_bytes from_be_bytes;
    /// A whole number of 32 bits, big end first.
    HLAunsignedInteger32BE(u32) to_be_bytes from_be_bytes;
    /// A whole number of 64 bits, big end first.
    HLAunsignedInteger64BE(u64) to_be_bytes from_be_bytes;
    /// A whole number of 16 bits, little end first.
    HLAunsignedInteger16LE(u16) to_le_bytes from_le_bytes;
    /// A whole number of 32 bits, little end first.
    HLAunsignedInteger32LE(u32) to_le_bytes from_le_bytes;
    /// A whole number of 64 bits, little end first.
    HLAunsignedInteger64LE(u64) to_le_bytes from_le_bytes;
    /// An IEEE 754 number of 32 bits, big end first.
    HLAfloat32BE(f32) to_be_bytes from_be_bytes;
    /// An IEEE 754 number of 64 bits, big end first.
    HLAfloat64BE(f64) to_be_bytes from_be_bytes;
    /// An IEEE 754 number of 32 bits, little end first.
    HLAfloat32LE(f32) to_le_bytes from_le_bytes;
    /// An IEEE 754 number of 64 bits, little end first.
    HLAfloat64LE(f64) to_le_bytes from_le_bytes;
}

/// Truth: the number 1 as `HLAinteger32BE`, or 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HLAboolean(pub bool);

impl Element for HLAboolean {
    const BOUNDARY: usize = 4;
    const LEN_MIN: usize = 4;

    fn write(&self, to: &mut Writer) {
        HLAinteger32BE(i32::from(self.0)).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = from.at();
        match HLAinteger32BE::read(from)?.0 {
            0 => Ok(Self(false)),
            1 => Ok(Self(true)),
            _ => Err(DecodeError::Value { at, datatype: "HLAboolean" }),
        }
    }
}
