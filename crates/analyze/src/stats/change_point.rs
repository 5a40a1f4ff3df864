//! Where a series changes its level: the end of a warm-up, a neighbour that woke, a drift.

use super::dependence::effective_samples;
use super::spread::median;
use super::value::{Value, finite};

/// Stretches shorter than this are not told apart: fewer readings cannot be significant.
const STRETCH_MIN: usize = 8;

/// A change is named when chance makes one as large in less than this share of the series. Smaller
/// than the 5 % of intervals, because a long series is asked many times.
const CHANCE_MAX: f64 = 0.01;

/// A place where the level changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first reading at the new level.
    pub at: usize,
    /// The median from the change before, or from the beginning, to here.
    pub before: f64,
    /// The median from here to the next change, or to the end.
    pub after: f64,
}

/// Where readings in the order they were taken change their level, in that order; none when a reading
/// is not finite. A warm-up is a change early on; a drift shows as several in the same direction.
///
/// The place that divides the readings best by their ranks, so that outliers weigh no more than others
/// (Pettitt, "A Non-Parametric Approach to the Change-Point Problem", 1979), then the same again on
/// either side. Pettitt's probability holds for independent readings. So the autocorrelation left
/// within the stretches that were found makes all of them less likely, and the search is done again,
/// until what it finds and what is left agree.
#[must_use]
pub fn change_points<V: Value>(readings: &[V]) -> Vec<ChangePoint> {
    let Some(readings) = finite(readings) else { return Vec::new() };
    let mut time = 1.0;
    let ends = loop {
        let ends = search(&readings, time);
        let left = correlation_time(&readings, &ends);
        // It only ever grows, by a tenth or more, and cannot exceed the number of readings.
        if left < 1.1 * time {
            break ends;
        }
        time = left;
    };
    let level = |from: usize, to: usize| median(&readings[from..to]).expect("no stretch is empty");
    ends.windows(3)
        .map(|ends| ChangePoint {
            at: ends[1],
            before: level(ends[0], ends[1]),
            after: level(ends[1], ends[2]),
        })
        .collect()
}

/// The ends of the stretches between changes, from 0 to the number of readings, when one independent
/// reading comes in `time` readings.
fn search(readings: &[f64], time: f64) -> Vec<usize> {
    let mut ends = vec![0, readings.len()];
    let mut open = vec![(0, readings.len())];
    while let Some((from, to)) = open.pop() {
        if let Some(length) = divide(&readings[from..to], time) {
            let at = from + length;
            ends.push(at);
            open.extend([(from, at), (at, to)]);
        }
    }
    ends.sort_unstable();
    ends
}

/// How many readings stand before the change of level, if there is a significant one.
fn divide(readings: &[f64], time: f64) -> Option<usize> {
    if readings.len() < 2 * STRETCH_MIN {
        return None;
    }
    let ranks = ranks(readings);
    let n = readings.len() as f64;
    let mut sum = 0.0;
    let (mut best, mut statistic) = (0, 0.0);
    for (index, rank) in ranks.iter().enumerate() {
        sum += 2.0 * rank - (n + 1.0);
        let length = index + 1;
        if sum.abs() > statistic && (STRETCH_MIN..=ranks.len() - STRETCH_MIN).contains(&length) {
            (best, statistic) = (length, sum.abs());
        }
    }
    let chance = 2.0 * (-6.0 * statistic * statistic / ((n * n * n + n * n) * time)).exp();
    (chance < CHANCE_MAX).then_some(best)
}

/// How many readings one independent reading comes in, once each stretch is brought to its own level.
fn correlation_time(readings: &[f64], ends: &[usize]) -> f64 {
    let mut ranks = ranks(readings);
    for ends in ends.windows(2) {
        let stretch = &mut ranks[ends[0]..ends[1]];
        let mean = stretch.iter().sum::<f64>() / stretch.len() as f64;
        stretch.iter_mut().for_each(|rank| *rank -= mean);
    }
    ranks.len() as f64 / effective_samples(&ranks)
}

/// The rank of each reading, counted from 1; equal ones share the mean of theirs.
fn ranks(readings: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..readings.len()).collect();
    order.sort_unstable_by(|a, b| readings[*a].total_cmp(&readings[*b]));
    let mut ranks = vec![0.0; readings.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| readings[*a] == readings[*b]) {
        let rank = first as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|index| ranks[*index] = rank);
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;
    use proptest::prelude::*;

    use super::*;

    /// Yearly flow of the Nile at Aswan, 1871 to 1970, 10⁸ m³ (Cobb, "The Problem of the Nile", 1978).
    const NILE: [i64; 100] = [
        1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960,
        1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694,
        940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764,
        821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822,
        1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050,
        918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
    ];

    #[test]
    fn the_nile_fell_after_1898() {
        assert_eq!(NILE.iter().sum::<i64>(), 91_935);
        let [point] = change_points(&NILE)[..] else { panic!("{:?}", change_points(&NILE)) };
        assert_eq!(1871 + point.at, 1899);
        assert!(point.before > 1.2 * point.after, "{point:?}");
    }

    #[test]
    fn a_warm_up_and_a_late_neighbour_are_found_among_outliers() {
        let mut random = Random::from_seed(2);
        let readings: Vec<f64> = (0..300)
            .map(|n| {
                let level = if n < 40 {
                    130.0
                } else if n < 220 {
                    100.0
                } else {
                    104.0
                };
                let outlier = if n % 29 == 5 { 900.0 } else { 0.0 };
                level + 2.0 * random.normal() + outlier
            })
            .collect();
        let points = change_points(&readings);
        assert_eq!(points.len(), 2, "{points:?}");
        assert!(points[0].at.abs_diff(40) <= 2 && points[1].at.abs_diff(220) <= 5, "{points:?}");
        assert!((points[0].after - 100.0).abs() < 1.0 && points[0].after == points[1].before);
    }

    #[test]
    fn a_drift_shows_as_changes_in_one_direction() {
        let mut random = Random::from_seed(3);
        let readings: Vec<f64> = (0..400).map(|n| f64::from(n) + 10.0 * random.normal()).collect();
        let points = change_points(&readings);
        assert!(points.len() >= 2 && points.iter().all(|point| point.after > point.before));
    }

    #[test]
    fn steady_series_have_hardly_ever_a_change_even_when_neighbours_resemble() {
        for dependence in [0.0, 0.8] {
            let found = (0..200)
                .filter(|seed| {
                    let mut random = Random::from_seed(*seed);
                    let mut state = 0.0;
                    let readings: Vec<f64> = (0..300)
                        .map(|_| {
                            state = dependence * state + random.normal();
                            state
                        })
                        .collect();
                    !change_points(&readings).is_empty()
                })
                .count();
            assert!(found <= 10, "{dependence}: {found} of 200");
        }
    }

    proptest! {
        #[test]
        fn places_rise_and_leave_stretches_of_some_length(
            readings in prop::collection::vec(0i64..50, 0..200),
        ) {
            let points = change_points(&readings);
            let ends: Vec<usize> =
                [0].into_iter().chain(points.iter().map(|p| p.at)).chain([readings.len()]).collect();
            if !points.is_empty() {
                prop_assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= STRETCH_MIN));
            }
        }
    }
}
