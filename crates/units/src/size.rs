//! An amount of memory, or the size of a message.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{QuantityError, number_and_unit, text_form, whole};

/// A number of bytes, written `"64B"`, `"256KiB"`, `"1.5MB"`; units with an `i` are powers of two.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = UNITS
            .into_iter()
            .filter(|(unit, _)| unit.contains('i') || *unit == "B")
            .find(|(_, scale)| self.0 != 0 && self.0.is_multiple_of(*scale))
            .unwrap_or(("B", 1));
        f.pad(&format!("{}{unit}", self.0 / scale))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const EXPECTED: &str = "a size such as \"64B\", \"256KiB\" or \"1MB\"";
        let (number, unit) = number_and_unit(text, EXPECTED)?;
        let scale = UNITS
            .into_iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| QuantityError::unknown_unit(text, unit, EXPECTED))?
            .1;
        let bytes = whole(text, number, scale as f64, EXPECTED)?;
        u64::try_from(bytes)
            .map(Self)
            .map_err(|_| QuantityError::Range { text: text.into(), expected: EXPECTED })
    }
}

text_form!(Bytes, QuantityError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes, shown) in
            [("64B", 64, "64B"), ("256KiB", 262_144, "256KiB"), ("1.5MB", 1_500_000, "1500000B")]
        {
            let size: Bytes = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown));
        }
        assert!("-1B".parse::<Bytes>().is_err());
        assert!("64".parse::<Bytes>().is_err());
    }
}
