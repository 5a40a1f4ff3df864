//! The recorder's log: one writer that never waits and drops entries when the log is full, and one reader.

use super::atomic::Ordering;
use super::layout::{CONSUMED_AT, ENTRY_SIZE, LOST_AT, PUBLISHED_AT, SegmentKind};
use super::segment::{Access, Segment, SegmentError};
use super::slot::ReadError;

/// One entry of a log: four words with a meaning defined by the writer.
pub type LogEntry = [u64; ENTRY_SIZE / 8];

/// The writing end. There must be only one at a time. After its death the next writer continues from the count.
#[derive(Debug)]
pub struct LogWriter {
    segment: Segment,
    published: u32,
    /// The reader's count as last read: its cache line is fetched only when the log seems full.
    consumed: u32,
}

/// The reading end. There must be only one at a time. It sees only whole entries, whenever the writer dies.
#[derive(Debug)]
pub struct LogReader {
    segment: Segment,
    consumed: u32,
}

impl LogWriter {
    /// Attaches the writing end to `segment`.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Log, Access::ReadWrite)?;
        let published = segment.acquire(PUBLISHED_AT);
        let consumed = segment.acquire(CONSUMED_AT);
        Ok(Self { segment, published, consumed })
    }

    /// Appends `entry`, or counts it as lost if the log is full: five stores, no system call, no loop.
    #[inline]
    pub fn push(&mut self, entry: LogEntry) {
        let capacity = self.segment.capacity();
        if self.published.wrapping_sub(self.consumed) >= capacity {
            // SYNC POINT with the release in `LogReader::drain`: the reader is done with the slots before it.
            self.consumed = self.segment.acquire(CONSUMED_AT);
            // A count ahead of this end's (from a faulty reader) also looks full.
            if self.published.wrapping_sub(self.consumed) >= capacity {
                let lost = self.segment.u64(LOST_AT);
                lost.store(lost.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
                return;
            }
        }
        let number = self.published.wrapping_add(1);
        let slot = self.segment.layout.slot(number);
        for (index, word) in entry.into_iter().enumerate() {
            self.segment.u64(slot + 8 * index).store(word, Ordering::Relaxed);
        }
        // SYNC POINT with the acquire in `LogReader::drain`: a reader that sees the number sees the entry.
        self.segment.u32(PUBLISHED_AT).store(number, Ordering::Release);
        self.published = number;
    }

    /// Returns how many entries were dropped because the log was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.segment.u64(LOST_AT).load(Ordering::Relaxed)
    }

    /// Returns the underlying segment.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

impl LogReader {
    /// Attaches the reading end to `segment`; it writes the count of consumed entries.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Log, Access::ReadWrite)?;
        let consumed = segment.acquire(CONSUMED_AT);
        Ok(Self { segment, consumed })
    }

    /// Passes every entry present now to `take`, oldest first, frees their slots, and returns how many there were. If
    /// the reader is killed meanwhile, the next reader gets them again.
    ///
    /// # Errors
    /// [`ReadError::Counts`], after which the log is empty.
    pub fn drain(&mut self, mut take: impl FnMut(LogEntry)) -> Result<usize, ReadError> {
        // SYNC POINT with the release in `LogWriter::push`.
        let published = self.segment.acquire(PUBLISHED_AT);
        let consumed = self.consumed;
        let held = published.wrapping_sub(consumed);
        let sound = held <= self.segment.capacity();
        if sound {
            for index in 1..=held {
                let slot = self.segment.layout.slot(consumed.wrapping_add(index));
                take(std::array::from_fn(|word| {
                    self.segment.u64(slot + 8 * word).load(Ordering::Relaxed)
                }));
            }
        }
        self.consumed = published;
        // SYNC POINT with the acquire in `LogWriter::push`: the copies out of the slots are complete.
        self.segment.u32(CONSUMED_AT).store(published, Ordering::Release);
        if sound { Ok(held as usize) } else { Err(ReadError::Counts { published, consumed }) }
    }

    /// Returns how many entries were dropped because the log was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.segment.u64(LOST_AT).load(Ordering::Relaxed)
    }

    /// Returns the underlying segment.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::shared::pair;

    fn ends(capacity: u32) -> (LogWriter, LogReader) {
        let (a, b) = pair(SegmentKind::Log, ENTRY_SIZE, capacity);
        (LogWriter::attach(a).unwrap(), LogReader::attach(b).unwrap())
    }

    fn drain(reader: &mut LogReader) -> Vec<u64> {
        let mut values = vec![];
        let count = reader
            .drain(|entry| {
                assert_eq!(entry, [entry[0]; 4]);
                values.push(entry[0]);
            })
            .unwrap();
        assert_eq!(count, values.len());
        values
    }

    proptest! {
        #[test]
        fn the_log_keeps_the_oldest_in_order_and_counts_the_rest(
            capacity in 1u32..6,
            start in prop_oneof![Just(0), Just(u32::MAX - 3)],
            pushes in proptest::collection::vec(0u64..9, 0..20),
        ) {
            let (writer, reader) = ends(capacity);
            writer.segment.u32(PUBLISHED_AT).store(start, Ordering::Relaxed);
            writer.segment.u32(CONSUMED_AT).store(start, Ordering::Relaxed);
            let mut writer = LogWriter::attach(writer.segment).unwrap();
            let mut reader = LogReader::attach(reader.segment).unwrap();
            let (mut model, mut lost, mut next) = (VecDeque::new(), 0, 0u64);
            for count in pushes {
                for _ in 0..count {
                    writer.push([next; 4]);
                    if model.len() < capacity as usize { model.push_back(next) } else { lost += 1 }
                    next += 1;
                }
                prop_assert_eq!(drain(&mut reader), model.drain(..).collect::<Vec<_>>());
                prop_assert_eq!((writer.lost(), reader.lost()), (lost, lost));
            }
        }
    }

    #[test]
    fn damaged_counts_are_reported_and_the_log_recovers() {
        let (writer, mut reader) = ends(4);
        writer.segment.u32(PUBLISHED_AT).store(9, Ordering::Relaxed);
        let counts = ReadError::Counts { published: 9, consumed: 0 };
        assert_eq!(reader.drain(|_| panic!("nothing can be trusted")), Err(counts));
        let mut writer = LogWriter::attach(writer.segment).unwrap();
        writer.push([1; 4]);
        assert_eq!(drain(&mut reader), [1]);
    }

    #[test]
    fn the_count_of_losses_wraps() {
        let (mut writer, _reader) = ends(1);
        writer.segment.u64(LOST_AT).store(u64::MAX, Ordering::Relaxed);
        (0..2).for_each(|value| writer.push([value; 4]));
        assert_eq!(writer.lost(), 0);
    }

    #[test]
    fn every_entry_of_a_busy_writer_is_read_or_counted() {
        let (mut writer, mut reader) = ends(64);
        let writing =
            std::thread::spawn(move || (0..300_000).for_each(|value| writer.push([value; 4])));
        let (mut seen, mut last) = (0, None);
        loop {
            let over = writing.is_finished();
            for value in drain(&mut reader) {
                assert!(Some(value) > last);
                (seen, last) = (seen + 1, Some(value));
            }
            if over {
                break;
            }
        }
        assert_eq!(seen + reader.lost(), 300_000);
    }
}
