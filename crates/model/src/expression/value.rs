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
    /// The mean wait in a queue, in units of the service time, from load and number of servers.
    Wait,
}

impl Function {
    /// Whether it takes two operands.
    #[must_use]
    pub const fn is_binary(self) -> bool {
        use Function::{Add, Divide, Maximum, Minimum, Multiply, Power, Subtract, Wait};
        matches!(self, Add | Subtract | Multiply | Divide | Power | Minimum | Maximum | Wait)
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
            Self::Wait => "wait",
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
            Function::Wait => mean_wait(a, b),
        }
    }
}

/// The most servers of a queue.
pub(crate) const SERVERS_MAX: f64 = 10_000.0;

/// The mean wait in a queue with random arrivals and exponential service times, in units of the service time, by
/// Erlang's formulas (Erlang 1917). The load is the rate times the service time; NaN unless it is below the number of
/// servers, a whole number up to 10 000.
fn mean_wait(load: f64, servers: f64) -> f64 {
    let counted = servers.fract() == 0.0 && (1.0..=SERVERS_MAX).contains(&servers);
    if !(counted && 0.0 <= load && load < servers) {
        return f64::NAN;
    }
    // The share of arrivals that find all servers busy, if none of them waits: by recursion over the servers.
    let mut lost = 1.0;
    for server in 1..=servers as u32 {
        lost = load * lost / (f64::from(server) + load * lost);
    }
    let waits = servers * lost / (servers - load * (1.0 - lost));
    waits / (servers - load)
}
