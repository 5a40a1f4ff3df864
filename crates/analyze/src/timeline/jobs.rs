//! The jobs of one row of a timeline, and for one job, where its time went and which threads had its processor.

use std::collections::BTreeMap;

use hemiola_trace::Entry;

use super::track::{Segment, State};
use super::{NOBODY, Row, Subject, Timeline};

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
}

impl Marked {
    pub(super) fn of(start: &Entry, finish: &Entry) -> Self {
        let begin = start.at.nanos();
        Self {
            // Without a marked release, the start counts as the release. A job does not begin before its release.
            release: if start.a == 0 { begin } else { start.a.min(begin) },
            start: begin,
            finish: finish.at.nanos().max(begin),
            deadline: (finish.a > 0).then_some(finish.a),
            cycle: start.cycle,
        }
    }
}

/// One job: from the moment it could run to the moment it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its release: what the program said, or the wake-up, ns.
    pub release: u64,
    /// Its end, ns.
    pub finish: u64,
    /// When it should have ended, ns.
    pub deadline: Option<u64>,
    /// Its number, as its program counts.
    pub cycle: Option<u32>,
    /// Whether all of it was recorded: without this, its figures are lower bounds.
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

/// The jobs of a row, by release: those its program marked, else from each wake-up to the next sleep.
///
/// With a `period`, ns, wake-ups in its first half belong to the job that began it, as in [`crate::sched`], so that a
/// job that waits for a lock stays one. Empty for rows that are no thread's.
#[must_use]
pub fn of(row: &Row, period: Option<u64>) -> Vec<Job> {
    if !matches!(row.subject, Subject::Thread { .. }) {
        return Vec::new();
    }
    if !row.marked.is_empty() {
        let job = |marked: &Marked| Job {
            release: marked.release,
            finish: marked.finish,
            deadline: marked.deadline,
            cycle: Some(marked.cycle),
            whole: row.track.totals_between(marked.release, marked.finish).of(State::Unknown) == 0,
        };
        return row.marked.iter().map(job).collect();
    }
    let mut jobs: Vec<Job> = Vec::new();
    let mut open: Option<Job> = None;
    let half = period.unwrap_or(0) / 2;
    // The time before the first segment is unknown.
    let mut known = false;
    for index in 0..row.track.len() {
        let segment = row.track.segment(index);
        if segment.state.is_active() {
            // A whole job begins with its wake-up.
            let whole = known || segment.state == State::Ready && index == 0;
            let fresh =
                Job { release: segment.from, finish: 0, deadline: None, cycle: None, whole };
            if open.is_none() {
                open = jobs.pop_if(|job| segment.from - job.release < half).or(Some(fresh));
            }
            open.get_or_insert(fresh).finish = segment.to;
        } else if let Some(mut job) = open.take() {
            job.whole &= segment.state == State::Rest;
            jobs.push(job);
        }
        known = segment.state == State::Rest;
    }
    jobs.extend(open.map(|job| Job { whole: false, ..job }));
    jobs
}

/// The number of the job at a moment, or of the nearest one.
#[must_use]
pub fn at(jobs: &[Job], at: u64) -> Option<usize> {
    let after = jobs.partition_point(|job| job.release <= at);
    let before = after.checked_sub(1);
    let Some(before) = before else { return (!jobs.is_empty()).then_some(0) };
    match jobs.get(after) {
        Some(next) if jobs[before].finish < at && next.release - at < at - jobs[before].finish => {
            Some(after)
        }
        _ => Some(before),
    }
}

/// The number of the job whose response time is the median of the whole ones.
#[must_use]
pub fn median(jobs: &[Job]) -> Option<usize> {
    let mut whole: Vec<usize> = (0..jobs.len()).filter(|index| jobs[*index].whole).collect();
    let middle = whole.len().checked_sub(1)? / 2;
    let (_, median, _) = whole.select_nth_unstable_by_key(middle, |index| jobs[*index].response());
    Some(*median)
}

/// Where the time of a job went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// On a processor, ns.
    pub running: u64,
    /// Able to run and not running, ns.
    pub waiting: u64,
    /// In the kernel for a device or a lock, ns.
    pub blocked: u64,
    /// Asleep by its own will within the job, ns.
    pub asleep: u64,
    /// Not known, ns.
    pub unknown: u64,
    /// Its delays, longest first.
    pub delays: Vec<JobDelay>,
    /// The row of the thread that woke it; [`INTERRUPT`](super::INTERRUPT), or [`NOBODY`] where unknown.
    pub woken_by: u32,
    /// The pieces it is made of; the first [`PIECES_MAX`].
    pub pieces: Vec<Segment>,
}

/// A delay of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobDelay {
    /// Why.
    pub cause: Cause,
    /// How long, ns.
    pub ns: u64,
}

/// Why a job did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The thread of that row had the processor, taken from the job.
    PreemptedBy(u32),
    /// The thread of that row had the processor when the job was woken or had given way.
    WaitedFor(u32),
    /// The processor was idle, or waking up.
    Idle,
    /// It slept, until the thread of that row woke it or [`INTERRUPT`](super::INTERRUPT) did; [`NOBODY`] where unknown.
    AsleepUntil(u32),
    /// It waited in the kernel, until the thread of that row woke it; [`NOBODY`] where unknown.
    BlockedUntil(u32),
    /// It is unknown which thread had the processor.
    Unknown,
}

/// The maximum number of pieces kept for a job.
pub const PIECES_MAX: usize = 2_000;

/// Accounts for the time of a row between two moments.
#[must_use]
pub fn account(timeline: &Timeline, row: usize, release: u64, finish: u64) -> Account {
    let mut account = Account { woken_by: NOBODY, ..Account::default() };
    let Some(track) = timeline.rows.get(row).map(|row| &row.track) else { return account };
    let mut delays: BTreeMap<Cause, u64> = BTreeMap::new();
    let mut segments = track.between(release, finish).peekable();
    // The processor it is on, or was on last.
    let mut cpu = None;
    while let Some(segment) = segments.next() {
        let ns = segment.to - segment.from;
        if account.pieces.len() < PIECES_MAX {
            account.pieces.push(segment);
        }
        match segment.state {
            State::Rest => {
                account.asleep += ns;
                let waker = segments.peek().filter(|next| next.state == State::Ready);
                let waker = waker.map_or(NOBODY, |next| next.key);
                *delays.entry(Cause::AsleepUntil(waker)).or_default() += ns;
            }
            State::Running => {
                account.running += ns;
                cpu = Some(segment.key);
            }
            State::Unknown => account.unknown += ns,
            State::Blocked => {
                account.blocked += ns;
                let waker = segments.peek().filter(|next| next.state == State::Ready);
                let waker = waker.map_or(NOBODY, |next| next.key);
                *delays.entry(Cause::BlockedUntil(waker)).or_default() += ns;
            }
            State::Ready | State::Preempted => {
                account.waiting += ns;
                if segment.state == State::Ready && account.pieces.len() == 1 {
                    account.woken_by = segment.key;
                }
                // It waited for the processor it then got.
                let then = segments.peek().filter(|next| next.state == State::Running);
                let place = then.map(|next| next.key).or(cpu);
                let taken = segment.state == State::Preempted;
                who_ran(timeline, place, segment, taken, &mut delays);
            }
        }
    }
    account.delays = delays.into_iter().map(|(cause, ns)| JobDelay { cause, ns }).collect();
    account.delays.sort_by_key(|delay| std::cmp::Reverse(delay.ns));
    account
}

fn who_ran(
    timeline: &Timeline,
    cpu: Option<u32>,
    wait: Segment,
    taken: bool,
    delays: &mut BTreeMap<Cause, u64>,
) {
    let row =
        cpu.and_then(|cpu| u16::try_from(cpu).ok()).and_then(|cpu| timeline.processor_row(cpu));
    let Some(row) = row else {
        *delays.entry(Cause::Unknown).or_default() += wait.to - wait.from;
        return;
    };
    let mut known = 0;
    for segment in timeline.rows[row].track.between(wait.from, wait.to) {
        let ns = segment.to - segment.from;
        let cause = match segment.state {
            State::Running if taken => Cause::PreemptedBy(segment.key),
            State::Running => Cause::WaitedFor(segment.key),
            State::Rest => Cause::Idle,
            _ => Cause::Unknown,
        };
        *delays.entry(cause).or_default() += ns;
        known += ns;
    }
    let rest = (wait.to - wait.from).saturating_sub(known);
    if rest > 0 {
        *delays.entry(Cause::Unknown).or_default() += rest;
    }
}
