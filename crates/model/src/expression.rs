//! Formulas over named quantities: `9 * 512 * 1 ms`, `max(call.cost, 10 µs) / 2`.
//!
//! An [`Expression`] is parsed once. It lists its names, checks its dimension, and is evaluated over any
//! [`Value`]: numbers, [`Interval`]s, derivatives.
//!
//! * `+ - * / ^`, parentheses and the functions `min max sqrt exp ln abs ceil floor round sin cos`. `^` binds
//!   tightest and is right-associative; `-x^2` is `-(x^2)`.
//! * The queues `mm1 mmc mg1`: the mean time in them. `periodic`: the wait for the next tick of a period.
//! * Names are dotted: `memory.latency.l1`.
//! * A unit follows its number and contains no blanks: `1 GiB/s` is a transfer rate, `500/s` a rate, and
//!   `1 GiB / s` divides by the name `s`. A model can declare further units.
//!
//! ```
//! use std::collections::BTreeMap;
//! use hemiola_model::expression::Expression;
//! use hemiola_quantity::{Dimension, Quantity, Units};
//!
//! let io = Expression::parse("images * lines * line.read").unwrap();
//! let counted = BTreeMap::from([
//!     ("images", Dimension::NONE),
//!     ("lines", Dimension::NONE),
//!     ("line.read", Dimension::TIME),
//! ]);
//! assert_eq!(io.dimension(&counted, Units::built_in()), Ok(Dimension::TIME));
//! let values = BTreeMap::from([("images", 9.0), ("lines", 512.0), ("line.read", 0.001)]);
//! let seconds: f64 = io.evaluate(&values).unwrap();
//! assert!((seconds - 4.608).abs() < 1e-12);
//! ```

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use hemiola_diagnostic::nearest;
use thiserror::Error;

use hemiola_quantity::{Dimension, Quantity, Units, did_you_mean};

mod dimension;
mod interval;
mod parse;
mod rests;
mod trend;
mod value;
mod whole;

pub use interval::Interval;
pub(crate) use trend::Trend;
pub(crate) use value::SERVERS_MAX;
pub use value::{Function, Value};
pub(crate) use whole::WholeCalls;

/// A parsed formula.
///
/// Stored in postfix order, so every evaluation is one loop with a stack, however deep the nesting.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    steps: Vec<Step>,
}

/// One operation or operand of a formula.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    /// The byte range in the text; for a function, including all its operands.
    pub(crate) at: Range<usize>,
    /// Whether its value cannot be negative, whatever the rest of the formula: a period, or the variation of a service
    /// time.
    pub(crate) is_amount: bool,
}

/// The effect of a step on the stack.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// Pushes a constant.
    Constant(Quantity),
    /// Pushes the value of a name.
    Name(String),
    /// Pushes the share of a period that is left until its next tick: uniform from 0 to 1. In a network it is an input,
    /// and has its name there.
    Phase,
    /// Replaces one or two values by the result.
    Apply(Function),
}

/// Why a formula is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// An unexpected character.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        at: Range<usize>,
        /// The character.
        found: String,
        /// The characters allowed there.
        expected: &'static str,
    },
    /// An unknown unit.
    #[error("unknown unit \"{unit}\"{}", did_you_mean(nearest))]
    UnknownUnit {
        /// Where.
        at: Range<usize>,
        /// The unknown unit.
        unit: String,
        /// The nearest known unit.
        nearest: Option<String>,
    },
    /// An unknown function.
    #[error("unknown function \"{name}\"{}", did_you_mean(nearest))]
    UnknownFunction {
        /// Where.
        at: Range<usize>,
        /// The unknown function.
        name: String,
        /// The nearest known function.
        nearest: Option<String>,
    },
    /// A function with too few or too many arguments.
    #[error("{function} takes {expected}, found {found}")]
    Arguments {
        /// Where.
        at: Range<usize>,
        /// The function.
        function: &'static str,
        /// How many it takes, in words.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A formula nested deeper or longer than the limits.
    #[error("the formula is nested more than {depth} deep or longer than {bytes} bytes")]
    TooLarge {
        /// The part that was not read.
        at: Range<usize>,
        /// The deepest nesting.
        depth: usize,
        /// The longest text.
        bytes: usize,
    },
    /// An unknown name.
    #[error("nothing is named \"{name}\"{}", did_you_mean(nearest))]
    UnknownName {
        /// Where.
        at: Range<usize>,
        /// The unknown name.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// Operands with incompatible units.
    #[error("units do not fit: {what}")]
    Units {
        /// The operation with its operands.
        at: Range<usize>,
        /// The incompatible dimensions.
        what: String,
    },
}

impl ExpressionError {
    /// The byte range in the text.
    #[must_use]
    pub fn at(&self) -> Range<usize> {
        match self {
            Self::Unexpected { at, .. }
            | Self::UnknownUnit { at, .. }
            | Self::UnknownFunction { at, .. }
            | Self::Arguments { at, .. }
            | Self::TooLarge { at, .. }
            | Self::UnknownName { at, .. }
            | Self::Units { at, .. } => at.clone(),
        }
    }
}

impl Expression {
    /// Parses a formula with built-in units.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Self::parse_with(text, Units::built_in())
    }

    /// Parses a formula with these units.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse_with(text: &str, units: &Units) -> Result<Self, ExpressionError> {
        parse::parse(text, units)
    }

    /// The formula of one value, in base units; `text` is what it is shown as.
    pub(crate) fn constant(text: &str, value: Quantity) -> Self {
        let step =
            Step { operation: Operation::Constant(value), at: 0..text.len(), is_amount: false };
        Self { text: text.to_owned(), steps: vec![step] }
    }

    /// The text it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every name in the formula with its place, in text order, repeats included.
    pub fn names(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.steps.iter().filter_map(|Step { operation, at, .. }| match operation {
            Operation::Name(name) => Some((name.as_str(), at.clone())),
            _ => None,
        })
    }

    /// Whether it waits for a tick, so that it has no single value.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.steps.iter().any(|step| step.operation == Operation::Phase)
    }

    /// Replaces each phase by a name: that of the definition, and a number. Returns the names.
    pub(crate) fn name_phases(&mut self, definition: &str) -> Vec<String> {
        let phases = self.steps.iter_mut().filter(|step| step.operation == Operation::Phase);
        let named = phases.enumerate().map(|(number, step)| {
            let name = format!("{definition}.phase_{number}");
            step.operation = Operation::Name(name.clone());
            name
        });
        named.collect()
    }

    /// The dimension of the result, given the dimensions of the names. Errors name the quantities of `units`.
    ///
    /// # Errors
    /// [`ExpressionError::UnknownName`] or [`ExpressionError::Units`].
    pub fn dimension<K>(
        &self,
        of: &BTreeMap<K, Dimension>,
        units: &Units,
    ) -> Result<Dimension, ExpressionError>
    where
        K: Borrow<str> + Ord,
    {
        dimension::dimension(self, of, units)
    }

    /// The result in base units, given the values of the names in base units. An undefined result (the root
    /// of a negative number, a division by zero) is NaN or infinite as in IEEE 754. Units are not checked
    /// here but by [`Expression::dimension`].
    ///
    /// # Errors
    /// [`ExpressionError::UnknownName`].
    pub fn evaluate<K, V>(&self, of: &BTreeMap<K, V>) -> Result<V, ExpressionError>
    where
        K: Borrow<str> + Ord,
        V: Value,
    {
        let mut values = self.values(of)?;
        Ok(values.pop().expect(OPERANDS))
    }

    /// The value of every step, the result last.
    ///
    /// # Errors
    /// [`ExpressionError::UnknownName`].
    pub(crate) fn values<K, V>(&self, of: &BTreeMap<K, V>) -> Result<Vec<V>, ExpressionError>
    where
        K: Borrow<str> + Ord,
        V: Value,
    {
        let mut values: Vec<V> = Vec::with_capacity(self.steps.len());
        let mut stack: Vec<usize> = Vec::new();
        for (step, Step { operation, at, .. }) in self.steps.iter().enumerate() {
            let value = match operation {
                Operation::Constant(quantity) => V::constant(quantity.value),
                Operation::Phase => V::constant(MEAN_PHASE),
                Operation::Name(name) => lookup(of, name, at)?.clone(),
                Operation::Apply(function) => {
                    let b = stack.pop().expect(OPERANDS);
                    let a = if function.is_binary() { stack.pop().expect(OPERANDS) } else { b };
                    V::apply(*function, &values[a], &values[b])
                }
            };
            values.push(value);
            stack.push(step);
        }
        Ok(values)
    }

    /// The steps in postfix order.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// The text that the formula was read from.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The mean share of a period that is left until its next tick.
pub(crate) const MEAN_PHASE: f64 = 0.5;

/// Why every operation finds its operands on the stack.
pub(crate) const OPERANDS: &str = "the parser writes operands before their operation";

fn lookup<'m, K, V>(
    of: &'m BTreeMap<K, V>,
    name: &str,
    at: &Range<usize>,
) -> Result<&'m V, ExpressionError>
where
    K: Borrow<str> + Ord,
{
    of.get(name).ok_or_else(|| ExpressionError::UnknownName {
        at: at.clone(),
        name: name.to_owned(),
        nearest: nearest(name, of.keys().map(Borrow::borrow)).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests;
