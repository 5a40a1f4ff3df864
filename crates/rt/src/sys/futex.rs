//! Sleeping on a word of shared memory: futex(2).

use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

use hemiola_units::Instant;
use rustix::io::Errno;
use rustix::thread::futex;

use super::timespec;

/// Why [`wait_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A wake-up, or the word already had another value, or a signal arrived: check the word again.
    LookAgain,
    /// The time limit was reached.
    TimedOut,
}

/// Sleeps while `word` equals `expected`, at most until `until` on `CLOCK_MONOTONIC` (no limit for `None` or
/// `Instant::MAX`). Works across processes, and on memory mapped read-only.
///
/// # Panics
/// If the kernel lacks futexes, which every Linux system has.
///
/// Source: futex(2), `FUTEX_WAIT_BITSET`. Its timeout is absolute; that of `FUTEX_WAIT` is relative and would drift
/// with every spurious wake-up.
pub fn wait_until(word: &AtomicU32, expected: u32, until: Option<Instant>) -> Wake {
    let limit = until.filter(|until| *until != Instant::MAX).map(timespec);
    let all = NonZeroU32::MAX;
    match futex::wait_bitset(word, futex::Flags::empty(), expected, limit.as_ref(), all) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Wake::LookAgain,
        Err(Errno::TIMEDOUT) => Wake::TimedOut,
        Err(error) => panic!("futex(FUTEX_WAIT_BITSET) on a mapped, aligned word: {error}"),
    }
}

/// Wakes every thread that sleeps on `word`, in this process and others, and returns how many there were.
///
/// # Panics
/// As [`wait_until`].
pub fn wake_all(word: &AtomicU32) -> usize {
    wake(word, i32::MAX as u32)
}

/// Wakes at most one thread that sleeps on `word`.
///
/// # Panics
/// As [`wait_until`].
pub fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

fn wake(word: &AtomicU32, threads_max: u32) -> usize {
    futex::wake(word, futex::Flags::empty(), threads_max)
        .expect("futex(FUTEX_WAKE) refuses no mapped, aligned word")
}
