//! A logical time or interval as a number.

use std::fmt;

use hemiola_hla::{LogicalInterval, LogicalTime};
use serde::{Deserialize, Serialize};

/// A value of logical time, exact: a whole number of `HLAinteger64Time`, or a double.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// Of `HLAinteger64Time`.
    Whole(i64),
    /// Of `HLAfloat64Time`; never infinite.
    Double(f64),
}

impl Number {
    /// As near as a double can say it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "said in the documentation")]
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
    /// The last times of the two implementations are a word: nobody means the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Whole(i64::MAX) | Self::Double(f64::MAX) => f.pad("last"),
            Self::Whole(value) => f.pad(&value.to_string()),
            // Beyond these the digits of a double are many and say little.
            Self::Double(value) if value != 0.0 && !(1e-6..1e15).contains(&value) => {
                f.pad(&format!("{value:e}"))
            }
            Self::Double(value) => f.pad(&value.to_string()),
        }
    }
}
