//! Inputs and their distributions.

use hemiola_stats::{NORMAL_975, mean_and_std};
use statrs::function::erf::erfc;

use crate::expression::Interval;
use hemiola_quantity::Quantity;

/// The score that bounds the worst case of an unbounded distribution: 99.7 % of a normal one lie within.
const SCORE_WORST: f64 = 3.0;

/// A value with uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its dotted name, as formulas use it.
    pub name: String,
    /// The best single value.
    pub nominal: Quantity,
    /// The stochastic part: its variation, in base units of the nominal value.
    pub distribution: Distribution,
    /// The systematic part: the largest offset common to all readings, in base units; never negative.
    pub systematic: f64,
    /// Degrees of freedom of the standard deviation; `None` if it is not estimated from samples.
    pub freedom: Option<f64>,
}

/// The variation of a value, in base units.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// No variation.
    Exact,
    /// Normal around the nominal value.
    Normal {
        /// The standard deviation.
        std: f64,
    },
    /// Uniform between two ends; the nominal value lies between them, not necessarily in the middle.
    Uniform {
        /// The least value.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Density falls linearly from the nominal value to the two ends.
    Triangular {
        /// The least value.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Positive and skewed: its logarithm is normal around that of the nominal value, the median.
    LogNormal {
        /// Standard deviation of the logarithm: 0.1 is about ± 10 %.
        sigma: f64,
    },
    /// One of these readings, each equally likely; a network sorts them.
    Samples(Vec<f64>),
}

impl Input {
    /// A value without uncertainty.
    #[must_use]
    pub fn exact(name: impl Into<String>, nominal: Quantity) -> Self {
        Self {
            name: name.into(),
            nominal,
            distribution: Distribution::Exact,
            systematic: 0.0,
            freedom: None,
        }
    }

    /// This input with the given stochastic part.
    #[must_use]
    pub fn varying(self, distribution: Distribution) -> Self {
        Self { distribution, ..self }
    }

    /// This input with a systematic part of ± `bound`, in base units.
    #[must_use]
    pub fn offset_within(self, bound: f64) -> Self {
        Self { systematic: bound, ..self }
    }

    /// Standard deviation of the stochastic part.
    #[must_use]
    pub fn std(&self) -> f64 {
        let nominal = self.nominal.value;
        match &self.distribution {
            Distribution::Exact => 0.0,
            Distribution::Normal { std } => *std,
            Distribution::Uniform { low, high } => (high - low) / 12_f64.sqrt(),
            Distribution::Triangular { low, high } => {
                // (a² + b² + c² − ab − ac − bc) / 18, with less cancellation.
                let (left, right) = (nominal - low, high - nominal);
                ((left * left + right * right + left * right) / 18.0).sqrt()
            }
            Distribution::LogNormal { sigma } => {
                let variance = sigma * sigma;
                nominal * (variance / 2.0).exp() * variance.exp_m1().sqrt()
            }
            Distribution::Samples(readings) => mean_and_std(readings).map_or(0.0, |(_, std)| std),
        }
    }

    /// The value at the same quantile as `score` in the standard normal distribution.
    pub(super) fn at_score(&self, score: f64) -> f64 {
        let nominal = self.nominal.value;
        match &self.distribution {
            Distribution::Exact => nominal,
            Distribution::Normal { std } => nominal + std * score,
            Distribution::LogNormal { sigma } => nominal * (sigma * score).exp(),
            Distribution::Uniform { low, high } => low + (high - low) * cumulative(score),
            Distribution::Triangular { low, high } => {
                triangular(*low, nominal, *high, cumulative(score))
            }
            Distribution::Samples(sorted) => {
                let rank = (cumulative(score) * sorted.len() as f64) as usize;
                sorted[rank.min(sorted.len() - 1)]
            }
        }
    }

    /// The whole range including the systematic part; ± three standard deviations if the distribution is unbounded.
    pub(super) fn worst_case(&self) -> Interval {
        let nominal = self.nominal.value;
        let (low, high) = match &self.distribution {
            Distribution::Exact => (nominal, nominal),
            Distribution::Normal { .. } | Distribution::LogNormal { .. } => {
                (self.at_score(-SCORE_WORST), self.at_score(SCORE_WORST))
            }
            Distribution::Uniform { low, high } | Distribution::Triangular { low, high } => {
                (*low, *high)
            }
            Distribution::Samples(sorted) => (sorted[0], sorted[sorted.len() - 1]),
        };
        Interval { low: low - self.systematic, high: high + self.systematic }
    }

    /// The ends of the middle 95 %, the systematic part included.
    pub(super) fn range_95(&self) -> [f64; 2] {
        [self.at_score(-NORMAL_975) - self.systematic, self.at_score(NORMAL_975) + self.systematic]
    }

    /// Everything that is wrong with this input, one sentence each.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let nominal = self.nominal.value;
        let mut reject = |wrong: bool, problem: String| found.extend(wrong.then_some(problem));
        let not_positive = |value: f64| !(value.is_finite() && value >= 0.0);
        reject(!nominal.is_finite(), format!("the nominal value is {nominal}; it must be finite"));
        reject(
            not_positive(self.systematic),
            format!("the systematic part is {}; it must be at least 0", self.systematic),
        );
        if let Some(freedom) = self.freedom {
            let wrong = freedom.is_nan() || freedom < 1.0;
            reject(wrong, format!("{freedom} degrees of freedom; there must be at least 1"));
        }
        match &self.distribution {
            Distribution::Exact => {}
            Distribution::Normal { std } => reject(
                not_positive(*std),
                format!("the standard deviation is {std}; it must be at least 0"),
            ),
            Distribution::LogNormal { sigma } => {
                reject(
                    not_positive(*sigma),
                    format!(
                        "the standard deviation of the logarithm is {sigma}; it must be at least 0"
                    ),
                );
                reject(
                    nominal <= 0.0,
                    format!("the nominal value is {nominal}; a log-normal value is greater than 0"),
                );
            }
            Distribution::Uniform { low, high } | Distribution::Triangular { low, high } => reject(
                !(low <= &nominal && &nominal <= high && (high - low).is_finite()),
                format!("the nominal value {nominal} does not lie between {low} and {high}"),
            ),
            Distribution::Samples(readings) => reject(
                readings.is_empty() || readings.iter().any(|reading| !reading.is_finite()),
                "the readings must be finite numbers, at least one".to_owned(),
            ),
        }
        found
    }
}

/// The share of the standard normal distribution below `score`.
fn cumulative(score: f64) -> f64 {
    0.5 * erfc(-score * std::f64::consts::FRAC_1_SQRT_2)
}

/// The inverse of the cumulative triangular distribution.
pub(super) fn triangular(low: f64, mode: f64, high: f64, share: f64) -> f64 {
    let (left, width) = (mode - low, high - low);
    if share * width < left {
        low + (share * width * left).sqrt()
    } else {
        high - ((1.0 - share) * width * (high - mode)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nominal: f64, distribution: Distribution) -> Input {
        Input::exact("x", Quantity::number(nominal)).varying(distribution)
    }

    #[test]
    fn standard_deviations_match_the_textbook() {
        for (input, std) in [
            (of(1.0, Distribution::Exact), 0.0),
            (of(1.0, Distribution::Uniform { low: 0.0, high: 2.0 }), 1.0 / 3_f64.sqrt()),
            (of(1.0, Distribution::Triangular { low: 0.0, high: 2.0 }), 1.0 / 6_f64.sqrt()),
            (of(0.0, Distribution::Triangular { low: 0.0, high: 3.0 }), 0.5_f64.sqrt()),
            (
                of(2.0, Distribution::LogNormal { sigma: 1.0 }),
                2.0 * (1_f64.exp() * (1_f64.exp() - 1.0)).sqrt(),
            ),
            (of(3.0, Distribution::Samples(vec![1.0, 2.0, 3.0, 4.0])), (5_f64 / 3.0).sqrt()),
            (of(3.0, Distribution::Samples(vec![7.0])), 0.0),
        ] {
            assert!((input.std() - std).abs() < 1e-12, "{input:?}: {}", input.std());
        }
    }

    #[test]
    fn normal_draws_follow_the_cumulative_distribution() {
        let mut random = hemiola_units::Random::from_seed(5);
        let count = 2_000_000;
        let mut drawn: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        // Kolmogorov and Smirnov: the greatest distance is below 1.95 / √count in 999 of 1000 sets.
        drawn.sort_unstable_by(f64::total_cmp);
        let distance = (1..)
            .zip(&drawn)
            .map(|(rank, x)| (f64::from(rank) / f64::from(count) - cumulative(*x)).abs());
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / f64::from(count).sqrt(), "{distance}");
    }

    #[test]
    fn half_of_a_triangle_lies_below_its_median() {
        assert_eq!(triangular(0.0, 1.0, 2.0, 0.5), 1.0);
        assert_eq!(triangular(0.0, 0.0, 2.0, 0.0), 0.0);
        assert_eq!(triangular(0.0, 2.0, 2.0, 1.0), 2.0);
        assert_eq!(triangular(3.0, 3.0, 3.0, 0.3), 3.0);
    }

    #[test]
    fn impossible_inputs_are_rejected() {
        let rejected = |input: Input| input.problems().join("; ");
        for (input, expected) in [
            (
                of(1.0, Distribution::Normal { std: -2.0 }),
                "the standard deviation is -2; it must be at least 0",
            ),
            (of(f64::NAN, Distribution::Exact), "the nominal value is NaN; it must be finite"),
            (
                of(5.0, Distribution::Uniform { low: 1.0, high: 2.0 }),
                "the nominal value 5 does not lie between 1 and 2",
            ),
            (
                of(-1.0, Distribution::LogNormal { sigma: 0.1 }),
                "the nominal value is -1; a log-normal value is greater than 0",
            ),
            (
                of(1.0, Distribution::Samples(Vec::new())),
                "the readings must be finite numbers, at least one",
            ),
            (
                of(1.0, Distribution::Exact).offset_within(-1.0),
                "the systematic part is -1; it must be at least 0",
            ),
            (
                Input { freedom: Some(0.0), ..of(1.0, Distribution::Exact) },
                "0 degrees of freedom; there must be at least 1",
            ),
        ] {
            assert_eq!(rejected(input), expected);
        }
        assert_eq!(rejected(of(1.0, Distribution::Normal { std: 0.0 })), "");
    }
}
