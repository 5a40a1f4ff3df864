//! How many independent readings a series is worth whose readings depend on each other.

use crate::spread::mean_and_std;
use crate::value::Value;

/// How many independent readings would tell as much about the mean as these do: from 1 to their number.
///
/// This is n / τ with the integrated autocorrelation time τ by Geyer's initial positive sequence ("Practical
/// Markov Chain Monte Carlo", 1992, section 3.3): sums of neighbouring autocorrelations are added up
/// until one is not positive, because from there on noise outweighs the signal. Negative correlation, which would make
/// readings worth more than their number, is ignored. A constant series is worth its number.
pub fn effective_samples<V: Value>(values: &[V]) -> f64 {
    let n = values.len();
    let Some(series) = Centred::of(values) else { return n as f64 };
    let mut time = -1.0;
    for lag in (0..n.saturating_sub(1)).step_by(2) {
        let pair = series.correlation(lag) + series.correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    (n as f64 / time.max(1.0)).max(1.0)
}

/// A series minus its mean.
struct Centred {
    deviations: Vec<f64>,
    squares: f64,
}

impl Centred {
    /// `None` when the values do not vary or are not finite.
    fn of<V: Value>(values: &[V]) -> Option<Self> {
        let (mean, _) = mean_and_std(values)?;
        let deviations: Vec<f64> = values.iter().map(|value| value.to_f64() - mean).collect();
        let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
        (squares > 0.0 && squares.is_finite()).then_some(Self { deviations, squares })
    }

    /// The autocorrelation at that lag: the sum of n − lag products, divided by n (Box and Jenkins, "Time Series
    /// Analysis", section 2.1.5).
    fn correlation(&self, lag: usize) -> f64 {
        let later = &self.deviations[lag..];
        let products: f64 = self.deviations.iter().zip(later).map(|(a, b)| a * b).sum();
        products / self.squares
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;
    use proptest::prelude::*;

    use super::*;

    /// Box and Jenkins, series F: yields of 70 consecutive batches.
    const YIELDS: [i64; 70] = [
        47, 64, 23, 71, 38, 64, 55, 41, 59, 48, 71, 35, 57, 40, 58, 44, 80, 55, 37, 74, 51, 57, 50,
        60, 45, 57, 50, 45, 25, 59, 50, 71, 56, 74, 50, 58, 45, 54, 36, 54, 48, 55, 45, 57, 50, 62,
        44, 64, 43, 52, 38, 59, 55, 41, 53, 49, 34, 35, 54, 45, 68, 38, 50, 60, 39, 59, 40, 57, 54,
        23,
    ];

    #[test]
    fn autocorrelations_are_the_published_ones() {
        // Box and Jenkins, table 2.2: −0.39, 0.30, −0.17, 0.07, −0.10.
        let series = Centred::of(&YIELDS).unwrap();
        for (lag, expected) in (1..).zip([-0.39, 0.30, -0.17, 0.07, -0.10]) {
            let found = series.correlation(lag);
            assert!((found - expected).abs() < 0.0051, "{found} {expected}");
        }
        assert_eq!(effective_samples(&YIELDS), 70.0);
    }

    #[test]
    fn a_first_order_series_is_worth_what_theory_says() {
        // τ = (1 + ρ) / (1 − ρ) = 9 for ρ = 0.8.
        let mut random = Random::from_seed(1);
        let mut state = 0.0;
        let values: Vec<f64> = (0..50_000)
            .map(|_| {
                state = 0.8 * state + random.normal();
                state
            })
            .collect();
        let time = values.len() as f64 / effective_samples(&values);
        assert!((8.0..10.0).contains(&time), "{time}");
        let first = Centred::of(&values).unwrap().correlation(1);
        assert!((first - 0.8).abs() < 0.02, "{first}");
    }

    #[test]
    fn a_constant_series_is_worth_its_number() {
        assert_eq!(effective_samples(&[5; 10]), 10.0);
        assert_eq!(effective_samples::<f64>(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn worth_lies_between_one_and_the_number(values in prop::collection::vec(-1e6f64..1e6, 1..300)) {
            let effective = effective_samples(&values);
            prop_assert!((1.0..=values.len() as f64).contains(&effective));
        }

        #[test]
        fn scale_and_origin_do_not_matter(
            values in prop::collection::vec(-1000i64..1000, 2..100),
            scale in 1i64..1000,
            origin in -1_000_000i64..1_000_000,
        ) {
            let moved: Vec<i64> = values.iter().map(|value| value * scale + origin).collect();
            let (a, b) = (effective_samples(&values), effective_samples(&moved));
            prop_assert!((a - b).abs() < 1e-6 * a);
        }
    }
}
