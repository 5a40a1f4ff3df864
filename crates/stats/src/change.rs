//! How much B differs from A, and with what confidence, for one figure or for many at once.

use serde::{Deserialize, Serialize};

use crate::distribution::{student_quantile, student_tails};
use crate::interval::{Estimate, LEVEL};

/// A difference or a factor, with its interval at [`LEVEL`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Difference {
    /// Whether the interval contains 0.
    #[must_use]
    pub fn may_be_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// Turns a difference of natural logarithms into a factor.
    pub(super) fn exp(self) -> Self {
        Self { value: self.value.exp(), low: self.low.exp(), high: self.high.exp() }
    }
}

/// How B differs from A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// B − A.
    pub difference: Difference,
    /// B / A; `None` unless all values are positive.
    pub factor: Option<Difference>,
    /// The probability that noise alone makes a difference at least as large: 0 to 1.
    pub p: f64,
}

/// Whether two figures differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// They differ by more than the noise between runs.
    Differs,
    /// They differ by no more than noise would explain among so many comparisons.
    WithinNoise,
    /// They differ by more than the noise within runs. One side has only one run, so the noise between runs is unknown.
    DiffersWithinRuns,
    /// There are too few observations.
    Unknown,
}

/// The value that the interval of an [`Estimate`] covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// The true value.
    Truth,
    /// The value that the next measurement gives: [`median_of_blocks`](crate::median_of_blocks). It is wider by
    /// that measurement's own noise.
    Repeat,
}

impl Change {
    /// B against A when only their estimates are known, with intervals of the same kind. The half
    /// widths that face each other add in quadrature, as independent errors do.
    #[must_use]
    pub fn of_estimates(before: &Estimate, after: &Estimate, covers: Covers) -> Self {
        // An interval of a repeat contains the noise of two measurements; the difference contains it once.
        let twice = match covers {
            Covers::Truth => 1.0,
            Covers::Repeat => 2.0,
        };
        let between = |a: [f64; 3], b: [f64; 3]| {
            let value = b[1] - a[1];
            let low = value - (b[1] - b[0]).hypot(a[2] - a[1]) / f64::sqrt(twice);
            let high = value + (b[2] - b[1]).hypot(a[1] - a[0]) / f64::sqrt(twice);
            Difference { value, low, high }
        };
        let ends = |estimate: &Estimate| [estimate.low, estimate.value, estimate.high];
        let (a, b) = (ends(before), ends(after));
        let difference = between(a, b);
        let positive = a.iter().chain(&b).all(|value| *value > 0.0);
        let factor = positive.then(|| between(a.map(f64::ln), b.map(f64::ln)).exp());
        let freedom = before.effective_samples.min(after.effective_samples) - 1.0;
        Self { difference, factor, p: tails(difference, freedom) }
    }
}

/// The probability that noise alone goes as far from 0 as the value, by the half width that faces 0.
fn tails(difference: Difference, freedom: f64) -> f64 {
    let Difference { value, low, high } = difference;
    let half = if value > 0.0 { value - low } else { high - value };
    match (value == 0.0, half > 0.0) {
        (true, _) => 1.0,
        (false, false) => 0.0,
        (false, true) => {
            let freedom = freedom.max(1.0);
            student_tails(value / half * student_quantile((1.0 + LEVEL) / 2.0, freedom), freedom)
        }
    }
}

/// Which of many changes are real. On average at most the share 1 − [`LEVEL`] of the changes named real is noise. If
/// each were judged alone, one in twenty would differ between a machine and itself.
#[must_use]
pub fn differing(changes: &[Change]) -> Vec<bool> {
    let p: Vec<f64> = changes.iter().map(|change| change.p).collect();
    benjamini_hochberg(&p, 1.0 - LEVEL)
}

/// Which of the hypotheses with these probabilities `p` are rejected when on average at most the share `rate` of the
/// rejections may be wrong: all up to the greatest p(i) ≤ i / m × rate in rising order (Benjamini and Hochberg,
/// "Controlling the False Discovery Rate", 1995). Valid for independent and for positively correlated figures.
fn benjamini_hochberg(p: &[f64], rate: f64) -> Vec<bool> {
    let mut rising = p.to_vec();
    rising.sort_unstable_by(f64::total_cmp);
    let bound = rising
        .iter()
        .enumerate()
        .rfind(|(index, p)| **p <= (index + 1) as f64 / rising.len() as f64 * rate)
        .map(|(_, p)| *p);
    p.iter().map(|p| bound.is_some_and(|bound| *p <= bound)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            low: value - half,
            high: value + half,
            samples: 1000,
            effective_samples: 1000.0,
            std: 1.0,
        }
    }

    #[test]
    fn four_of_the_published_fifteen_hypotheses_are_rejected() {
        // Benjamini and Hochberg 1995, section 4.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.000,
        ];
        let rejected = benjamini_hochberg(&p, 0.05);
        assert_eq!(rejected.iter().filter(|rejected| **rejected).count(), 4);
        assert!(rejected[..4].iter().all(|rejected| *rejected));
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
    }

    #[test]
    fn half_widths_add_as_independent_errors() {
        let change =
            Change::of_estimates(&estimate(100.0, 3.0), &estimate(120.0, 4.0), Covers::Truth);
        assert_eq!(change.difference, Difference { value: 20.0, low: 15.0, high: 25.0 });
        assert!((change.factor.unwrap().value - 1.2).abs() < 1e-12);
        assert!(change.p < 1e-6);
        // 1.96 σ away at the edge of the interval.
        let edge = Change::of_estimates(&estimate(0.0, 3.0), &estimate(5.0, 4.0), Covers::Truth);
        assert!((edge.p - 0.05).abs() < 1e-6 && edge.factor.is_none(), "{edge:?}");
    }

    #[test]
    fn noise_in_both_intervals_of_repeats_counts_once() {
        let change =
            Change::of_estimates(&estimate(100.0, 3.0), &estimate(100.0, 3.0), Covers::Repeat);
        let Difference { low, high, .. } = change.difference;
        assert!((low + 3.0).abs() < 1e-12 && (high - 3.0).abs() < 1e-12, "{change:?}");
        assert_eq!(change.p, 1.0);
    }

    #[test]
    fn exact_values_have_probability_zero_or_one() {
        let p = |b| Change::of_estimates(&estimate(1.0, 0.0), &estimate(b, 0.0), Covers::Truth).p;
        assert_eq!((p(1.0), p(2.0)), (1.0, 0.0));
    }

    proptest! {
        #[test]
        fn a_difference_is_significant_exactly_when_its_interval_leaves_zero_out(
            a in -100.0f64..100.0, half_a in 0.01f64..50.0,
            b in -100.0f64..100.0, half_b in 0.01f64..50.0,
        ) {
            let change =
                Change::of_estimates(&estimate(a, half_a), &estimate(b, half_b), Covers::Repeat);
            prop_assume!((change.p - 0.05).abs() > 1e-6);
            prop_assert_eq!(change.difference.may_be_zero(), change.p > 0.05);
        }

        #[test]
        fn rejections_are_a_prefix_of_the_sorted_probabilities(
            p in prop::collection::vec(0.0f64..=1.0, 0..40),
        ) {
            let rejected = benjamini_hochberg(&p, 0.05);
            for (one, is_rejected) in p.iter().zip(&rejected) {
                prop_assert!(!is_rejected || *one <= 0.05);
                for (other, also) in p.iter().zip(&rejected) {
                    prop_assert!(!is_rejected || other > one || *also);
                }
            }
        }
    }
}
