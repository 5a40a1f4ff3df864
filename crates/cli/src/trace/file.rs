//! The trace file that a recording writes.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use hemiola_record::marks::Task;
use hemiola_trace::perfetto::{Names, TraceWriter, TrackId};
use hemiola_trace::sched::{Event, Thread};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;
use thiserror::Error;

/// An empty file for a recording. It is locked until it is closed, so that no other recording writes into it.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) file: File,
    /// Whether there was no such file before.
    pub(super) is_new: bool,
}

/// Why a file cannot be written.
#[derive(Debug, Error)]
pub(super) enum ClaimError {
    #[error("is being written by another recording")]
    Taken,
    #[error("is a pipe, and a recording needs a file")]
    Pipe,
    #[error("cannot be written: {0}")]
    File(#[from] io::Error),
}

impl Claimed {
    /// Creates the file, or empties an existing one that no recording is writing.
    pub(super) fn at(path: &Path) -> Result<Self, ClaimError> {
        // Opening a pipe without a reader would wait for one, whatever signal arrives.
        if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
            return Err(ClaimError::Pipe);
        }
        let (file, is_new) = match File::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (OpenOptions::new().write(true).create(true).truncate(false).open(path)?, false)
            }
            created => (created?, true),
        };
        // Neither a terminal nor /dev/null has content, and both may be shared.
        if file.metadata()?.is_file() {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(ClaimError::Taken),
                // An error means that the file system has no locks.
                Ok(()) | Err(TryLockError::Error(_)) => file.set_len(0)?,
            }
        }
        Ok(Self { file, is_new })
    }
}

/// A file that a recording is streamed into. It is always complete up to the last round.
#[derive(Debug)]
pub(super) struct TraceFile {
    writer: TraceWriter<File>,
    /// Each task's track, and how many of its mark names are in the file.
    tracks: BTreeMap<usize, (TrackId, usize)>,
}

impl TraceFile {
    pub(super) fn begin(
        file: File,
        began: Instant,
        unix_ns: u64,
        conditions: &[(String, String)],
    ) -> io::Result<Self> {
        let writer = TraceWriter::new(file, began, unix_ns, &borrowed(conditions))?;
        Ok(Self { writer, tracks: BTreeMap::new() })
    }

    pub(super) fn threads(&mut self, threads: &[Thread]) -> io::Result<()> {
        if threads.is_empty() { Ok(()) } else { self.writer.threads(threads) }
    }

    pub(super) fn kernel(&mut self, cpu: u16, events: &[Event]) -> io::Result<()> {
        if events.is_empty() { Ok(()) } else { self.writer.kernel(cpu, events) }
    }

    /// Writes entries of a task. Its track is created with the first, when the thread is known.
    pub(super) fn entries(&mut self, task: &Task, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let (track, named) = match self.tracks.get_mut(&task.number) {
            Some(known) => known,
            None => {
                let track = self.writer.task(task.pid, task.tid, &task.name, Names::default())?;
                self.tracks.entry(task.number).or_insert((track, 0))
            }
        };
        for (index, name) in task.marks.iter().enumerate().skip(*named) {
            self.writer.name(*track, EventKind::Mark, index as u16, name);
        }
        *named = task.marks.len();
        self.writer.entries(*track, entries)
    }

    /// Adds conditions that became known at the time `at`.
    pub(super) fn conditions(
        &mut self,
        at: Instant,
        conditions: &[(String, String)],
    ) -> io::Result<()> {
        self.writer.conditions(at, &borrowed(conditions))
    }

    /// Opens the file to read it, wherever it was moved to; another one may be at its path by now.
    pub(super) fn open(&self) -> io::Result<File> {
        let file = self.writer.get_ref();
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("a device does not keep what is written to it"));
        }
        File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    /// Copies what was read from [`Self::open`], the file as it is now, closed, to another one.
    pub(super) fn copy(&self, mut from: File, mut to: File) -> io::Result<()> {
        io::copy(&mut from, &mut to)?;
        to.write_all(&self.writer.closing())
    }

    /// Adds the final conditions, closes the file and syncs the file. Returns its size in
    /// bytes, 0 for a device.
    pub(super) fn end(mut self, at: Instant, conditions: &[(String, String)]) -> io::Result<u64> {
        self.conditions(at, conditions)?;
        self.writer.close()?;
        let mut file = self.writer.get_ref();
        if !file.metadata()?.is_file() {
            // A device such as /dev/null can neither be synced nor has it a size.
            return Ok(0);
        }
        file.sync_all()?;
        file.stream_position()
    }
}

fn borrowed(conditions: &[(String, String)]) -> Vec<(&str, &str)> {
    conditions.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}
