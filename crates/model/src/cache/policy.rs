//! The four replacement algorithms.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::lists::Lists;

/// A replacement algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Evicts the least recently used object.
    Lru,
    /// Evicts the least frequently used object, of equals the less recently used. Counts of evicted objects are
    /// kept ("Perfect-LFU" in Breslau et al., "Web Caching and Zipf-like Distributions", 1999).
    Lfu,
    /// Objects form a circle. A hand evicts the first object that was not used since its last turn (Corbató, "A
    /// Paging Experiment with the Multics System", 1968).
    Clock,
    /// Adaptive replacement: two lists, of recent and of frequent objects, whose sizes adapt to requests for evicted
    /// objects (Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", 2003).
    Arc,
}

impl Algorithm {
    /// An empty cache with `slots` slots for the objects 0 … `objects` − 1.
    ///
    /// # Panics
    /// When `slots` is 0 or `objects` exceeds 2³² − 2.
    #[must_use]
    pub fn cache(self, slots: usize, objects: usize) -> Box<dyn Policy> {
        assert!(slots > 0, "a cache needs at least one slot");
        match self {
            Self::Lru => Box::new(Lru { lists: Lists::new(1, objects), slots }),
            Self::Lfu => {
                Box::new(Lfu { slots, tick: 0, uses: vec![(0, 0); objects], kept: BTreeSet::new() })
            }
            Self::Clock => Box::new(Clock {
                slots,
                slot_of: vec![NOWHERE; objects],
                circle: Vec::new(),
                hand: 0,
            }),
            Self::Arc => Box::new(Arc { slots, recent_target: 0.0, lists: Lists::new(4, objects) }),
        }
    }
}

/// A running cache.
pub trait Policy {
    /// Requests an object, which is then in the cache; returns whether it was a hit.
    fn request(&mut self, object: u32) -> bool;
}

struct Lru {
    slots: usize,
    lists: Lists,
}

impl Policy for Lru {
    fn request(&mut self, object: u32) -> bool {
        let hit = self.lists.list_of(object).is_some();
        if !hit && self.lists.len(0) == self.slots {
            self.lists.take_oldest(0);
        }
        self.lists.refresh(0, object);
        hit
    }
}

struct Lfu {
    slots: usize,
    tick: u64,
    /// Number of uses and last use of each object.
    uses: Vec<(u64, u64)>,
    /// (number of uses, last use, object); the first is evicted next.
    kept: BTreeSet<(u64, u64, u32)>,
}

impl Policy for Lfu {
    fn request(&mut self, object: u32) -> bool {
        self.tick += 1;
        let uses = &mut self.uses[object as usize];
        let hit = self.kept.remove(&(uses.0, uses.1, object));
        *uses = (uses.0 + 1, self.tick);
        let entry = (uses.0, uses.1, object);
        if !hit && self.kept.len() == self.slots {
            self.kept.pop_first();
        }
        self.kept.insert(entry);
        hit
    }
}

/// The slot of an object that is in none.
const NOWHERE: u32 = u32::MAX;

struct Clock {
    slots: usize,
    slot_of: Vec<u32>,
    /// The object of each slot, and whether it was used since the hand passed.
    circle: Vec<(u32, bool)>,
    hand: usize,
}

impl Policy for Clock {
    fn request(&mut self, object: u32) -> bool {
        let slot = self.slot_of[object as usize];
        if slot != NOWHERE {
            self.circle[slot as usize].1 = true;
            return true;
        }
        if self.circle.len() < self.slots {
            self.slot_of[object as usize] = self.circle.len() as u32;
            self.circle.push((object, false));
            return false;
        }
        while std::mem::take(&mut self.circle[self.hand].1) {
            self.hand = (self.hand + 1) % self.slots;
        }
        let (gone, _) = std::mem::replace(&mut self.circle[self.hand], (object, false));
        self.slot_of[gone as usize] = NOWHERE;
        self.slot_of[object as usize] = self.hand as u32;
        self.hand = (self.hand + 1) % self.slots;
        false
    }
}

/// The lists of ARC: T1 and T2 hold cached objects, B1 and B2 the names of evicted ones.
const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

struct Arc {
    slots: usize,
    /// The target length of T1: the paper's p.
    recent_target: f64,
    lists: Lists,
}

impl Arc {
    /// Evicts an object for one found in list `found`: the paper's REPLACE.
    fn replace(&mut self, found: Option<usize>) {
        let recent = self.lists.len(T1);
        let over = recent as f64 > self.recent_target
            || (found == Some(B2) && recent as f64 == self.recent_target);
        let (from, to) = if recent > 0 && over { (T1, B1) } else { (T2, B2) };
        if let Some(gone) = self.lists.take_oldest(from) {
            self.lists.refresh(to, gone);
        }
    }
}

impl Policy for Arc {
    fn request(&mut self, object: u32) -> bool {
        let found = self.lists.list_of(object);
        let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|list| self.lists.len(list));
        let ratio = |more: usize, less: usize| (more as f64 / less as f64).max(1.0);
        match found {
            Some(T1 | T2) => {}
            Some(B1) => {
                self.recent_target = (self.recent_target + ratio(b2, b1)).min(self.slots as f64);
                self.replace(found);
            }
            Some(_) => {
                self.recent_target = (self.recent_target - ratio(b1, b2)).max(0.0);
                self.replace(found);
            }
            None => {
                if t1 + b1 == self.slots {
                    if b1 > 0 {
                        self.lists.take_oldest(B1);
                        self.replace(found);
                    } else {
                        self.lists.take_oldest(T1);
                    }
                } else if t1 + t2 + b1 + b2 >= self.slots {
                    if t1 + t2 + b1 + b2 == 2 * self.slots {
                        self.lists.take_oldest(B2);
                    }
                    self.replace(found);
                }
            }
        }
        self.lists.refresh(if found.is_some() { T2 } else { T1 }, object);
        matches!(found, Some(T1 | T2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_scenario::document::Word;
    use proptest::prelude::*;

    /// The requests with hits in capitals.
    fn hits(algorithm: Algorithm, slots: usize, requests: &str) -> String {
        let mut cache = algorithm.cache(slots, 26);
        let letter = |c: char| match cache.request(u32::from(c) - u32::from('a')) {
            true => c.to_ascii_uppercase(),
            false => c,
        };
        requests.chars().map(letter).collect()
    }

    #[test]
    fn lru_evicts_the_least_recently_used() {
        // Three slots: d evicts b, since a was used again; b then evicts c.
        assert_eq!(hits(Algorithm::Lru, 3, "abcadbc"), "abcAdbc");
        assert_eq!(hits(Algorithm::Lru, 3, "abcadacd"), "abcAdACD");
        // A cycle one longer than the cache never hits.
        assert_eq!(hits(Algorithm::Lru, 3, "abcdabcd"), "abcdabcd");
    }

    #[test]
    fn lfu_keeps_frequent_objects_and_counts_evicted_ones() {
        // a was used twice, so c evicts b, and b evicts c.
        assert_eq!(hits(Algorithm::Lfu, 2, "aabcbc"), "aAbcbc");
        // Counts of evicted objects are kept: c's second use makes it equal to a, and more recent, so a is evicted.
        assert_eq!(hits(Algorithm::Lfu, 2, "aabcbcbca"), "aAbcbcBCa");
    }

    #[test]
    fn clock_gives_a_used_object_a_second_chance() {
        // a is marked when d is requested: the hand clears the mark and evicts b. The unmarked c is evicted next.
        assert_eq!(hits(Algorithm::Clock, 3, "abcadab"), "abcAdAb");
        assert_eq!(hits(Algorithm::Clock, 3, "abcadabc"), "abcAdAbc");
        // Without marks, first in, first out.
        assert_eq!(hits(Algorithm::Clock, 3, "abcdbca"), "abcdBCa");
    }

    #[test]
    fn arc_protects_objects_used_twice_from_a_scan() {
        // a and b are used twice; a scan of new objects uses the other two slots.
        assert_eq!(hits(Algorithm::Arc, 4, "ababcdefghab"), "abABcdefghAB");
        assert_eq!(hits(Algorithm::Lru, 4, "ababcdefghab"), "abABcdefghab");
    }

    #[test]
    fn arc_follows_its_paper_step_by_step() {
        // Two slots. a, b: T1 = b a. a again: T1 = b, T2 = a. c: |L1| = 1 and the cache is full, so b
        // (T1 is longer than p = 0) moves to B1; T1 = c. b: found in B1, p = 1; T1 is not longer than 1, so
        // T2's a moves to B2; T2 = b. a: found in B2, p = 0; T1 = c is longer than 0 and moves to B1;
        // T2 = a b. c: found in B1, p = 1; T1 is empty, so T2's oldest, b, moves to B2; T2 = c a. a is a
        // hit. b: found in B2, p = 0; T1 is empty, so c is evicted; a is still cached.
        assert_eq!(hits(Algorithm::Arc, 2, "abacbacaba"), "abAcbacAbA");
    }

    proptest! {
        #[test]
        fn a_cache_for_all_objects_misses_each_once(
            requests in prop::collection::vec(0u32..8, 0..100),
        ) {
            let distinct = requests.iter().collect::<BTreeSet<_>>().len();
            for &algorithm in Algorithm::ALL {
                let mut cache = algorithm.cache(8, 8);
                let misses = requests.iter().filter(|object| !cache.request(**object)).count();
                prop_assert_eq!(misses, distinct);
            }
        }

        #[test]
        fn a_second_request_in_a_row_hits(
            requests in prop::collection::vec(0u32..9, 1..200),
            slots in 1usize..7,
        ) {
            for &algorithm in Algorithm::ALL {
                let mut cache = algorithm.cache(slots, 9);
                for object in &requests {
                    cache.request(*object);
                    prop_assert!(cache.request(*object), "{:?}", algorithm);
                }
            }
        }

        #[test]
        fn lru_hits_exactly_the_most_recent_distinct_objects(
            requests in prop::collection::vec(0u32..9, 0..200),
            slots in 1usize..7,
        ) {
            let mut cache = Algorithm::Lru.cache(slots, 9);
            for (at, object) in requests.iter().enumerate() {
                let before = requests[..at].iter().rposition(|earlier| earlier == object);
                let distance = |from: usize| requests[from..at].iter().collect::<BTreeSet<_>>().len();
                prop_assert_eq!(cache.request(*object), before.is_some_and(|from| distance(from) <= slots));
            }
        }

        #[test]
        fn a_larger_lru_never_hits_less(
            requests in prop::collection::vec(0u32..9, 0..200),
            slots in 1usize..7,
        ) {
            let hits = |slots| {
                let mut cache = Algorithm::Lru.cache(slots, 9);
                requests.iter().filter(|object| cache.request(**object)).count()
            };
            prop_assert!(hits(slots + 1) >= hits(slots));
        }
    }
}
