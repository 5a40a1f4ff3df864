//! The results of a survey as data: the schema of its `summary.json`.
//!
//! `docs/reference/machine.md` documents every key; a test checks this.

use hemiola_probe::Load;
use hemiola_trace::result::Conditions;
use serde::{Deserialize, Serialize};

use crate::activity::Meanwhile;
use crate::instruments::Instrument;
use crate::link::Losses;
use crate::staircase::{KernelCache, Level};

/// The version of the schema; a reader rejects a later one.
pub const FORMAT: u32 = 1;

/// All results of a survey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The writer's [`FORMAT`].
    pub format: u32,
    /// `"measure"`, which distinguishes it from the summary of a run.
    pub kind: String,
    /// The start of the measurement, seconds since 1970 UTC.
    pub started_unix_s: u64,
    /// The conditions of the measurement.
    pub conditions: Conditions,
    /// Our own load during the measurement.
    pub load: Load,
    /// The work of others meanwhile.
    #[serde(default)]
    pub meanwhile: Meanwhile,
    /// The figures, in the order of the catalogue, derived ones last.
    pub figures: Vec<SummaryFigure>,
    /// The instruments for times side by side, as far as they were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instruments: Vec<Instrument>,
    /// Figures of the set that could not be measured.
    pub missing: Vec<Missing>,
    /// The storage levels found in the latencies.
    pub steps: Vec<Level>,
    /// The caches that the kernel reports.
    pub kernel_caches: Vec<KernelCache>,
    /// Disagreements between the two, a sentence each.
    pub disagreements: Vec<String>,
    /// Warnings about the figures, without repetition.
    pub notes: Vec<String>,
    /// The measured link, if it is one between two hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSummary>,
}

/// A link between two hosts, besides its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// The other host.
    pub with: String,
    /// The length of the link in metres, if it was given: nothing measures it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance_m: Option<f64>,
    /// Datagrams that were lost; absent if none was sent for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// Why the link failed during the measurement, if it did: the losses are those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// A figure of merit for other programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryFigure {
    /// Its dotted name.
    pub name: String,
    /// The median of the readings.
    pub value: f64,
    /// `"ns"`, `"B/s"`, `"1/s"` or `"B"`.
    pub unit: String,
    /// Lower end of the interval that contains a repeat in 95 of 100 cases.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of readings.
    pub samples: u64,
    /// The conditions besides the machine.
    pub circumstances: String,
}

/// A figure that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// The reason, and what to do about it.
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
