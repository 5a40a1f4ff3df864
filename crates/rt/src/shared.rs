//! Structures in memory shared between processes that may fail, or be killed, at any instruction.
//!
//! In reading order: the common [layout](self#layout), [`Segment`], then three structures: the latest value
//! ([`LatestWriter`], [`LatestReader`]), the bounded queue ([`QueueWriter`], [`QueueReader`]) and the recorder's log
//! ([`LogWriter`], [`LogReader`]). [`MarksReader`] reads the logs that foreign programs write. [`Stream`] is two
//! rings of bytes with wake-up descriptors, for programs that wait for many peers at once. [`Words`] are single
//! words, to measure the cost that the others build on.
//!
//! The first three publish in the same way: the writer fills a slot that no reader uses, then advances one count. A
//! writer that is killed before that last store has published nothing, and its successor continues from the count.
//! Readers check everything they find against sizes that they keep privately, so a peer that writes nonsense causes
//! an error and never undefined behaviour.
//!
//! # Layout
#![doc = include_str!("shared/layout.md")]
//!
//! ```
//! use hemiola_rt::shared::{Access, SegmentKind, LATEST_SLOTS, LatestReader, LatestWriter, Segment};
//!
//! let segment = Segment::create("sensors", SegmentKind::Latest, 64, LATEST_SLOTS)?;
//! // A reader in another process would get this descriptor by inheritance.
//! let reader = Segment::from_fd(segment.reopen_read_only()?, Access::ReadOnly)?;
//! let (mut writer, mut reader) = (LatestWriter::attach(segment)?, LatestReader::attach(reader)?);
//! writer.publish(b"0.25 m")?;
//! let mut buffer = [0; 64];
//! let message = reader.read(&mut buffer)?.expect("one was published");
//! assert_eq!(&buffer[..message.length], b"0.25 m");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    not(loom),
    expect(
        unsafe_code,
        reason = "words of a mapping are reached through its address: memory.rs alone"
    )
)]

mod atomic;
mod latest;
mod layout;
mod log;
#[cfg(not(loom))]
mod marks;
#[cfg(not(loom))]
mod memory;
#[cfg(loom)]
mod memory_loom;
#[cfg(all(test, loom))]
mod model;
mod queue;
mod segment;
mod slot;
mod stream;
#[cfg(not(loom))]
mod words;

pub use latest::{LatestReader, LatestWriter, READ_TRIES_MAX};
pub use layout::{ENTRY_SIZE, LATEST_SLOTS, SegmentKind};
pub use log::{LogEntry, LogReader, LogWriter};
#[cfg(not(loom))]
pub use marks::{Call, CallKind, Claim, LANE_ENTRIES, LANES, MarksReader};
pub use queue::{PushError, QueueReader, QueueWriter};
pub use segment::{Access, Segment, SegmentError};
pub use slot::{Message, ReadError, TooLong};
pub use stream::{
    STREAM_CAPACITY_MAX, STREAM_CAPACITY_MIN, Stream, StreamEnded, StreamError, Urgency, Wake,
};
#[cfg(not(loom))]
pub use words::Words;

/// How a wait for a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// There is a message.
    Ready,
    /// The time limit came first.
    TimedOut,
}

/// Sleeps until `word` differs from `seen` or until `until`, whichever comes first.
#[cfg(not(loom))]
fn wait_for_change(
    word: &std::sync::atomic::AtomicU32,
    seen: u32,
    until: hemiola_units::Instant,
) -> Readiness {
    use crate::sys::futex::{Wake, wait_until};
    use std::sync::atomic::Ordering;
    loop {
        if word.load(Ordering::Relaxed) != seen {
            return Readiness::Ready;
        }
        if wait_until(word, seen, Some(until)) == Wake::TimedOut {
            let changed = word.load(Ordering::Relaxed) != seen;
            return if changed { Readiness::Ready } else { Readiness::TimedOut };
        }
    }
}

/// Returns two ends on one new segment, mapped twice, as in two processes.
#[cfg(all(test, not(loom)))]
fn pair(kind: SegmentKind, slot_size: usize, slot_count: u32) -> (Segment, Segment) {
    let segment = Segment::create("test", kind, slot_size, slot_count).unwrap();
    let fd = segment.fd().try_clone_to_owned().unwrap();
    let again = Segment::from_fd(fd, Access::ReadWrite).unwrap();
    (segment, again)
}
