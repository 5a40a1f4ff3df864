//! What a survey came to, as data: the schema of its `summary.json`.
//!
//! `docs/reference/machine.md` explains every key; a test keeps the two together.

use hemiola_probe::Load;
use hemiola_trace::result::Conditions;
use serde::{Deserialize, Serialize};

use crate::staircase::{KernelCache, Level};

/// The version of the schema; a reader refuses a larger one.
pub const FORMAT: u32 = 1;

/// Everything measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// `"measure"`, which tells it from the summary of a run.
    pub kind: String,
    /// When it started, seconds since 1970 UTC.
    pub started_unix_s: u64,
    /// Under which conditions.
    pub conditions: Conditions,
    /// What else the machine did meanwhile.
    pub load: Load,
    /// The figures, in the order of the catalogue, derived ones last.
    pub figures: Vec<SummaryFigure>,
    /// Figures of the set that could not be measured.
    pub missing: Vec<Missing>,
    /// The levels of storage that the latencies show.
    pub steps: Vec<Level>,
    /// The caches that the kernel knows.
    pub kernel_caches: Vec<KernelCache>,
    /// Where these two disagree, a sentence each.
    pub disagreements: Vec<String>,
    /// What a reader must know before trusting the figures, each once.
    pub notes: Vec<String>,
}

/// A figure of merit as other programs read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryFigure {
    /// Its dotted name.
    pub name: String,
    /// The median of the medians of the blocks.
    pub value: f64,
    /// `"ns"`, `"B/s"`, `"1/s"` or `"B"`.
    pub unit: String,
    /// Lower end of the interval that holds a repeat's value in 95 of 100 cases.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Readings.
    pub samples: u64,
    /// What the value depends on besides the machine.
    pub circumstances: String,
}

/// A figure that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// Why: what was refused or is not there, and what to do about it.
    pub reason: String,
}

impl From<&hemiola_model::machine::Figure> for SummaryFigure {
    fn from(figure: &hemiola_model::machine::Figure) -> Self {
        Self {
            name: figure.name.clone(),
            value: figure.value,
            unit: figure.unit.clone(),
            low: figure.low,
            high: figure.high,
            samples: figure.samples,
            circumstances: figure.circumstances.clone(),
        }
    }
}
