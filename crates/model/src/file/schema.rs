//! What a model file may say.

use hemiola_scenario::document::{Shape, Table, may, must};

use crate::cache;
use crate::uncertain::{SAMPLES_MAX, SAMPLES_MIN};

/// Words of `source`.
pub(super) const SOURCES: [&str; 3] = ["measured", "data sheet", "guess"];
/// Words of `distribution` of a figure.
pub(super) const DISTRIBUTIONS: [&str; 5] =
    ["exact", "normal", "uniform", "triangular", "log-normal"];

/// Bounds that no model written by a person comes near.
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
        may("description", Shape::Text, "What the model is about."),
        may("seed", Shape::Whole(0, i64::MAX), "Seed of all randomness; default 1."),
        may(
            "samples",
            Shape::Whole(SAMPLES_MIN as i64, SAMPLES_MAX as i64),
            "Samples of a Monte Carlo propagation; default 100000.",
        ),
        may("figures", Shape::Named(&FIGURE, FIGURES_MAX), "The values all formulas stand on."),
        may("correlation", Shape::Many(&CORRELATION, TABLES_MAX), "Figures that vary together."),
        may("components", Shape::Named(&COMPONENT, COMPONENTS_MAX), "What does the work."),
        may("caches", Shape::Named(&CACHE, CACHES_MAX), "What is kept near."),
        may("chains", Shape::Named(&CHAIN, CHAINS_MAX), "What somebody waits for."),
        may("what_if", Shape::Named(&WHAT_IF, WHAT_IFS_MAX), "What could be different."),
        may("overhead", Shape::Many(&OVERHEAD, TABLES_MAX), "Tables of rates against costs."),
    ],
};

static FIGURE: Table = Table {
    noun: "a figure",
    keys: &[
        may("title", Shape::Text, "What it is."),
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
            "The largest offset common to all readings; as stochastic.",
        ),
        may("low", Shape::Formula, "Instead of stochastic: the lower end of the range."),
        may("high", Shape::Formula, "Instead of stochastic: the upper end of the range."),
        may(
            "distribution",
            Shape::Word(&DISTRIBUTIONS),
            "Default normal with stochastic, uniform with low and high, exact without; normal and \
             log-normal have 95 % between low and high.",
        ),
        must("source", Shape::Word(&SOURCES), "Where it comes from."),
        must("reason", Shape::Text, "Why this value."),
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
        may("title", Shape::Text, "What it is."),
        must("operations", Shape::Named(&OPERATION, OPERATIONS_MAX), "What it does."),
    ],
};

static OPERATION: Table = Table {
    noun: "an operation",
    keys: &[
        may("title", Shape::Text, "What it is."),
        may("cost", Shape::Formula, "Its own time, without what it calls."),
        may("calls", Shape::Many(&CALL, CALLS_MAX), "What it calls."),
    ],
};

static CALL: Table = Table {
    noun: "a call",
    keys: &[
        may("to", Shape::Text, "The operation, as \"component.operation\" or \"cache.request\"."),
        may("cost", Shape::Formula, "Or the time of a step that is nobody's operation."),
        may("name", Shape::Text, "What such a step is called."),
        may("times", Shape::Formula, "How often; default 1."),
    ],
};

static CHAIN: Table = Table {
    noun: "a chain",
    keys: &[
        may("title", Shape::Text, "What it is."),
        must("calls", Shape::Many(&CALL, CALLS_MAX), "What is called."),
        may("deadline", Shape::Formula, "Within which it should end."),
        may(
            "budget",
            Shape::NamedFormulas(OPERATIONS_MAX),
            "What an operation may take in it, all its calls together.",
        ),
        may("measured", Shape::Many(&OBSERVATION, TABLES_MAX), "What was measured of it."),
    ],
};

static OBSERVATION: Table = Table {
    noun: "a measured time",
    keys: &[
        may(
            "of",
            Shape::Text,
            "An operation of the chain, all its calls together; default the chain.",
        ),
        must("circumstances", Shape::Text, "What it was measured under."),
        may("value", Shape::Formula, "The time."),
        may("measured", Shape::Name, "The name of the figure in the measurements of a machine."),
    ],
};

static WHAT_IF: Table = Table {
    noun: "a what-if",
    keys: &[
        may("title", Shape::Text, "What is different."),
        may("after", Shape::Text, "The what-if it goes on from."),
        may(
            "figures",
            Shape::NamedFormulas(FIGURES_MAX),
            "Figures with another value; their ranges grow or shrink in proportion.",
        ),
        may(
            "operations",
            Shape::Named(&OPERATION, OPERATIONS_MAX),
            "Operations that do something else, as \"component.operation\".",
        ),
    ],
};

static CACHE: Table = Table {
    noun: "a cache",
    keys: &[
        may("title", Shape::Text, "What it is."),
        must(
            "algorithm",
            Shape::Word(&["lru", "lfu", "clock", "arc"]),
            "What goes when it is full.",
        ),
        must("size", Shape::Formula, "How many bytes it holds."),
        must("object", Shape::Formula, "Bytes of one object as it is kept."),
        may("chunk", Shape::Formula, "Bytes fetched and kept at once; default one object."),
        may("format", Shape::Word(&["raw", "processed"]), "How objects are kept; default raw."),
        may(
            "processing",
            Shape::Formula,
            "Time to process an object: at every request when kept raw, at a miss when kept processed.",
        ),
        must("hit", Shape::Formula, "Time to get a chunk that is there."),
        must("miss", Shape::Formula, "Time to get a chunk that is not."),
        must("requests", Shape::One(&REQUESTS), "What is asked for how often."),
        may(
            "simulate",
            Shape::Whole(1_000, 10_000_000),
            "Requests to count in a simulation; default 200000.",
        ),
    ],
};

static REQUESTS: Table = Table {
    noun: "the distribution of requests",
    keys: &[
        must(
            "distribution",
            Shape::Word(&["zipf", "uniform", "weights"]),
            "Zipf's law, all alike, or weights that follow.",
        ),
        may("exponent", Shape::Number(0.0, 10.0), "Of Zipf's law."),
        may("objects", Shape::Whole(1, cache::OBJECTS_MAX as i64), "How many there are."),
        may("weights", Shape::Formulas(WEIGHTS_MAX), "One number per object."),
    ],
};

static OVERHEAD: Table = Table {
    noun: "an overhead table",
    keys: &[
        must("title", Shape::Text, "What is done so often."),
        must("rates", Shape::Formulas(TABLES_MAX), "How often, as \"500/s\"."),
        must("costs", Shape::Formulas(10), "What it costs each time."),
    ],
};

/// The JSON schema of model files, for editors.
#[must_use]
pub fn schema() -> String {
    hemiola_scenario::document::schema(&MODEL, "Hemiola model")
}
