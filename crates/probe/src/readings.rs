//! Readings of a figure, and the errors of probes.

use std::io;

use hemiola_units::{Granted, Policy};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Setting;

/// The unit of readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes in a second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Events in a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
}

/// Readings of one figure, in the order they were taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Readings {
    /// The figure's dotted name.
    pub name: String,
    /// The unit of every value.
    pub unit: Unit,
    /// One value per reading, with [`Readings::overhead`] already subtracted.
    pub values: Vec<f64>,
    /// Operations averaged by one value; 1 if each was timed alone.
    pub batch: u64,
    /// The cost of measuring itself.
    pub overhead: Overhead,
    /// The scheduling granted to the measuring thread.
    pub granted: Granted,
    /// The conditions besides the machine, in reading order: (`"placement"`, `"same core"`).
    pub circumstances: Vec<(String, String)>,
    /// Warnings about the values.
    pub notes: Vec<String>,
}

impl Readings {
    /// Readings of `name` with the common circumstances appended to `circumstances`, and notes that follow from what
    /// was granted.
    pub(crate) fn new(
        name: &str,
        unit: Unit,
        (values, overhead): (Vec<f64>, Overhead),
        batch: u64,
        (setting, granted): (&Setting, Granted),
        circumstances: &[(&str, &str)],
    ) -> Self {
        let scheduling = granted.scheduling.to_string();
        let load = setting.load.to_string();
        let shared = [("load", load.as_str()), ("scheduling", scheduling.as_str())];
        let circumstances = circumstances.iter().chain(&shared);
        let mut notes: Vec<String> = granted.refusals.iter().map(ToString::to_string).collect();
        if cfg!(debug_assertions) {
            notes.push("built without optimization: processor and memory look slower".into());
        }
        if matches!(granted.scheduling, Policy::Other { .. }) {
            notes.push("time-shared: other threads may run in the middle of a reading".into());
        }
        Self {
            name: name.into(),
            unit,
            values,
            batch,
            overhead,
            granted,
            circumstances: circumstances
                .map(|(what, how)| (what.to_string(), how.to_string()))
                .collect(),
            notes,
        }
    }

    /// These readings with one more note.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// The cost of measuring itself, per value, in the unit of the readings; already subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// The estimate: the median of empty measurements, divided by the batch.
    pub value: f64,
    /// The possible error of the subtraction, common to all values: a systematic uncertainty.
    pub uncertainty: f64,
}

impl Overhead {
    /// The median of empty measurements. Its uncertainty is half their interquartile range, or its distance from the
    /// mean of the middle if that is greater, because with a coarse clock most of them are equal.
    pub(crate) fn of(mut empties: Vec<f64>) -> Self {
        empties.sort_by(f64::total_cmp);
        let at = |eighths: usize| empties.get(empties.len() * eighths / 8).copied().unwrap_or(0.0);
        let middle = &empties[empties.len() / 8..empties.len() - empties.len() / 8];
        let mean = middle.iter().sum::<f64>() / middle.len().max(1) as f64;
        let uncertainty = ((at(6) - at(2)) / 2.0).max((mean - at(4)).abs());
        Self { value: at(4), uncertainty }
    }

    /// The share of one of `operations`.
    pub(crate) fn per(self, operations: u64) -> Self {
        let share = operations as f64;
        Self { value: self.value / share, uncertainty: self.uncertainty / share }
    }
}

/// Why readings could not be taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// No probe has this figure.
    #[error(
        "no figure is called `{name}`{}",
        nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// The machine does not meet a requirement of the figure.
    #[error("`{name}` needs {what}")]
    Lacking {
        /// The figure.
        name: String,
        /// The requirement: a second processor, a feature of the build, a privilege and how to get it.
        what: String,
    },
    /// The other process failed.
    #[error("a process of the measurement {0}")]
    Peer(String),
    /// The operating system refused.
    #[error("cannot {doing}: {source}")]
    System {
        /// The attempted action.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
}

impl ProbeError {
    /// Maps a system error to [`ProbeError::System`] with the attempted action.
    pub(crate) fn doing(doing: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing: doing.into(), source }
    }

    /// The error that figure `name` needs `what`.
    pub(crate) fn lacking(name: &str, what: impl Into<String>) -> Self {
        Self::Lacking { name: name.into(), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uncertainty_of_an_overhead_is_the_spread_of_its_measurements() {
        let overhead = |empties: &[f64]| Overhead::of(empties.to_vec());
        assert_eq!(overhead(&[]), Overhead::default());
        assert_eq!(overhead(&[7.0]), Overhead { value: 7.0, uncertainty: 0.0 });
        let spread: Vec<f64> = (0..80).map(f64::from).collect();
        assert_eq!(overhead(&spread), Overhead { value: 40.0, uncertainty: 20.0 });
        // 10 ns nine times in ten with a coarse clock, and one disturbed reading.
        let steps = [[10.0; 9].as_slice(), &[0.0, 900.0]].concat().repeat(10);
        let Overhead { value, uncertainty } = overhead(&steps);
        assert!(value == 10.0 && uncertainty < 1.0, "{uncertainty}");
        assert_eq!(overhead(&spread).per(4), Overhead { value: 10.0, uncertainty: 5.0 });
    }
}
