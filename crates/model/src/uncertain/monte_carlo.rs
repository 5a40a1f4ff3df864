//! Propagation by seeded samples (JCGM 101:2008), a block at a time.

use hemiola_units::Random;

use super::distribution::{Distribution, Input, triangular};
use super::first_order;
use super::network::Network;
use super::program::{BLOCK, Program};
use super::{Contribution, Estimate};

pub(super) fn estimate(
    network: &Network,
    program: &Program,
    samples: usize,
    random: &mut Random,
) -> Estimate {
    let nominal = program.value(|index| network.inputs()[index].nominal.value);
    let mut columns = program.columns();
    let mut sampler = Sampler::new(network, program, random, &mut columns);
    let mut outcome = Outcome::new(network, program, nominal, samples);
    let mut left = samples;
    while left > 0 {
        let count = left.min(BLOCK);
        sampler.fill(&mut columns);
        program.run_block(&mut columns);
        outcome.add(&columns, count);
        left -= count;
    }
    outcome.estimate(network, program, samples)
}

/// Draws the inputs of a program.
struct Sampler<'n> {
    /// Uncorrelated inputs.
    alone: Vec<Stream<'n>>,
    /// A standard normal stream for each correlated input, in the order of the factor's rows.
    scores: Vec<(Random, Vec<f64>)>,
    /// Each correlated input, its column (`None` if the program does not use it) and its row of the factor.
    correlated: Vec<(&'n Input, Option<usize>, &'n [f64])>,
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
        random: &mut Random,
        columns: &mut [Vec<f64>],
    ) -> Self {
        let root = Random::from_seed(random.bits());
        let correlated = network.correlated();
        let column_of = |index: usize| {
            program.inputs.iter().find(|(input, _)| *input == index).map(|(_, column)| *column)
        };
        let mut sampler = Self { alone: Vec::new(), scores: Vec::new(), correlated: Vec::new() };
        for (index, column) in &program.inputs {
            let input = &network.inputs()[*index];
            if correlated.members.contains(index) {
                continue;
            }
            columns[*column].fill(input.nominal.value);
            if input.distribution != Distribution::Exact {
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
            draw(input, random, &mut columns[*column]);
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
            for value in column {
                *value = input.at_score(*value);
            }
        }
    }
}

/// Fills a column with samples of one input.
fn draw(input: &Input, random: &mut Random, column: &mut [f64]) {
    let nominal = input.nominal.value;
    match &input.distribution {
        Distribution::Exact => column.fill(nominal),
        Distribution::Normal { std } => column.fill_with(|| nominal + std * random.normal()),
        Distribution::LogNormal { sigma } => {
            column.fill_with(|| nominal * (sigma * random.normal()).exp());
        }
        Distribution::Uniform { low, high } => column.fill_with(|| random.between(*low, *high)),
        Distribution::Triangular { low, high } => {
            column.fill_with(|| triangular(*low, nominal, *high, random.uniform()));
        }
        Distribution::Samples(readings) => {
            let count = readings.len() as u64;
            column.fill_with(|| readings[random.below(count) as usize]);
        }
    }
}

/// Statistics of the samples. Sums are of differences from the nominal values, which reduces cancellation.
struct Outcome {
    nominal: f64,
    origin: f64,
    result: usize,
    /// All finite values.
    values: Vec<f64>,
    undefined: usize,
    inputs: Vec<InputSums>,
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

impl Outcome {
    fn new(network: &Network, program: &Program, nominal: f64, samples: usize) -> Self {
        let slots = program.inputs.iter().filter_map(|(index, column)| {
            let input = &network.inputs()[*index];
            (input.std() > 0.0 || input.systematic > 0.0).then_some(InputSums {
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
            values: Vec::with_capacity(samples),
            undefined: 0,
            inputs: slots.collect(),
        }
    }

    fn add(&mut self, columns: &[Vec<f64>], count: usize) {
        let result = &columns[self.result][..count];
        if result.iter().all(|value| value.is_finite()) {
            self.values.extend_from_slice(result);
            for sums in &mut self.inputs {
                sums.add(&columns[sums.column][..count], result, self.origin);
            }
            return;
        }
        let finite: Vec<usize> = (0..count).filter(|at| result[*at].is_finite()).collect();
        self.undefined += count - finite.len();
        let only = |column: &[f64]| finite.iter().map(|at| column[*at]).collect::<Vec<f64>>();
        let result = only(result);
        for sums in &mut self.inputs {
            sums.add(&only(&columns[sums.column]), &result, self.origin);
        }
        self.values.extend(result);
    }

    fn estimate(mut self, network: &Network, program: &Program, samples: usize) -> Estimate {
        let count = self.values.len() as f64;
        let offset = self.values.iter().map(|value| value - self.origin).sum::<f64>() / count;
        let mean = self.origin + offset;
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = (squares / (count - 1.0)).sqrt();
        let contributions = self.inputs.iter().map(|sums| {
            let (share, effect) = sums.share_and_effect(count, offset, std);
            Contribution::of(network, program, sums.index, share, effect)
        });
        let contributions = Contribution::sorted(contributions.collect(), self.nominal);
        let [down, up] = offsets(network, program, self.nominal);
        let [low, high] = middle_95(&mut self.values);
        Estimate {
            nominal: self.nominal,
            mean,
            std,
            systematic: (up - down) / 2.0,
            low: low + down,
            high: high + up,
            freedom: samples.saturating_sub(self.undefined + 1) as f64,
            contributions,
            undefined: self.undefined,
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

/// How far the systematic parts move the value down and up when they all push in the same direction. Each
/// direction comes from the slope, the distance from the model itself.
fn offsets(network: &Network, program: &Program, nominal: f64) -> [f64; 2] {
    let mut pushes = vec![0.0; network.inputs().len()];
    for (index, slope) in first_order::slopes(network, program) {
        pushes[index] = network.inputs()[index].systematic * if slope < 0.0 { -1.0 } else { 1.0 };
    }
    let at = |sign: f64| {
        program.value(|index| network.inputs()[index].nominal.value + sign * pushes[index])
            - nominal
    };
    let [one, other] = [at(-1.0), at(1.0)];
    [one.min(other).min(0.0), one.max(other).max(0.0)]
}

/// The 2.5 % and 97.5 % quantiles by nearest rank; NaN if there are no values.
fn middle_95(values: &mut [f64]) -> [f64; 2] {
    let Some(last) = values.len().checked_sub(1) else { return [f64::NAN; 2] };
    let rank = |share: f64| ((share * values.len() as f64).ceil() as usize).clamp(1, last + 1) - 1;
    let (low, high) = (rank(0.025), rank(0.975));
    let (below, high, _) = values.select_nth_unstable_by(high, f64::total_cmp);
    let high = *high;
    let low = if below.is_empty() || low >= below.len() {
        high
    } else {
        *below.select_nth_unstable_by(low, f64::total_cmp).1
    };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_95_percent_are_found_by_nearest_rank() {
        let mut values: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        assert_eq!(middle_95(&mut values), [25.0, 975.0]);
        assert_eq!(middle_95(&mut [3.0]), [3.0, 3.0]);
        assert!(middle_95(&mut [])[0].is_nan());
    }
}
