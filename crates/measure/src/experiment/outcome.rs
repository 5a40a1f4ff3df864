//! The outcome of an experiment: the value with its uncertainty, its accuracy, and the verdict.

use hemiola_model::machine::Figure;
use hemiola_stats::Covers;
use hemiola_units::Span;
use serde::{Deserialize, Serialize};

use super::propagated::{Propagated, factor};
use super::verdict::{Cause, ExpectationVerdict, Range, causes, verdict};
use super::{Accuracy, Case, Experiment, ExperimentError};
use crate::series::Series;

/// The outcome of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Every case, in the order written.
    pub cases: Vec<CaseOutcome>,
    /// The figures it is based on, measured or taken from a `machine.toml`.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// Warnings, without repetition.
    pub notes: Vec<String>,
}

/// The outcome of one case; all values in [`CaseOutcome::unit`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseOutcome {
    /// Its name.
    pub name: String,
    /// The measured figure.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// The measured value.
    pub measured: Measured,
    /// Whether the required accuracy was reached.
    pub accuracy: Reach,
    /// The expected value.
    pub expected: Range,
    /// Disagreements between the propagation methods of the expectation, a sentence each.
    pub warnings: Vec<String>,
    /// The comparison of the two.
    pub verdict: ExpectationVerdict,
    /// The inputs of the expectation, the largest swing first, each with the factor by which it alone would explain the
    /// difference.
    pub causes: Vec<Cause>,
    /// The result of the second method, if there is one.
    pub second: Option<SecondOutcome>,
}

/// A measured value with separate stochastic and systematic uncertainty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The median of the readings, with both parts of the interval.
    #[serde(flatten)]
    pub range: Range,
    /// Half the 95 % interval of the median: the stochastic part, which shrinks with more blocks.
    pub stochastic: f64,
    /// The possible calibration error common to all readings, which does not shrink.
    pub systematic: f64,
    /// The subtracted cost of measuring.
    pub overhead: f64,
    /// Standard deviation of single readings.
    pub std: f64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of readings.
    pub samples: u64,
    /// The conditions besides the machine.
    pub circumstances: String,
}

/// Whether the required accuracy was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Reach {
    /// It was reached.
    Reached {
        /// Half the required interval.
        needed: f64,
    },
    /// It cannot be reached: the systematic part alone is larger.
    Systematic {
        /// Half the required interval.
        needed: f64,
    },
    /// The readings were taken before the experiment, and there are too few.
    TooFew {
        /// Half the required interval.
        needed: f64,
        /// The estimated number of readings needed at the same noise.
        readings: u64,
    },
    /// The time ran out.
    TimeLimit {
        /// Half the required interval.
        needed: f64,
        /// The estimated number of blocks needed at the same noise.
        blocks: u64,
        /// The estimated time of the whole experiment if each case gets the blocks that it needs, s.
        seconds: f64,
    },
}

/// The sanity check of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondOutcome {
    /// The result of the second method.
    pub range: Range,
    /// Its ratio to the measured value.
    pub ratio: f64,
    /// The largest accepted difference, as a share.
    pub near: f64,
    /// Whether the difference is accepted.
    pub agrees: bool,
}

/// The value so far; `None` while there are too few blocks.
fn measured(series: &Series) -> Option<Measured> {
    let estimate = series.estimate(Covers::Truth)?;
    let figure = series.figure()?;
    Some(Measured {
        // The systematic part adds linearly to the stochastic one.
        range: Range {
            value: estimate.value,
            low: estimate.low - figure.systematic,
            high: estimate.high + figure.systematic,
        },
        stochastic: (estimate.high - estimate.low) / 2.0,
        systematic: figure.systematic,
        overhead: figure.overhead,
        std: figure.std,
        blocks: figure.blocks,
        samples: figure.samples,
        circumstances: figure.circumstances,
    })
}

/// Whether more readings can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    /// They can.
    Possible,
    /// The time is up.
    TimeUp,
    /// All of them were taken before the experiment.
    Never,
}

/// The accuracy reached; `None` while more blocks may help and can be taken. The seconds of a time limit are those of
/// the further blocks of this case; [`with_all_cases`] makes them those of the experiment.
pub(super) fn judge(series: &Series, accuracy: Accuracy, unit: &str, more: More) -> Option<Reach> {
    let Some(measured) = measured(series) else {
        // Fewer than two blocks have a finite reading, which `outcome` reports.
        let (needed, seconds) = (f64::NAN, f64::NAN);
        return (more != More::Possible).then_some(Reach::TimeLimit { needed, blocks: 0, seconds });
    };
    let needed = match accuracy {
        Accuracy::Relative(share) => share * measured.range.value.abs(),
        Accuracy::Absolute(quantity) => quantity.value / factor(unit),
    };
    let left = needed - measured.systematic;
    if measured.stochastic <= left {
        return Some(Reach::Reached { needed });
    } else if left <= 0.0 {
        return Some(Reach::Systematic { needed });
    }
    let times = (measured.stochastic / left).powi(2);
    match more {
        More::Possible => None,
        More::TimeUp => {
            let blocks = (measured.blocks as f64 * times).ceil();
            let each = series.took.secs_f64() / measured.blocks as f64;
            let seconds = (blocks - measured.blocks as f64) * each;
            Some(Reach::TimeLimit { needed, blocks: blocks as u64, seconds })
        }
        More::Never => {
            let readings = (measured.samples as f64 * times).ceil();
            Some(Reach::TooFew { needed, readings: readings as u64 })
        }
    }
}

/// Makes the seconds of each time limit those of the whole experiment, which took `took` so far: all cases share its
/// time.
pub(super) fn with_all_cases(reached: &mut [Reach], took: Span) {
    let further = |reach: &Reach| match reach {
        Reach::TimeLimit { seconds, .. } => *seconds,
        _ => 0.0,
    };
    let whole = took.secs_f64() + reached.iter().map(further).sum::<f64>();
    for reach in reached {
        if let Reach::TimeLimit { seconds, .. } = reach {
            *seconds = whole;
        }
    }
}

/// Judges a case by its readings.
pub(super) fn outcome(
    experiment: &Experiment,
    case: &Case,
    series: &Series,
    accuracy: Reach,
    figures: &[Figure],
) -> Result<CaseOutcome, ExperimentError> {
    let measured = measured(series).ok_or_else(|| ExperimentError::Figure {
        name: series.name.clone(),
        reason: "an interval takes finite readings in two blocks; allow more time under \"within\""
            .into(),
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
