//! How long execution times may become before a test says no: sensitivity, by bisection.

use hemiola_units::Span;

use crate::response_time::Set;

/// Factors are found to a millionth.
const FACTOR_PARTS: i128 = 1_000_000;

/// How long execution times may become; periods, blocking, jitter and the cost of a switch stay as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// For each task the longest execution time with which every deadline is still kept, to the nanosecond, all
    /// others as they are: less than its own where the set fails. Nothing where the set fails even without it.
    pub each: Vec<Option<Span>>,
    /// The greatest factor that all execution times together may be multiplied with, to a millionth below: less than
    /// 1 where the set fails. Nothing where blocking and switches alone break it, or no task computes.
    pub together: Option<f64>,
}

/// How long execution times may become while `holds` holds, which must not begin to hold again when one grows.
#[must_use]
pub fn tolerance(set: &Set, holds: impl Fn(&Set) -> bool) -> Tolerance {
    let executions = || set.tasks().iter().map(|task| task.execution);
    // No job ends in time that computes beyond its deadline.
    let each = |index: usize| {
        let with = |nanos: i128| {
            let one = |(at, own)| if at == index { Span::from_nanos(nanos as i64) } else { own };
            holds(&set.with_executions(executions().enumerate().map(one)))
        };
        let longest = greatest(i128::from(set.tasks()[index].deadline.nanos()), with)?;
        Some(Span::from_nanos(longest as i64))
    };
    let scaled = |parts: i128| {
        // Rounded up: the factor is safe to the nanosecond.
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

/// The greatest number up to `high` for which `holds` holds; nothing when it does not for 0.
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
