//! Arithmetic on one number, as `world_lang::evaluate` has it.

use std::ops::{Add, Div, Mul, Sub};

use super::lanes::Lane;

/// Numbers with an order.
pub(super) trait Number: Lane {
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
}

/// Floating-point numbers.
pub(super) trait Real:
    Number + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn negated(self) -> Self;
    fn absolute(self) -> Self;
    fn floored(self) -> Self;
    fn raised(self) -> Self;
    fn root(self) -> Self;
}

impl Number for i32 {
    fn least(self, other: Self) -> Self {
        self.min(other)
    }

    fn greatest(self, other: Self) -> Self {
        self.max(other)
    }
}

macro_rules! real {
    ($type:ty) => {
        // The operations `minimum` and `maximum` of IEEE 754-2019.
        impl Number for $type {
            fn least(self, other: Self) -> Self {
                let first =
                    self.is_nan() || self < other || (self == other && self.is_sign_negative());
                if first { self } else { other }
            }

            fn greatest(self, other: Self) -> Self {
                let first =
                    self.is_nan() || self > other || (self == other && self.is_sign_positive());
                if first { self } else { other }
            }
        }

        impl Real for $type {
            fn negated(self) -> Self {
                -self
            }

            fn absolute(self) -> Self {
                self.abs()
            }

            fn floored(self) -> Self {
                self.floor()
            }

            fn raised(self) -> Self {
                self.ceil()
            }

            fn root(self) -> Self {
                self.sqrt()
            }
        }
    };
}
real!(f32);
real!(f64);

/// The quotient rounded down, and the rest. A quotient that does not exist is any number: its row has a fault already.
pub(super) fn divided(one: i32, two: i32) -> (i32, i32) {
    let two = if two == 0 { 1 } else { two };
    let (quotient, rest) = (one.wrapping_div(two), one.wrapping_rem(two));
    let below = rest != 0 && (rest < 0) != (two < 0);
    if below { (quotient - 1, rest + two) } else { (quotient, rest) }
}
