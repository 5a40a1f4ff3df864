//! What threads are called, learnt from everything in a file that says so.

use std::collections::BTreeMap;

use hemiola_units::Instant;

use crate::sched::{Thread, Tid};

/// What a part of a file tells besides events; moments are on the file's own clock.
pub(crate) enum Told<'a> {
    /// The thread has that name at that moment.
    Named(u64, Tid, &'a [u8]),
    /// The thread began, in that process, and has that name; no name: that of the thread that made it.
    Began(u64, Tid, Process, &'a [u8]),
    /// The thread, in the process of that number, has that name at that moment; no name: only the process is told.
    Member(u64, Tid, u32, &'a [u8]),
    /// The thread has that name from now on.
    Renamed(u64, Tid, &'a [u8]),
    /// There is a `sched_waking`.
    Waking,
    /// So many events were lost in all, somewhere.
    Lost(u64),
    /// An event is earlier than the one before it, by so much.
    StepBack(u64),
}

/// Which process a thread is in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Process {
    /// One of its own.
    Own,
    /// That of the thread that made it.
    Of(Tid),
    /// The one of that number; that thread made it.
    Number(u32, Tid),
    /// Nobody says.
    Unknown,
}

/// Collects what is known of threads, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Learner {
    known: BTreeMap<Tid, Vec<Thread>>,
    seen: Seen,
    /// Whether there is a `sched_waking` anywhere.
    pub(crate) waking: bool,
    /// How many events were lost in all, as far as the file says so.
    pub(crate) lost: u64,
    /// By how much the clock stepped back since this was looked at last.
    pub(crate) back_ns: Option<u64>,
}

impl Learner {
    /// Takes in what a part of the file tells.
    #[inline]
    pub(crate) fn take(&mut self, told: Told<'_>) {
        match told {
            Told::Named(at, tid, name) => {
                if !self.seen.just_now(tid, name) && !text(name).is_empty() {
                    self.seen(tid, at, 0, &text(name));
                }
            }
            Told::Began(at, tid, process, name) => self.begin(at, tid, process, name),
            Told::Member(at, tid, pid, name) => self.seen(tid, at, pid, &text(name)),
            Told::Renamed(at, tid, name) => {
                self.add(tid, at, self.process(tid), &text(name), false);
            }
            Told::Waking => self.waking = true,
            Told::Lost(events) => self.lost = self.lost.saturating_add(events),
            Told::StepBack(by) => self.back_ns = Some(by),
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

    /// At that moment the thread had that name, and its process that number (0 where not told).
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

    /// The thread has that name, if nothing else is known of it.
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

    /// The process of the thread, as far as is known; 0 where it is not.
    fn process(&self, tid: Tid) -> u32 {
        self.known.get(&tid).and_then(|known| known.last()).map_or(0, |last| last.pid)
    }

    /// Everything, by number and time, with its moments put on the monotonic clock. What is known first of a thread
    /// that did not begin in the recording holds since before it.
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

/// A name as the kernel writes it: up to the first zero, and what is not UTF-8 replaced.
fn text(name: &[u8]) -> std::borrow::Cow<'_, str> {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end])
}

/// Which threads were seen just now with which name: nearly every event repeats one.
#[derive(Debug)]
struct Seen(Vec<(Tid, [u8; NAME])>);

const SLOTS: usize = 256;
/// `TASK_COMM_LEN` of the kernel.
const NAME: usize = 16;

impl Default for Seen {
    fn default() -> Self {
        Self(vec![(Tid::UNKNOWN, [0; NAME]); SLOTS])
    }
}

impl Seen {
    #[inline]
    fn just_now(&mut self, tid: Tid, name: &[u8]) -> bool {
        let Some(name) = padded(name) else { return false };
        let slot = &mut self.0[tid.0 as usize % SLOTS];
        let now = (tid, name);
        std::mem::replace(slot, now) == now
    }

    fn forget(&mut self, tid: Tid) {
        self.0[tid.0 as usize % SLOTS] = (Tid::UNKNOWN, [0; NAME]);
    }
}

#[inline]
fn padded(name: &[u8]) -> Option<[u8; NAME]> {
    let mut padded = [0; NAME];
    padded.get_mut(..name.len())?.copy_from_slice(name);
    Some(padded)
}
