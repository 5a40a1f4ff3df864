//! The memory that an analysis takes for each thread, and a timeline for each switch, how often an analysis allocates,
//! and whether the simulation of these recordings is sound.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hemiola_analyze::Spill;
use hemiola_analyze::sched::{Options, analyze};
use hemiola_analyze::timeline::Timeline;
use hemiola_trace::Recording;
use hemiola_trace::sched::{Left, Tid, What};
use hemiola_trace::source::ByteSource;
use hemiola_units::Instant;

#[path = "support/machine.rs"]
mod machine;

use machine::{Machine, named};

/// The allocator counts the whole process, so each test runs alone.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes allocated now, and the most so far.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// How often memory was allocated, or an allocation changed its size.
static TIMES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counters.
struct Counting;

fn count(size: usize) {
    TIMES.fetch_add(1, Ordering::Relaxed);
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

fn recording(threads: u32, switches: usize) -> Recording {
    let mut events = Vec::new();
    Machine::run(threads, switches, |event| events.push(event));
    Recording::new(events, named(threads), Vec::new())
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
    let recording = recording(THREADS, 400 * THREADS as usize);
    let (peak, held) = memory(|| analyze(&recording, &Options::default()));
    let [peak, held] = [peak, held].map(|bytes| bytes / THREADS as usize);
    assert!(peak < 9_200 && held < 2_700, "{peak} bytes of a thread at a time, {held} in the end");
}

#[test]
fn an_analysis_does_not_allocate_for_each_switch() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const SWITCHES: usize = 400_000;
    let recording = recording(50, SWITCHES);
    let before = TIMES.load(Ordering::Relaxed);
    let report = analyze(&recording, &Options::default());
    let times = TIMES.load(Ordering::Relaxed) - before;
    assert_eq!(report.switches, SWITCHES as u64);
    assert!(times < SWITCHES / 4, "{times} allocations");
}

#[test]
fn a_switch_takes_few_bytes_in_a_timeline() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const SWITCHES: usize = 500_000;
    let recording = recording(50, SWITCHES);
    let (_, held) = memory(|| Timeline::build(&recording));
    let held = held as f64 / SWITCHES as f64;
    assert!(held < 18.5, "{held:.1} bytes of a switch");
}

/// Accepts whatever is appended and counts it.
#[derive(Default)]
struct Counted(AtomicU64);

impl ByteSource for Counted {
    fn size(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Spill for Counted {
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        Ok(self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed))
    }

    fn clear(&self) -> io::Result<()> {
        self.0.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn kept_max(&self) -> usize {
        0
    }
}

#[test]
fn most_of_a_switch_in_a_timeline_is_outside_if_there_is_room() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const SWITCHES: usize = 500_000;
    let recording = recording(50, SWITCHES);
    let spill = Arc::new(Counted::default());
    let (_, held) =
        memory(|| Timeline::spilling(&recording, &Options::default(), Arc::clone(&spill) as _));
    let [held, outside] = [held as u64, spill.size()].map(|bytes| bytes as f64 / SWITCHES as f64);
    assert!(held < 1.4, "{held:.1} bytes of a switch, and {outside:.1} outside");
}

#[test]
fn any_number_of_threads_makes_a_recording_that_contradicts_itself_nowhere() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for threads in [0, 1, 2, 3, 4, 5, 50, 200] {
        let (mut switches, mut now) = (0, Instant::ZERO);
        let mut running = [Tid::IDLE; 2];
        let mut asleep = vec![true; threads as usize];
        Machine::run(threads, 5_000, |event| {
            assert!(now <= event.at, "{threads} threads: {event:?}");
            now = event.at;
            let number = |tid: Tid| (tid.0 - 100) as usize;
            match event.what {
                What::Switch { prev, left, next, .. } => {
                    switches += 1;
                    let has = &mut running[usize::from(event.cpu)];
                    assert!(*has == prev && prev != next, "{threads} threads: {event:?}");
                    *has = next;
                    if prev != Tid::IDLE {
                        asleep[number(prev)] = left == Left::Sleeping;
                    }
                    assert!(next == Tid::IDLE || !asleep[number(next)], "{event:?}");
                }
                What::Wake { tid, .. } => asleep[number(tid)] = false,
                _ => {}
            }
        });
        assert_eq!(switches, if threads > 0 { 5_000 } else { 0 }, "{threads} threads");
    }
}
