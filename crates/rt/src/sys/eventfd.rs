//! A wake-up descriptor ("bell") that an epoll can watch: eventfd(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData};
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

    /// Returns an epoll set that watches the bell edge-triggered and reports each ring with this token. The owner of
    /// the set can neither ring the bell nor change it. It may add other descriptors
    /// ([`Epoll::over`](super::epoll::Epoll::over)), or watch the set itself edge-triggered. The set reports nothing
    /// once the bell's last descriptor is closed.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn view(&self, token: u64) -> io::Result<OwnedFd> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&set, &self.0, EventData::new_u64(token), flags)?;
        Ok(set)
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
    use crate::sys::epoll::{Epoll, EventFlags, Events};

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
    fn a_view_reports_each_ring_and_leaves_the_bell_alone() {
        let bell = EventFd::new().unwrap();
        let view = bell.view(7).unwrap();
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(1);
        epoll.add(&view, 0, EventFlags::IN | EventFlags::ET).unwrap();
        let mut has_rung = || {
            epoll.wait(&mut events, hemiola_units::Instant::ZERO).unwrap();
            !events.is_empty()
        };
        assert!(!has_rung());
        for _ in 0..3 {
            bell.ring();
            assert!(has_rung());
            assert!(!has_rung());
        }
        assert!(rustix::io::write(&view, &1_u64.to_ne_bytes()).is_err());
        assert!(rustix::io::read(&view, &mut [0; 8]).is_err());
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
