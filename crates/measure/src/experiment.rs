//! Experiments in seven steps, from the need to the sanity check. An experiment cannot be measured before its
//! expectation is written.
//!
//! The steps are those of Muller, "Modeling and Analysis: Measuring", section 3.2: the need; the quantity; the required
//! accuracy; circumstances, expectation and set-up; the actual accuracy; the measurement; the sanity check. [`read`]
//! parses them from TOML, [`run`] measures until the accuracy is reached or cannot be, and [`Outcome`] compares the
//! result with the expectation.

mod file;
mod outcome;
mod own;
mod propagated;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod verdict;

use hemiola_model::expression::Expression;
use hemiola_model::uncertain::Input;
use hemiola_probe::Load;
use hemiola_quantity::Quantity;
use hemiola_units::{Policy, Span};

use crate::command::Subject;

pub use file::{Known, TABLE, read};
pub use outcome::{CaseOutcome, Measured, Outcome, Reach, SecondOutcome};
pub use own::{BadReadings, Own, enough, read_csv};
pub use report::Report;
pub use run::{ExperimentError, known, run};
pub use verdict::{Cause, ExpectationVerdict, Range};

/// A valid experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The title, one line.
    pub title: String,
    /// Step 1: the decision that the result is for.
    pub need: String,
    /// Step 2: the definition of the quantity: start, end, inclusions and exclusions.
    pub definition: String,
    /// Step 3: the required accuracy.
    pub accuracy: Accuracy,
    /// The time limit of the measurement.
    pub within: Span,
    /// Step 4, circumstances: the load on the machine.
    pub load: Load,
    /// The requested processor; the last one if `None`.
    pub cpu: Option<u16>,
    /// The requested scheduling of the measuring threads.
    pub scheduling: Policy,
    /// The other host of figures of a link.
    pub peer: Option<String>,
    /// Step 4, expectation: inputs of the formulas besides figures of merit.
    pub inputs: Vec<OwnInput>,
    /// Step 4, set-up: the parts of the measurement, and what is subtracted.
    pub set_up: String,
    /// Readings per block.
    pub readings: u32,
    /// The fewest blocks.
    pub blocks: u32,
    /// The measured cases, at least one.
    pub cases: Vec<Case>,
}

/// A required accuracy: half the 95 % interval, including the systematic part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// As a share of the value.
    Relative(f64),
    /// In base units.
    Absolute(Quantity),
}

/// An input of expectations that is not a figure of merit.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnInput {
    /// Its name, value and range.
    pub input: Input,
    /// The source of the value.
    pub because: String,
}

/// One figure with its expectation.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The measured figure of merit; for a quantity of one's own, `command.`, `readings.` or `jobs.` and the name of
    /// the case.
    pub figure: String,
    /// The origin of its readings.
    pub origin: Origin,
    /// Its unit in files.
    pub unit: &'static str,
    /// The expectation: a formula with a range, of the figure's dimension.
    pub expectation: Expression,
    /// The model behind it, in words.
    pub because: String,
    /// Another method for the same quantity.
    pub second: Option<Second>,
}

/// The origin of a case's readings.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A probe of the figure.
    Probe,
    /// The times of a command.
    Command(Subject),
    /// A column of a CSV file.
    Readings {
        /// The file, from the folder of the experiment.
        file: String,
        /// The heading of the column; the first column if `None`.
        column: Option<String>,
        /// The factor from the file's unit to the case's.
        scale: f64,
    },
    /// The response times of the jobs of a task.
    Jobs {
        /// The recording, from the folder of the experiment.
        recording: String,
        /// The task, as its program calls it.
        task: String,
    },
}

impl Origin {
    /// Whether the readings were taken before the experiment, so that there are no more.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        matches!(self, Self::Readings { .. } | Self::Jobs { .. })
    }
}

/// A second method: step 7, the sanity check.
#[derive(Clone, Debug)]
pub struct Second {
    /// Another figure, or a formula.
    pub expression: Expression,
    /// The largest accepted difference, as a share of the measured value.
    pub near: f64,
    /// Why it should agree.
    pub because: String,
}
