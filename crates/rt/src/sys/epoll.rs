//! Waiting for many descriptors at once: epoll(7).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use hemiola_units::Instant;
use rustix::event::epoll;
use rustix::time::Timespec;

use crate::clock::{Clock, MonotonicClock};

pub use rustix::event::epoll::EventFlags;

/// A set of watched descriptors, each with a token of its owner's choice.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

/// What happened to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token it was added with.
    pub token: u64,
    /// What it is ready for; `ERR` and `HUP` come unasked.
    pub flags: EventFlags,
}

/// Room for the events of one [`Epoll::wait`]; what does not fit comes with the next.
pub struct Events {
    room: Vec<libc::epoll_event>,
    len: usize,
}

impl Events {
    /// Room for `capacity` events, at least one.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { room: vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)], len: 0 }
    }

    /// Those of the last wait.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.room[..self.len].iter().map(|event| Event {
            token: event.u64,
            flags: EventFlags::from_bits_retain(event.events),
        })
    }

    /// Whether the last wait ended without any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Epoll {
    /// An empty set, closed on exec.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Watches `fd` for `flags`. It must be [removed](Self::remove) before it is closed if another descriptor of the
    /// same file stays open (epoll(7), "Questions and answers", 6).
    ///
    /// # Errors
    /// `EEXIST` when it is watched already; `EPERM` for a file that is always ready; `ENOSPC` beyond
    /// `/proc/sys/fs/epoll/max_user_watches`.
    pub fn add(&self, fd: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, epoll::EventData::new_u64(token), flags)?)
    }

    /// Watches `fd` for other `flags`. With `ET` this shows once more what is ready now.
    ///
    /// # Errors
    /// `ENOENT` when it is not watched.
    pub fn modify(&self, fd: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.0, fd, epoll::EventData::new_u64(token), flags)?)
    }

    /// Watches `fd` no more.
    ///
    /// # Errors
    /// `ENOENT` when it is not watched.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.0, fd)?)
    }

    /// Waits for events until `until` on `CLOCK_MONOTONIC`: `Instant::MAX` for ever, `Instant::ZERO` not at all. A
    /// signal ends it early, with none.
    ///
    /// # Errors
    /// `ENOSYS` before Linux 5.11.
    ///
    /// Source: epoll_pwait2(2), whose limit is in nanoseconds where that of epoll_wait(2) is rounded up to
    /// milliseconds.
    pub fn wait(&self, events: &mut Events, until: Instant) -> io::Result<()> {
        events.len = 0;
        let limit = match until {
            Instant::MAX => None,
            Instant::ZERO => Some(Timespec::default()),
            _ => {
                let left = (until - MonotonicClock.now()).to_duration();
                Some(Timespec::try_from(left).expect("a span's seconds fit"))
            }
        };
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let capacity = i32::try_from(events.room.len()).unwrap_or(i32::MAX);
        // SAFETY: the descriptor is open; `room` has `capacity` events for the kernel to write, `limit` is null or a
        // `timespec` (rustix's is the kernel's own form) alive during the call, and no signal mask is given.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                events.room.as_mut_ptr(),
                capacity,
                limit,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        match usize::try_from(count) {
            Ok(count) => events.len = count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
        Ok(())
    }
}

impl AsFd for Epoll {
    /// Readable while something in the set is ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Span;

    use super::*;
    use crate::sys::eventfd::EventFd;

    fn tokens(epoll: &Epoll, events: &mut Events) -> Vec<u64> {
        epoll.wait(events, Instant::ZERO).unwrap();
        events.iter().map(|event| event.token).collect()
    }

    #[test]
    fn an_edge_triggered_bell_is_heard_once_for_each_ring_and_never_read() {
        let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(4));
        let bells = [EventFd::new().unwrap(), EventFd::new().unwrap()];
        for (token, bell) in (7..).zip(&bells) {
            epoll.add(bell, token, EventFlags::IN | EventFlags::ET).unwrap();
        }
        for _ in 0..3 {
            bells[1].ring();
            assert_eq!(tokens(&epoll, &mut events), [8]);
            assert!(tokens(&epoll, &mut events).is_empty());
        }
        epoll.remove(&bells[1]).unwrap();
        bells[1].ring();
        assert!(tokens(&epoll, &mut events).is_empty());
    }

    #[test]
    fn what_does_not_fit_comes_with_the_next_wait() {
        let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(1));
        let bells = [EventFd::new().unwrap(), EventFd::new().unwrap()];
        for (token, bell) in (0..).zip(&bells) {
            epoll.add(bell, token, EventFlags::IN | EventFlags::ET).unwrap();
            bell.ring();
        }
        let mut seen = tokens(&epoll, &mut events);
        seen.extend(tokens(&epoll, &mut events));
        seen.sort_unstable();
        assert_eq!(seen, [0, 1]);
    }

    #[test]
    fn a_wait_ends_at_its_limit() {
        let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(1));
        let until = MonotonicClock.now() + Span::from_micros(300);
        epoll.wait(&mut events, until).unwrap();
        assert!(events.is_empty() && MonotonicClock.now() >= until);
    }
}
