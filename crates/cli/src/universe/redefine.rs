//! Redefinitions of a universe that runs: those of the command line, each after a step, or those that users ask for.
//!
//! Texts and their order are checked before the first step, so only the state of the world can refuse one later.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_runner::RunId;
use hemiola_runner::control::universe::Pace;
use hemiola_runner::live::{Control, redefinition_run};
use hemiola_trace::result::RedefinitionRun;
use hemiola_units::{Instant, Span};
use hemiola_world::{
    Desk, Event, History, MonitorCounts, MonitorId, Order, Reply, Request, Turn, World,
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
    done: Vec<Redefined>,
    /// With `--listen`.
    control: Option<Control>,
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
    /// Reading and checking the texts, before the first step; unknown if a user asked for it.
    pub(super) check_ns: Option<u64>,
}

impl Redefinitions {
    /// Reads and checks what the command line asks for. `world` has the definition of the first step.
    pub(super) fn of(args: &UniverseRun, world: &World) -> Result<Self, Failure> {
        let mut line = Line { present: Arc::clone(world.universe()), former: None };
        let mut due: BTreeMap<u64, Vec<Action>> = BTreeMap::new();
        for (step, files) in stated(args)? {
            let action = match files {
                Some(files) => line.redefine(step, &files)?,
                None => line.roll_back(step)?,
            };
            due.entry(step).or_default().push(action);
        }
        let control = args.listen.then(|| listen(world, &args.monitor)).transpose()?;
        let (history, began) = (History::default(), MonotonicClock.now());
        Ok(Self { due, history, done: Vec::new(), control, began })
    }

    /// Does what is due after a step. `monitors` are the texts of the monitors.
    ///
    /// # Errors
    /// If the state of the world does not allow it. The world keeps its definition.
    pub(super) fn after(
        &mut self,
        step: u64,
        world: &mut World,
        monitors: &[String],
    ) -> Result<(), String> {
        if let Some(control) = &mut self.control {
            let pace = || Pace { elapsed: MonotonicClock.now() - self.began, ..Pace::default() };
            control.between_steps(world, &mut self.history, pace, || MonotonicClock.now());
        }
        for action in self.due.remove(&step).unwrap_or_default() {
            self.carry_out(step, action, world, monitors)?;
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        step: u64,
        Action { order, mut desk, check }: Action,
        world: &mut World,
        monitors: &[String],
    ) -> Result<(), String> {
        let began = MonotonicClock.now();
        let outcome = self.history.carry_out(world, order, &mut |_| {});
        let delay = MonotonicClock.now() - began;
        if let Event::Changed(Ok(changed)) = &outcome.event {
            let run = redefinition_run(changed, step, delay, monitors);
            self.done.push(Redefined { run, check_ns: Some(check.nanos().max(0) as u64) });
        }
        match desk.done(outcome, delay) {
            Reply::Refused(text) => Err(format!("after step {step}: {text}")),
            _ => Ok(()),
        }
    }

    /// What became of the rows of a monitor, which may have ended.
    pub(super) fn counts(&self, world: &World, monitor: MonitorId) -> MonitorCounts {
        self.history.counts(world, monitor)
    }

    /// All that happened.
    pub(super) fn into_done(self) -> Vec<Redefined> {
        let asked = self.control.into_iter().flat_map(|control| control.redefinitions);
        let asked = asked.map(|run| Redefined { run, check_ns: None });
        self.done.into_iter().chain(asked).collect()
    }
}

/// Serves the universe under a new name.
fn listen(world: &World, monitors: &[String]) -> Result<Control, Failure> {
    let name = format!("{}/{}", RunId::new(), world.universe().name);
    let control = Control::start(&name, world, monitors.to_vec())
        .map_err(|error| Failure::failed(format!("the control socket of the universe: {error}")))?;
    eprintln!("serving `hemiola universe status --run {name}`");
    Ok(control)
}

/// A step and the texts of the definition that follows it; none for a return.
type Stated = (u64, Option<Vec<PathBuf>>);

/// What the command line asks for, in order. After one step, redefinitions come before returns.
fn stated(args: &UniverseRun) -> Result<Vec<Stated>, Failure> {
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
    match stated.iter().find(|(step, _)| !(1..=args.steps).contains(step)) {
        Some((step, _)) => {
            let message = format!("error: there is no step {step}; --steps is {}", args.steps);
            Err(Failure::bad_input(message))
        }
        None => Ok(stated),
    }
}

/// The definitions that follow each other.
struct Line {
    present: Arc<Universe>,
    former: Option<Former>,
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
    fn action(&self, step: u64, request: Request, began: Instant) -> Result<Action, Failure> {
        let mut desk = Desk::new(Arc::clone(&self.present));
        match desk.ask(request) {
            Turn::Order(order) => Ok(Action { order, desk, check: MonotonicClock.now() - began }),
            Turn::Answer(Reply::Unsound(text)) => Err(Failure::bad_input(text)),
            Turn::Answer(Reply::Refused(text)) => {
                Err(Failure::bad_input(format!("error: after step {step}: {text}")))
            }
            Turn::Answer(reply) => unreachable!("a change has no such answer: {reply:?}"),
        }
    }
}
