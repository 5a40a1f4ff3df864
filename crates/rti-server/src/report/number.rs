//! A logical time or interval as a number.

use std::fmt;

use hemiola_hla::{LogicalInterval, LogicalTime};
use serde::{Deserialize, Serialize};

/// An exact value of logical time: a whole number for `HLAinteger64Time`, a double for `HLAfloat64Time`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A value of `HLAinteger64Time`.
    Whole(i64),
    /// A value of `HLAfloat64Time`; never infinite.
    Double(f64),
}

impl Number {
    /// Returns the nearest double.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "documented as the nearest double")]
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Double(value) => value,
        }
    }
}

impl From<LogicalTime> for Number {
    fn from(time: LogicalTime) -> Self {
        time.as_integer().map_or_else(|| Self::Double(time.as_f64()), Self::Whole)
    }
}

impl From<LogicalInterval> for Number {
    fn from(interval: LogicalInterval) -> Self {
        interval.as_integer().map_or_else(|| Self::Double(interval.as_f64()), Self::Whole)
    }
}

impl fmt::Display for Number {
    /// Writes the final time of either implementation as `last`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Whole(i64::MAX) | Self::Double(f64::MAX) => f.pad("last"),
            Self::Whole(value) => f.pad(&value.to_string()),
            // Outside this range, plain notation would be a long run of zeros.
            Self::Double(value) if value != 0.0 && !(1e-6..1e15).contains(&value) => {
                f.pad(&format!("{value:e}"))
            }
            Self::Double(value) => f.pad(&value.to_string()),
        }
    }
}
