//! Two sets of values that were not measured in turns: by their means, or by their ranks.

use crate::change::{Change, Difference};
use crate::distribution::{student_quantile, student_tails};
use crate::interval::LEVEL;
use crate::spread::mean_and_std;
use crate::value::{Value, finite};

impl Change {
    /// B − A and B / A of the means of two sets, with Welch's interval ("The Generalization of
    /// 'Student's' Problem", 1947), of the logarithms for the factor; nothing unless both sets are
    /// finite and have 2 values.
    ///
    /// For few values of which each is much condensed, as the medians of runs are: such are nearly
    /// normal. For skewed ones with outliers take [`Change::of_ranks`].
    #[must_use]
    pub fn of_means<V: Value>(before: &[V], after: &[V]) -> Option<Self> {
        let (before, after) = (finite(before)?, finite(after)?);
        let (difference, p) = welch(&before, &after)?;
        let logarithms = logarithms(&before).zip(logarithms(&after));
        let factor = logarithms.and_then(|(a, b)| Some(welch(&a, &b)?.0.exp()));
        Some(Self { difference, factor, p })
    }

    /// By how much B is shifted against A, and by which factor, whatever the shape of the
    /// distribution: the median of all differences between a value of B and one of A (Hodges and
    /// Lehmann, "Estimates of Location Based on Rank Tests", 1963), its interval between two of them
    /// by the rank-sum test of Mann and Whitney (Hollander and Wolfe, "Nonparametric Statistical
    /// Methods", sections 4.2 and 4.3, large samples). Nothing unless both sets are finite and have
    /// 4 values.
    ///
    /// The values must be independent of each other: thin out readings that are not.
    #[must_use]
    pub fn of_ranks<V: Value>(before: &[V], after: &[V]) -> Option<Self> {
        let (mut before, mut after) = (finite(before)?, finite(after)?);
        before.sort_unstable_by(f64::total_cmp);
        after.sort_unstable_by(f64::total_cmp);
        let difference = shift(&before, &after)?;
        let logarithms = logarithms(&before).zip(logarithms(&after));
        let factor = logarithms.and_then(|(a, b)| Some(shift(&a, &b)?.exp()));
        Some(Self { difference, factor, p: rank_sum(&before, &after) })
    }
}

/// The natural logarithms, when all values have one.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
}

/// The difference of the means and how likely noise makes one as large.
fn welch(before: &[f64], after: &[f64]) -> Option<(Difference, f64)> {
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let ((mean_a, std_a), (mean_b, std_b)) = (mean_and_std(before)?, mean_and_std(after)?);
    let (n_a, n_b) = (before.len() as f64, after.len() as f64);
    let (part_a, part_b) = (std_a * std_a / n_a, std_b * std_b / n_b);
    let sum = part_a + part_b;
    let value = mean_b - mean_a;
    if sum == 0.0 {
        let p = if value == 0.0 { 1.0 } else { 0.0 };
        return Some((Difference { value, low: value, high: value }, p));
    }
    let freedom = sum * sum / (part_a * part_a / (n_a - 1.0) + part_b * part_b / (n_b - 1.0));
    let half = student_quantile((1.0 + LEVEL) / 2.0, freedom) * sum.sqrt();
    let p = student_tails(value / sum.sqrt(), freedom);
    Some((Difference { value, low: value - half, high: value + half }, p))
}

/// The median difference with its interval, of rising values.
fn shift(before: &[f64], after: &[f64]) -> Option<Difference> {
    let (n, m) = (before.len() as f64, after.len() as f64);
    let pairs = n * m;
    let half = student_quantile((1.0 + LEVEL) / 2.0, f64::INFINITY) * rank_std(n, m);
    let rank = (pairs / 2.0 - half).round();
    if before.len() < 4 || after.len() < 4 || rank < 1.0 {
        return None;
    }
    let (rank, pairs) = (rank as u64, pairs as u64);
    let at = |rank| smallest_difference(before, after, rank);
    // Both in the middle where their number is even: the estimate need not be one of them.
    let value = f64::midpoint(at(pairs.div_ceil(2)), at(pairs / 2 + 1));
    Some(Difference { value, low: at(rank), high: at(pairs + 1 - rank) })
}

/// The standard deviation of the number of pairs in which B is the greater, without any difference.
fn rank_std(n: f64, m: f64) -> f64 {
    (n * m * (n + m + 1.0) / 12.0).sqrt()
}

/// How likely chance gives B's values ranks at least as far from the middle: the rank-sum test with
/// the correction for continuity, ties counting half.
fn rank_sum(before: &[f64], after: &[f64]) -> f64 {
    let (n, m) = (before.len() as f64, after.len() as f64);
    let count = |strictly: bool| -> f64 {
        let below = |b: &f64| before.partition_point(|a| if strictly { a < b } else { a <= b });
        after.iter().map(|b| below(b) as f64).sum()
    };
    let greater = f64::midpoint(count(true), count(false));
    let distance = ((greater - n * m / 2.0).abs() - 0.5).max(0.0);
    student_tails(distance / rank_std(n, m), f64::INFINITY)
}

/// The difference with that rank, counted from 1, among all b − a of two rising sets.
///
/// A million pairs of readings make 10¹² differences; they need not be listed. How many do not exceed
/// a bound is counted in one pass through both sets, and the bound is found by halving the real
/// numbers between the least and the greatest difference, of which there are fewer than 2⁶⁴.
fn smallest_difference(before: &[f64], after: &[f64], rank: u64) -> f64 {
    let not_above = |bound: f64| {
        let (mut from, mut count) = (0, 0);
        for b in after {
            // The greater b is, the greater must a be.
            while from < before.len() && b - before[from] > bound {
                from += 1;
            }
            count += (before.len() - from) as u64;
        }
        count
    };
    let key = |value: f64| {
        let bits = value.to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    };
    let value = |key: i64| f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64);
    let mut low = key(after[0] - before[before.len() - 1]);
    let mut high = key(after[after.len() - 1] - before[0]);
    while low < high {
        let middle = ((i128::from(low) + i128::from(high)) >> 1) as i64;
        if not_above(value(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // No negative zero: it would be written with its sign.
    value(low) + 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn welch_interval_matches_the_formula() {
        let change = Change::of_means(&[10, 12, 14], &[20, 22, 24]).unwrap();
        // Standard error sqrt(4/3 + 4/3) = 1.633, 4 degrees of freedom: 2.776.
        assert_eq!(change.difference.value, 10.0);
        assert!((change.difference.high - 14.533).abs() < 0.001, "{change:?}");
        // t = 6.124: p = 0.0036.
        assert!((change.p - 0.003_6).abs() < 5e-5, "{change:?}");
        assert_eq!(Change::of_means(&[1], &[2, 3]), None);
        assert_eq!(Change::of_means(&[1.0, f64::NAN], &[2.0, 3.0]), None);
    }

    #[test]
    fn a_factor_is_that_of_the_geometric_means() {
        let change = Change::of_means(&[1.0, 2.0, 4.0], &[3.0, 6.0, 12.0]).unwrap();
        let factor = change.factor.unwrap();
        assert!((factor.value - 3.0).abs() < 1e-12 && factor.low < 1.0 && factor.high > 3.0);
        assert_eq!(Change::of_means(&[0, 1], &[2, 3]).unwrap().factor, None);
    }

    #[test]
    fn equal_values_differ_or_do_not() {
        let p = |b: i64| Change::of_means(&[5, 5], &[b, b]).unwrap().p;
        assert_eq!((p(5), p(6)), (1.0, 0.0));
    }

    #[test]
    fn the_published_shift_of_membranes_is_found() {
        // Hollander and Wolfe, table 4.1 (permeability at term and at 12 to 26 weeks): the shift is
        // −0.305 and its interval −0.76 … 0.15.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks = [1.15, 0.88, 0.90, 0.74, 1.21];
        let change = Change::of_ranks(&term, &weeks).unwrap();
        let Difference { value, low, high } = change.difference;
        for (found, expected) in [(value, -0.305), (low, -0.76), (high, 0.15)] {
            assert!((found - expected).abs() < 1e-9, "{change:?}");
        }
        // The sum of ranks is 35 pairs of 50; exact p = 0.254, normal 0.2454.
        assert!((change.p - 0.25).abs() < 0.01, "{change:?}");
        assert_eq!(Change::of_ranks(&[1, 2, 3], &[4, 5, 6]), None);
    }

    #[test]
    fn one_wild_value_does_not_move_the_shift() {
        let before: Vec<i64> = (0..40).map(|n| 1000 + n * 17 % 40).collect();
        let mut after: Vec<i64> = before.iter().map(|value| value + 100).collect();
        after[7] = 10_000_000;
        let change = Change::of_ranks(&before, &after).unwrap();
        assert!((90.0..=110.0).contains(&change.difference.value), "{change:?}");
        assert!(!change.difference.may_be_zero() && change.p < 1e-6);
    }

    proptest! {
        #[test]
        fn a_difference_of_any_rank_is_found_without_listing_them(
            before in prop::collection::vec(-1000i32..1000, 1..20),
            after in prop::collection::vec(-1000i32..1000, 1..20),
            share in 0.0f64..1.0,
        ) {
            let rising = |values: &[i32]| {
                let mut values: Vec<f64> = values.iter().map(|v| f64::from(*v) / 7.0).collect();
                values.sort_unstable_by(f64::total_cmp);
                values
            };
            let (a, b) = (rising(&before), rising(&after));
            let mut all: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            all.sort_unstable_by(f64::total_cmp);
            let index = (share * all.len() as f64) as usize;
            prop_assert_eq!(smallest_difference(&a, &b, index as u64 + 1), all[index]);
        }

        #[test]
        fn exchanging_the_sides_turns_the_sign(
            a in prop::collection::vec(1i64..1000, 4..30),
            b in prop::collection::vec(1i64..1000, 4..30),
        ) {
            type Of = fn(&[i64], &[i64]) -> Option<Change>;
            for of in [Change::of_means as Of, Change::of_ranks] {
                let (Some(there), Some(back)) = (of(&a, &b), of(&b, &a)) else { continue };
                prop_assert!((there.difference.value + back.difference.value).abs() < 1e-6);
                prop_assert!((there.p - back.p).abs() < 1e-9);
                prop_assert!(there.difference.low <= there.difference.value);
                prop_assert!(there.difference.value <= there.difference.high);
            }
        }
    }
}
