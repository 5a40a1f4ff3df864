//! A recording of the kernel's events and the marks of programs, from any supported file.

mod decoded;
mod events;
mod learn;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use hemiola_units::Instant;

use crate::call::call_name;
use crate::compressed::{DECOMPRESSED_MAX, Method};
use crate::error::{Errors, ReadError};
use crate::perfdata;
use crate::perfetto::{self, Track};
use crate::sched::{Event, Thread, Tid};
use crate::source::{Appended, ByteSource, Window};
use crate::tracedat;
use crate::track_event::TrackEvents;

pub(crate) use decoded::Decoded;
pub use events::Events;
pub(crate) use events::{Decoder, Index, Lane, Single, Sink, Stream};
pub(crate) use learn::{Fact, Learner, Process};

/// A recording of a whole machine or of one program.
///
/// The kernel's events stay in the file and are decoded during each iteration, so a recording of any length takes
/// little memory. Only of a `perf.data` file, which is long and slow to decode, the first million events are kept.
#[derive(Clone, Default)]
pub struct Recording {
    /// The recorder and its conditions, as names and texts.
    pub conditions: Vec<(String, String)>,
    /// The start: on the monotonic clock, and in nanoseconds since 1970 UTC.
    pub began: Option<(Instant, u64)>,
    /// Every named thread, by number and then by time.
    pub threads: Vec<Thread>,
    /// The marks of programs: one track for each marking thread.
    pub tracks: Vec<Track>,
    /// The track events of other programs in a Perfetto trace.
    pub track_events: TrackEvents,
    /// Processors with events, ascending.
    pub cpus: Vec<u16>,
    kept: Kept,
}

/// Where the kernel's events are.
#[derive(Clone)]
enum Kept {
    /// In memory, in order of time.
    Here(Arc<[Event]>),
    /// In a file, by processor.
    File(Arc<Index>),
}

/// The result of scanning a file.
pub(crate) struct Scanned {
    pub(crate) conditions: Vec<(String, String)>,
    pub(crate) began: Option<(Instant, u64)>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) tracks: Vec<Track>,
    pub(crate) track_events: TrackEvents,
    /// By processor, ascending; a processor may have several whose events overlap.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) decoder: Decoder,
    /// Whether the scan found gaps; `false` where it does not look for them.
    pub(crate) has_gaps: bool,
    pub(crate) errors: Errors,
    /// Decompressed parts of the file, to which the lanes refer as if they followed it.
    pub(crate) appended: Vec<u8>,
}

impl Scanned {
    /// The result for a file that cannot be read.
    pub(crate) fn refused(error: ReadError) -> Self {
        Self {
            conditions: Vec::new(),
            began: None,
            threads: Vec::new(),
            tracks: Vec::new(),
            track_events: TrackEvents::default(),
            lanes: Vec::new(),
            decoder: Decoder::Nothing,
            has_gaps: false,
            errors: Errors(vec![error]),
            appended: Vec::new(),
        }
    }
}

/// The condition that states how long a recording of `hemiola` was paused before anything was recorded, as a `Span`.
pub const PAUSED_BEFORE: &str = "paused.before";

/// The same of the time after which nothing was recorded any more.
pub const PAUSED_AFTER: &str = "paused.after";

/// Whether `hemiola` made the recording with these conditions.
#[must_use]
pub fn is_ours(conditions: &[(String, String)]) -> bool {
    conditions.iter().any(|(name, _)| name == "hemiola")
}

impl Default for Kept {
    fn default() -> Self {
        Self::Here(Arc::new([]))
    }
}

impl Recording {
    /// Creates a recording of these events, in any order of processors; the events of one processor must be in order.
    #[must_use]
    pub fn new(mut events: Vec<Event>, mut threads: Vec<Thread>, tracks: Vec<Track>) -> Self {
        events.sort_by_key(|event| event.at);
        threads.sort();
        let cpus: BTreeSet<u16> = events.iter().map(|event| event.cpu).collect();
        let kept = Kept::Here(events.into());
        Self { threads, tracks, cpus: cpus.into_iter().collect(), kept, ..Self::default() }
    }

    /// The text of a condition; `None` if the recording does not state it.
    #[must_use]
    pub fn condition(&self, name: &str) -> Option<&str> {
        let found = self.conditions.iter().find(|(key, _)| key == name);
        found.map(|(_, text)| text.as_str())
    }

    /// Reads a recording in memory, of any supported format, and returns it with the errors.
    ///
    /// For a file of any size see [`Recording::open`]; this function copies the bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> (Self, Vec<ReadError>) {
        Self::open(Arc::new(bytes.to_vec()))
    }

    /// Opens a recording of any supported format: a Perfetto trace, ours or another program's; `trace.dat` of
    /// `trace-cmd record`, versions 6 and 7; `perf.data` of `perf record` and `perf sched record`, as a file or from a
    /// pipe. Their own compression is read, and the whole may be compressed with gzip or zstd; what is decompressed, at
    /// most 1 GiB, is kept in memory.
    ///
    /// Everything that can be decoded is included. The errors say what cannot be, where it is, and what to do.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use hemiola_trace::{Recording, perfetto::TraceWriter, sched::{Event, Left, Tid, What}};
    /// use hemiola_units::Instant;
    ///
    /// let at = Instant::from_nanos(5_000);
    /// let what = What::Switch { prev: Tid(7), left: Left::Sleeping, next: Tid::IDLE, priority: 120 };
    /// let mut file = Vec::new();
    /// let mut writer = TraceWriter::new(&mut file, at, 0, &[]).unwrap();
    /// writer.kernel(0, &[Event { at, cpu: 0, what }]).unwrap();
    /// writer.close().unwrap();
    ///
    /// let (recording, errors) = Recording::open(Arc::new(file));
    /// assert!(errors.is_empty());
    /// assert_eq!(recording.events().next(), Some(Event { at, cpu: 0, what }));
    /// ```
    pub fn open(source: Arc<dyn ByteSource>) -> (Self, Vec<ReadError>) {
        let mut window = Window::new(&*source);
        let head = match window.some(0, 16) {
            Ok([]) => return (Self::default(), vec![ReadError::Empty]),
            Ok(head) => head.to_vec(),
            Err(error) => {
                let error = ReadError::Io { offset: 0, reason: error.to_string() };
                return (Self::default(), vec![error]);
            }
        };
        if let Some(method) = Method::of(&head) {
            return Self::decompress(method, &*source);
        }
        let mut scanned = match head {
            head if head.starts_with(perfdata::MAGIC) => perfdata::scan(window),
            head if head.starts_with(perfdata::MAGIC_BIG_ENDIAN) => perfdata::refuse_big_endian(),
            head if head.starts_with(tracedat::MAGIC) => tracedat::scan(window),
            _ => perfetto::kernel::scan(window),
        };
        scanned.lanes.retain(|lane| !lane.stretches.is_empty());
        for lane in &mut scanned.lanes {
            lane.sort(&mut scanned.errors);
        }
        let Scanned {
            conditions,
            began,
            threads,
            tracks,
            track_events,
            lanes,
            decoder,
            has_gaps,
            errors,
            appended,
        } = scanned;
        let source = match appended.is_empty() {
            true => source,
            false => Arc::new(Appended { source, parts: appended }),
        };
        let mut cpus: Vec<u16> = lanes.iter().map(|lane| lane.cpu).collect();
        cpus.dedup();
        let kept = Kept::File(Arc::new(Index { source, lanes, decoder, has_gaps }));
        (Self { conditions, began, threads, tracks, track_events, cpus, kept }, errors.0)
    }

    /// Opens a file that is compressed as a whole.
    fn decompress(method: Method, source: &dyn ByteSource) -> (Self, Vec<ReadError>) {
        let refused = |reason: String| {
            (Self::default(), vec![ReadError::Unsupported { offset: 0, what: reason }])
        };
        if source.size() > DECOMPRESSED_MAX as u64 {
            return refused(format!(
                "a compressed file of more than {DECOMPRESSED_MAX} bytes; decompress it to a file first"
            ));
        }
        let mut packed = vec![0; source.size() as usize];
        if let Err(error) = source.read_exact_at(&mut packed, 0) {
            return (Self::default(), vec![ReadError::Io { offset: 0, reason: error.to_string() }]);
        }
        let mut bytes = Vec::new();
        let result = method.decompress(&packed, DECOMPRESSED_MAX, &mut bytes);
        drop(packed);
        if Method::of(&bytes).is_some() {
            return refused("a file that was compressed twice".into());
        }
        let (recording, mut errors) = Self::open(Arc::new(bytes));
        if let Err(error) = result {
            let reason = format!("the compressed file is damaged or too large: {error}");
            errors.insert(0, ReadError::Malformed { offset: 0, reason });
            errors.truncate(crate::ERRORS_MAX);
        }
        (recording, errors)
    }

    /// Iterates over every event of the kernel, in order of time. Events of one processor at the same time are in the
    /// order they happened.
    ///
    /// If the file can no longer be read (because it was truncated since it was opened), a
    /// [`What::Lost`](crate::sched::What::Lost) replaces the missing part.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        match &self.kept {
            Kept::Here(events) => Events::here(events),
            Kept::File(index) => Events::file(index),
        }
    }

    /// Whether the recording is already known to have gaps; `false` if only its events will tell.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        matches!(&self.kept, Kept::File(index) if index.has_gaps)
    }

    /// Whether `hemiola` made it.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        is_ours(&self.conditions)
    }

    /// The name of a system call, or its number where the recorded machine has other numbers than x86-64.
    #[must_use]
    pub fn call_name(&self, number: u16) -> String {
        let is_other =
            |(name, of): &(String, String)| name == perfdata::ARCHITECTURE && of != "x86_64";
        let known = call_name(number).filter(|_| !self.conditions.iter().any(is_other));
        known.map_or_else(|| format!("system call {number}"), str::to_owned)
    }

    /// Returns the entry of a thread that is valid at a time, or its first entry.
    #[must_use]
    pub fn thread(&self, tid: Tid, at: Instant) -> Option<&Thread> {
        let first = self.threads.partition_point(|thread| thread.tid < tid);
        let after = self.threads.partition_point(|thread| (thread.tid, thread.since) <= (tid, at));
        let found = self.threads.get(if after > first { after - 1 } else { first })?;
        (found.tid == tid).then_some(found)
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("conditions", &self.conditions)
            .field("began", &self.began)
            .field("threads", &self.threads.len())
            .field("tracks", &self.tracks.len())
            .field("track_events", &self.track_events.tracks.len())
            .field("cpus", &self.cpus)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_name_it_had_at_the_moment() {
        let thread = |since, name: &str, new| Thread {
            tid: Tid(7),
            since: Instant::from_nanos(since),
            pid: 7,
            name: name.into(),
            new,
        };
        let threads =
            vec![thread(500, "io", false), thread(0, "bash", false), thread(900, "cat", true)];
        let recording = Recording::new(Vec::new(), threads, Vec::new());
        let name =
            |at| recording.thread(Tid(7), Instant::from_nanos(at)).map(|found| found.name.as_str());
        assert_eq!([name(3), name(500), name(2000)], [Some("bash"), Some("io"), Some("cat")]);
        assert_eq!(recording.thread(Tid(8), Instant::ZERO), None);
    }

    #[test]
    fn an_empty_file_says_so() {
        let (recording, errors) = Recording::read(&[]);
        assert_eq!(errors, [ReadError::Empty]);
        assert_eq!(recording.events().next(), None);
    }
}
