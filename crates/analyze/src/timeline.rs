//! The timeline: which threads ran and waited, on every processor, at any magnification.
//!
//! [`Timeline::build`] goes once over the events of a recording and keeps one [`Track`] of
//! segments for each processor and each thread, 12 bytes a segment, with sums over groups of segments above them.
//! [`Timeline::window`] then draws any time range at a cost that depends on the number of pixels and not on
//! the number of events. [`jobs`] finds the jobs of a thread and the threads that delayed one.
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
//! Gaps stay visible: from the last event before a gap until their next event, a processor and the
//! threads that were last on it are [`State::Unknown`].

mod build;
pub mod jobs;
mod track;
mod window;

#[cfg(test)]
mod tests;

use hemiola_units::Instant;

pub use build::ROWS_MAX;
pub use track::{Segment, State, Totals, Track};
pub use window::{PIXELS_MAX, Span};

/// The key of a segment without a subject.
pub const NOBODY: u32 = (1 << 28) - 1;

/// The key of a [`State::Ready`] segment whose wake-up came from an interrupt.
pub const INTERRUPT: u32 = NOBODY - 1;

/// Everything of a recording that can be drawn.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The moment of its first event or mark.
    pub from: Instant,
    /// The moment of its last.
    pub to: Instant,
    /// Processors, then their interrupts, then threads in order of appearance.
    pub rows: Vec<Row>,
    /// Stretches for which the events of a processor are missing, by time.
    pub gaps: Vec<Gap>,
    /// Events of the kernel.
    pub events: u64,
    /// Of them, switches.
    pub switches: u64,
    /// Events said to be lost; gaps whose number is not known count none.
    pub lost: u64,
    /// The names that [`Mark::name`] refers to.
    pub names: Vec<String>,
    /// The numbers that programs marked, by row and name.
    pub counters: Vec<Counter>,
}

/// A number that a program marks again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The row of the thread that marks it.
    pub row: usize,
    /// The names of the task and of the mark.
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
}

/// A moment worth showing on a thread's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, ns.
    pub at: u64,
    /// Index in [`Timeline::names`].
    pub name: u32,
}

/// A time for which the events of a processor are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The processor.
    pub cpu: u16,
    /// The last moment before it, ns.
    pub from: u64,
    /// Its end, ns.
    pub to: u64,
    /// How many events are missing; 0: unknown.
    pub lost: u32,
}

impl Timeline {
    /// The rows of threads.
    pub fn thread_rows(&self) -> impl Iterator<Item = usize> + '_ {
        let thread = |row: &Row| matches!(row.subject, Subject::Thread { .. });
        self.rows.iter().enumerate().filter(move |(_, row)| thread(row)).map(|(index, _)| index)
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
