//! A stretch of time in figures: how long each thread ran and waited in it, and its jobs there. As in the figures of
//! [`crate::sched`], the time of interrupts is not that of the thread they interrupt.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::jobs::{Job, List};
use super::{State, Timeline, Totals};

/// A thread in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InRange {
    /// Its row.
    pub row: usize,
    /// How long it stood in which state; interrupts are no part of it.
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
    let interrupted = interrupted(timeline, from, to);
    let of = |row: usize| {
        let totals = timeline.rows[row].track.totals_between(from, to);
        let interrupted = interrupted.get(&row).copied().unwrap_or(0);
        InRange { row, totals: totals.less(interrupted) }
    };
    let is_there = |thread: &InRange| thread.totals.all().iter().any(|ns| *ns > 0);
    let mut all: Vec<InRange> = timeline.thread_rows().map(of).filter(is_there).collect();
    all.sort_by_key(|thread| (Reverse(thread.totals.all()), thread.row));
    all
}

/// How long interrupts took of the time of each row in which a thread ran, between two moments, ns.
#[must_use]
pub fn interrupted(timeline: &Timeline, from: u64, to: u64) -> BTreeMap<usize, u64> {
    let mut found = BTreeMap::new();
    let (processors, interrupts) = timeline.rows[..timeline.threads].split_at(timeline.threads / 2);
    for (processor, interrupts) in processors.iter().zip(interrupts) {
        let served = interrupts.track.between(from, to).filter(|of| of.state == State::Running);
        let mut runs = None;
        for served in served {
            // Both are by time, so each is gone through once.
            let runs = runs.get_or_insert_with(|| processor.track.between(from, to).peekable());
            while let Some(run) = runs.peek() {
                let both = run.to.min(served.to).saturating_sub(run.from.max(served.from));
                if both > 0 && run.state == State::Running {
                    *found.entry(run.key as usize).or_default() += both;
                }
                if run.to > served.to {
                    break;
                }
                runs.next();
            }
        }
    }
    found
}

/// The processor time of a job from its start to its end without that of interrupts, ns.
fn execution(timeline: &Timeline, row: usize, job: &Job, has_interrupts: bool) -> u64 {
    let from = job.start;
    let running = timeline.rows[row].track.totals_between(from, job.finish).of(State::Running);
    match has_interrupts {
        true => running.saturating_sub(timeline.interrupted(row, from, job.finish)),
        false => running,
    }
}

/// The jobs of a row between two moments, ns. `all` are the jobs of the row.
#[must_use]
pub fn jobs(timeline: &Timeline, row: usize, all: &List, from: u64, to: u64) -> JobsInRange {
    let released = all.between(from, to).map(|(_, job)| job).filter(|job| job.release >= from);
    let has_interrupts = timeline.has_interrupts();
    let busy = &timeline.rows[row].busy;
    let mut found = JobsInRange::default();
    for job in released.filter(|job| job.whole && job.finish <= to) {
        if let Some(several) = busy.several(job.release).filter(|_| job.track.is_none()) {
            found.count += several.jobs;
            found.execution_ns += several.execution;
            found.execution_max_ns = found.execution_max_ns.max(several.execution_max);
            continue;
        }
        let execution = execution(timeline, row, &job, has_interrupts);
        found.count += 1;
        found.execution_ns += execution;
        found.execution_max_ns = found.execution_max_ns.max(execution);
    }
    found
}
