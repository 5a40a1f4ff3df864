//! The keys of a model file.

use hemiola_scenario::document::{Declared, FormulaText, Named, Shape, Table, Word};
use hemiola_scenario::{sections, words};

use super::FigureSource;
use crate::cache::{Algorithm, Format, OBJECTS_MAX};
use crate::uncertain::{SAMPLES_MAX, SAMPLES_MIN};

/// Limits far above any model written by hand.
const FIGURES_MAX: usize = 1_000;
const COMPONENTS_MAX: usize = 200;
const OPERATIONS_MAX: usize = 200;
const CALLS_MAX: usize = 200;
const CHAINS_MAX: usize = 100;
const WHAT_IFS_MAX: usize = 100;
const CACHES_MAX: usize = 20;
const TABLES_MAX: usize = 50;
const PARTS_MAX: usize = 20;
const UNITS_MAX: usize = 100;
const COSTS_MAX: usize = 10;
/// Values of a sweep. Each takes as many samples as the model itself.
const STEPS_MAX: usize = 50;
/// Readings of a figure.
pub(super) const READINGS_MAX: usize = 10_000;
/// Weights of requests to a cache.
const WEIGHTS_MAX: usize = 10_000;

/// The keys of a model file.
pub static TABLE: &Table = ModelKeys::TABLE;

sections! {
    /// The whole document.
    pub(super) struct ModelKeys<'s> = "a model" {
        must title: &'s str, Shape::Text, "One line for headings.";
        may description: &'s str, Shape::Text, "The purpose of the model.";
        may seed: u64 = 1, Shape::Whole(0, i64::MAX), "Seed of all randomness.";
        may samples: usize = 100_000, Shape::Whole(SAMPLES_MIN as i64, SAMPLES_MAX as i64),
            "Samples of a Monte Carlo propagation; more are drawn while they do not decide a verdict, up to 2 million.";
        may units: Named<'s, UnitKeys<'s>>, Shape::Named(UnitKeys::TABLE, UNITS_MAX),
            "Units of the model's own, such as EUR or req, by symbol.";
        may figures: Named<'s, FigureKeys<'s>>, Shape::Named(FigureKeys::TABLE, FIGURES_MAX),
            "The values that formulas use.";
        may correlation: Vec<CorrelationKeys<'s>>, Shape::Many(CorrelationKeys::TABLE, TABLES_MAX),
            "Figures that vary together.";
        may costs: Named<'s, FormulaText>, Shape::NamedFormulas(COSTS_MAX),
            "The costs of operations besides time, each with its unit instead of a formula: energy = \"J/req\".";
        may components: Named<'s, ComponentKeys<'s>>, Shape::Named(ComponentKeys::TABLE, COMPONENTS_MAX),
            "The parts of the system.";
        may caches: Named<'s, CacheKeys<'s>>, Shape::Named(CacheKeys::TABLE, CACHES_MAX),
            "Caches in front of slower storage.";
        may chains: Named<'s, ChainKeys<'s>>, Shape::Named(ChainKeys::TABLE, CHAINS_MAX), "Timed chains of calls.";
        may what_if: Named<'s, WhatIfKeys<'s>>, Shape::Named(WhatIfKeys::TABLE, WHAT_IFS_MAX), "Alternatives.";
        may sweep: Vec<SweepKeys<'s>>, Shape::Many(SweepKeys::TABLE, TABLES_MAX), "A figure over several values.";
        may overhead: Vec<OverheadKeys<'s>>, Shape::Many(OverheadKeys::TABLE, TABLES_MAX),
            "Tables of rates against costs.";
    }

    /// `[units.SYMBOL]`
    pub(super) struct UnitKeys<'s> = "a unit" {
        may quantity: &'s str, Shape::Text,
            "The name of a quantity of the model's own, such as \"money\", whose base unit this is.";
        may value: FormulaText, Shape::Formula,
            "Instead of quantity: its value in built-in units or those above it, such as \"0.01 EUR\".";
        may prefixes: bool = false, Shape::Boolean,
            "Whether it takes the prefixes f p n µ u m c k M G T. Results are then shown with them, too.";
    }

    /// `[figures.NAME]`
    pub(super) struct FigureKeys<'s> = "a figure" {
        may title: &'s str, Shape::Text, "One line for tables.";
        may value: FormulaText, Shape::Formula, else "the middle of low and high",
            "The best single value, with its unit; a formula without names, as below.";
        may stochastic: FormulaText, Shape::Formula,
            "Its variation: the standard deviation, or the half width of a uniform or triangular distribution. \
             In the unit of the value, or in % of a value with a unit.";
        may systematic: FormulaText, Shape::Formula,
            "The largest offset common to all readings, written as stochastic.";
        may low: FormulaText, Shape::Formula, "Instead of stochastic: the lower end of the range.";
        may high: FormulaText, Shape::Formula, "Instead of stochastic: the upper end of the range.";
        may distribution: DistributionWord, Shape::Word(DistributionWord::WORDS),
            else "normal with stochastic, uniform with low and high, else exact",
            "For normal, split-normal, log-normal and weibull, low to high is the middle 95 %; for pareto, low is the \
             least value and high the 97.5 % quantile. The value is the median, of triangular the mode.";
        may shape: f64, Shape::Number(0.01, 1_000.0),
            "The shape of weibull, or that of pareto, which must be above 1, instead of low and high.";
        may at_least: FormulaText, Shape::Formula, else "0 of a duration, a rate or an amount of data, else unbounded",
            "The least possible value: the distribution is cut off there. A negative one is for a difference, such as that of \
             two clocks.";
        may at_most: FormulaText, Shape::Formula, else "unbounded", "The greatest possible value.";
        may readings: Vec<FormulaText>, Shape::Formulas(READINGS_MAX),
            "Instead of a distribution: measured values, each equally likely; value is their median unless stated.";
        may mixture: Vec<PartKeys<'s>>, Shape::Many(PartKeys::TABLE, PARTS_MAX),
            "Instead of a distribution: one of several figures above, each with its share; value is their mean.";
        must source: FigureSource, Shape::Word(FigureSource::WORDS), "Origin of the value.";
        must reason: &'s str, Shape::Text, "Reason for this value.";
        may measured: &'s str, Shape::Text,
            "The name of the figure in the measurements of a machine or a recording. A measurement given by --machine replaces value \
             and range: a recording by the distribution of the jobs, and a machine by its median, the interval of a repeat \
             as 95 % of a (split) normal distribution, and the systematic part of its calibration. A name that the \
             measurements lack is reported.";
    }

    /// An item of `mixture`
    pub(super) struct PartKeys<'s> = "a part of a mixture" {
        must of: &'s str, Shape::Text, "A figure above this one, with its distribution and its systematic part.";
        must share: FormulaText, Shape::Formula, "Its share; all shares add up to 1.";
    }

    /// `[[correlation]]`
    pub(super) struct CorrelationKeys<'s> = "a correlation" {
        must first: &'s str, Shape::Text, "One figure.";
        must second: &'s str, Shape::Text, "The other.";
        must coefficient: f64, Shape::Number(-1.0, 1.0),
            "The correlation of their normal scores, which is that of their values if both are normal. Systematic \
             parts are one unknown at 1 and -1, and independent otherwise.";
    }

    /// `[components.NAME]`
    pub(super) struct ComponentKeys<'s> = "a component" {
        may title: &'s str, Shape::Text, "One line for tables.";
        must operations: Named<'s, OperationKeys<'s>>, Shape::Named(OperationKeys::TABLE, OPERATIONS_MAX),
            "Its operations.";
    }

    /// `[components.NAME.operations.NAME]`
    pub(super) struct OperationKeys<'s> = "an operation" {
        may title: &'s str, Shape::Text, "One line for tables.";
        may cost: FormulaText, Shape::Formula, "Its own time, without its calls.";
        may costs: Named<'s, FormulaText>, Shape::NamedFormulas(COSTS_MAX),
            "What one call costs besides time, without its calls, by the names in [costs].";
        may capacity: FormulaText, Shape::Formula, "The most calls that it can carry in a time, such as \"500 req/s\".";
        may calls: Vec<CallKeys<'s>>, Shape::Many(CallKeys::TABLE, CALLS_MAX), "The operations that it calls.";
        may parallel: bool = false, Shape::Boolean,
            "Whether the calls run at the same time: the longest counts. Repeated calls (times) follow each other.";
    }

    /// An item of `calls`
    pub(super) struct CallKeys<'s> = "a call" {
        may to: &'s str, Shape::Text, "The operation, as \"component.operation\" or \"cache.request\".";
        may cost: FormulaText, Shape::Formula, "Instead of to: the time of a step that is not an operation.";
        may costs: Named<'s, FormulaText>, Shape::NamedFormulas(COSTS_MAX),
            "What such a step costs besides time, as for an operation.";
        may capacity: FormulaText, Shape::Formula, "The capacity of such a step, as of an operation.";
        may name: &'s str, Shape::Text, "The name of such a step.";
        may times: FormulaText, Shape::Formula, else "1", "Number of calls. One that is not whole is a mean.";
    }

    /// `[chains.NAME]`
    pub(super) struct ChainKeys<'s> = "a chain" {
        may title: &'s str, Shape::Text, "One line for tables.";
        must calls: Vec<CallKeys<'s>>, Shape::Many(CallKeys::TABLE, CALLS_MAX), "The calls of the chain.";
        may deadline: FormulaText, Shape::Formula,
            "Time within which the chain should end. A figure in it counts with its range, as in budget and limits.";
        may budget: Named<'s, FormulaText>, Shape::NamedFormulas(OPERATIONS_MAX),
            "The most time of an operation in the chain, over all its calls.";
        may limits: Named<'s, FormulaText>, Shape::NamedFormulas(COSTS_MAX),
            "The most that the chain may cost besides time, by the names in [costs].";
        may demand: FormulaText, Shape::Formula,
            "How often the chain has to run in a time, such as \"150 req/s\"; needs an operation with a capacity.";
        may probability: FormulaText, Shape::Formula, else "97.5 %",
            "The probability with which deadline, budget, limits and demand must be kept, for any systematic offset.";
        may of_mean: bool = false, Shape::Boolean,
            "Whether deadline and budget limit the mean of many runs instead of each run.";
        may measured: Vec<ObservationKeys<'s>>, Shape::Many(ObservationKeys::TABLE, TABLES_MAX),
            "Measured times of the chain.";
    }

    /// `[[chains.NAME.measured]]`
    pub(super) struct ObservationKeys<'s> = "a measured time" {
        may of: &'s str, Shape::Text, else "the chain", "An operation of the chain, over all its calls.";
        must circumstances: &'s str, Shape::Text, "The circumstances of the measurement.";
        may value: FormulaText, Shape::Formula, "The time.";
        may measured: &'s str, Shape::Text,
            "The name of the figure in the measurements of a machine or a recording.";
    }

    /// `[what_if.NAME]`
    pub(super) struct WhatIfKeys<'s> = "a what-if" {
        may title: &'s str, Shape::Text, "The difference in one line.";
        may after: &'s str, Shape::Text, else "the model itself", "An earlier what-if that this one extends.";
        may figures: Named<'s, FormulaText>, Shape::NamedFormulas(FIGURES_MAX),
            "Figures with another value; their ranges scale in proportion, and that of a value of 0 keeps its width.";
        may operations: Named<'s, OperationKeys<'s>>, Shape::Named(OperationKeys::TABLE, OPERATIONS_MAX),
            "Replaced operations, as \"component.operation\".";
    }

    /// `[[sweep]]`
    pub(super) struct SweepKeys<'s> = "a sweep" {
        may title: &'s str, Shape::Text, "One line for headings.";
        must figure: &'s str, Shape::Text,
            "The figure that varies; its range scales in proportion, and that of a value of 0 keeps its width.";
        must values: Vec<FormulaText>, Shape::Formulas(STEPS_MAX), "Its values, with their units.";
    }

    /// `[caches.NAME]`
    pub(super) struct CacheKeys<'s> = "a cache" {
        may title: &'s str, Shape::Text, "One line for tables.";
        must algorithm: Algorithm, Shape::Word(Algorithm::WORDS), "Eviction algorithm.";
        must size: FormulaText, Shape::Formula, "Capacity in bytes.";
        must object: FormulaText, Shape::Formula, "Bytes of one stored object.";
        may chunk: FormulaText, Shape::Formula, else "one object",
            "Bytes fetched and stored at once. A chunk larger than an object holds several scattered objects, popular \
             ones beside others; an object larger than a chunk occupies several, and wastes the rest of the last one.";
        may format: Format = Format::Raw, Shape::Word(Format::WORDS), "Format of stored objects.";
        may processing: FormulaText, Shape::Formula,
            "Time to process an object: at every request if stored raw, at a miss if stored processed.";
        must hit: FormulaText, Shape::Formula, "Time to get a cached chunk.";
        must miss: FormulaText, Shape::Formula, "Time to get a chunk that is not cached.";
        may costs: Named<'s, FormulaText>, Shape::NamedFormulas(COSTS_MAX),
            "What one request costs besides time, on average over hits and misses, by the names in [costs].";
        may capacity: FormulaText, Shape::Formula, "The most requests in a time that it can carry.";
        may requests: RequestsKeys<'s>, Shape::One(RequestsKeys::TABLE),
            "The distribution of requests over objects. Requests are independent of each other.";
        may behind: &'s str, Shape::Text,
            "Instead of requests: the cache whose misses are the requests to this one. The objects of this cache are \
             the chunks of that one.";
        may simulate: u64 = 200_000, Shape::Whole(1_000, 10_000_000),
            "Requests counted in the simulation, after as many to fill the cache.";
    }

    /// `[caches.NAME.requests]`
    pub(super) struct RequestsKeys<'s> = "the distribution of requests" by distribution {
        must distribution: RequestsWord, Shape::Word(RequestsWord::WORDS),
            "Zipf's law, uniform, or the given weights.";
        must exponent: f64, Shape::Number(0.0, 10.0), of ["zipf"], "The exponent.";
        must objects: usize, Shape::Whole(1, OBJECTS_MAX as i64), of ["zipf", "uniform"], "Number of objects.";
        must weights: Vec<FormulaText>, Shape::Formulas(WEIGHTS_MAX), of ["weights"], "One number per object.";
    }

    /// `[[overhead]]`
    pub(super) struct OverheadKeys<'s> = "an overhead table" {
        must title: &'s str, Shape::Text, "The repeated activity.";
        must rates: Vec<FormulaText>, Shape::Formulas(TABLES_MAX), "Rates, as \"500/s\".";
        must costs: Vec<FormulaText>, Shape::Formulas(10), "Costs per repetition.";
    }
}

words!(FigureSource { Measured "measured", DataSheet "data sheet", Guess "guess" });
words!(Algorithm { Lru "lru", Lfu "lfu", Clock "clock", Arc "arc" });
words!(Format { Raw "raw", Processed "processed" });
words! {
    /// Distributions of a figure.
    pub enum DistributionWord {
        Exact "exact",
        Normal "normal",
        Uniform "uniform",
        Triangular "triangular",
        LogNormal "log-normal",
        SplitNormal "split-normal",
        Weibull "weibull",
        Pareto "pareto",
    }
}
words! {
    /// Distributions of requests to a cache.
    pub(super) enum RequestsWord { Zipf "zipf", Uniform "uniform", Weights "weights" }
}
