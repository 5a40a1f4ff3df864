//! What a formula must not exceed: the rest of a share, `1 - x` as a factor or a divisor, and the load of a queue.
//!
//! As a factor, x is a share, such as a hit ratio; as a divisor, x is the load of a queue. A negative rest has no
//! meaning in either place, although the formula still has a value.

use std::ops::Range;

use super::{Expression, Function, Operation};

/// One `1 - x` of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// The step that computes it.
    pub(crate) step: usize,
    /// Its place in the text.
    pub(crate) at: Range<usize>,
    /// Whether something is divided by it.
    pub(crate) divides: bool,
}

/// One queue of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Its place in the text.
    pub(crate) at: Range<usize>,
    /// The step that computes rate times service time.
    pub(crate) load: usize,
    /// The step that computes the number of servers.
    pub(crate) servers: usize,
}

impl Expression {
    /// Every queue.
    pub(crate) fn queues(&self) -> Vec<Queue> {
        let mut stack: Vec<usize> = Vec::new();
        let mut queues = Vec::new();
        for (step, entry) in self.steps().iter().enumerate() {
            if let Operation::Apply(function) = &entry.operation {
                let b = stack.pop().expect(super::OPERANDS);
                let a = if function.is_binary() { stack.pop().expect(super::OPERANDS) } else { b };
                if *function == Function::Wait {
                    queues.push(Queue { at: entry.at.clone(), load: a, servers: b });
                }
            }
            stack.push(step);
        }
        queues
    }

    /// Every rest of a share.
    pub(crate) fn rests(&self) -> Vec<Rest> {
        let steps = self.steps();
        let one = |step: usize| matches!(&steps[step].operation, Operation::Constant(one) if one.value == 1.0);
        // For each operand, its step, and whether it is `1 - x`.
        let mut stack: Vec<(usize, bool)> = Vec::new();
        let mut rests = Vec::new();
        for (step, entry) in steps.iter().enumerate() {
            let Operation::Apply(function) = &entry.operation else {
                stack.push((step, false));
                continue;
            };
            let b = stack.pop().expect(super::OPERANDS);
            let a = if function.is_binary() { stack.pop().expect(super::OPERANDS) } else { b };
            let divides = *function == Function::Divide;
            if matches!(function, Function::Multiply | Function::Divide) {
                let operands =
                    [(a, false), (b, divides)].into_iter().filter(|((_, is_rest), _)| *is_rest);
                rests.extend(operands.map(|((step, _), divides)| Rest {
                    step,
                    at: steps[step].at.clone(),
                    divides,
                }));
            }
            stack.push((step, *function == Function::Subtract && one(a.0)));
        }
        rests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rests(text: &str) -> Vec<(&str, bool)> {
        let formula = Expression::parse(text).unwrap();
        formula.rests().into_iter().map(|rest| (&text[rest.at], rest.divides)).collect()
    }

    #[test]
    fn the_rest_of_a_share_is_found_as_factor_and_as_divisor() {
        assert_eq!(rests("a / (1 - r * a)"), [("1 - r * a", true)]);
        assert_eq!(rests("h * a + (1 - h) * b"), [("1 - h", false)]);
        assert_eq!(rests("b * (1 - h)"), [("1 - h", false)]);
        assert_eq!(rests("max(0, 1 - h) * b + 1 - h"), []);
    }
}
