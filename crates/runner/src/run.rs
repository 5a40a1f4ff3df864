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
    /// Whether a signal cut it short; the runs completed before are in the folder.
    pub interrupted: bool,
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
    /// A process that the run needs stopped early.
    #[error("process \"{process}\" stopped {after} after the start: {reason}{output}")]
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

/// The errors of creating and opening a channel, for [`RunError::channel`].
pub(crate) trait ChannelError: std::error::Error + Send + Sync + 'static {}
impl ChannelError for CreateError {}
impl ChannelError for OpenError {}

/// All refusals; several processes with the same refusal share a line.
fn refused(refusals: &[(String, Refusal)]) -> String {
    let mut text = String::from("the system grants less than the scenario asks for:");
    let mut listed: Vec<&Refusal> = Vec::new();
    for (_, refusal) in refusals {
        if listed
            .iter()
            .any(|known| known.because == refusal.because && known.asked == refusal.asked)
        {
            continue;
        }
        listed.push(refusal);
        let processes: Vec<&str> = refusals
            .iter()
            .filter(|(_, other)| other == refusal)
            .map(|(process, _)| process.as_str())
            .collect();
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

/// Runs a plan and leaves a result folder. A signal handler may set `interrupted` at any time: the run then ends in an
/// orderly way within a few cycles.
///
/// # Errors
/// See [`RunError`]. No process and no file is left behind then.
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
        (result.variants, result.floors, kernel.price_readings_ns) =
            run_variants(&context, progress)?;
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

/// The results of all variants: their records, the floors, and readings of the cost of recording the kernel.
type Results = (Vec<VariantRecord>, Vec<Floor>, Vec<f64>);

/// Runs every variant as often as the plan says: all variants once, then all again, so that slow changes of the
/// machine affect each of them alike. The floors are measured in between for the same reason.
fn run_variants(context: &Context<'_>, progress: &mut dyn Progress) -> Result<Results, RunError> {
    let plan = context.plan;
    let mut records: Vec<VariantRecord> =
        plan.variants.iter().map(|variant| crate::stage::describe(plan, variant)).collect();
    let mut floors = Floors::default();
    let total = plan.variants.len() * plan.runs as usize;
    for number in 1..=plan.runs {
        let mut order: Vec<usize> = (0..plan.variants.len()).collect();
        // The modes of a federation are compared with each other: every second time in reverse order.
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
            match run_once(context, variant, &mut records[index], number, progress) {
                // Complete runs are kept, also when this one was interrupted while it prepared.
                Err(RunError::Interrupted) => break,
                done => done?,
            }
        }
    }
    let price = floors.take_price();
    Ok((records, floors.into_records(), price))
}

/// Runs a variant once.
fn run_once(
    context: &Context<'_>,
    variant: &Variant,
    record: &mut VariantRecord,
    number: u32,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    federation::run_bare_timer(context, variant, record, number, false, progress)?;
    if let Some(run) = Stage::prepare(context, variant, number)?.run(progress)? {
        record.runs.push(run);
        federation::run_bare_timer(context, variant, record, number, true, progress)?;
    }
    Ok(())
}
