//! A signed length of time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{QuantityError, number_and_unit, text_form, whole};

/// A length of time in nanoseconds. It is signed because lateness and differences may be negative. Arithmetic
/// saturates.
///
/// Written with its unit: `"20ms"`, `"1.5us"`, `"-3ns"`, `"2min"`. A bare number is refused, except `"0"`. Displayed
/// in the largest unit that keeps it exact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(i64);

const UNITS: [(&str, i64); 7] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest span, about 292 years.
    pub const MAX: Self = Self(i64::MAX);
    /// The most negative span.
    pub const MIN: Self = Self(i64::MIN);

    /// A span of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns a span of `seconds` seconds, rounded to the nearest nanosecond. Not-a-number becomes zero; values out
    /// of range saturate.
    #[must_use]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Returns the seconds, as precisely as an `f64` allows.
    #[must_use]
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Returns the microseconds, as precisely as an `f64` allows.
    #[must_use]
    pub fn micros_f64(self) -> f64 {
        self.0 as f64 * 1e-3
    }

    /// Whether the span is longer than zero.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// Returns the span as a `std::time::Duration`; negative spans become zero.
    #[must_use]
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(if self.0 > 0 { self.0 as u64 } else { 0 })
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Mul<i64> for Span {
    type Output = Self;
    fn mul(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<i64> for Span {
    type Output = Self;
    /// # Panics
    /// If `divisor` is zero, like integer division.
    fn div(self, divisor: i64) -> Self {
        Self(self.0.saturating_div(divisor))
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0s");
        }
        let (unit, scale) = UNITS
            .iter()
            .filter(|(unit, _)| *unit != "µs")
            .find(|(_, scale)| self.0 % scale == 0)
            .copied()
            .unwrap_or(("ns", 1));
        f.pad(&format!("{}{unit}", self.0 / scale))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({self})")
    }
}

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const EXPECTED: &str = "a length of time such as \"20ms\", \"50us\" or \"1.5s\"";
        if text.trim() == "0" {
            return Ok(Self::ZERO);
        }
        let (number, unit) = number_and_unit(text, EXPECTED)?;
        let scale = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| QuantityError::unknown_unit(text, unit, EXPECTED))?
            .1;
        whole(text, number, scale as f64, EXPECTED).map(Self)
    }
}

text_form!(Span, QuantityError);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_read() {
        for (text, nanos) in [
            ("20ms", 20_000_000),
            ("1.5us", 1_500),
            ("1.5 µs", 1_500),
            ("-3ns", -3),
            ("2min", 120_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().nanos(), nanos, "{text}");
        }
    }

    #[test]
    fn a_length_of_time_without_a_unit_is_refused() {
        for text in ["20", "20 Hz", "ms", "", "1e400s", "0.1ns", "NaNs", "infs"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!(
            "20Hz".parse::<Span>().unwrap_err().to_string(),
            "\"20Hz\" has the unit \"Hz\"; expected a length of time such as \"20ms\", \"50us\" or \"1.5s\""
        );
    }

    proptest! {
        #[test]
        fn shown_then_read_is_the_same_span(nanos in -(1i64 << 52)..1i64 << 52) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }
}
