//! Bounds of a probability for calls that differ from each other, by samples in which a figure has one value in all
//! calls.
//!
//! Decision 0076 has the proofs. Let S be the value with one value of each figure, and T that with one for each call.
//!
//! * T exceeds a limit only if S does with some choice of one call for each figure, and keeps it only if S does with
//!   some choice. With N choices, a probability is at most N times that of S.
//! * Calls that follow each other add up: T is then at most as variable as S in convex order, so each of its quantiles
//!   lies between the means of the samples on each side of that of S.

use super::predicted::{MEAN_SCORE, Samples};

/// How the calls behind a value repeat its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Repeats {
    /// The number of choices of one call for each figure; infinite if no bound is known.
    pub(crate) choices: f64,
    /// Whether E f(T) ≤ E f(S) for each growing convex f.
    pub(crate) is_at_most_as_long: bool,
    /// Whether E f(T) ≤ E f(S) for each falling convex f.
    pub(crate) is_at_most_as_short: bool,
    /// Whether T and S have the same mean.
    pub(crate) has_same_mean: bool,
}

impl Repeats {
    /// No figure varies in more than one call.
    pub(crate) const NONE: Self = Self {
        choices: 1.0,
        is_at_most_as_long: true,
        is_at_most_as_short: true,
        has_same_mean: true,
    };

    pub(crate) fn is_none(&self) -> bool {
        self.choices <= 1.0
    }

    /// The least probability of keeping a limit that S keeps with at least this one.
    pub(crate) fn least(&self, of_equal: f64) -> f64 {
        if self.is_none() || of_equal >= 1.0 {
            return of_equal;
        }
        (1.0 - self.choices * (1.0 - of_equal)).max(0.0)
    }

    /// The greatest probability of keeping a limit that S keeps with at most this one.
    pub(crate) fn greatest(&self, of_equal: f64) -> f64 {
        if of_equal <= 0.0 { 0.0 } else { (self.choices * of_equal).min(1.0) }
    }

    /// The probability that S must have for T to have this one.
    pub(crate) fn needed(&self, probability: f64) -> f64 {
        1.0 - (1.0 - probability) / self.choices
    }
}

/// The part of a distribution on one side of a limit. Values fall away from the limit in the direction of `sign`: 1 for
/// those that are too long, and -1 for those that keep it.
pub(super) struct Side<'s> {
    pub(super) samples: &'s Samples,
    pub(super) limit: f64,
    pub(super) sign: f64,
    /// The value beyond which there is none, if there is one.
    pub(super) end: Option<f64>,
    /// The greatest probability of a value beyond the last sample on this side.
    pub(super) unseen: f64,
    /// The number of choices.
    pub(super) choices: f64,
}

impl Side<'_> {
    /// The greatest probability that any T has on this side: for each a before the limit, it is at most
    /// E max(0, S − a) / (limit − a).
    pub(super) fn most(&self) -> f64 {
        let count = self.samples.count() as f64;
        let sorted = self.samples.sorted();
        // By the distance beyond the limit, the farthest first.
        let distance = |value: f64| self.sign * (value - self.limit);
        let by_rank = |rank: usize| match self.sign > 0.0 {
            true => distance(sorted[sorted.len() - 1 - rank]),
            false => distance(sorted[rank]),
        };
        let end = self.end.map(distance);
        let [mut number, mut sum, mut squares] = [0.0_f64; 3];
        let mut least = 1.0_f64;
        for rank in 0..sorted.len() {
            let a = by_rank(rank);
            if a < 0.0 {
                let mean = (sum - number * a) / count;
                let square = (squares - 2.0 * a * sum + number * a * a) / count;
                let error = MEAN_SCORE * ((square - mean * mean).max(0.0) / count).sqrt();
                let beyond_end = end.map_or(f64::INFINITY, |end| (end - a).max(0.0) / -a);
                let unseen = self.unseen * self.choices.min(beyond_end);
                least = least.min((mean + error) / -a + unseen);
            }
            number += 1.0;
            sum += a;
            squares += a * a;
        }
        least
    }
}
