//! Predictions of the cycle time of a scenario's programs on a machine, and their comparison with a run.
//!
//! A cycle consists of hand-overs from process to process, work within processes, conversions of the card and time
//! stamps. Hand-overs, stamps and the time of an instruction or a memory access are figures of merit of the machine;
//! their number follows from the scenario's plan. The work of a process is the one assumption: instructions and cold
//! cache lines of each role, in [`work`], as ranges with their source.
//!
//! [`predict`] computes each program's parts with ranges. [`compare`] adds the measured times and names the part
//! with the largest unexplained difference.

pub mod work;

mod compare;
mod response;
pub mod tables;

pub use compare::{ComparedPart, ComparedPrediction, PredictionVerdict, WITHIN, compare, failures};
pub use response::{LOOP, TaskResponse, responses};

use hemiola_scenario::{Plan, Release, Task, Variant};
use hemiola_units::Rate;
use serde::Serialize;
use thiserror::Error;

use crate::expression::Expression;
use crate::machine::{Figure, Machine};
use crate::uncertain::{Contribution, Definition, Distribution, Input, Network};
use hemiola_quantity::{Dimension, Quantity};

/// A message in shared memory to a process that polls on another processor: one cache line written here and read
/// there.
const TRANSFER: &str = "context_switch.shared_memory.across.warm";

/// Samples of the Monte Carlo run for each range.
const SAMPLES: usize = 20_000;
/// Its seed, fixed so that predictions repeat.
const SEED: u64 = 1;

/// Conversions of the card in one cycle: two sensors in, one voltage out.
const CONVERSIONS: u32 = 3;

/// The predicted cycle of one program.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// The program.
    pub variant: String,
    /// The parts of the cycle, in the order of the plan.
    pub parts: Vec<Part>,
    /// The whole cycle, ns.
    pub cycle: Range,
    /// The figures and assumptions that determine the width of the range, the most important first.
    #[serde(skip)]
    pub contributions: Vec<Contribution>,
}

/// A value and its 95 % range, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// The mean.
    pub expected: f64,
    /// Upper end.
    pub high: f64,
}

/// One part of a cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The kind of time.
    pub kind: PartKind,
    /// Its formula: `"2 * hand_over.futex.down.at_50Hz"`.
    pub formula: String,
    /// Its time, ns.
    pub time: Range,
}

/// The use of a part's time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Hand-overs to a process of lower priority.
    Down,
    /// Hand-overs to a process of higher priority.
    Up,
    /// Work within this process, including the card's conversions and its time stamps.
    Work(String),
}

impl PartKind {
    /// The text for tables.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Down => "hand-overs down".into(),
            Self::Up => "hand-overs up".into(),
            Self::Work(process) => format!("work in {process}"),
        }
    }
}

/// All results, for other programs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Report<'r> {
    /// The predictions with the measured times, by program.
    pub held: &'r [ComparedPrediction],
    /// The response times of tasks that share a processor.
    pub responses: &'r [TaskResponse],
}

/// Why a prediction is impossible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The machine file lacks this figure.
    #[error(
        "the machine has no figure {name}; a prediction needs those of a complete `hemiola measure`, without --quick and \
         --only"
    )]
    NoFigure {
        /// The figure, or the prefix of its name and `…` if any of several would do.
        name: String,
    },
    /// The figures are inconsistent, for example because one has an impossible value.
    #[error("the figures of the machine are inconsistent: {0}")]
    Figures(String),
}

/// Predicts the cycle of each program of `plan` on `machine`. Programs without a control loop are left out.
///
/// # Errors
/// See [`PredictError`].
pub fn predict(plan: &Plan, machine: &Machine) -> Result<Vec<Prediction>, PredictError> {
    plan.variants
        .iter()
        .filter(|variant| workers(variant).next().is_some())
        .map(|variant| predict_variant(plan, variant, machine))
        .collect()
}

fn predict_variant(
    plan: &Plan,
    variant: &Variant,
    machine: &Machine,
) -> Result<Prediction, PredictError> {
    let mut sum = Sum { machine, inputs: Vec::new(), parts: Vec::new() };
    let hand_overs = variant.hand_overs();
    let figure = |direction: &str| format!("hand_over.{}.{direction}", hand_overs.mechanism);
    if hand_overs.down > 0 {
        let first = sum.at_rate(&figure("down"), variant.rate)?;
        let formula = match hand_overs.down - 1 {
            0 => first,
            more => format!("{first} + {more} * {}", sum.later_down(&first, &figure("down"))?),
        };
        sum.parts.push((PartKind::Down, formula));
    }
    if hand_overs.up > 0 {
        let name = sum.at_rate(&figure("up"), variant.rate)?;
        sum.parts.push((PartKind::Up, format!("{} * {name}", hand_overs.up)));
    }
    for (process, task, warmed) in workers(variant) {
        let Some(work) = work::of(task) else { continue };
        let line = if warmed { sum.warm_line()? } else { sum.cold_line()? };
        let instruction = sum.figure("processor.instruction")?;
        let mark = sum.figure("clock.fast_read")?;
        let role = task.word();
        let lines = sum.assume(&format!("{role}.lines"), work.lines);
        let instructions = sum.assume(&format!("{role}.instructions"), work.instructions);
        let cycles = sum.assume("cycles_per_instruction", work::CYCLES_PER_INSTRUCTION);
        let mut formula = format!(
            "{instructions} * {cycles} * {instruction} + {lines} * {line} + {} * {mark}",
            work.stamps
        );
        if work.converts {
            let transfer = sum.figure(TRANSFER)?;
            formula += &format!(" + {} * {transfer}", work::CARD_LINES);
        }
        let conversion = plan.card.conversion_time.secs_f64();
        if work.converts && conversion > 0.0 {
            formula += &format!(" + {CONVERSIONS} * {} ns", conversion * 1e9);
        }
        sum.parts.push((PartKind::Work(process.to_owned()), formula));
    }
    sum.predict(&variant.name)
}

/// The processes that work in a cycle, with their tasks and whether they warm their caches in advance.
fn workers(variant: &Variant) -> impl Iterator<Item = (&str, &Task, bool)> {
    /// The task of a built-in replacement unit.
    const UNIT: &Task = &Task::Controller { gain: hemiola_scenario::Gain([0.0; 4]) };
    let processes =
        variant.processes.iter().filter(|process| work::of(&process.task).is_some()).map(
            |process| {
                let warmed = match process.release {
                    Release::Every { lead, .. } | Release::On { lead, .. } => lead.is_positive(),
                    Release::Federation | Release::Own => false,
                };
                (process.name.as_str(), &process.task, warmed)
            },
        );
    processes.chain(variant.units.iter().map(|unit| (unit.name.as_str(), UNIT, false)))
}

/// A prediction under construction.
struct Sum<'m> {
    machine: &'m Machine,
    inputs: Vec<Input>,
    parts: Vec<(PartKind, String)>,
}

impl Sum<'_> {
    /// Adds a figure of the machine as an input and returns its name.
    fn figure(&mut self, name: &str) -> Result<String, PredictError> {
        let Some(figure) = self.machine.figure(name) else {
            return Err(PredictError::NoFigure { name: name.into() });
        };
        self.take(input(figure)?);
        Ok(name.into())
    }

    /// The figure `name.at_RATE` with the rate nearest to this one by ratio.
    fn at_rate(&mut self, name: &str, rate: Rate) -> Result<String, PredictError> {
        let start = format!("{name}.at_");
        let distance = |figure: &&Figure| {
            let measured: Rate = figure.name.strip_prefix(&start)?.parse().ok()?;
            Some((measured.hertz() / rate.hertz()).ln().abs())
        };
        let nearest = self
            .machine
            .figures
            .iter()
            .filter_map(|figure| Some((distance(&figure)?, figure)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match nearest {
            Some((_, figure)) => self.figure(&figure.name.clone()),
            None => Err(PredictError::NoFigure { name: start + "…" }),
        }
    }

    /// A hand-over down that follows another in the same cycle. The kernel's part is cached by then, the process's
    /// own part is not; so the cost lies between one back to back and one at the rate.
    fn later_down(&mut self, at_rate: &str, figure: &str) -> Result<String, PredictError> {
        let time = |name: &str| {
            let found = self.machine.figure(name);
            let found = found.ok_or_else(|| PredictError::NoFigure { name: name.into() })?;
            Ok(seconds(found)?.value)
        };
        let (low, high) = (time(&format!("{figure}.back_to_back"))?, time(at_rate)?);
        let (low, high) = (low.min(high), low.max(high));
        Ok(self.time("later_down", (low + high) / 2.0, Distribution::Uniform { low, high }))
    }

    /// A cache line of a process that slept for a period: its median is the last cache level, and memory is at two
    /// standard deviations.
    fn cold_line(&mut self) -> Result<String, PredictError> {
        let (near, far) = (self.latency("l3")?, self.latency("memory")?);
        let sigma = (far / near).ln().max(0.0) / 2.0;
        Ok(self.time("cold_line", near, Distribution::LogNormal { sigma }))
    }

    /// A cache line of a process that just touched it: usually in the first cache level, sometimes in the second.
    fn warm_line(&mut self) -> Result<String, PredictError> {
        let (low, high) = (self.latency("l1")?, self.latency("l2")?);
        Ok(self.time("warm_line", low, Distribution::Triangular { low, high }))
    }

    /// Adds a time in s as an input.
    fn time(&mut self, name: &str, nominal: f64, distribution: Distribution) -> String {
        let nominal = Quantity { value: nominal, dimension: Dimension::TIME };
        self.take(Input::exact(name, nominal).varying(distribution));
        name.into()
    }

    /// The latency of this storage level in s, or of the next existing one.
    fn latency(&self, level: &str) -> Result<f64, PredictError> {
        const LEVELS: [&str; 4] = ["l1", "l2", "l3", "memory"];
        let name = |level: &str| format!("memory.latency.{level}");
        let from = LEVELS.iter().position(|known| *known == level).unwrap_or(0);
        let found = LEVELS[from..].iter().find_map(|level| self.machine.figure(&name(level)));
        let found = found.ok_or_else(|| PredictError::NoFigure { name: name(level) })?;
        Ok(seconds(found)?.value)
    }

    /// Adds an assumption about a process.
    fn assume(&mut self, name: &str, [low, nominal, high]: [f64; 3]) -> String {
        let name = format!("work.{name}");
        let distribution = Distribution::Triangular { low, high };
        self.take(Input::exact(name.clone(), Quantity::number(nominal)).varying(distribution));
        name
    }

    fn take(&mut self, input: Input) {
        if self.inputs.iter().all(|known| known.name != input.name) {
            self.inputs.push(input);
        }
    }

    fn predict(self, variant: &str) -> Result<Prediction, PredictError> {
        const CYCLE: &str = "cycle";
        let part = |at: usize| format!("part.p{at}");
        let whole = (0..self.parts.len()).map(part).collect::<Vec<_>>().join(" + ");
        let texts =
            self.parts.iter().enumerate().map(|(at, (_, formula))| (part(at), formula.clone()));
        let definitions: Vec<Definition> = texts
            .chain([(CYCLE.to_owned(), whole)])
            .map(|(name, text)| {
                let expression = Expression::parse(&text)
                    .map_err(|error| PredictError::Figures(format!("{text}: {error}")))?;
                Ok(Definition { name, expression })
            })
            .collect::<Result<_, _>>()?;
        let network = Network::new(self.inputs, &[], definitions).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            PredictError::Figures(errors.join("; "))
        })?;
        let range = |name: &str| {
            let found = network.propagate(name, SAMPLES, SEED).expect("it is defined above");
            let estimate = found.monte_carlo;
            let nanos = |seconds: f64| seconds * 1e9;
            let range = Range {
                low: nanos(estimate.low),
                expected: nanos(estimate.mean),
                high: nanos(estimate.high),
            };
            (range, estimate.contributions)
        };
        let parts = self
            .parts
            .into_iter()
            .enumerate()
            .map(|(at, (kind, formula))| Part { kind, formula, time: range(&part(at)).0 })
            .collect();
        let (cycle, contributions) = range(CYCLE);
        Ok(Prediction { variant: variant.into(), parts, cycle, contributions })
    }
}

/// A figure of a machine as an input: median, standard uncertainty of a repeat, systematic part.
fn input(figure: &Figure) -> Result<Input, PredictError> {
    let value = seconds(figure)?;
    let scale = value.value / figure.value;
    let [low, high] = [figure.low, figure.high].map(|end| end * scale);
    Ok(Input::exact(figure.name.clone(), value)
        .varying(Distribution::between(low, value.value, high))
        .offset_within(figure.systematic * scale)
        .physical())
}

/// The value of a figure that must be a time.
fn seconds(figure: &Figure) -> Result<Quantity, PredictError> {
    if figure.unit != "ns" || !(figure.value.is_finite() && figure.value > 0.0) {
        let Figure { name, value, unit, .. } = figure;
        return Err(PredictError::Figures(format!("{name} = {value} {unit} is not a time")));
    }
    Ok(Quantity { value: figure.value * 1e-9, dimension: Dimension::TIME })
}

#[cfg(test)]
mod tests;
