//! The steps of the storage staircase, found in the latency of loads over the working-set size.
//!
//! While the working set fits into a cache, a load costs that cache's latency: a plateau on logarithmic axes. Beyond,
//! the cost rises until the next level serves nearly every load. A *rise* is a run of sizes over which the latency
//! grows by more than `STEEP` per octave and by more than `RISE_MIN` in total. Its *step* is where the latency grows
//! fastest, because the hit rate drops right after the last line that fits (associativity, page placement and other
//! processes blur this). Only the points decide; [`disagreements`] then compares the steps with the kernel's data.

use serde::{Deserialize, Serialize};

/// Growth of the logarithm of the latency per octave that counts as a rise: 28 %. Plateaus of real machines slope by up
/// to 20 % where the reach of the translation buffers ends.
const STEEP: f64 = 0.25;

/// The total gain of a rise that ends a level: a factor of 1.5.
const RISE_MIN: f64 = 0.405;

/// A step agrees with the kernel's size if that lies between the last working set that fits and the first that does
/// not, widened by this factor for other data in the cache and for collisions.
const NEAR: f64 = 1.05;

/// A point of the staircase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The working-set size, bytes.
    pub size: u64,
    /// The latency of one load, ns.
    pub latency: f64,
}

/// A storage level found in the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// `"l1"`, `"l2"`, …, `"memory"`.
    pub name: String,
    /// Its capacity: the last measured size before the steepest growth; `None` for the last level.
    pub size: Option<u64>,
    /// The next measured size, which exceeds its capacity.
    pub size_below: Option<u64>,
    /// The measured size in the middle of its plateau, at which it serves nearly every load.
    pub at: u64,
    /// The latency there, ns.
    pub latency: f64,
}

/// A cache as reported by the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCache {
    /// 1 for the nearest.
    pub level: u32,
    /// Bytes.
    pub size: u64,
}

/// The levels found in `points`, which are in order of size; none with fewer than 3 points.
///
/// The last level is called memory, unless the largest working set fits into `largest_cache`.
#[must_use]
pub fn levels(points: &[Point], largest_cache: Option<u64>) -> Vec<Level> {
    let usable = points.iter().all(|point| point.size > 0 && point.latency > 0.0);
    if points.len() < 3 || !usable || !points.is_sorted_by(|a, b| a.size < b.size) {
        return Vec::new();
    }
    let smooth = rising(points.iter().map(|point| point.latency.ln()));
    let rises = rises(points, &smooth);
    // A plateau extends from the end of the previous rise to the step of the next one.
    let starts = std::iter::once(0).chain(rises.iter().map(|rise| rise.end));
    let ends = rises.iter().map(|rise| Some(rise.step)).chain([None]);
    let reached_memory = largest_cache.is_none_or(|cache| points[points.len() - 1].size > cache);
    let count = rises.len() + 1;
    starts
        .zip(ends)
        .enumerate()
        .map(|(number, (start, step))| {
            let last = step.unwrap_or(points.len() - 1).max(start);
            let plateau = &points[start..=last];
            let at = middle(plateau);
            Level {
                name: if number + 1 == count && number > 0 && reached_memory {
                    "memory".into()
                } else {
                    format!("l{}", number + 1)
                },
                size: step.map(|step| points[step].size),
                size_below: step.map(|step| points[step + 1].size),
                at: at.size,
                latency: at.latency,
            }
        })
        .collect()
}

/// Points from `start` to `end`, both included, over which the latency rises, fastest from `step` to the next.
#[derive(Clone, Copy)]
struct Rise {
    start: usize,
    step: usize,
    end: usize,
}

fn rises(points: &[Point], smooth: &[f64]) -> Vec<Rise> {
    let octaves =
        |from: usize, to: usize| (points[to].size as f64 / points[from].size as f64).log2();
    let slope = |index: usize| (smooth[index + 1] - smooth[index]) / octaves(index, index + 1);
    let mut rises: Vec<Rise> = Vec::new();
    for index in (0..points.len() - 1).filter(|index| slope(*index) > STEEP) {
        match rises.last_mut() {
            Some(rise) if rise.end == index => {
                if slope(index) > slope(rise.step) {
                    rise.step = index;
                }
                rise.end = index + 1;
            }
            _ => rises.push(Rise { start: index, step: index, end: index + 1 }),
        }
    }
    rises.retain(|rise| smooth[rise.end] - smooth[rise.start] > RISE_MIN);
    rises
}

/// The point of a plateau with the median latency.
fn middle(plateau: &[Point]) -> Point {
    let mut sorted = plateau.to_vec();
    sorted.sort_by(|a, b| a.latency.total_cmp(&b.latency));
    sorted[(sorted.len() - 1) / 2]
}

/// The least-squares monotone fit to `values`: neighbours out of order are replaced by their mean (pool adjacent
/// violators; Barlow and others, "Statistical Inference under Order Restrictions", 1972). A larger working set is never
/// faster, so a decrease is noise.
fn rising(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut pool = (value, 1);
        while let Some(&(before, count)) = pools.last().filter(|(before, _)| *before > pool.0) {
            let all = count + pool.1;
            pool = ((before * count as f64 + pool.0 * pool.1 as f64) / all as f64, all);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

/// Disagreements between the steps and the kernel, a sentence each.
#[must_use]
pub fn disagreements(levels: &[Level], kernel: &[KernelCache]) -> Vec<String> {
    let size = |bytes: u64| hemiola_report::text::size(bytes as f64);
    let mut found = Vec::new();
    for level in levels {
        let Some(bytes) = level.size else { continue };
        let said = kernel.iter().find(|cache| format!("l{}", cache.level) == level.name);
        let name = level.name.to_uppercase();
        match said {
            None => {
                found.push(format!(
                    "the step at {} is not a cache known to the kernel",
                    size(bytes)
                ));
            }
            Some(cache) => {
                let (low, high) = (bytes, level.size_below.unwrap_or(bytes));
                let (least, most) = (low as f64 / NEAR, high as f64 * NEAR);
                if !(least..=most).contains(&(cache.size as f64)) {
                    let (direction, factor, reason) = if cache.size > high {
                        let reason = "it is shared, or colliding pages waste part of it";
                        ("less", cache.size as f64 / high as f64, reason)
                    } else {
                        let reason = "the kernel may not see the host's cache";
                        ("more", low as f64 / cache.size as f64, reason)
                    };
                    found.push(format!(
                        "{name} holds {} to {} by measurement and {} by the kernel: \
                         {factor:.1} × {direction}; {reason}",
                        size(low),
                        size(high),
                        size(cache.size),
                    ));
                }
            }
        }
    }
    for cache in kernel {
        let name = format!("l{}", cache.level);
        if !levels.iter().any(|level| level.name == name && level.size.is_some()) {
            found.push(format!(
                "the kernel reports {} of {}, but the measurement shows no step for it",
                name.to_uppercase(),
                size(cache.size)
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    /// The sizes the probe walks: powers of two and one between.
    fn sizes(largest: u64) -> Vec<u64> {
        let powers = (0..).map(|power| KIB << power).take_while(|size| *size <= largest);
        powers.flat_map(|size| [size, size + size / 2]).filter(|size| *size <= largest).collect()
    }

    /// Random loads over caches of these sizes and latencies; each hits for the share of the working set that it holds.
    fn model(caches: &[(u64, f64)], memory: f64, largest: u64) -> Vec<Point> {
        let latency = |size: u64| {
            let (mut left, mut sum) = (1.0, 0.0);
            for (holds, cost) in caches {
                let hit = (*holds as f64 / size as f64).min(1.0);
                let served = (hit - (1.0 - left)).max(0.0);
                sum += served * cost;
                left -= served;
            }
            sum + left * memory
        };
        sizes(largest).into_iter().map(|size| Point { size, latency: latency(size) }).collect()
    }

    fn named(levels: &[Level]) -> Vec<(&str, Option<u64>)> {
        levels.iter().map(|level| (level.name.as_str(), level.size)).collect()
    }

    #[test]
    fn three_caches_and_memory_are_found_at_their_sizes() {
        let points = model(&[(32 * KIB, 1.2), (MIB, 4.0), (32 * MIB, 14.0)], 95.0, 1024 * MIB);
        let levels = levels(&points, Some(32 * MIB));
        assert_eq!(
            named(&levels),
            [("l1", Some(32 * KIB)), ("l2", Some(MIB)), ("l3", Some(32 * MIB)), ("memory", None)]
        );
        let near =
            |level: usize, latency: f64| (levels[level].latency / latency - 1.0).abs() < 0.15;
        assert!(near(0, 1.2) && near(1, 4.0) && near(2, 14.0) && near(3, 95.0), "{levels:?}");
        assert_eq!(levels[0].size_below, Some(48 * KIB));
    }

    fn recorded(sizes: impl Iterator<Item = u64>, latencies: &[f64]) -> Vec<Point> {
        sizes.zip(latencies).map(|(size, latency)| Point { size, latency: *latency }).collect()
    }

    /// Recorded on a virtual machine (EPYC, Linux 6.18) whose kernel reports 32 KiB, 1 MiB and 32 MiB and which shares
    /// the last cache with others; random order, pages of 4 KiB.
    #[test]
    fn a_recorded_staircase_keeps_its_steps() {
        let points = recorded(
            // The recording has no point between 1 KiB and 2 KiB.
            sizes(1024 * MIB).into_iter().filter(|size| *size != KIB + KIB / 2),
            &[
                1.08, 1.08, 1.08, 1.08, 1.08, 1.08, 1.08, 1.08, 1.08, 1.09, 3.79, 3.8, 3.8, 3.8,
                3.8, 3.82, 4.37, 4.8, 6.35, 8.56, 11.99, 13.28, 14.71, 15.75, 19.15, 115.09,
                128.89, 139.67, 145.89, 153.69, 159.84, 162.88, 166.24, 172.72, 184.65, 195.39,
                249.99, 273.79, 306.15, 330.07,
            ],
        );
        let levels = levels(&points, Some(32 * MIB));
        assert_eq!(
            named(&levels),
            [
                ("l1", Some(32 * KIB)),
                ("l2", Some(768 * KIB)),
                ("l3", Some(6 * MIB)),
                ("memory", None)
            ]
        );
        let latencies: Vec<f64> = levels.iter().map(|level| level.latency).collect();
        assert_eq!(latencies, [1.08, 3.8, 14.71, 166.24]);
        let kernel = [(1, 32 * KIB), (2, MIB), (3, 32 * MIB)]
            .map(|(level, size)| KernelCache { level, size });
        let said = disagreements(&levels, &kernel);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("L3 holds 6 MiB to 8 MiB by measurement and 32 MiB by the kernel")
        );
    }

    /// The same machine with powers of two only and other load on it.
    #[test]
    fn a_coarse_recorded_staircase_has_the_same_levels() {
        let sizes = (0..=17).map(|power| KIB << power);
        let points = recorded(
            sizes,
            &[
                1.08, 1.08, 1.08, 1.08, 1.08, 1.09, 3.8, 3.8, 3.8, 4.95, 8.53, 13.3, 16.36, 98.88,
                142.48, 160.08, 174.72, 201.43,
            ],
        );
        let levels = levels(&points, Some(32 * MIB));
        assert_eq!(
            named(&levels),
            [
                ("l1", Some(32 * KIB)),
                ("l2", Some(512 * KIB)),
                ("l3", Some(4 * MIB)),
                ("memory", None)
            ]
        );
    }

    #[test]
    fn a_cache_of_an_odd_size_is_found_between_two_points() {
        let points = model(&[(48 * KIB, 1.6), (2 * MIB, 5.0)], 110.0, 256 * MIB);
        let levels = levels(&points, None);
        assert_eq!(
            named(&levels),
            [("l1", Some(48 * KIB)), ("l2", Some(2 * MIB)), ("memory", None)]
        );
    }

    #[test]
    fn a_set_within_the_last_cache_does_not_reach_memory() {
        let points = model(&[(32 * KIB, 1.2), (MIB, 4.0), (32 * MIB, 14.0)], 95.0, 8 * MIB);
        let last = levels(&points, Some(32 * MIB)).pop().unwrap();
        assert_eq!((last.name.as_str(), last.size), ("l3", None));
    }

    #[test]
    fn a_flat_machine_has_one_level_and_an_outlier_is_no_step() {
        let mut points = model(&[], 80.0, 64 * MIB);
        assert_eq!(named(&levels(&points, None)), [("l1", None)]);
        points[10].latency = 300.0;
        assert_eq!(named(&levels(&points, None)), [("l1", None)]);
    }

    #[test]
    fn too_few_or_unordered_points_have_no_levels() {
        let points = model(&[(32 * KIB, 1.0)], 80.0, MIB);
        assert!(levels(&points[..2], None).is_empty() && levels(&[], None).is_empty());
        let backwards: Vec<Point> = points.into_iter().rev().collect();
        assert!(levels(&backwards, None).is_empty());
    }

    #[test]
    fn disagreements_are_reported_with_their_factor() {
        let points = model(&[(32 * KIB, 1.2), (MIB, 4.0), (32 * MIB, 14.0)], 95.0, 1024 * MIB);
        let levels = levels(&points, None);
        let kernel = |sizes: &[u64]| -> Vec<KernelCache> {
            let number =
                |(index, size): (usize, &u64)| KernelCache { level: index as u32 + 1, size: *size };
            sizes.iter().enumerate().map(number).collect()
        };
        assert!(disagreements(&levels, &kernel(&[32 * KIB, MIB, 32 * MIB])).is_empty());
        let said = disagreements(&levels, &kernel(&[32 * KIB, MIB, 128 * MIB, 256 * MIB]));
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0]
                .contains("32 MiB to 48 MiB by measurement and 128 MiB by the kernel: 2.7 × less"),
            "{said:?}"
        );
        assert!(said[1].contains("the kernel reports L4 of 256 MiB"), "{said:?}");
        let said = disagreements(&levels, &kernel(&[32 * KIB]));
        assert!(said[0].contains("not a cache known to the kernel"), "{said:?}");
    }

    proptest! {
        #[test]
        fn noise_moves_a_step_by_at_most_one_size(
            noise in prop::collection::vec(-0.04f64..0.04, 41),
            l1 in 4u32..6, l2 in 8u32..12, l3 in 14u32..17,
        ) {
            let caches = [(KIB << l1, 1.0), (KIB << l2, 4.0), (KIB << l3, 16.0)];
            let mut points = model(&caches, 90.0, 1024 * MIB);
            for (point, noise) in points.iter_mut().zip(noise) {
                point.latency *= 1.0 + noise;
            }
            let levels = levels(&points, None);
            prop_assert_eq!(levels.len(), 4);
            for (level, (size, _)) in levels.iter().zip(caches) {
                let factor = level.size.unwrap() as f64 / size as f64;
                prop_assert!(factor.max(1.0 / factor) < 1.55, "{:?}", levels);
            }
        }

        #[test]
        fn levels_ascend_for_any_latencies(latencies in prop::collection::vec(0.1f64..1000.0, 0..45)) {
            let points: Vec<Point> = sizes(1 << 40)
                .into_iter()
                .zip(latencies)
                .map(|(size, latency)| Point { size, latency })
                .collect();
            let levels = levels(&points, None);
            prop_assert!(levels.windows(2).all(|pair| pair[0].at < pair[1].at));
        }
    }
}
