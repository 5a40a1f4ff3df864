//! Where the next measurement's median will lie: the interval of a repeat.

use std::f64::consts::FRAC_PI_2;

use crate::distribution::student_quantile;
use crate::interval::{Estimate, LEVEL};
use crate::spread::{mean_and_std, median};
use crate::value::{Value, finite, sorted};

/// The median of the medians of `blocks` and the interval that holds the same of a repeat
/// measurement, with as many blocks, with about the confidence [`LEVEL`]; nothing below 2 blocks or
/// when a reading is not finite. Blocks are readings taken one after the other, at different times,
/// in the order of those times; empty ones do not count. Ten blocks or more are advised: with five,
/// Student's factor alone makes the interval a quarter wider.
///
/// Only the differences between blocks count, whatever they come from. Readings within a block share
/// the machine's mood, the clock's frequency, the place in memory, so thousands of them promise an
/// accuracy that the next run does not keep.
///
/// # Method
/// With k block medians, of which the standard deviation is s and the correlation with their neighbour
/// ρ, the difference between this measurement's mean and a later one's has the variance 2 V σ², where
/// V = (1 + 2 Σ (1 − h/k) ρʰ) / k is the variance of the mean of a first-order series of length k, and
/// σ² = s² (1 − 1/k) / (1 − V) undoes what s misses of a mood that outlasts the measurement. The
/// interval is Student's for k − 1 degrees of freedom, wider by what the median loses against the mean
/// of normal values. Without correlation this is t s sqrt(2 / k), the prediction interval for a mean of
/// k (Hahn and Meeker, "Statistical Intervals"); when blocks hang together it opens
/// towards that for a single further block. The tests print how often it holds.
#[must_use]
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

/// The variance of the mean of `k` values, as a share of theirs, when each is correlated by `r` with
/// the one before.
fn variance_of_mean(r: f64, k: usize) -> f64 {
    let n = k as f64;
    let pairs: f64 = (1..k).map(|lag| (1.0 - lag as f64 / n) * r.powi(lag as i32)).sum();
    (1.0 + 2.0 * pairs) / n
}

/// The correlation of each block with the one before it, as far as so few tell: the estimate with its
/// bias taken off (Marriott and Pope, "Bias in the Estimation of Autocorrelations", 1954), drawn
/// towards what is assumed, as if that had been seen in [`ASSUMED_BLOCKS`] more. Assumed is that what
/// is noise within the blocks does not last, and that [`MOOD_LASTS`] of the rest, `mood`, does.
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

/// How much of a mood the next block still has, when nothing more is known. Ten blocks hardly show it,
/// yet an interval that takes them for independent holds the next median of a machine that keeps half
/// of its mood in 82 % of the cases; with these two numbers in 93 %, and on a steady machine, where it
/// is 13 % wider than need be, in 97 %.
const MOOD_LASTS: f64 = 0.5;
/// How many blocks that weighs.
const ASSUMED_BLOCKS: f64 = 6.0;

/// Beyond this the measurement is shorter than one mood, and nothing within it tells about the next.
const CORRELATION_MAX: f64 = 0.9;

/// The share of the variance `between²` of block medians that noise within the blocks does not explain,
/// 0 to 1. The medians of a block's two halves differ by that noise: by four times its variance, for
/// each has half of the readings.
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

/// The nearest readings that differ from `value`, below and above; itself where there is none.
///
/// A clock that counts in steps gives the same median again and again until it gives the next one: an
/// interval that ended before that would promise what the clock cannot see.
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
    fn only_what_differs_between_blocks_counts() {
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
    fn a_clock_that_counts_in_steps_promises_no_less_than_a_step() {
        let blocks = [[20, 30, 30, 30, 40]; 6];
        let estimate = repeat_interval(&blocks).unwrap();
        assert_eq!((estimate.low, estimate.value, estimate.high), (20.0, 30.0, 40.0));
        let constant = repeat_interval(&[[30; 5]; 6]).unwrap();
        assert_eq!((constant.low, constant.high), (30.0, 30.0));
    }

    #[test]
    fn one_block_says_nothing_about_the_next() {
        assert_eq!(repeat_interval(&[vec![1.0, 2.0, 3.0]]), None);
        assert_eq!(repeat_interval(&[vec![1.0, 2.0], Vec::new()]), None);
        assert_eq!(repeat_interval(&[vec![1.0], vec![f64::NAN]]), None);
        assert_eq!(repeat_interval::<i64>(&[] as &[Vec<i64>]), None);
    }

    proptest! {
        #[test]
        fn scale_and_origin_move_the_interval_along(
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
