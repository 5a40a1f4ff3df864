//! Text: arrays of characters.

use super::{DecodeError, Element, Reader, Writer};

/// Text as an array of big-endian UTF-16 units; the count is of units, not of characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HLAunicodeString(pub String);

impl From<&str> for HLAunicodeString {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Element for HLAunicodeString {
    const BOUNDARY: usize = 4;
    const LEN_MIN: usize = 4;

    fn write(&self, to: &mut Writer) {
        to.put_count(self.0.encode_utf16().count());
        for unit in self.0.encode_utf16() {
            to.put_bytes(&unit.to_be_bytes());
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = from.at();
        let count = from.get_count(2)?;
        let units = from.get_bytes(2 * count)?.chunks_exact(2);
        let units = units.map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.map(Self).map_err(|_| DecodeError::Value { at, datatype: "HLAunicodeString" })
    }
}

/// Text as an array of ASCII characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HLAASCIIstring(String);

impl HLAASCIIstring {
    /// Creates the text if it is all ASCII.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        text.is_ascii().then_some(Self(text))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Element for HLAASCIIstring {
    const BOUNDARY: usize = 4;
    const LEN_MIN: usize = 4;

    fn write(&self, to: &mut Writer) {
        to.put_count(self.0.len());
        to.put_bytes(self.0.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = from.at();
        let len = from.get_count(1)?;
        let text = std::str::from_utf8(from.get_bytes(len)?).ok().and_then(Self::new);
        text.ok_or(DecodeError::Value { at, datatype: "HLAASCIIstring" })
    }
}
