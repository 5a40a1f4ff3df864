//! A figure: its value and range, as written in the file or taken from a measurement.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_diagnostic::Problem;
use hemiola_scenario::document::{At, Section};

use super::{Figure, Measured, Measurements, Source};
use crate::expression::{Expression, ExpressionError};
use crate::quantity::{Dimension, Quantity, Unit};
use crate::uncertain::{Distribution, Input};

/// Standard deviations from the middle of a normal distribution to the end of its 95 % range.
const STDS_95: f64 = 1.959_963_984_540_054;

/// The error of a formula as a problem of the file.
pub(super) fn problem(at: &Range<usize>, error: &ExpressionError) -> Problem {
    let inner = error.at();
    let start = (at.start + inner.start).min(at.end);
    Problem::new(start..(at.start + inner.end).clamp(start, at.end), error.to_string())
}

/// Evaluates a formula without names.
pub(super) fn constant(text: &At<String>) -> Result<Quantity, Problem> {
    let expression = Expression::parse(&text.value).map_err(|error| problem(&text.at, &error))?;
    if let Some((name, at)) = expression.names().next() {
        let at = text.at.start + at.start..text.at.start + at.end;
        return Err(Problem::new(at, format!("expected a value, found the name \"{name}\""))
            .hint("write numbers with their units, such as \"80 us\""));
    }
    let nothing = BTreeMap::<&str, Dimension>::new();
    let dimension = expression.dimension(&nothing).map_err(|error| problem(&text.at, &error))?;
    let value: f64 = expression
        .evaluate(&BTreeMap::<&str, f64>::new())
        .map_err(|error| problem(&text.at, &error))?;
    if value.is_finite() {
        Ok(Quantity { value, dimension })
    } else {
        Err(Problem::new(text.at.clone(), "the formula has no finite value"))
    }
}

/// The constant under a key, if the key is present and its formula valid.
pub(super) fn constant_of(
    section: &Section<'_>,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Option<At<Quantity>> {
    let text = section.formula(key)?;
    match constant(&text) {
        Ok(value) => Some(At { value, at: text.at }),
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
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
    section: &Section<'_>,
    measurements: Option<&Measurements>,
    problems: &mut Vec<Problem>,
) -> Option<Figure> {
    let own = own(name, section, problems);
    let measured_name = section.text("measured");
    let expected = own.as_ref().ok().and_then(|own| own.as_ref()).map(|own| own.nominal.dimension);
    let taken = measured(measured_name.as_ref(), measurements, expected, problems);
    let source = match section.text("source").map(|word| word.value) {
        _ if taken.is_some() => Source::Measured,
        Some("measured") => Source::Measured,
        Some("data sheet") => Source::DataSheet,
        _ => Source::Guess,
    };
    let input = match (&taken, own) {
        (Some((value, found)), _) => from_measurement(name, *value, found),
        (None, Ok(Some(own))) => own,
        (None, Ok(None)) => {
            problems.push(missing(name, section, measured_name.is_some()));
            return None;
        }
        (None, Err(())) => return None,
    };
    Some(Figure {
        title: section.text("title").map(|text| text.value.to_owned()).unwrap_or_default(),
        input,
        source,
        measured: measured_name.map(|name| name.value.to_owned()),
        reason: section.text("reason").map(|text| text.value.to_owned()).unwrap_or_default(),
        taken: taken.map(|(_, found)| found),
    })
}

fn missing(name: &str, section: &Section<'_>, measured: bool) -> Problem {
    let problem = Problem::new(section.at.clone(), format!("{name} has no value"));
    if measured {
        problem.hint(
            "pass the measurements of a machine that include it (--machine FILE), or write a value",
        )
    } else {
        problem.hint("write value, or low and high")
    }
}

/// The median and what a repeat of the measurement may find: the model counts with costs per operation that
/// are means over many, not with single readings.
fn from_measurement(name: &str, value: Quantity, found: &Measured) -> Input {
    let scale = if found.value == 0.0 { 0.0 } else { value.value / found.value };
    let std = (found.high - found.low).max(0.0) * scale / (2.0 * STDS_95);
    let input = Input::exact(name, value).offset_within(found.systematic.abs() * scale);
    if std > 0.0 { input.varying(Distribution::Normal { std }) } else { input }
}

/// The value stated in the file, if any; `Err` if it is wrong and reported.
fn own(
    name: &str,
    section: &Section<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Option<Input>, ()> {
    let before = problems.len();
    let [value, low, high] =
        ["value", "low", "high"].map(|key| constant_of(section, key, problems));
    let word = section.text("distribution").map(|word| word.value);
    if problems.len() > before {
        return Err(());
    }
    let wrong = |problems: &mut Vec<Problem>, at: &Range<usize>, message: &str, hint: &str| {
        problems.push(Problem::new(at.clone(), format!("{name}: {message}")).hint(hint));
        Err(())
    };
    let input = match (value, low, high) {
        (None, None, None) => return Ok(None),
        (Some(value), None, None) => {
            let nominal = value.value;
            let stochastic = amount(section, "stochastic", nominal, problems)?;
            let distribution = match (stochastic, word) {
                (None, None | Some("exact")) => Distribution::Exact,
                (None, Some(word)) => {
                    let message = format!("a {word} distribution needs a width");
                    let hint = "write stochastic, or low and high";
                    return wrong(problems, &section.key_at("distribution"), &message, hint);
                }
                (Some(_), Some("exact")) => {
                    let hint = "leave out stochastic, or name its distribution";
                    return wrong(
                        problems,
                        &section.key_at("distribution"),
                        "an exact value does not vary",
                        hint,
                    );
                }
                (Some(half), Some("uniform")) => {
                    Distribution::Uniform { low: nominal.value - half, high: nominal.value + half }
                }
                (Some(half), Some("triangular")) => Distribution::Triangular {
                    low: nominal.value - half,
                    high: nominal.value + half,
                },
                (Some(std), Some("log-normal")) if nominal.value > 0.0 => {
                    // The standard deviation of a log-normal distribution with this median.
                    let relative = std / nominal.value;
                    let square = (1.0 + (1.0 + 4.0 * relative * relative).sqrt()) / 2.0;
                    Distribution::LogNormal { sigma: square.ln().sqrt() }
                }
                (Some(_), Some("log-normal")) => {
                    let hint = "choose another distribution";
                    return wrong(
                        problems,
                        &value.at,
                        "a log-normal value must be above zero",
                        hint,
                    );
                }
                (Some(std), _) => Distribution::Normal { std },
            };
            Input::exact(name, nominal).varying(distribution)
        }
        (value, Some(low), Some(high)) => {
            if section.has("stochastic") {
                let hint = "leave out stochastic, or low and high";
                let at = section.key_at("stochastic");
                return wrong(problems, &at, "its range is stated twice", hint);
            }
            let dimension = low.value.dimension;
            let fits = |other: &At<Quantity>| other.value.dimension == dimension;
            if !fits(&high) || value.as_ref().is_some_and(|value| !fits(value)) {
                let at = if fits(&high) { &section.key_at("value") } else { &high.at };
                let message = format!("its low end is {dimension}, but this is not");
                return wrong(
                    problems,
                    at,
                    &message,
                    "write all of them in units of the same dimension",
                );
            }
            let (low, high_at, high) = (low.value.value, high.at, high.value.value);
            if low >= high {
                let hint = "low must be below high; write a value without a range as value alone";
                return wrong(problems, &high_at, "its high end is not above its low end", hint);
            }
            if word == Some("log-normal") && low <= 0.0 {
                let hint = "choose another distribution";
                return wrong(
                    problems,
                    &section.key_at("low"),
                    "a log-normal value must be above zero",
                    hint,
                );
            }
            let middle = match word {
                Some("log-normal") => (low * high).sqrt(),
                _ => (low + high) / 2.0,
            };
            let nominal = value.as_ref().map_or(middle, |value| value.value.value);
            if !(low..=high).contains(&nominal) {
                let at = section.key_at("value");
                let hint = "low <= value <= high";
                return wrong(problems, &at, "its value is outside its range", hint);
            }
            let distribution = match word {
                None | Some("uniform") => Distribution::Uniform { low, high },
                Some("triangular") => Distribution::Triangular { low, high },
                Some("normal") => Distribution::Normal { std: (high - low) / (2.0 * STDS_95) },
                Some("log-normal") => {
                    Distribution::LogNormal { sigma: (high / low).ln() / (2.0 * STDS_95) }
                }
                Some(_) => {
                    let hint = "leave out low and high, or name their distribution";
                    let at = section.key_at("distribution");
                    return wrong(problems, &at, "an exact value does not vary", hint);
                }
            };
            Input::exact(name, Quantity { value: nominal, dimension }).varying(distribution)
        }
        (_, Some(one), None) | (_, None, Some(one)) => {
            let hint = "low and high go together";
            return wrong(problems, &one.at, "its range has only one end", hint);
        }
    };
    let systematic = amount(section, "systematic", input.nominal, problems)?.unwrap_or(0.0);
    Ok(Some(input.offset_within(systematic)))
}

/// A width in the unit of the value, or in % of it where it has a unit.
fn amount(
    section: &Section<'_>,
    key: &str,
    nominal: Quantity,
    problems: &mut Vec<Problem>,
) -> Result<Option<f64>, ()> {
    if !section.has(key) {
        return Ok(None);
    }
    let amount = constant_of(section, key, problems).ok_or(())?;
    let Quantity { value, dimension } = amount.value;
    let wrong = |message: String, hint: &str| Problem::new(amount.at.clone(), message).hint(hint);
    let size = if dimension == nominal.dimension {
        value
    } else if dimension == Dimension::NONE {
        value * nominal.value.abs()
    } else {
        let message = format!("{key} is {dimension}, the value is {}", nominal.dimension);
        problems.push(wrong(message, "write it in the unit of the value, or in %"));
        return Err(());
    };
    if size < 0.0 {
        problems.push(wrong(format!("{key} is negative"), "a width must not be negative"));
        return Err(());
    }
    Ok(Some(size))
}
