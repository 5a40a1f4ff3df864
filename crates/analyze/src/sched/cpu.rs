//! The state of a processor: its current thread and its recent ones.

use std::cmp::Reverse;

use hemiola_trace::sched::Tid;

use super::DELAYS_MAX;
use super::tally::Code;

/// The maximum number of remembered turns. When it is reached, waiting threads are brought up to date.
pub(super) const REMEMBERED_MAX: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Cpu {
    /// The current thread; [`Code::UNKNOWN`] before the first switch and after a gap.
    pub(super) current: Code,
    pub(super) tid: Tid,
    /// Since when, or since the last interrupt began or ended.
    pub(super) since: u64,
    /// The time of its last event; `None` before the first.
    pub(super) last: Option<u64>,
    /// The nesting depth of interrupts being served; time counts for the outermost.
    pub(super) depth: u32,
    pub(super) interrupt: Code,
    pub(super) switches: u64,
    pub(super) idle_switches: u64,
    pub(super) busy: u64,
    pub(super) idle: u64,
    pub(super) interrupts: u64,
    pub(super) lately: Lately,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            current: Code::UNKNOWN,
            tid: Tid::UNKNOWN,
            since: 0,
            last: None,
            depth: 0,
            interrupt: Code::UNKNOWN,
            switches: 0,
            idle_switches: 0,
            busy: 0,
            idle: 0,
            interrupts: 0,
            lately: Lately::default(),
        }
    }
}

/// The recent threads of a processor, one turn after another without a gap.
#[derive(Clone, Debug, Default)]
pub(super) struct Lately {
    from: u64,
    /// The end of each turn and its thread. A turn begins where the previous one ends.
    stretches: Vec<(u64, Code)>,
}

impl Lately {
    /// Adds a turn of `code`. Returns true when the memory is full: bring waiting threads up to date and call
    /// [`Lately::forget`].
    #[inline]
    pub(super) fn push(&mut self, begin: u64, end: u64, code: Code) -> bool {
        let from = self.stretches.last().map_or(self.from, |last| last.0);
        if self.stretches.is_empty() {
            self.from = begin;
        } else if begin > from {
            self.stretches.push((begin, Code::UNKNOWN));
        }
        self.stretches.push((end, code));
        self.stretches.len() >= REMEMBERED_MAX
    }

    pub(super) fn forget(&mut self) {
        self.from = self.stretches.last().map_or(self.from, |last| last.0);
        self.stretches.clear();
    }

    /// Since when threads that `is_one` selects have had the processor without interruption; `now` if the last thread
    /// was another one.
    pub(super) fn since(&self, now: u64, is_one: impl Fn(Code) -> bool) -> u64 {
        let other = self.stretches.iter().rposition(|(_, code)| !is_one(*code));
        match (other, self.stretches.last()) {
            (_, None) => now,
            (Some(other), _) => self.stretches[other].0,
            (None, _) => self.from,
        }
    }

    /// Adds to `shares` how long each thread had the processor between two moments; time not remembered is unknown.
    #[inline]
    pub(super) fn shares(&self, from: u64, to: u64, shares: &mut Shares) {
        let mut end = to;
        for (index, &(until, code)) in self.stretches.iter().enumerate().rev() {
            if end <= from {
                return;
            }
            let begin =
                index.checked_sub(1).map_or(self.from, |before| self.stretches[before].0).max(from);
            if until < end {
                // Only the part after the last stretch can be open.
                shares.add(Code::UNKNOWN, end - until.max(from));
                end = until;
            }
            if begin < end {
                shares.add(code, end - begin);
                end = begin;
            }
        }
        if end > from {
            shares.add(Code::UNKNOWN, end - from);
        }
    }
}

/// How long each thread had a processor within one wait.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    all: Vec<(Code, u64)>,
    /// A hash table with linear probing. It is at most half full, so that a search ends.
    places: Vec<Place>,
    /// The number of the wait.
    wait: u32,
}

/// A place of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The wait in which it was taken; it is free in any other one.
    wait: u32,
    /// The index of the share.
    index: u32,
}

/// Of the table at first; a power of two.
const PLACES: usize = 128;

impl Default for Shares {
    fn default() -> Self {
        Self { all: Vec::new(), places: vec![Place::default(); PLACES], wait: 1 }
    }
}

impl Shares {
    /// Begins a wait.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.free();
    }

    /// Frees all places.
    fn free(&mut self) {
        self.wait = self.wait.wrapping_add(1);
        if self.wait == 0 {
            self.places.fill(Place::default());
            self.wait = 1;
        }
    }

    /// The threads and their times, in the order in which they were added.
    pub(crate) fn all(&self) -> &[(Code, u64)] {
        &self.all
    }

    /// The threads with the most time, as many as a job tells apart, and the sum of the others.
    pub(crate) fn longest(&mut self) -> &[(Code, u64)] {
        if self.all.len() > DELAYS_MAX {
            self.all.select_nth_unstable_by_key(DELAYS_MAX - 1, |&(code, ns)| (Reverse(ns), code));
            let others = self.all[DELAYS_MAX..].iter().map(|share| share.1).sum();
            self.all.truncate(DELAYS_MAX);
            self.all.push((Code::OTHERS, others));
            // They have the former indices.
            self.free();
        }
        &self.all
    }

    /// Adds a time of a thread.
    #[inline]
    pub(crate) fn add(&mut self, code: Code, ns: u64) {
        let slot = self.slot(code);
        let Place { wait, index } = self.places[slot];
        if wait == self.wait {
            self.all[index as usize].1 += ns;
            return;
        }
        self.places[slot] = Place { wait: self.wait, index: self.all.len() as u32 };
        self.all.push((code, ns));
        if self.all.len() > self.places.len() / 2 {
            self.grow();
        }
    }

    /// The place of a thread, or the free one for it.
    #[inline]
    fn slot(&self, code: Code) -> usize {
        let last = self.places.len() - 1;
        let is_other =
            |Place { wait, index }| wait == self.wait && self.all[index as usize].0 != code;
        let mut slot = code.hash() & last;
        while is_other(self.places[slot]) {
            slot = (slot + 1) & last;
        }
        slot
    }

    #[cold]
    fn grow(&mut self) {
        self.places = vec![Place::default(); 2 * self.places.len()];
        for index in 0..self.all.len() {
            let slot = self.slot(self.all[index].0);
            self.places[slot] = Place { wait: self.wait, index: index as u32 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_trace::sched::Interrupt;
    use proptest::prelude::*;

    #[test]
    fn a_wait_is_divided_among_the_threads_that_had_the_processor() {
        let mut lately = Lately::default();
        let [a, b] = [Code::thread(1), Code::thread(2)];
        for (begin, end, code) in [(100, 200, a), (200, 250, b), (250, 400, a), (450, 500, b)] {
            assert!(!lately.push(begin, end, code));
        }
        let shares = |from, to| {
            let mut shares = Shares::default();
            lately.shares(from, to, &mut shares);
            shares.all().to_vec()
        };
        assert_eq!(shares(150, 300), [(a, 100), (b, 50)]);
        assert_eq!(shares(210, 240), [(b, 30)]);
        assert_eq!(shares(300, 500), [(b, 50), (Code::UNKNOWN, 50), (a, 100)]);
        assert_eq!(shares(0, 120), [(a, 20), (Code::UNKNOWN, 100)]);
        assert_eq!(shares(480, 520), [(Code::UNKNOWN, 20), (b, 20)]);
        assert_eq!(shares(500, 500), []);
    }

    /// Adds to a list that is searched from the front.
    fn add_searching(shares: &mut Vec<(Code, u64)>, code: Code, ns: u64) {
        match shares.iter_mut().find(|share| share.0 == code) {
            Some(share) => share.1 += ns,
            None => shares.push((code, ns)),
        }
    }

    proptest! {
        #[test]
        fn shares_are_found_as_by_a_search(
            parts in prop::collection::vec((0_usize..400, 0_u64..1000), 0..1000),
            waits in 1..4,
        ) {
            let (mut shares, mut plain) = (Shares::default(), Vec::new());
            // The numbers of the waits end and begin anew.
            shares.wait = u32::MAX - 1;
            for _ in 0..waits {
                shares.clear();
                plain.clear();
                for &(index, ns) in &parts {
                    let code = match index {
                        0 => Code::IDLE,
                        1 => Code::UNKNOWN,
                        2 => Code::interrupt(Interrupt::Hard(24)),
                        // Many collide.
                        index => Code::thread(index * (PLACES / 2)),
                    };
                    shares.add(code, ns);
                    add_searching(&mut plain, code, ns);
                }
                prop_assert_eq!(shares.all(), &plain);
                plain.sort_by_key(|&(code, ns)| (Reverse(ns), code));
                let others = plain.split_off(plain.len().min(DELAYS_MAX));
                let mut longest = shares.longest().to_vec();
                let rest = if others.is_empty() { None } else { longest.pop() };
                longest.sort_by_key(|&(code, ns)| (Reverse(ns), code));
                prop_assert_eq!(longest, plain.clone());
                let sum = others.iter().map(|share| share.1).sum();
                prop_assert_eq!(rest, (!others.is_empty()).then_some((Code::OTHERS, sum)));
            }
        }
    }
}
