//! The meaning of a definition: a plain walk over the tree, row by row. It is the oracle of every faster engine.
//!
//! The rules that make stored values equal bit by bit on every machine:
//!
//! * `real32` is computed in 32 bits and `real` in 64 (IEEE 754, to nearest even), each operation on its own: nothing
//!   is fused, reordered or kept in more bits. Only operations with one correct result exist: `+ - * /`, the square
//!   root, rounding and comparisons.
//! * A sum over an array, as in `dot`, starts with the first product; a loop over rows follows their ids.
//! * Integers have 32 bits. A result that does not fit is a fault, as are a division by zero, an index outside of its
//!   array, one item too many in a list, and a real that is no integer. A fault leaves its row as it was.
//! * Only the chosen branch of an `if`, and of `and` and `or` as much as is needed, is evaluated; a fault elsewhere
//!   does not count.
//! * `min` and `max` are not a number if one side is not, and -0 is less than 0 (IEEE 754-2019, `minimum`, `maximum`).
//! * A stored value that is not a number has one bit pattern ([`Value::canonical`]).
//! * Other rows show the state before the step.

mod builtin;
mod frame;
mod number;

use thiserror::Error;

use crate::definition::{
    Converter, ElementId, Expr, Function, FunctionId, Type, Universe, Value, Width,
};
use frame::Frame;

/// Why the evaluation of a row stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// An integer result needs more than 32 bits.
    #[error("an integer does not fit into 32 bits")]
    Overflow,
    /// `div` or `mod` by zero.
    #[error("an integer is divided by 0")]
    DivisionByZero,
    /// An array or list has no such item.
    #[error("an index is outside of its array or list")]
    IndexOutOfRange,
    /// `append` to a full list.
    #[error("a list is full")]
    ListFull,
    /// `integer(x)` of a real beyond its range, or of what is not a number.
    #[error("a real is no integer of 32 bits")]
    NotAnInteger,
}

/// An entity as other rows see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Orders the loops over rows; unique.
    pub id: u64,
    /// Its element.
    pub element: ElementId,
    /// Its properties: a [`Value::Row`].
    pub row: Value,
}

/// The value of a property whose text states none: zero, false, empty, or the defaults of an element.
#[must_use]
pub fn zero(universe: &Universe, ty: &Type) -> Value {
    match ty {
        Type::Boolean => Value::Boolean(false),
        Type::Integer => Value::Integer(0),
        Type::Real(Width::Single, _) => Value::Single(0.0),
        Type::Real(Width::Double, _) => Value::Double(0.0),
        Type::String(_) => Value::String(String::new()),
        Type::Array(of, length) => Value::Items(vec![zero(universe, of); *length as usize]),
        Type::List(..) => Value::Items(Vec::new()),
        Type::Element(id) => {
            let properties = &universe.elements[id.index()].properties;
            Value::Row(properties.iter().map(|property| property.default.clone()).collect())
        }
    }
}

/// The value of an expression without rows and locals.
///
/// # Errors
/// The first fault.
pub fn constant(universe: &Universe, expr: &Expr) -> Result<Value, Fault> {
    Frame::new(universe, None, &[]).value(expr)
}

/// The property that a converter computes from a row of the definition that it converts from.
///
/// # Errors
/// The first fault.
pub fn convert(universe: &Universe, converter: &Converter, row: &Value) -> Result<Value, Fault> {
    Frame::new(universe, Some(row), &[]).value(&converter.value).map(Value::canonical)
}

/// The result of a function; `row` is `self` of a function of an element.
///
/// # Errors
/// The first fault.
///
/// # Panics
/// If the arguments do not have the types of the parameters, or the row is missing.
pub fn call(
    universe: &Universe,
    function: FunctionId,
    row: Option<&Value>,
    arguments: Vec<Value>,
) -> Result<Value, Fault> {
    let function = &universe.functions[function.index()];
    let mut frame = Frame::new(universe, row, &[]).entered(function, arguments);
    frame.run(&function.body).map(|value| value.expect("a function returns a value"))
}

/// Whether a constraint lets a row through to a monitor.
///
/// # Errors
/// The first fault.
///
/// # Panics
/// If the arguments do not have the types of the parameters.
pub fn constraint(
    universe: &Universe,
    function: FunctionId,
    row: &Value,
    last_sent: &Value,
    arguments: Vec<Value>,
) -> Result<bool, Fault> {
    let function = &universe.functions[function.index()];
    let mut frame = Frame::new(universe, Some(row), &[]).entered(function, arguments);
    frame.last_sent = Some(last_sent);
    Ok(frame.run(&function.body)? == Some(Value::Boolean(true)))
}

/// The row of the body at `own` after its update. All bodies show the state before the step.
///
/// # Errors
/// The first fault; the row keeps its state then.
///
/// # Panics
/// If the arguments do not have the types of the parameters.
pub fn update(
    universe: &Universe,
    function: FunctionId,
    bodies: &[Body],
    own: usize,
    arguments: Vec<Value>,
) -> Result<Value, Fault> {
    let function = &universe.functions[function.index()];
    let mut frame =
        Frame::new(universe, Some(&bodies[own].row), bodies).entered(function, arguments);
    frame.own_id = Some(own);
    frame.run(&function.body)?;
    Ok(frame.own.expect("an update has a row").into_owned())
}

/// The row that a prediction leads to.
///
/// # Errors
/// The first fault.
///
/// # Panics
/// If the arguments do not have the types of the parameters.
pub fn predict(
    universe: &Universe,
    function: FunctionId,
    row: &Value,
    arguments: Vec<Value>,
) -> Result<Value, Fault> {
    let function: &Function = &universe.functions[function.index()];
    let mut frame = Frame::new(universe, Some(row), &[]).entered(function, arguments);
    frame.run(&function.body)?;
    Ok(frame.own.expect("a prediction has a row").into_owned())
}
