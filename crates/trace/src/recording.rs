//! A recording: what the kernel did and what programs marked, whatever file it came from.

use std::collections::BTreeSet;

use hemiola_units::Instant;

use crate::perfetto::Track;
use crate::sched::{Event, Thread, Tid};

/// A recording of a whole machine or of one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What it was made with and under, as names and texts.
    pub conditions: Vec<(String, String)>,
    /// When it began: on the monotonic clock, and in nanoseconds since 1970 UTC.
    pub began: Option<(Instant, u64)>,
    /// Every thread that is named, by number and then by time.
    pub threads: Vec<Thread>,
    /// What programs marked: one for each marking thread.
    pub tracks: Vec<Track>,
    /// Processors of which there are events, ascending.
    pub cpus: Vec<u16>,
    /// In order of time; events of one processor at the same moment are in the order they happened.
    events: Vec<Event>,
}

impl Recording {
    /// A recording of these events, in any order of processors; those of one processor must be in order.
    #[must_use]
    pub fn new(mut events: Vec<Event>, mut threads: Vec<Thread>, tracks: Vec<Track>) -> Self {
        events.sort_by_key(|event| event.at);
        threads.sort();
        let cpus: BTreeSet<u16> = events.iter().map(|event| event.cpu).collect();
        Self { threads, tracks, cpus: cpus.into_iter().collect(), events, ..Self::default() }
    }

    /// Every event of the kernel, in order of time.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.events.iter().copied()
    }

    /// What is known of a thread at a moment: the entry that holds then, or the first there is.
    #[must_use]
    pub fn thread(&self, tid: Tid, at: Instant) -> Option<&Thread> {
        let first = self.threads.partition_point(|thread| thread.tid < tid);
        let after = self.threads.partition_point(|thread| (thread.tid, thread.since) <= (tid, at));
        let found = self.threads.get(if after > first { after - 1 } else { first })?;
        (found.tid == tid).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_name_it_had_at_the_moment() {
        let thread = |since, name: &str, new| Thread {
            tid: Tid(7),
            since: Instant::from_nanos(since),
            pid: 7,
            name: name.into(),
            new,
        };
        let threads =
            vec![thread(500, "io", false), thread(0, "bash", false), thread(900, "cat", true)];
        let recording = Recording::new(Vec::new(), threads, Vec::new());
        let name =
            |at| recording.thread(Tid(7), Instant::from_nanos(at)).map(|found| found.name.as_str());
        assert_eq!([name(3), name(500), name(2000)], [Some("bash"), Some("io"), Some("cat")]);
        assert_eq!(recording.thread(Tid(8), Instant::ZERO), None);
    }
}
