//! The kernel's part of a trace file: bundles of scheduler events, of one processor each.
//!
//! ```text
//! packet   system information   the kernel's release, which defines the numbers of states
//! packet   process tree         names of threads that existed before the recording
//! packet   bundle               processor 0: up to 2048 events
//! packet   bundle               processor 1 …
//! ```
//!
//! A switch from the last running thread, and a wake-up done by it, are stored in the compact form, with a list for
//! each field (about 8 bytes per event). All other events are stored individually. A bundle whose `lost_events` is
//! set begins after a gap. Bundles are on Perfetto's `CLOCK_BOOTTIME`, which our files set equal to
//! `CLOCK_MONOTONIC`, because our recordings contain no suspensions.
//!
//! Generic events represent what Perfetto has no event for: a page fault (named like the kernel's tracepoint), the
//! number of lost events, a processor that goes offline or online, and the time until which the running thread asks to
//! sleep (`hemiola_lost`, `hemiola_online`, `hemiola_sleep_until`).
//!
//! Field numbers follow `protos/perfetto/trace/ftrace/` in Perfetto's public repository.

mod lists;
mod read;
mod scan;
mod write;

use hemiola_wire::WireError;

use crate::sched::{Context, Left, PRIORITY_UNKNOWN, Tid};

pub(crate) use read::Bundles;
pub(super) use scan::read;
pub(crate) use scan::scan;
pub(super) use write::Kernel;

/// Why a bundle of events cannot be read.
#[derive(Debug, thiserror::Error)]
enum Malformed {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("{0}")]
    Bundle(&'static str),
}

/// Fields of `FtraceEventBundle`.
mod bundle {
    pub(super) const CPU: u32 = 1;
    pub(super) const EVENT: u32 = 2;
    pub(super) const LOST_EVENTS: u32 = 3;
    pub(super) const COMPACT_SCHED: u32 = 4;
    pub(super) const FTRACE_CLOCK: u32 = 5;
    pub(super) const FTRACE_TIMESTAMP: u32 = 6;
    pub(super) const BOOT_TIMESTAMP: u32 = 7;
}

/// Fields of `FtraceEventBundle.CompactSched`.
mod compact {
    pub(super) const SWITCH_TIMESTAMP: u32 = 1;
    pub(super) const SWITCH_PREV_STATE: u32 = 2;
    pub(super) const SWITCH_NEXT_PID: u32 = 3;
    pub(super) const SWITCH_NEXT_PRIO: u32 = 4;
    pub(super) const INTERN_TABLE: u32 = 5;
    pub(super) const SWITCH_NEXT_COMM: u32 = 6;
    pub(super) const WAKING_TIMESTAMP: u32 = 7;
    pub(super) const WAKING_PID: u32 = 8;
    pub(super) const WAKING_TARGET_CPU: u32 = 9;
    pub(super) const WAKING_PRIO: u32 = 10;
    pub(super) const WAKING_COMM: u32 = 11;
    pub(super) const WAKING_COMMON_FLAGS: u32 = 12;
}

/// Fields of `FtraceEvent`.
mod event {
    pub(super) const TIMESTAMP: u32 = 1;
    pub(super) const PID: u32 = 2;
    pub(super) const COMMON_FLAGS: u32 = 5;
    pub(super) const SCHED_SWITCH: u32 = 4;
    pub(super) const SCHED_WAKEUP: u32 = 17;
    pub(super) const SCHED_WAKING: u32 = 20;
    pub(super) const SOFTIRQ_ENTRY: u32 = 24;
    pub(super) const SOFTIRQ_EXIT: u32 = 25;
    pub(super) const IRQ_ENTRY: u32 = 36;
    pub(super) const IRQ_EXIT: u32 = 37;
    pub(super) const SCHED_WAKEUP_NEW: u32 = 114;
    pub(super) const TASK_NEWTASK: u32 = 235;
    pub(super) const TASK_RENAME: u32 = 236;
    pub(super) const GENERIC: u32 = 327;
    pub(super) const SYS_ENTER: u32 = 329;
    pub(super) const SYS_EXIT: u32 = 330;
}

/// Names of generic events.
mod generic {
    pub(super) const FAULT_USER: &str = "page_fault_user";
    pub(super) const FAULT_KERNEL: &str = "page_fault_kernel";
    pub(super) const LOST: &str = "hemiola_lost";
    pub(super) const ONLINE: &str = "hemiola_online";
    pub(super) const SLEEP_UNTIL: &str = "hemiola_sleep_until";
}

/// `CLONE_THREAD` of clone(2).
const CLONE_THREAD: u64 = 0x1_0000;

/// The kernel's numbering of states in `sched_switch`, which changed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct States {
    /// The bit for preempted.
    preempted: u64,
    /// The bits for parked or idle.
    idle: u64,
    /// The bit for dead, in addition to `EXIT_DEAD` and `EXIT_ZOMBIE`.
    dead: u64,
}

impl States {
    /// Since 4.14.
    pub(crate) const NOW: Self = Self { preempted: 0x100, idle: 0xC0, dead: 0 };

    /// Returns the numbering of the kernel with this release, as reported by uname(2).
    pub(crate) fn of(release: &str) -> Self {
        let mut numbers = release.split(|byte: char| !byte.is_ascii_digit());
        let mut number = || numbers.next().and_then(|digits| digits.parse::<u32>().ok());
        match (number(), number()) {
            (Some(major), Some(minor)) if (major, minor) < (4, 8) => {
                Self { preempted: 0x800, idle: 0x600, dead: 0x40 }
            }
            (Some(major), Some(minor)) if (major, minor) < (4, 14) => {
                Self { preempted: 0x1000, idle: 0x600, dead: 0x40 }
            }
            _ => Self::NOW,
        }
    }

    /// Returns the state with this number.
    #[inline]
    pub(crate) const fn left(self, state: u64) -> Left {
        match state {
            0 => Left::Yielded,
            1 => Left::Sleeping,
            _ if state & self.preempted != 0 => Left::Preempted,
            _ if state & (0x30 | self.dead) != 0 => Left::Dead,
            _ if state & self.idle != 0 => Left::Idle,
            _ if state & 0x0C != 0 => Left::Stopped,
            _ if state & 2 != 0 => Left::Uninterruptible,
            _ if state & 1 != 0 => Left::Sleeping,
            _ => Left::Unknown,
        }
    }

    /// Returns the number of a state, since 4.14.
    const fn number(left: Left) -> u64 {
        match left {
            Left::Preempted => 0x100,
            Left::Yielded => 0,
            Left::Sleeping => 1,
            Left::Uninterruptible => 2,
            Left::Stopped => 4,
            Left::Dead => 0x10,
            Left::Idle => 0x80,
            // A bit that no kernel uses: Perfetto shows it as invalid.
            Left::Unknown => 0x200,
        }
    }
}

/// The bits of an event's `common_flags` for interrupts: hard, soft, non-maskable.
const FLAGS_INTERRUPT: u64 = 0x58;
const FLAG_HARD: u64 = 0x08;
/// Our own bit, beyond the kernel's eight: unknown.
const FLAG_UNKNOWN: u64 = 0x100;

/// Returns the context of an event with these flags.
#[inline]
pub(crate) const fn context(flags: u64) -> Context {
    match flags {
        _ if flags & FLAGS_INTERRUPT != 0 => Context::Interrupt,
        _ if flags & FLAG_UNKNOWN != 0 => Context::Unknown,
        _ => Context::Thread,
    }
}

const fn flags(context: Context) -> u64 {
    match context {
        Context::Thread => 0,
        Context::Interrupt => FLAG_HARD,
        Context::Unknown => FLAG_UNKNOWN,
    }
}

/// Decodes a thread's number, which Perfetto writes as an `int32`.
#[inline]
const fn tid(number: u64) -> Tid {
    Tid(number as u32)
}

/// A priority beyond the kernel's 0–139: unknown.
const PRIORITY_NONE: u64 = 140;

#[inline]
fn priority(number: u64) -> i16 {
    match number {
        PRIORITY_NONE => PRIORITY_UNKNOWN,
        _ => i16::try_from(number.cast_signed()).unwrap_or(PRIORITY_UNKNOWN),
    }
}

const fn priority_number(priority: i16) -> u64 {
    match priority {
        PRIORITY_UNKNOWN => PRIORITY_NONE,
        _ => (priority as i64).cast_unsigned(),
    }
}

#[cfg(test)]
mod tests;
