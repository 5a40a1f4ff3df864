//! The measurement of an experiment, block by block until the required accuracy is reached or out of reach.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use hemiola_model::expression::Expression;
use hemiola_model::machine::{Figure, Machine};
use hemiola_probe::{FigureOfMerit, Load};
use hemiola_rt::clock::Clock;
use hemiola_units::Span;
use thiserror::Error;

use super::file::Known;
use super::outcome::{More, Outcome, Reach, judge, outcome, with_all_cases};
use super::{Case, Experiment};
use crate::measurement::{Progress, take};
use crate::series::{Series, notes, unit_named, unit_text};
use crate::set::counts;
use crate::source::ReadingSource;
use crate::survey::suffix;
use crate::{derive, staircase};

/// Readings in the first block of figures that the expectation uses.
const PILOT: u32 = 8;

/// The fewest blocks that give an interval; taken even beyond the time limit.
const BLOCKS_MIN: u32 = 5;

/// Why an experiment has no outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A signal interrupted it.
    #[error("interrupted; nothing was kept")]
    Interrupted,
    /// A required figure could not be measured.
    #[error("the experiment needs `{name}`, which cannot be measured: {reason}")]
    Figure {
        /// The figure.
        name: String,
        /// The reason, and what to do about it.
        reason: String,
    },
    /// The staircase has no such level.
    #[error(
        "the experiment needs `{name}`, but the staircase of this machine shows only {shown}; use one of those"
    )]
    Level {
        /// The figure.
        name: String,
        /// The levels in the staircase.
        shown: String,
    },
    /// The expectation cannot be computed from the measured figures.
    #[error("the formula \"{text}\" cannot be computed: {problem}")]
    Formula {
        /// The formula.
        text: String,
        /// The reason.
        problem: String,
    },
}

/// The names that an experiment may use, with their units: the catalogue and the derived figures.
#[must_use]
pub fn known(catalogue: &[FigureOfMerit]) -> Known {
    let measured = catalogue.iter().map(|figure| (figure.name.clone(), unit_text(figure.unit)));
    let derived = derive::DERIVED.iter().map(|name| ((*name).to_owned(), derive::unit(name)));
    measured.chain(derived).collect()
}

/// Measures an experiment. Figures of the expectation are taken from `machine` if it has them; the caller has checked
/// that it is this machine.
///
/// # Errors
/// See [`ExperimentError`]. An accuracy that cannot be reached is an outcome, not an error.
pub fn run(
    experiment: &Experiment,
    catalogue: &[FigureOfMerit],
    machine: Option<&Machine>,
    source: &mut dyn ReadingSource,
    clock: &dyn Clock,
    progress: &mut dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Outcome, ExperimentError> {
    let start = clock.now();
    let machine = machine.map(|machine| under(machine, experiment.load));
    let machine = machine.as_ref();
    let series = |name: &str| {
        let listed = catalogue.iter().find(|figure| figure.name == name);
        let listed = listed.expect("the names of an experiment are checked when it is read");
        Series::new(name, listed.unit)
    };
    let case = |case: &Case| Series::new(&case.figure, unit_named(case.unit));
    let mut cases: Vec<Series> = experiment.cases.iter().map(case).collect();
    let mut reached: Vec<Option<Reach>> = vec![None; cases.len()];
    let mut others: Vec<Series> =
        needed(experiment, catalogue, machine).iter().map(|name| series(name)).collect();
    for (index, series) in cases.iter_mut().enumerate() {
        if experiment.cases[index].origin.is_recorded() {
            let unit = experiment.cases[index].unit;
            read_all(series, source, clock, interrupted)?;
            reached[index] = judge(series, experiment.accuracy, unit, More::Never);
        }
    }
    let mut planned = vec![PILOT; others.len()];
    for block in 1.. {
        let over = clock.now().since(start) >= experiment.within && block > BLOCKS_MIN;
        let last = block >= experiment.blocks || over;
        let more = if over { More::TimeUp } else { More::Possible };
        for (index, (series, reach)) in cases.iter_mut().zip(&mut reached).enumerate() {
            if reach.is_none() {
                let passed = clock.now().since(start).secs_f64() / experiment.within.secs_f64();
                progress.tick(passed.min(1.0), &series.name);
                read(series, source, experiment.readings, clock, interrupted)?;
                if last {
                    *reach = judge(series, experiment.accuracy, experiment.cases[index].unit, more);
                }
            }
        }
        if block <= experiment.blocks {
            for (series, count) in others.iter_mut().zip(&planned) {
                progress.tick(f64::from(block) / f64::from(experiment.blocks), &series.name);
                read(series, source, *count, clock, interrupted)?;
            }
        }
        if block == 1 {
            let costs: Vec<Span> = others.iter().map(|series| series.took).collect();
            let half = Span::from_nanos(experiment.within.nanos() / 2);
            planned = counts(&costs, PILOT, half, experiment.blocks - 1);
        }
        source.end_block(Span::ZERO);
        if last && reached.iter().all(Option::is_some) {
            break;
        }
    }
    let mut reached: Vec<Reach> = reached.into_iter().flatten().collect();
    with_all_cases(&mut reached, clock.now().since(start));
    let figures = figures(&cases, &others, machine)?;
    let outcomes = experiment.cases.iter().zip(&cases).zip(reached);
    let cases_done =
        outcomes.map(|((case, series), reach)| outcome(experiment, case, series, reach, &figures));
    let cases_done = cases_done.collect::<Result<_, _>>()?;
    let notes = notes(cases.iter().chain(&others));
    Ok(Outcome { cases: cases_done, figures, notes })
}

/// Reads one block, or fails with the reason.
fn read(
    series: &mut Series,
    source: &mut dyn ReadingSource,
    count: u32,
    clock: &dyn Clock,
    interrupted: &AtomicBool,
) -> Result<(), ExperimentError> {
    take(series, source, count, clock);
    if interrupted.load(Ordering::Relaxed) {
        return Err(ExperimentError::Interrupted);
    }
    match series.failed.take() {
        Some(reason) => Err(ExperimentError::Figure { name: series.name.clone(), reason }),
        None => Ok(()),
    }
}

/// Reads all blocks of readings that were taken before.
fn read_all(
    series: &mut Series,
    source: &mut dyn ReadingSource,
    clock: &dyn Clock,
    interrupted: &AtomicBool,
) -> Result<(), ExperimentError> {
    loop {
        let blocks = series.blocks.len();
        read(series, source, 0, clock, interrupted)?;
        if series.blocks.len() == blocks {
            return Ok(());
        }
    }
}

/// The figures to measure besides those of the cases: names in formulas that `machine` lacks. Storage levels need the
/// staircase.
fn needed(
    experiment: &Experiment,
    catalogue: &[FigureOfMerit],
    machine: Option<&Machine>,
) -> Vec<String> {
    let mut needed = BTreeSet::new();
    let mut staircase = false;
    for name in formulas(experiment).flat_map(Expression::names).map(|(name, _)| name) {
        let own = experiment.inputs.iter().any(|own| own.input.name == name);
        let case = experiment.cases.iter().any(|case| case.figure == name);
        let given = machine.is_some_and(|machine| machine.figure(name).is_some());
        if derive::is_derived(name) {
            staircase |= !given;
        } else if !own && !case && !given {
            needed.insert(name.to_owned());
        }
    }
    if staircase {
        let sources = || catalogue.iter().filter(|figure| derive::is_source(&figure.name));
        let quick = sources().any(|figure| figure.quick);
        let chosen = sources().filter(|figure| figure.quick || !quick);
        needed.extend(chosen.map(|figure| figure.name.clone()));
    }
    // In the order of the catalogue.
    catalogue
        .iter()
        .map(|figure| figure.name.clone())
        .filter(|name| needed.contains(name))
        .collect()
}

fn formulas(experiment: &Experiment) -> impl Iterator<Item = &Expression> {
    experiment.cases.iter().flat_map(|case| {
        let second = case.second.as_ref().map(|second| &second.expression);
        std::iter::once(&case.expectation).chain(second)
    })
}

/// The figures of a machine measured under this load, with their plain names.
fn under(machine: &Machine, load: Load) -> Machine {
    let suffix = suffix(load);
    let plain = |figure: &Figure| {
        let name = figure.name.strip_suffix(suffix)?;
        (!name.contains('@')).then(|| Figure { name: name.to_owned(), ..figure.clone() })
    };
    Machine { figures: machine.figures.iter().filter_map(plain).collect(), ..machine.clone() }
}

/// All measured, derived and given figures.
fn figures(
    cases: &[Series],
    others: &[Series],
    machine: Option<&Machine>,
) -> Result<Vec<Figure>, ExperimentError> {
    let mut figures = Vec::new();
    for series in cases.iter().chain(others) {
        if figures.iter().any(|figure: &Figure| figure.name == series.name) {
            continue;
        }
        figures.push(series.figure().ok_or_else(|| ExperimentError::Figure {
            name: series.name.clone(),
            reason: "its probe returned no finite reading".into(),
        })?);
    }
    let levels = staircase::levels(&derive::points(&figures), None);
    figures.extend(derive::figures(&levels, &figures));
    for figure in machine.iter().flat_map(|machine| &machine.figures) {
        if !figures.iter().any(|own| own.name == figure.name) {
            figures.push(figure.clone());
        }
    }
    Ok(figures)
}
