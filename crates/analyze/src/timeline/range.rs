//! A stretch of time in figures: how long each thread ran and waited in it, and its jobs there.

use std::cmp::Reverse;

use super::jobs::List;
use super::{State, Timeline, Totals};

/// A thread in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InRange {
    /// Its row.
    pub row: usize,
    /// How long it stood in which state.
    pub totals: Totals,
}

/// Jobs that were released and done in a stretch, and of which everything was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobsInRange {
    /// How many.
    pub count: u64,
    /// The processor time of all of them, ns: `count` times the mean C.
    pub execution_ns: u64,
    /// The greatest C, ns.
    pub execution_max_ns: u64,
}

/// The threads that ran or waited between two moments, ns; the busiest first.
#[must_use]
pub fn threads(timeline: &Timeline, from: u64, to: u64) -> Vec<InRange> {
    let of =
        |row: usize| InRange { row, totals: timeline.rows[row].track.totals_between(from, to) };
    let is_there = |thread: &InRange| thread.totals.all().iter().any(|ns| *ns > 0);
    let mut all: Vec<InRange> = timeline.thread_rows().map(of).filter(is_there).collect();
    all.sort_by_key(|thread| (Reverse(thread.totals.all()), thread.row));
    all
}

/// The jobs of a row between two moments, ns. `all` are the jobs of the row, by release.
#[must_use]
pub fn jobs(timeline: &Timeline, row: usize, all: &List, from: u64, to: u64) -> JobsInRange {
    let first = all.partition_point(|job| job.release < from);
    let released = all.from(first).take_while(|job| job.release < to);
    let mut found = JobsInRange::default();
    for job in released.filter(|job| job.whole && job.finish <= to) {
        let track = &timeline.rows[row].track;
        let execution = track.totals_between(job.release, job.finish).of(State::Running);
        found.count += 1;
        found.execution_ns += execution;
        found.execution_max_ns = found.execution_max_ns.max(execution);
    }
    found
}
