//! What reading the time costs, and how finely it shows.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hint::black_box;

use hemiola_rt::clock::{Clock, MonotonicClock};

use crate::stage::{BATCH, Stage, empty, pair};
use crate::{Figure, Overhead, ProbeError, Readings, Setting, Unit};

/// What of a clock is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// One reading of the kernel's clock: `clock_gettime(CLOCK_MONOTONIC)`.
    Read,
    /// One reading of the fast clock.
    FastRead,
    /// The smallest step other than none between two readings of the fast clock that follow each other.
    Resolution,
    /// Two readings of the fast clock back to back, as they are: what every interval contains.
    Pair,
}

/// Readings of the clock that make one reading of its resolution.
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
        [_, "read"] => Quantity::Read,
        [_, "fast_read"] => Quantity::FastRead,
        [_, "resolution"] => Quantity::Resolution,
        _ => Quantity::Pair,
    };
    clock(quantity, setting, count)
}

/// Takes `count` readings of `quantity`.
///
/// # Errors
/// `System` when no thread can be started.
pub fn clock(quantity: Quantity, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
    Stage::run(setting, setting.cpu, |stage| {
        let clock = stage.clock.clone();
        let source = clock.source().to_string();
        let fast = [("clock", source.as_str())];
        let name = match quantity {
            Quantity::Read => "clock.read",
            Quantity::FastRead => "clock.fast_read",
            Quantity::Resolution => "clock.resolution",
            Quantity::Pair => "clock.pair",
        };
        let (batch, taken) = match quantity {
            Quantity::Read => batched(stage, count, &mut |batch| {
                (0..batch).for_each(|_| {
                    black_box(MonotonicClock.now());
                });
            }),
            Quantity::FastRead => batched(stage, count, &mut |batch| {
                (0..batch).for_each(|_| {
                    black_box(clock.now());
                });
            }),
            Quantity::Resolution => {
                let values = (0..count).map(|_| smallest(&steps(stage))).collect();
                (1, (values, Overhead::default()))
            }
            Quantity::Pair => {
                pair(&stage.clock);
                let values = (0..count).map(|_| stage.time(|| ())).collect();
                (1, (values, Overhead::default()))
            }
        };
        let circumstances: &[_] =
            if quantity == Quantity::Read { &[("clock", "clock_gettime")] } else { &fast };
        let granted = stage.granted.clone();
        let readings =
            Readings::new(name, Unit::Nanoseconds, taken, batch, (setting, granted), circumstances);
        Ok(match quantity {
            Quantity::Resolution => readings.note(distribution(&steps(stage))),
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

/// The steps between readings that follow each other, in nanoseconds.
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

/// In words, how the steps spread: a counter that advances in strides of some nanoseconds still never shows
/// the same twice on some processors, so the smallest step alone tells less than it seems to.
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
    fn steps_are_told_by_how_often_they_come() {
        let steps = [10, 10, 0, 10, 1, 10, 0, 10, 11, 900];
        assert_eq!(smallest(&steps), 1.0);
        assert_eq!(
            distribution(&steps),
            "steps between 10 readings: 10 ns in 50 %, 0 ns in 20 %, 1 ns in 10 %, 11 ns in 10 %"
        );
    }
}
