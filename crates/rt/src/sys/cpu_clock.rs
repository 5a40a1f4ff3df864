//! Processor time used by this thread or by another process.

use std::io;

use hemiola_units::Span;
use rustix::time::{ClockId, clock_gettime};

use super::nanos;

/// Returns the processor time of the calling thread so far; a system call of about 0.4 µs.
///
/// Source: clock_gettime(2), `CLOCK_THREAD_CPUTIME_ID`.
#[must_use]
pub fn thread() -> Span {
    Span::from_nanos(nanos(clock_gettime(ClockId::ThreadCPUTime)) as i64)
}

/// The kernel's `PID_MAX_LIMIT`.
const PID_MAX: i32 = 1 << 22;

/// Returns the processor time of all threads of process `pid` so far.
///
/// # Errors
/// `ESRCH` if there is no such process.
///
/// Source: clock_getcpuclockid(3).
pub fn process(pid: u32) -> io::Result<Span> {
    // A clock id has 29 bits for the process, so a larger number would name another process.
    let pid = i32::try_from(pid).ok().filter(|pid| (1..=PID_MAX).contains(pid));
    let pid = pid.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    let mut clock = 0;
    // SAFETY: the call writes one clock id, to a variable of that type.
    let result = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if result != 0 {
        return Err(io::Error::from_raw_os_error(result));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, to a variable of that type; if the process has gone it returns an error.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Span::from_nanos(time.tv_sec * 1_000_000_000 + time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, FastClock};

    #[test]
    fn work_uses_processor_time() {
        let clock = FastClock::calibrate();
        let (start, before) = (clock.now(), thread());
        clock.spin_for(Span::from_millis(2));
        let (used, passed) = (thread() - before, clock.now() - start);
        assert!(used.is_positive() && used <= passed + Span::from_millis(1));
        assert!(process(std::process::id()).unwrap() >= used);
    }

    #[test]
    fn a_process_that_does_not_exist_has_no_clock() {
        assert!(process(u32::MAX >> 1).is_err());
    }
}
