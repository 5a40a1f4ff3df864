//! Analyses a recording of the scheduler: for each thread C, T, U, response times, and which thread delayed which.
//!
//! In reading order:
//!
//! * [`report`]: the types of a [`Report`], the same words as the JSON of `hemiola analyze --json`.
//! * [`analyze`] makes a report from a recording; [`jobs`] lists the jobs of one thread or marked task with their
//!   delays; [`report_and_jobs`] does both at once. [`explain()`] says where the time of a job went; [`median_job`] is
//!   the job to compare it with.
//! * [`figures`]: the means of a report by name, for models that are compared with them.
//! * [`mod@compare`]: two recordings side by side.
//! * [`tables`], [`csv`] and [`gantt`]: the report for a terminal and for other programs, and a stretch of time drawn
//!   in characters.
//! * [`synthetic`]: recordings whose figures are known, to test the analysis with.
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

pub mod compare;
pub mod csv;
pub mod gantt;
pub mod report;
pub mod synthetic;
pub mod tables;

mod accounting;
mod asked;
mod assemble;
pub(crate) mod blame;
pub(crate) mod cpu;
pub(crate) mod culprits;
mod engine;
mod explain;
mod figures;
pub(crate) mod follow;
mod gaps;
mod list;
mod marked;
mod marks;
mod name;
mod observed;
mod period;
pub(crate) mod tally;
mod threads;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hemiola_trace::Recording;
use hemiola_units::Span;

use crate::spill::{Outside, Spill};

pub use explain::{Explainer, explain, median_job};
pub use figures::{RecordedFigure, figures};
pub use hemiola_trace::sched::Reservation;
pub use list::List;
pub use name::Name;
pub use report::{
    Accounting, Behind, Blocking, CpuReport, Culprit, Delay, DelayKind, Distribution, ExactValues,
    Gap, HeldUp, Interference, Job, MarkKind, MarkReport, MarkedText, MarkedValues, Miss,
    PeriodFrom, Report, TaskReport, ThreadReport, Waker,
};

/// How many missed deadlines a [`Report`] explains; all are counted.
pub const MISSES_MAX: usize = 1000;

/// The most texts of one name of marks that a report lists.
pub const TEXTS_MAX: usize = 32;

/// The maximum number of culprits kept for one thread over the whole recording.
pub const CULPRITS_MAX: usize = 48;

/// The maximum number of culprits kept for one job.
pub const DELAYS_MAX: usize = 24;

/// The maximum number of gaps. Beyond it, the closest gaps of a processor are merged.
pub const GAPS_MAX: usize = 4096;

/// Facts about threads that the caller knows beyond their events, and how much to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Periods of threads and tasks; the first match counts. Other periods are found in the events. A thread's period
    /// is also its deadline, and so is that of a marked task that marks no deadline.
    pub periods: Vec<(Who, Span)>,
    /// Whether execution, latency and response keep the counts of all observations.
    pub observations: bool,
}

/// A thread or a marked task, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// By its name; every thread and task of that name.
    Name(String),
    /// By its number.
    Tid(u32),
}

/// Which jobs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The thread or task.
    pub of: Of,
    /// Jobs that overlap the time from here …
    pub from_ns: u64,
    /// … to here.
    pub to_ns: u64,
    /// The maximum number of jobs; the first ones are kept.
    pub max: usize,
}

/// The thread or task whose jobs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The invocations of every thread that had this number.
    Thread(u32),
    /// The jobs marked in the track of this index.
    Track(usize),
}

/// Analyses a recording in one pass over its events, or in two if it has gaps or a period was found late.
///
/// Memory grows with the number of threads and processors, not with the length.
#[must_use]
pub fn analyze(recording: &Recording, options: &Options) -> Report {
    whole(recording, options, None)
}

/// As [`analyze`], for a recording of any length with any number of threads: most of what was observed of them is
/// outside the memory of the process.
#[must_use]
pub fn analyze_spilling(recording: &Recording, options: &Options, spill: Arc<dyn Spill>) -> Report {
    whole(recording, options, Some(Outside::new(spill)))
}

fn whole(recording: &Recording, options: &Options, outside: Option<Outside>) -> Report {
    let pass = engine::Pass { recording, options, wanted: None, until: u64::MAX, outside };
    assemble::report(&mut pass.run(None))
}

/// The results of a walk for what followed it.
pub(crate) struct Walk {
    pub(crate) report: Report,
    /// How many events of the kernel there are, and the time of the first, ns.
    pub(crate) events: Option<(u64, u64)>,
    /// By their indices.
    pub(crate) threads: Vec<Seen>,
    /// The thread of each track, and the deadline that the caller gave for its jobs, ns.
    pub(crate) tasks: Vec<(Option<usize>, Option<u64>)>,
    /// The thread of each track of events of other programs.
    pub(crate) event_threads: Vec<Option<usize>>,
}

/// A thread of a walk.
pub(crate) struct Seen {
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// D, where the caller or a reservation states it.
    pub(crate) deadline_ns: Option<u64>,
    /// The release of its start-up, if that is a job.
    pub(crate) startup_ns: Option<u64>,
}

/// With more threads, the counts for their figures (5 KB of each) and the segments that a follower keeps are not in
/// memory at the same time, if there is room outside.
const THREADS_AT_ONCE: usize = 8192;

/// Goes through a recording up to `until`, ns, or to its end, and lets another one follow.
pub(crate) fn walk(
    recording: &Recording,
    options: &Options,
    until: Option<u64>,
    outside: Option<Outside>,
    follower: &mut dyn follow::Follow,
) -> Walk {
    let until = until.unwrap_or(u64::MAX);
    let pass = engine::Pass { recording, options, wanted: None, until, outside };
    if pass.outside.is_none() || recording.threads.len() <= THREADS_AT_ONCE {
        assemble::walk(pass.run(Some(follower)))
    } else {
        figures_then_follower(pass, follower)
    }
}

/// Makes the figures, and frees what they took before the follower hears anything.
fn figures_then_follower(pass: engine::Pass<'_>, follower: &mut dyn follow::Follow) -> Walk {
    let engine = pass.clone().run(None);
    let known = engine.known();
    let walk = assemble::walk(engine);
    pass.outside.iter().for_each(Outside::tighten);
    pass.follow(known, follower);
    walk
}

/// The report of [`analyze`] and the jobs of [`jobs`], from the same pass over the events.
#[must_use]
pub fn report_and_jobs(
    recording: &Recording,
    options: &Options,
    wanted: &Wanted,
) -> (Report, Vec<Job>) {
    let mut engine = listing(recording, options, wanted);
    let jobs = std::mem::take(&mut engine.jobs);
    (assemble::report(&mut engine), jobs)
}

/// The jobs of one thread or marked task in order, with their delays. Goes through the whole recording.
#[must_use]
pub fn jobs(recording: &Recording, options: &Options, wanted: &Wanted) -> Vec<Job> {
    listing(recording, options, wanted).jobs
}

/// A pass over the whole recording that lists jobs.
fn listing<'r>(
    recording: &'r Recording,
    options: &'r Options,
    wanted: &'r Wanted,
) -> engine::Engine<'r> {
    let (wanted, until, outside) = (Some(wanted), u64::MAX, None);
    engine::Pass { recording, options, wanted, until, outside }.run(None)
}
