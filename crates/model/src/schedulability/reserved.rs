//! Threads under `SCHED_DEADLINE`: whether their reservations suffice for their jobs, and can all be kept.
//!
//! Each thread has a constant-bandwidth server: Q of processor time within D, in each P (Abeni and Buttazzo,
//! "Integrating Multimedia Applications in Hard Real-Time Systems", 1998; in the kernel, Lelli, Scordino, Abeni and
//! Faggioli, "Deadline Scheduling in the Linux Kernel", 2016). Its jobs have a period T of their own, which may be
//! another one. A job that takes C and comes when its server has its whole budget is throttled n − 1 times, n = ⌈C /
//! Q⌉, so if every server keeps its deadlines,
//!
//! ```text
//! R = (n − 1)·P + D          provided that n·P ≤ T
//! ```
//!
//! Releases at least n·P apart find the whole budget: the last period that the job before used is over. A release that
//! comes up to ε earlier, because the one before was late, keeps what is left of the budget and its deadline, and waits
//! for the rest of the period, so R is longer by ε. The server's rule for wake-ups, which may give it a new period at
//! once, does not help: a thread that is still busy then does not wake up. If n·P > T, a job may find any rest of the
//! budget and of the jobs before, and there is no bound here; jobs that take C·P > Q·T are late in the end. Nor does
//! the bound know of sleeps and of mutexes within a job.
//!
//! The servers keep their deadlines if the demand of the budgets fits: on one processor by the processor-demand test,
//! on several by the density test for global earliest deadline first ([`bounds::density`]). The same tests with the
//! observed execution times instead of the budgets may say yes where those do not, because budgets are seldom used up;
//! a job counts with its execution time only if there is at most one in each P.

use hemiola_analyze::sched::{Report, Reservation, ThreadReport};
use hemiola_units::Span;
use serde::Serialize;

use super::measured::{Measured, home, length, sporadic, tasks_of};
use super::verdict::TestResult;
use super::{Answer, bounds, demand, tolerance, words};
use crate::response_time::{PriorityOrder, Task, TaskSet};

/// The verdict on threads under `SCHED_DEADLINE` that share processors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReservationsVerdict {
    /// The processors they ran on, ascending.
    pub cpus: Vec<u16>,
    /// Whether every deadline is kept; open if the figures say so but the recording does not bear them out, or if no
    /// test can tell.
    pub answer: Answer,
    /// Why the answer is open, one sentence each.
    pub doubts: Vec<String>,
    /// The sum of Q / P.
    pub utilization: f64,
    /// The verdict in words.
    pub verdict: String,
    /// The threads and marked tasks, by deadline.
    pub tasks: Vec<ReservedTask>,
    /// The results of the tests.
    pub tests: Vec<TestResult>,
}

/// A task with a reservation; times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReservedTask {
    /// The measured task. Its priority plays no part.
    #[serde(flatten)]
    pub measured: Measured,
    /// Q, D and P.
    pub reservation: Reservation,
    /// How often it was throttled within a job.
    pub throttles: u64,
    /// Its wake-ups show a period, or it was given, or is that of the reservation. Without one, the period here is that
    /// of the marks or the shortest distance of its wake-ups, and nobody knows when its jobs come.
    pub has_period: bool,
    /// R: the longest response time if all servers keep their deadlines and releases that are early by less than a
    /// hundredth of T are punctual; `None` if none is known, because a job may come before the periods of the server
    /// are over that the one before needed.
    pub bound_ns: Option<u64>,
    /// Whether its jobs keep their deadlines if all servers do.
    pub answer: Answer,
    /// The part of R that is due to early releases.
    #[serde(skip)]
    pub(super) lag_ns: u64,
    #[serde(skip)]
    pub(super) cpus: Vec<u16>,
}

/// How far a measured period may be off, as a part of it.
const OFF: u64 = 200;

/// Releases that are off by less, as a part of T, are punctual.
const PUNCTUAL: u64 = 100;

impl ReservedTask {
    fn new(measured: Measured, thread: &ThreadReport, reservation: Reservation) -> Self {
        let has_period = match measured.is_marked {
            // The median of marked releases alone says nothing about the shortest distance between two.
            true => measured.is_seen_waking,
            false => measured.jobs == 0 || thread.period_ns.is_some(),
        };
        let mut task = Self {
            reservation,
            throttles: thread.throttles,
            has_period,
            bound_ns: None,
            answer: Answer::Open,
            lag_ns: 0,
            cpus: thread.cpus.clone(),
            measured,
        };
        let Reservation { deadline_ns, period_ns, .. } = reservation;
        let needed = task.servings().checked_mul(period_ns);
        // A period that is only a little shorter lets the delays of jobs add up.
        if let Some(needed) = needed.filter(|needed| *needed <= task.measured.period_ns) {
            task.lag_ns = task.lag(needed);
            let bound = (needed - period_ns).saturating_add(deadline_ns);
            task.bound_ns = Some(bound.saturating_add(task.lag_ns));
        }
        task.answer = match task.bound_ns {
            _ if !task.has_period => Answer::Open,
            _ if task.has_waited() || task.is_contradicted() => Answer::Open,
            Some(bound) if bound <= task.measured.deadline_ns => Answer::Yes,
            _ if task.has_doubtful_releases() => Answer::Open,
            _ if task.is_overload() || task.least() > task.measured.deadline_ns => Answer::No,
            _ => Answer::Open,
        };
        task
    }

    /// n: how many budgets the longest job needs.
    pub(super) fn servings(&self) -> u64 {
        self.measured.execution_ns.div_ceil(self.reservation.runtime_ns).max(1)
    }

    /// T, as long as it may be.
    fn longest_period(&self) -> u64 {
        let period = self.measured.period_ns;
        period.saturating_add(if self.has_period { period / OFF } else { 0 })
    }

    /// How much earlier than T after the release before it a job may come.
    fn earliness(&self) -> u64 {
        let Measured { period_ns, jitter_ns, shortest_ns, .. } = self.measured;
        let seen = shortest_ns.map_or(0, |shortest| period_ns.saturating_sub(shortest));
        jitter_ns.max(seen)
    }

    /// ε: for how long a job may wait for the rest of the last period that the job before used, which needs `needed`.
    fn lag(&self, needed: u64) -> u64 {
        let period_ns = self.measured.period_ns;
        let early = needed.saturating_add(self.earliness()).saturating_sub(period_ns);
        if !self.has_period || early <= period_ns / PUNCTUAL { 0 } else { early }
    }

    /// Whether its jobs waited for something else than the processor: the bound does not know of that.
    pub(super) fn has_waited(&self) -> bool {
        let Measured { period_ns, suspension_ns, blocking_ns, .. } = self.measured;
        suspension_ns.saturating_add(blocking_ns) > period_ns / PUNCTUAL
    }

    /// Whether a job took longer than its bound, with a hundredth of T for releases that count as punctual.
    pub(super) fn is_contradicted(&self) -> bool {
        let Measured { period_ns, response_ns, .. } = self.measured;
        let seen = self.bound_ns.zip(response_ns);
        seen.is_some_and(|(bound, seen)| seen > bound.saturating_add(period_ns / PUNCTUAL))
    }

    /// Jobs that all take C need more than Q in each P.
    pub(super) fn is_overload(&self) -> bool {
        let Reservation { runtime_ns, period_ns, .. } = self.reservation;
        let needed = u128::from(self.measured.execution_ns) * u128::from(period_ns);
        needed > u128::from(runtime_ns) * u128::from(self.longest_period())
    }

    /// How long the longest job takes at least if it finds the whole budget: no job that finds less is faster for
    /// certain.
    pub(super) fn least(&self) -> u64 {
        let Reservation { runtime_ns, period_ns, .. } = self.reservation;
        let throttles = self.servings() - 1;
        let rest = self.measured.execution_ns.saturating_sub(throttles * runtime_ns);
        throttles.saturating_mul(period_ns).saturating_add(rest)
    }

    /// Whether its releases are others than its figures say. Those that come less often than the reservation allows are
    /// no reason to doubt it.
    pub(super) fn has_other_releases(&self) -> bool {
        let Measured { period_ns, shortest_ns, .. } = self.measured;
        let is_rarer =
            shortest_ns.is_some_and(|shortest| shortest >= period_ns - period_ns / PUNCTUAL);
        let is_reserved = period_ns == self.reservation.period_ns;
        self.has_period && self.measured.has_other_releases() && !(is_rarer && is_reserved)
    }

    /// Whether the wake-ups may not be those of single jobs.
    fn has_doubtful_releases(&self) -> bool {
        let measured = &self.measured;
        measured.has_doubtful_jobs()
            || measured.is_period_doubtful
            || (self.has_other_releases() && !measured.was_late())
    }

    /// Whether there is certainly no more than one job in each period of the reservation.
    fn is_single(&self) -> bool {
        let Measured { jobs, period_ns, .. } = self.measured;
        let (of_server, early) = (self.reservation.period_ns, self.earliness());
        let shortest = period_ns.saturating_sub(early);
        let is_punctual = early <= period_ns / PUNCTUAL && of_server <= self.longest_period();
        jobs > 0 && self.has_period && (is_punctual || of_server <= shortest)
    }

    /// Whether it uses its reservation in every period, and for single jobs that are due when the reservation is.
    fn is_steady(&self) -> bool {
        let Measured { period_ns, deadline_ns, .. } = self.measured;
        let of_server = self.reservation.period_ns;
        let is_rarer = period_ns > of_server.saturating_add(of_server / OFF);
        self.is_single() && !is_rarer && deadline_ns <= self.reservation.deadline_ns
    }

    /// The processor time that it takes in each period of its reservation at most.
    fn demand(&self) -> u64 {
        let runtime_ns = self.reservation.runtime_ns;
        if self.is_single() { self.measured.execution_ns.min(runtime_ns) } else { runtime_ns }
    }

    /// As a task above every fixed priority: it may run at any time between a release and its deadline. That deadline
    /// is not judged there, so it is long.
    pub(super) fn above(&self) -> Task {
        let Measured { execution_ns, period_ns, jitter_ns, .. } = self.measured;
        let task = match self.is_rough() {
            true => self.serving(self.reservation.runtime_ns),
            false => Task {
                period: span(period_ns),
                jitter: span(jitter_ns),
                ..self.serving(execution_ns)
            },
        };
        let (jitter, period) = (task.jitter + task.deadline - task.execution, task.period);
        Task { jitter, priority: u32::MAX, deadline: task.deadline + period * 16, ..task }
    }

    /// Its demand is only known to be no more than its reservation.
    pub(super) fn is_rough(&self) -> bool {
        let Measured { jobs, execution_ns, jitter_ns, .. } = self.measured;
        let Reservation { runtime_ns, period_ns, .. } = self.reservation;
        let is_rare = period_ns <= self.longest_period();
        let is_early = self.earliness() > jitter_ns + self.measured.period_ns / PUNCTUAL;
        jobs == 0 || !self.has_period || !is_rare || is_early || execution_ns > runtime_ns
    }

    /// As a task of its server.
    fn serving(&self, execution_ns: u64) -> Task {
        let Reservation { deadline_ns, period_ns, .. } = self.reservation;
        let name = self.measured.name.clone();
        Task {
            deadline: span(deadline_ns),
            ..Task::periodic(name, span(execution_ns), span(period_ns))
        }
    }
}

/// The threads with a reservation, or the tasks that they mark.
pub(super) fn reserved(report: &Report) -> Vec<ReservedTask> {
    let mut tasks = Vec::new();
    for thread in &report.threads {
        let Some(reservation) = thread.reservation else { continue };
        let mut own = tasks_of(thread, report);
        if own.is_empty() {
            own.push(match thread.execution_ns {
                Some(_) => aperiodic(thread, report, reservation),
                None => unfinished(thread, reservation),
            });
        }
        tasks.extend(own.into_iter().map(|one| ReservedTask::new(one, thread, reservation)));
    }
    tasks.sort_by_key(|task| (task.reservation.deadline_ns, task.measured.tid));
    tasks
}

/// A thread without a period, as if its jobs always came as often as they once did.
fn aperiodic(thread: &ThreadReport, report: &Report, reservation: Reservation) -> Measured {
    Measured {
        jobs: thread.execution_ns.as_ref().map_or(0, |execution| execution.count),
        deadline_ns: reservation.deadline_ns,
        response_ns: thread.response_ns.as_ref().map(|response| response.max),
        missed: thread.missed,
        unfinished_ns: thread.unfinished_ns,
        ..sporadic(thread, length(report))
    }
}

/// A thread without a job that was seen from release to finish, as if its processor time were that of one job.
fn unfinished(thread: &ThreadReport, reservation: Reservation) -> Measured {
    Measured {
        name: thread.name.to_string(),
        tid: thread.tid,
        priority: thread.priority,
        execution_ns: thread.running_ns,
        execution_p99_ns: thread.running_ns,
        period_ns: reservation.period_ns,
        deadline_ns: reservation.deadline_ns,
        missed: thread.missed,
        unfinished_ns: thread.unfinished_ns,
        ..Measured::default()
    }
}

/// Judges each processor for itself if no thread migrated, otherwise all processors together.
pub(super) fn judge_all(report: &Report, tasks: &[ReservedTask]) -> Vec<ReservationsVerdict> {
    let of = |task: &ReservedTask| {
        let thread = report.threads.iter().find(|thread| thread.tid == task.measured.tid);
        thread.and_then(home)
    };
    let homes: Option<Vec<u16>> = tasks.iter().map(of).collect();
    let Some(homes) = homes else {
        return vec![judge(report.cpus.iter().map(|cpu| cpu.cpu).collect(), tasks.to_vec())];
    };
    let mut cpus = homes.clone();
    cpus.sort_unstable();
    cpus.dedup();
    let on = |cpu: u16| {
        let own = tasks.iter().zip(&homes).filter(|(_, home)| **home == cpu);
        judge(vec![cpu], own.map(|(task, _)| task.clone()).collect())
    };
    cpus.into_iter().map(on).collect()
}

fn judge(cpus: Vec<u16>, tasks: Vec<ReservedTask>) -> ReservationsVerdict {
    let set = |execution: fn(&ReservedTask) -> u64| {
        let tasks = tasks.iter().map(|task| task.serving(execution(task))).collect();
        TaskSet::new(tasks, PriorityOrder::DeadlineMonotonic, Span::ZERO).ok()
    };
    let budgets = set(|task| task.reservation.runtime_ns);
    let observed = set(ReservedTask::demand);
    let utilization = budgets.as_ref().map_or(0.0, TaskSet::utilization);
    let tests: Vec<TestResult> = [("reservations", budgets), ("execution times", observed)]
        .into_iter()
        .filter_map(|(name, set)| Some(test(name, &set?, cpus.len())))
        .collect();
    let is_kept = tests.iter().any(|test| test.answer == Answer::Yes);
    // Too much demand is none for certain if the budgets are not used in every period.
    let is_refuted = !tests.is_empty()
        && tests.iter().all(|test| test.answer == Answer::No)
        && tasks.iter().all(ReservedTask::is_steady);
    let mut doubts = words::reserved_doubts(&tasks, is_kept);
    let answer = match doubts.is_empty() {
        _ if is_refuted || tasks.iter().any(|task| task.answer == Answer::No) => Answer::No,
        true if tasks.iter().all(|task| task.answer == Answer::Yes) => Answer::Yes,
        _ => Answer::Open,
    };
    if answer != Answer::Open {
        doubts.clear();
    }
    let verdict = words::reserved(&cpus, answer, &tasks, is_kept, &doubts);
    ReservationsVerdict { cpus, answer, doubts, utilization, verdict, tasks, tests }
}

fn test(of: &str, set: &TaskSet, cpus: usize) -> TestResult {
    if cpus > 1 {
        let bound = bounds::density(set, cpus);
        return TestResult {
            name: format!("density of the {of}, global earliest deadline first"),
            value: bound.as_ref().map(|bound| bound.value),
            limit: bound.as_ref().map(|bound| bound.limit),
            answer: bound.map_or(Answer::Yes, |bound| bound.answer()),
            tolerates: None,
        };
    }
    let holds = |set: &TaskSet| demand::of(set).answer == Answer::Yes;
    TestResult {
        name: format!("processor demand of the {of}, earliest deadline first"),
        value: None,
        limit: None,
        answer: demand::of(set).answer,
        tolerates: tolerance(set, holds).together,
    }
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
