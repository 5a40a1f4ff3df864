//! What the kernel did with its processors: switches, wake-ups, interrupts, and the gaps where nobody looked.

use hemiola_units::Instant;

/// A thread as the kernel numbers it; unique among the threads that live at one moment, used again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u32);

impl Tid {
    /// The idle thread, of which every processor has one.
    pub const IDLE: Self = Self(0);
    /// Nobody can say: the first event of a processor, and the first after a gap.
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// One thing the kernel did, on one processor: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on the monotonic clock.
    pub at: Instant,
    /// On which processor.
    pub cpu: u16,
    /// What.
    pub what: What,
}

/// What the kernel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The processor passed from one thread to the next.
    Switch {
        /// Who ran until now.
        prev: Tid,
        /// In what state it left.
        left: Left,
        /// Who runs from now on.
        next: Tid,
        /// The kernel's priority of `next`: 0–98 real time (98 − n is `SCHED_FIFO` n + 1), 100–139 time-shared, −1
        /// deadline, [`PRIORITY_UNKNOWN`] where the source does not tell.
        priority: i16,
    },
    /// A sleeping thread became ready to run. Who woke it: see `waker`.
    Wake {
        /// Who became ready.
        tid: Tid,
        /// Who was running where the wake-up was done.
        waker: Tid,
        /// Whether an interrupt did it, and not `waker`.
        context: Context,
        /// The processor it is to run on, when the source tells, else that of the event.
        target: u16,
    },
    /// An interrupt began to be served on this processor: the running thread stands still meanwhile.
    InterruptEntry(Interrupt),
    /// It was served.
    InterruptExit(Interrupt),
    /// The running thread touched a page that was not there; `true`: in the kernel.
    PageFault(bool),
    /// The running thread entered the system call of that number.
    CallEntry(u16),
    /// It came back from the system call of that number.
    CallExit(u16),
    /// Events of this processor were lost between the one before and here; who ran meanwhile is not known.
    /// 0: their number is not known either.
    Lost(u32),
    /// The processor was taken away (`false`) or came back (`true`); it counts as a gap.
    Online(bool),
}

/// [`What::Switch::priority`] where the source of the recording has none.
pub const PRIORITY_UNKNOWN: i16 = i16::MAX;

/// The state in which a thread left its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Left {
    /// Ready to run on: somebody more urgent came (`R+`).
    Preempted,
    /// Ready to run on: it gave way itself, or the source does not tell (`R`).
    Yielded,
    /// Waits, for anything (`S`); the usual end of a job.
    Sleeping,
    /// Waits for a device or a lock in the kernel (`D`).
    Uninterruptible,
    /// Stopped by a signal (`T`) or a debugger (`t`).
    Stopped,
    /// Ended (`X`, `Z`).
    Dead,
    /// A kernel thread that waits or is parked (`I`, `P`).
    Idle,
    /// The source does not tell.
    Unknown,
}

impl Left {
    /// Whether it would have gone on running.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Preempted | Self::Yielded)
    }
}

/// Who did a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Context {
    /// The thread that was running.
    Thread,
    /// An interrupt, a timer's for example, whoever was running.
    Interrupt,
    /// The source does not tell.
    Unknown,
}

/// A device interrupt or a soft one, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interrupt {
    /// A device's.
    Hard(u16),
    /// A soft interrupt's vector: 0 high-priority tasklets, 1 timer, 2 and 3 network, …
    Soft(u16),
}

/// What is known of a thread from a moment on.
///
/// A thread that changes its name, and a number that is used again for another thread, are further entries of the
/// same [`Tid`] with a later `since`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread {
    /// The thread.
    pub tid: Tid,
    /// Since when this holds; [`Instant::ZERO`]: since before the recording.
    pub since: Instant,
    /// Its process; 0 where unknown.
    pub pid: u32,
    /// Its name, as `/proc/PID/task/TID/comm` has it.
    pub name: String,
    /// Whether this is another thread than the entry before it with the same number.
    pub new: bool,
}
