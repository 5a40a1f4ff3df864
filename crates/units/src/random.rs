//! The seeded random generator.

use crate::normal::ZIGGURAT;

/// A small, fast generator with 256 bits of state: xoshiro256++ of Blackman and Vigna ("Scrambled
/// Linear Pseudorandom Number Generators", 2021), seeded by splitmix64. The same seed gives the same
/// numbers on every machine. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Creates the generator of this seed; every seed is valid.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut mixed = seed;
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = mixed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self { state }
    }

    /// Returns a generator for part number `part` of the work, independent of how much other parts draw.
    #[must_use]
    pub fn fork(&self, part: u64) -> Self {
        let [a, b, c, d] = self.state;
        let root = a ^ b.rotate_left(17) ^ c.rotate_left(31) ^ d.rotate_left(47);
        Self::from_seed(root ^ part.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a uniform number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Returns a uniform number below `bound`. The bias of the multiplication method is below `bound` / 2⁶⁴.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below zero");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Brings the items into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// Returns a normal number with mean 0 and standard deviation 1. The first draw of a process builds the
    /// tables of the ziggurat (about 10 µs); draw one in advance where that matters.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        ZIGGURAT.draw(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_match_the_published_algorithm() {
        // State 1, 2, 3, 4: the reference implementation's first outputs.
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(
            [random.bits(), random.bits(), random.bits()],
            [41_943_041, 58_720_359, 3_588_806_011_781_223]
        );
    }

    #[test]
    fn every_order_of_three_items_is_equally_frequent() {
        let mut random = Random::from_seed(5);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        // Five standard deviations of a count of 10 000.
        assert!(
            counts.len() == 6 && counts.values().all(|count| (9_540..10_460).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn forks_differ_and_repeat() {
        let root = Random::from_seed(7);
        assert_eq!(root.fork(3).bits(), root.fork(3).bits());
        assert_ne!(root.fork(3).bits(), root.fork(4).bits());
    }
}
