//! The dimension of a quantity: exponents of the base quantities.

use std::fmt;
use std::ops::{Div, Mul};

use thiserror::Error;

/// The most quantities that a text can declare beside the built-in ones.
pub const OWN_MAX: usize = 6;

/// Exponents of time, length, mass, current, temperature and information, and of up to [`OWN_MAX`] quantities that a
/// text declares, such as money. The names of the latter are in [`Units`](super::Units).
///
/// Exponents saturate at ±127: a dimension that far out is visibly absurd and fits nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension([i8; BASE.len() + OWN_MAX]);

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
pub(crate) const BASE: [(&str, &str); 6] = [
    ("time", "s"),
    ("length", "m"),
    ("mass", "kg"),
    ("current", "A"),
    ("temperature", "K"),
    ("information", "B"),
];

/// Names and units of declared quantities where nobody knows the text that declares them.
pub(crate) const OWN: [(&str, &str); OWN_MAX] = [
    ("quantity 1", "unit1"),
    ("quantity 2", "unit2"),
    ("quantity 3", "unit3"),
    ("quantity 4", "unit4"),
    ("quantity 5", "unit5"),
    ("quantity 6", "unit6"),
];

impl Dimension {
    /// A pure number.
    pub const NONE: Self = Self([0; BASE.len() + OWN_MAX]);
    /// Time, in s.
    pub const TIME: Self = Self::of([1, 0, 0, 0, 0, 0]);
    /// Length, in m.
    pub const LENGTH: Self = Self::of([0, 1, 0, 0, 0, 0]);
    /// Mass, in kg.
    pub const MASS: Self = Self::of([0, 0, 1, 0, 0, 0]);
    /// Electric current, in A.
    pub const CURRENT: Self = Self::of([0, 0, 0, 1, 0, 0]);
    /// Temperature, in K.
    pub const TEMPERATURE: Self = Self::of([0, 0, 0, 0, 1, 0]);
    /// Information, in bytes.
    pub const INFORMATION: Self = Self::of([0, 0, 0, 0, 0, 1]);
    /// Events per time, in 1/s.
    pub const RATE: Self = Self::of([-1, 0, 0, 0, 0, 0]);

    /// The dimension with these exponents, in the order of `BASE`.
    pub(crate) const fn of(built_in: [i8; BASE.len()]) -> Self {
        let mut exponents = Self::NONE.0;
        let mut at = 0;
        while at < built_in.len() {
            exponents[at] = built_in[at];
            at += 1;
        }
        Self(exponents)
    }

    /// The dimension of the declared quantity at this index, below [`OWN_MAX`].
    pub(crate) fn own(index: usize) -> Self {
        let mut own = Self::NONE;
        own.0[BASE.len() + index] = 1;
        own
    }

    /// The dimension without the declared quantities.
    pub(crate) fn built_in(self) -> Self {
        Self(std::array::from_fn(|at| if at < BASE.len() { self.0[at] } else { 0 }))
    }

    /// Whether it is something per time, such as 1/s, B/s or a declared quantity per second.
    #[must_use]
    pub fn is_per_time(self) -> bool {
        self.0[0] == -1
    }

    /// The exponents of the built-in quantities, in the order of `BASE`, zeros included.
    pub(crate) fn exponents(self) -> impl Iterator<Item = i8> {
        self.0.into_iter().take(BASE.len())
    }

    /// The index and the exponent of each declared quantity, except zero exponents.
    pub(crate) fn own_exponents(self) -> impl Iterator<Item = (usize, i8)> {
        self.0.into_iter().skip(BASE.len()).enumerate().filter(|(_, power)| *power != 0)
    }

    /// The name, the unit and the exponent of each quantity, except zero exponents.
    fn powers(self) -> impl Iterator<Item = (&'static str, &'static str, i8)> {
        let all = BASE.iter().chain(&OWN).zip(self.0).filter(|(_, power)| *power != 0);
        all.map(|((name, unit), power)| (*name, *unit, power))
    }

    /// The unit of its values in the SI, such as `kg·m/s^2`; empty for a pure number.
    #[must_use]
    pub fn si_unit(self) -> String {
        fraction(&self.powers().map(|(_, unit, power)| (unit, power)).collect::<Vec<_>>(), "·")
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
        let powers: Vec<_> = self.powers().map(|(name, _, power)| (name, power)).collect();
        f.pad(&fraction(&powers, "*"))
    }
}

/// `a·b^2/c`: words with their exponents, joined by `times`. `1/c` without a positive exponent; empty without words.
pub(crate) fn fraction(powers: &[(&str, i8)], times: &str) -> String {
    let raised = |(word, power): &(&str, i8)| match power.unsigned_abs() {
        1 => (*word).to_owned(),
        power => format!("{word}^{power}"),
    };
    let side = |sign: i8| {
        powers.iter().filter(|(_, power)| power.signum() == sign).map(raised).collect::<Vec<_>>()
    };
    let (above, below) = (side(1).join(times), side(-1));
    let above = if above.is_empty() && !below.is_empty() { "1".to_owned() } else { above };
    std::iter::once(above).chain(below).collect::<Vec<_>>().join("/")
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
