//! What is known of one input.

use hemiola_stats::mean_and_std;

use super::normal::cumulative;
use crate::expression::Interval;
use crate::quantity::Quantity;

/// The standard normal distribution holds 95 % between ± this.
pub(super) const SCORE_95: f64 = 1.959_963_984_540_054;

/// Where the worst case of a distribution without ends is drawn: 99.7 % of a normal one lie within.
const SCORE_WORST: f64 = 3.0;

/// A value that is not known exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its dotted name, as formulas use it.
    pub name: String,
    /// The best single value.
    pub nominal: Quantity,
    /// The stochastic part: how it varies, in base units of the nominal value.
    pub distribution: Distribution,
    /// The systematic part: the largest offset common to all readings, in base units; never negative.
    pub systematic: f64,
    /// Degrees of freedom behind the standard deviation; `None` where it is known without sampling.
    pub freedom: Option<f64>,
}

/// How a value varies, in base units.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Not at all.
    Exact,
    /// Normal around the nominal value.
    Normal {
        /// The standard deviation.
        std: f64,
    },
    /// Anywhere between two ends alike; the nominal value is one between them, not always in the middle.
    Uniform {
        /// The least value.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Most often near the nominal value, less towards two ends on a straight line.
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
    /// As these readings are, each one as likely; a network sorts them.
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

    /// The same with this stochastic part.
    #[must_use]
    pub fn varying(self, distribution: Distribution) -> Self {
        Self { distribution, ..self }
    }

    /// The same with a systematic part of ± `bound`, in base units.
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

    /// The value that stands in this distribution where `score` stands in the standard normal one.
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

    /// From end to end, the systematic part included; without ends, to three standard deviations.
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
        [self.at_score(-SCORE_95) - self.systematic, self.at_score(SCORE_95) + self.systematic]
    }

    /// What cannot be, in words, each with its value.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let nominal = self.nominal.value;
        let mut refuse = |wrong: bool, what: String| found.extend(wrong.then_some(what));
        let not_positive = |value: f64| !(value.is_finite() && value >= 0.0);
        refuse(
            !nominal.is_finite(),
            format!("the nominal value is {nominal}; it has to be finite"),
        );
        refuse(
            not_positive(self.systematic),
            format!("the systematic part is {}; a bound is 0 or more", self.systematic),
        );
        if let Some(freedom) = self.freedom {
            let wrong = freedom.is_nan() || freedom < 1.0;
            refuse(wrong, format!("{freedom} degrees of freedom; there is at least one"));
        }
        match &self.distribution {
            Distribution::Exact => {}
            Distribution::Normal { std } => refuse(
                not_positive(*std),
                format!("the standard deviation is {std}; a variance is never negative"),
            ),
            Distribution::LogNormal { sigma } => {
                refuse(
                    not_positive(*sigma),
                    format!(
                        "the standard deviation of the logarithm is {sigma}; a variance is never negative"
                    ),
                );
                refuse(
                    nominal <= 0.0,
                    format!("{nominal} has no logarithm; a log-normal value is more than 0"),
                );
            }
            Distribution::Uniform { low, high } | Distribution::Triangular { low, high } => refuse(
                !(low <= &nominal && &nominal <= high && (high - low).is_finite()),
                format!("the nominal value {nominal} does not lie between {low} and {high}"),
            ),
            Distribution::Samples(readings) => refuse(
                readings.is_empty() || readings.iter().any(|reading| !reading.is_finite()),
                "the readings have to be finite numbers, and at least one".to_owned(),
            ),
        }
        found
    }
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
    fn standard_deviations_are_those_of_the_textbook() {
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
    fn half_of_a_triangle_lies_below_its_median() {
        assert_eq!(triangular(0.0, 1.0, 2.0, 0.5), 1.0);
        assert_eq!(triangular(0.0, 0.0, 2.0, 0.0), 0.0);
        assert_eq!(triangular(0.0, 2.0, 2.0, 1.0), 2.0);
        assert_eq!(triangular(3.0, 3.0, 3.0, 0.3), 3.0);
    }

    #[test]
    fn impossible_inputs_are_refused_in_words() {
        let refused = |input: Input| input.problems().join("; ");
        for (input, expected) in [
            (
                of(1.0, Distribution::Normal { std: -2.0 }),
                "the standard deviation is -2; a variance is never negative",
            ),
            (of(f64::NAN, Distribution::Exact), "the nominal value is NaN; it has to be finite"),
            (
                of(5.0, Distribution::Uniform { low: 1.0, high: 2.0 }),
                "the nominal value 5 does not lie between 1 and 2",
            ),
            (
                of(-1.0, Distribution::LogNormal { sigma: 0.1 }),
                "-1 has no logarithm; a log-normal value is more than 0",
            ),
            (
                of(1.0, Distribution::Samples(Vec::new())),
                "the readings have to be finite numbers, and at least one",
            ),
            (
                of(1.0, Distribution::Exact).offset_within(-1.0),
                "the systematic part is -1; a bound is 0 or more",
            ),
            (
                Input { freedom: Some(0.0), ..of(1.0, Distribution::Exact) },
                "0 degrees of freedom; there is at least one",
            ),
        ] {
            assert_eq!(refused(input), expected);
        }
        assert_eq!(refused(of(1.0, Distribution::Normal { std: 0.0 })), "");
    }
}
