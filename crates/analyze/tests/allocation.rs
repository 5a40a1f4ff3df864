//! The memory that an analysis takes for each thread, and a timeline for each switch.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hemiola_analyze::sched::{Options, analyze};
use hemiola_analyze::timeline::Timeline;
use hemiola_trace::Recording;
use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_units::{Instant, Random};

/// The allocator counts the whole process, so each test runs alone.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes allocated now, and the most so far.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counters of live bytes.
struct Counting;

fn count(size: usize) {
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged; the counters are atomics, which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The system moves what is large without a copy.
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        count(size);
        // SAFETY: the caller keeps the contract of `realloc`, which is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Threads that wake each other.
const GROUP: u32 = 40;
/// A thread wakes no other while so many wait for its processor.
const QUEUE_MAX: usize = 6;

/// A recording of threads in groups that wake each other on two processors. A fifth of the turns ends in preemption,
/// and timers keep the processors busy.
struct Machine {
    random: Random,
    asleep: Vec<bool>,
    queues: [VecDeque<u32>; 2],
    events: Vec<Event>,
}

/// No thread has the processor.
const IDLE: u32 = u32::MAX;

const fn tid(thread: u32) -> Tid {
    if thread == IDLE { Tid::IDLE } else { Tid(100 + thread) }
}

impl Machine {
    fn run(threads: u32, switches: usize) -> Recording {
        let mut machine = Self {
            random: Random::from_seed(1),
            asleep: vec![true; threads as usize],
            queues: Default::default(),
            events: Vec::new(),
        };
        let mut cpus = [(0, IDLE); 2];
        for _ in 0..switches {
            let c = usize::from(cpus[1].0 < cpus[0].0);
            cpus[c] = machine.turn(c, cpus[c]);
        }
        let named = (0..threads).map(|thread| Thread {
            tid: tid(thread),
            since: Instant::ZERO,
            pid: 100 + thread / GROUP * GROUP,
            name: format!("worker {thread}"),
            new: false,
        });
        Recording::new(machine.events, named.collect(), Vec::new())
    }

    /// The turn of a thread on a processor; returns when the next one begins, and whose it is.
    fn turn(&mut self, c: usize, (at, thread): (u64, u32)) -> (u64, u32) {
        let at = at + 1_000 + self.random.below(20_000);
        let mut left = Left::Preempted;
        if thread != IDLE {
            let mate = thread / GROUP * GROUP + self.random.below(u64::from(GROUP)) as u32;
            self.wake(at, c, mate, thread, Context::Thread);
            if self.random.below(5) == 0 {
                self.queues[c].push_back(thread);
            } else {
                (left, self.asleep[thread as usize]) = (Left::Sleeping, true);
            }
        }
        while self.queues[c].front().is_none_or(|next| *next == thread) {
            let any = self.random.below(self.asleep.len() as u64) as u32;
            self.wake(at, c, any / 2 * 2 + c as u32, thread, Context::Interrupt);
            let waiting = self.queues[c].len();
            self.queues[c].rotate_left(1.min(waiting));
        }
        let next = self.queues[c].pop_front().unwrap_or(IDLE);
        let what = What::Switch { prev: tid(thread), left, next: tid(next), priority: 120 };
        self.events.push(Event { at: Instant::from_nanos(at), cpu: c as u16, what });
        (at, next)
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
        self.events.push(Event { at: Instant::from_nanos(at), cpu: c as u16, what });
    }
}

/// The most bytes that `make` had at a time, and those of its result.
fn memory<T>(make: impl FnOnce() -> T) -> (usize, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let made = make();
    let after = LIVE.load(Ordering::Relaxed);
    drop(made);
    (PEAK.load(Ordering::Relaxed) - before, after - before)
}

#[test]
fn a_thread_takes_few_kilobytes_in_an_analysis() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const THREADS: u32 = 800;
    let recording = Machine::run(THREADS, 400 * THREADS as usize);
    let (peak, held) = memory(|| analyze(&recording, &Options::default()));
    let [peak, held] = [peak, held].map(|bytes| bytes / THREADS as usize);
    assert!(peak < 11_700 && held < 6_300, "{peak} bytes of a thread at a time, {held} in the end");
}

#[test]
fn a_switch_takes_few_bytes_in_a_timeline() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const SWITCHES: usize = 500_000;
    let recording = Machine::run(50, SWITCHES);
    let (_, held) = memory(|| Timeline::build(&recording));
    let held = held as f64 / SWITCHES as f64;
    assert!(held < 20.0, "{held:.1} bytes of a switch");
}
