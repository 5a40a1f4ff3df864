//! Counts in bins of equal width on a logarithmic axis.

use std::collections::BTreeMap;

use crate::value::Value;

/// Bins from a value to ten times that value: 2.3 % wide each.
const BINS_PER_DECADE: u32 = 100;

/// Counts in bins of equal width on a logarithmic axis, as `(lower edge, count)`, empty bins left
/// out, edges rising. Values below 1 fall into the bin at 0.
///
/// ```
/// use hemiola_stats::histogram;
/// assert_eq!(histogram(&[-3, 1000, 1001, 10_000]), [(0.0, 1), (1000.0, 2), (10_000.0, 1)]);
/// ```
pub fn histogram<V: Value>(values: &[V]) -> Vec<(f64, u64)> {
    let mut counts = BTreeMap::<i64, u64>::new();
    let bins = f64::from(BINS_PER_DECADE);
    for value in values {
        let value = value.to_f64();
        // The small addition keeps exact powers of ten on their own edge.
        let bin = if value < 1.0 { -1 } else { (value.log10() * bins + 1e-9) as i64 };
        *counts.entry(bin).or_default() += 1;
    }
    // To three decimals, so that files stay readable.
    let edge = |bin: i64| {
        if bin < 0 { 0.0 } else { (10f64.powf(bin as f64 / bins) * 1e3).round() / 1e3 }
    };
    counts.into_iter().map(|(bin, count)| (edge(bin), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn histograms_count_everything_once(values in prop::collection::vec(-10i64..1_000_000_000, 0..200)) {
            let bins = histogram(&values);
            prop_assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
            prop_assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
