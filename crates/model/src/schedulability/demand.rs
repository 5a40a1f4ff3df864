//! The processor-demand test for earliest deadline first: whether the work due in an interval can exceed it.
//!
//! Exact for tasks without blocking (Baruah, Rosier and Howell, "Algorithms and Complexity Concerning the Preemptive
//! Scheduling of Periodic, Real-Time Tasks on One Processor", 1990; release jitter as in Spuri, "Analysis of Deadline
//! Scheduled Real-Time Systems", 1996): with dᵢ = Dᵢ − Jᵢ,
//!
//! ```text
//! g(t) = max {Bᵢ : dᵢ ≤ t} + Σ (⌊(t − dᵢ) / Tᵢ⌋ + 1)·Cᵢ ≤ t         over all i of dᵢ ≤ t, for every t
//! ```
//!
//! With blocking it is safe if a job is blocked at most once, as under the stack resource policy (Baker, 1991). Without
//! blocking and deadlines before the period, utilization alone decides, and the test agrees.
//!
//! g is monotone, so if g(t) does not exceed t, nothing between g(t) and t can. Starting from the end of the longest
//! busy period, the test leaps downwards (Zhang and Burns, "Schedulability Analysis for Real-Time Systems with EDF
//! Scheduling", 2009).

use hemiola_units::Span;

use super::Answer;
use crate::response_time::{TaskSet, VISITS_MAX, unrounded};

/// The result of the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Yes or no; open only if the processor is almost fully used.
    pub answer: Answer,
    /// The interval with too much work due, if there is one of representable length.
    pub exceeded: Option<Exceeded>,
}

/// An interval with more work due than its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Its length, from a simultaneous release of all tasks.
    pub within: Span,
    /// The work due in it.
    pub due: Span,
}

/// Applies the processor-demand test to a set; its priority order is ignored.
#[must_use]
pub fn of(set: &TaskSet) -> Demand {
    const NO: Demand = Demand { answer: Answer::No, exceeded: None };
    let curve = Curve::of(set);
    let Some(first) = curve.lines.iter().map(|line| line.first).min() else {
        return Demand { answer: Answer::Yes, exceeded: None };
    };
    // Overloaded in the long run; at U = 1 the busy period decides.
    if set.utilization() > 1.0 + 1e-12 {
        return NO;
    }
    if curve.lines.iter().any(|line| line.first <= 0 && line.work > 0) {
        return NO;
    }
    let open = Demand { answer: Answer::Open, exceeded: None };
    let Some(end) = curve.end(set.utilization()) else { return open };
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
    lines: Vec<TaskDemand>,
}

/// The contribution of one task to g.
struct TaskDemand {
    work: i128,
    period: i128,
    jitter: i128,
    blocking: i128,
    /// The earliest deadline, relative to the latest possible release.
    first: i128,
}

impl Curve {
    fn of(set: &TaskSet) -> Self {
        let nanos = |span: Span| i128::from(span.nanos());
        let line = |task| TaskDemand {
            work: set.work(task),
            period: nanos(task.period),
            jitter: nanos(task.jitter),
            blocking: nanos(task.blocking),
            first: nanos(task.deadline) - nanos(task.jitter),
        };
        Self { lines: set.tasks().iter().map(line).collect() }
    }

    /// More leaps are needed only if the processor is almost fully used; then the answer is open.
    fn leaps_max(&self) -> usize {
        VISITS_MAX / self.lines.len().max(1)
    }

    fn due(&self, at: i128) -> i128 {
        let within = || self.lines.iter().filter(|line| line.first <= at);
        let jobs = |line: &TaskDemand| (at - line.first) / line.period + 1;
        within().map(|line| line.blocking).max().unwrap_or(0)
            + within().map(|line| jobs(line) * line.work).sum::<i128>()
    }

    fn deadline_before(&self, at: i128) -> Option<i128> {
        let before = |line: &TaskDemand| {
            let jobs = (at - 1 - line.first) / line.period;
            (line.first < at).then(|| line.first + jobs * line.period)
        };
        self.lines.iter().filter_map(before).max()
    }

    /// The end of the range in which demand can exceed: the end of the longest busy period, or the point where the
    /// linear upper bound of g meets t, whichever is found and earlier.
    fn end(&self, utilization: f64) -> Option<i128> {
        let blocking = self.lines.iter().map(|line| line.blocking).max().unwrap_or(0);
        let spare = 1.0 - utilization;
        let line = (spare > 1e-9).then(|| {
            let ahead = |line: &TaskDemand| {
                (line.period - line.first) as f64 * line.work as f64 / line.period as f64
            };
            let meets =
                (blocking as f64 + self.lines.iter().map(ahead).sum::<f64>()).max(0.0) / spare;
            // The linear bound holds only after the earliest deadlines.
            let from = self.lines.iter().map(|line| line.first - line.period).max().unwrap_or(0);
            from.max((meets * (1.0 + 1e-6)) as i128 + 1)
        });
        let late = |line: &TaskDemand| line.work as f64 / line.period as f64 * line.jitter as f64;
        let late = blocking as f64 + self.lines.iter().map(late).sum::<f64>();
        let released = blocking + self.lines.iter().map(|line| line.work).sum::<i128>();
        let mut busy = released.max(unrounded(late, spare));
        for _ in 0..self.leaps_max() {
            let jobs = |line: &TaskDemand| (busy + line.jitter + line.period - 1) / line.period;
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
