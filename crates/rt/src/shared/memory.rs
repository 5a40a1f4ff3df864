//! A shared mapping whose words can only be touched as atomics.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::atomic::{AtomicU32, AtomicU64, Ordering};

/// Memory shared with other processes, which may do anything to it at any time.
///
/// No reference to its bytes is ever made, only to single words as atomics: a racing or faulty peer can
/// change what is read, but cannot make reading it undefined. Clones share the mapping.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    // Beside the owner, so that reaching a word costs no second indirection.
    base: NonNull<u8>,
    len: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: the pointer is to a mapping that outlives every clone (`_mapping`) and is used through atomic
// types only, which any thread may do.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: only the address and length are used, to unmap once, in `drop`.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and `len` are what mmap returned and was given, unmapped nowhere else; every
        // `Memory` using the pointer holds this value alive. Failure would be our own error and leaks.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl Memory {
    /// Maps the first `len` bytes of `fd`, all pages present. The caller has checked that the file is at
    /// least that long and sealed against shrinking, else an access could raise SIGBUS.
    pub(super) fn map(fd: BorrowedFd<'_>, len: usize, writable: bool) -> io::Result<Self> {
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs no existing memory.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) }?;
        let base = NonNull::new(base.cast()).expect("the kernel never maps page zero unasked");
        Ok(Self { base, len, _mapping: Arc::new(Mapping { base, len }) })
    }

    /// The 32-bit word at byte `offset`.
    ///
    /// # Panics
    /// When it is not wholly inside or not aligned.
    #[inline]
    pub(super) fn u32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset < self.len && self.len - offset >= 4);
        // SAFETY: inside the mapping and aligned (asserted; the mapping starts at a page), alive as long
        // as `self`, and no other kind of access to it exists in this process.
        unsafe { AtomicU32::from_ptr(self.base.add(offset).cast().as_ptr()) }
    }

    /// The 64-bit word at byte `offset`.
    ///
    /// # Panics
    /// When it is not wholly inside or not aligned.
    #[inline]
    pub(super) fn u64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.len && self.len - offset >= 8);
        // SAFETY: as in `u32`; no byte is reached both as part of a 32-bit and of a 64-bit word.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast().as_ptr()) }
    }

    /// Stores `words`, little-endian, from byte `offset` on, each by itself.
    ///
    /// # Panics
    /// When they are not wholly inside or not aligned.
    #[inline]
    pub(super) fn store_words(&self, offset: usize, words: &[[u8; 8]]) {
        for (atomic, word) in self.words(offset, words.len()).iter().zip(words) {
            atomic.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
    }

    /// Loads `words`, as [`store_words`](Self::store_words) stores them.
    ///
    /// # Panics
    /// When they are not wholly inside or not aligned.
    #[inline]
    pub(super) fn load_words(&self, offset: usize, words: &mut [[u8; 8]]) {
        for (atomic, word) in self.words(offset, words.len()).iter().zip(words) {
            *word = atomic.load(Ordering::Relaxed).to_le_bytes();
        }
    }

    #[inline]
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(8) && offset <= self.len && (self.len - offset) / 8 >= count);
        // SAFETY: inside the mapping and aligned (asserted), alive as long as `self`, reached as 64-bit atomics only
        // (as in `u64`), which others may change at any time.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), count) }
    }
}
