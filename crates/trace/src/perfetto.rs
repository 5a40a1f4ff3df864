//! The trace file: a Perfetto trace, written packet by packet and read back without loss.
//!
//! A file is a sequence of packets, each preceded by the byte `0x0A` and its length. A writer that dies loses at most
//! the packet it was writing, and a reader can skip unknown packets:
//!
//! ```text
//! packet   clock snapshot       CLOCK_MONOTONIC is the trace clock; its relation to wall time
//! packet   track + event        the conditions of the run, one string annotation each
//!          ── per recorded process, on a sequence of its own ──
//! packet   process track        pid, name; once for all tasks of a process
//! packet   thread track         + the names of kinds and values, once; the sequence's defaults. A further task of a
//!                               thread has a track below that one
//! packet   event                one per entry …
//! packet   closing record       the number of packets; its absence shows that the writer was stopped
//! ```
//!
//! Each packet ends with a checksum (`perfetto/seal.rs`). A damaged packet is left out and reported.
//!
//! The translation of an [`Entry`] into an event:
//!
//! * `timestamp` is `at`. [`EventKind::Start`] opens a slice named after the process and [`EventKind::Finish`] closes
//!   it, both in the category `hemiola:job`. Every other kind is an instant in the category `hemiola:` +
//!   [`EventKind::name`], with a name of its kind and the name of `arg` (`send sensors`).
//! * Values are debug annotations named by [`EventKind::fields`], and `cycle`. The `lateness_ns` of a `finish` is for
//!   users; it follows from `at` and the deadline.
//! * Values with a counter track (the volts of `actuate`, both values of `plant_state`) are written only there, as
//!   extra counter values of the event.
//! * The number of a mark is also a value of a counter track named after task and mark, as a double, from the first
//!   that is not 0. The reader takes the exact number from the annotation.
//! * Omitted and read as 0: zero skipped releases, and values that the kind does not define. A `finish` in the cycle
//!   of the preceding `start` omits `cycle`.
//!
//! Field numbers and meanings follow Perfetto's public definitions, `protos/perfetto/trace/` in its repository. An
//! entry takes about 55 bytes.
//!
//! ```
//! use hemiola_trace::{Entry, EventKind, perfetto};
//! use hemiola_units::Instant;
//!
//! let at = Instant::from_nanos(5_000_000);
//! let sent = Entry { at, kind: EventKind::Send, arg: 0, cycle: 3, a: 0, b: 0 };
//! let mut names = perfetto::Names::default();
//! names.insert(EventKind::Send, 0, "sensors");
//!
//! let mut file = Vec::new();
//! let mut writer = perfetto::TraceWriter::new(&mut file, at, 0, &[("kernel", "6.1")]).unwrap();
//! let track = writer.process(42, "io", names).unwrap();
//! writer.entries(track, &[sent]).unwrap();
//! writer.close().unwrap();
//!
//! let (trace, errors) = perfetto::read(&file);
//! assert!(errors.is_empty());
//! assert_eq!(trace.tracks[0].entries, [sent]);
//! assert_eq!(trace.tracks[0].names.get(EventKind::Send, 0), Some("sensors"));
//! ```

mod clocks;
mod foreign;
pub(crate) mod kernel;
mod packet;
mod read;
pub(crate) mod seal;
mod write;

use std::collections::BTreeMap;

use hemiola_units::Instant;

use crate::event::{Entry, EventKind};
use crate::track_event::TrackEvents;

pub use crate::error::{ERRORS_MAX, ReadError};
pub use read::read;
pub use write::{TraceWriter, TrackId};

/// A decoded trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The conditions of the run, as written.
    pub conditions: Vec<(String, String)>,
    /// The start of the trace: on the monotonic clock, and in nanoseconds since 1970 UTC.
    pub began: Option<(Instant, u64)>,
    /// One track for each recording thread, in order of appearance.
    pub tracks: Vec<Track>,
    /// The events of other programs.
    pub track_events: TrackEvents,
    /// Well-formed packets without content for us: other data than track events and events of the kernel.
    pub foreign_packets: u64,
}

/// The recording of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Process id.
    pub pid: u32,
    /// The thread that recorded; by default the process's first thread, whose number is `pid`.
    pub tid: u32,
    /// The process's name.
    pub name: String,
    /// The names of the numbers in [`Entry::arg`].
    pub names: Names,
    /// The entries, in recorded order.
    pub entries: Vec<Entry>,
}

/// The names of the numbers in [`Entry::arg`], by kind: channels, reasons, faults, states, marks (of any value).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<(EventKind, u16), String>);

impl Names {
    /// Sets the name of `arg` of `kind`.
    pub fn insert(&mut self, kind: EventKind, arg: u16, name: &str) {
        self.0.insert((kind.named(), arg), name.to_owned());
    }

    /// Sets the name of each `arg` of `kind` in the table.
    pub fn insert_all(&mut self, kind: EventKind, table: &[(u16, &str)]) {
        for &(arg, name) in table {
            self.insert(kind, arg, name);
        }
    }

    /// Returns the name of `arg` of `kind`.
    pub fn get(&self, kind: EventKind, arg: u16) -> Option<&str> {
        self.0.get(&(kind.named(), arg)).map(String::as_str)
    }

    /// Returns all names, by kind and number.
    pub fn iter(&self) -> impl Iterator<Item = (EventKind, u16, &str)> {
        self.0.iter().map(|(&(kind, arg), name)| (kind, arg, name.as_str()))
    }
}

/// Returns the category of entries of this kind.
///
/// Both ends of a slice have the same category, because readers match them by it.
const fn category(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Start | EventKind::Finish => "hemiola:job",
        EventKind::Receive => "hemiola:receive",
        EventKind::Send => "hemiola:send",
        EventKind::Sample => "hemiola:sample",
        EventKind::Actuate => "hemiola:actuate",
        EventKind::Decide => "hemiola:decide",
        EventKind::Switch => "hemiola:switch",
        EventKind::Fault => "hemiola:fault",
        EventKind::UnitState => "hemiola:unit_state",
        EventKind::PlantState => "hemiola:plant_state",
        EventKind::Fall => "hemiola:fall",
        EventKind::Pair => "hemiola:pair",
        EventKind::Lost => "hemiola:lost",
        EventKind::Mark => "hemiola:mark",
        EventKind::MarkUnsigned => "hemiola:mark_unsigned",
        EventKind::MarkSigned => "hemiola:mark_signed",
        EventKind::MarkReal => "hemiola:mark_real",
        EventKind::MarkText => "hemiola:mark_text",
    }
}

/// The category of the event that carries the conditions.
const CONDITIONS: &str = "hemiola:conditions";

/// The number of `CLOCK_MONOTONIC` among Perfetto's built-in clocks.
const CLOCK_MONOTONIC: u32 = 3;

/// The number of `CLOCK_BOOTTIME` among Perfetto's built-in clocks, which bundles of the kernel's events use.
const CLOCK_BOOTTIME: u32 = 6;

/// The number of `CLOCK_REALTIME` among Perfetto's built-in clocks.
const CLOCK_REALTIME: u32 = 1;

/// The names of `arg`, `a` and `b` where the kind does not define them.
const RAW_NAMES: [&str; 3] = ["arg", "a", "b"];

/// Returns which of `arg`, `a` and `b` are on counter tracks, in the order of the event's counter values.
const fn counters(kind: EventKind) -> &'static [(usize, Counter)] {
    match kind {
        EventKind::Actuate => &[(1, Counter::Volts)],
        EventKind::PlantState => &[(1, Counter::PlantV), (2, Counter::PlantAngle)],
        _ => &[],
    }
}

/// A counter track of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    Volts,
    PlantV,
    PlantAngle,
}

impl Counter {
    /// Returns the name and the unit of its track.
    const fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Volts => ("volts", "V"),
            Self::PlantV => ("V of the plant", ""),
            Self::PlantAngle => ("angle of the plant", "rad"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
