//! Which stretches of time are recorded: what a program starts and stops.

use hemiola_trace::sched::{Event, What};
use hemiola_units::Instant;

/// Changes kept; older ones count as long past.
const CHANGES_MAX: usize = 4096;

/// What is recorded and what is left out, over time.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    /// Before the first change.
    before: bool,
    /// When it changed, in order; it alternates.
    changes: Vec<Instant>,
    /// Changes that are not kept any more.
    forgotten: usize,
    /// Of each processor, how many changes lay before the last event that was let through.
    seen: Vec<Option<usize>>,
}

impl Ranges {
    /// Everything is recorded until told otherwise, or nothing.
    pub(super) fn new(recording: bool) -> Self {
        Self { before: recording, changes: Vec::new(), forgotten: 0, seen: Vec::new() }
    }

    /// From `at` on it is recorded, or not. Says whether that is a change.
    pub(super) fn set(&mut self, at: Instant, recording: bool) -> bool {
        if self.state(self.changes.len()) == recording {
            return false;
        }
        // Of two threads that called at nearly the same time the later one is heard later.
        self.changes.push(self.changes.last().map_or(at, |last| at.max(*last)));
        if self.changes.len() > CHANGES_MAX {
            // An even number, so that the state before stays what it was.
            self.changes.drain(..CHANGES_MAX / 2);
            self.forgotten += CHANGES_MAX / 2;
        }
        true
    }

    /// Whether everything has been recorded so far.
    pub(super) fn is_everything(&self) -> bool {
        self.before && self.changes.is_empty() && self.forgotten == 0
    }

    /// Whether that moment is recorded.
    pub(super) fn holds(&self, at: Instant) -> bool {
        self.state(self.count(at))
    }

    /// Keeps the events that are recorded, in order; where a stretch is left out between two of a processor, a
    /// [`What::Lost`] says so.
    pub(super) fn filter(&mut self, cpu: u16, events: &mut Vec<Event>) {
        if self.is_everything() {
            return;
        }
        let index = usize::from(cpu);
        if self.seen.len() <= index {
            self.seen.resize(index + 1, None);
        }
        let mut kept = Vec::with_capacity(events.len());
        for event in events.drain(..) {
            let count = self.count(event.at);
            if !self.state(count) {
                continue;
            }
            let now = self.forgotten + count;
            if self.seen[index].replace(now).is_some_and(|before| before != now) {
                // It was let through since the last change, which there must be for the counts to differ.
                let at = self.changes.get(count.wrapping_sub(1)).copied().unwrap_or(event.at);
                kept.push(Event { at, cpu, what: What::Lost(0) });
            }
            kept.push(event);
        }
        *events = kept;
    }

    /// How many changes lie at or before that moment.
    fn count(&self, at: Instant) -> usize {
        self.changes.partition_point(|change| *change <= at)
    }

    /// What holds after that many changes.
    fn state(&self, changes: usize) -> bool {
        self.before == changes.is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn filtered(ranges: &mut Ranges, times: &[u64]) -> Vec<(u64, bool)> {
        let what = What::PageFault(false);
        let mut events = times.iter().map(|&nanos| Event { at: at(nanos), cpu: 1, what }).collect();
        ranges.filter(1, &mut events);
        events.iter().map(|event| (event.at.nanos(), event.what == What::Lost(0))).collect()
    }

    #[test]
    fn what_lies_between_stop_and_start_is_left_out_and_marked() {
        let mut ranges = Ranges::new(true);
        assert_eq!(filtered(&mut ranges, &[1, 9]), [(1, false), (9, false)]);
        assert!(ranges.set(at(10), false) && !ranges.set(at(11), false));
        // The beginning was let through before anything was known of changes.
        assert_eq!(filtered(&mut ranges, &[9, 10, 19]), [(9, false)]);
        assert!(ranges.set(at(20), true));
        assert_eq!(filtered(&mut ranges, &[19, 21, 22]), [(20, true), (21, false), (22, false)]);
        assert!(ranges.holds(at(5)) && !ranges.holds(at(15)) && !ranges.is_everything());
    }

    #[test]
    fn what_waits_begins_without_a_gap() {
        let mut ranges = Ranges::new(false);
        assert_eq!(filtered(&mut ranges, &[1, 2]), []);
        ranges.set(at(3), true);
        assert_eq!(filtered(&mut ranges, &[2, 3, 4]), [(3, false), (4, false)]);
    }

    #[test]
    fn changes_without_end_take_bounded_memory_and_hold_for_what_is_recent() {
        let mut ranges = Ranges::new(true);
        for n in 1..100_000 {
            assert!(ranges.set(at(n * 10), n % 2 == 0));
        }
        assert!(ranges.changes.len() <= CHANGES_MAX);
        assert!(!ranges.holds(at(999_995)) && ranges.holds(at(999_985)) && ranges.holds(at(1)));
    }

    #[test]
    fn a_call_that_is_heard_late_counts_from_the_one_before() {
        let mut ranges = Ranges::new(true);
        ranges.set(at(10), false);
        ranges.set(at(7), true);
        assert!(ranges.holds(at(10)) && ranges.holds(at(6)));
    }
}
