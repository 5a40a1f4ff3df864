//! Redefinitions of a universe that runs, each behind a step.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use hemiola_world::{MonitorId, RedefineError, Redefinition, Return, World};
use hemiola_world_lang::definition::Universe;
use hemiola_world_lang::{Definition, check};
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
#[derive(Serialize)]
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
        let began = Instant::now();
        let mut new = None;
        if let Action::Redefine(files) = &action {
            new = Some(universe(files, world.universe())?);
        }
        let checked = Instant::now();
        let failed = |error: RedefineError| Failure::failed(described(step, &error));
        let (what, changes, ended) = match (&action, new) {
            (Action::Redefine(files), Some(new)) => {
                let redefinition = world.redefine(new, &mut |_| {}).map_err(failed)?;
                let changes = redefinition.plan.steps.iter().map(ToString::to_string).collect();
                let text =
                    |id: &MonitorId| monitors.get(id.0 as usize).cloned().unwrap_or_default();
                let ended = redefinition.ended.iter().map(text).collect();
                self.last = Some(redefinition);
                let files: Vec<String> =
                    files.iter().map(|file| file.display().to_string()).collect();
                (files.join(", "), changes, ended)
            }
            _ => {
                let Some(last) = &mut self.last else {
                    return Err(Failure::failed(format!(
                        "step {step}: there is no definition to return to"
                    )));
                };
                let what = match world.roll_back(last, &mut |_| {}).map_err(failed)? {
                    Return::Unchanged => "back to the rows of before",
                    Return::Converted => "back, with converted rows",
                };
                (what.to_owned(), Vec::new(), Vec::new())
            }
        };
        self.done.push(Redefined {
            step,
            what,
            changes,
            rows: world.len(),
            ended,
            check_ns: (checked - began).as_nanos() as u64,
            delay_ns: checked.elapsed().as_nanos() as u64,
        });
        Ok(())
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

/// The one universe of the texts, which follow the present one.
fn universe(files: &[PathBuf], before: &Universe) -> Result<Universe, Failure> {
    let sources = read(files)?;
    let before = Definition { universes: vec![before.clone()] };
    let checked =
        check(&sources, Some(&before)).map_err(|problems| refused(&problems, &sources))?;
    let mut universes = checked.universes.into_iter();
    universes.find(|universe| universe.name == before.universes[0].name).ok_or_else(|| {
        let name = &before.universes[0].name;
        Failure::bad_input(format!(
            "error: the texts do not define the universe `{name}`, which runs"
        ))
    })
}

fn described(step: u64, error: &RedefineError) -> String {
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
    format!("behind step {step}: {error}{stubs}")
}
