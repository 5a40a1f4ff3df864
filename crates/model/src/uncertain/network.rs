//! Inputs and what is computed from them, checked as a whole.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_scenario::nearest;
use hemiola_units::Random;
use thiserror::Error;

use super::correlation::Together;
use super::program::Program;
use super::{Correlation, CorrelationError, Distribution, Estimate, Input, Propagation};
use super::{agreement, first_order, monte_carlo};
use crate::expression::{Expression, ExpressionError, Interval};
use crate::quantity::{Dimension, did_you_mean};

/// Fewer samples than this say nothing of the ends of a 95 % range.
pub const SAMPLES_MIN: usize = 100;

/// More samples than this are refused: each takes 8 bytes until the quantiles are known.
pub const SAMPLES_MAX: usize = 20_000_000;

/// A named formula over inputs and other definitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its dotted name.
    pub name: String,
    /// How it is computed.
    pub expression: Expression,
}

/// Inputs, how they vary together, and what is computed from them: sound by construction.
#[derive(Clone, Debug)]
pub struct Network {
    inputs: Vec<Input>,
    definitions: Vec<Definition>,
    index: BTreeMap<String, usize>,
    dimensions: Vec<Dimension>,
    together: Together,
}

/// What is wrong with a network.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Two inputs or definitions of one name.
    #[error("\"{name}\" is defined twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// An input that cannot be: a negative standard deviation, ends the wrong way round, no readings.
    #[error("input \"{name}\": {what}")]
    Input {
        /// The input.
        name: String,
        /// What is wrong, with the value.
        what: String,
    },
    /// A formula with an unknown name or units that do not fit.
    #[error("\"{name}\": {error}")]
    Expression {
        /// The definition.
        name: String,
        /// What is wrong, and where in its text.
        error: ExpressionError,
    },
    /// Definitions that need each other.
    #[error("defined in a circle: {}", names.join(" -> "))]
    Cycle {
        /// The names along the circle, the first one again at the end.
        names: Vec<String>,
    },
    /// A correlation of something that is no input.
    #[error("no input is named \"{name}\"{}", did_you_mean(nearest))]
    UnknownInput {
        /// What was written.
        name: String,
        /// The input that is written most like it.
        nearest: Option<String>,
    },
    /// Correlations that cannot be.
    #[error(transparent)]
    Correlation(#[from] CorrelationError),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PropagateError {
    /// The network has no such input or definition.
    #[error("nothing is named \"{name}\"{}", did_you_mean(nearest))]
    UnknownName {
        /// What was asked for.
        name: String,
        /// The name that is written most like it.
        nearest: Option<String>,
    },
    /// Too few or too many samples.
    #[error("{asked} samples; between {SAMPLES_MIN} and {SAMPLES_MAX} are possible")]
    Samples {
        /// How many were asked for.
        asked: usize,
    },
}

impl Network {
    /// Checks and joins; definitions may stand in any order.
    ///
    /// # Errors
    /// Everything that is wrong, but of several circles the first.
    pub fn new(
        mut inputs: Vec<Input>,
        correlations: &[Correlation],
        definitions: Vec<Definition>,
    ) -> Result<Self, Vec<NetworkError>> {
        let mut errors = Vec::new();
        let mut index = BTreeMap::new();
        let names = inputs.iter().map(|input| &input.name);
        for (at, name) in names.chain(definitions.iter().map(|of| &of.name)).enumerate() {
            if index.contains_key(name) {
                errors.push(NetworkError::Twice { name: name.clone() });
            } else {
                index.insert(name.clone(), at);
            }
        }
        for input in &mut inputs {
            let name = &input.name;
            let refused = |what| NetworkError::Input { name: name.clone(), what };
            errors.extend(input.problems().into_iter().map(refused));
            if let Distribution::Samples(readings) = &mut input.distribution {
                readings.sort_unstable_by(f64::total_cmp);
            }
        }
        let together = together(&inputs, correlations).map_err(|found| errors.extend(found));
        for definition in &definitions {
            errors.extend(unknown_names(definition, &index));
        }
        let order = order(&definitions, &index, inputs.len())
            .map_err(|names| errors.push(NetworkError::Cycle { names }))
            .unwrap_or_default();
        let mut places = vec![0; definitions.len()];
        for (place, definition) in order.iter().enumerate() {
            places[*definition] = inputs.len() + place;
        }
        for at in index.values_mut().filter(|at| **at >= inputs.len()) {
            *at = places[*at - inputs.len()];
        }
        let definitions: Vec<Definition> =
            order.iter().map(|at| definitions[*at].clone()).collect();
        let dimensions = dimensions(&inputs, &definitions, &mut errors);
        match together {
            Ok(together) if errors.is_empty() => {
                Ok(Self { inputs, definitions, index, dimensions, together })
            }
            _ => Err(errors),
        }
    }

    /// The inputs, in the order given.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The definitions, each after those it needs.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// What an input or a definition counts.
    ///
    /// # Errors
    /// [`PropagateError::UnknownName`]; so for all that follow.
    pub fn dimension(&self, name: &str) -> Result<Dimension, PropagateError> {
        Ok(self.dimensions[self.find(name)?])
    }

    /// Its value at the nominal values of the inputs, in base units.
    ///
    /// # Errors
    /// See above.
    pub fn nominal(&self, name: &str) -> Result<f64, PropagateError> {
        let program = Program::of(self, self.find(name)?);
        Ok(program.value(|input| self.inputs[input].nominal.value))
    }

    /// Its uncertainty by derivatives.
    ///
    /// # Errors
    /// See above.
    pub fn first_order(&self, name: &str) -> Result<Estimate, PropagateError> {
        Ok(first_order::estimate(self, &Program::of(self, self.find(name)?)))
    }

    /// How two values vary together, to first order: their correlation coefficient, 0 where one does not
    /// vary.
    ///
    /// # Errors
    /// See above.
    pub fn correlation(&self, first: &str, second: &str) -> Result<f64, PropagateError> {
        let [first, second] = [self.find(first)?, self.find(second)?]
            .map(|target| first_order::slopes(self, &Program::of(self, target)));
        let covariance = |a, b| first_order::covariance(self, a, b);
        let stds = (covariance(&first, &first) * covariance(&second, &second)).sqrt();
        Ok(if stds > 0.0 { covariance(&first, &second) / stds } else { 0.0 })
    }

    /// Its worst case: every input anywhere in its range, those without ends within three standard
    /// deviations.
    ///
    /// # Errors
    /// See above.
    pub fn interval(&self, name: &str) -> Result<Interval, PropagateError> {
        let program = Program::of(self, self.find(name)?);
        Ok(program.value(|input| self.inputs[input].worst_case()))
    }

    /// Its uncertainty by samples. Each input draws from a generator of its own, numbered by its place, so
    /// that a changed definition meets the same samples.
    ///
    /// # Errors
    /// See above, and [`PropagateError::Samples`].
    pub fn monte_carlo(
        &self,
        name: &str,
        samples: usize,
        random: &mut Random,
    ) -> Result<Estimate, PropagateError> {
        let target = self.find(name)?;
        if !(SAMPLES_MIN..=SAMPLES_MAX).contains(&samples) {
            return Err(PropagateError::Samples { asked: samples });
        }
        Ok(monte_carlo::estimate(self, &Program::of(self, target), samples, random))
    }

    /// All three, and where they disagree.
    ///
    /// # Errors
    /// As for [`Network::monte_carlo`].
    pub fn propagate(
        &self,
        name: &str,
        samples: usize,
        seed: u64,
    ) -> Result<Propagation, PropagateError> {
        let first_order = self.first_order(name)?;
        let interval = self.interval(name)?;
        let monte_carlo = self.monte_carlo(name, samples, &mut Random::from_seed(seed))?;
        let dimension = self.dimension(name)?;
        let mut found =
            Propagation { dimension, first_order, interval, monte_carlo, warnings: Vec::new() };
        found.warnings =
            agreement::warnings(self, &Program::of(self, self.find(name)?), &found, samples);
        Ok(found)
    }

    /// The index of a name: inputs first, then definitions, each after those it needs.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    pub(super) fn together(&self) -> &Together {
        &self.together
    }

    /// Which names a value is computed from, itself among them.
    pub(super) fn needed(&self, target: usize) -> Vec<bool> {
        let mut needed = vec![false; self.inputs.len() + self.definitions.len()];
        needed[target] = true;
        for (at, definition) in self.definitions.iter().enumerate().rev() {
            if needed[self.inputs.len() + at] {
                for (name, _) in definition.expression.names() {
                    needed[self.index[name]] = true;
                }
            }
        }
        needed
    }

    fn find(&self, name: &str) -> Result<usize, PropagateError> {
        self.index(name).ok_or_else(|| PropagateError::UnknownName {
            name: name.to_owned(),
            nearest: nearest(name, self.index.keys().map(String::as_str)).map(str::to_owned),
        })
    }
}

/// The correlations with indices in place of names.
fn together(inputs: &[Input], correlations: &[Correlation]) -> Result<Together, Vec<NetworkError>> {
    let mut errors = Vec::new();
    let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
    for Correlation { first, second, coefficient } in correlations {
        let mut find = |name: &String| {
            let found = inputs.iter().position(|input| input.name == *name);
            if found.is_none() {
                let names = inputs.iter().map(|input| input.name.as_str());
                let nearest = nearest(name, names).map(str::to_owned);
                errors.push(NetworkError::UnknownInput { name: name.clone(), nearest });
            }
            found
        };
        let (Some(a), Some(b)) = (find(first), find(second)) else { continue };
        let (first, second, value) = (first.clone(), second.clone(), *coefficient);
        let twice = pairs.iter().any(|(x, y, _)| (*x, *y) == (a, b) || (*y, *x) == (a, b));
        if a == b && value != 1.0 {
            errors.push(CorrelationError::Diagonal { name: first, value }.into());
        } else if !(-1.0..=1.0).contains(&value) {
            errors.push(CorrelationError::Range { first, second, value }.into());
        } else if twice {
            errors.push(CorrelationError::Twice { first, second }.into());
        } else if a != b {
            pairs.push((a, b, value));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Together::new(pairs, |input| inputs[input].name.as_str()).map_err(|error| vec![error.into()])
}

fn unknown_names<'d>(
    definition: &'d Definition,
    index: &'d BTreeMap<String, usize>,
) -> impl Iterator<Item = NetworkError> + 'd {
    let unknown = definition.expression.names().filter(|(name, _)| !index.contains_key(*name));
    unknown.map(|(name, at)| NetworkError::Expression {
        name: definition.name.clone(),
        error: ExpressionError::UnknownName {
            at,
            name: name.to_owned(),
            nearest: nearest(name, index.keys().map(String::as_str)).map(str::to_owned),
        },
    })
}

/// Each definition after those it needs (Kahn 1962), in the order given where that leaves a choice; or the
/// names along a circle.
fn order(
    definitions: &[Definition],
    index: &BTreeMap<String, usize>,
    inputs: usize,
) -> Result<Vec<usize>, Vec<String>> {
    let needs: Vec<BTreeSet<usize>> = definitions
        .iter()
        .map(|definition| {
            let names = definition.expression.names();
            names.filter_map(|(name, _)| index.get(name)?.checked_sub(inputs)).collect()
        })
        .collect();
    let mut open: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
    let mut waiting = vec![Vec::new(); definitions.len()];
    for (at, needed) in needs.iter().enumerate() {
        for other in needed {
            waiting[*other].push(at);
        }
    }
    let mut order: Vec<usize> = (0..definitions.len()).filter(|at| open[*at] == 0).collect();
    let mut next = 0;
    while let Some(done) = order.get(next).copied() {
        next += 1;
        for at in &waiting[done] {
            open[*at] -= 1;
            if open[*at] == 0 {
                order.push(*at);
            }
        }
    }
    let Some(mut at) = open.iter().position(|open| *open > 0) else { return Ok(order) };
    // What is left needs something that is left, so walking along needs comes back to where it was.
    let mut path = Vec::new();
    while !path.contains(&at) {
        path.push(at);
        at = needs[at].iter().copied().find(|other| open[*other] > 0).expect("it is left");
    }
    let circle = path.iter().skip_while(|other| **other != at).chain([&at]);
    Err(circle.map(|at| definitions[*at].name.clone()).collect())
}

/// What each name counts; what cannot be known because of an error found before is left out.
fn dimensions(
    inputs: &[Input],
    definitions: &[Definition],
    errors: &mut Vec<NetworkError>,
) -> Vec<Dimension> {
    let mut known: BTreeMap<&str, Dimension> =
        inputs.iter().map(|input| (input.name.as_str(), input.nominal.dimension)).collect();
    let mut dimensions: Vec<Dimension> =
        inputs.iter().map(|input| input.nominal.dimension).collect();
    for Definition { name, expression } in definitions {
        match expression.dimension(&known) {
            Ok(dimension) => {
                known.insert(name, dimension);
                dimensions.push(dimension);
            }
            Err(ExpressionError::UnknownName { .. }) => {}
            Err(error) => errors.push(NetworkError::Expression { name: name.clone(), error }),
        }
    }
    dimensions
}
