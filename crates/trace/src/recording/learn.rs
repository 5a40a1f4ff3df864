//! What threads are called, learnt from everything in a file that says so.

use std::collections::BTreeMap;

use hemiola_units::Instant;

use crate::sched::{Thread, Tid};

/// Collects what is known of threads, in the order of the file; times are on the file's own clock.
#[derive(Debug, Default)]
pub(crate) struct Learner {
    /// In the order it was said.
    known: BTreeMap<Tid, Vec<Thread>>,
}

impl Learner {
    /// At that moment the thread had that name, and its process that number (0 where not told).
    pub(crate) fn seen(&mut self, tid: Tid, at: u64, pid: u32, name: &str) {
        if tid == Tid::IDLE || tid == Tid::UNKNOWN {
            return;
        }
        let known = self.known.entry(tid).or_default();
        let since = Instant::from_nanos(at);
        let Some(last) = known.last_mut() else {
            known.push(Thread { tid, since: Instant::ZERO, pid, name: name.into(), new: false });
            return;
        };
        let other_process = pid != 0 && last.pid != 0 && pid != last.pid;
        if last.pid == 0 {
            last.pid = pid;
        }
        if last.name.is_empty() && !other_process {
            name.clone_into(&mut last.name);
        } else if other_process || (!name.is_empty() && last.name != name) {
            let pid = if pid == 0 { last.pid } else { pid };
            known.push(Thread { tid, since, pid, name: name.into(), new: other_process });
        }
    }

    /// At that moment the thread began; its process is `pid`, 0 where not told.
    pub(crate) fn began(&mut self, tid: Tid, at: u64, pid: u32, name: &str) {
        let since = Instant::from_nanos(at);
        let thread = Thread { tid, since, pid, name: name.into(), new: true };
        self.known.entry(tid).or_default().push(thread);
    }

    /// At that moment the thread took that name.
    pub(crate) fn renamed(&mut self, tid: Tid, at: u64, name: &str) {
        let known = self.known.entry(tid).or_default();
        let pid = known.last().map_or(0, |last| last.pid);
        let since = Instant::from_nanos(at);
        known.push(Thread { tid, since, pid, name: name.into(), new: false });
    }

    /// The process of the thread, as far as is known; 0 where it is not.
    pub(crate) fn process(&self, tid: Tid) -> u32 {
        self.known.get(&tid).and_then(|known| known.last()).map_or(0, |last| last.pid)
    }

    /// Everything, by number and time, with its moments put on the monotonic clock.
    pub(crate) fn threads(self, monotonic: impl Fn(u64) -> u64) -> Vec<Thread> {
        let mut threads = Vec::new();
        for mut known in self.known.into_values() {
            known.sort_by_key(|thread| thread.since);
            known.dedup_by(|after, before| {
                !after.new
                    && after.name == before.name
                    && (after.pid == before.pid || after.pid == 0)
            });
            threads.extend(known.into_iter().map(|mut thread| {
                if thread.since != Instant::ZERO {
                    thread.since = Instant::from_nanos(monotonic(thread.since.nanos()));
                }
                thread
            }));
        }
        threads
    }
}
