//! The index of regions, compared with all pairs in thousands of random worlds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use hemiola_hla::data::RangeBounds;
use hemiola_hla::{DimensionHandle, RegionHandle};
use hemiola_rti::matching::{Index, Ranges};
use hemiola_units::Random;

const WORLDS: u64 = 3_000;

/// The greatest bound of a world's dimensions.
const BOUNDS: [u32; 4] = [6, 100, 5_000, u32::MAX];

/// Regions with any of up to five dimensions, and ranges of all sizes.
fn ranges(random: &mut Random, bound: u32) -> Ranges {
    let mut ranges = Vec::new();
    for number in 1..6 {
        if random.below(if number < 3 { 8 } else { 3 }) == 0 {
            continue;
        }
        if number >= 3 && random.below(3) > 0 {
            continue;
        }
        let shrink = random.below(32) as u32;
        let len =
            1 + random.below(u64::from((bound - 1).checked_shr(shrink).unwrap_or(0)) + 1) as u32;
        let len = len.min(bound);
        let lower = random.below(u64::from(bound - len) + 1) as u32;
        ranges.push((DimensionHandle::new(number), RangeBounds { lower, upper: lower + len }));
    }
    ranges.into()
}

/// The oracle: no dimension that both have keeps them apart.
fn is_near(one: &Ranges, other: &Ranges) -> bool {
    one.iter().all(|(dimension, range)| {
        let same = other.iter().find(|(other, _)| other == dimension);
        same.is_none_or(|(_, other)| range.lower < other.upper && other.lower < range.upper)
    })
}

fn found(index: &Index, around: &Ranges) -> BTreeSet<RegionHandle> {
    let mut found = BTreeSet::new();
    let _ = index.visit(around, |region, _| {
        assert!(found.insert(region), "a region is visited once");
        ControlFlow::<()>::Continue(())
    });
    found
}

/// The regions near either of two places, each with whether it is near the first and the second.
fn found_near_either(
    index: &Index,
    first: &Ranges,
    second: &Ranges,
) -> BTreeMap<RegionHandle, (bool, bool)> {
    let mut found = BTreeMap::new();
    index.visit_either(first, second, |region, _, near| {
        let before = found.insert(region, (near.first, near.second));
        assert!(before.is_none(), "a region is visited once");
    });
    found
}

/// The ranges of a region that has moved a little.
fn moved(random: &mut Random, ranges: &Ranges, bound: u32) -> Ranges {
    let by = random.below(u64::from(bound / 8 + 2)) as u32;
    let moved = |RangeBounds { lower, upper }: &RangeBounds| {
        let by = by.min(bound - upper);
        RangeBounds { lower: lower + by, upper: upper + by }
    };
    ranges.iter().map(|(dimension, range)| (*dimension, moved(range))).collect()
}

#[test]
fn the_index_finds_what_comparing_all_pairs_finds() {
    let mut pairs = 0;
    for seed in 0..WORLDS {
        let mut random = Random::from_seed(seed);
        let bound = BOUNDS[random.below(4) as usize];
        let (mut index, mut all) = (Index::default(), BTreeMap::new());
        for number in 1..60 {
            let region = RegionHandle::new(random.below(20) as u32 + 1);
            if let Some(before) = all.remove(&region) {
                if random.below(2) == 0 {
                    let now = match random.below(3) {
                        0 => ranges(&mut random, bound),
                        _ => moved(&mut random, &before, bound),
                    };
                    index.relocate(region, &before, &now);
                    all.insert(region, now);
                } else {
                    index.remove(region, &before);
                }
            } else if random.below(4) > 0 {
                let ranges = ranges(&mut random, bound);
                index.insert(region, &ranges);
                all.insert(region, ranges);
            }
            let around = ranges(&mut random, bound);
            let near = all.iter().filter(|(_, ranges)| is_near(&around, ranges));
            let near: BTreeSet<RegionHandle> = near.map(|(region, _)| *region).collect();
            pairs += near.len();
            assert_eq!(found(&index, &around), near, "seed {seed}, step {number}");
            assert_eq!(index.len(), all.len());
            let then = match random.below(2) {
                0 => ranges(&mut random, bound),
                _ => moved(&mut random, &around, bound),
            };
            let near = all.iter().map(|(region, ranges)| {
                (*region, (is_near(&around, ranges), is_near(&then, ranges)))
            });
            let near = near.filter(|(_, near)| *near != (false, false)).collect();
            assert_eq!(found_near_either(&index, &around, &then), near, "seed {seed}");
        }
        for (region, ranges) in all {
            index.remove(region, &ranges);
        }
        assert!(index.is_empty(), "nothing is left behind");
    }
    assert!(pairs > 0, "the worlds have neighbours");
}

#[test]
fn ranges_at_the_ends_of_a_dimension_are_found() {
    let ends = [0, 1, 2, u32::MAX / 2, u32::MAX - 2, u32::MAX - 1, u32::MAX];
    let pairs = ends.iter().flat_map(|lower| ends.iter().map(|upper| (*lower, *upper)));
    let of = |(lower, upper): (u32, u32)| -> Ranges {
        [(DimensionHandle::new(1), RangeBounds { lower, upper })].into()
    };
    let all: Vec<Ranges> = pairs.filter(|(lower, upper)| lower < upper).map(of).collect();
    let mut index = Index::default();
    for (at, ranges) in all.iter().enumerate() {
        index.insert(RegionHandle::of_index(at), ranges);
    }
    for around in &all {
        let near = all.iter().enumerate().filter(|(_, ranges)| is_near(around, ranges));
        let near: BTreeSet<RegionHandle> = near.map(|(at, _)| RegionHandle::of_index(at)).collect();
        assert_eq!(found(&index, around), near, "{around:?}");
    }
}
