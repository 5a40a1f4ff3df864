//! Waiting for many descriptors at once: epoll(7).

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use hemiola_units::Instant;
use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::timespec;
use crate::clock::{Clock, MonotonicClock};

pub use rustix::event::epoll::EventFlags;

/// A set of watched descriptors, each with a token chosen by its owner.
///
/// The time limit of a wait is a timer in the set (timerfd_create(2)), because epoll_wait(2) rounds its timeout up to
/// milliseconds. The timer is set again only for an earlier limit, so a limit that moves on with every wait costs
/// nothing.
#[derive(Debug)]
pub struct Epoll {
    set: OwnedFd,
    timer: OwnedFd,
    /// When the timer will fire; `MAX` if it is not set.
    rings: Cell<Instant>,
}

/// The timer's token, reserved.
const TIMER: u64 = u64::MAX;

/// An event of a watched descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token it was added with.
    pub token: u64,
    /// The operations it is ready for; `ERR` and `HUP` are always reported.
    pub flags: EventFlags,
}

/// Space for the events of one [`Epoll::wait`]; events that do not fit come with the next wait.
///
/// The type of rustix is not `Send`, as its token may be a pointer.
pub struct Events {
    room: Vec<libc::epoll_event>,
    len: usize,
}

impl Events {
    /// Space for `capacity` events, at least one.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { room: vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)], len: 0 }
    }

    /// Returns the events of the last wait.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.room[..self.len].iter().map(|event| Event {
            token: event.u64,
            flags: EventFlags::from_bits_retain(event.events),
        })
    }

    /// Whether the last wait ended without events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes the timer's event and returns whether there was one.
    fn take_timer(&mut self) -> bool {
        let timer = self.iter().position(|event| event.token == TIMER);
        if let Some(timer) = timer {
            self.room.copy_within(timer + 1..self.len, timer);
            self.len -= 1;
        }
        timer.is_some()
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
    /// If no descriptor is left: the set takes two.
    pub fn new() -> io::Result<Self> {
        Self::over(epoll::create(epoll::CreateFlags::CLOEXEC)?)
    }

    /// The set behind a descriptor, which may watch something already, such as a bell of another process
    /// ([`EventFd::view`](super::eventfd::EventFd::view)).
    ///
    /// # Errors
    /// `EINVAL` if the descriptor is not an epoll set; if no descriptor is left.
    pub fn over(set: OwnedFd) -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered, it need not be read.
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&set, &timer, epoll::EventData::new_u64(TIMER), flags)?;
        Ok(Self { set, timer, rings: Cell::new(Instant::MAX) })
    }

    /// Watches `fd` for `flags`, under any token except `u64::MAX`. It must be [removed](Self::remove) before it is
    /// closed if another descriptor of the same file stays open (epoll(7), "Questions and answers", 6).
    ///
    /// # Errors
    /// `EEXIST` if it is watched already; `EPERM` for a file that is always ready; `ENOSPC` beyond
    /// `/proc/sys/fs/epoll/max_user_watches`.
    pub fn add(&self, fd: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.set, fd, epoll::EventData::new_u64(token), flags)?)
    }

    /// Watches `fd` for other `flags`. With `ET`, what is ready now is reported once more.
    ///
    /// # Errors
    /// `ENOENT` if it is not watched.
    pub fn modify(&self, fd: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.set, fd, epoll::EventData::new_u64(token), flags)?)
    }

    /// Stops watching `fd`.
    ///
    /// # Errors
    /// `ENOENT` if it is not watched.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.set, fd)?)
    }

    /// Waits for events until `until` on `CLOCK_MONOTONIC`: without limit for `Instant::MAX`, not at all for
    /// `Instant::ZERO`. A signal ends the wait early, without events.
    ///
    /// # Errors
    /// None known.
    pub fn wait(&self, events: &mut Events, until: Instant) -> io::Result<()> {
        loop {
            let waits = until != Instant::ZERO;
            if waits && until < self.rings.get() {
                let at = Itimerspec { it_value: timespec(until), it_interval: Timespec::default() };
                timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at)?;
                self.rings.set(until);
            }
            events.len = 0;
            let capacity = i32::try_from(events.room.len()).unwrap_or(i32::MAX);
            let limit = if waits { -1 } else { 0 };
            let (set, room) = (self.set.as_raw_fd(), events.room.as_mut_ptr());
            // SAFETY: the descriptor is open, and the kernel writes at most `capacity` events to memory of that size.
            let count = unsafe { libc::epoll_wait(set, room, capacity, limit) };
            match usize::try_from(count) {
                Ok(count) => events.len = count,
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                    error => return Err(error),
                },
            }
            if !events.take_timer() {
                return Ok(());
            }
            self.rings.set(Instant::MAX);
            // The timer may have been set for an earlier wait's limit.
            if !events.is_empty() || !waits || MonotonicClock.now() >= until {
                return Ok(());
            }
        }
    }
}

impl AsFd for Epoll {
    /// Readable while a descriptor in the set is ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
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
    fn an_edge_triggered_bell_is_reported_once_per_ring_and_never_read() {
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
    fn events_that_do_not_fit_come_with_the_next_wait() {
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
    fn a_wait_ends_at_its_time_limit() {
        let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(1));
        let until = MonotonicClock.now() + Span::from_micros(300);
        epoll.wait(&mut events, until).unwrap();
        assert!(events.is_empty() && MonotonicClock.now() >= until);
    }

    #[test]
    fn time_limits_that_move_forwards_and_back_are_kept() {
        let (epoll, mut events) = (Epoll::new().unwrap(), Events::with_capacity(2));
        let bell = EventFd::new().unwrap();
        epoll.add(&bell, 3, EventFlags::IN | EventFlags::ET).unwrap();
        let start = MonotonicClock.now();
        for micros in [200, 5_000, 400, 300, 6_000] {
            // The bell ends the wait before its limit, and the timer stays set.
            bell.ring();
            epoll.wait(&mut events, start + Span::from_micros(micros)).unwrap();
        }
        for micros in [7_000, 7_500, 7_200] {
            let until = start + Span::from_micros(micros);
            epoll.wait(&mut events, until).unwrap();
            assert!(events.is_empty() && MonotonicClock.now() >= until);
        }
        bell.ring();
        assert_eq!(tokens(&epoll, &mut events), [3]);
    }
}
