//! Collects the names of threads from everything in a file that contains them.

use std::collections::BTreeMap;

use hemiola_units::Instant;

use crate::sched::{Thread, Tid};

/// A fact in a file other than an event; times are on the file's own clock.
pub(crate) enum Fact<'a> {
    /// The thread has that name at that time.
    Named(u64, Tid, &'a [u8]),
    /// The thread started, in that process, with that name; if empty, the name of the thread that created it.
    Began(u64, Tid, Process, &'a [u8]),
    /// The thread, in the process of that number, has that name at that time; if empty, only the process is known.
    Member(u64, Tid, u32, &'a [u8]),
    /// The thread has that name from that time on.
    Renamed(u64, Tid, &'a [u8]),
    /// The file contains a `sched_waking`.
    Waking,
    /// The file contains a wake-up without the flags that say whether an interrupt caused it.
    WithoutFlags,
    /// This many events were lost in total, at unknown places.
    Lost(u64),
    /// An event is earlier than the one before it, by this much.
    StepBack(u64),
}

/// The process of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Process {
    /// Its own.
    Own,
    /// That of the thread that created it.
    Of(Tid),
    /// The one with that number; that thread created it.
    Number(u32, Tid),
    /// Unknown.
    Unknown,
}

/// Collects information about threads, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Learner {
    known: BTreeMap<Tid, Vec<Thread>>,
    seen: Seen,
    /// Whether the file contains a `sched_waking`.
    pub(crate) waking: bool,
    /// Whether the file contains a wake-up without flags.
    pub(crate) without_flags: bool,
    /// The total number of lost events, as far as the file contains it.
    pub(crate) lost: u64,
    /// The step back of the clock since the last check.
    pub(crate) back_ns: Option<u64>,
}

impl Learner {
    /// Processes a fact.
    #[inline]
    pub(crate) fn take(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Named(at, tid, name) => {
                if !self.seen.just_now(tid, name) && !text(name).is_empty() {
                    self.seen(tid, at, 0, &text(name));
                }
            }
            Fact::Began(at, tid, process, name) => self.begin(at, tid, process, name),
            Fact::Member(at, tid, pid, name) => self.seen(tid, at, pid, &text(name)),
            Fact::Renamed(at, tid, name) => {
                self.add(tid, at, self.process(tid), &text(name), false);
            }
            Fact::Waking => self.waking = true,
            Fact::WithoutFlags => self.without_flags = true,
            Fact::Lost(events) => self.lost = self.lost.saturating_add(events),
            Fact::StepBack(by) => self.back_ns = Some(by),
        }
    }

    fn begin(&mut self, at: u64, tid: Tid, process: Process, name: &[u8]) {
        let (pid, maker) = match process {
            Process::Own => (tid.0, None),
            Process::Of(thread) => match self.process(thread) {
                0 => (thread.0, None),
                pid => (pid, None),
            },
            Process::Number(pid, maker) => (pid, Some(maker)),
            Process::Unknown => (0, None),
        };
        let mut name = text(name).into_owned();
        if let Some(maker) = maker.filter(|_| name.is_empty())
            && let Some(maker) = self.known.get(&maker).and_then(|known| known.last())
        {
            name.clone_from(&maker.name);
        }
        self.add(tid, at, pid, &name, true);
    }

    /// Records that the thread had that name at that time, and its process that number (0 if unknown).
    pub(crate) fn seen(&mut self, tid: Tid, at: u64, pid: u32, name: &str) {
        if tid == Tid::IDLE || tid == Tid::UNKNOWN {
            return;
        }
        let Some(last) = self.known.get_mut(&tid).and_then(|known| known.last_mut()) else {
            return self.add(tid, at, pid, name, false);
        };
        let other_process = pid != 0 && last.pid != 0 && pid != last.pid;
        if last.pid == 0 {
            last.pid = pid;
        }
        if last.name.is_empty() && !other_process {
            name.clone_into(&mut last.name);
        } else if other_process || (!name.is_empty() && last.name != name) {
            let pid = if pid == 0 { last.pid } else { pid };
            self.add(tid, at, pid, name, other_process);
        }
    }

    /// Sets the name of a thread about which nothing else is known.
    pub(crate) fn otherwise(&mut self, tid: Tid, name: &str) {
        if !self.known.contains_key(&tid) {
            self.seen(tid, 0, 0, name);
        }
    }

    fn add(&mut self, tid: Tid, at: u64, pid: u32, name: &str, new: bool) {
        if tid != Tid::IDLE && tid != Tid::UNKNOWN {
            let thread =
                Thread { tid, since: Instant::from_nanos(at), pid, name: name.into(), new };
            self.known.entry(tid).or_default().push(thread);
            self.seen.forget(tid);
        }
    }

    /// Returns the process of the thread; 0 if unknown.
    fn process(&self, tid: Tid) -> u32 {
        self.known.get(&tid).and_then(|known| known.last()).map_or(0, |last| last.pid)
    }

    /// Returns everything, by number and time, with times converted to the monotonic clock. The first entry of a
    /// thread that did not start in the recording is valid since before it.
    pub(crate) fn threads(self, monotonic: impl Fn(u64) -> u64) -> Vec<Thread> {
        let mut threads = Vec::new();
        for mut known in self.known.into_values() {
            known.sort_by_key(|thread| thread.since);
            known.dedup_by(|after, before| {
                !after.new && after.name == before.name && [0, before.pid].contains(&after.pid)
            });
            for (index, mut thread) in known.into_iter().enumerate() {
                thread.since = match index == 0 && !thread.new {
                    true => Instant::ZERO,
                    false => Instant::from_nanos(monotonic(thread.since.nanos())),
                };
                threads.push(thread);
            }
        }
        threads
    }
}

/// Decodes a name of the kernel: up to the first zero, with invalid UTF-8 replaced.
fn text(name: &[u8]) -> std::borrow::Cow<'_, str> {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end])
}

/// The threads and names seen most recently: nearly every event repeats one.
#[derive(Debug)]
struct Seen {
    slots: Vec<Slot>,
    /// Lookups since the last growth that did not find what was looked for.
    missed: usize,
}

type Slot = (Tid, [u8; NAME]);

const NOBODY: Slot = (Tid::UNKNOWN, [0; NAME]);

/// A table of this many slots grows when many threads share a slot, to 320 KiB at most.
const SLOTS: usize = 256;
const SLOTS_MAX: usize = 1 << 14;

/// A table grows after this many missed lookups for each slot: first lookups of threads are missed, too.
const MISSED_MAX: usize = 4;

/// `TASK_COMM_LEN` of the kernel.
const NAME: usize = 16;

impl Default for Seen {
    fn default() -> Self {
        Self { slots: vec![NOBODY; SLOTS], missed: 0 }
    }
}

impl Seen {
    #[inline]
    fn just_now(&mut self, tid: Tid, name: &[u8]) -> bool {
        let Some(name) = padded(name) else { return false };
        let slot = self.slot(tid);
        let is_there = self.slots[slot] == (tid, name);
        if !is_there {
            self.slots[slot] = (tid, name);
            self.miss();
        }
        is_there
    }

    /// The place of a thread. The number of slots is a power of two.
    #[inline]
    fn slot(&self, tid: Tid) -> usize {
        tid.0 as usize & (self.slots.len() - 1)
    }

    #[cold]
    fn miss(&mut self) {
        self.missed += 1;
        if self.missed > MISSED_MAX * self.slots.len() && self.slots.len() < SLOTS_MAX {
            *self = Self { slots: vec![NOBODY; 2 * self.slots.len()], missed: 0 };
        }
    }

    fn forget(&mut self, tid: Tid) {
        let slot = self.slot(tid);
        self.slots[slot] = NOBODY;
    }
}

#[inline]
fn padded(name: &[u8]) -> Option<[u8; NAME]> {
    if let Ok(name) = name.try_into() {
        return Some(name);
    }
    let mut padded = [0; NAME];
    padded.get_mut(..name.len())?.copy_from_slice(name);
    Some(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_that_share_slots_are_soon_found_and_keep_their_names() {
        let mut learner = Learner::default();
        let tids = || (1..=600).map(|number| Tid(number * 8));
        for turn in 0..200 {
            for tid in tids() {
                let name = if turn < 100 { "first" } else { "second" };
                learner.take(Fact::Named(turn, tid, name.as_bytes()));
            }
        }
        let missed = learner.seen.missed;
        tids().for_each(|tid| learner.take(Fact::Named(200, tid, b"second")));
        assert_eq!((learner.seen.missed, learner.seen.slots.len()), (missed, 8192));
        let threads = learner.threads(|at| at);
        let names: Vec<(u64, &str)> =
            threads.iter().map(|thread| (thread.since.nanos(), thread.name.as_str())).collect();
        assert_eq!(names, [(0, "first"), (100, "second")].repeat(600));
    }
}
