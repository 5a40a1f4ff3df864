//! The cost of reading the time, and the resolution of the clock.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hint::black_box;

use hemiola_rt::clock::{Clock, FastClock, MonotonicClock};
use rustix::time::{ClockId, clock_gettime};

use crate::catalogue::Probe;
use crate::stage::{Stage, pair, repeated};
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

/// Clock readings for one reading of the resolution.
const STEPS: usize = 1000;
/// Steps of another instrument for one reading of its resolution: a step may be the time of a timer tick.
const CHANGES: usize = 2;

pub(crate) fn probes() -> Vec<Probe> {
    let smallest_step = "smallest step between two readings of the fast clock";
    let back_to_back = "two readings of the fast clock back to back";
    let others = INSTRUMENTS.iter().flat_map(Instrument::probes);
    let kernel = KERNEL.resolution_probe();
    let own = [
        Probe::time("clock.read", "reading the kernel's clock", true, |name, setting, count| {
            repeated(name, setting, count, &[("clock", "clock_gettime")], |_| {
                black_box(MonotonicClock.now());
            })
        }),
        Probe::time("clock.fast_read", "reading the fast clock", true, |name, setting, count| {
            let source = FastClock::from(setting.calibration).source().to_string();
            repeated(name, setting, count, &[("clock", &source)], |clock| {
                black_box(clock.now());
            })
        }),
        Probe::time("clock.resolution", smallest_step, true, |name, setting, count| {
            one_by_one(
                name,
                setting,
                count,
                |stage| smallest(&steps(stage)),
                |readings, stage| readings.note(distribution(&steps(stage))),
            )
        }),
        // The part that every interval contains.
        Probe::time("clock.pair", back_to_back, true, |name, setting, count| {
            one_by_one(name, setting, count, |stage| stage.time(|| ()), |readings, _| readings)
        }),
    ];
    own.into_iter().chain([kernel]).chain(others).collect()
}

/// A clock of the operating system that programs take times with, besides those of this crate.
struct Instrument {
    /// Its word in names of figures.
    word: &'static str,
    title: &'static str,
    /// Its name for circumstances.
    system: &'static str,
    id: ClockId,
}

/// Muller, "Modeling and Analysis: Inputs and Uncertainties", figure 3.6, compares what one can measure times with: the
/// resolution of an instrument decides what it can measure, and the cost of reading it what it disturbs.
static INSTRUMENTS: [Instrument; 2] = [
    Instrument {
        word: "tick",
        title: "the clock of the timer tick",
        system: "CLOCK_MONOTONIC_COARSE",
        id: ClockId::MonotonicCoarse,
    },
    Instrument {
        word: "processor_time",
        title: "the processor time of a thread",
        system: "CLOCK_THREAD_CPUTIME_ID",
        id: ClockId::ThreadCPUTime,
    },
];

/// The clock that `clock.read` reads.
static KERNEL: Instrument = Instrument {
    word: "kernel",
    title: "the kernel's clock",
    system: "CLOCK_MONOTONIC",
    id: ClockId::Monotonic,
};

impl Instrument {
    fn probes(&'static self) -> [Probe; 2] {
        let read = Probe::time(
            format!("clock.{}.read", self.word),
            format!("reading {}", self.title),
            false,
            move |name, setting, count| {
                repeated(name, setting, count, &[("clock", self.system)], |_| {
                    black_box(self.now());
                })
            },
        );
        [read, self.resolution_probe()]
    }

    fn resolution_probe(&'static self) -> Probe {
        Probe::time(
            format!("clock.{}.resolution", self.word),
            format!("smallest step of {}", self.title),
            false,
            move |name, setting, count| {
                Stage::run(setting, setting.cpu, move |stage| {
                    let values = (0..count).map(|_| self.step(stage)).collect();
                    let place = (setting, stage.granted.clone());
                    let taken = (values, Overhead::default());
                    let circumstances = [("clock", self.system)];
                    Ok(Readings::new(name, Unit::Nanoseconds, taken, 1, place, &circumstances))
                })
            },
        )
    }

    /// Its present time in nanoseconds.
    fn now(&self) -> i64 {
        let now = clock_gettime(self.id);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    }

    /// The smallest of some steps, each from one change to the next, in nanoseconds.
    fn step(&self, stage: &mut Stage) -> f64 {
        stage.rest_if_due();
        let change = |from: i64| loop {
            let now = self.now();
            if now != from {
                return now;
            }
        };
        let mut last = change(self.now());
        let steps = (0..CHANGES).map(|_| {
            let next = change(last);
            std::mem::replace(&mut last, next).abs_diff(next) as f64
        });
        steps.fold(f64::INFINITY, f64::min)
    }
}

/// `count` readings of the fast clock's property `value`, then `finish`.
fn one_by_one(
    name: &str,
    setting: &Setting,
    count: u32,
    value: impl Fn(&mut Stage) -> f64 + Send,
    finish: impl FnOnce(Readings, &mut Stage) -> Readings + Send,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, move |stage| {
        // The first readings of the clock load its code.
        pair(&stage.clock);
        let values = (0..count).map(|_| value(stage)).collect();
        let source = stage.clock.source().to_string();
        let (taken, place) = ((values, Overhead::default()), (setting, stage.granted.clone()));
        let circumstances = [("clock", source.as_str())];
        let readings = Readings::new(name, Unit::Nanoseconds, taken, 1, place, &circumstances);
        Ok(finish(readings, stage))
    })
}

/// The steps between consecutive readings, in nanoseconds.
fn steps(stage: &mut Stage) -> Vec<i64> {
    stage.rest_if_due();
    let mut steps = Vec::with_capacity(STEPS);
    let mut last = stage.clock.now();
    for _ in 0..STEPS {
        let now = stage.clock.now();
        steps.push((now - last).nanos());
        last = now;
    }
    steps
}

fn smallest(steps: &[i64]) -> f64 {
    steps.iter().copied().filter(|step| *step > 0).min().unwrap_or(0) as f64
}

/// The distribution of the steps in words. On some processors a counter that advances by several nanoseconds still
/// never shows the same value twice, so the smallest step alone is misleading.
fn distribution(steps: &[i64]) -> String {
    let mut counts = BTreeMap::new();
    steps.iter().for_each(|step| *counts.entry(*step).or_insert(0usize) += 1);
    let mut counts: Vec<(i64, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(step, count)| (Reverse(*count), *step));
    let share = |(step, count): &(i64, usize)| {
        format!("{step} ns in {:.0} %", *count as f64 * 100.0 / steps.len() as f64)
    };
    let most: Vec<String> = counts.iter().take(4).map(share).collect();
    format!("steps between {} readings: {}", steps.len(), most.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_listed_by_frequency() {
        let steps = [10, 10, 0, 10, 1, 10, 0, 10, 11, 900];
        assert_eq!(smallest(&steps), 1.0);
        assert_eq!(
            distribution(&steps),
            "steps between 10 readings: 10 ns in 50 %, 0 ns in 20 %, 1 ns in 10 %, 11 ns in 10 %"
        );
    }
}
