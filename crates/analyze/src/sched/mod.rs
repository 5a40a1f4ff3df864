//! What a recording of the scheduler comes to: for each thread C, T, U, response times, and who delayed whom.
//!
//! * [`report`]: the types of a [`Report`], the same words as the JSON of `hemiola analyze --json`.
//! * [`accounting`]: the second method, `/proc` beside the recording.
//! * [`mod@compare`]: two recordings side by side.

pub mod accounting;
pub mod compare;
pub mod report;

use hemiola_units::Span;

pub use report::{
    Blocking, CpuReport, Culprit, Delay, DelayKind, Distribution, Gap, Interference, Job, Miss,
    PeriodFrom, Report, TaskReport, ThreadReport, Waker,
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
    /// Periods of threads and tasks, which are also their deadlines; the others' are found.
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
