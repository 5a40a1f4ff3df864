//! The reading side: the logs of many processes into one trace.

use std::io::{self, Write};

use hemiola_rt::shared::{LogReader, Segment, SegmentError};
use hemiola_trace::perfetto::{Names, TraceWriter, TrackId};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;
use thiserror::Error;

/// Takes what processes recorded out of their logs and writes it to a trace.
#[derive(Debug)]
pub struct Drain<W: Write> {
    trace: TraceWriter<W>,
    logs: Vec<Log>,
    entries: Vec<Entry>,
}

/// How much of one log went where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries written to the trace, those that report losses not counted.
    pub entries: u64,
    /// Marks the recorder dropped because its log was full.
    pub lost: u64,
    /// Times the log held what no recorder writes: its process damaged it. That much was left out.
    pub damaged: u64,
}

/// A log that cannot be added to a [`Drain`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AddError {
    /// The segment is no writable log.
    #[error("the memory to record into is unusable: {0}")]
    Segment(#[from] SegmentError),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Trace(#[from] io::Error),
}

#[derive(Debug)]
struct Log {
    track: TrackId,
    reader: LogReader,
    tally: Tally,
    /// When and in which cycle the last entry was made: a loss is reported there.
    last: (Instant, u32),
}

impl<W: Write> Drain<W> {
    /// A drain into `trace`, without logs yet.
    pub const fn new(trace: TraceWriter<W>) -> Self {
        Self { trace, logs: Vec::new(), entries: Vec::new() }
    }

    /// Adds the log of a process. It may be added before the process starts or while it runs, and stays
    /// readable after its death.
    ///
    /// # Errors
    ///
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
        self.logs.push(Log { track, reader, tally: Tally::default(), last });
        Ok(track)
    }

    /// Writes everything recorded by now to the trace and makes room for more; returns how many entries.
    ///
    /// Marks lost since the last call follow as one [`EventKind::Lost`] entry, stamped as the last entry
    /// before it. A damaged log costs only its own entries.
    ///
    /// # Errors
    ///
    /// When the trace cannot be written; what was taken out of the logs is then gone.
    pub fn drain(&mut self) -> io::Result<usize> {
        let mut count = 0;
        for log in &mut self.logs {
            self.entries.clear();
            log.take(&mut self.entries);
            if !self.entries.is_empty() {
                self.trace.entries(log.track, &self.entries)?;
            }
            count += self.entries.len();
        }
        Ok(count)
    }

    /// What became of the log of `track` so far.
    ///
    /// # Panics
    ///
    /// When the track is not of this drain.
    #[must_use]
    pub fn tally(&self, track: TrackId) -> Tally {
        let log = self.logs.iter().find(|log| log.track == track);
        log.expect("the track came from this drain's add").tally
    }

    /// The trace, for syncing its output.
    #[must_use]
    pub const fn trace(&self) -> &TraceWriter<W> {
        &self.trace
    }

    /// The trace, for what does not come out of logs.
    pub const fn trace_mut(&mut self) -> &mut TraceWriter<W> {
        &mut self.trace
    }
}

impl Log {
    /// Appends what the log holds to `entries`.
    fn take(&mut self, entries: &mut Vec<Entry>) {
        let damaged = &mut self.tally.damaged;
        let sound = self.reader.drain(|words| match Entry::from_words(words) {
            Some(entry) => entries.push(entry),
            None => *damaged += 1,
        });
        *damaged += u64::from(sound.is_err());
        self.tally.entries += entries.len() as u64;
        if let Some(entry) = entries.last() {
            self.last = (entry.at, entry.cycle);
        }
        let lost = self.reader.lost();
        let newly_lost = lost.wrapping_sub(self.tally.lost);
        if newly_lost > 0 {
            self.tally.lost = lost;
            let (at, cycle) = self.last;
            entries.push(Entry { at, kind: EventKind::Lost, arg: 0, cycle, a: newly_lost, b: 0 });
        }
    }
}
