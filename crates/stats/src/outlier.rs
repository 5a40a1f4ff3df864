//! Observations that stand apart from all others.

use serde::{Deserialize, Serialize};

use crate::spread::{median, quantile};

/// How far an outlier is from the median, in standard deviations of normal values: Iglewicz and Hoaglin, "How to Detect
/// and Handle Outliers" (1993), advise 3.5.
const FAR: f64 = 3.5;

/// The median absolute deviation of normal values, in standard deviations.
const NORMAL_MAD: f64 = 0.674_489_750_196_081_7;

/// The indices of the values that are farther than 3.5 standard deviations from the median. The standard deviation is
/// estimated from the median absolute deviation, on which outliers have no influence. There are none if half of the
/// values are equal, or if a value is not finite.
#[must_use]
pub fn outliers(values: &[f64]) -> Vec<usize> {
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let Some(middle) = median(values) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let Some(typical) = median(&distances).filter(|typical| *typical > 0.0) else {
        return Vec::new();
    };
    let is_far = |index: &usize| distances[*index] * NORMAL_MAD > FAR * typical;
    (0..values.len()).filter(is_far).collect()
}

/// How many observations lie outside Tukey's fences: mild ones more than 1.5, severe ones more than 3 interquartile
/// ranges beyond the quartiles.
///
/// Source: Tukey, "Exploratory Data Analysis" (1977), section 2D; criterion counts the same classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlierClasses {
    /// Severe ones below the first quartile.
    pub low_severe: u64,
    /// Mild ones below the first quartile.
    pub low_mild: u64,
    /// Mild ones above the third quartile.
    pub high_mild: u64,
    /// Severe ones above the third quartile.
    pub high_severe: u64,
}

impl OutlierClasses {
    /// The classes of `sorted` observations. There are none without observations.
    #[must_use]
    pub fn of(sorted: &[i64]) -> Self {
        let (Some(first), Some(third)) = (quantile(sorted, 0.25), quantile(sorted, 0.75)) else {
            return Self::default();
        };
        // Doubled, so that the fences are whole numbers.
        let [first, third] = [first, third].map(|quartile| 2 * i128::from(quartile));
        let range = (third - first) / 2;
        let below = |fence: i128| sorted.partition_point(|value| 2 * i128::from(*value) < fence);
        let above =
            |fence: i128| sorted.len() - sorted.partition_point(|it| 2 * i128::from(*it) <= fence);
        let (low, lowest) = (below(first - 3 * range), below(first - 6 * range));
        let (high, highest) = (above(third + 3 * range), above(third + 6 * range));
        Self {
            low_severe: lowest as u64,
            low_mild: (low - lowest) as u64,
            high_mild: (high - highest) as u64,
            high_severe: highest as u64,
        }
    }

    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.low_severe + self.low_mild + self.high_mild + self.high_severe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_classed_by_their_distance_from_the_quartiles() {
        // Quartiles 25 and 75, so the fences are at −50 and 150, and at −125 and 225.
        let mut values: Vec<i64> = (1..=99).collect();
        assert_eq!(OutlierClasses::of(&values), OutlierClasses::default());
        values[0] = -126;
        values[1] = -125;
        values[2] = -51;
        values[3] = -50;
        values[95] = 150;
        values[96] = 151;
        values[97] = 225;
        values[98] = 226;
        let classes = OutlierClasses::of(&values);
        let expected = OutlierClasses { low_severe: 1, low_mild: 2, high_mild: 2, high_severe: 1 };
        assert_eq!((classes, classes.total()), (expected, 6));
        assert_eq!(OutlierClasses::of(&[]), OutlierClasses::default());
        assert_eq!(OutlierClasses::of(&[i64::MIN, 0, 0, 0, i64::MAX]).total(), 2);
    }

    #[test]
    fn what_is_far_from_the_median_stands_apart() {
        let values = [50.0, 10.0, 11.0, 9.0, 10.5, 9.5, 10.2, -30.0];
        assert_eq!(outliers(&values), [0, 7]);
        // Median 3, median deviation 1: the border is 3 ± 3.5 / 0.6745.
        assert!(outliers(&[1.0, 2.0, 3.0, 4.0, 8.18]).is_empty());
        assert_eq!(outliers(&[1.0, 2.0, 3.0, 4.0, 8.2]), [4]);
    }

    #[test]
    fn without_a_spread_nothing_stands_apart() {
        for values in [&[][..], &[1.0, 1.0, 1.0, 9.0], &[1.0, 2.0, f64::NAN]] {
            assert!(outliers(values).is_empty(), "{values:?}");
        }
    }
}
