//! Copies one message into or out of a slot, word by word.

use thiserror::Error;

use super::atomic::Ordering;
use super::layout::{LENGTH_IN_SLOT, NUMBER_IN_SLOT, PAYLOAD_IN_SLOT};
use super::segment::Segment;

/// A message that was read: the first `length` bytes of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The writer's count, from 1, wrapping. A gap in a latest value means values that this reader never saw.
    pub number: u32,
    /// Bytes written to the buffer.
    pub length: usize,
}

/// A message longer than its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a message of {length} bytes does not fit a slot of {slot_size}")]
pub struct TooLong {
    /// The message's bytes.
    pub length: usize,
    /// The capacity of a slot in bytes.
    pub slot_size: usize,
}

/// Why a message that exists cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The caller's buffer is shorter than the message. The message stays unread.
    #[error("the message has {length} bytes and the buffer {buffer}")]
    BufferTooShort {
        /// The message's bytes.
        length: usize,
        /// The buffer's bytes.
        buffer: usize,
    },
    /// The writer overtook every attempt: it publishes faster than this reader can copy one message. The next
    /// message can be read normally.
    #[error("the writer overtook {tries} attempts to read message {number}")]
    Torn {
        /// The last message that was tried.
        number: u32,
        /// The number of attempts.
        tries: u32,
    },
    /// The words in memory contradict each other: the writer is faulty, or another process wrote where only the
    /// writer may. Reported once per such message; later messages can be read normally.
    #[error("message {number} is damaged: its slot has number {found} and {length} bytes")]
    Damaged {
        /// The expected number.
        number: u32,
        /// The number in its slot.
        found: u32,
        /// The length in its slot.
        length: u32,
    },
    /// The counts in memory contradict each other. The reader continues with the newest message.
    #[error("the counts are damaged: {published} published, {consumed} consumed")]
    Counts {
        /// The writer's count.
        published: u32,
        /// The reader's own count.
        consumed: u32,
    },
}

/// Writes message `number` to its slot; the caller then publishes it.
pub(super) fn fill(segment: &Segment, number: u32, message: &[u8]) -> Result<(), TooLong> {
    let slot_size = segment.slot_size();
    if message.len() > slot_size {
        return Err(TooLong { length: message.len(), slot_size });
    }
    let slot = segment.layout.slot(number);
    segment.u32(slot + NUMBER_IN_SLOT).store(number, Ordering::Relaxed);
    segment.u32(slot + LENGTH_IN_SLOT).store(message.len() as u32, Ordering::Relaxed);
    let payload = slot + PAYLOAD_IN_SLOT;
    let (words, rest) = message.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        segment.u64(payload + 8 * index).store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        let offset = payload + 8 * words.len();
        segment.u64(offset).store(u64::from_ne_bytes(word), Ordering::Relaxed);
    }
    Ok(())
}

/// Copies message `number` out of its slot. The slot's length and number are checked here; the caller checks
/// whether the writer has overwritten the slot meanwhile.
pub(super) fn copy(
    segment: &Segment,
    number: u32,
    buffer: &mut [u8],
) -> Result<Message, ReadError> {
    let slot = segment.layout.slot(number);
    let found = segment.u32(slot + NUMBER_IN_SLOT).load(Ordering::Relaxed);
    let length = segment.u32(slot + LENGTH_IN_SLOT).load(Ordering::Relaxed);
    if found != number || length as usize > segment.slot_size() {
        return Err(ReadError::Damaged { number, found, length });
    }
    let length = length as usize;
    let Some(target) = buffer.get_mut(..length) else {
        return Err(ReadError::BufferTooShort { length, buffer: buffer.len() });
    };
    let payload = slot + PAYLOAD_IN_SLOT;
    let word = |index| segment.u64(payload + 8 * index).load(Ordering::Relaxed).to_ne_bytes();
    let (words, rest) = target.as_chunks_mut::<8>();
    let whole = words.len();
    for (index, target) in words.iter_mut().enumerate() {
        *target = word(index);
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&word(whole)[..rest.len()]);
    }
    Ok(Message { number, length })
}
