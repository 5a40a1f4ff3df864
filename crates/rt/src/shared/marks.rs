//! Marks of foreign programs: lanes that their tasks claim, and calls to the recorder; the reading end.

use std::os::fd::BorrowedFd;

use super::atomic::{Ordering, fence};
use super::layout::lane::{
    CALL_AT, CALL_LEN, CALL_PID_AT, CALL_TEXT_AT, CALL_TEXT_LEN, CALL_WHAT_AT, CALLS_MAX,
    CONSUMED_AT, DEADLINE_AT, ENTRIES_AT, LOST_AT, MARK_NAMES_AT, MARK_NAMES_MAX, NAME_AT,
    NAME_LEN, NAMES_AT, OWNER_AT, PERIOD_AT, PID_AT, PUBLISHED_AT, REFUSED_CALLS_AT,
    REFUSED_TASKS_AT, STATE_AT, TID_AT,
};
use super::layout::{ENTRY_SIZE, Kind};
use super::log::LogEntry;
use super::segment::{Access, Segment, SegmentError};
use super::slot::ReadError;

/// Lanes unless there is a reason for another number: tasks that may mark at one time. With the calls they are 64
/// slots, a power of two.
pub const LANES: u32 = 63;
/// Entries of a lane unless there is a reason for another number: 256 KiB, two seconds of a task that marks
/// 4,000 times a second.
pub const LANE_ENTRIES: u32 = 1 << 13;

/// A lane in use: the writer's `state` word.
const IN_USE: u32 = 1;
/// A lane that its task has given back.
const GIVEN_BACK: u32 = 2;

/// The reading end of the marks of foreign programs. There must be one at a time.
///
/// The writing end is no part of Hemiola: the crate `hemiola-mark`, its C header and its Python module follow
/// the [layout](super#layout). Whatever they write is checked here, and no reason to fail.
#[derive(Debug)]
pub struct MarksReader {
    segment: Segment,
    /// Entries of a lane: the power of two its writers reckon too.
    entries: u32,
    /// Of each lane, how many entries were taken.
    consumed: Vec<u32>,
}

/// What a task said of itself when it claimed its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its process.
    pub pid: u32,
    /// Its thread, as of now: until the first entry the one that claimed the lane.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its period in nanoseconds; 0 if it has none.
    pub period_ns: u64,
    /// Its deadline in nanoseconds after the release; 0 if it has none.
    pub deadline_ns: u64,
}

/// What a program asked of the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When, in nanoseconds on the monotonic clock.
    pub at: u64,
    /// What.
    pub kind: CallKind,
    /// The process that asked.
    pub pid: u32,
    /// Why, in its words.
    pub text: String,
}

/// What can be asked of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Record from now on.
    Start,
    /// Record no more.
    Stop,
    /// Keep what led here.
    Trigger,
}

impl MarksReader {
    /// New memory for `lanes` tasks with at least `entries` entries each, nothing claimed.
    ///
    /// # Errors
    /// [`SegmentError::Sizes`] and [`SegmentError::System`].
    pub fn create(label: &str, lanes: u32, entries: u32) -> Result<Self, SegmentError> {
        let sizes = || SegmentError::Sizes { slot_size: ENTRY_SIZE, slot_count: lanes };
        let entries = entries.max(2).checked_next_power_of_two().ok_or_else(sizes)?;
        let slot_size = ENTRIES_AT + ENTRY_SIZE * entries as usize;
        let slots = lanes.checked_add(1).ok_or_else(sizes)?;
        let segment = Segment::create(label, Kind::Marks, slot_size, slots)?;
        Self::attach(segment)
    }

    /// The reading end of `segment`.
    ///
    /// # Errors
    /// [`SegmentError::WrongKind`], [`SegmentError::ReadOnly`].
    pub fn attach(segment: Segment) -> Result<Self, SegmentError> {
        let segment = segment.expect(Kind::Marks, Access::ReadWrite)?;
        let fit = ((segment.slot_size() - ENTRIES_AT) / ENTRY_SIZE) as u32;
        let mut reader = Self { segment, entries: 1 << fit.ilog2(), consumed: Vec::new() };
        reader.consumed = (0..reader.lanes())
            .map(|lane| reader.word(lane, CONSUMED_AT).load(Ordering::Relaxed))
            .collect();
        Ok(reader)
    }

    /// The descriptor, for handing to programs.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.segment.fd()
    }

    /// How many lanes there are.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.segment.capacity() - 1
    }

    /// Who has lane `lane`, if anybody has.
    ///
    /// # Panics
    /// When there is no such lane, here and below.
    #[must_use]
    pub fn claim(&self, lane: u32) -> Option<Claim> {
        // SYNC POINT with the writer's release of `state`: what it says of itself is whole.
        let state = self.acquire(lane, STATE_AT);
        (state == IN_USE || state == GIVEN_BACK).then(|| Claim {
            pid: self.word(lane, PID_AT).load(Ordering::Relaxed),
            tid: self.word(lane, TID_AT).load(Ordering::Relaxed),
            name: self.text(self.at(lane, NAME_AT), NAME_LEN),
            period_ns: self.wide(lane, PERIOD_AT),
            deadline_ns: self.wide(lane, DEADLINE_AT),
        })
    }

    /// Whether its task has given the lane back: nothing is added to it any more.
    #[must_use]
    pub fn is_given_back(&self, lane: u32) -> bool {
        self.acquire(lane, STATE_AT) == GIVEN_BACK
    }

    /// The thread that took the lane and the process it named, also while it is not yet in use; 0 each for nobody.
    #[must_use]
    pub fn owner(&self, lane: u32) -> (u32, u32) {
        let owner = self.acquire(lane, OWNER_AT);
        (owner, self.word(lane, PID_AT).load(Ordering::Relaxed))
    }

    /// Names of marks the lane has by now, counted up to what a lane holds.
    #[must_use]
    pub fn names(&self, lane: u32) -> usize {
        (self.acquire(lane, NAMES_AT) as usize).min(MARK_NAMES_MAX)
    }

    /// The name of mark `index`.
    ///
    /// # Panics
    /// When a lane has no so many.
    #[must_use]
    pub fn name(&self, lane: u32, index: usize) -> String {
        assert!(index < MARK_NAMES_MAX);
        self.text(self.at(lane, MARK_NAMES_AT + index * NAME_LEN), NAME_LEN)
    }

    /// Hands every entry of the lane to `take`, oldest first, and frees their places; returns how many.
    ///
    /// # Errors
    /// [`ReadError::Counts`], after which the lane goes on empty.
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
        // SYNC POINT with the writer's acquire of `consumed`: the copies are over.
        self.word(lane, CONSUMED_AT).store(published, Ordering::Release);
        if sound { Ok(held as usize) } else { Err(ReadError::Counts { published, consumed }) }
    }

    /// Entries of the lane dropped so far because it was full.
    #[must_use]
    pub fn lost(&self, lane: u32) -> u64 {
        self.wide(lane, LOST_AT)
    }

    /// Makes the lane free for another task. Only after its task has given it back, or cannot run any more:
    /// what it did not drain is gone.
    pub fn free(&mut self, lane: u32) {
        self.consumed[lane as usize] = 0;
        for at in [PUBLISHED_AT, NAMES_AT, CONSUMED_AT, PID_AT, TID_AT] {
            self.word(lane, at).store(0, Ordering::Relaxed);
        }
        let lost = self.segment.u64(self.at(lane, LOST_AT));
        lost.store(0, Ordering::Relaxed);
        self.word(lane, STATE_AT).store(0, Ordering::Release);
        // SYNC POINT with the next claim's compare-and-swap.
        self.word(lane, OWNER_AT).store(0, Ordering::Release);
    }

    /// Takes every call there is, oldest first.
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

    /// Tasks that found no free lane, and calls that found no free place: they went unheard.
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

    /// Text up to its first zero, with marks in place of what is no UTF-8.
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
    fn the_bytes_lie_where_the_drawing_says() {
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
    fn a_lane_that_is_freed_starts_anew() {
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
        /// A program may write anything anywhere.
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
                let _ = (reader.claim(lane), reader.owner(lane), reader.lost(lane));
                prop_assert!((0..reader.names(lane)).all(|index| reader.name(lane, index).len() <= 3 * NAME_LEN));
                let mut count = 0;
                let drained = reader.drain(lane, |_| count += 1);
                prop_assert!(count <= 4 && drained.is_ok_and(|drained| drained == count) || count == 0);
                reader.free(lane);
            }
        }
    }
}
