//! A formula over figures and inputs, with its uncertainty.

use std::collections::BTreeMap;

use hemiola_model::expression::Expression;
use hemiola_model::machine::Figure;
use hemiola_model::uncertain::{Contribution, Definition, Distribution, Input, Network};
use hemiola_quantity::{Quantity, Unit};

use super::file::dimension;
use super::{Experiment, ExperimentError, Range};
use crate::derive;

/// Samples and seed of every propagation.
const SAMPLES: usize = 100_000;
const SEED: u64 = 1;

/// Parts into which a stated range is divided to find the least and the greatest value of a formula over it.
const STEPS: u32 = 1_000;

/// By which share the ends of a stated range are moved outwards, so that a value at an end is inside after units have
/// been converted.
const ROUNDING: f64 = 1e-12;

/// The value of a formula with its uncertainty, in base units: over the whole of a stated range if nothing else
/// varies, otherwise the middle 95 %.
pub(super) struct Propagated {
    value: f64,
    low: f64,
    high: f64,
    pub(super) nominal: BTreeMap<String, f64>,
    /// Each input's 95 % range, systematic part included.
    pub(super) ranges: BTreeMap<String, [f64; 2]>,
    pub(super) contributions: Vec<Contribution>,
    pub(super) warnings: Vec<String>,
}

impl Propagated {
    pub(super) fn of(
        expression: &Expression,
        experiment: &Experiment,
        figures: &[Figure],
    ) -> Result<Self, ExperimentError> {
        const NAME: &str = "the.formula";
        let formula =
            |problem: String| ExperimentError::Formula { text: expression.text().into(), problem };
        let mut inputs: Vec<Input> = Vec::new();
        for (name, _) in expression.names() {
            if !inputs.iter().any(|input| input.name == name) {
                inputs.push(input(name, experiment, figures)?);
            }
        }
        let nominal: BTreeMap<String, f64> =
            inputs.iter().map(|input| (input.name.clone(), input.nominal.value)).collect();
        let ranges = inputs.iter().map(|input| (input.name.clone(), ends(input))).collect();
        let stated = stated(&inputs).and_then(|range| over(expression, &nominal, range));
        let definition = Definition { name: NAME.into(), expression: expression.clone() };
        let network = Network::new(inputs, &[], vec![definition]).map_err(|errors| {
            formula(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let propagation =
            network.propagate(NAME, SAMPLES, SEED).map_err(|error| formula(error.to_string()))?;
        let sampled = &propagation.monte_carlo;
        if ![sampled.low, sampled.high, propagation.first_order.nominal]
            .iter()
            .all(|v| v.is_finite())
        {
            return Err(formula("it has no finite value over the ranges of its inputs".into()));
        }
        Ok(Self {
            value: propagation.first_order.nominal,
            low: stated.map_or(sampled.low, |[low, _]| low.min(sampled.low)),
            high: stated.map_or(sampled.high, |[_, high]| high.max(sampled.high)),
            nominal,
            ranges,
            contributions: propagation.first_order.contributions,
            warnings: propagation.warnings,
        })
    }

    /// The range in a unit of `base` base units.
    pub(super) fn range(&self, base: f64) -> Range {
        Range { value: self.value / base, low: self.low / base, high: self.high / base }
    }
}

/// The input of this name: the experiment's own, or a figure with its uncertainty.
fn input(
    name: &str,
    experiment: &Experiment,
    figures: &[Figure],
) -> Result<Input, ExperimentError> {
    if let Some(own) = experiment.inputs.iter().find(|own| own.input.name == name) {
        return Ok(own.input.clone());
    }
    let Some(figure) = figures.iter().find(|figure| figure.name == name) else {
        let levels = figures.iter().filter(|figure| derive::is_derived(&figure.name));
        let shown: Vec<&str> = levels.map(|figure| figure.name.as_str()).collect();
        let shown = if shown.is_empty() { "no levels".into() } else { shown.join(", ") };
        return Err(ExperimentError::Level { name: name.into(), shown });
    };
    let base = factor(&figure.unit);
    let [low, value, high] = [figure.low, figure.value, figure.high].map(|of| of * base);
    let nominal = Quantity { value, dimension: dimension(&figure.unit) };
    Ok(Input::exact(name, nominal)
        .varying(Distribution::between(low, value, high))
        .offset_within(figure.systematic * base)
        .physical())
}

/// The name and the ends of the stated range, if a single input varies and its range was stated.
fn stated(inputs: &[Input]) -> Option<(&str, [f64; 2])> {
    let exact =
        |input: &&Input| input.distribution == Distribution::Exact && input.systematic == 0.0;
    let mut varying = inputs.iter().filter(|input| !exact(input));
    let (input, None) = (varying.next()?, varying.next()) else { return None };
    let has_ends = matches!(
        input.distribution,
        Distribution::Uniform { .. } | Distribution::Triangular { .. }
    );
    has_ends.then(|| (input.name.as_str(), ends(input)))
}

/// The least and the greatest value of a formula while one input goes through its range; `None` unless all are finite.
fn over(
    expression: &Expression,
    nominal: &BTreeMap<String, f64>,
    (name, [low, high]): (&str, [f64; 2]),
) -> Option<[f64; 2]> {
    let mut values = nominal.clone();
    let mut found = [f64::INFINITY, f64::NEG_INFINITY];
    for step in 0..=STEPS {
        let share = f64::from(step) / f64::from(STEPS);
        values.insert(name.to_owned(), low * (1.0 - share) + high * share);
        let value: f64 =
            expression.evaluate(&values).ok().filter(|value: &f64| value.is_finite())?;
        found = [found[0].min(value), found[1].max(value)];
    }
    Some([found[0] - ROUNDING * found[0].abs(), found[1] + ROUNDING * found[1].abs()])
}

/// The range of an input: the whole one if it has ends, else the middle 95 %.
fn ends(input: &Input) -> [f64; 2] {
    match input.distribution {
        Distribution::Uniform { low, high } | Distribution::Triangular { low, high } => {
            [low - input.systematic, high + input.systematic]
        }
        _ => input.range_95(),
    }
}

/// One `unit` in base units.
pub(super) fn factor(unit: &str) -> f64 {
    unit.parse::<Unit>().map_or(1.0, |unit| Quantity::of(1.0, &unit).value)
}
