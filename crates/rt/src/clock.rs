//! Clocks.

use hemiola_units::Instant;

/// Something that shows the time on the monotonic clock.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Instant;
}

/// `CLOCK_MONOTONIC` as the kernel shows it: a call into the vDSO.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now(&self) -> Instant {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Instant::from_nanos(crate::sys::nanos(time))
    }
}
