//! A network of inputs and definitions, checked as a whole.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_diagnostic::nearest;
use hemiola_units::Random;
use thiserror::Error;

use super::correlation::Correlated;
use super::direction::is_monotone;
use super::monte_carlo::Sampling;
use super::program::Program;
use super::{Correlation, CorrelationError, Distribution, Estimate, Input, Predicted, Propagation};
use super::{agreement, first_order, monte_carlo};
use crate::expression::{Expression, ExpressionError, Interval, MEAN_PHASE};
use crate::text::shown;
use hemiola_quantity::{Dimension, Quantity, Units, did_you_mean};

/// The fewest samples that estimate the ends of a 95 % range.
pub const SAMPLES_MIN: usize = 100;

/// The most samples: each takes 8 bytes until the quantiles are computed.
pub const SAMPLES_MAX: usize = 20_000_000;

/// The most samples that are drawn when those asked for are too few for a verdict: a few seconds of work.
pub const SAMPLES_MORE: usize = 2_000_000;

/// The standard scores within which nearly all values lie: all but one of a million.
pub(super) const SCORE_GREATEST: f64 = 5.0;

/// How many times as many samples are drawn next.
const SAMPLES_FACTOR: usize = 4;

/// Whether there are too few samples for a verdict.
pub(crate) type IsShort<'d> = &'d dyn Fn(&Predicted) -> bool;

/// A named formula over inputs and other definitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its dotted name.
    pub name: String,
    /// Its formula.
    pub expression: Expression,
}

/// Inputs, their correlations, and definitions over them; valid by construction.
#[derive(Clone, Debug)]
pub struct Network {
    inputs: Vec<Input>,
    definitions: Vec<Definition>,
    index: BTreeMap<String, usize>,
    dimensions: Vec<Dimension>,
    correlated: Correlated,
    /// For each definition, whether its value and the shares in it cannot be negative.
    physical: Vec<bool>,
    /// The units of messages.
    units: Units,
}

/// Why a network is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Two inputs or definitions with the same name.
    #[error("\"{name}\" is defined twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// An impossible input: a negative standard deviation, ends in the wrong order, no readings.
    #[error("input \"{name}\": {problem}")]
    Input {
        /// The input.
        name: String,
        /// The problem, with the value.
        problem: String,
    },
    /// A formula with an unknown name or units that do not fit.
    #[error("\"{name}\": {error}")]
    Expression {
        /// The definition.
        name: String,
        /// The error and its place in the formula.
        error: ExpressionError,
    },
    /// Definitions that depend on each other.
    #[error("circular definition: {}", names.join(" -> "))]
    Cycle {
        /// The names along the circle; the last repeats the first.
        names: Vec<String>,
    },
    /// A correlation of an unknown input.
    #[error("no input is named \"{name}\"{}", did_you_mean(nearest))]
    UnknownInput {
        /// The unknown name.
        name: String,
        /// The nearest known input.
        nearest: Option<String>,
    },
    /// Invalid correlations.
    #[error(transparent)]
    Correlation(#[from] CorrelationError),
}

/// Why a value cannot be propagated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PropagateError {
    /// The network has no such input or definition.
    #[error("nothing is named \"{name}\"{}", did_you_mean(nearest))]
    UnknownName {
        /// The unknown name.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// Too few or too many samples.
    #[error("{asked} samples; the number must lie between {SAMPLES_MIN} and {SAMPLES_MAX}")]
    Samples {
        /// The number of samples.
        asked: usize,
    },
}

impl Network {
    /// Checks the parts and builds the network; definitions may be in any order.
    ///
    /// # Errors
    /// All errors, but only the first of several circles.
    pub fn new(
        inputs: Vec<Input>,
        correlations: &[Correlation],
        definitions: Vec<Definition>,
    ) -> Result<Self, Vec<NetworkError>> {
        Self::with_units(Units::default(), inputs, correlations, definitions)
    }

    /// Like [`Network::new`], with values in `units`.
    ///
    /// # Errors
    /// All errors, but only the first of several circles.
    pub fn with_units(
        units: Units,
        mut inputs: Vec<Input>,
        correlations: &[Correlation],
        mut definitions: Vec<Definition>,
    ) -> Result<Self, Vec<NetworkError>> {
        for Definition { name, expression } in &mut definitions {
            inputs.extend(expression.name_phases(name).into_iter().map(phase));
        }
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
            let rejected = |problem| NetworkError::Input { name: name.clone(), problem };
            errors.extend(input.problems(&units).into_iter().map(rejected));
            input.distribution.sort();
        }
        let correlated = correlated(&inputs, correlations).map_err(|found| errors.extend(found));
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
        let dimensions = dimensions(&inputs, &definitions, &units, &mut errors);
        match correlated {
            Ok(correlated) if errors.is_empty() => {
                let physical = vec![false; definitions.len()];
                Ok(Self { inputs, definitions, index, dimensions, correlated, physical, units })
            }
            _ => Err(errors),
        }
    }

    /// This network with definitions that cannot be negative, such as costs and counts: samples in which one is
    /// negative have no valid value. The same holds for `1 - x` as a factor or a divisor of their formulas, where x is
    /// a share or the load of a queue.
    #[must_use]
    pub fn never_negative(mut self, is_physical: impl Fn(&str) -> bool) -> Self {
        self.physical = self.definitions.iter().map(|of| is_physical(&of.name)).collect();
        self
    }

    /// This network with other formulas for some definitions, with the same names in them.
    pub(crate) fn with_formulas(&self, formulas: &[(&Definition, Expression)]) -> Self {
        let mut network = self.clone();
        for (of, formula) in formulas {
            let mut definitions = network.definitions.iter_mut();
            let found = definitions.find(|definition| definition.name == of.name);
            found.expect("it is one of the network's").expression = formula.clone();
        }
        network
    }

    /// This network with another input of the same name and dimension.
    pub(crate) fn with_input(&self, input: &Input) -> Self {
        let mut network = self.clone();
        let mut inputs = network.inputs.iter_mut();
        let own = inputs.find(|own| own.name == input.name);
        own.expect("it is one of the network's").clone_from(input);
        network
    }

    /// The inputs, in the order given, and then the phases of periodic waits.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The definitions, each after those it depends on.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The dimension of an input or a definition.
    ///
    /// # Errors
    /// [`PropagateError::UnknownName`]; the same for the methods below.
    pub fn dimension(&self, name: &str) -> Result<Dimension, PropagateError> {
        Ok(self.dimensions[self.find(name)?])
    }

    /// The inputs that a value depends on, in their order.
    ///
    /// # Errors
    /// See above.
    pub(crate) fn inputs_of(&self, name: &str) -> Result<Vec<&Input>, PropagateError> {
        let needed = self.needed(self.find(name)?).into_iter();
        Ok(needed.filter_map(|name| self.inputs.get(name)).collect())
    }

    /// The definitions that a value depends on, itself included, in the network's order.
    ///
    /// # Errors
    /// See above.
    pub(crate) fn definitions_of(&self, name: &str) -> Result<Vec<&Definition>, PropagateError> {
        let needed = self.needed(self.find(name)?).into_iter();
        let definitions = needed.filter_map(|name| name.checked_sub(self.inputs.len()));
        Ok(definitions.map(|at| &self.definitions[at]).collect())
    }

    /// The value at the nominal values of the inputs, in base units.
    ///
    /// # Errors
    /// See above.
    pub fn nominal(&self, name: &str) -> Result<f64, PropagateError> {
        let program = Program::of(self, self.find(name)?);
        Ok(program.value(|input| self.inputs[input].nominal.value))
    }

    /// The uncertainty to first order.
    ///
    /// # Errors
    /// See above.
    pub fn first_order(&self, name: &str) -> Result<Estimate, PropagateError> {
        Ok(first_order::estimate(self, &Program::of(self, self.find(name)?)))
    }

    /// The first-order correlation coefficient of two values; 0 if one does not vary.
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

    /// The worst case: every input anywhere in its range, unbounded inputs within three standard deviations.
    ///
    /// # Errors
    /// See above.
    pub fn interval(&self, name: &str) -> Result<Interval, PropagateError> {
        let program = Program::of(self, self.find(name)?);
        Ok(program.value(|input| self.inputs[input].worst_case()))
    }

    /// The greatest value with every input at most five standard scores from its median: of all but one of a million
    /// samples.
    ///
    /// # Errors
    /// See above.
    pub(crate) fn greatest(&self, name: &str) -> Result<f64, PropagateError> {
        Ok(self.range(name)?.high)
    }

    /// The values with every input at most five standard scores from its median.
    ///
    /// # Errors
    /// See above.
    pub(crate) fn range(&self, name: &str) -> Result<Interval, PropagateError> {
        let program = Program::of(self, self.find(name)?);
        Ok(program.value(|index| self.inputs[index].at_scores(SCORE_GREATEST)))
    }

    /// The definition of this name, and whether it is one that [`Network::never_negative`] marked; `None` for an input.
    pub(crate) fn definition(&self, name: &str) -> Option<(&Definition, bool)> {
        let at = self.index(name)?.checked_sub(self.inputs.len())?;
        Some((&self.definitions[at], self.physical[at]))
    }

    /// Whether each of these values grows with an input, or each of them falls with it, within five standard scores.
    ///
    /// # Errors
    /// See above.
    pub(crate) fn is_one_way(&self, names: &[&str], input: &str) -> Result<bool, PropagateError> {
        let input = self.find(input)?;
        let program = |name: &&str| Ok(Program::of(self, self.find(name)?));
        let programs: Vec<Program> = names.iter().map(program).collect::<Result<_, _>>()?;
        let is = |is_down| {
            programs.iter().all(|one| is_monotone(self, one, input, is_down, SCORE_GREATEST))
        };
        Ok(is(false) || is(true))
    }

    /// Whether this input varies together with others.
    pub(crate) fn is_correlated(&self, input: &str) -> bool {
        self.index(input).is_some_and(|at| self.correlated.members.contains(&at))
    }

    /// Whether an input varies together with others and is not normally distributed: the correlation of its values
    /// then differs from that of its normal scores.
    pub(super) fn is_skewed_together(&self, input: &str) -> bool {
        self.index(input).is_some_and(|at| {
            let distribution = &self.inputs[at].distribution;
            let is_normal =
                matches!(distribution, Distribution::Exact | Distribution::Normal { .. });
            !is_normal && self.correlated.members.contains(&at)
        })
    }

    /// The uncertainty by samples. Each input has its own generator, numbered by its place, so a changed
    /// definition gets the same samples.
    ///
    /// # Errors
    /// See above, and [`PropagateError::Samples`].
    pub fn monte_carlo(
        &self,
        name: &str,
        samples: usize,
        random: &mut Random,
    ) -> Result<Estimate, PropagateError> {
        let program = Program::of(self, self.sampled(name, samples)?);
        Ok(monte_carlo::sample(self, &program, samples, random).estimate)
    }

    /// The index of a name whose value is to be sampled so often.
    fn sampled(&self, name: &str, samples: usize) -> Result<usize, PropagateError> {
        if !(SAMPLES_MIN..=SAMPLES_MAX).contains(&samples) {
            return Err(PropagateError::Samples { asked: samples });
        }
        self.find(name)
    }

    /// The samples of a value: as many as asked, and more while they are too few, up to [`SAMPLES_MORE`].
    fn samples(
        &self,
        name: &str,
        mut samples: usize,
        seed: u64,
        is_short: IsShort<'_>,
    ) -> Result<(Program, Sampling), PropagateError> {
        let program = Program::of(self, self.sampled(name, samples)?);
        loop {
            let mut random = Random::from_seed(seed);
            let sampling = monte_carlo::sample(self, &program, samples, &mut random);
            if samples >= SAMPLES_MORE || !is_short(&sampling.predicted) {
                return Ok((program, sampling));
            }
            samples *= SAMPLES_FACTOR;
            // Each step draws all samples anew, so a last step that adds few would cost more than it can save.
            if samples * 2 > SAMPLES_MORE {
                samples = SAMPLES_MORE;
            }
        }
    }

    /// All three estimates, and where they disagree.
    ///
    /// # Errors
    /// As for [`Network::monte_carlo`].
    pub fn propagate(
        &self,
        name: &str,
        samples: usize,
        seed: u64,
    ) -> Result<Propagation, PropagateError> {
        self.propagate_until(name, samples, seed, &|_| false)
    }

    /// As [`Network::propagate`], with more samples while they are too few.
    ///
    /// # Errors
    /// As for [`Network::monte_carlo`].
    pub(crate) fn propagate_until(
        &self,
        name: &str,
        samples: usize,
        seed: u64,
        is_short: IsShort<'_>,
    ) -> Result<Propagation, PropagateError> {
        let first_order = self.first_order(name)?;
        let interval = self.interval(name)?;
        let (program, sampling) = self.samples(name, samples, seed, is_short)?;
        let dimension = self.dimension(name)?;
        let warnings = agreement::about_samples(self, &program, dimension, &sampling);
        let mut found = Propagation {
            dimension,
            first_order,
            interval,
            monte_carlo: sampling.estimate,
            predicted: sampling.predicted,
            warnings,
        };
        found.warnings.extend(agreement::warnings(self, &program, &found));
        Ok(found)
    }

    /// The distribution by samples: the same samples as in [`Network::propagate`] with this seed.
    ///
    /// # Errors
    /// As for [`Network::monte_carlo`].
    pub fn predict(
        &self,
        name: &str,
        samples: usize,
        seed: u64,
    ) -> Result<Predicted, PropagateError> {
        Ok(self.predict_until(name, samples, seed, &|_| false)?.0)
    }

    /// As [`Network::predict`], with more samples while they are too few, and the warnings about the samples.
    ///
    /// # Errors
    /// As for [`Network::monte_carlo`].
    pub(crate) fn predict_until(
        &self,
        name: &str,
        samples: usize,
        seed: u64,
        is_short: IsShort<'_>,
    ) -> Result<(Predicted, Vec<String>), PropagateError> {
        let (program, sampling) = self.samples(name, samples, seed, is_short)?;
        let dimension = self.dimension(name)?;
        let warnings = agreement::about_samples(self, &program, dimension, &sampling);
        Ok((sampling.predicted, warnings))
    }

    /// The index of a name: inputs first, then definitions in order.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// A value as text.
    pub(super) fn show(&self, quantity: Quantity) -> String {
        shown(&self.units, quantity)
    }

    pub(super) fn correlated(&self) -> &Correlated {
        &self.correlated
    }

    pub(super) fn is_physical(&self, definition: usize) -> bool {
        self.physical[definition]
    }

    /// The names that the value depends on, itself last, in their order. A large model has many values, and most depend
    /// on few names.
    pub(super) fn needed(&self, target: usize) -> Vec<usize> {
        let mut needed = BTreeSet::from([target]);
        let mut open = vec![target];
        while let Some(name) = open.pop() {
            let Some(at) = name.checked_sub(self.inputs.len()) else { continue };
            let names = self.definitions[at].expression.names();
            open.extend(
                names.map(|(name, _)| self.index[name]).filter(|name| needed.insert(*name)),
            );
        }
        needed.into_iter().collect()
    }

    fn find(&self, name: &str) -> Result<usize, PropagateError> {
        self.index(name).ok_or_else(|| PropagateError::UnknownName {
            name: name.to_owned(),
            nearest: nearest(name, self.index.keys().map(String::as_str)).map(str::to_owned),
        })
    }
}

/// The share of a period that is left until its next tick.
fn phase(name: String) -> Input {
    Input::exact(name, Quantity::number(MEAN_PHASE))
        .varying(Distribution::Uniform { low: 0.0, high: 1.0 })
}

/// The correlations with indices instead of names.
fn correlated(
    inputs: &[Input],
    correlations: &[Correlation],
) -> Result<Correlated, Vec<NetworkError>> {
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
    Correlated::new(pairs, |input| inputs[input].name.as_str()).map_err(|error| vec![error.into()])
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

/// Topological order of the definitions (Kahn 1962), otherwise in the order given; or the names along a circle.
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
    // Every remaining definition depends on a remaining one, so following dependencies ends in a circle.
    let mut path = Vec::new();
    while !path.contains(&at) {
        path.push(at);
        at = needs[at].iter().copied().find(|other| open[*other] > 0).expect("one remains");
    }
    let circle = path.iter().skip_while(|other| **other != at).chain([&at]);
    Err(circle.map(|at| definitions[*at].name.clone()).collect())
}

/// The dimension of each name; names with an error reported before are left out.
fn dimensions(
    inputs: &[Input],
    definitions: &[Definition],
    units: &Units,
    errors: &mut Vec<NetworkError>,
) -> Vec<Dimension> {
    let mut known: BTreeMap<&str, Dimension> =
        inputs.iter().map(|input| (input.name.as_str(), input.nominal.dimension)).collect();
    let mut dimensions: Vec<Dimension> =
        inputs.iter().map(|input| input.nominal.dimension).collect();
    for Definition { name, expression } in definitions {
        match expression.dimension(&known, units) {
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
