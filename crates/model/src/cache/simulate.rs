//! Hit ratios by simulation.

use hemiola_units::Random;
use serde::Serialize;

use super::{Algorithm, Policy, Popularity};

/// Batches whose means give the standard error. Requests within a batch are correlated through the cache's content,
/// means of long batches hardly.
const BATCHES: u64 = 20;

/// A simulated hit ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// The share of requests that hit.
    pub hit_ratio: f64,
    /// Its standard error, from the means of 20 batches.
    pub standard_error: f64,
}

/// Simulates `requests` requests after as many that fill the cache. The same seed gives the same requests to every
/// algorithm.
#[must_use]
pub fn simulate(
    algorithm: Algorithm,
    popularity: &Popularity,
    slots: usize,
    requests: u64,
    seed: u64,
) -> Simulated {
    stack(&[Level { algorithm, slots, objects_per_chunk: 1 }], popularity, requests, seed)
}

/// One of several caches behind each other: a request reaches it only if it misses in all those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The replacement algorithm.
    pub algorithm: Algorithm,
    /// The number of slots.
    pub slots: usize,
    /// The chunks of the cache before it that fill one of its own chunks; 1 for the first cache, whose requests are for
    /// its own chunks.
    pub objects_per_chunk: usize,
}

/// Simulates the last of several caches behind each other, given the popularity at the first. The hit ratio is that of
/// the requests that reach the last one; 0 if none does.
#[must_use]
pub fn stack(levels: &[Level], popularity: &Popularity, requests: u64, seed: u64) -> Simulated {
    let mut play = Play::new(levels, popularity, seed);
    play.hit_ratio(requests, 0);
    let length = requests.div_ceil(BATCHES).max(1);
    let means: Vec<f64> = (0..BATCHES).map(|_| play.hit_ratio(length, 0)).collect();
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
    Simulated { hit_ratio: mean, standard_error: (variance / BATCHES as f64).sqrt() }
}

/// The effect of a sudden shift that gives the popularity of object k to object k + `by`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shifted {
    /// Hit ratio over the first requests after the change, one per slot.
    pub at_once: f64,
    /// Hit ratio after as many requests as filled the cache initially.
    pub later: f64,
}

/// Simulates `requests` requests, shifts the popularity by `by` objects, and continues.
#[must_use]
pub fn shift(
    levels: &[Level],
    popularity: &Popularity,
    by: usize,
    requests: u64,
    seed: u64,
) -> Shifted {
    let mut play = Play::new(levels, popularity, seed);
    play.hit_ratio(requests, 0);
    let slots = levels.last().map_or(0, |level| level.slots);
    let at_once = play.hit_ratio(slots.min(popularity.objects()) as u64, by);
    play.hit_ratio(requests, by);
    Shifted { at_once, later: play.hit_ratio(requests, by) }
}

/// Requests at the first cache for one that is counted at the last; beyond it, the last cache is hardly ever reached.
const ISSUED_MAX: u64 = 20;

/// Caches behind each other and their stream of requests.
struct Play {
    stages: Vec<Stage>,
    sampler: super::popularity::Sampler,
    objects: u32,
    random: Random,
}

/// One running cache.
struct Stage {
    cache: Box<dyn Policy>,
    /// The chunk of each object; empty if every object is a chunk.
    chunk_of: Vec<u32>,
}

impl Stage {
    /// Requests an object, which becomes the chunk that contains it; returns whether it was a hit.
    fn request(&mut self, object: &mut u32) -> bool {
        if let Some(chunk) = self.chunk_of.get(*object as usize) {
            *object = *chunk;
        }
        self.cache.request(*object)
    }
}

impl Play {
    fn new(levels: &[Level], popularity: &Popularity, seed: u64) -> Self {
        let first = popularity.objects();
        let mut objects = first;
        let mut stages = Vec::new();
        for level in levels {
            let chunk_of = chunks(objects, level.objects_per_chunk, seed);
            objects = objects.div_ceil(level.objects_per_chunk);
            let cache = level.algorithm.cache(level.slots.min(objects), objects);
            stages.push(Stage { cache, chunk_of });
        }
        Self {
            stages,
            sampler: popularity.sampler(),
            objects: u32::try_from(first).expect("the reader limits the number of objects"),
            random: Random::from_seed(seed),
        }
    }

    /// The hit ratio over this many requests that reach the last cache.
    fn hit_ratio(&mut self, requests: u64, shifted_by: usize) -> f64 {
        let (mut hits, mut reached) = (0u64, 0u64);
        for _ in 0..requests.saturating_mul(ISSUED_MAX) {
            if reached == requests {
                break;
            }
            let drawn = u64::from(self.sampler.draw(&mut self.random)) + shifted_by as u64;
            if let Some(hit) = self.request((drawn % u64::from(self.objects)) as u32) {
                reached += 1;
                hits += u64::from(hit);
            }
        }
        hits as f64 / reached.max(1) as f64
    }

    /// Whether the request hits in the last cache; `None` if it does not reach it.
    fn request(&mut self, mut object: u32) -> Option<bool> {
        let (last, before) = self.stages.split_last_mut()?;
        if before.iter_mut().any(|stage| stage.request(&mut object)) {
            return None;
        }
        Some(last.request(&mut object))
    }
}

/// The chunk of each object, with the objects in random order; empty if every object is a chunk.
fn chunks(objects: usize, per_chunk: usize, seed: u64) -> Vec<u32> {
    if per_chunk <= 1 {
        return Vec::new();
    }
    let mut chunk_of: Vec<u32> = (0..objects).map(|object| (object / per_chunk) as u32).collect();
    Random::from_seed(seed).shuffle(&mut chunk_of);
    chunk_of
}

#[cfg(test)]
mod tests {
    use super::super::theory;
    use super::*;

    #[test]
    fn formula_and_simulation_agree() {
        for exponent in [0.0, 0.6, 0.8, 1.0, 1.2] {
            let popularity = Popularity::zipf(2_000, exponent);
            for slots in [20, 200, 1_000] {
                for algorithm in [Algorithm::Lru, Algorithm::Clock] {
                    let formula = theory::hit_ratio(algorithm, &popularity, slots).unwrap();
                    let played = simulate(algorithm, &popularity, slots, 100_000, 1);
                    assert!(
                        (formula - played.hit_ratio).abs() < 0.01,
                        "{algorithm:?} {exponent} {slots}: {formula} {played:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn lfu_comes_near_its_limit_where_popularity_differs() {
        let popularity = Popularity::zipf(500, 1.0);
        let formula = theory::hit_ratio(Algorithm::Lfu, &popularity, 50).unwrap();
        let played = simulate(Algorithm::Lfu, &popularity, 50, 400_000, 1);
        assert!((formula - played.hit_ratio).abs() < 0.01, "{formula} {played:?}");
        assert!(played.hit_ratio <= formula + 4.0 * played.standard_error);
    }

    #[test]
    fn a_shift_of_popularity_hurts_lfu_longest() {
        let popularity = Popularity::zipf(1_000, 1.0);
        let settled = simulate(Algorithm::Lfu, &popularity, 100, 50_000, 1).hit_ratio;
        let shifted = |algorithm| {
            let level = Level { algorithm, slots: 100, objects_per_chunk: 1 };
            shift(&[level], &popularity, 300, 50_000, 1)
        };
        let (lfu, lru) = (shifted(Algorithm::Lfu), shifted(Algorithm::Lru));
        assert!(lfu.at_once < lru.at_once && lfu.at_once < settled / 2.0, "{lfu:?} {lru:?}");
        assert!(lru.later > lru.at_once && lfu.later > lfu.at_once, "{lfu:?} {lru:?}");
    }

    /// Two caches with least recently used eviction as plain lists, the most recent object last: hits in the second
    /// over the requests that reach it.
    fn oracle(shares: &[f64], slots: [usize; 2], requests: usize) -> f64 {
        let mut random = Random::from_seed(99);
        let mut lists: [Vec<usize>; 2] = Default::default();
        let mut use_of = |level: usize, object: usize| {
            let list = &mut lists[level];
            let found =
                list.iter().position(|known| *known == object).map(|at| list.remove(at)).is_some();
            list.push(object);
            if list.len() > slots[level] {
                list.remove(0);
            }
            found
        };
        let (mut reached, mut hits) = (0, 0);
        for request in 0..2 * requests {
            let mut left = random.uniform();
            let object = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            let object = object.unwrap_or(shares.len() - 1);
            if !use_of(0, object) {
                let hit = use_of(1, object);
                if request >= requests {
                    reached += 1;
                    hits += usize::from(hit);
                }
            }
        }
        f64::from(hits as u32) / f64::from(reached)
    }

    #[test]
    fn a_second_cache_hits_as_often_as_in_a_simulation_of_both() {
        for (exponent, slots) in
            [(0.8, [50, 100]), (1.0, [20, 200]), (0.5, [100, 120]), (0.8, [100, 50])]
        {
            let popularity = Popularity::zipf(500, exponent);
            let level = |slots| Level { algorithm: Algorithm::Lru, slots, objects_per_chunk: 1 };
            let found = stack(&slots.map(level), &popularity, 60_000, 3);
            let expected = oracle(popularity.shares(), slots, 60_000);
            assert!(
                (found.hit_ratio - expected).abs() < 0.015,
                "{exponent} {slots:?}: {found:?} {expected}"
            );
            // What the requests of the first cache would give.
            let unfiltered = simulate(Algorithm::Lru, &popularity, slots[1], 60_000, 3).hit_ratio;
            assert!(unfiltered - found.hit_ratio > 0.05, "{unfiltered} {found:?}");
        }
    }

    #[test]
    fn a_cache_behind_one_that_holds_everything_is_hardly_reached() {
        let popularity = Popularity::zipf(50, 0.8);
        let level = |slots| Level { algorithm: Algorithm::Lru, slots, objects_per_chunk: 1 };
        assert_eq!(stack(&[level(50), level(10)], &popularity, 1_000, 1).hit_ratio, 0.0);
    }

    #[test]
    fn the_seed_determines_the_hits() {
        let popularity = Popularity::zipf(100, 0.8);
        let play = || simulate(Algorithm::Arc, &popularity, 10, 1_000, 7);
        assert_eq!(play(), play());
    }
}
