//! Every subcommand and option, declared once; help and errors come from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use hemiola_runner::subcommand;
use hemiola_units::{Bytes, CpuSet, Rate, RtiAddress, Span};

/// The version, the commit, and the optional features of its crates that `Cargo.toml` turns on.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("HEMIOLA_BUILD"), ", with pubsub)");

/// Real-time controllers on ordinary Linux: run, swap while running, account for every microsecond.
#[derive(Debug, Parser)]
#[command(name = "hemiola", version = VERSION, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and report every cycle
    Run(Run),
    /// Make the report of a result folder again
    Report(Report),
    /// Say what a recording shows: C, T, U, response times, who delayed whom
    Analyze(Analyze),
    /// Put two result folders, or two recordings, side by side, with intervals
    Compare(Compare),
    /// Measure this machine's figures of merit, or run an experiment
    Measure(Measure),
    /// Say what a model costs: ranges, budgets, what eats it, what-ifs
    Model(Model),
    /// Record who runs when: a program, a process, a running scenario or everything
    Trace(Trace),
    /// List, add, replace, remove or promote units of the scenario that runs now
    #[command(subcommand_required = true)]
    Unit(Unit),
    /// Look at federation object models
    #[command(subcommand)]
    Fom(Fom),
    /// Serve federations (HLA 4 over the Federate Protocol), or look into an RTI that does
    Rti(Rti),
    /// Show recordings in the browser: who ran when, who waited for whom
    View(View),
    /// Print the JSON schema of scenario files, for editors
    Schema,
    /// Write man pages and shell completions to a folder
    #[command(hide = true)]
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The folder, which gets the folders man and completions
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// A scenario file, or a folder with a scenario.toml
    pub(crate) scenario: PathBuf,
    /// The result folder: new or empty [default: results/NAME-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// How often each variant runs, or each kind of fault
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// How long a run is counted, as 60s or 10min
    #[arg(long, value_name = "D")]
    pub(crate) duration: Option<Span>,
    /// The rate of the control cycle, as 50Hz or 1kHz
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<Rate>,
    /// Time of each A/D and D/A conversion, as 29us
    #[arg(long, value_name = "T")]
    pub(crate) conversion_time: Option<Span>,
    /// Record the programs only, not what the kernel does with the processors
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
    /// Print every cycle as CSV instead of tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Analyze {
    /// A recording: of `hemiola trace`, a Perfetto trace, trace.dat of trace-cmd or perf.data
    pub(crate) file: PathBuf,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print tasks and threads as CSV instead of tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Draw the time between two moments after the beginning, as 1.2s..1.25s, instead of tables
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["json", "csv"])]
    pub(crate) gantt: Option<Stretch>,
    /// The period of a thread or task, which is its deadline too; the others' are found. May be given again
    #[arg(long, value_name = "NAME=T")]
    pub(crate) period: Vec<Period>,
    /// Everything about one thread, by name or number
    #[arg(long, value_name = "NAME|TID", conflicts_with_all = ["json", "csv"])]
    pub(crate) thread: Option<String>,
    /// What one switch costs, measured directly, from this machine.toml [default: the newest of results/measure-*]
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
}

/// A stretch of a recording, as time since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Span,
    pub(crate) to: Span,
}

impl std::str::FromStr for Stretch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str =
            "expected two moments after the beginning of the recording, as 1.2s..1.25s";
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
        // A name may hold an equals sign, a length of time none.
        let expected =
            || "expected the name or number of a thread and its period, as control=10ms".to_owned();
        let (of, period) =
            text.rsplit_once('=').filter(|(of, _)| !of.is_empty()).ok_or_else(expected)?;
        let period: Span =
            period.parse().map_err(|error: hemiola_units::QuantityError| error.to_string())?;
        if !period.is_positive() {
            return Err("a period is longer than nothing".into());
        }
        Ok(Self { of: of.to_owned(), period })
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// What to compare with
    pub(crate) a: PathBuf,
    /// What is compared
    pub(crate) b: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
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
    /// A set that takes less than 20 s, in place of one that takes less than 5 min
    #[arg(long)]
    pub(crate) quick: bool,
    /// The result folder: new or empty [default: results/measure-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// What else the machine does meanwhile
    #[arg(long, value_enum, default_value_t = Load::Idle)]
    pub(crate) load: Load,
    /// Only the figures whose names begin so, as context_switch.pipe
    #[arg(long, value_name = "PREFIX", num_args = 1..)]
    pub(crate) only: Vec<String>,
}

/// As the probes have them, by the words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// Nothing of ours
    Idle,
    /// A process that computes without rest on another processor
    BusyNeighbour,
    /// A process that writes through more than the last cache
    CachePolluter,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Measuring {
    /// Measure what an experiment asks, and hold it against what it expects
    Experiment {
        /// An experiment file, or a folder with an experiment.toml
        path: PathBuf,
        /// The result folder: new or empty [default: results/NAME-DATE-TIME]
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
        /// Take the figures the expectation stands on from this machine.toml of this machine
        #[arg(long, value_name = "FILE")]
        machine: Option<PathBuf>,
    },
    /// Put two machines side by side: folders of `measure`, or their machine.toml
    Compare(Compare),
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Model {
    #[command(subcommand)]
    pub(crate) action: Option<Modelling>,
    /// A model file, or a folder with a model.toml
    #[arg(required = true)]
    pub(crate) path: Option<PathBuf>,
    /// Write model, figures and page into this folder: new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print summary.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Take measured figures from this machine.toml, or from a summary.json that has some
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Modelling {
    /// Predict a scenario from the machine's figures and hold it against its run
    Check(Check),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The result folder of a run
    pub(crate) folder: PathBuf,
    /// The figures of the machine it ran on [default: the newest of results/measure-*]
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Unit {
    /// Which run, when several are running
    #[arg(long, global = true, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show every unit and who has the plant
    List,
    /// Start a unit; it runs in shadow until it is promoted
    Add(New),
    /// Start a unit in shadow, promote it once it has proved itself, then remove the old one
    Replace {
        /// The unit to go
        old: String,
        #[command(flatten)]
        new: New,
    },
    /// Stop a unit and free its slot
    Remove {
        /// Its name
        name: String,
    },
    /// Give a shadow or standby unit the plant
    Promote {
        /// Its name
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// What the new unit is called
    pub(crate) name: String,
    /// A built-in controller, by the name of its gain
    #[arg(long, value_name = "GAIN", required_unless_present = "command")]
    pub(crate) gain: Option<String>,
    /// Its real-time priority, below the decision module's [default: that of the scenario's last unit]
    #[arg(long, value_name = "1-98")]
    pub(crate) priority: Option<u8>,
    /// Or any program that keeps the unit contract (docs/guide/units.md), with its arguments
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "gain")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fom {
    /// Check modules together, and show what they define
    Check(FomCheck),
}

#[derive(Debug, clap::Args)]
pub(crate) struct FomCheck {
    /// Modules of 1516-2010 or 1516-2025: XML, ZIP archives, or folders of them
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// The modules are part of a model: list what they need from others instead of refusing it
    #[arg(long)]
    pub(crate) partial: bool,
    /// Leave the standard management module out, to check one by itself
    #[arg(long)]
    pub(crate) no_mim: bool,
    /// Show what the modules define even if they are not sound
    #[arg(long)]
    pub(crate) tree: bool,
    /// Show what the standard management module defines too
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
    /// Take TCP connections at this address. May be given again [default: 127.0.0.1:15164]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Vec<String>,
    /// What federates of this machine find it by, as shm:NAME [default: the port of the first address]
    #[arg(long, value_name = "NAME", value_parser = local_name)]
    pub(crate) local: Option<String>,
    /// Answer HTTP requests for Prometheus metrics at this address
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// Run under SCHED_FIFO with this priority
    #[arg(long, value_name = "1-99", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) priority: Option<u8>,
    /// Run on these processors only, as 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Lock all memory
    #[arg(long)]
    pub(crate) lock_memory: bool,
    /// How many sessions there may be at a time; more are refused [default: 2048]
    #[arg(long, value_name = "N")]
    pub(crate) sessions_max: Option<usize>,
    /// How much may wait for all federates together; beyond it the worst one is lost [default: 1GiB]
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory_max: Option<Bytes>,
    /// How long a federate that slows others down may read nothing; then it is lost [default: 10s]
    #[arg(long, value_name = "T")]
    pub(crate) stall_max: Option<Span>,
    /// The longest time for which a slow receiver delays one call of a sender [default: 250ms]
    #[arg(long, value_name = "T")]
    pub(crate) hold_max: Option<Span>,
    /// How long a federate without a connection stays joined and may come back [default: 10min]
    #[arg(long, value_name = "T")]
    pub(crate) resume_window: Option<Span>,
    /// What is said on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,
}

/// A name that is part of an address.
fn local_name(text: &str) -> Result<String, String> {
    match format!("shm:{text}").parse() {
        Ok(RtiAddress::SharedMemory(name)) => Ok(name),
        Ok(_) => Err("expected a name".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// What stops it
    Error,
    /// And what was ended or refused
    Warn,
    /// And who comes and goes
    Info,
    /// And why calls were refused
    Debug,
    /// And everything
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
    /// Show federations and federates: time, rates, backlog, who holds back whom since when
    Status(RtiStatus),
    /// Print the same as Prometheus metrics
    Metrics {
        /// Which RTI of this machine: shm:NAME or 127.0.0.1:PORT [default: the one that runs]
        address: Option<RtiAddress>,
    },
    /// End a session or the federate that has it; the federation resigns the federate
    Evict {
        /// The name of a federate, or the number of a session, as `hemiola rti status` shows them
        name: String,
        /// The RTI on this machine: shm:NAME or 127.0.0.1:PORT [default: the one that runs]
        address: Option<RtiAddress>,
    },
    /// Evict all federates of a federation, and destroy it
    Destroy {
        /// The name of the federation
        federation: String,
        /// The RTI on this machine: shm:NAME or 127.0.0.1:PORT [default: the one that runs]
        address: Option<RtiAddress>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RtiStatus {
    /// Which RTI of this machine: shm:NAME or 127.0.0.1:PORT [default: the one that runs]
    pub(crate) address: Option<RtiAddress>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Look again every second, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("subject").required(true).args(["pid", "all", "run", "program"]))]
pub(crate) struct Trace {
    /// This process, with its threads and children, until it ends or Ctrl-C
    #[arg(short, long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// The whole system, until Ctrl-C
    #[arg(long)]
    pub(crate) all: bool,
    /// The scenario that runs now under this name
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The trace file, written anew [default: NAME.trace]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How long to record, as 10s or 5min
    #[arg(long, value_name = "D")]
    pub(crate) duration: Option<Span>,
    /// Keep only the last of it, in memory, until a trigger or the end
    #[arg(long, value_name = "D")]
    pub(crate) keep: Option<Span>,
    /// What ends a recording with --keep; several may be given [default: each of them]
    #[arg(long, value_enum, requires = "keep", value_name = "EVENT")]
    pub(crate) trigger: Vec<Trigger>,
    /// Record nothing before the program calls for a start
    #[arg(long, conflicts_with_all = ["pid", "all", "run"])]
    pub(crate) paused: bool,
    /// Interrupts too
    #[arg(long)]
    pub(crate) interrupts: bool,
    /// Page faults too
    #[arg(long)]
    pub(crate) page_faults: bool,
    /// System calls too
    #[arg(long)]
    pub(crate) calls: bool,
    /// The kernel's interface [default: the cheapest that is permitted]
    #[arg(long, value_enum)]
    pub(crate) interface: Option<Interface>,
    /// A program with its arguments; its marks are recorded too
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// What a flight recorder waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Trigger {
    /// A marked job misses its deadline
    Miss,
    /// SIGUSR1 to this command
    Signal,
    /// The program calls hemiola_trigger
    Mark,
}

/// As the recorder has them, by the words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Interface {
    /// Programs of ours at the kernel's tracepoints
    Bpf,
    /// The kernel's event buffers
    Perf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct View {
    /// A trace file or a result folder; two are shown side by side
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// The port on 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Print the address only
    #[arg(long)]
    pub(crate) no_open: bool,
    /// The period of a thread or task, which is its deadline too; the others' are found. May be given again
    #[arg(long, value_name = "NAME=T")]
    pub(crate) period: Vec<Period>,
    /// Open at this place: what stands behind # in a saved link
    #[arg(long, value_name = "PLACE")]
    pub(crate) at: Option<String>,
}

/// What a process of a run or of a measurement is started as. Not part of the command line proper: these
/// words are followed by what only the runner or a probe can say.
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
