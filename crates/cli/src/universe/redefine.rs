//! Redefinitions of a universe that runs: those of the command line, each after a step, or those that users ask for.
//!
//! Texts and their order are checked before the first step, so only the state of the world can refuse one later.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_runner::RunId;
use hemiola_runner::compiler::Compiler;
use hemiola_runner::control::universe::Pace;
use hemiola_runner::live::{Control, monitor_run, rates, redefinition_run};
use hemiola_trace::result::{MonitorRun, RedefinitionRun};
use hemiola_units::{Instant, Span};
use hemiola_world::{
    Desk, Event, History, MonitorId, Order, Output, Phase, Rates, Reply, Request, RunSoFar, Turn,
    World,
};
use hemiola_world_lang::definition::Universe;
use hemiola_world_plan::{Missing, missing_text};
use serde::Serialize;

use super::read;
use crate::args::UniverseRun;
use crate::diagnostics::Failure;

/// What becomes of the definition after which step.
pub(super) struct Redefinitions {
    /// By step, in order.
    due: BTreeMap<u64, Vec<Action>>,
    history: History,
    /// The names of the monitors.
    monitors: Vec<String>,
    done: Vec<Redefined>,
    /// With `--listen`.
    control: Option<Control>,
    compiler: Option<Compiler>,
    /// How fast this machine redefines worlds, if the command line asks for it.
    rates: Option<Rates>,
    began: Instant,
}

/// A redefinition or a return that is possible as far as the texts tell.
struct Action {
    order: Order,
    /// The desk that gave the order.
    desk: Desk,
    check: Span,
}

/// A redefinition or a return that happened.
#[derive(Serialize)]
pub(super) struct Redefined {
    #[serde(flatten)]
    pub(super) run: RedefinitionRun,
    /// Reading, checking and compiling the texts, before the first step; unknown if a user asked for it.
    pub(super) check_ns: Option<u64>,
}

impl Redefinitions {
    /// Reads and checks what the command line asks for, before the next step of a world and its run.
    pub(super) fn of(
        args: &UniverseRun,
        world: &World,
        run: &RunSoFar,
        compiler: Option<Compiler>,
    ) -> Result<Self, Failure> {
        let monitors = run.names.clone();
        let present = Arc::clone(world.universe());
        let mut line = Line { present, former: None, compiler: compiler.clone() };
        let mut due: BTreeMap<u64, Vec<Action>> = BTreeMap::new();
        for (step, files) in stated(args, world.steps())? {
            let action = match files {
                Some(files) => line.redefine(step, &files)?,
                None => line.roll_back(step)?,
            };
            due.entry(step).or_default().push(action);
        }
        let control =
            args.listen.then(|| listen(world, &monitors, compiler.clone())).transpose()?;
        let rates = (!due.is_empty()).then(|| rates(compiler.as_ref()));
        let (history, began) = (History::of(run), MonotonicClock.now());
        Ok(Self { due, history, monitors, done: Vec::new(), control, compiler, rates, began })
    }

    /// Tells managers what the step of this number tells.
    pub(super) fn tell(&mut self, step: u64, output: Output<'_>) {
        if let Some(control) = &mut self.control {
            control.tell(step, output);
        }
    }

    /// Does what is due after a step. `phases` is the time in each phase so far.
    ///
    /// # Errors
    /// If the state of the world does not allow it. The world keeps its definition.
    pub(super) fn after(
        &mut self,
        step: u64,
        world: &mut World,
        phases: [Span; Phase::ALL.len()],
    ) -> Result<(), String> {
        if let Some(control) = &mut self.control {
            control.after_step(world);
        }
        for action in self.due.remove(&step).unwrap_or_default() {
            self.carry_out(step, action, world)?;
        }
        // Behind them, because managers are told of another definition before they are told rows of it.
        if let Some(control) = &mut self.control {
            let elapsed = || MonotonicClock.now() - self.began;
            let pace = || Pace { elapsed: elapsed(), phases, ..Pace::default() };
            control.between_steps(world, &mut self.history, pace, || MonotonicClock.now());
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        step: u64,
        Action { order, mut desk, check }: Action,
        world: &mut World,
    ) -> Result<(), String> {
        let began = MonotonicClock.now();
        let outcome = self.history.carry_out(world, order, &mut |_| {});
        let delay = MonotonicClock.now() - began;
        if let Event::Changed(Ok(changed)) = &outcome.event {
            if let Some(compiler) = &mut self.compiler
                && !changed.uncompiled.is_empty()
            {
                world.install(compiler.compile(&changed.uncompiled));
            }
            let name = |id: MonitorId| self.monitors.get(id.0 as usize).cloned();
            let name = |id| name(id).unwrap_or_else(|| "manager".to_owned());
            let run = redefinition_run(changed, step, delay, self.rates.as_ref(), name);
            self.done.push(Redefined { run, check_ns: Some(check.nanos().max(0) as u64) });
        }
        match desk.done(outcome, delay) {
            Reply::Refused(text) => Err(format!("after step {step}: {text}")),
            _ => Ok(()),
        }
    }

    /// Writes what became of definitions and monitors into the run, before a checkpoint.
    pub(super) fn note(&self, run: &mut RunSoFar) {
        self.history.note(run);
    }

    /// What became of the rows of each monitor, which may have ended.
    pub(super) fn monitors(&self, world: &World) -> Vec<MonitorRun> {
        if let Some(control) = &self.control {
            return control.monitors(world, &self.history);
        }
        let named = (0..).map(MonitorId).zip(&self.monitors);
        let run = |(id, name): (MonitorId, &String)| {
            let row_len = world.row_len(id).unwrap_or_default();
            monitor_run(name, self.history.counts(world, id), row_len)
        };
        named.map(run).collect()
    }

    /// All that happened.
    pub(super) fn into_done(self) -> Vec<Redefined> {
        let asked = self.control.into_iter().flat_map(|control| control.redefinitions);
        let asked = asked.map(|run| Redefined { run, check_ns: None });
        self.done.into_iter().chain(asked).collect()
    }
}

/// Serves the universe under a new name.
fn listen(
    world: &World,
    monitors: &[String],
    compiler: Option<Compiler>,
) -> Result<Control, Failure> {
    let name = format!("{}/{}", RunId::new(), world.universe().name);
    let control = Control::start(&name, world, monitors.to_vec(), compiler)
        .map_err(|error| Failure::failed(format!("the control socket of the universe: {error}")))?;
    eprintln!("serving `hemiola universe status --run {name}`");
    Ok(control)
}

/// A step and the texts of the definition that follows it; none for a return.
type Stated = (u64, Option<Vec<PathBuf>>);

/// What the command line asks for after the steps made so far, in order. After one step, redefinitions come before
/// returns.
fn stated(args: &UniverseRun, made: u64) -> Result<Vec<Stated>, Failure> {
    let redefinition = |text: &String| {
        let (step, files) = text.split_once(':')?;
        let files = files.split(',').map(PathBuf::from).collect();
        Some((step.parse().ok()?, Some(files)))
    };
    let mut stated = Vec::new();
    for text in &args.redefine {
        stated.push(redefinition(text).ok_or_else(|| {
            let message = format!("error: --redefine \"{text}\" is not STEP:FILE");
            Failure::bad_input(message + "\nhint: such as 500:new.uml")
        })?);
    }
    stated.extend(args.roll_back.iter().map(|step| (*step, None)));
    stated.sort_by_key(|(step, _)| *step);
    let (first, last) = (made + 1, args.steps);
    match stated.iter().find(|(step, _)| !(first..=last).contains(step)) {
        Some((step, _)) => {
            let message =
                format!("error: there is no step {step}: the run has the steps {first} to {last}");
            Err(Failure::bad_input(message))
        }
        None => Ok(stated),
    }
}

/// The definitions that follow each other.
struct Line {
    present: Arc<Universe>,
    former: Option<Former>,
    compiler: Option<Compiler>,
}

/// A definition to which a return is possible.
struct Former {
    /// The step before the redefinition.
    step: u64,
    universe: Arc<Universe>,
    /// Properties that have no value after a return.
    missing: Vec<Missing>,
}

impl Line {
    fn redefine(&mut self, step: u64, files: &[PathBuf]) -> Result<Action, Failure> {
        let began = MonotonicClock.now();
        let sources = read(files)?;
        let action = self.action(step, Request::Apply(sources), began)?;
        if let Order::Redefine { revision, .. } = &action.order {
            let universe = std::mem::replace(&mut self.present, Arc::clone(revision.after()));
            let missing = revision.plan().back.missing.clone();
            self.former = Some(Former { step, universe, missing });
        }
        Ok(action)
    }

    fn roll_back(&mut self, step: u64) -> Result<Action, Failure> {
        let former = self.former.take().ok_or_else(|| {
            let message = format!("error: --roll-back {step}: there is no definition to return to");
            Failure::bad_input(message + "\nhint: put a --redefine before each return")
        })?;
        // Before the next step, a return is the exchange itself and converts nothing.
        if step > former.step && !former.missing.is_empty() {
            let text =
                missing_text(&format!("--roll-back {step} is not possible"), &former.missing);
            return Err(Failure::bad_input(format!("error: {}", text.trim_end())));
        }
        let action = self.action(step, Request::RollBack, MonotonicClock.now());
        self.present = former.universe;
        action
    }

    /// The order of a desk for the present definition.
    fn action(&mut self, step: u64, request: Request, began: Instant) -> Result<Action, Failure> {
        let mut desk = Desk::new(Arc::clone(&self.present));
        match desk.ask(request) {
            Turn::Order(mut order) => {
                if let Some(compiler) = &mut self.compiler {
                    compiler.complete(&mut order);
                }
                let check = MonotonicClock.now() - began;
                Ok(Action { order, desk, check })
            }
            Turn::Answer(Reply::Unsound(text)) => Err(Failure::bad_input(text)),
            Turn::Answer(Reply::Refused(text)) => {
                Err(Failure::bad_input(format!("error: after step {step}: {text}")))
            }
            Turn::Answer(reply) => unreachable!("a change has no such answer: {reply:?}"),
        }
    }
}
