//! Two things measured in turns, A B B A, so that drifts of the machine affect both alike.

use crate::interval::Estimate;
use crate::value::{Value, finite};

/// The median over the rounds of B − A. A round is four readings in the order A B B A, and each side counts with the
/// mean of its two. An even rise or fall during a round drops out of the difference.
///
/// An incomplete last round is left out. `None` when a reading is not finite, or when the rounds are worth fewer than 6
/// independent ones.
///
/// ```
/// use hemiola_stats::paired_difference;
/// // 100 ns and 130 ns on a machine that becomes 1 ns slower with each reading.
/// let reading = |index: usize| [100.0, 130.0, 130.0, 100.0][index % 4] + index as f64;
/// let readings: Vec<f64> = (0..40).map(reading).collect();
/// let difference = paired_difference(&readings).unwrap();
/// assert_eq!((difference.low, difference.high), (30.0, 30.0));
/// ```
pub fn paired_difference<V: Value>(readings: &[V]) -> Option<Estimate> {
    let readings = finite(readings)?;
    let rounds = readings.as_chunks::<4>().0.iter();
    let differences: Vec<f64> =
        rounds.map(|[a, b, c, d]| f64::midpoint(*b, *c) - f64::midpoint(*a, *d)).collect();
    Estimate::of_median(&differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_rounds_give_no_difference() {
        let readings = |count| (0..count).map(|index| i64::from(matches!(index % 4, 1 | 2)));
        assert_eq!(paired_difference(&readings(20).collect::<Vec<_>>()), None);
        assert_eq!(paired_difference(&[f64::NAN; 40]), None);
        // Six rounds and an incomplete one.
        let difference = paired_difference(&readings(27).collect::<Vec<_>>()).unwrap();
        assert_eq!((difference.samples, difference.value), (6, 1.0));
    }
}
