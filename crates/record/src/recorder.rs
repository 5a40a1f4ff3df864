//! The writing side: marks into a log in shared memory.

use std::os::fd::OwnedFd;

use hemiola_rt::clock::{Clock, FastClock};
use hemiola_rt::shared::{Access, ENTRY_SIZE, LogWriter, Segment, SegmentError, SegmentKind};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Rate, Span};

/// Entries a log holds unless there is a reason for another size: half a megabyte.
pub const LOG_CAPACITY: u32 = 1 << 14;

/// The most entries that [`log_capacity`] gives: 4 MiB, half of the memory that an ordinary user may lock.
const LOG_CAPACITY_MAX: u32 = 1 << 17;

/// Entries of one job, more than any process of ours makes.
const ENTRIES_PER_JOB: f64 = 16.0;

/// The longest time for which the reader of a log may be delayed, in seconds. The kernel lets ordinary threads run for
/// 50 ms in each second, whatever real-time threads do (sched(7)).
const READ_WITHIN: f64 = 1.0;

/// Entries that the log of a process with this rate holds: those of a second, within limits, so that nothing is lost
/// if the reader is delayed for as long.
#[must_use]
pub fn log_capacity(rate: Rate) -> u32 {
    let entries = (rate.hertz() * ENTRIES_PER_JOB * READ_WITHIN).ceil() as u32;
    entries.clamp(LOG_CAPACITY, LOG_CAPACITY_MAX).next_power_of_two()
}

/// Makes the memory a process records into; `label` shows in its `/proc/PID/maps`.
///
/// # Errors
/// When the kernel gives no memory or no descriptor.
pub fn create_log(label: &str, capacity: u32) -> Result<Segment, SegmentError> {
    Segment::create(label, SegmentKind::Log, ENTRY_SIZE, capacity)
}

/// The one writer of a log, with the clock that stamps its marks.
///
/// After it is made nothing here makes a system call or allocates. When the log is full, marks are
/// dropped and counted; the drain puts their number into the trace.
#[derive(Debug)]
pub struct Recorder<C = FastClock> {
    log: LogWriter,
    clock: C,
}

impl<C: Clock> Recorder<C> {
    /// The recorder of a log in this process.
    ///
    /// # Errors
    /// When the segment is no log, or mapped read-only.
    pub fn new(log: Segment, clock: C) -> Result<Self, SegmentError> {
        Ok(Self { log: LogWriter::attach(log)?, clock })
    }

    /// The recorder of a log whose descriptor was inherited.
    ///
    /// # Errors
    /// When the descriptor is no writable log.
    pub fn attach(fd: OwnedFd, clock: C) -> Result<Self, SegmentError> {
        Self::new(Segment::from_fd(fd, Access::ReadWrite)?, clock)
    }

    /// The clock of the marks, so that the periodic loop uses the same one.
    pub const fn clock(&mut self) -> &mut C {
        &mut self.clock
    }

    /// Records that something happens now, and returns when that is.
    #[inline]
    pub fn mark(&mut self, kind: EventKind, arg: u16, cycle: u32, a: u64, b: u64) -> Instant {
        let at = self.clock.now();
        self.push(Entry { at, kind, arg, cycle, a, b });
        at
    }

    /// Records what has its stamp already.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.log.push(entry.to_words());
    }

    /// Measures what a mark costs, by `count` marks back to back: each is a [`EventKind::Pair`] entry that says
    /// how long after the one before it came. The first has none before it and says 0.
    ///
    /// Some processors step their counter by about 10 ns, which is a mark's own cost: there the mean
    /// means more than the median.
    pub fn measure_pair(&mut self, count: u32) {
        let mut before = None;
        for _ in 0..count {
            let at = self.clock.now();
            let pair = before.map_or(Span::ZERO, |before| at - before);
            let pair_ns = u64::try_from(pair.nanos()).unwrap_or(0);
            self.push(Entry { at, kind: EventKind::Pair, arg: 0, cycle: 0, a: 0, b: pair_ns });
            before = Some(at);
        }
    }

    /// Marks dropped so far because the log was full, by every recorder this log has had.
    pub fn lost(&self) -> u64 {
        self.log.lost()
    }
}
