//! Marks the jobs of a program's tasks, for whoever records it; and does nothing where nobody does.
//!
//! A program says what its periodic tasks are and when their jobs begin and end. Under `hemiola trace -- PROGRAM`
//! that goes into the recording, beside what the kernel did: jobs get deadlines, and a late one is explained by who
//! had the processor. Started without it, every call below is a comparison with null.
//!
//! ```
//! use core::time::Duration;
//!
//! let period = Duration::from_millis(1);
//! let mut control = hemiola_mark::Task::new("control", period, period);
//! let mut release = hemiola_mark::now_ns();
//! for _ in 0..3 {
//!     // … sleep until `release` …
//!     control.begin_released(release);
//!     control.mark("sensor", 42);
//!     // … the work …
//!     control.end();
//!     release += 1_000_000;
//! }
//! ```
//!
//! [`start`] and [`stop`] limit the recording to what happens between them; [`trigger`] tells a flight recorder
//! that now is what it waits for.
//!
//! The crate depends on nothing, not even on the standard library: it does not allocate. [`Task::new`] makes a few
//! system calls; after it, a mark is a clock read and five stores in memory shared with the recorder, of which
//! nothing blocks and nothing fails. When the recorder falls behind, marks are dropped and their number is
//! recorded. When the recorder dies, the program notices nothing.
//!
//! How it finds the recorder: the environment variable `HEMIOLA_TRACE` names the shared memory, as one or more
//! paths separated by `:`, of which the first that is such memory counts. What lies where in it is drawn in
//! `crates/rt/src/shared/layout.md` of Hemiola; the C header `hemiola_mark.h` and the Python module
//! `hemiola_mark.py` beside this crate follow the same drawing.

#![no_std]

#[cfg(test)]
extern crate std;

mod shared;

use core::time::Duration;

use shared::{Claimed, board};

/// What an entry says, as `hemiola_trace::EventKind` numbers it.
const START: u64 = 1;
const FINISH: u64 = 2;
const MARK: u64 = 15;

/// What a call says.
const CALL_START: u32 = 1;
const CALL_STOP: u32 = 2;
const CALL_TRIGGER: u32 = 3;

/// Names of marks one task may use; marks with further names are not recorded.
pub const MARK_NAMES_MAX: usize = 32;
/// Bytes of a name that are recorded; the rest is cut off.
pub const NAME_LEN_MAX: usize = 32;
/// Bytes of a trigger's reason that are recorded.
pub const REASON_LEN_MAX: usize = 40;

/// A task: what is activated again and again, in one thread at a time.
///
/// It belongs to the thread that begins its first job: the recording shows its jobs as that thread's. After a
/// `fork` the child makes its own. Dropping it gives its place back.
#[derive(Debug)]
pub struct Task {
    lane: Option<Claimed>,
    /// From release to deadline; `None` without one.
    deadline_ns: Option<u64>,
    /// The deadline of the job that runs.
    due_ns: u64,
    open: bool,
    /// Jobs begun.
    jobs: u32,
    names: [&'static str; MARK_NAMES_MAX],
    names_len: usize,
}

impl Task {
    /// A task of that name. `deadline` counts from the release and is the period where it is zero; a `period` of
    /// zero is none, and with both zero there is no deadline.
    ///
    /// Nothing is recorded when no recorder is there, or when it has no place left, which it then says: 63 tasks
    /// may be marked at one time.
    #[must_use]
    pub fn new(name: &str, period: Duration, deadline: Duration) -> Self {
        let [period_ns, deadline_ns] =
            [period, deadline].map(|span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        Self {
            lane: board().and_then(|board| board.claim(name, period_ns, deadline_ns)),
            deadline_ns: [deadline_ns, period_ns].into_iter().find(|span| *span > 0),
            due_ns: u64::MAX,
            open: false,
            jobs: 0,
            names: [""; MARK_NAMES_MAX],
            names_len: 0,
        }
    }

    /// Whether its marks reach a recorder.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.lane.is_some()
    }

    /// A job begins that was released just now.
    #[inline]
    pub fn begin(&mut self) {
        if self.lane.is_some() {
            let now = now_ns();
            self.open(now, now);
        }
    }

    /// A job begins that was released at `release_ns`, nanoseconds on `CLOCK_MONOTONIC`: its deadline counts from
    /// there.
    #[inline]
    pub fn begin_released(&mut self, release_ns: u64) {
        if self.lane.is_some() {
            self.open(now_ns(), release_ns);
        }
    }

    /// The job that runs ends; without one, nothing happens.
    #[inline]
    pub fn end(&mut self) {
        if let Some(lane) = &mut self.lane
            && self.open
        {
            self.open = false;
            lane.push([now_ns(), FINISH | job(self.jobs), self.due_ns, 0]);
        }
    }

    /// Something happens that has a name and a value. [`MARK_NAMES_MAX`] names may be used.
    #[inline]
    pub fn mark(&mut self, name: &'static str, value: u64) {
        if self.lane.is_some() {
            self.record(name, value);
        }
    }

    fn open(&mut self, now: u64, release: u64) {
        let Some(lane) = &mut self.lane else { return };
        self.open = true;
        self.jobs = self.jobs.wrapping_add(1);
        self.due_ns = self.deadline_ns.map_or(u64::MAX, |span| release.saturating_add(span));
        lane.push([now, START | job(self.jobs), release, 0]);
    }

    fn record(&mut self, name: &'static str, value: u64) {
        let Some(lane) = &mut self.lane else { return };
        let known = &self.names[..self.names_len];
        // The same literal is mostly the same address.
        let found = known.iter().position(|other| core::ptr::eq(*other, name) || *other == name);
        let index = match found {
            Some(index) => index,
            None if self.names_len < MARK_NAMES_MAX => {
                self.names[self.names_len] = name;
                self.names_len += 1;
                lane.name(self.names_len - 1, name);
                self.names_len - 1
            }
            None => return,
        };
        lane.push([now_ns(), MARK | (index as u64) << 16 | job(self.jobs), value, 0]);
    }
}

/// The number of the job, from 0, where an entry has it.
const fn job(begun: u32) -> u64 {
    (begun.wrapping_sub(1) as u64) << 32
}

/// The recording begins, or goes on. It runs from the beginning unless the recorder was told to wait.
pub fn start() {
    call(CALL_START, "");
}

/// The recording pauses.
pub fn stop() {
    call(CALL_STOP, "");
}

/// A flight recorder keeps what led here, with the reason.
pub fn trigger(why: &str) {
    call(CALL_TRIGGER, why);
}

fn call(what: u32, text: &str) {
    if let Some(board) = board() {
        board.call(now_ns(), what, text);
    }
}

/// Whether a recorder is there.
#[must_use]
pub fn is_recorded() -> bool {
    board().is_some()
}

/// Now: nanoseconds on `CLOCK_MONOTONIC`, the clock of every mark.
#[must_use]
#[inline]
pub fn now_ns() -> u64 {
    shared::now_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_recorder_nothing_is_recorded_and_nothing_fails() {
        assert!(
            std::env::var_os("HEMIOLA_TRACE").is_none(),
            "the tests themselves are not recorded"
        );
        let mut task = Task::new("control", Duration::from_millis(1), Duration::ZERO);
        assert!(!task.is_recorded() && !is_recorded());
        task.begin();
        task.mark("sensor", 1);
        task.end();
        (start(), stop(), trigger("nobody listens")).0
    }

    #[test]
    fn the_clock_is_the_monotonic_one() {
        let before = now_ns();
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        let after = now_ns();
        assert!(before <= after);
        // /proc/uptime also counts suspended time.
        assert!(before as f64 / 1e9 <= seconds + 1.0, "{before} ns at {seconds} s of uptime");
    }

    #[test]
    fn a_job_stands_where_an_entry_has_its_cycle() {
        assert_eq!([job(1), job(2), job(0)], [0, 1 << 32, u64::from(u32::MAX) << 32]);
    }
}
