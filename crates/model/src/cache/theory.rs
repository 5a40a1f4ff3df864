//! Hit ratios by formula, where one is known.
//!
//! For LRU, Che, Tung and Wang ("Hierarchical Web Caching Systems: Modeling, Design and Experimental
//! Results", 2002): an object is there when it was asked for within the *characteristic time* τ, the same
//! for all objects, which follows from the cache being full. Fricker, Robert and Roberts ("A versatile and
//! accurate approximation for LRU cache performance", 2012) show why this is so exact.
//!
//! For CLOCK, the same idea with the time τ of one turn of the hand: an object that was not asked for during
//! a turn goes, which has probability e^−pτ, so that it stays τ·e^pτ on average, and is away for 1/p. Without
//! the second chance this is the formula for FIFO and RANDOM (Martina, Garetto and Leonardi, "A unified
//! approach to the performance analysis of caching systems", 2014, section III), to which it comes down for
//! objects asked for much less than once a turn; the factor for the second chance is ours.
//!
//! For LFU, the limit of long use: all slots but one hold the most popular objects, the last slot holds
//! whatever else was asked for last. For ARC no formula is known.

use super::{Algorithm, Popularity};

/// The share of requests that find their object in a cache of `slots` slots that has been used for long.
#[must_use]
pub fn hit_ratio(algorithm: Algorithm, popularity: &Popularity, slots: usize) -> Option<f64> {
    let shares = popularity.shares();
    if slots >= popularity.objects() {
        return Some(1.0);
    }
    match algorithm {
        Algorithm::Lru => Some(by_characteristic_time(shares, slots, |asked| -(-asked).exp_m1())),
        Algorithm::Clock => Some(by_characteristic_time(shares, slots, |asked| {
            // asked·e^asked / (1 + asked·e^asked), written so that nothing grows too large.
            1.0 / (1.0 + (-asked).exp() / asked)
        })),
        Algorithm::Lfu => Some(limit_of_lfu(shares, slots)),
        Algorithm::Arc => None,
    }
}

/// `kept` is the probability that an object is there, by how often it is asked for on average in the
/// characteristic time; the time is such that `slots` objects are there on average.
fn by_characteristic_time(shares: &[f64], slots: usize, kept: impl Fn(f64) -> f64) -> f64 {
    // Objects that nobody asks for never come; without them the cache may hold all the others.
    let asked_for: Vec<f64> = shares.iter().copied().filter(|share| *share > 0.0).collect();
    if slots >= asked_for.len() {
        return 1.0;
    }
    let there = |time: f64| asked_for.iter().map(|share| kept(share * time)).sum::<f64>();
    // What is there grows with the time: between two powers of two, then halving.
    let (mut low, mut high) = (0.0, slots as f64);
    while there(high) < slots as f64 {
        (low, high) = (high, high * 2.0);
    }
    /// Halvings until two neighbouring numbers are reached, whatever the first interval.
    const HALVINGS: u32 = 60;
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if there(middle) < slots as f64 { low = middle } else { high = middle }
    }
    asked_for.iter().map(|share| share * kept(share * high)).sum()
}

fn limit_of_lfu(shares: &[f64], slots: usize) -> f64 {
    let mut shares = shares.to_vec();
    shares.sort_by(|a, b| b.total_cmp(a));
    let (fixed, others) = shares.split_at(slots - 1);
    let rest: f64 = others.iter().sum();
    let last = if rest > 0.0 { others.iter().map(|s| s * s).sum::<f64>() / rest } else { 0.0 };
    fixed.iter().sum::<f64>() + last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_requests_hit_by_the_share_that_is_kept() {
        let uniform = Popularity::zipf(1000, 0.0);
        for algorithm in [Algorithm::Lru, Algorithm::Clock, Algorithm::Lfu] {
            let ratio = hit_ratio(algorithm, &uniform, 250).unwrap();
            assert!((ratio - 0.25).abs() < 0.001, "{algorithm:?} {ratio}");
        }
    }

    #[test]
    fn two_objects_in_one_slot_hit_when_asked_for_twice_in_a_row() {
        // Exact: 0.8² + 0.2² = 0.68. The approximation supposes many objects; for two it gives 0.63.
        let popularity = Popularity::weighted(vec![8.0, 2.0]);
        let exact = 0.68;
        assert!((hit_ratio(Algorithm::Lfu, &popularity, 1).unwrap() - exact).abs() < 1e-12);
        let che = hit_ratio(Algorithm::Lru, &popularity, 1).unwrap();
        assert!((che - exact).abs() < 0.1, "{che}");
    }

    #[test]
    fn a_larger_cache_hits_more() {
        let popularity = Popularity::zipf(500, 0.8);
        for algorithm in [Algorithm::Lru, Algorithm::Clock, Algorithm::Lfu] {
            let ratios: Vec<f64> =
                (1..=500).map(|slots| hit_ratio(algorithm, &popularity, slots).unwrap()).collect();
            assert!(ratios.is_sorted(), "{algorithm:?}");
            assert_eq!(ratios[499], 1.0);
        }
    }

    #[test]
    fn shares_of_any_size_have_a_hit_ratio() {
        let popularity = Popularity::weighted(vec![1e300, 1.0, 1e-300, 1e-310, 0.0]);
        for algorithm in [Algorithm::Lru, Algorithm::Clock, Algorithm::Lfu] {
            for slots in 1..6 {
                let ratio = hit_ratio(algorithm, &popularity, slots).unwrap();
                assert!((0.0..=1.0).contains(&ratio), "{algorithm:?} {slots}: {ratio}");
            }
        }
    }

    #[test]
    fn objects_that_nobody_asks_for_need_no_slot() {
        let popularity = Popularity::weighted(vec![1.0, 1.0, 0.0, 0.0]);
        for algorithm in [Algorithm::Lru, Algorithm::Clock] {
            assert_eq!(hit_ratio(algorithm, &popularity, 2), Some(1.0));
        }
    }
}
