//! The trace of one run: the logs of all its processes, drained into one file while it runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hemiola_record::{AddError, Drain, FolderError, create_log, log_capacity};
use hemiola_rt::clock::{Clock, MonotonicClock, unix_ns};
use hemiola_rt::shared::Segment;
use hemiola_scenario::Variant;
use hemiola_trace::perfetto::{Names, TraceWriter, TrackId};
use hemiola_trace::sched::{Event, Thread};
use hemiola_trace::{Entry, EventKind, Missing};
use hemiola_units::Rate;

use crate::RunError;
use crate::reader::{Reader, policy_beside};
use crate::tasks::TaskKind;

/// The most events of the decision module that are kept for those who watch; more are in the trace only.
const DECIDED_MAX: usize = 4096;

/// The most entries of one process that are written at a time, so that the supervising loop comes back to its other
/// work: those of 0.4 s at 2 kHz.
const WRITTEN_MAX: usize = 1 << 12;

/// The logs of the processes, and the trace file they are drained into.
pub(crate) struct Collector {
    path: PathBuf,
    drain: Drain<File>,
    _reader: Reader,
    rate: Rate,
    tracks: Vec<(String, TrackId)>,
    /// Names of the channels.
    names: Names,
    /// Events of the decision module, until they are taken.
    decided: Vec<Entry>,
}

impl Collector {
    pub(crate) fn create(
        path: &Path,
        variant: &Variant,
        conditions: &[(String, String)],
    ) -> Result<Self, RunError> {
        let conditions: Vec<(&str, &str)> =
            conditions.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let file = File::create(path).map_err(|source| write_error(path, source))?;
        let trace = TraceWriter::new(file, MonotonicClock.now(), unix_ns(), &conditions)
            .map_err(|source| write_error(path, source))?;
        let mut names = Names::default();
        for (index, channel) in variant.channels.iter().enumerate() {
            names.insert(EventKind::Send, index as u16, &channel.name);
            names.insert(EventKind::Receive, index as u16, &channel.name);
        }
        let drain = Drain::new(trace);
        let reader = Reader::start(drain.intake(), policy_beside(&variant.processes))
            .map_err(RunError::system("the thread that reads the logs"))?;
        Ok(Self {
            path: path.into(),
            drain,
            _reader: reader,
            rate: variant.rate,
            tracks: Vec::new(),
            names,
            decided: Vec::new(),
        })
    }

    /// Creates the memory that a process will record into.
    pub(crate) fn log(&self, name: &str) -> Result<Segment, RunError> {
        create_log(&format!("hemiola-log-{name}"), log_capacity(self.rate))
            .map_err(RunError::memory)
    }

    /// Begins to collect from a log, now that its process has an id.
    pub(crate) fn attach(
        &mut self,
        name: &str,
        pid: u32,
        log: Segment,
        kind: &TaskKind,
    ) -> Result<(), RunError> {
        let mut names = self.names.clone();
        (kind.name_marks)(&mut names);
        let track = self.drain.add(log, pid, name, names).map_err(|error| match error {
            AddError::Trace(source) => write_error(&self.path, source),
            other => RunError::Channel(Box::new(other)),
        })?;
        self.tracks.push((name.to_owned(), track));
        Ok(())
    }

    /// Writes entries that were recorded since the last time; those beyond a limit follow the next time.
    pub(crate) fn drain(&mut self) -> Result<(), RunError> {
        self.write(WRITTEN_MAX)
    }

    /// Writes the oldest entries that are not written yet, at most so many of each process.
    fn write(&mut self, most: usize) -> Result<(), RunError> {
        let decided = &mut self.decided;
        let see = |entry: &Entry| {
            let is_decided =
                matches!(entry.kind, EventKind::Switch | EventKind::Fault | EventKind::UnitState);
            if is_decided && decided.len() < DECIDED_MAX {
                decided.push(*entry);
            }
        };
        let written = self.drain.drain_at_most(most, see);
        written.map(drop).map_err(|source| write_error(&self.path, source))
    }

    /// Takes the events of the decision module that were drained since the last call.
    pub(crate) fn take_decided(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.decided)
    }

    /// Takes the rest out of the log of a process that has ended, and gives its memory back.
    pub(crate) fn close(&self, name: &str) {
        if let Some((_, track)) = self.tracks.iter().find(|(known, _)| known == name) {
            self.drain.close(*track);
        }
    }

    /// Entries that a process has recorded so far; 0 for one that records nothing.
    pub(crate) fn recorded(&self, name: &str) -> u64 {
        let track = self.tracks.iter().find(|(known, _)| known == name);
        track.map_or(0, |(_, track)| self.drain.tally(*track).entries)
    }

    /// Adds the kernel's events on a processor.
    pub(crate) fn kernel(&mut self, cpu: u16, events: &[Event]) -> Result<(), RunError> {
        let written = self.drain.trace_mut().kernel(cpu, events);
        written.map_err(|source| write_error(&self.path, source))
    }

    /// Adds names of threads.
    pub(crate) fn threads(&mut self, threads: &[Thread]) -> Result<(), RunError> {
        if threads.is_empty() {
            return Ok(());
        }
        let written = self.drain.trace_mut().threads(threads);
        written.map_err(|source| write_error(&self.path, source))
    }

    /// Writes what could not be recorded of the kernel's side into the conditions.
    pub(crate) fn missing(&mut self, missing: &[(Missing, u64)]) -> Result<(), RunError> {
        let at = MonotonicClock.now();
        for (what, count) in missing.iter().filter(|(_, count)| *count > 0) {
            let written =
                self.drain.trace_mut().conditions(at, &[(what.condition(), &count.to_string())]);
            written.map_err(|source| write_error(&self.path, source))?;
        }
        Ok(())
    }

    /// Drains the rest, closes the trace and flushes it to the disk. Returns the number of events lost, by process.
    pub(crate) fn finish(&mut self) -> Result<Vec<(String, u64)>, RunError> {
        self.write(usize::MAX)?;
        self.drain.trace_mut().close().map_err(|source| write_error(&self.path, source))?;
        self.drain
            .trace()
            .get_ref()
            .sync_data()
            .map_err(|source| write_error(&self.path, source))?;
        Ok(self
            .tracks
            .iter()
            .map(|(name, track)| (name.clone(), self.drain.tally(*track).lost))
            .collect())
    }
}

fn write_error(path: &Path, source: io::Error) -> RunError {
    FolderError::Write { path: path.into(), source }.into()
}
