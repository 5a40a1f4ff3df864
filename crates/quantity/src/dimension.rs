//! The dimension of a quantity: exponents of the base quantities.

use std::fmt;
use std::ops::{Div, Mul};

use thiserror::Error;

/// Exponents of time, length, mass, current, temperature and information.
///
/// Exponents saturate at ±127: a dimension that far out is visibly absurd and fits nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension([i8; 6]);

/// Two dimensions that must be equal but differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{first} and {second} do not fit together")]
pub struct DimensionError {
    /// The dimension of the left operand.
    pub first: Dimension,
    /// The dimension of the right operand.
    pub second: Dimension,
}

/// Names of the base quantities and the symbols of their units, in the order of the exponents.
const BASE: [(&str, &str); 6] = [
    ("time", "s"),
    ("length", "m"),
    ("mass", "kg"),
    ("current", "A"),
    ("temperature", "K"),
    ("information", "B"),
];

impl Dimension {
    /// A pure number.
    pub const NONE: Self = Self([0; 6]);
    /// Time, in s.
    pub const TIME: Self = Self([1, 0, 0, 0, 0, 0]);
    /// Length, in m.
    pub const LENGTH: Self = Self([0, 1, 0, 0, 0, 0]);
    /// Mass, in kg.
    pub const MASS: Self = Self([0, 0, 1, 0, 0, 0]);
    /// Electric current, in A.
    pub const CURRENT: Self = Self([0, 0, 0, 1, 0, 0]);
    /// Temperature, in K.
    pub const TEMPERATURE: Self = Self([0, 0, 0, 0, 1, 0]);
    /// Information, in bytes.
    pub const INFORMATION: Self = Self([0, 0, 0, 0, 0, 1]);
    /// Events per time, in 1/s.
    pub const RATE: Self = Self([-1, 0, 0, 0, 0, 0]);

    /// The dimension with these exponents, in the order of `BASE`.
    pub(crate) const fn of(exponents: [i8; 6]) -> Self {
        Self(exponents)
    }

    /// The unit and exponent of each base quantity, except zero exponents.
    pub(crate) fn powers(self) -> impl Iterator<Item = (&'static str, i8)> {
        BASE.iter()
            .zip(self.0)
            .filter(|(_, power)| *power != 0)
            .map(|(base, power)| (base.1, power))
    }

    /// The unit of its values in the SI, such as `kg·m/s^2`; empty for a pure number.
    #[must_use]
    pub fn si_unit(self) -> String {
        let part = |(unit, power): (&str, u8)| {
            if power == 1 { unit.to_owned() } else { format!("{unit}^{power}") }
        };
        let side = |sign: i8| {
            let powers = self.powers().filter(move |(_, power)| power.signum() == sign);
            powers.map(move |(unit, power)| part((unit, power.unsigned_abs()))).collect::<Vec<_>>()
        };
        let (above, below) = (side(1).join("·"), side(-1));
        let above = if above.is_empty() && !below.is_empty() { "1" } else { &above };
        std::iter::once(above.to_owned()).chain(below).collect::<Vec<_>>().join("/")
    }

    /// The dimension of a sum, which both operands must have.
    ///
    /// # Errors
    /// When they differ.
    pub fn checked_add(self, other: Self) -> Result<Self, DimensionError> {
        if self == other { Ok(self) } else { Err(DimensionError { first: self, second: other }) }
    }

    /// The dimension of the `power`-th power.
    #[must_use]
    pub fn pow(self, power: i32) -> Self {
        let limit = |wide: i64| wide.clamp(-127, 127) as i8;
        Self(self.0.map(|exponent| limit(i64::from(exponent) * i64::from(power))))
    }

    /// The dimension of the square root; `None` if an exponent is odd.
    #[must_use]
    pub fn sqrt(self) -> Option<Self> {
        self.0.iter().all(|exponent| exponent % 2 == 0).then(|| Self(self.0.map(|e| e / 2)))
    }
}

impl Mul for Dimension {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].saturating_add(other.0[at])))
    }
}

impl Div for Dimension {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].saturating_sub(other.0[at])))
    }
}

/// As text: `a number`, `time`, `information/time`, `1/time`.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.pad("a number");
        }
        let part = |sign: i8| {
            let powers = BASE.iter().zip(self.0).filter(|(_, power)| power.signum() == sign);
            let words = powers.map(|((word, _), power)| match power.unsigned_abs() {
                1 => (*word).to_owned(),
                power => format!("{word}^{power}"),
            });
            words.collect::<Vec<_>>()
        };
        let (above, below) = (part(1).join("*"), part(-1));
        let above = if above.is_empty() { "1" } else { &above };
        f.pad(&std::iter::once(above.to_owned()).chain(below).collect::<Vec<_>>().join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_multiply_divide_and_have_roots() {
        let speed = Dimension::LENGTH / Dimension::TIME;
        assert_eq!(speed * Dimension::TIME, Dimension::LENGTH);
        assert_eq!(speed.pow(2).sqrt(), Some(speed));
        assert_eq!(speed.sqrt(), None);
        assert_eq!(speed.pow(0), Dimension::NONE);
        assert_eq!(Dimension::TIME.pow(i32::MAX), Dimension::TIME.pow(127));
    }

    #[test]
    fn si_units_can_be_read_back() {
        for text in ["", "m", "1/s", "m/s^2", "m·kg/s^2", "1/m/kg^3", "m^2/s^3"] {
            let unit: super::super::Unit = text.parse().unwrap();
            assert_eq!(
                unit.dimension().si_unit().parse::<super::super::Unit>().unwrap().dimension(),
                unit.dimension()
            );
        }
        assert_eq!("m/s^2".parse::<super::super::Unit>().unwrap().dimension().si_unit(), "m/s^2");
    }

    #[test]
    fn dimensions_that_differ_are_named_in_words() {
        let transfer = Dimension::INFORMATION / Dimension::TIME;
        let error = transfer.checked_add(Dimension::RATE.pow(2)).unwrap_err();
        assert_eq!(error.to_string(), "information/time and 1/time^2 do not fit together");
        assert_eq!(Dimension::NONE.to_string(), "a number");
    }
}
