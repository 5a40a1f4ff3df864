//! A bounded queue with one writer and one reader. Neither ever waits for the other.

use thiserror::Error;

use super::atomic::Ordering;
use super::layout::{CONSUMED_AT, PUBLISHED_AT, SegmentKind};
use super::segment::{Access, Segment, SegmentError};
use super::slot::{Message, ReadError, TooLong, copy, fill};

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PushError {
    /// The queue holds its whole capacity, because the reader is behind. The message was not added.
    #[error("the queue is full with {capacity} messages")]
    Full {
        /// Its capacity in messages.
        capacity: u32,
    },
    /// The message does not fit into a slot.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The reader's count is ahead of the writer's: some process wrote where only the reader may. The error
    /// persists until a reader resets the counts.
    #[error("the counts are damaged: {published} published, {consumed} consumed")]
    Counts {
        /// The writer's own count.
        published: u32,
        /// The reader's count.
        consumed: u32,
    },
}

/// The writing end. There must be only one at a time. After its death the next writer continues from the count.
#[derive(Debug)]
pub struct QueueWriter {
    segment: Segment,
    published: u32,
}

/// The reading end. There must be only one at a time. After its death the next reader continues with the oldest
/// message not consumed, at worst the one that its predecessor was copying.
#[derive(Debug)]
pub struct QueueReader {
    segment: Segment,
    consumed: u32,
}

impl QueueWriter {
    /// Attaches the writing end to `segment`.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Queue, Access::ReadWrite)?;
        let published = segment.acquire(PUBLISHED_AT);
        Ok(Self { segment, published })
    }

    /// Appends `message` and wakes the reader: one system call, whether the reader waits or not.
    ///
    /// # Errors
    /// [`PushError`]; the message is not appended.
    pub fn push(&mut self, message: &[u8]) -> Result<(), PushError> {
        self.push_quiet(message)?;
        #[cfg(not(loom))]
        crate::sys::futex::wake_all(self.segment.u32(PUBLISHED_AT));
        Ok(())
    }

    /// Like [`push`](Self::push) without the wake-up, for a reader that only polls. A reader in
    /// [`QueueReader::wait`] sleeps until its time limit.
    ///
    /// # Errors
    /// [`PushError`]; the message is not appended.
    pub fn push_quiet(&mut self, message: &[u8]) -> Result<(), PushError> {
        // SYNC POINT with the release in `QueueReader::advance`: the reader is done with the slot.
        let consumed = self.segment.acquire(CONSUMED_AT);
        let capacity = self.segment.capacity();
        match self.published.wrapping_sub(consumed) {
            held if held < capacity => {}
            held if held == capacity => return Err(PushError::Full { capacity }),
            _ => return Err(PushError::Counts { published: self.published, consumed }),
        }
        let number = self.published.wrapping_add(1);
        fill(&self.segment, number, message)?;
        // SYNC POINT with the acquire in `QueueReader::pop`: a reader that sees the number sees the message.
        self.segment.u32(PUBLISHED_AT).store(number, Ordering::Release);
        self.published = number;
        Ok(())
    }

    /// Returns how many messages can be appended now.
    ///
    /// # Errors
    /// [`PushError::Counts`].
    pub fn room(&self) -> Result<u32, PushError> {
        // SYNC POINT as in `push_quiet`, which looks again.
        let consumed = self.segment.acquire(CONSUMED_AT);
        let held = self.published.wrapping_sub(consumed);
        let counts = PushError::Counts { published: self.published, consumed };
        self.segment.capacity().checked_sub(held).ok_or(counts)
    }

    /// Wakes one thread in [`QueueReader::wait`]: a reader has no other, and no count of threads makes the call long.
    #[cfg(not(loom))]
    pub fn wake(&self) {
        crate::sys::futex::wake_one(self.segment.u32(PUBLISHED_AT));
    }

    /// Returns the underlying segment.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

impl QueueReader {
    /// Attaches the reading end to `segment`; it writes the count of consumed messages.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Queue, Access::ReadWrite)?;
        let consumed = segment.acquire(CONSUMED_AT);
        Ok(Self { segment, consumed })
    }

    /// Takes the oldest message into the front of `buffer`; `None` if the queue is empty. Does not wake the writer.
    ///
    /// # Errors
    /// [`ReadError`]. A damaged message is dropped; damaged counts drop everything published so far.
    pub fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Message>, ReadError> {
        // SYNC POINT with the release in `QueueWriter::push_quiet`.
        let published = self.segment.acquire(PUBLISHED_AT);
        let consumed = self.consumed;
        match published.wrapping_sub(consumed) {
            0 => return Ok(None),
            held if held > self.segment.capacity() => {
                self.advance(published);
                return Err(ReadError::Counts { published, consumed });
            }
            _ => {}
        }
        let number = consumed.wrapping_add(1);
        let result = copy(&self.segment, number, buffer);
        if !matches!(result, Err(ReadError::BufferTooShort { .. })) {
            self.advance(number);
        }
        result.map(Some)
    }

    fn advance(&mut self, consumed: u32) {
        self.consumed = consumed;
        // SYNC POINT with the acquire in `QueueWriter::push_quiet`: the copy out of the slot is complete.
        self.segment.u32(CONSUMED_AT).store(consumed, Ordering::Release);
    }

    /// Returns the underlying segment.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

#[cfg(not(loom))]
impl QueueReader {
    /// Sleeps until there is a message or until `until`, whichever comes first.
    #[must_use]
    pub fn wait(&self, until: hemiola_units::Instant) -> super::Readiness {
        super::wait_for_change(self.segment.u32(PUBLISHED_AT), self.consumed, until)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::VecDeque;

    use hemiola_units::Instant;
    use proptest::prelude::*;

    use super::*;
    use crate::shared::{Readiness, pair};

    fn ends(capacity: u32) -> (QueueWriter, QueueReader) {
        let (a, b) = pair(SegmentKind::Queue, 16, capacity);
        (QueueWriter::attach(a).unwrap(), QueueReader::attach(b).unwrap())
    }

    fn pop(reader: &mut QueueReader) -> Result<Option<Vec<u8>>, ReadError> {
        let mut buffer = [0; 16];
        let message = reader.pop(&mut buffer)?;
        Ok(message.map(|m| buffer[..m.length].to_vec()))
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(Vec<u8>),
        Pop,
        NextWriter,
        NextReader,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => proptest::collection::vec(any::<u8>(), 0..=17).prop_map(Step::Push),
            4 => Just(Step::Pop),
            1 => Just(Step::NextWriter),
            1 => Just(Step::NextReader),
        ]
    }

    proptest! {
        #[test]
        fn the_queue_behaves_like_a_bounded_deque(
            capacity in 1u32..6,
            start in prop_oneof![Just(0), Just(u32::MAX - 3)],
            steps in proptest::collection::vec(step(), 0..60),
        ) {
            let (writer, reader) = ends(capacity);
            writer.segment.u32(PUBLISHED_AT).store(start, Ordering::Relaxed);
            writer.segment.u32(CONSUMED_AT).store(start, Ordering::Relaxed);
            let mut writer = QueueWriter::attach(writer.segment).unwrap();
            let mut reader = QueueReader::attach(reader.segment).unwrap();
            let mut model = VecDeque::new();
            for step in steps {
                match step {
                    Step::Push(message) => {
                        let expected = if model.len() == capacity as usize {
                            Err(PushError::Full { capacity })
                        } else if message.len() > 16 {
                            Err(PushError::TooLong(TooLong { length: 17, slot_size: 16 }))
                        } else {
                            model.push_back(message.clone());
                            Ok(())
                        };
                        prop_assert_eq!(writer.push(&message), expected);
                    }
                    Step::Pop => prop_assert_eq!(pop(&mut reader), Ok(model.pop_front())),
                    Step::NextWriter => writer = QueueWriter::attach(writer.segment).unwrap(),
                    Step::NextReader => reader = QueueReader::attach(reader.segment).unwrap(),
                }
                let ready = if model.is_empty() { Readiness::TimedOut } else { Readiness::Ready };
                prop_assert_eq!(reader.wait(Instant::ZERO), ready);
            }
        }
    }

    #[test]
    fn a_short_buffer_leaves_the_message_in_the_queue() {
        let (mut writer, mut reader) = ends(2);
        writer.push(b"four").unwrap();
        let error = ReadError::BufferTooShort { length: 4, buffer: 3 };
        assert_eq!(reader.pop(&mut [0; 3]), Err(error));
        assert_eq!(pop(&mut reader), Ok(Some(b"four".to_vec())));
    }

    #[test]
    fn damaged_counts_are_reported_and_the_queue_recovers() {
        let (mut writer, mut reader) = ends(2);
        writer.segment.u32(PUBLISHED_AT).store(9, Ordering::Relaxed);
        assert_eq!(pop(&mut reader), Err(ReadError::Counts { published: 9, consumed: 0 }));
        assert_eq!(pop(&mut reader), Ok(None));
        let counts = PushError::Counts { published: 0, consumed: 9 };
        assert_eq!(writer.push(b"x"), Err(counts));
        let mut writer = QueueWriter::attach(writer.segment).unwrap();
        writer.push(b"x").unwrap();
        assert_eq!(pop(&mut reader), Ok(Some(b"x".to_vec())));
    }

    #[test]
    fn two_threads_pass_every_message_in_order() {
        let (mut writer, mut reader) = ends(3);
        let writing = std::thread::spawn(move || {
            for value in 0..50_000u64 {
                while writer.push(&value.to_le_bytes()).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        for value in 0..50_000u64 {
            while pop(&mut reader).map(|got| got.map(|got| assert_eq!(got, value.to_le_bytes())))
                == Ok(None)
            {
                let _ = reader.wait(Instant::MAX);
            }
        }
        writing.join().unwrap();
    }
}
