//! The arithmetic that formulas need.

use std::fmt::Debug;

/// The operations of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the operation of its name")]
pub enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Minimum,
    Maximum,
    Negate,
    Root,
    Exponential,
    Logarithm,
    Absolute,
    Ceiling,
    Floor,
    Round,
    Sine,
    Cosine,
}

impl Function {
    /// Whether it takes two operands.
    #[must_use]
    pub const fn is_binary(self) -> bool {
        use Function::{Add, Divide, Maximum, Minimum, Multiply, Power, Subtract};
        matches!(self, Add | Subtract | Multiply | Divide | Power | Minimum | Maximum)
    }

    /// Its symbol or name in a formula.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract | Self::Negate => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Power => "^",
            Self::Minimum => "min",
            Self::Maximum => "max",
            Self::Root => "sqrt",
            Self::Exponential => "exp",
            Self::Logarithm => "ln",
            Self::Absolute => "abs",
            Self::Ceiling => "ceil",
            Self::Floor => "floor",
            Self::Round => "round",
            Self::Sine => "sin",
            Self::Cosine => "cos",
        }
    }
}

/// A type that formulas are evaluated over: `f64`, [`Interval`](super::Interval), a derivative.
pub trait Value: Clone + Debug {
    /// A constant.
    fn constant(value: f64) -> Self;
    /// The result of a function. A function of one operand ignores `b`.
    fn apply(function: Function, a: &Self, b: &Self) -> Self;
}

/// As in IEEE 754, except that the minimum and maximum of a number and NaN are NaN.
impl Value for f64 {
    fn constant(value: f64) -> Self {
        value
    }

    fn apply(function: Function, a: &Self, b: &Self) -> Self {
        let (a, b) = (*a, *b);
        match function {
            Function::Add => a + b,
            Function::Subtract => a - b,
            Function::Multiply => a * b,
            Function::Divide => a / b,
            // The most frequent power by far; ten times as fast as `powf`.
            Function::Power if b == 2.0 => a * a,
            Function::Power => a.powf(b),
            Function::Minimum if a < b || a.is_nan() => a,
            Function::Maximum if a > b || a.is_nan() => a,
            Function::Minimum | Function::Maximum => b,
            Function::Negate => -a,
            Function::Root => a.sqrt(),
            Function::Exponential => a.exp(),
            Function::Logarithm => a.ln(),
            Function::Absolute => a.abs(),
            Function::Ceiling => a.ceil(),
            Function::Floor => a.floor(),
            Function::Round => a.round(),
            Function::Sine => a.sin(),
            Function::Cosine => a.cos(),
        }
    }
}
