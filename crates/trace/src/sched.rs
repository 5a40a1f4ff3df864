//! The kernel's scheduling events: switches, wake-ups, interrupts, and gaps in the recording.

use hemiola_units::Instant;
use serde::Serialize;

/// A thread by the kernel's number, which is unique among the threads that exist at one time, and reused later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u32);

impl Tid {
    /// The idle thread, of which every processor has one.
    pub const IDLE: Self = Self(0);
    /// Unknown: at the first event of a processor, and at the first after a gap.
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// One event of the kernel, on one processor: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time on the monotonic clock.
    pub at: Instant,
    /// Its processor.
    pub cpu: u16,
    /// The event.
    pub what: What,
}

/// An event of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The processor passed from one thread to the next.
    Switch {
        /// The thread that ran until now.
        prev: Tid,
        /// The state in which it left.
        left: Left,
        /// The thread that runs from now on.
        next: Tid,
        /// The kernel's priority of `next`: 0–98 real time (98 − n is `SCHED_FIFO` n + 1), 100–139 time-shared, −1
        /// deadline, [`PRIORITY_UNKNOWN`] if the recording does not contain it.
        priority: i16,
    },
    /// A sleeping thread became ready to run.
    Wake {
        /// The thread that became ready.
        tid: Tid,
        /// The thread that was running where the wake-up happened.
        waker: Tid,
        /// Whether an interrupt caused it rather than `waker`.
        context: Context,
        /// The processor on which it should run, if recorded; otherwise that of the event.
        target: u16,
    },
    /// The processor started to serve an interrupt; the running thread stands still meanwhile.
    InterruptEntry(Interrupt),
    /// The interrupt was served.
    InterruptExit(Interrupt),
    /// The running thread touched a page that was not present; `true`: in the kernel.
    PageFault(bool),
    /// The running thread asked to sleep until that time (clock_nanosleep(2) with `TIMER_ABSTIME`); if that has
    /// passed, it may go on without a switch.
    SleepUntil(Moment),
    /// The running thread entered the system call of that number.
    CallEntry(u16),
    /// The running thread returned from the system call of that number.
    CallExit(u16),
    /// Events of this processor were lost between the previous event and this one; the running threads meanwhile are
    /// unknown. 0: their number is unknown too.
    Lost(u32),
    /// The processor went offline (`false`) or online (`true`); this counts as a gap.
    Online(bool),
}

impl What {
    /// Whether it is something that the running thread did.
    #[must_use]
    pub const fn is_of_running(self) -> bool {
        matches!(
            self,
            Self::PageFault(_) | Self::SleepUntil(_) | Self::CallEntry(_) | Self::CallExit(_)
        )
    }
}

/// A time on the monotonic clock, in two halves, so that an event has 24 bytes.
///
/// ```
/// use hemiola_trace::sched::Moment;
/// use hemiola_units::Instant;
/// let at = Instant::from_nanos(123_456_789_012);
/// assert_eq!(Moment::from(at).instant(), at);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    low: u32,
    high: u32,
}

impl Moment {
    /// Returns the time.
    #[must_use]
    pub const fn instant(self) -> Instant {
        Instant::from_nanos((self.high as u64) << 32 | self.low as u64)
    }
}

impl From<Instant> for Moment {
    fn from(at: Instant) -> Self {
        Self { low: at.nanos() as u32, high: (at.nanos() >> 32) as u32 }
    }
}

/// The [`What::Switch::priority`] of recordings without priorities.
pub const PRIORITY_UNKNOWN: i16 = i16::MAX;

/// The state in which a thread left its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Left {
    /// Ready to run: a more urgent thread came (`R+`).
    Preempted,
    /// Ready to run: it yielded, or the recording does not distinguish (`R`).
    Yielded,
    /// Waiting for anything (`S`); the usual end of a job.
    Sleeping,
    /// Waiting for a device or a lock in the kernel (`D`).
    Uninterruptible,
    /// Stopped by a signal (`T`) or a debugger (`t`).
    Stopped,
    /// Ended (`X`, `Z`).
    Dead,
    /// A kernel thread that is waiting or parked (`I`, `P`).
    Idle,
    /// Unknown.
    Unknown,
}

impl Left {
    /// Whether it could have continued to run.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Preempted | Self::Yielded)
    }
}

/// The context of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Context {
    /// The thread that was running, also in a soft interrupt that its own system call ran.
    Thread,
    /// An interrupt, such as a timer's, independent of the running thread.
    Interrupt,
    /// Unknown.
    Unknown,
}

/// A device interrupt or a soft one, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interrupt {
    /// A device interrupt.
    Hard(u16),
    /// A soft interrupt's vector: 0 high-priority tasklets, 1 timer, 2 and 3 network, …
    Soft(u16),
}

/// Information about a thread from a time on.
///
/// When a thread changes its name, or its number is reused, another entry with the same [`Tid`] and a later `since`
/// follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread {
    /// The thread.
    pub tid: Tid,
    /// The start of its validity; [`Instant::ZERO`] if before the recording.
    pub since: Instant,
    /// Its process; 0 if unknown.
    pub pid: u32,
    /// Its name, as in `/proc/PID/task/TID/comm`.
    pub name: String,
    /// Whether this is a different thread from the previous entry with the same number.
    pub new: bool,
}

/// The reservation of a `SCHED_DEADLINE` thread (sched(7)): `runtime_ns` of processor time within `deadline_ns` of a
/// release, in each `period_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// The budget, ns.
    pub runtime_ns: u64,
    /// The relative deadline, ns.
    pub deadline_ns: u64,
    /// The time between replenishments, ns.
    pub period_ns: u64,
}

/// The name of a condition with a reservation: this, and the number of the thread.
const RESERVATION: &str = "sched.deadline.";

impl Reservation {
    /// The condition of a recording that states this reservation: `sched.deadline.TID`, `RUNTIME DEADLINE PERIOD` in
    /// ns.
    #[must_use]
    pub fn condition(&self, tid: Tid) -> (String, String) {
        let Self { runtime_ns, deadline_ns, period_ns } = self;
        (format!("{RESERVATION}{}", tid.0), format!("{runtime_ns} {deadline_ns} {period_ns}"))
    }

    /// Reads such a condition; `None` for any other, and for a reservation that no kernel admits.
    #[must_use]
    pub fn from_condition(name: &str, text: &str) -> Option<(Tid, Self)> {
        let tid = name.strip_prefix(RESERVATION)?.parse().ok()?;
        let mut figures = text.split(' ').map(str::parse);
        let mut figure = || figures.next()?.ok();
        let (runtime_ns, deadline_ns, period_ns) = (figure()?, figure()?, figure()?);
        let is_sound = 0 < runtime_ns && runtime_ns <= deadline_ns && deadline_ns <= period_ns;
        is_sound.then_some((Tid(tid), Self { runtime_ns, deadline_ns, period_ns }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_read_as_it_was_written() {
        let reservation = Reservation { runtime_ns: 3, deadline_ns: 5, period_ns: 7 };
        let (name, text) = reservation.condition(Tid(42));
        assert_eq!((name.as_str(), text.as_str()), ("sched.deadline.42", "3 5 7"));
        assert_eq!(Reservation::from_condition(&name, &text), Some((Tid(42), reservation)));
        for (name, text) in [
            ("sched.deadline.x", "3 5 7"),
            ("sched.deadline.42", "3 5"),
            ("sched.deadline.42", "0 5 7"),
            ("sched.deadline.42", "6 5 7"),
            ("sched.deadline.42", "3 5 4"),
            ("proc.start.at_ns", "3 5 7"),
        ] {
            assert_eq!(Reservation::from_condition(name, text), None, "{name} {text}");
        }
    }
}
