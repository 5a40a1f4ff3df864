//! The exact mean of a value that is a sum of inputs with constant factors.
//!
//! Samples do not tell the mean of a distribution whose tail is so long that its variance is infinite, or that no
//! sample is from the part of the tail that the mean depends on. The mean of a sum is the sum of the means.

use std::collections::BTreeMap;

use super::network::Network;
use super::program::Program;
use crate::expression::{Function, Value};

/// A constant and the factor of each input; `None` if the value is not such a sum.
#[derive(Clone, Debug)]
struct Affine(Option<(f64, BTreeMap<usize, f64>)>);

impl Affine {
    /// This value with its constant and its factors multiplied.
    fn times(&self, factor: f64) -> Self {
        Self(self.0.as_ref().map(|(constant, factors)| {
            let scaled = factors.iter().map(|(input, of)| (*input, of * factor));
            (constant * factor, scaled.collect())
        }))
    }

    fn plus(&self, other: &Self) -> Self {
        let (Some((constant, factors)), Some((other, more))) = (&self.0, &other.0) else {
            return Self(None);
        };
        let mut factors = factors.clone();
        for (input, factor) in more {
            *factors.entry(*input).or_default() += factor;
        }
        Self(Some((constant + other, factors)))
    }

    /// The value if it depends on no input.
    fn fixed(&self) -> Option<f64> {
        let (constant, factors) = self.0.as_ref()?;
        factors.is_empty().then_some(*constant)
    }
}

impl Value for Affine {
    fn constant(value: f64) -> Self {
        Self(Some((value, BTreeMap::new())))
    }

    fn apply(function: Function, a: &Self, b: &Self) -> Self {
        match (function, a.fixed(), b.fixed()) {
            (_, Some(a), Some(b)) => Self::constant(f64::apply(function, &a, &b)),
            (Function::Add, ..) => a.plus(b),
            (Function::Subtract, ..) => a.plus(&b.times(-1.0)),
            (Function::Negate, ..) => a.times(-1.0),
            (Function::Multiply, Some(factor), _) => b.times(factor),
            (Function::Multiply, _, Some(factor)) => a.times(factor),
            (Function::Divide, _, Some(divisor)) => a.times(divisor.recip()),
            _ => Self(None),
        }
    }
}

/// The mean without systematic offsets, and a bound of the mean for any of them. Bounds of an input only make the
/// effect of an offset smaller.
pub(super) fn mean(network: &Network, program: &Program) -> Option<[f64; 2]> {
    let value = program.value(|index| {
        let input = &network.inputs()[index];
        match input.is_uncertain() {
            true => Affine(Some((0.0, BTreeMap::from([(index, 1.0)])))),
            false => Affine::constant(input.nominal.value),
        }
    });
    let (constant, factors) = value.0?;
    let sum = |of: &dyn Fn(usize, f64) -> f64| -> f64 {
        factors.iter().map(|(index, factor)| of(*index, *factor)).sum()
    };
    let mean = constant + sum(&|index, factor| factor * network.inputs()[index].mean());
    let offsets = sum(&|index, factor| factor.abs() * network.inputs()[index].offset_of_mean());
    mean.is_finite().then_some([mean, mean + offsets])
}
