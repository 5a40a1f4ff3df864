//! What truly delays the threads of a processor.

use std::collections::BTreeSet;

use super::TrueDelay;
use crate::sched::DelayKind;

/// The delays of one thread: of its job under way, and all its waits for the processor.
#[derive(Debug, Default)]
pub(super) struct Truth {
    delays: Vec<TrueDelay>,
    waits: Vec<Wait>,
    /// The thread has run since its last wait.
    has_run: bool,
    /// Since when it waits for a mutex.
    blocked_since: u64,
}

/// A time in which a thread was ready and did not run.
#[derive(Debug)]
struct Wait {
    from: u64,
    to: u64,
    /// The threads that had the processor.
    tids: BTreeSet<u32>,
}

impl Truth {
    /// The thread gets the processor.
    pub(super) const fn runs(&mut self) {
        self.has_run = true;
    }

    /// The thread was ready between two moments, and another one ran.
    pub(super) fn waits(&mut self, tid: u32, kind: DelayKind, from: u64, to: u64) {
        self.add(kind, tid, to - from);
        match self.waits.last_mut() {
            Some(wait) if wait.to == from && !self.has_run => wait.to = to,
            _ => self.waits.push(Wait { from, to, tids: BTreeSet::new() }),
        }
        self.has_run = false;
        self.waits.last_mut().expect("one was added").tids.insert(tid);
    }

    /// The thread begins to wait for a mutex.
    pub(super) const fn blocks(&mut self, at: u64) {
        self.blocked_since = at;
    }

    /// The thread is given the mutex by `holder`.
    pub(super) fn is_given(&mut self, holder: u32, of_holder: (u64, BTreeSet<u32>), at: u64) {
        let ns = at - self.blocked_since;
        let (behind_ns, behind) = of_holder;
        self.delays.push(TrueDelay {
            kind: DelayKind::Blocked,
            tid: holder,
            ns,
            behind_ns,
            behind,
        });
    }

    pub(super) const fn blocked_since(&self) -> u64 {
        self.blocked_since
    }

    /// The longest wait of the thread since a moment, and the threads that had the processor in it.
    pub(super) fn longest_since(&self, moment: u64) -> (u64, BTreeSet<u32>) {
        let length = |wait: &Wait| wait.to.saturating_sub(wait.from.max(moment));
        let since = || self.waits.iter().rev().take_while(|wait| wait.to > moment);
        let longest = since().map(length).max().unwrap_or(0);
        let waits = since().filter(|wait| length(wait) == longest);
        (longest, waits.flat_map(|wait| &wait.tids).copied().collect())
    }

    /// Takes the delays of the job that is over.
    pub(super) fn take(&mut self) -> Vec<TrueDelay> {
        std::mem::take(&mut self.delays)
    }

    fn add(&mut self, kind: DelayKind, tid: u32, ns: u64) {
        let same = |delay: &&mut TrueDelay| delay.kind == kind && delay.tid == tid;
        match self.delays.iter_mut().find(same) {
            Some(delay) => delay.ns += ns,
            None if ns > 0 => {
                let (behind_ns, behind) = (0, BTreeSet::new());
                self.delays.push(TrueDelay { kind, tid, ns, behind_ns, behind });
            }
            None => {}
        }
    }
}
