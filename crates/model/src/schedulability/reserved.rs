//! Threads under `SCHED_DEADLINE`: whether their reservations suffice for their jobs, and can all be kept.
//!
//! Each thread has a constant-bandwidth server: Q of processor time within D, in each P (Abeni and Buttazzo,
//! "Integrating Multimedia Applications in Hard Real-Time Systems", 1998). A job that takes C and comes when its server
//! has its whole budget is throttled ⌈C / Q⌉ − 1 times, so if every server keeps its deadlines,
//!
//! ```text
//! R = (⌈C / Q⌉ − 1)·P + D          provided that ⌈C / Q⌉·P ≤ T
//! ```
//!
//! The servers keep their deadlines if the demand of the budgets fits: on one processor by the processor-demand test,
//! on several by the density test for global earliest deadline first ([`bounds::density`]). The same tests with the
//! observed execution times instead of the budgets may say yes where those do not, because budgets are seldom used up.

use hemiola_analyze::sched::{Report, Reservation, ThreadReport};
use hemiola_units::Span;
use serde::Serialize;

use super::measured::{Measured, home, tasks_of};
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
    /// The measured task. Its B, J and priority play no part.
    #[serde(flatten)]
    pub measured: Measured,
    /// Q, D and P.
    pub reservation: Reservation,
    /// How often it was throttled within a job.
    pub throttles: u64,
    /// R: the longest response time if all servers keep their deadlines; `None` if its jobs need more than Q / P of the
    /// processor.
    pub bound_ns: Option<u64>,
    #[serde(skip)]
    pub(super) cpus: Vec<u16>,
}

impl ReservedTask {
    fn new(measured: Measured, thread: &ThreadReport, reservation: Reservation) -> Self {
        let Reservation { runtime_ns, deadline_ns, period_ns } = reservation;
        let servings = measured.execution_ns.div_ceil(runtime_ns).max(1);
        let fits = servings.saturating_mul(period_ns) <= measured.period_ns.max(period_ns);
        let bound_ns = fits.then(|| (servings - 1) * period_ns + deadline_ns);
        let (throttles, cpus) = (thread.throttles, thread.cpus.clone());
        Self { measured, reservation, throttles, bound_ns, cpus }
    }

    pub(super) fn keeps_deadline(&self) -> bool {
        self.bound_ns.is_some_and(|bound| bound <= self.measured.deadline_ns)
    }

    /// As a task above every fixed priority: it may run at any time between a release and its deadline. That deadline
    /// is not judged there, so it is long.
    pub(super) fn above(&self) -> Task {
        // Of a thread without a whole job, only the budget is known.
        let longest = if self.measured.jobs == 0 { u64::MAX } else { self.measured.execution_ns };
        let task = self.serving(longest.min(self.reservation.runtime_ns));
        let (jitter, period) = (task.deadline - task.execution, task.period);
        Task { jitter, priority: u32::MAX, deadline: task.deadline + period * 16, ..task }
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
            own.push(unfinished(thread, reservation));
        }
        tasks.extend(own.into_iter().map(|one| ReservedTask::new(one, thread, reservation)));
    }
    tasks.sort_by_key(|task| (task.reservation.deadline_ns, task.measured.tid));
    tasks
}

/// A thread without a job that was seen from release to finish, as if its processor time were that of one job.
fn unfinished(thread: &ThreadReport, reservation: Reservation) -> Measured {
    Measured {
        name: thread.name.to_string(),
        tid: thread.tid,
        priority: thread.priority,
        jobs: 0,
        execution_ns: thread.running_ns,
        execution_p99_ns: thread.running_ns,
        period_ns: reservation.period_ns,
        deadline_ns: reservation.deadline_ns,
        blocking_ns: 0,
        jitter_ns: 0,
        response_ns: None,
        missed: thread.missed,
        is_period_doubtful: false,
        suspension_ns: 0,
        unfinished_ns: thread.unfinished_ns,
        distance_ns: None,
        distances: 0,
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
    let observed = set(|task| task.measured.execution_ns.min(task.reservation.runtime_ns));
    let utilization = budgets.as_ref().map_or(0.0, TaskSet::utilization);
    let tests: Vec<TestResult> = [("reservations", budgets), ("execution times", observed)]
        .into_iter()
        .filter_map(|(name, set)| Some(test(name, &set?, cpus.len())))
        .collect();
    let is_kept = tests.iter().any(|test| test.answer == Answer::Yes);
    let is_refuted = tests.iter().all(|test| test.answer == Answer::No);
    let mut doubts = words::reserved_doubts(&tasks, is_kept);
    let answer = match doubts.is_empty() {
        _ if is_refuted || !tasks.iter().all(ReservedTask::keeps_deadline) => Answer::No,
        true => Answer::Yes,
        false => Answer::Open,
    };
    if answer != Answer::Open {
        doubts.clear();
    }
    let verdict = words::reserved(&cpus, answer, &tasks, &doubts);
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
