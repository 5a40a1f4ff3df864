//! The encoding of an event in one word.
//!
//! ```text
//!  0–3    4–11    12–19     20–41   42–63
//!  kind   state   priority  prev    next      a switch
//!  kind   context           thread  target    a wake-up; context: 0 thread, 1 interrupt, 2 unknown
//!  kind          priority          thread     an arrival without a reported departure
//!  kind                     number            interrupts, calls
//!  kind                     count (20–63)     lost
//!  kind   until (4–63), ns                    the running thread asks to sleep until then
//! ```
//!
//! 22 bits are enough for every thread number (`PID_MAX_LIMIT`, proc(5)).

use hemiola_trace::sched::{Context, Interrupt, Left, Tid, What};
use hemiola_units::Instant;

pub(super) const SHIFT_NUMBER: i32 = 4;
pub(super) const SHIFT_PRIORITY: i32 = 12;
pub(super) const SHIFT_FIRST: i32 = 20;
pub(super) const SHIFT_SECOND: i32 = 42;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Switch = 1,
    Wake,
    HardEntry,
    HardExit,
    SoftEntry,
    SoftExit,
    FaultInUser,
    FaultInKernel,
    CallEntry,
    CallExit,
    Lost,
    Arrival,
    SleepUntil,
}

/// The bits of a thread's state in a word: the kernel's bits, and in place of two that never occur there, one for
/// preempted, and one for parked or waiting without being counted as load.
pub(super) struct State;

impl State {
    pub(super) const SLEEPING: u8 = 1;
    pub(super) const UNINTERRUPTIBLE: u8 = 2;
    pub(super) const STOPPED_OR_TRACED: u8 = 4 | 8;
    pub(super) const PREEMPTED: u8 = 0x10;
    pub(super) const PARKED: u8 = 0x40;
    pub(super) const DEAD: u8 = 0x80;
}

/// Every kind, in the order of their numbers from 1.
const KINDS: [Kind; 13] = [
    Kind::Switch,
    Kind::Wake,
    Kind::HardEntry,
    Kind::HardExit,
    Kind::SoftEntry,
    Kind::SoftExit,
    Kind::FaultInUser,
    Kind::FaultInKernel,
    Kind::CallEntry,
    Kind::CallExit,
    Kind::Lost,
    Kind::Arrival,
    Kind::SleepUntil,
];

/// Decodes a word, given the running thread. The waker is not in the word: it is the thread that was running on that
/// processor.
pub(super) fn decode(word: u64, running: Tid) -> Option<What> {
    let (first, second) = ((word >> SHIFT_FIRST & 0x3f_ffff) as u32, (word >> SHIFT_SECOND) as u32);
    let (small, number) = ((word >> SHIFT_NUMBER) as u8, first as u16);
    let priority = match (word >> SHIFT_PRIORITY) as u8 {
        u8::MAX => -1,
        priority => priority.into(),
    };
    Some(match KINDS.get((word & 0xf).checked_sub(1)? as usize)? {
        Kind::Switch => {
            What::Switch { prev: Tid(first), left: left(small), next: Tid(second), priority }
        }
        Kind::Arrival => {
            What::Switch { prev: running, left: Left::Unknown, next: Tid(second), priority }
        }
        Kind::Wake => {
            let context = match small {
                0 => Context::Thread,
                1 => Context::Interrupt,
                _ => Context::Unknown,
            };
            What::Wake { tid: Tid(first), waker: Tid::UNKNOWN, context, target: second as u16 }
        }
        Kind::HardEntry => What::InterruptEntry(Interrupt::Hard(number)),
        Kind::HardExit => What::InterruptExit(Interrupt::Hard(number)),
        Kind::SoftEntry => What::InterruptEntry(Interrupt::Soft(number)),
        Kind::SoftExit => What::InterruptExit(Interrupt::Soft(number)),
        Kind::FaultInUser => What::PageFault(false),
        Kind::FaultInKernel => What::PageFault(true),
        Kind::CallEntry => What::CallEntry(number),
        Kind::CallExit => What::CallExit(number),
        Kind::SleepUntil => What::SleepUntil(Instant::from_nanos(word >> SHIFT_NUMBER).into()),
        Kind::Lost => What::Lost(u32::try_from(word >> SHIFT_FIRST).unwrap_or(u32::MAX)),
    })
}

const fn left(state: u8) -> Left {
    match state {
        0 => Left::Yielded,
        State::PREEMPTED => Left::Preempted,
        _ if state & State::DEAD != 0 => Left::Dead,
        _ if state & State::PARKED != 0 => Left::Idle,
        _ if state & State::STOPPED_OR_TRACED != 0 => Left::Stopped,
        _ if state & State::UNINTERRUPTIBLE != 0 => Left::Uninterruptible,
        _ if state & State::SLEEPING != 0 => Left::Sleeping,
        _ => Left::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_has_both_threads_the_state_and_the_priority() {
        let tid_max = (1 << 22) - 1;
        let switch = |state: u8, priority: u8| {
            decode(
                Kind::Switch as u64
                    | u64::from(state) << SHIFT_NUMBER
                    | u64::from(priority) << SHIFT_PRIORITY
                    | tid_max << SHIFT_FIRST
                    | 7 << SHIFT_SECOND,
                Tid(5),
            )
        };
        let expected = |left, priority| {
            Some(What::Switch { prev: Tid(tid_max as u32), left, next: Tid(7), priority })
        };
        assert_eq!(switch(State::PREEMPTED, 19), expected(Left::Preempted, 19));
        assert_eq!(switch(0, u8::MAX), expected(Left::Yielded, -1));
        assert_eq!(switch(State::UNINTERRUPTIBLE | State::PARKED, 120), expected(Left::Idle, 120));
        assert_eq!(switch(State::SLEEPING, 120), expected(Left::Sleeping, 120));
        assert_eq!(switch(State::DEAD, 120), expected(Left::Dead, 120));

        let arrival = Kind::Arrival as u64 | 19 << SHIFT_PRIORITY | 7 << SHIFT_SECOND;
        let told = What::Switch { prev: Tid(5), left: Left::Unknown, next: Tid(7), priority: 19 };
        assert_eq!(decode(arrival, Tid(5)), Some(told));
    }

    #[test]
    fn kinds_have_the_numbers_of_their_order() {
        for (index, kind) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, index + 1);
            assert!(decode(*kind as u64, Tid(5)).is_some());
        }
        assert_eq!([decode(0, Tid(5)), decode(15, Tid(5))], [None, None]);
        assert_eq!(decode(Kind::Lost as u64 | 1 << 60, Tid(5)), Some(What::Lost(u32::MAX)));
    }
}
