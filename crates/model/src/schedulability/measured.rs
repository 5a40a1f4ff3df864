//! Task sets of each processor from the threads and marked tasks of a recording.

use hemiola_analyze::sched::{PeriodFrom, Report, TaskReport, ThreadReport};
use serde::Serialize;

use super::reserved::ReservedTask;
use super::words;
use crate::response_time::Task;

/// The first kernel priority that is not real time.
const TIME_SHARED: i16 = 100;

/// A measured task; times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    /// The task's name, or its thread's if nothing was marked.
    pub name: String,
    /// Its thread.
    pub tid: u32,
    /// The kernel's priority, as [`ThreadReport::priority`].
    pub priority: Option<i16>,
    /// The number of jobs behind the figures.
    pub jobs: u64,
    /// C: the greatest execution time observed, which is not a bound. For a marked task it includes the thread's usual
    /// time outside the marks.
    pub execution_ns: u64,
    /// The 99th percentile of the execution time.
    pub execution_p99_ns: u64,
    /// T.
    pub period_ns: u64,
    /// D: as marked, otherwise that of a reservation whose period is T, otherwise T.
    pub deadline_ns: u64,
    /// B: the longest blocking of a job by less urgent threads; 0 if its priority is not real time.
    pub blocking_ns: u64,
    /// J: the possible delay of a release. The greatest delay of a wake-up after the time until which the thread had
    /// asked to sleep; if the recording does not show that time, half the spread of the wake-up intervals.
    pub jitter_ns: u64,
    /// S: in one job at most, asleep for other reasons than B; the bounds take it for execution.
    pub suspension_ns: u64,
    /// How long a job had lasted that was under way when the recording ended; 0 if there was none.
    pub unfinished_ns: u64,
    /// How long its thread took from its creation until it slept, if it was created in the recording within a process:
    /// this is not a job, or it was several late ones.
    pub startup_ns: u64,
    /// As in [`ThreadReport`], 0 for a marked task: the longest job that was seen in part, …
    pub part_ns: u64,
    /// … the one with which the thread ended, …
    pub ended_ns: u64,
    /// … and how long it had slept at the end.
    pub silent_ns: u64,
    /// The greatest response time observed.
    pub response_ns: Option<u64>,
    /// Deadlines missed in the recording.
    pub missed: u64,
    /// Jobs that were not finished at the next release.
    pub overran: u64,
    /// T was found in the wake-ups, and most jobs took more than half of it. A thread with half that period that is
    /// late in every other one and then does not sleep has the same wake-ups.
    pub is_period_doubtful: bool,
    /// The mean distance of the releases, if they were found in wake-ups.
    pub distance_ns: Option<u64>,
    /// The number of these distances.
    pub distances: u64,
    /// The shortest distance of two wake-ups that released jobs, if any is known.
    #[serde(skip)]
    pub(super) shortest_ns: Option<u64>,
    /// By how much more than their median nine in ten of the distances of releases are at most.
    #[serde(skip)]
    pub(super) usual_late_ns: u64,
    /// As in [`ThreadReport`].
    #[serde(skip)]
    pub(super) disordered: u64,
    /// How many times it asked for that lie off all others, which are a multiple of its period apart.
    pub(super) strayed: u64,
    /// Whether it asked for times within some of its jobs only.
    pub(super) asks_within_jobs: bool,
    /// As in [`ThreadReport`].
    #[serde(skip)]
    pub(super) asks_before_loop: bool,
    #[serde(skip)]
    pub(super) execution_later_min_ns: u64,
    #[serde(skip)]
    pub(super) unclear: u64,
    /// The longest sleep until another thread woke it that counts as part of a job, although it may have been between
    /// two.
    #[serde(skip)]
    pub(super) answered_ns: u64,
    /// For a marked task: whether the thread's wake-ups show its period too, and with it how punctual the releases are.
    #[serde(skip)]
    pub(super) is_seen_waking: bool,
    #[serde(skip)]
    pub(super) is_marked: bool,
    /// Whether the releases are times until which the thread asked to sleep: no job is a guess.
    #[serde(skip)]
    pub(super) is_timed: bool,
}

/// How much shorter the mean distance of releases may be than T, as a part of T. A thread that sleeps within its jobs
/// has other wake-ups than its releases. It must not be longer: of a thread that is late, a release is not seen, or
/// each comes later after its time than the one before.
const DISTANCE_OFF: u64 = 200;

/// How late a single wake-up may be: a part of T, a time, and a multiple of what nine in ten are.
const LATE_OFF: u64 = 20;
const LATE_LEAST_NS: u64 = 100_000;
const LATE_USUAL: u64 = 4;

/// How late one of a thread may be that asked for a time before its loop: no more than this, nor than a part of T. Its
/// program sleeps until times, so less is taken for granted than of others.
const LATE_BEGUN_NS: u64 = 50_000;

/// How much the execution times of such a thread may differ. A sleep within a job until the next release makes one
/// wake-up shorter and one longer, by what the job did after it.
const UNEVEN_NS: u64 = 50_000;

/// How long a thread may sleep within its jobs, as a part of T, until it is doubtful at which wake-up the next job
/// begins.
const SUSPENSION_OFF: u64 = 100;

impl Measured {
    /// Whether it ran at a real-time priority.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        is_real_time(self.priority)
    }

    /// Whether a job was seen to finish after its deadline, or not to finish until then.
    #[must_use]
    pub fn was_late(&self) -> bool {
        self.missed > 0
            || self.overran > 0 && self.deadline_ns <= self.period_ns
            || self.unfinished_ns > self.deadline_ns
            || self.response_ns.is_some_and(|seen| seen > self.deadline_ns)
    }

    /// Whether the releases that were found in wake-ups are too many or too few for T.
    #[must_use]
    pub fn has_other_releases(&self) -> bool {
        let off = self.distance_ns.map(|distance| distance.abs_diff(self.period_ns));
        // The first and the last release may be late.
        let by_jitter = 2 * self.jitter_ns / self.distances.max(1);
        let is_longer = self.distance_ns.is_some_and(|distance| distance > self.period_ns);
        // T and the mean are rounded.
        let allowed = if is_longer { 1 } else { self.period_ns / DISTANCE_OFF };
        off.is_some_and(|off| off > allowed + by_jitter)
    }

    /// Whether a wake-up was so late, compared with the others, that it may have ended a sleep within a job that had
    /// lasted beyond the next release.
    #[must_use]
    pub fn has_late_wake_up(&self) -> bool {
        let part = self.period_ns / LATE_OFF;
        if self.asks_before_loop {
            return self.jitter_ns.max(self.usual_late_ns) > part.min(LATE_BEGUN_NS);
        }
        let few = part.max(LATE_LEAST_NS);
        let usual = self.usual_late_ns.saturating_mul(LATE_USUAL);
        // If more than one in ten is that late, lateness itself is usual.
        !self.is_marked
            && !self.is_timed
            && (self.jitter_ns > few.max(usual) || self.usual_late_ns > few)
    }

    /// Whether jobs of a thread that asked for a time before its loop take so different times that a long one may be
    /// the end of a job that slept until its next release, and the next job. If not, such a job was late by no more
    /// than its wake-up and the difference.
    #[must_use]
    pub fn has_uneven_jobs(&self) -> bool {
        let differ = self.execution_ns.saturating_sub(self.execution_later_min_ns);
        self.asks_before_loop && differ > UNEVEN_NS
    }

    /// Whether a job may have been late from its release on, although not from its wake-up on, because that came late.
    fn may_be_late_by_wake_up(&self) -> bool {
        let seen = self.response_ns.filter(|seen| *seen <= self.deadline_ns);
        seen.is_some_and(|seen| seen.saturating_add(self.jitter_ns) > self.deadline_ns)
    }

    /// Whether a job that was seen in part had lasted longer than its deadline.
    #[must_use]
    pub fn has_doubtful_part(&self) -> bool {
        self.part_ns > self.deadline_ns
    }

    /// Whether the thread ended in a job that had lasted longer than its deadline.
    #[must_use]
    pub fn has_doubtful_end(&self) -> bool {
        self.ended_ns > self.deadline_ns
    }

    /// Whether the thread was not seen any more for more than two periods before the end.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.silent_ns > self.period_ns.saturating_mul(2)
    }

    /// Whether the thread may have begun with jobs that were late, and not with a start-up.
    #[must_use]
    pub fn has_doubtful_startup(&self) -> bool {
        self.startup_ns > self.deadline_ns
    }

    /// Whether the thread slept within its jobs for so long that its wake-ups do not tell its jobs apart: for a part of
    /// the period, or for no longer than its wake-ups vary. The latter may be a short sleep until each release, after a
    /// long one in a job whose end varies, and lasts beyond the release at times.
    #[must_use]
    pub fn has_doubtful_jobs(&self) -> bool {
        let few = self.period_ns / SUSPENSION_OFF;
        let slept = self.suspension_ns.max(self.answered_ns);
        let varies_by = 2 * self.jitter_ns;
        !self.is_timed
            && self.distance_ns.is_some()
            && (slept > few || (slept > 0 && slept <= varies_by && varies_by > few))
    }
}

/// A thread that is in no set, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Its number.
    pub tid: u32,
    /// The processors it ran on.
    pub cpus: Vec<u16>,
    /// The share of one processor it used.
    pub utilization: f64,
    /// The reason.
    pub why: LeftOutReason,
}

/// A thread that migrated belongs to the processor on which it then spent this share of its processor time: programs
/// pin their threads after they have started.
const SETTLED: f64 = 0.95;

/// Why a thread is in no set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It ran on several processors; the tests are for one.
    Migrates,
    /// It has a real-time priority but no period, so no measurement limits how often it runs.
    NotPeriodic,
    /// It used or wanted a considerable share of the processor of threads that are judged because of their periods,
    /// and has none: a thread that is late in every period looks the same.
    Busy,
    /// It has a period, but no job of it was recorded from release to finish.
    NoJobs,
    /// It never slept in the recording, although it has a period: it is always late.
    NeverSleeps,
    /// It ran under `SCHED_DEADLINE`, and its runtime, deadline and period are not in the recording, or it ran at
    /// another priority, too.
    NoReservation,
}

/// Of the recording, a thread must have wanted the processor for this share for its demand to matter.
const NEGLIGIBLE: f64 = 0.005;

/// A thread without a real-time priority and without a period matters if it used or wanted this share of the processor.
const CONSIDERABLE: f64 = 0.05;

/// The tasks of one processor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OnProcessor {
    pub(super) cpu: u16,
    pub(super) tasks: Vec<Measured>,
}

/// The sets of all processors, and the threads in none. The sets consist of the tasks at real-time priorities; if there
/// are none, of the marked tasks; otherwise of all threads with a period.
pub(super) fn partition(report: &Report) -> (Vec<OnProcessor>, Vec<LeftOut>) {
    let marked = |thread: &ThreadReport| {
        let is_own = |task: &TaskReport| task.tid == thread.tid && task.period_ns.is_some();
        !thread.has_foreign_marks && report.tasks.iter().any(is_own)
    };
    // Threads with a reservation have a verdict of their own.
    let free = || report.threads.iter().filter(|thread| thread.reservation.is_none());
    let real_time = |thread: &&ThreadReport| may_be_real_time(thread);
    let periodic = |thread: &&ThreadReport| thread.period_ns.is_some() || marked(thread);
    let mut chosen: Vec<&ThreadReport> = free().filter(real_time).collect();
    let has_reservations = report.threads.iter().any(|thread| thread.reservation.is_some());
    if !has_reservations && !chosen.iter().any(periodic) {
        let any_marked = report.threads.iter().any(&marked);
        let is_chosen = |thread: &&ThreadReport| match any_marked {
            true => marked(thread),
            false => periodic(thread) || demand(thread, report) >= CONSIDERABLE,
        };
        chosen.extend(free().filter(|thread| !real_time(thread)).filter(is_chosen));
    }
    let mut processors: Vec<OnProcessor> = Vec::new();
    let mut left_out = Vec::new();
    for thread in chosen {
        let mut leave_out = |why| {
            left_out.push(LeftOut {
                name: thread.name.to_string(),
                tid: thread.tid,
                cpus: thread.cpus.clone(),
                utilization: share(thread, report),
                why,
            });
        };
        // A thread that never wanted to run in the recording delays no other.
        if thread.cpus.is_empty() && thread.waiting_ns == 0 {
            continue;
        }
        let is_reserved = thread.priority.is_some_and(|priority| priority < 0);
        if (is_reserved || thread.changed_policy) && demand(thread, report) >= NEGLIGIBLE {
            leave_out(LeftOutReason::NoReservation);
            continue;
        }
        if !periodic(&thread) {
            leave_out(match may_be_real_time(&thread) {
                true => LeftOutReason::NotPeriodic,
                false => LeftOutReason::Busy,
            });
            continue;
        }
        let is_under_way = thread.sleeping_ns == 0 || thread.unfinished_ns > 0;
        if thread.missed > 0 && is_under_way && thread.execution_ns.is_none() {
            leave_out(LeftOutReason::NeverSleeps);
            continue;
        }
        let Some(cpu) = home(thread) else {
            leave_out(LeftOutReason::Migrates);
            continue;
        };
        let tasks = tasks_of(thread, report);
        if tasks.is_empty() {
            leave_out(LeftOutReason::NoJobs);
            continue;
        }
        match processors.iter_mut().find(|known| known.cpu == cpu) {
            Some(known) => known.tasks.extend(tasks),
            None => processors.push(OnProcessor { cpu, tasks }),
        }
    }
    let has_set = |cpus: &[u16]| processors.iter().any(|of| cpus.contains(&of.cpu));
    left_out.retain(|left| left.why != LeftOutReason::Busy || has_set(&left.cpus));
    processors.sort_by_key(|processor| processor.cpu);
    for processor in &mut processors {
        // The most urgent first; at equal priority the shorter period.
        processor.tasks.sort_by_key(|task| (task.priority.unwrap_or(i16::MAX), task.period_ns));
    }
    (processors, left_out)
}

/// The threads outside the set of a processor that can delay its tasks, or that should be in it.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// With the greatest execution time and the least distance of releases that were observed.
    pub(super) sporadic: Vec<Measured>,
    /// Names of threads that used or wanted a considerable share, without a known period.
    pub(super) unknown: Vec<String>,
    /// Names of other threads that used or wanted a considerable share, without a known period.
    pub(super) busy: Vec<String>,
    /// Names of threads that are always late.
    pub(super) late: Vec<String>,
    /// Of these, those at a real-time priority.
    pub(super) overloaded: Vec<String>,
    /// Names of threads under `SCHED_DEADLINE` whose reservations are not known.
    pub(super) unreserved: Vec<String>,
    /// Tasks under `SCHED_DEADLINE`, which run before all fixed priorities.
    pub(super) above: Vec<Task>,
    /// Of these, the names of those whose demand is only known to be no more than their reservations.
    pub(super) rough: Vec<String>,
}

impl Others {
    /// The processors without a set that belong to real-time threads which were left out.
    pub(super) fn unjudged(
        report: &Report,
        left_out: &[LeftOut],
        judged: &[OnProcessor],
    ) -> Vec<u16> {
        let of_left = |left: &LeftOut| {
            let thread = report.threads.iter().find(|thread| thread.tid == left.tid);
            thread.filter(may_be_real_time).and_then(home)
        };
        let mut cpus: Vec<u16> = left_out.iter().filter_map(of_left).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus.retain(|cpu| judged.iter().all(|of| of.cpu != *cpu));
        cpus
    }
}

/// Looks for those threads among the threads that were left out.
pub(super) fn others(
    report: &Report,
    left_out: &[LeftOut],
    reserved: &[ReservedTask],
    cpu: u16,
) -> Others {
    let reserved = || reserved.iter().filter(|task| task.cpus.contains(&cpu));
    let rough = reserved().filter(|task| task.is_rough()).map(|task| task.measured.name.clone());
    let mut others = Others {
        above: reserved().map(ReservedTask::above).collect(),
        rough: rough.collect(),
        ..Others::default()
    };
    for left in left_out.iter().filter(|left| left.cpus.is_empty() || left.cpus.contains(&cpu)) {
        match left.why {
            LeftOutReason::Busy => others.busy.push(left.name.clone()),
            LeftOutReason::NeverSleeps => others.late.push(left.name.clone()),
            _ => {}
        }
        let thread = report.threads.iter().find(|thread| thread.tid == left.tid);
        let Some(thread) = thread.filter(may_be_real_time) else { continue };
        match left.why {
            LeftOutReason::NeverSleeps => others.overloaded.push(left.name.clone()),
            LeftOutReason::NoReservation => others.unreserved.push(left.name.clone()),
            LeftOutReason::Migrates => others.sporadic.extend(tasks_of(thread, report)),
            _ if demand(thread, report) >= NEGLIGIBLE => others.unknown.push(left.name.clone()),
            _ => others.sporadic.push(sporadic(thread, length(report))),
        }
    }
    others
}

/// A thread without a period, as if it always came as often and took as long as it did once.
pub(super) fn sporadic(thread: &ThreadReport, length: u64) -> Measured {
    let longest = thread.execution_ns.as_ref().map(|execution| execution.max);
    let nearest = thread.interval_ns.as_ref().map(|interval| interval.min);
    let period_ns = nearest.unwrap_or(length).max(1);
    Measured {
        name: thread.name.to_string(),
        tid: thread.tid,
        priority: thread.priority,
        jobs: thread.invocations,
        execution_ns: longest.unwrap_or(thread.running_ns),
        execution_p99_ns: longest.unwrap_or(thread.running_ns),
        period_ns,
        deadline_ns: period_ns,
        suspension_ns: thread.suspension_ns,
        shortest_ns: nearest,
        ..Measured::default()
    }
}

/// Whether a thread ran at a real-time priority, or waited for a processor from the first event to the last, so that
/// its priority was never seen.
fn may_be_real_time(thread: &&ThreadReport) -> bool {
    let is_starved = thread.priority.is_none() && thread.cpus.is_empty() && thread.waiting_ns > 0;
    is_real_time(thread.priority) || is_starved
}

/// The one processor that a thread belongs to, if any.
pub(super) fn home(thread: &ThreadReport) -> Option<u16> {
    match thread.cpus.as_slice() {
        [cpu] => Some(*cpu),
        _ if thread.settled_ns as f64 >= SETTLED * thread.running_ns.max(1) as f64 => {
            thread.last_cpu
        }
        _ => None,
    }
}

/// The tasks that a thread marks, or the thread itself.
pub(super) fn tasks_of(thread: &ThreadReport, report: &Report) -> Vec<Measured> {
    let marked: Vec<&TaskReport> = report
        .tasks
        .iter()
        .filter(|task| task.tid == thread.tid && !thread.has_foreign_marks)
        .filter(|task| task.period_ns.is_some())
        .collect();
    if marked.is_empty() {
        return of_thread(thread).into_iter().collect();
    }
    let alone = marked.len() == 1;
    marked.into_iter().filter_map(|task| of_task(task, thread, alone)).collect()
}

/// Why it is not known whether a thread without marks kept its deadline in the recording although no miss was seen, one
/// sentence each. Empty if it is known, and for a thread without a period or a complete job.
#[must_use]
pub fn doubts_of_jobs(thread: &ThreadReport) -> Vec<String> {
    let Some(measured) = of_thread(thread).filter(|measured| measured.missed == 0) else {
        return Vec::new();
    };
    let late = measured.was_late().then(|| words::late_job(&measured));
    let woken_late = measured.may_be_late_by_wake_up().then(|| words::woken_late(&measured));
    late.into_iter().chain(words::doubts_of_jobs(&measured)).chain(woken_late).collect()
}

fn of_thread(thread: &ThreadReport) -> Option<Measured> {
    let execution = thread.execution_ns.as_ref()?;
    let period = thread.period_ns?;
    let by_intervals = thread.release_jitter_ns.map(|spread| spread / 2);
    let of_reservation = match thread.period_from {
        Some(PeriodFrom::Reservation) => thread.reservation,
        _ => None,
    };
    Some(Measured {
        name: thread.name.to_string(),
        tid: thread.tid,
        priority: thread.priority,
        jobs: execution.count,
        execution_ns: execution.max,
        execution_p99_ns: execution.p99,
        period_ns: period,
        deadline_ns: of_reservation.map_or(period, |reservation| reservation.deadline_ns),
        blocking_ns: blocking(thread),
        jitter_ns: thread.timer_late_ns.or(by_intervals).unwrap_or(0),
        response_ns: thread.response_ns.as_ref().map(|response| response.max),
        missed: thread.missed,
        is_period_doubtful: thread.period_from == Some(PeriodFrom::Found)
            && thread.timer_late_ns.is_none()
            && thread.response_ns.as_ref().is_some_and(|response| response.p50 > period / 2),
        suspension_ns: thread.suspension_ns,
        unfinished_ns: thread.unfinished_ns,
        startup_ns: thread.startup_ns,
        part_ns: thread.part_ns,
        ended_ns: thread.ended_ns,
        silent_ns: thread.silent_ns,
        answered_ns: thread.answered_ns,
        disordered: thread.disordered,
        strayed: thread.strayed,
        asks_within_jobs: thread.asks_within_jobs,
        asks_before_loop: thread.asks_before_loop,
        execution_later_min_ns: thread.execution_later_min_ns,
        unclear: thread.unclear,
        overran: thread.overran,
        usual_late_ns: thread
            .interval_ns
            .as_ref()
            .map_or(0, |interval| interval.p90.saturating_sub(interval.p50)),
        distance_ns: thread.interval_ns.as_ref().map(|interval| interval.mean as u64),
        distances: thread.interval_ns.as_ref().map_or(0, |interval| interval.count),
        shortest_ns: thread.interval_ns.as_ref().map(|interval| interval.min),
        is_seen_waking: true,
        is_marked: false,
        is_timed: thread.timer_late_ns.is_some(),
    })
}

fn of_task(task: &TaskReport, thread: &ThreadReport, alone: bool) -> Option<Measured> {
    let execution = task.execution_ns.as_ref()?;
    let period = task.period_ns?;
    // The loop around the marks uses processor time too. The greatest job may include the start of the program; the
    // medians do not.
    let one_each =
        thread.period_ns.is_some_and(|of_thread| of_thread.abs_diff(period) < period / 10);
    let around = match &thread.execution_ns {
        Some(whole) if alone && one_each => whole.p50.saturating_sub(execution.p50),
        _ => 0,
    };
    Some(Measured {
        name: task.name.clone(),
        tid: task.tid,
        priority: task.priority.or(thread.priority),
        jobs: execution.count,
        execution_ns: execution.max.saturating_add(around),
        execution_p99_ns: execution.p99.saturating_add(around),
        period_ns: period,
        deadline_ns: task.deadline_ns.unwrap_or(period),
        blocking_ns: task.blocking_ns.as_ref().map_or(0, |blocking| blocking.max),
        jitter_ns: thread.release_jitter_ns.unwrap_or(0) / 2,
        response_ns: task.response_ns.as_ref().map(|response| response.max),
        missed: task.missed,
        suspension_ns: task.suspension_ns,
        shortest_ns: thread.interval_ns.as_ref().filter(|_| one_each).map(|interval| interval.min),
        is_seen_waking: one_each,
        is_marked: true,
        ..Measured::default()
    })
}

fn blocking(thread: &ThreadReport) -> u64 {
    match &thread.blocking_ns {
        Some(blocking) if is_real_time(thread.priority) => blocking.max,
        _ => 0,
    }
}

fn is_real_time(priority: Option<i16>) -> bool {
    priority.is_some_and(|priority| priority < TIME_SHARED)
}

/// The share of one processor that a thread used or wanted during the recording.
fn demand(thread: &ThreadReport, report: &Report) -> f64 {
    (thread.running_ns + thread.waiting_ns) as f64 / length(report) as f64
}

/// The share of one processor used by a thread during the recording.
fn share(thread: &ThreadReport, report: &Report) -> f64 {
    thread.running_ns as f64 / length(report) as f64
}

/// The length of the recording, ns; at least 1.
pub(super) fn length(report: &Report) -> u64 {
    report.to_ns.saturating_sub(report.from_ns).max(1)
}
