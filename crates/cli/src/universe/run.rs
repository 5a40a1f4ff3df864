//! `hemiola universe run`: a universe in steps, as fast as possible, and what they cost.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use hemiola_report::json::pretty;
use hemiola_report::table::Table;
use hemiola_report::{terminal, text};
use hemiola_runner::live::monitor_run;
use hemiola_stats::{Distribution, Stream};
use hemiola_trace::result::MonitorRun;
use hemiola_world::{MonitorId, Output, Phase, Setup, SetupError, SetupPart, World};
use hemiola_world_lang::definition::{Type, Value};
use hemiola_world_lang::value_text;
use serde::Serialize;

use super::ask::monitor_table;
use super::redefine::{Redefined, Redefinitions};
use super::{read, refused};
use crate::args::UniverseRun;
use crate::diagnostics::Failure;

/// Entities of the text whose properties are printed; JSON has all of them.
const ENTITIES_SHOWN: usize = 12;

pub(crate) fn run(args: &UniverseRun) -> Result<ExitCode, Failure> {
    if !(args.dt.is_finite() && args.dt > 0.0) {
        let message = format!("error: --dt is {}; it must be above 0 s and finite", args.dt);
        return Err(Failure::bad_input(message));
    }
    let sources = read(&args.files)?;
    let setup = Setup::read(&sources, &args.populate, &args.monitor);
    let mut world = setup.and_then(|setup| setup.start(args.seed)).map_err(unsound)?;
    let redefinitions = Redefinitions::of(args, &world)?;
    let report = Report::of(&mut world, args, redefinitions);
    if args.json {
        print!("{}", pretty(&report));
    } else {
        print!("{}", report.text());
    }
    report.ended_early.map_or(Ok(ExitCode::SUCCESS), |reason| Err(Failure::failed(reason)))
}

fn unsound(error: SetupError) -> Failure {
    match error {
        SetupError::Problems { problems, sources } => refused(&problems, &sources),
        SetupError::Text { part, text, reason } => {
            let option = match part {
                SetupPart::Population => "--populate",
                SetupPart::Monitor => "--monitor",
            };
            let form = part.form();
            Failure::bad_input(format!(
                "error: {option} '{text}': {reason}\nhint: the form is {form}"
            ))
        }
        SetupError::Universes(_) => Failure::bad_input(format!("error: {error}")),
        _ => Failure::failed(error),
    }
}

/// What became of the steps.
#[derive(Serialize)]
struct Report {
    universe: String,
    /// Those that were made.
    steps: u64,
    /// Why the run ended before its last step: the state of the world refused a redefinition.
    ended_early: Option<String>,
    /// Simulated length of a step.
    dt_s: f64,
    /// At the end.
    entities: usize,
    elapsed_s: f64,
    steps_per_s: f64,
    /// Updates that had a fault.
    faults: u64,
    first_fault: Option<String>,
    /// ns of each phase, by its name.
    phases: Vec<PhaseTime>,
    redefinitions: Vec<Redefined>,
    monitors: Vec<MonitorRun>,
    /// Those that the text names, at the end.
    named: Vec<Named>,
}

#[derive(Serialize)]
struct PhaseTime {
    name: &'static str,
    ns: Option<Distribution>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    element: String,
    /// Values in SI units, as the language writes them.
    properties: BTreeMap<String, String>,
}

impl Report {
    /// Makes the steps.
    fn of(world: &mut World, args: &UniverseRun, mut redefinitions: Redefinitions) -> Self {
        let mut streams: [Stream; Phase::ALL.len()] = Default::default();
        let (mut faults, mut first_fault) = (0, None);
        let mut ended_early = None;
        let began = Instant::now();
        let mut last = began;
        for number in 1..=args.steps {
            let mut ended = |phase: Phase| {
                let now = Instant::now();
                streams[phase as usize].push((now - last).as_nanos() as u64);
                last = now;
            };
            let report = world.step(args.dt, &mut ended, &mut |output| {
                if let Output::Fault { entity, fault, .. } = output
                    && first_fault.is_none()
                {
                    first_fault = Some((number, entity, fault));
                }
            });
            faults += report.faults;
            ended_early = redefinitions.after(number, world, &args.monitor).err();
            last = Instant::now();
            if ended_early.is_some() {
                break;
            }
        }
        let elapsed_s = (last - began).as_secs_f64();
        let first_fault = first_fault
            .map(|(step, entity, fault)| format!("step {step}, {}: {fault}", world.name(entity)));
        let phases = Phase::ALL.iter().zip(&streams);
        let steps = world.steps();
        Self {
            universe: world.universe().name.clone(),
            steps,
            ended_early,
            dt_s: args.dt,
            entities: world.len(),
            elapsed_s,
            steps_per_s: steps as f64 / elapsed_s.max(1e-9),
            faults,
            first_fault,
            phases: phases
                .map(|(phase, stream)| PhaseTime { name: phase.name(), ns: stream.distribution() })
                .collect(),
            monitors: monitors(world, &redefinitions, &args.monitor),
            redefinitions: redefinitions.into_done(),
            named: named(world),
        }
    }

    fn text(&self) -> String {
        let Self { universe, steps, dt_s, entities, .. } = self;
        let rate = self.steps_per_s;
        let mut parts = vec![format!(
            "universe {universe}: {} entities, {} steps of {dt_s} s in {} ({rate:.0} steps/s)",
            text::count(*entities as u64),
            text::count(*steps),
            text::duration(self.elapsed_s * 1e9),
        )];
        parts.push(terminal::table(&self.phase_table()));
        if !self.redefinitions.is_empty() {
            parts.push(terminal::table(&self.redefinition_table()));
        }
        if !self.monitors.is_empty() {
            parts.push(terminal::table(&monitor_table(&self.monitors)));
        }
        if !self.named.is_empty() {
            parts.push(terminal::table(&self.named_table()));
        }
        if let Some(first) = &self.first_fault {
            let faults = text::count(self.faults);
            parts.push(format!(
                "{faults} updates had a fault and left their row as it was; the first in {first}"
            ));
        }
        parts.join("\n\n") + "\n"
    }

    fn phase_table(&self) -> Table {
        let row = |phase: &PhaseTime| {
            let ns = phase.ns.clone().unwrap_or_default();
            let total = ns.mean * ns.count as f64;
            let micros = [ns.mean, ns.p50 as f64, ns.p99 as f64, ns.max as f64].map(text::micros);
            let share = text::percent(total / (self.elapsed_s * 1e9).max(1.0));
            [vec![phase.name.to_owned()], micros.to_vec(), vec![share]].concat()
        };
        let heads = ["phase", "mean µs", "p50", "p99", "max", "share"];
        Table::new("Phases of a step", heads, self.phases.iter().map(row).collect())
    }

    fn redefinition_table(&self) -> Table {
        let row = |Redefined { run, check_ns }: &Redefined| {
            let micros = |ns: u64| text::micros(ns as f64);
            let check = check_ns.map_or(text::NONE.to_owned(), micros);
            let list = |parts: &[String]| match parts {
                [] => text::NONE.to_owned(),
                parts => parts.join("; "),
            };
            let (ended, plan) = (list(&run.ended), list(&run.plan));
            let (behind, entities) = (text::count(run.behind), text::count(run.entities));
            vec![behind, run.what.clone(), entities, ended, check, micros(run.delay_ns), plan]
        };
        let heads = [
            "after step",
            "definition",
            "entities",
            "ended monitors",
            "check µs",
            "delay µs",
            "steps of the plan",
        ];
        let rows = self.redefinitions.iter().map(row).collect();
        Table::new("Redefinitions", heads, rows).with_prose(&[1, 3, 6]).with_note(
            "ended monitors: the definition does not have their properties or constraint; check: reading the texts, \
             before the first step; delay: what the next step waits for.",
        )
    }

    fn named_table(&self) -> Table {
        let cells = |named: &Named| {
            let properties = named.properties.iter();
            let values: Vec<String> =
                properties.map(|(name, value)| format!("{name} = {value}")).collect();
            vec![named.name.clone(), named.element.clone(), values.join("  ")]
        };
        let rows = self.named.iter().take(ENTITIES_SHOWN).map(cells).collect();
        let heads = ["entity", "element", "properties at the end, in SI units"];
        Table::new("Entities of the text", heads, rows).with_prose(&[1, 2])
    }
}

fn monitors(world: &World, redefinitions: &Redefinitions, texts: &[String]) -> Vec<MonitorRun> {
    let counted = (0..).map(MonitorId).zip(texts);
    counted.map(|(id, text)| monitor_run(text, redefinitions.counts(world, id))).collect()
}

fn named(world: &World) -> Vec<Named> {
    let universe = world.universe();
    let named = world.named().filter_map(|id| {
        let Some(Value::Row(values)) = world.row(id) else { return None };
        let element = &universe.elements[world.element(id)?.index()];
        let with_value = element.properties.iter().zip(&values);
        let shown = with_value.filter(|(property, _)| !matches!(property.ty, Type::Element(_)));
        let properties =
            shown.map(|(property, value)| (property.name.clone(), value_text(value))).collect();
        Some(Named { name: world.name(id), element: element.name.clone(), properties })
    });
    named.collect()
}
