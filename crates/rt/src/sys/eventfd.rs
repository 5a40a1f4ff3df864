//! A wake-up descriptor ("bell") that an epoll can watch: eventfd(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// A descriptor that becomes readable when it is rung.
///
/// Watched edge-triggered ([`Epoll`](super::epoll::Epoll) with `EventFlags::ET`), it reports each ring once and need
/// never be [silenced](Self::silence).
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// Creates a silent one, closed on exec.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Takes one that another process created, and sets it not to block. If it is a descriptor of something else,
    /// ringing it writes eight bytes there, which is the only harm.
    ///
    /// # Errors
    /// None known for an open descriptor.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        Ok(Self(fd))
    }

    /// Makes it readable and triggers an edge-triggered watch again: one system call, which does not block.
    pub fn ring(&self) {
        // Only EAGAIN is possible: the count is full, so it is readable already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it silent again and returns whether it had been rung.
    pub fn silence(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 8]).is_ok()
    }

    /// Returns another descriptor of the same bell.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<EventFd> for OwnedFd {
    fn from(bell: EventFd) -> Self {
        bell.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_rung_twice_is_silenced_once() {
        let bell = EventFd::new().unwrap();
        assert!(!bell.silence());
        let other = bell.try_clone().unwrap();
        other.ring();
        other.ring();
        assert!(bell.silence());
        assert!(!bell.silence());
    }

    #[test]
    fn ringing_a_full_bell_or_another_file_does_not_block() {
        let bell = EventFd::new().unwrap();
        rustix::io::write(&bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        bell.ring();
        let (_reader, writer) = rustix::pipe::pipe().unwrap();
        let false_bell = EventFd::from_fd(writer).unwrap();
        (0..100_000).for_each(|_| false_bell.ring());
    }
}
