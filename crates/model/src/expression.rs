//! Formulas over named quantities, as models write them: `9 * 512 * 1 ms`, `max(call.cost, 10 µs) / 2`.
//!
//! An [`Expression`] is parsed once; then it is asked for its names, checked for its dimension and evaluated
//! over anything that computes like a number ([`Value`]): numbers, [`Interval`]s, derivatives.
//!
//! * `+ - * / ^`, parentheses and the functions `min max sqrt exp ln abs ceil floor round sin cos`. `^` binds
//!   tightest and to the right; `-x^2` is `-(x^2)`.
//! * Names are dotted: `memory.latency.l1`.
//! * A unit follows its number, and has no blanks inside: `1 GiB/s` is a rate of transfer, `500/s` a rate,
//!   `1 GiB / s` divides by something named `s`.
//!
//! ```
//! use std::collections::BTreeMap;
//! use hemiola_model::expression::Expression;
//! use hemiola_model::quantity::{Dimension, Quantity};
//!
//! let io = Expression::parse("images * lines * line.read").unwrap();
//! let counted = BTreeMap::from([
//!     ("images", Dimension::NONE),
//!     ("lines", Dimension::NONE),
//!     ("line.read", Dimension::TIME),
//! ]);
//! assert_eq!(io.dimension(&counted), Ok(Dimension::TIME));
//! let values = BTreeMap::from([("images", 9.0), ("lines", 512.0), ("line.read", 0.001)]);
//! let seconds: f64 = io.evaluate(&values).unwrap();
//! assert!((seconds - 4.608).abs() < 1e-12);
//! ```

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use hemiola_scenario::nearest;
use thiserror::Error;

use crate::quantity::{Dimension, Quantity, did_you_mean};

mod dimension;
mod interval;
mod parse;
mod value;

pub use interval::Interval;
pub use value::{Function, Value};

/// A formula, parsed.
///
/// Kept as the operations in the order in which they are computed, operands first: every use of it is one
/// loop with a stack, however deep it is nested.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    steps: Vec<Step>,
}

/// One operation of a formula, or one operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) what: What,
    /// Its bytes in the text; an operation's with all its operands.
    pub(crate) at: Range<usize>,
}

/// What a step does to the stack.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// Pushes a constant.
    Constant(Quantity),
    /// Pushes the value of a name.
    Name(String),
    /// Replaces one value or two by the result.
    Apply(Function),
}

/// What is wrong with a formula. [`ExpressionError::at`] says where: bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// Something stands where something else should.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        at: Range<usize>,
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// No such unit.
    #[error("unknown unit \"{unit}\"{}", did_you_mean(nearest))]
    UnknownUnit {
        /// Where.
        at: Range<usize>,
        /// What was written.
        unit: String,
        /// The unit that is written most like it.
        nearest: Option<String>,
    },
    /// No such function.
    #[error("unknown function \"{name}\"{}", did_you_mean(nearest))]
    UnknownFunction {
        /// Where.
        at: Range<usize>,
        /// What was written.
        name: String,
        /// The function that is written most like it.
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
    /// More nested or longer than any formula a person wrote.
    #[error("the formula is nested more than {depth} deep or longer than {bytes} bytes")]
    TooLarge {
        /// From where it was not read.
        at: Range<usize>,
        /// The deepest nesting.
        depth: usize,
        /// The longest text.
        bytes: usize,
    },
    /// A name that nothing has.
    #[error("nothing is named \"{name}\"{}", did_you_mean(nearest))]
    UnknownName {
        /// Where.
        at: Range<usize>,
        /// What was written.
        name: String,
        /// The name that is written most like it.
        nearest: Option<String>,
    },
    /// Units that do not fit.
    #[error("units do not fit: {what}")]
    Units {
        /// The operation with its operands.
        at: Range<usize>,
        /// What does not fit with what.
        what: String,
    },
}

impl ExpressionError {
    /// Where in the text: bytes.
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
    /// Reads a formula.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        parse::parse(text)
    }

    /// The text it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every name in it with its place, in order of the text; one that occurs twice stands twice.
    pub fn names(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.steps.iter().filter_map(|Step { what, at }| match what {
            What::Name(name) => Some((name.as_str(), at.clone())),
            _ => None,
        })
    }

    /// The dimension of its value, when its names have these.
    ///
    /// # Errors
    /// [`ExpressionError::UnknownName`] or [`ExpressionError::Units`].
    pub fn dimension<K>(&self, of: &BTreeMap<K, Dimension>) -> Result<Dimension, ExpressionError>
    where
        K: Borrow<str> + Ord,
    {
        dimension::dimension(self, of)
    }

    /// Its value in base units, when its names have these values in base units. What has no value (the
    /// root of a negative number, a division by zero) is not a number or infinite, as IEEE 754 has it.
    /// Units are not looked at: that is [`Expression::dimension`]'s work.
    ///
    /// # Errors
    /// [`ExpressionError::UnknownName`].
    pub fn evaluate<K, V>(&self, of: &BTreeMap<K, V>) -> Result<V, ExpressionError>
    where
        K: Borrow<str> + Ord,
        V: Value,
    {
        let mut stack: Vec<V> = Vec::new();
        for Step { what, at } in &self.steps {
            let value = match what {
                What::Constant(quantity) => V::constant(quantity.value),
                What::Name(name) => lookup(of, name, at)?.clone(),
                What::Apply(function) => {
                    let b = stack.pop().expect(OPERANDS);
                    if function.is_binary() {
                        V::apply(*function, &stack.pop().expect(OPERANDS), &b)
                    } else {
                        V::apply(*function, &b, &b)
                    }
                }
            };
            stack.push(value);
        }
        Ok(stack.pop().expect(OPERANDS))
    }

    /// The operations, operands first, as they are computed with a stack.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// As it was written.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Why an operation finds its operands on the stack.
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
