//! Room outside the memory of the process, for what an analysis keeps of a long recording.

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hemiola_trace::source::ByteSource;

/// Room outside the memory of the process, for example in a temporary file: bytes are appended once and read in any
/// order. This crate opens no file, so the caller provides the room.
pub trait Spill: ByteSource {
    /// Appends bytes, and returns the offset at which they can be read.
    ///
    /// # Errors
    /// If there is no room left. The bytes then stay in memory.
    fn append(&self, bytes: &[u8]) -> io::Result<u64>;

    /// Drops all bytes, because the analysis begins again.
    ///
    /// # Errors
    /// If the room cannot be given back. More may be appended all the same.
    fn clear(&self) -> io::Result<()>;

    /// The number of bytes that stay in memory, where they are read faster, before any are appended.
    fn kept_max(&self) -> usize {
        KEPT_MAX
    }
}

/// Short recordings need no file.
const KEPT_MAX: usize = 16 << 20;

/// Decides which blocks of bytes go outside: those beyond [`Spill::kept_max`].
#[derive(Clone)]
pub(crate) struct Outside(Arc<Inner>);

struct Inner {
    spill: Arc<dyn Spill>,
    /// The bytes of blocks that are kept in memory.
    kept: AtomicUsize,
    /// Whether all blocks go outside.
    is_tight: AtomicBool,
    /// Whether a block could not be read back.
    is_unread: AtomicBool,
}

impl Outside {
    pub(crate) fn new(spill: Arc<dyn Spill>) -> Self {
        Self(Arc::new(Inner {
            spill,
            kept: AtomicUsize::new(0),
            is_tight: AtomicBool::new(false),
            is_unread: AtomicBool::new(false),
        }))
    }

    /// Appends a block and returns its offset; `None` if it stays in memory.
    pub(crate) fn put(&self, block: &[u8]) -> Option<u64> {
        let Inner { spill, kept, is_tight, .. } = &*self.0;
        let more = kept.load(Ordering::Relaxed) + block.len();
        if more <= spill.kept_max() && !is_tight.load(Ordering::Relaxed) {
            kept.store(more, Ordering::Relaxed);
            return None;
        }
        spill.append(block).ok()
    }

    /// Lets all blocks go outside from now on, because other things need the memory.
    pub(crate) fn tighten(&self) {
        self.0.is_tight.store(true, Ordering::Relaxed);
    }

    /// Appends bytes that do not stay in memory in this form. Returns their offset and length; `None` without room.
    pub(crate) fn append(&self, bytes: &[u8]) -> Option<(u64, u32)> {
        let offset = self.0.spill.append(bytes).ok()?;
        Some((offset, bytes.len() as u32))
    }

    /// How many bytes should stay in memory.
    pub(crate) fn kept_max(&self) -> usize {
        self.0.spill.kept_max()
    }

    /// Reads a block back into a buffer of its length. Returns whether that was possible.
    pub(crate) fn get(&self, offset: u64, block: &mut [u8]) -> bool {
        let is_read = self.0.spill.read_exact_at(block, offset).is_ok();
        if !is_read {
            self.0.is_unread.store(true, Ordering::Relaxed);
        }
        is_read
    }

    /// Whether a block could not be read back so far.
    pub(crate) fn is_unread(&self) -> bool {
        self.0.is_unread.load(Ordering::Relaxed)
    }

    /// Drops all blocks.
    pub(crate) fn clear(&self) {
        self.0.kept.store(0, Ordering::Relaxed);
        // The old bytes would only waste room.
        let _ = self.0.spill.clear();
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("size", &self.0.spill.size()).finish_non_exhaustive()
    }
}
