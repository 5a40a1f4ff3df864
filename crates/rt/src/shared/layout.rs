//! Offsets and sizes of a segment, version 1.
//!
//! The drawing is in the documentation of [`shared`](super#layout), from `layout.md` beside this file.

#![cfg_attr(loom, allow(dead_code, reason = "loom's memory has no header"))]

/// "HEM1", little-endian.
pub(super) const MAGIC: u32 = 0x314D_4548;
pub(super) const VERSION: u32 = 1;

pub(super) const MAGIC_AT: usize = 0;
pub(super) const VERSION_AT: usize = 4;
pub(super) const KIND_AT: usize = 8;
pub(super) const SLOT_SIZE_AT: usize = 12;
pub(super) const SLOT_COUNT_AT: usize = 16;
pub(super) const CAPACITY_AT: usize = 20;
pub(super) const PUBLISHED_AT: usize = 64;
pub(super) const LOST_AT: usize = 72;
pub(super) const CONSUMED_AT: usize = 128;
pub(super) const AWAKE_AT: usize = 132;
pub(super) const SLOTS_AT: usize = 192;

/// Offsets within a slot of a latest value or queue.
pub(super) const LENGTH_IN_SLOT: usize = 0;
pub(super) const NUMBER_IN_SLOT: usize = 4;
pub(super) const PAYLOAD_IN_SLOT: usize = 8;

/// Bytes of a log entry.
pub const ENTRY_SIZE: usize = 32;
/// Slots of a latest value: the newest, the one being written, and two more, so that a reader is overtaken only
/// when three messages are published while it copies one.
pub const LATEST_SLOTS: u32 = 4;
/// The largest segment; a longer one in a header must be an error.
pub(super) const SEGMENT_LEN_MAX: usize = 1 << 30;

/// Offsets for [`SegmentKind::Marks`]: in the segment, in a lane, in a call.
pub(super) mod lane {
    pub(crate) const REFUSED_TASKS_AT: usize = 64;
    pub(crate) const REFUSED_CALLS_AT: usize = 68;

    pub(crate) const OWNER_AT: usize = 0;
    pub(crate) const STATE_AT: usize = 4;
    pub(crate) const PID_AT: usize = 8;
    pub(crate) const TID_AT: usize = 12;
    pub(crate) const PERIOD_AT: usize = 16;
    pub(crate) const DEADLINE_AT: usize = 24;
    pub(crate) const NAME_AT: usize = 32;
    pub(crate) const PUBLISHED_AT: usize = 64;
    pub(crate) const NAMES_AT: usize = 68;
    pub(crate) const LOST_AT: usize = 72;
    pub(crate) const NAMELESS_AT: usize = 80;
    pub(crate) const CONSUMED_AT: usize = 128;
    pub(crate) const MARK_NAMES_AT: usize = 192;
    pub(crate) const ENTRIES_AT: usize = 1216;
    pub(crate) const NAME_LEN: usize = 32;
    pub(crate) const MARK_NAMES_MAX: usize = 32;

    pub(crate) const CALL_LEN: usize = 64;
    pub(crate) const CALLS_MAX: usize = 64;
    pub(crate) const CALL_AT: usize = 8;
    pub(crate) const CALL_WHAT_AT: usize = 16;
    pub(crate) const CALL_PID_AT: usize = 20;
    pub(crate) const CALL_TEXT_AT: usize = 24;
    pub(crate) const CALL_TEXT_LEN: usize = 40;
}

const _: () = assert!(cfg!(target_endian = "little"), "the segment layout is little-endian");

/// Which structure a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// The latest value: [`LatestWriter`](super::LatestWriter), [`LatestReader`](super::LatestReader).
    Latest = 1,
    /// A bounded queue: [`QueueWriter`](super::QueueWriter), [`QueueReader`](super::QueueReader).
    Queue = 2,
    /// A log that drops when full: [`LogWriter`](super::LogWriter), [`LogReader`](super::LogReader).
    Log = 3,
    /// Logs claimed by foreign programs: [`MarksReader`](super::MarksReader).
    Marks = 4,
}

impl SegmentKind {
    pub(super) fn from_number(number: u32) -> Option<Self> {
        let all = [Self::Latest, Self::Queue, Self::Log, Self::Marks];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// The sizes of a segment, checked once and kept. The header in memory is not trusted afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) kind: SegmentKind,
    pub(super) slot_size: u32,
    pub(super) slot_count: u32,
    pub(super) capacity: u32,
    pub(super) len: usize,
    stride: usize,
}

impl Layout {
    /// Returns the layout with these sizes, or `None` if the drawing does not allow them.
    pub(super) fn new(
        kind: SegmentKind,
        slot_size: u32,
        slot_count: u32,
        capacity: u32,
    ) -> Option<Self> {
        let stride = match kind {
            SegmentKind::Log => ENTRY_SIZE,
            SegmentKind::Marks => slot_size as usize,
            SegmentKind::Latest | SegmentKind::Queue => {
                (PAYLOAD_IN_SLOT + slot_size as usize).checked_next_multiple_of(64)?
            }
        };
        let len = stride.checked_mul(slot_count as usize)?.checked_add(SLOTS_AT)?;
        let sound = slot_size > 0
            && slot_size.is_multiple_of(8)
            && slot_count.is_power_of_two()
            && (1..=slot_count).contains(&capacity)
            && len <= SEGMENT_LEN_MAX
            && match kind {
                SegmentKind::Latest => slot_count >= 2,
                SegmentKind::Queue => true,
                SegmentKind::Log => slot_size as usize == ENTRY_SIZE,
                SegmentKind::Marks => {
                    slot_size.is_multiple_of(64)
                        && slot_size as usize >= lane::ENTRIES_AT + ENTRY_SIZE
                }
            };
        sound.then_some(Self { kind, slot_size, slot_count, capacity, len, stride })
    }

    /// Returns the offset of the slot of message `number`.
    #[inline]
    pub(super) fn slot(&self, number: u32) -> usize {
        SLOTS_AT + (number & (self.slot_count - 1)) as usize * self.stride
    }
}
