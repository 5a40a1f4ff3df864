//! The dimension check of a formula.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::{Expression, ExpressionError, Function, OPERANDS, Operation, Step, Value, lookup};
use hemiola_quantity::{Dimension, Units};

/// The dimension of an operand and, if it contains no name, its value.
#[derive(Clone, Copy)]
struct Operand {
    dimension: Dimension,
    constant: Option<f64>,
}

pub(super) fn dimension<K>(
    expression: &Expression,
    of: &BTreeMap<K, Dimension>,
    units: &Units,
) -> Result<Dimension, ExpressionError>
where
    K: Borrow<str> + Ord,
{
    let mut stack: Vec<Operand> = Vec::new();
    for Step { operation, at, .. } in expression.steps() {
        let operand = match operation {
            Operation::Constant(quantity) => {
                Operand { dimension: quantity.dimension, constant: Some(quantity.value) }
            }
            Operation::Name(name) => Operand { dimension: *lookup(of, name, at)?, constant: None },
            Operation::Phase => Operand { dimension: Dimension::NONE, constant: None },
            Operation::Apply(function) => {
                let b = stack.pop().expect(OPERANDS);
                let a = if function.is_binary() { stack.pop().expect(OPERANDS) } else { b };
                let dimension = result(*function, a, b, units)
                    .map_err(|what| ExpressionError::Units { at: at.clone(), what })?;
                let constants = a.constant.zip(b.constant);
                Operand {
                    dimension,
                    constant: constants.map(|(a, b)| f64::apply(*function, &a, &b)),
                }
            }
        };
        stack.push(operand);
    }
    Ok(stack.pop().expect(OPERANDS).dimension)
}

/// The dimension of the result, or the operands that do not fit.
fn result(function: Function, a: Operand, b: Operand, units: &Units) -> Result<Dimension, String> {
    let symbol = function.symbol();
    let name = |dimension: Dimension| units.name(dimension);
    match function {
        Function::Multiply => Ok(a.dimension * b.dimension),
        Function::Divide => Ok(a.dimension / b.dimension),
        Function::Negate | Function::Absolute => Ok(a.dimension),
        Function::Add | Function::Subtract => a
            .dimension
            .checked_add(b.dimension)
            .map_err(|error| format!("{} {symbol} {}", name(error.first), name(error.second))),
        Function::Minimum | Function::Maximum => {
            a.dimension.checked_add(b.dimension).map_err(|error| {
                format!("{symbol} of {} and {}", name(error.first), name(error.second))
            })
        }
        Function::Wait if a.dimension != Dimension::NONE => {
            Err(format!("rate times service time is {}; it must be a number", name(a.dimension)))
        }
        Function::Wait if b.dimension != Dimension::NONE => {
            Err(format!("the number of servers is {}; it must be a number", name(b.dimension)))
        }
        Function::Wait => Ok(Dimension::NONE),
        Function::Power if b.dimension != Dimension::NONE => {
            Err(format!("the exponent is {}; it must be a number", name(b.dimension)))
        }
        Function::Power => power(a.dimension, b.constant, units),
        Function::Root => {
            let no_unit = || format!("the root of {} has no unit", name(a.dimension));
            a.dimension.sqrt().ok_or_else(no_unit)
        }
        Function::Exponential
        | Function::Logarithm
        | Function::Ceiling
        | Function::Floor
        | Function::Round
        | Function::Sine
        | Function::Cosine => match a.dimension {
            Dimension::NONE => Ok(Dimension::NONE),
            other => {
                let other = name(other);
                Err(format!("{symbol} of {other}; divide it by a unit first, as in x / (1 ms)"))
            }
        },
    }
}

fn power(base: Dimension, exponent: Option<f64>, units: &Units) -> Result<Dimension, String> {
    if base == Dimension::NONE {
        return Ok(base);
    }
    let name = units.name(base);
    let Some(exponent) = exponent else {
        return Err(format!("{name} to a power that is not constant"));
    };
    // A half-integer power needs a square root.
    let no_unit = || format!("{name} to the power of {exponent} has no unit");
    if exponent.abs() > 100.0 || (2.0 * exponent).fract() != 0.0 {
        return Err(no_unit());
    }
    if exponent.fract() == 0.0 {
        return Ok(base.pow(exponent as i32));
    }
    base.sqrt().map(|root| root.pow((2.0 * exponent) as i32)).ok_or_else(no_unit)
}
