//! A table of counts by transportation type and class.

use std::collections::BTreeMap;

use hemiola_hla::TransportationTypeHandle;

use crate::image::{Reader, Stored, Taken, Writer};

/// Counts by transportation type and class.
///
/// Every message is counted for each of its receivers, and mostly of the class that was counted last. Therefore the
/// counts are in a list by key, and that place of the list is looked at first.
#[derive(Debug)]
pub(crate) struct ByClass<C> {
    /// By key.
    entries: Vec<Entry<C>>,
    /// The place that was counted last.
    last: usize,
}

type Entry<C> = ((TransportationTypeHandle, C), i32);

impl<C> Default for ByClass<C> {
    fn default() -> Self {
        Self { entries: Vec::new(), last: 0 }
    }
}

impl<C: Copy + Ord> ByClass<C> {
    /// The estimated memory of an entry, in bytes: the room of the list doubles.
    const ENTRY: usize = 2 * size_of::<Entry<C>>();

    /// The estimated memory of the table, in bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.entries.len() * Self::ENTRY
    }

    /// Adds to a count. Returns the memory that this takes, in bytes.
    #[inline]
    pub(super) fn add(&mut self, kind: TransportationTypeHandle, class: C, more: i32) -> usize {
        match self.entries.get_mut(self.last) {
            Some(((one, other), count)) if *one == kind && *other == class => {
                *count = count.saturating_add(more);
                0
            }
            _ => self.add_elsewhere((kind, class), more),
        }
    }

    /// The same if the key was not counted last.
    #[inline(never)]
    fn add_elsewhere(&mut self, key: (TransportationTypeHandle, C), more: i32) -> usize {
        match self.entries.binary_search_by_key(&key, |(one, _)| *one) {
            Ok(at) => {
                self.last = at;
                let (_, count) = &mut self.entries[at];
                *count = count.saturating_add(more);
                0
            }
            Err(at) => {
                self.last = at;
                self.entries.insert(at, (key, more));
                Self::ENTRY
            }
        }
    }

    /// Iterates over the transportation types, classes and counts, by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TransportationTypeHandle, C, i32)> {
        self.entries.iter().map(|((kind, class), count)| (*kind, *class, *count))
    }

    /// Returns the sum of all counts.
    pub(crate) fn total(&self) -> i32 {
        self.entries.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

impl<C: Copy + Ord + Stored> Stored for ByClass<C> {
    fn put(&self, to: &mut Writer) {
        self.entries.put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        // An image may have been written by anyone: the map puts its entries in order.
        let entries = BTreeMap::take(from)?;
        Ok(Self { entries: entries.into_iter().collect(), last: 0 })
    }
}

#[cfg(test)]
mod tests {
    use hemiola_hla::InteractionClassHandle;
    use hemiola_units::{Instant, Random};

    use super::*;

    #[test]
    fn a_table_counts_what_a_map_counts_and_an_image_keeps_it() {
        let mut random = Random::from_seed(1);
        let (mut table, mut map, mut memory) = (ByClass::default(), BTreeMap::new(), 0);
        for step in 0..10_000 {
            let kind = TransportationTypeHandle::new(1 + random.below(2) as u32);
            let class = InteractionClassHandle::new(1 + random.below(1 + step / 100) as u32);
            for _ in 0..random.below(3) {
                let more = random.below(5) as i32;
                memory += table.add(kind, class, more);
                *map.entry((kind, class)).or_insert(0) += more;
            }
        }
        assert_eq!(memory, table.memory());
        assert_eq!(table.total(), map.values().sum());
        let expected = |((kind, class), count): (&(_, _), &i32)| (*kind, *class, *count);
        assert!(table.iter().eq(map.iter().map(expected)));
        let (mut kept, mut same) = (Writer::new(Instant::ZERO), Writer::new(Instant::ZERO));
        table.put(&mut kept);
        map.put(&mut same);
        let [kept, same] = [kept, same].map(|mut one| one.take_pieces().concat());
        assert_eq!(kept, same);
        let restored = ByClass::take(&mut Reader::new(kept.into(), Instant::ZERO));
        assert_eq!(restored.map(|one| one.entries), Ok(table.entries));
    }

    #[test]
    fn a_count_does_not_overflow() {
        let mut table = ByClass::default();
        for _ in 0..2 {
            table.add(TransportationTypeHandle::RELIABLE, InteractionClassHandle::new(1), i32::MAX);
            table.add(TransportationTypeHandle::RELIABLE, InteractionClassHandle::new(2), i32::MAX);
        }
        assert!(table.iter().all(|(.., count)| count == i32::MAX));
        assert_eq!(table.total(), i32::MAX);
    }
}
