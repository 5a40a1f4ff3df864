//! Measured figures that a model uses.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_analyze::cycles::summary as cycles;
use hemiola_analyze::sched::RecordedFigure;
use hemiola_stats::{Estimate, student_quantile};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::machine::Machine;
use crate::summary;

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its dotted name.
    pub name: String,
    /// Its value, in its unit; NaN if the file has none.
    #[serde(deserialize_with = "value")]
    pub value: f64,
    /// The unit.
    pub unit: String,
    /// Lower end of the interval that holds a repeat measurement with 95 % confidence; infinite if there is no end.
    #[serde(deserialize_with = "low")]
    pub low: f64,
    /// Upper end.
    #[serde(deserialize_with = "high")]
    pub high: f64,
    /// The largest calibration error; 0 if the file includes it in low and high. Of a model's figure, how far its mean
    /// may be from the value, which low and high include; infinite if that is not known.
    #[serde(default = "not_stated", deserialize_with = "high")]
    pub systematic: f64,
    /// The number of readings.
    pub samples: u64,
    /// The circumstances of the measurement.
    pub circumstances: String,
    /// One unit in base units, once the unit is known.
    #[serde(skip)]
    pub one: f64,
    /// The single jobs; without them, only the mean or the median is known.
    #[serde(skip)]
    pub jobs: Option<Jobs>,
    /// Whether it is the mean of a model's samples, and low to high their middle 95 %.
    #[serde(skip)]
    pub is_of_model: bool,
}

/// Recorded jobs, in the unit of their figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    /// Each value with its count, rising.
    pub values: Vec<(f64, u64)>,
    /// How many independent ones they are worth.
    pub independent: u64,
}

impl Measured {
    /// Whether it is a figure of another model, whose samples do not tell how far its mean may be from the value.
    pub(crate) fn has_open_mean(&self) -> bool {
        self.is_of_model && !self.systematic.is_finite()
    }
}

/// A summary has null where there is no finite number.
fn number<'de, D: Deserializer<'de>>(from: D, none: f64) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(none))
}

fn value<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::NAN)
}

fn low<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::NEG_INFINITY)
}

/// The systematic part of a figure that states none.
fn not_stated() -> f64 {
    f64::NAN
}

fn high<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, f64::INFINITY)
}

impl Jobs {
    /// The number of all jobs.
    fn count(&self) -> u64 {
        self.values.iter().map(|(_, count)| count).sum()
    }

    /// The share of jobs up to a value.
    #[must_use]
    pub fn share(&self, value: f64) -> f64 {
        let below = self.values.iter().take_while(|(at, _)| *at <= value);
        below.map(|(_, count)| count).sum::<u64>() as f64 / self.count() as f64
    }

    /// The value that this share of the jobs keeps.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count() as f64).ceil() as u64;
        let mut seen = 0;
        let reached = self.values.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        reached.or(self.values.last()).map_or(f64::NAN, |(value, _)| *value)
    }

    /// All values or, if there are more than `most`, so many of their quantiles, each the greatest of its part.
    #[must_use]
    pub fn readings(&self, most: usize) -> Vec<f64> {
        if self.count() <= most as u64 {
            let all = self.values.iter();
            return all.flat_map(|(value, count)| (0..*count).map(|_| *value)).collect();
        }
        (1..=most).map(|part| self.quantile(part as f64 / most as f64)).collect()
    }
}

/// Measured figures by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// The subject for a heading: the machine, or the title of a run.
    pub of: String,
    /// The figures.
    figures: BTreeMap<String, Measured>,
    /// The names of which there are several figures.
    several: BTreeSet<String>,
}

/// The latest format of a `summary.json` that can be read.
const FORMAT_MAX: u32 =
    if summary::FORMAT > cycles::FORMAT { summary::FORMAT } else { cycles::FORMAT };

/// An error in a text of measurements.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeasuredError {
    /// Not a `summary.json` with figures: the file is damaged, or of another kind.
    #[error("no figures can be read: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A newer version wrote the file.
    #[error(
        "it has format {found}, and this version reads up to {FORMAT_MAX}; use a newer hemiola, or measure again"
    )]
    TooNew {
        /// Its format.
        found: u64,
    },
}

impl Measurements {
    /// The figures of a machine.
    #[must_use]
    pub fn of_machine(machine: &Machine) -> Self {
        let figure = |figure: &crate::machine::Figure| Measured {
            name: figure.name.clone(),
            value: figure.value,
            unit: figure.unit.clone(),
            low: figure.low,
            high: figure.high,
            systematic: figure.systematic,
            samples: figure.samples,
            circumstances: figure.circumstances.clone(),
            one: 1.0,
            jobs: None,
            is_of_model: false,
        };
        Self::new(machine.identity.cpu_model.clone(), machine.figures.iter().map(figure))
    }

    /// The figures of any result: the list `figures` of its `summary.json`.
    ///
    /// # Errors
    /// [`MeasuredError::TooNew`] first, since the meaning of a later format is unknown; then
    /// [`MeasuredError::Malformed`]. Other programs' files need no format.
    pub fn of_summary(text: &str) -> Result<Self, MeasuredError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            format: Value,
        }
        #[derive(Deserialize)]
        struct Summary {
            #[serde(default)]
            title: String,
            #[serde(default)]
            kind: String,
            figures: Vec<Measured>,
        }
        let Head { format } = serde_json::from_str(text)?;
        if let Some(found) = format.as_u64().filter(|found| *found > u64::from(FORMAT_MAX)) {
            return Err(MeasuredError::TooNew { found });
        }
        let Summary { title, kind, figures } = serde_json::from_str(text)?;
        let is_of_model = kind == summary::KIND;
        let figures = figures.into_iter().map(|figure| {
            let systematic = match (is_of_model, figure.systematic.is_finite()) {
                (_, true) => figure.systematic,
                // An earlier version wrote it.
                (true, false) => f64::INFINITY,
                (false, false) => 0.0,
            };
            Measured { is_of_model, systematic, ..figure }
        });
        Ok(Self::new(title, figures))
    }

    /// The figures of a recording, for example `jobs.TASK.response`.
    #[must_use]
    pub fn of_recording(of: String, figures: Vec<RecordedFigure>) -> Self {
        let figure = |RecordedFigure { name, unit, mean, values }: RecordedFigure| Measured {
            jobs: (!values.is_empty()).then(|| Jobs { values, independent: independent(&mean) }),
            one: 1.0,
            is_of_model: false,
            name,
            value: mean.value,
            unit: unit.into(),
            low: mean.low,
            high: mean.high,
            systematic: 0.0,
            samples: mean.samples,
            circumstances: "recorded".into(),
        };
        Self::new(of, figures.into_iter().map(figure))
    }

    /// These figures, and those of `others` that are not among them.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        for (name, figure) in others.figures {
            if !self.figures.contains_key(&name) {
                self.several.extend(others.several.get(&name).cloned());
                self.figures.insert(name, figure);
            }
        }
        self.of = format!("{} and {}", self.of, others.of);
        self
    }

    fn new(of: String, figures: impl Iterator<Item = Measured>) -> Self {
        let mut found = Self { of, ..Self::default() };
        for figure in figures {
            let name = figure.name.clone();
            if found.figures.insert(name.clone(), figure).is_some() {
                found.several.insert(name);
            }
        }
        found
    }

    /// Whether several figures have this name, so that it is unknown which of them is meant.
    #[must_use]
    pub fn is_ambiguous(&self, name: &str) -> bool {
        self.several.contains(name)
    }

    /// The names of all figures.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.figures.keys().map(String::as_str)
    }

    /// The figure of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Measured> {
        self.figures.get(name)
    }
}

/// How many independent jobs would have a mean with this interval: neighbours resemble each other.
fn independent(mean: &Estimate) -> u64 {
    let half = (mean.high - mean.low) / 2.0;
    let factor = student_quantile(0.975, (mean.effective_samples - 1.0).max(1.0));
    let worth = (factor * mean.std / half).powi(2);
    // Jobs that are all equal have no interval.
    if worth.is_finite() { (worth as u64).clamp(1, mean.samples) } else { mean.samples }
}
