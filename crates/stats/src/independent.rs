//! Two sets of values that were not measured in turns, compared by their means.

use crate::change::{Change, Difference};
use crate::distribution::{student_quantile, student_tails};
use crate::interval::LEVEL;
use crate::spread::mean_and_std;
use crate::value::{Value, finite};

impl Change {
    /// B − A and B / A of the means of two sets, with Welch's interval ("The Generalization of
    /// 'Student's' Problem", 1947). The factor is computed from the logarithms. `None` unless both sets are
    /// finite and have at least 2 values.
    ///
    /// Meant for a few nearly normal values, such as the medians of runs.
    pub fn of_means<V: Value>(before: &[V], after: &[V]) -> Option<Self> {
        let (before, after) = (finite(before)?, finite(after)?);
        let (difference, p) = welch(&before, &after)?;
        let logarithms = logarithms(&before).zip(logarithms(&after));
        let factor = logarithms.and_then(|(a, b)| Some(welch(&a, &b)?.0.exp()));
        Some(Self { difference, factor, p })
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

    proptest! {
        #[test]
        fn exchanging_the_sides_turns_the_sign(
            a in prop::collection::vec(1i64..1000, 2..30),
            b in prop::collection::vec(1i64..1000, 2..30),
        ) {
            let there = Change::of_means(&a, &b).unwrap();
            let back = Change::of_means(&b, &a).unwrap();
            prop_assert!((there.difference.value + back.difference.value).abs() < 1e-6);
            prop_assert!((there.p - back.p).abs() < 1e-9);
            prop_assert!(there.difference.low <= there.difference.value);
            prop_assert!(there.difference.value <= there.difference.high);
        }
    }
}
