//! Experiments: a question in seven steps, from the need to the sanity check, that refuses to measure before its
//! expectation is written.
//!
//! The steps are those of Muller, "Modeling and Analysis: Measuring", section 3.2: what do we need; the quantity;
//! the required accuracy; circumstances, expectation and set-up; the actual accuracy; the measurement; the sanity
//! check. [`read`] takes them from TOML, [`run`] measures until the accuracy is there or says why it cannot be,
//! [`Outcome`] holds the result against the expectation.

mod file;
mod outcome;
mod propagated;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod verdict;

use hemiola_model::expression::Expression;
use hemiola_model::quantity::Quantity;
use hemiola_model::uncertain::Input;
use hemiola_probe::Load;
use hemiola_units::{Policy, Span};

pub use file::{Known, read};
pub use outcome::{CaseOutcome, Measured, Outcome, Reach, SecondOutcome};
pub use report::Report;
pub use run::{ExperimentError, known, run};
pub use verdict::{Cause, Range, Verdict};

/// An experiment, sound in itself.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// One line.
    pub title: String,
    /// Step 1: what is to be decided with the result.
    pub need: String,
    /// Step 2: from where to where, what counts and what does not.
    pub definition: String,
    /// Step 3: how accurate the result must be.
    pub accuracy: Accuracy,
    /// How long measuring may take.
    pub within: Span,
    /// Step 4, circumstances: what else the machine does.
    pub load: Load,
    /// The processor asked for; the last one otherwise.
    pub cpu: Option<u16>,
    /// What the measuring threads ask for.
    pub scheduling: Policy,
    /// Step 4, expectation: what the formulas stand on besides figures of merit.
    pub inputs: Vec<OwnInput>,
    /// Step 4, set-up: who does what, and what is subtracted.
    pub set_up: String,
    /// Readings in a block.
    pub readings: u32,
    /// The fewest blocks.
    pub blocks: u32,
    /// What is measured; at least one.
    pub cases: Vec<Case>,
}

/// How accurate a result must be: half its interval at 95 %, systematic part included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// As a share of the value.
    Relative(f64),
    /// In base units.
    Absolute(Quantity),
}

/// An input of expectations that is no figure of merit.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnInput {
    /// Its name, value and range.
    pub input: Input,
    /// Where they come from.
    pub because: String,
}

/// One figure with its expectation.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// The figure of merit that is measured.
    pub figure: String,
    /// Its unit as files write it.
    pub unit: &'static str,
    /// What is expected: of the figure's dimension, with a range.
    pub expectation: Expression,
    /// The model behind it, in words.
    pub because: String,
    /// Another way to the same quantity.
    pub second: Option<Second>,
}

/// A second method: step 7, the sanity check.
#[derive(Clone, Debug)]
pub struct Second {
    /// Another figure, or a formula.
    pub expression: Expression,
    /// How near it must come, as a share of the measured value.
    pub near: f64,
    /// Why it should give the same.
    pub because: String,
}
