//! No mark allocates.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hemiola_record::{LOG_CAPACITY, Recorder, create_log};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_trace::{Entry, EventKind};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks of it.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counter is a constant-initialised
// thread-local without a destructor, which itself allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn marks_allocate_nothing_even_when_the_log_is_full() {
    let log = create_log("test", 1000).unwrap();
    let mut recorder = Recorder::new(log, MonotonicClock).unwrap();
    let before = ALLOCATIONS.get();
    for cycle in 0..LOG_CAPACITY {
        let at = recorder.mark(EventKind::Sample, 0, cycle, 1, 2);
        recorder.push(Entry { at, kind: EventKind::Finish, arg: 0, cycle, a: 3, b: 4 });
    }
    recorder.measure_pair(10);
    assert_eq!(ALLOCATIONS.get(), before);
    assert!(recorder.lost() > 0);

    // The counter counts.
    drop(std::hint::black_box(Box::new(recorder.clock().now())));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}
