//! One direction of a stream: a ring of bytes with the writer's and the reader's counts.

use super::super::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use super::super::memory::Memory;
#[cfg(loom)]
use super::super::memory_loom::Memory;
use super::StreamEnded;

/// Bytes of the header before the rings: a page.
pub(super) const BYTES_AT: usize = 4096;
/// The offset of the first ring's counts, and the distance to the second's.
const COUNTS_AT: usize = 128;
const COUNTS_STRIDE: usize = 256;

/// Offsets within a ring's counts: first the words that the writer mostly writes, then the reader's. They are
/// two cache lines apart, because processors load lines in pairs.
const WRITTEN: usize = 0;
const ROOM: usize = 8;
const CLOSED: usize = 16;
const READ: usize = 128;
const ASLEEP: usize = 136;

/// The place of a ring in a stream's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    counts: usize,
    bytes: usize,
    capacity: u64,
}

impl Ring {
    /// Returns ring `index`, 0 or 1, of a stream whose rings hold `capacity` bytes each, a power of two.
    pub(super) fn new(index: usize, capacity: u64) -> Self {
        assert!(capacity.is_power_of_two() && capacity >= 16);
        let counts = COUNTS_AT + index * COUNTS_STRIDE;
        Self { counts, bytes: BYTES_AT + index * capacity as usize, capacity }
    }

    /// Returns the offset of each of its words, for loom's memory.
    #[cfg(loom)]
    pub(super) fn words(self) -> impl Iterator<Item = usize> {
        let counts = [WRITTEN, ROOM, CLOSED, READ, ASLEEP].map(|word| self.counts + word);
        counts.into_iter().chain((self.bytes..self.bytes + self.capacity as usize).step_by(8))
    }

    fn word<'m>(&self, memory: &'m Memory, word: usize) -> &'m AtomicU64 {
        memory.u64(self.counts + word)
    }

    /// Set while the reader sleeps: see [`Wake`](super::Wake).
    pub(super) fn asleep<'m>(&self, memory: &'m Memory) -> &'m AtomicU64 {
        self.word(memory, ASLEEP)
    }

    /// Set while the writer waits for room.
    pub(super) fn room_wanted<'m>(&self, memory: &'m Memory) -> &'m AtomicU64 {
        self.word(memory, ROOM)
    }

    /// Declares that nothing more will be written.
    pub(super) fn close(&self, memory: &Memory) {
        // SYNC POINT with the acquire in `is_closed`: a reader that sees this sees every byte.
        self.word(memory, CLOSED).store(1, Ordering::Release);
    }

    /// Whether nothing more will be written. If so, everything written before is visible.
    pub(super) fn is_closed(&self, memory: &Memory) -> bool {
        // SYNC POINT with the release in `close`.
        self.word(memory, CLOSED).load(Ordering::Acquire) != 0
    }

    /// Returns the bytes written and not read, or an error if the two counts cannot both be right.
    fn held(&self, written: u64, read: u64) -> Result<u64, StreamEnded> {
        let held = written.wrapping_sub(read);
        if held > self.capacity {
            return Err(StreamEnded::Broken { written, read, capacity: self.capacity });
        }
        Ok(held)
    }

    /// Returns the offset of a byte in the memory.
    fn place(&self, position: u64) -> usize {
        self.bytes + (position & (self.capacity - 1)) as usize
    }

    /// Returns the `count` whole words from `position` as one or two pieces: offset, first word, number of
    /// words.
    fn pieces(&self, position: u64, count: usize) -> [(usize, usize, usize); 2] {
        let position = position & !7; // Already aligned, unless `count` is 0.
        let to_end = (self.capacity - (position & (self.capacity - 1))) as usize / 8;
        let first = count.min(to_end);
        [(self.place(position), 0, first), (self.bytes, first, count - first)]
    }
}

/// The writing side. Its own count is kept here; the one in memory is for the peer and never read back.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) ring: Ring,
    written: u64,
    /// The bytes of the word that `written` points into, as they are in memory.
    partial: u64,
}

impl Writer {
    pub(super) fn attach(memory: &Memory, ring: Ring) -> Self {
        let written = ring.word(memory, WRITTEN).load(Ordering::Relaxed);
        let partial = memory.u64(ring.place(written & !7)).load(Ordering::Relaxed);
        Self { ring, written, partial }
    }

    /// Returns the bytes written and not read yet.
    pub(super) fn held(&self, memory: &Memory) -> Result<u64, StreamEnded> {
        self.ring.held(self.written, self.read(memory))
    }

    /// Whether at least half of the ring is free, at which point a writer that waits for room is woken.
    pub(super) fn has_room(&self, memory: &Memory) -> Result<bool, StreamEnded> {
        Ok(self.held(memory)? <= self.ring.capacity / 2)
    }

    fn read(&self, memory: &Memory) -> u64 {
        // SYNC POINT with the release in `Reader::read`: those bytes have been copied out.
        self.ring.word(memory, READ).load(Ordering::Acquire)
    }

    /// Appends as many of `bytes` as fit.
    ///
    /// Only whole words are stored. The last word may contain bytes that are already published; they are stored
    /// again with the same value. It never contains a byte that is still unread, because free space begins at a
    /// whole word.
    pub(super) fn write(&mut self, memory: &Memory, bytes: &[u8]) -> Result<usize, StreamEnded> {
        let read = self.read(memory);
        self.ring.held(self.written, read)?;
        let room = self.ring.capacity.saturating_sub(self.written.wrapping_sub(read & !7));
        let count = bytes.len().min(room as usize);
        if count == 0 {
            return Ok(0);
        }
        let (mut at, mut rest) = (self.written, &bytes[..count]);
        let offset = (at % 8) as usize;
        if offset != 0 {
            let (head, behind) = rest.split_at(rest.len().min(8 - offset));
            let mut word = self.partial.to_le_bytes();
            word[offset..offset + head.len()].copy_from_slice(head);
            self.store_partial(memory, at, word);
            (at, rest) = (at.wrapping_add(head.len() as u64), behind);
        }
        let (words, tail) = rest.as_chunks::<8>();
        for (place, first, len) in self.ring.pieces(at, words.len()) {
            memory.store_words(place, &words[first..first + len]);
        }
        at = at.wrapping_add(8 * words.len() as u64);
        if !tail.is_empty() {
            let mut word = [0; 8];
            word[..tail.len()].copy_from_slice(tail);
            self.store_partial(memory, at, word);
        }
        self.written = self.written.wrapping_add(count as u64);
        // SYNC POINT with the acquire in `Reader::held`: a reader that sees the count sees the bytes.
        self.ring.word(memory, WRITTEN).store(self.written, Ordering::Release);
        Ok(count)
    }

    fn store_partial(&mut self, memory: &Memory, position: u64, word: [u8; 8]) {
        self.partial = u64::from_le_bytes(word);
        memory.u64(self.ring.place(position & !7)).store(self.partial, Ordering::Relaxed);
    }
}

/// The reading side. Like [`Writer`], it trusts only its own count.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) ring: Ring,
    read: u64,
}

impl Reader {
    pub(super) fn attach(memory: &Memory, ring: Ring) -> Self {
        Self { ring, read: ring.word(memory, READ).load(Ordering::Relaxed) }
    }

    /// Returns the number of bytes available.
    pub(super) fn held(&self, memory: &Memory) -> Result<u64, StreamEnded> {
        // SYNC POINT with the release in `Writer::write`.
        let written = self.ring.word(memory, WRITTEN).load(Ordering::Acquire);
        self.ring.held(written, self.read)
    }

    /// Reads as many bytes as are available and fit. Returns how many, and whether at least half of the ring is
    /// now free.
    pub(super) fn read(
        &mut self,
        memory: &Memory,
        buffer: &mut [u8],
    ) -> Result<(usize, bool), StreamEnded> {
        let held = self.held(memory)?;
        let count = buffer.len().min(held as usize);
        if count == 0 {
            return Ok((0, held <= self.ring.capacity / 2));
        }
        let (mut at, mut rest) = (self.read, &mut buffer[..count]);
        let offset = (at % 8) as usize;
        if offset != 0 {
            let (head, behind) = rest.split_at_mut(rest.len().min(8 - offset));
            head.copy_from_slice(&self.load(memory, at)[offset..offset + head.len()]);
            (at, rest) = (at.wrapping_add(head.len() as u64), behind);
        }
        let (words, tail) = rest.as_chunks_mut::<8>();
        for (place, first, len) in self.ring.pieces(at, words.len()) {
            memory.load_words(place, &mut words[first..first + len]);
        }
        at = at.wrapping_add(8 * words.len() as u64);
        if !tail.is_empty() {
            tail.copy_from_slice(&self.load(memory, at)[..tail.len()]);
        }
        self.read = self.read.wrapping_add(count as u64);
        // SYNC POINT with the acquire in `Writer::read`: the copy out of the ring is complete.
        self.ring.word(memory, READ).store(self.read, Ordering::Release);
        Ok((count, held - count as u64 <= self.ring.capacity / 2))
    }

    fn load(&self, memory: &Memory, position: u64) -> [u8; 8] {
        memory.u64(self.ring.place(position & !7)).load(Ordering::Relaxed).to_le_bytes()
    }
}
