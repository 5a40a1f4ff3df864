//! A shared mapping whose words are accessible only as atomics.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::fs::{
    MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::atomic::{AtomicU32, AtomicU64, Ordering};

/// The seals that prevent an access inside a mapping from raising SIGBUS.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Returns whether the file's size cannot change. A descriptor that does not support seals (EINVAL) counts as unsealed.
pub(super) fn is_sealed(fd: BorrowedFd<'_>) -> bool {
    fcntl_get_seals(fd).is_ok_and(|seals| seals.contains(SEALS))
}

/// Memory shared with other processes, which may change it at any time.
///
/// References are made only to single words, as atomics. A racing or faulty peer can change the values that are
/// read, but cannot cause undefined behaviour. Clones share the mapping.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    // Kept here and in the owner, so that access to a word needs no second indirection.
    base: NonNull<u8>,
    len: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: the pointer is to a mapping that outlives every clone (`_mapping`), and all access through it is
// atomic, which is allowed from any thread.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the address and length are used only to unmap, once, in `drop`.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `base` and `len` are those of the mmap call and are unmapped nowhere else; every `Memory`
        // that uses the pointer keeps this value alive. munmap fails only through a bug here, and then the
        // mapping leaks.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl Memory {
    /// Creates an unnamed file of `len` zero bytes, sealed against changing its size, and maps it for writing. Another
    /// user with a read-only descriptor cannot open it again for writing, through `/proc/self/fd`.
    /// An error comes with the name of the system call that failed.
    pub(super) fn create(
        label: &str,
        len: usize,
    ) -> Result<(Self, OwnedFd), (&'static str, io::Error)> {
        let failed = |call| move |error: Errno| (call, io::Error::from(error));
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(label, flags).map_err(failed("memfd_create"))?;
        fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(failed("fchmod"))?;
        ftruncate(&fd, len as u64).map_err(failed("ftruncate"))?;
        fcntl_add_seals(&fd, SEALS).map_err(failed("fcntl(F_ADD_SEALS)"))?;
        let memory = Self::map(fd.as_fd(), len, true).map_err(|error| ("mmap", error))?;
        Ok((memory, fd))
    }

    /// Maps the first `len` bytes of `fd` with all pages present. The caller has checked that the file is at
    /// least that long and sealed against shrinking; otherwise an access could raise SIGBUS.
    pub(super) fn map(fd: BorrowedFd<'_>, len: usize, writable: bool) -> io::Result<Self> {
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address chosen by the kernel affects no existing memory.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) }?;
        let base = NonNull::new(base.cast()).expect("the kernel never maps page zero unasked");
        Ok(Self { base, len, _mapping: Arc::new(Mapping { base, len }) })
    }

    /// Returns the 32-bit word at byte `offset`.
    ///
    /// # Panics
    /// If the word is not wholly inside or not aligned.
    #[inline]
    pub(super) fn u32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset < self.len && self.len - offset >= 4);
        // SAFETY: inside the mapping and aligned (asserted; the mapping starts at a page), alive as long as
        // `self`, and accessed in this process only as an atomic.
        unsafe { AtomicU32::from_ptr(self.base.add(offset).cast().as_ptr()) }
    }

    /// Returns the 64-bit word at byte `offset`.
    ///
    /// # Panics
    /// If the word is not wholly inside or not aligned.
    #[inline]
    pub(super) fn u64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.len && self.len - offset >= 8);
        // SAFETY: as in `u32`; no byte belongs both to a 32-bit and to a 64-bit word.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast().as_ptr()) }
    }

    /// Stores `words`, little-endian, from byte `offset` on; each store is atomic by itself.
    ///
    /// # Panics
    /// If they are not wholly inside or not aligned.
    #[inline]
    pub(super) fn store_words(&self, offset: usize, words: &[[u8; 8]]) {
        for (atomic, word) in self.words(offset, words.len()).iter().zip(words) {
            atomic.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
    }

    /// Loads `words` that [`store_words`](Self::store_words) stored.
    ///
    /// # Panics
    /// If they are not wholly inside or not aligned.
    #[inline]
    pub(super) fn load_words(&self, offset: usize, words: &mut [[u8; 8]]) {
        for (atomic, word) in self.words(offset, words.len()).iter().zip(words) {
            *word = atomic.load(Ordering::Relaxed).to_le_bytes();
        }
    }

    #[inline]
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(8) && offset <= self.len && (self.len - offset) / 8 >= count);
        // SAFETY: inside the mapping and aligned (asserted), alive as long as `self`, and accessed as 64-bit
        // atomics only (as in `u64`), which other processes may change at any time.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), count) }
    }
}
