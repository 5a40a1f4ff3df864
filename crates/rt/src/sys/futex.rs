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
    /// Woken, or the word was another value to begin with, or a signal came: look at the word again.
    LookAgain,
    /// The limit came.
    TimedOut,
}

/// Sleeps while `word` is `expected`, at most until `until` on `CLOCK_MONOTONIC` (`None` or
/// `Instant::MAX`: for ever). Works across processes, and on memory mapped read-only.
///
/// # Panics
/// When the kernel has no futexes, which a Linux system always has.
///
/// Source: futex(2), `FUTEX_WAIT_BITSET`, whose time is absolute where `FUTEX_WAIT`'s is relative and so
/// would drift with every spurious wake.
pub fn wait_until(word: &AtomicU32, expected: u32, until: Option<Instant>) -> Wake {
    let limit = until.filter(|until| *until != Instant::MAX).map(timespec);
    let all = NonZeroU32::MAX;
    match futex::wait_bitset(word, futex::Flags::empty(), expected, limit.as_ref(), all) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Wake::LookAgain,
        Err(Errno::TIMEDOUT) => Wake::TimedOut,
        Err(error) => panic!("futex(FUTEX_WAIT_BITSET) on a mapped, aligned word: {error}"),
    }
}

/// Wakes everybody who sleeps on `word`, in this process and others; returns how many.
///
/// # Panics
/// As [`wait_until`].
pub fn wake_all(word: &AtomicU32) -> usize {
    futex::wake(word, futex::Flags::empty(), i32::MAX as u32)
        .expect("futex(FUTEX_WAKE) refuses no mapped, aligned word")
}
