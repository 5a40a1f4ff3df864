//! A model as one TOML file.
//!
//! Everything is checked before a [`Model`] exists: keys, formulas, units and circular calls, in the model itself and
//! in every what-if. So every existing model can be computed.

use std::ops::Range;

use hemiola_diagnostic::Problem;
use hemiola_scenario::document;

use crate::cache::Cache;
use crate::expression::Expression;
use crate::uncertain::{Correlation, Input};
use hemiola_quantity::{Dimension, Quantity, Units};

mod check;
mod figure;
mod keys;
mod measured;

pub use figure::{constant, constant_of, input};
pub use keys::{DistributionWord, TABLE};
pub use measured::{Jobs, Measured, MeasuredError, Measurements};

/// Reads a model. A figure that names a measured one takes its value from `measurements` if they contain it, and
/// otherwise keeps the value in the file.
///
/// # Errors
/// All errors, in text order.
pub fn read(source: &str, measurements: Option<&Measurements>) -> Result<Model, Vec<Problem>> {
    let read = document::read(source, TABLE, |root| check::check(root, measurements));
    read.map_err(|problems| problems.into_iter().map(with_hint).collect())
}

/// The problem of a name that is declared twice with its remedy; any other problem as it is.
fn with_hint(problem: Problem) -> Problem {
    if problem.message == "duplicate key" && problem.hint.is_empty() {
        return problem.hint("a name can be declared once; rename one of the two, or remove it");
    }
    problem
}

/// A model: figures with their sources, operations and their calls, and the costs to compute.
#[derive(Clone, Debug)]
pub struct Model {
    /// One line for headings.
    pub title: String,
    /// Its description; may be empty.
    pub description: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Samples of a Monte Carlo propagation.
    pub samples: usize,
    /// The units of its formulas and results.
    pub units: Units,
    /// The costs of its operations besides time.
    pub costs: Vec<CostKind>,
    /// The dimension of all capacities and demands: something per time.
    pub capacity: Dimension,
    /// The values it is based on, in the order written.
    pub figures: Vec<ModelFigure>,
    /// Correlations of figures.
    pub correlations: Vec<Correlation>,
    /// The components with their operations.
    pub components: Vec<Component>,
    /// The caches.
    pub caches: Vec<Cache>,
    /// The chains of calls whose cost is computed.
    pub chains: Vec<Chain>,
    /// The variations.
    pub what_ifs: Vec<WhatIf>,
    /// The sweeps.
    pub sweeps: Vec<Sweep>,
    /// The overhead tables.
    pub overheads: Vec<Overhead>,
    /// Warnings about the file: figures that the given measurements lack.
    pub remarks: Vec<String>,
}

impl Model {
    /// The what-if at `index`, preceded by all those it builds on.
    #[must_use]
    pub fn path(&self, index: usize) -> Vec<&WhatIf> {
        let last = &self.what_ifs[index];
        let mut path = last.after.map_or_else(Vec::new, |after| self.path(after));
        path.push(last);
        path
    }

    /// Whether any operation, step or cache has a capacity, in the model or in a what-if.
    #[must_use]
    pub fn has_capacity(&self) -> bool {
        let operations = self.components.iter().flat_map(|component| &component.operations);
        let replaced = self.what_ifs.iter().flat_map(|what_if| &what_if.operations);
        let works = operations.chain(replaced).map(|operation| &operation.work);
        let mut works = works.chain(self.chains.iter().map(|chain| &chain.work));
        let of_work = |work: &Work| {
            let mut steps = work.calls.iter().filter_map(|call| call.target.resources());
            work.resources.capacity.is_some() || steps.any(|own| own.capacity.is_some())
        };
        works.any(of_work) || self.caches.iter().any(|cache| cache.resources.capacity.is_some())
    }
}

/// A cost besides time.
#[derive(Clone, Debug, PartialEq)]
pub struct CostKind {
    /// Its name.
    pub name: String,
    /// Its dimension.
    pub dimension: Dimension,
}

/// The costs of an operation, a step or a cache besides time, and its capacity.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The own costs of one call, by the names of [`Model::costs`].
    pub costs: Vec<(String, Formula)>,
    /// The most calls in a time.
    pub capacity: Option<Formula>,
}

impl Resources {
    /// The formula of a cost.
    pub(crate) fn cost(&self, name: &str) -> Option<&Formula> {
        self.costs.iter().find(|(known, _)| known == name).map(|(_, formula)| formula)
    }
}

/// A value with its range and source.
#[derive(Clone, Debug)]
pub struct ModelFigure {
    /// Its description; may be empty.
    pub title: String,
    /// Name, value and uncertainty.
    pub input: Input,
    /// Its source.
    pub source: FigureSource,
    /// The dotted name of the measured figure.
    pub measured: Option<String>,
    /// The reason for the value: the data sheet's page, the basis of the guess, the method of the measurement.
    pub reason: String,
    /// The measurement it was taken from, if there is one.
    pub taken: Option<Measured>,
}

/// The source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// A measurement.
    Measured,
    /// The manufacturer's statement.
    DataSheet,
    /// An estimate without better evidence.
    Guess,
}

/// A formula of the file and the place of its text.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The formula.
    pub expression: Expression,
    /// Its byte range in the file.
    pub(crate) at: Range<usize>,
}

/// A part of the system, with the operations others call.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// Its operations.
    pub operations: Vec<Operation>,
}

/// An operation of a component.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `component.operation`.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// Its cost and its calls.
    pub work: Work,
}

/// The work of an operation: its own time, then calls.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its own time, without its calls.
    pub cost: Option<Formula>,
    /// Its costs besides time, without those of its calls, and its capacity.
    pub resources: Resources,
    /// Its calls.
    pub calls: Vec<Call>,
    /// Whether its calls run at the same time, so that only the longest counts.
    pub parallel: bool,
    /// Its place in the file.
    pub(crate) at: Range<usize>,
}

/// A repeated call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The called operation or step.
    pub target: Target,
    /// The number of calls; one if `None`.
    pub times: Option<Formula>,
    /// Its place in the file.
    pub(crate) at: Range<usize>,
}

/// The target of a call.
#[derive(Clone, Debug)]
pub enum Target {
    /// `component.operation`, or `cache.request`.
    Operation(String),
    /// A step that belongs to no operation.
    Step {
        /// Its name.
        name: String,
        /// Its time; none if `None`.
        cost: Option<Formula>,
        /// Its costs besides time, and its capacity.
        resources: Resources,
    },
}

impl Target {
    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Operation(name) | Self::Step { name, .. } => name,
        }
    }

    /// The costs of a step besides time; an operation states its own.
    #[must_use]
    pub fn resources(&self) -> Option<&Resources> {
        match self {
            Self::Operation(_) => None,
            Self::Step { resources, .. } => Some(resources),
        }
    }
}

/// A chain of calls with a cost of interest.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// Its calls.
    pub work: Work,
    /// Its deadline.
    pub deadline: Option<Formula>,
    /// The probability with which the deadline, the allotments, the limits and the demand must be kept.
    pub probability: f64,
    /// The time allotted to an operation, over all its calls in the chain.
    pub budget: Vec<(String, Formula)>,
    /// The most that it may cost besides time, by the names of [`Model::costs`].
    pub limits: Vec<(String, Formula)>,
    /// Whether deadline and allotments are limits of the mean of many runs, and not of each run.
    pub of_mean: bool,
    /// How often it has to run in a time.
    pub demand: Option<Formula>,
    /// The measured times.
    pub observations: Vec<Observation>,
}

/// A measured time, for comparison with the expected one.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The measured operation of the chain, over all its calls; `None` for the whole chain.
    pub of: Option<String>,
    /// The circumstances of the measurement.
    pub circumstances: String,
    /// The time, s: from the given measurements if they contain it.
    pub value: Quantity,
    /// The measurement it was taken from.
    pub taken: Option<Measured>,
}

impl Observation {
    /// One unit of the measurement that it was taken from, in base units.
    pub(crate) fn scale(&self) -> f64 {
        self.taken.as_ref().map_or(1.0, |taken| taken.one)
    }

    /// The range of a repeat of the measurement, if known, and else the time itself.
    pub(crate) fn interval(&self) -> (f64, f64) {
        let one = (self.value.value, self.value.value);
        self.taken.as_ref().map_or(one, |taken| (taken.low * taken.one, taken.high * taken.one))
    }
}

/// A variation of the model.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// The index of the earlier variation it builds on; `None` for the model itself.
    pub after: Option<usize>,
    /// Figures with another value; their ranges scale in proportion.
    pub figures: Vec<(String, Quantity)>,
    /// Operations with other work.
    pub operations: Vec<Operation>,
}

/// The model over several values of one figure.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Its description; may be empty.
    pub title: String,
    /// The figure that varies.
    pub figure: String,
    /// The model with each of its values, which is the name of the variation.
    pub steps: Vec<(Quantity, WhatIf)>,
}

/// The load of a repeated operation at several rates.
#[derive(Clone, Debug)]
pub struct Overhead {
    /// The repeated operation.
    pub title: String,
    /// Its rates.
    pub rates: Vec<Formula>,
    /// The costs of one operation.
    pub costs: Vec<Formula>,
}

#[cfg(test)]
mod tests;
