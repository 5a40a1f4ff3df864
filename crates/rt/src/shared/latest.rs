//! The latest value, with one writer and any number of readers. Neither side ever waits for the other.
//!
//! The writer fills the slot after the published one, then publishes it. A reader copies the published slot and then
//! checks the count again. The copy is whole unless the writer may already have started to refill that slot, which is
//! possible once it has published `slot_count - 1` or more messages meanwhile.

use super::atomic::{Ordering, fence};
use super::layout::{AWAKE_AT, PUBLISHED_AT, SegmentKind};
use super::segment::{Access, Segment, SegmentError};
use super::slot::{Message, ReadError, TooLong, copy, fill};

/// How often a reader that was overtaken tries again. An attempt fails only if three messages are published during
/// one copy, so a second failure in a row means that the writer is out of control.
pub const READ_TRIES_MAX: u32 = 8;

/// Values of the word in which the only reader tells whether it is awake. A reader that does not tell leaves the first.
const ASLEEP: u32 = 0;
const AWAKE: u32 = 1;

/// The writing end. There must be only one at a time. After its death the next writer continues from the count.
#[derive(Debug)]
pub struct LatestWriter {
    segment: Segment,
    published: u32,
    readers: Readers,
}

/// A reading end, which remembers what it has seen. It needs no write access.
#[derive(Debug)]
pub struct LatestReader {
    segment: Segment,
    seen: u32,
    /// Whether it tells the writer when it sleeps.
    #[cfg_attr(loom, allow(dead_code, reason = "under loom nothing sleeps in `wait`"))]
    tells: bool,
}

/// How many readers a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    Any,
    One,
}

impl LatestWriter {
    /// Attaches the writing end to `segment`.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        Self::for_readers(segment, Readers::Any)
    }

    /// Attaches the writing end to a segment that has one reader: it wakes at most one thread, and none while a reader
    /// of [`LatestReader::attach_alone`] is awake.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach_for_one(segment: Segment) -> Result<Self, SegmentError> {
        Self::for_readers(segment, Readers::One)
    }

    fn for_readers(segment: Segment, readers: Readers) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Latest, Access::ReadWrite)?;
        let published = segment.acquire(PUBLISHED_AT);
        Ok(Self { segment, published, readers })
    }

    /// Publishes `message` and wakes every waiting reader: one system call, whether any reader waits or not, unless it
    /// is for one that tells. Returns the message's number.
    ///
    /// # Errors
    /// [`TooLong`]; nothing is published.
    pub fn publish(&mut self, message: &[u8]) -> Result<u32, TooLong> {
        let number = self.publish_quiet(message)?;
        #[cfg(not(loom))]
        if self.must_wake() {
            let word = self.segment.u32(PUBLISHED_AT);
            match self.readers {
                Readers::Any => {
                    crate::sys::futex::wake_all(word);
                }
                Readers::One => crate::sys::futex::wake_one(word),
            }
        }
        Ok(number)
    }

    /// Whether a reader may sleep: not if the only one has said that it is awake, and thus will see what is published
    /// before it sleeps.
    pub(super) fn must_wake(&self) -> bool {
        if self.readers == Readers::Any {
            return true;
        }
        // SYNC POINT with the fence in `lie_down`: either the reader sees the message, or this end sees that it sleeps.
        fence(Ordering::SeqCst);
        self.segment.u32(AWAKE_AT).load(Ordering::Relaxed) != AWAKE
    }

    /// Like [`publish`](Self::publish) without the wake-up, for readers that only poll: it costs only the stores. A
    /// reader in [`LatestReader::wait`] sleeps until its time limit.
    ///
    /// # Errors
    /// [`TooLong`]; nothing is published.
    pub fn publish_quiet(&mut self, message: &[u8]) -> Result<u32, TooLong> {
        // 0 means "nothing yet", so the count wraps to the slot count, which has the same slot as 0. Any other number
        // would skip a slot and reuse the next one a message earlier than readers assume.
        let number = match self.published.wrapping_add(1) {
            0 => self.segment.layout.slot_count,
            number => number,
        };
        // SYNC POINT with the acquire fence in `peek`: a reader that saw any word of this message also sees that its
        // predecessors were published, and hence that its own slot may be overwritten.
        fence(Ordering::Release);
        fill(&self.segment, number, message)?;
        // SYNC POINT with the acquire in `peek` and `attach`: a reader that sees the number sees the whole message.
        self.segment.u32(PUBLISHED_AT).store(number, Ordering::Release);
        self.published = number;
        Ok(number)
    }

    /// Returns the number of the newest message; 0 if there is none.
    #[must_use]
    pub fn published(&self) -> u32 {
        self.published
    }

    /// Returns the underlying segment.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

impl LatestReader {
    /// Attaches a reading end to `segment`. It has seen nothing: a value that is already there is new to it.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Latest, Access::ReadOnly)?;
        Ok(Self { segment, seen: 0, tells: false })
    }

    /// Attaches the only reading end to `segment`. While it is awake it spares the writer
    /// ([`LatestWriter::attach_for_one`]) the system call that would wake it.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach_alone(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Latest, Access::ReadWrite)?;
        Ok(Self { segment, seen: 0, tells: true })
    }

    /// Tells the writer that this end sleeps from now on. Returns false if there is an unread message: then do not
    /// sleep. Call [`get_up`](Self::get_up) after it in either case.
    pub(super) fn lie_down(&self) -> bool {
        self.segment.u32(AWAKE_AT).store(ASLEEP, Ordering::Relaxed);
        // SYNC POINT with the fence in `must_wake`.
        fence(Ordering::SeqCst);
        self.published() == self.seen
    }

    /// Tells the writer that this end is awake.
    pub(super) fn get_up(&self) {
        self.segment.u32(AWAKE_AT).store(AWAKE, Ordering::Relaxed);
    }

    /// Copies the newest message to the front of `buffer`, if this end has not read it yet.
    ///
    /// # Errors
    /// [`ReadError`]. A damaged or torn message is reported once and then counts as seen.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<Message>, ReadError> {
        if self.published() == self.seen {
            return Ok(None);
        }
        let result = self.peek(buffer);
        match result {
            Ok(Some(Message { number, .. }))
            | Err(ReadError::Torn { number, .. } | ReadError::Damaged { number, .. }) => {
                self.seen = number;
            }
            // A writer that has destroyed its count: a wait for a change must not find one for ever.
            Ok(None) => self.seen = 0,
            Err(_) => {}
        }
        result
    }

    /// Copies the newest message to the front of `buffer`, whether read before or not, and does not mark it as seen.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn peek(&self, buffer: &mut [u8]) -> Result<Option<Message>, ReadError> {
        let mut number = 0;
        for _ in 0..READ_TRIES_MAX {
            number = self.segment.acquire(PUBLISHED_AT);
            if number == 0 {
                return Ok(None);
            }
            let result = copy(&self.segment, number, buffer);
            // SYNC POINT with the release fence in `publish_quiet`.
            fence(Ordering::Acquire);
            let now = self.segment.u32(PUBLISHED_AT).load(Ordering::Relaxed);
            if now.wrapping_sub(number) < self.segment.layout.slot_count - 1 {
                return result.map(Some);
            }
        }
        Err(ReadError::Torn { number, tries: READ_TRIES_MAX })
    }

    /// Returns the number of the newest message at this moment; 0 if there is none.
    #[must_use]
    pub fn published(&self) -> u32 {
        self.segment.acquire(PUBLISHED_AT)
    }

    /// Returns the number of the last message read; 0 if none was.
    #[must_use]
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Returns the underlying segment.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
}

#[cfg(not(loom))]
impl LatestReader {
    /// Sleeps until there is an unread message or until `until`, whichever comes first.
    #[must_use]
    pub fn wait(&self, until: hemiola_units::Instant) -> super::Readiness {
        if !self.tells {
            return super::wait_for_change(self.word(), self.seen, until);
        }
        let readiness = if self.lie_down() {
            super::wait_for_change(self.word(), self.seen, until)
        } else {
            super::Readiness::Ready
        };
        self.get_up();
        readiness
    }

    /// Returns the futex word of the count, for other ways of waiting: [`sys::futex`](crate::sys::futex).
    #[must_use]
    pub fn word(&self) -> &std::sync::atomic::AtomicU32 {
        self.segment.u32(PUBLISHED_AT)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use hemiola_units::{Instant, Span};

    use super::*;
    use crate::clock::{Clock, MonotonicClock};
    use crate::shared::layout::{LATEST_SLOTS, LENGTH_IN_SLOT, NUMBER_IN_SLOT};
    use crate::shared::{Readiness, pair};

    fn ends() -> (LatestWriter, LatestReader) {
        let (a, b) = pair(SegmentKind::Latest, 24, LATEST_SLOTS);
        (LatestWriter::attach(a).unwrap(), LatestReader::attach(b).unwrap())
    }

    fn read(reader: &mut LatestReader) -> Result<Option<(u32, Vec<u8>)>, ReadError> {
        let mut buffer = [0xAA; 24];
        let message = reader.read(&mut buffer)?;
        Ok(message.map(|m| (m.number, buffer[..m.length].to_vec())))
    }

    #[test]
    fn only_the_newest_value_is_read_and_only_once() {
        let (mut writer, mut reader) = ends();
        assert_eq!(read(&mut reader), Ok(None));
        for message in [&b"one"[..], b"two", b"a message of 24 bytes, ok"] {
            let _ = writer.publish(message);
        }
        assert_eq!(read(&mut reader), Ok(Some((2, b"two".to_vec()))), "the third is too long");
        assert_eq!(read(&mut reader), Ok(None));
        writer.publish(b"").unwrap();
        assert_eq!(read(&mut reader), Ok(Some((3, vec![]))));
    }

    #[test]
    fn a_count_that_was_set_back_to_zero_is_no_change_to_wait_for() {
        let (mut writer, mut reader) = ends();
        writer.publish(b"one").unwrap();
        assert_eq!(read(&mut reader), Ok(Some((1, b"one".to_vec()))));
        writer.segment().u32(PUBLISHED_AT).store(0, Ordering::Relaxed);
        assert_eq!(reader.wait(Instant::ZERO), Readiness::Ready);
        assert_eq!(read(&mut reader), Ok(None));
        assert_eq!(reader.wait(Instant::ZERO), Readiness::TimedOut);
        writer.publish(b"two").unwrap();
        assert_eq!(read(&mut reader), Ok(Some((2, b"two".to_vec()))));
    }

    #[test]
    fn peeking_leaves_the_message_unread() {
        let (mut writer, mut reader) = ends();
        writer.publish(b"one").unwrap();
        let mut buffer = [0; 24];
        for _ in 0..2 {
            assert_eq!(reader.peek(&mut buffer), Ok(Some(Message { number: 1, length: 3 })));
        }
        assert_eq!(read(&mut reader), Ok(Some((1, b"one".to_vec()))));
    }

    #[test]
    fn a_short_buffer_leaves_the_message_unread() {
        let (mut writer, mut reader) = ends();
        writer.publish(b"four").unwrap();
        let error = ReadError::BufferTooShort { length: 4, buffer: 3 };
        assert_eq!(reader.read(&mut [0; 3]), Err(error));
        assert_eq!(read(&mut reader), Ok(Some((1, b"four".to_vec()))));
    }

    #[test]
    fn the_next_writer_continues_the_count() {
        let (mut writer, mut reader) = ends();
        writer.publish(b"one").unwrap();
        let mut next = LatestWriter::attach(writer.segment.try_clone().unwrap()).unwrap();
        drop(writer);
        assert_eq!(read(&mut reader), Ok(Some((1, b"one".to_vec()))));
        assert_eq!(next.publish(b"two"), Ok(2));
        assert_eq!(read(&mut reader), Ok(Some((2, b"two".to_vec()))));
    }

    #[test]
    fn the_count_wraps_to_the_slot_count_and_every_slot_keeps_its_turn() {
        let (writer, mut reader) = ends();
        writer.segment.u32(PUBLISHED_AT).store(u32::MAX - 3, Ordering::Relaxed);
        let mut writer = LatestWriter::attach(writer.segment).unwrap();
        let slots = writer.segment.layout.slot_count;
        let mut filled = vec![];
        for number in [u32::MAX - 2, u32::MAX - 1, u32::MAX, slots, slots + 1] {
            writer.publish(b"x").unwrap();
            assert_eq!(read(&mut reader), Ok(Some((number, b"x".to_vec()))));
            filled.push(writer.segment.layout.slot(number));
        }
        // A slot is reused only after all the others. Readers rely on that.
        assert_eq!(filled[4], filled[0]);
        filled.pop();
        filled.sort_unstable();
        filled.dedup();
        assert_eq!(filled.len(), slots as usize);
    }

    #[test]
    fn a_damaged_message_is_reported_once_and_the_next_is_read() {
        let (mut writer, mut reader) = ends();
        for (word, value, found, length) in
            [(LENGTH_IN_SLOT, u32::MAX, 1, u32::MAX), (NUMBER_IN_SLOT, 77, 77, 1)]
        {
            let number = writer.publish(b"x").unwrap();
            let found = if word == LENGTH_IN_SLOT { number } else { found };
            let slot = writer.segment.layout.slot(number);
            writer.segment.u32(slot + word).store(value, Ordering::Relaxed);
            assert_eq!(read(&mut reader), Err(ReadError::Damaged { number, found, length }));
            assert_eq!(read(&mut reader), Ok(None));
        }
        writer.publish(b"well").unwrap();
        assert_eq!(read(&mut reader), Ok(Some((3, b"well".to_vec()))));
    }

    #[test]
    fn any_count_from_a_faulty_writer_is_survived() {
        let (mut writer, mut reader) = ends();
        writer.publish(b"x").unwrap();
        for published in [0, 2, 5, 1 << 31, u32::MAX] {
            writer.segment.u32(PUBLISHED_AT).store(published, Ordering::Relaxed);
            let _ = read(&mut reader);
        }
        assert_eq!(reader.segment().slot_size(), 24);
    }

    #[test]
    fn waiting_ends_with_a_message_or_at_the_limit() {
        let (mut writer, mut reader) = ends();
        assert_eq!(reader.wait(Instant::ZERO), Readiness::TimedOut);
        let soon = MonotonicClock.now() + Span::from_millis(1);
        assert_eq!(reader.wait(soon), Readiness::TimedOut);
        assert!(MonotonicClock.now() >= soon);
        writer.publish(b"x").unwrap();
        assert_eq!(reader.wait(Instant::ZERO), Readiness::Ready);
        read(&mut reader).unwrap();
        let waiting = std::thread::spawn(move || reader.wait(Instant::MAX));
        writer.publish(b"y").unwrap();
        assert_eq!(waiting.join().unwrap(), Readiness::Ready);
    }

    fn alone() -> (LatestWriter, LatestReader) {
        let (a, b) = pair(SegmentKind::Latest, 24, LATEST_SLOTS);
        (LatestWriter::attach_for_one(a).unwrap(), LatestReader::attach_alone(b).unwrap())
    }

    #[test]
    fn a_reader_that_tells_is_woken_only_when_it_sleeps() {
        let (mut writer, mut reader) = alone();
        assert!(writer.must_wake(), "it has not said that it is awake");
        assert_eq!(reader.wait(Instant::ZERO), Readiness::TimedOut);
        assert!(!writer.must_wake());
        writer.publish(b"x").unwrap();
        assert_eq!(reader.wait(Instant::MAX), Readiness::Ready);
        assert_eq!(read(&mut reader), Ok(Some((1, b"x".to_vec()))));
        assert!(reader.lie_down() && writer.must_wake());
        reader.get_up();
        // A successor begins as one that may sleep.
        drop(reader);
        let next = LatestReader::attach_alone(writer.segment.try_clone().unwrap()).unwrap();
        assert!(!next.lie_down() && writer.must_wake());
    }

    #[test]
    fn no_message_is_slept_through_by_a_reader_that_tells() {
        let (mut writer, mut reader) = alone();
        let answered = Arc::new(AtomicU32::new(0));
        let answers = answered.clone();
        let reading = std::thread::spawn(move || {
            for number in 1..=20_000 {
                assert_eq!(reader.wait(Instant::MAX), Readiness::Ready);
                assert_eq!(read(&mut reader), Ok(Some((number, vec![]))));
                answers.store(number, Ordering::Relaxed);
            }
        });
        for number in 1..=20_000 {
            writer.publish(b"").unwrap();
            while answered.load(Ordering::Relaxed) != number {
                std::thread::yield_now();
            }
        }
        reading.join().unwrap();
    }

    #[test]
    fn a_reader_of_a_busy_writer_sees_whole_messages_in_order() {
        let (mut writer, mut reader) = ends();
        let writing = std::thread::spawn(move || {
            for value in 1..=200_000u64 {
                writer.publish_quiet(&[value.to_le_bytes(); 3].concat()).unwrap();
            }
        });
        let mut last = 0;
        while last < 200_000 {
            let (_, bytes) = match read(&mut reader) {
                Ok(Some(message)) => message,
                Ok(None) | Err(ReadError::Torn { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            let value = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            assert_eq!(bytes, [value.to_le_bytes(); 3].concat());
            assert!(value > last, "{value} after {last}");
            last = value;
        }
        writing.join().unwrap();
    }
}
