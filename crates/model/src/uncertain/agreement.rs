//! Where the three ways of propagation disagree, in words.

use super::Propagation;
use super::network::Network;
use super::program::Program;
use crate::expression::{Function, Interval};
use crate::quantity::Quantity;

/// Standard deviations may differ by this share before anybody is told.
const SPREAD: f64 = 0.05;

/// The mean may lie this many standard deviations from the nominal value.
const SHIFT: f64 = 0.1;

/// One side of the range may be longer than the other by this factor.
const SKEW: f64 = 1.3;

/// The worst case may be wider by this factor than it is once an input is cut in pieces.
const WIDTH: f64 = 2.0;

/// Into how many pieces.
const PIECES: u32 = 16;

pub(super) fn warnings(
    network: &Network,
    program: &Program,
    found: &Propagation,
    samples: usize,
) -> Vec<String> {
    let shown = |value: f64| Quantity { value, dimension: found.dimension }.to_string();
    // How much of a difference chance alone makes.
    let chance = 4.0 / (samples as f64).sqrt();
    // Below this the numbers' own rounding shows.
    let still = found.first_order.nominal.abs() * 1e-12;
    let mut warnings = undefined(found, samples);
    warnings.extend(divisions(network, program));
    if found.monte_carlo.std > still {
        warnings.extend(spread(found, chance, still, shown));
        warnings.extend(shift(found, chance, shown));
        warnings.extend(ends(found, chance, shown));
    }
    warnings.extend(dependency(network, program, found, shown));
    warnings
}

/// Standard deviations that differ.
fn spread(
    found: &Propagation,
    chance: f64,
    still: f64,
    shown: impl Fn(f64) -> String,
) -> Option<String> {
    let (first, sampled) = (found.first_order.std, found.monte_carlo.std);
    let varies = format!("samples vary by {} (standard deviation)", shown(sampled));
    if first <= still {
        return Some(format!(
            "to first order it does not vary, {varies}: at the nominal values it has an extreme, or a step is near; \
             take Monte Carlo"
        ));
    }
    let ratio = sampled / first;
    let differs = match ratio {
        2.0.. => format!("{ratio:.1} times what first order says"),
        1.0.. => format!("{:.0} % more than first order says", (ratio - 1.0) * 100.0),
        _ => format!("{:.0} % less than first order says", (1.0 - ratio) * 100.0),
    };
    ((ratio - 1.0).abs() > SPREAD + chance).then(|| {
        format!(
            "{varies}, {differs} ({}): the model is not linear over the range of its inputs; take Monte Carlo",
            shown(first)
        )
    })
}

/// A mean that is not the nominal value.
fn shift(found: &Propagation, chance: f64, shown: impl Fn(f64) -> String) -> Option<String> {
    let sampled = &found.monte_carlo;
    let shift = sampled.mean - sampled.nominal;
    let side = if shift > 0.0 { "above" } else { "below" };
    (shift.abs() > (SHIFT + chance) * sampled.std).then(|| {
        format!(
            "the mean of the samples ({}) lies {} {side} the nominal value: the model is curved or an input is not \
             centred; the nominal value is not what happens on average",
            shown(sampled.mean),
            shown(shift.abs())
        )
    })
}

/// A range with one side much longer than the other.
fn ends(found: &Propagation, chance: f64, shown: impl Fn(f64) -> String) -> Option<String> {
    let (first, sampled) = (&found.first_order, &found.monte_carlo);
    // Without the systematic part, which is as long on both sides where the model is linear.
    let up = sampled.high - sampled.mean - sampled.systematic;
    let down = sampled.mean - sampled.low - sampled.systematic;
    (up.max(down) / up.min(down) > SKEW + 4.0 * chance).then(|| {
        format!(
            "skewed: 95 % of what happens lies from {} to {}, first order says {} to {}; take Monte Carlo for the \
             ends",
            shown(sampled.low),
            shown(sampled.high),
            shown(first.low),
            shown(first.high)
        )
    })
}

/// What has no value at all.
fn undefined(found: &Propagation, samples: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if !found.first_order.nominal.is_finite() {
        warnings.push(
            "at the nominal values of its inputs it has no finite value; check them".to_owned(),
        );
    }
    let undefined = found.monte_carlo.undefined;
    if undefined > 0 {
        warnings.push(format!(
            "{undefined} of {samples} samples have no finite value (a division by zero, or the root or logarithm of \
             what is negative) and are left out"
        ));
    }
    warnings
}

/// Divisors that can be zero.
fn divisions(network: &Network, program: &Program) -> Vec<String> {
    let ranges = program.run(|input| network.inputs()[input].worst_case());
    let zero = program.instructions.iter().filter(|instruction| {
        instruction.function == Function::Divide && ranges[instruction.b].holds(0.0)
    });
    zero.map(|instruction| {
        let (definition, at) = &instruction.at;
        let definition = &network.definitions()[*definition];
        let Interval { low, high } = ranges[instruction.b];
        format!(
            "in \"{}\", `{}` divides by what can be 0 within its range ({low:.3e} to {high:.3e} in base units): the \
             quotient has no bounds, and first order does not see it",
            definition.name,
            &definition.expression.text()[at.clone()]
        )
    })
    .collect()
}

/// An input that reaches the value on more than one way and widens the worst case by it: with the input cut
/// in pieces, the worst cases of the pieces together are much narrower (Moore, "Interval Analysis", 1966).
fn dependency(
    network: &Network,
    program: &Program,
    found: &Propagation,
    shown: impl Fn(f64) -> String,
) -> Option<String> {
    let worst = found.interval;
    let several = program.inputs.iter().filter(|(_, register)| program.ways(*register) > 1);
    let narrower = several.filter_map(|(input, _)| {
        let cut = cut(network, program, *input);
        (worst.width().is_finite() && worst.width() > WIDTH * cut.width()).then_some((input, cut))
    });
    let (input, cut) = narrower.min_by(|(_, a), (_, b)| a.width().total_cmp(&b.width()))?;
    Some(format!(
        "the worst case ({} to {}) is too wide: \"{}\" stands in several places, and intervals take each as another \
         value (cut in {PIECES} pieces, {} to {} is left); take Monte Carlo, or write the formula so that it stands \
         once",
        shown(worst.low),
        shown(worst.high),
        network.inputs()[*input].name,
        shown(cut.low),
        shown(cut.high)
    ))
}

/// The worst cases of an input's pieces together.
fn cut(network: &Network, program: &Program, input: usize) -> Interval {
    let whole = network.inputs()[input].worst_case();
    let at = |piece: u32| whole.low + whole.width() * f64::from(piece) / f64::from(PIECES);
    let pieces = (0..PIECES).map(|piece| {
        let piece = Interval { low: at(piece), high: at(piece + 1) };
        program.value(
            |other| {
                if other == input { piece } else { network.inputs()[other].worst_case() }
            },
        )
    });
    let all = pieces.reduce(|a, b| Interval { low: a.low.min(b.low), high: a.high.max(b.high) });
    all.expect("there is more than one piece")
}
