//! Interval arithmetic.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use super::{Function, Value};

/// The closed interval from `low` to `high`, in base units; ends may be infinite.
///
/// A result holds every value that the operation can have for operands in their intervals (Moore, "Interval
/// Analysis", 1966), up to floating-point rounding: ends are not rounded outwards, because the ceiling of an
/// exact 5 would then be 6. Operands outside the domain (the root of a negative number) are left out; if none
/// is left, both ends are NaN. Two uses of a name are treated as independent, so `x - x` is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The least value.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Interval {
    /// Every value.
    pub const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };
    /// No value.
    const NOTHING: Self = Self { low: f64::NAN, high: f64::NAN };

    /// The interval between two ends in either order.
    #[must_use]
    pub fn between(one: f64, other: f64) -> Self {
        hull([one, other])
    }

    /// Whether `value` lies in it.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// From end to end.
    #[must_use]
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    fn monotone(self, function: impl Fn(f64) -> f64) -> Self {
        Self { low: function(self.low), high: function(self.high) }
    }

    /// The part that is not negative.
    fn positive(self) -> Self {
        if self.high < 0.0 { Self::NOTHING } else { Self { low: self.low.max(0.0), ..self } }
    }

    fn times(self, other: Self) -> Self {
        // An infinite end stands for arbitrarily large finite values, and zero times any of them is zero.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        hull([
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ])
    }

    fn inverse(self) -> Self {
        if self.low < 0.0 && self.high > 0.0 || self.low == 0.0 && self.high == 0.0 {
            return Self::ALL;
        }
        Self {
            low: if self.high == 0.0 { f64::NEG_INFINITY } else { self.high.recip() },
            high: if self.low == 0.0 { f64::INFINITY } else { self.low.recip() },
        }
    }

    fn over(self, other: Self) -> Self {
        if other.holds(0.0) {
            return self.times(other.inverse());
        }
        // The inverse would round twice: 10 / 2 is 5.
        let quotient = |a: f64, b: f64| if a == 0.0 || b.is_infinite() { 0.0 } else { a / b };
        hull([
            quotient(self.low, other.low),
            quotient(self.low, other.high),
            quotient(self.high, other.low),
            quotient(self.high, other.high),
        ])
    }

    fn absolute(self) -> Self {
        let ends = hull([self.low.abs(), self.high.abs()]);
        if self.holds(0.0) { Self { low: 0.0, ..ends } } else { ends }
    }

    fn power(self, exponent: Self) -> Self {
        let whole = exponent.low == exponent.high && exponent.low.fract() == 0.0;
        if !whole {
            // For a base of at least 0 the power is monotone in each operand.
            let base = self.positive();
            return hull([
                base.low.powf(exponent.low),
                base.low.powf(exponent.high),
                base.high.powf(exponent.low),
                base.high.powf(exponent.high),
            ]);
        }
        let times = exponent.low.abs();
        let base = if times % 2.0 == 0.0 { self.absolute() } else { self };
        let result = base.monotone(|end| end.powf(times));
        if exponent.low < 0.0 { result.inverse() } else { result }
    }

    /// The wait grows with the load and falls with the number of servers; without bound from an overload on.
    fn wait(self, servers: Self) -> Self {
        let low = f64::apply(Function::Wait, &self.low.max(0.0), &servers.high);
        let high = f64::apply(Function::Wait, &self.high, &servers.low);
        if low.is_nan() {
            return Self::NOTHING;
        }
        Self { low, high: if high.is_nan() { f64::INFINITY } else { high } }
    }

    fn cosine(self) -> Self {
        // Whether one of the points `first` + k · 2π is inside.
        let passes = |first: f64| ((self.low - first) / TAU).ceil() * TAU + first <= self.high;
        let ends = hull([self.low.cos(), self.high.cos()]);
        Self {
            low: if passes(PI) { -1.0 } else { ends.low },
            high: if passes(0.0) { 1.0 } else { ends.high },
        }
    }
}

/// The smallest interval that contains these values; NaN if one is NaN.
fn hull<const N: usize>(values: [f64; N]) -> Interval {
    if values.iter().any(|value| value.is_nan()) {
        return Interval::NOTHING;
    }
    Interval {
        low: values.into_iter().fold(f64::INFINITY, f64::min),
        high: values.into_iter().fold(f64::NEG_INFINITY, f64::max),
    }
}

impl Value for Interval {
    fn constant(value: f64) -> Self {
        Self { low: value, high: value }
    }

    fn apply(function: Function, a: &Self, b: &Self) -> Self {
        let (a, b) = (*a, *b);
        if a.low.is_nan() || function.is_binary() && b.low.is_nan() {
            return Self::NOTHING;
        }
        match function {
            Function::Add => Self { low: a.low + b.low, high: a.high + b.high },
            Function::Subtract => Self { low: a.low - b.high, high: a.high - b.low },
            Function::Multiply => a.times(b),
            Function::Divide => a.over(b),
            Function::Power => a.power(b),
            Function::Minimum => Self { low: a.low.min(b.low), high: a.high.min(b.high) },
            Function::Maximum => Self { low: a.low.max(b.low), high: a.high.max(b.high) },
            Function::Negate => Self { low: -a.high, high: -a.low },
            Function::Root => a.positive().monotone(f64::sqrt),
            Function::Exponential => a.monotone(f64::exp),
            Function::Logarithm => a.positive().monotone(f64::ln),
            Function::Absolute => a.absolute(),
            Function::Ceiling => a.monotone(f64::ceil),
            Function::Floor => a.monotone(f64::floor),
            Function::Round => a.monotone(f64::round),
            Function::Cosine => a.cosine(),
            Function::Wait => a.wait(b),
            Function::Sine => Self { low: a.low - FRAC_PI_2, high: a.high - FRAC_PI_2 }.cosine(),
        }
    }
}
