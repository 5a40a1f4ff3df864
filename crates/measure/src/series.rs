//! The readings of one figure in blocks, and the resulting figure of merit.

use hemiola_model::machine::Figure;
use hemiola_probe::{Overhead, Readings, Unit};
use hemiola_rt::sys::cpu;
use hemiola_stats::{Covers, Estimate, mean_and_std, median, median_of_times, quantile, sorted};
use hemiola_units::{Bytes, Granted, Policy, Span};

/// Readings of one figure.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its dotted name.
    pub name: String,
    /// The blocks, in the order they were taken.
    pub blocks: Vec<Vec<f64>>,
    /// The time all blocks took.
    pub took: Span,
    /// The probe's error, after which no more blocks are read.
    pub failed: Option<String>,
    /// The unit of its readings.
    unit: Unit,
    /// Operations averaged by each reading in the last block.
    batch: u64,
    /// The subtracted overhead of each block.
    overheads: Vec<Overhead>,
    circumstances: Vec<String>,
    notes: Vec<String>,
    /// Readings that are not finite.
    lost: usize,
}

impl Series {
    /// A figure without readings.
    pub fn new(name: impl Into<String>, unit: Unit) -> Self {
        Self {
            name: name.into(),
            blocks: Vec::new(),
            took: Span::ZERO,
            failed: None,
            unit,
            batch: 1,
            overheads: Vec::new(),
            circumstances: Vec::new(),
            notes: Vec::new(),
            lost: 0,
        }
    }

    /// Adds a block that took `took`. Readings that are not finite are left out and counted.
    pub fn add(&mut self, readings: Readings, took: Span) {
        self.took += took;
        self.batch = readings.batch;
        self.overheads.push(readings.overhead);
        self.circumstances = readings.circumstances.into_iter().map(|(_, how)| how).collect();
        let (finite, other): (Vec<f64>, Vec<f64>) =
            readings.values.into_iter().partition(|value| value.is_finite());
        self.lost += other.len();
        self.notes = readings.notes;
        if !finite.is_empty() {
            self.blocks.push(finite);
        }
    }

    /// Its unit in files.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        unit_text(self.unit)
    }

    /// Warnings: the probe's notes on the last block, and the number of readings left out.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let lost = match self.lost {
            0 => None,
            1 => Some("1 reading that is not finite was left out".into()),
            lost => Some(format!("{lost} readings that are not finite were left out")),
        };
        self.notes.iter().cloned().chain(lost).collect()
    }

    /// The number of readings.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.blocks.iter().map(|block| block.len() as u64).sum()
    }

    /// The overhead subtracted from the readings: the median over the blocks, with the greatest uncertainty of any
    /// block.
    pub fn overhead(&self) -> Overhead {
        let values: Vec<f64> = self.overheads.iter().map(|overhead| overhead.value).collect();
        let uncertainty = self.overheads.iter().map(|overhead| overhead.uncertainty);
        Overhead {
            value: median(&values).unwrap_or(0.0),
            uncertainty: uncertainty.fold(0.0, f64::max),
        }
    }

    /// The median of the readings; `None` with fewer than 2 blocks.
    pub(crate) fn estimate(&self, covers: Covers) -> Option<Estimate> {
        median_of_times(&self.blocks, covers)
    }

    /// The figure of merit; `None` with fewer than 2 blocks.
    #[must_use]
    pub fn figure(&self) -> Option<Figure> {
        let estimate = self.estimate(Covers::Repeat)?;
        let overhead = self.overhead();
        let all = self.blocks.concat();
        Some(Figure {
            name: self.name.clone(),
            value: estimate.value,
            unit: self.unit().into(),
            low: estimate.low,
            high: estimate.high,
            std: mean_and_std(&all)?.1,
            systematic: overhead.uncertainty,
            p99: quantile(&sorted(&all), 0.99)?,
            samples: self.samples(),
            blocks: self.blocks.len() as u64,
            batch: self.batch,
            overhead: overhead.value,
            circumstances: self.circumstances.join(", "),
        })
    }
}

/// Readings of a thread with ordinary scheduling on any processor, from which nothing was subtracted.
pub(crate) fn ordinary(name: &str, unit: Unit, values: Vec<f64>) -> Readings {
    Readings {
        name: name.into(),
        unit,
        values,
        batch: 1,
        overhead: Overhead::default(),
        granted: Granted {
            scheduling: Policy::Other { nice: 0 },
            cpus: cpu::online(),
            lock_memory: false,
            prefault_stack: Bytes(0),
            refusals: Vec::new(),
        },
        circumstances: Vec::new(),
        notes: Vec::new(),
    }
}

/// The notes of all figures without repetition, prefixed by the figures they apply to unless they apply to all.
pub(crate) fn notes<'s>(all: impl Iterator<Item = &'s Series> + Clone) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for series in all.clone() {
        for note in series.notes() {
            match found.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(&series.name),
                None => found.push((note, vec![&series.name])),
            }
        }
    }
    let count = all.count();
    let written = |(note, names): (String, Vec<&str>)| match names.as_slice() {
        names if names.len() == count => note,
        [one] => format!("{one}: {note}"),
        [first, rest @ ..] => format!("{first} and {} more: {note}", rest.len()),
        [] => note,
    };
    found.into_iter().map(written).collect()
}

/// The unit that [`unit_text`] calls so.
pub(crate) fn unit_named(text: &str) -> Unit {
    let all = [Unit::Nanoseconds, Unit::BytesPerSecond, Unit::PerSecond, Unit::Bytes];
    let named = all.into_iter().find(|unit| unit_text(*unit) == text);
    named.expect("units of cases are those of readings")
}

/// A unit's name in files.
pub(crate) const fn unit_text(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::BytesPerSecond => "B/s",
        Unit::PerSecond => "1/s",
        Unit::Bytes => "B",
    }
}
