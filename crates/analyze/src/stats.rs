//! Quantiles, their intervals, comparisons and histograms: the one place where figures are judged.
//!
//! A quantile here is always one of the observations (nearest rank: Hyndman and Fan, "Sample
//! Quantiles in Statistical Packages", 1996, definition 1), so a reported p99.9 really happened.

use hemiola_units::Random;
use serde::{Deserialize, Serialize};

/// The confidence all intervals of the reports are given at.
pub const LEVEL: f64 = 0.95;

/// What a set of observations comes to, nanoseconds.
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
    /// The spread of `sorted` observations; nothing when there are none.
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

/// Mean and standard deviation by Welford's recurrence, which does not cancel when the spread is
/// small beside the mean ("Note on a Method for Calculating Corrected Sums of Squares", 1962).
fn mean_and_std(values: &[i64]) -> Option<(f64, f64)> {
    let (mut mean, mut squares) = (0.0, 0.0);
    for (n, value) in values.iter().enumerate() {
        let value = *value as f64;
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

/// The smallest of the `sorted` values that at least the share `q` of them do not exceed; nothing
/// when there are none.
///
/// # Panics
/// When `q` is outside 0 to 1.
#[must_use]
pub fn quantile(sorted: &[i64], q: f64) -> Option<i64> {
    assert!((0.0..=1.0).contains(&q), "a quantile is asked for between 0 and 1");
    debug_assert!(sorted.is_sorted());
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The interval between two order statistics of `sorted` that covers the true quantile `q` with at
/// least the confidence `level`, whatever the distribution; nothing when there are too few
/// observations (the median needs 6 at 95 %).
///
/// The number of observations below the quantile is binomial, so the ranks come from its tails
/// (David and Nagaraja, "Order Statistics", section 7.1). Observations that depend on each other,
/// as neighbouring cycles do, make it too narrow.
#[must_use]
pub fn quantile_interval(sorted: &[i64], q: f64, level: f64) -> Option<[i64; 2]> {
    let n = sorted.len();
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    // The greatest low rank with P(below < rank) ≤ tail, the least high one with P(below ≥ rank) ≤ tail.
    let mut low = None;
    let mut log_share = n as f64 * (1.0 - q).ln();
    let mut cumulated = 0.0;
    let odds = (q / (1.0 - q)).ln();
    for below in 0..=n {
        cumulated += log_share.exp();
        if cumulated <= tail {
            low = Some(below);
        }
        if 1.0 - cumulated <= tail {
            let high = below + 1;
            return Some([*sorted.get(low?)?, *sorted.get(high - 1)?]);
        }
        log_share += ((n - below) as f64 / (below as f64 + 1.0)).ln() + odds;
    }
    None
}

/// A difference and the interval it lies in with the confidence [`LEVEL`].
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
    /// Whether no difference at all is among the plausible values.
    #[must_use]
    pub fn may_be_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// The median of `after − before` over pairs measured next to each other (A B B A), with its
/// interval; nothing below 6 pairs. Pairs share the machine's mood, so it drops out.
#[must_use]
pub fn paired_difference(pairs: &[(i64, i64)]) -> Option<Difference> {
    let mut differences: Vec<i64> = pairs.iter().map(|(before, after)| after - before).collect();
    differences.sort_unstable();
    let [low, high] = quantile_interval(&differences, 0.5, LEVEL)?;
    let value = quantile(&differences, 0.5)? as f64;
    Some(Difference { value, low: low as f64, high: high as f64 })
}

/// `after − before` of the means of two independent sets, with Welch's interval ("The
/// Generalization of 'Student's' Problem", 1947); nothing unless both have 2 observations.
#[must_use]
pub fn mean_difference(before: &[i64], after: &[i64]) -> Option<Difference> {
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let ((mean_a, std_a), (mean_b, std_b)) = (mean_and_std(before)?, mean_and_std(after)?);
    let (n_a, n_b) = (before.len() as f64, after.len() as f64);
    let (part_a, part_b) = (std_a * std_a / n_a, std_b * std_b / n_b);
    let sum = part_a + part_b;
    let freedom = if sum > 0.0 {
        sum * sum / (part_a * part_a / (n_a - 1.0) + part_b * part_b / (n_b - 1.0))
    } else {
        n_a + n_b - 2.0
    };
    let half = student_975(freedom) * sum.sqrt();
    let value = mean_b - mean_a;
    Some(Difference { value, low: value - half, high: value + half })
}

/// The 97.5 % point of Student's t for at least that many degrees of freedom: the table to 10, then
/// the first term of its expansion around the normal (Abramowitz and Stegun 26.7.5), 0.3 % low at
/// worst.
fn student_975(freedom: f64) -> f64 {
    const TABLE: [f64; 10] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    const NORMAL: f64 = 1.959_964;
    match TABLE.get((freedom.max(1.0).floor() as usize) - 1) {
        Some(value) => *value,
        None => NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * freedom),
    }
}

/// The interval of `statistic` over `values` at `level`, by drawing `resamples` sets with
/// replacement (Efron 1979, percentile method); nothing for no values. For statistics without a
/// formula; the seed of `random` belongs in the result.
#[must_use]
pub fn bootstrap(
    values: &[i64],
    statistic: impl Fn(&[i64]) -> f64,
    random: &mut Random,
    resamples: u32,
    level: f64,
) -> Option<[f64; 2]> {
    if values.is_empty() || resamples == 0 {
        return None;
    }
    let mut drawn = vec![0; values.len()];
    let mut results: Vec<f64> = (0..resamples)
        .map(|_| {
            drawn.fill_with(|| values[random.below(values.len() as u64) as usize]);
            statistic(&drawn)
        })
        .collect();
    results.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| results[((q * results.len() as f64) as usize).min(results.len() - 1)];
    let tail = (1.0 - level) / 2.0;
    Some([at(tail), at(1.0 - tail)])
}

/// Bins of a [`histogram`] from a value to ten times that value: 2.3 % wide each.
pub const BINS_PER_DECADE: u32 = 100;

/// Counts in bins of equal width on a logarithmic axis, as `(lower edge, count)`, empty bins left
/// out, edges rising. Values below 1 fall into the bin at 0.
///
/// ```
/// use hemiola_analyze::stats::histogram;
/// assert_eq!(histogram(&[-3, 1000, 1001, 10_000]), [(0.0, 1), (1000.0, 2), (10_000.0, 1)]);
/// ```
#[must_use]
pub fn histogram(values: &[i64]) -> Vec<(f64, u64)> {
    let mut counts = std::collections::BTreeMap::<i64, u64>::new();
    let bins = f64::from(BINS_PER_DECADE);
    for value in values {
        // The small addition keeps exact powers of ten on their own edge.
        let bin = if *value < 1 { -1 } else { ((*value as f64).log10() * bins + 1e-9) as i64 };
        *counts.entry(bin).or_default() += 1;
    }
    let edge = |bin: i64| if bin < 0 { 0.0 } else { round3(10f64.powf(bin as f64 / bins)) };
    counts.into_iter().map(|(bin, count)| (edge(bin), count)).collect()
}

/// `value` to three decimals, so that files stay readable.
pub(crate) fn round3(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
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
    fn welch_interval_matches_the_formula() {
        let difference = mean_difference(&[10, 12, 14], &[20, 22, 24]).unwrap();
        // Standard error sqrt(4/3 + 4/3) = 1.633, 4 degrees of freedom: 2.776.
        assert_eq!(difference.value, 10.0);
        assert!((difference.high - 14.533).abs() < 0.001, "{difference:?}");
        assert_eq!(mean_difference(&[1], &[2, 3]), None);
    }

    #[test]
    fn paired_differences_drop_what_both_share() {
        let pairs: Vec<(i64, i64)> = (0..20).map(|n| (n * 1000, n * 1000 + 7)).collect();
        let difference = paired_difference(&pairs).unwrap();
        assert_eq!(difference, Difference { value: 7.0, low: 7.0, high: 7.0 });
        assert!(!difference.may_be_zero());
    }

    #[test]
    fn bootstrap_repeats_with_its_seed_and_covers_the_mean() {
        let values: Vec<i64> = (0..100).collect();
        let mean = |v: &[i64]| v.iter().sum::<i64>() as f64 / v.len() as f64;
        let run = |seed| bootstrap(&values, mean, &mut Random::from_seed(seed), 500, 0.95).unwrap();
        assert_eq!(run(1), run(1));
        let [low, high] = run(1);
        assert!(low < 49.5 && 49.5 < high && high - low < 15.0, "{low} {high}");
    }

    proptest! {
        #[test]
        fn quantiles_are_observations_and_rise(
            mut values in prop::collection::vec(-1000i64..1_000_000, 1..200),
            a in 0.0f64..=1.0,
            b in 0.0f64..=1.0,
        ) {
            values.sort_unstable();
            let (low, high) = (a.min(b), a.max(b));
            let (x, y) = (quantile(&values, low).unwrap(), quantile(&values, high).unwrap());
            prop_assert!(values.contains(&x) && x <= y);
            let at_most = values.iter().filter(|v| **v <= y).count() as f64;
            prop_assert!(at_most >= high * values.len() as f64 - 1e-9);
        }

        #[test]
        fn intervals_hold_their_quantile(
            mut values in prop::collection::vec(0i64..1_000_000, 1..300),
            q in 0.01f64..0.99,
        ) {
            values.sort_unstable();
            if let Some([low, high]) = quantile_interval(&values, q, 0.95) {
                let at = quantile(&values, q).unwrap();
                prop_assert!(low <= at && at <= high);
            }
        }

        #[test]
        fn histograms_count_everything_once(values in prop::collection::vec(-10i64..1_000_000_000, 0..200)) {
            let bins = histogram(&values);
            prop_assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
            prop_assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
