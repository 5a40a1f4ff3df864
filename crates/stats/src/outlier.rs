//! Observations that stand apart from all others.

use crate::spread::median;

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

#[cfg(test)]
mod tests {
    use super::*;

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
