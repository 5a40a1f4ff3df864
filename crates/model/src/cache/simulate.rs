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
    let mut play = Play::new(algorithm, popularity, slots, seed);
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
    algorithm: Algorithm,
    popularity: &Popularity,
    slots: usize,
    by: usize,
    requests: u64,
    seed: u64,
) -> Shifted {
    let mut play = Play::new(algorithm, popularity, slots, seed);
    play.hit_ratio(requests, 0);
    let at_once = play.hit_ratio(slots.min(popularity.objects()) as u64, by);
    play.hit_ratio(requests, by);
    Shifted { at_once, later: play.hit_ratio(requests, by) }
}

/// A cache and its stream of requests.
struct Play {
    cache: Box<dyn Policy>,
    sampler: super::popularity::Sampler,
    objects: u32,
    random: Random,
}

impl Play {
    fn new(algorithm: Algorithm, popularity: &Popularity, slots: usize, seed: u64) -> Self {
        let objects = popularity.objects();
        Self {
            cache: algorithm.cache(slots.min(objects), objects),
            sampler: popularity.sampler(),
            objects: u32::try_from(objects).expect("the reader limits the number of objects"),
            random: Random::from_seed(seed),
        }
    }

    fn hit_ratio(&mut self, requests: u64, shifted_by: usize) -> f64 {
        let mut hits = 0u64;
        for _ in 0..requests {
            let drawn = u64::from(self.sampler.draw(&mut self.random)) + shifted_by as u64;
            hits += u64::from(self.cache.request((drawn % u64::from(self.objects)) as u32));
        }
        hits as f64 / requests.max(1) as f64
    }
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
        let lfu = shift(Algorithm::Lfu, &popularity, 100, 300, 50_000, 1);
        let lru = shift(Algorithm::Lru, &popularity, 100, 300, 50_000, 1);
        assert!(lfu.at_once < lru.at_once && lfu.at_once < settled / 2.0, "{lfu:?} {lru:?}");
        assert!(lru.later > lru.at_once && lfu.later > lfu.at_once, "{lfu:?} {lru:?}");
    }

    #[test]
    fn the_seed_determines_the_hits() {
        let popularity = Popularity::zipf(100, 0.8);
        let play = || simulate(Algorithm::Arc, &popularity, 10, 1_000, 7);
        assert_eq!(play(), play());
    }
}
