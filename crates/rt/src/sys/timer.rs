//! Sleeping until an instant.

use hemiola_units::Instant;
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::ClockId;

use super::timespec;

/// Sleeps until `until` on `CLOCK_MONOTONIC`, through signals; returns at once if it has passed.
///
/// # Panics
/// Never: the kernel refuses only clocks and times that cannot occur here.
///
/// Source: clock_nanosleep(2), `TIMER_ABSTIME`.
pub fn sleep_until(until: Instant) {
    let until = timespec(until);
    loop {
        match clock_nanosleep_absolute(ClockId::Monotonic, &until) {
            Ok(()) => return,
            Err(Errno::INTR) => {}
            Err(error) => panic!("clock_nanosleep to an absolute time: {error}"),
        }
    }
}
