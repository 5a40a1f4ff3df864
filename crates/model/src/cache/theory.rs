//! Hit ratios by formula.
//!
//! LRU: Che, Tung and Wang ("Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", 2002).
//! An object is cached if it was requested within the *characteristic time* τ, which is the same for all objects
//! and follows from the cache being full. Fricker, Robert and Roberts ("A versatile and accurate approximation for
//! LRU cache performance", 2012) explain its accuracy.
//!
//! CLOCK: the same with the time τ of one turn of the hand. An object is evicted if it was not requested during a
//! turn, which has probability e^−pτ; so it stays τ·e^pτ on average and is away for 1/p. Without the second chance
//! this is the formula for FIFO and RANDOM (Martina, Garetto and Leonardi, "A unified approach to the performance
//! analysis of caching systems", 2014, section III), which is also its limit for objects requested much less than
//! once a turn. The factor for the second chance is ours.
//!
//! LFU: the limit of long use. All slots but one hold the most popular objects, the last slot holds the most recently
//! requested other object. ARC: no formula is known.

use super::{Algorithm, Popularity};

/// The long-term share of requests that hit in a cache with `slots` slots; `None` if no formula is known.
#[must_use]
pub fn hit_ratio(algorithm: Algorithm, popularity: &Popularity, slots: usize) -> Option<f64> {
    let shares = popularity.shares();
    if slots >= popularity.objects() {
        return Some(1.0);
    }
    match algorithm {
        Algorithm::Lru => Some(by_characteristic_time(shares, slots, |count| -(-count).exp_m1())),
        Algorithm::Clock => Some(by_characteristic_time(shares, slots, |count| {
            // count·e^count / (1 + count·e^count), rearranged to avoid overflow.
            1.0 / (1.0 + (-count).exp() / count)
        })),
        Algorithm::Lfu => Some(limit_of_lfu(shares, slots)),
        Algorithm::Arc => None,
    }
}

/// `kept` is the probability that an object is cached, given its mean number of requests in the characteristic
/// time. That time is such that `slots` objects are cached on average.
fn by_characteristic_time(shares: &[f64], slots: usize, kept: impl Fn(f64) -> f64) -> f64 {
    // Objects without requests are never cached; the cache may hold all the others.
    let requested: Vec<f64> = shares.iter().copied().filter(|share| *share > 0.0).collect();
    if slots >= requested.len() {
        return 1.0;
    }
    let cached = |time: f64| requested.iter().map(|share| kept(share * time)).sum::<f64>();
    // The number of cached objects grows with the time: bracket it by powers of two, then bisect.
    let (mut low, mut high) = (0.0, slots as f64);
    while cached(high) < slots as f64 {
        (low, high) = (high, high * 2.0);
    }
    /// Enough to reach two adjacent numbers from any first interval.
    const HALVINGS: u32 = 60;
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if cached(middle) < slots as f64 { low = middle } else { high = middle }
    }
    requested.iter().map(|share| share * kept(share * high)).sum()
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
    fn uniform_requests_hit_in_proportion_to_the_slots() {
        let uniform = Popularity::zipf(1000, 0.0);
        for algorithm in [Algorithm::Lru, Algorithm::Clock, Algorithm::Lfu] {
            let ratio = hit_ratio(algorithm, &uniform, 250).unwrap();
            assert!((ratio - 0.25).abs() < 0.001, "{algorithm:?} {ratio}");
        }
    }

    #[test]
    fn one_slot_hits_when_an_object_is_requested_twice_in_a_row() {
        // Exact: 0.8² + 0.2² = 0.68. The approximation assumes many objects; for two it gives 0.63.
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
    fn extreme_shares_have_a_hit_ratio() {
        let popularity = Popularity::weighted(vec![1e300, 1.0, 1e-300, 1e-310, 0.0]);
        for algorithm in [Algorithm::Lru, Algorithm::Clock, Algorithm::Lfu] {
            for slots in 1..6 {
                let ratio = hit_ratio(algorithm, &popularity, slots).unwrap();
                assert!((0.0..=1.0).contains(&ratio), "{algorithm:?} {slots}: {ratio}");
            }
        }
    }

    #[test]
    fn objects_without_requests_need_no_slot() {
        let popularity = Popularity::weighted(vec![1.0, 1.0, 0.0, 0.0]);
        for algorithm in [Algorithm::Lru, Algorithm::Clock] {
            assert_eq!(hit_ratio(algorithm, &popularity, 2), Some(1.0));
        }
    }
}
