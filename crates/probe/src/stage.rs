//! A thread put in its place, and readings taken on it: warm-up, batches, the cost of measuring itself.

use std::hint::black_box;
use std::thread;

use hemiola_rt::clock::{Clock, FastClock};
use hemiola_rt::profile;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Granted, Instant, Policy, Span};

use crate::peer::place;
use crate::{Overhead, ProbeError, Setting};

/// How long a real-time thread may go on without a rest. The kernel takes the processor from real-time
/// threads for 50 ms in each second (sched(7), "Limiting the CPU usage of real-time and deadline
/// processes"); who rests before is not stopped in the middle of a reading.
pub(crate) const SPELL: Span = Span::from_millis(800);
/// How long it rests, which pays for the next spell.
pub(crate) const REST: Span = Span::from_millis(60);

/// A batch lasts at least this long, so that a clock that is 20 ns out spoils a thousandth of it.
pub(crate) const BATCH: Span = Span::from_micros(20);

/// No operation is so short that more fit in a batch.
const BATCH_MAX: u64 = 1 << 20;

/// A measuring thread: on one processor, scheduled as the setting asks where that is granted.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Its clock, anchored when it began and at each rest.
    pub(crate) clock: FastClock,
    /// What it was given.
    pub(crate) granted: Granted,
    rested: Instant,
}

impl Stage {
    /// Does `work` on a thread of its own on processor `cpu`; the caller only waits.
    pub(crate) fn run<T: Send>(
        setting: &Setting,
        cpu: u16,
        work: impl FnOnce(&mut Self) -> Result<T, ProbeError> + Send,
    ) -> Result<T, ProbeError> {
        let play = || {
            let granted = profile::apply(&place(cpu, setting.scheduling, false));
            let clock = FastClock::from(setting.calibration);
            let rested = clock.now();
            work(&mut Self { clock, granted, rested })
        };
        thread::scope(|scope| {
            let started = thread::Builder::new().spawn_scoped(scope, play);
            let thread = started.map_err(ProbeError::doing("start a measuring thread"))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Nanoseconds that `work` takes, one pair of clock readings included.
    #[inline]
    pub(crate) fn time(&self, work: impl FnOnce()) -> f64 {
        let start = self.clock.now();
        work();
        (self.clock.now() - start).nanos() as f64
    }

    /// Rests when the spell is over: to be called between readings, never inside one.
    pub(crate) fn rest_if_due(&mut self) {
        if self.clock.now() - self.rested >= SPELL {
            self.rest();
        }
    }

    /// Rests now, where the policy is one that the kernel limits.
    pub(crate) fn rest(&mut self) {
        if !matches!(self.granted.scheduling, Policy::Other { .. }) {
            sleep_until(self.clock.now() + REST);
        }
        self.rested = self.clock.anchor();
    }

    /// How many operations last `lasting` or longer, as a power of two; finding out warms up.
    pub(crate) fn batch(&mut self, lasting: Span, work: &mut impl FnMut(u64)) -> u64 {
        let mut batch = 1;
        // The second of two, so that the first may load caches and meet a cold branch predictor.
        while batch < BATCH_MAX && {
            work(batch);
            self.time(|| work(batch)) < lasting.nanos() as f64
        } {
            batch *= 2;
        }
        batch
    }

    /// `count` readings of what one of `batch` operations takes in nanoseconds. `work` and `empty` get the
    /// batch; `empty` is the same loop around nothing, measured in between (empty, work, work, empty), and
    /// subtracted.
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

/// What one pair of readings of `clock` costs, for operations timed one by one.
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

/// The loop around nothing.
#[inline]
pub(crate) fn empty(batch: u64) {
    for number in 0..batch {
        black_box(number);
    }
}
