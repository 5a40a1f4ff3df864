//! The lateness of a thread that wakes at a point in time.

use std::hint::spin_loop;
use std::io;
use std::os::fd::OwnedFd;

use hemiola_rt::clock::Clock;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Instant, Span};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::catalogue::Probe;
use crate::stage::{Stage, pair};
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

/// The way of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// clock_nanosleep(2) to an absolute time.
    Nanosleep,
    /// read(2) of a timerfd_create(2) that expires with the period.
    Timerfd,
    /// Reading the clock until it is time.
    Spin,
    /// clock_nanosleep(2) until `APPROACH` before the time, then reading the clock.
    SleepThenSpin,
}

/// The interval of wake-ups.
const PERIOD: Span = Span::from_millis(1);

/// How long before the time [`Strategy::SleepThenSpin`] stops sleeping.
const APPROACH: Span = Span::from_micros(200);

/// Uncounted first wake-ups.
const WARM_UP: u32 = 5;

pub(crate) fn probes() -> Vec<Probe> {
    let strategies = [
        ("nanosleep", Strategy::Nanosleep, "by clock_nanosleep to an absolute time"),
        ("timerfd", Strategy::Timerfd, "by reading a timerfd"),
        ("spin", Strategy::Spin, "by reading the clock until it is time"),
        (
            "sleep_then_spin",
            Strategy::SleepThenSpin,
            "by sleeping until 200 µs before, then reading the clock",
        ),
    ];
    let probe = |(word, strategy, how): (&str, Strategy, &'static str)| {
        let title = format!("lateness of a thread that wakes every millisecond {how}");
        let quick = strategy == Strategy::Nanosleep;
        Probe::time(format!("timer.wake_up.{word}"), title, quick, move |name, setting, count| {
            wake_up(strategy, how, name, setting, count)
        })
    };
    strategies.map(probe).into()
}

/// Takes `count` readings, one every [`PERIOD`]: from the wake-up time to the thread's first clock reading, minus the
/// cost of that reading.
fn wake_up(
    strategy: Strategy,
    how: &str,
    name: &str,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, |stage| {
        // A lateness starts at a time and not at a clock reading, so it includes half a pair.
        let overhead = pair(&stage.clock).per(2);
        let late = lateness(strategy, stage, count).map_err(ProbeError::doing("set a timer"))?;
        let values = late.iter().map(|late| late.nanos() as f64 - overhead.value).collect();
        let place = (setting, stage.granted.clone());
        let taken: (Vec<f64>, Overhead) = (values, overhead);
        let circumstances = [("waiting", how), ("period", "1 ms")];
        Ok(Readings::new(name, Unit::Nanoseconds, taken, 1, place, &circumstances))
    })
}

fn lateness(strategy: Strategy, stage: &mut Stage, count: u32) -> io::Result<Vec<Span>> {
    let mut late = Vec::with_capacity(count as usize);
    let epoch = stage.clock.anchor() + PERIOD;
    let timer = if strategy == Strategy::Timerfd { Some(timer(epoch)?) } else { None };
    for number in 0..count.saturating_add(WARM_UP) {
        if strategy == Strategy::Spin {
            stage.rest_if_due();
        }
        let due = next_due(epoch, stage.clock.anchor());
        let woken = loop {
            match &timer {
                Some(timer) => {
                    rustix::io::read(timer, &mut [0; 8])?;
                }
                None if strategy == Strategy::Nanosleep => sleep_until(due),
                None if strategy == Strategy::SleepThenSpin => sleep_until(due + -APPROACH),
                None => {}
            }
            if matches!(strategy, Strategy::Spin | Strategy::SleepThenSpin) {
                while stage.clock.now() < due {
                    spin_loop();
                }
            }
            let now = stage.clock.now();
            // A timer that expired while the thread was late returns at once.
            if now >= due {
                break now;
            }
        };
        if number >= WARM_UP {
            late.push(woken - due);
        }
    }
    Ok(late)
}

/// The first wake-up time after `now` that leaves a quarter of the period to get ready. A time that has already passed
/// would measure the previous lateness again.
fn next_due(epoch: Instant, now: Instant) -> Instant {
    let passed = (now + PERIOD / 4) - epoch;
    let number = if passed.is_positive() { passed.nanos() / PERIOD.nanos() + 1 } else { 0 };
    epoch + PERIOD * number
}

/// A timer that expires at `epoch` and every [`PERIOD`] after.
fn timer(epoch: Instant) -> io::Result<OwnedFd> {
    let timespec = |nanos: u64| Timespec {
        tv_sec: (nanos / 1_000_000_000) as i64,
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let times = Itimerspec {
        it_interval: timespec(PERIOD.nanos().unsigned_abs()),
        it_value: timespec(epoch.nanos()),
    };
    timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &times)?;
    Ok(timer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_wake_up_time_is_never_in_the_past() {
        let epoch = Instant::from_nanos(5_000_000);
        for (now, due) in [(0, 5_000_000), (5_030_000, 6_000_000), (6_900_000, 8_000_000)] {
            assert_eq!(next_due(epoch, Instant::from_nanos(now)), Instant::from_nanos(due));
        }
    }
}
