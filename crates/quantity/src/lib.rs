//! Numbers with a physical dimension.
//!
//! A [`Quantity`] is stored in base units (s, m, kg, A, K and the byte), so quantities combine without
//! conversion. [`Unit`]s appear only where text is read or shown. A text can declare quantities and units of its own
//! in a table of [`Units`].
//!
//! ```
//! use hemiola_quantity::{Dimension, Quantity};
//!
//! let each: Quantity = "80 µs".parse().unwrap();
//! let all = each * Quantity::number(900.0);
//! assert_eq!(all.to_string(), "72 ms");
//! assert_eq!(all.dimension, Dimension::TIME);
//! assert!(all.checked_add("3 KiB".parse().unwrap()).is_err());
//! ```
//!
//! This crate reads no clock and touches no file: text and numbers in, quantities out.

#![forbid(unsafe_code)]

use std::ops::{Div, Mul};

mod dimension;
mod number;
mod show;
mod unit;
mod units;

pub use dimension::{Dimension, DimensionError, OWN_MAX};
pub use number::number_at_start;
pub use show::ShownQuantity;
pub use unit::{KnownUnit, QuantityError, Unit, did_you_mean};
pub use units::{DeclarationError, Units};

/// A value with its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// In base units: s, m, kg, A, K, B, those of declared quantities, and products of their powers.
    pub value: f64,
    /// The dimension of the value.
    pub dimension: Dimension,
}

impl Quantity {
    /// A pure number.
    #[must_use]
    pub const fn number(value: f64) -> Self {
        Self { value, dimension: Dimension::NONE }
    }

    /// `value` in the given unit.
    #[must_use]
    pub fn of(value: f64, unit: &Unit) -> Self {
        Self { value: unit.to_base(value), dimension: unit.dimension() }
    }

    /// The value in `unit`.
    ///
    /// # Errors
    /// When the unit has another dimension.
    pub fn in_unit(self, unit: &Unit) -> Result<f64, DimensionError> {
        self.dimension.checked_add(unit.dimension())?;
        Ok(unit.count(self.value))
    }

    /// The sum.
    ///
    /// # Errors
    /// When the dimensions differ.
    pub fn checked_add(self, other: Self) -> Result<Self, DimensionError> {
        let dimension = self.dimension.checked_add(other.dimension)?;
        Ok(Self { value: self.value + other.value, dimension })
    }

    /// The difference.
    ///
    /// # Errors
    /// When the dimensions differ.
    pub fn checked_sub(self, other: Self) -> Result<Self, DimensionError> {
        self.checked_add(Self { value: -other.value, ..other })
    }
}

impl Mul for Quantity {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { value: self.value * other.value, dimension: self.dimension * other.dimension }
    }
}

impl Div for Quantity {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self { value: self.value / other.value, dimension: self.dimension / other.dimension }
    }
}
