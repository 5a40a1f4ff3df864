//! Text forms shared by several types: a number with its unit, a name, and conversion from and to `String`.

use thiserror::Error;

/// A text that is not the expected quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// The number or its unit is missing.
    #[error("\"{text}\" is not {expected}")]
    Malformed {
        /// The text.
        text: String,
        /// The expected form, with examples.
        expected: &'static str,
    },
    /// The unit does not belong to this quantity.
    #[error("\"{text}\" has the unit \"{unit}\"; expected {expected}")]
    UnknownUnit {
        /// The text.
        text: String,
        /// The unit found in it.
        unit: String,
        /// The expected form, with examples.
        expected: &'static str,
    },
    /// The value is not a whole number of the smallest unit, or does not fit.
    #[error("\"{text}\" is out of range or finer than the smallest unit; expected {expected}")]
    Range {
        /// The text.
        text: String,
        /// The expected form, with examples.
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

/// Returns `number × scale` as a whole number; an error if it would have to be rounded.
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
    // 1.1 us is 1100.0000000000002 in floating point: a rounding error, not a finer unit.
    let slip = (value - rounded).abs() > rounded.abs().max(1.0) * 1e-12;
    if !value.is_finite() || rounded.abs() > EXACT_MAX || slip {
        return Err(QuantityError::Range { text: text.into(), expected });
    }
    Ok(rounded as i64)
}

/// Whether a text can serve as a name everywhere, in file names and in a shell: 1 to 64 of a-z, A-Z, 0-9, '-', '_' and
/// '.'. The limits of all mechanisms are higher, even with a run's prefix.
pub(crate) fn is_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&text.len()) && text.chars().all(good)
}

/// Converts a type from `String` by its `FromStr` and to `String` by its `Display`, as its `serde` attributes name it.
macro_rules! text_form {
    ($type:ident, $error:ident) => {
        impl TryFrom<String> for $type {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}
pub(crate) use text_form;
