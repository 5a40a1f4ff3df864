//! The whole distribution of a computed value.

use serde::Serialize;

/// The distribution of a value as sorted samples. Samples without a valid value (a division by zero, a negative
/// duration) count as beyond every limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    sorted: Vec<f64>,
    undefined: usize,
    mean: f64,
    std: f64,
}

/// A probability with the range that contains it: its extremes over the systematic offsets, with 95 % confidence for
/// the finite number of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Chance {
    /// Without systematic offsets.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The distribution of a value over the stochastic parts, for no systematic offset and for the offsets at which the
/// value is least and greatest.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The value at the nominal values of all inputs.
    pub nominal: f64,
    /// Without systematic offsets.
    pub central: Samples,
    /// At the least and the greatest offset, if there are any.
    pub extremes: Option<[Samples; 2]>,
    /// Half of the distance between the values at these offsets, the stochastic parts at their nominal values.
    pub systematic: f64,
}

impl Samples {
    pub(super) fn new(mut values: Vec<f64>, undefined: usize) -> Self {
        let count = values.len() as f64;
        // Differences from one of the values lose fewer digits.
        let origin = values.first().copied().unwrap_or(f64::NAN);
        let mean = origin + values.iter().map(|value| value - origin).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = (squares / (count - 1.0)).sqrt();
        values.sort_unstable_by(f64::total_cmp);
        Self { sorted: values, undefined, mean, std }
    }

    /// The mean of the valid samples.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation of the valid samples.
    #[must_use]
    pub fn std(&self) -> f64 {
        self.std
    }

    /// Samples without a valid value.
    #[must_use]
    pub fn undefined(&self) -> usize {
        self.undefined
    }

    /// The valid samples in rising order.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// All samples, with those without a valid value.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len() + self.undefined
    }

    /// The quantile of the valid samples by nearest rank; NaN if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        ranked(&self.sorted, self.sorted.len(), share).unwrap_or(f64::NAN)
    }

    /// The limit that this share of all samples keeps; infinite if too many have no valid value.
    #[must_use]
    pub fn limit(&self, share: f64) -> f64 {
        ranked(&self.sorted, self.count(), share).unwrap_or(f64::INFINITY)
    }

    /// The share of all samples up to `limit`.
    #[must_use]
    pub fn at_most(&self, limit: f64) -> f64 {
        self.counted(limit) as f64 / self.count() as f64
    }

    fn counted(&self, limit: f64) -> usize {
        self.sorted.partition_point(|value| *value <= limit)
    }

    /// The 95 % interval of the share up to `limit` (Wilson 1927), which the number of samples leaves open.
    fn interval(&self, limit: f64) -> [f64; 2] {
        let (count, z) = (self.count() as f64, hemiola_stats::NORMAL_975);
        let share = self.at_most(limit);
        let scale = 1.0 + z * z / count;
        let middle = (share + z * z / (2.0 * count)) / scale;
        let half = z / scale * (share * (1.0 - share) / count + (z / (2.0 * count)).powi(2)).sqrt();
        [(middle - half).max(0.0), (middle + half).min(1.0)]
    }
}

/// The sample at this share of `count` samples, of which only the sorted ones are known.
fn ranked(sorted: &[f64], count: usize, share: f64) -> Option<f64> {
    let rank = (share * count as f64).ceil() as usize;
    sorted.get(rank.clamp(1, count.max(1)) - 1).copied()
}

impl Predicted {
    fn all(&self) -> impl Iterator<Item = &Samples> {
        std::iter::once(&self.central).chain(self.extremes.iter().flatten())
    }

    /// The lower end of the middle 95 %, for any systematic offset.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.quantiles([0.025, 0.975])[0]
    }

    /// The upper end of the middle 95 %, for any systematic offset.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.quantiles([0.025, 0.975])[1]
    }

    /// A lower quantile at its least and an upper one at its greatest, over the systematic offsets.
    #[must_use]
    pub fn quantiles(&self, [lower, upper]: [f64; 2]) -> [f64; 2] {
        let low = self.all().map(|samples| samples.quantile(lower)).fold(f64::NAN, f64::min);
        let high = self.all().map(|samples| samples.quantile(upper)).fold(f64::NAN, f64::max);
        [low, high]
    }

    /// The limit that is kept with this probability for any systematic offset; infinite if there is none.
    #[must_use]
    pub fn limit(&self, probability: f64) -> f64 {
        self.all().map(|samples| samples.limit(probability)).fold(f64::NAN, f64::max)
    }

    /// The probability of at most `limit`.
    #[must_use]
    pub fn at_most(&self, limit: f64) -> Chance {
        let ends = self.all().map(|samples| samples.interval(limit));
        let [low, high] = ends
            .fold([1.0, 0.0], |[low, high]: [f64; 2], [from, to]| [low.min(from), high.max(to)]);
        Chance { value: self.central.at_most(limit), low, high }
    }
}
