//! Inputs and their distributions.

use std::collections::BTreeMap;

use hemiola_stats::{NORMAL_975, mean_and_std};
use hemiola_units::Random;
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::gamma;

use crate::expression::Interval;
use crate::text::shown;
use hemiola_quantity::{Dimension, Quantity, Units};

/// The score that bounds the worst case of an unbounded distribution: 99.7 % of a normal one lie within.
const SCORE_WORST: f64 = 3.0;

/// A smaller share beyond a bound is not worth cutting off.
const CUT_LEAST: f64 = 1e-12;

/// The least share of a distribution within its bounds; below it, the distribution and its bounds contradict.
const KEPT_LEAST: f64 = 1e-3;

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
    /// The values it can have, in base units. The distribution is cut off at these bounds.
    pub bounds: Interval,
    /// The offset of a part of a mixture, within its systematic part, in base units.
    pub(crate) shift: f64,
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
    /// Half of a normal distribution on each side of the nominal value, the median: a range that is not symmetric.
    SplitNormal {
        /// The standard deviation below the median.
        below: f64,
        /// The standard deviation above it.
        above: f64,
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
    /// Positive, with the nominal value as its median; its logarithm scales with 1/`shape` (Weibull 1951). Shape 1 is
    /// the exponential distribution.
    Weibull {
        /// The shape, greater than 0.
        shape: f64,
    },
    /// A long tail: the share above x falls with x to the power of −`shape`, from a least value on. The nominal value
    /// is the median.
    Pareto {
        /// The shape, greater than 1, so that there is a mean. The standard deviation is infinite up to 2.
        shape: f64,
    },
    /// One of these readings, each equally likely; a network sorts them.
    Samples(Vec<f64>),
    /// One of several inputs, each with its share; the shares add up to 1. Their systematic parts count with that of
    /// the mixture.
    Mixture(Vec<(f64, Input)>),
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
            bounds: Interval::ALL,
            shift: 0.0,
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

    /// This input with no value outside `bounds`, in base units.
    #[must_use]
    pub fn within(self, bounds: Interval) -> Self {
        Self { bounds, ..self }
    }

    /// This input with the bounds of its physical quantity: a duration, a rate, an amount of data and a transfer rate
    /// are never negative. A stated negative value is a difference and has no bound.
    #[must_use]
    pub fn physical(self) -> Self {
        let Quantity { value, dimension } = self.nominal;
        let transfer = Dimension::INFORMATION / Dimension::TIME;
        let amounts = [Dimension::TIME, Dimension::RATE, Dimension::INFORMATION, transfer];
        if value < 0.0 || !amounts.contains(&dimension) {
            return self;
        }
        let low = self.bounds.low.max(0.0);
        let bounds = Interval { low, ..self.bounds };
        self.within(bounds)
    }

    /// This input with another value and its range scaled in proportion; a range around 0 has no proportion to it and
    /// keeps its width. Its bounds are limits of the quantity and stay.
    #[must_use]
    pub fn scaled_to(&self, value: Quantity) -> Self {
        let moved = Self::exact(self.name.clone(), value).within(self.bounds);
        if self.nominal.value == 0.0 {
            let distribution = self.distribution.moved(value.value);
            return moved.varying(distribution).offset_within(self.systematic);
        }
        let factor = value.value / self.nominal.value;
        let distribution = self.distribution.scaled(factor);
        moved.varying(distribution).offset_within(in_proportion(self.systematic, factor))
    }

    /// This mixture with the figures of these names in the place of its parts, if any of them is one. Its value is the
    /// mean of its parts, and its systematic part stays in proportion to it.
    pub(crate) fn with_parts(&self, figures: &BTreeMap<&str, Self>) -> Option<Self> {
        let Distribution::Mixture(parts) = &self.distribution else { return None };
        let changed = |part: &Self| {
            figures.get(part.name.as_str()).cloned().or_else(|| part.with_parts(figures))
        };
        if parts.iter().all(|(_, part)| changed(part).is_none()) {
            return None;
        }
        let parts: Vec<(f64, Self)> = parts
            .iter()
            .map(|(share, part)| (*share, changed(part).unwrap_or_else(|| part.clone())))
            .collect();
        let distribution = Distribution::Mixture(parts);
        let [value, _] = distribution.moments(self.nominal.value);
        let factor =
            if self.nominal.value == 0.0 { 1.0 } else { (value / self.nominal.value).abs() };
        let nominal = Quantity { value, ..self.nominal };
        let systematic = in_proportion(self.systematic, factor);
        Some(Self { nominal, distribution, systematic, ..self.clone() })
    }

    /// Standard deviation of the stochastic part.
    #[must_use]
    pub fn std(&self) -> f64 {
        self.moments()[1]
    }

    /// Mean of the stochastic part.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.moments()[0]
    }

    /// Whether it has any uncertainty.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.offset_most() > 0.0 || self.std() > 0.0
    }

    /// The parts of a mixture; none of any other input.
    pub(super) fn parts(&self) -> &[(f64, Self)] {
        match &self.distribution {
            Distribution::Mixture(parts) => parts,
            _ => &[],
        }
    }

    /// The largest offset of any of its values: its systematic part and, of a mixture, that of a part.
    pub(super) fn offset_most(&self) -> f64 {
        let of_parts = self.parts().iter().map(|(_, part)| part.offset_most());
        self.systematic + of_parts.fold(0.0, f64::max)
    }

    /// The largest offset of its mean.
    pub(super) fn offset_of_mean(&self) -> f64 {
        let of_parts = self.parts().iter().map(|(share, part)| share * part.offset_of_mean());
        self.systematic + of_parts.sum::<f64>()
    }

    /// Whether its values can have different offsets.
    pub(super) fn has_offset_parts(&self) -> bool {
        self.parts().iter().any(|(_, part)| part.offset_most() > 0.0)
    }

    /// The number of different offsets of its values.
    pub(super) fn offsets(&self) -> usize {
        let of_parts = self.parts().iter().map(|(_, part)| part.offsets());
        usize::from(self.systematic > 0.0) + of_parts.sum::<usize>()
    }

    /// This mixture with its parts at `offset`, a share of the largest one of each.
    pub(super) fn at_offset(&self, offset: f64) -> Self {
        let at = |part: &Self| Self { shift: offset * part.systematic, ..part.at_offset(offset) };
        let parts = self.parts().iter().map(|(share, part)| (*share, at(part))).collect();
        match self.distribution {
            Distribution::Mixture(_) => self.clone().varying(Distribution::Mixture(parts)),
            _ => self.clone(),
        }
    }

    /// The value at the nominal values of all parts with this offset.
    pub(super) fn nominal_at(&self, offset: f64) -> f64 {
        let most = self.offset_most();
        let share = if most > 0.0 { self.offset_of_mean() / most } else { 0.0 };
        self.offset(self.nominal.value, offset * share)
    }

    /// Mean and standard deviation of the stochastic part.
    pub(super) fn moments(&self) -> [f64; 2] {
        if self.cut().is_none() && self.shift == 0.0 {
            return self.distribution.moments(self.nominal.value);
        }
        let values: Vec<(f64, f64)> =
            steps().into_iter().map(|(width, share)| (width, self.at_share(share))).collect();
        let mean: f64 = values.iter().map(|(width, value)| width * value).sum();
        let variance: f64 =
            values.iter().map(|(width, value)| width * (value - mean).powi(2)).sum();
        [mean, variance.sqrt()]
    }

    /// The shares of the distribution below its bounds, if the bounds cut something off.
    pub(super) fn cut(&self) -> Option<[f64; 2]> {
        let Interval { low, high } = self.bounds;
        if self.distribution == Distribution::Exact
            || (low, high) == (f64::NEG_INFINITY, f64::INFINITY)
        {
            return None;
        }
        let below = |value| self.distribution.share_below(self.nominal.value, value);
        let shares = [
            // A value at the bound is within it.
            if low == f64::NEG_INFINITY { 0.0 } else { below(low.next_down()) },
            if high == f64::INFINITY { 1.0 } else { below(high) },
        ];
        (shares[0] > CUT_LEAST || shares[1] < 1.0 - CUT_LEAST).then_some(shares)
    }

    /// The share of its values up to `value`, within its bounds, which leave these shares.
    fn share_below(&self, value: f64, cut: Option<[f64; 2]>) -> f64 {
        if value < self.bounds.low {
            return 0.0;
        }
        if value >= self.bounds.high {
            return 1.0;
        }
        let found = self.distribution.share_below(self.nominal.value, value - self.shift);
        match cut {
            None => found,
            Some([low, high]) => ((found - low) / (high - low)).clamp(0.0, 1.0),
        }
    }

    /// The value at this quantile.
    pub(super) fn at_share(&self, share: f64) -> f64 {
        let nominal = self.nominal.value;
        let found = match self.cut() {
            None => self.distribution.quantile(nominal, share),
            Some([low, high]) => {
                let found = self.distribution.quantile(nominal, low + (high - low) * share);
                found.clamp(self.bounds.low, self.bounds.high)
            }
        };
        self.offset(found, self.shift)
    }

    /// The value at the same quantile as `score` in the standard normal distribution.
    pub(super) fn at_score(&self, score: f64) -> f64 {
        self.scored()(score)
    }

    /// [`Input::at_score`] as a function for many scores.
    pub(super) fn scored(&self) -> impl Fn(f64) -> f64 {
        let is_cut = self.cut().is_some();
        move |score| {
            if is_cut {
                self.at_share(cumulative(score))
            } else {
                self.offset(self.distribution.at_score(self.nominal.value, score), self.shift)
            }
        }
    }

    /// Fills a column with samples, without the systematic part.
    pub(super) fn draw(&self, random: &mut Random, column: &mut [f64]) {
        self.distribution.draw(self.nominal.value, random, column);
        if self.cut().is_some() {
            // The values within the bounds have the right distribution; so has a new one from within.
            for value in column.iter_mut().filter(|value| !self.bounds.holds(**value)) {
                *value = self.at_share(random.uniform());
            }
        }
    }

    /// The value with this systematic offset, within its bounds.
    pub(super) fn offset(&self, value: f64, offset: f64) -> f64 {
        if offset == 0.0 {
            value
        } else {
            (value + offset).clamp(self.bounds.low, self.bounds.high)
        }
    }

    /// The whole range including the systematic part; ± three standard deviations if the distribution is unbounded.
    pub(super) fn worst_case(&self) -> Interval {
        let Interval { low, high } = self.distribution.worst_case(self.nominal.value);
        let within = |value: f64| value.clamp(self.bounds.low, self.bounds.high);
        Interval { low: within(low - self.systematic), high: within(high + self.systematic) }
    }

    /// The values up to this score from the median, with the systematic part.
    pub(super) fn at_scores(&self, score: f64) -> Interval {
        let Interval { low, high } = self.support();
        let low = low.max(self.at_score(-score)) - self.offset_most();
        let high = high.min(self.at_score(score)) + self.offset_most();
        let Interval { low: least, high: most } = self.bounds;
        Interval { low: low.clamp(least, most), high: high.clamp(least, most) }
    }

    /// Every value that it can have without the systematic part.
    pub(super) fn support(&self) -> Interval {
        let Interval { low, high } = self.distribution.support(self.nominal.value);
        Interval { low: low.max(self.bounds.low), high: high.min(self.bounds.high) }
    }

    /// The ends of the middle 95 %, the systematic part included, in base units.
    #[must_use]
    pub fn range_95(&self) -> [f64; 2] {
        let end = |score: f64, at: f64| {
            let value = self.at_offset(at).at_score(score);
            self.offset(value, at * self.systematic)
        };
        [end(-NORMAL_975, -1.0), end(NORMAL_975, 1.0)]
    }

    /// Everything that is wrong with this input, one sentence each.
    pub(super) fn problems(&self, units: &Units) -> Vec<String> {
        let mut found = Vec::new();
        let nominal = self.nominal.value;
        let mut reject = |wrong: bool, problem: String| found.extend(wrong.then_some(problem));
        reject(!nominal.is_finite(), format!("the nominal value is {nominal}; it must be finite"));
        let is_endless = self.systematic == f64::INFINITY;
        reject(
            is_endless,
            "the systematic part is not a finite number; the range is too wide".into(),
        );
        reject(
            not_positive(self.systematic) && !is_endless,
            format!("the systematic part is {}; it must be at least 0", self.systematic),
        );
        if let Some(freedom) = self.freedom {
            let wrong = freedom.is_nan() || freedom < 1.0;
            reject(wrong, format!("{freedom} degrees of freedom; there must be at least 1"));
        }
        found.extend(self.distribution.problem(nominal, units));
        if found.is_empty() {
            found.extend(self.contradiction(units));
        }
        found
    }

    /// A contradiction between the bounds and the rest, if there is one.
    fn contradiction(&self, units: &Units) -> Option<String> {
        let show = |value: f64| shown(units, Quantity { value, ..self.nominal });
        let Interval { low, high } = self.bounds;
        let nominal = self.nominal.value;
        if !self.bounds.holds(nominal) {
            let bound = if nominal < low {
                format!("at least {}", show(low))
            } else {
                format!("at most {}", show(high))
            };
            return Some(format!("the value is {}; it must be {bound}", show(nominal)));
        }
        let [below, upto] = self.cut()?;
        (upto - below < KEPT_LEAST).then(|| {
            format!(
                "less than a thousandth of its distribution lies between {} and {}",
                show(low),
                show(high)
            )
        })
    }
}

/// A systematic part scaled with its value. None stays none, also where the value is so small that the factor is not
/// finite.
fn in_proportion(systematic: f64, factor: f64) -> f64 {
    if systematic == 0.0 { 0.0 } else { systematic * factor.abs() }
}

impl Distribution {
    /// The distribution with this median and with `low` to `high` as its middle 95 %.
    #[must_use]
    pub fn between(low: f64, median: f64, high: f64) -> Self {
        // A shorter half is the rounding error of ends that were converted.
        let least = 1e-12 * median.abs();
        let std = |half: f64| if half > least { half / NORMAL_975 } else { 0.0 };
        let [below, above] = [median - low, high - median].map(std);
        if (below, above) == (0.0, 0.0) {
            Self::Exact
        } else if (below - above).abs() <= 1e-9 * (below + above) {
            Self::Normal { std: f64::midpoint(below, above) }
        } else {
            Self::SplitNormal { below, above }
        }
    }

    /// This distribution with every value multiplied by `factor`.
    fn scaled(&self, factor: f64) -> Self {
        let ends = |low: f64, high: f64| {
            let (a, b) = (low * factor, high * factor);
            (a.min(b), a.max(b))
        };
        match self {
            // A distribution of zero width is exact.
            _ if factor == 0.0 => Self::Exact,
            Self::Normal { std } => Self::Normal { std: std * factor.abs() },
            Self::SplitNormal { below, above } => {
                let (below, above) = if factor < 0.0 { (above, below) } else { (below, above) };
                Self::SplitNormal { below: below * factor.abs(), above: above * factor.abs() }
            }
            Self::Uniform { low, high } => {
                let (low, high) = ends(*low, *high);
                Self::Uniform { low, high }
            }
            Self::Triangular { low, high } => {
                let (low, high) = ends(*low, *high);
                Self::Triangular { low, high }
            }
            Self::Samples(samples) => {
                Self::Samples(samples.iter().map(|sample| sample * factor).collect())
            }
            Self::Mixture(parts) => {
                let scaled = |part: &Input| {
                    let value = part.nominal.value * factor;
                    let bounds = if factor < 0.0 { Interval::ALL } else { part.bounds };
                    let distribution = part.distribution.scaled(factor);
                    let nominal = Quantity { value, ..part.nominal };
                    let systematic = in_proportion(part.systematic, factor);
                    Input { nominal, distribution, bounds, systematic, ..part.clone() }
                };
                Self::Mixture(parts.iter().map(|(share, part)| (*share, scaled(part))).collect())
            }
            // The nominal value scales these; they are positive, so a network refuses a negative one.
            Self::Exact | Self::LogNormal { .. } | Self::Weibull { .. } | Self::Pareto { .. } => {
                self.clone()
            }
        }
    }

    /// This distribution with `by` added to every value.
    fn moved(&self, by: f64) -> Self {
        match self {
            Self::Uniform { low, high } => Self::Uniform { low: low + by, high: high + by },
            Self::Triangular { low, high } => Self::Triangular { low: low + by, high: high + by },
            Self::Samples(samples) => {
                Self::Samples(samples.iter().map(|sample| sample + by).collect())
            }
            Self::Mixture(parts) => {
                let moved = |part: &Input| {
                    let nominal = Quantity { value: part.nominal.value + by, ..part.nominal };
                    let bounds =
                        Interval { low: part.bounds.low + by, high: part.bounds.high + by };
                    let distribution = part.distribution.moved(by);
                    Input { nominal, distribution, bounds, ..part.clone() }
                };
                Self::Mixture(parts.iter().map(|(share, part)| (*share, moved(part))).collect())
            }
            // The nominal value places these.
            Self::Exact
            | Self::Normal { .. }
            | Self::SplitNormal { .. }
            | Self::LogNormal { .. }
            | Self::Weibull { .. }
            | Self::Pareto { .. } => self.clone(),
        }
    }

    /// Mean and standard deviation.
    fn moments(&self, nominal: f64) -> [f64; 2] {
        match self {
            Self::Exact => [nominal, 0.0],
            Self::Normal { std } => [nominal, *std],
            Self::SplitNormal { below, above } => {
                // A half-normal distribution has the mean σ √(2/π).
                let shift = (above - below) / std::f64::consts::TAU.sqrt();
                let square = below.mul_add(*below, above * above) / 2.0;
                [nominal + shift, (square - shift * shift).sqrt()]
            }
            Self::Uniform { low, high } => {
                [f64::midpoint(*low, *high), (high - low) / 12_f64.sqrt()]
            }
            Self::Triangular { low, high } => {
                // (a² + b² + c² − ab − ac − bc) / 18, with less cancellation.
                let (left, right) = (nominal - low, high - nominal);
                let variance = (left * left + right * right + left * right) / 18.0;
                [(low + nominal + high) / 3.0, variance.sqrt()]
            }
            Self::LogNormal { sigma } => {
                let variance = sigma * sigma;
                let mean = nominal * (variance / 2.0).exp();
                [mean, mean * variance.exp_m1().sqrt()]
            }
            Self::Weibull { shape } => {
                let scale = weibull_scale(nominal, *shape);
                let raw = |order: f64| gamma(1.0 + order / shape);
                let variance = raw(2.0) - raw(1.0).powi(2);
                [scale * raw(1.0), scale * variance.max(0.0).sqrt()]
            }
            Self::Pareto { shape } => {
                let least = pareto_least(nominal, *shape);
                let mean = least * shape / (shape - 1.0);
                let variance = shape / ((shape - 1.0).powi(2) * (shape - 2.0));
                let std = if *shape > 2.0 { least * variance.sqrt() } else { f64::INFINITY };
                [mean, std]
            }
            Self::Samples(readings) => match mean_and_std(readings) {
                Some((mean, std)) => [mean, std],
                None => [nominal, 0.0],
            },
            Self::Mixture(parts) => {
                let parts: Vec<_> =
                    parts.iter().map(|(share, part)| (*share, part.moments())).collect();
                let mean: f64 = parts.iter().map(|(share, [mean, _])| share * mean).sum();
                let variance: f64 = parts
                    .iter()
                    .map(|(share, [of, std])| share * (std * std + (of - mean).powi(2)))
                    .sum();
                [mean, variance.sqrt()]
            }
        }
    }

    /// The value at the same quantile as `score` in the standard normal distribution.
    fn at_score(&self, nominal: f64, score: f64) -> f64 {
        match self {
            Self::Exact => nominal,
            Self::Normal { std } => nominal + std * score,
            Self::SplitNormal { below, above } => {
                nominal + score * if score < 0.0 { below } else { above }
            }
            Self::LogNormal { sigma } => nominal * (sigma * score).exp(),
            other => other.quantile(nominal, cumulative(score)),
        }
    }

    /// The value that this share of the distribution lies below.
    fn quantile(&self, nominal: f64, share: f64) -> f64 {
        match self {
            Self::Uniform { low, high } => low + (high - low) * share,
            Self::Triangular { low, high } => triangular(*low, nominal, *high, share),
            Self::Weibull { shape } => {
                weibull_scale(nominal, *shape) * (-(-share).ln_1p()).powf(shape.recip())
            }
            Self::Pareto { shape } => {
                pareto_least(nominal, *shape) * (1.0 - share).powf(-shape.recip())
            }
            Self::Samples(sorted) => {
                let rank = (share * sorted.len() as f64) as usize;
                sorted[rank.min(sorted.len() - 1)]
            }
            Self::Mixture(_) => self.mixed_quantile(nominal, share),
            // erfc_inv is infinite at the ends, as is the quantile.
            other => other.at_score(nominal, -std::f64::consts::SQRT_2 * erfc_inv(2.0 * share)),
        }
    }

    /// The quantile of a mixture, by bisection.
    fn mixed_quantile(&self, nominal: f64, share: f64) -> f64 {
        let Self::Mixture(parts) = self else { return nominal };
        let ends = parts.iter().map(|(_, part)| part.at_share(share));
        let (mut low, mut high) = ends
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
                (low.min(end), high.max(end))
            });
        let cuts: Vec<_> = parts.iter().map(|(_, part)| part.cut()).collect();
        let below = |value: f64| -> f64 {
            let parts = parts.iter().zip(&cuts);
            parts.map(|((share, part), cut)| share * part.share_below(value, *cut)).sum()
        };
        /// Enough to reach two adjacent numbers.
        const HALVINGS: u32 = 100;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if !(low < middle && middle < high) {
                break;
            }
            if below(middle) < share { low = middle } else { high = middle }
        }
        high
    }

    /// The share of the distribution up to `value`.
    fn share_below(&self, nominal: f64, value: f64) -> f64 {
        match self {
            Self::Exact => f64::from(u8::from(nominal <= value)),
            Self::Normal { std } => cumulative((value - nominal) / std),
            Self::SplitNormal { below, above } => {
                let std = if value < nominal { below } else { above };
                if *std == 0.0 {
                    f64::from(u8::from(value >= nominal))
                } else {
                    cumulative((value - nominal) / std)
                }
            }
            Self::Uniform { low, high } => ((value - low) / (high - low)).clamp(0.0, 1.0),
            Self::Triangular { low, high } => below_triangle(*low, nominal, *high, value),
            Self::LogNormal { sigma } if value > 0.0 => cumulative((value / nominal).ln() / sigma),
            Self::Weibull { shape } if value > 0.0 => {
                -(-(value / weibull_scale(nominal, *shape)).powf(*shape)).exp_m1()
            }
            Self::LogNormal { .. } | Self::Weibull { .. } => 0.0,
            Self::Pareto { shape } => {
                let least = pareto_least(nominal, *shape);
                if value <= least { 0.0 } else { 1.0 - (least / value).powf(*shape) }
            }
            Self::Samples(readings) => {
                let count = readings.iter().filter(|reading| **reading <= value).count();
                count as f64 / readings.len() as f64
            }
            Self::Mixture(parts) => {
                parts.iter().map(|(share, part)| share * part.share_below(value, part.cut())).sum()
            }
        }
    }

    /// Fills a column with samples.
    fn draw(&self, nominal: f64, random: &mut Random, column: &mut [f64]) {
        match self {
            Self::Exact => column.fill(nominal),
            Self::Normal { std } => column.fill_with(|| nominal + std * random.normal()),
            Self::SplitNormal { .. } => {
                column.fill_with(|| self.at_score(nominal, random.normal()))
            }
            Self::LogNormal { sigma } => {
                column.fill_with(|| nominal * (sigma * random.normal()).exp());
            }
            Self::Uniform { low, high } => column.fill_with(|| random.between(*low, *high)),
            Self::Triangular { .. } | Self::Weibull { .. } | Self::Pareto { .. } => {
                column.fill_with(|| self.quantile(nominal, random.uniform()));
            }
            Self::Samples(readings) => {
                let count = readings.len() as u64;
                column.fill_with(|| readings[random.below(count) as usize]);
            }
            Self::Mixture(parts) => {
                column.fill_with(|| chosen(parts, random.uniform()).at_score(random.normal()))
            }
        }
    }

    /// Every possible value; an unbounded end is infinite.
    fn support(&self, nominal: f64) -> Interval {
        match self {
            Self::Normal { std } if *std > 0.0 => Interval::ALL,
            Self::SplitNormal { below, above } => Interval {
                low: if *below > 0.0 { f64::NEG_INFINITY } else { nominal },
                high: if *above > 0.0 { f64::INFINITY } else { nominal },
            },
            Self::LogNormal { .. } | Self::Weibull { .. } => {
                Interval { low: 0.0, high: f64::INFINITY }
            }
            Self::Pareto { shape } => {
                Interval { low: pareto_least(nominal, *shape), high: f64::INFINITY }
            }
            Self::Mixture(parts) => {
                let supports = parts.iter().map(|(_, part)| part.support());
                let hull = supports
                    .reduce(|a, b| Interval { low: a.low.min(b.low), high: a.high.max(b.high) });
                hull.unwrap_or(Interval { low: nominal, high: nominal })
            }
            bounded => bounded.worst_case(nominal),
        }
    }

    /// The whole range; ± three standard deviations if it is unbounded.
    fn worst_case(&self, nominal: f64) -> Interval {
        match self {
            Self::Exact => Interval { low: nominal, high: nominal },
            Self::Uniform { low, high } | Self::Triangular { low, high } => {
                Interval { low: *low, high: *high }
            }
            Self::Samples(sorted) => Interval { low: sorted[0], high: sorted[sorted.len() - 1] },
            Self::Mixture(parts) => {
                let ends = parts.iter().map(|(_, part)| part.worst_case());
                let hull = ends
                    .reduce(|a, b| Interval { low: a.low.min(b.low), high: a.high.max(b.high) });
                hull.unwrap_or(Interval { low: nominal, high: nominal })
            }
            _ => Interval {
                low: self.at_score(nominal, -SCORE_WORST),
                high: self.at_score(nominal, SCORE_WORST),
            },
        }
    }

    /// Why this is not a distribution around the nominal value.
    fn problem(&self, nominal: f64, units: &Units) -> Option<String> {
        let positive = |what: &str| {
            (nominal <= 0.0).then(|| {
                format!("the nominal value is {nominal}; a {what} value is greater than 0")
            })
        };
        let negative = |what: &str, value: f64| {
            not_positive(value).then(|| match value.is_finite() {
                true => format!("{what} is {value}; it must be at least 0"),
                false => format!("{what} is not a finite number; the range is too wide"),
            })
        };
        let least = |shape: f64, bound: f64| {
            (!(shape.is_finite() && shape > bound))
                .then(|| format!("the shape is {shape}; it must be greater than {bound}"))
        };
        match self {
            Self::Exact => None,
            Self::Normal { std } => negative("the standard deviation", *std),
            Self::SplitNormal { below, above } => {
                negative("the standard deviation", below.min(*above))
            }
            Self::LogNormal { sigma } => {
                negative("the standard deviation of the logarithm", *sigma)
                    .or_else(|| positive("log-normal"))
            }
            Self::Weibull { shape } => least(*shape, 0.0).or_else(|| positive("Weibull")),
            Self::Pareto { shape } => least(*shape, 1.0).or_else(|| positive("Pareto")),
            Self::Uniform { low, high } | Self::Triangular { low, high } => {
                let holds = low <= &nominal && &nominal <= high && (high - low).is_finite();
                (!holds).then(|| {
                    format!("the nominal value {nominal} does not lie between {low} and {high}")
                })
            }
            Self::Samples(readings) => {
                let wrong =
                    readings.is_empty() || readings.iter().any(|reading| !reading.is_finite());
                wrong.then(|| "the readings must be finite numbers, at least one".to_owned())
            }
            Self::Mixture(parts) => parts
                .iter()
                .find_map(|(share, part)| {
                    let of = format!("its part \"{}\"", part.name);
                    let problem = part.problems(units).into_iter().next();
                    let problem = problem.map(|problem| format!("{of}: {problem}"));
                    problem.or_else(|| negative(&format!("the share of {of}"), *share))
                })
                .or_else(|| {
                    let sum: f64 = parts.iter().map(|(share, _)| *share).sum();
                    ((sum - 1.0).abs() > 1e-9).then(|| {
                        format!("the shares of its parts add up to {sum}; they must add up to 1")
                    })
                }),
        }
    }

    /// Sorts the readings, also those of parts.
    pub(super) fn sort(&mut self) {
        match self {
            Self::Samples(readings) => readings.sort_unstable_by(f64::total_cmp),
            Self::Mixture(parts) => parts.iter_mut().for_each(|(_, part)| part.distribution.sort()),
            _ => {}
        }
    }
}

/// Steps of probability, each with its width and its middle: equal ones, and ever shorter ones towards both ends, where
/// a distribution can have long tails.
fn steps() -> Vec<(f64, f64)> {
    const EQUAL: u32 = 1_000;
    /// The last step is as short as the numbers below 1 are dense.
    const HALVINGS: i32 = 40;
    let width = f64::from(EQUAL).recip();
    let middle = (1..EQUAL - 1).map(|at| (width, (f64::from(at) + 0.5) * width));
    let tail = (1..=HALVINGS).map(|halving| {
        let last = halving == HALVINGS;
        let end = width * 0.5_f64.powi(halving - 1);
        if last { (end, end / 2.0) } else { (end / 2.0, end * 0.75) }
    });
    let tails = tail.flat_map(|(width, at)| [(width, at), (width, 1.0 - at)]);
    middle.chain(tails).collect()
}

fn not_positive(value: f64) -> bool {
    !(value.is_finite() && value >= 0.0)
}

/// The part of a mixture that this share falls on.
fn chosen(parts: &[(f64, Input)], share: f64) -> &Input {
    let mut left = share;
    let found = parts.iter().find(|(part, _)| {
        left -= part;
        left < 0.0
    });
    &found.unwrap_or(&parts[parts.len() - 1]).1
}

/// The share of the standard normal distribution below `score`.
fn cumulative(score: f64) -> f64 {
    0.5 * erfc(-score * std::f64::consts::FRAC_1_SQRT_2)
}

/// The scale of a Weibull distribution with this median.
fn weibull_scale(median: f64, shape: f64) -> f64 {
    median / std::f64::consts::LN_2.powf(shape.recip())
}

/// The least value of a Pareto distribution with this median.
fn pareto_least(median: f64, shape: f64) -> f64 {
    median / shape.recip().exp2()
}

/// The inverse of the cumulative triangular distribution.
fn triangular(low: f64, mode: f64, high: f64, share: f64) -> f64 {
    let (left, width) = (mode - low, high - low);
    if share * width < left {
        low + (share * width * left).sqrt()
    } else {
        high - ((1.0 - share) * width * (high - mode)).sqrt()
    }
}

/// The cumulative triangular distribution.
fn below_triangle(low: f64, mode: f64, high: f64, value: f64) -> f64 {
    let width = high - low;
    if value <= low {
        0.0
    } else if value >= high {
        1.0
    } else if value < mode {
        (value - low).powi(2) / (width * (mode - low))
    } else {
        1.0 - (high - value).powi(2) / (width * (high - mode))
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

    /// A value, at most 2, with one share and 1.0 with the other.
    fn mixture(share: f64, other: f64, value: f64) -> Distribution {
        let first = of(value, Distribution::Exact).within(Interval { low: 0.0, high: 2.0 });
        Distribution::Mixture(vec![(share, first), (other, of(1.0, Distribution::Exact))])
    }

    #[test]
    fn a_value_that_is_nearly_zero_can_become_any_other() {
        let one = Quantity { value: 1.0, ..of(1.0, Distribution::Exact).nominal };
        let scaled = of(5e-324, Distribution::Exact).scaled_to(one);
        assert_eq!((scaled.nominal.value, scaled.systematic), (1.0, 0.0));
        assert_eq!(scaled.problems(Units::built_in()), Vec::<String>::new());
    }

    #[test]
    fn impossible_inputs_are_rejected() {
        let rejected = |input: Input| input.problems(Units::built_in()).join("; ");
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
                of(5e-324, Distribution::Exact)
                    .offset_within(5e-324)
                    .scaled_to(Quantity { value: 1.0, ..of(1.0, Distribution::Exact).nominal }),
                "the systematic part is not a finite number; the range is too wide",
            ),
            (
                Input { freedom: Some(0.0), ..of(1.0, Distribution::Exact) },
                "0 degrees of freedom; there must be at least 1",
            ),
            (
                of(1.0, mixture(-0.5, 1.5, 1.0)),
                "the share of its part \"x\" is -0.5; it must be at least 0",
            ),
            (
                of(1.0, mixture(0.5, 0.6, 1.0)),
                "the shares of its parts add up to 1.1; they must add up to 1",
            ),
            (
                of(1.0, mixture(0.5, 0.5, 3.0)),
                "its part \"x\": the value is 3; it must be at most 2",
            ),
        ] {
            assert_eq!(rejected(input), expected);
        }
        assert_eq!(rejected(of(1.0, mixture(0.0, 1.0, 1.0))), "");
        assert_eq!(rejected(of(1.0, Distribution::Normal { std: 0.0 })), "");
    }
}
