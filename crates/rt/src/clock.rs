//! Clocks: the kernel's, a fast one calibrated against it, and one that tests set by hand.

use std::fmt;
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::sys::{nanos, timer, tsc};

/// A source of time on the monotonic clock.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Instant;
}

/// `CLOCK_MONOTONIC` as the kernel provides it: a call into the vDSO.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Instant {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Instant::from_nanos(nanos(time))
    }
}

/// Nanoseconds since 1970 UTC on the wall clock; 0 before 1970. The wall clock can be set, so this is for
/// people to read and never for measuring.
#[must_use]
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// A clock that stands still until it is set. Clones show the same time, in any thread.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self(Arc::new(AtomicU64::new(now.nanos())))
    }

    /// Sets the time to `now`, earlier or later.
    pub fn set(&self, now: Instant) {
        self.0.store(now.nanos(), Ordering::SeqCst);
    }

    /// Advances by `span`, or goes back if it is negative.
    pub fn advance(&self, span: Span) {
        self.set(self.now() + span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

/// The underlying source of a [`FastClock`]'s time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSource {
    /// The processor's time stamp counter.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC)`, where the counter is not reliable.
    ClockGettime,
}

impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tsc => "tsc",
            Self::ClockGettime => "clock_gettime",
        })
    }
}

/// The counter's rate, measured once and handed to every process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    source: ClockSource,
    /// Nanoseconds per tick, times 2³².
    nanos_per_tick_32: u64,
    /// The most ticks that an undisturbed reading of both clocks may take.
    bracket_ticks_max: u64,
}

/// Long enough that 20 ns of uncertainty at both ends is less than one part in a million.
const CALIBRATION: Span = Span::from_millis(50);
/// Readings of both clocks during calibration; the least disturbed one is used.
const CALIBRATION_TRIES: u32 = 32;
/// Readings of both clocks for an anchor; the least disturbed one is used, and the first is nearly always good enough.
const ANCHOR_TRIES: u32 = 4;

impl Calibration {
    /// Measures the counter against `CLOCK_MONOTONIC`, sleeping for about 50 ms; returns at once where the
    /// counter is not reliable.
    #[must_use]
    pub fn measure() -> Self {
        if !tsc::is_trustworthy() {
            return Self {
                source: ClockSource::ClockGettime,
                nanos_per_tick_32: 0,
                bracket_ticks_max: 0,
            };
        }
        let first = Pair::read(CALIBRATION_TRIES, 0);
        timer::sleep_until(Instant::from_nanos(first.nanos) + CALIBRATION);
        let last = Pair::read(CALIBRATION_TRIES, 0);
        let ticks = last.ticks.saturating_sub(first.ticks).max(1);
        let nanos = last.nanos - first.nanos;
        Self {
            source: ClockSource::Tsc,
            nanos_per_tick_32: ((u128::from(nanos) << 32) / u128::from(ticks)) as u64,
            bracket_ticks_max: 2 * last.bracket,
        }
    }

    /// Returns the underlying source of clocks with this calibration.
    #[must_use]
    pub fn source(self) -> ClockSource {
        self.source
    }
}

/// Both clocks, read as close together as possible.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    nanos: u64,
    /// Ticks between the counter readings before and after the clock reading: twice the uncertainty.
    bracket: u64,
}

impl Pair {
    /// Returns the least disturbed of `tries` readings, or the first within `bracket_max` ticks.
    #[inline]
    fn read(tries: u32, bracket_max: u64) -> Self {
        let mut best = Self { ticks: 0, nanos: 0, bracket: u64::MAX };
        for _ in 0..tries {
            let before = tsc::read();
            let nanos = MonotonicClock.now().nanos();
            let bracket = tsc::read().saturating_sub(before);
            if bracket < best.bracket {
                best = Self { ticks: before + bracket / 2, nanos, bracket };
            }
            if bracket <= bracket_max {
                break;
            }
        }
        best
    }
}

/// The monotonic clock at the cost of a counter reading: a line through the last anchor.
///
/// The kernel adjusts the rate of `CLOCK_MONOTONIC` against the counter by up to a few parts in 10 000. A loop
/// therefore calls [`anchor`](Self::anchor) once per cycle, which keeps the difference small and stops it
/// accumulating. A clock never shows a time earlier than one it has shown before.
#[derive(Clone, Debug)]
pub struct FastClock {
    calibration: Calibration,
    base_ticks: u64,
    base_nanos: u64,
    /// The latest time that this clock may have shown before the last anchor.
    floor: u64,
}

impl FastClock {
    /// Returns a clock with its own calibration: see [`Calibration::measure`].
    #[must_use]
    pub fn calibrate() -> Self {
        Self::from(Calibration::measure())
    }

    /// Restarts the line at the present readings of both clocks and returns the time.
    ///
    /// Costs about one reading of the kernel's clock and two of the counter.
    #[inline]
    pub fn anchor(&mut self) -> Instant {
        if self.calibration.source == ClockSource::Tsc {
            let pair = Pair::read(ANCHOR_TRIES, self.calibration.bracket_ticks_max);
            self.anchor_at(pair.ticks, pair.nanos);
            // Return the anchor itself: another counter reading would already show a later time.
            return Instant::from_nanos(self.base_nanos.max(self.floor));
        }
        self.now()
    }

    fn anchor_at(&mut self, ticks: u64, nanos: u64) {
        // Every time shown so far was shown at or before `ticks` on the old line.
        self.floor = self.at(ticks);
        (self.base_ticks, self.base_nanos) = (ticks, nanos);
    }

    /// Returns the time at which the counter shows `ticks`.
    #[inline]
    fn at(&self, ticks: u64) -> u64 {
        // If this processor's counter is slightly behind the one that anchored, show the anchor.
        let since = ticks.saturating_sub(self.base_ticks);
        let nanos = (u128::from(since) * u128::from(self.calibration.nanos_per_tick_32)) >> 32;
        (self.base_nanos + nanos as u64).max(self.floor)
    }

    /// Returns the underlying source of the time.
    #[must_use]
    pub fn source(&self) -> ClockSource {
        self.calibration.source
    }

    /// Returns its calibration, for another process.
    #[must_use]
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Keeps the processor busy until `span` has passed. Time during preemption counts, as it would while
    /// waiting for a device.
    pub fn spin_for(&self, span: Span) {
        let until = self.now() + span;
        while self.now() < until {
            spin_loop();
        }
    }
}

impl From<Calibration> for FastClock {
    /// Returns a clock anchored now.
    fn from(calibration: Calibration) -> Self {
        let mut clock = Self { calibration, base_ticks: 0, base_nanos: 0, floor: 0 };
        if calibration.source == ClockSource::Tsc {
            let pair = Pair::read(CALIBRATION_TRIES, calibration.bracket_ticks_max);
            (clock.base_ticks, clock.base_nanos) = (pair.ticks, pair.nanos);
        }
        clock
    }
}

impl Clock for FastClock {
    #[inline]
    fn now(&self) -> Instant {
        match self.calibration.source {
            ClockSource::Tsc => Instant::from_nanos(self.at(tsc::read())),
            ClockSource::ClockGettime => MonotonicClock.now(),
        }
    }
}

/// The cost and resolution of the clocks, measured on this machine in this run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFigures {
    /// The underlying source of the fast clock.
    pub source: ClockSource,
    /// Median cost of one bare `clock_gettime(CLOCK_MONOTONIC)`, in nanoseconds.
    pub read_ns: f64,
    /// Median cost of one reading of the fast clock, in nanoseconds.
    pub fast_read_ns: f64,
    /// The smallest positive step seen between two fast readings, in nanoseconds.
    pub resolution_ns: f64,
    /// The fast clock minus the kernel's, 10 ms after an anchor, in nanoseconds.
    pub difference_ns: f64,
}

impl ClockFigures {
    /// Measures all figures, in about 15 ms.
    #[must_use]
    pub fn measure(calibration: Calibration) -> Self {
        const READS: u32 = 500;
        const BATCHES: usize = 101;
        const APART: Span = Span::from_millis(10);

        let mut clock = FastClock::from(calibration);
        let median_cost = |read: &dyn Fn()| {
            let mut costs: Vec<i64> = (0..BATCHES)
                .map(|_| {
                    let start = MonotonicClock.now();
                    read();
                    (MonotonicClock.now() - start).nanos()
                })
                .collect();
            costs.sort_unstable();
            costs[BATCHES / 2] as f64 / f64::from(READS)
        };
        // The loops are inside the closures, so that the call through `dyn` is paid once per batch.
        let read_ns = median_cost(&|| {
            (0..READS).for_each(|_| {
                black_box(MonotonicClock.now());
            });
        });
        let fast = clock.clone();
        let fast_read_ns = median_cost(&|| {
            (0..READS).for_each(|_| {
                black_box(fast.now());
            });
        });
        let mut last = clock.now();
        let steps = (0..READS).map(|_| {
            let now = clock.now();
            let step = now - last;
            last = now;
            step
        });
        let resolution = steps.filter(|step| step.is_positive()).min().unwrap_or(Span::ZERO);

        let anchored = clock.anchor();
        timer::sleep_until(anchored + APART);
        let difference_ns = match calibration.source {
            ClockSource::Tsc => {
                let pair = Pair::read(CALIBRATION_TRIES, 0);
                clock.at(pair.ticks) as f64 - pair.nanos as f64
            }
            ClockSource::ClockGettime => 0.0,
        };
        let resolution_ns = resolution.nanos() as f64;
        Self { source: calibration.source, read_ns, fast_read_ns, resolution_ns, difference_ns }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clones_of_a_manual_clock_show_the_same_time() {
        let clock = ManualClock::new(Instant::from_nanos(5));
        let other = clock.clone();
        clock.advance(Span::from_nanos(7));
        assert_eq!(other.now(), Instant::from_nanos(12));
        other.set(Instant::from_nanos(3));
        assert_eq!(clock.now(), Instant::from_nanos(3));
    }

    #[test]
    fn a_fast_clock_from_a_serialized_calibration_shows_the_kernels_time() {
        let text = serde_json::to_string(&Calibration::measure()).unwrap();
        let mut clock = FastClock::from(serde_json::from_str::<Calibration>(&text).unwrap());
        for _ in 0..100 {
            let before = MonotonicClock.now();
            let shown = clock.anchor();
            let after = MonotonicClock.now();
            assert!(before <= shown && shown <= after, "{before:?} {shown:?} {after:?}");
        }
    }

    #[test]
    fn a_real_fast_clock_never_steps_back() {
        let mut clock = FastClock::calibrate();
        let mut last = clock.now();
        for round in 0..20_000 {
            let now = if round % 10 == 0 { clock.anchor() } else { clock.now() };
            assert!(now >= last);
            last = now;
        }
    }

    proptest! {
        #[test]
        fn no_anchor_turns_the_clock_back(
            rate in 1u64 << 30..1 << 34,
            steps in proptest::collection::vec((0u64..1 << 40, -2_000_000i64..2_000_000), 1..40),
        ) {
            let calibration = Calibration {
                source: ClockSource::Tsc, nanos_per_tick_32: rate, bracket_ticks_max: 0,
            };
            let mut clock =
                FastClock { calibration, base_ticks: 0, base_nanos: 1 << 40, floor: 0 };
            let (mut ticks, mut last) = (0, 0);
            for (step, error) in steps {
                ticks += step;
                let shown = clock.at(ticks);
                prop_assert!(shown >= last);
                clock.anchor_at(ticks, shown.saturating_add_signed(error));
                last = clock.at(ticks);
                prop_assert!(last >= shown);
            }
        }
    }

    #[test]
    fn figures_are_of_the_clock_asked_for() {
        let calibration = Calibration::measure();
        let figures = ClockFigures::measure(calibration);
        assert_eq!(figures.source, calibration.source());
        assert!(figures.read_ns > 0.0 && figures.fast_read_ns > 0.0);
    }

    #[test]
    fn spinning_lasts_at_least_as_long_as_asked() {
        let clock = FastClock::calibrate();
        let start = clock.now();
        clock.spin_for(Span::from_micros(50));
        assert!(clock.now() - start >= Span::from_micros(50));
    }
}
