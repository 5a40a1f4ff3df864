//! What the walk over a recording says to those that draw it: which thread runs where, waits for what, and was woken by
//! which thread.
//!
//! The engine alone decides this. The timeline of the page and the drawing in characters follow it, so they show what
//! the figures count.

use super::tally::Code;

/// The state of a thread from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It sleeps, or has ended.
    Asleep,
    /// It waits in the kernel for a device or a lock.
    Blocked,
    /// It was woken by this thread or interrupt, and waits for the processor on which it runs next.
    Woken(Code),
    /// This thread took its processor, or was given it, and it waits for the same processor.
    Preempted(Code),
    /// It has used up its reservation under `SCHED_DEADLINE`.
    Throttled,
    /// It has this processor.
    Running(u16),
    /// It is unknown.
    Unseen,
}

/// Jobs that follow each other without a sleep, whose ends are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Several {
    /// The release of the first, ns.
    pub(crate) release: u64,
    /// How many count in the figures.
    pub(crate) jobs: u64,
    /// The processor time of these, ns.
    pub(crate) execution: u64,
    /// The greatest of them, ns.
    pub(crate) execution_max: u64,
}

/// Follows the walk. Threads are indices of the engine; times of one thread or processor never decrease.
pub(crate) trait Follow {
    /// The walk begins, or begins again with the gaps and periods that it found.
    fn restart(&mut self);

    /// A processor has this thread from a moment on, is idle, or is unknown.
    fn processor(&mut self, cpu: u16, at: u64, has: Code);

    /// A processor begins to serve an interrupt, or ends the outermost one.
    fn interrupt(&mut self, cpu: u16, at: u64, serves: Option<Code>);

    /// A thread changes its state.
    fn thread(&mut self, thread: usize, at: u64, doing: Doing);

    /// The next change of the thread is the release of a job.
    fn release(&mut self, thread: usize);

    /// The job of the thread is over; `complete`: everything since its release was seen, and it is no start-up.
    fn close(&mut self, thread: usize, complete: bool);

    /// Since the last release of the thread, a job ended at `finish`, and the next one, released at `next`, began
    /// without a sleep. If the thread has another release at that moment, it begins that next job.
    fn over(&mut self, _thread: usize, _finish: u64, _next: u64) {}

    /// The job of the thread that is about to be closed ended at `finish`: the thread went on to something else.
    fn left(&mut self, _thread: usize, _finish: u64) {}

    /// What the thread did since its last release were several jobs, whose ends are not known.
    fn several(&mut self, _thread: usize, _several: Several) {}

    /// A job that the program marked is over, which its track began at that moment; `complete`: all of it was seen.
    fn marked(&mut self, _track: usize, _start: u64, _complete: bool) {}

    /// A thread enters a system call of that number, or returns from it.
    fn call(&mut self, _thread: usize, _at: u64, _number: Option<u16>) {}

    /// A thread has a page fault.
    fn page_fault(&mut self, thread: usize, at: u64, in_kernel: bool);

    /// The walk ends at that moment. It may begin again.
    fn end(&mut self, _at: u64) {}
}
