//! The data of simulated worlds in a result folder.
//!
//! In a run's trace, a universe has a track with a job for each of its steps. The end of each phase is a mark:
//!
//! ```text
//! start    the step begins
//!   mark PHASE_ENDED       begin    a: number of the step, from 1
//!   mark PHASE_ENDED + 1   update   a: the same
//!   …                               the other phases, in the order of PHASES
//! finish
//! ```

use hemiola_units::Span;
use serde::{Deserialize, Serialize};

/// The names of the phases of a step, in their order.
pub const PHASES: [&str; 5] = ["begin", "update", "filter", "apply", "close"];

/// The mark at the end of the first phase; those of the others follow. `a` is the number of the step, from 1.
pub const PHASE_ENDED: u16 = 5;

/// The outcome of a universe in one run, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniverseRun {
    /// The name of its process.
    pub process: String,
    /// The name of the universe.
    pub universe: String,
    /// Steps made.
    pub steps: u64,
    /// The simulated length of a step.
    pub step: Span,
    /// Entities at the end.
    pub entities: u64,
    /// Entities constructed.
    pub births: u64,
    /// Entities destructed.
    pub deaths: u64,
    /// Updates that had a fault and left their row as it was.
    pub faults: u64,
    /// The first of these, in words.
    pub first_fault: Option<String>,
    /// Its monitors, in the order of the scenario.
    pub monitors: Vec<MonitorRun>,
}

/// What became of the rows of a monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorRun {
    /// As the scenario states it.
    pub monitor: String,
    /// Sent.
    pub sent: u64,
    /// Not sent, because a condition on the row alone did not hold.
    pub outside: u64,
    /// Not sent, because a condition that reads `last_sent` did not hold.
    pub unchanged: u64,
    /// Not sent, because the constraint had a fault.
    pub faults: u64,
}
