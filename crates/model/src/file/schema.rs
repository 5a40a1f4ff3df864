//! The keys of a model file.

use hemiola_scenario::document::{Shape, Table, may, must};

use crate::cache;
use crate::uncertain::{SAMPLES_MAX, SAMPLES_MIN};

/// Words of `source`.
pub(super) const SOURCES: [&str; 3] = ["measured", "data sheet", "guess"];
/// Words of `distribution` of a figure.
pub(super) const DISTRIBUTIONS: [&str; 5] =
    ["exact", "normal", "uniform", "triangular", "log-normal"];

/// Limits far above any model written by hand.
const FIGURES_MAX: usize = 1_000;
const COMPONENTS_MAX: usize = 200;
const OPERATIONS_MAX: usize = 200;
const CALLS_MAX: usize = 200;
const CHAINS_MAX: usize = 100;
const WHAT_IFS_MAX: usize = 100;
const CACHES_MAX: usize = 20;
const TABLES_MAX: usize = 50;
/// Weights of requests to a cache.
const WEIGHTS_MAX: usize = 10_000;

/// The whole document.
pub(super) static MODEL: Table = Table {
    noun: "a model",
    keys: &[
        must("title", Shape::Text, "One line for headings."),
        may("description", Shape::Text, "The purpose of the model."),
        may("seed", Shape::Whole(0, i64::MAX), "Seed of all randomness; default 1."),
        may(
            "samples",
            Shape::Whole(SAMPLES_MIN as i64, SAMPLES_MAX as i64),
            "Samples of a Monte Carlo propagation; default 100000.",
        ),
        may("figures", Shape::Named(&FIGURE, FIGURES_MAX), "The values that formulas use."),
        may("correlation", Shape::Many(&CORRELATION, TABLES_MAX), "Figures that vary together."),
        may("components", Shape::Named(&COMPONENT, COMPONENTS_MAX), "Their operations."),
        may("caches", Shape::Named(&CACHE, CACHES_MAX), "Caches in front of slower storage."),
        may("chains", Shape::Named(&CHAIN, CHAINS_MAX), "Timed chains of calls."),
        may("what_if", Shape::Named(&WHAT_IF, WHAT_IFS_MAX), "Alternatives."),
        may("overhead", Shape::Many(&OVERHEAD, TABLES_MAX), "Tables of rates against costs."),
    ],
};

static FIGURE: Table = Table {
    noun: "a figure",
    keys: &[
        may("title", Shape::Text, "One line for tables."),
        may("value", Shape::Formula, "The best single value, with its unit."),
        may(
            "stochastic",
            Shape::Formula,
            "How it varies: the standard deviation, or the half width of a uniform or triangular \
             distribution; with a unit, or in % of the value.",
        ),
        may(
            "systematic",
            Shape::Formula,
            "The largest offset common to all readings, written as stochastic.",
        ),
        may("low", Shape::Formula, "Instead of stochastic: the lower end of the range."),
        may("high", Shape::Formula, "Instead of stochastic: the upper end of the range."),
        may(
            "distribution",
            Shape::Word(&DISTRIBUTIONS),
            "Default normal with stochastic, uniform with low and high, exact without; normal and \
             log-normal have 95 % between low and high.",
        ),
        must("source", Shape::Word(&SOURCES), "Origin of the value."),
        must("reason", Shape::Text, "Reason for this value."),
        may("measured", Shape::Name, "The name of the figure in the measurements of a machine."),
    ],
};

static CORRELATION: Table = Table {
    noun: "a correlation",
    keys: &[
        must("first", Shape::Text, "One figure."),
        must("second", Shape::Text, "The other."),
        must("coefficient", Shape::Number(-1.0, 1.0), "From -1 to 1."),
    ],
};

static COMPONENT: Table = Table {
    noun: "a component",
    keys: &[
        may("title", Shape::Text, "One line for tables."),
        must("operations", Shape::Named(&OPERATION, OPERATIONS_MAX), "Its operations."),
    ],
};

static OPERATION: Table = Table {
    noun: "an operation",
    keys: &[
        may("title", Shape::Text, "One line for tables."),
        may("cost", Shape::Formula, "Its own time, without what it calls."),
        may("calls", Shape::Many(&CALL, CALLS_MAX), "The operations that it calls."),
    ],
};

static CALL: Table = Table {
    noun: "a call",
    keys: &[
        may("to", Shape::Text, "The operation, as \"component.operation\" or \"cache.request\"."),
        may("cost", Shape::Formula, "Instead of to: the time of a step."),
        may("name", Shape::Text, "The name of such a step."),
        may("times", Shape::Formula, "Number of calls; default 1."),
    ],
};

static CHAIN: Table = Table {
    noun: "a chain",
    keys: &[
        may("title", Shape::Text, "One line for tables."),
        must("calls", Shape::Many(&CALL, CALLS_MAX), "The calls of the chain."),
        may("deadline", Shape::Formula, "Time within which the chain should end."),
        may(
            "budget",
            Shape::NamedFormulas(OPERATIONS_MAX),
            "The most time of an operation in the chain, over all its calls.",
        ),
        may("measured", Shape::Many(&OBSERVATION, TABLES_MAX), "Measured times of the chain."),
    ],
};

static OBSERVATION: Table = Table {
    noun: "a measured time",
    keys: &[
        may("of", Shape::Text, "An operation of the chain, over all its calls; default the chain."),
        must("circumstances", Shape::Text, "The circumstances of the measurement."),
        may("value", Shape::Formula, "The time."),
        may("measured", Shape::Name, "The name of the figure in the measurements of a machine."),
    ],
};

static WHAT_IF: Table = Table {
    noun: "a what-if",
    keys: &[
        may("title", Shape::Text, "The difference in one line."),
        may("after", Shape::Text, "An earlier what-if that this one extends."),
        may(
            "figures",
            Shape::NamedFormulas(FIGURES_MAX),
            "Figures with another value; their ranges scale in proportion.",
        ),
        may(
            "operations",
            Shape::Named(&OPERATION, OPERATIONS_MAX),
            "Replaced operations, as \"component.operation\".",
        ),
    ],
};

static CACHE: Table = Table {
    noun: "a cache",
    keys: &[
        may("title", Shape::Text, "One line for tables."),
        must("algorithm", Shape::Word(&["lru", "lfu", "clock", "arc"]), "Eviction algorithm."),
        must("size", Shape::Formula, "Capacity in bytes."),
        must("object", Shape::Formula, "Bytes of one stored object."),
        may("chunk", Shape::Formula, "Bytes fetched and stored at once; default one object."),
        may("format", Shape::Word(&["raw", "processed"]), "Format of stored objects; default raw."),
        may(
            "processing",
            Shape::Formula,
            "Time to process an object: at every request if stored raw, at a miss if stored processed.",
        ),
        must("hit", Shape::Formula, "Time to get a cached chunk."),
        must("miss", Shape::Formula, "Time to get a chunk that is not cached."),
        must("requests", Shape::One(&REQUESTS), "The distribution of requests over objects."),
        may(
            "simulate",
            Shape::Whole(1_000, 10_000_000),
            "Requests of a simulation; default 200000.",
        ),
    ],
};

static REQUESTS: Table = Table {
    noun: "the distribution of requests",
    keys: &[
        must(
            "distribution",
            Shape::Word(&["zipf", "uniform", "weights"]),
            "Zipf's law, uniform, or the given weights.",
        ),
        may("exponent", Shape::Number(0.0, 10.0), "Of Zipf's law."),
        may("objects", Shape::Whole(1, cache::OBJECTS_MAX as i64), "Number of objects."),
        may("weights", Shape::Formulas(WEIGHTS_MAX), "One number per object."),
    ],
};

static OVERHEAD: Table = Table {
    noun: "an overhead table",
    keys: &[
        must("title", Shape::Text, "The repeated activity."),
        must("rates", Shape::Formulas(TABLES_MAX), "Rates, as \"500/s\"."),
        must("costs", Shape::Formulas(10), "Costs per repetition."),
    ],
};

/// The JSON schema of model files, for editors.
#[must_use]
pub fn schema() -> String {
    hemiola_scenario::document::schema(&MODEL, "Hemiola model")
}
