//! The comparison of the three propagation methods, as warnings.

use std::ops::Range;

use super::monte_carlo::{Sampling, Worst};
use super::network::Network;
use super::predicted::Search;
use super::program::Program;
use super::{Predicted, Propagation};
use crate::expression::{Function, Interval};
use crate::text::load as load_text;
use hemiola_quantity::{Dimension, Quantity};

/// Relative difference of the standard deviations that causes a warning.
const SPREAD: f64 = 0.05;

/// Distance of the mean from the nominal value, in standard deviations, that causes a warning.
const SHIFT: f64 = 0.1;

/// Ratio of the longer to the shorter side of the range that causes a warning.
const SKEW: f64 = 1.3;

/// Ratio of the worst case to the one with an input split into pieces that causes a warning.
const WIDTH: f64 = 2.0;

/// The share of the range that a search over systematic offsets may miss without a warning.
const SLACK: f64 = 0.01;

/// The pieces that an input is split into.
const PIECES: u32 = 16;

/// The warnings about the methods; those about the samples themselves are apart.
pub(super) fn warnings(network: &Network, program: &Program, found: &Propagation) -> Vec<String> {
    let samples = found.predicted.central.count();
    let shown = |value: f64| network.show(Quantity { value, dimension: found.dimension });
    // The part of a difference that chance alone explains.
    let chance = 4.0 / (samples as f64).sqrt();
    // Smaller differences are rounding.
    let still = found.first_order.nominal.abs() * 1e-12;
    let mut warnings = Vec::new();
    warnings.extend(offsets(found, still, shown));
    if found.monte_carlo.std > still {
        warnings.extend(spread(network, found, chance, still, shown));
        warnings.extend(shift(found, chance, shown));
        warnings.extend(ends(found, chance, shown));
    }
    warnings.extend(dependency(network, program, found, shown));
    warnings
}

/// The warnings about the samples themselves, whatever the other methods find.
pub(super) fn about_samples(
    network: &Network,
    program: &Program,
    dimension: Dimension,
    sampling: &Sampling,
) -> Vec<String> {
    let predicted = &sampling.predicted;
    let samples = predicted.central.count();
    let mut warnings = undefined(predicted, samples);
    warnings.extend(
        sampling.worst.as_ref().map(|worst| undefined_at(network, program, worst, samples)),
    );
    let shown = |value: f64| network.show(Quantity { value, dimension });
    let width = predicted.high() - predicted.low();
    let is_small = |search: &Search| search.slack <= SLACK * width;
    warnings.extend(
        predicted
            .search
            .as_ref()
            .filter(|search| !is_small(search))
            .map(|search| searched(search, shown)),
    );
    warnings.extend(impossible(network, program, &sampling.violations, samples));
    warnings.extend(divisions(network, program));
    warnings
}

/// Warns if the standard deviations differ.
fn spread(
    network: &Network,
    found: &Propagation,
    chance: f64,
    still: f64,
    shown: impl Fn(f64) -> String,
) -> Option<String> {
    let (first, sampled) = (found.first_order.std, found.monte_carlo.std);
    if !first.is_finite() {
        // An input whose variance has no bound, times a slope of 0, is not a number.
        let is = if first.is_nan() { "does not exist" } else { "is infinite" };
        return Some(format!(
            "to first order its standard deviation {is}, so there is no such range; use Monte Carlo"
        ));
    }
    if !sampled.is_finite() {
        let text = "the samples lie so far apart that they have no standard deviation, so the first-order range does \
                    not describe them; use Monte Carlo";
        return Some(text.to_owned());
    }
    let varies = format!("samples vary by {} (standard deviation)", shown(sampled));
    if first <= still {
        return Some(format!(
            "to first order it does not vary, {varies}: the nominal values are at an extreme or near a step; use Monte \
             Carlo"
        ));
    }
    let ratio = sampled / first;
    let differs = match ratio {
        1e3.. => format!("{} times the first-order value", Quantity::number(ratio)),
        2.0.. => format!("{ratio:.1} times the first-order value"),
        1.0.. => format!("{:.0} % more than the first-order value", (ratio - 1.0) * 100.0),
        _ => format!("{:.0} % less than the first-order value", (1.0 - ratio) * 100.0),
    };
    let mut inputs = found.first_order.contributions.iter().map(|of| &of.input);
    let or = match inputs.any(|input| network.is_skewed_together(input)) {
        true => ", or correlated inputs are not normally distributed",
        false => "",
    };
    ((ratio - 1.0).abs() > SPREAD + chance).then(|| {
        format!(
            "{varies}, {differs} ({}): the model is not linear over the range of its inputs{or}; use Monte Carlo",
            shown(first)
        )
    })
}

/// Warns if the mean is not the nominal value.
fn shift(found: &Propagation, chance: f64, shown: impl Fn(f64) -> String) -> Option<String> {
    let sampled = &found.monte_carlo;
    let shift = sampled.mean - sampled.nominal;
    let side = if shift > 0.0 { "above" } else { "below" };
    (shift.abs() > (SHIFT + chance) * sampled.std).then(|| {
        format!(
            "the mean of the samples ({}) lies {} {side} the nominal value: the model is curved or an input is not \
             centred; the nominal value is not the average",
            shown(sampled.mean),
            shown(shift.abs())
        )
    })
}

/// Warns if one side of the range is much longer than the other.
fn ends(found: &Propagation, chance: f64, shown: impl Fn(f64) -> String) -> Option<String> {
    let (first, sampled) = (&found.first_order, &found.monte_carlo);
    // There is no such range, as another warning says.
    if !first.std.is_finite() {
        return None;
    }
    // Without the systematic part, which is symmetric where the model is linear.
    if !sampled.high.is_finite() {
        return None;
    }
    let up = sampled.high - sampled.mean - sampled.systematic;
    let down = sampled.mean - sampled.low - sampled.systematic;
    (up.max(down) / up.min(down) > SKEW + 4.0 * chance).then(|| {
        format!(
            "skewed: 95 % of the samples lie from {} to {}, first order gives {} to {}; use Monte Carlo for the ends",
            shown(sampled.low),
            shown(sampled.high),
            shown(first.low),
            shown(first.high)
        )
    })
}

/// Warns about undefined results.
fn undefined(predicted: &Predicted, samples: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if !predicted.nominal.is_finite() {
        warnings.push(
            "at the nominal values of its inputs it has no finite value; check the inputs"
                .to_owned(),
        );
    }
    let undefined = predicted.central.undefined();
    if undefined > 0 {
        warnings.push(format!(
            "{undefined} of {samples} samples have no valid value (a division by zero, the root or logarithm of a \
             negative number, a negative duration or count, an overloaded queue): they count as beyond every limit, \
             and the mean leaves them out"
        ));
    }
    warnings
}

/// Warns about systematic offsets whose worst values are not known for certain.
fn searched(search: &Search, shown: impl Fn(f64) -> String) -> String {
    let Search { inputs, tried, slack, .. } = search;
    let (offsets, moves) = match inputs.len() {
        1 => ("offset", "moves"),
        _ => ("offsets", "move"),
    };
    let worse = match slack.is_finite() {
        true => format!("another one may be worse by up to {}", shown(*slack)),
        false => "how much worse another one may be is not known".to_owned(),
    };
    format!(
        "the systematic {offsets} of {} {moves} it up and down: the worst of {tried} points counts, and {worse}; \
         a limit is kept only if that does not matter",
        inputs.join(", ")
    )
}

/// Warns about results that are undefined only at some systematic offsets.
fn undefined_at(network: &Network, program: &Program, worst: &Worst, samples: usize) -> String {
    let inputs = network.inputs();
    let moved = worst.offsets.iter().zip(inputs).filter(|(offset, _)| **offset != 0.0);
    let moved: Vec<String> = moved
        .map(|(offset, input)| {
            let sign = if *offset < 0.0 { "−" } else { "+" };
            let shown = network.show(Quantity { value: offset.abs(), ..input.nominal });
            format!("{} {sign} {shown}", input.name)
        })
        .collect();
    let undefined = worst.undefined;
    let registers = program.run(|index| inputs[index].nominal_at(worst.offsets[index]));
    let text = |(definition, at): &(usize, Range<usize>)| {
        &network.definitions()[*definition].expression.text()[at.clone()]
    };
    let overloaded = program.instructions.iter().find_map(|instruction| {
        let (load, servers) = (registers[instruction.a], registers[instruction.b]);
        let is_overloaded = instruction.function == Function::Wait && load >= servers;
        let (queue, load) = (text(&instruction.at), load_text(load / servers));
        is_overloaded
            .then(|| format!(": the queue `{queue}` is overloaded there, with a load of {load}"))
    });
    let negative = || {
        let found = program.guards.iter().find(|guard| registers[guard.register] < 0.0)?;
        Some(format!(": `{}` is negative there", text(&found.at)))
    };
    let divided = || {
        let found = program.instructions.iter().find(|instruction| {
            instruction.function == Function::Divide && registers[instruction.b] == 0.0
        })?;
        Some(format!(": `{}` divides by 0 there", text(&found.at)))
    };
    format!(
        "with the systematic offset {}, {undefined} of {samples} samples have no valid value{}; they count as beyond \
         every limit",
        moved.join(", "),
        overloaded.or_else(negative).or_else(divided).unwrap_or_default()
    )
}

/// Warns about values that are negative in some samples, though they cannot be in reality.
fn impossible(
    network: &Network,
    program: &Program,
    violations: &[usize],
    samples: usize,
) -> Vec<String> {
    let found = program.guards.iter().zip(violations).filter(|(_, count)| **count > 0);
    let mut texts: Vec<String> = found
        .map(|(guard, count)| {
            let (definition, at) = &guard.at;
            let definition = &network.definitions()[*definition];
            format!(
                "in \"{}\", `{}` is negative in {} of {samples} samples, which cannot be: bound its inputs with \
                 at_least and at_most, or choose a distribution that fits",
                definition.name,
                &definition.expression.text()[at.clone()],
                count
            )
        })
        .collect();
    texts.dedup();
    texts
}

/// Warns if the systematic parts move the value further than their first-order sum, or less far.
fn offsets(found: &Propagation, still: f64, shown: impl Fn(f64) -> String) -> Option<String> {
    let (first, exact) = (found.first_order.systematic, found.monte_carlo.systematic);
    // Another warning names offsets without a valid value.
    let differs = exact.is_finite()
        && (first - exact).abs() > SPREAD * first.max(exact)
        && first.max(exact) > still;
    differs.then(|| {
        format!(
            "systematic parts move it by ± {} over all their offsets, to first order by ± {}: the model is not linear \
             over them; use Monte Carlo",
            shown(exact),
            shown(first)
        )
    })
}

/// Warns about divisors that can be zero.
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
            "in \"{}\", `{}` divides by a value that can be 0 within its range ({low:.3e} to {high:.3e} in base \
             units): the quotient is unbounded, and first order does not show it",
            definition.name,
            &definition.expression.text()[at.clone()]
        )
    })
    .collect()
}

/// Warns if an input that reaches the value along several paths widens the worst case: the union of the worst
/// cases of the input's pieces is then much narrower (Moore, "Interval Analysis", 1966).
fn dependency(
    network: &Network,
    program: &Program,
    found: &Propagation,
    shown: impl Fn(f64) -> String,
) -> Option<String> {
    let worst = found.interval;
    let several = program.inputs.iter().filter(|(_, register)| program.paths(*register) > 1);
    let narrower = several.filter_map(|(input, _)| {
        let cut = split(network, program, *input);
        (worst.width().is_finite() && worst.width() > WIDTH * cut.width()).then_some((input, cut))
    });
    let (input, cut) = narrower.min_by(|(_, a), (_, b)| a.width().total_cmp(&b.width()))?;
    Some(format!(
        "the worst case ({} to {}) is too wide: \"{}\" occurs several times, and intervals treat each occurrence as \
             independent (split into {PIECES} pieces, the range is {} to {}); use Monte Carlo, or rewrite the formula so \
             that the name occurs once",
        shown(worst.low),
        shown(worst.high),
        network.inputs()[*input].name,
        shown(cut.low),
        shown(cut.high)
    ))
}

/// The union of the worst cases over an input's pieces.
fn split(network: &Network, program: &Program, input: usize) -> Interval {
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
