//! The data of simulated worlds in a result folder.
//!
//! In a run's trace, a universe has a track with a job for each of its steps. The end of each phase is a mark:
//!
//! ```text
//! start    the step begins
//!   mark REQUEST                    only if a request was carried out first; a: the last step, b: the time, ns
//!   mark PHASE_ENDED       begin    a: number of the step, from 1
//!   mark PHASE_ENDED + 1   update   a: the same
//!   …                               the other phases, in the order of PHASES
//!   mark CHECKPOINT                 only if an image for a checkpoint was taken; a: the step, b: the time, ns
//! finish
//! ```

use hemiola_units::Span;
use serde::{Deserialize, Serialize};

/// The names of the phases of a step, in their order.
pub const PHASES: [&str; 5] = ["begin", "update", "filter", "apply", "close"];

/// The mark at the end of the first phase; those of the others follow. `a` is the number of the step, from 1.
pub const PHASE_ENDED: u16 = 5;

/// The mark at the end of a request, such as a redefinition, that was carried out before the step. `a` is the number of
/// the last step before it, `b` the time that it took, ns.
pub const REQUEST: u16 = PHASE_ENDED + PHASES.len() as u16;

/// The mark at the end of taking the image of a checkpoint, behind the phases of a step. `a` is the number of the step,
/// `b` the time that it took, ns.
pub const CHECKPOINT: u16 = REQUEST + 1;

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
    /// Births for which there was no room.
    #[serde(default)]
    pub unborn: u64,
    /// Entities destructed.
    pub deaths: u64,
    /// Updates that had a fault and left their row as it was.
    pub faults: u64,
    /// The first of these, in words.
    pub first_fault: Option<String>,
    /// Its monitors, in the order of the scenario; then its births and deaths.
    pub monitors: Vec<MonitorRun>,
    /// Its redefinitions and returns.
    #[serde(default)]
    pub redefinitions: Vec<RedefinitionRun>,
    /// Its modules of users.
    #[serde(default)]
    pub modules: Vec<ModuleRun>,
    /// Whether its functions were compiled.
    #[serde(default)]
    pub compiled: bool,
    /// Why some functions of the last definition were interpreted all the same.
    #[serde(default)]
    pub interpreted: Vec<String>,
    /// Its checkpoints, if the scenario asks for them.
    #[serde(default)]
    pub checkpoints: Option<CheckpointsRun>,
}

/// What became of a module of a user, which computes an element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleRun {
    /// As the scenario states it.
    pub module: String,
    /// Blocks that it computed.
    pub blocks: u64,
    /// Blocks that kept their rows, because it failed.
    pub kept: u64,
    /// Fresh instances after a failure.
    pub restarts: u64,
    /// Failures.
    pub strikes: u32,
    /// The step in which it was evicted.
    pub evicted: Option<u64>,
    /// Its last failure, in words.
    pub last: Option<String>,
    /// The fuel that its blocks took.
    pub fuel: u64,
}

/// The checkpoints of a universe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointsRun {
    /// The file.
    pub file: String,
    /// Checkpoints written.
    pub written: u64,
    /// Checkpoints that could not be written.
    pub failed: u64,
    /// Why the last one of these could not.
    pub failure: Option<String>,
    /// Those that were taken later than they were due, because the one before was still being written.
    pub late: u64,
    /// The step of the last one that was written.
    pub step: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The longest time that a step lasted longer to take an image, ns.
    pub image_ns_max: u64,
    /// The mean of these times, ns.
    pub image_ns_mean: u64,
    /// The longest time from an image to the synchronized file, which no step waits for, ns.
    pub write_ns_max: u64,
}

/// A redefinition of a universe while it ran, or a return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedefinitionRun {
    /// The last step before it.
    pub behind: u64,
    /// The texts of the new definition, or how the universe returned.
    pub what: String,
    /// The steps of the plan; none for a return.
    pub plan: Vec<String>,
    /// Entities at that time.
    pub entities: u64,
    /// Monitors that ended, as the scenario states them.
    pub ended: Vec<String>,
    /// The time that the next step waited, ns.
    pub delay_ns: u64,
    /// That time as it was predicted from the plan and the numbers of rows, ns, without the rows that monitors are
    /// told.
    #[serde(default)]
    pub predicted_ns: Option<u64>,
    /// Rows whose columns were not all kept as they were.
    #[serde(default)]
    pub rows: u64,
    /// Bytes of columns that were written for them.
    #[serde(default)]
    pub bytes: u64,
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
    /// Not sent, because a manager had not read what it was sent before.
    #[serde(default)]
    pub held: u64,
    /// Bytes of a row, without the number of its entity; 0 if it is not known any more.
    #[serde(default)]
    pub row_len: u64,
}

impl MonitorRun {
    /// Rows that could have been sent.
    #[must_use]
    pub const fn offered(&self) -> u64 {
        self.sent + self.outside + self.unchanged + self.faults + self.held
    }

    /// Bytes of the rows that were not sent.
    #[must_use]
    pub const fn bytes_saved(&self) -> u64 {
        (self.offered() - self.sent).saturating_mul(self.row_len)
    }
}
