//! Thin safe wrappers for system calls that the standard library lacks.
//!
//! Each function is one system call, or two in a loop, and makes no decisions; those are a level up.

#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper; each file keeps them private"
)]

use std::io;

use hemiola_units::Instant;
use rustix::time::Timespec;

pub mod arena;
pub mod bpf;
pub mod cpu;
pub mod cpu_clock;
pub mod descriptor;
pub mod epoll;
pub mod eventfd;
pub mod futex;
pub mod local;
pub mod mapping;
pub mod memory;
pub mod mqueue;
pub mod perf;
pub mod process;
pub mod random;
pub mod sched;
pub mod team;
pub mod timer;
pub mod tsc;
pub mod unnamed;
pub mod usage;

/// Repeats a call as long as a signal interrupts it.
///
/// # Errors
/// Those of the call except `EINTR` (signal(7)).
pub fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Converts an instant to the kernel's form.
pub(crate) fn timespec(instant: Instant) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    let (seconds, nanos) = (instant.nanos() / SECOND, instant.nanos() % SECOND);
    Timespec { tv_sec: seconds as i64, tv_nsec: nanos as _ }
}

/// Converts a time from a kernel clock, which is never negative.
pub(crate) fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
