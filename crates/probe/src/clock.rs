//! The cost of reading the time, and the resolution of the clock.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hint::black_box;

use hemiola_rt::clock::{Clock, MonotonicClock};

use crate::stage::{BATCH, Stage, empty, pair};
use crate::{Figure, Overhead, ProbeError, Readings, Setting, Unit};

/// The measured property of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockQuantity {
    /// One reading of the kernel's clock: `clock_gettime(CLOCK_MONOTONIC)`.
    Read,
    /// One reading of the fast clock.
    FastRead,
    /// The smallest non-zero step between two consecutive readings of the fast clock.
    Resolution,
    /// Two consecutive readings of the fast clock: the part that every interval contains.
    Pair,
}

/// Clock readings for one reading of the resolution.
const STEPS: usize = 1000;

pub(crate) fn figures() -> Vec<Figure> {
    vec![
        Figure::time("clock.read", "reading the kernel's clock", true),
        Figure::time("clock.fast_read", "reading the fast clock", true),
        Figure::time(
            "clock.resolution",
            "smallest step between two readings of the fast clock",
            true,
        ),
        Figure::time("clock.pair", "two readings of the fast clock back to back", true),
    ]
}

pub(crate) fn measure(
    words: &[&str],
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let quantity = match words {
        [_, "read"] => ClockQuantity::Read,
        [_, "fast_read"] => ClockQuantity::FastRead,
        [_, "resolution"] => ClockQuantity::Resolution,
        _ => ClockQuantity::Pair,
    };
    clock(quantity, setting, count)
}

/// Takes `count` readings of `quantity`.
///
/// # Errors
/// `System` when no thread can be started.
pub fn clock(
    quantity: ClockQuantity,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, |stage| {
        let clock = stage.clock.clone();
        let source = clock.source().to_string();
        let fast = [("clock", source.as_str())];
        let name = match quantity {
            ClockQuantity::Read => "clock.read",
            ClockQuantity::FastRead => "clock.fast_read",
            ClockQuantity::Resolution => "clock.resolution",
            ClockQuantity::Pair => "clock.pair",
        };
        let (batch, taken) = match quantity {
            ClockQuantity::Read => batched(stage, count, &mut |batch| {
                (0..batch).for_each(|_| {
                    black_box(MonotonicClock.now());
                });
            }),
            ClockQuantity::FastRead => batched(stage, count, &mut |batch| {
                (0..batch).for_each(|_| {
                    black_box(clock.now());
                });
            }),
            ClockQuantity::Resolution => {
                let values = (0..count).map(|_| smallest(&steps(stage))).collect();
                (1, (values, Overhead::default()))
            }
            ClockQuantity::Pair => {
                pair(&stage.clock);
                let values = (0..count).map(|_| stage.time(|| ())).collect();
                (1, (values, Overhead::default()))
            }
        };
        let circumstances: &[_] =
            if quantity == ClockQuantity::Read { &[("clock", "clock_gettime")] } else { &fast };
        let granted = stage.granted.clone();
        let readings =
            Readings::new(name, Unit::Nanoseconds, taken, batch, (setting, granted), circumstances);
        Ok(match quantity {
            ClockQuantity::Resolution => readings.note(distribution(&steps(stage))),
            _ => readings,
        })
    })
}

fn batched(
    stage: &mut Stage,
    count: u32,
    work: &mut impl FnMut(u64),
) -> (u64, (Vec<f64>, Overhead)) {
    let batch = stage.batch(BATCH, work);
    (batch, stage.compare(count, batch, work, &mut empty))
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
