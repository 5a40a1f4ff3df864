//! A recording of threads that wake each other, of any length.

use std::collections::VecDeque;

use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_units::{Instant, Random};

/// Threads that wake each other.
const GROUP: u32 = 40;
/// A thread wakes no other while so many wait for its processor.
const QUEUE_MAX: usize = 6;

/// A recording of threads in groups that wake each other on two processors. A fifth of the turns ends in preemption,
/// and timers keep the processors busy.
pub(crate) struct Machine<F> {
    random: Random,
    asleep: Vec<bool>,
    queues: [VecDeque<u32>; 2],
    each: F,
}

/// No thread has the processor.
const IDLE: u32 = u32::MAX;

const fn tid(thread: u32) -> Tid {
    if thread == IDLE { Tid::IDLE } else { Tid(100 + thread) }
}

/// The names of that many threads.
pub(crate) fn named(threads: u32) -> Vec<Thread> {
    let named = |thread| Thread {
        tid: tid(thread),
        since: Instant::ZERO,
        pid: 100 + thread / GROUP * GROUP,
        name: format!("worker {thread}"),
        new: false,
    };
    (0..threads).map(named).collect()
}

impl<F: FnMut(Event)> Machine<F> {
    /// Passes each event of that many switches of that many threads on, in order of time; none without a thread.
    pub(crate) fn run(threads: u32, switches: usize, each: F) {
        let asleep = vec![true; threads as usize];
        let random = Random::from_seed(1);
        let mut machine = Self { random, asleep, queues: Default::default(), each };
        // The end of the turn on each processor, and whose turn it is.
        let mut turns = [(0, IDLE); 2];
        for _ in 0..if threads > 0 { switches } else { 0 } {
            // A single thread leaves the second processor idle.
            let c = usize::from(threads > 1 && turns[1].0 < turns[0].0);
            let (at, thread) = turns[c];
            let next = machine.switch(at, c, thread);
            turns[c] = (at + 1_000 + machine.random.below(20_000), next);
        }
    }

    /// The turn of a thread on a processor ends; returns whose the next one is.
    fn switch(&mut self, at: u64, c: usize, thread: u32) -> u32 {
        // Threads have the processor of their parity.
        let is_alone = self.asleep.len() < c + 3;
        let mut left = Left::Preempted;
        if thread != IDLE {
            let mate = thread / GROUP * GROUP + self.random.below(u64::from(GROUP)) as u32;
            self.wake(at, c, mate, thread, Context::Thread);
            if self.random.below(5) == 0 && !is_alone {
                self.queues[c].push_back(thread);
            } else {
                (left, self.asleep[thread as usize]) = (Left::Sleeping, true);
            }
        }
        // After the only thread of a processor, that is idle until a timer wakes the thread again.
        let is_kept_busy = thread == IDLE || !is_alone;
        while is_kept_busy && self.queues[c].front().is_none_or(|next| *next == thread) {
            let any = self.random.below(self.asleep.len() as u64) as u32;
            self.wake(at, c, any / 2 * 2 + c as u32, thread, Context::Interrupt);
            let waiting = self.queues[c].len();
            self.queues[c].rotate_left(1.min(waiting));
        }
        let next = self.queues[c].pop_front().unwrap_or(IDLE);
        let what = What::Switch { prev: tid(thread), left, next: tid(next), priority: 120 };
        (self.each)(Event { at: Instant::from_nanos(at), cpu: c as u16, what });
        next
    }

    /// Wakes a thread if it sleeps; it waits for the processor of its parity.
    fn wake(&mut self, at: u64, c: usize, thread: u32, waker: u32, context: Context) {
        let target = thread as usize % 2;
        let Some(asleep) = self.asleep.get_mut(thread as usize).filter(|asleep| **asleep) else {
            return;
        };
        if thread == waker || self.queues[target].len() >= QUEUE_MAX {
            return;
        }
        *asleep = false;
        self.queues[target].push_back(thread);
        let what =
            What::Wake { tid: tid(thread), waker: tid(waker), context, target: target as u16 };
        (self.each)(Event { at: Instant::from_nanos(at), cpu: c as u16, what });
    }
}
