//! Bare words shared between processes: for measuring what the structures built from such words stand on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};

use super::atomic::AtomicU32;
use super::memory::Memory;

/// Bytes from one word to the next: two lines, as processors load lines in pairs.
const STRIDE: usize = 128;
/// Bytes of all.
const LEN: usize = Words::COUNT * STRIDE;

/// Some words in memory without a name, each on cache lines of its own; zero at first.
#[derive(Debug)]
pub struct Words {
    memory: Memory,
    fd: OwnedFd,
}

impl Words {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// New ones. `label` shows in `/proc/PID/maps`; the descriptor is closed on exec: see
    /// [`clear_cloexec`](crate::sys::process::clear_cloexec).
    ///
    /// # Errors
    /// When the kernel has no memory or no descriptor left.
    ///
    /// Source: memfd_create(2).
    pub fn create(label: &str) -> io::Result<Self> {
        let fd = memfd_create(label, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, LEN as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK)?;
        let memory = Memory::map(fd.as_fd(), LEN, true)?;
        Ok(Self { memory, fd })
    }

    /// Those that another process created.
    ///
    /// # Errors
    /// `InvalidInput` when `fd` is of something else; else the kernel's answer.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        let sealed = fcntl_get_seals(&fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !sealed || fstat(&fd)?.st_size != LEN as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no shared words"));
        }
        Ok(Self { memory: Memory::map(fd.as_fd(), LEN, true)?, fd })
    }

    /// The descriptor, for handing to a child.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Word `index`.
    ///
    /// # Panics
    /// When that is [`Self::COUNT`] or more.
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
    fn what_one_mapping_writes_the_other_reads() {
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
