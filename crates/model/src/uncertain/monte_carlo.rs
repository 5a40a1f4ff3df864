//! Propagation by seeded samples (JCGM 101:2008), a block at a time.

use hemiola_units::Random;

use super::distribution::{Distribution, Input};
use super::extremes::extremes;
use super::network::Network;
use super::predicted::{Predicted, Samples};
use super::program::{BLOCK, Guard, Program};
use super::{Contribution, Estimate};

/// The samples of a value.
pub(super) struct Sampling {
    pub(super) estimate: Estimate,
    pub(super) predicted: Predicted,
    /// For each guard of the program, the samples in which its value is negative.
    pub(super) violations: Vec<usize>,
}

/// Samples a program; with systematic parts also at the two extremes of their offsets, with the same random numbers.
pub(super) fn sample(
    network: &Network,
    program: &Program,
    samples: usize,
    random: &mut Random,
) -> Sampling {
    let nominal = program.value(|index| network.inputs()[index].nominal.value);
    let root = Random::from_seed(random.bits());
    let mut outcome = Outcome::new(network, program, nominal);
    let pass = |offsets: &[f64], outcome: &mut Outcome| {
        let mut columns = program.columns();
        let mut sampler = Sampler::new(network, program, &root, offsets, &mut columns);
        let mut values = Vec::with_capacity(samples);
        let mut left = samples;
        while left > 0 {
            let count = left.min(BLOCK);
            sampler.fill(&mut columns);
            program.run_block(&mut columns);
            outcome.check(&mut columns, count);
            outcome.add(&columns, count, &mut values);
            left -= count;
        }
        let undefined = samples - values.len();
        Samples::new(values, undefined)
    };
    let central = pass(&vec![0.0; network.inputs().len()], &mut outcome);
    let found = extremes(network, program);
    let ends = found.as_ref().map(|ends| [ends[0].1 - nominal, ends[1].1 - nominal]);
    let extremes = found.map(|ends| {
        ends.map(|(offsets, _)| pass(&offsets, &mut Outcome::new(network, program, nominal)))
    });
    let systematic = ends.map_or(0.0, |[down, up]| (up - down) / 2.0);
    let predicted = Predicted { nominal, central, extremes, systematic };
    let estimate = outcome.estimate(network, program, &predicted);
    Sampling { estimate, predicted, violations: outcome.violations }
}

/// Draws the inputs of a program.
struct Sampler<'n> {
    /// Uncorrelated inputs.
    alone: Vec<Stream<'n>>,
    /// A standard normal stream for each correlated input, in the order of the factor's rows.
    scores: Vec<(Random, Vec<f64>)>,
    /// Each correlated input, its column (`None` if the program does not use it) and its row of the factor.
    correlated: Vec<(&'n Input, Option<usize>, &'n [f64])>,
    /// The columns with a systematic offset, and the offset.
    offset: Vec<(&'n Input, usize, f64)>,
}

/// An input, the column of its samples, and its generator.
struct Stream<'n> {
    input: &'n Input,
    column: usize,
    random: Random,
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
            if offsets[*index] != 0.0 && (varies || correlated.members.contains(index)) {
                sampler.offset.push((input, *column, offsets[*index]));
            }
            if correlated.members.contains(index) {
                continue;
            }
            columns[*column].fill(input.offset(input.nominal.value, offsets[*index]));
            if varies {
                let random = root.fork(*index as u64);
                sampler.alone.push(Stream { input, column: *column, random });
            }
        }
        if correlated.members.iter().any(|index| column_of(*index).is_some()) {
            for (index, row) in correlated.members.iter().zip(&correlated.lower) {
                sampler.scores.push((root.fork(*index as u64), vec![0.0; BLOCK]));
                sampler.correlated.push((&network.inputs()[*index], column_of(*index), row));
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
        let guards: Vec<(&Guard, f64)> = program
            .guards
            .iter()
            .map(|guard| (guard, -1e-12 * nominals[guard.register].abs()))
            .collect();
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

    fn estimate(&self, network: &Network, program: &Program, predicted: &Predicted) -> Estimate {
        let central = &predicted.central;
        let (mean, std) = (central.mean(), central.std());
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
