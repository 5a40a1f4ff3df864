//! Forward-mode differentiation: a value with its exact derivative by one input.

use crate::expression::{Function, Value};

/// A value and its derivative by one input.
///
/// `ceil`, `floor` and `round` have slope 0, as almost everywhere. At the kink of `abs`, `min` and `max` the
/// slope is that of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Derivative {
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl Value for Derivative {
    fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    fn apply(function: Function, a: &Self, b: &Self) -> Self {
        let value = f64::apply(function, &a.value, &b.value);
        // A constant operand contributes nothing, even where the slope of the function is infinite.
        let chain = |inner: f64, outer: f64| if inner == 0.0 { 0.0 } else { inner * outer };
        let slope = match function {
            Function::Add => a.slope + b.slope,
            Function::Subtract => a.slope - b.slope,
            Function::Multiply => chain(a.slope, b.value) + chain(b.slope, a.value),
            Function::Divide => chain(a.slope, b.value.recip()) - chain(b.slope, value / b.value),
            Function::Power => {
                chain(a.slope, b.value * a.value.powf(b.value - 1.0))
                    + chain(b.slope, value * a.value.ln())
            }
            Function::Minimum if a.value < b.value => a.slope,
            Function::Maximum if a.value > b.value => a.slope,
            Function::Minimum | Function::Maximum => b.slope,
            Function::Negate => -a.slope,
            Function::Root => chain(a.slope, 0.5 / value),
            Function::Exponential => chain(a.slope, value),
            Function::Logarithm => chain(a.slope, a.value.recip()),
            Function::Absolute => chain(a.slope, a.value.signum()),
            Function::Ceiling | Function::Floor | Function::Round => 0.0,
            Function::Sine => chain(a.slope, a.value.cos()),
            Function::Cosine => chain(a.slope, -a.value.sin()),
            Function::Wait => chain(a.slope, slope_of_wait(a.value, b.value)),
        };
        Self { value, slope }
    }
}

/// The slope of the wait by the load, as a difference quotient. The number of servers is a whole number without slope.
fn slope_of_wait(load: f64, servers: f64) -> f64 {
    let wait = |load: f64| f64::apply(Function::Wait, &load, &servers);
    let step = 1e-6 * (servers - load);
    let (low, high) = ((load - step).max(0.0), load + step);
    (wait(high) - wait(low)) / (high - low)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::expression::Expression;

    #[test]
    fn slopes_equal_difference_quotients() {
        for text in [
            "x + 3 - 2 * x",
            "x * x",
            "1 / x",
            "x / (1 + x)",
            "x ^ 3",
            "2 ^ x",
            "x ^ x",
            "sqrt(x)",
            "exp(x) * ln(x)",
            "abs(3 - x)",
            "min(x, 2) + max(x, 1, x ^ 2)",
            "sin(x) * cos(x)",
            "ceil(x) * x",
            "-x ^ -2",
            "mm1(x, 0.2)",
            "mmc(x, 2, 4) * x",
            "mg1(0.3, x, x)",
        ] {
            let formula = Expression::parse(text).unwrap();
            let at = |x: f64| formula.evaluate(&BTreeMap::from([("x", x)])).unwrap();
            let (x, step) = (1.3, 1e-5);
            let quotient: f64 = (at(x + step) - at(x - step)) / (2.0 * step);
            let seed = Derivative { value: x, slope: 1.0 };
            let exact = formula.evaluate(&BTreeMap::from([("x", seed)])).unwrap();
            assert_eq!(exact.value, at(x));
            assert!((exact.slope - quotient).abs() < 1e-7, "{text}: {} {quotient}", exact.slope);
        }
    }

    #[test]
    fn a_constant_has_no_slope_even_where_the_function_is_steep() {
        let formula = Expression::parse("sqrt(0) * x + 0 ^ 0.5 + abs(0)").unwrap();
        let seed = Derivative { value: 2.0, slope: 1.0 };
        assert_eq!(formula.evaluate(&BTreeMap::from([("x", seed)])).unwrap().slope, 0.0);
    }
}
