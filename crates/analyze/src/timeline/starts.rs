//! Times in rising order, four bytes each: the upper half is kept where it changes, about every 4.3 s.

use std::ops::Range;

/// Moments, ns, none before the one before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts {
    lower: Vec<u32>,
    /// From which index on the upper half has which value.
    upper: Vec<(u32, u32)>,
}

/// When it is full, a vector grows by this part of its length, because most of the memory of a timeline is in these.
const GROWS_BY: usize = 4;

/// Adds to a vector that grows slowly.
pub(super) fn push_slowly<T>(vector: &mut Vec<T>, value: T) {
    if vector.len() == vector.capacity() {
        vector.reserve_exact(vector.len() / GROWS_BY + 4);
    }
    vector.push(value);
}

impl Starts {
    pub(super) const fn len(&self) -> usize {
        self.lower.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// The moment of that index.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn get(&self, index: usize) -> u64 {
        self.cursor().get(index)
    }

    /// Reads moments that are near each other.
    pub(super) const fn cursor(&self) -> Cursor<'_> {
        Cursor { starts: self, part: 0..0, upper: 0 }
    }

    pub(super) fn last(&self) -> Option<u64> {
        let lower = u64::from(*self.lower.last()?);
        self.upper.last().map(|(_, upper)| u64::from(*upper) << 32 | lower)
    }

    /// Adds a moment, which is not before the last one.
    pub(super) fn push(&mut self, at: u64) {
        let upper = (at >> 32) as u32;
        if self.upper.last().is_none_or(|last| last.1 != upper) {
            self.upper.push((self.len() as u32, upper));
        }
        push_slowly(&mut self.lower, at as u32);
    }

    pub(super) fn pop(&mut self) {
        self.lower.pop();
        self.upper.pop_if(|(first, _)| *first as usize >= self.lower.len());
    }

    /// How many moments are before this one.
    pub(super) fn before(&self, at: u64) -> usize {
        let (upper, lower) = ((at >> 32) as u32, at as u32);
        let after = self.upper.partition_point(|(_, of)| *of <= upper);
        let end = self.upper.get(after).map_or(self.len(), |(first, _)| *first as usize);
        match after.checked_sub(1).map(|place| self.upper[place]) {
            Some((first, of)) if of == upper => {
                let first = first as usize;
                first + self.lower[first..end].partition_point(|other| *other < lower)
            }
            _ => end,
        }
    }

    /// How many moments are not after this one.
    pub(super) fn until(&self, at: u64) -> usize {
        at.checked_add(1).map_or(self.len(), |after| self.before(after))
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.lower.shrink_to_fit();
        self.upper.shrink_to_fit();
    }
}

/// Looks an upper half up only where it changes: most moments have that of the moment read before.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'s> {
    starts: &'s Starts,
    /// The indices with this upper half.
    part: Range<usize>,
    upper: u64,
}

impl Cursor<'_> {
    /// The moment of that index.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(super) fn get(&mut self, index: usize) -> u64 {
        if !self.part.contains(&index) {
            self.seek(index);
        }
        self.upper | u64::from(self.starts.lower[index])
    }

    fn seek(&mut self, index: usize) {
        let upper = &self.starts.upper;
        let after = upper.partition_point(|(first, _)| *first as usize <= index);
        let (first, of) = upper[after - 1];
        let end = upper.get(after).map_or(self.starts.len(), |(first, _)| *first as usize);
        (self.part, self.upper) = (first as usize..end, u64::from(of) << 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moments_are_found_as_in_a_plain_vector(
            steps in prop::collection::vec(prop_oneof![0_u64..4, 0_u64..1 << 31, 0_u64..1 << 40], 0..60),
            popped in 0_usize..70,
            ask in prop::collection::vec(0_u64..1 << 42, 0..20),
        ) {
            let (mut starts, mut plain, mut at) = (Starts::default(), Vec::new(), 0);
            for (index, step) in steps.iter().enumerate() {
                at += step;
                starts.push(at);
                plain.push(at);
                if index == popped {
                    starts.pop();
                    plain.pop();
                    at = plain.last().copied().unwrap_or(0);
                }
            }
            prop_assert_eq!((starts.len(), starts.last()), (plain.len(), plain.last().copied()));
            let mut cursor = starts.cursor();
            for (index, at) in plain.iter().enumerate().chain(plain.iter().enumerate().rev()) {
                prop_assert_eq!((starts.get(index), cursor.get(index)), (*at, *at));
            }
            for at in plain.iter().copied().chain(ask).chain([u64::MAX]) {
                prop_assert_eq!(starts.before(at), plain.partition_point(|start| *start < at));
                prop_assert_eq!(starts.until(at), plain.partition_point(|start| *start <= at));
            }
        }
    }
}
