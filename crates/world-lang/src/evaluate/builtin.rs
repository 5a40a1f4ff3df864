//! The functions of the language.

use super::Fault;
use super::number::binary;
use crate::definition::{BinaryOperator, Builtin, Type, Value};

/// The result of a function. `first` is the type of its first argument.
pub(super) fn builtin(
    function: Builtin,
    arguments: Vec<Value>,
    first: Option<&Type>,
) -> Result<Value, Fault> {
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().expect("the number of arguments was checked");
    match function {
        Builtin::Abs => absolute(&next()),
        Builtin::Floor => Ok(real(&next(), f32::floor, f64::floor)),
        Builtin::Ceil => Ok(real(&next(), f32::ceil, f64::ceil)),
        Builtin::Sqrt => Ok(real(&next(), f32::sqrt, f64::sqrt)),
        Builtin::Min => Ok(least(&next(), &next())),
        Builtin::Max => Ok(greatest(&next(), &next())),
        Builtin::Clamp => {
            let (x, low, high) = (next(), next(), next());
            Ok(least(&greatest(&x, &low), &high))
        }
        Builtin::Inside => inside(&next(), &next(), &next()),
        Builtin::Div => divided(&next(), &next()).map(|(quotient, _)| quotient),
        Builtin::Mod => divided(&next(), &next()).map(|(_, rest)| rest),
        Builtin::Dot => dot(&next(), &next()),
        Builtin::Length => length(&next()),
        Builtin::Distance => {
            let (a, b) = (next(), next());
            length(&binary(BinaryOperator::Minus, &b, &a)?)
        }
        Builtin::Count => match next() {
            Value::Items(items) => Ok(Value::Integer(items.len() as i32)),
            _ => unreachable!("only lists are counted"),
        },
        Builtin::Append => {
            let (Value::Items(mut items), item) = (next(), next()) else {
                unreachable!("the first is a list")
            };
            let Some(Type::List(_, most)) = first else { unreachable!("the first is a list") };
            if items.len() >= *most as usize {
                return Err(Fault::ListFull);
            }
            items.push(item);
            Ok(Value::Items(items))
        }
    }
}

fn absolute(x: &Value) -> Result<Value, Fault> {
    match x {
        Value::Integer(number) => number.checked_abs().map(Value::Integer).ok_or(Fault::Overflow),
        _ => Ok(real(x, f32::abs, f64::abs)),
    }
}

fn real(x: &Value, single: fn(f32) -> f32, double: fn(f64) -> f64) -> Value {
    match x {
        Value::Single(number) => Value::Single(single(*number)),
        Value::Double(number) => Value::Double(double(*number)),
        _ => unreachable!("the argument is a real"),
    }
}

/// The operations `minimum` of IEEE 754-2019, and `i32::min`.
fn least(one: &Value, two: &Value) -> Value {
    match (one, two) {
        (Value::Integer(one), Value::Integer(two)) => Value::Integer(*one.min(two)),
        (Value::Single(a), Value::Single(b)) => {
            let first = a.is_nan() || a < b || (a == b && a.is_sign_negative());
            Value::Single(if first { *a } else { *b })
        }
        (Value::Double(a), Value::Double(b)) => {
            let first = a.is_nan() || a < b || (a == b && a.is_sign_negative());
            Value::Double(if first { *a } else { *b })
        }
        _ => unreachable!("both sides have one type"),
    }
}

/// The operations `maximum` of IEEE 754-2019, and `i32::max`.
fn greatest(one: &Value, two: &Value) -> Value {
    match (one, two) {
        (Value::Integer(one), Value::Integer(two)) => Value::Integer(*one.max(two)),
        (Value::Single(a), Value::Single(b)) => {
            let first = a.is_nan() || a > b || (a == b && a.is_sign_positive());
            Value::Single(if first { *a } else { *b })
        }
        (Value::Double(a), Value::Double(b)) => {
            let first = a.is_nan() || a > b || (a == b && a.is_sign_positive());
            Value::Double(if first { *a } else { *b })
        }
        _ => unreachable!("both sides have one type"),
    }
}

fn inside(point: &Value, low: &Value, high: &Value) -> Result<Value, Fault> {
    let (Value::Items(point), Value::Items(low), Value::Items(high)) = (point, low, high) else {
        unreachable!("all are points")
    };
    for ((x, low), high) in point.iter().zip(low).zip(high) {
        let above = binary(BinaryOperator::AtLeast, x, low)?;
        let below = binary(BinaryOperator::AtMost, x, high)?;
        if [above, below].contains(&Value::Boolean(false)) {
            return Ok(Value::Boolean(false));
        }
    }
    Ok(Value::Boolean(true))
}

/// The quotient rounded down, and the rest.
fn divided(one: &Value, two: &Value) -> Result<(Value, Value), Fault> {
    let (Value::Integer(one), Value::Integer(two)) = (one, two) else {
        unreachable!("both are integers")
    };
    if *two == 0 {
        return Err(Fault::DivisionByZero);
    }
    let (quotient, rest) = (one.checked_div(*two).ok_or(Fault::Overflow)?, one.wrapping_rem(*two));
    let below = rest != 0 && (rest < 0) != (*two < 0);
    let (quotient, rest) = if below { (quotient - 1, rest + two) } else { (quotient, rest) };
    Ok((Value::Integer(quotient), Value::Integer(rest)))
}

/// The sum of the products, from the first on.
pub(super) fn dot(one: &Value, two: &Value) -> Result<Value, Fault> {
    let Value::Items(products) = binary(BinaryOperator::Times, one, two)? else {
        unreachable!("both are arrays")
    };
    let mut products = products.into_iter();
    let first = products.next().expect("an array has an item");
    products.try_fold(first, |sum, product| binary(BinaryOperator::Plus, &sum, &product))
}

fn length(arrow: &Value) -> Result<Value, Fault> {
    Ok(real(&dot(arrow, arrow)?, f32::sqrt, f64::sqrt))
}
