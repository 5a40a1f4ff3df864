//! The reading side: writes the logs of many processes to one trace.

use std::io::{self, Write};

use hemiola_rt::shared::{LogReader, Segment, SegmentError};
use hemiola_trace::perfetto::{Names, TraceWriter, TrackId};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;
use thiserror::Error;

/// Takes the entries of processes out of their logs and writes them to a trace.
#[derive(Debug)]
pub struct Drain<W: Write> {
    trace: TraceWriter<W>,
    logs: Vec<Log>,
    entries: Vec<Entry>,
}

/// Counts for one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries written to the trace, without those that report losses.
    pub entries: u64,
    /// Marks that the recorder dropped because its log was full.
    pub lost: u64,
    /// How often the log contained something that no recorder writes, because its process damaged it. That part was
    /// skipped.
    pub damaged: u64,
}

/// Why a log cannot be added to a [`Drain`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AddError {
    /// The segment is not a writable log.
    #[error("the memory to record into is unusable: {0}")]
    Segment(#[from] SegmentError),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Trace(#[from] io::Error),
}

#[derive(Debug)]
struct Log {
    track: TrackId,
    /// `None` once the log is closed.
    reader: Option<LogReader>,
    tally: Tally,
    /// Time and cycle of the last entry: a loss is reported there.
    last: (Instant, u32),
}

impl<W: Write> Drain<W> {
    /// Creates a drain into `trace`, without logs.
    pub const fn new(trace: TraceWriter<W>) -> Self {
        Self { trace, logs: Vec::new(), entries: Vec::new() }
    }

    /// Adds the log of a process, before the process starts or while it runs. It stays readable after the process has
    /// died.
    ///
    /// # Errors
    /// [`AddError`].
    pub fn add(
        &mut self,
        log: Segment,
        pid: u32,
        name: &str,
        names: Names,
    ) -> Result<TrackId, AddError> {
        let reader = LogReader::attach(log)?;
        let track = self.trace.process(pid, name, names)?;
        let last = (Instant::ZERO, 0);
        self.logs.push(Log { track, reader: Some(reader), tally: Tally::default(), last });
        Ok(track)
    }

    /// Writes the rest of a log whose process has ended, and gives its memory back. The counts remain.
    ///
    /// # Errors
    /// If the trace cannot be written.
    ///
    /// # Panics
    /// If the track does not belong to this drain.
    pub fn close(&mut self, track: TrackId) -> io::Result<()> {
        self.drain()?;
        let log = self.logs.iter_mut().find(|log| log.track == track);
        log.expect("the track came from this drain's add").reader = None;
        Ok(())
    }

    /// Writes all recorded entries to the trace and frees their space; returns how many there were.
    ///
    /// Marks lost since the last call follow as one [`EventKind::Lost`] entry with the time of the entry before it. A
    /// damaged log loses only its own entries.
    ///
    /// # Errors
    /// If the trace cannot be written; entries already taken out of the logs are lost.
    pub fn drain(&mut self) -> io::Result<usize> {
        self.drain_and_see(|_| {})
    }

    /// The same, and shows each entry to `see`.
    ///
    /// # Errors
    /// Those of [`Drain::drain`].
    pub fn drain_and_see(&mut self, mut see: impl FnMut(&Entry)) -> io::Result<usize> {
        let mut count = 0;
        for log in &mut self.logs {
            self.entries.clear();
            log.take(&mut self.entries);
            if !self.entries.is_empty() {
                self.trace.entries(log.track, &self.entries)?;
                self.entries.iter().for_each(&mut see);
            }
            count += self.entries.len();
        }
        Ok(count)
    }

    /// Returns the counts for the log of `track` so far.
    ///
    /// # Panics
    /// If the track does not belong to this drain.
    pub fn tally(&self, track: TrackId) -> Tally {
        let log = self.logs.iter().find(|log| log.track == track);
        log.expect("the track came from this drain's add").tally
    }

    /// Returns the trace, to sync its output.
    pub const fn trace(&self) -> &TraceWriter<W> {
        &self.trace
    }

    /// Returns the trace, to write to it directly.
    pub const fn trace_mut(&mut self) -> &mut TraceWriter<W> {
        &mut self.trace
    }
}

impl Log {
    /// Appends the contents of the log to `entries`.
    fn take(&mut self, entries: &mut Vec<Entry>) {
        let Some(reader) = &mut self.reader else { return };
        let damaged = &mut self.tally.damaged;
        let sound = reader.drain(|words| match Entry::from_words(words) {
            Some(entry) => entries.push(entry),
            None => *damaged += 1,
        });
        *damaged += u64::from(sound.is_err());
        self.tally.entries += entries.len() as u64;
        if let Some(entry) = entries.last() {
            self.last = (entry.at, entry.cycle);
        }
        let lost = reader.lost();
        let newly_lost = lost.wrapping_sub(self.tally.lost);
        if newly_lost > 0 {
            self.tally.lost = lost;
            let (at, cycle) = self.last;
            entries.push(Entry { at, kind: EventKind::Lost, arg: 0, cycle, a: newly_lost, b: 0 });
        }
    }
}
