//! Propagation by exact derivatives at the nominal values (JCGM 100:2008, clause 5).

use hemiola_stats::{LEVEL, student_quantile};

use super::derivative::Derivative;
use super::network::Network;
use super::program::Program;
use super::{Contribution, Estimate};

/// The slope by each inexact input of the program: index, slope.
pub(super) fn slopes(network: &Network, program: &Program) -> Vec<(usize, f64)> {
    let inexact = |index: &usize| network.inputs()[*index].is_uncertain();
    let inputs = program.inputs.iter().map(|(index, _)| *index).filter(inexact);
    inputs
        .map(|seed| {
            let result = program.value(|index| Derivative {
                value: network.inputs()[index].nominal.value,
                slope: f64::from(u8::from(index == seed)),
            });
            (seed, result.slope)
        })
        .collect()
}

/// Covariance of two values by their slopes (JCGM 100:2008, H.2.3, equation H.9).
pub(super) fn covariance(
    network: &Network,
    first: &[(usize, f64)],
    second: &[(usize, f64)],
) -> f64 {
    let [first, second] = [first, second].map(|slopes| effects(network, slopes));
    let alone: f64 = first.iter().zip(&second).map(|(a, b)| a * b).sum();
    let pairs = network.correlated().pairs.iter();
    let shared = pairs
        .map(|(a, b, coefficient)| coefficient * (first[*a] * second[*b] + first[*b] * second[*a]));
    alone + shared.sum::<f64>()
}

/// The change by one standard deviation of each input of the network.
fn effects(network: &Network, slopes: &[(usize, f64)]) -> Vec<f64> {
    let mut effects = vec![0.0; network.inputs().len()];
    for (index, slope) in slopes {
        effects[*index] = change(*slope, network.inputs()[*index].std());
    }
    effects
}

/// `slope * by`, but 0 for an input that does not vary, even where the slope is infinite.
fn change(slope: f64, by: f64) -> f64 {
    if by == 0.0 { 0.0 } else { slope * by }
}

pub(super) fn estimate(network: &Network, program: &Program) -> Estimate {
    let nominal = program.value(|index| network.inputs()[index].nominal.value);
    let slopes = slopes(network, program);
    let effects = effects(network, &slopes);
    // The part of each input including what it shares with the others; the parts add up to the variance.
    let mut parts: Vec<f64> = effects.iter().map(|effect| effect * effect).collect();
    for (a, b, coefficient) in &network.correlated().pairs {
        let shared = coefficient * effects[*a] * effects[*b];
        parts[*a] += shared;
        parts[*b] += shared;
    }
    let sum: f64 = parts.iter().sum();
    // Rounding may make the sum negative; NaN stays NaN.
    let variance = if sum < 0.0 { 0.0 } else { sum };
    let std = variance.sqrt();
    let systematic = systematic(network, &slopes);
    let freedom = freedom(network, &effects, variance);
    let half = student_quantile((1.0 + LEVEL) / 2.0, freedom) * std + systematic;
    let contributions = slopes.iter().map(|(index, _)| {
        let share = if variance > 0.0 { parts[*index] / variance } else { 0.0 };
        Contribution::of(network, program, *index, share, effects[*index])
    });
    Estimate {
        nominal,
        mean: nominal,
        std,
        systematic,
        low: nominal - half,
        high: nominal + half,
        freedom,
        contributions: Contribution::sorted(contributions.collect(), nominal),
        undefined: 0,
    }
}

/// The sum of the systematic parts; inputs whose offsets are one unknown may cancel.
fn systematic(network: &Network, slopes: &[(usize, f64)]) -> f64 {
    let offset = |index: usize| {
        let slope =
            slopes.iter().find(|(other, _)| *other == index).map_or(0.0, |(_, slope)| *slope);
        change(slope, network.inputs()[index].offset_of_mean())
    };
    let inputs: Vec<usize> = slopes.iter().map(|(index, _)| *index).collect();
    let groups = network.correlated().linked(&inputs);
    let sums = groups
        .iter()
        .map(|group| group.iter().map(|(index, sign)| sign * offset(*index)).sum::<f64>().abs());
    sums.sum()
}

/// Effective degrees of freedom (JCGM 100:2008, equation G.2b).
fn freedom(network: &Network, effects: &[f64], variance: f64) -> f64 {
    let known = network.inputs().iter().zip(effects);
    let parts = known.filter_map(|(input, effect)| Some(effect.powi(4) / input.freedom?));
    let sum: f64 = parts.sum();
    let stated = sum > 0.0 && sum.is_finite() && variance.is_finite();
    if stated { variance * variance / sum } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::super::{Definition, Distribution, Input, Propagation};
    use super::*;
    use crate::expression::Expression;
    use hemiola_quantity::Quantity;

    fn root_of(nominal: f64) -> Propagation {
        let input =
            Input::exact("x", Quantity::number(nominal)).varying(Distribution::Normal { std: 1.0 });
        let input = Input { freedom: Some(4.0), ..input };
        let expression = Expression::parse("sqrt(x)").unwrap();
        let definition = Definition { name: "y".into(), expression };
        let network = Network::new(vec![input], &[], vec![definition]).unwrap();
        network.propagate("y", 1000, 1).unwrap()
    }

    #[test]
    fn an_infinite_slope_gives_an_infinite_uncertainty() {
        let found = root_of(0.0);
        assert_eq!((found.first_order.std, found.first_order.high), (f64::INFINITY, f64::INFINITY));
        assert!(found.monte_carlo.std.is_finite());
        assert!(
            found.warnings.iter().any(
                |warning| warning.contains("to first order its standard deviation is infinite")
            )
        );
    }

    #[test]
    fn an_undefined_value_has_an_undefined_uncertainty() {
        let found = root_of(-2.0);
        assert!(found.first_order.std.is_nan() && found.first_order.low.is_nan());
        assert!(found.warnings[0].contains("no finite value"));
    }
}
