//! Requests to a world that runs: its status, its definition, a sample of its rows, a plan, a redefinition, a return.
//!
//! A [`Desk`] judges requests beside the steps: it checks texts, plans, and lets one change wait at a time. A
//! [`History`] carries out what the desk orders, between two steps. Neither waits for the other:
//!
//! ```text
//!  Request ──▶ Desk::ask ──▶ Order ──▶ History::carry_out ──▶ Outcome ──▶ Desk::done ──▶ Reply
//!                  └──▶ Reply            (between two steps)
//! ```
//!
//! Orders are carried out in the order in which they were given, and each has one outcome.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hemiola_units::Span;
use hemiola_world_code::CompiledPrograms;
use hemiola_world_lang::definition::{ElementId, Universe};
use hemiola_world_lang::{Sources, render};
use hemiola_world_plan::missing_text;
use thiserror::Error;

use crate::checkpoint::RunSoFar;
use crate::code::{Code, Uncompiled};
use crate::cost::{Cost, Rates};
use crate::managers::{Admissions, EnlistError, Enlistment, ManageRequest};
use crate::module::ModuleStatus;
use crate::monitor::{MonitorCounts, MonitorId};
use crate::redefine::{Ended, RedefineError, Redefinition, Return, Revision, RevisionError};
use crate::sample::{SampleError, Sampled, Slice, SliceRequest};
use crate::step::Output;
use crate::world::World;

/// Orders that wait for the end of a step at most.
pub const WAITING_MAX: usize = 64;
/// Redefinitions and returns of a run at most, because the run records each of them.
pub const CHANGES_MAX: usize = 1024;
/// Bytes of the texts by which a run can be redefined, at most: all of them stand in its checkpoints, because each text
/// is read with the one before.
pub const TEXTS_LEN_MAX: usize = 16 << 20;
/// Elements and monitors that a status lists at most, and elements of a definition that are counted at once.
pub const LISTED_MAX: usize = 64;

/// What a user asks of a world that runs.
#[derive(Clone, Debug)]
pub enum Request {
    /// How it is.
    Status,
    /// Its definition, and the entities of the elements from this one on.
    Describe(ElementId),
    /// Some columns of some rows.
    Sample(SliceRequest),
    /// What would become of it with these texts.
    Plan(Sources),
    /// Redefine it by these texts.
    Apply(Sources),
    /// Return to the definition before the last redefinition.
    RollBack,
    /// Tell a manager of rows, births and deaths from now on.
    Manage(ManageRequest),
}

/// Work that the world does between two steps.
#[derive(Debug)]
pub enum Order {
    /// Say how the world is.
    Status,
    /// Count the entities of the elements from this one on.
    Count(ElementId),
    /// Copy some columns of some rows.
    Sample(Box<Slice>),
    /// Try whether a redefinition is possible.
    Try(Box<Revision>),
    /// Redefine the world.
    Redefine {
        /// The definition.
        revision: Box<Revision>,
        /// Its texts.
        sources: Arc<Sources>,
        /// The steps of its plan.
        plan: Vec<String>,
        /// Code for its new functions ([`Revision::uncompiled`]), if they were compiled before.
        code: Option<Code>,
    },
    /// Return to the definition before.
    RollBack,
    /// Begin to tell a manager.
    Enlist {
        /// The definition that its interest was checked with.
        universe: Arc<Universe>,
        /// The request, checked.
        enlistment: Box<Enlistment>,
    },
    /// End the monitor of a manager that has left.
    Dismiss(MonitorId),
}

/// What became of an order.
#[derive(Debug)]
pub struct Outcome {
    /// The definition after it.
    pub universe: Arc<Universe>,
    /// The last step that was made before it.
    pub step: u64,
    /// What happened.
    pub event: Event,
    /// What nobody needs any more because of it.
    pub spent: Spent,
}

/// What happened between two steps.
#[derive(Debug)]
pub enum Event {
    /// The world was as follows.
    Status(Status),
    /// The entities were counted.
    Counted {
        /// The number of the definition.
        definition: u64,
        /// The first of the elements.
        from: ElementId,
        /// The entities of at most [`LISTED_MAX`] elements.
        counts: Vec<u64>,
    },
    /// The rows.
    Sampled(Result<Sampled, SampleError>),
    /// A redefinition was tried: the monitors that would end, and what it costs.
    Tried(Result<(Ended, Cost), RedefineError>),
    /// The definition changed, or not.
    Changed(Result<Changed, ChangeError>),
    /// A manager is told from now on, or not.
    Enlisted(Result<Box<Enlistment>, EnlistError>),
    /// The monitor of a manager ended.
    Dismissed(MonitorId),
}

/// A redefinition or a return that happened.
#[derive(Debug)]
pub struct Changed {
    /// The texts of the new definition, or how the world returned.
    pub what: String,
    /// The steps of the plan; none for a return.
    pub plan: Vec<String>,
    /// Entities.
    pub entities: usize,
    /// Its cost, from which its time is [predicted](Rates::time).
    pub cost: Cost,
    /// Monitors that ended.
    pub ended: Ended,
    /// Functions that still need code, in a world that has some ([`World::install`]).
    pub uncompiled: Uncompiled,
}

/// What can never come back: a definition with its rows, and compiled functions. To drop it takes time, which the next
/// step need not wait for.
#[derive(Debug, Default)]
pub struct Spent {
    _redefinition: Option<Box<Redefinition>>,
    _code: Vec<CompiledPrograms>,
}

/// Why a definition did not change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The world refused.
    #[error(transparent)]
    Redefine(#[from] RedefineError),
    /// No redefinition can be undone.
    #[error(
        "there is no definition to return to: the universe was not redefined, or has returned already"
    )]
    NothingToReturnTo,
    /// There were too many.
    #[error(
        "a run has at most {CHANGES_MAX} redefinitions; start another one with the present texts"
    )]
    TooMany,
    /// Their texts are too long together.
    #[error(
        "the texts of the redefinitions of a run have at most {TEXTS_LEN_MAX} bytes; start another one with the present \
         texts"
    )]
    TooLong,
}

/// How a world is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The number of the definition: redefinitions and returns so far.
    pub definition: u64,
    /// All entities.
    pub entities: usize,
    /// Elements that have entities, with their number; the first [`LISTED_MAX`].
    pub elements: Vec<(String, usize)>,
    /// Monitors; the first [`LISTED_MAX`].
    pub monitors: Vec<MonitorStatus>,
    /// Modules of users; the first [`LISTED_MAX`].
    pub modules: Vec<ModuleStatus>,
    /// The last redefinition or return.
    pub last: Option<LastChange>,
}

/// How a monitor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorStatus {
    /// Its number.
    pub id: MonitorId,
    /// What became of its rows.
    pub counts: MonitorCounts,
    /// Bytes of the columns that it is sent of a row.
    pub row_len: u64,
}

/// The last redefinition or return of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// The step before it.
    pub step: u64,
    /// See [`Changed::what`].
    pub what: String,
    /// Why it cannot be undone, if that is known without a look at each row.
    pub no_way_back: Option<String>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The world is like this, after this step.
    Status(u64, Box<Status>),
    /// The world has this definition.
    Definition {
        /// The definition.
        universe: Arc<Universe>,
        /// Its number.
        definition: u64,
        /// The element of the request.
        from: ElementId,
        /// The entities of at most [`LISTED_MAX`] elements from this one on.
        counts: Vec<u64>,
    },
    /// The rows of the request after this step, and how long the next step waited for them.
    Sampled(u64, Span, Sampled),
    /// There are no rows, because the world was redefined.
    Redefined,
    /// It is done, or possible; the text says what.
    Done(String),
    /// It is not possible; the text says why, and what to do. The world is as before.
    Refused(String),
    /// The texts have problems: all of them, with their lines.
    Unsound(String),
    /// The manager is told from now on, after this step.
    Managed(u64, MonitorId),
    /// The manager is gone, and hears nothing.
    Gone,
}

/// What follows from a request at once.
#[derive(Debug)]
pub enum Turn {
    /// It is answered.
    Answer(Reply),
    /// The order is to be carried out; its outcome leads to the answer.
    Order(Order),
}

/// Judges requests, beside the steps of the world.
#[derive(Debug)]
pub struct Desk {
    /// The present definition, as far as the outcomes tell.
    universe: Arc<Universe>,
    /// Orders without an outcome, the oldest first.
    waiting: VecDeque<Waiting>,
    admissions: Admissions,
    /// Those of this machine, if they are known.
    rates: Option<Rates>,
}

/// What the outcome of an order is told with.
#[derive(Debug)]
enum Waiting {
    Look,
    Plan(String),
    Change,
    Enlist(MonitorId),
    Leave,
}

impl Desk {
    /// The desk of a world with this definition.
    #[must_use]
    pub fn new(universe: Arc<Universe>) -> Self {
        let (waiting, admissions) = (VecDeque::new(), Admissions::default());
        Self { universe, waiting, admissions, rates: None }
    }

    /// One that says how long redefinitions are predicted to take.
    #[must_use]
    pub fn with_rates(self, rates: Rates) -> Self {
        Self { rates: Some(rates), ..self }
    }

    /// Judges a request.
    pub fn ask(&mut self, request: Request) -> Turn {
        match self.judge(request) {
            Ok((order, waiting)) => {
                self.waiting.push_back(waiting);
                Turn::Order(order)
            }
            Err(reply) => Turn::Answer(reply),
        }
    }

    /// A manager has left, at any time after [`Self::ask`]. Its queue is [released](Self::release) when the universe
    /// has given it back.
    pub fn leave(&mut self, id: MonitorId) -> Option<Order> {
        self.admissions.is_admitted(id).then(|| {
            self.waiting.push_back(Waiting::Leave);
            Order::Dismiss(id)
        })
    }

    /// Takes the newest order back, which was to enlist this manager and was not given to the world.
    pub fn withdraw(&mut self, id: MonitorId) {
        self.waiting.pop_back_if(|waiting| matches!(waiting, Waiting::Enlist(of) if *of == id));
        self.admissions.release(id);
    }

    /// The queue of a manager is gone, and another one may have its memory.
    pub fn release(&mut self, id: MonitorId) {
        self.admissions.release(id);
    }

    fn judge(&mut self, request: Request) -> Result<(Order, Waiting), Reply> {
        if self.waiting.len() >= WAITING_MAX {
            return Err(refused("too many requests wait for the end of a step; ask again"));
        }
        let looks = matches!(request, Request::Status | Request::Describe(_) | Request::Sample(_));
        if !looks && self.waiting.iter().any(|order| matches!(order, Waiting::Change)) {
            return Err(refused(
                "another redefinition waits for the end of the step; look at the universe when it is done, and ask \
                 again",
            ));
        }
        match request {
            Request::Status => Ok((Order::Status, Waiting::Look)),
            Request::Describe(from) => Ok((Order::Count(from), Waiting::Look)),
            Request::Sample(slice) => match slice.prepare() {
                Ok(slice) => Ok((Order::Sample(Box::new(slice)), Waiting::Look)),
                Err(error) => Err(Reply::Refused(error.to_string())),
            },
            Request::RollBack => Ok((Order::RollBack, Waiting::Change)),
            Request::Plan(sources) => self.plan(&sources),
            Request::Apply(sources) => self.apply(&sources),
            Request::Manage(request) => {
                let admitted = self.admissions.admit(&self.universe, &request);
                let enlistment = admitted.map_err(|error| Reply::Refused(error.to_string()))?;
                let (id, universe) = (enlistment.id, Arc::clone(&self.universe));
                let enlistment = Box::new(enlistment);
                Ok((Order::Enlist { universe, enlistment }, Waiting::Enlist(id)))
            }
        }
    }

    fn plan(&self, sources: &Sources) -> Result<(Order, Waiting), Reply> {
        let revision = self.revision(sources)?;
        let text = revision.plan().text(&self.universe.name);
        Ok((Order::Try(Box::new(revision)), Waiting::Plan(text)))
    }

    fn apply(&self, sources: &Sources) -> Result<(Order, Waiting), Reply> {
        let revision = self.revision(sources)?;
        let plan: Vec<String> = revision.plan().steps.iter().map(ToString::to_string).collect();
        if plan.is_empty() {
            return Err(refused("the universe has this definition already; nothing was done"));
        }
        let (revision, sources) = (Box::new(revision), Arc::new(sources.clone()));
        Ok((Order::Redefine { revision, sources, plan, code: None }, Waiting::Change))
    }

    /// The texts as a definition that can run and in which every property has a value.
    fn revision(&self, sources: &Sources) -> Result<Revision, Reply> {
        let revision = Revision::check(sources, &self.universe).map_err(|error| match error {
            RevisionError::Problems(problems) => Reply::Unsound(render(&problems, sources)),
            error => Reply::Refused(error.to_string()),
        })?;
        // The world would find it, too, but only between two steps.
        revision.programs().map_err(|error| Reply::Refused(error.to_string()))?;
        let missing = revision.plan().forward.missing.clone();
        if missing.is_empty() {
            Ok(revision)
        } else {
            Err(not_possible(RedefineError::Missing(missing).into()))
        }
    }

    /// What writing the columns of a redefinition was predicted to take: the part of the delay that grows with rows.
    fn predicted(&self, cost: Cost) -> String {
        let Some(rates) = &self.rates else { return String::new() };
        let Cost { rows, bytes, .. } = cost;
        let time = micros(rates.time(cost));
        format!("; of that, predicted for writing columns: {time} for {bytes} bytes of {rows} rows")
    }

    /// The answer to the oldest request without one, from the outcome of its order, which the next step waited for that
    /// long.
    ///
    /// # Panics
    /// If no order waits for an outcome.
    pub fn done(&mut self, outcome: Outcome, took: Span) -> Reply {
        let waiting = self.waiting.pop_front().expect("each order has one outcome");
        let Outcome { universe, step, event, .. } = outcome;
        self.universe = universe;
        let waited = took;
        let took = micros(took);
        match (event, waiting) {
            (Event::Status(status), _) => Reply::Status(step, Box::new(status)),
            (Event::Counted { definition, from, counts }, _) => {
                Reply::Definition { universe: Arc::clone(&self.universe), definition, from, counts }
            }
            (Event::Sampled(Ok(sampled)), _) => Reply::Sampled(step, waited, sampled),
            (Event::Sampled(Err(SampleError::Redefined)), _) => Reply::Redefined,
            (Event::Sampled(Err(error)), _) => Reply::Refused(error.to_string()),
            (Event::Tried(Ok((ended, cost))), waiting) => {
                let plan = if let Waiting::Plan(text) = waiting { text } else { String::new() };
                let (ended, predicted) = (monitors_end(ended.len()), self.predicted(cost));
                Reply::Done(format!(
                    "{plan}possible after step {step}: {ended}; the next step waited {took}{predicted}"
                ))
            }
            (Event::Changed(Ok(changed)), _) => {
                let Changed { what, entities, ended, cost, .. } = changed;
                let (ended, predicted) = (monitors_end(ended.len()), self.predicted(cost));
                Reply::Done(format!(
                    "after step {step}: {what}; entities: {entities}; {ended}; the next step waited {took}{predicted}"
                ))
            }
            (Event::Enlisted(Ok(enlistment)), _) => Reply::Managed(step, enlistment.id),
            (Event::Enlisted(Err(error)), waiting) => {
                if let Waiting::Enlist(id) = waiting {
                    self.admissions.release(id);
                }
                Reply::Refused(error.to_string())
            }
            (Event::Dismissed(_), _) => Reply::Gone,
            (Event::Tried(Err(error)), _) => not_possible(error.into()),
            (Event::Changed(Err(error)), _) => not_possible(error),
        }
    }
}

fn micros(time: Span) -> String {
    format!("{:.0} µs", time.micros_f64())
}

fn enlist(
    world: &mut World,
    universe: &Arc<Universe>,
    enlistment: Box<Enlistment>,
) -> Result<Box<Enlistment>, EnlistError> {
    if !Arc::ptr_eq(universe, world.universe()) {
        return Err(EnlistError::Redefined);
    }
    world.attach_monitor(enlistment.id, enlistment.interest.clone())?;
    Ok(enlistment)
}

/// Bytes of texts.
fn len(sources: &Sources) -> usize {
    sources.files().iter().map(|file| file.text.len()).sum()
}

fn not_possible(error: ChangeError) -> Reply {
    Reply::Refused(match error {
        ChangeError::Redefine(RedefineError::Missing(missing)) => {
            missing_text("it is not possible", &missing).trim_end().to_owned()
        }
        error => error.to_string(),
    })
}

fn refused(text: &str) -> Reply {
    Reply::Refused(text.to_owned())
}

fn monitors_end(count: usize) -> String {
    match count {
        0 => "no monitor ends".to_owned(),
        1 => "1 monitor ends".to_owned(),
        many => format!("{many} monitors end"),
    }
}

/// What became of the definition of a world so far. It carries out the orders of a [`Desk`].
#[derive(Debug, Default)]
pub struct History {
    /// The last redefinition, if it is not undone.
    redefinition: Option<Box<Redefinition>>,
    /// The step before the last change, and what it was.
    last: Option<(u64, String)>,
    /// Monitors that ended with a definition.
    ended: BTreeMap<MonitorId, MonitorCounts>,
    /// Monitors of managers that ended otherwise.
    left: BTreeMap<MonitorId, MonitorCounts>,
    /// The texts of the definitions that led to the present one, which is the last.
    definitions: Vec<Arc<Sources>>,
    /// Bytes of these texts that redefinitions brought.
    texts_len: usize,
    changes: usize,
}

impl History {
    /// Carries out an order between two steps, and calls `out` with what monitors are told.
    pub fn carry_out(
        &mut self,
        world: &mut World,
        order: Order,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Outcome {
        let mut spent = Spent::default();
        let event = match order {
            Order::Status => Event::Status(self.status(world)),
            Order::Count(from) => {
                let end = world.universe().elements.len() as u32;
                let elements = (from.0..end).take(LISTED_MAX).map(ElementId);
                let counts = elements.map(|element| world.count(element) as u64).collect();
                Event::Counted { definition: world.definition(), from, counts }
            }
            Order::Sample(slice) => Event::Sampled(world.sample(*slice)),
            Order::Try(revision) => {
                let cost = world.cost(&revision);
                Event::Tried(world.dry_run(&revision).map(|ended| (ended, cost)))
            }
            Order::Redefine { revision, sources, plan, code } => {
                code.into_iter().for_each(|code| world.install(code));
                let changed = self.redefine(world, *revision, sources, &mut spent, out);
                if changed.is_err() {
                    world.keep_code_of_return(self.redefinition.as_deref());
                }
                Event::Changed(changed.map(|changed| Changed { plan, ..changed }))
            }
            Order::RollBack => Event::Changed(self.roll_back(world, &mut spent, out)),
            Order::Enlist { universe, enlistment } => {
                Event::Enlisted(enlist(world, &universe, enlistment))
            }
            Order::Dismiss(id) => {
                self.note_left(id, world.detach_monitor(id));
                Event::Dismissed(id)
            }
        };
        spent._code = world.take_spent();
        Outcome { universe: Arc::clone(world.universe()), step: world.steps(), event, spent }
    }

    /// A manager has ended with these counts.
    pub fn note_left(&mut self, id: MonitorId, counts: Option<MonitorCounts>) {
        self.left.extend(counts.map(|counts| (id, counts)));
    }

    fn redefine(
        &mut self,
        world: &mut World,
        revision: Revision,
        sources: Arc<Sources>,
        spent: &mut Spent,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Changed, ChangeError> {
        self.check_room()?;
        let texts_len = self.texts_len + len(&sources);
        if texts_len > TEXTS_LEN_MAX {
            return Err(ChangeError::TooLong);
        }
        let cost = world.cost(&revision);
        let redefinition = world.replace_definition(revision, out)?;
        let ended = redefinition.ended.clone();
        spent._redefinition = self.redefinition.replace(Box::new(redefinition));
        let names: Vec<&str> = sources.files().iter().map(|file| &*file.name).collect();
        let names = names.join(", ");
        self.definitions.push(sources);
        self.texts_len = texts_len;
        Ok(self.changed(world, names, ended, cost))
    }

    fn roll_back(
        &mut self,
        world: &mut World,
        spent: &mut Spent,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Changed, ChangeError> {
        self.check_room()?;
        let redefinition = self.redefinition.as_mut().ok_or(ChangeError::NothingToReturnTo)?;
        let cost = world.cost_of_return(redefinition);
        let (what, ended) = match world.return_from(redefinition, out)? {
            Return::Unchanged => ("back to the rows of before", Vec::new()),
            Return::Converted(ended) => ("back, with converted rows", ended),
        };
        spent._redefinition = self.redefinition.take();
        let left = self.definitions.pop();
        self.texts_len -= left.map_or(0, |sources| len(&sources));
        Ok(self.changed(world, what.to_owned(), ended, cost))
    }

    /// What became of the rows of a monitor, which may have ended with a definition.
    #[must_use]
    pub fn counts(&self, world: &World, monitor: MonitorId) -> MonitorCounts {
        let ended = || self.left.get(&monitor).or_else(|| self.ended.get(&monitor)).copied();
        world.counts(monitor).or_else(ended).unwrap_or_default()
    }

    /// That of a run that begins or goes on.
    #[must_use]
    pub fn of(run: &RunSoFar) -> Self {
        let redefinitions = run.definitions.iter().skip(1);
        Self {
            ended: run.ended.iter().copied().collect(),
            texts_len: redefinitions.map(|sources| len(sources)).sum(),
            definitions: run.definitions.clone(),
            ..Self::default()
        }
    }

    /// Writes what became of the definition and of monitors into a run, before a checkpoint.
    pub fn note(&self, run: &mut RunSoFar) {
        run.definitions.clone_from(&self.definitions);
        run.ended = self.ended.iter().map(|(id, counts)| (*id, *counts)).collect();
    }

    const fn check_room(&self) -> Result<(), ChangeError> {
        if self.changes < CHANGES_MAX { Ok(()) } else { Err(ChangeError::TooMany) }
    }

    fn changed(&mut self, world: &World, what: String, ended: Ended, cost: Cost) -> Changed {
        self.changes += 1;
        self.ended.extend(ended.iter().copied());
        self.last = Some((world.steps(), what.clone()));
        let uncompiled = world.uncompiled_if_compiled();
        Changed { what, plan: Vec::new(), entities: world.len(), cost, ended, uncompiled }
    }

    fn status(&self, world: &World) -> Status {
        let names = world.universe().elements.iter().map(|element| element.name.clone());
        let counts = (0..).map(|element| world.count(ElementId(element)));
        let elements = names.zip(counts).filter(|(_, count)| *count > 0).take(LISTED_MAX);
        let last = self.last.as_ref().map(|(step, what)| {
            let no_way_back = match &self.redefinition {
                None => Some(ChangeError::NothingToReturnTo.to_string()),
                Some(redefinition) => {
                    world.check_return(redefinition).err().map(|error| error.to_string())
                }
            };
            LastChange { step: *step, what: what.clone(), no_way_back }
        });
        let monitor = |(id, counts)| {
            let row_len = world.row_len(id).unwrap_or_default();
            MonitorStatus { id, counts, row_len }
        };
        Status {
            definition: world.definition(),
            entities: world.len(),
            elements: elements.collect(),
            monitors: world.monitors().take(LISTED_MAX).map(monitor).collect(),
            modules: world.modules().take(LISTED_MAX).cloned().collect(),
            last,
        }
    }
}
