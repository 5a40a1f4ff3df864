//! A flight recorder: keeps the last seconds in bounded memory.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use hemiola_record::marks::Task;
use hemiola_trace::Entry;
use hemiola_trace::sched::{Event, Thread, Tid};
use hemiola_units::{Instant, Span};

use super::file::TraceFile;

/// Events kept of all processors together: 192 MiB, or ten seconds of the highest known load of 800,000 per second.
pub(super) const EVENTS_MAX: usize = 8 << 20;
/// Entries kept per task.
const ENTRIES_MAX: usize = 1 << 18;
/// Thread records kept. Beyond this number, only the last record of each thread from before the kept time remains.
const THREADS_MAX: usize = 1 << 16;

/// The last seconds of a recording.
#[derive(Debug)]
pub(super) struct Kept {
    length: Span,
    events_max: usize,
    /// By processor.
    events: BTreeMap<u16, VecDeque<Event>>,
    threads: Vec<Thread>,
    tasks: BTreeMap<usize, (Task, VecDeque<Entry>)>,
    /// Whether recent data was dropped because memory was full.
    crowded: bool,
}

impl Kept {
    /// An empty recorder that keeps the last `length`, and at most `events_max` kernel events.
    pub(super) fn new(length: Span, events_max: usize) -> Self {
        let (events, tasks) = (BTreeMap::new(), BTreeMap::new());
        Self { length, events_max, events, threads: Vec::new(), tasks, crowded: false }
    }

    pub(super) fn threads(&mut self, threads: &[Thread]) {
        self.threads.extend_from_slice(threads);
    }

    pub(super) fn kernel(&mut self, cpu: u16, events: &[Event]) {
        self.events.entry(cpu).or_default().extend(events);
    }

    pub(super) fn entries(&mut self, task: &Task, entries: &[Entry]) {
        let (known, kept) =
            self.tasks.entry(task.number).or_insert_with(|| (task.clone(), VecDeque::new()));
        known.clone_from(task);
        kept.extend(entries);
    }

    /// Drops data that is too old at `now`, and the oldest data above the limits.
    pub(super) fn prune(&mut self, now: Instant) {
        let since = now - self.length;
        for events in self.events.values_mut() {
            events.drain(..events.partition_point(|event| event.at < since));
        }
        // Drop events of every processor up to the same time, so that the rest is complete.
        let mut count: usize = self.events.values().map(VecDeque::len).sum();
        while count > self.events_max {
            self.crowded = true;
            let longest = self.events.values().max_by_key(|events| events.len());
            let Some(excess) = longest.map(|events| (events.len() / 8).max(1)) else { break };
            let until = longest.and_then(|events| events.get(excess)).map_or(now, |event| event.at);
            for events in self.events.values_mut() {
                events.drain(..events.partition_point(|event| event.at <= until));
            }
            count = self.events.values().map(VecDeque::len).sum();
        }
        for (_, entries) in self.tasks.values_mut() {
            entries.drain(..entries.partition_point(|entry| entry.at < since));
            self.crowded |= entries.len() > ENTRIES_MAX;
            entries.drain(..entries.len().saturating_sub(ENTRIES_MAX));
        }
        self.tasks.retain(|_, (_, entries)| !entries.is_empty());
        if self.threads.len() > THREADS_MAX {
            self.forget_threads(since);
        }
    }

    /// Keeps only the last record of each thread from before `since`.
    fn forget_threads(&mut self, since: Instant) {
        let mut last: BTreeMap<Tid, usize> = BTreeMap::new();
        for (index, thread) in self.threads.iter().enumerate() {
            if thread.since <= since {
                last.insert(thread.tid, index);
            }
        }
        let mut index = 0;
        self.threads.retain(|thread| {
            index += 1;
            thread.since > since || last.get(&thread.tid) == Some(&(index - 1))
        });
        // Only reached if thread IDs are used up within seconds: drop the oldest.
        let excess = self.threads.len().saturating_sub(THREADS_MAX);
        self.threads.drain(..excess);
    }

    /// The time of the oldest kernel event kept.
    pub(super) fn first(&self) -> Option<Instant> {
        self.events.values().filter_map(|events| events.front()).map(|event| event.at).min()
    }

    /// Whether recent data was dropped because memory was full.
    pub(super) const fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Writes everything kept into the file, and keeps it.
    pub(super) fn spill(&mut self, file: &mut TraceFile) -> io::Result<()> {
        file.threads(&self.threads)?;
        for (cpu, events) in &mut self.events {
            file.kernel(*cpu, events.make_contiguous())?;
        }
        for (task, entries) in self.tasks.values_mut() {
            file.entries(task, entries.make_contiguous())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hemiola_trace::sched::What;

    use super::*;

    fn event(cpu: u16, at: u64) -> Event {
        Event { at: Instant::from_nanos(at), cpu, what: What::PageFault(false) }
    }

    fn kept_times(kept: &Kept, cpu: u16) -> Vec<u64> {
        kept.events[&cpu].iter().map(|event| event.at.nanos()).collect()
    }

    #[test]
    fn old_events_are_dropped() {
        let mut kept = Kept::new(Span::from_nanos(10), 100);
        kept.kernel(0, &[event(0, 5), event(0, 15), event(0, 25)]);
        kept.kernel(1, &[event(1, 3)]);
        kept.prune(Instant::from_nanos(25));
        assert_eq!((kept_times(&kept, 0), kept_times(&kept, 1)), (vec![15, 25], vec![]));
        assert!(!kept.is_crowded());
        assert_eq!(kept.first(), Some(Instant::from_nanos(15)));
    }

    #[test]
    fn excess_events_are_dropped_up_to_the_same_time_on_every_processor() {
        let mut kept = Kept::new(Span::from_nanos(1_000_000), 1000);
        for at in 0..5000 {
            kept.kernel(0, &[event(0, 2 * at)]);
            if at % 10 == 0 {
                kept.kernel(1, &[event(1, 2 * at + 1)]);
            }
            kept.prune(Instant::from_nanos(2 * at));
            assert!(kept.events.values().map(VecDeque::len).sum::<usize>() <= 1000);
        }
        let (many, few) = (kept_times(&kept, 0), kept_times(&kept, 1));
        assert!(kept.is_crowded() && many.len() > 700, "{}", many.len());
        assert!(few[0] > many[0] - 2 && few[0] <= many[0] + 21, "{} {}", few[0], many[0]);
        assert!(many.is_sorted() && many.last() == Some(&9998));
    }

    #[test]
    fn thread_records_are_bounded_and_keep_the_recent_and_the_last_before() {
        let mut kept = Kept::new(Span::from_nanos(100), 10);
        let thread = |tid, since| Thread {
            tid: Tid(tid),
            since: Instant::from_nanos(since),
            pid: 1,
            name: format!("{since}"),
            new: false,
        };
        kept.threads(&[thread(7, 0)]);
        for since in 1..200_000 {
            kept.threads(&[thread(8, since)]);
            kept.prune(Instant::from_nanos(since));
        }
        assert!(kept.threads.len() <= THREADS_MAX + 1);
        assert_eq!(kept.threads[0], thread(7, 0));
        assert_eq!(kept.threads.last(), Some(&thread(8, 199_999)));
    }
}
