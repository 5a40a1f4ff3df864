//! A model as one TOML file: what it says, read strictly.
//!
//! Everything is checked before a [`Model`] exists: known keys, formulas, units, circles of calls, in the
//! model itself and in every what-if. A model that exists can be computed.

use std::ops::Range;

use hemiola_scenario::{Problem, document};

use crate::cache::Cache;
use crate::expression::Expression;
use crate::quantity::Quantity;
use crate::uncertain::{Correlation, Input};

mod check;
mod figure;
mod measured;
mod schema;

pub use measured::{Measured, MeasuredError, Measurements};
pub use schema::schema;

/// Reads a model. Figures that name a measured one take it from `measurements` where that has it, and keep
/// the value the file gives otherwise.
///
/// # Errors
/// Everything that is wrong with it, in the order of the text.
pub fn read(source: &str, measurements: Option<&Measurements>) -> Result<Model, Vec<Problem>> {
    document::read(source, &schema::MODEL, |root| check::check(root, measurements))
}

/// A model: figures with their origin, what calls what how often, and the questions asked of it.
#[derive(Clone, Debug)]
pub struct Model {
    /// One line for headings.
    pub title: String,
    /// What it is about; may be empty.
    pub description: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Samples of a Monte Carlo propagation.
    pub samples: usize,
    /// The values it stands on, in the order written.
    pub figures: Vec<Figure>,
    /// Which figures vary together.
    pub correlations: Vec<Correlation>,
    /// What does the work.
    pub components: Vec<Component>,
    /// What is kept near.
    pub caches: Vec<Cache>,
    /// What is asked of the whole: the costs that matter.
    pub chains: Vec<Chain>,
    /// What could be different.
    pub what_ifs: Vec<WhatIf>,
    /// Rates against costs.
    pub overheads: Vec<Overhead>,
}

impl Model {
    /// The what-if at `index` behind all those it goes on from.
    #[must_use]
    pub fn path(&self, index: usize) -> Vec<&WhatIf> {
        let last = &self.what_ifs[index];
        let mut path = last.after.map_or_else(Vec::new, |after| self.path(after));
        path.push(last);
        path
    }
}

/// A value with its range and where it comes from.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is, in words; may be empty.
    pub title: String,
    /// Name, value and uncertainty.
    pub input: Input,
    /// Where it comes from.
    pub source: Source,
    /// The dotted name under which measurements of a machine have it.
    pub measured: Option<String>,
    /// Why this value: the data sheet's page, what the guess rests on, what was measured how.
    pub reason: String,
    /// The measurement it was taken from, where one was given and has it.
    pub taken: Option<Measured>,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A measurement.
    Measured,
    /// What the maker states.
    DataSheet,
    /// Nobody knows better yet.
    Guess,
}

impl Source {
    /// For a table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::DataSheet => "data sheet",
            Self::Guess => "guess",
        }
    }
}

/// A formula of the file and the place of its text.
#[derive(Clone, Debug)]
pub struct Formula {
    /// What it says.
    pub expression: Expression,
    /// The bytes of the file.
    pub(crate) at: Range<usize>,
}

/// A part of the system, with the operations others call.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// What it does.
    pub operations: Vec<Operation>,
}

/// Something a component does.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `component.operation`.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// What it costs.
    pub work: Work,
}

/// What is done: something of one's own, then calls.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its own time, without what it calls.
    pub cost: Option<Formula>,
    /// What it calls.
    pub calls: Vec<Call>,
    /// Where it is written.
    pub(crate) at: Range<usize>,
}

/// A call, a number of times.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub target: Target,
    /// How often; once where it is not said.
    pub times: Option<Formula>,
    /// Where it is written.
    pub(crate) at: Range<usize>,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Target {
    /// `component.operation`, or `cache.request`.
    Operation(String),
    /// A step that is nobody's operation.
    Step {
        /// What it is called.
        name: String,
        /// Its time.
        cost: Formula,
    },
}

impl Target {
    /// What tables call it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Operation(name) | Self::Step { name, .. } => name,
        }
    }
}

/// A chain of calls that somebody waits for.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// Its calls.
    pub work: Work,
    /// Within which it should end.
    pub deadline: Option<Formula>,
    /// What an operation may take in it, all its calls together.
    pub budget: Vec<(String, Formula)>,
    /// What was measured of it.
    pub observations: Vec<Observation>,
}

/// A measured time, to stand beside the expected one.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The operation of the chain it is about, all its calls together; `None` for the chain.
    pub of: Option<String>,
    /// Under which circumstances.
    pub circumstances: String,
    /// The time, s: of the machine whose measurements were given where those have it.
    pub value: Quantity,
    /// The measurement it was taken from.
    pub taken: Option<Measured>,
}

/// A variation of the model.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// Its name.
    pub name: String,
    /// What is different, in words; may be empty.
    pub title: String,
    /// The variation it goes on from, as an index of an earlier one; the model itself where there is none.
    pub after: Option<usize>,
    /// Figures with another value; their ranges grow or shrink in proportion.
    pub figures: Vec<(String, Quantity)>,
    /// Operations that do something else.
    pub operations: Vec<Operation>,
}

/// What doing something so often costs.
#[derive(Clone, Debug)]
pub struct Overhead {
    /// What is done.
    pub title: String,
    /// How often.
    pub rates: Vec<Formula>,
    /// What it costs each time.
    pub costs: Vec<Formula>,
}

#[cfg(test)]
mod tests;
