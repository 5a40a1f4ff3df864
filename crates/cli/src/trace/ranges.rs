//! The time ranges that are recorded, which a program starts and stops.

use hemiola_trace::sched::{Event, Left, Tid, What};
use hemiola_units::{Instant, Span};

/// Changes kept; older ones are discarded.
const CHANGES_MAX: usize = 4096;

/// How much of a recording was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// All ranges together.
    pub(super) recorded: Span,
    /// From the beginning of the recording to the first range.
    pub(super) before: Span,
    /// From the last range to the end of the recording.
    pub(super) after: Span,
}

/// The ranges of time that are recorded and left out.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    /// Whether events before the first change are recorded.
    before: bool,
    /// The times at which recording was switched on or off, in order.
    changes: Vec<Instant>,
    /// Number of discarded changes.
    forgotten: usize,
    /// The times at which recording was switched off less those at which it was switched on, ns.
    balance_ns: i128,
    /// For each processor with a kept event.
    seen: Vec<Option<Seen>>,
    /// For each processor the switch, kept or left out, after which its thread runs.
    running: Vec<Option<What>>,
}

/// The changes and the last event of a processor.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The number of changes before its last kept event.
    changes: usize,
    /// The time of its last event, kept or left out.
    last: Instant,
}

impl Ranges {
    /// Starts with recording on or off.
    pub(super) fn new(recording: bool) -> Self {
        let (changes, seen, running) = (Vec::new(), Vec::new(), Vec::new());
        Self { before: recording, changes, forgotten: 0, balance_ns: 0, seen, running }
    }

    /// Switches recording on or off at `at`. Returns whether this is a change.
    pub(super) fn set(&mut self, at: Instant, recording: bool) -> bool {
        if self.state(self.changes.len()) == recording {
            return false;
        }
        // Calls of two threads at nearly the same time may arrive out of order.
        let at = self.changes.last().map_or(at, |last| at.max(*last));
        self.balance_ns += if recording { -1 } else { 1 } * i128::from(at.nanos());
        self.changes.push(at);
        if self.changes.len() > CHANGES_MAX {
            // An even number, so that `before` stays correct.
            self.changes.drain(..CHANGES_MAX / 2);
            self.forgotten += CHANGES_MAX / 2;
        }
        true
    }

    /// Whether everything has been recorded so far.
    pub(super) fn is_everything(&self) -> bool {
        self.before && self.changes.is_empty() && self.forgotten == 0
    }

    /// How much of a recording from `began` to `now` is in the ranges, and how long it was paused before the first one
    /// and after the last one. A recording without a range has only the former.
    pub(super) fn extent(&self, began: Instant, now: Instant) -> Extent {
        let is_on = self.state(self.changes.len());
        let nanos = |at: Instant| i128::from(at.nanos());
        let from = if self.before { nanos(began) } else { 0 };
        let to = if is_on { nanos(now) } else { 0 };
        let recorded = i64::try_from(self.balance_ns - from + to).unwrap_or(i64::MAX).max(0);
        let since = |at: Option<&Instant>| at.map_or(Span::ZERO, |at| (now - *at).max(Span::ZERO));
        let is_late = !self.before && self.forgotten == 0;
        let first = self.changes.first().copied().unwrap_or(now);
        Extent {
            recorded: Span::from_nanos(recorded),
            before: if is_late { (first - began).max(Span::ZERO) } else { Span::ZERO },
            after: if is_on { Span::ZERO } else { since(self.changes.last()) },
        }
    }

    /// Whether this time is recorded.
    pub(super) fn holds(&self, at: Instant) -> bool {
        self.state(self.count(at))
    }

    /// Removes the events that are not recorded. A [`What::Lost`] marks a range left out between two events of a
    /// processor. The thread that runs at the begin of each range follows, so that what it does first is its own.
    pub(super) fn filter(&mut self, cpu: u16, events: &mut Vec<Event>) {
        let index = usize::from(cpu);
        if self.seen.len() <= index {
            self.seen.resize(index + 1, None);
            self.running.resize(index + 1, None);
        }
        if self.is_everything() {
            if let Some(event) = events.last() {
                self.seen[index] = Some(Seen { changes: 0, last: event.at });
            }
            let running = &mut self.running[index];
            if let Some(last) = events.iter().rev().find(|event| tells_running(event.what)) {
                *running = arrival(last.what);
            }
            return;
        }
        let mut kept = Vec::with_capacity(events.len());
        for event in events.drain(..) {
            let count = self.count(event.at);
            let now = Seen { changes: self.forgotten + count, last: event.at };
            let running = self.running[index];
            if tells_running(event.what) {
                self.running[index] = arrival(event.what);
            }
            if !self.state(count) {
                if let Some(seen) = &mut self.seen[index] {
                    seen.last = event.at;
                }
                continue;
            }
            let before = self.seen[index].replace(now);
            if before.is_none_or(|before| before.changes != now.changes) {
                // The counts differ, so there was a change; the gap ends at the last one, or where a change was known
                // later than events after it.
                let change = self.changes.get(count.wrapping_sub(1)).copied().unwrap_or(event.at);
                let at = before.map_or(change, |before| change.max(before.last));
                if before.is_some() {
                    kept.push(Event { at, cpu, what: What::Lost(0) });
                }
                if let Some(what) = running.filter(|_| count > 0) {
                    kept.push(Event { at, cpu, what });
                }
            }
            kept.push(event);
        }
        *events = kept;
    }

    /// The number of changes at or before this time.
    fn count(&self, at: Instant) -> usize {
        self.changes.partition_point(|change| *change <= at)
    }

    /// Whether recording is on after this many changes.
    fn state(&self, changes: usize) -> bool {
        self.before == changes.is_multiple_of(2)
    }
}

/// Whether the thread that runs is another one afterwards, or unknown.
const fn tells_running(what: What) -> bool {
    matches!(what, What::Switch { .. } | What::Lost(_) | What::Online(_))
}

/// The begin of a range in which the thread runs that had its processor after this event, if that is known.
const fn arrival(what: What) -> Option<What> {
    match what {
        What::Switch { next, priority, .. } => {
            Some(What::Switch { prev: Tid::UNKNOWN, left: Left::Unknown, next, priority })
        }
        _ => None,
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
    fn pauses_at_both_ends_and_between_are_not_recorded() {
        let extent = |ranges: &Ranges| {
            let Extent { recorded, before, after } = ranges.extent(at(100), at(1_000));
            [recorded.nanos(), before.nanos(), after.nanos()]
        };
        let mut ranges = Ranges::new(false);
        assert_eq!(extent(&ranges), [0, 900, 0]);
        ranges.set(at(300), true);
        assert_eq!(extent(&ranges), [700, 200, 0]);
        ranges.set(at(400), false);
        assert_eq!(extent(&ranges), [100, 200, 600]);
        ranges.set(at(700), true);
        ranges.set(at(750), false);
        assert_eq!(extent(&ranges), [150, 200, 250]);
        let mut ranges = Ranges::new(true);
        assert_eq!(extent(&ranges), [900, 0, 0]);
        ranges.set(at(300), false);
        assert_eq!(extent(&ranges), [200, 0, 700]);
        // More changes than are kept: 1 ns of each 2 was recorded.
        let mut ranges = Ranges::new(false);
        for change in 0..3 * CHANGES_MAX as u64 {
            ranges.set(at(200 + change), change % 2 == 0);
        }
        let all = ranges.extent(at(100), at(200 + 3 * CHANGES_MAX as u64));
        assert_eq!((all.recorded.nanos(), all.after.nanos()), (3 * CHANGES_MAX as i64 / 2, 1));
    }

    #[test]
    fn a_range_between_stop_and_start_is_left_out_and_marked() {
        let mut ranges = Ranges::new(true);
        assert_eq!(filtered(&mut ranges, &[1, 9]), [(1, false), (9, false)]);
        assert!(ranges.set(at(10), false) && !ranges.set(at(11), false));
        // The first events were kept before the stop was known.
        assert_eq!(filtered(&mut ranges, &[9, 10, 19]), [(9, false)]);
        assert!(ranges.set(at(20), true));
        assert_eq!(filtered(&mut ranges, &[19, 21, 22]), [(20, true), (21, false), (22, false)]);
        assert!(ranges.holds(at(5)) && !ranges.holds(at(15)) && !ranges.is_everything());
    }

    #[test]
    fn the_thread_that_runs_at_the_begin_of_a_range_is_told() {
        let switch = |prev, next| What::Switch { prev, left: Left::Sleeping, next, priority: 40 };
        let came = |next| arrival(switch(Tid::UNKNOWN, next)).unwrap();
        let calls = What::CallEntry(1);
        let filtered = |ranges: &mut Ranges, all: &[(u64, What)]| {
            let event = |&(nanos, what)| Event { at: at(nanos), cpu: 1, what };
            let mut events = all.iter().map(event).collect();
            ranges.filter(1, &mut events);
            events.iter().map(|event| (event.at.nanos(), event.what)).collect::<Vec<_>>()
        };
        let [one, two] = [Tid(1), Tid(2)];
        let mut ranges = Ranges::new(true);
        filtered(&mut ranges, &[(1, switch(two, one)), (2, calls)]);
        ranges.set(at(10), false);
        ranges.set(at(20), true);
        // Its thread ran all the time; then another one came meanwhile.
        let expected = [(20, What::Lost(0)), (20, came(one)), (21, calls)];
        assert_eq!(filtered(&mut ranges, &[(15, calls), (21, calls)]), expected);
        ranges.set(at(30), false);
        ranges.set(at(40), true);
        let expected = [(40, What::Lost(0)), (40, came(two)), (41, calls)];
        assert_eq!(filtered(&mut ranges, &[(35, switch(one, two)), (41, calls)]), expected);
        // Events were lost.
        ranges.set(at(50), false);
        ranges.set(at(60), true);
        let expected = [(60, What::Lost(0)), (61, calls)];
        assert_eq!(filtered(&mut ranges, &[(55, What::Lost(3)), (61, calls)]), expected);
        let mut paused = Ranges::new(false);
        paused.set(at(5), true);
        let expected = [(5, came(one)), (6, calls)];
        assert_eq!(filtered(&mut paused, &[(1, switch(two, one)), (6, calls)]), expected);
    }

    #[test]
    fn a_stop_that_is_known_late_leaves_a_marked_gap() {
        let mut ranges = Ranges::new(true);
        // Events after the stop were kept before it was known.
        assert_eq!(filtered(&mut ranges, &[9, 15]), [(9, false), (15, false)]);
        ranges.set(at(10), false);
        assert_eq!(filtered(&mut ranges, &[16, 19]), []);
        ranges.set(at(20), true);
        assert_eq!(filtered(&mut ranges, &[21]), [(20, true), (21, false)]);
    }

    #[test]
    fn a_start_that_is_known_late_ends_the_gap_where_events_are_kept_again() {
        let mut ranges = Ranges::new(true);
        ranges.set(at(10), false);
        assert_eq!(filtered(&mut ranges, &[9, 12, 25]), [(9, false)]);
        ranges.set(at(20), true);
        assert_eq!(filtered(&mut ranges, &[26]), [(25, true), (26, false)]);
        // Both are known after the last kept event.
        ranges.set(at(22), false);
        ranges.set(at(24), true);
        assert_eq!(filtered(&mut ranges, &[27]), [(26, true), (27, false)]);
    }

    #[test]
    fn a_paused_recording_starts_without_a_gap() {
        let mut ranges = Ranges::new(false);
        assert_eq!(filtered(&mut ranges, &[1, 2]), []);
        ranges.set(at(3), true);
        assert_eq!(filtered(&mut ranges, &[2, 3, 4]), [(3, false), (4, false)]);
    }

    #[test]
    fn many_changes_take_bounded_memory_and_recent_ones_are_kept() {
        let mut ranges = Ranges::new(true);
        for n in 1..100_000 {
            assert!(ranges.set(at(n * 10), n % 2 == 0));
        }
        assert!(ranges.changes.len() <= CHANGES_MAX);
        assert!(!ranges.holds(at(999_995)) && ranges.holds(at(999_985)) && ranges.holds(at(1)));
    }

    #[test]
    fn a_late_call_takes_effect_at_the_time_of_the_previous_one() {
        let mut ranges = Ranges::new(true);
        ranges.set(at(10), false);
        ranges.set(at(7), true);
        assert!(ranges.holds(at(10)) && ranges.holds(at(6)));
    }
}
