//! The median of readings taken in blocks, with the interval that contains the true median or that of a repeat.

use std::f64::consts::FRAC_PI_2;

use crate::change::Covers;
use crate::distribution::student_quantile;
use crate::interval::{Estimate, LEVEL, ranks};
use crate::spread::{mean_and_std, median};
use crate::value::{Value, finite, sorted};

/// The median of all readings of `blocks`, with the interval that contains what `covers` says, at about the confidence
/// [`LEVEL`]. `None` below 2 blocks or when a reading is not finite. A block is a series of readings taken one after
/// the other. Blocks are taken at different times and stand in that order; empty ones are ignored. Take at least ten
/// blocks: with five, Student's factor alone makes the interval a quarter wider.
///
/// Readings within a block share the state of the machine (its *mood* below), the clock's frequency and the place in
/// memory, so thousands of them suggest an accuracy that the next run does not reproduce. Therefore the interval is at
/// least as wide as the differences between blocks demand. Few readings, or readings of two kinds, have a median that
/// these differences do not describe. Therefore the interval also reaches from one order statistic of all readings to
/// another.
///
/// # Method
/// *Blocks.* With k block medians, of which the standard deviation is s and the correlation with their neighbour ρ, the
/// mean of the block medians has the variance V σ², where V = (1 + 2 Σ (1 − h/k) ρʰ) / k is the variance of the mean of
/// a first-order series of length k, and σ² = s² (1 − 1/k) / (1 − V) undoes what s misses of a mood that outlasts the
/// measurement. A repeat has the same variance once more. The interval is Student's for k − 1 degrees of freedom,
/// widened because a median varies more than the mean of normal values. Without correlation this is t s sqrt(2 / k) for
/// a repeat, the prediction interval for a mean of k (Hahn and Meeker, "Statistical Intervals"); with correlated blocks
/// it widens towards the interval for a single further block.
///
/// *Order statistics.* The number of readings below the true median is binomial, and the number below the median of as
/// many further readings is negative hypergeometric, whatever the distribution (David and Nagaraja, "Order Statistics",
/// sections 7.1 and 7.3). Fewer than 6 readings have no such interval; then it reaches from the least to the greatest.
///
/// The tests print how often the interval contains the truth and the repeat.
pub fn median_of_blocks<V: Value>(blocks: &[impl AsRef<[V]>], covers: Covers) -> Option<Estimate> {
    let blocks: Vec<&[V]> =
        blocks.iter().map(AsRef::as_ref).filter(|block| !block.is_empty()).collect();
    let readings = sorted(&finite(&blocks.concat())?);
    let medians: Vec<f64> = blocks.iter().filter_map(|block| median(block)).collect();
    if medians.len() < 2 {
        return None;
    }
    let k = medians.len() as f64;
    let value = median(&readings)?;
    let (_, between) = mean_and_std(&medians)?;
    let mood = mood(&blocks, between);
    let mean_share = variance_of_mean(correlation(&medians, mood), medians.len());
    let variance = between * between * (1.0 - 1.0 / k) / (1.0 - mean_share);
    let n = readings.len() as f64;
    // Moods make the median one of k values. The noise of block medians contains what the medians of that many readings
    // lose, and the median of all readings loses little more.
    let loss_by_noise = median_loss(n) / median_loss(n / k);
    let median_loss = mood * median_loss(k) + (1.0 - mood) * loss_by_noise;
    let measurements = match covers {
        Covers::Truth => 1.0,
        Covers::Repeat => 2.0,
    };
    let half = student_quantile((1.0 + LEVEL) / 2.0, k - 1.0)
        * (measurements * mean_share * variance * median_loss).sqrt();
    let [below, above] = neighbours(&readings, value);
    let rank = outer_rank(readings.len(), covers);
    let (least, greatest) = (readings[rank], readings[readings.len() - 1 - rank]);
    let (_, std) = mean_and_std(&readings)?;
    Some(Estimate {
        value,
        low: (value - half).min(below).min(least),
        high: (value + half).max(above).max(greatest),
        samples: readings.len() as u64,
        effective_samples: 1.0 / mean_share,
        std,
    })
}

/// The variance of the median of `n` normal values beside that of their mean, to 2 %.
fn median_loss(n: f64) -> f64 {
    n * FRAC_PI_2 / (n + FRAC_PI_2 - 1.0)
}

/// How many of `n` readings in rising order are left out at either end so that the rest contains the median, or that
/// of as many further readings.
fn outer_rank(n: usize, covers: Covers) -> usize {
    match covers {
        Covers::Truth => ranks(n, 0.5, LEVEL).map_or(0, |[low, _]| low),
        Covers::Repeat => rank_of_repeat(n),
    }
}

/// The greatest rank (from 0) that the median of `n` further readings undercuts with a probability of at most half of
/// what [`LEVEL`] leaves. For an even number, that is the mean of the probabilities of both middle readings.
fn rank_of_repeat(n: usize) -> usize {
    let middle = [n.div_ceil(2), n / 2 + 1];
    // Of 2n readings in random order, i of the first set come before the j-th of the second with the probability
    // C(i + j − 1, i) C(2n − i − j, n − i) / C(2n, n).
    let mut logs = middle.map(|j| (0..j).map(|m| ((n - m) as f64 / (2 * n - m) as f64).ln()).sum());
    let mut cumulated = 0.0;
    for i in 0..n {
        cumulated += logs.iter().map(|log: &f64| log.exp()).sum::<f64>() / 2.0;
        if cumulated > (1.0 - LEVEL) / 2.0 {
            return i.saturating_sub(1);
        }
        for (log, j) in logs.iter_mut().zip(middle) {
            *log += ((i + j) as f64 / (i + 1) as f64).ln()
                + ((n - i) as f64 / (2 * n - i - j) as f64).ln();
        }
    }
    0
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

/// [`median_of_blocks`] with an interval on a logarithmic scale if all readings are positive: disturbances multiply
/// times, and times are positive.
pub fn median_of_times(blocks: &[impl AsRef<[f64]>], covers: Covers) -> Option<Estimate> {
    let plain = median_of_blocks(blocks, covers)?;
    if !blocks.iter().flat_map(|block| block.as_ref()).all(|reading| *reading > 0.0) {
        return Some(plain);
    }
    let logarithms = |block: &[f64]| block.iter().map(|reading| reading.ln()).collect();
    let logarithms: Vec<Vec<f64>> = blocks.iter().map(|of| logarithms(of.as_ref())).collect();
    let Estimate { low, high, effective_samples, .. } = median_of_blocks(&logarithms, covers)?;
    // A logarithm and its inverse may miss the value by the last digit.
    let (low, high) = (low.exp().min(plain.value), high.exp().max(plain.value));
    Some(Estimate { low, high, effective_samples, ..plain })
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
        let difference = median(second)? - median(first)?;
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
    fn differences_within_blocks_do_not_count_beyond_the_order_statistics() {
        // The same readings around each block's level, however far apart the outer ones.
        let blocks = |within: f64| -> Vec<[f64; 7]> {
            let levels = [3.0, 1.0, 4.0, 2.0, 5.0];
            let block = |level| [-within, 0.0, 0.0, 0.0, 0.0, 0.0, within].map(|of| level + of);
            levels.map(block).to_vec()
        };
        let of = |within| median_of_blocks(&blocks(within), Covers::Repeat).unwrap();
        let (near, far) = (of(10.0), of(100.0));
        assert_eq!((near.value, near.low, near.high), (far.value, far.low, far.high));
        assert_eq!((near.value, near.samples), (3.0, 35));
    }

    #[test]
    fn the_rank_that_a_repeat_undercuts_is_the_exact_one() {
        // All C(2n, n) orders of two sets, counted.
        for n in [4, 5, 7, 8, 9] {
            let undercuts = |rank: usize| -> f64 {
                let (mut of, mut all) = (0.0, 0.0);
                for order in (0u32..1 << (2 * n)).filter(|order| order.count_ones() == n as u32) {
                    // Bits are the places of the second set; the place of the first set's reading of that rank.
                    let places: Vec<usize> = (0..2 * n).filter(|at| order & 1 << at != 0).collect();
                    let bound = (0..2 * n).filter(|at| order & 1 << at == 0).nth(rank).unwrap();
                    let below = |middle: usize| f64::from(u8::from(places[middle] < bound));
                    of += f64::midpoint(below((n - 1) / 2), below(n / 2));
                    all += 1.0;
                }
                of / all
            };
            let rank = rank_of_repeat(n);
            assert!(rank == 0 || undercuts(rank) <= 0.025, "{n}: {rank}");
            assert!(undercuts(rank + 1) > 0.025, "{n}: {rank}");
        }
        // 1.96 × sqrt(n / 2) below the middle.
        assert!(rank_of_repeat(100_000).abs_diff(50_000 - 438) <= 1);
        assert!(rank_of_repeat(1_000_000).abs_diff(500_000 - 1386) <= 1);
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
        let estimate = median_of_blocks(&blocks, Covers::Repeat).unwrap();
        assert_eq!((estimate.low, estimate.value, estimate.high), (20.0, 30.0, 40.0));
        let constant = median_of_blocks(&[[30; 5]; 6], Covers::Repeat).unwrap();
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
        assert_eq!(median_of_blocks(&[vec![1.0, 2.0, 3.0]], Covers::Repeat), None);
        assert_eq!(median_of_blocks(&[vec![1.0, 2.0], Vec::new()], Covers::Repeat), None);
        assert_eq!(median_of_blocks(&[vec![1.0], vec![f64::NAN]], Covers::Repeat), None);
        assert_eq!(median_of_blocks::<i64>(&[] as &[Vec<i64>], Covers::Repeat), None);
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
            let a = median_of_blocks(&blocks, Covers::Repeat).unwrap();
            let b = median_of_blocks(&moved, Covers::Repeat).unwrap();
            prop_assert!(a.low <= a.value && a.value <= a.high);
            for (a, b) in [(a.low, b.low), (a.value, b.value), (a.high, b.high)] {
                let expected = a * scale as f64 + origin as f64;
                prop_assert!((b - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{} {}", b, expected);
            }
        }
    }
}
