//! The jobs of one row of a timeline, and for one job, where its time went and what delayed it.
//!
//! The walk over the recording decides where jobs begin and which of them were seen as a whole; the rules of blame are
//! those of [`crate::sched`]. Only the memory differs: the timeline keeps all that was seen.

mod busy;
mod list;

use hemiola_trace::Entry;

use super::track::{Cursor, Segment, State};
use super::{INTERRUPT, NOBODY, RESERVATION, Row, Subject, Timeline};
use crate::sched::blame::{self, Begun};
use crate::sched::cpu::Shares;
use crate::sched::culprits::{Culprits, Taken};
use crate::sched::tally::Code;
use crate::sched::{self, DELAYS_MAX};

pub use busy::Busy;
pub(super) use busy::End;
use busy::Ends;
pub use list::List;

/// A job that the program marked itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// When it could first have run, ns.
    pub release: u64,
    /// When it began, ns.
    pub start: u64,
    /// When it ended, ns.
    pub finish: u64,
    /// When it should have ended, ns.
    pub deadline: Option<u64>,
    /// Its number, as its program counts.
    pub cycle: u32,
    /// Index of the track that marked it.
    pub track: usize,
    /// Whether all of it was recorded.
    pub whole: bool,
}

impl Marked {
    /// `given`: a deadline after the release that the user gave.
    pub(super) fn of(track: usize, start: &Entry, finish: &Entry, given: Option<u64>) -> Self {
        let begin = start.at.nanos();
        // Without a marked release, the start counts as the release. A job does not begin before its release.
        let release = if start.a == 0 { begin } else { start.a.min(begin) };
        let marked = (finish.a != 0 && finish.a != u64::MAX).then_some(finish.a);
        Self {
            release,
            start: begin,
            finish: finish.at.nanos().max(begin),
            deadline: marked.or_else(|| Some(release.saturating_add(given?))),
            cycle: start.cycle,
            track,
            whole: true,
        }
    }
}

/// One job: from the moment it could run to the moment it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its release: what the program said, or the wake-up, ns.
    pub release: u64,
    /// When it first ran, ns; for a marked job, its start.
    pub start: u64,
    /// Its end, ns.
    pub finish: u64,
    /// When it should have ended, ns.
    pub deadline: Option<u64>,
    /// Its number, as its program counts.
    pub cycle: Option<u32>,
    /// Index of the track that marked it.
    pub track: Option<usize>,
    /// Whether it counts in the figures: all of it was recorded, and it is no start-up and no end of a thread with a
    /// period. The figures of one that was recorded in part are lower bounds.
    pub whole: bool,
}

impl Job {
    /// Finish − release, ns.
    #[must_use]
    pub const fn response(&self) -> u64 {
        self.finish - self.release
    }

    /// Finish − deadline, where that is positive, ns.
    #[must_use]
    pub fn late(&self) -> Option<u64> {
        self.deadline
            .and_then(|deadline| self.finish.checked_sub(deadline))
            .filter(|late| *late > 0)
    }
}

/// The jobs of a row in the order in which they started: those its program marked, else those of the figures. Empty for
/// rows that are no thread's.
#[must_use]
pub fn of(row: &Row) -> List {
    let mut list = List::default();
    if !matches!(row.subject, Subject::Thread { .. }) {
        return list;
    }
    if !row.marked.is_empty() {
        return row.marked.iter().map(of_marks).collect();
    }
    let mut open: Option<Job> = None;
    let mut ends = Ends::of(&row.busy);
    let mut cursor = row.track.cursor();
    for index in 0..row.track.len() {
        let segment = cursor.segment(index);
        let (is_release, whole) = cursor.releases(index);
        if is_release {
            let at = segment.from;
            if let Some(job) = open {
                ends.divide(job, at, row.deadline, |job| list.push(&job));
            }
            let release = ends.release(at);
            let whole = whole || row.startup == Some(release);
            let deadline = row.deadline.map(|deadline| release.saturating_add(deadline));
            let (cycle, track) = (None, None);
            open =
                Some(Job { release, start: u64::MAX, finish: at, deadline, cycle, track, whole });
        }
        let Some(job) = &mut open else { continue };
        if segment.state == State::Running {
            job.start = job.start.min(segment.from);
            job.finish = segment.to;
        }
    }
    if let Some(job) = open {
        ends.divide(job, u64::MAX, row.deadline, |job| list.push(&job));
    }
    list
}

fn of_marks(marked: &Marked) -> Job {
    Job {
        release: marked.release,
        start: marked.start,
        finish: marked.finish,
        deadline: marked.deadline,
        cycle: Some(marked.cycle),
        track: Some(marked.track),
        whole: marked.whole,
    }
}

/// Where the time of a job went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// On a processor, ns; interrupts are not included.
    pub running: u64,
    /// On a processor that served interrupts meanwhile, ns.
    pub interrupted: u64,
    /// Able to run and not running, ns.
    pub waiting: u64,
    /// In the kernel for a device or a lock, or without budget, ns.
    pub blocked: u64,
    /// Asleep by its own will within the job, ns.
    pub asleep: u64,
    /// Not known, ns.
    pub unknown: u64,
    /// The row of the thread that woke it; [`INTERRUPT`], or [`NOBODY`] where unknown.
    pub woken_by: u32,
    /// The pieces it is made of; the first [`PIECES_MAX`].
    pub pieces: Vec<Segment>,
    /// The job in the words of the figures, with what delayed it.
    pub job: Option<sched::Job>,
}

/// The maximum number of pieces kept for a job.
pub const PIECES_MAX: usize = 2_000;

/// Accounts for the time of a job of a row; `number` is its place among the jobs of that row. An account of nothing if
/// the row is no thread's.
#[must_use]
pub fn account(timeline: &Timeline, row: usize, job: &Job, number: usize) -> Account {
    let mut account = Account { woken_by: NOBODY, ..Account::default() };
    let Some(&Row { ref track, subject: Subject::Thread { tid, .. }, .. }) = timeline.rows.get(row)
    else {
        return account;
    };
    let walk = Blame { timeline, row };
    let mut cursor = track.cursor();
    let first = cursor.before(job.release);
    if first < track.len()
        && !walk.follows(job)
        && let (State::Ready, by) = cursor.what(first)
    {
        account.woken_by = by;
    }
    for segment in track.between(job.release, job.finish) {
        let ns = segment.to - segment.from;
        *match segment.state {
            State::Rest => &mut account.asleep,
            State::Running => &mut account.running,
            State::Ready | State::Preempted => &mut account.waiting,
            State::Blocked | State::Throttled => &mut account.blocked,
            State::Unknown => &mut account.unknown,
        } += ns;
        if account.pieces.len() < PIECES_MAX {
            account.pieces.push(segment);
        }
    }
    let told = [account.asleep, account.running, account.waiting, account.blocked, account.unknown];
    // A job may have been released before anything was recorded.
    account.unknown += job.response().saturating_sub(told.iter().sum());
    account.interrupted = timeline.interrupted(row, job.release, job.finish);
    account.running = account.running.saturating_sub(account.interrupted);
    let (delays, interrupted) = walk.delays(job);
    let tid_of = |thread: usize| timeline.thread_of_row(timeline.threads + thread);
    account.job = Some(sched::Job {
        tid,
        track: job.track,
        number: job.cycle.map_or(number as u64, u64::from),
        release_ns: job.release,
        start_ns: job.start,
        finish_ns: job.finish,
        deadline_ns: job.deadline,
        execution_ns: walk.running(job.start, job.finish) - interrupted,
        delays: delays.delays(|thread| tid_of(thread).unwrap_or(u32::MAX)),
        complete: job.whole,
    });
    account
}

/// Applies the rules of blame to the segments of a row.
struct Blame<'t> {
    timeline: &'t Timeline,
    row: usize,
}

impl Blame<'_> {
    /// The delays of a job, and how long interrupts took of its time from its start on.
    fn delays(&self, job: &Job) -> (Culprits<DELAYS_MAX>, u64) {
        if self.follows(job) {
            let (mut delays, interrupted) = self.between(job.start, job.finish, true);
            if job.start > job.release {
                let own = Code::thread(self.row - self.timeline.threads);
                let earlier = job.start - job.release;
                delays.add(Taken::once(own, sched::DelayKind::Earlier, earlier));
            }
            return (delays, interrupted);
        }
        if job.track.is_none() {
            return self.between(job.release, job.finish, false);
        }
        let track = &self.timeline.rows[self.row].track;
        let runs = |index: &usize| track.cursor().what(*index).0 == State::Running;
        let mut delays = match track.at(job.start).filter(runs) {
            Some(index) => self.until_start(job, index),
            None => Culprits::default(),
        };
        let (since, interrupted) = self.between(job.start, job.finish, true);
        delays.add_all(&since);
        (delays, interrupted)
    }

    /// Whether a job that is not marked began without a sleep after the job before.
    fn follows(&self, job: &Job) -> bool {
        let track = &self.timeline.rows[self.row].track;
        let mut cursor = track.cursor();
        let mut since = cursor.before(job.release)..track.len();
        let mut is_woken = false;
        while let Some(index) = since.next().filter(|at| cursor.start_of(*at) == job.release) {
            is_woken |= cursor.releases(index).0;
        }
        job.track.is_none() && !is_woken
    }

    /// The delays of a marked job before its start, which is in segment `index`.
    fn until_start(&self, job: &Job, index: usize) -> Culprits<DELAYS_MAX> {
        let mut cursor = self.timeline.rows[self.row].track.cursor();
        let begun = (0..=index).rev().find(|index| cursor.releases(*index).0);
        let begun = begun.map(|index| cursor.segment(index)).filter(|of| of.from >= job.release);
        let delays = begun.map(|of| self.between(of.from, job.start, false).0).unwrap_or_default();
        let begun = begun.map(|of| Begun {
            release: of.from,
            waker: if of.state == State::Ready { self.code(of.key) } else { Code::UNKNOWN },
            delays: &delays,
        });
        let own = Code::thread(self.row - self.timeline.threads);
        blame::until_start(own, job.release, job.start, begun)
    }

    /// The delays between two moments, and how long interrupts took of it.
    fn between(&self, from: u64, to: u64, mut is_started: bool) -> (Culprits<DELAYS_MAX>, u64) {
        let (timeline, track) = (self.timeline, &self.timeline.rows[self.row].track);
        let (mut delays, mut interrupted) = (Culprits::default(), 0);
        let mut shares = Shares::default();
        let (first, mut cursor) = (track.at(from).unwrap_or(0), track.cursor());
        let mut cpu = (0..first).rev().find_map(|index| processor(&mut cursor, index));
        for index in first..track.len() {
            let segment = cursor.segment(index);
            let (begin, end) = (segment.from.max(from), segment.to.min(to));
            if segment.from >= to {
                break;
            } else if begin >= end {
                continue;
            }
            let next = track.len().min(index + 1);
            match segment.state {
                State::Running => {
                    (cpu, is_started) = (Some(segment.key), true);
                    interrupted += timeline.interrupts(segment.key, begin, end, &mut delays);
                }
                State::Ready | State::Preempted => {
                    let then = if segment.state == State::Ready {
                        processor(&mut cursor, next)
                    } else {
                        cpu
                    };
                    shares.clear();
                    timeline.shares(then, begin, end, &mut shares);
                    delays.add_apart(blame::waiting(shares.longest(), is_started));
                }
                State::Rest | State::Blocked => {
                    delays.add(self.asleep(&mut cursor, next, begin, end))
                }
                State::Throttled => delays.add(throttled(end - begin)),
                State::Unknown => {}
            }
        }
        (delays, interrupted)
    }

    /// The delay of a thread that slept until segment `next`.
    fn asleep(&self, cursor: &mut Cursor<'_>, next: usize, from: u64, to: u64) -> Taken {
        let woken = (next < cursor.len()).then(|| cursor.what(next));
        let waker = match woken {
            Some((State::Ready, key)) => self.code(key),
            _ => Code::UNKNOWN,
        };
        let thread = self.row - self.timeline.threads;
        let longest = |other: usize| self.timeline.longest_wait(other, from, to);
        blame::asleep(thread, waker, to - from, longest)
    }

    fn code(&self, key: u32) -> Code {
        self.timeline.code(key)
    }

    fn running(&self, from: u64, to: u64) -> u64 {
        self.timeline.rows[self.row].track.totals_between(from, to).of(State::Running)
    }
}

/// The processor of a segment in which the thread runs.
fn processor(cursor: &mut Cursor<'_>, index: usize) -> Option<u32> {
    let what = (index < cursor.len()).then(|| cursor.what(index));
    what.filter(|(state, _)| *state == State::Running).map(|(_, cpu)| cpu)
}

fn throttled(ns: u64) -> Taken {
    Taken::once(Code::RESERVATION, sched::DelayKind::Throttled, ns)
}

impl Timeline {
    /// The number of a row's thread.
    pub(super) fn thread_of_row(&self, row: usize) -> Option<u32> {
        match self.rows.get(row)?.subject {
            Subject::Thread { tid, .. } => Some(tid),
            _ => None,
        }
    }

    /// The culprit that the key of a wake-up or of a running processor stands for.
    fn code(&self, key: u32) -> Code {
        match key {
            NOBODY => Code::UNKNOWN,
            INTERRUPT => Code::INTERRUPT,
            RESERVATION => Code::RESERVATION,
            row => Code::thread((row as usize).saturating_sub(self.threads)),
        }
    }

    /// Adds how long each thread and each interrupt had a processor between two moments.
    fn shares(&self, cpu: Option<u32>, from: u64, to: u64, shares: &mut Shares) {
        let cpu = cpu.and_then(|cpu| u16::try_from(cpu).ok());
        let mut known = 0;
        if let Some(row) = cpu.and_then(|cpu| self.processor_row(cpu)) {
            for segment in self.rows[row].track.between(from, to) {
                let code = match segment.state {
                    State::Running => self.code(segment.key),
                    State::Rest => Code::IDLE,
                    _ => Code::UNKNOWN,
                };
                let mut rest = segment.to - segment.from;
                known += rest;
                for (interrupt, ns) in self.served(row, segment.from, segment.to) {
                    shares.add(interrupt, ns);
                    rest -= ns;
                }
                shares.add(code, rest);
            }
        }
        shares.add(Code::UNKNOWN, (to - from).saturating_sub(known));
    }

    /// The interrupts that a processor served between two moments, and for how long; `row` is the processor's.
    fn served(&self, row: usize, from: u64, to: u64) -> impl Iterator<Item = (Code, u64)> {
        let interrupts = &self.rows[row + self.threads / 2].track;
        let serves = interrupts.between(from, to).filter(|of| of.state == State::Running);
        serves.map(|of| (Code::of_interrupt(of.key), of.to - of.from))
    }

    /// Whether any interrupt was recorded.
    pub(super) fn has_interrupts(&self) -> bool {
        let tracks = self.rows[self.threads / 2..self.threads].iter().map(|row| &row.track);
        tracks.into_iter().any(|track| track.totals().of(State::Running) > 0)
    }

    /// How long interrupts took of the time in which the thread of a row ran between two moments, ns.
    pub(super) fn interrupted(&self, row: usize, from: u64, to: u64) -> u64 {
        let runs = self.rows[row].track.between(from, to);
        let runs = runs.filter(|of| of.state == State::Running);
        runs.flat_map(|of| self.served_on(of.key, of.from, of.to)).map(|(_, ns)| ns).sum()
    }

    /// The interrupts that the processor of that number served between two moments, and for how long.
    fn served_on(&self, cpu: u32, from: u64, to: u64) -> impl Iterator<Item = (Code, u64)> {
        let row = u16::try_from(cpu).ok().and_then(|cpu| self.processor_row(cpu));
        row.into_iter().flat_map(move |row| self.served(row, from, to))
    }

    /// Adds the interrupts that a processor served while the thread ran there. Returns their time.
    fn interrupts(&self, cpu: u32, from: u64, to: u64, delays: &mut Culprits<DELAYS_MAX>) -> u64 {
        let mut sum = 0;
        for (code, ns) in self.served_on(cpu, from, to) {
            delays.add(Taken::once(code, sched::DelayKind::Interrupted, ns));
            sum += ns;
        }
        sum
    }

    /// The longest part of a wait of a thread between two moments, and what had the processor for most of that wait.
    fn longest_wait(&self, thread: usize, from: u64, to: u64) -> (Code, u64) {
        let row = self.threads + thread;
        let Some(track) = self.rows.get(row).map(|row| &row.track) else {
            return (Code::UNKNOWN, 0);
        };
        let (first, mut cursor) = (track.at(from).unwrap_or(0), track.cursor());
        let mut longest = (Code::UNKNOWN, 0);
        let mut shares = Shares::default();
        for index in first..track.len() {
            let segment = cursor.segment(index);
            if segment.from >= to {
                break;
            }
            let cpu = match segment.state {
                State::Ready => processor(&mut cursor, index + 1),
                State::Preempted => {
                    (0..index).rev().find_map(|index| processor(&mut cursor, index))
                }
                _ => continue,
            };
            let ns = segment.to.min(to).saturating_sub(segment.from.max(from));
            if ns > longest.1 {
                shares.clear();
                self.shares(cpu, segment.from, segment.to, &mut shares);
                longest = (blame::mostly(shares.all()).unwrap_or(Code::UNKNOWN), ns);
            }
        }
        longest
    }
}
