//! Every subcommand and option, declared once; help and errors come from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};

use hemiola_rtid::MEMORY_MIN;
use hemiola_runner::subcommand;
use hemiola_units::{Bytes, CpuSet, Rate, RtiAddress, Span};
use hemiola_world::{BIRTHS_UP_TO, ENTITIES_MAX};

use crate::trace::control::Place;

/// The version, the commit, the kind of build, and its optional features.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("HEMIOLA_BUILD"), ")");

/// Run real-time controllers and distributed simulations on ordinary Linux, and account for every cycle
#[derive(Debug, Parser)]
#[command(name = "hemiola", version = VERSION, disable_help_subcommand = true)]
#[command(after_help = "`hemiola help COMMAND` shows the options of a command.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The words of the command line as text, which names of files need not be: other bytes are replaced.
pub(crate) fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// The command line, for conditions of results.
pub(crate) fn command_line() -> String {
    words().collect::<Vec<String>>().join(" ")
}

/// The arguments with `hemiola help WORDS` as `hemiola WORDS --help`. clap's own `help` would be listed by every
/// command with subcommands, and would get man pages.
pub(crate) fn with_help(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_some_and(|word| word == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and report every cycle
    Run(Run),
    /// Rebuild the report of a result folder
    Report(Report),
    /// Analyze a recording: execution times, periods, response times, which thread delayed which
    Analyze(Analyze),
    /// Compare two result folders or two recordings, and say which differences exceed the noise
    Compare(Compare),
    /// Measure this machine, compare commands, or run an experiment
    Measure(Measure),
    /// Evaluate a model of cost: ranges, budgets, dominant costs, what-ifs
    Model(Model),
    /// Record which threads run when: of a program, a process, a running scenario or the whole system
    Trace(Trace),
    /// List, add, replace, remove or promote the replaceable controllers (units) of a running scenario
    #[command(subcommand_required = true)]
    Unit(Unit),
    /// Check federation object models (FOMs)
    #[command(subcommand)]
    Fom(Fom),
    /// Check, run and redefine simulated worlds
    #[command(subcommand)]
    Universe(Universe),
    /// Serve HLA federations (an RTI for the Federate Protocol), or inspect and control a running RTI
    Rti(Box<Rti>),
    /// Show recordings in the browser: which threads ran when, and what they waited for
    View(View),
    /// Print the JSON schema of a kind of file, for editors
    Schema(Schema),
    /// Write man pages, shell completions, and the C and Python files for programs that mark or manage, to a folder
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The folder, which gets the folders man, completions, include and python
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// The kind of file
    #[arg(value_enum, default_value_t = FileKind::Scenario)]
    pub(crate) kind: FileKind,
    /// Print the keys as Markdown tables instead
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// Files whose keys are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FileKind {
    /// `scenario.toml`
    Scenario,
    /// `model.toml`
    Model,
    /// `experiment.toml`
    Experiment,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// A scenario file, or a folder with a scenario.toml
    pub(crate) scenario: PathBuf,
    /// The result folder: new or empty [default: results/NAME-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// How many runs of each variant, or of each kind of fault
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// The counted part of each run, for example 60s or 10min
    #[arg(long, value_name = "D")]
    pub(crate) duration: Option<Span>,
    /// The rate of the control cycle, for example 50Hz or 1kHz
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<Rate>,
    /// Duration of each A/D and D/A conversion, for example 29us
    #[arg(long, value_name = "T")]
    pub(crate) conversion_time: Option<Span>,
    /// Record the programs only, without the kernel's scheduling events
    #[arg(long)]
    pub(crate) no_kernel: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// A result folder
    pub(crate) folder: PathBuf,
    /// Print summary.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every cycle, or every fault of a campaign, as CSV instead of tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Analyze {
    /// A recording: from `hemiola trace`, a Perfetto trace, a trace.dat from trace-cmd, or a perf.data; `-` for
    /// standard input
    pub(crate) file: PathBuf,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print tasks and threads as CSV instead of tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Draw this part instead of tables, as times from the beginning, for example 1.2s..1.25s
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["json", "csv"])]
    pub(crate) gantt: Option<Stretch>,
    /// Set the period of a thread or task, and its deadline unless its marks state one; others are detected. Repeatable
    #[arg(long, value_name = "NAME=T")]
    pub(crate) period: Vec<Period>,
    /// Show the details of one thread, by name or number
    #[arg(long, value_name = "NAME|TID", conflicts_with_all = ["json", "csv"])]
    pub(crate) thread: Option<String>,
    /// The machine.toml with the measured cost of a context switch [default: the newest in results/measure-*]
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Exit with status 1 if the recording lacks something: damage, lost events, no end, limits of the recorder
    #[arg(long)]
    pub(crate) strict: bool,
    /// Exit with status 1 if a deadline was missed, a verdict is no, or a stated deadline is not known to be kept
    #[arg(long)]
    pub(crate) gate: bool,
}

/// A part of a recording, as times from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Span,
    pub(crate) to: Span,
}

impl std::str::FromStr for Stretch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected two increasing times from the beginning of the recording, such as 1.2s..1.25s";
        let (from, to) = text.split_once("..").ok_or(EXPECTED)?;
        let moment = |text: &str| text.trim().parse::<Span>().map_err(|error| error.to_string());
        let (from, to) = (moment(from)?, moment(to)?);
        if from < Span::ZERO || to <= from {
            return Err(EXPECTED.into());
        }
        Ok(Self { from, to })
    }
}

/// The period of a thread or task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) of: String,
    pub(crate) period: Span,
}

impl std::str::FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A name may contain an equals sign; a duration cannot.
        let expected = || {
            "expected the name or number of a thread and its period, such as control=10ms"
                .to_owned()
        };
        let (of, period) =
            text.rsplit_once('=').filter(|(of, _)| !of.is_empty()).ok_or_else(expected)?;
        let period: Span =
            period.parse().map_err(|error: hemiola_units::QuantityError| error.to_string())?;
        if !period.is_positive() {
            return Err("a period must be greater than zero".into());
        }
        Ok(Self { of: of.to_owned(), period })
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The baseline
    pub(crate) a: PathBuf,
    /// The result to compare with the baseline
    pub(crate) b: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with status 1 if a recording or a result folder lacks something: damage, lost events, an end
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Measure {
    #[command(subcommand)]
    pub(crate) action: Option<Measuring>,
    #[command(flatten)]
    pub(crate) set: Set,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Set {
    /// Measure a reduced set in less than 20 s instead of the full set in less than 5 min
    #[arg(long)]
    pub(crate) quick: bool,
    /// The result folder: new or empty [default: results/measure-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// The background load during the measurement
    #[arg(long, value_enum, default_value_t = Load::Idle)]
    pub(crate) load: Load,
    /// Measure only figures whose names start with PREFIX, for example context_switch.pipe
    #[arg(long, value_name = "PREFIX", num_args = 1..)]
    pub(crate) only: Vec<String>,
}

/// The command-line form of `hemiola_probe::Load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// No load of our own
    Idle,
    /// A process that computes continuously on another processor
    BusyNeighbour,
    /// A process that writes to more memory than the last-level cache holds
    CachePolluter,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Measuring {
    /// Run an experiment and compare its measurements with its expectations
    Experiment {
        /// An experiment file, or a folder with an experiment.toml
        path: PathBuf,
        /// The result folder: new or empty [default: results/NAME-DATE-TIME]
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
        /// Take the inputs of the expectation from this machine.toml, which must be of this machine
        #[arg(long, value_name = "FILE")]
        machine: Option<PathBuf>,
        /// Exit with 1 if a measured value is not known to be inside the expected range, or a recording is damaged
        #[arg(long)]
        gate: bool,
    },
    /// Measure how long commands take, what they use, and how they compare
    Command(Box<Commands>),
    /// Measure the network to another host, or answer one that measures
    Link(Link),
    /// Compare two machines: result folders of `measure`, or their machine.toml files
    Compare(CompareMachines),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareMachines {
    /// The baseline
    pub(crate) a: PathBuf,
    /// The machine to compare with the baseline
    pub(crate) b: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Link {
    /// The other host, HOST or HOST:PORT, where `hemiola measure link --serve` runs
    #[arg(value_name = "HOST", required_unless_present = "serve")]
    pub(crate) host: Option<String>,
    /// Answer other hosts at this address until Ctrl-C: ADDRESS or ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1",
        conflicts_with_all = ["host", "output", "only", "quick", "json", "distance"])]
    pub(crate) serve: Option<String>,
    /// Measure for about 15 s instead of 4 min
    #[arg(long)]
    pub(crate) quick: bool,
    /// The result folder: new or empty [default: results/link-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// The length of the link, for the table of latency, frequency and distance: "30 m", "1200 km"
    #[arg(long, value_name = "LENGTH", value_parser = hemiola_measure::link::distance)]
    pub(crate) distance: Option<f64>,
    /// Measure only figures whose names start with PREFIX, for example link.udp
    #[arg(long, value_name = "PREFIX", num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// Print summary.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Commands {
    /// Commands, each in one text, where {NAME} stands for a parameter
    #[arg(value_name = "TEXT")]
    pub(crate) texts: Vec<String>,
    /// A program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    /// Run each TEXT in this shell, for example sh
    #[arg(short = 'S', long, value_name = "SHELL", conflicts_with = "program")]
    pub(crate) shell: Option<String>,
    /// Runs of each command before the first reading
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) warmup: u32,
    /// Readings of each command [default: those of 3 s, at least 12]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: Option<u32>,
    /// Run this text in a shell before each reading: one for all commands, or one for each
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prepare: Vec<String>,
    /// Run this text in a shell once before the first run: one for all commands, or one for each
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) setup: Vec<String>,
    /// Run this text in a shell once after the last run, also if a run failed: one for all commands, or one for each
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) cleanup: Vec<String>,
    /// Measure a command for each of these VALUES, separated by commas, of the parameter {NAME}
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append)]
    pub(crate) parameter_list: Vec<String>,
    /// The name of a command in tables. Repeatable: for the first command, the second, and so on
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) command_name: Vec<String>,
    /// Compare all commands with the one of this name [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Measure commands that fail too
    #[arg(short, long)]
    pub(crate) ignore_failure: bool,
    /// The file that commands read on standard input [default: nothing]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Show what commands write to standard output
    #[arg(long)]
    pub(crate) show_output: bool,
    /// Write the results as hyperfine does; `-` writes them to standard output instead of tables
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// Write a table in Markdown with hyperfine's columns; `-` writes it to standard output instead of tables
    #[arg(long, value_name = "FILE")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Compare with the results in this file, which this command or hyperfine wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) import_json: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Model {
    #[command(subcommand)]
    pub(crate) action: Option<Modelling>,
    /// A model file, or a folder with a model.toml
    #[arg(required = true)]
    pub(crate) path: Option<PathBuf>,
    /// Write the model, its results and a page into this folder: new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print summary.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the values of all sweeps as comma-separated values instead of tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Take measured figures from this machine.toml, or from a summary.json with figures
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Exit with 1 if a deadline, budget, limit or demand is not known to be kept, or a measurement is out of range
    #[arg(long)]
    pub(crate) gate: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Modelling {
    /// Compare a run with its prediction from the machine's figures, or a recording with a model
    Check(Check),
    /// List the units that formulas know, with those that a model declares
    Units(Listed),
    /// List the figures that "measured" and formulas of experiments can name, or those of a model
    Figures(Listed),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Listed {
    /// A model file, or a folder with a model.toml
    pub(crate) path: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The result folder of a run; with --model, a recording
    pub(crate) path: PathBuf,
    /// The model to compare the recording with: a model file, or a folder with a model.toml
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// The figures of the machine it ran on [default without --model: the newest in results/measure-*]
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 if a measured time is outside the predicted range, or the recording is damaged
    #[arg(long)]
    pub(crate) gate: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Unit {
    /// The name of the run; needed when several are active
    #[arg(long, global = true, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show every unit, and which one controls the plant
    List,
    /// Start a unit; it runs in shadow until it is promoted
    Add(New),
    /// Start a unit in shadow, promote it once its answers are acceptable, then remove the old one
    Replace {
        /// The unit to replace
        old: String,
        #[command(flatten)]
        new: New,
        /// Replace another unit too, in the same transaction: all or none. With a slash, GAIN is the path of a program
        #[arg(long, num_args = 3, value_names = ["OLD", "NEW", "GAIN"], action = clap::ArgAction::Append)]
        also: Vec<String>,
    },
    /// Stop a unit and free its slot
    Remove {
        /// The name of the unit
        name: String,
    },
    /// Give control of the plant to a shadow or standby unit
    Promote {
        /// The name of the unit
        name: String,
    },
    /// Continue after a fail-safe
    Resume,
    /// Print every switch, fault, change of state and request, until the run ends
    Watch {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// The name of the new unit
    pub(crate) name: String,
    /// Run the built-in controller with this gain: a name, or a number for each state, as in 1.5,-0.2
    #[arg(long, value_name = "GAIN", allow_hyphen_values = true, required_unless_present_any = ["command", "wasm"])]
    pub(crate) gain: Option<String>,
    /// Call this WebAssembly module within the decision module, in a sandbox without any rights
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gain", "priority", "command"])]
    pub(crate) wasm: Option<PathBuf>,
    /// The unit's real-time priority, below the decision module's [default: that of the scenario's last unit]
    #[arg(long, value_name = "1-98")]
    pub(crate) priority: Option<u8>,
    /// Processor time that the unit may use in a cycle [default: that of the scenario's last unit]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<Span>,
    /// The user that the program runs as [default: own where the run may change user ids]
    #[arg(long, value_enum, requires = "command")]
    pub(crate) user: Option<UnitUser>,
    /// Run this program, which implements the unit contract (docs/guide/units.md), with its arguments
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "gain")]
    pub(crate) command: Vec<String>,
}

/// The user that the program of a unit runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UnitUser {
    /// A user that no other process has
    Own,
    /// The user of the run, with that user's files
    Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Universe {
    /// Check the texts of a definition together and report every problem
    Check(UniverseFiles),
    /// Write each text in canonical form
    Format(UniverseFormat),
    /// Show what the texts define: types in SI units, bytes per entity, a bound of each function's cost
    Show(UniverseFiles),
    /// Compare the forms in which a definition can be sent: text, compressed, tokens
    Tokens(UniverseTokens),
    /// Print what a module of a user sees of an element: a C header, or a module that changes nothing
    Interface(UniverseInterface),
    /// Show the steps from one definition to another one, and which converters are missing
    ///
    /// Without --after, the old definition is that of a running universe, and the redefinition is tried with its rows.
    /// Exits with status 1 if a property would have no value.
    Plan(UniversePlan),
    /// Show the state of a running universe: steps, entities, monitors, and its last redefinition
    Status(UniverseStatus),
    /// Open a page that shows a running universe: its definition, rows and monitors, and the plan of a redefinition
    View(UniverseView),
    /// Replace the definition of a running universe by these texts, between two steps
    Apply(UniverseApply),
    /// Return a running universe to the definition before its last redefinition
    RollBack(UniverseChosen),
    /// Register as a manager of a running universe, and print the rows, births and deaths that it is told
    Watch(UniverseWatch),
    /// Run a universe as fast as possible, and show what its steps cost and how many rows each monitor received
    Run(UniverseRun),
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseFiles {
    /// The texts of one definition
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// A text of the old definition, which converters read. Repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) after: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseInterface {
    /// The texts of one universe
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// The element whose update a module is to compute
    #[arg(long, value_name = "NAME")]
    pub(crate) element: String,
    /// What to print
    #[arg(long, value_enum, default_value_t = InterfaceForm::Header)]
    pub(crate) form: InterfaceForm,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum InterfaceForm {
    /// The block as a C header
    Header,
    /// A module in C that changes nothing
    C,
    /// A module as WebAssembly text that changes nothing
    Wat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniversePlan {
    /// The texts of the new definition
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// A text of the old definition. Repeatable
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) after: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) chosen: UniverseChosen,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseChosen {
    /// Which universe [default: the only running one]
    #[arg(long, value_name = "RUN/NAME")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseStatus {
    #[command(flatten)]
    pub(crate) chosen: UniverseChosen,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseView {
    #[command(flatten)]
    pub(crate) chosen: UniverseChosen,
    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseWatch {
    /// ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS), as --monitor of `hemiola universe run`
    #[arg(value_name = "MONITOR")]
    pub(crate) monitor: String,
    /// End after so many steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Bytes of the queue, at most 16 MiB [default: 1048576]
    #[arg(long, value_name = "BYTES")]
    pub(crate) queue: Option<u64>,
    /// Its name in the status of the universe
    #[arg(long, default_value = "watch")]
    pub(crate) name: String,
    /// Print an object of JSON on each line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) chosen: UniverseChosen,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseApply {
    /// The texts of the new definition
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) chosen: UniverseChosen,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseFormat {
    /// The texts
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; name the files that are not in canonical form and exit with status 1
    #[arg(long)]
    pub(crate) check: bool,
}

/// Threads of a universe at most; more than the processors of any machine that it was tried on.
const WORKERS_MAX: i64 = 256;

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseRun {
    /// The texts of one universe
    #[arg(required_unless_present = "resume", value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// Steps to make; with --resume, including those before the checkpoint
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: u64,
    /// Simulated length of a step
    #[arg(long, value_name = "SECONDS", default_value_t = 0.01)]
    pub(crate) dt: f64,
    /// Create COUNT entities. A property has its default, this value, or a random one from this range; values are
    /// expressions of the language, such as `[0,0]..[1<km>,1<km>]`
    #[arg(long, value_name = "ELEMENT:COUNT:PROPERTY=LOW..HIGH")]
    pub(crate) populate: Vec<String>,
    /// Seed of random values
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Add a monitor: the element, the properties that it receives [default: all], and a constraint [default: none]
    #[arg(long, value_name = "ELEMENT:PROPERTIES:CONSTRAINT(ARGUMENTS)")]
    pub(crate) monitor: Vec<String>,
    /// Have an entity bear another one of its element when a constraint holds. The newborn has the parent's properties,
    /// except those that are stated; `+=` adds to the parent's
    #[arg(long, value_name = "ELEMENT:CONSTRAINT(ARGUMENTS):PROPERTY=LOW..HIGH")]
    pub(crate) birth: Vec<String>,
    /// Have an entity die when a constraint holds
    #[arg(long, value_name = "ELEMENT:CONSTRAINT(ARGUMENTS)")]
    pub(crate) death: Vec<String>,
    /// Have a WebAssembly module compute the update of an element; see `hemiola universe interface`
    #[arg(long, value_name = "ELEMENT=FILE")]
    pub(crate) module: Vec<String>,
    /// The maximum number of entities: a universe that starts with more is refused, and births beyond it do not happen
    #[arg(
        long,
        value_name = "N",
        default_value_t = BIRTHS_UP_TO as u32,
        value_parser = clap::value_parser!(u32).range(1..=ENTITIES_MAX as i64),
    )]
    pub(crate) entities_max: u32,
    /// Threads that carry out each step together; the results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=WORKERS_MAX))]
    pub(crate) workers: u16,
    /// Interpret all functions, also in a build that can compile them; the results do not depend on it
    #[arg(long)]
    pub(crate) interpret: bool,
    /// Replace the definition by these texts after a step
    #[arg(long, value_name = "STEP:FILE,FILE")]
    pub(crate) redefine: Vec<String>,
    /// Return to the definition before the last --redefine after a step, and after the redefinitions of this step
    #[arg(long, value_name = "STEP")]
    pub(crate) roll_back: Vec<u64>,
    /// Write a checkpoint to this file at the end, from which --resume continues; with --every also in between
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Steps between checkpoints [default: only at the end]
    #[arg(long, value_name = "N", requires = "checkpoint", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) every: Option<u64>,
    /// Continue from a checkpoint, which contains the texts and the other options
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["files", "dt", "seed", "populate", "monitor", "birth", "death", "module", "entities_max"],
    )]
    pub(crate) resume: Option<PathBuf>,
    /// Serve `hemiola universe status`, `plan`, `apply`, `roll-back` and `view` meanwhile
    #[arg(long, conflicts_with_all = ["redefine", "roll_back"])]
    pub(crate) listen: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UniverseTokens {
    /// The texts
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fom {
    /// Check modules together and show what they define
    Check(FomCheck),
}

#[derive(Debug, clap::Args)]
pub(crate) struct FomCheck {
    /// Modules of 1516-2010 or 1516-2025: XML files, ZIP archives, or folders of these
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// The modules are part of a model: list what they need from others instead of reporting errors
    #[arg(long)]
    pub(crate) partial: bool,
    /// Leave out the standard management module, for example to check another one
    #[arg(long)]
    pub(crate) no_mim: bool,
    /// Show what the modules define even if they have errors
    #[arg(long)]
    pub(crate) tree: bool,
    /// Also show what the standard management module defines
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Rti {
    #[command(subcommand)]
    pub(crate) action: Option<Rtis>,
    #[command(flatten)]
    pub(crate) serve: RtiServe,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RtiServe {
    /// Accept TCP connections at this address. Repeatable [default: 127.0.0.1:15164]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Vec<String>,
    /// The name under which local federates connect, as shm:NAME [default: the port of the first address, or pid-N
    /// for port 0]
    #[arg(long, value_name = "NAME", value_parser = local_name)]
    pub(crate) local: Option<String>,
    /// Serve Prometheus metrics over HTTP at this address
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// Run under SCHED_FIFO with this priority
    #[arg(long, value_name = "1-99", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) priority: Option<u8>,
    /// Run on these processors only, for example 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Lock all memory
    #[arg(long)]
    pub(crate) lock_memory: bool,
    /// The maximum number of concurrent sessions; further ones are refused [default: 2048]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) sessions_max: Option<usize>,
    /// The maximum number of sessions from one host or one local user [default: three quarters of all]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) peer_sessions_max: Option<usize>,
    /// The memory that the RTI may use for its peers, at least 8MiB; lowered if the system allows less [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = memory_of_all)]
    pub(crate) memory_max: Option<Bytes>,
    /// The memory that one federation may hold [default: half of --memory-max]
    #[arg(long, value_name = "BYTES", value_parser = some_memory)]
    pub(crate) federation_memory_max: Option<Bytes>,
    /// The memory that the calls of one session may make federations hold [default: a quarter of --memory-max]
    #[arg(long, value_name = "BYTES", value_parser = some_memory)]
    pub(crate) session_memory_max: Option<Bytes>,
    /// Let object models name classes, data types and dimensions that only modules of later federates define
    #[arg(long)]
    pub(crate) partial_models: bool,
    /// How long a federate that slows others down may read nothing before it is evicted [default: 10s]
    #[arg(long, value_name = "T", value_parser = positive_span)]
    pub(crate) stall_max: Option<Span>,
    /// What a federate misses if it reads more slowly than others send to it
    #[arg(long, value_enum, value_name = "RULE", default_value_t = SlowReader::Conflate)]
    pub(crate) slow_reader: SlowReader,
    /// Continue the queues of slow federates in files in this directory when they take too much memory
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    /// The maximum length of each of these files [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = some_memory, requires = "spool")]
    pub(crate) spool_max: Option<Bytes>,
    /// Keep the saves of federations in this directory; without one, saves and restores are refused
    #[arg(long, value_name = "DIR")]
    pub(crate) saves: Option<PathBuf>,
    /// Write the service reports of federates that ask for it to files in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) reports: Option<PathBuf>,
    /// The maximum total length of the report files of this process [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = some_memory, requires = "reports")]
    pub(crate) reports_max: Option<Bytes>,
    /// Admit only federates with the credentials in this file, and let them do only what it says
    #[arg(long, value_name = "FILE")]
    pub(crate) credentials: Option<PathBuf>,
    /// The longest time that a slow federate with a full queue may delay one call of a sender [default: 250ms; with
    /// --priority 20ms]
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) hold_max: Option<Span>,
    /// How long a federate without a connection stays joined and may resume [default: 10min]
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) resume_window: Option<Span>,
    /// Destroy federations without federates this long after their creator's session has ended [default: never]
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) abandoned_federation_expiry: Option<Span>,
    /// The detail of the log on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,
}

/// Parses a number of at least 1.
fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".into()),
        parsed => parsed.map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

/// Parses the memory limit of an RTI.
fn memory_of_all(text: &str) -> Result<Bytes, String> {
    const WHY: &str =
        "half of it has no room for an object model of 2000 classes or an update of 1 MiB";
    match text.parse::<Bytes>() {
        Ok(bytes) if bytes < MEMORY_MIN => Err(format!("it must be at least {MEMORY_MIN}: {WHY}")),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Parses a part of the memory, or the length of files.
fn some_memory(text: &str) -> Result<Bytes, String> {
    const LEAST: Bytes = Bytes(1 << 20);
    match text.parse::<Bytes>() {
        Ok(bytes) if bytes < LEAST => Err(format!("it must be at least {LEAST}")),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Parses a length of time, which may be zero.
fn span(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(span) if span < Span::ZERO => Err("it must not be negative".into()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Parses a length of time that is not zero.
fn positive_span(text: &str) -> Result<Span, String> {
    match span(text)? {
        Span::ZERO => Err("it must be longer than 0".into()),
        span => Ok(span),
    }
}

/// Parses a text that is not empty.
fn some_text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".into()) } else { Ok(text.to_owned()) }
}

/// The command-line form of `hemiola_rtid::SlowReaderPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SlowReader {
    /// Nothing: all messages are queued
    Wait,
    /// Best-effort updates that a newer one of the same attributes replaces
    Conflate,
    /// The same, and best-effort interactions
    Drop,
}

/// Parses the NAME of an address shm:NAME.
fn local_name(text: &str) -> Result<String, String> {
    match format!("shm:{text}").parse() {
        Ok(RtiAddress::SharedMemory(name)) => Ok(name),
        Ok(_) => Err("expected a name".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// Errors that stop the RTI
    Error,
    /// Also sessions ended and connections refused
    Warn,
    /// Also federates that join and leave
    Info,
    /// Also why calls were refused
    Debug,
    /// Everything
    Trace,
}

impl From<LogLevel> for tracing::level_filters::LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Rtis {
    /// Show federations and federates: time, rates, backlog, and which federates hold others back
    Status(RtiStatus),
    /// Print the same figures as Prometheus metrics
    Metrics {
        /// The RTI on this machine: shm:NAME or 127.0.0.1:PORT [default: the running one]
        address: Option<RtiAddress>,
    },
    /// End a session, and resign its federate if it has joined
    Evict {
        /// The name of a federate, or the number of a session, as `hemiola rti status` shows them
        name: String,
        /// The RTI on this machine: shm:NAME or 127.0.0.1:PORT [default: the running one]
        address: Option<RtiAddress>,
    },
    /// Evict all federates of a federation and destroy it
    Destroy {
        /// The name of the federation
        federation: String,
        /// The RTI on this machine: shm:NAME or 127.0.0.1:PORT [default: the running one]
        address: Option<RtiAddress>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RtiStatus {
    /// The RTI on this machine: shm:NAME or 127.0.0.1:PORT [default: the running one]
    pub(crate) address: Option<RtiAddress>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Refresh every second until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("subject").required(true).args(["pid", "all", "run", "program"]))]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Trace {
    /// Record this process with its threads and children until it ends or Ctrl-C
    #[arg(short, long, value_name = "PID", value_parser = pid)]
    pub(crate) pid: Option<u32>,
    /// Record the whole system until Ctrl-C
    #[arg(long)]
    pub(crate) all: bool,
    /// Record the active run of this name
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The trace file; an existing one is overwritten [default: NAME.trace]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How long to record, for example 10s or 5min
    #[arg(long, value_name = "D", value_parser = positive_span)]
    pub(crate) duration: Option<Span>,
    /// Keep only the last D of the recording, in memory, until a trigger or the end
    #[arg(long, value_name = "D", value_parser = positive_span)]
    pub(crate) keep: Option<Span>,
    /// The event that ends a recording with --keep. Repeatable [default: any of them]
    #[arg(long, value_enum, requires = "keep", value_name = "EVENT")]
    pub(crate) trigger: Vec<Trigger>,
    /// Record nothing until a program calls hemiola_start, or `hemiola trace start` asks for it
    #[arg(long)]
    pub(crate) paused: bool,
    /// Let other programs control the recording through this socket, which is created at a path, or inherited as fd:N.
    /// A recording without it cannot be controlled
    #[arg(long, value_name = "SOCKET", value_parser = place())]
    pub(crate) control: Option<Place>,
    /// Also record interrupts
    #[arg(long)]
    pub(crate) interrupts: bool,
    /// Also record page faults
    #[arg(long)]
    pub(crate) page_faults: bool,
    /// Also record system calls
    #[arg(long)]
    pub(crate) calls: bool,
    /// The kernel interface to record with [default: the cheapest permitted]
    #[arg(long, value_enum)]
    pub(crate) interface: Option<Interface>,
    /// Run and record this program with its arguments, including its marks
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
    #[command(subcommand)]
    pub(crate) action: Option<Tracing>,
}

/// Parses the number of a process.
fn pid(text: &str) -> Result<u32, String> {
    let expected = "expected the number of a process, such as the output of `pidof PROGRAM`";
    text.parse().ok().filter(|pid| *pid > 0).ok_or_else(|| expected.to_owned())
}

/// The parser of the place of a control socket.
fn place() -> impl TypedValueParser<Value = Place> {
    OsStringValueParser::new().try_map(Place::parse)
}

/// A request to a recording that was started with `--control`.
#[derive(Debug, Subcommand)]
pub(crate) enum Tracing {
    /// Start or continue a recording
    Start(Controlled),
    /// Pause a recording
    Stop(Controlled),
    /// Mark this moment in a recording
    Mark {
        /// The text of the mark
        #[arg(value_parser = some_text)]
        text: String,
        #[command(flatten)]
        of: Controlled,
    },
    /// End a recording with --keep, which then writes its file
    Trigger {
        /// The reason
        text: String,
        #[command(flatten)]
        of: Controlled,
    },
    /// Write what is recorded so far to NAME.trace, beside the file of the recording, which continues
    Snapshot {
        /// The name of the snapshot
        #[arg(value_parser = some_text)]
        name: String,
        #[command(flatten)]
        of: Controlled,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Controlled {
    /// The socket of the recording: the path that was given to its --control, or fd:N for an inherited connection to it
    #[arg(long, value_name = "SOCKET", value_parser = place())]
    pub(crate) control: Place,
}

/// An event that ends a recording with `--keep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Trigger {
    /// A marked job misses its deadline
    Miss,
    /// SIGUSR1 to this command
    Signal,
    /// The program calls hemiola_trigger, or `hemiola trace trigger` requests it
    Mark,
}

/// The command-line form of `hemiola_record::kernel::Interface`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Interface {
    /// BPF programs at the kernel's tracepoints
    Bpf,
    /// The kernel's perf event buffers
    Perf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// The port on 127.0.0.1 [default: any free port]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Print the address without opening a browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct View {
    /// A trace file or a result folder; two are shown side by side
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) page: Page,
    /// Set the period of a thread or task, and its deadline unless its marks state one; others are detected. Repeatable
    #[arg(long, value_name = "NAME=T")]
    pub(crate) period: Vec<Period>,
    /// The machine.toml with the measured cost of a context switch [default: the newest in results/measure-*]
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Open at this place: the part after # in a saved link
    #[arg(long, value_name = "PLACE")]
    pub(crate) at: Option<String>,
}

/// The role in which the runner or a probe starts this binary again. Internal, so not among the options: the argument
/// has meaning only to the parent process.
pub(crate) enum Hidden {
    Node,
    Guardian(String),
    ProbePeer(String),
}

impl Hidden {
    pub(crate) fn of(words: &[String]) -> Option<Self> {
        let [word, argument] = words else { return None };
        match word.as_str() {
            subcommand::NODE => Some(Self::Node),
            subcommand::GUARDIAN => Some(Self::Guardian(argument.clone())),
            subcommand::PROBE => Some(Self::ProbePeer(argument.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_process_is_named_by_its_number() {
        for number in ["abc", "0", "-1", "4294967296"] {
            let words = ["hemiola", "trace", &format!("--pid={number}")];
            let error = Args::try_parse_from(words).unwrap_err().to_string();
            assert!(error.contains("expected the number of a process"), "{error}");
        }
        assert!(Args::try_parse_from(["hemiola", "trace", "-p", "1"]).is_ok());
    }

    #[test]
    fn a_program_of_a_unit_keeps_its_own_options() {
        let words =
            ["hemiola", "unit", "add", "mine", "--priority", "60", "--", "./unit", "--fast"];
        let Command::Unit(unit) = Args::parse_from(words).command else {
            panic!("not a unit command")
        };
        let Action::Add(new) = unit.action else { panic!("not an addition") };
        assert_eq!((new.priority, new.command), (Some(60), vec!["./unit".into(), "--fast".into()]));
    }
}
