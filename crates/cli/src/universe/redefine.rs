//! Redefinitions of a universe that runs, each behind a step.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use hemiola_world::{
    MonitorId, RedefineError, Redefinition, Return, Revision, RevisionError, World,
};
use serde::Serialize;

use super::{read, refused};
use crate::args::UniverseRun;
use crate::diagnostics::Failure;

/// What becomes of the definition behind which step.
pub(super) struct Redefinitions {
    due: BTreeMap<u64, Action>,
    last: Option<Redefinition>,
    pub(super) done: Vec<Redefined>,
}

enum Action {
    Redefine(Vec<PathBuf>),
    RollBack,
}

/// A redefinition or a return that happened.
#[derive(Default, Serialize)]
pub(super) struct Redefined {
    /// The step before it.
    pub(super) step: u64,
    /// The texts of the new definition, or how the world got back.
    pub(super) what: String,
    /// Steps of the plan.
    pub(super) changes: Vec<String>,
    /// Rows at that time.
    pub(super) rows: usize,
    /// Monitors that ended, as the command line states them.
    pub(super) ended: Vec<String>,
    /// Reading and checking the texts, beside the world.
    pub(super) check_ns: u64,
    /// Compiling, converting and replacing: what the next step waits for.
    pub(super) delay_ns: u64,
}

impl Redefinitions {
    pub(super) fn of(args: &UniverseRun) -> Result<Self, Failure> {
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
        Ok(Self { due, last: None, done: Vec::new() })
    }

    /// Does what is due behind a step. `monitors` are the texts of the monitors.
    pub(super) fn behind(
        &mut self,
        step: u64,
        world: &mut World,
        monitors: &[String],
    ) -> Result<(), Failure> {
        let Some(action) = self.due.remove(&step) else { return Ok(()) };
        let mut done = match action {
            Action::Redefine(files) => self.redefine(step, world, &files, monitors)?,
            Action::RollBack => self.roll_back(step, world)?,
        };
        (done.step, done.rows) = (step, world.len());
        self.done.push(done);
        Ok(())
    }

    fn redefine(
        &mut self,
        step: u64,
        world: &mut World,
        files: &[PathBuf],
        monitors: &[String],
    ) -> Result<Redefined, Failure> {
        let began = Instant::now();
        let new = revision(files, world)?;
        let checked = Instant::now();
        // The next step waits for the memory of the definition before the last one, too.
        self.last = None;
        let redefinition =
            world.redefine(new, &mut |_| {}).map_err(|error| not_possible(step, &error))?;
        let delay_ns = checked.elapsed().as_nanos() as u64;
        let text = |id: &MonitorId| monitors.get(id.0 as usize).cloned().unwrap_or_default();
        let ended = redefinition.ended.iter().map(text).collect();
        let changes = redefinition.plan.steps.iter().map(ToString::to_string).collect();
        self.last = Some(redefinition);
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let check_ns = (checked - began).as_nanos() as u64;
        let what = files.join(", ");
        Ok(Redefined { what, changes, ended, check_ns, delay_ns, ..Redefined::default() })
    }

    fn roll_back(&mut self, step: u64, world: &mut World) -> Result<Redefined, Failure> {
        let last = self.last.as_mut().ok_or_else(|| {
            Failure::failed(format!("step {step}: there is no definition to return to"))
        })?;
        let began = Instant::now();
        let back =
            world.roll_back(last, &mut |_| {}).map_err(|error| not_possible(step, &error))?;
        let delay_ns = began.elapsed().as_nanos() as u64;
        let what = match back {
            Return::Unchanged => "back to the rows of before",
            Return::Converted => "back, with converted rows",
        };
        Ok(Redefined { what: what.to_owned(), delay_ns, ..Redefined::default() })
    }
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

fn revision(files: &[PathBuf], world: &World) -> Result<Revision, Failure> {
    let sources = read(files)?;
    Revision::check(&sources, world.universe()).map_err(|error| match error {
        RevisionError::Problems(problems) => refused(&problems, &sources),
        error => Failure::bad_input(format!("error: {error}")),
    })
}

fn not_possible(step: u64, error: &RedefineError) -> Failure {
    let stubs = match error {
        RedefineError::Missing(missing) => missing
            .iter()
            .filter(|missing| !missing.stub.is_empty())
            .map(|missing| {
                format!("\nhint: write a converter for `{}`: {}", missing.property, missing.stub)
            })
            .collect(),
        _ => String::new(),
    };
    Failure::failed(format!("behind step {step}: {error}{stubs}"))
}
