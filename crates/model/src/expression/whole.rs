//! Numbers of calls in a formula, rounded up to whole ones.

use super::{Expression, Function, Interval, OPERANDS, Operation, Step, Value};
use hemiola_quantity::Quantity;

/// An operand: its steps, the same with whole factors, its range, and whether an operation is in it.
struct Operand {
    own: Vec<Step>,
    whole: Vec<Step>,
    range: Interval,
    is_called: bool,
}

impl Expression {
    /// The next whole number.
    pub(crate) fn rounded_up(mut self) -> Self {
        let at = 0..self.text.len();
        self.steps.push(Step {
            operation: Operation::Apply(Function::Ceiling),
            at,
            is_amount: false,
        });
        self
    }

    /// The formula with each factor of an operation rounded up, unless it is whole; `None` if all are.
    /// Subtracted operands stay as they are, so that no result is less.
    pub(crate) fn with_whole_factors(
        &self,
        is_operation: &dyn Fn(&str) -> bool,
        range: &dyn Fn(&str) -> Interval,
        is_whole: &dyn Fn(Interval) -> bool,
    ) -> Option<Self> {
        let mut stack: Vec<Operand> = Vec::new();
        for step in &self.steps {
            let leaf = |range, is_called| {
                let own = vec![step.clone()];
                Operand { whole: own.clone(), own, range, is_called }
            };
            let operand = match &step.operation {
                Operation::Constant(constant) => leaf(Interval::constant(constant.value), false),
                Operation::Phase => leaf(Interval { low: 0.0, high: 1.0 }, false),
                Operation::Name(name) => leaf(range(name), is_operation(name)),
                Operation::Apply(function) if function.is_binary() => {
                    let b = stack.pop().expect(OPERANDS);
                    let a = stack.pop().expect(OPERANDS);
                    binary(*function, step, a, b, is_whole)
                }
                Operation::Apply(function) => {
                    let Operand { mut own, mut whole, range, is_called } =
                        stack.pop().expect(OPERANDS);
                    if *function == Function::Negate {
                        whole.clone_from(&own);
                    }
                    own.push(step.clone());
                    whole.push(step.clone());
                    let range = Interval::apply(*function, &range, &range);
                    Operand { own, whole, range, is_called }
                }
            };
            stack.push(operand);
        }
        let steps = stack.pop().expect(OPERANDS).whole;
        (steps != self.steps).then(|| Self { text: self.text.clone(), steps })
    }
}

/// The result of a function of two operands.
fn binary(
    function: Function,
    step: &Step,
    a: Operand,
    b: Operand,
    is_whole: &dyn Fn(Interval) -> bool,
) -> Operand {
    let range = Interval::apply(function, &a.range, &b.range);
    let is_called = a.is_called || b.is_called;
    let own = [&a.own[..], &b.own, std::slice::from_ref(step)].concat();
    let apply = |function| Step { operation: Operation::Apply(function), ..step.clone() };
    let rounded = |factor: &Operand| [&factor.own[..], &[apply(Function::Ceiling)]].concat();
    let one = Interval::constant(1.0);
    let whole = match function {
        Function::Multiply if a.is_called && !b.is_called && !is_whole(b.range) => {
            [a.whole, rounded(&b), vec![step.clone()]].concat()
        }
        Function::Multiply if b.is_called && !a.is_called && !is_whole(a.range) => {
            [rounded(&a), b.whole, vec![step.clone()]].concat()
        }
        Function::Divide
            if a.is_called
                && !b.is_called
                && !is_whole(Interval::apply(function, &one, &b.range)) =>
        {
            let one =
                Step { operation: Operation::Constant(Quantity::number(1.0)), ..step.clone() };
            let quotient =
                [vec![one], b.own, vec![step.clone(), apply(Function::Ceiling)]].concat();
            [a.whole, quotient, vec![apply(Function::Multiply)]].concat()
        }
        Function::Subtract | Function::Divide => [a.whole, b.own, vec![step.clone()]].concat(),
        _ => [a.whole, b.whole, vec![step.clone()]].concat(),
    };
    Operand { own, whole, range, is_called }
}
