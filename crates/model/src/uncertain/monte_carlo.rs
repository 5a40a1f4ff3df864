//! Propagation by seeded samples (JCGM 101:2008), a block at a time.

use std::borrow::Cow;

use hemiola_units::Random;

use super::affine;
use super::direction::{Direction, Effect, bounds, effects};
use super::distribution::{Distribution, Input};
use super::extremes::extremes;
use super::network::Network;
use super::offsets::{Offsets, Point, Unknowns};
use super::predicted::{Predicted, Samples, Search};
use super::program::{BLOCK, Guard, Program};
use super::search::{Found, search};
use super::tail;
use super::{Contribution, Estimate};
use crate::expression::Interval;

/// The samples of a value.
pub(super) struct Sampling {
    pub(super) estimate: Estimate,
    pub(super) predicted: Predicted,
    /// For each guard of the program, the samples in which its value is negative.
    pub(super) violations: Vec<usize>,
    /// The systematic offsets with the most samples without a valid value, if they have more than without offsets.
    pub(super) worst: Option<Worst>,
}

/// Systematic offsets at which samples have no valid value.
pub(super) struct Worst {
    pub(super) offsets: Offsets,
    /// The number of these samples.
    pub(super) undefined: usize,
}

/// The least number of samples of a search over systematic offsets, and the share of all samples, if it is more.
const PILOT: usize = 4 * BLOCK;
const PILOT_SHARE: usize = 50;

/// Samples a program without systematic offsets, and then at those at which a quantile is least or greatest, with the
/// same random numbers.
pub(super) fn sample(
    network: &Network,
    program: &Program,
    samples: usize,
    random: &mut Random,
) -> Sampling {
    let nominal = program.value(|index| network.inputs()[index].nominal.value);
    let pass = Pass { network, program, root: Random::from_seed(random.bits()), nominal };
    let mut outcome = Outcome::new(network, program, nominal);
    let (values, undefined) = pass.run(&vec![0.0; network.inputs().len()], samples, &mut outcome);
    let (mean, std) = mean_and_std(&values);
    let valid = values.len();
    let central = Samples::new(values, undefined);
    let is_random =
        |(index, _): &(usize, usize)| network.inputs()[*index].distribution != Distribution::Exact;
    let mut predicted = Predicted {
        nominal,
        mean,
        std,
        greatest_mean: central.mean(),
        central,
        extremes: None,
        systematic: 0.0,
        is_random: program.inputs.iter().any(is_random),
        bounds: bounds(network, program),
        search: None,
        spread: outcome.spread(network, valid),
        exact_mean: affine::mean(network, program),
        reach: tail::reach(network, program),
    };
    let mut worst = None;
    if let Some(unknowns) = Unknowns::of(network, program) {
        let [(least, down), (greatest, up)] = extremes(network, program, &unknowns);
        predicted.systematic = if up.is_finite() { (up - down) / 2.0 } else { up };
        let effects = effects(network, program, &unknowns, &outcome.drawn);
        worst = pass.over(&unknowns, &effects, [least, greatest], &mut predicted);
    }
    let estimate = outcome.estimate(network, program, &predicted);
    Sampling { estimate, predicted, violations: outcome.violations, worst }
}

/// Mean and standard deviation; NaN without values.
fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    // Differences from one of the values lose fewer digits.
    let origin = values.first().copied().unwrap_or(f64::NAN);
    let mean = origin + values.iter().map(|value| value - origin).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

/// Passes over the same random numbers.
struct Pass<'n> {
    network: &'n Network,
    program: &'n Program,
    root: Random,
    nominal: f64,
}

impl Pass<'_> {
    /// The valid samples with these systematic offsets, and the number of the others.
    fn run(&self, offsets: &[f64], samples: usize, outcome: &mut Outcome<'_>) -> (Vec<f64>, usize) {
        let mut columns = self.program.columns();
        let mut sampler =
            Sampler::new(self.network, self.program, &self.root, offsets, &mut columns);
        let mut values = Vec::with_capacity(samples);
        let mut left = samples;
        while left > 0 {
            let count = left.min(BLOCK);
            sampler.fill(&mut columns);
            self.program.run_block(&mut columns);
            outcome.check(&mut columns, count);
            outcome.add(&columns, count, &mut values);
            left -= count;
        }
        let undefined = samples - values.len();
        (values, undefined)
    }

    /// The first samples at these offsets.
    fn samples(&self, offsets: &[f64], count: usize) -> Samples {
        let mut outcome = Outcome::new(self.network, self.program, self.nominal);
        let (values, undefined) = self.run(offsets, count, &mut outcome);
        Samples::new(values, undefined)
    }

    /// Adds the least and the greatest sample of each rank over the systematic offsets.
    fn over(
        &self,
        unknowns: &Unknowns<'_>,
        effects: &[Effect],
        nominal: [Point; 2],
        predicted: &mut Predicted,
    ) -> Option<Worst> {
        let count = predicted.central.count();
        let pilot = (count / PILOT_SHARE).max(PILOT).min(count);
        let mut found = search(effects, &|point| self.samples(&unknowns.offsets(point), pilot));
        let middle = found.greatest.last().cloned();
        let mut middle_mean_most = f64::INFINITY;
        if found.tried > 0 {
            // Exact where the grid is coarse, but only for the nominal values.
            found.greatest.extend(nominal);
        }
        let [mut least, mut greatest] = [predicted.central.clone(), predicted.central.clone()];
        let mut worst: Option<Worst> = None;
        let most = predicted.central.undefined();
        for point in found.least.iter().chain(&found.greatest) {
            let offsets = unknowns.offsets(point);
            let samples = self.samples(&offsets, count);
            let mean = samples.mean();
            if middle.as_ref() == Some(point) {
                middle_mean_most = mean.most();
            }
            if mean.value > predicted.greatest_mean.value {
                predicted.greatest_mean = mean;
            }
            least.choose(&samples, f64::min);
            greatest.choose(&samples, f64::max);
            let undefined = samples.undefined();
            if undefined > worst.as_ref().map_or(most, |worst| worst.undefined) {
                worst = Some(Worst { offsets, undefined });
            }
        }
        predicted.extremes = Some([least, greatest]);
        let Found { tried, slack, reach, seen, .. } = found;
        predicted.search = seen.map(|seen| {
            let is_free = |at: &usize| effects[*at].direction == Direction::Either;
            let free = (0..unknowns.count()).filter(is_free);
            let inputs = free.map(|unknown| unknowns.names(unknown)).collect();
            Search { inputs, tried, slack, reach, middle_mean_most, seen }
        });
        worst
    }
}

/// Draws the inputs of a program.
struct Sampler<'n> {
    /// Uncorrelated inputs.
    alone: Vec<Stream<'n>>,
    /// A standard normal stream for each correlated input, in the order of the factor's rows.
    scores: Vec<(Random, Vec<f64>)>,
    /// Each correlated input, its column (`None` if the program does not use it) and its row of the factor.
    correlated: Vec<(Cow<'n, Input>, Option<usize>, &'n [f64])>,
    /// The columns with a systematic offset, and the offset.
    offset: Vec<(&'n Input, usize, f64)>,
}

/// An input, the column of its samples, and its generator.
struct Stream<'n> {
    input: Cow<'n, Input>,
    column: usize,
    random: Random,
}

/// An input whose parts have this offset, in base units.
fn at_offset(input: &Input, offset: f64) -> Cow<'_, Input> {
    match offset != 0.0 && input.has_offset_parts() {
        true => Cow::Owned(input.at_offset(offset / input.offset_most())),
        false => Cow::Borrowed(input),
    }
}

impl<'n> Sampler<'n> {
    fn new(
        network: &'n Network,
        program: &Program,
        root: &Random,
        offsets: &[f64],
        columns: &mut [Vec<f64>],
    ) -> Self {
        let correlated = network.correlated();
        let column_of = |index: usize| {
            program.inputs.iter().find(|(input, _)| *input == index).map(|(_, column)| *column)
        };
        let mut sampler = Self {
            alone: Vec::new(),
            scores: Vec::new(),
            correlated: Vec::new(),
            offset: Vec::new(),
        };
        for (index, column) in &program.inputs {
            let input = &network.inputs()[*index];
            let varies = input.distribution != Distribution::Exact;
            let own = offsets[*index] * input.systematic / input.offset_most();
            if offsets[*index] != 0.0 && (varies || correlated.members.contains(index)) {
                sampler.offset.push((input, *column, own));
            }
            if correlated.members.contains(index) {
                continue;
            }
            columns[*column].fill(input.offset(input.nominal.value, offsets[*index]));
            if varies {
                let random = root.fork(*index as u64);
                let input = at_offset(input, offsets[*index]);
                sampler.alone.push(Stream { input, column: *column, random });
            }
        }
        if correlated.members.iter().any(|index| column_of(*index).is_some()) {
            for (index, row) in correlated.members.iter().zip(&correlated.lower) {
                sampler.scores.push((root.fork(*index as u64), vec![0.0; BLOCK]));
                let input = at_offset(&network.inputs()[*index], offsets[*index]);
                sampler.correlated.push((input, column_of(*index), row));
            }
        }
        sampler
    }

    fn fill(&mut self, columns: &mut [Vec<f64>]) {
        for Stream { input, column, random } in &mut self.alone {
            input.draw(random, &mut columns[*column]);
        }
        for (random, scores) in &mut self.scores {
            scores.fill_with(|| random.normal());
        }
        for (input, column, row) in &self.correlated {
            let Some(column) = column else { continue };
            let column = &mut columns[*column];
            column.fill(0.0);
            for (factor, (_, scores)) in row.iter().zip(&self.scores) {
                for (sum, score) in column.iter_mut().zip(scores) {
                    *sum += factor * score;
                }
            }
            // The coefficient of normal inputs is that of their values; of other inputs, that of the
            // corresponding normal scores (a Gaussian copula).
            let scored = input.scored();
            for value in column {
                *value = scored(*value);
            }
        }
        for (input, column, offset) in &self.offset {
            for value in &mut columns[*column] {
                *value = input.offset(*value, *offset);
            }
        }
    }
}

/// Statistics of the samples. Sums are of differences from the nominal values, which reduces cancellation.
struct Outcome<'p> {
    nominal: f64,
    origin: f64,
    result: usize,
    inputs: Vec<InputSums>,
    /// The columns of the program's inputs, and the range of each one's samples.
    columns: Vec<usize>,
    drawn: Vec<Interval>,
    /// The values that must not be negative, with the rounding error that each may have.
    guards: Vec<(&'p Guard, f64)>,
    violations: Vec<usize>,
}

/// Sums for the correlation of an input and the value.
struct InputSums {
    index: usize,
    column: usize,
    origin: f64,
    sum: f64,
    squares: f64,
    products: f64,
}

impl<'p> Outcome<'p> {
    fn new(network: &Network, program: &'p Program, nominal: f64) -> Self {
        let nominals = program.run(|index| network.inputs()[index].nominal.value);
        let guards: Vec<(&Guard, f64)> =
            program.guards.iter().map(|guard| (guard, guard.least(&nominals))).collect();
        let slots = program.inputs.iter().filter_map(|(index, column)| {
            let input = &network.inputs()[*index];
            input.is_uncertain().then_some(InputSums {
                index: *index,
                column: *column,
                origin: input.nominal.value,
                sum: 0.0,
                squares: 0.0,
                products: 0.0,
            })
        });
        Self {
            nominal,
            origin: if nominal.is_finite() { nominal } else { 0.0 },
            result: program.result,
            inputs: slots.collect(),
            columns: program.inputs.iter().map(|(_, column)| *column).collect(),
            drawn: vec![
                Interval { low: f64::INFINITY, high: f64::NEG_INFINITY };
                program.inputs.len()
            ],
            violations: vec![0; guards.len()],
            guards,
        }
    }

    /// Makes the result NaN in samples where a value is negative that cannot be.
    fn check(&mut self, columns: &mut [Vec<f64>], count: usize) {
        for ((guard, least), violations) in self.guards.iter().zip(&mut self.violations) {
            let values = columns[guard.register][..count].iter().enumerate();
            let negative = values.filter(|(_, value)| *value < least);
            let negative: Vec<usize> = negative.map(|(at, _)| at).collect();
            *violations += negative.len();
            for at in negative {
                columns[self.result][at] = f64::NAN;
            }
        }
    }

    fn add(&mut self, columns: &[Vec<f64>], count: usize, values: &mut Vec<f64>) {
        for (drawn, column) in self.drawn.iter_mut().zip(&self.columns) {
            let values = &columns[*column][..count];
            drawn.low = values.iter().copied().fold(drawn.low, f64::min);
            drawn.high = values.iter().copied().fold(drawn.high, f64::max);
        }
        let result = &columns[self.result][..count];
        if result.iter().all(|value| value.is_finite()) {
            values.extend_from_slice(result);
            for sums in &mut self.inputs {
                sums.add(&columns[sums.column][..count], result, self.origin);
            }
            return;
        }
        let finite: Vec<usize> = (0..count).filter(|at| result[*at].is_finite()).collect();
        let only = |column: &[f64]| finite.iter().map(|at| column[*at]).collect::<Vec<f64>>();
        let result = only(result);
        for sums in &mut self.inputs {
            sums.add(&only(&columns[sums.column]), &result, self.origin);
        }
        values.extend(result);
    }

    /// The greatest ratio of the standard deviation of an input to that of its samples.
    fn spread(&self, network: &Network, count: usize) -> f64 {
        /// A smaller standard deviation, as a share of the value, is a rounding error.
        const LEAST: f64 = 1e-9;
        let ratio = |sums: &InputSums| {
            let input = &network.inputs()[sums.index];
            let std = input.std();
            if std <= LEAST * input.nominal.value.abs() {
                1.0
            } else {
                std / sums.std(count as f64)
            }
        };
        self.inputs.iter().map(ratio).fold(1.0, f64::max)
    }

    fn estimate(&self, network: &Network, program: &Program, predicted: &Predicted) -> Estimate {
        let central = &predicted.central;
        let (mean, std) = (predicted.mean, predicted.std);
        let count = central.sorted().len() as f64;
        let contributions = self.inputs.iter().map(|sums| {
            let (share, effect) = sums.share_and_effect(count, mean - self.origin, std);
            Contribution::of(network, program, sums.index, share, effect)
        });
        Estimate {
            nominal: self.nominal,
            mean,
            std,
            systematic: predicted.systematic,
            low: predicted.low(),
            high: predicted.high(),
            freedom: central.sorted().len().saturating_sub(1) as f64,
            contributions: Contribution::sorted(contributions.collect(), self.nominal),
            undefined: central.undefined(),
        }
    }
}

impl InputSums {
    fn add(&mut self, inputs: &[f64], values: &[f64], origin: f64) {
        /// Independent sums: a single one would wait for each addition to finish.
        const LANES: usize = 8;
        let mut lanes = [[0.0; LANES]; 3];
        let [sums, squares, products] = &mut lanes;
        for (inputs, values) in inputs.chunks(LANES).zip(values.chunks(LANES)) {
            for (lane, (input, value)) in inputs.iter().zip(values).enumerate() {
                let (input, value) = (input - self.origin, value - origin);
                sums[lane] += input;
                squares[lane] += input * input;
                products[lane] += input * value;
            }
        }
        let [sum, square, product] = lanes.map(|lanes| lanes.iter().sum::<f64>());
        self.sum += sum;
        self.squares += square;
        self.products += product;
    }

    /// Standard deviation of so many samples of the input.
    fn std(&self, count: f64) -> f64 {
        let mean = self.sum / count;
        ((self.squares / count - mean * mean).max(0.0) * count / (count - 1.0)).sqrt()
    }

    /// Squared correlation with the value, and the value's change per standard deviation of the input.
    fn share_and_effect(&self, count: f64, offset: f64, std: f64) -> (f64, f64) {
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean) * count / (count - 1.0);
        let covariance = (self.products / count - mean * offset) * count / (count - 1.0);
        if variance > 0.0 && std > 0.0 {
            let effect = covariance / variance.sqrt();
            ((effect / std).powi(2), effect)
        } else {
            (0.0, 0.0)
        }
    }
}
