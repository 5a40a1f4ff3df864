//! What a recording of the scheduler comes to: for each thread C, T, U, response times, and who delayed whom.
//!
//! In reading order:
//!
//! * [`report`]: the types of a [`Report`], the same words as the JSON of `hemiola analyze --json`.
//! * [`analyze`] makes one of a recording, [`jobs`] the jobs of one thread or marked task, each with what held it up;
//!   [`explain()`] says in a sentence where the time of a job went, and [`median_job`] which one to compare it with.
//! * [`accounting`]: the second method, `/proc` beside the recording.
//! * [`mod@compare`]: two recordings side by side.
//! * [`tables`], [`csv`] and [`gantt`]: the report for a terminal and for other programs, and a stretch of time drawn
//!   in characters.
//! * [`synthetic`]: recordings whose figures are known, to hold the analysis against.

//!
//! ```
//! use hemiola_analyze::sched::{Options, analyze};
//! use hemiola_trace::Recording;
//! use hemiola_trace::sched::{Context, Event, Left, Tid, What};
//! use hemiola_units::Instant;
//!
//! // A thread that is woken each 10 ms and computes for 2 ms.
//! let mut events = Vec::new();
//! for n in 0..100_u64 {
//!     let mut push = |at: u64, what| events.push(Event { at: Instant::from_nanos(at), cpu: 0, what });
//!     let (at, task) = (n * 10_000_000, Tid(7));
//!     push(at, What::Wake { tid: task, waker: Tid::IDLE, context: Context::Interrupt, target: 0 });
//!     push(at + 3_000, What::Switch { prev: Tid::IDLE, left: Left::Preempted, next: task, priority: 49 });
//!     push(at + 2_003_000, What::Switch { prev: task, left: Left::Sleeping, next: Tid::IDLE, priority: 120 });
//! }
//! let report = analyze(&Recording::new(events, Vec::new(), Vec::new()), &Options::default());
//! let task = &report.threads[0];
//! assert_eq!((task.tid, task.invocations, task.period_ns), (7, 100, Some(10_000_000)));
//! assert_eq!(task.execution_ns.as_ref().unwrap().max, 2_000_000);
//! assert_eq!(task.response_ns.as_ref().unwrap().p50, 2_003_000);
//! assert!((task.utilization - 0.2).abs() < 1e-9);
//! ```

pub mod accounting;
pub mod compare;
pub mod csv;
pub mod gantt;
pub mod report;
pub mod synthetic;
pub mod tables;

mod assemble;
mod cpu;
mod engine;
mod explain;
mod gaps;
mod marks;
mod period;
mod tally;
mod threads;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use hemiola_trace::Recording;
use hemiola_units::Span;

pub use explain::{explain, median_job};
pub use report::{
    Behind, Blocking, CpuReport, Culprit, Delay, DelayKind, Distribution, Gap, Interference, Job,
    Miss, PeriodFrom, Report, TaskReport, ThreadReport, Waker,
};

/// How many missed deadlines a [`Report`] explains; all are counted.
pub const MISSES_MAX: usize = 1000;

/// How many of those who delayed one thread are kept apart over the whole recording.
pub const CULPRITS_MAX: usize = 48;

/// How many of those who delayed one job are kept apart.
pub const DELAYS_MAX: usize = 24;

/// How many gaps are kept apart; beyond, those of a processor that are nearest to each other become one.
pub const GAPS_MAX: usize = 4096;

/// What is said about threads that their events do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Periods of threads and tasks, the first that fits counts; the others' are found. A thread's is also its
    /// deadline, and so is a marked task's that marks none.
    pub periods: Vec<(Who, Span)>,
}

/// A thread or a marked task, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// By its name; every thread and task of that name.
    Name(String),
    /// By its number.
    Tid(u32),
}

/// Which jobs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Whose.
    pub of: Of,
    /// Those that touch the time from here …
    pub from_ns: u64,
    /// … to here.
    pub to_ns: u64,
    /// So many at most, the first.
    pub max: usize,
}

/// Whose jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The invocations of every thread that had this number.
    Thread(u32),
    /// The jobs marked in the track of this index.
    Track(usize),
}

/// Analyses a recording: one pass over its events, two when there are gaps in it or a period showed late.
///
/// Memory grows with the number of threads and processors, not with the length.
#[must_use]
pub fn analyze(recording: &Recording, options: &Options) -> Report {
    assemble::report(&engine::pass(recording, options, None))
}

/// The jobs of one thread or marked task, in order, each with what held it up. Goes through the whole recording.
#[must_use]
pub fn jobs(recording: &Recording, options: &Options, wanted: &Wanted) -> Vec<Job> {
    engine::pass(recording, options, Some(wanted)).jobs
}
