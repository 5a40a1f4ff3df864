//! Values as the evaluator handles them.

use crate::definition::{Type, Width};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i32),
    /// A `real32`.
    Single(f32),
    /// A `real`.
    Double(f64),
    /// A text.
    String(String),
    /// The items of an array or a list.
    Items(Vec<Self>),
    /// The properties of a row.
    Row(Vec<Self>),
}

impl Value {
    /// The value with the one bit pattern for "not a number" that columns hold: the quiet one without sign and payload.
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::Single(number) if number.is_nan() => Self::Single(f32::from_bits(0x7fc0_0000)),
            Self::Double(number) if number.is_nan() => {
                Self::Double(f64::from_bits(0x7ff8_0000_0000_0000))
            }
            Self::Items(items) => Self::Items(items.into_iter().map(Self::canonical).collect()),
            Self::Row(items) => Self::Row(items.into_iter().map(Self::canonical).collect()),
            other => other,
        }
    }

    /// Whether all bits are equal, also those of zeros and of what is not a number.
    #[must_use]
    pub fn same_bits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Single(one), Self::Single(two)) => one.to_bits() == two.to_bits(),
            (Self::Double(one), Self::Double(two)) => one.to_bits() == two.to_bits(),
            (Self::Items(one), Self::Items(two)) | (Self::Row(one), Self::Row(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same_bits(two))
            }
            _ => self == other,
        }
    }

    /// The number as an `f64`.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some((*number).into()),
            Self::Single(number) => Some((*number).into()),
            Self::Double(number) => Some(*number),
            _ => None,
        }
    }

    /// The values in it, itself included.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Items(items) | Self::Row(items) => 1 + items.iter().map(Self::count).sum::<u64>(),
            _ => 1,
        }
    }
}

/// `number` as a value of a number type; `None` if an integer cannot hold it.
pub(crate) fn number_as(number: f64, ty: &Type) -> Option<Value> {
    match ty {
        Type::Real(Width::Single, _) => Some(Value::Single(number as f32)),
        Type::Real(Width::Double, _) => Some(Value::Double(number)),
        _ => {
            // Toward zero, as `i32.trunc_f64_s` does; it traps outside of the range and for NaN.
            let whole = number.trunc();
            let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole);
            fits.then_some(Value::Integer(whole as i32))
        }
    }
}
