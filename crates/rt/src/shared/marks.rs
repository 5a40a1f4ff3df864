//! The reading end of marks by foreign programs: lanes that their tasks claim, and calls to the recorder.

use std::os::fd::BorrowedFd;

use super::atomic::{Ordering, fence};
use super::layout::lane::{
    CALL_AT, CALL_LEN, CALL_PID_AT, CALL_TEXT_AT, CALL_TEXT_LEN, CALL_WHAT_AT, CALLS_MAX,
    CONSUMED_AT, DEADLINE_AT, ENTRIES_AT, LOST_AT, MARK_NAMES_AT, MARK_NAMES_MAX, NAME_AT,
    NAME_LEN, NAMELESS_AT, NAMES_AT, OWNER_AT, PERIOD_AT, PID_AT, PUBLISHED_AT, REFUSED_CALLS_AT,
    REFUSED_TASKS_AT, STATE_AT, TID_AT,
};
use super::layout::{ENTRY_SIZE, SegmentKind};
use super::log::LogEntry;
use super::segment::{Access, Segment, SegmentError};
use super::slot::ReadError;

/// The usual number of lanes, which is the number of tasks that can mark at one time. With the slot for calls
/// they are 64 slots, a power of two.
pub const LANES: u32 = 63;
/// The usual number of entries per lane: 256 KiB, enough for two seconds of a task that marks 4,000 times a second.
pub const LANE_ENTRIES: u32 = 1 << 13;

/// The `state` word of a lane in use.
const IN_USE: u32 = 1;
/// The `state` word of a lane that its task has given back.
const GIVEN_BACK: u32 = 2;

/// The reading end of the marks of foreign programs. There must be only one at a time.
///
/// The writing end is not part of this crate: the crate `hemiola-mark`, its C header and its Python module follow the
/// [layout](super#layout). Everything they write is checked here, and no content makes the reader fail.
#[derive(Debug)]
pub struct MarksReader {
    segment: Segment,
    /// Entries per lane: the largest power of two that fits, as the writers compute it too.
    entries: u32,
    /// The number of entries taken from each lane.
    consumed: Vec<u32>,
}

/// The description that a task wrote when it claimed its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its process.
    pub pid: u32,
    /// Its thread: the one that claimed the lane until the first entry, then the one that marks.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its period in nanoseconds; 0 if it has none.
    pub period_ns: u64,
    /// Its deadline in nanoseconds after the release; 0 if it has none.
    pub deadline_ns: u64,
}

/// A request from a program to the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it was made, in nanoseconds on the monotonic clock.
    pub at: u64,
    /// The kind of request.
    pub kind: CallKind,
    /// The process that made it.
    pub pid: u32,
    /// The reason given.
    pub text: String,
}

/// The kinds of requests to the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Record from now on.
    Start,
    /// Stop recording.
    Stop,
    /// Keep the recording of what led here.
    Trigger,
}

impl MarksReader {
    /// Creates memory for `lanes` tasks with at least `entries` entries each, with no lane claimed.
    ///
    /// # Errors
    /// [`SegmentError::Sizes`] and [`SegmentError::System`].
    pub fn create(label: &str, lanes: u32, entries: u32) -> Result<Self, SegmentError> {
        let sizes = || SegmentError::Sizes { slot_size: ENTRY_SIZE, slot_count: lanes };
        let entries = entries.max(2).checked_next_power_of_two().ok_or_else(sizes)?;
        let slot_size = ENTRIES_AT + ENTRY_SIZE * entries as usize;
        let slots = lanes.checked_add(1).ok_or_else(sizes)?;
        let segment = Segment::create(label, SegmentKind::Marks, slot_size, slots)?;
        Self::attach(segment)
    }

    /// Attaches the reading end to `segment`.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(SegmentKind::Marks, Access::ReadWrite)?;
        let fit = ((segment.slot_size() - ENTRIES_AT) / ENTRY_SIZE) as u32;
        let mut reader = Self { segment, entries: 1 << fit.ilog2(), consumed: Vec::new() };
        reader.consumed = (0..reader.lanes())
            .map(|lane| reader.word(lane, CONSUMED_AT).load(Ordering::Relaxed))
            .collect();
        Ok(reader)
    }

    /// Returns the descriptor, for handing to programs.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.segment.fd()
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.segment.capacity() - 1
    }

    /// Returns the description of the task that has lane `lane`; `None` if the lane is free.
    ///
    /// # Panics
    /// If there is no such lane, here and below.
    #[must_use]
    pub fn claim(&self, lane: u32) -> Option<Claim> {
        // SYNC POINT with the writer's release of `state`: the description is complete.
        let state = self.acquire(lane, STATE_AT);
        (state == IN_USE || state == GIVEN_BACK).then(|| Claim {
            pid: self.word(lane, PID_AT).load(Ordering::Relaxed),
            tid: self.word(lane, TID_AT).load(Ordering::Relaxed),
            name: self.text(self.at(lane, NAME_AT), NAME_LEN),
            period_ns: self.wide(lane, PERIOD_AT),
            deadline_ns: self.wide(lane, DEADLINE_AT),
        })
    }

    /// Whether the task has given the lane back, after which nothing is added to it.
    #[must_use]
    pub fn is_given_back(&self, lane: u32) -> bool {
        self.acquire(lane, STATE_AT) == GIVEN_BACK
    }

    /// Returns the thread that took the lane and the process it named, also before the lane is in use; (0, 0)
    /// if the lane is free.
    #[must_use]
    pub fn owner(&self, lane: u32) -> (u32, u32) {
        let owner = self.acquire(lane, OWNER_AT);
        (owner, self.word(lane, PID_AT).load(Ordering::Relaxed))
    }

    /// Returns how many mark names the lane has so far, at most as many as a lane can hold.
    #[must_use]
    pub fn names(&self, lane: u32) -> usize {
        (self.acquire(lane, NAMES_AT) as usize).min(MARK_NAMES_MAX)
    }

    /// Returns the name of mark `index`.
    ///
    /// # Panics
    /// If `index` is not below the number of names that a lane can hold.
    #[must_use]
    pub fn name(&self, lane: u32, index: usize) -> String {
        assert!(index < MARK_NAMES_MAX);
        self.text(self.at(lane, MARK_NAMES_AT + index * NAME_LEN), NAME_LEN)
    }

    /// Passes every entry of the lane to `take`, oldest first, frees their places, and returns how many there were.
    ///
    /// # Errors
    /// [`ReadError::Counts`], after which the lane is empty.
    pub fn drain(&mut self, lane: u32, mut take: impl FnMut(LogEntry)) -> Result<usize, ReadError> {
        // SYNC POINT with the writer's release of `published`.
        let published = self.acquire(lane, PUBLISHED_AT);
        let consumed = self.consumed[lane as usize];
        let held = published.wrapping_sub(consumed);
        let sound = held <= self.entries;
        if sound {
            for index in 1..=held {
                let place = consumed.wrapping_add(index) & (self.entries - 1);
                let at = self.at(lane, ENTRIES_AT + place as usize * ENTRY_SIZE);
                take(std::array::from_fn(|word| {
                    self.segment.u64(at + 8 * word).load(Ordering::Relaxed)
                }));
            }
        }
        self.consumed[lane as usize] = published;
        // SYNC POINT with the writer's acquire of `consumed`: the copies are complete.
        self.word(lane, CONSUMED_AT).store(published, Ordering::Release);
        if sound { Ok(held as usize) } else { Err(ReadError::Counts { published, consumed }) }
    }

    /// Returns how many entries of the lane were dropped because it was full.
    #[must_use]
    pub fn lost(&self, lane: u32) -> u64 {
        self.wide(lane, LOST_AT)
    }

    /// Returns how many entries of the lane were dropped because all names of marks were in use.
    #[must_use]
    pub fn nameless(&self, lane: u32) -> u64 {
        self.wide(lane, NAMELESS_AT)
    }

    /// Makes the lane available to another task. Call it only after its task has given it back or can no longer
    /// run: entries that were not drained are lost.
    pub fn free(&mut self, lane: u32) {
        self.consumed[lane as usize] = 0;
        for at in [PUBLISHED_AT, NAMES_AT, CONSUMED_AT, PID_AT, TID_AT] {
            self.word(lane, at).store(0, Ordering::Relaxed);
        }
        for at in [LOST_AT, NAMELESS_AT] {
            self.segment.u64(self.at(lane, at)).store(0, Ordering::Relaxed);
        }
        self.word(lane, STATE_AT).store(0, Ordering::Release);
        // SYNC POINT with the next claim's compare-and-swap.
        self.word(lane, OWNER_AT).store(0, Ordering::Release);
    }

    /// Takes every pending call, oldest first.
    pub fn calls(&mut self) -> Vec<Call> {
        let places = (self.segment.slot_size() / CALL_LEN).min(CALLS_MAX);
        let mut calls = Vec::new();
        for place in 0..places {
            let at = self.segment.layout.slot(0) + place * CALL_LEN;
            // SYNC POINT with the writer's release of `said`.
            if self.segment.acquire(at + STATE_AT) == 0 {
                continue;
            }
            let kind = match self.segment.u32(at + CALL_WHAT_AT).load(Ordering::Relaxed) {
                1 => Some(CallKind::Start),
                2 => Some(CallKind::Stop),
                3 => Some(CallKind::Trigger),
                _ => None,
            };
            calls.extend(kind.map(|kind| Call {
                at: self.segment.u64(at + CALL_AT).load(Ordering::Relaxed),
                kind,
                pid: self.segment.u32(at + CALL_PID_AT).load(Ordering::Relaxed),
                text: self.text(at + CALL_TEXT_AT, CALL_TEXT_LEN),
            }));
            fence(Ordering::Release);
            self.segment.u32(at + STATE_AT).store(0, Ordering::Relaxed);
            self.segment.u32(at + OWNER_AT).store(0, Ordering::Release);
        }
        calls.sort_by_key(|call| call.at);
        calls
    }

    /// Returns how many tasks found no free lane, and how many calls found no free place. They were not recorded.
    #[must_use]
    pub fn refused(&self) -> (u32, u32) {
        let word = |at| self.segment.u32(at).load(Ordering::Relaxed);
        (word(REFUSED_TASKS_AT), word(REFUSED_CALLS_AT))
    }

    fn at(&self, lane: u32, offset: usize) -> usize {
        assert!(lane < self.lanes(), "there is no lane {lane}");
        self.segment.layout.slot(lane + 1) + offset
    }

    fn word(&self, lane: u32, offset: usize) -> &super::atomic::AtomicU32 {
        self.segment.u32(self.at(lane, offset))
    }

    fn wide(&self, lane: u32, offset: usize) -> u64 {
        self.segment.u64(self.at(lane, offset)).load(Ordering::Relaxed)
    }

    fn acquire(&self, lane: u32, offset: usize) -> u32 {
        self.segment.acquire(self.at(lane, offset))
    }

    /// Returns the text up to its first zero byte; invalid UTF-8 is replaced.
    fn text(&self, at: usize, len: usize) -> String {
        let bytes: Vec<u8> = (0..len)
            .step_by(8)
            .flat_map(|word| self.segment.u64(at + word).load(Ordering::Relaxed).to_le_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn small() -> MarksReader {
        MarksReader::create("test", 2, 4).unwrap()
    }

    /// Claims lane `lane` as a writer does.
    fn claim(reader: &MarksReader, lane: u32, pid: u32) {
        reader.word(lane, OWNER_AT).store(pid, Ordering::Relaxed);
        reader.word(lane, PID_AT).store(pid, Ordering::Relaxed);
        reader.word(lane, STATE_AT).store(IN_USE, Ordering::Release);
    }

    #[test]
    fn bytes_are_at_the_offsets_of_the_drawing() {
        let mut reader = small();
        let lane = 192 + 1216 + 4 * 32;
        let write = |at: usize, bytes: &[u8]| {
            assert_eq!(rustix::io::pwrite(reader.fd(), bytes, at as u64).unwrap(), bytes.len());
        };
        for (at, value) in [(0, 7_u32), (4, 1), (8, 5), (12, 7), (64, 1), (68, 1)] {
            write(lane + at, &value.to_le_bytes());
        }
        write(lane + 16, &1_000_000_u64.to_le_bytes());
        write(lane + 24, &900_000_u64.to_le_bytes());
        write(lane + 32, b"control");
        write(lane + 192, b"sensors");
        let entry = [11_u64, 12, 13, 14];
        for (index, word) in entry.into_iter().enumerate() {
            write(lane + 1216 + 32 + 8 * index, &word.to_le_bytes());
        }
        write(192 + 64 + 8, &99_u64.to_le_bytes());
        for (at, value) in [(0, 7_u32), (4, 1), (16, 3), (20, 5)] {
            write(192 + 64 + at, &value.to_le_bytes());
        }
        write(192 + 64 + 24, b"too late");

        let name = "control".into();
        let expected = Claim { pid: 5, tid: 7, name, period_ns: 1_000_000, deadline_ns: 900_000 };
        assert_eq!((reader.claim(0), reader.claim(1)), (Some(expected), None));
        assert_eq!((reader.names(0), reader.name(0, 0).as_str()), (1, "sensors"));
        let mut entries = vec![];
        assert_eq!(reader.drain(0, |entry| entries.push(entry)), Ok(1));
        assert_eq!(entries, [entry]);
        let call = Call { at: 99, kind: CallKind::Trigger, pid: 5, text: "too late".into() };
        assert_eq!(reader.calls(), [call]);
        assert_eq!(reader.calls(), []);
    }

    #[test]
    fn a_freed_lane_starts_empty() {
        let mut reader = small();
        claim(&reader, 1, 8);
        reader.word(1, PUBLISHED_AT).store(3, Ordering::Release);
        assert_eq!(reader.drain(1, |_| {}), Ok(3));
        reader.word(1, STATE_AT).store(GIVEN_BACK, Ordering::Release);
        assert!(reader.is_given_back(1) && reader.claim(1).is_some());
        reader.free(1);
        assert_eq!((reader.claim(1), reader.owner(1)), (None, (0, 0)));
        assert_eq!(reader.drain(1, |_| panic!("nothing was written")), Ok(0));
    }

    proptest! {
        /// A program may write any bytes anywhere.
        #[test]
        fn no_bytes_make_the_reader_fail(
            bytes in proptest::collection::vec(any::<u8>(), 0..4000),
            at in 64_usize..4000,
        ) {
            let mut reader = small();
            let len = 192 + 4 * (1216 + 4 * 32);
            let bytes = &bytes[..bytes.len().min(len - at)];
            rustix::io::pwrite(reader.fd(), bytes, at as u64).unwrap();
            prop_assert!(reader.calls().len() <= 20);
            for lane in 0..reader.lanes() {
                let _ = (reader.claim(lane), reader.owner(lane));
                let _ = (reader.lost(lane), reader.nameless(lane));
                prop_assert!((0..reader.names(lane)).all(|index| reader.name(lane, index).len() <= 3 * NAME_LEN));
                let mut count = 0;
                let drained = reader.drain(lane, |_| count += 1);
                prop_assert!(count <= 4 && drained.is_ok_and(|drained| drained == count) || count == 0);
                reader.free(lane);
            }
        }
    }
}
