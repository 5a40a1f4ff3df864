//! Sensitivity analysis: how far execution times may grow before a test says no, by bisection.

use hemiola_units::Span;

use crate::response_time::TaskSet;

/// The resolution of factors: one millionth.
const FACTOR_PARTS: i128 = 1_000_000;

/// How far execution times may grow with periods, blocking, jitter and switching costs unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// For each task the longest execution time that keeps every deadline, to the nanosecond, with the others
    /// unchanged. Less than its own if the set fails; `None` if the set fails even without it.
    pub each: Vec<Option<Span>>,
    /// The greatest common factor of all execution times, rounded down to a millionth. Less than 1 if the set fails;
    /// `None` if blocking and switches alone break it, or if no task computes.
    pub together: Option<f64>,
}

/// How far execution times may grow while `holds` holds, which must be monotone in each of them.
#[must_use]
pub fn tolerance(set: &TaskSet, holds: impl Fn(&TaskSet) -> bool) -> Tolerance {
    let executions = || set.tasks().iter().map(|task| task.execution);
    // A job that computes beyond its deadline is always late.
    let each = |index: usize| {
        let with = |nanos: i128| {
            let one = |(at, own)| if at == index { Span::from_nanos(nanos as i64) } else { own };
            holds(&set.with_executions(executions().enumerate().map(one)))
        };
        let longest = greatest(i128::from(set.tasks()[index].deadline.nanos()), with)?;
        Some(Span::from_nanos(longest as i64))
    };
    let scaled = |parts: i128| {
        // Rounded up, so that the factor is safe to the nanosecond.
        let of = |own: Span| {
            Span::from_nanos(
                ((i128::from(own.nanos()) * parts + FACTOR_PARTS - 1) / FACTOR_PARTS) as i64,
            )
        };
        holds(&set.with_executions(executions().map(of)))
    };
    let ceiling = set.tasks().iter().filter(|task| task.execution.is_positive()).map(|task| {
        i128::from(task.deadline.nanos()) * FACTOR_PARTS / i128::from(task.execution.nanos())
    });
    let together = ceiling.min().and_then(|ceiling| greatest(ceiling, scaled));
    Tolerance {
        each: (0..set.tasks().len()).map(each).collect(),
        together: together.map(|parts| parts as f64 / FACTOR_PARTS as f64),
    }
}

/// The greatest number up to `high` for which `holds` holds; `None` if it does not hold for 0.
fn greatest(high: i128, holds: impl Fn(i128) -> bool) -> Option<i128> {
    if !holds(0) {
        return None;
    }
    let (mut low, mut high) = (0, high);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}
