//! Clocks: the kernel's, a fast one calibrated to it, and one that tests turn by hand.

use std::fmt;
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::sys::{nanos, timer, tsc};

/// Something that shows the time on the monotonic clock.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Instant;
}

/// `CLOCK_MONOTONIC` as the kernel shows it: a call into the vDSO.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Instant {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Instant::from_nanos(nanos(time))
    }
}

/// Nanoseconds since 1970 UTC by the machine's wall clock, which may be set: for people, never to measure with. 0
/// before 1970.
#[must_use]
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// A clock that stands still until told otherwise. Clones show the same time, in any thread.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self(Arc::new(AtomicU64::new(now.nanos())))
    }

    /// Shows `now`, earlier or later.
    pub fn set(&self, now: Instant) {
        self.0.store(now.nanos(), Ordering::SeqCst);
    }

    /// Goes on by `span`; back, when it is negative.
    pub fn advance(&self, span: Span) {
        self.set(self.now() + span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

/// Where a [`FastClock`] takes the time from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The processor's time stamp counter.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC)`, where the counter cannot be trusted.
    ClockGettime,
}

impl fmt::Display for Source {
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
    source: Source,
    /// Nanoseconds per tick, times 2³².
    nanos_per_tick_32: u64,
    /// How many ticks an undisturbed reading of both clocks may take.
    bracket_ticks_max: u64,
}

/// Long enough that 20 ns of uncertainty at both ends is less than one part in a million.
const CALIBRATION: Span = Span::from_millis(50);
/// Readings of both clocks from which calibration takes the least disturbed.
const CALIBRATION_TRIES: u32 = 32;
/// Readings of both clocks from which an anchor takes the least disturbed; the first is nearly always
/// good enough.
const ANCHOR_TRIES: u32 = 4;

impl Calibration {
    /// Measures the counter against `CLOCK_MONOTONIC`, in about 50 ms of sleep; at once where the
    /// counter cannot be trusted.
    #[must_use]
    pub fn measure() -> Self {
        if !tsc::is_trustworthy() {
            return Self {
                source: Source::ClockGettime,
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
            source: Source::Tsc,
            nanos_per_tick_32: ((u128::from(nanos) << 32) / u128::from(ticks)) as u64,
            bracket_ticks_max: 2 * last.bracket,
        }
    }

    /// Where clocks with this calibration take the time from.
    #[must_use]
    pub fn source(self) -> Source {
        self.source
    }
}

/// Both clocks read as near together as can be.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    nanos: u64,
    /// Ticks between the counter's reading before and after the clock's: twice the uncertainty.
    bracket: u64,
}

impl Pair {
    /// The least disturbed of `tries` readings, or the first within `bracket_max` ticks.
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

/// The monotonic clock at the cost of reading the counter: a line through the last anchor.
///
/// The kernel steers `CLOCK_MONOTONIC` against the counter by up to some parts in 10 000, so a loop
/// calls [`anchor`](Self::anchor) once per cycle; between anchors the difference stays small, and over
/// them it never adds up. One clock never shows an earlier time than it has shown before.
#[derive(Clone, Debug)]
pub struct FastClock {
    calibration: Calibration,
    base_ticks: u64,
    base_nanos: u64,
    /// The latest time this clock may have shown before the last anchor.
    floor: u64,
}

impl FastClock {
    /// A clock with a calibration of its own: see [`Calibration::measure`].
    #[must_use]
    pub fn calibrate() -> Self {
        Self::from(Calibration::measure())
    }

    /// Sets the line anew through both clocks' present readings and returns the time.
    ///
    /// Costs about one reading of the kernel's clock and two of the counter.
    #[inline]
    pub fn anchor(&mut self) -> Instant {
        if self.calibration.source == Source::Tsc {
            let pair = Pair::read(ANCHOR_TRIES, self.calibration.bracket_ticks_max);
            self.anchor_at(pair.ticks, pair.nanos);
            // Another counter reading would show later ones between; the anchor itself is the time.
            return Instant::from_nanos(self.base_nanos.max(self.floor));
        }
        self.now()
    }

    fn anchor_at(&mut self, ticks: u64, nanos: u64) {
        // Everything shown so far was shown at or before `ticks` on the old line.
        self.floor = self.at(ticks);
        (self.base_ticks, self.base_nanos) = (ticks, nanos);
    }

    /// The time at which the counter shows `ticks`.
    #[inline]
    fn at(&self, ticks: u64) -> u64 {
        // A processor whose counter is a hair behind the one that anchored shows the anchor.
        let since = ticks.saturating_sub(self.base_ticks);
        let nanos = (u128::from(since) * u128::from(self.calibration.nanos_per_tick_32)) >> 32;
        (self.base_nanos + nanos as u64).max(self.floor)
    }

    /// Where the time comes from.
    #[must_use]
    pub fn source(&self) -> Source {
        self.calibration.source
    }

    /// What it was made from, for handing to another process.
    #[must_use]
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Keeps the processor busy until `span` has passed; preemption counts as passing time, as it would
    /// for a device that is being waited for.
    pub fn spin_for(&self, span: Span) {
        let until = self.now() + span;
        while self.now() < until {
            spin_loop();
        }
    }
}

impl From<Calibration> for FastClock {
    /// A clock anchored now.
    fn from(calibration: Calibration) -> Self {
        let mut clock = Self { calibration, base_ticks: 0, base_nanos: 0, floor: 0 };
        if calibration.source == Source::Tsc {
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
            Source::Tsc => Instant::from_nanos(self.at(tsc::read())),
            Source::ClockGettime => MonotonicClock.now(),
        }
    }
}

/// What the clocks cost and how finely they show the time, measured on this machine in this run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFigures {
    /// Where the fast clock takes the time from.
    pub source: Source,
    /// Median cost of one bare `clock_gettime(CLOCK_MONOTONIC)`, in nanoseconds.
    pub read_ns: f64,
    /// Median cost of one reading of the fast clock, in nanoseconds.
    pub fast_read_ns: f64,
    /// The smallest step other than none seen between two fast readings, in nanoseconds.
    pub resolution_ns: f64,
    /// The fast clock minus the kernel's, 10 ms after an anchor, in nanoseconds.
    pub difference_ns: f64,
}

impl ClockFigures {
    /// Measures all of it, in about 15 ms.
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
        // The loops are inside, so that the call through `dyn` is paid once per batch.
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
            Source::Tsc => {
                let pair = Pair::read(CALIBRATION_TRIES, 0);
                clock.at(pair.ticks) as f64 - pair.nanos as f64
            }
            Source::ClockGettime => 0.0,
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
    fn a_fast_clock_from_a_calibration_that_travelled_shows_the_kernels_time() {
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
                source: Source::Tsc, nanos_per_tick_32: rate, bracket_ticks_max: 0,
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
