//! Marks the jobs of a program's tasks for a recorder, and does nothing without one.
#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(test)]
extern crate std;

mod shared;
mod value;

use core::time::Duration;

use shared::{Claimed, board};

pub use value::{TEXT_LEN_MAX, Value};

/// Kinds of entries, with the numbers of `hemiola_trace::EventKind`.
const START: u64 = 1;
const FINISH: u64 = 2;
const MARK_UNSIGNED: u64 = 16;
const MARK_SIGNED: u64 = 17;
const MARK_REAL: u64 = 18;
const MARK_TEXT: u64 = 19;

/// Kinds of calls.
const CALL_START: u32 = 1;
const CALL_STOP: u32 = 2;
const CALL_TRIGGER: u32 = 3;

/// The most mark names of one task; marks with further names are not recorded, and the recorder reports their number.
pub const MARK_NAMES_MAX: usize = 32;
/// The most bytes of a name; the rest is cut off, so names that agree in these bytes are the same name.
pub const NAME_LEN_MAX: usize = 32;
/// The most bytes of a trigger's reason.
pub const REASON_LEN_MAX: usize = 40;

/// A task, which runs one job after another, in one thread at a time.
///
/// It belongs to the thread that begins its first job: the recording shows its jobs in that thread. After a `fork`,
/// the child creates its own tasks. Dropping a task frees its lane.
#[derive(Debug)]
pub struct Task {
    lane: Option<Claimed>,
    /// From release to deadline; `None` without one.
    deadline_ns: Option<u64>,
    /// The deadline of the running job.
    due_ns: u64,
    open: bool,
    /// Jobs begun.
    jobs: u32,
    names: [&'static str; MARK_NAMES_MAX],
    names_len: usize,
}

impl Task {
    /// Creates a task of that name. `deadline` counts from the release; if it is zero, the period is used. A `period`
    /// of zero means no period; if both are zero, there is no deadline.
    ///
    /// Nothing is recorded without a recorder, or if the recorder has no free lane, which it reports: at most 63
    /// tasks can be marked at one time.
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

    /// Begins a job that was released just now.
    #[inline]
    pub fn begin(&mut self) {
        if self.lane.is_some() {
            let now = now_ns();
            self.open(now, now);
        }
    }

    /// Begins a job that was released at `release_ns`, in nanoseconds on `CLOCK_MONOTONIC`; its deadline counts from
    /// there.
    #[inline]
    pub fn begin_released(&mut self, release_ns: u64) {
        if self.lane.is_some() {
            self.open(now_ns(), release_ns);
        }
    }

    /// Ends the running job; does nothing without one.
    #[inline]
    pub fn end(&mut self) {
        if let Some(lane) = &mut self.lane
            && self.open
        {
            self.open = false;
            lane.push([now_ns(), FINISH | job(self.jobs), self.due_ns, 0]);
        }
    }

    /// Records an event with a name and a value: any number, or a text of at most [`TEXT_LEN_MAX`] bytes, of which the
    /// rest is cut off. At most [`MARK_NAMES_MAX`] names can be used.
    ///
    /// The numbers of a name are plotted over time.
    #[inline]
    pub fn mark(&mut self, name: &'static str, value: impl Into<Value>) {
        if self.lane.is_some() {
            self.record(name, value.into());
        }
    }

    fn open(&mut self, now: u64, release: u64) {
        let Some(lane) = &mut self.lane else { return };
        self.open = true;
        self.jobs = self.jobs.wrapping_add(1);
        self.due_ns = self.deadline_ns.map_or(u64::MAX, |span| release.saturating_add(span));
        lane.push([now, START | job(self.jobs), release, 0]);
    }

    fn record(&mut self, name: &'static str, value: Value) {
        let Some(lane) = &mut self.lane else { return };
        let known = &self.names[..self.names_len];
        // The same literal mostly has the same address. Of longer names, the recorder sees the part that is kept.
        let same = |other: &&str| core::ptr::eq(*other, name) || *other == name;
        let found = known.iter().position(same).or_else(|| {
            let kept = kept(name);
            known.iter().position(|other| self::kept(other) == kept)
        });
        let index = match found {
            Some(index) => index,
            None if self.names_len < MARK_NAMES_MAX => {
                self.names[self.names_len] = name;
                self.names_len += 1;
                lane.name(self.names_len - 1, name);
                self.names_len - 1
            }
            None => return lane.drop_nameless(),
        };
        let (kind, [a, b]) = match value {
            Value::Unsigned(value) => (MARK_UNSIGNED, [value, 0]),
            Value::Signed(value) => (MARK_SIGNED, [value.cast_unsigned(), 0]),
            Value::Real(value) => (MARK_REAL, [value.to_bits(), 0]),
            Value::Text(words) => (MARK_TEXT, words),
        };
        lane.push([now_ns(), kind | (index as u64) << 16 | job(self.jobs), a, b]);
    }
}

/// Returns the part of a name that is kept.
fn kept(name: &str) -> &str {
    let cut = &name[..name.floor_char_boundary(NAME_LEN_MAX)];
    cut.split('\0').next().unwrap_or_default()
}

/// Returns the number of the job, from 0, in its place in an entry.
const fn job(begun: u32) -> u64 {
    (begun.wrapping_sub(1) as u64) << 32
}

/// Starts or continues the recording. The recorder records from the beginning unless it was told to wait.
pub fn start() {
    call(CALL_START, "");
}

/// Pauses the recording.
pub fn stop() {
    call(CALL_STOP, "");
}

/// Makes a flight recorder keep its recording up to now, with this reason.
pub fn trigger(why: &str) {
    call(CALL_TRIGGER, why);
}

/// The most bytes of a request to [`control`].
pub const REQUEST_LEN_MAX: usize = 400;

/// Sends a request to the recording that was started with `hemiola trace --control SOCKET`, from any process, recorded
/// or not, and waits for its answer: at most five seconds, usually a tenth of one. Returns whether it was carried out.
///
/// `place` is the path of the socket, or `fd:N` for the other end of an inherited connection, which one thread uses at
/// a time.
///
/// Requests are `start`, `stop`, `mark TEXT`, `trigger TEXT` and `snapshot NAME`. They count from the time of the call.
#[must_use]
pub fn control(place: &str, request: &str) -> bool {
    if request.len() > REQUEST_LEN_MAX || request.contains('\n') {
        return false;
    }
    // The time as 20 digits, a space, the request, and the end of the line.
    let mut line = [b'0'; 20 + 1 + REQUEST_LEN_MAX + 1];
    let mut rest = now_ns();
    for digit in line[..20].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    line[20] = b' ';
    line[21..][..request.len()].copy_from_slice(request.as_bytes());
    line[21 + request.len()] = b'\n';
    shared::ask(place, &line[..22 + request.len()])
}

fn call(what: u32, text: &str) {
    if let Some(board) = board() {
        board.call(now_ns(), what, text);
    }
}

/// Whether there is a recorder.
#[must_use]
pub fn is_recorded() -> bool {
    board().is_some()
}

/// Returns the time in nanoseconds on `CLOCK_MONOTONIC`, the clock of every mark.
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
        (start(), stop(), trigger("not recorded")).0
    }

    #[test]
    fn names_are_kept_up_to_the_limit_or_a_zero() {
        let long = "a name of exactly thirty-two byt";
        assert_eq!([kept(long), kept("a name of exactly thirty-two bytes")], [long; 2]);
        assert_eq!(
            kept("a name of more than thirty bytes\u{fc}"),
            "a name of more than thirty bytes"
        );
        assert_eq!(
            kept("thirty-one bytes and a half one\u{fc}"),
            "thirty-one bytes and a half one"
        );
        assert_eq!([kept("front\0back"), kept("")], ["front", ""]);
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
    fn a_job_number_is_in_the_cycle_field() {
        assert_eq!([job(1), job(2), job(0)], [0, 1 << 32, u64::from(u32::MAX) << 32]);
    }
}
