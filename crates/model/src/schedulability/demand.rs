//! Earliest deadline first: whether the work that is due in an interval ever exceeds the interval.
//!
//! Exact for tasks without blocking (Baruah, Rosier and Howell, "Algorithms and Complexity Concerning the Preemptive
//! Scheduling of Periodic, Real-Time Tasks on One Processor", 1990; release jitter as Spuri, "Analysis of Deadline
//! Scheduled Real-Time Systems", 1996, has it): with dᵢ = Dᵢ − Jᵢ,
//!
//! ```text
//! g(t) = max {Bᵢ : dᵢ ≤ t} + Σ (⌊(t − dᵢ) / Tᵢ⌋ + 1)·Cᵢ ≤ t         over all i of dᵢ ≤ t, for every t
//! ```
//!
//! With blocking it is safe where a job is held up at most once, as under the stack resource policy (Baker, 1991).
//! Utilisation alone decides where no deadline is before its period and nothing blocks; it then says the same.
//!
//! g never falls, so nothing between g(t) and t can exceed when g(t) does not: from the end of the longest busy
//! period the test leaps downwards (Zhang and Burns, "Schedulability Analysis for Real-Time Systems with EDF
//! Scheduling", 2009).

use hemiola_units::Span;

use super::Answer;
use crate::response_time::{LOOKS_MAX, Set, unrounded};

/// What the test found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Yes or no; open only where the processor is all but fully used.
    pub answer: Answer,
    /// The interval in which more is due than fits, when there is one that a table can hold.
    pub exceeded: Option<Exceeded>,
}

/// An interval in which more is due than fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Its length, from a moment at which all tasks are released.
    pub within: Span,
    /// The work that is due in it.
    pub due: Span,
}

/// Puts the processor-demand test to a set, whatever its order.
#[must_use]
pub fn of(set: &Set) -> Demand {
    const NO: Demand = Demand { answer: Answer::No, exceeded: None };
    let curve = Curve::of(set);
    let Some(first) = curve.lines.iter().map(|line| line.first).min() else {
        return Demand { answer: Answer::Yes, exceeded: None };
    };
    // More in the long run than there is; at U = 1 the busy period decides.
    if set.utilisation() > 1.0 + 1e-12 {
        return NO;
    }
    if curve.lines.iter().any(|line| line.first <= 0 && line.work > 0) {
        return NO;
    }
    let open = Demand { answer: Answer::Open, exceeded: None };
    let Some(end) = curve.end(set.utilisation()) else { return open };
    let mut at = end;
    for _ in 0..curve.leaps_max() {
        if at < first {
            return Demand { answer: Answer::Yes, exceeded: None };
        }
        let due = curve.due(at);
        if due > at {
            let span = |nanos: i128| Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
            let exceeded = Some(Exceeded { within: span(at), due: span(due) });
            return Demand { answer: Answer::No, exceeded };
        }
        at = if due < at { due } else { curve.deadline_before(at).unwrap_or(0) };
    }
    open
}

/// g, in nanoseconds.
struct Curve {
    lines: Vec<Line>,
}

/// What one task adds to it.
struct Line {
    work: i128,
    period: i128,
    jitter: i128,
    blocking: i128,
    /// The earliest deadline, seen from a release that is as late as it may be.
    first: i128,
}

impl Curve {
    fn of(set: &Set) -> Self {
        let nanos = |span: Span| i128::from(span.nanos());
        let line = |task| Line {
            work: set.work(task),
            period: nanos(task.period),
            jitter: nanos(task.jitter),
            blocking: nanos(task.blocking),
            first: nanos(task.deadline) - nanos(task.jitter),
        };
        Self { lines: set.tasks().iter().map(line).collect() }
    }

    /// More leaps than this are needed only where the processor is all but fully used: no answer is then given.
    fn leaps_max(&self) -> usize {
        LOOKS_MAX / self.lines.len().max(1)
    }

    fn due(&self, at: i128) -> i128 {
        let within = || self.lines.iter().filter(|line| line.first <= at);
        let jobs = |line: &Line| (at - line.first) / line.period + 1;
        within().map(|line| line.blocking).max().unwrap_or(0)
            + within().map(|line| jobs(line) * line.work).sum::<i128>()
    }

    fn deadline_before(&self, at: i128) -> Option<i128> {
        let before = |line: &Line| {
            let jobs = (at - 1 - line.first) / line.period;
            (line.first < at).then(|| line.first + jobs * line.period)
        };
        self.lines.iter().filter_map(before).max()
    }

    /// Behind this nothing can exceed any more: the end of the longest busy period, or where the straight line above
    /// g meets t, whichever is found and earlier.
    fn end(&self, utilisation: f64) -> Option<i128> {
        let blocking = self.lines.iter().map(|line| line.blocking).max().unwrap_or(0);
        let spare = 1.0 - utilisation;
        let line = (spare > 1e-9).then(|| {
            let ahead = |line: &Line| {
                (line.period - line.first) as f64 * line.work as f64 / line.period as f64
            };
            let meets =
                (blocking as f64 + self.lines.iter().map(ahead).sum::<f64>()).max(0.0) / spare;
            // The line is above g only behind the earliest deadlines.
            let from = self.lines.iter().map(|line| line.first - line.period).max().unwrap_or(0);
            from.max((meets * (1.0 + 1e-6)) as i128 + 1)
        });
        let late = |line: &Line| line.work as f64 / line.period as f64 * line.jitter as f64;
        let late = blocking as f64 + self.lines.iter().map(late).sum::<f64>();
        let released = blocking + self.lines.iter().map(|line| line.work).sum::<i128>();
        let mut busy = released.max(unrounded(late, spare));
        for _ in 0..self.leaps_max() {
            let jobs = |line: &Line| (busy + line.jitter + line.period - 1) / line.period;
            let next =
                blocking + self.lines.iter().map(|line| jobs(line) * line.work).sum::<i128>();
            if next == busy {
                return Some(line.map_or(busy, |line| line.min(busy)));
            }
            busy = next;
            if line.is_some_and(|line| busy > line) {
                break;
            }
        }
        line
    }
}
