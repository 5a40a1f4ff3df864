//! Exact worst-case response times of periodic tasks on one processor under preemptive fixed priorities.
//!
//! A job is delayed by its own execution, by work of lower priority that cannot be interrupted (*blocking*), and by
//! every job of higher priority released in the meantime (*interference*). The time from release to finish is the
//! least solution of
//!
//! ```text
//! w(q) = (q + 1)·C + B + Σ ⌈(w(q) + Jⱼ) / Tⱼ⌉·Cⱼ     over all tasks j of higher or equal priority
//! R    = max over q of J + w(q) − q·T
//! ```
//!
//! for the jobs q = 0, 1, … of one busy period. For deadlines within the period only q = 0 matters; it is the equation
//! of Joseph and Pandya ("Finding Response Times in a Real-Time System", 1986) and of Audsley, Burns, Richardson,
//! Tindell and Wellings ("Applying new scheduling theory to static priority pre-emptive scheduling", 1993), whose
//! treatment of blocking, jitter and switching costs is used here. Longer deadlines need the other jobs too (Lehoczky,
//! "Fixed Priority Scheduling of Periodic Task Sets with Arbitrary Deadlines", 1990; Tindell, Burns and Wellings,
//! 1994).
//!
//! The crate `response-time-analysis` 0.3 computes such bounds for arbitrary arrival curves, after analyses verified
//! in Coq. It is not used: it is a toolkit without a notion of a task, so periods, jitter, blocking and switching
//! costs would have to be expressed in its curves here, which takes more code than the equation; and it adds
//! derive_more, auto_impl and itertools to a pure crate.
//!
//! ```
//! use hemiola_model::response_time::{PriorityOrder, Task, TaskSet};
//! use hemiola_units::Span;
//!
//! let ms = Span::from_millis;
//! let tasks = [("fast", 1, 5), ("slow", 4, 10)]
//!     .map(|(name, c, t)| Task::periodic(name, ms(c), ms(t)));
//! let set = TaskSet::new(tasks.into(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
//! let found = set.responses();
//! assert_eq!(found[1].bound, Some(ms(5)));
//! ```

use hemiola_units::Span;
use serde::Serialize;
use thiserror::Error;

/// More iterations are needed only if the processor is almost fully used and blocked; then no bound is stated.
const ROUNDS_MAX: u32 = 100_000;

/// The most task visits for one yes or no about a whole set ([`TaskSet::keeps_deadlines`]). The tolerance analysis asks
/// thousands of times.
pub(crate) const VISITS_MAX: usize = 200_000;

/// A periodic task, or a sporadic one with its minimum inter-arrival time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// C: the longest execution time of a job.
    pub execution: Span,
    /// T: the time between releases.
    pub period: Span,
    /// D: relative to the release; may be longer than the period.
    pub deadline: Span,
    /// A greater number is more urgent; only for [`PriorityOrder::Given`].
    pub priority: u32,
    /// B: the longest blocking by work of lower priority.
    pub blocking: Span,
    /// J: the longest delay between arrival and release of a job.
    pub jitter: Span,
}

impl Task {
    /// A task with its period as deadline, without blocking or jitter.
    #[must_use]
    pub fn periodic(name: impl Into<String>, execution: Span, period: Span) -> Self {
        Self {
            name: name.into(),
            execution,
            period,
            deadline: period,
            priority: 0,
            blocking: Span::ZERO,
            jitter: Span::ZERO,
        }
    }
}

/// The assignment of priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorityOrder {
    /// Shorter periods first; ties in list order.
    RateMonotonic,
    /// Shorter deadlines first; ties in list order.
    DeadlineMonotonic,
    /// By [`Task::priority`]; equal priorities delay each other.
    Given,
}

/// Why a task is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TaskError {
    /// A period or deadline of zero: a job would be due before it can start.
    #[error("task {name}: its {what} must be longer than zero")]
    NotPositive {
        /// The task.
        name: String,
        /// `"period"` or `"deadline"`.
        what: &'static str,
    },
    /// A negative length.
    #[error("{name}: its {what} is negative")]
    Negative {
        /// The task.
        name: String,
        /// Which length.
        what: &'static str,
    },
    /// A length of more than a day, which could overflow sums.
    #[error("{name}: its {what} is longer than a day")]
    TooLong {
        /// The task.
        name: String,
        /// Which length.
        what: &'static str,
    },
}

/// Tasks of one processor; valid by construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    tasks: Vec<Task>,
    order: PriorityOrder,
    switch: Span,
}

/// The response time of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Response {
    /// The task.
    pub name: String,
    /// The longest time from arrival to finish; `None` if it is unbounded, because the tasks of its priority and above
    /// demand the whole processor or more.
    pub bound: Option<Span>,
    /// Its deadline.
    pub deadline: Span,
}

impl Response {
    /// Whether it always finishes in time.
    #[must_use]
    pub fn keeps_deadline(&self) -> bool {
        self.bound.is_some_and(|bound| bound <= self.deadline)
    }
}

impl TaskSet {
    /// Tasks, their priority order, and the cost of one context switch. Every job is charged two, one to it and one
    /// away from it.
    ///
    /// # Errors
    /// Every invalid task.
    pub fn new(
        tasks: Vec<Task>,
        order: PriorityOrder,
        switch: Span,
    ) -> Result<Self, Vec<TaskError>> {
        /// Longer than any control period, and far below overflow.
        const LENGTH_MAX: Span = Span::from_millis(86_400_000);
        let mut errors = Vec::new();
        let mut check = |name: &str, what: &'static str, length: Span, zero: bool| {
            let name = name.to_owned();
            if length < Span::ZERO {
                errors.push(TaskError::Negative { name, what });
            } else if length == Span::ZERO && !zero {
                errors.push(TaskError::NotPositive { name, what });
            } else if length > LENGTH_MAX {
                errors.push(TaskError::TooLong { name, what });
            }
        };
        for task in &tasks {
            check(&task.name, "execution time", task.execution, true);
            check(&task.name, "period", task.period, false);
            check(&task.name, "deadline", task.deadline, false);
            check(&task.name, "blocking", task.blocking, true);
            check(&task.name, "jitter", task.jitter, true);
        }
        check("the context switch", "cost", switch, true);
        if errors.is_empty() { Ok(Self { tasks, order, switch }) } else { Err(errors) }
    }

    /// The tasks, as given.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The priority order.
    #[must_use]
    pub fn order(&self) -> PriorityOrder {
        self.order
    }

    /// The same tasks in another priority order.
    #[must_use]
    pub fn ordered(&self, order: PriorityOrder) -> Self {
        Self { order, ..self.clone() }
    }

    /// The same tasks with these execution times, each between zero and its deadline.
    pub(crate) fn with_executions(&self, executions: impl Iterator<Item = Span>) -> Self {
        let mut changed = self.clone();
        for (task, execution) in changed.tasks.iter_mut().zip(executions) {
            task.execution = execution;
        }
        changed
    }

    /// The utilization of the processor by all tasks, switches included.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        let share = |task: &Task| self.work(task) as f64 / task.period.nanos() as f64;
        self.tasks.iter().map(share).sum()
    }

    /// The longest response time of each task, in the order given.
    #[must_use]
    pub fn responses(&self) -> Vec<Response> {
        let response = |(index, task): (usize, &Task)| Response {
            name: task.name.clone(),
            bound: self
                .bound(index, i128::MAX, &mut ROUNDS_MAX.clone())
                .map(|nanos| Span::from_nanos(nanos as i64)),
            deadline: task.deadline,
        };
        self.tasks.iter().enumerate().map(response).collect()
    }

    /// Whether every task always finishes in time. Faster than [`TaskSet::responses`], and gives up sooner if the
    /// processor is almost fully used.
    #[must_use]
    pub fn keeps_deadlines(&self) -> bool {
        let mut rounds = (VISITS_MAX / self.tasks.len().max(1)) as u32;
        let keeps = |(index, task): (usize, &Task)| {
            let deadline = i128::from(task.deadline.nanos());
            self.bound(index, deadline, &mut rounds).is_some_and(|bound| bound <= deadline)
        };
        self.tasks.iter().enumerate().all(keeps)
    }

    /// Processor time of a job including its two switches, ns.
    pub(crate) fn work(&self, task: &Task) -> i128 {
        i128::from(task.execution.nanos()) + 2 * i128::from(self.switch.nanos())
    }

    /// Whether the task `other` can delay the task `index`.
    pub(crate) fn delays(&self, other: usize, index: usize) -> bool {
        let key = |at: usize| {
            let task = &self.tasks[at];
            match self.order {
                PriorityOrder::RateMonotonic => (task.period.nanos(), at),
                PriorityOrder::DeadlineMonotonic => (task.deadline.nanos(), at),
                PriorityOrder::Given => (-i64::from(task.priority), 0),
            }
        };
        other != index && key(other) <= key(index)
    }

    /// The longest response time, ns; `None` if it is unbounded, exceeds `limit` or needs more than `rounds`
    /// iterations. Subtracts the iterations used from `rounds`.
    fn bound(&self, index: usize, limit: i128, rounds: &mut u32) -> Option<i128> {
        let nanos = |span: Span| i128::from(span.nanos());
        let task = &self.tasks[index];
        let (work, period) = (self.work(task), nanos(task.period));
        let others: Vec<(i128, i128, i128)> = (0..self.tasks.len())
            .filter(|other| self.delays(*other, index))
            .map(|other| {
                let other = &self.tasks[other];
                (self.work(other), nanos(other.period), nanos(other.jitter))
            })
            .collect();
        // An overloaded processor never finishes.
        let share = |(work, period): (i128, i128)| work as f64 / period as f64;
        let interfering: f64 = others.iter().map(|(work, period, _)| share((*work, *period))).sum();
        if share((work, period)) + interfering > 1.0 + 1e-12 {
            return None;
        }
        let late: f64 = others
            .iter()
            .map(|(work, period, jitter)| share((*work, *period)) * *jitter as f64)
            .sum();
        let mut longest = 0;
        let mut window = 0;
        // A busy period may contain as many jobs as fit into the hyperperiod; each takes at least one iteration.
        for job in 0.. {
            let own = (job + 1) * work + nanos(task.blocking);
            let demand = |window: i128| {
                let interference = others
                    .iter()
                    .map(|(work, period, jitter)| (window + jitter + period - 1) / period * work);
                own + interference.sum::<i128>()
            };
            // Iterates to the least solution from below. Valid starting points are the window of the previous job and
            // the solution without rounding up (Sjödin and Hansson, "Improved Response-Time Analysis Calculations",
            // 1998), which saves most iterations for long deadlines.
            window = window.max(own).max(unrounded(own as f64 + late, 1.0 - interfering));
            loop {
                *rounds = rounds.checked_sub(1)?;
                let next = demand(window);
                if next == window {
                    break;
                }
                window = next;
                let beyond = nanos(task.jitter) + window - job * period > limit;
                if beyond || window > i128::from(i64::MAX / 4) {
                    return None;
                }
            }
            longest = longest.max(nanos(task.jitter) + window - job * period);
            // The busy period ends before the next job of this task can arrive.
            if window + nanos(task.jitter) <= (job + 1) * period {
                return Some(longest);
            }
        }
        None
    }
}

/// The window that fits `work` if the other tasks leave the share `spare` of it, or slightly less; 0 if rounding could
/// overestimate it.
pub(crate) fn unrounded(work: f64, spare: f64) -> i128 {
    if spare > 1e-6 { (work / spare * (1.0 - 1e-8)) as i128 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    fn task(c: i64, t: i64, d: i64) -> Task {
        Task { deadline: ms(d), ..Task::periodic(format!("{c}/{t}"), ms(c), ms(t)) }
    }

    fn bounds(tasks: Vec<Task>, order: PriorityOrder, switch: Span) -> Vec<Option<i64>> {
        let set = TaskSet::new(tasks, order, switch).unwrap();
        let millis = |response: Response| response.bound.map(|bound| bound.nanos() / 1_000_000);
        set.responses().into_iter().map(millis).collect()
    }

    #[test]
    fn a_fully_used_processor_is_analysed_in_reasonable_time() {
        // Each uses exactly half; the hyperperiod of 10¹⁸ ns contains a billion jobs.
        let half = |period: i64| {
            let nanos = Span::from_nanos;
            Task::periodic(format!("{period}"), nanos(period / 2), nanos(period))
        };
        let set = TaskSet::new(
            vec![half(1_000_000_000), half(1_000_000_002)],
            PriorityOrder::RateMonotonic,
            Span::ZERO,
        );
        let found = set.unwrap().responses();
        assert_eq!(found[0].bound, Some(Span::from_nanos(500_000_000)));
        assert_eq!(found[1].bound, None);
    }

    #[test]
    fn the_textbook_set_of_three_has_its_published_response_times() {
        // Burns and Wellings, "Real-Time Systems and Programming Languages", response-time analysis, set B
        // of the chapter on scheduling: C, T = (3, 7), (3, 12), (5, 20) give R = 3, 6, 20.
        let tasks = vec![task(3, 7, 7), task(3, 12, 12), task(5, 20, 20)];
        assert_eq!(
            bounds(tasks, PriorityOrder::RateMonotonic, Span::ZERO),
            [Some(3), Some(6), Some(20)]
        );
    }

    #[test]
    fn a_textbook_set_beyond_the_utilization_bound_is_schedulable() {
        // The same book: C, T = (40, 80), (10, 40), (5, 20), utilization 1: R = 80, 15, 5.
        let tasks = vec![task(40, 80, 80), task(10, 40, 40), task(5, 20, 20)];
        let set = TaskSet::new(tasks.clone(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
        assert!((set.utilization() - 1.0).abs() < 1e-12);
        assert!(set.responses().iter().all(Response::keeps_deadline));
        assert_eq!(
            bounds(tasks, PriorityOrder::RateMonotonic, Span::ZERO),
            [Some(80), Some(15), Some(5)]
        );
    }

    #[test]
    fn deadline_monotonic_priorities_schedule_a_set_that_rate_monotonic_ones_do_not() {
        // The same book: T, D, C = (20, 5, 3), (15, 7, 3), (10, 10, 4), (20, 20, 3) give R = 3, 6, 10, 20.
        let tasks = vec![task(3, 20, 5), task(3, 15, 7), task(4, 10, 10), task(3, 20, 20)];
        let by_deadline = bounds(tasks.clone(), PriorityOrder::DeadlineMonotonic, Span::ZERO);
        assert_eq!(by_deadline, [Some(3), Some(6), Some(10), Some(20)]);
        let by_rate =
            TaskSet::new(tasks, PriorityOrder::RateMonotonic, Span::ZERO).unwrap().responses();
        assert!(!by_rate.iter().all(Response::keeps_deadline));
    }

    #[test]
    fn a_deadline_beyond_the_period_needs_the_later_jobs_too() {
        // C, T = (52, 100), (52, 140), by hand. q = 0: 52 + 2·52 = 156, beyond the period. q = 1:
        // 104 + 3·52 = 260, which is 120 after its own release: the busy period ends.
        let tasks = vec![task(52, 100, 110), task(52, 140, 154)];
        let bound = bounds(tasks, PriorityOrder::RateMonotonic, Span::ZERO)[1].unwrap();
        assert_eq!(bound, 156);
        // Lehoczky's own example, C, T = (26, 70), (62, 100): the jobs of the second respond in 114, 102,
        // 116, 104, 118, 106 and 94; the fifth is the longest.
        let tasks = vec![task(26, 70, 70), task(62, 100, 118)];
        assert_eq!(bounds(tasks, PriorityOrder::RateMonotonic, Span::ZERO), [Some(26), Some(118)]);
    }

    #[test]
    fn blocking_jitter_and_switches_lengthen_a_bound() {
        let tasks = || vec![task(1, 10, 10), task(2, 20, 20)];
        let plain = bounds(tasks(), PriorityOrder::RateMonotonic, Span::ZERO);
        assert_eq!(plain, [Some(1), Some(3)]);
        let mut blocked = tasks();
        blocked[0].blocking = ms(2);
        assert_eq!(bounds(blocked, PriorityOrder::RateMonotonic, Span::ZERO), [Some(3), Some(3)]);
        // The first may be released 8 late and again after 2: twice within the second's 4.
        let mut late = tasks();
        late[0].jitter = ms(8);
        assert_eq!(bounds(late, PriorityOrder::RateMonotonic, Span::ZERO), [Some(9), Some(4)]);
        // Two switches per job: 1 + 2 and 2 + 2 + 3.
        assert_eq!(bounds(tasks(), PriorityOrder::RateMonotonic, ms(1)), [Some(3), Some(7)]);
    }

    #[test]
    fn overload_is_unbounded_and_equal_priorities_delay_each_other() {
        let mut tasks = vec![task(6, 10, 10), task(6, 10, 10)];
        assert_eq!(
            bounds(tasks.clone(), PriorityOrder::RateMonotonic, Span::ZERO),
            [Some(6), None]
        );
        assert_eq!(bounds(tasks.clone(), PriorityOrder::Given, Span::ZERO), [None, None]);
        tasks[0].execution = ms(3);
        assert_eq!(bounds(tasks, PriorityOrder::Given, Span::ZERO), [Some(9), Some(9)]);
    }

    #[test]
    fn all_invalid_tasks_are_reported_at_once() {
        let mut bad = task(1, 0, 5);
        bad.blocking = ms(-1);
        let errors =
            TaskSet::new(vec![bad, task(1, 5, 0)], PriorityOrder::Given, ms(-1)).unwrap_err();
        assert_eq!(errors.len(), 4, "{errors:?}");
    }

    fn sets() -> impl Strategy<Value = Vec<Task>> {
        let one = (1i64..20, 1i64..60, 1i64..80, 0i64..5, 0i64..5).prop_map(|(c, t, d, b, j)| {
            Task { blocking: ms(b), jitter: ms(j), ..task(c, c + t, d) }
        });
        prop::collection::vec(one, 1..6)
    }

    /// The longest response in a simulation in steps of 1 ms from a simultaneous release without jitter and blocking,
    /// which is the worst case for deadlines within periods.
    fn simulated(tasks: &[Task], index: usize) -> Option<i64> {
        let millis = |span: Span| span.nanos() / 1_000_000;
        let mut left: Vec<i64> = tasks.iter().map(|task| millis(task.execution)).collect();
        let key = |at: &usize| (tasks[*at].period.nanos(), *at);
        for now in 0..5_000 {
            for (at, task) in tasks.iter().enumerate() {
                if now > 0 && now % millis(task.period) == 0 {
                    left[at] += if at == index { 0 } else { millis(task.execution) };
                }
            }
            let running = (0..tasks.len()).filter(|at| left[*at] > 0).min_by_key(key)?;
            left[running] -= 1;
            if left[index] == 0 {
                return Some(now + 1);
            }
        }
        None
    }

    proptest! {
        #[test]
        fn more_demand_never_shortens_a_bound(
            tasks in sets(),
            which in 0usize..6,
            more in 1i64..5,
            what in 0u8..4,
        ) {
            let before = TaskSet::new(tasks.clone(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap().responses();
            let mut greater = tasks.clone();
            let which = which % tasks.len();
            match what {
                0 => greater[which].execution += ms(more),
                1 => greater[which].blocking += ms(more),
                2 => greater[which].jitter += ms(more),
                _ => greater.push(Task { period: ms(1000), ..tasks[which].clone() }),
            }
            let after = TaskSet::new(greater, PriorityOrder::RateMonotonic, Span::ZERO).unwrap().responses();
            for (before, after) in before.iter().zip(&after) {
                let longer = match (before.bound, after.bound) {
                    (Some(before), Some(after)) => after >= before,
                    (None, Some(_)) => false,
                    (_, None) => true,
                };
                prop_assert!(longer, "{before:?} {after:?}");
            }
        }

        #[test]
        fn the_bound_is_the_response_after_a_simultaneous_release(tasks in sets()) {
            let bare = |task: &Task| Task::periodic("", task.execution, task.period);
            let tasks: Vec<Task> = tasks.iter().map(bare).collect();
            let set = TaskSet::new(tasks.clone(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
            for (index, response) in set.responses().iter().enumerate() {
                if response.keeps_deadline() {
                    let bound = response.bound.map(|bound| bound.nanos() / 1_000_000);
                    prop_assert_eq!(simulated(&tasks, index), bound);
                }
            }
        }

        #[test]
        fn a_more_expensive_switch_never_shortens_a_bound(tasks in sets()) {
            let bounds = |switch| {
                let set = TaskSet::new(tasks.clone(), PriorityOrder::DeadlineMonotonic, switch).unwrap();
                set.responses().into_iter().map(|response| response.bound)
            };
            for (cheap, dear) in bounds(Span::ZERO).zip(bounds(ms(1))) {
                prop_assert!(dear.is_none() || cheap.is_some_and(|cheap| Some(cheap) <= dear));
            }
        }
    }
}
