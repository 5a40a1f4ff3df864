//! The requests that have no answer yet.

use std::collections::VecDeque;

use super::traffic::shrink_queue;
use crate::sequence::Sequence;

/// Requests by the sequence numbers of their frames, oldest first. Takes four bytes for each request since the oldest
/// one without an answer.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Sequence numbers; the top bit marks an answered request.
    entries: VecDeque<u32>,
    /// The number of requests before the first entry.
    before: u64,
    open: usize,
}

const ANSWERED: u32 = 0x8000_0000;

impl Ledger {
    /// Adds a request that is newer than all others.
    pub(super) fn open(&mut self, sequence: Sequence) {
        self.entries.push_back(sequence.number());
        self.open += 1;
    }

    /// Whether a request with this number can be added. Sequence numbers wrap: a number half the range ahead of the
    /// oldest unanswered request could not be distinguished from an older one.
    pub(super) fn has_room_for(&self, sequence: Sequence) -> bool {
        self.entries.front().is_none_or(|oldest| sequence.is_after(number(*oldest)))
    }

    /// Marks a request as answered and returns how many requests came before it; `None` if it is unknown or already
    /// answered.
    pub(super) fn answer(&mut self, sequence: Sequence) -> Option<u64> {
        let first = number(*self.entries.front()?);
        // Most requests are answered in order.
        let index = if first == sequence {
            0
        } else {
            let place = |entry: &u32| number(*entry).since(first);
            self.entries.binary_search_by_key(&sequence.since(first), place).ok()?
        };
        let entry = &mut self.entries[index];
        if *entry & ANSWERED != 0 {
            return None;
        }
        *entry |= ANSWERED;
        self.open -= 1;
        let place = self.before + index as u64;
        self.shrink();
        Some(place)
    }

    /// Whether this is the oldest request without an answer.
    pub(super) fn is_oldest(&self, sequence: Sequence) -> bool {
        self.entries.front() == Some(&sequence.number())
    }

    /// Marks all requests up to this one as answered. Returns how many requests came before it; `None` if it is unknown
    /// or already answered.
    pub(super) fn answer_through(&mut self, sequence: Sequence) -> Option<u64> {
        let place = self.answer(sequence)?;
        while self.before <= place {
            let entry = self.entries.pop_front().expect("the request stands behind it");
            self.open -= usize::from(entry & ANSWERED == 0);
            self.before += 1;
        }
        self.shrink();
        Some(place)
    }

    /// Drops the oldest entries until at most `len_max` remain.
    pub(super) fn forget_beyond(&mut self, len_max: usize) {
        while self.entries.len() > len_max {
            self.open -= usize::from(self.entries[0] & ANSWERED == 0);
            self.entries.pop_front();
            self.before += 1;
        }
        self.shrink();
    }

    /// Returns the number of requests without an answer.
    pub(super) const fn len(&self) -> usize {
        self.open
    }

    /// Gives back spare room.
    pub(super) fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    fn shrink(&mut self) {
        while self.entries.front().is_some_and(|entry| entry & ANSWERED != 0) {
            self.entries.pop_front();
            self.before += 1;
        }
        shrink_queue(&mut self.entries);
    }
}

fn number(entry: u32) -> Sequence {
    Sequence::new(entry & !ANSWERED).expect("the top bit is masked")
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

    fn answer(ledger: &mut Ledger, number: u32) -> Option<u64> {
        ledger.answer(Sequence::new(number).unwrap())
    }

    #[test]
    fn each_request_is_answered_once_in_any_order() {
        let mut ledger = ledger(&[0x7FFF_FFF0, 0x7FFF_FFFF, 3, 4]);
        assert_eq!(answer(&mut ledger, 3), Some(2));
        assert_eq!(answer(&mut ledger, 3), None);
        assert_eq!(answer(&mut ledger, 0x7FFF_FFF0), Some(0));
        assert_eq!(answer(&mut ledger, 0x7FFF_FFFF), Some(1));
        assert_eq!(ledger.len(), 1);
        assert_eq!(answer(&mut ledger, 0), None);
        assert_eq!(answer(&mut ledger, 4), Some(3));
        assert_eq!((ledger.len(), ledger.entries.len()), (0, 0));
        assert_eq!(answer(&mut ledger, 4), None);
    }

    #[test]
    fn requests_are_answered_together_up_to_one_of_them() {
        let mut ledger = ledger(&[0x7FFF_FFF0, 0x7FFF_FFFF, 3, 4, 9]);
        let through = |ledger: &mut Ledger, number| {
            let place = ledger.answer_through(Sequence::new(number).unwrap());
            (place, ledger.len(), ledger.entries.len())
        };
        assert_eq!(answer(&mut ledger, 0x7FFF_FFFF), Some(1));
        assert_eq!(through(&mut ledger, 5), (None, 4, 5));
        assert_eq!(through(&mut ledger, 3), (Some(2), 2, 2));
        assert_eq!(through(&mut ledger, 3), (None, 2, 2));
        assert_eq!(answer(&mut ledger, 4), Some(3));
        assert_eq!(through(&mut ledger, 9), (Some(4), 0, 0));
        assert_eq!(through(&mut ledger, 9), (None, 0, 0));
    }

    #[test]
    fn oldest_requests_are_dropped_first() {
        let mut ledger = ledger(&[1, 2, 3, 4]);
        answer(&mut ledger, 2);
        ledger.forget_beyond(3);
        assert_eq!((ledger.len(), answer(&mut ledger, 1)), (2, None));
        assert_eq!(answer(&mut ledger, 4), Some(3));
    }
}
