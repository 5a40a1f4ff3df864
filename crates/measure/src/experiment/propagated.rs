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

/// The value of a formula with its uncertainty, in base units.
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
        let nominal =
            inputs.iter().map(|input| (input.name.clone(), input.nominal.value)).collect();
        let ranges = inputs.iter().map(|input| (input.name.clone(), ends(input))).collect();
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
            low: sampled.low,
            high: sampled.high,
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
