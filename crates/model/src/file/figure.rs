//! A figure: its value and range, as written in the file or taken from a measurement.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_diagnostic::{Problem, nearest};
use hemiola_scenario::document::{At, Entry, FormulaText, Word};
use hemiola_stats::NORMAL_975;

use super::keys::{DistributionWord, FigureKeys, READINGS_MAX};
use super::{FigureSource, Measured, Measurements, ModelFigure};
use crate::expression::{Expression, ExpressionError, Interval};
use crate::uncertain::{Distribution, Input};
use hemiola_quantity::{Dimension, Quantity, Units};

/// The error of a formula as a problem of the file.
pub(super) fn problem(at: &Range<usize>, error: &ExpressionError) -> Problem {
    Problem::new(within(at, &error.at()), error.to_string())
}

/// The place of a part of a formula in the file.
pub(super) fn within(at: &Range<usize>, inner: &Range<usize>) -> Range<usize> {
    let start = (at.start + inner.start).min(at.end);
    start..(at.start + inner.end).clamp(start, at.end)
}

/// Evaluates a formula without names.
///
/// # Errors
/// The formula is invalid, has a name, or has no finite value.
pub fn constant(text: &FormulaText, units: &Units) -> Result<Quantity, Problem> {
    let refused = |error: ExpressionError| problem(&text.at, &error);
    let expression = Expression::parse_with(&text.text, units).map_err(refused)?;
    if let Some((name, at)) = expression.names().next() {
        let at = text.at.start + at.start..text.at.start + at.end;
        let hint = match units.unit(name) {
            Ok(_) => format!("a unit follows a number: \"1 {name}\""),
            Err(_) => "write numbers with their units, such as \"80 us\"".to_owned(),
        };
        let message = format!("expected a value, found the name \"{name}\"");
        return Err(Problem::new(at, message).hint(hint));
    }
    if expression.is_periodic() {
        let message = "a wait for a tick has no single value";
        return Err(Problem::new(text.at.clone(), message).hint("write periodic in a cost"));
    }
    let nothing = BTreeMap::<&str, Dimension>::new();
    let dimension = expression.dimension(&nothing, units).map_err(refused)?;
    let value: f64 = expression.evaluate(&BTreeMap::<&str, f64>::new()).map_err(refused)?;
    if !value.is_finite() {
        return Err(Problem::new(text.at.clone(), "the formula has no finite value"));
    }
    Ok(Quantity { value, dimension })
}

/// The constant of an entry, if the entry has one and its formula is valid.
pub fn constant_of(
    entry: &Entry<FormulaText>,
    units: &Units,
    problems: &mut Vec<Problem>,
) -> Option<At<Quantity>> {
    let text = entry.get()?;
    let value = constant(text, units).map_err(|problem| problems.push(problem)).ok()?;
    Some(At { value, at: text.at.clone() })
}

/// Why a figure in the measurements cannot be used.
fn lack(found: &Measured, is_ambiguous: bool) -> Option<String> {
    let Measured { name, value, low, high, .. } = found;
    let what = match (value.is_nan(), low.is_infinite(), high.is_infinite()) {
        _ if is_ambiguous => return Some(format!("the measurements have {name} more than once")),
        (true, _, _) => "value",
        (_, true, _) => "lower end of its range",
        (_, _, true) => "upper end of its range",
        _ => return None,
    };
    Some(format!("the measurements have {name} without a finite {what}"))
}

/// The value of this name in the measurements.
pub(super) fn measured(
    name: Option<&At<&str>>,
    measurements: Option<&Measurements>,
    units: &Units,
    expected: Option<Dimension>,
    problems: &mut Vec<Problem>,
) -> Option<(Quantity, Measured)> {
    let name = name?;
    let found = measurements?.get(name.value)?;
    let is_ambiguous = measurements.is_some_and(|given| given.is_ambiguous(name.value));
    if let Some(lack) = lack(found, is_ambiguous) {
        let problem = Problem::new(name.at.clone(), lack);
        problems.push(problem.hint("give other measurements, or write a value and no `measured`"));
        return None;
    }
    let Ok(unit) = units.unit(&found.unit) else {
        let message =
            format!("{} was measured in \"{}\", which is not a unit", found.name, found.unit);
        problems.push(Problem::new(name.at.clone(), message));
        return None;
    };
    let value = Quantity::of(found.value, &unit);
    // The mean of a model's samples may be beyond their middle.
    let is_within = match found.is_of_model {
        true => found.low <= found.high,
        false => found.low <= found.value && found.value <= found.high,
    };
    if !(is_within && value.value.is_finite()) {
        let message = format!(
            "{} was measured as {} {}, which is not within its interval {} to {}",
            found.name, found.value, found.unit, found.low, found.high
        );
        problems.push(Problem::new(name.at.clone(), message).hint("measure it again"));
        return None;
    }
    if expected.is_some_and(|expected| expected != value.dimension) {
        let message =
            format!("{} was measured in {}, which does not fit here", found.name, found.unit);
        problems.push(Problem::new(name.at.clone(), message));
        return None;
    }
    Some((value, Measured { one: Quantity::of(1.0, &unit).value, ..found.clone() }))
}

pub(super) fn figure(
    name: &str,
    keys: &FigureKeys<'_>,
    earlier: &[ModelFigure],
    measurements: Option<&Measurements>,
    units: &Units,
    problems: &mut Vec<Problem>,
) -> Option<ModelFigure> {
    let own = stated(name, keys, earlier, units);
    let expected = own.as_ref().ok().and_then(|own| own.as_ref()).map(|own| own.nominal.dimension);
    let taken = measured(keys.measured.stated.as_ref(), measurements, units, expected, problems);
    let stated_source = keys.source.get().copied().unwrap_or(FigureSource::Guess);
    let input = match (&taken, own) {
        (_, Err(found)) => {
            problems.extend(found);
            return None;
        }
        (Some((value, found)), _) => from_measurement(name, *value, found),
        (None, Ok(Some(own))) => own,
        (None, Ok(None)) => {
            let hint = match keys.measured.is_present {
                true => {
                    "pass the measurements of a machine that include it (--machine FILE), or write a value"
                }
                false => "write value, or low and high",
            };
            problems.push(
                Problem::new(keys.section.at.clone(), format!("{name} has no value")).hint(hint),
            );
            return None;
        }
    };
    Some(ModelFigure {
        title: keys.title.text(),
        input,
        source: if taken.is_some() { FigureSource::Measured } else { stated_source },
        measured: keys.measured.get().map(|&name| name.to_owned()),
        reason: keys.reason.text(),
        taken: taken.map(|(_, found)| found),
    })
}

/// The recorded jobs or, without them, the range of a repeat of the measurement. The latter is the uncertainty of a
/// mean or a median over many operations, and says nothing about a single one.
fn from_measurement(name: &str, value: Quantity, found: &Measured) -> Input {
    // The mean of a figure whose mean is open is not judged.
    let systematic = if found.systematic.is_finite() { found.systematic.abs() } else { 0.0 };
    let systematic = systematic * found.one;
    let input = Input::exact(name, value).offset_within(systematic);
    let distribution = match &found.jobs {
        Some(jobs) => {
            let readings = jobs.readings(READINGS_MAX).into_iter();
            Distribution::Samples(readings.map(|reading| reading * found.one).collect())
        }
        None => {
            let ends = [found.low, found.high].map(|end| end * found.one);
            match found.is_of_model {
                true => of_model(ends, value, systematic),
                false => Distribution::between(ends[0], value.value, ends[1]),
            }
        }
    };
    input.varying(distribution).physical()
}

/// The stochastic part of another model's figure: low and high include the systematic part.
fn of_model([low, high]: [f64; 2], mean: Quantity, systematic: f64) -> Distribution {
    /// The share of the samples beyond each end.
    const BEYOND: f64 = 0.025;
    let value = mean.value;
    let inner = [low + systematic, high - systematic];
    let inner = if inner[0] <= inner[1] { inner } else { [f64::midpoint(low, high); 2] };
    if low <= value && value <= high {
        return around_mean(inner[0].min(value), mean, inner[1].max(value));
    }
    let [low, high] = inner;
    let middle = f64::midpoint(low, high);
    let part = |name: &str, value: f64| Input::exact(name, Quantity { value, ..mean });
    let inside = part("the middle of the samples", middle);
    let inside =
        if low < high { inside.varying(Distribution::Uniform { low, high }) } else { inside };
    let beyond = middle + (value - middle) / BEYOND;
    Distribution::Mixture(vec![
        (1.0 - BEYOND, inside),
        (BEYOND, part("the samples beyond", beyond)),
    ])
}

/// A distribution with this mean over the range of another model's samples, whose mean need not be in the middle: a
/// uniform part on each side.
fn around_mean(low: f64, mean: Quantity, high: f64) -> Distribution {
    let found = Distribution::between(low, mean.value, high);
    if !matches!(found, Distribution::SplitNormal { below, above } if below.min(above) > 0.0) {
        return found;
    }
    let part = |name: &str, low: f64, high: f64| {
        let nominal = Quantity { value: f64::midpoint(low, high), ..mean };
        Input::exact(name, nominal).varying(Distribution::Uniform { low, high })
    };
    let share = (high - mean.value) / (high - low);
    let below = part("below the mean", low, mean.value);
    let above = part("above the mean", mean.value, high);
    Distribution::Mixture(vec![(share, below), (1.0 - share, above)])
}

/// The value stated in the file, if any; `earlier` are the figures that a mixture can name.
fn stated(
    name: &str,
    keys: &FigureKeys<'_>,
    earlier: &[ModelFigure],
    units: &Units,
) -> Result<Option<Input>, Vec<Problem>> {
    let input = if keys.readings.is_present {
        one_way(name, keys, &keys.readings.key_at).and_then(|()| readings(name, keys, units))?
    } else if keys.mixture.is_present {
        one_way(name, keys, &keys.mixture.key_at)
            .and_then(|()| mixture(name, keys, earlier, units))?
    } else {
        let entries = [&keys.value, &keys.low, &keys.high];
        let Some(input) = input(name, entries, keys.distribution.stated.as_ref(), units)? else {
            return Ok(None);
        };
        varied(input, keys, units).map_err(|problem| vec![problem])?
    };
    let input = offset(input, keys, units).map_err(|problem| vec![problem])?;
    let excluded = excluded(&input, keys, units);
    if excluded.is_empty() { Ok(Some(input)) } else { Err(excluded) }
}

/// The stated readings that are outside the bounds of the figure, and a stated end of a range that is. To cut them off
/// would change what the file states.
fn excluded(input: &Input, keys: &FigureKeys<'_>, units: &Units) -> Vec<Problem> {
    let Interval { low, high } = input.bounds;
    let show = |value: f64| units.show(Quantity { value, ..input.nominal }).to_string();
    let is_default = !keys.at_least.is_present;
    let problem = |what: &str, text: &FormulaText| {
        let Quantity { value, .. } = constant(text, units).ok()?;
        let (is_low, is_high) = (value < low, value > high);
        if !(is_low || is_high) {
            return None;
        }
        let bound = if is_low {
            format!("at least {}", show(low))
        } else {
            format!("at most {}", show(high))
        };
        let message = format!("{}: {what} is {}; it must be {bound}", input.name, show(value));
        let hint = if is_low && is_default {
            "correct it, or state at_least if the figure is a difference, which can be negative"
        } else {
            "correct it, or the bound"
        };
        Some(Problem::new(text.at.clone(), message).hint(hint))
    };
    let readings = keys.readings.items().iter().filter_map(|text| problem("this reading", text));
    let ends = matches!(
        input.distribution,
        Distribution::Uniform { .. } | Distribution::Triangular { .. }
    );
    // A stated bound may cut a range off.
    let end =
        keys.low.get().filter(|_| ends && is_default).and_then(|text| problem("its low end", text));
    readings.chain(end).collect()
}

/// Refuses other descriptions of a range beside readings or a mixture.
fn one_way(name: &str, keys: &FigureKeys<'_>, at: &Range<usize>) -> Result<(), Vec<Problem>> {
    let others = [&keys.stochastic, &keys.low, &keys.high];
    let twice = others.iter().any(|entry| entry.is_present)
        || keys.distribution.is_present
        || keys.shape.is_present
        || keys.readings.is_present && keys.mixture.is_present;
    if !twice {
        return Ok(());
    }
    let problem = Problem::new(at.clone(), format!("{name}: its range is stated twice"));
    Err(vec![problem.hint("readings and mixture replace low, high, stochastic and distribution")])
}

/// One of several readings; the value is their median unless stated.
fn readings(name: &str, keys: &FigureKeys<'_>, units: &Units) -> Result<Input, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut found: Vec<At<Quantity>> = Vec::new();
    for text in keys.readings.items() {
        match constant(text, units) {
            Ok(value) => found.push(At { value, at: text.at.clone() }),
            Err(problem) => problems.push(problem),
        }
    }
    let value = constant_of(&keys.value, units, &mut problems);
    let dimension = value.as_ref().or(found.first()).map(|one| one.value.dimension);
    for one in found.iter().filter(|one| Some(one.value.dimension) != dimension) {
        let reading = units.name(one.value.dimension);
        let message = format!("{name}: this reading is {reading}, others are not");
        problems.push(Problem::new(one.at.clone(), message));
    }
    let values: Vec<f64> = found.iter().map(|one| one.value.value).collect();
    let (Some(dimension), Some(median), true) =
        (dimension, hemiola_stats::median(&values), problems.is_empty())
    else {
        if problems.is_empty() {
            problems.push(
                Problem::new(keys.readings.key_at.clone(), format!("{name} has no readings"))
                    .hint("write them as [\"80 us\", \"82 us\"]"),
            );
        }
        return Err(problems);
    };
    let nominal = Quantity { value: value.map_or(median, |value| value.value.value), dimension };
    Ok(Input::exact(name, nominal).varying(Distribution::Samples(values)))
}

/// One of several earlier figures, each with its share; the value is the mean.
fn mixture(
    name: &str,
    keys: &FigureKeys<'_>,
    earlier: &[ModelFigure],
    units: &Units,
) -> Result<Input, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut parts: Vec<(f64, Input)> = Vec::new();
    for part in keys.mixture.items() {
        let share = constant_of(&part.share, units, &mut problems);
        let Some(of) = &part.of.stated else { continue };
        let known = earlier.iter().map(|figure| &figure.input).find(|input| input.name == of.value);
        let Some(known) = known else {
            let names = earlier.iter().map(|figure| figure.input.name.as_str());
            let near = nearest(of.value, names).map(|near| format!("did you mean \"{near}\"?"));
            let hint =
                near.unwrap_or_else(|| "a mixture names figures above it in the file".into());
            let message = format!("no figure before {name} is called \"{}\"", of.value);
            problems.push(Problem::new(of.at.clone(), message).hint(hint));
            continue;
        };
        match share {
            Some(share) if share.value.dimension == Dimension::NONE => {
                parts.push((share.value.value, known.clone()));
            }
            Some(share) => problems.push(
                Problem::new(
                    share.at,
                    format!("a share is a number, not {}", units.name(share.value.dimension)),
                )
                .hint("write it as \"90 %\""),
            ),
            None => {}
        }
    }
    let dimension = parts.first().map_or(Dimension::NONE, |(_, part)| part.nominal.dimension);
    if let Some((_, other)) = parts.iter().find(|(_, part)| part.nominal.dimension != dimension) {
        let message = format!(
            "{name}: {} is {}, other parts are {}",
            other.name,
            units.name(other.nominal.dimension),
            units.name(dimension)
        );
        problems.push(Problem::new(keys.mixture.key_at.clone(), message));
    }
    if keys.value.is_present {
        let message = format!("{name}: the value of a mixture is the mean of its parts");
        problems.push(Problem::new(keys.value.key_at.clone(), message).hint("leave out value"));
    }
    if !problems.is_empty() || parts.is_empty() {
        return Err(problems);
    }
    let input = Input::exact(name, Quantity { value: 0.0, dimension });
    let input = input.varying(Distribution::Mixture(parts));
    let nominal = Quantity { value: input.mean(), dimension };
    Ok(Input { nominal, ..input })
}

/// The input with the variation of the figure.
fn varied(input: Input, keys: &FigureKeys<'_>, units: &Units) -> Result<Input, Problem> {
    let stochastic = amount(&keys.stochastic, input.nominal, units)?;
    let again = if stochastic.is_some() { Some(&keys.stochastic.key_at) } else { None };
    let again = again.or(keys.shape.is_present.then_some(&keys.shape.key_at));
    match again {
        _ if !keys.low.is_present => around(input, keys, stochastic),
        None => Ok(input),
        Some(at) => {
            let message = format!("{}: its range is stated twice", input.name);
            let problem = Problem::new(at.clone(), message);
            Err(problem.hint("leave out stochastic and shape, or low and high"))
        }
    }
}

/// The input with the offset and the bounds of the figure.
fn offset(input: Input, keys: &FigureKeys<'_>, units: &Units) -> Result<Input, Problem> {
    let systematic = amount(&keys.systematic, input.nominal, units)?.unwrap_or(0.0);
    let least = bound(&keys.at_least, input.nominal, units)?;
    let low = least.unwrap_or(f64::NEG_INFINITY);
    let high = bound(&keys.at_most, input.nominal, units)?.unwrap_or(f64::INFINITY);
    if low > high {
        let message = format!("{}: at_most is below at_least", input.name);
        return Err(Problem::new(keys.at_most.key_at.clone(), message).hint("swap the two"));
    }
    let input = input.offset_within(systematic).within(Interval { low, high });
    // A stated least value replaces that of the quantity: a difference of durations can be negative.
    Ok(if least.is_some() { input } else { input.physical() })
}

/// A bound in the dimension of the value.
fn bound(
    entry: &Entry<FormulaText>,
    nominal: Quantity,
    units: &Units,
) -> Result<Option<f64>, Problem> {
    let Some(text) = entry.get() else { return Ok(None) };
    let found = constant(text, units)?;
    if found.dimension == nominal.dimension {
        return Ok(Some(found.value));
    }
    let [found, own] = [found.dimension, nominal.dimension].map(|of| units.name(of));
    let message = format!("{} is {found}, the value is {own}", entry.key);
    Err(Problem::new(text.at.clone(), message).hint("write it in the unit of the value"))
}

/// An input with this standard deviation, half width or shape.
fn around(input: Input, keys: &FigureKeys<'_>, width: Option<f64>) -> Result<Input, Problem> {
    use DistributionWord::{
        Exact, LogNormal, Normal, Pareto, SplitNormal, Triangular, Uniform, Weibull,
    };
    let value = input.nominal.value;
    let wrong = |at: &Range<usize>, message: &str, hint: &str| {
        Err(Problem::new(at.clone(), format!("{}: {message}", input.name)).hint(hint))
    };
    let distribution_at = &keys.distribution.key_at;
    let word = keys.distribution.get().copied();
    let shape = keys.shape.get().copied();
    if shape.is_some() && !matches!(word, Some(Weibull | Pareto)) {
        let hint = "write distribution = \"weibull\" or \"pareto\", or leave out shape";
        return wrong(&keys.shape.key_at, "this distribution has no shape", hint);
    }
    let distribution = match (width, word) {
        (None, None | Some(Exact)) => Distribution::Exact,
        (None, Some(Weibull)) if shape.is_some() => {
            Distribution::Weibull { shape: shape.unwrap_or(1.0) }
        }
        (None, Some(Pareto)) if shape.is_some() => {
            Distribution::Pareto { shape: shape.unwrap_or(1.0) }
        }
        (_, Some(word @ (Weibull | Pareto))) => {
            let message = format!("a {} distribution needs a shape", word.word());
            return wrong(distribution_at, &message, "write shape, or low and high");
        }
        (_, Some(SplitNormal)) => {
            let message = "a split-normal distribution needs both ends";
            return wrong(distribution_at, message, "write low and high, with value as the median");
        }
        (None, Some(word)) => {
            let message = format!("a {} distribution needs a width", word.word());
            return wrong(distribution_at, &message, "write stochastic, or low and high");
        }
        (Some(_), Some(Exact)) => {
            let hint = "leave out stochastic, or name its distribution";
            return wrong(distribution_at, "an exact value does not vary", hint);
        }
        (Some(half), Some(Uniform)) => {
            Distribution::Uniform { low: value - half, high: value + half }
        }
        (Some(half), Some(Triangular)) => {
            Distribution::Triangular { low: value - half, high: value + half }
        }
        (Some(std), Some(LogNormal)) if value > 0.0 => {
            // The standard deviation of a log-normal distribution with this median.
            let relative = std / value;
            let square = (1.0 + (1.0 + 4.0 * relative * relative).sqrt()) / 2.0;
            Distribution::LogNormal { sigma: square.ln().sqrt() }
        }
        (Some(_), Some(LogNormal)) => {
            let hint = "choose another distribution";
            return wrong(&keys.value.key_at, "a log-normal value must be above zero", hint);
        }
        (Some(std), None | Some(Normal)) => Distribution::Normal { std },
    };
    Ok(input.varying(distribution))
}

/// The input of the entries `value`, `low` and `high`: exact, or uniform between its ends unless `word` states
/// otherwise; `None` if no entry is stated.
///
/// # Errors
/// All problems of the entries. A value of the wrong shape adds none, because the check of the shape reports it.
pub fn input(
    name: &str,
    entries: [&Entry<FormulaText>; 3],
    word: Option<&At<DistributionWord>>,
    units: &Units,
) -> Result<Option<Input>, Vec<Problem>> {
    let mut problems = Vec::new();
    let [value, low, high] = entries.map(|entry| constant_of(entry, units, &mut problems));
    let unreadable = |entry: &&Entry<FormulaText>| entry.is_present && entry.stated.is_none();
    if !problems.is_empty() || entries.iter().any(unreadable) {
        return Err(problems);
    }
    let input = match (value, low, high) {
        (None, None, None) => return Ok(None),
        (Some(value), None, None) => Ok(Input::exact(name, value.value)),
        (value, Some(low), Some(high)) => between(name, value, [low, high], word, units),
        (_, Some(one), None) | (_, None, Some(one)) => {
            Err(Problem::new(one.at, format!("{name}: its range has only one end"))
                .hint("low and high go together"))
        }
    };
    input.map(Some).map_err(|problem| vec![problem])
}

fn between(
    name: &str,
    value: Option<At<Quantity>>,
    [low, high]: [At<Quantity>; 2],
    stated: Option<&At<DistributionWord>>,
    units: &Units,
) -> Result<Input, Problem> {
    use DistributionWord::{
        Exact, LogNormal, Normal, Pareto, SplitNormal, Triangular, Uniform, Weibull,
    };
    let wrong = |at: &Range<usize>, message: &str, hint: &str| {
        Err(Problem::new(at.clone(), format!("{name}: {message}")).hint(hint))
    };
    let word = stated.map_or(Uniform, |word| word.value);
    let dimension = low.value.dimension;
    if let Some(other) = value.iter().chain([&high]).find(|one| one.value.dimension != dimension) {
        let message = format!("its low end is {}, but this is not", units.name(dimension));
        return wrong(&other.at, &message, "write all of them in units of the same dimension");
    }
    let (low_at, low, high_at, high) = (low.at, low.value.value, high.at, high.value.value);
    if low >= high {
        let hint = "low must be below high; write a value without a range as value alone";
        return wrong(&high_at, "its high end is not above its low end", hint);
    }
    if matches!(word, LogNormal | Weibull | Pareto) && low <= 0.0 {
        let message = format!("a {} value must be above zero", word.word());
        return wrong(&low_at, &message, "choose another distribution");
    }
    let middle = match word {
        LogNormal => (low * high).sqrt(),
        Weibull => weibull(low, high).0,
        Pareto => pareto(low, high).0,
        _ => f64::midpoint(low, high),
    };
    let nominal = value.as_ref().map_or(middle, |value| value.value.value);
    let value_at = value.map_or(low_at, |value| value.at);
    if !(low..=high).contains(&nominal) {
        return wrong(&value_at, "its value is outside its range", "low <= value <= high");
    }
    if let Some(message) = contradiction(word, [low, nominal, high], middle) {
        let hint =
            "leave out value, or write distribution = \"split-normal\", which keeps all three";
        return wrong(&value_at, message, hint);
    }
    let distribution = match word {
        Uniform => Distribution::Uniform { low, high },
        Triangular => Distribution::Triangular { low, high },
        Normal => Distribution::Normal { std: (high - low) / (2.0 * NORMAL_975) },
        SplitNormal => Distribution::between(low, nominal, high),
        LogNormal => Distribution::LogNormal { sigma: (high / low).ln() / (2.0 * NORMAL_975) },
        Weibull => Distribution::Weibull { shape: weibull(low, high).1 },
        Pareto => {
            let shape = pareto(low, high).1;
            if shape <= 1.0 {
                let message = "a Pareto distribution over this range has no mean";
                return wrong(&high_at, message, "choose a high end below 40 times the low end");
            }
            Distribution::Pareto { shape }
        }
        Exact => {
            let hint = "leave out low and high, or name their distribution";
            let at = stated.map_or(value_at, |word| word.at.clone());
            return wrong(&at, "an exact value does not vary", hint);
        }
    };
    Ok(Input::exact(name, Quantity { value: nominal, dimension }).varying(distribution).physical())
}

/// Why a stated value cannot be the middle of this distribution. A rounded middle is accepted.
fn contradiction(
    word: DistributionWord,
    [low, value, high]: [f64; 3],
    middle: f64,
) -> Option<&'static str> {
    /// Of the width: more than rounding to one digit.
    const ROUNDED: f64 = 0.05;
    use DistributionWord::{LogNormal, Normal, Pareto, Weibull};
    let off = match word {
        Normal => (value - middle) / (high - low),
        LogNormal | Weibull | Pareto => (value / middle).ln() / (high / low).ln(),
        _ => 0.0,
    };
    (off.abs() > ROUNDED).then_some(match word {
        Normal => "a normal distribution is symmetric: its value is the middle of low and high",
        LogNormal => {
            "the value of a log-normal distribution is the geometric middle of low and high"
        }
        _ => "low and high determine the median of this distribution, and the value is another one",
    })
}

/// Median and shape of the Weibull distribution with this middle 95 %.
fn weibull(low: f64, high: f64) -> (f64, f64) {
    // The logarithm of a quantile is that of the scale plus ln(−ln(1 − share)) / shape.
    let at = |share: f64| (-(-share).ln_1p()).ln();
    let shape = (at(0.975) - at(0.025)) / (high / low).ln();
    (low * ((at(0.5) - at(0.025)) / shape).exp(), shape)
}

/// Median and shape of the Pareto distribution with this least value and 97.5 % quantile.
fn pareto(low: f64, high: f64) -> (f64, f64) {
    let shape = 40_f64.ln() / (high / low).ln();
    (low * shape.recip().exp2(), shape)
}

/// A width in the unit of the value, or in % of it where it has a unit.
fn amount(
    entry: &Entry<FormulaText>,
    nominal: Quantity,
    units: &Units,
) -> Result<Option<f64>, Problem> {
    let Some(text) = entry.get() else { return Ok(None) };
    let (key, Quantity { value, dimension }) = (entry.key, constant(text, units)?);
    let wrong = |message: String, hint| Err(Problem::new(text.at.clone(), message).hint(hint));
    let size = if dimension == nominal.dimension {
        value
    } else if dimension == Dimension::NONE {
        value * nominal.value.abs()
    } else {
        let [found, own] = [dimension, nominal.dimension].map(|of| units.name(of));
        let message = format!("{key} is {found}, the value is {own}");
        return wrong(message, "write it in the unit of the value, or in %");
    };
    if size < 0.0 {
        return wrong(format!("{key} is negative"), "a width must not be negative");
    }
    Ok(Some(size))
}
