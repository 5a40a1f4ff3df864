//! A run from the folder to the record: guardian, conditions, floors, every variant.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use hemiola_bus::{CreateError, OpenError};
use hemiola_record::kernel::CaptureError;
use hemiola_record::{Folder, FolderError, conditions};
use hemiola_rt::clock::{Calibration, unix_ns};
use hemiola_rt::shared::SegmentError;
use hemiola_scenario::Plan;
use hemiola_trace::result::{Conditions, FORMAT, RunFolder};
use hemiola_units::{Refusal, Span};

use crate::RunId;
use crate::control::{Scenarios, Server};
use crate::federation;
use crate::floors::Floors;
use crate::guardian::Guardian;
use crate::journal::Journal;
use crate::stage::Stage;
use crate::strays::Adoption;

/// The options of a run, beside its plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// The result folder: new, or empty.
    pub folder: PathBuf,
    /// The folder that relative paths of the scenario start in.
    pub scenario_folder: PathBuf,
    /// The scenario's text, which is kept beside the plan.
    pub scenario_text: String,
    /// The command as typed, for the record.
    pub command_line: String,
    /// The commit this was built from, where known.
    pub commit: Option<String>,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The folder with the results.
    pub folder: PathBuf,
    /// Why the run ended before its time, if it did; everything until then is in the folder.
    pub ended_early: Option<RunError>,
}

/// Receives the progress of a run. Called from the supervising loop, up to a hundred times a second.
pub trait Progress {
    /// A part begins: its name, its number, and the number of parts.
    fn begin(&mut self, part: &str, number: usize, of: usize);
    /// The part has done this fraction, 0 to 1, and this is what it does now.
    fn tick(&mut self, fraction: f64, doing: &str);
    /// A note for the user that stops nothing.
    fn note(&mut self, note: &str);
}

/// The reason why a run ended without results.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The result folder cannot be created or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The kernel granted less than the scenario asks for.
    #[error("{}", refused(.0))]
    Refused(Vec<(String, Refusal)>),
    /// A channel could not be created or opened.
    #[error(transparent)]
    Channel(Box<dyn std::error::Error + Send + Sync>),
    /// Shared memory could not be created.
    #[error("shared memory: {0}")]
    Memory(SegmentError),
    /// A process could not be started or prepared.
    #[error("process \"{process}\" could not be started: {reason}")]
    Start {
        /// Its name.
        process: String,
        /// Why, with what it printed.
        reason: String,
    },
    /// A program ended as soon as it was started.
    #[error("process \"{process}\" ended at once: {how}{output}")]
    EndedAtOnce {
        /// Its name.
        process: String,
        /// How it ended.
        how: String,
        /// The end of what it printed, on lines of its own.
        output: String,
    },
    /// A process that the run needs ended in the middle of it.
    #[error("process \"{process}\" died {} after the start: {how}{output}", seconds(.after))]
    Died {
        /// Its name.
        process: String,
        /// How it ended.
        how: String,
        /// Time since the first release.
        after: Span,
        /// The end of what it printed, on lines of its own.
        output: String,
    },
    /// A process that the run needs stopped early.
    #[error("process \"{process}\" stopped {} after the start: {reason}{output}", seconds(.after))]
    Stopped {
        /// Its name.
        process: String,
        /// Why.
        reason: String,
        /// Time since the first release.
        after: Span,
        /// The end of what it printed, on lines of its own.
        output: String,
    },
    /// The operating system refused something that the runner itself needs.
    #[error("{what}: {source}")]
    System {
        /// The failed operation.
        what: &'static str,
        /// The refusal.
        source: io::Error,
    },
    /// The scenario requires recording the kernel, and that failed.
    #[error(
        "recording the kernel: {0}\nor leave it out: kernel = false under [trace], or --no-kernel"
    )]
    Kernel(CaptureError),
    /// A process that the run needs was stopped, by a signal or a tracer, and did not continue.
    #[error("process \"{process}\" was stopped {} after the start and did not continue", seconds(.after))]
    Halted {
        /// Its name.
        process: String,
        /// Time since the first release.
        after: Span,
    },
    /// A signal ended the run.
    #[error("interrupted")]
    Interrupted,
}

impl RunError {
    const fn is_failed_start(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::EndedAtOnce { .. })
    }

    /// The first line of the sentence: without the output of the process that it is about.
    #[must_use]
    pub fn headline(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }

    pub(crate) fn channel(error: impl ChannelError) -> Self {
        Self::Channel(Box::new(error))
    }

    pub(crate) fn memory(error: SegmentError) -> Self {
        Self::Memory(error)
    }

    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// The errors of creating and opening a channel, for [`RunError::channel`].
pub(crate) trait ChannelError: std::error::Error + Send + Sync + 'static {}
impl ChannelError for CreateError {}
impl ChannelError for OpenError {}

/// A time since the start in words.
pub(crate) fn seconds(span: &Span) -> String {
    format!("{:.3} s", span.secs_f64())
}

/// All refusals; several processes with the same refusal share a line, which has the figures of the first.
fn refused(refusals: &[(String, Refusal)]) -> String {
    let mut text = String::from("the system grants less than the scenario asks for:");
    let mut listed: Vec<(&Refusal, Vec<&str>)> = Vec::new();
    for (process, refusal) in refusals {
        let is_same = |known: &Refusal| known.is_like(refusal) && known.asked == refusal.asked;
        match listed.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, processes)) => processes.push(process),
            None => listed.push((refusal, vec![process])),
        }
    }
    for (refusal, processes) in listed {
        let _ = write!(text, "\n  {}: {refusal}", processes.join(", "));
    }
    text + "\nor set allow_less = true in the scenario: it then runs with less, and its figures say so"
}

/// The data that every part of a run uses.
pub(crate) struct Context<'r> {
    pub(crate) id: RunId,
    pub(crate) plan: &'r Plan,
    pub(crate) scenario_folder: &'r Path,
    pub(crate) folder: &'r Path,
    pub(crate) calibration: Calibration,
    pub(crate) conditions: &'r Conditions,
    pub(crate) guardian: RefCell<Guardian>,
    pub(crate) adoption: Adoption,
    pub(crate) server: RefCell<Server<Scenarios>>,
    pub(crate) interrupted: &'r AtomicBool,
    /// Whether runs record the kernel's side.
    pub(crate) records_kernel: bool,
}

impl Context<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn check_interruption(&self) -> Result<(), RunError> {
        if self.is_interrupted() { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

/// Runs a plan and leaves a result folder. A signal handler may set `interrupted` at any time: the run then ends in an
/// orderly way within a few cycles.
///
/// # Errors
/// See [`RunError`]: nothing ran. No process and no file is left behind then. After the first run has
/// begun, an error is in [`Outcome::ended_early`], and the folder is kept.
pub fn run(
    plan: &Plan,
    options: Options,
    progress: &mut dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Outcome, RunError> {
    let folder = Folder::create(&options.folder)?;
    folder.inner("traces")?;
    folder.inner("logs")?;
    folder.write("scenario.toml", options.scenario_text.as_bytes())?;
    folder.write_json("plan.json", plan)?;
    crate::guardian::sweep_dead_runs();
    let id = RunId::new();
    let guardian = Guardian::start(&id).map_err(RunError::system("the guardian process"))?;
    let adoption = Adoption::begin().map_err(RunError::system("the adoption of orphans"))?;
    let server = Server::open(id.as_str()).map_err(RunError::system("the control socket"))?;
    let calibration = Calibration::measure();
    let mut known =
        conditions::read(calibration, plan.allow_less, options.commit, options.command_line);
    let started = known.clone();
    let kernel = crate::kernel::side(plan, progress)?;
    let context = Context {
        id,
        plan,
        scenario_folder: &options.scenario_folder,
        folder: folder.path(),
        calibration,
        conditions: &started,
        guardian: RefCell::new(guardian),
        adoption,
        server: RefCell::new(server),
        interrupted,
        records_kernel: kernel.interface.is_some(),
    };
    let result = RunFolder {
        format: FORMAT,
        title: plan.title.clone(),
        scenario: plan.kind().into(),
        started_unix_s: unix_ns() / 1_000_000_000,
        conditions: started.clone(),
        floors: Vec::new(),
        variants: Vec::new(),
        faults: Vec::new(),
        kernel,
        measured: measured(plan),
        incomplete: None,
    };
    let mut journal = Journal::new(&folder, result);
    let done = match &plan.campaign {
        Some(campaign) => crate::campaign::run(&context, campaign, &mut journal, progress),
        None => run_variants(&context, &mut journal, progress),
    };
    let done = done.and_then(|()| context.check_interruption());
    context.guardian.into_inner().dismiss();
    // A program that could not be started, or ended at once, has shown nothing.
    if done.as_ref().is_err_and(|error| error.is_failed_start()) && !journal.has_earlier_runs() {
        folder.abandon();
    }
    let mut ended_early = match done {
        Err(error) if !folder.is_preserved() => return Err(error),
        done => done.err(),
    };
    conditions::finish(&mut known);
    let reason = ended_early.as_ref().map(RunError::headline);
    if let Err(error) = journal.finish(reason, |record| record.conditions = known) {
        ended_early.get_or_insert(error.into());
    }
    Ok(Outcome { folder: folder.keep(), ended_early })
}

/// The names of both measured states of a plant that is not the pendulum.
fn measured(plan: &Plan) -> Vec<String> {
    let linear = plan.plant.as_ref().and_then(|plant| plant.model.linear());
    linear.map_or_else(Vec::new, |plant| plant.measured.map(|i| plant.states[i].clone()).into())
}

/// Runs every variant as often as the plan says: all variants once, then all again, so that slow changes of the
/// machine affect each of them alike. The floors are measured in between for the same reason.
fn run_variants(
    context: &Context<'_>,
    journal: &mut Journal<'_>,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    let plan = context.plan;
    journal.describe(plan.variants.iter().map(|v| crate::stage::describe(plan, v)).collect());
    let mut floors = Floors::default();
    let total = plan.variants.len() * plan.runs as usize;
    for number in 1..=plan.runs {
        let mut order: Vec<usize> = (0..plan.variants.len()).collect();
        // The modes of a federation are compared with each other: every second time in reverse order.
        if plan.kind() == "federation" && number % 2 == 0 {
            order.reverse();
        }
        for (place, index) in order.into_iter().enumerate() {
            context.check_interruption()?;
            let variant = &plan.variants[index];
            let part = (number as usize - 1) * plan.variants.len() + place;
            progress.begin(&variant.name, part + 1, total);
            floors.measure(context, variant, journal.variant(index), progress);
            journal.set_floors(floors.records());
            journal.set_price(floors.price().to_vec());
            run_once(context, index, journal, number, progress)?;
        }
    }
    Ok(())
}

/// Runs a variant once.
fn run_once(
    context: &Context<'_>,
    index: usize,
    journal: &mut Journal<'_>,
    number: u32,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    let variant = &context.plan.variants[index];
    let bare = |journal: &mut Journal<'_>, after, progress: &mut dyn Progress| {
        let record = journal.variant(index);
        federation::run_bare_timer(context, variant, record, number, after, progress)
    };
    bare(journal, false, progress)?;
    let stage = Stage::prepare(context, variant, number)?;
    journal.begin(index, stage.record())?;
    let (run, ended_early) = stage.run(progress);
    journal.end(index, run);
    ended_early.map_or(Ok(()), Err)?;
    bare(journal, true, progress)
}
