//! The interval that contains the median of a repeat measurement.

use std::f64::consts::FRAC_PI_2;

use crate::distribution::student_quantile;
use crate::interval::{Estimate, LEVEL};
use crate::spread::{mean_and_std, median};
use crate::value::{Value, finite, sorted};

/// The median of the medians of `blocks`, with the interval that contains the same figure of a repeat measurement of as
/// many blocks, at about the confidence [`LEVEL`]. `None` below 2 blocks or when a reading is not finite. A block is a
/// series of readings taken one after the other. Blocks are taken at different times and stand in that order; empty
/// ones are ignored. Take at least ten blocks: with five, Student's factor alone makes the interval a quarter wider.
///
/// Only the differences between blocks count, whatever causes them. Readings within a block share
/// the state of the machine (its *mood* below), the clock's frequency and the place in memory, so thousands of them
/// suggest an accuracy that the next run does not reproduce.
///
/// # Method
/// With k block medians, of which the standard deviation is s and the correlation with their neighbour ρ, the
/// difference between this measurement's mean and a later one's has the variance 2 V σ², where V = (1 + 2 Σ (1 − h/k)
/// ρʰ) / k is the variance of the mean of a first-order series of length k, and σ² = s² (1 − 1/k) / (1 − V) undoes what
/// s misses of a mood that outlasts the measurement. The interval is Student's for k − 1 degrees of freedom, widened
/// because a median varies more than the mean of normal values. Without correlation this is t s sqrt(2 / k), the
/// prediction interval for a mean of k (Hahn and Meeker, "Statistical Intervals"); with correlated blocks it widens
/// towards the interval for a single further block. The tests print how often the interval contains the repeat.
pub fn repeat_interval<V: Value>(blocks: &[impl AsRef<[V]>]) -> Option<Estimate> {
    let blocks: Vec<&[V]> =
        blocks.iter().map(AsRef::as_ref).filter(|block| !block.is_empty()).collect();
    let readings = finite(&blocks.concat())?;
    let medians: Vec<f64> =
        blocks.iter().filter_map(|block| Some(median(block)?.to_f64())).collect();
    if medians.len() < 2 {
        return None;
    }
    let k = medians.len() as f64;
    let value = median(&medians)?;
    let (_, between) = mean_and_std(&medians)?;
    let mean_share = variance_of_mean(correlation(&medians, mood(&blocks, between)), medians.len());
    let variance = between * between * (1.0 - 1.0 / k) / (1.0 - mean_share);
    // The variance of the median of k normal values beside that of their mean, to 2 %.
    let median_loss = k * FRAC_PI_2 / (k + FRAC_PI_2 - 1.0);
    let half = student_quantile((1.0 + LEVEL) / 2.0, k - 1.0)
        * (2.0 * mean_share * variance * median_loss).sqrt();
    let [below, above] = neighbours(&sorted(&readings), value);
    let (_, std) = mean_and_std(&readings)?;
    Some(Estimate {
        value,
        low: (value - half).min(below),
        high: (value + half).max(above),
        samples: readings.len() as u64,
        effective_samples: 1.0 / mean_share,
        std,
    })
}

/// The most blocks that readings taken one after the other are divided into.
const BLOCKS_MAX: usize = 10;

/// Readings taken one after the other, in that order and as equal blocks: ten, or one for each reading if there are
/// fewer.
#[must_use]
pub fn in_blocks<T>(readings: &[T]) -> Vec<&[T]> {
    let count = readings.len().min(BLOCKS_MAX);
    let end = |block: usize| block * readings.len() / count;
    (0..count).map(|block| &readings[end(block)..end(block + 1)]).collect()
}

/// [`repeat_interval`] on a logarithmic scale if all readings are positive: disturbances multiply times, and times
/// are positive.
pub fn repeat_interval_of_times(blocks: &[impl AsRef<[f64]>]) -> Option<Estimate> {
    if !blocks.iter().flat_map(|block| block.as_ref()).all(|reading| *reading > 0.0) {
        return repeat_interval(blocks);
    }
    let logarithms = |block: &[f64]| block.iter().map(|reading| reading.ln()).collect();
    let logarithms: Vec<Vec<f64>> = blocks.iter().map(|of| logarithms(of.as_ref())).collect();
    let estimate = repeat_interval(&logarithms)?;
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(f64::exp);
    Some(Estimate { value, low, high, ..estimate })
}

/// The variance of the mean of `k` values as a share of the variance of one, when each is correlated by `r` with
/// the one before.
fn variance_of_mean(r: f64, k: usize) -> f64 {
    let n = k as f64;
    let pairs: f64 = (1..k).map(|lag| (1.0 - lag as f64 / n) * r.powi(lag as i32)).sum();
    (1.0 + 2.0 * pairs) / n
}

/// The correlation of each block with the one before it, estimated from few blocks: the estimate without its
/// bias (Marriott and Pope, "Bias in the Estimation of Autocorrelations", 1954), shrunk
/// towards an assumption as if [`ASSUMED_BLOCKS`] more blocks had shown it. The assumption: noise within the blocks
/// does not last, and the share [`MOOD_LASTS`] of the rest, `mood`, does.
fn correlation(medians: &[f64], mood: f64) -> f64 {
    let k = medians.len() as f64;
    let Some((mean, _)) = mean_and_std(medians) else { return 0.0 };
    let squares: f64 = medians.iter().map(|m| (m - mean).powi(2)).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = medians.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let biased = products / squares;
    let seen = biased + (1.0 + 3.0 * biased) / k;
    let drawn = (k * seen + ASSUMED_BLOCKS * MOOD_LASTS * mood) / (k + ASSUMED_BLOCKS);
    drawn.clamp(0.0, CORRELATION_MAX)
}

/// The assumed share of a mood that the next block keeps. Ten blocks are too few to measure it. On a machine that keeps
/// half of its mood, an interval that treats blocks as independent contains the next median in 82 % of the cases; with
/// these two numbers, in 93 %. On a steady machine the interval is 13 % wider than necessary and contains it in 97 %.
const MOOD_LASTS: f64 = 0.5;
/// The weight of that assumption, in blocks.
const ASSUMED_BLOCKS: f64 = 6.0;

/// Beyond this, the measurement is shorter than one mood and says nothing about the next.
const CORRELATION_MAX: f64 = 0.9;

/// The share of the variance `between²` of block medians that noise within the blocks does not explain,
/// 0 to 1. The medians of a block's two halves differ by that noise, with four times its variance because
/// each half has half of the readings.
fn mood<V: Value>(blocks: &[&[V]], between: f64) -> f64 {
    let noise = |block: &&[V]| {
        let (first, second) = block.split_at(block.len() / 2);
        let difference = median(second)?.to_f64() - median(first)?.to_f64();
        Some(difference * difference / 4.0)
    };
    let noise: Vec<f64> = blocks.iter().filter_map(noise).collect();
    match mean_and_std(&noise) {
        Some((noise, _)) if between > 0.0 => (1.0 - noise / (between * between)).clamp(0.0, 1.0),
        _ => 1.0,
    }
}

/// The nearest readings that differ from `value`, below and above; `value` itself if no reading differs.
///
/// A clock that counts in steps gives the same median repeatedly until it gives the next one. An
/// interval shorter than a step would be more accurate than the clock.
fn neighbours(sorted: &[f64], value: f64) -> [f64; 2] {
    let below = sorted.partition_point(|reading| *reading < value).checked_sub(1);
    let above = sorted.partition_point(|reading| *reading <= value);
    let at = |index: Option<usize>| index.and_then(|index| sorted.get(index)).copied();
    [at(below).unwrap_or(value), at(Some(above)).unwrap_or(value)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_differences_between_blocks_count() {
        // The same three readings around each block's level, however far apart.
        let blocks = |within: f64| -> Vec<[f64; 3]> {
            let levels = [3.0, 1.0, 4.0, 2.0, 5.0];
            levels.map(|level| [level - within, level, level + within]).to_vec()
        };
        let (near, far) = (blocks(10.0), blocks(100.0));
        let (near, far) = (repeat_interval(&near).unwrap(), repeat_interval(&far).unwrap());
        assert_eq!((near.value, near.low, near.high), (far.value, far.low, far.high));
        assert_eq!((near.value, near.samples), (3.0, 15));
    }

    #[test]
    fn the_variance_of_a_mean_of_dependent_values_is_the_sum_over_all_pairs() {
        for (r, k) in [(0.0, 5), (0.6, 5), (0.9, 12)] {
            let pairs = (0..k).flat_map(|i: i32| (0..k).map(move |j| f64::powi(r, (i - j).abs())));
            let direct = pairs.sum::<f64>() / f64::from(k * k);
            assert!((variance_of_mean(r, k as usize) - direct).abs() < 1e-12);
        }
    }

    #[test]
    fn the_interval_is_no_shorter_than_a_step_of_the_clock() {
        let blocks = [[20, 30, 30, 30, 40]; 6];
        let estimate = repeat_interval(&blocks).unwrap();
        assert_eq!((estimate.low, estimate.value, estimate.high), (20.0, 30.0, 40.0));
        let constant = repeat_interval(&[[30; 5]; 6]).unwrap();
        assert_eq!((constant.low, constant.high), (30.0, 30.0));
    }

    #[test]
    fn every_reading_is_in_one_of_ten_blocks() {
        for count in [0, 3, 10, 11, 19, 1234] {
            let readings: Vec<usize> = (0..count).collect();
            let blocks = in_blocks(&readings);
            assert_eq!(blocks.len(), count.min(10));
            assert!(blocks.iter().all(|block| block.len().abs_diff(count / 10) <= 1));
            assert_eq!(blocks.concat(), readings);
        }
    }

    #[test]
    fn one_block_gives_no_interval() {
        assert_eq!(repeat_interval(&[vec![1.0, 2.0, 3.0]]), None);
        assert_eq!(repeat_interval(&[vec![1.0, 2.0], Vec::new()]), None);
        assert_eq!(repeat_interval(&[vec![1.0], vec![f64::NAN]]), None);
        assert_eq!(repeat_interval::<i64>(&[] as &[Vec<i64>]), None);
    }

    proptest! {
        #[test]
        fn scale_and_origin_transform_the_interval(
            blocks in prop::collection::vec(prop::collection::vec(-1000i64..1000, 1..9), 2..12),
            scale in 1i64..100,
            origin in -10_000i64..10_000,
        ) {
            let moved: Vec<Vec<i64>> = blocks
                .iter()
                .map(|block| block.iter().map(|reading| reading * scale + origin).collect())
                .collect();
            let (a, b) = (repeat_interval(&blocks).unwrap(), repeat_interval(&moved).unwrap());
            prop_assert!(a.low <= a.value && a.value <= a.high);
            for (a, b) in [(a.low, b.low), (a.value, b.value), (a.high, b.high)] {
                let expected = a * scale as f64 + origin as f64;
                prop_assert!((b - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{} {}", b, expected);
            }
        }
    }
}
