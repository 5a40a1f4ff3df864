//! Operators on numbers and arrays of numbers.

use super::Fault;
use crate::definition::{BinaryOperator, Value};

/// `-value`, for each scalar.
pub(super) fn negated(value: &Value) -> Result<Value, Fault> {
    Ok(match value {
        Value::Integer(number) => Value::Integer(number.checked_neg().ok_or(Fault::Overflow)?),
        Value::Single(number) => Value::Single(-number),
        Value::Double(number) => Value::Double(-number),
        Value::Items(items) => Value::Items(items.iter().map(negated).collect::<Result<_, _>>()?),
        _ => unreachable!("only numbers have a sign"),
    })
}

/// An operator other than `and` and `or`. One operand may be an array of what the other is.
pub(super) fn binary(
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
) -> Result<Value, Fault> {
    let items = |items: Result<Vec<Value>, Fault>| items.map(Value::Items);
    match (left, right) {
        (Value::Items(one), Value::Items(two)) => {
            items(one.iter().zip(two).map(|(one, two)| binary(operator, one, two)).collect())
        }
        (Value::Items(one), _) => {
            items(one.iter().map(|one| binary(operator, one, right)).collect())
        }
        (_, Value::Items(two)) => {
            items(two.iter().map(|two| binary(operator, left, two)).collect())
        }
        (Value::Integer(one), Value::Integer(two)) => integers(operator, *one, *two),
        (Value::Single(one), Value::Single(two)) => Ok(singles(operator, *one, *two)),
        (Value::Double(one), Value::Double(two)) => Ok(doubles(operator, *one, *two)),
        (Value::Boolean(_), Value::Boolean(_)) | (Value::String(_), Value::String(_)) => {
            let equal = left == right;
            Ok(Value::Boolean(equal == (operator == BinaryOperator::Equal)))
        }
        _ => unreachable!("both sides have one type"),
    }
}

fn integers(operator: BinaryOperator, one: i32, two: i32) -> Result<Value, Fault> {
    use BinaryOperator as B;
    let result = match operator {
        B::Plus => one.checked_add(two),
        B::Minus => one.checked_sub(two),
        B::Times => one.checked_mul(two),
        _ => return Ok(Value::Boolean(compared(operator, &one, &two))),
    };
    result.map(Value::Integer).ok_or(Fault::Overflow)
}

fn singles(operator: BinaryOperator, one: f32, two: f32) -> Value {
    use BinaryOperator as B;
    Value::Single(match operator {
        B::Plus => one + two,
        B::Minus => one - two,
        B::Times => one * two,
        B::Over => one / two,
        _ => return Value::Boolean(compared(operator, &one, &two)),
    })
}

fn doubles(operator: BinaryOperator, one: f64, two: f64) -> Value {
    use BinaryOperator as B;
    Value::Double(match operator {
        B::Plus => one + two,
        B::Minus => one - two,
        B::Times => one * two,
        B::Over => one / two,
        _ => return Value::Boolean(compared(operator, &one, &two)),
    })
}

fn compared<T: PartialOrd>(operator: BinaryOperator, one: &T, two: &T) -> bool {
    use BinaryOperator as B;
    match operator {
        B::Equal => one == two,
        B::Unequal => one != two,
        B::Less => one < two,
        B::AtMost => one <= two,
        B::More => one > two,
        B::AtLeast => one >= two,
        _ => unreachable!("the others are handled by their type"),
    }
}
