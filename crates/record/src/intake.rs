//! The first half of a drain: copies entries out of the logs into memory of its own, so that the logs have room again.
//!
//! Encoding entries and writing them to a file can take as long as the disk and the machine's other programs like. The
//! copy takes none of that, so a thread of its own can make it in time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hemiola_rt::shared::LogReader;
use hemiola_trace::perfetto::TrackId;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;

use crate::drain::Tally;

/// Entries of one log that wait to be written, at most: 16 MiB, which lasts 40 s at 2 kHz and six marks a cycle. More
/// stay in the log.
const HELD_MAX: usize = 1 << 19;

/// Copies entries out of the logs of a [`Drain`](crate::Drain). All clones are one intake, for any thread.
#[derive(Clone, Debug, Default)]
pub struct Intake(Arc<Mutex<Vec<Log>>>);

#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) track: TrackId,
    /// `None` once the log is closed.
    reader: Option<LogReader>,
    pub(crate) tally: Tally,
    /// Taken out of the log and not written yet.
    held: VecDeque<Entry>,
    /// Time and cycle of the last entry: a loss is reported there.
    last: (Instant, u32),
}

impl Intake {
    /// Copies everything that is recorded now, and frees its space in the logs: some ten nanoseconds for an entry,
    /// without a system call unless memory has to grow.
    pub fn take(&self) {
        self.logs().iter_mut().for_each(Log::take);
    }

    pub(crate) fn logs(&self) -> MutexGuard<'_, Vec<Log>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    pub(crate) fn new(track: TrackId, reader: LogReader) -> Self {
        let (tally, held, last) = (Tally::default(), VecDeque::new(), (Instant::ZERO, 0));
        Self { track, reader: Some(reader), tally, held, last }
    }

    /// Takes what is left, and gives the log's memory back.
    pub(crate) fn close(&mut self) {
        self.take();
        self.reader = None;
    }

    /// Moves at most `most` entries to the end of `entries`, oldest first.
    pub(crate) fn give(&mut self, most: usize, entries: &mut Vec<Entry>) {
        entries.extend(self.held.drain(..most.min(self.held.len())));
        if self.reader.is_none() && self.held.is_empty() {
            self.held = VecDeque::new();
        }
    }

    fn take(&mut self) {
        let Some(reader) = &mut self.reader else { return };
        if self.held.len() >= HELD_MAX {
            return;
        }
        let (held, tally) = (&mut self.held, &mut self.tally);
        let sound = reader.drain(|words| match Entry::from_words(words) {
            Some(entry) => {
                tally.entries += 1;
                held.push_back(entry);
            }
            None => tally.damaged += 1,
        });
        tally.damaged += u64::from(sound.is_err());
        if let Some(entry) = held.back() {
            self.last = (entry.at, entry.cycle);
        }
        let lost = reader.lost();
        let newly_lost = lost.wrapping_sub(tally.lost);
        if newly_lost > 0 {
            tally.lost = lost;
            let (at, cycle) = self.last;
            held.push_back(Entry { at, kind: EventKind::Lost, arg: 0, cycle, a: newly_lost, b: 0 });
        }
    }
}
