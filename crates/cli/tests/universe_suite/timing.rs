//! Times of repeated work, and straight lines through them.

use std::time::Instant;

use hemiola_report::text;
use hemiola_stats::median;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// A few seconds for all lines, in a debug build: counts are right, times say little.
    Quick,
    Full,
}

impl Scale {
    pub(crate) fn of<T>(self, quick: T, full: T) -> T {
        if self == Self::Quick { quick } else { full }
    }

    /// Rounds of which the median is taken.
    pub(crate) fn rounds(self) -> usize {
        self.of(2, 15)
    }
}

/// The time of some work, in ns.
pub(crate) fn took<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed().as_nanos() as f64, result)
}

/// The median over the rounds of the time of `count` calls, for one call, in ns.
pub(crate) fn each(scale: Scale, count: usize, mut work: impl FnMut()) -> f64 {
    let rounds = (0..scale.rounds()).map(|_| took(|| (0..count).for_each(|_| work())).0);
    middle(&rounds.collect::<Vec<f64>>()) / count.max(1) as f64
}

/// The median of times, at least one.
pub(crate) fn middle(times: &[f64]) -> f64 {
    median(times).expect("at least one time")
}

/// A time for a cell of a table.
pub(crate) fn shown(nanos: f64) -> String {
    text::duration(nanos)
}

/// A straight line through points, by least squares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straight {
    pub(crate) slope: f64,
    pub(crate) at_zero: f64,
    /// The share of the variance that the line explains.
    pub(crate) explained: f64,
}

impl Straight {
    /// At least two points with different `x`.
    pub(crate) fn through(points: &[(f64, f64)]) -> Self {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(a, b)| of(a - x, b - y)).sum()
        };
        let slope = sum(&|dx, dy| dx * dy) / sum(&|dx, _| dx * dx);
        let rest = sum(&|dx, dy| (dy - slope * dx).powi(2));
        let all = sum(&|_, dy| dy * dy);
        let explained = if all > 0.0 { 1.0 - rest / all } else { 1.0 };
        Self { slope, at_zero: y - slope * x, explained }
    }

    pub(crate) fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }
}
