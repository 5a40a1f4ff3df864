//! The order of things in a run: folder, guardian, conditions, floors, every variant, the last word.

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
use hemiola_scenario::{Plan, Variant};
use hemiola_trace::result::{
    Conditions, FILE_NAME, FORMAT, Floor, KernelSide, RunFolder, VariantRecord,
};
use hemiola_units::{Refusal, Span};

use crate::RunId;
use crate::control::Server;
use crate::federation;
use crate::floors::Floors;
use crate::guardian::Guardian;
use crate::stage::Stage;

/// What a run needs to know besides its plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// The result folder: new, or empty.
    pub folder: PathBuf,
    /// Where relative paths of the scenario start.
    pub scenario_folder: PathBuf,
    /// The scenario's text, kept beside the plan.
    pub scenario_text: String,
    /// The command as typed, for the record.
    pub command_line: String,
    /// The commit this was built from, where known.
    pub commit: Option<String>,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The folder with the results.
    pub folder: PathBuf,
    /// Whether it was cut short by a signal; what was finished before is in the folder.
    pub interrupted: bool,
}

/// Who is told how far a run is. Called from the supervising loop, some twenty times a second.
pub trait Progress {
    /// A part begins: its name and which it is of how many.
    fn begin(&mut self, part: &str, number: usize, of: usize);
    /// The part is this far, 0 to 1, and this is what it does.
    fn tick(&mut self, fraction: f64, doing: &str);
    /// Something the user should know that stops nothing.
    fn note(&mut self, note: &str);
}

/// Why a run ended without results.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The result folder cannot be had or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The kernel granted less than the scenario asks for.
    #[error("{}", refused(.0))]
    Refused(Vec<(String, Refusal)>),
    /// A channel could not be made or opened.
    #[error(transparent)]
    Channel(Box<dyn std::error::Error + Send + Sync>),
    /// Shared memory could not be made.
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
    /// A process the loop cannot do without ended in the middle of a run.
    #[error("process \"{process}\" died {after} after the start: {how}{output}")]
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
    /// A federate could not go on.
    #[error("federate \"{process}\" stopped {after} after the start: {reason}{output}")]
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
    /// The operating system refused something the runner itself needs.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The refusal.
        source: io::Error,
    },
    /// The scenario demands the kernel's side, or it was lost on the way.
    #[error(
        "recording the kernel: {0}\nor leave it out: kernel = false under [trace], or --no-kernel"
    )]
    Kernel(CaptureError),
    /// A signal ended the run before there was anything to keep.
    #[error("interrupted before the first run was complete; nothing was kept")]
    Interrupted,
}

impl RunError {
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

/// The two ways a channel refuses, for [`RunError::channel`].
pub(crate) trait ChannelError: std::error::Error + Send + Sync + 'static {}
impl ChannelError for CreateError {}
impl ChannelError for OpenError {}

/// All refusals, those of several processes with the same reason in one line.
fn refused(refusals: &[(String, Refusal)]) -> String {
    let mut text = String::from("the system grants less than the scenario asks for:");
    let mut told: Vec<&Refusal> = Vec::new();
    for (_, refusal) in refusals {
        if told.iter().any(|known| known.because == refusal.because && known.asked == refusal.asked)
        {
            continue;
        }
        told.push(refusal);
        let who: Vec<&str> = refusals
            .iter()
            .filter(|(_, other)| other == refusal)
            .map(|(process, _)| process.as_str())
            .collect();
        let _ = write!(text, "\n  {}: {refusal}", who.join(", "));
    }
    text + "\nor set allow_less = true in the scenario: it then runs with less, and its figures say so"
}

/// What every part of a run refers to.
pub(crate) struct Context<'r> {
    pub(crate) id: RunId,
    pub(crate) plan: &'r Plan,
    pub(crate) scenario_folder: &'r Path,
    pub(crate) folder: &'r Path,
    pub(crate) calibration: Calibration,
    pub(crate) conditions: &'r Conditions,
    pub(crate) guardian: RefCell<Guardian>,
    pub(crate) server: RefCell<Server>,
    pub(crate) interrupted: &'r AtomicBool,
    /// Whether runs record the kernel's side.
    pub(crate) records_kernel: bool,
}

impl Context<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Runs a plan and leaves a result folder. `interrupted` may be set at any time by a signal handler:
/// the run then ends within a few cycles, in order.
///
/// # Errors
/// See [`RunError`]; nothing is left behind then, neither processes nor files.
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
    let id = RunId::new();
    let guardian = Guardian::start(&id).map_err(RunError::system("the guardian process"))?;
    let server = Server::open(&id).map_err(RunError::system("the control socket"))?;
    let calibration = Calibration::measure();
    let mut known =
        conditions::read(calibration, plan.allow_less, options.commit, options.command_line);
    let started = known.clone();
    let mut kernel = crate::kernel::side(plan, progress)?;
    let context = Context {
        id,
        plan,
        scenario_folder: &options.scenario_folder,
        folder: folder.path(),
        calibration,
        conditions: &started,
        guardian: RefCell::new(guardian),
        server: RefCell::new(server),
        interrupted,
        records_kernel: kernel.interface.is_some(),
    };
    let mut result = RunFolder {
        format: FORMAT,
        title: plan.title.clone(),
        scenario: plan.kind().into(),
        started_unix_s: unix_ns() / 1_000_000_000,
        conditions: started.clone(),
        floors: Vec::new(),
        variants: Vec::new(),
        faults: Vec::new(),
        kernel: KernelSide::default(),
    };
    if let Some(campaign) = &plan.campaign {
        result.faults = crate::campaign::run(&context, campaign, progress)?;
    } else {
        (result.variants, result.floors, kernel.price_readings_ns) = ladder(&context, progress)?;
    }
    let interrupted = context.is_interrupted();
    if interrupted
        && result.faults.is_empty()
        && result.variants.iter().all(|variant| variant.runs.is_empty())
    {
        return Err(RunError::Interrupted);
    }
    context.guardian.into_inner().dismiss().map_err(RunError::system("the guardian process"))?;
    conditions::finish(&mut known);
    result.conditions = known;
    result.kernel = kernel;
    folder.write_json(FILE_NAME, &result)?;
    Ok(Outcome { folder: folder.keep(), interrupted })
}

/// What a ladder comes to: its variants, the floors, and readings of the price of the kernel's record.
type Climbed = (Vec<VariantRecord>, Vec<Floor>, Vec<f64>);

/// Every variant, as often as the plan says: all variants once, then all again, so that what changes slowly on
/// the machine touches each of them alike. The floors are measured in between for the same reason.
fn ladder(context: &Context<'_>, progress: &mut dyn Progress) -> Result<Climbed, RunError> {
    let plan = context.plan;
    let mut records: Vec<VariantRecord> =
        plan.variants.iter().map(|variant| crate::stage::describe(plan, variant)).collect();
    let mut floors = Floors::default();
    let total = plan.variants.len() * plan.runs as usize;
    for number in 1..=plan.runs {
        let mut order: Vec<usize> = (0..plan.variants.len()).collect();
        // The modes of a federation are compared with each other: every other time the other way round.
        if plan.kind() == "federation" && number % 2 == 0 {
            order.reverse();
        }
        for (place, index) in order.into_iter().enumerate() {
            if context.is_interrupted() {
                break;
            }
            let variant = &plan.variants[index];
            let part = (number as usize - 1) * plan.variants.len() + place;
            progress.begin(&variant.name, part + 1, total);
            floors.measure(context, variant, &records[index], progress);
            match climb(context, variant, &mut records[index], number, progress) {
                // What was complete by then is kept, also when it was interrupted while it prepared.
                Err(RunError::Interrupted) => break,
                done => done?,
            }
        }
    }
    let price = floors.take_price();
    Ok((records, floors.into_records(), price))
}

/// One run of one variant.
fn climb(
    context: &Context<'_>,
    variant: &Variant,
    record: &mut VariantRecord,
    number: u32,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    federation::bare(context, variant, record, number, false, progress)?;
    if let Some(run) = Stage::prepare(context, variant, number)?.run(progress)? {
        record.runs.push(run);
        federation::bare(context, variant, record, number, true, progress)?;
    }
    Ok(())
}
