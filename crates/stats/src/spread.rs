//! Quantiles, mean and standard deviation of a set of observations.

use serde::{Deserialize, Serialize};

use crate::value::{Value, sorted};

/// Quantiles, mean and standard deviation of a set of observations, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Least.
    pub min: i64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: i64,
    /// 99th percentile.
    pub p99: i64,
    /// 99.9th percentile.
    pub p999: i64,
    /// Greatest observed.
    pub max: i64,
    /// Standard deviation of the sample, 0 for one observation.
    pub std: f64,
}

impl Spread {
    /// The spread of `sorted` observations; `None` without observations.
    #[must_use]
    pub fn of(sorted: &[i64]) -> Option<Self> {
        let (mean, std) = mean_and_std(sorted)?;
        Some(Self {
            min: sorted[0],
            mean,
            p50: quantile(sorted, 0.5)?,
            p99: quantile(sorted, 0.99)?,
            p999: quantile(sorted, 0.999)?,
            max: *sorted.last()?,
            std,
        })
    }
}

/// Mean and standard deviation of the sample (0 for one observation) by Welford's recurrence, which
/// does not cancel when the spread is small beside the mean ("Note on a Method for Calculating
/// Corrected Sums of Squares", 1962); `None` for no values.
pub fn mean_and_std<V: Value>(values: &[V]) -> Option<(f64, f64)> {
    let (mut mean, mut squares) = (0.0, 0.0);
    for (n, value) in values.iter().enumerate() {
        let value = value.to_f64();
        let delta = value - mean;
        mean += delta / (n as f64 + 1.0);
        squares += delta * (value - mean);
    }
    match values.len() {
        0 => None,
        1 => Some((mean, 0.0)),
        n => Some((mean, (squares / (n as f64 - 1.0)).sqrt())),
    }
}

/// The smallest of the `sorted` values that at least the share `q` of them do not exceed; `None` without values.
///
/// # Panics
/// When `q` is outside 0 to 1.
pub fn quantile<V: Value>(sorted: &[V], q: f64) -> Option<V> {
    assert!((0.0..=1.0).contains(&q), "a quantile lies between 0 and 1");
    debug_assert!(sorted.is_sorted_by(|a, b| a.order(b).is_le()));
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The median of values in any order: the middle one, or the mean of the two middle ones, because the lower of two
/// alone would be too low on average. `None` without values.
pub fn median<V: Value>(values: &[V]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = sorted.get(sorted.len() / 2)?.to_f64();
    let lower = sorted[(sorted.len() - 1) / 2].to_f64();
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spread_of_known_values() {
        let spread = Spread::of(&[2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        assert_eq!((spread.min, spread.p50, spread.max), (2, 4, 9));
        assert_eq!(spread.mean, 5.0);
        assert!((spread.std - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[3]).unwrap().std, 0.0);
    }

    #[test]
    fn a_median_needs_no_order_and_favours_neither_side() {
        assert_eq!(median(&[9, 1, 5, 7]), Some(6.0));
        assert_eq!(median(&[0.3, 0.1, 0.2]), Some(0.2));
        assert_eq!(median::<f64>(&[]), None);
    }

    #[test]
    fn a_small_spread_on_a_large_mean_is_not_lost() {
        // NIST StRD, NumAcc4: 10 000 000.1, .2, .3 in turns; mean …0.2, standard deviation 0.1.
        let values: Vec<f64> =
            (0..1001).map(|n| 1e7 + [0.2, 0.1, 0.3][if n == 0 { 0 } else { 1 + n % 2 }]).collect();
        let (mean, std) = mean_and_std(&values).unwrap();
        assert!((mean - 10_000_000.2).abs() < 1e-8 && (std - 0.1).abs() < 1e-8, "{mean} {std}");
    }

    proptest! {
        #[test]
        fn quantiles_are_observations_and_rise(
            values in prop::collection::vec(-1000i64..1_000_000, 1..200),
            a in 0.0f64..=1.0,
            b in 0.0f64..=1.0,
        ) {
            let values = sorted(&values);
            let (low, high) = (a.min(b), a.max(b));
            let (x, y) = (quantile(&values, low).unwrap(), quantile(&values, high).unwrap());
            prop_assert!(values.contains(&x) && x <= y);
            let at_most = values.iter().filter(|v| **v <= y).count() as f64;
            prop_assert!(at_most >= high * values.len() as f64 - 1e-9);
            // The same in both kinds of numbers.
            let real: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            prop_assert_eq!(quantile(&real, low).unwrap(), x as f64);
        }
    }
}
