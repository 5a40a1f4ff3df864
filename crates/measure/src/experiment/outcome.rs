//! What an experiment came to: the value with its parts, whether that is accurate enough, and the verdict.

use hemiola_model::machine::Figure;
use hemiola_stats::{Estimate, median};
use serde::{Deserialize, Serialize};

use super::propagated::{Propagated, factor};
use super::verdict::{Cause, Range, Verdict, causes, verdict};
use super::{Accuracy, Case, Experiment, ExperimentError};
use crate::series::Series;

/// What an experiment came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Every case, in the order written.
    pub cases: Vec<CaseOutcome>,
    /// Every figure it stands on: measured now, or taken from a `machine.toml`.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// What a reader must know, each once.
    pub notes: Vec<String>,
}

/// What one case came to; all values in [`CaseOutcome::unit`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseOutcome {
    /// What it is called.
    pub name: String,
    /// The figure measured.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// What was measured.
    pub measured: Measured,
    /// Whether that is accurate enough.
    pub accuracy: Reach,
    /// What was expected.
    pub expected: Range,
    /// Where the ways to compute the expectation's range disagree, a sentence each.
    pub warnings: Vec<String>,
    /// Whether the two agree.
    pub verdict: Verdict,
    /// What the expectation stands on, the input with the largest swing first, and how far off each would have
    /// to be to explain the difference alone.
    pub causes: Vec<Cause>,
    /// What the second method says; nothing where there is none.
    pub second: Option<SecondOutcome>,
}

/// A measured value, its stochastic and its systematic part apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The mean of the medians of the blocks, with both parts of its interval.
    #[serde(flatten)]
    pub range: Range,
    /// Half the interval of the mean at 95 %: the stochastic part, which more blocks make smaller.
    pub stochastic: f64,
    /// What the calibration may be wrong by in all readings alike: no number of blocks makes it smaller.
    pub systematic: f64,
    /// What measuring itself cost, subtracted.
    pub overhead: f64,
    /// Standard deviation of single readings.
    pub std: f64,
    /// Blocks taken.
    pub blocks: u64,
    /// Readings in all.
    pub samples: u64,
    /// What it depends on besides the machine.
    pub circumstances: String,
}

/// Whether the accuracy that is needed was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Reach {
    /// It was.
    Reached {
        /// Half the interval that was needed.
        needed: f64,
    },
    /// It cannot be: the systematic part alone is larger, whatever the number of blocks.
    Systematic {
        /// Half the interval that was needed.
        needed: f64,
    },
    /// The time was over.
    TimeLimit {
        /// Half the interval that was needed.
        needed: f64,
        /// About how many blocks would do, if the noise stays as it is.
        blocks: u64,
        /// About how long they would take, s.
        seconds: f64,
    },
}

/// The sanity check of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondOutcome {
    /// What the second method gives.
    pub range: Range,
    /// That over the measured value.
    pub ratio: f64,
    /// How near it had to come, as a share.
    pub near: f64,
    /// Whether it did.
    pub agrees: bool,
}

/// The value so far, with its parts; nothing while there are too few blocks.
fn measured(series: &Series) -> Option<Measured> {
    let medians: Vec<f64> = series.blocks.iter().filter_map(|block| median(block)).collect();
    let estimate = Estimate::of_mean(&medians)?;
    let figure = series.figure()?;
    let stochastic = (estimate.high - estimate.low) / 2.0;
    // Systematic parts add linearly to what is stochastic.
    let half = stochastic + figure.systematic;
    Some(Measured {
        range: Range {
            value: estimate.value,
            low: estimate.value - half,
            high: estimate.value + half,
        },
        stochastic,
        systematic: figure.systematic,
        overhead: figure.overhead,
        std: figure.std,
        blocks: figure.blocks,
        samples: figure.samples,
        circumstances: figure.circumstances,
    })
}

/// Whether it is accurate enough; nothing while more blocks may help and there is time.
pub(super) fn judge(series: &Series, accuracy: Accuracy, unit: &str, over: bool) -> Option<Reach> {
    let Some(measured) = measured(series) else {
        // Blocks that all hang together are worth one: only time ends that.
        return over.then_some(Reach::TimeLimit { needed: f64::NAN, blocks: 0, seconds: f64::NAN });
    };
    let needed = match accuracy {
        Accuracy::Relative(share) => share * measured.range.value.abs(),
        Accuracy::Absolute(quantity) => quantity.value / factor(unit),
    };
    let left = needed - measured.systematic;
    if measured.stochastic <= left {
        Some(Reach::Reached { needed })
    } else if left <= 0.0 {
        Some(Reach::Systematic { needed })
    } else if over {
        let blocks = (measured.blocks as f64 * (measured.stochastic / left).powi(2)).ceil();
        let each = series.took.secs_f64() / measured.blocks as f64;
        Some(Reach::TimeLimit { needed, blocks: blocks as u64, seconds: blocks * each })
    } else {
        None
    }
}

/// A case judged by what was measured.
pub(super) fn outcome(
    experiment: &Experiment,
    case: &Case,
    series: &Series,
    accuracy: Reach,
    figures: &[Figure],
) -> Result<CaseOutcome, ExperimentError> {
    let measured = measured(series).ok_or_else(|| ExperimentError::Figure {
        name: series.name.clone(),
        reason: format!(
            "its {} blocks hang together so much that they say no more than one; measure for longer",
            series.blocks.len()
        ),
    })?;
    let expected = Propagated::of(&case.expectation, experiment, figures)?;
    let base = factor(case.unit);
    let range = expected.range(base);
    let causes = causes(
        &case.expectation,
        &expected.nominal,
        &expected.ranges,
        &expected.contributions,
        measured.range.value * base,
    );
    let in_unit = |cause: Cause| Cause {
        at_low: cause.at_low / base,
        at_high: cause.at_high / base,
        ..cause
    };
    let second = match &case.second {
        None => None,
        Some(second) => {
            let range = Propagated::of(&second.expression, experiment, figures)?.range(base);
            let ratio = range.value / measured.range.value;
            let agrees = (ratio - 1.0).abs() <= second.near;
            Some(SecondOutcome { range, ratio, near: second.near, agrees })
        }
    };
    Ok(CaseOutcome {
        name: case.name.clone(),
        figure: case.figure.clone(),
        unit: case.unit.into(),
        accuracy,
        expected: range,
        warnings: expected.warnings,
        verdict: verdict(measured.range, range),
        causes: causes.into_iter().map(in_unit).collect(),
        second,
        measured,
    })
}
