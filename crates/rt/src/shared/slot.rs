//! One message into and out of a slot, word by word.

use thiserror::Error;

use super::atomic::Ordering;
use super::layout::{LENGTH_IN_SLOT, NUMBER_IN_SLOT, PAYLOAD_IN_SLOT};
use super::segment::Segment;

/// What was read: the first `length` bytes of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The writer's count, from 1, wrapping; a gap in a latest value is a value never seen.
    pub number: u32,
    /// Bytes written to the buffer.
    pub length: usize,
}

/// A message that does not fit its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a message of {length} bytes does not fit a slot of {slot_size}")]
pub struct TooLong {
    /// The message's bytes.
    pub length: usize,
    /// What a slot takes.
    pub slot_size: usize,
}

/// Why a message cannot be taken although there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The caller's buffer is shorter than the message, which stays unread.
    #[error("the message has {length} bytes and the buffer {buffer}")]
    BufferTooShort {
        /// The message's bytes.
        length: usize,
        /// The buffer's bytes.
        buffer: usize,
    },
    /// The writer overtook every attempt: it publishes faster than one message can be copied. The next
    /// message may be read again.
    #[error("the writer overtook {tries} attempts to read message {number}")]
    Torn {
        /// The last message tried.
        number: u32,
        /// How often.
        tries: u32,
    },
    /// The words in memory contradict each other: a faulty writer, or somebody wrote where only the
    /// writer may. Reported once for each such message; what is published next may be read again.
    #[error("message {number} is damaged: its slot says number {found}, {length} bytes")]
    Damaged {
        /// The message looked for.
        number: u32,
        /// The number in its slot.
        found: u32,
        /// The length in its slot.
        length: u32,
    },
    /// The counts in memory contradict each other; the reader goes on from the newest.
    #[error("the counts are damaged: {published} published, {consumed} consumed")]
    Counts {
        /// The writer's count.
        published: u32,
        /// The reader's own count.
        consumed: u32,
    },
}

/// Writes message `number` to its slot; the caller publishes it.
pub(super) fn fill(segment: &Segment, number: u32, message: &[u8]) -> Result<(), TooLong> {
    let slot_size = segment.slot_size();
    if message.len() > slot_size {
        return Err(TooLong { length: message.len(), slot_size });
    }
    let slot = segment.layout.slot(number);
    segment.u32(slot + NUMBER_IN_SLOT).store(number, Ordering::Relaxed);
    segment.u32(slot + LENGTH_IN_SLOT).store(message.len() as u32, Ordering::Relaxed);
    let payload = slot + PAYLOAD_IN_SLOT;
    for (index, chunk) in message.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        segment.u64(payload + 8 * index).store(u64::from_ne_bytes(word), Ordering::Relaxed);
    }
    Ok(())
}

/// Copies message `number` out of its slot. What the slot says is checked, not believed; whether it was
/// overwritten meanwhile is the caller's to check.
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
    for (index, chunk) in target.chunks_mut(8).enumerate() {
        let word = segment.u64(payload + 8 * index).load(Ordering::Relaxed).to_ne_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    Ok(Message { number, length })
}
