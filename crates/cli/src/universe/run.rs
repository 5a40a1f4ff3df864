//! `hemiola universe run`: a universe in steps, as fast as possible, and what they cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use hemiola_report::json::pretty;
use hemiola_report::table::Table;
use hemiola_report::text::counted;
use hemiola_report::{terminal, text};
use hemiola_rt::sys::team::Team;
use hemiola_runner::compiler::Compiler;
use hemiola_runner::modules::{MODULE_DEADLINE, Modules, module_run};
use hemiola_stats::{Distribution, Stream};
use hemiola_trace::result::{ModuleRun, MonitorRun};
use hemiola_units::Span;
use hemiola_world::{
    ModuleStatus, Output, Phase, RunSoFar, Setup, SetupError, SetupPart, SetupTexts, Workers, World,
};
use hemiola_world_lang::definition::{Type, Value};
use hemiola_world_lang::value_text;
use serde::Serialize;

use super::ask::{module_table, monitor_table};
use super::checkpoint::{Checkpoints, CheckpointsMade, resumed};
use super::redefine::{Redefined, Redefinitions};
use super::{read, refused};
use crate::args::UniverseRun;
use crate::diagnostics::Failure;

/// Entities of the text whose properties are printed; JSON has all of them.
const ENTITIES_SHOWN: usize = 12;

pub(crate) fn run(args: &UniverseRun) -> Result<ExitCode, Failure> {
    if !(args.dt.is_finite() && args.dt > 0.0) {
        let message =
            format!("error: --dt is {}; it must be above 0 s and finite", seconds(args.dt));
        return Err(Failure::bad_input(message));
    }
    let (mut world, run) = match &args.resume {
        Some(file) => resumed(file)?,
        None => started(args)?,
    };
    let texts = world.modules_to_attach().into_iter().map(|module| module.text);
    attach(&mut world, &texts.chain(args.module.iter().cloned()).collect::<Vec<_>>())?;
    if world.steps() >= args.steps {
        let (made, steps) = (world.steps(), args.steps);
        let message = format!("error: --steps is {steps}, and the checkpoint is of step {made}");
        return Err(Failure::bad_input(message + "\nhint: --steps counts from the first step"));
    }
    if args.workers > 1 {
        world.employ(workers(args.workers.into())?);
    }
    let mut compiler = compiler(args)?;
    if let Some(compiler) = &mut compiler {
        let code = compiler.compile_all(&world);
        world.install(code);
    }
    let redefinitions = Redefinitions::of(args, &world, &run, compiler)?;
    let checkpoints = Checkpoints::of(args)?;
    let report = Report::of(&mut world, args.steps, redefinitions, checkpoints, run);
    if args.json {
        print!("{}", pretty(&report));
    } else {
        print!("{}", report.text());
    }
    let failed = report.checkpoints.and_then(|checkpoints| checkpoints.failure);
    let failure = report.ended_early.or(failed);
    failure.map_or(Ok(ExitCode::SUCCESS), |reason| Err(Failure::failed(reason)))
}

/// The world of the texts, before its first step.
fn started(args: &UniverseRun) -> Result<(World, RunSoFar), Failure> {
    let sources = read(&args.files)?;
    let UniverseRun { populate, monitor, birth, death, .. } = args;
    let texts = SetupTexts { populate, monitor, birth, death };
    let setup = Setup::read(&sources, &texts);
    let world = setup.and_then(|setup| setup.start(args.seed, args.entities_max as usize));
    let run = RunSoFar {
        definitions: vec![Arc::new(sources)],
        names: texts.names(),
        seconds: args.dt,
        ..RunSoFar::default()
    };
    Ok((world.map_err(unsound)?, run))
}

/// What compiles the functions of the universe, if this build can and the options let it.
fn compiler(args: &UniverseRun) -> Result<Option<Compiler>, Failure> {
    if args.interpret {
        return Ok(None);
    }
    Compiler::new(usize::from(args.workers)).map_err(|error| {
        let message = format!("error: functions cannot be compiled: {error}");
        Failure::failed(message + "\nhint: --interpret needs no such memory")
    })
}

/// Has modules compute their elements; paths start in the folder of this process.
fn attach(world: &mut World, texts: &[String]) -> Result<(), Failure> {
    let modules = Modules::read(world.universe(), texts, Path::new(""));
    let attached = modules.and_then(|modules| modules.attach(world, MODULE_DEADLINE));
    attached.map_err(|error| Failure::bad_input(format!("error: {error}")))
}

/// So many threads, this one among them.
fn workers(count: usize) -> Result<Workers, Failure> {
    let team = Team::new(count, "worker", || ());
    let mut team = team.map_err(|error| {
        Failure::failed(format!("error: --workers {count}: a thread cannot start: {error}"))
    })?;
    Ok(Workers::new(count, Box::new(move |count, work| team.run(count, work))))
}

/// A number of seconds, however large or small it is.
fn seconds(number: f64) -> String {
    let is_readable = number == 0.0 || (1e-6..1e9).contains(&number.abs());
    if is_readable { number.to_string() } else { format!("{number:e}") }
}

fn unsound(error: SetupError) -> Failure {
    match error {
        SetupError::Problems { problems, sources } => refused(&problems, &sources),
        SetupError::Text { part, text, reason } => {
            let option = match part {
                SetupPart::Population => "--populate",
                SetupPart::Monitor => "--monitor",
                SetupPart::Birth => "--birth",
                SetupPart::Death => "--death",
            };
            let form = part.form();
            Failure::bad_input(format!(
                "error: {option} '{text}': {reason}\nhint: the form is {form}"
            ))
        }
        SetupError::TooMany { count, at_most } => Failure::bad_input(format!(
            "error: the text and --populate have {}, but --entities-max is {at_most}\nhint: populate fewer, or allow \
             more with --entities-max {count}",
            counted(count, "entity")
        )),
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
    births: u64,
    /// Births for which there was no room.
    unborn: u64,
    deaths: u64,
    /// Of the steps that this run made.
    elapsed_s: f64,
    steps_per_s: f64,
    /// Updates that had a fault.
    faults: u64,
    first_fault: Option<String>,
    /// ns of each phase, by its name.
    phases: Vec<PhaseTime>,
    redefinitions: Vec<Redefined>,
    checkpoints: Option<CheckpointsMade>,
    monitors: Vec<MonitorRun>,
    /// Whether functions are compiled, where they can be.
    compiled: bool,
    /// Why some functions of the last definition stay interpreted.
    interpreted: Vec<String>,
    modules: Vec<ModuleRun>,
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
    fn of(
        world: &mut World,
        steps: u64,
        mut redefinitions: Redefinitions,
        mut checkpoints: Option<Checkpoints>,
        mut run: RunSoFar,
    ) -> Self {
        let mut streams: [Stream; Phase::ALL.len()] = Default::default();
        let mut phases = [Span::ZERO; Phase::ALL.len()];
        let (first, mut ended_early) = (world.steps() + 1, None);
        let began = Instant::now();
        let mut last = began;
        for number in first..=steps {
            let mut ended = |phase: Phase| {
                let now = Instant::now();
                let ns = (now - last).as_nanos() as u64;
                streams[phase as usize].push(ns);
                phases[phase as usize] += Span::from_nanos(ns as i64);
                last = now;
            };
            let mut fault = None;
            let report = world.step(run.seconds, &mut ended, &mut |output| {
                if let Output::Fault { entity, fault: found, .. } = output {
                    fault.get_or_insert((entity, found));
                }
                redefinitions.tell(number, output);
            });
            run.count(&report);
            if report.module_faults > 0 {
                warn_of_modules(world, number);
            }
            if let (None, Some((entity, fault))) = (&run.first_fault, fault) {
                run.first_fault = Some(format!("step {number}, {}: {fault}", world.name(entity)));
            }
            ended_early = redefinitions.after(number, world, phases).err();
            let is_last = number == steps || ended_early.is_some();
            if let Some(checkpoints) = &mut checkpoints
                && checkpoints.is_due(number, is_last)
            {
                redefinitions.note(&mut run);
                checkpoints.write(world, &run);
            }
            last = Instant::now();
            if ended_early.is_some() {
                break;
            }
        }
        let elapsed_s = (last - began).as_secs_f64();
        let steps = world.steps();
        let phases = Phase::ALL.iter().zip(&streams);
        Self {
            universe: world.universe().name.clone(),
            steps,
            ended_early,
            dt_s: run.seconds,
            entities: world.len(),
            births: run.births,
            unborn: run.unborn,
            deaths: run.deaths,
            elapsed_s,
            steps_per_s: (steps + 1 - first) as f64 / elapsed_s.max(1e-9),
            faults: run.faults,
            first_fault: run.first_fault,
            phases: phases
                .map(|(phase, stream)| PhaseTime { name: phase.name(), ns: stream.distribution() })
                .collect(),
            monitors: redefinitions.monitors(world),
            modules: world.modules().map(module_run).collect(),
            redefinitions: redefinitions.into_done(),
            checkpoints: checkpoints.map(Checkpoints::made),
            compiled: world.is_compiled(),
            interpreted: world.interpreted(),
            named: named(world),
        }
    }

    fn text(&self) -> String {
        let Self { universe, steps, dt_s, entities, .. } = self;
        let rate = self.steps_per_s;
        let mut parts = vec![format!(
            "universe {universe}: {}, {} of {} s in {} ({rate:.0} steps/s)",
            counted(*entities as u64, "entity"),
            counted(*steps, "step"),
            seconds(*dt_s),
            text::duration(self.elapsed_s * 1e9),
        )];
        if self.births + self.unborn + self.deaths > 0 {
            parts.push(self.births_text());
        }
        if let Some(checkpoints) = &self.checkpoints {
            parts.push(checkpoints.text());
        }
        parts.push(terminal::table(&self.phase_table()));
        if !self.redefinitions.is_empty() {
            parts.push(terminal::table(&self.redefinition_table()));
        }
        if !self.monitors.is_empty() {
            parts.push(terminal::table(&monitor_table(&self.monitors)));
        }
        if !self.modules.is_empty() {
            parts.push(terminal::table(&module_table(&self.modules)));
        }
        if !self.named.is_empty() {
            parts.push(terminal::table(&self.named_table()));
        }
        if !self.interpreted.is_empty() {
            parts.push(self.interpreted.join("\n"));
        }
        if let Some(first) = &self.first_fault {
            let faults = counted(self.faults, "update");
            let as_it_was = if self.faults == 1 { "its row" } else { "their rows" };
            parts.push(format!(
                "{faults} had a fault and left {as_it_was} unchanged; the first in {first}"
            ));
        }
        parts.join("\n\n") + "\n"
    }

    fn births_text(&self) -> String {
        let no_room = match self.unborn {
            0 => String::new(),
            unborn => {
                format!("; no room for {}, see --entities-max", counted(unborn, "more birth"))
            }
        };
        format!("{}, {}{no_room}", counted(self.births, "birth"), counted(self.deaths, "death"))
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
            let predicted = run.predicted_ns.map_or(text::NONE.to_owned(), micros);
            let (bytes, delay) = (text::count(run.bytes), micros(run.delay_ns));
            vec![behind, run.what.clone(), entities, ended, check, bytes, predicted, delay, plan]
        };
        let heads = [
            "after step",
            "definition",
            "entities",
            "ended monitors",
            "check µs",
            "bytes",
            "writing them, predicted µs",
            "delay µs",
            "steps of the plan",
        ];
        let rows = self.redefinitions.iter().map(row).collect();
        Table::new("Redefinitions", heads, rows).with_prose(&[1, 3, 8]).with_note(
            "ended monitors: the definition does not have their properties or constraint; check: reading the texts, \
             before the first step; bytes: written in columns; predicted: the time for them, from the plan and the \
             numbers of rows; delay: what the next step waited for. It includes the exchange of the definition, whose \
             time depends on the texts and monitors and is not predicted.",
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

/// Strikes of each module that are told when they happen; the report counts all of them.
const STRIKES_TOLD: u32 = 3;

/// Tells which modules failed in a step.
fn warn_of_modules(world: &World, step: u64) {
    let failure = format!("step {step}: ");
    for ModuleStatus { text, last, strikes, evicted, .. } in world.modules() {
        let Some(last) = last.as_ref().filter(|last| last.starts_with(&failure)) else { continue };
        match evicted {
            Some(_) => eprintln!("warning: module {text}: {last}; strike {strikes}: it is evicted"),
            None if *strikes <= STRIKES_TOLD => {
                eprintln!("warning: module {text}: {last}; strike {strikes}");
            }
            None => {}
        }
    }
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
