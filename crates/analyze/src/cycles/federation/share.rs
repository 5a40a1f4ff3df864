//! The turns in which the RTI worked, and its share of any time range.

use hemiola_trace::sched::Tid;
use hemiola_units::{Instant, Span};

use crate::cycles::jobs::{Process, jobs};
use crate::cycles::occupancy::Occupancy;

/// A turn of the RTI's loop that did work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// When it began.
    pub(super) from: Instant,
    /// When it ended.
    pub(super) to: Instant,
    /// How long the RTI worked in all previous turns.
    before: Span,
}

/// The turns of the RTI in their order, without the time that other threads had its processor by the kernel's record.
#[derive(Debug, Default)]
pub(super) struct Turns<'w> {
    turns: Vec<Turn>,
    kernel: Option<(&'w Occupancy, Tid)>,
}

impl<'w> Turns<'w> {
    /// The turns that `rti` recorded. `kernel` gives the occupancy of the processors and the RTI's thread, if known.
    pub(super) fn of(rti: Option<&Process>, kernel: Option<(&'w Occupancy, Tid)>) -> Self {
        let mut all = Self { turns: Vec::new(), kernel };
        let mut before = Span::ZERO;
        let mut last = Instant::ZERO;
        for (job, _) in rti.map(|rti| jobs(0, rti)).unwrap_or_default() {
            let Some(end) = job.end else { continue };
            // Turns of one thread do not overlap, even if a damaged record says so.
            let (from, to) = (job.start.max(last), end.finish.max(last));
            last = to.max(from);
            all.turns.push(Turn { from, to: last, before });
            before += all.worked(from, last);
        }
        all
    }

    /// How long the RTI worked between two moments of one turn.
    fn worked(&self, from: Instant, to: Instant) -> Span {
        let known = self.kernel.and_then(|(occupancy, rti)| occupancy.had(rti, from, to));
        known.unwrap_or(to - from)
    }

    /// How long it worked before `at`.
    fn until(&self, at: Instant) -> Span {
        let after = self.turns.partition_point(|turn| turn.from < at);
        let Some(turn) = after.checked_sub(1).map(|index| self.turns[index]) else {
            return Span::ZERO;
        };
        turn.before + self.worked(turn.from, turn.to.min(at))
    }

    /// How long it worked between two moments; `None` if no turn was recorded.
    pub(super) fn share(&self, from: Instant, to: Instant) -> Option<Span> {
        (!self.turns.is_empty()).then(|| self.until(to) - self.until(from))
    }

    /// The last turn that began between two moments, up to the second of them.
    pub(super) fn last_within(&self, from: Instant, to: Instant) -> Option<Turn> {
        let began = self.turns.partition_point(|turn| turn.from <= to);
        let last = began.checked_sub(1).map(|index| self.turns[index])?;
        (last.from >= from).then(|| Turn { to: last.to.min(to), ..last })
    }
}
