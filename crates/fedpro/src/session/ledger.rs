//! Which requests have no answer yet.

use std::collections::VecDeque;

use super::traffic::give_back;
use crate::sequence::Sequence;

/// Requests by the numbers of their frames, in the order of these numbers. Takes four bytes for each from the oldest
/// without an answer on.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Numbers; those with an answer have the top bit.
    entries: VecDeque<u32>,
    /// How many requests came before the first entry.
    before: u64,
    open: usize,
}

const SETTLED: u32 = 0x8000_0000;

impl Ledger {
    /// Adds a request, newer than all others.
    pub(super) fn open(&mut self, sequence: Sequence) {
        self.entries.push_back(sequence.number());
        self.open += 1;
    }

    /// Whether a request of this number is newer than all others. Numbers go round: one that is half way round from the
    /// oldest without an answer could not be told from it.
    pub(super) fn has_room_for(&self, sequence: Sequence) -> bool {
        self.entries.front().is_none_or(|oldest| sequence.is_after(number(*oldest)))
    }

    /// Strikes a request out that has its answer now, and says how many came before it. `None` if there is no such
    /// request, or not any more.
    pub(super) fn settle(&mut self, sequence: Sequence) -> Option<u64> {
        let first = number(*self.entries.front()?);
        let index = self
            .entries
            .binary_search_by_key(&sequence.since(first), |entry| number(*entry).since(first))
            .ok()?;
        let entry = &mut self.entries[index];
        if *entry & SETTLED != 0 {
            return None;
        }
        *entry |= SETTLED;
        self.open -= 1;
        let place = self.before + index as u64;
        self.shrink();
        Some(place)
    }

    /// Strikes out the oldest ones until there are at most so many.
    pub(super) fn forget_beyond(&mut self, len_max: usize) {
        while self.entries.len() > len_max {
            self.open -= usize::from(self.entries[0] & SETTLED == 0);
            self.entries.pop_front();
            self.before += 1;
        }
        self.shrink();
    }

    /// How many have no answer.
    pub(super) const fn len(&self) -> usize {
        self.open
    }

    fn shrink(&mut self) {
        while self.entries.front().is_some_and(|entry| entry & SETTLED != 0) {
            self.entries.pop_front();
            self.before += 1;
        }
        give_back(&mut self.entries);
    }
}

fn number(entry: u32) -> Sequence {
    Sequence::new(entry & !SETTLED).expect("the top bit is gone")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(numbers: &[u32]) -> Ledger {
        let mut ledger = Ledger::default();
        for number in numbers {
            ledger.open(Sequence::new(*number).unwrap());
        }
        ledger
    }

    fn settle(ledger: &mut Ledger, number: u32) -> Option<u64> {
        ledger.settle(Sequence::new(number).unwrap())
    }

    #[test]
    fn each_request_is_settled_once_in_any_order() {
        let mut ledger = ledger(&[0x7FFF_FFF0, 0x7FFF_FFFF, 3, 4]);
        assert_eq!(settle(&mut ledger, 3), Some(2));
        assert_eq!(settle(&mut ledger, 3), None);
        assert_eq!(settle(&mut ledger, 0x7FFF_FFF0), Some(0));
        assert_eq!(settle(&mut ledger, 0x7FFF_FFFF), Some(1));
        assert_eq!(ledger.len(), 1);
        assert_eq!(settle(&mut ledger, 0), None);
        assert_eq!(settle(&mut ledger, 4), Some(3));
        assert_eq!((ledger.len(), ledger.entries.len()), (0, 0));
        assert_eq!(settle(&mut ledger, 4), None);
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut ledger = ledger(&[1, 2, 3, 4]);
        settle(&mut ledger, 2);
        ledger.forget_beyond(3);
        assert_eq!((ledger.len(), settle(&mut ledger, 1)), (2, None));
        assert_eq!(settle(&mut ledger, 4), Some(3));
    }
}
