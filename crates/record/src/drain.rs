//! The reading side: writes the logs of many processes to one trace.

use std::io::{self, Write};

use hemiola_rt::shared::{LogReader, Segment, SegmentError};
use hemiola_trace::Entry;
use hemiola_trace::perfetto::{Names, TraceWriter, TrackId};
use thiserror::Error;

use crate::intake::{Intake, Log};

/// Takes the entries of processes out of their logs and writes them to a trace.
///
/// Both happen in [`Drain::drain`]. Where the output may be slow, another thread takes them out in time, through
/// [`Drain::intake`].
#[derive(Debug)]
pub struct Drain<W: Write> {
    trace: TraceWriter<W>,
    intake: Intake,
    entries: Vec<Entry>,
}

/// Counts for one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries taken out of the log for the trace, without those that report losses.
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

impl<W: Write> Drain<W> {
    /// Creates a drain into `trace`, without logs.
    pub fn new(trace: TraceWriter<W>) -> Self {
        Self { trace, intake: Intake::default(), entries: Vec::new() }
    }

    /// Returns the half that takes entries out of the logs of this drain, for another thread.
    pub fn intake(&self) -> Intake {
        self.intake.clone()
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
        self.intake.logs().push(Log::new(track, reader));
        Ok(track)
    }

    /// Takes out the rest of a log whose process has ended, and gives its memory back. The counts remain.
    ///
    /// # Panics
    /// If the track does not belong to this drain.
    pub fn close(&self, track: TrackId) {
        self.with(track, Log::close);
    }

    /// Writes all recorded entries to the trace and frees their space; returns how many there were.
    ///
    /// Marks lost since the last call follow as one [`EventKind::Lost`](hemiola_trace::EventKind::Lost) entry with the
    /// time of the entry before it. A damaged log loses only its own entries.
    ///
    /// # Errors
    /// If the trace cannot be written; entries already taken out of the logs are lost.
    pub fn drain(&mut self) -> io::Result<usize> {
        self.drain_at_most(usize::MAX, |_| {})
    }

    /// The same, with at most `most` entries of each log, the oldest, so that it takes a limited time; the others are
    /// kept for the next call. Shows each entry to `see`.
    ///
    /// # Errors
    /// Those of [`Drain::drain`].
    pub fn drain_at_most(&mut self, most: usize, mut see: impl FnMut(&Entry)) -> io::Result<usize> {
        self.intake.take();
        let mut count = 0;
        for index in 0.. {
            self.entries.clear();
            // The intake is free while entries are encoded and written.
            let Some(track) = self.intake.logs().get_mut(index).map(|log| {
                log.give(most, &mut self.entries);
                log.track
            }) else {
                break;
            };
            if !self.entries.is_empty() {
                self.trace.entries(track, &self.entries)?;
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
        self.with(track, |log| log.tally)
    }

    fn with<T>(&self, track: TrackId, act: impl FnOnce(&mut Log) -> T) -> T {
        let mut logs = self.intake.logs();
        let log = logs.iter_mut().find(|log| log.track == track);
        act(log.expect("the track came from this drain's add"))
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
