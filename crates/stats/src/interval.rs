//! Quantiles and means with their intervals, also of readings that depend on each other.

use serde::{Deserialize, Serialize};

use crate::dependence::effective_samples;
use crate::distribution::student_quantile;
use crate::spread::{mean_and_std, median, quantile};
use crate::value::{Value, finite, sorted};

/// The confidence level of all intervals in the reports.
pub const LEVEL: f64 = 0.95;

/// The 97.5 % quantile of the standard normal distribution: half the width of the interval that contains 95 %.
pub const NORMAL_975: f64 = 1.959_963_984_540_054;

/// A mean or a median with its interval at [`LEVEL`], in the unit of the readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Readings behind it.
    pub samples: u64,
    /// How many independent ones they are worth: readings for a mean or a quantile, blocks of
    /// readings for [`median_of_blocks`](crate::median_of_blocks).
    pub effective_samples: f64,
    /// Standard deviation of single readings.
    pub std: f64,
}

impl Estimate {
    /// The mean of readings in the order they were taken, with Student's interval for the number of independent
    /// readings they are worth ([`effective_samples`]). `None` when they are not finite or worth fewer than 2.
    pub fn of_mean<V: Value>(values: &[V]) -> Option<Self> {
        let finite = finite(values)?;
        let (value, std) = mean_and_std(&finite)?;
        let effective = effective_samples(&finite);
        if effective < 2.0 {
            return None;
        }
        // Correlated readings differ less from their own mean than from the true one.
        let n = finite.len() as f64;
        let inflation = ((1.0 - 1.0 / n) / (1.0 - 1.0 / effective)).max(1.0).sqrt();
        let factor = student_quantile((1.0 + LEVEL) / 2.0, effective - 1.0);
        let half = factor * std * inflation / effective.sqrt();
        Some(Self {
            value,
            low: value - half,
            high: value + half,
            samples: finite.len() as u64,
            effective_samples: effective,
            std,
        })
    }

    /// The median of readings in the order they were taken, between two order statistics. `None` when they are not
    /// finite or worth fewer than 6 independent ones.
    pub fn of_median<V: Value>(values: &[V]) -> Option<Self> {
        Self::of_quantile(values, 0.5)
    }

    /// The quantile `q` of readings in the order they were taken, between two order statistics.
    ///
    /// The interval follows from the number of readings below the quantile, so the dependence that matters is that of
    /// the series "below or not" (Heidelberger and Lewis, "Quantile Estimation in Dependent Sequences", 1984). The
    /// ranks are those of [`quantile_interval`] for as many independent readings as that series is worth.
    fn of_quantile<V: Value>(values: &[V], q: f64) -> Option<Self> {
        let finite = finite(values)?;
        let ordered = sorted(&finite);
        let value = if q == 0.5 { median(&ordered)? } else { quantile(&ordered, q)? };
        let below: Vec<i64> = finite.iter().map(|reading| i64::from(*reading <= value)).collect();
        let effective = effective_samples(&below);
        let n = finite.len();
        let worth = (effective.floor() as usize).clamp(1, n);
        let [low, high] = ranks(worth, q, LEVEL)?;
        // The same shares of all readings, rounded outwards.
        let low = low * n / worth;
        let high = ((high + 1) * n).div_ceil(worth) - 1;
        let (_, std) = mean_and_std(&finite)?;
        Some(Self {
            value,
            low: ordered[low],
            high: ordered[high],
            samples: n as u64,
            effective_samples: effective,
            std,
        })
    }

    /// Whether `value` lies in the interval, its ends included.
    #[cfg(test)]
    pub(crate) fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The interval between two order statistics of `sorted` that covers the true quantile `q` with at least the confidence
/// `level`, whatever the distribution. `None` when there are too few observations (the median needs 6 at 95 %).
///
/// The number of observations below the quantile is binomial, so the ranks come from its tails
/// (David and Nagaraja, "Order Statistics", section 7.1). The interval is too narrow for observations that depend on
/// each other, as neighbouring cycles do; [`Estimate::of_median`] takes that into account.
pub fn quantile_interval<V: Value>(sorted: &[V], q: f64, level: f64) -> Option<[V; 2]> {
    let [low, high] = ranks(sorted.len(), q, level)?;
    Some([sorted[low], sorted[high]])
}

/// The indices of the two order statistics of `n` observations, counted from 0.
pub(crate) fn ranks(n: usize, q: f64, level: f64) -> Option<[usize; 2]> {
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    // The greatest low rank with P(below < rank) ≤ tail, the least high one with P(below ≥ rank) ≤ tail.
    let mut low = None;
    let mut log_share = n as f64 * (1.0 - q).ln();
    let mut cumulated = 0.0;
    let odds = (q / (1.0 - q)).ln();
    for below in 0..n {
        cumulated += log_share.exp();
        if cumulated <= tail {
            low = Some(below);
        }
        if 1.0 - cumulated <= tail {
            return Some([low?, below]);
        }
        log_share += ((n - below) as f64 / (below as f64 + 1.0)).ln() + odds;
    }
    None
}

/// The upper limit, at 95 %, of the probability of an event that none of `n` independent trials had: 1 − 0.05^(1/n),
/// for many trials about 3/n (the rule of three: Hanley and Lippman-Hand, "If Nothing Goes Wrong, Is Everything All
/// Right?", 1983). `None` for no trial.
#[must_use]
pub fn bound_of_none(n: u64) -> Option<f64> {
    (n > 0).then(|| 1.0 - (1.0 - LEVEL).powf(1.0 / n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bound_of_none_makes_no_event_as_unlikely_as_the_level_says() {
        for n in [1, 2, 20, 1000] {
            let bound = bound_of_none(n).unwrap();
            assert!(((1.0 - bound).powf(n as f64) - 0.05).abs() < 1e-12, "{n}: {bound}");
        }
        assert!((bound_of_none(1).unwrap() - 0.95).abs() < 1e-12);
        // Never above the rule of three, and close to it for many.
        assert!((1..2000).all(|n| bound_of_none(n).unwrap() <= 3.0 / n as f64));
        assert!(bound_of_none(1000).unwrap() > 2.99 / 1000.0);
        assert_eq!(bound_of_none(0), None);
    }

    #[test]
    fn median_interval_has_the_published_ranks() {
        // Conover, "Practical Nonparametric Statistics": n = 10 → ranks 2 and 9 (97.9 %),
        // n = 20 → 6 and 15 (95.9 %), n = 5 → none.
        let values: Vec<i64> = (1..=20).collect();
        assert_eq!(quantile_interval(&values[..10], 0.5, 0.95), Some([2, 9]));
        assert_eq!(quantile_interval(&values, 0.5, 0.95), Some([6, 15]));
        assert_eq!(quantile_interval(&values[..5], 0.5, 0.95), None);
        assert_eq!(quantile_interval(&values[..6], 0.5, 0.95), Some([1, 6]));
    }

    #[test]
    fn interval_of_a_high_quantile_needs_enough_observations() {
        let values: Vec<i64> = (1..=100_000).collect();
        assert_eq!(quantile_interval(&values[..200], 0.99, 0.95), None);
        let [low, high] = quantile_interval(&values, 0.99, 0.95).unwrap();
        // 1.96 × sqrt(n q (1 − q)) = 61.7 ranks on each side.
        assert!(
            (98_936..=98_940).contains(&low) && (99_060..=99_065).contains(&high),
            "{low} {high}"
        );
    }

    #[test]
    fn the_mean_of_independent_readings_has_students_interval() {
        let values = [4.0, 6.0, 5.0, 7.0, 3.0, 5.0, 6.0, 4.0, 7.0, 3.0];
        let estimate = Estimate::of_mean(&values).unwrap();
        let expected = 2.262 * estimate.std / (10f64).sqrt();
        assert_eq!((estimate.value, estimate.effective_samples), (5.0, 10.0));
        assert!((estimate.high - 5.0 - expected).abs() < 1e-3, "{estimate:?}");
    }

    #[test]
    fn too_few_or_infinite_readings_have_no_estimate() {
        assert_eq!(Estimate::of_mean::<f64>(&[]), None);
        assert_eq!(Estimate::of_mean(&[1.0]), None);
        assert_eq!(Estimate::of_mean(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!(Estimate::of_median(&[1, 2, 3, 4, 5]), None);
        assert_eq!(Estimate::of_median(&[f64::INFINITY; 20]), None);
    }

    #[test]
    fn correlated_readings_widen_the_interval() {
        // The same hundred values, mixed and in stretches.
        let mixed: Vec<i64> = (0..100).map(|n| n * 37 % 100).collect();
        let stretches: Vec<i64> = (0..100).map(|n| (n / 10) * 37 % 100 + n % 10).collect();
        let width = |values: &[i64]| {
            let estimate = Estimate::of_mean(values).unwrap();
            estimate.high - estimate.low
        };
        assert!(width(&stretches) > 1.5 * width(&mixed));
    }

    proptest! {
        #[test]
        fn intervals_contain_their_estimate(
            values in prop::collection::vec(0i64..1_000_000, 1..300),
            q in 0.01f64..0.99,
        ) {
            let ordered = sorted(&values);
            if let Some([low, high]) = quantile_interval(&ordered, q, LEVEL) {
                let at = quantile(&ordered, q).unwrap();
                prop_assert!(low <= at && at <= high);
            }
            if let Some(estimate) = Estimate::of_quantile(&values, q) {
                prop_assert!(estimate.contains(estimate.value));
            }
            if let Some(estimate) = Estimate::of_mean(&values) {
                prop_assert!(estimate.contains(estimate.value));
                prop_assert!(estimate.effective_samples <= values.len() as f64);
            }
        }
    }
}
