//! Redefinitions of a universe that runs: those of the command line, each behind a step, or those that users ask for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_runner::RunId;
use hemiola_runner::control::universe::Pace;
use hemiola_runner::live::{Control, redefinition_run};
use hemiola_trace::result::RedefinitionRun;
use hemiola_units::Instant;
use hemiola_world::{Desk, Event, History, Reply, Request, Turn, World};
use serde::Serialize;

use super::read;
use crate::args::UniverseRun;
use crate::diagnostics::Failure;

/// What becomes of the definition behind which step.
pub(super) struct Redefinitions {
    due: BTreeMap<u64, Action>,
    desk: Desk,
    history: History,
    done: Vec<Redefined>,
    /// With `--listen`.
    control: Option<Control>,
    began: Instant,
}

enum Action {
    Redefine(Vec<PathBuf>),
    RollBack,
}

/// A redefinition or a return that happened.
#[derive(Serialize)]
pub(super) struct Redefined {
    #[serde(flatten)]
    pub(super) run: RedefinitionRun,
    /// Reading and checking the texts, beside the world; unknown if a user asked for it.
    pub(super) check_ns: Option<u64>,
}

impl Redefinitions {
    pub(super) fn of(args: &UniverseRun, world: &World) -> Result<Self, Failure> {
        let mut due = BTreeMap::new();
        for text in &args.redefine {
            let wrong = || {
                let message = format!("error: --redefine \"{text}\" is not STEP:FILE");
                Failure::bad_input(message + "\nhint: such as 500:new.uml")
            };
            let (step, files) = text.split_once(':').ok_or_else(wrong)?;
            let step = step.parse().map_err(|_| wrong())?;
            let files = files.split(',').map(PathBuf::from).collect();
            add(&mut due, step, Action::Redefine(files), args.steps)?;
        }
        for step in &args.roll_back {
            add(&mut due, *step, Action::RollBack, args.steps)?;
        }
        let (desk, began) = (Desk::new(Arc::clone(world.universe())), MonotonicClock.now());
        let control = args.listen.then(|| listen(world, &args.monitor)).transpose()?;
        Ok(Self { due, desk, history: History::default(), done: Vec::new(), control, began })
    }

    /// Does what is due behind a step. `monitors` are the texts of the monitors.
    pub(super) fn behind(
        &mut self,
        step: u64,
        world: &mut World,
        monitors: &[String],
    ) -> Result<(), Failure> {
        if let Some(control) = &mut self.control {
            let pace = || Pace { elapsed: MonotonicClock.now() - self.began, ..Pace::default() };
            control.between_steps(world, pace, || MonotonicClock.now());
        }
        let Some(action) = self.due.remove(&step) else { return Ok(()) };
        let began = MonotonicClock.now();
        let request = match action {
            Action::Redefine(files) => Request::Apply(read(&files)?),
            Action::RollBack => Request::RollBack,
        };
        let turn = self.desk.ask(request);
        let check = MonotonicClock.now() - began;
        let reply = match turn {
            Turn::Answer(reply) => reply,
            Turn::Order(order) => {
                let began = MonotonicClock.now();
                let outcome = self.history.carry_out(world, order, &mut |_| {});
                let delay = MonotonicClock.now() - began;
                if let Event::Changed(Ok(changed)) = &outcome.event {
                    let run = redefinition_run(changed, step, delay, monitors);
                    self.done.push(Redefined { run, check_ns: Some(check.nanos().max(0) as u64) });
                }
                self.desk.done(outcome, delay)
            }
        };
        match reply {
            Reply::Unsound(text) => Err(Failure::bad_input(text)),
            Reply::Refused(text) => Err(Failure::failed(format!("behind step {step}: {text}"))),
            Reply::Status(..) | Reply::Done(_) => Ok(()),
        }
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

fn add(
    due: &mut BTreeMap<u64, Action>,
    step: u64,
    action: Action,
    steps: u64,
) -> Result<(), Failure> {
    if !(1..=steps).contains(&step) {
        let message = format!(
            "error: there is no step {step} to redefine the universe behind; --steps is {steps}"
        );
        return Err(Failure::bad_input(message));
    }
    match due.insert(step, action) {
        None => Ok(()),
        Some(_) => Err(Failure::bad_input(format!("error: step {step} has two redefinitions"))),
    }
}
