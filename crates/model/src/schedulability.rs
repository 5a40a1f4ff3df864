//! Whether periodic tasks keep their deadlines on one processor: every test, and how much they tolerate.
//!
//! | test | by | says |
//! |---|---|---|
//! | [`bounds::liu_layland`] | utilisation, rate-monotonic priorities | yes, or nothing |
//! | [`bounds::hyperbolic`] | the product of utilisations, the same | yes, or nothing; never less than the above |
//! | [`Set::responses`] | the response time of every task, any fixed priorities | yes or no |
//! | [`demand::of`] | the work due in any interval, earliest deadline first | yes or no |
//!
//! All of them charge every job two context switches and know blocking, release jitter and deadlines that are not
//! the period. [`tolerance()`] asks how long execution times may become before a test says no. [`assess`] asks
//! everything of one set, for [`Order`]s that are, and that could be. [`verdict()`] makes sets of what a recording
//! shows, and puts the answers into words and tables.
//!
//! ```
//! use hemiola_model::response_time::{Order, Set, Task};
//! use hemiola_model::schedulability::{Answer, assess};
//! use hemiola_units::Span;
//!
//! // Lehoczky, Sha and Ding's set: beyond the bounds, and schedulable.
//! let ms = Span::from_millis;
//! let tasks = [("a", 40, 100), ("b", 40, 150), ("c", 100, 350)]
//!     .map(|(name, c, t)| Task::periodic(name, ms(c), ms(t)));
//! let set = Set::new(tasks.into(), Order::RateMonotonic, Span::ZERO).unwrap();
//! let found = assess(&set);
//! let fixed = &found.fixed[0];
//! assert_eq!(fixed.hyperbolic.as_ref().unwrap().answer(), Answer::Open);
//! assert_eq!((fixed.answer(), fixed.responses[2].bound), (Answer::Yes, Some(ms(300))));
//! ```

pub mod bounds;
pub mod demand;
mod measured;
mod tables;
mod tolerance;
mod verdict;
mod words;

use serde::Serialize;

use crate::response_time::{Order, Response, Set};

pub use measured::{LeftOut, Measured, Why};
pub use tolerance::{Tolerance, tolerance};
pub use verdict::{Processor, TASKS_MAX, TaskVerdict, Test, Verdict, verdict};

/// What a test says of a set of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Every deadline is kept, always.
    Yes,
    /// Not every deadline is kept when everything comes together as badly as it may.
    No,
    /// This test cannot tell; a sharper one may.
    Open,
}

/// Everything that can be said of one set.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The share of the processor that all of them want, switches included.
    pub utilisation: f64,
    /// By fixed priorities: in the set's own order, then rate-monotonic and deadline-monotonic where those differ.
    pub fixed: Vec<Fixed>,
    /// Earliest deadline first.
    pub earliest_deadline: EarliestDeadline,
}

/// What holds under fixed priorities.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixed {
    /// Who goes first.
    pub order: Order,
    /// Nothing where the priorities do not follow the periods.
    pub liu_layland: Option<bounds::Bound>,
    /// The same.
    pub hyperbolic: Option<bounds::Bound>,
    /// The bound of each task's response time, in the order of the set.
    pub responses: Vec<Response>,
    /// How long execution times may become.
    pub tolerance: Tolerance,
}

impl Fixed {
    /// Whether all deadlines are kept: exact.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let keeps = self.responses.iter().all(Response::keeps_deadline);
        if keeps { Answer::Yes } else { Answer::No }
    }
}

/// What holds where the earliest deadline goes first.
#[derive(Clone, Debug, PartialEq)]
pub struct EarliestDeadline {
    /// The processor-demand test.
    pub demand: demand::Demand,
    /// How long execution times may become.
    pub tolerance: Tolerance,
}

/// Puts every test to a set.
#[must_use]
pub fn assess(set: &Set) -> Assessment {
    let mut orders = vec![set.order()];
    for order in [Order::RateMonotonic, Order::DeadlineMonotonic] {
        let set = set.ordered(order);
        if orders.iter().all(|known| !same(&set, *known)) {
            orders.push(order);
        }
    }
    let fixed = |order| {
        let set = set.ordered(order);
        Fixed {
            order,
            liu_layland: bounds::liu_layland(&set),
            hyperbolic: bounds::hyperbolic(&set),
            responses: set.responses(),
            tolerance: tolerance(&set, Set::keeps_deadlines),
        }
    };
    Assessment {
        utilisation: set.utilisation(),
        fixed: orders.into_iter().map(fixed).collect(),
        earliest_deadline: EarliestDeadline {
            demand: demand::of(set),
            tolerance: tolerance(set, |set| demand::of(set).answer == Answer::Yes),
        },
    }
}

/// Whether another order lets the same tasks delay the same.
fn same(set: &Set, order: Order) -> bool {
    let other = set.ordered(order);
    let all = 0..set.tasks().len();
    all.clone().all(|a| all.clone().all(|b| set.delays(a, b) == other.delays(a, b)))
}

#[cfg(test)]
mod tests;
