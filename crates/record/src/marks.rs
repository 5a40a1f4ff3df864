//! Marks of foreign programs: what their tasks write into shared memory, as entries of tracks.
//!
//! The programs use the crate `hemiola-mark`, its C header or its Python module, and find the memory through the
//! environment variable [`VARIABLE`]. They may write anything: invalid marks are left out and counted.

use std::os::fd::{AsRawFd, BorrowedFd};

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::{LANE_ENTRIES, LANES, MarksReader, SegmentError};
use hemiola_rt::sys::process::exists;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Span};
use rustix::fs::fstat;

use crate::namespaces::{Found, Numbers, Proc, find};

pub use hemiola_rt::shared::{Call, CallKind};

/// The environment variable through which a program finds the memory.
pub const VARIABLE: &str = "HEMIOLA_TRACE";

/// How often to look for lanes of processes that ended without giving them back.
const SWEEP: Span = Span::from_millis(1000);

/// The first number of the unknown threads and processes; no thread of Linux has one as great.
pub const UNKNOWN: u32 = 1 << 30;

/// A task of a foreign program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number among all tasks of the recording, from 0.
    pub number: usize,
    /// Its process.
    pub pid: u32,
    /// The thread that marks. It is [`UNKNOWN`] or more, as is the process, if it has other numbers than it states
    /// and cannot be found.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its period, if stated.
    pub period: Option<Span>,
    /// Its deadline after the release, if stated.
    pub deadline: Option<Span>,
    /// The names of its marks, by number.
    pub marks: Vec<String>,
}

/// Counts of marks, tasks and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks seen.
    pub tasks: u64,
    /// Entries taken, without those that report losses.
    pub entries: u64,
    /// Marks that a program dropped because its lane was full.
    pub lost: u64,
    /// Marks that a program dropped because their task had no place for another name.
    pub nameless: u64,
    /// How often a lane contained something that no program should write; that part was skipped.
    pub damaged: u64,
    /// Tasks that found no free lane and are not recorded.
    pub refused_tasks: u32,
    /// Calls that found no free place and were dropped.
    pub refused_calls: u32,
    /// Tasks of unknown threads: in another PID namespace, where they cannot be found.
    pub unknown_threads: u64,
}

/// The memory that foreign programs write to, and its reading end.
#[derive(Debug)]
pub struct Marks {
    reader: MarksReader,
    lanes: Vec<Option<Lane>>,
    tally: Tally,
    swept: Instant,
    /// When the memory was created, and when it was last drained.
    created: Instant,
    drained: Instant,
    entries: Vec<Entry>,
    /// Whether programs know themselves by the numbers of the recording or of a namespace below.
    are_numbers_known: bool,
}

#[derive(Debug)]
struct Lane {
    task: Task,
    /// As its program states it.
    stated: Numbers,
    lost: u64,
    nameless: u64,
    last: (Instant, u32),
}

impl Marks {
    /// Creates memory for 63 tasks at a time, 16 MiB.
    ///
    /// # Errors
    /// If the kernel has no memory or descriptor left.
    pub fn create() -> Result<Self, SegmentError> {
        Self::with_sizes(LANES, LANE_ENTRIES)
    }

    /// Creates memory for `lanes` tasks at a time, each of which may be `entries` marks ahead of the reader.
    ///
    /// # Errors
    /// Like [`Self::create`], and if memory cannot have these sizes.
    pub fn with_sizes(lanes: u32, entries: u32) -> Result<Self, SegmentError> {
        let reader = MarksReader::create("hemiola-marks", lanes, entries)?;
        let lanes = (0..reader.lanes()).map(|_| None).collect();
        let created = MonotonicClock.now();
        Ok(Self {
            reader,
            lanes,
            tally: Tally::default(),
            swept: Instant::ZERO,
            created,
            drained: created,
            entries: Vec::new(),
            are_numbers_known: true,
        })
    }

    /// States that no number in the recording is known here, because the events are those of another PID namespace.
    pub fn forget_numbers(&mut self) {
        self.are_numbers_known = false;
    }

    /// Returns the descriptor of the memory. Programs find it through [`Self::paths`] only if they inherit it open:
    /// [`clear_cloexec`](hemiola_rt::sys::process::clear_cloexec).
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.reader.fd()
    }

    /// Returns the value of [`VARIABLE`] for a program started now: the memory as the program inherits it, and, for
    /// its children that closed inherited descriptors, the memory as this process has it open.
    ///
    /// The second path alone would not do: the kernel hides the descriptors of a process with capabilities from
    /// processes with fewer.
    #[must_use]
    pub fn paths(&self) -> String {
        let (fd, pid) = (self.fd().as_raw_fd(), std::process::id());
        format!("/proc/self/fd/{fd}:/proc/{pid}/fd/{fd}")
    }

    /// Passes everything marked so far to `each`, task by task, in the order it was marked, and frees the space.
    ///
    /// A task is passed at least once, even without entries, and again whenever it has some; its thread is correct
    /// from its first entry on. Marks lost since the last call follow as one [`EventKind::Lost`] entry with the time
    /// of the entry before it.
    pub fn drain(&mut self, each: &mut dyn FnMut(&Task, &[Entry])) {
        let now = MonotonicClock.now();
        let sweep = now - self.swept >= SWEEP;
        if sweep {
            self.swept = now;
        }
        for lane in 0..self.reader.lanes() {
            let over = self.reader.is_given_back(lane) || sweep && self.is_abandoned(lane);
            self.drain_lane(lane, now, each);
            if over {
                self.lanes[lane as usize] = None;
                self.reader.free(lane);
            }
        }
        self.drained = now;
    }

    /// Returns the calls of programs since the last call, oldest first. Called after [`Self::drain`], it returns
    /// every call made before the newest entry.
    pub fn calls(&mut self) -> Vec<Call> {
        self.reader.calls()
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let (refused_tasks, refused_calls) = self.reader.refused();
        Tally { refused_tasks, refused_calls, ..self.tally }
    }

    /// Whether the process that has the lane has ended.
    fn is_abandoned(&self, lane: u32) -> bool {
        if let Some(Lane { task, .. }) = &self.lanes[lane as usize] {
            return task.pid < UNKNOWN && !exists(task.pid);
        }
        if self.reader.claim(lane).is_some() {
            // Where its process is becomes known when the lane is read.
            return false;
        }
        let (owner, pid) = self.reader.owner(lane);
        let who = if pid == 0 { owner } else { pid };
        who != 0 && !exists(who)
    }

    /// Returns the numbers that the recording has for a thread.
    fn recorded(&self, stated: Numbers) -> Numbers {
        if self.are_numbers_known {
            let entry = format!("{VARIABLE}={}", self.paths());
            let inode = fstat(self.fd()).map_or(0, |found| found.st_ino);
            if let Found::Here(numbers) = find(stated, &Proc { entry: &entry, inode }) {
                return numbers;
            }
        }
        let unknown = |number: u32| UNKNOWN | number & (UNKNOWN - 1);
        Numbers { pid: unknown(stated.pid), tid: unknown(stated.tid) }
    }

    fn drain_lane(&mut self, lane: u32, now: Instant, each: &mut dyn FnMut(&Task, &[Entry])) {
        let Some(claim) = self.reader.claim(lane) else { return };
        let span = |ns: u64| {
            Some(Span::from_nanos(i64::try_from(ns).ok()?)).filter(|span| *span > Span::ZERO)
        };
        let new = self.lanes[lane as usize].is_none();
        let stated = Numbers { pid: claim.pid, tid: claim.tid };
        let recorded = if new { self.recorded(stated) } else { stated };
        let state = self.lanes[lane as usize].get_or_insert_with(|| Lane {
            stated,
            task: Task {
                number: self.tally.tasks as usize,
                pid: recorded.pid,
                tid: recorded.tid,
                name: claim.name,
                period: span(claim.period_ns),
                deadline: span(claim.deadline_ns),
                marks: Vec::new(),
            },
            lost: 0,
            nameless: 0,
            last: (self.created, 0),
        });
        self.tally.tasks += u64::from(new);
        let is_unknown = state.task.tid >= UNKNOWN;
        self.tally.unknown_threads += u64::from(new && is_unknown);

        self.entries.clear();
        let (entries, damaged, mut last) = (&mut self.entries, &mut self.tally.damaged, state.last);
        let since = (self.drained - LATE_MAX).max(self.created);
        let sound = self.reader.drain(lane, |words| match Entry::from_words(words) {
            Some(entry) if is_mark(entry.kind) && is_now(entry.at, last.0.max(since), now) => {
                last = (entry.at, entry.cycle);
                entries.push(entry);
            }
            _ => *damaged += 1,
        });
        state.last = last;
        self.tally.damaged += u64::from(sound.is_err());
        self.tally.entries += self.entries.len() as u64;
        let lost = self.reader.lost(lane).saturating_sub(state.lost);
        if lost > 0 {
            state.lost += lost;
            self.tally.lost = self.tally.lost.saturating_add(lost);
            let (at, cycle) = state.last;
            self.entries.push(Entry { at, kind: EventKind::Lost, arg: 0, cycle, a: lost, b: 0 });
        }
        let nameless = self.reader.nameless(lane).saturating_sub(state.nameless);
        state.nameless += nameless;
        self.tally.nameless = self.tally.nameless.saturating_add(nameless);
        // After the entries, so that every name they use is there. The thread stays that of the first entry.
        for index in state.task.marks.len()..self.reader.names(lane) {
            state.task.marks.push(self.reader.name(lane, index));
        }
        let stated = self.reader.claim(lane).map(|claim| Numbers { tid: claim.tid, ..stated });
        if let Some(stated) = stated.filter(|now| *now != state.stated) {
            let recorded = self.recorded(stated);
            let Some(state) = &mut self.lanes[lane as usize] else { return };
            (state.stated, state.task.pid, state.task.tid) = (stated, recorded.pid, recorded.tid);
            self.tally.unknown_threads += u64::from(!is_unknown && recorded.tid >= UNKNOWN);
        }
        let Some(state) = &self.lanes[lane as usize] else { return };
        if new || !self.entries.is_empty() {
            each(&state.task, &self.entries);
        }
    }
}

/// How far ahead of the reader's clock a mark may be: it may be made while the lane is read.
const GRACE: Span = Span::from_millis(1000);

/// How long before the last drain a mark may have been stamped and not have been there yet: its thread may be kept from
/// the processor in between. Older ones are of another clock, as in a time namespace.
const LATE_MAX: Span = Span::from_millis(10_000);

/// Whether a mark of that time can have been made between two drains.
fn is_now(at: Instant, since: Instant, until: Instant) -> bool {
    (since..=until + GRACE).contains(&at)
}

/// Whether a foreign program may record this kind.
const fn is_mark(kind: EventKind) -> bool {
    matches!(kind.named(), EventKind::Start | EventKind::Finish | EventKind::Mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_open_the_memory() {
        let marks = Marks::with_sizes(1, 8).unwrap();
        let paths = marks.paths();
        let size = |path: &str| std::fs::metadata(path).unwrap().len();
        let sizes: Vec<u64> = paths.split(':').map(size).collect();
        assert_eq!(sizes, [192 + 2 * (1216 + 8 * 32); 2]);
    }

    #[test]
    fn a_mark_of_another_clock_is_none_of_now() {
        let at = |seconds| Instant::from_nanos(seconds * 1_000_000_000);
        let between = |seconds| is_now(at(seconds), at(1000), at(1010));
        assert_eq!([999, 1000, 1005, 1010, 1012].map(between), [false, true, true, true, false]);
        // The times of a clock that is 100 s behind are old at every drain, however long the recording is.
        let drain = |now: u64| is_now(at(now - 100), at(now - 1) - LATE_MAX, at(now));
        assert!([1001, 1099, 1101, 5000].into_iter().all(|now| !drain(now)));
    }

    #[test]
    fn without_claims_nothing_is_recorded() {
        let mut marks = Marks::with_sizes(3, 8).unwrap();
        marks.drain(&mut |task, _| panic!("{task:?} was never claimed"));
        assert_eq!((marks.calls(), marks.tally()), (vec![], Tally::default()));
    }
}
