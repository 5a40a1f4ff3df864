//! Numbers of calls in a formula as whole ones.

use super::{Expression, Function, Interval, OPERANDS, Operation, Step, Trend, Value};
use hemiola_quantity::Quantity;

/// A formula with whole numbers of calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WholeCalls {
    /// The formula with each number rounded so that the value is not less.
    pub(crate) formula: Expression,
    /// Whether it is known for each number how to round it for that.
    pub(crate) is_greatest: bool,
}

/// An operand: its step in the formula, its steps as they are and with whole factors, its range, and whether an
/// operation is in it.
struct Operand {
    root: usize,
    own: Vec<Step>,
    whole: Vec<Step>,
    range: Interval,
    is_called: bool,
}

/// How factors are made whole.
struct Rounding<'r> {
    trends: Vec<Trend>,
    is_whole: &'r dyn Fn(Interval) -> bool,
    is_greatest: bool,
}

/// The function that rounds a number with which a value moves so, if there is one for which the value is not less.
fn rounding(trend: Trend) -> Option<Function> {
    match trend {
        Trend::Up => Some(Function::Ceiling),
        Trend::Down => Some(Function::Floor),
        Trend::Either => None,
    }
}

impl Expression {
    /// The next whole number: of calls with which a value moves so.
    pub(crate) fn with_whole_result(mut self, trend: Trend) -> WholeCalls {
        let (found, at) = (rounding(trend), 0..self.text.len());
        let operation = Operation::Apply(found.unwrap_or(Function::Ceiling));
        self.steps.push(Step { operation, at, is_amount: false });
        WholeCalls { formula: self, is_greatest: found.is_some() }
    }

    /// The formula with each factor of an operation rounded, unless it is whole; `None` if all are. A value moves with
    /// the step of each index in the direction `trends`.
    pub(crate) fn with_whole_factors(
        &self,
        trends: Vec<Trend>,
        is_operation: &dyn Fn(&str) -> bool,
        range: &dyn Fn(&str) -> Interval,
        is_whole: &dyn Fn(Interval) -> bool,
    ) -> Option<WholeCalls> {
        let mut rounding = Rounding { trends, is_whole, is_greatest: true };
        let mut stack: Vec<Operand> = Vec::new();
        for (root, step) in self.steps.iter().enumerate() {
            let leaf = |range, is_called| {
                let own = vec![step.clone()];
                Operand { root, whole: own.clone(), own, range, is_called }
            };
            let operand = match &step.operation {
                Operation::Constant(constant) => leaf(Interval::constant(constant.value), false),
                Operation::Phase => leaf(Interval { low: 0.0, high: 1.0 }, false),
                Operation::Name(name) => leaf(range(name), is_operation(name)),
                Operation::Apply(function) if function.is_binary() => {
                    let b = stack.pop().expect(OPERANDS);
                    let a = stack.pop().expect(OPERANDS);
                    rounding.binary(*function, (root, step), a, b)
                }
                Operation::Apply(function) => {
                    let mut operand = stack.pop().expect(OPERANDS);
                    operand.own.push(step.clone());
                    operand.whole.push(step.clone());
                    let range = Interval::apply(*function, &operand.range, &operand.range);
                    Operand { root, range, ..operand }
                }
            };
            stack.push(operand);
        }
        let steps = stack.pop().expect(OPERANDS).whole;
        let is_greatest = rounding.is_greatest;
        (steps != self.steps).then(|| {
            let formula = Self { text: self.text.clone(), steps };
            WholeCalls { formula, is_greatest }
        })
    }
}

impl Rounding<'_> {
    /// The rounded factor of these steps, with which a value moves so.
    fn rounded(&mut self, factor: Vec<Step>, trend: Trend, like: &Step) -> Vec<Step> {
        let found = rounding(trend);
        self.is_greatest &= found.is_some();
        let operation = Operation::Apply(found.unwrap_or(Function::Ceiling));
        [factor, vec![Step { operation, ..like.clone() }]].concat()
    }

    /// The result of a function of two operands.
    fn binary(
        &mut self,
        function: Function,
        (root, step): (usize, &Step),
        a: Operand,
        b: Operand,
    ) -> Operand {
        let range = Interval::apply(function, &a.range, &b.range);
        let is_called = a.is_called || b.is_called;
        let own = [&a.own[..], &b.own, std::slice::from_ref(step)].concat();
        let one = Interval::constant(1.0);
        let is_factor = |called: &Operand, factor: &Operand, range: Interval| {
            called.is_called && !factor.is_called && !(self.is_whole)(range)
        };
        let whole = match function {
            Function::Multiply if is_factor(&a, &b, b.range) => {
                let factor = self.rounded(b.own, self.trends[b.root], step);
                [a.whole, factor, vec![step.clone()]].concat()
            }
            Function::Multiply if is_factor(&b, &a, a.range) => {
                let factor = self.rounded(a.own, self.trends[a.root], step);
                [factor, b.whole, vec![step.clone()]].concat()
            }
            Function::Divide if is_factor(&a, &b, Interval::apply(function, &one, &b.range)) => {
                let number = Operation::Constant(Quantity::number(1.0));
                let one = Step { operation: number, ..step.clone() };
                let times =
                    Step { operation: Operation::Apply(Function::Multiply), ..step.clone() };
                let share = [vec![one], b.own, vec![step.clone()]].concat();
                let by_share = Trend::Down.of(self.trends[b.root]);
                let factor = self.rounded(share, by_share, step);
                [a.whole, factor, vec![times]].concat()
            }
            _ => [a.whole, b.whole, vec![step.clone()]].concat(),
        };
        Operand { root, own, whole, range, is_called }
    }
}
