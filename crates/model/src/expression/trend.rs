//! The direction in which a formula moves with each of its parts.
//!
//! Each place of a name counts on its own: `x - x` rises with the first x and falls with the second, because the two
//! may stand for different calls.

use super::{Expression, Function, Interval, OPERANDS, Operation, Value};

/// The direction in which a value moves with a part of its formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    /// It never falls when the part grows.
    Up,
    /// It never grows then.
    Down,
    /// Neither is proved.
    Either,
}

impl Trend {
    /// That of a value which moves so with something that moves with the part as `inner`.
    pub(crate) fn of(self, inner: Self) -> Self {
        match (self, inner) {
            (Self::Either, _) | (_, Self::Either) => Self::Either,
            (outer, inner) if outer == inner => Self::Up,
            _ => Self::Down,
        }
    }

    /// That of a value which moves so with the part at one place, and as `other` at another one.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Either }
    }

    /// That of a product with a factor in this range.
    fn times(Interval { low, high }: Interval) -> Self {
        match (low >= 0.0, high <= 0.0) {
            (true, _) => Self::Up,
            (false, true) => Self::Down,
            (false, false) => Self::Either,
        }
    }
}

impl Expression {
    /// The direction in which the result moves with the value of each step, for names in these ranges. A formula whose
    /// value `is_physical` has no negative rests of a share.
    pub(crate) fn trends(&self, range: &dyn Fn(&str) -> Interval, is_physical: bool) -> Vec<Trend> {
        let rests = if is_physical { self.rests() } else { Vec::new() };
        let mut ranges: Vec<Interval> = Vec::with_capacity(self.steps.len());
        let mut operands: Vec<[usize; 2]> = Vec::with_capacity(self.steps.len());
        let mut stack: Vec<usize> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let mut of = [at; 2];
            let mut found = match &step.operation {
                Operation::Constant(constant) => Interval::constant(constant.value),
                Operation::Phase => Interval { low: 0.0, high: 1.0 },
                Operation::Name(name) => range(name),
                Operation::Apply(function) => {
                    let b = stack.pop().expect(OPERANDS);
                    let a = if function.is_binary() { stack.pop().expect(OPERANDS) } else { b };
                    of = [a, b];
                    Interval::apply(*function, &ranges[a], &ranges[b])
                }
            };
            if rests.iter().any(|rest| rest.step == at) {
                found = Interval { low: found.low.max(0.0), high: found.high.max(0.0) };
            }
            ranges.push(found);
            operands.push(of);
            stack.push(at);
        }
        // Each step is behind its operands.
        let mut trends = vec![Trend::Up; self.steps.len()];
        for (at, step) in self.steps.iter().enumerate().rev() {
            let Operation::Apply(function) = &step.operation else { continue };
            let [a, b] = operands[at];
            let [by_a, by_b] = by_operand(*function, ranges[a], ranges[b]);
            if function.is_binary() {
                trends[b] = trends[at].of(by_b);
            }
            trends[a] = trends[at].of(by_a);
        }
        trends
    }
}

/// The directions in which a function moves with its operands in these ranges.
fn by_operand(function: Function, a: Interval, b: Interval) -> [Trend; 2] {
    use Trend::{Down, Either, Up};
    match function {
        Function::Add | Function::Minimum | Function::Maximum => [Up; 2],
        Function::Subtract | Function::Wait => [Up, Down],
        Function::Multiply => [Trend::times(b), Trend::times(a)],
        // A divisor that can have both signs passes 0, where there is no value.
        Function::Divide if Trend::times(b) == Either => [Either; 2],
        Function::Divide => [Trend::times(b), Down.of(Trend::times(a))],
        Function::Power if a.low >= 0.0 => {
            let by_exponent = match (a.low >= 1.0, a.high <= 1.0) {
                (true, _) => Up,
                (false, true) => Down,
                (false, false) => Either,
            };
            [Trend::times(b), by_exponent]
        }
        Function::Power | Function::Sine | Function::Cosine => [Either; 2],
        Function::Negate => [Down; 2],
        Function::Absolute => [Trend::times(a); 2],
        Function::Root
        | Function::Exponential
        | Function::Logarithm
        | Function::Ceiling
        | Function::Floor
        | Function::Round => [Up; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::Trend::{Down, Either, Up};
    use super::*;

    #[test]
    fn the_trend_of_each_place_of_a_name_is_known() {
        let range = |name: &str| match name {
            "minus" => Interval { low: -2.0, high: -1.0 },
            "any" => Interval { low: -1.0, high: 1.0 },
            "share" => Interval { low: 0.0, high: 1.2 },
            _ => Interval { low: 1.0, high: 2.0 },
        };
        for (text, expected) in [
            ("x + y", vec![Up, Up]),
            ("x - 2 * y", vec![Up, Down]),
            ("x - x", vec![Up, Down]),
            ("-(x - y)", vec![Down, Up]),
            ("minus * x", vec![Up, Down]),
            ("any * x", vec![Up, Either]),
            ("x / y", vec![Up, Down]),
            ("x / minus", vec![Down, Down]),
            ("x / any", vec![Either, Either]),
            ("minus / y", vec![Up, Up]),
            ("max(x, 3 - y)", vec![Up, Down]),
            ("abs(x - y)", vec![Either, Either]),
            ("abs(x - 9)", vec![Down]),
            ("(1 - share) * x", vec![Down, Up]),
            ("x ^ y", vec![Up, Up]),
            ("x ^ minus", vec![Down, Up]),
            ("0.5 ^ y", vec![Down]),
            ("any ^ y", vec![Either, Either]),
            ("sin(x)", vec![Either]),
            ("exp(-x)", vec![Down]),
        ] {
            let formula = Expression::parse(text).unwrap();
            let trends = formula.trends(&range, true);
            let steps = formula.steps().iter().zip(trends);
            let named = steps.filter(|(step, _)| matches!(step.operation, Operation::Name(_)));
            let found: Vec<Trend> = named.map(|(_, trend)| trend).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
