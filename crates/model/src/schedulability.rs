//! Schedulability tests of periodic tasks on one processor, and their tolerance.
//!
//! | test | based on | answer |
//! |---|---|---|
//! | [`bounds::liu_layland`] | utilization, rate-monotonic priorities | yes or open |
//! | [`bounds::hyperbolic`] | product of utilizations, rate-monotonic priorities | yes or open; at least as often yes |
//! | [`TaskSet::responses`] | response time of every task, any fixed priorities | yes or no |
//! | [`demand::of`] | work due in any interval, earliest deadline first | yes or no |
//! | [`bounds::density`] | densities, global earliest deadline first on several processors | yes or open |
//!
//! All tests charge every job two context switches and cover blocking, release jitter and deadlines that differ from
//! the period. [`tolerance()`] computes how far execution times may grow before a test says no. [`assess`] applies
//! every test to a set, in its own [`PriorityOrder`] and in others. [`verdict()`] forms sets from a recording and
//! renders the answers as text and tables.
//!
//! ```
//! use hemiola_model::response_time::{PriorityOrder, Task, TaskSet};
//! use hemiola_model::schedulability::{Answer, assess};
//! use hemiola_units::Span;
//!
//! // Lehoczky, Sha and Ding's set: beyond the bounds, but schedulable.
//! let ms = Span::from_millis;
//! let tasks = [("a", 40, 100), ("b", 40, 150), ("c", 100, 350)]
//!     .map(|(name, c, t)| Task::periodic(name, ms(c), ms(t)));
//! let set = TaskSet::new(tasks.into(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
//! let found = assess(&set);
//! let fixed = &found.fixed[0];
//! assert_eq!(fixed.hyperbolic.as_ref().unwrap().answer(), Answer::Open);
//! assert_eq!((fixed.answer(), fixed.responses[2].bound), (Answer::Yes, Some(ms(300))));
//! ```

pub mod bounds;
pub mod demand;
mod measured;
mod reserved;
mod stated;
mod tables;
mod tolerance;
mod verdict;
mod words;

use serde::Serialize;

use crate::response_time::{PriorityOrder, Response, TaskSet};

pub use measured::{LeftOut, LeftOutReason, Measured, doubts_of_jobs};
pub use reserved::{ReservationsVerdict, ReservedTask};
pub use stated::missed_of;
pub use tolerance::{Tolerance, tolerance};
pub use verdict::{
    ProcessorVerdict, SchedulabilityVerdict, TASKS_MAX, TaskVerdict, TestResult, verdict,
};

/// The answer of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Every deadline is kept, always.
    Yes,
    /// A deadline is missed in the worst case.
    No,
    /// This test cannot tell; a more exact one may.
    Open,
}

/// The results of all tests of one set.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The utilization of the processor by all tasks, switches included.
    pub utilization: f64,
    /// With fixed priorities: in the set's own order, then rate- and deadline-monotonic if those differ.
    pub fixed: Vec<Fixed>,
    /// Earliest deadline first.
    pub earliest_deadline: EarliestDeadline,
}

/// The results under fixed priorities.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixed {
    /// The priority order.
    pub order: PriorityOrder,
    /// `None` if the priorities do not follow the periods.
    pub liu_layland: Option<bounds::Bound>,
    /// `None` if the priorities do not follow the periods.
    pub hyperbolic: Option<bounds::Bound>,
    /// The bound of each task's response time, in the order of the set.
    pub responses: Vec<Response>,
    /// How far execution times may grow.
    pub tolerance: Tolerance,
}

impl Fixed {
    /// Whether all deadlines are kept; exact.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let keeps = self.responses.iter().all(Response::keeps_deadline);
        if keeps { Answer::Yes } else { Answer::No }
    }
}

/// The results under earliest deadline first.
#[derive(Clone, Debug, PartialEq)]
pub struct EarliestDeadline {
    /// The processor-demand test.
    pub demand: demand::Demand,
    /// How far execution times may grow.
    pub tolerance: Tolerance,
}

/// Applies every test to a set.
#[must_use]
pub fn assess(set: &TaskSet) -> Assessment {
    let mut orders = vec![set.order()];
    for order in [PriorityOrder::RateMonotonic, PriorityOrder::DeadlineMonotonic] {
        let set = set.ordered(order);
        if orders.iter().all(|known| !same(&set, *known)) {
            orders.push(order);
        }
    }
    Assessment {
        utilization: set.utilization(),
        fixed: orders.into_iter().map(|order| fixed(&set.ordered(order))).collect(),
        earliest_deadline: EarliestDeadline {
            demand: demand::of(set),
            tolerance: tolerance(set, |set| demand::of(set).answer == Answer::Yes),
        },
    }
}

/// Applies the tests for fixed priorities to a set in its own order.
fn assess_own_order(set: &TaskSet) -> Assessment {
    let each = vec![None; set.tasks().len()];
    Assessment {
        utilization: set.utilization(),
        fixed: vec![fixed(set)],
        earliest_deadline: EarliestDeadline {
            demand: demand::Demand { answer: Answer::Open, exceeded: None },
            tolerance: Tolerance { each, together: None },
        },
    }
}

fn fixed(set: &TaskSet) -> Fixed {
    Fixed {
        order: set.order(),
        liu_layland: bounds::liu_layland(set),
        hyperbolic: bounds::hyperbolic(set),
        responses: set.responses(),
        tolerance: tolerance(set, TaskSet::keeps_deadlines),
    }
}

/// Whether the tasks delay the same others in another order.
fn same(set: &TaskSet, order: PriorityOrder) -> bool {
    let other = set.ordered(order);
    let all = 0..set.tasks().len();
    all.clone().all(|a| all.clone().all(|b| set.delays(a, b) == other.delays(a, b)))
}

#[cfg(test)]
mod tests;
