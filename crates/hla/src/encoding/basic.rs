//! Basic data types and simple ones: numbers, octets, characters, booleans.

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
    /// Eight bits that only federates interpret.
    HLAbyte(u8) to_be_bytes from_be_bytes;
    /// An ASCII character; bytes above 127 are preserved.
    HLAASCIIchar(u8) to_be_bytes from_be_bytes;
    /// Sixteen bits, big-endian.
    HLAoctetPairBE(u16) to_be_bytes from_be_bytes;
    /// Sixteen bits, little-endian.
    HLAoctetPairLE(u16) to_le_bytes from_le_bytes;
    /// A UTF-16 code unit, big-endian.
    HLAunicodeChar(u16) to_be_bytes from_be_bytes;
    /// An unsigned 8-bit integer.
    HLAunsignedInteger8(u8) to_be_bytes from_be_bytes;
    /// A signed 16-bit integer, big-endian.
    HLAinteger16BE(i16) to_be_bytes from_be_bytes;
    /// A signed 32-bit integer, big-endian.
    HLAinteger32BE(i32) to_be_bytes from_be_bytes;
    /// A signed 64-bit integer, big-endian.
    HLAinteger64BE(i64) to_be_bytes from_be_bytes;
    /// A signed 16-bit integer, little-endian.
    HLAinteger16LE(i16) to_le_bytes from_le_bytes;
    /// A signed 32-bit integer, little-endian.
    HLAinteger32LE(i32) to_le_bytes from_le_bytes;
    /// A signed 64-bit integer, little-endian.
    HLAinteger64LE(i64) to_le_bytes from_le_bytes;
    /// An unsigned 16-bit integer, big-endian.
    HLAunsignedInteger16BE(u16) to_be_bytes from_be_bytes;
    /// An unsigned 32-bit integer, big-endian.
    HLAunsignedInteger32BE(u32) to_be_bytes from_be_bytes;
    /// An unsigned 64-bit integer, big-endian.
    HLAunsignedInteger64BE(u64) to_be_bytes from_be_bytes;
    /// An unsigned 16-bit integer, little-endian.
    HLAunsignedInteger16LE(u16) to_le_bytes from_le_bytes;
    /// An unsigned 32-bit integer, little-endian.
    HLAunsignedInteger32LE(u32) to_le_bytes from_le_bytes;
    /// An unsigned 64-bit integer, little-endian.
    HLAunsignedInteger64LE(u64) to_le_bytes from_le_bytes;
    /// An IEEE 754 single-precision number, big-endian.
    HLAfloat32BE(f32) to_be_bytes from_be_bytes;
    /// An IEEE 754 double-precision number, big-endian.
    HLAfloat64BE(f64) to_be_bytes from_be_bytes;
    /// An IEEE 754 single-precision number, little-endian.
    HLAfloat32LE(f32) to_le_bytes from_le_bytes;
    /// An IEEE 754 double-precision number, little-endian.
    HLAfloat64LE(f64) to_le_bytes from_le_bytes;
}

/// A boolean: `HLAinteger32BE` 1 or 0.
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
