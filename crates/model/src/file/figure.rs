//! A figure: its value and range, as written in the file or taken from a measurement.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_diagnostic::Problem;
use hemiola_scenario::document::{At, Entry, FormulaText, Word};
use hemiola_stats::NORMAL_975;

use super::keys::{DistributionWord, FigureKeys};
use super::{FigureSource, Measured, Measurements, ModelFigure};
use crate::expression::{Expression, ExpressionError};
use crate::uncertain::{Distribution, Input};
use hemiola_quantity::{Dimension, Quantity, Unit};

/// The error of a formula as a problem of the file.
pub(super) fn problem(at: &Range<usize>, error: &ExpressionError) -> Problem {
    let inner = error.at();
    let start = (at.start + inner.start).min(at.end);
    Problem::new(start..(at.start + inner.end).clamp(start, at.end), error.to_string())
}

/// Evaluates a formula without names.
///
/// # Errors
/// The formula is invalid, has a name, or has no finite value.
pub fn constant(text: &FormulaText) -> Result<Quantity, Problem> {
    let refused = |error: ExpressionError| problem(&text.at, &error);
    let expression = Expression::parse(&text.text).map_err(refused)?;
    if let Some((name, at)) = expression.names().next() {
        let at = text.at.start + at.start..text.at.start + at.end;
        return Err(Problem::new(at, format!("expected a value, found the name \"{name}\""))
            .hint("write numbers with their units, such as \"80 us\""));
    }
    let nothing = BTreeMap::<&str, Dimension>::new();
    let dimension = expression.dimension(&nothing).map_err(refused)?;
    let value: f64 = expression.evaluate(&BTreeMap::<&str, f64>::new()).map_err(refused)?;
    if !value.is_finite() {
        return Err(Problem::new(text.at.clone(), "the formula has no finite value"));
    }
    Ok(Quantity { value, dimension })
}

/// The constant of an entry, if the entry has one and its formula is valid.
pub fn constant_of(
    entry: &Entry<FormulaText>,
    problems: &mut Vec<Problem>,
) -> Option<At<Quantity>> {
    let text = entry.get()?;
    let value = constant(text).map_err(|problem| problems.push(problem)).ok()?;
    Some(At { value, at: text.at.clone() })
}

/// The value of this name in the measurements.
pub(super) fn measured(
    name: Option<&At<&str>>,
    measurements: Option<&Measurements>,
    expected: Option<Dimension>,
    problems: &mut Vec<Problem>,
) -> Option<(Quantity, Measured)> {
    let name = name?;
    let found = measurements?.get(name.value)?;
    let Ok(unit) = found.unit.parse::<Unit>() else {
        let message =
            format!("{} was measured in \"{}\", which is not a unit", found.name, found.unit);
        problems.push(Problem::new(name.at.clone(), message));
        return None;
    };
    let value = Quantity::of(found.value, &unit);
    if expected.is_some_and(|expected| expected != value.dimension) {
        let message =
            format!("{} was measured in {}, which does not fit here", found.name, found.unit);
        problems.push(Problem::new(name.at.clone(), message));
        return None;
    }
    Some((value, found.clone()))
}

pub(super) fn figure(
    name: &str,
    keys: &FigureKeys<'_>,
    measurements: Option<&Measurements>,
    problems: &mut Vec<Problem>,
) -> Option<ModelFigure> {
    let own = stated(name, keys);
    let expected = own.as_ref().ok().and_then(|own| own.as_ref()).map(|own| own.nominal.dimension);
    let taken = measured(keys.measured.stated.as_ref(), measurements, expected, problems);
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

/// The median and what a repeat of the measurement may find: the model counts with costs per operation that
/// are means over many, not with single readings.
fn from_measurement(name: &str, value: Quantity, found: &Measured) -> Input {
    let scale = if found.value == 0.0 { 0.0 } else { value.value / found.value };
    let std = (found.high - found.low).max(0.0) * scale / (2.0 * NORMAL_975);
    let input = Input::exact(name, value).offset_within(found.systematic.abs() * scale);
    if std > 0.0 { input.varying(Distribution::Normal { std }) } else { input }
}

/// The value stated in the file, if any.
fn stated(name: &str, keys: &FigureKeys<'_>) -> Result<Option<Input>, Vec<Problem>> {
    let entries = [&keys.value, &keys.low, &keys.high];
    let Some(input) = input(name, entries, keys.distribution.stated.as_ref())? else {
        return Ok(None);
    };
    varied(input, keys).map(Some).map_err(|problem| vec![problem])
}

/// The input with the variation and the offset of the figure.
fn varied(input: Input, keys: &FigureKeys<'_>) -> Result<Input, Problem> {
    let nominal = input.nominal;
    let stochastic = amount(&keys.stochastic, nominal)?;
    let systematic = amount(&keys.systematic, nominal)?.unwrap_or(0.0);
    let input = match keys.low.is_present {
        false => around(input, keys, stochastic)?,
        true if stochastic.is_some() => {
            let message = format!("{}: its range is stated twice", input.name);
            let problem = Problem::new(keys.stochastic.key_at.clone(), message);
            return Err(problem.hint("leave out stochastic, or low and high"));
        }
        true => input,
    };
    Ok(input.offset_within(systematic))
}

/// An input with this standard deviation or half width.
fn around(input: Input, keys: &FigureKeys<'_>, width: Option<f64>) -> Result<Input, Problem> {
    use DistributionWord::{Exact, LogNormal, Normal, Triangular, Uniform};
    let value = input.nominal.value;
    let wrong = |at: &Range<usize>, message: &str, hint: &str| {
        Err(Problem::new(at.clone(), format!("{}: {message}", input.name)).hint(hint))
    };
    let distribution_at = &keys.distribution.key_at;
    let distribution = match (width, keys.distribution.get().copied()) {
        (None, None | Some(Exact)) => Distribution::Exact,
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
) -> Result<Option<Input>, Vec<Problem>> {
    let mut problems = Vec::new();
    let [value, low, high] = entries.map(|entry| constant_of(entry, &mut problems));
    let unreadable = |entry: &&Entry<FormulaText>| entry.is_present && entry.stated.is_none();
    if !problems.is_empty() || entries.iter().any(unreadable) {
        return Err(problems);
    }
    let input = match (value, low, high) {
        (None, None, None) => return Ok(None),
        (Some(value), None, None) => Ok(Input::exact(name, value.value)),
        (value, Some(low), Some(high)) => between(name, value, low, high, word),
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
    low: At<Quantity>,
    high: At<Quantity>,
    stated: Option<&At<DistributionWord>>,
) -> Result<Input, Problem> {
    use DistributionWord::{Exact, LogNormal, Normal, Triangular, Uniform};
    let wrong = |at: &Range<usize>, message: &str, hint: &str| {
        Err(Problem::new(at.clone(), format!("{name}: {message}")).hint(hint))
    };
    let word = stated.map(|word| word.value);
    let dimension = low.value.dimension;
    if let Some(other) = value.iter().chain([&high]).find(|one| one.value.dimension != dimension) {
        let message = format!("its low end is {dimension}, but this is not");
        return wrong(&other.at, &message, "write all of them in units of the same dimension");
    }
    let (low_at, low, high_at, high) = (low.at, low.value.value, high.at, high.value.value);
    if low >= high {
        let hint = "low must be below high; write a value without a range as value alone";
        return wrong(&high_at, "its high end is not above its low end", hint);
    }
    if word == Some(LogNormal) && low <= 0.0 {
        let hint = "choose another distribution";
        return wrong(&low_at, "a log-normal value must be above zero", hint);
    }
    let middle = if word == Some(LogNormal) { (low * high).sqrt() } else { (low + high) / 2.0 };
    let nominal = value.as_ref().map_or(middle, |value| value.value.value);
    if !(low..=high).contains(&nominal) {
        let at = value.map_or(low_at, |value| value.at);
        return wrong(&at, "its value is outside its range", "low <= value <= high");
    }
    let distribution = match word {
        None | Some(Uniform) => Distribution::Uniform { low, high },
        Some(Triangular) => Distribution::Triangular { low, high },
        Some(Normal) => Distribution::Normal { std: (high - low) / (2.0 * NORMAL_975) },
        Some(LogNormal) => {
            Distribution::LogNormal { sigma: (high / low).ln() / (2.0 * NORMAL_975) }
        }
        Some(Exact) => {
            let hint = "leave out low and high, or name their distribution";
            let at = stated.map_or(low_at, |word| word.at.clone());
            return wrong(&at, "an exact value does not vary", hint);
        }
    };
    Ok(Input::exact(name, Quantity { value: nominal, dimension }).varying(distribution))
}

/// A width in the unit of the value, or in % of it where it has a unit.
fn amount(entry: &Entry<FormulaText>, nominal: Quantity) -> Result<Option<f64>, Problem> {
    let Some(text) = entry.get() else { return Ok(None) };
    let (key, Quantity { value, dimension }) = (entry.key, constant(text)?);
    let wrong = |message: String, hint| Err(Problem::new(text.at.clone(), message).hint(hint));
    let size = if dimension == nominal.dimension {
        value
    } else if dimension == Dimension::NONE {
        value * nominal.value.abs()
    } else {
        let message = format!("{key} is {dimension}, the value is {}", nominal.dimension);
        return wrong(message, "write it in the unit of the value, or in %");
    };
    if size < 0.0 {
        return wrong(format!("{key} is negative"), "a width must not be negative");
    }
    Ok(Some(size))
}
