//! Reading a number with its unit, shared by every quantity.

use thiserror::Error;

/// A text that is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// There is no number, or no unit behind it.
    #[error("\"{text}\" is not {expected}")]
    Malformed {
        /// What was written.
        text: String,
        /// What would have been right, with examples.
        expected: &'static str,
    },
    /// The unit does not belong to this quantity.
    #[error("\"{text}\" has the unit \"{unit}\"; expected {expected}")]
    UnknownUnit {
        /// What was written.
        text: String,
        /// The unit found in it.
        unit: String,
        /// What would have been right, with examples.
        expected: &'static str,
    },
    /// The value is not a whole number of the smallest unit, or does not fit.
    #[error("\"{text}\" is out of range or finer than the smallest unit; expected {expected}")]
    Range {
        /// What was written.
        text: String,
        /// What would have been right, with examples.
        expected: &'static str,
    },
}

impl QuantityError {
    pub(crate) fn unknown_unit(text: &str, unit: &str, expected: &'static str) -> Self {
        Self::UnknownUnit { text: text.into(), unit: unit.into(), expected }
    }
}

/// Splits `"1.5 ms"` into `(1.5, "ms")`.
pub(crate) fn number_and_unit<'t>(
    text: &'t str,
    expected: &'static str,
) -> Result<(f64, &'t str), QuantityError> {
    let malformed = || QuantityError::Malformed { text: text.into(), expected };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .ok_or_else(malformed)?;
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.replace('_', "").parse().map_err(|_| malformed())?;
    Ok((number, unit.trim_start()))
}

/// `number × scale` as a whole number, refusing what would have to be rounded away.
pub(crate) fn whole(
    text: &str,
    number: f64,
    scale: f64,
    expected: &'static str,
) -> Result<i64, QuantityError> {
    /// Whole numbers beyond this are no longer exact in an `f64`.
    const EXACT_MAX: f64 = (1i64 << 53) as f64;
    let value = number * scale;
    let rounded = value.round();
    // 1.1 us is 1100.0000000000002 in floating point: a relative slip, not a finer unit.
    let slip = (value - rounded).abs() > rounded.abs().max(1.0) * 1e-12;
    if !value.is_finite() || rounded.abs() > EXACT_MAX || slip {
        return Err(QuantityError::Range { text: text.into(), expected });
    }
    Ok(rounded as i64)
}
