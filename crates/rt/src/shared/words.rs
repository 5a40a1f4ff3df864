//! Single words shared between processes, to measure the cost that the structures build on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::fstat;

use super::atomic::AtomicU32;
use super::memory::{Memory, is_sealed};

/// Bytes from one word to the next: two cache lines, because processors load lines in pairs.
const STRIDE: usize = 128;
/// Bytes of all words.
const LEN: usize = Words::COUNT * STRIDE;

/// Some words in unnamed memory, each on its own cache lines; zero at first.
#[derive(Debug)]
pub struct Words {
    memory: Memory,
    fd: OwnedFd,
}

impl Words {
    /// The number of words.
    pub const COUNT: usize = 8;

    /// Creates new words. `label` appears in `/proc/PID/maps`. The descriptor is closed on exec: see
    /// [`clear_cloexec`](crate::sys::process::clear_cloexec).
    ///
    /// # Errors
    /// If the kernel has no memory or no descriptor left.
    ///
    /// Source: memfd_create(2).
    pub fn create(label: &str) -> io::Result<Self> {
        let (memory, fd) = Memory::create(label, LEN).map_err(|(_, error)| error)?;
        Ok(Self { memory, fd })
    }

    /// Maps the words that another process created.
    ///
    /// # Errors
    /// `InvalidInput` if `fd` is anything else; otherwise the kernel's error.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        if !is_sealed(fd.as_fd()) || fstat(&fd)?.st_size != LEN as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not shared words"));
        }
        Ok(Self { memory: Memory::map(fd.as_fd(), LEN, true)?, fd })
    }

    /// Returns the descriptor, for handing to a child.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns word `index`.
    ///
    /// # Panics
    /// If `index` is [`Self::COUNT`] or more.
    #[must_use]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        self.memory.u32(index * STRIDE)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_word_written_in_one_mapping_is_read_in_the_other() {
        let here = Words::create("test").unwrap();
        let there = Words::from_fd(here.fd().try_clone_to_owned().unwrap()).unwrap();
        here.word(Words::COUNT - 1).store(7, Ordering::Release);
        assert_eq!(there.word(Words::COUNT - 1).load(Ordering::Acquire), 7);
        assert_eq!(there.word(0).load(Ordering::Acquire), 0);
    }

    #[test]
    fn a_descriptor_of_something_else_is_refused() {
        let (reader, _writer) = io::pipe().unwrap();
        assert!(Words::from_fd(reader.into()).is_err());
    }
}
