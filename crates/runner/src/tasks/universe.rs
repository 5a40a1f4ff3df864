//! A simulated world: one step for each release.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hemiola_rt::sys::team::Team;
use hemiola_scenario::{Task as Settings, UniverseSettings};
use hemiola_trace::EventKind;
use hemiola_trace::result::{CHECKPOINT, PHASE_ENDED, PHASES, REQUEST, Role, UniverseRun};
use hemiola_units::{Instant, Span};
use hemiola_world::{Code, History, Output, RunSoFar, Setup, SetupTexts, Workers, World};
use hemiola_world_lang::Sources;
use serde::Deserialize;
use serde_json::Value;

use super::{Body, Equipment, TaskKind, mismatch};
use crate::checkpoints::{self, Checkpoints};
use crate::compiler::Compiler;
use crate::control::universe::Pace;
use crate::live::Control;
use crate::modules::{Modules, module_run};
use crate::spec::NodeSpec;
use crate::task::{Job, Ports, Task, to_value};

pub(super) const KIND: TaskKind = TaskKind {
    is_in_cycle: true,
    paces: |_, _| true,
    equip: |supplies| Equipment::new(&supplies.scenario_folder, []),
    name_marks: |names| {
        for (mark, phase) in (PHASE_ENDED..).zip(PHASES) {
            names.insert(EventKind::Mark, mark, phase);
        }
        names.insert(EventKind::Mark, REQUEST, "request");
        names.insert(EventKind::Mark, CHECKPOINT, "checkpoint");
    },
    // A universe that was killed has sent no report.
    collect: |report, record| record.universes.extend(UniverseRun::deserialize(report)),
    ..TaskKind::new(Role::Universe, Body::Loop(prepare))
};

fn prepare(spec: &NodeSpec) -> Result<Box<dyn Task>, String> {
    let Settings::Universe(settings) = &spec.process.task else { return mismatch() };
    let folder: PathBuf = spec.facts()?;
    let sources = sources(&folder, settings)?;
    let setup = setup(&sources, settings)?;
    let modules = modules(&setup, &folder, settings)?;
    let mut world = setup
        .start(spec.run.seed, settings.entities_max as usize)
        .map_err(|error| error.to_string())?;
    // By default, half the period is left for everything else.
    let period = spec.run.variant.rate.period();
    modules.attach(&mut world, period / 2).map_err(|error| error.to_string())?;
    let universe = world.universe().name.clone();
    let record =
        UniverseRun { process: spec.process.name.clone(), universe, ..UniverseRun::default() };
    let (step, names) = (settings.step, texts(settings).names());
    let run = RunSoFar {
        definitions: vec![Arc::new(sources)],
        names: names.clone(),
        seconds: step.secs_f64(),
        ..RunSoFar::default()
    };
    let checkpoints = settings.checkpoint.as_ref().map(|file| {
        let every = settings.checkpoint_every.map(u64::from);
        Checkpoints::start(folder.join(file), every, &world, &run)
            .map_err(|error| format!("the thread that writes checkpoints: {error}"))
    });
    let (code, compiler) = compiled(&world, settings)?;
    let name = format!("{}/{}", spec.run.id, spec.process.name);
    let control = Control::start(&name, &world, names, compiler)
        .map_err(|error| format!("the control socket of the universe: {error}"))?;
    let deadline = spec.process.deadline;
    let pace = Pace { period: Some(spec.run.variant.rate.period()), ..Pace::default() };
    let (epoch, next_cycle) = (Instant::ZERO, 0);
    Ok(Box::new(Universe {
        world,
        workers: settings.workers,
        code,
        history: History::of(&run),
        run,
        checkpoints: checkpoints.transpose()?,
        step,
        deadline,
        control,
        pace,
        epoch,
        next_cycle,
        record,
        first_fault: None,
    }))
}

/// Code for the first definition, and what compiles those that follow, if this build can and the scenario lets it.
fn compiled(
    world: &World,
    settings: &UniverseSettings,
) -> Result<(Option<Code>, Option<Compiler>), String> {
    if settings.interpret {
        return Ok((None, None));
    }
    let mut compiler = Compiler::new(settings.workers as usize).map_err(|error| {
        format!("functions cannot be compiled: {error}; `interpret = true` needs no such memory")
    })?;
    let code = compiler.as_mut().map(|compiler| compiler.compile_all(world));
    Ok((code, compiler))
}

/// Whether the texts of a universe make a world; relative paths start in `folder`.
///
/// # Errors
/// The reason why they do not, in one sentence.
pub fn check_universe(folder: &Path, settings: &UniverseSettings) -> Result<(), String> {
    let setup = setup(&sources(folder, settings)?, settings)?;
    setup.fits(settings.entities_max as usize).map_err(|error| error.to_string())?;
    modules(&setup, folder, settings)?;
    settings.checkpoint.as_ref().map_or(Ok(()), |file| checkpoints::check(&folder.join(file)))
}

fn modules(setup: &Setup, folder: &Path, settings: &UniverseSettings) -> Result<Modules, String> {
    let modules = Modules::read(setup.universe(), &settings.module, folder);
    modules.map_err(|error| error.to_string())
}

fn setup(sources: &Sources, settings: &UniverseSettings) -> Result<Setup, String> {
    Setup::read(sources, &texts(settings)).map_err(|error| error.to_string())
}

fn sources(folder: &Path, settings: &UniverseSettings) -> Result<Sources, String> {
    let mut sources = Sources::default();
    for file in &settings.definition {
        let text = fs::read_to_string(folder.join(file))
            .map_err(|error| format!("{file} cannot be read: {error}"))?;
        sources.add(file.as_str(), text).map_err(|error| error.to_string())?;
    }
    Ok(sources)
}

fn texts(settings: &UniverseSettings) -> SetupTexts<'_> {
    let UniverseSettings { populate, monitor, birth, death, .. } = settings;
    SetupTexts { populate, monitor, birth, death }
}

struct Universe {
    world: World,
    /// Threads that carry out a step together.
    workers: u32,
    /// Compiled functions, until the workers are there.
    code: Option<Code>,
    history: History,
    /// What checkpoints keep, as it was before the first step.
    run: RunSoFar,
    checkpoints: Option<Checkpoints>,
    /// The simulated length of a step.
    step: Span,
    /// From a release.
    deadline: Span,
    /// What users ask while it runs.
    control: Control,
    pace: Pace,
    epoch: Instant,
    /// The cycle of the next step, if no release is skipped.
    next_cycle: u64,
    record: UniverseRun,
    first_fault: Option<FirstFault>,
}

/// The first update that had a fault: step, entity, fault.
type FirstFault = (u64, hemiola_world::EntityId, hemiola_world_lang::evaluate::Fault);

impl Task for Universe {
    fn start_threads(&mut self) -> Result<(), String> {
        let count = self.workers as usize;
        if count > 1 {
            let mut team = Team::new(count, "worker", || ())
                .map_err(|error| format!("{count} workers: a thread cannot start: {error}"))?;
            let run = move |count: usize, work: &(dyn Fn(usize) + Sync)| team.run(count, work);
            self.world.employ(Workers::new(count, Box::new(run)));
        }
        self.code.take().into_iter().for_each(|code| self.world.install(code));
        Ok(())
    }

    fn begin(&mut self, epoch: Instant) {
        self.epoch = epoch;
    }

    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        self.pace.skipped += job.cycle.saturating_sub(self.next_cycle);
        self.next_cycle = job.cycle + 1;
        let pace = Pace { elapsed: job.release - self.epoch, ..self.pace };
        let took =
            self.control.between_steps(&mut self.world, &mut self.history, || pace, || ports.now());
        if let Some(took) = took {
            let nanos = took.nanos().max(0) as u64;
            ports.mark(EventKind::Mark, REQUEST, self.record.steps, nanos);
        }
        let (number, first_fault) = (self.record.steps + 1, &mut self.first_fault);
        let control = &mut self.control;
        let (mut began, phases) = (ports.now(), &mut self.pace.phases);
        let report = self.world.step(
            self.step.secs_f64(),
            &mut |phase| {
                ports.mark(EventKind::Mark, PHASE_ENDED + phase as u16, number, 0);
                let now = ports.now();
                phases[phase as usize] += now - std::mem::replace(&mut began, now);
            },
            &mut |output| {
                if let Output::Fault { entity, fault, .. } = output {
                    first_fault.get_or_insert((number, entity, fault));
                }
                control.tell(number, output);
            },
        );
        control.after_step(&self.world);
        self.record.steps = number;
        self.record.births += report.births;
        self.record.unborn += report.unborn;
        self.record.deaths += report.deaths;
        self.record.faults += report.faults;
        self.take_checkpoint(ports);
        self.pace.late += u64::from(ports.now() > job.release + self.deadline);
    }

    fn close(&mut self, _: &mut dyn Ports) {
        if let Some(mut checkpoints) = self.checkpoints.take() {
            checkpoints.close(&self.world, &self.run_so_far());
            self.checkpoints = Some(checkpoints);
        }
    }

    fn report(&self) -> Value {
        to_value(&UniverseRun {
            step: self.step,
            entities: self.world.len() as u64,
            first_fault: self.first_fault_text(),
            monitors: self.control.monitors(&self.world, &self.history),
            modules: self.world.modules().map(module_run).collect(),
            compiled: self.world.is_compiled(),
            interpreted: self.world.interpreted(),
            redefinitions: self.control.redefinitions.clone(),
            checkpoints: self.checkpoints.as_ref().map(Checkpoints::outcome),
            ..self.record.clone()
        })
    }
}

impl Universe {
    fn take_checkpoint(&mut self, ports: &mut dyn Ports) {
        let Some(mut checkpoints) = self.checkpoints.take() else { return };
        let note = || self.run_so_far();
        let took = checkpoints.after_step(&self.world, note, &mut || ports.now());
        self.checkpoints = Some(checkpoints);
        if let Some(took) = took {
            let nanos = took.nanos().max(0) as u64;
            ports.mark(EventKind::Mark, CHECKPOINT, self.record.steps, nanos);
        }
    }

    /// What a checkpoint keeps besides the world.
    fn run_so_far(&self) -> RunSoFar {
        let UniverseRun { births, unborn, deaths, faults, .. } = self.record;
        let first_fault = self.first_fault_text();
        let mut run = RunSoFar { births, unborn, deaths, faults, first_fault, ..self.run.clone() };
        self.history.note(&mut run);
        run
    }

    fn first_fault_text(&self) -> Option<String> {
        let (step, entity, fault) = self.first_fault?;
        Some(format!("step {step}, {}: {fault}", self.world.name(entity)))
    }
}

#[cfg(test)]
mod tests {
    use hemiola_world::Phase;

    use super::*;

    #[test]
    fn the_marks_are_named_after_the_phases_of_a_step() {
        assert_eq!(Phase::ALL.map(Phase::name), PHASES);
        assert_eq!(Phase::ALL.map(|phase| phase as usize), [0, 1, 2, 3, 4]);
    }
}
