//! The whole distribution of a computed value, and the verdicts on it.

use hemiola_stats::{mean_and_std, share_interval, sorted_many, student_quantile};
use serde::Serialize;

use super::network::SAMPLES_MORE;
use super::repeats::{Repeats, Side};
use super::search::Seen;
use super::tail;
use crate::expression::Interval;

/// The confidence of the range that a finite number of samples leaves open. A verdict that is decided at 95 % is wrong
/// too often in a table of many.
pub(crate) const CONFIDENCE: f64 = 0.999;

/// Standard errors on each side of the mean of the samples that contain the true mean with [`CONFIDENCE`].
pub(super) const MEAN_SCORE: f64 = 3.29;

/// The distribution of a value as sorted samples. Samples without a valid value (a division by zero, a negative
/// duration) count as beyond every limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    sorted: Vec<f64>,
    undefined: usize,
}

/// A probability with the range that contains it: its extremes over the systematic offsets, with 99.9 % confidence for
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

/// Whether a limit is kept with a required probability, for any systematic offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is.
    Kept,
    /// It is not.
    Missed,
    /// The samples do not tell.
    Undecided,
}

impl Verdict {
    /// Of two verdicts on one limit the one that counts: missed before undecided before kept.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Missed, _) | (_, Self::Missed) => Self::Missed,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Kept, Self::Kept) => Self::Kept,
        }
    }
}

/// The distribution of a value over the stochastic parts, without systematic offsets and over all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The value at the nominal values of all inputs.
    pub nominal: f64,
    /// The mean of the valid samples, without systematic offsets.
    pub mean: f64,
    /// Their standard deviation.
    pub std: f64,
    /// The samples without systematic offsets.
    pub central: Samples,
    /// For each rank the least and the greatest sample of this rank over the systematic offsets, if there are any.
    pub extremes: Option<[Samples; 2]>,
    /// The mean at the offset where it is greatest.
    pub(super) greatest_mean: SampleMean,
    /// Half of the distance between the least and the greatest value over the systematic offsets, the stochastic parts
    /// at their nominal values.
    pub systematic: f64,
    /// Whether any input varies: if none does, a share is exact.
    pub(super) is_random: bool,
    /// The range of all values that are possible, if every sample has a value.
    pub(super) bounds: Option<Interval>,
    /// The search for the offsets at which a quantile is least or greatest, if one was needed.
    pub(super) search: Option<Search>,
    /// The greatest ratio of the standard deviation of an input to that of its samples: more than 1 where the samples
    /// lack the end of a long tail, and infinite without a finite standard deviation.
    pub(super) spread: f64,
    /// The exact mean, if the value is a sum of inputs: without systematic offsets, and at most for any of them.
    pub(super) exact_mean: Option<[f64; 2]>,
    /// The greatest value for inputs that are not extremely rare; infinite if the value may have no mean.
    pub(super) reach: f64,
}

/// The mean of the valid samples at one systematic offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SampleMean {
    /// Infinite without samples.
    pub(super) value: f64,
    std: f64,
    skewness: f64,
    pub(super) count: usize,
    greatest: f64,
    /// The most that the end of a tail which the samples do not reach can add.
    unseen: f64,
}

/// Standard errors of a mean, and the sample size that they are for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errors {
    score: f64,
    count: f64,
}

impl Errors {
    /// Of independent samples of known distributions.
    pub(super) fn of_samples(count: usize) -> Self {
        Self { score: MEAN_SCORE, count: count as f64 }
    }

    /// Of so many independent jobs, whose standard deviation is estimated from them.
    pub(super) fn of_jobs(jobs: u64) -> Self {
        let freedom = jobs.saturating_sub(1) as f64;
        let is_known = freedom > 0.0;
        let score = if is_known {
            student_quantile(f64::midpoint(1.0, CONFIDENCE), freedom)
        } else {
            f64::INFINITY
        };
        Self { score, count: jobs.max(1) as f64 }
    }

    /// How far the true mean can be below that of values with this standard deviation.
    pub(super) fn below(self, std: f64) -> f64 {
        if std == 0.0 { 0.0 } else { self.score * std / self.count.sqrt() }
    }
}

impl SampleMean {
    /// The greatest mean that these samples allow.
    pub(super) fn most(&self) -> f64 {
        self.most_within() + self.unseen
    }

    /// The same if they are as long as their tail.
    fn most_within(&self) -> f64 {
        self.value + self.above(Errors::of_samples(self.count))
    }

    /// How far the true mean can be below.
    fn below(&self, errors: Errors) -> f64 {
        errors.below(self.std)
    }

    /// How far the true mean can be above. Few samples of a long tail are more often too short than too long (Johnson,
    /// "Modified t tests and confidence intervals for asymmetrical populations", 1978).
    fn above(&self, errors: Errors) -> f64 {
        let Errors { score, count } = errors;
        let of_skewness = self.skewness.max(0.0) * (2.0 * score * score + 1.0) / (6.0 * count);
        if self.std == 0.0 { 0.0 } else { self.below(errors) + self.std * of_skewness }
    }
}

/// A search that may have missed the worst systematic offset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    /// The inputs whose offsets were searched.
    pub(super) inputs: Vec<String>,
    /// The number of combinations that were tried.
    pub(super) tried: usize,
    /// The most by which a sample at another combination may lie beyond those of the search.
    pub(super) slack: f64,
    /// The same beyond the sample in the middle of the searched offsets.
    pub(super) reach: f64,
    /// The greatest mean in the middle of them that the samples allow.
    pub(super) middle_mean_most: f64,
    /// The few samples at all combinations that were tried.
    pub(super) seen: Seen,
}

impl Samples {
    pub(super) fn new(values: Vec<f64>, undefined: usize) -> Self {
        Self { sorted: sorted_many(values), undefined }
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

    /// The limit that this share of all samples keeps, by nearest rank; infinite if too many have no valid value.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let count = self.count();
        let rank = (share * count as f64).ceil() as usize;
        self.sorted.get(rank.clamp(1, count.max(1)) - 1).copied().unwrap_or(f64::INFINITY)
    }

    /// The share of all samples up to `limit`.
    #[must_use]
    pub fn at_most(&self, limit: f64) -> f64 {
        self.counted(limit) as f64 / self.count() as f64
    }

    fn counted(&self, limit: f64) -> usize {
        self.sorted.partition_point(|value| *value <= limit)
    }

    /// The mean of the samples beyond this share of them; infinite if one has no valid value.
    fn mean_beyond(&self, share: f64) -> f64 {
        if self.undefined > 0 {
            return f64::INFINITY;
        }
        let from = ((share * self.count() as f64).floor() as usize).min(self.count() - 1);
        let beyond = &self.sorted[from..];
        beyond.iter().sum::<f64>() / beyond.len() as f64
    }

    /// The mean of the valid samples.
    pub(super) fn mean(&self) -> SampleMean {
        let count = self.sorted.len();
        let (value, std) = mean_and_std(&self.sorted).unwrap_or((f64::INFINITY, 0.0));
        let cubes: f64 = self.sorted.iter().map(|one| ((one - value) / std).powi(3)).sum();
        let skewness = if std > 0.0 { cubes / count as f64 } else { 0.0 };
        let greatest = self.sorted.last().copied().unwrap_or(f64::INFINITY);
        SampleMean { value, std, skewness, count, greatest, unseen: tail::unseen(&self.sorted) }
    }

    /// The interval of the share up to `limit` that the number of samples leaves open.
    fn interval(&self, limit: f64) -> [f64; 2] {
        share_interval(self.counted(limit) as u64, self.count() as u64, CONFIDENCE)
    }

    /// Takes the sample that `choose` returns at each rank of these samples and as many others.
    pub(super) fn choose(&mut self, others: &Self, choose: impl Fn(f64, f64) -> f64) {
        let other = |at: usize| others.sorted.get(at).copied().unwrap_or(f64::INFINITY);
        let count = self.count();
        self.sorted.resize(count, f64::INFINITY);
        for (at, value) in self.sorted.iter_mut().enumerate() {
            *value = choose(*value, other(at));
        }
        self.sorted.truncate(self.counted(f64::MAX));
        self.undefined = count - self.sorted.len();
    }
}

/// The greatest mean over the systematic offsets, and what it can be.
#[derive(Clone, Copy, Debug)]
struct MeanRange {
    mean: f64,
    least: f64,
    most: f64,
}

impl Predicted {
    /// A greater [`Self::spread`] is not the error of samples alone.
    const SPREAD_MOST: f64 = 1.1;

    /// The samples of each rank where it is least, and where it is greatest.
    pub(super) fn ends(&self) -> [&Samples; 2] {
        match &self.extremes {
            Some([least, greatest]) => [least, greatest],
            None => [&self.central, &self.central],
        }
    }

    /// The lower end of the middle 95 %, for any systematic offset.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.quantiles([0.025, 0.975])[0]
    }

    /// The upper end of the middle 95 %, for any systematic offset; infinite if too many samples have no valid value.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.quantiles([0.025, 0.975])[1]
    }

    /// A lower quantile at its least and an upper one at its greatest, over the systematic offsets.
    #[must_use]
    pub fn quantiles(&self, [lower, upper]: [f64; 2]) -> [f64; 2] {
        let [least, greatest] = self.ends();
        [least.quantile(lower), greatest.quantile(upper)]
    }

    /// The limit that is kept with this probability for any systematic offset; infinite if there is none.
    #[must_use]
    pub fn limit(&self, probability: f64) -> f64 {
        self.ends()[1].quantile(probability)
    }

    /// The probability of at most `limit`.
    #[must_use]
    pub fn at_most(&self, limit: f64) -> Chance {
        self.at_most_of(limit, &Repeats::NONE)
    }

    /// The probability of at most `limit`, with the range that contains it however calls differ.
    pub(crate) fn at_most_of(&self, limit: f64, repeats: &Repeats) -> Chance {
        let [best, worst] = self.shares(limit, repeats, repeats.is_none());
        Chance { value: self.central.at_most(limit), low: worst[0], high: best[1] }
    }

    /// The intervals of the probability of at most `limit`, with one value of each figure, at the best and at the worst
    /// systematic offset, as bounds for calls that differ need them.
    pub(crate) fn of_equal(&self, limit: f64, repeats: &Repeats) -> [[f64; 2]; 2] {
        self.shares(limit, &Repeats::NONE, repeats.is_none())
    }

    /// Whether `limit` is kept with this probability for any systematic offset.
    #[must_use]
    pub fn verdict(&self, limit: f64, probability: f64) -> Verdict {
        self.verdict_of(limit, probability, &Repeats::NONE)
    }

    /// Whether `limit` is kept with this probability for any systematic offset, however calls differ.
    pub(crate) fn verdict_of(&self, limit: f64, probability: f64, repeats: &Repeats) -> Verdict {
        let [_, [low, high]] = self.shares(limit, repeats, repeats.is_none());
        if low >= probability {
            Verdict::Kept
        } else if high < probability {
            Verdict::Missed
        } else {
            Verdict::Undecided
        }
    }

    /// A time that is kept with this probability for any systematic offset, however calls differ; infinite if none is
    /// known.
    pub(crate) fn limit_of(&self, probability: f64, repeats: &Repeats) -> f64 {
        let plain = self.limit(probability);
        if repeats.is_none() {
            return plain;
        }
        let greatest = self.ends()[1];
        let mut kept = match repeats.choices.is_finite() {
            true => greatest.quantile(repeats.needed(probability)),
            false => f64::INFINITY,
        };
        if repeats.is_at_most_as_long {
            kept = kept.min(greatest.mean_beyond(probability));
        }
        kept += self.search.as_ref().map_or(0.0, |search| search.reach);
        kept.min(self.bounds.map_or(f64::INFINITY, |bounds| bounds.high)).max(plain)
    }

    /// Whether the mean is at most `limit` for any systematic offset, and the greatest mean over the offsets. A figure
    /// has the distribution of at least so many recorded `jobs`, if any was recorded.
    ///
    /// A sample without a valid value has no mean, so the mean is then not known to be kept.
    pub(crate) fn verdict_on_mean(
        &self,
        limit: f64,
        repeats: &Repeats,
        jobs: Option<u64>,
    ) -> (Verdict, f64) {
        if self.greatest_mean.count == 0 {
            return (Verdict::Missed, f64::INFINITY);
        }
        let MeanRange { mean, least, most } = self.mean_range(jobs);
        let has_undefined = self.has_undefined();
        let is_at_most = repeats.has_same_mean || repeats.is_at_most_as_long;
        // The range of recorded jobs is not that of all jobs.
        let verdict = match self.bounds.filter(|_| jobs.is_none()) {
            Some(bounds) if bounds.high <= limit => Verdict::Kept,
            Some(bounds) if bounds.low > limit => Verdict::Missed,
            _ if most <= limit && is_at_most && !has_undefined => Verdict::Kept,
            _ if least > limit && repeats.has_same_mean => Verdict::Missed,
            _ => Verdict::Undecided,
        };
        (verdict, mean)
    }

    /// Whether a sample at the worst systematic offset that is known has no valid value.
    fn has_undefined(&self) -> bool {
        let seen = self.search.as_ref().map(|search| &search.seen.ends[1]);
        std::iter::once(self.ends()[1]).chain(seen).any(|samples| samples.undefined() > 0)
    }

    /// Whether more samples could decide if the mean is at most `limit`, however calls differ.
    pub(crate) fn is_short_of_mean(&self, limit: f64, repeats: &Repeats) -> bool {
        if self.verdict_on_mean(limit, repeats, None).0 != Verdict::Undecided {
            return false;
        }
        let has_mean = self.exact_mean.is_some() || self.reach < f64::INFINITY;
        let is_at_most = repeats.has_same_mean || repeats.is_at_most_as_long;
        let may_be_kept = has_mean && is_at_most && !self.has_undefined();
        let may_be_missed = repeats.has_same_mean && self.greatest_mean.value > limit;
        self.spread.is_finite() && (may_be_kept || may_be_missed)
    }

    /// Whether no value can exceed some bound.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bounds.is_some_and(|bounds| bounds.high.is_finite())
    }

    /// Whether the samples lack the end of a tail that their mean depends on.
    pub(crate) fn lacks_tail(&self) -> bool {
        self.lacks_tail_of_input() || self.lacks_tail_of_formula()
    }

    fn lacks_tail_of_input(&self) -> bool {
        self.spread > Self::SPREAD_MOST
    }

    /// Whether the end of a tail that a formula makes may add more to the mean than the samples leave open.
    fn lacks_tail_of_formula(&self) -> bool {
        let mean = self.greatest_mean;
        let open = mean.most_within() - mean.value;
        self.exact_mean.is_none() && mean.unseen.max(self.missed()) > open
    }

    /// The most that values which are rare and far beyond the samples can add to the mean.
    fn missed(&self) -> f64 {
        let SampleMean { greatest, count, .. } = self.greatest_mean;
        match self.is_random || self.reach == f64::INFINITY {
            true => tail::missed(self.reach, greatest, count),
            false => 0.0,
        }
    }

    /// The greatest mean over the systematic offsets with its range.
    fn mean_range(&self, jobs: Option<u64>) -> MeanRange {
        let found = self.greatest_mean;
        let [of_jobs, below] = jobs.map_or([0.0; 2], |jobs| {
            let errors = Errors::of_jobs(jobs);
            [found.above(errors), found.below(errors)]
        });
        let by_samples = match self.exact_mean {
            // A sum has the tails of its inputs, which are known.
            Some(_) => found.most_within(),
            None => {
                let missed = self.missed();
                let most = found.most_within() + found.unseen.max(missed);
                most.max(self.unseen_mean() + missed)
            }
        };
        // With a standard deviation that the samples lack, their mean is more often too small than too great.
        let error = found.below(Errors::of_samples(found.count));
        let missing = match self.spread.is_finite() {
            true => error * (self.spread - 1.0),
            false => f64::INFINITY,
        };
        let (least, most) = (found.value - error - below, by_samples + missing);
        match self.exact_mean {
            Some([exact, exact_most]) if self.lacks_tail_of_input() => {
                let rounding = 1e-12 * exact.abs();
                MeanRange {
                    mean: exact_most,
                    least: exact - rounding - below,
                    most: exact_most + rounding + of_jobs,
                }
            }
            _ => MeanRange { mean: found.value, least, most: most + of_jobs },
        }
    }

    /// The greatest mean that a search over the offsets may have missed. Its fewer samples may have shown another
    /// offset as the one with the greatest mean.
    fn unseen_mean(&self) -> f64 {
        let Some(Search { slack, reach, middle_mean_most, seen, .. }) = &self.search else {
            return f64::NEG_INFINITY;
        };
        (seen.mean_most + slack).min(middle_mean_most + reach)
    }

    /// Whether more samples could decide if `limit` is kept with this probability.
    #[must_use]
    pub fn is_short(&self, limit: f64, probability: f64) -> bool {
        self.is_short_of(limit, probability, &Repeats::NONE)
    }

    /// Whether more samples could decide it, however calls differ.
    pub(crate) fn is_short_of(&self, limit: f64, probability: f64, repeats: &Repeats) -> bool {
        let greatest = self.ends()[1];
        let [low, high] = greatest.interval(limit);
        let needed = repeats.needed(probability);
        let is_open = low < needed && needed <= high;
        // If no sample may be beyond the limit, there must be enough of them to prove that.
        let can_tell = repeats.is_none() || {
            let most = SAMPLES_MORE as u64;
            share_interval(most, most, CONFIDENCE)[0] >= needed
        };
        if self.verdict_of(limit, probability, repeats) != Verdict::Undecided {
            return false;
        }
        let has_short_search = repeats.is_none()
            && self.search.as_ref().is_some_and(|Search { slack, seen, .. }| {
                let [low, high] = seen.ends[1].interval(limit - slack);
                low < probability && probability <= high
            });
        is_open && can_tell || has_short_search || self.has_few_for(limit, probability, repeats)
    }

    /// Whether calls that follow each other are only not known to keep a limit because more samples may have other
    /// values.
    fn has_few_for(&self, limit: f64, probability: f64, repeats: &Repeats) -> bool {
        if repeats.is_none() || !repeats.is_at_most_as_long {
            return false;
        }
        let most = SAMPLES_MORE as u64;
        let unseen = repeats.choices * (1.0 - share_interval(most, most, CONFIDENCE)[0]);
        let seen = self.beyond(self.ends()[1], limit, repeats, 0.0);
        unseen + seen < 1.0 - probability
    }

    /// The intervals of the share up to `limit` at the best and at the worst systematic offset. A search may have
    /// missed one that is better or worse. What its few samples say about all points that it tried helps `by_points`
    /// only: the bounds for calls that differ depend on values that are too rare for it.
    fn shares(&self, limit: f64, repeats: &Repeats, by_points: bool) -> [[f64; 2]; 2] {
        match self.bounds {
            Some(bounds) if bounds.high <= limit => return [[1.0; 2]; 2],
            Some(bounds) if bounds.low > limit => return [[0.0; 2]; 2],
            _ => {}
        }
        let interval = |samples: &Samples, limit: f64| match self.is_random {
            true => samples.interval(limit),
            false => [samples.at_most(limit); 2],
        };
        let [least, greatest] = self.ends();
        let low = |samples: &Samples, limit: f64| {
            let by_choices = repeats.least(interval(samples, limit)[0]);
            match repeats.is_at_most_as_long && !repeats.is_none() {
                true => by_choices.max(1.0 - self.most_beyond(samples, limit, repeats)),
                false => by_choices,
            }
        };
        // The samples at one offset.
        let high = |samples: &Samples, limit: f64, at_one: &Samples| {
            let mut by_choices = repeats.greatest(interval(samples, limit)[1]);
            if repeats.choices.is_finite() {
                // More calls do not make a value valid.
                by_choices = by_choices.min(interval(samples, f64::MAX)[1]);
            }
            match repeats.is_at_most_as_short && !repeats.is_none() {
                true => by_choices.min(self.most_within(at_one, limit, repeats)),
                false => by_choices,
            }
        };
        // Without a search, the greatest sample of each rank is at the same offset.
        let at_worst = if self.search.is_some() { &self.central } else { greatest };
        let mut found = [
            [low(least, limit), high(least, limit, least)],
            [low(greatest, limit), high(greatest, limit, at_worst)],
        ];
        if let Some(Search { slack, reach, seen, .. }) = &self.search {
            let [[_, best], [worst, _]] = &mut found;
            *best = high(least, limit + reach, least);
            *worst = low(greatest, limit - reach);
            if by_points {
                let [below, above] = [limit - slack, limit + slack];
                let at_points = interval(&seen.ends[1], below)[0];
                *worst = worst.max(low(greatest, below).min(at_points));
                let at_points = interval(&seen.ends[0], above)[1];
                *best = best.min(high(least, above, least).max(at_points));
            }
        }
        found
    }

    /// The greatest probability of more than `limit` for calls that follow each other.
    fn most_beyond(&self, samples: &Samples, limit: f64, repeats: &Repeats) -> f64 {
        self.beyond(samples, limit, repeats, 1.0 - samples.interval(f64::MAX)[0])
    }

    /// The same if values beyond the samples have this probability.
    fn beyond(&self, samples: &Samples, limit: f64, repeats: &Repeats, unseen: f64) -> f64 {
        let end = self.bounds.map(|bounds| bounds.high).filter(|end| end.is_finite());
        Side { samples, limit, sign: 1.0, end, unseen, choices: repeats.choices }.most()
    }

    /// The greatest probability of at most `limit` for calls that follow each other.
    fn most_within(&self, samples: &Samples, limit: f64, repeats: &Repeats) -> f64 {
        let end = self.bounds.map(|bounds| bounds.low).filter(|end| end.is_finite());
        let unseen = samples.interval(f64::NEG_INFINITY)[1];
        Side { samples, limit, sign: -1.0, end, unseen, choices: repeats.choices }.most()
    }
}
