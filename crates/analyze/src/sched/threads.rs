//! The state of each thread, found by number and moment.

use std::collections::BTreeMap;

use hemiola_stats::Stream;
use hemiola_stats::growth::push_slowly;
use hemiola_trace::Recording;
use hemiola_trace::sched::{PRIORITY_UNKNOWN, Reservation, Tid};
use hemiola_units::Instant;

use super::asked::{Asked, Known, Means};
use super::culprits::Culprits;
use super::observed::Observed;
use super::period::{Finder, is_about};
use super::tally::{Code, Tally, Woken};
use super::{CULPRITS_MAX, DELAYS_MAX};

/// Numbers below this, the kernel's greatest (`PID_MAX_LIMIT`), are looked up in tables of [`PAGE`].
const NUMBERS_MAX: u32 = 1 << 22;
const PAGE: u32 = 1 << 10;
const NOBODY: u32 = u32::MAX;

/// The first priority of the kernel that is not real time.
pub(super) const TIME_SHARED: i16 = 100;

/// A thread that was released so often does not start up any more.
const STARTUP_RELEASES_MAX: u64 = 12;

/// A thread that begins to run more urgently than before this often, without a new invocation, has another priority.
const RAISED_MAX: u8 = 64;

/// A thread that asks for times which are no releases of its jobs, as far as an earlier pass knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NotAsking {
    /// How often it asked for no later time than before.
    pub(super) disordered: u64,
    /// It asked once, before its loop; else within its jobs.
    pub(super) is_before_loop: bool,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Not seen yet, or not since a gap.
    Unseen,
    /// Asleep: between two invocations, unless it shows that it was within one.
    Sleeping,
    /// Asleep within an invocation: waits for a device or a lock of the kernel, or was stopped.
    Blocked,
    /// Ready to run.
    Ready,
    /// Has used up its reservation under `SCHED_DEADLINE`.
    Throttled,
    /// Has a processor.
    Running,
}

/// A thread and everything kept about it.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) tid: u32,
    /// Since when the number means this thread, ns.
    pub(super) from: u64,
    /// Until when, ns.
    pub(super) until: u64,
    /// When it next gets a name, ns: as it is created, as it executes a program, or as it names itself.
    pub(super) named_next: u64,
    /// Its last event.
    pub(super) seen: u64,
    pub(super) mode: Mode,
    /// Since when it is in this mode. For a ready thread: until when its waiting is accounted for.
    pub(super) since: u64,
    /// Where it ran last, or waits to run.
    pub(super) cpu: u16,
    /// It was woken, so it waits for the processor on which it begins to run, not for its last one.
    pub(super) placed_anew: bool,
    /// The processor it ran on last; `None` before it ran.
    pub(super) ran_on: Option<u16>,
    /// Its own, without what it inherits while it holds a mutex.
    pub(super) priority: i16,
    /// How many times in a row it was more urgent than that.
    pub(super) raised: u8,
    /// A wake-up that came while it was not asleep: it may have been on its way.
    pub(super) woken_early: Option<u64>,
    pub(super) waits: Waits,
    /// Of a thread that asks to sleep until times.
    pub(super) asked: Option<Box<Asked>>,
    /// An earlier pass found that what it asks for are no releases.
    pub(super) not_asking: Option<NotAsking>,
    /// The system call that it is in: its number, and when it entered it.
    pub(super) call: Option<(u16, u64)>,
    /// How often it was lost from sight.
    pub(super) cuts: u64,
    pub(super) invocation: Invocation,
    /// The release before, if nothing was lost since.
    pub(super) released: Option<u64>,
    /// It has slept once since it started up, so its next release may be the first one of its loop.
    pub(super) is_starting: bool,
    /// It is not the first thread of its process.
    pub(super) is_further: bool,
    /// An invocation of it has ended that is no start-up.
    pub(super) has_jobs: bool,
    /// The least execution time of those after the first of these.
    pub(super) shortest_later: Option<u64>,
    /// It was created in the recording, so the first of several names is that of its creator.
    pub(super) is_created: bool,
    /// Wake-ups that released invocations, and those of them by interrupts.
    pub(super) releases: u64,
    pub(super) released_by_interrupts: u64,
    /// Invocations that began when its reservation was replenished, after sched_yield(2).
    pub(super) released_by_reservation: u64,
    /// The period the caller gave, with its deadline.
    pub(super) given: Option<u64>,
    pub(super) reservation: Option<Reservation>,
    /// It had a reservation, and ran at another priority, too.
    pub(super) changed_policy: bool,
    /// It has run under `SCHED_DEADLINE`, and at a priority.
    ran_reserved: bool,
    ran_otherwise: bool,
    /// How long it slept before it was last woken, without having asked for that.
    pub(super) slept: u64,
    /// Its processor time when its reservation was last known to be whole.
    pub(super) replenished_at: u64,
    /// It ended its job with sched_yield(2) and sleeps until the next period of its reservation.
    pub(super) has_yielded: bool,
    /// What an earlier pass found: a period, or that there is none.
    pub(super) hint: Option<Option<u64>>,
    /// Wake-ups were taken for parts of a job because of a period.
    pub(super) is_merged: bool,
    /// The longest invocation while no period was known: it may have been several jobs.
    pub(super) longest_unknown: u64,
    pub(super) finder: Finder,
    /// Marked tasks of this thread that have a job open.
    pub(super) open_marks: Vec<u32>,
    /// `given`, `hint` and `is_marked` have been looked up.
    pub(super) is_identified: bool,
    /// Whether a program marks jobs of this thread at all.
    pub(super) is_marked: bool,
    pub(super) totals: Totals,
    /// The times of complete invocations.
    pub(super) observed: Observed,
}

/// A time in which a thread was ready and did not run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The thread that had the processor for most of it.
    pub(super) most: Code,
}

/// The last waits of a thread, each longer than all after it. They show what delayed a thread that another one waits
/// for: whenever that began to wait, the longest wait since then is among these.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    kept: Vec<Wait>,
}

/// The maximum number of waits kept. Of a million waits with random lengths, about 14 are longer than all after them.
const WAITS_MAX: usize = 32;

impl Waits {
    /// Adds a wait, and forgets those that are no longer than it.
    #[inline]
    pub(super) fn add(&mut self, wait: Wait) {
        let length = wait.to - wait.from;
        while self.kept.pop_if(|kept| kept.to - kept.from <= length).is_some() {}
        if self.kept.len() == WAITS_MAX {
            self.kept.remove(0);
        }
        self.kept.push(wait);
    }

    /// The longest part of a wait between two moments, and the thread that had the processor.
    pub(super) fn longest_in(&self, from: u64, to: u64) -> (Code, u64) {
        let part = |wait: &Wait| (wait.most, wait.to.min(to).saturating_sub(wait.from.max(from)));
        self.kept.iter().map(part).max_by_key(|part| part.1).unwrap_or((Code::UNKNOWN, 0))
    }
}

/// The work of a thread from one wake-up on.
#[derive(Clone, Debug, Default)]
pub(super) struct Invocation {
    pub(super) open: bool,
    /// Everything since its release was seen.
    pub(super) sound: bool,
    pub(super) started: bool,
    pub(super) number: u64,
    pub(super) release: u64,
    pub(super) start: u64,
    /// When it last went to sleep.
    pub(super) finish: u64,
    /// Its thread's processor time when it began.
    pub(super) running_before: u64,
    /// The thread or interrupt that woke it.
    pub(super) waker: Option<Code>,
    pub(super) delays: Culprits<DELAYS_MAX>,
}

/// An invocation that lasts longer, in periods, counts as one job in the figures: it tells nothing about single ones.
pub(super) const JOBS_MAX: u64 = 128;

/// The jobs that one invocation consists of, each released one period after the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jobs {
    /// At least 1.
    pub(super) count: u64,
    /// The same without an upper limit.
    pub(super) released: u64,
    /// T; 0 if it is unknown, and then there is one job.
    pub(super) period: u64,
}

impl Jobs {
    pub(super) fn last_release(self, first: u64) -> u64 {
        first.saturating_add((self.released - 1).saturating_mul(self.period))
    }

    /// The response time and the execution time of each, the last one first.
    ///
    /// Only the release of the first and the finish of the last were seen. The execution time is shared out so that all
    /// but the first take as long as the longer of the last two jobs: a job that took longer delays those after it.
    /// They ran evenly
    /// from the first start to the end, and all but the last were not finished at the next release, or the thread would
    /// have slept.
    pub(super) fn times(
        self,
        invocation: &Invocation,
        execution: u64,
        [one, other]: [u64; 2],
    ) -> impl Iterator<Item = (u64, u64)> {
        let Invocation { release, start, finish, .. } = *invocation;
        let share = execution / self.count;
        let is_known = one > 0 && other > 0;
        let each = if is_known { share.min(one.max(other)) } else { share };
        let ran = finish.saturating_sub(start.max(release));
        (0..self.count).rev().map(move |number| {
            let behind = self.count - 1 - number;
            let own = if number == 0 { execution - each * behind } else { each };
            let released = number.saturating_mul(self.period);
            let rest = ran as f64 * (each * behind) as f64 / execution.max(1) as f64;
            let ended = finish.saturating_sub(release).saturating_sub(rest as u64);
            let response = ended.saturating_sub(released);
            let least = if behind > 0 { self.period.saturating_add(1) } else { 0 };
            (response.max(least), own)
        })
    }

    /// How many of them have a known execution time, the sum of these, and the greatest. Of very many jobs only the
    /// mean is known, and not if a reservation bounds them.
    pub(super) fn executions(
        self,
        invocation: &Invocation,
        execution: u64,
        usual: [u64; 2],
        is_reserved: bool,
    ) -> [u64; 3] {
        if self.count == 1 {
            let one = if is_reserved { execution } else { execution / self.released };
            return [1, one, one];
        }
        let each = self.times(invocation, execution, usual).map(|(_, execution)| execution);
        [self.count, execution, each.max().unwrap_or(0)]
    }

    /// How late they were if each was due so long after its release; nothing if none was.
    pub(super) fn late(self, invocation: &Invocation, deadline: u64) -> Option<Late> {
        let Invocation { release, finish, .. } = *invocation;
        let ns = finish.saturating_sub(release.saturating_add(deadline));
        let jobs = self.released;
        let last_due = self.last_release(release).saturating_add(deadline);
        let last_ns = finish.wrapping_sub(last_due) as i64;
        // Each before the last was not finished at the next release, or the thread would have slept.
        let missed = jobs - 1 + u64::from(last_ns > 0);
        (ns > 0).then_some(Late { ns, jobs, missed, last_ns })
    }
}

/// How late the jobs of an invocation were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// The greatest finish − deadline of them.
    pub(super) ns: u64,
    pub(super) jobs: u64,
    /// How many of them were late.
    pub(super) missed: u64,
    /// Finish − deadline of the last; not positive if that was in time.
    pub(super) last_ns: i64,
}

impl Late {
    /// Of a single job.
    pub(super) fn of_one(ns: u64) -> Option<Self> {
        let last_ns = i64::try_from(ns).unwrap_or(i64::MAX);
        (ns > 0).then_some(Self { ns, jobs: 1, missed: 1, last_ns })
    }
}

/// Sums over the whole recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) running: u64,
    pub(super) waiting: u64,
    pub(super) throttled: u64,
    pub(super) throttles: u64,
    pub(super) blocked: u64,
    pub(super) sleeping: u64,
    pub(super) interrupted: u64,
    pub(super) preemptions: u64,
    pub(super) migrations: u64,
    /// The execution times of its last two invocations of one job.
    pub(super) usual: [u64; 2],
    /// Its longest start-up, which is a job if the thread turns out to have no period; at the end only if it is one.
    pub(super) startup: Option<Box<Times>>,
    /// The longest start-up of a further thread of its process.
    pub(super) startup_length: u64,
    /// Jobs that were not finished at the next release.
    pub(super) overran: u64,
    /// `running` when it came to the processor it is on.
    pub(super) running_elsewhere: u64,
    pub(super) page_faults: u64,
    pub(super) calls: u64,
    /// By the number of the system call.
    #[expect(clippy::box_collection, reason = "most threads have none: one word, not three")]
    pub(super) called: Option<Box<BTreeMap<u16, Called>>>,
    pub(super) incomplete: u64,
    pub(super) missed: u64,
    /// The greatest of an invocation.
    pub(super) suspension: u64,
    /// How long the invocation has lasted that is under way at the end.
    pub(super) unfinished: u64,
    /// The longest that was seen in part, as far as it was seen.
    pub(super) part: u64,
    /// The one in which it ended.
    pub(super) ended: u64,
    /// How long it has slept at the end, or had slept before it ended, without having asked for that.
    pub(super) silent: u64,
    /// The longest sleep until another thread woke it that counts as part of a job.
    pub(super) answered: u64,
    /// Ascending.
    pub(super) cpus: Vec<u16>,
    pub(super) culprits: Culprits<CULPRITS_MAX>,
    pub(super) wakers: Tally<CULPRITS_MAX, Woken>,
}

/// The times of an invocation, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) release: u64,
    pub(super) latency: u64,
    pub(super) response: u64,
    pub(super) execution: u64,
}

/// The system calls of one number.
#[derive(Clone, Debug, Default)]
pub(super) struct Called {
    /// From entry to return.
    pub(super) lengths: Stream,
    /// Calls whose return was not seen.
    pub(super) incomplete: u64,
}

impl State {
    fn new(tid: u32, from: u64, until: u64) -> Self {
        Self {
            tid,
            from,
            until,
            named_next: u64::MAX,
            seen: from,
            mode: Mode::Unseen,
            since: from,
            cpu: 0,
            placed_anew: false,
            ran_on: None,
            priority: PRIORITY_UNKNOWN,
            raised: 0,
            woken_early: None,
            call: None,
            waits: Waits::default(),
            asked: None,
            not_asking: None,
            cuts: 0,
            invocation: Invocation::default(),
            released: None,
            is_starting: false,
            is_further: false,
            has_jobs: false,
            shortest_later: None,
            is_created: false,
            releases: 0,
            released_by_interrupts: 0,
            released_by_reservation: 0,
            given: None,
            reservation: None,
            changed_policy: false,
            ran_reserved: false,
            ran_otherwise: false,
            slept: 0,
            replenished_at: 0,
            has_yielded: false,
            hint: None,
            is_merged: false,
            longest_unknown: 0,
            finder: Finder::default(),
            open_marks: Vec::new(),
            is_identified: false,
            is_marked: false,
            totals: Totals::default(),
            observed: Observed::default(),
        }
    }

    /// Nothing more happens to it: looks for its period once more, and frees what only a pass needs.
    pub(super) fn finish(&mut self) {
        let reserved = self.reservation.filter(|_| !self.yields());
        self.finder.finish(reserved.map(|of| of.period_ns));
        self.invocation.delays = Culprits::default();
        self.waits = Waits::default();
        self.open_marks = Vec::new();
    }

    /// Frees its counts, after the report was made of them.
    pub(super) fn free(&mut self) {
        self.totals.culprits = Culprits::default();
        self.totals.wakers = Tally::default();
        self.totals.called = None;
        self.observed = Observed::default();
    }

    /// T as far as it is known now.
    #[inline]
    pub(super) fn period(&self) -> Option<u64> {
        self.stated().or(self.hint.unwrap_or(self.finder.period))
    }

    /// T as the caller or its reservation states it.
    #[inline]
    pub(super) fn stated(&self) -> Option<u64> {
        self.given.or(self.by_reservation().map(|reservation| reservation.period_ns))
    }

    /// T as both know it.
    pub(super) fn known(&self) -> Known {
        Known { period: self.period(), stated: self.stated() }
    }

    /// D, if it is known.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.given.or(self.by_reservation().map(|reservation| reservation.deadline_ns))
    }

    /// The reservation that states T and D, as the kernel's documentation has it (`sched-deadline.rst`, section 4),
    /// unless an earlier pass found that the jobs have another period, or none.
    #[inline]
    pub(super) fn by_reservation(&self) -> Option<Reservation> {
        self.reservation.filter(|_| self.hint.is_none())
    }

    /// Whether another pass is likely to be needed, by the facts from which the engine decides at the end: a period was
    /// found late, or wake-ups were counted by one that is no more.
    #[inline]
    pub(super) fn awaits_another_pass(&self) -> bool {
        let is_withdrawn = self.is_merged && self.finder.period.is_none();
        (self.finder.late || is_withdrawn) && self.stated().is_none()
    }

    /// T by the wake-ups, if its reservation has another period; `Some(None)` if they show no period at all.
    pub(super) fn apart_from_reservation(&self) -> Option<Option<u64>> {
        let reservation = self.reservation.filter(|_| self.given.is_none() && !self.yields())?;
        let own = self.finder.period;
        (own != Some(reservation.period_ns)).then_some(own)
    }

    /// Whether it mostly ends its jobs with sched_yield(2), so that the next one is released with its reservation.
    fn yields(&self) -> bool {
        2 * self.released_by_reservation > self.releases
    }

    /// Whether nothing but sched_yield(2) ends its jobs, or ended the open invocation: however long that lasts, no
    /// release lies within it.
    fn has_one_job(&self) -> bool {
        self.is_marked || self.has_yielded || self.yields()
    }

    /// Its reservation is replenished while a job goes on. The time beyond the last budget, until the kernel noticed
    /// at a tick, is taken off the new one (`replenish_dl_entity` in the kernel's `kernel/sched/deadline.c`).
    pub(super) fn replenish(&mut self) {
        let used = self.totals.running.saturating_sub(self.replenished_at);
        let runtime = self.reservation.map_or(0, |of| of.runtime_ns);
        let beyond = used.saturating_sub(runtime).checked_rem(runtime).unwrap_or(0);
        self.replenished_at = self.totals.running - beyond;
    }

    /// Whether it has certainly not used up its reservation since that was replenished. The kernel charges interrupts
    /// and the switch too.
    pub(super) fn has_budget(&self) -> bool {
        let used = self.totals.running.saturating_sub(self.replenished_at);
        self.reservation.is_some_and(|of| used < of.runtime_ns - of.runtime_ns / 50)
    }

    /// A wake-up at this moment belongs to the job that the last release began. The releases within an invocation of
    /// several jobs were not seen, and one wrong guess would make it swallow all jobs that follow.
    #[inline]
    pub(super) fn is_within_job(&mut self, at: u64) -> bool {
        let release = self.invocation.release;
        let is_one = || self.jobs_of_invocation().released == 1;
        let is_soon = |period| at.saturating_sub(release) < period / 2;
        let within = self.period().is_some_and(is_soon) && is_one();
        self.is_merged |= within;
        within
    }

    /// A thread that timers release was woken by another thread: it waited for that one within its job. If it had been
    /// asleep between two jobs, its timer would have woken it.
    #[inline]
    pub(super) fn is_answered(&mut self, waker: Code) -> bool {
        let is_answered = waker.as_thread().is_some()
            && 2 * self.released_by_interrupts > self.releases
            && self.period().is_some();
        self.is_merged |= is_answered;
        is_answered
    }

    /// It begins to run at a priority other than its own; `is_first`: with the first instruction of an invocation.
    ///
    /// A thread that holds a mutex may run at a more urgent priority (PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT). It
    /// holds none when an invocation begins, and not for long otherwise.
    pub(super) fn runs_at(&mut self, priority: i16, is_first: bool) {
        if priority == PRIORITY_UNKNOWN {
            return;
        }
        self.raised = self.raised.saturating_add(1);
        let is_own = is_first || (priority < 0 && self.reservation.is_some());
        if is_own
            || priority > self.priority
            || self.priority == PRIORITY_UNKNOWN
            || self.raised >= RAISED_MAX
        {
            (self.priority, self.raised) = (priority, 0);
        }
    }

    /// Counts the jobs of an invocation that has not ended at the end of the recording and is late for certain: those
    /// before the last release. If its begin was not seen, the first release may be up to a period later.
    pub(super) fn miss_until(&mut self, end: u64) -> u64 {
        let Some(period) = self.stated().filter(|_| self.invocation.open && !self.is_marked) else {
            return 0;
        };
        let releases = end.saturating_sub(self.invocation.release) / period;
        let releases = if self.has_one_job() { releases.min(1) } else { releases };
        let late = releases.saturating_sub(u64::from(!self.invocation.sound));
        self.totals.missed += late;
        late
    }

    /// It has slept for so long at the end of the recording, or before it ended. Returns how many jobs it missed for
    /// certain: of a thread with a stated period that is silent for more than two, all that were due.
    pub(super) fn is_silent(&mut self, at: u64, length: u64) -> u64 {
        if self.is_marked || self.asked.as_ref().is_some_and(|asked| asked.sleeps_beyond(at)) {
            return 0;
        }
        self.totals.silent = self.totals.silent.max(length);
        let is_so = |stated: u64| self.finder.period.is_none_or(|found| is_about(found, stated));
        let is_due = |stated: &u64| length > 2 * stated && self.asked.is_none() && is_so(*stated);
        let stated = self.stated().filter(is_due);
        let missed = stated.map_or(0, |period| length / period - 1);
        self.totals.missed += missed;
        missed
    }

    /// The jobs of the open invocation. A thread that is still busy at its next release begins the next job without
    /// sleeping, so it is not seen to wake up. One that yields has no release before it yields.
    #[inline]
    pub(super) fn jobs_of_invocation(&self) -> Jobs {
        let length = self.invocation.finish.saturating_sub(self.invocation.release);
        if let Some(asked) = &self.asked {
            let count = asked.count_over() + 1;
            if count > 1 || asked.due().is_some() {
                return Jobs { count, released: count, period: self.period().unwrap_or(0) };
            }
        }
        match self.period() {
            Some(period) if length > period && !self.has_one_job() => {
                let released = length.div_ceil(period);
                let count = if released > JOBS_MAX { 1 } else { released };
                Jobs { count, released, period }
            }
            period => Jobs { count: 1, released: 1, period: period.unwrap_or(0) },
        }
    }

    /// The open invocation is over, with so many jobs.
    #[inline]
    pub(super) fn end_invocation(&mut self, jobs: u64) {
        self.invocation.open = false;
        self.invocation.number += jobs;
        self.invocation.delays.clear();
        if let Some(asked) = &mut self.asked {
            asked.over.clear();
        }
    }

    /// The release of the job that is under way in the open invocation, as far as it is known.
    pub(super) fn last_release(&self) -> u64 {
        let over = self.asked.as_ref().and_then(|asked| asked.over.last());
        over.map_or(self.invocation.release, |over| over.next)
    }

    /// It asks for a release that has passed so long ago, at the end of a job of which the begin was not seen: that job
    /// has lasted longer than its period.
    pub(super) fn seen_late_by(&mut self, late: Option<u64>) {
        if let Some((late, period)) = late.zip(self.period()) {
            self.totals.part = self.totals.part.max(period.saturating_add(late));
        }
    }

    /// The greatest delay of its wake-ups after the times for which it had asked, if its releases are such times.
    pub(super) fn timer_late(&self) -> Option<u64> {
        let asked = self.asked.as_ref().filter(|asked| asked.is_certain(self.known()));
        asked.map(|asked| asked.late_max)
    }

    /// How often it asked for an earlier time than before.
    pub(super) fn disordered(&self) -> u64 {
        let asked = self.asked.as_ref().map(|asked| asked.disordered);
        asked.or(self.not_asking.map(|not| not.disordered)).unwrap_or(0)
    }

    /// Whether it asked for times within its jobs.
    pub(super) fn asks_within_jobs(&self) -> bool {
        self.not_asking.is_some_and(|not| !not.is_before_loop)
            || self.asked.as_ref().is_some_and(|asked| asked.asks_within_jobs())
    }

    /// Whether it asked for one time before its loop, which something else releases.
    pub(super) fn asks_before_loop(&self) -> bool {
        self.not_asking.is_some_and(|not| not.is_before_loop)
    }

    /// It may have begun with the next job since it asked to sleep until a time that has passed.
    #[inline]
    pub(super) fn settle(&mut self, now: u64, running: u64) {
        if self.asked.is_some() {
            let known = self.known();
            let passed = self.asked.as_mut().and_then(|asked| asked.settle(now, running, known));
            if let Some(release) = passed {
                self.finder.wake(release, true);
            } else if self.asked.as_ref().is_some_and(|asked| !asked.is_pending()) {
                self.rejoin();
            }
        }
    }

    /// The job under way goes on, or ends here: its delays before its thread asked to sleep are joined to those since.
    pub(super) fn rejoin(&mut self) {
        if let Some(asked) = &mut self.asked
            && !asked.delays.is_empty()
        {
            let before = std::mem::take(&mut asked.delays);
            let since = std::mem::replace(&mut self.invocation.delays, before);
            self.invocation.delays.add_all(&since);
        }
    }

    /// Adds the delays of the jobs that are over to those of the open invocation. Returns those of the last job if
    /// there are others.
    pub(super) fn join_delays(&mut self) -> Culprits<DELAYS_MAX> {
        self.rejoin();
        let mut all = Culprits::default();
        let Some(asked) = self.asked.as_ref().filter(|asked| asked.count_over() > 0) else {
            return all;
        };
        asked.over.iter().for_each(|over| all.add_all(&over.delays));
        let last = std::mem::replace(&mut self.invocation.delays, all);
        self.invocation.delays.add_all(&last);
        last
    }

    /// What a wake-up means to it.
    #[inline]
    pub(super) fn means(&mut self, at: u64) -> Means {
        let period = self.period();
        let means = match &mut self.asked {
            Some(asked) => asked.wake(at, period),
            None => Means::Anything,
        };
        self.rejoin();
        means
    }

    /// Whether the open invocation is its start-up: in it, the thread was created, executed a program or named itself.
    /// Marks tell jobs apart from it.
    #[inline]
    pub(super) fn is_startup(&self) -> bool {
        self.starts_up_until(self.invocation.finish)
    }

    /// The same if that invocation lasts until then. A thread that has a loop by now names itself within a job.
    #[inline]
    pub(super) fn starts_up_until(&self, finish: u64) -> bool {
        self.named_next <= finish
            && !self.is_marked
            && self.releases < STARTUP_RELEASES_MAX
            && self.asked.as_ref().is_none_or(|asked| asked.due().is_none())
    }

    /// It has slept after a start-up, which is no release.
    pub(super) fn started_up(&mut self, times: Times) {
        self.finder.forget();
        // A loop begins at the time that its thread asked for before it.
        (self.released, self.is_starting) = (None, !self.asks_before_loop());
        // A program starts up for certain, but a thread may begin with a job.
        if self.is_further {
            self.totals.startup_length = self.totals.startup_length.max(times.response);
        }
        let startup = &mut self.totals.startup;
        if startup.as_ref().is_none_or(|before| before.response < times.response) {
            *startup = Some(Box::new(times));
        }
    }

    /// It begins to run at that priority. A thread has a reservation until it leaves `SCHED_DEADLINE`; it runs at a
    /// priority before, too, because no thread is created with one.
    #[inline]
    pub(super) fn runs_by_reservation(&mut self, priority: i16) {
        let is_otherwise = priority >= 0 && priority != PRIORITY_UNKNOWN;
        self.ran_reserved |= priority < 0;
        self.ran_otherwise |= is_otherwise;
        if is_otherwise && self.ran_reserved {
            self.leave_reservation();
        }
    }

    /// No more follows of a thread that did not run by its reservation, which it had left before.
    pub(super) fn ends_by_reservation(&mut self) {
        if self.ran_otherwise && !self.ran_reserved {
            self.leave_reservation();
        }
    }

    fn leave_reservation(&mut self) {
        self.changed_policy |= self.reservation.take().is_some();
    }

    /// It begins to run there.
    #[inline]
    pub(super) fn runs_on(&mut self, c: usize) {
        let cpu = c as u16;
        self.cpu = cpu;
        let before = self.ran_on.replace(cpu);
        if before != Some(cpu) {
            self.totals.migrations += u64::from(before.is_some());
            self.totals.running_elsewhere = self.totals.running;
            if let Err(place) = self.totals.cpus.binary_search(&cpu) {
                self.totals.cpus.insert(place, cpu);
            }
        }
    }

    /// Marks the open invocation as incomplete, because the thread was lost from sight.
    pub(super) fn cut(&mut self) {
        self.invocation.sound = false;
        self.released = None;
        self.finder.forget();
        self.cuts += 1;
        self.join_delays();
        if let Some(asked) = &mut self.asked {
            asked.cut();
        }
    }
}

/// All threads, and the meaning of each thread number at each moment.
#[derive(Clone, Debug)]
pub(super) struct Threads<'r> {
    recording: &'r Recording,
    /// Indices of `states` by number, in pages.
    pages: Vec<Option<Box<[u32; PAGE as usize]>>>,
    /// The same for numbers that no kernel assigns.
    strange: BTreeMap<u32, u32>,
    pub(super) states: Vec<State>,
    /// What looks for the period of a new one.
    finder: Finder,
}

impl<'r> Threads<'r> {
    pub(super) fn new(recording: &'r Recording, finder: Finder) -> Self {
        Self { recording, pages: Vec::new(), strange: BTreeMap::new(), states: Vec::new(), finder }
    }

    /// The thread with that number at that moment, created if it is new.
    #[inline]
    pub(super) fn at(&mut self, tid: Tid, at: u64) -> usize {
        if let Some(index) = self.find(tid)
            && at < self.states[index].until
        {
            return index;
        }
        self.make(tid, at)
    }

    /// The thread that had this number at a moment, whichever has it now.
    pub(super) fn had(&self, tid: Tid, at: u64) -> Option<usize> {
        let last = self.find(tid)?;
        if self.states[last].from <= at {
            return (at < self.states[last].until).then_some(last);
        }
        self.states.iter().position(|state| state.tid == tid.0 && at < state.until)
    }

    #[inline]
    fn find(&self, tid: Tid) -> Option<usize> {
        let index = if tid.0 < NUMBERS_MAX {
            let page = self.pages.get((tid.0 / PAGE) as usize)?.as_ref()?;
            page[(tid.0 % PAGE) as usize]
        } else {
            *self.strange.get(&tid.0)?
        };
        (index != NOBODY).then_some(index as usize)
    }

    #[cold]
    fn make(&mut self, tid: Tid, at: u64) -> usize {
        let index = self.states.len();
        // The number means this thread until the recording names another one with it.
        let after = self.named_after(tid, at);
        let others = self.recording.threads[after..].iter().take_while(|thread| thread.tid == tid);
        let until = others.filter(|thread| thread.new).map(|thread| thread.since.nanos()).next();
        let mut state = State::new(tid.0, at, until.unwrap_or(u64::MAX));
        state.finder = self.finder.clone();
        let threads = &self.recording.threads;
        let own = after.checked_sub(1).map(|before| &threads[before]);
        let own = own.filter(|own| own.tid == tid);
        state.is_further = own.is_some_and(|own| ![0, tid.0].contains(&own.pid));
        let own = own.filter(|own| own.since > Instant::ZERO);
        state.is_created = own.is_some_and(|own| own.new);
        state.named_next = match own {
            Some(own) => own.since.nanos(),
            None => self.next_name(tid, at, state.until),
        };
        push_slowly(&mut self.states, state);
        if tid.0 < NUMBERS_MAX {
            let page = (tid.0 / PAGE) as usize;
            if page >= self.pages.len() {
                self.pages.resize(page + 1, None);
            }
            let page = self.pages[page].get_or_insert_with(|| Box::new([NOBODY; PAGE as usize]));
            page[(tid.0 % PAGE) as usize] = index as u32;
        } else {
            self.strange.insert(tid.0, index as u32);
        }
        index
    }

    /// The index of the first entry after those of a thread up to a moment.
    fn named_after(&self, tid: Tid, at: u64) -> usize {
        let until = (tid, Instant::from_nanos(at));
        self.recording.threads.partition_point(|thread| (thread.tid, thread.since) <= until)
    }

    /// When a thread gets its next name after a moment, if it is before `until`.
    pub(super) fn next_name(&self, tid: Tid, at: u64, until: u64) -> u64 {
        let next = self.recording.threads.get(self.named_after(tid, at));
        let next = next.filter(|next| next.tid == tid);
        next.map(|next| next.since.nanos()).filter(|next| *next < until).unwrap_or(u64::MAX)
    }

    /// The names a thread had until `last`, in order; empty where the recording has none.
    pub(super) fn names(&self, state: &State, last: u64) -> Vec<&'r str> {
        let entries = &self.recording.threads;
        let (first, last) = (Instant::from_nanos(state.from), Instant::from_nanos(last));
        let tid = Tid(state.tid);
        let held = entries.partition_point(|thread| (thread.tid, thread.since) <= (tid, first));
        let from = held.saturating_sub(1);
        let own = entries[from..].iter().take_while(|thread| thread.tid <= tid);
        let own = own.filter(|thread| thread.tid == tid);
        let mut names: Vec<&str> = Vec::new();
        for thread in own {
            let (is_later, is_another) = (thread.since > first, thread.new && thread.since > first);
            if !names.is_empty() && ((is_later && thread.since > last) || is_another) {
                break;
            }
            if !thread.name.is_empty() && names.last() != Some(&thread.name.as_str()) {
                names.push(&thread.name);
            }
        }
        names
    }

    /// The process of a thread; 0 where unknown.
    pub(super) fn pid(&self, state: &State) -> u32 {
        let thread = self.recording.thread(Tid(state.tid), Instant::from_nanos(state.seen));
        thread.map_or(0, |thread| thread.pid)
    }
}
