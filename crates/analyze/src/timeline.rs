//! The timeline: which threads ran and waited, on every processor, at any magnification.
//!
//! [`Timeline::build`] follows the walk of [`crate::sched`] over the events of a recording and keeps a [`Track`] of
//! segments for each processor and each thread, about four bytes a segment, with sums over groups of segments beside
//! them. [`Timeline::window`] then draws any time range at a cost that depends on the number of pixels and not on
//! the number of events. [`jobs`] lists the jobs of a thread, the same ones that the figures count, and applies the
//! same rules of blame to one of them (decision 0038). [`range`] sums up a stretch of time, and [`find`] searches for
//! events and marks.
//!
//! ```
//! use hemiola_analyze::timeline::{State, Timeline};
//! use hemiola_trace::Recording;
//! use hemiola_trace::sched::{Event, Left, Tid, What};
//! use hemiola_units::Instant;
//!
//! let switch = |at, prev, next| Event {
//!     at: Instant::from_nanos(at),
//!     cpu: 0,
//!     what: What::Switch { prev: Tid(prev), left: Left::Sleeping, next: Tid(next), priority: 120 },
//! };
//! let events = vec![switch(1_000, 0, 7), switch(3_000, 7, 0), switch(5_000, 0, 7)];
//! let timeline = Timeline::build(&Recording::new(events, Vec::new(), Vec::new()));
//!
//! let thread = timeline.thread_rows().next().unwrap();
//! let spans = timeline.window(1_000, 5_000, 100, thread);
//! assert_eq!((spans.len(), spans[0].x, spans[0].width), (1, 0.0, 50.0));
//! assert_eq!(timeline.rows[thread].track.totals().of(State::Running), 2_000);
//! ```
//!
//! The segments of a long recording go outside the memory, if the caller has room for them
//! ([`Timeline::spilling`], [`Spill`](crate::Spill)).
//!
//! Gaps stay visible: from the last event before a gap until their next event, a processor and the
//! threads that did not run elsewhere are [`State::Unknown`].

mod build;
mod events;
pub mod find;
pub mod jobs;
mod packed;
pub mod range;
mod sums;
mod sweep;
mod track;
mod window;

#[cfg(test)]
mod tests;

use hemiola_units::Instant;

pub use crate::sched::Gap;
use crate::sched::Job;
pub use build::ROWS_MAX;
pub use track::{Segment, State, Totals, Track};
pub use window::{PIXELS_MAX, Span};

/// The key of a segment without a subject.
pub const NOBODY: u32 = (1 << 27) - 1;

/// The key of a [`State::Ready`] segment whose wake-up came from an interrupt.
pub const INTERRUPT: u32 = NOBODY - 1;

/// The key of a [`State::Ready`] segment that begins when the thread's reservation under `SCHED_DEADLINE` is
/// replenished.
pub const RESERVATION: u32 = NOBODY - 2;

/// Everything of a recording that can be drawn.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The moment of its first event or mark.
    pub from: Instant,
    /// The moment of its last.
    pub to: Instant,
    /// Processors, then their interrupts, then threads in order of appearance, then system calls, then the slices of
    /// other programs.
    pub rows: Vec<Row>,
    /// The row of the first thread.
    pub threads: usize,
    /// The row of the first slices: those of system calls come first.
    pub slices: usize,
    /// Stretches for which the events of a processor are missing, by time.
    pub gaps: Vec<Gap>,
    /// Events of the kernel.
    pub events: u64,
    /// Of them, switches.
    pub switches: u64,
    /// Events said to be lost; gaps whose number is not known count none.
    pub lost: u64,
    /// The names that [`Mark::name`] and the keys of slices refer to.
    pub names: Vec<String>,
    /// The row of the thread of each track of marks, in the order of the recording's tracks.
    pub tracks: Vec<Option<usize>>,
    /// The numbers that programs marked, and then the counters of other programs.
    pub counters: Vec<Counter>,
}

/// A number that a program marks again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The row of the thread that it belongs to.
    pub row: Option<usize>,
    /// The names of the task or thread and of the mark, and the unit.
    pub name: String,
    /// Time, ns, and value, by time.
    pub points: Vec<(u64, f64)>,
}

/// One line of the picture.
#[derive(Clone, Debug)]
pub struct Row {
    /// The processor or thread it belongs to.
    pub subject: Subject,
    /// Its segments.
    pub track: Track,
    /// Single moments, by time.
    pub marks: Vec<Mark>,
    /// Jobs the program itself marked, by start.
    pub marked: Vec<jobs::Marked>,
    /// Where its thread went from one job to the next one without a sleep.
    pub busy: jobs::Busy,
    /// Until when after its release a job should end, ns, where the user or a reservation states it.
    pub deadline: Option<u64>,
    /// The release of its thread's start-up, ns, if that is a job: the thread has no period.
    pub startup: Option<u64>,
}

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A processor: the key of a running segment is the row of the thread.
    Processor(u16),
    /// The interrupts on that processor: the key is the interrupt's number, soft ones from 65,536.
    Interrupts(u16),
    /// A thread: the key of a running segment is the processor, that of a preempted one the row of the thread that
    /// preempted it, that of a ready one the row of the thread that woke it.
    Thread {
        /// Its number.
        tid: u32,
        /// Its process; 0 where unknown.
        pid: u32,
        /// Its name, the last it had.
        name: String,
    },
    /// The slices of a track of another program that are in so many others, or the system calls of a thread: the key
    /// of a running segment is the index of the slice's name in [`Timeline::names`]. A slice without a length is 1 ns
    /// long.
    Slices {
        /// The row below which it belongs: that of the thread, or the first one of the same track.
        below: Option<usize>,
        /// The process; 0 if it belongs to none.
        pid: u32,
        /// The name of the track, in its first row.
        name: String,
        /// In how many other slices.
        depth: u16,
    },
}

/// A moment worth showing on a thread's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, ns.
    pub at: u64,
    /// Index in [`Timeline::names`].
    pub name: u32,
}

impl Timeline {
    /// The rows of threads.
    pub fn thread_rows(&self) -> std::ops::Range<usize> {
        self.threads..self.slices
    }

    /// The rows of slices: of system calls, and of other programs.
    pub fn slice_rows(&self) -> std::ops::Range<usize> {
        self.slices..self.rows.len()
    }

    /// The row of the thread that had this number at a moment, ns; otherwise the first that has it.
    #[must_use]
    pub fn row_of(&self, tid: u32, at: u64) -> Option<usize> {
        let has = |row: &usize| self.thread_of_row(*row) == Some(tid);
        let began = |row: &usize| self.rows[*row].track.at(at).is_some();
        let known = self.thread_rows().filter(has).rfind(began);
        known.or_else(|| self.thread_rows().find(has))
    }

    /// The row of the thread that did a job of the figures.
    #[must_use]
    pub fn row_of_job(&self, job: &Job) -> Option<usize> {
        match job.track {
            Some(track) => self.tracks.get(track).copied()?,
            None => self.row_of(job.tid, job.finish_ns),
        }
    }

    /// The row of a processor.
    #[must_use]
    pub fn processor_row(&self, cpu: u16) -> Option<usize> {
        self.rows.iter().position(|row| row.subject == Subject::Processor(cpu))
    }

    /// The spans to draw for a row in the time `from..to`, ns, on that many pixels: at most two for each pixel, by
    /// time.
    ///
    /// Empty if the row does not exist or the time range is empty or reversed.
    pub fn window(&self, from: u64, to: u64, pixels: u32, row: usize) -> Vec<Span> {
        self.rows.get(row).map_or_else(Vec::new, |row| window::window(&row.track, from, to, pixels))
    }
}
