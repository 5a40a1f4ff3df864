//! What a probe gives.

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
    /// One value per reading, [`Readings::overhead`] already subtracted.
    pub values: Vec<f64>,
    /// How many operations one value is the mean of; 1 where each was timed alone.
    pub batch: u64,
    /// What measuring itself cost.
    pub overhead: Overhead,
    /// What the measuring thread was granted.
    pub granted: Granted,
    /// What the value depends on besides the machine: (`"placement"`, `"same core"`), in reading order.
    pub circumstances: Vec<(String, String)>,
    /// What a reader must know before trusting the values.
    pub notes: Vec<String>,
}

impl Readings {
    /// Readings of `name` with the circumstances every figure shares after `circumstances`, and the notes
    /// that follow from what was granted.
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

    /// The same with one more note.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// What measuring itself cost, per value, in the unit of the readings; it was subtracted from each value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Its estimate: the median of measuring nothing, divided by the batch.
    pub value: f64,
    /// What the subtraction may be wrong by, the same way in every value: a systematic uncertainty.
    pub uncertainty: f64,
}

impl Overhead {
    /// From measurements of nothing: their median. It may be wrong by half the spread of their middle half,
    /// or by its distance from the mean of the middle, where that is more: a clock that shows the time in
    /// steps shows most of them alike.
    pub(crate) fn of(mut empties: Vec<f64>) -> Self {
        empties.sort_by(f64::total_cmp);
        let at = |eighths: usize| empties.get(empties.len() * eighths / 8).copied().unwrap_or(0.0);
        let middle = &empties[empties.len() / 8..empties.len() - empties.len() / 8];
        let mean = middle.iter().sum::<f64>() / middle.len().max(1) as f64;
        let uncertainty = ((at(6) - at(2)) / 2.0).max((mean - at(4)).abs());
        Self { value: at(4), uncertainty }
    }

    /// The part of it that one of `operations` bears.
    pub(crate) fn per(self, operations: u64) -> Self {
        let share = operations as f64;
        Self { value: self.value / share, uncertainty: self.uncertainty / share }
    }
}

/// Readings that could not be taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// No probe gives this figure.
    #[error(
        "no figure is called `{name}`{}",
        nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// The machine lacks what the figure is about.
    #[error("`{name}` needs {what}")]
    Lacking {
        /// The figure.
        name: String,
        /// A second processor, a feature of the build, a privilege and how to get it.
        what: String,
    },
    /// The other process did not play its part.
    #[error("a process of the measurement {0}")]
    Peer(String),
    /// The operating system refused.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was attempted.
        doing: String,
        /// Its answer.
        source: io::Error,
    },
}

impl ProbeError {
    /// Makes a [`ProbeError::System`] of the answer to what was attempted.
    pub(crate) fn doing(doing: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing: doing.into(), source }
    }

    /// That figure `name` lacks something.
    pub(crate) fn lacking(name: &str, what: impl Into<String>) -> Self {
        Self::Lacking { name: name.into(), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overhead_may_be_wrong_by_what_its_measurements_differ() {
        let overhead = |empties: &[f64]| Overhead::of(empties.to_vec());
        assert_eq!(overhead(&[]), Overhead::default());
        assert_eq!(overhead(&[7.0]), Overhead { value: 7.0, uncertainty: 0.0 });
        let spread: Vec<f64> = (0..80).map(f64::from).collect();
        assert_eq!(overhead(&spread), Overhead { value: 40.0, uncertainty: 20.0 });
        // 10 ns nine times in ten, of a clock that shows nothing finer; one reading was disturbed.
        let steps = [[10.0; 9].as_slice(), &[0.0, 900.0]].concat().repeat(10);
        let Overhead { value, uncertainty } = overhead(&steps);
        assert!(value == 10.0 && uncertainty < 1.0, "{uncertainty}");
        assert_eq!(overhead(&spread).per(4), Overhead { value: 10.0, uncertainty: 5.0 });
    }
}
