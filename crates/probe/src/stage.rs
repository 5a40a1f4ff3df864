//! A measuring thread with its profile, and readings on it: warm-up, batches, the cost of measuring itself.

use std::hint::black_box;
use std::thread;

use hemiola_rt::clock::{Clock, FastClock};
use hemiola_rt::profile;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Granted, Instant, Policy, Span};

use crate::peer::place;
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

/// The longest time a real-time thread runs without a rest. The kernel throttles real-time threads for 50 ms in each
/// second (sched(7), "Limiting the CPU usage of real-time and deadline processes"); a rest before that avoids a stop in
/// the middle of a reading.
pub(crate) const SPELL: Span = Span::from_millis(800);
/// The length of a rest, sufficient for the next spell.
pub(crate) const REST: Span = Span::from_millis(60);

/// The minimum duration of a batch, so that a clock error of 20 ns is a thousandth of it.
pub(crate) const BATCH: Span = Span::from_micros(20);

/// The largest batch; no operation is short enough for more.
const BATCH_MAX: u64 = 1 << 20;

/// A measuring thread on one processor, with the setting's scheduling if granted.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Its clock, anchored at the start and at each rest.
    pub(crate) clock: FastClock,
    /// The granted profile.
    pub(crate) granted: Granted,
    rested: Instant,
}

impl Stage {
    /// Runs `work` on its own thread on processor `cpu`; the caller only waits.
    pub(crate) fn run<T: Send>(
        setting: &Setting,
        cpu: u16,
        work: impl FnOnce(&mut Self) -> Result<T, ProbeError> + Send,
    ) -> Result<T, ProbeError> {
        let measured = || {
            let granted = profile::apply(&place(cpu, setting.scheduling, false));
            let clock = FastClock::from(setting.calibration);
            let rested = clock.now();
            work(&mut Self { clock, granted, rested })
        };
        thread::scope(|scope| {
            let started = thread::Builder::new().spawn_scoped(scope, measured);
            let thread = started.map_err(ProbeError::doing("start a measuring thread"))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The duration of `work` in nanoseconds, including one pair of clock readings.
    #[inline]
    pub(crate) fn time(&self, work: impl FnOnce()) -> f64 {
        let start = self.clock.now();
        work();
        (self.clock.now() - start).nanos() as f64
    }

    /// Rests if the spell is over; called between readings only.
    pub(crate) fn rest_if_due(&mut self) {
        if self.clock.now() - self.rested >= SPELL {
            self.rest();
        }
    }

    /// Rests now if the kernel throttles the policy.
    pub(crate) fn rest(&mut self) {
        if !matches!(self.granted.scheduling, Policy::Other { .. }) {
            sleep_until(self.clock.now() + REST);
        }
        self.rested = self.clock.anchor();
    }

    /// The number of operations that last at least `lasting`, as a power of two; finding it also warms up.
    pub(crate) fn batch(&mut self, lasting: Span, work: &mut impl FnMut(u64)) -> u64 {
        let mut batch = 1;
        // Times the second of two runs; the first loads caches and trains the branch predictor.
        while batch < BATCH_MAX && {
            work(batch);
            self.time(|| work(batch)) < lasting.nanos() as f64
        } {
            batch *= 2;
        }
        batch
    }

    /// `count` readings of the time of one of `batch` operations in nanoseconds. `work` and `empty` receive the batch;
    /// `empty` is the same loop without the operation, measured in between (empty, work, work, empty) and subtracted.
    pub(crate) fn compare(
        &mut self,
        count: u32,
        batch: u64,
        work: &mut impl FnMut(u64),
        empty: &mut impl FnMut(u64),
    ) -> (Vec<f64>, Overhead) {
        let mut spent = Vec::with_capacity(count as usize + 1);
        let mut empties = Vec::with_capacity(count as usize + 1);
        while spent.len() < count as usize {
            self.rest_if_due();
            empties.push(self.time(|| empty(batch)));
            spent.push(self.time(|| work(batch)));
            spent.push(self.time(|| work(batch)));
            empties.push(self.time(|| empty(batch)));
        }
        spent.truncate(count as usize);
        let whole = Overhead::of(empties);
        let values = spent.iter().map(|nanos| (nanos - whole.value) / batch as f64).collect();
        (values, whole.per(batch))
    }
}

/// The cost of a pair of readings of `clock`, for operations timed one by one.
pub(crate) fn pair(clock: &FastClock) -> Overhead {
    const PAIRS: usize = 1001;
    let mut pairs: Vec<f64> = (0..PAIRS)
        .map(|_| {
            let start = clock.now();
            (clock.now() - start).nanos() as f64
        })
        .collect();
    // The first ones load the code.
    pairs.drain(..PAIRS / 10);
    Overhead::of(pairs)
}

/// `count` readings of `call`, which gets the stage's clock. They are taken in batches, without the cost of the loop.
pub(crate) fn repeated(
    name: &str,
    setting: &Setting,
    count: u32,
    circumstances: &[(&str, &str)],
    call: impl Fn(&FastClock) + Send,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, move |stage| {
        let clock = stage.clock.clone();
        let mut work = |batch: u64| (0..batch).for_each(|_| call(&clock));
        let batch = stage.batch(BATCH, &mut work);
        let taken = stage.compare(count, batch, &mut work, &mut empty);
        let place = (setting, stage.granted.clone());
        Ok(Readings::new(name, Unit::Nanoseconds, taken, batch, place, circumstances))
    })
}

/// The empty loop.
#[inline]
pub(crate) fn empty(batch: u64) {
    for number in 0..batch {
        black_box(number);
    }
}
