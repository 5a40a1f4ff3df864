//! Readings that stand out, named and not dropped.

use super::spread::median;
use super::value::{Value, finite};

/// A modified z-score beyond this is an outlier's, as Iglewicz and Hoaglin recommend.
pub const OUTLYING: f64 = 3.5;

/// A reading far from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Where it stands among the readings.
    pub index: usize,
    /// The reading.
    pub value: f64,
    /// How far out, signed: its modified z-score, about the number of standard deviations of the
    /// others.
    pub score: f64,
}

/// The readings whose modified z-score is beyond [`OUTLYING`], in their order: 0.6745 times the
/// distance from the median, over the median of all such distances (Iglewicz and Hoaglin, "How to
/// Detect and Handle Outliers", 1993). Where more than half of the readings are equal, their mean
/// distance × 1.2533 takes the place of the median one. None when a reading is not finite.
///
/// What they are is for a person to say: an interrupt, the host, or the very thing measured. Medians
/// stand them, so there is no need to leave them out.
#[must_use]
pub fn outliers<V: Value>(readings: &[V]) -> Vec<Outlier> {
    /// The median distance from the mean of a normal distribution, in standard deviations.
    const NORMAL_MEDIAN: f64 = 0.674_489_750_196;
    /// One over the mean distance: sqrt(π / 2).
    const NORMAL_MEAN: f64 = 1.253_314_137_316;
    let Some(readings) = finite(readings) else { return Vec::new() };
    let Some(middle) = median(&readings) else { return Vec::new() };
    let distances: Vec<f64> = readings.iter().map(|reading| (reading - middle).abs()).collect();
    let scale = match median(&distances) {
        Some(typical) if typical > 0.0 => typical / NORMAL_MEDIAN,
        _ => distances.iter().sum::<f64>() / distances.len() as f64 * NORMAL_MEAN,
    };
    if scale <= 0.0 {
        return Vec::new();
    }
    let score = |(index, value): (usize, &f64)| {
        let score = (value - middle) / scale;
        (score.abs() > OUTLYING).then_some(Outlier { index, value: *value, score })
    };
    readings.iter().enumerate().filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn outliers_are_named_with_their_place_and_distance() {
        // Median 101, median distance 1: the score of 120 is 0.6745 × 19.
        let found = outliers(&[100, 101, 102, 120, 101, 99, 102]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].index, found[0].value), (3, 120.0));
        assert!((found[0].score - 12.815).abs() < 0.001, "{found:?}");
    }

    #[test]
    fn most_readings_being_equal_does_not_make_all_others_outliers() {
        let mut readings = vec![22; 100];
        readings[3] = 23;
        readings[50] = 500;
        let found: Vec<usize> = outliers(&readings).iter().map(|outlier| outlier.index).collect();
        // The mean distance is 4.79, so a step of the clock is nothing.
        assert_eq!(found, [50]);
        assert!(outliers(&[22; 100]).is_empty());
        assert!(outliers(&[1.0, f64::NAN]).is_empty());
    }

    proptest! {
        #[test]
        fn scale_and_origin_do_not_matter(
            readings in prop::collection::vec(-1000i64..1000, 1..100),
            scale in 1i64..100,
            origin in -1_000_000i64..1_000_000,
        ) {
            let moved: Vec<i64> = readings.iter().map(|r| r * scale + origin).collect();
            let (a, b) = (outliers(&readings), outliers(&moved));
            prop_assert_eq!(a.len(), b.len());
            prop_assert!(a.len() * 2 <= readings.len());
            for (a, b) in a.iter().zip(&b) {
                prop_assert!(a.index == b.index && (a.score - b.score).abs() < 1e-6);
            }
        }
    }
}
