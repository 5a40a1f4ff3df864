//! The distribution of a stream of observations, in memory that does not grow with its length.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::growth::push_slowly;
use crate::interval::Estimate;
use crate::numbers::Numbers;
use crate::spread::quantile;

/// How many observations are kept as they are. Up to this number, quantiles are exact.
const EXACT_MAX: usize = 1024;

/// How many observations are collected beyond that before they are put into buckets.
const BATCH: usize = 128;

/// The maximum number of batch means kept.
const BATCHES_MAX: usize = 64;

/// Buckets in an octave.
const BUCKETS: usize = 1 << BITS;
const BITS: u32 = 7;

/// Buckets in one bin of [`Distribution::histogram`].
const BUCKETS_OF_BIN: u64 = 16;

/// The distribution of a stream of observations.
///
/// Quantiles are observations. Up to 1024 observations they are exact; beyond that each is the greatest observation in
/// the same 1/128 octave as the exact quantile, so at most 0.8 % above it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// The number of observations.
    pub count: u64,
    /// Least.
    pub min: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Greatest observed.
    pub max: u64,
    /// Standard deviation of the sample, 0 for one observation.
    pub std: f64,
    /// Counts in bins of 1/8 octave (of 16 below 128) as `(lower edge, count)`, edges rising, empty bins left out.
    pub histogram: Bins,
    /// The mean with its interval, from the means of fewer than 64 consecutive batches of equal size, without an
    /// incomplete last one: they show how neighbouring observations depend on each other. `None` if they are worth
    /// fewer than 2.
    #[serde(skip)]
    pub mean_interval: Option<Estimate>,
    /// The counts of all observations, if they were asked for: see [`Stream::observations`].
    #[serde(skip)]
    pub observations: Option<Box<Bins>>,
}

/// The counts of a histogram in about three bytes each, because a report may have those of a million distributions.
#[derive(Clone, Default, PartialEq)]
pub struct Bins(Numbers);

impl Bins {
    /// Takes the counts with the lower edges of their bins, edges rising.
    fn of(bins: impl Iterator<Item = (u64, u64)>) -> Self {
        let (mut numbers, mut before) = (Numbers::default(), 0);
        for (edge, count) in bins {
            numbers.push(edge - before);
            numbers.push(count);
            before = edge;
        }
        numbers.shrink_to_fit();
        Self(numbers)
    }

    /// The counts with the lower edges of their bins, edges rising.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let (mut numbers, mut edge) = (self.0.iter(), 0);
        std::iter::from_fn(move || {
            edge += numbers.next()?;
            Some((edge, numbers.next()?))
        })
    }
}

impl fmt::Debug for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Bins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Collects observations for a [`Distribution`]: whole numbers, mostly nanoseconds.
///
/// Up to 1024 observations take one byte for each seven of their bits. Many more take 32 bytes for each bucket that
/// contains some, and 256 for each octave.
///
/// ```
/// use hemiola_stats::Stream;
/// let mut stream = Stream::default();
/// (1..=9).for_each(|value| stream.push(value));
/// let found = stream.distribution().unwrap();
/// assert_eq!((found.count, found.min, found.p50, found.max), (9, 1, 5, 9));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Not yet in the figures below.
    waiting: Numbers,
    /// Most of a million streams are short and have none.
    folded: Option<Box<Folded>>,
}

impl Stream {
    /// Adds one observation.
    #[inline]
    pub fn push(&mut self, value: u64) {
        let max = if self.folded.is_none() { EXACT_MAX } else { BATCH };
        if self.waiting.len() >= max {
            self.folded.get_or_insert_default().take(self.waiting.iter());
            self.waiting.clear(4 * BATCH);
        }
        self.waiting.push(value);
    }

    /// The number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        let folded = self.folded.as_ref().map_or(0, |folded| folded.moments.count);
        folded + self.waiting.len() as u64
    }

    /// All observations in order, if they are few enough to be kept as they are.
    #[must_use]
    pub fn exact(&self) -> Option<&Numbers> {
        self.folded.is_none().then_some(&self.waiting)
    }

    fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        let folded = self.folded.iter();
        folded.flat_map(|folded| folded.buckets()).map(|(_, bucket)| bucket)
    }

    /// The number of observations from `low` to `high`, and their mean. With more than 1024 observations, both ends are
    /// rounded to 1/128 octave.
    #[must_use]
    pub fn between(&self, low: u64, high: u64) -> (u64, f64) {
        let (mut count, mut sum) = (0_u64, 0_u128);
        for value in self.waiting.iter().filter(|value| (low..=high).contains(value)) {
            count += 1;
            sum += u128::from(value);
        }
        let within = |bucket: &&Bucket| (low..=high).contains(&bucket.max);
        for bucket in self.buckets().filter(within) {
            count += bucket.count;
            sum += u128::from(bucket.sum);
        }
        (count, if count == 0 { 0.0 } else { sum as f64 / count as f64 })
    }

    /// The least and the greatest observation from `low` to `high`, rounded as in [`Stream::between`].
    #[must_use]
    pub fn ends_between(&self, low: u64, high: u64) -> Option<(u64, u64)> {
        let within = |value: &u64| (low..=high).contains(value);
        let buckets = self.buckets().filter(|bucket| within(&bucket.max));
        let all = buckets.map(|bucket| (bucket.min, bucket.max));
        let all = all
            .chain(self.waiting.iter().filter(|value| within(value)).map(|value| (value, value)));
        all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The counts of all observations, rising. With more than 1024 of them, each counts as the greatest one in the same
    /// 1/128 octave.
    #[must_use]
    pub fn observations(&self) -> Bins {
        if let Some(folded) = &self.folded {
            let mut folded = folded.clone();
            folded.take(self.waiting.iter());
            return Bins::of(folded.buckets().map(|(_, bucket)| (bucket.max, bucket.count)));
        }
        let mut sorted: Vec<u64> = self.waiting.iter().collect();
        sorted.sort_unstable();
        Bins::of(sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)))
    }

    /// The distribution; `None` when there are no observations.
    #[must_use]
    pub fn distribution(&self) -> Option<Distribution> {
        if let Some(folded) = &self.folded {
            let mut folded = folded.clone();
            folded.take(self.waiting.iter());
            return Some(folded.distribution());
        }
        let mut sorted: Vec<i64> = self.waiting.iter().map(|value| value as i64).collect();
        sorted.sort_unstable();
        let exact = |q| quantile(&sorted, q).map(|value| value as u64);
        let (mut moments, mut batches) = (Moments::default(), Batches::default());
        for value in self.waiting.iter() {
            moments.push(value);
            batches.push(value);
        }
        // Numbers that are negative with a sign are the largest without one.
        let (largest, others) = sorted.split_at(sorted.partition_point(|value| *value < 0));
        let rising = others.iter().chain(largest).map(|value| (*value as u64, 1));
        Some(Distribution {
            p50: exact(0.5)?,
            p90: exact(0.9)?,
            p99: exact(0.99)?,
            ..moments.distribution(&batches, histogram(rising))
        })
    }
}

/// Observations put into buckets.
#[derive(Clone, Debug, Default)]
struct Folded {
    moments: Moments,
    batches: Batches,
    /// Octaves that contain observations: values below 128, then 128 to 255, 256 to 511, … For each bucket of an octave
    /// one more than its index in `buckets`; 0 while it is empty.
    octaves: Vec<Option<Box<[u16; BUCKETS]>>>,
    /// Those that contain observations, in the order of their first ones. There are at most 58 octaves.
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Folded {
    /// Adds observations, block by block. Of many streams, few buckets are in the processor's cache. Where the buckets
    /// of a block are is found out first, so that the processor does not wait for one after the other.
    fn take(&mut self, mut values: impl Iterator<Item = u64>) {
        let mut block = [(0, 0); BATCH];
        loop {
            let mut length = 0;
            for (entry, value) in block.iter_mut().zip(&mut values) {
                self.moments.push(value);
                self.batches.push(value);
                *entry = (value, self.bucket(value));
                length += 1;
            }
            if length == 0 {
                return;
            }
            for &(value, bucket) in &block[..length] {
                self.buckets[bucket].push(value);
            }
        }
    }

    /// The index of the bucket of a value, which is made if there is none.
    #[inline]
    fn bucket(&mut self, value: u64) -> usize {
        let (octave, index) = place(value);
        if octave >= self.octaves.len() {
            self.octaves.resize(octave + 1, None);
        }
        let place = &mut self.octaves[octave].get_or_insert_with(|| Box::new([0; BUCKETS]))[index];
        if *place == 0 {
            push_slowly(&mut self.buckets, Bucket { min: u64::MAX, ..Bucket::default() });
            *place = self.buckets.len() as u16;
        }
        usize::from(*place) - 1
    }

    /// The buckets that contain observations, with their lower edges, rising.
    fn buckets(&self) -> impl Iterator<Item = (u64, &Bucket)> {
        let octaves = self.octaves.iter().enumerate();
        let octaves = octaves.filter_map(|(octave, places)| Some((octave, places.as_ref()?)));
        octaves.flat_map(move |(octave, places)| {
            let edge = move |index: u64| match octave {
                0 => index,
                _ => (BUCKETS as u64 + index) << (octave - 1),
            };
            let used = (0..).zip(places.iter()).filter(|(_, place)| **place > 0);
            used.map(move |(index, place)| (edge(index), &self.buckets[usize::from(*place) - 1]))
        })
    }

    fn quantile(&self, q: f64) -> u64 {
        let rank = (q * self.moments.count as f64).ceil() as u64;
        let mut seen = 0;
        let reached = self.buckets().find(|(_, bucket)| {
            seen += bucket.count;
            seen >= rank
        });
        reached.map_or(self.moments.max, |(_, bucket)| bucket.max)
    }

    fn distribution(&self) -> Distribution {
        let counted = self.buckets().map(|(edge, bucket)| (edge, bucket.count));
        Distribution {
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            ..self.moments.distribution(&self.batches, histogram(counted))
        }
    }
}

impl Bucket {
    #[inline]
    fn push(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

/// Counts rising values in bins, or the lower edges of buckets.
fn histogram(counted: impl Iterator<Item = (u64, u64)>) -> Bins {
    let mut histogram: Vec<(u64, u64)> = Vec::new();
    for (value, more) in counted {
        let octave = place(value).0.saturating_sub(1) as u32;
        let edge = ((value >> octave) / BUCKETS_OF_BIN * BUCKETS_OF_BIN) << octave;
        match histogram.last_mut().filter(|(last, _)| *last == edge) {
            Some((_, count)) => *count += more,
            None => histogram.push((edge, more)),
        }
    }
    Bins::of(histogram.into_iter())
}

/// The octave of a value and its bucket in it.
#[inline]
fn place(value: u64) -> (usize, usize) {
    let bits = u64::BITS - value.leading_zeros();
    match bits.checked_sub(BITS) {
        None | Some(0) => (0, value as usize),
        Some(octave) => (octave as usize, (value >> (octave - 1)) as usize & (BUCKETS - 1)),
    }
}

/// Count, ends, sum, and sum of squares about the first observation, which is close enough to the mean to avoid
/// cancellation.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    min: u64,
    max: u64,
    first: u64,
    sum: i128,
    squares: f64,
}

impl Moments {
    #[inline]
    fn push(&mut self, value: u64) {
        if self.count == 0 {
            (self.first, self.min) = (value, value);
        }
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += i128::from(value) - i128::from(self.first);
        let about = value.abs_diff(self.first) as f64;
        self.squares += about * about;
    }

    /// A distribution without quantiles.
    fn distribution(&self, batches: &Batches, histogram: Bins) -> Distribution {
        Distribution {
            count: self.count,
            min: self.min,
            max: self.max,
            mean: self.mean(),
            std: self.std(),
            histogram,
            mean_interval: Estimate::of_mean(&batches.means),
            ..Distribution::default()
        }
    }

    fn mean(&self) -> f64 {
        self.first as f64 + self.sum as f64 / self.count.max(1) as f64
    }

    fn std(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let (n, sum) = (self.count as f64, self.sum as f64);
        ((self.squares - sum * sum / n) / (n - 1.0)).max(0.0).sqrt()
    }
}

/// Means of consecutive batches of equal size.
#[derive(Clone, Debug, Default)]
struct Batches {
    means: Vec<f64>,
    /// Observations in a batch: 0 until the first, then a power of two.
    size: u64,
    sum: f64,
    count: u64,
}

impl Batches {
    #[inline]
    fn push(&mut self, value: u64) {
        self.size = self.size.max(1);
        self.sum += value as f64;
        self.count += 1;
        if self.count < self.size {
            return;
        }
        self.means.push(self.sum / self.count as f64);
        (self.sum, self.count) = (0.0, 0);
        if self.means.len() == BATCHES_MAX {
            self.means = self
                .means
                .chunks(2)
                .map(|pair| pair.iter().sum::<f64>() / pair.len() as f64)
                .collect();
            self.size *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean_and_std;
    use proptest::prelude::*;

    fn stream(values: &[u64]) -> Stream {
        let mut stream = Stream::default();
        values.iter().for_each(|value| stream.push(*value));
        stream
    }

    #[test]
    fn an_empty_stream_has_no_distribution() {
        assert_eq!(Stream::default().distribution(), None);
    }

    #[test]
    fn bins_are_returned_as_they_were_counted() {
        let bins = [(0, 3), (7, 1), (128, 1 << 40), (1 << 62, 2), (u64::MAX, 9)];
        assert!(Bins::of(bins.into_iter()).iter().eq(bins));
        assert_eq!(Bins::default().iter().next(), None);
    }

    #[test]
    fn the_interval_of_the_mean_is_that_of_consecutive_batches() {
        let values: Vec<u64> = (0..5_000).map(|n| 1_000 + n * 7_919 % 500).collect();
        let found = stream(&values).distribution().unwrap();
        let interval = found.mean_interval.unwrap();
        assert!(interval.low < 1_249.5 && 1_249.5 < interval.high, "{interval:?}");
        assert!(interval.samples < BATCHES_MAX as u64);
        assert_eq!(stream(&[4]).distribution().unwrap().mean_interval, None);
    }

    #[test]
    fn places_rise_with_values() {
        let mut last = (0, 0);
        for value in (0..4096).chain((12..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit])) {
            let place = place(value);
            assert!(place >= last, "{value}");
            last = place;
        }
        assert!(place(u64::MAX).1 < BUCKETS);
    }

    #[test]
    fn observations_are_exact_or_at_most_one_class_above() {
        for count in [1_u64, 1_000, 5_000] {
            let values: Vec<u64> = (0..count).map(|at| at * at % 99_991).collect();
            let counts: Vec<(u64, u64)> = stream(&values).observations().iter().collect();
            assert!(counts.is_sorted_by(|a, b| a.0 < b.0));
            let found = counts.iter().flat_map(|(value, count)| (0..*count).map(|_| *value));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let found: Vec<u64> = found.collect();
            assert_eq!(found.len(), sorted.len());
            for (found, exact) in found.iter().zip(&sorted) {
                let above = found.checked_sub(*exact).expect("no observation counts as less");
                assert!(above * 128 <= *exact && (count > 1024 || above == 0), "{found} {exact}");
            }
        }
    }

    proptest! {
        #[test]
        fn quantiles_of_a_long_stream_are_close_to_exact(
            few in prop::collection::vec(0_u64..50_000_000, 1..40),
            times in 1_usize..200,
        ) {
            let values: Vec<u64> = few.iter().cycle().take(few.len() * times).copied().collect();
            let found = stream(&values).distribution().unwrap();
            let mut sorted: Vec<i64> = values.iter().map(|value| *value as i64).collect();
            sorted.sort_unstable();
            for (q, got) in [(0.5, found.p50), (0.9, found.p90), (0.99, found.p99), (1.0, found.max)] {
                let exact = quantile(&sorted, q).unwrap() as u64;
                prop_assert!(values.contains(&got));
                prop_assert!(got >= exact && got as f64 <= exact as f64 * (1.0 + 1.0 / 128.0), "{} {}", got, exact);
            }
            let (mean, std) = mean_and_std(&sorted).unwrap();
            prop_assert!((found.mean - mean).abs() <= 1e-9 * mean.max(1.0));
            prop_assert!((found.std - std).abs() <= 1e-5 * std.max(1.0), "{} {}", found.std, std);
            prop_assert_eq!(found.histogram.iter().map(|(_, count)| count).sum::<u64>(), values.len() as u64);
            let edges: Vec<u64> = found.histogram.iter().map(|(edge, _)| edge).collect();
            prop_assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
        }

        #[test]
        fn few_values_have_the_histogram_that_buckets_have(
            values in prop::collection::vec(prop_oneof![0_u64..300, any::<u64>(), 1_u64 << 20..1 << 30], 1..200),
        ) {
            let mut folded = Folded::default();
            folded.take(values.iter().copied());
            let (found, folded) = (stream(&values).distribution().unwrap(), folded.distribution());
            prop_assert_eq!(&found.histogram, &folded.histogram);
            let figures = |of: &Distribution| (of.count, of.min, of.max, of.mean, of.std);
            prop_assert_eq!(figures(&found), figures(&folded));
        }

        #[test]
        fn long_values_among_short_ones_are_kept(
            values in prop::collection::vec(prop_oneof![0_u64..9, 1_u64 << 32..1 << 40], 1..3000),
        ) {
            let found = stream(&values);
            prop_assert_eq!(found.count(), values.len() as u64);
            let (count, mean) = found.between(0, u64::MAX);
            let exact = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
            prop_assert_eq!(count, values.len() as u64);
            prop_assert!((mean - exact).abs() <= 1e-9 * exact.max(1.0));
            let distribution = found.distribution().unwrap();
            prop_assert_eq!(Some(&distribution.max), values.iter().max());
        }

        #[test]
        fn ranges_are_found_in_short_and_long_streams(times in 1_usize..3000) {
            let values: Vec<u64> = [1000, 5000, 5010, 90_000].into_iter().cycle().take(4 * times).collect();
            let (count, mean) = stream(&values).between(4500, 5500);
            prop_assert_eq!(count, 2 * times as u64);
            prop_assert!((mean - 5005.0).abs() < 1e-6);
            prop_assert_eq!(stream(&values).ends_between(4500, 5500), Some((5000, 5010)));
            prop_assert_eq!(stream(&values).ends_between(6000, 7000), None);
        }
    }
}
