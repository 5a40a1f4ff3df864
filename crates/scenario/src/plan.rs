//! The plan: what a sound scenario means, with every name resolved and every default filled in.
//!
//! A [`Plan`] from [`crate::read`] has passed all checks, so its readers need not look again. It is
//! plain data and serialises: the runner hands parts of it to the processes it starts and writes the
//! whole beside the results.

mod federation;

use std::fmt;

pub use hemiola_simplex::Gain;
use hemiola_simplex::fault::FaultKind;
use hemiola_units::{Bytes, Delivery, Endpoint, Overrun, Profile, Rate, Span};
use serde::{Deserialize, Serialize};

pub use federation::{
    Ellipse, Exchange, FederateSettings, Federation, Model, OrbitSettings, SATELLITES, Transport,
};

/// A whole scenario, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// One line for headings.
    pub title: String,
    /// What the scenario is about; may be empty.
    pub description: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// The counted part of one run of one variant.
    pub duration: Span,
    /// What runs before it and is not counted.
    pub warmup: Span,
    /// How often each variant is run; 1 to 10 000.
    pub runs: u32,
    /// Whether a run goes on when the system grants less than a profile asks for.
    pub allow_less: bool,
    /// The apparatus, shared by all variants; `None` when nothing is controlled. Each run has a noise of its own.
    pub plant: Option<hemiola_plant::Settings>,
    /// The converter card between plant and I/O.
    pub card: CardSettings,
    /// The variants in the order written. Not empty unless there is a campaign of simulated faults only.
    pub variants: Vec<Variant>,
    /// Whether runs record what the kernel does with the processors.
    pub kernel: KernelTrace,
    /// Faults to inject instead of running the variants one by one.
    pub campaign: Option<Campaign>,
    /// What the reader should know though it stops nothing: lengths shortened to fit a rate given on
    /// the command line, priorities that `allow_less` lets through. One sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    /// `"campaign"`, `"federation"` (each variant a mode of it), `"mixed-load"` (a benchmark in each variant),
    /// `"ladder"` (several variants) or `"scenario"` (one).
    #[must_use]
    pub fn kind(&self) -> &'static str {
        let mixed = || self.variants.iter().all(|variant| variant.mixed().is_some());
        let federation = || self.variants.iter().all(|variant| variant.federation.is_some());
        match (&self.campaign, self.variants.len()) {
            (Some(_), _) => "campaign",
            (None, 1..) if federation() => "federation",
            (None, 1..) if mixed() => "mixed-load",
            (None, 0 | 1) => "scenario",
            (None, _) => "ladder",
        }
    }

    /// The variant with this name.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}

/// Whether a run's trace has the kernel's side: who had which processor, and who woke whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelTrace {
    /// Where this user may, with a word where not.
    #[default]
    WherePermitted,
    /// Always: a run that may not ends, unless the scenario allows less.
    Required,
    /// Never.
    Off,
}

/// The emulated converter card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardSettings {
    /// Time one conversion takes; a cycle has two A/D and one D/A.
    pub conversion_time: Span,
}

/// One step of the ladder: processes, and how they talk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique in the plan.
    pub name: String,
    /// What is special about it; may be empty.
    pub description: String,
    /// The rate of the control cycle.
    pub rate: Rate,
    /// All channels between processes in the order written; the card and the units' answers are not
    /// among them, because they follow from the variant.
    pub channels: Vec<Channel>,
    /// All processes in the order of starting, the plant first; units are not among them.
    pub processes: Vec<Process>,
    /// Replacement units by slot; the decision process starts before them.
    pub units: Vec<Unit>,
    /// The rule of the decision process; present exactly when there is one.
    pub decision: Option<hemiola_simplex::Settings>,
    /// The name of the variant as written, when this is one value of a list in it.
    pub series: Option<String>,
    /// What its processes have in common, when the variant is a mode of a federation.
    #[serde(default)]
    pub federation: Option<Federation>,
}

/// A benchmark, and the load it is disturbed by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed<'r> {
    /// The benchmark's process.
    pub benchmark: &'r Process,
    /// The length of one turn.
    pub turn: Span,
    /// The load that works in the second and the third of every four turns; `None` for the control,
    /// where nothing does.
    pub load: Option<&'r Process>,
}

impl Variant {
    /// The benchmark of this variant, if it has one, and its load.
    #[must_use]
    pub fn mixed(&self) -> Option<Mixed<'_>> {
        let mut processes = self.processes.iter();
        let (benchmark, turn) = processes.find_map(|process| match process.task {
            Task::Benchmark { turn, .. } => Some((process, turn)),
            _ => None,
        })?;
        let takes_turns = |task: &Task| matches!(task, Task::Workload { takes_turns: true, .. });
        let load = self.processes.iter().find(|process| takes_turns(&process.task));
        Some(Mixed { benchmark, turn, load })
    }

    /// The channel with this name.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// The process with this name.
    #[must_use]
    pub fn process(&self, name: &str) -> Option<&Process> {
        self.processes.iter().find(|process| process.name == name)
    }

    /// The decision process, if the variant has one.
    #[must_use]
    pub fn decision_process(&self) -> Option<&Process> {
        self.processes.iter().find(|process| process.task == Task::Decision)
    }

    /// The channel the decision process and all units read, if there is a decision process.
    #[must_use]
    pub fn sensors(&self) -> Option<&Channel> {
        self.channel(self.decision_process()?.receives.first()?)
    }

    /// The hand-overs of one cycle; none for a variant without an I/O process.
    #[must_use]
    pub fn hand_overs(&self) -> HandOvers {
        let io = self.processes.iter().find_map(|process| match &process.task {
            Task::Io { order } => Some((order, process)),
            _ => None,
        });
        let Some((order, io)) = io else { return HandOvers { down: 0, up: 0, mechanism: "" } };
        let channel = io.sends.first().and_then(|name| self.channel(name));
        let mechanism = channel.map_or("", |channel| match channel.endpoint {
            Endpoint::Local(_) => "",
            Endpoint::SharedMemory(_) => "futex",
            Endpoint::MessageQueue(_) => "mq",
            Endpoint::PubSub(_) => "pubsub",
        });
        let (down, up) = match (self.decision.is_some(), order) {
            // I/O to each unit in turn; up to the decision module, up to I/O.
            (true, _) => (self.units.len() as u32, 2),
            // To the controller and back up.
            (false, Order::ReadFirst { .. }) => (1, 1),
            // To the controller; what it answers waits for the next cycle.
            (false, Order::WriteFirst) => (1, 0),
        };
        HandOvers { down, up, mechanism }
    }
}

/// Hand-overs from process to process between the first and the last stamp of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOvers {
    /// To a process of lower priority, which runs when the sender goes to sleep.
    pub down: u32,
    /// To a process of higher priority, which preempts.
    pub up: u32,
    /// `"futex"`, `"mq"` or `"pubsub"`; empty when there are none.
    pub mechanism: &'static str,
}

/// A connection between processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Unique in the variant.
    pub name: String,
    /// Mechanism and name; unique in the variant.
    pub endpoint: Endpoint,
    /// What is kept when the receiver is slower.
    pub delivery: Delivery,
    /// What one message is.
    pub message: Message,
}

/// What travels over a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What I/O measured: 64 bytes.
    Sensors,
    /// What a controller answers: 48 bytes.
    Command,
}

impl Message {
    /// Its length in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Sensors => 64,
            Self::Command => 48,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sensors => f.pad("sensors"),
            Self::Command => f.pad("command"),
        }
    }
}

/// One process of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Unique in the variant, units included.
    pub name: String,
    /// What it does.
    pub task: Task,
    /// What starts each of its jobs.
    pub release: Release,
    /// The time between its releases: of its own rate, or of whoever sends what releases it.
    pub period: Span,
    /// From release to the latest finish; never beyond the period.
    pub deadline: Span,
    /// What it asks the system for.
    pub profile: Profile,
    /// The name of that profile in the scenario; `None` for an ordinary process.
    pub profile_name: Option<String>,
    /// Channels it sends on.
    pub sends: Vec<String>,
    /// Channels it receives from.
    pub receives: Vec<String>,
}

/// What a process does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Integrates the apparatus; settings are [`Plan::plant`].
    Plant,
    /// Reads the card, sends sensors, receives the command, writes the card. One channel each way.
    Io {
        /// What comes first in a cycle.
        order: Order,
    },
    /// I/O and controller in one process, without a channel.
    Monolithic {
        /// The controller's law.
        gain: Gain,
    },
    /// Answers each sensors message with a command. One channel each way.
    Controller {
        /// The controller's law.
        gain: Gain,
    },
    /// Supervises the units and holds the safety controller; settings are [`Variant::decision`]. One
    /// channel each way.
    Decision,
    /// Computes for a while each period: load.
    Workload {
        /// Processor time of one job.
        compute: Span,
        /// Whether it works only in the second and the third of every four turns of the variant's
        /// benchmark.
        takes_turns: bool,
    },
    /// Computes and walks through memory in several threads without rest, and counts what it gets
    /// done; `period` is its turn.
    Benchmark {
        /// How many threads; 1 to 64.
        threads: u32,
        /// What each of them walks through.
        memory: Bytes,
        /// The length of a turn: work is counted by turns.
        turn: Span,
    },
    /// Any other program; it paces itself.
    Command {
        /// As written: a path, relative to the scenario's folder, or a name to look up.
        program: String,
        /// What follows it.
        arguments: Vec<String>,
    },
    /// The run-time infrastructure of the variant's federation.
    Rti {
        /// The network name space it runs in; `None` for the runner's own.
        namespace: Option<String>,
    },
    /// A federate of it.
    Federate(FederateSettings),
    /// Wakes at every release and does nothing: what waiting alone costs.
    Timer,
}

impl Task {
    /// The word a scenario uses for it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Plant => "plant",
            Self::Io { .. } => "io",
            Self::Monolithic { .. } => "monolithic",
            Self::Controller { .. } => "controller",
            Self::Decision => "decision",
            Self::Workload { .. } => "workload",
            Self::Benchmark { .. } => "benchmark",
            Self::Command { .. } => "command",
            Self::Rti { .. } => "rti",
            Self::Federate(_) => "federate",
            Self::Timer => "timer",
        }
    }
}

/// The order of work in an I/O cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Write the command of the previous cycle, then sample: one whole sample of delay, and nobody is
    /// waited for.
    WriteFirst,
    /// Sample, send, wait for the answer, write it.
    ReadFirst {
        /// From the release to when waiting ends and 0 V is written; shorter than the period, longer
        /// than the decision process's [`answer_within`](hemiola_simplex::Settings::answer_within).
        command_within: Span,
    },
}

/// What starts a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// The clock.
    Every {
        /// How often.
        rate: Rate,
        /// What happens when a job is still running at the next release.
        overrun: Overrun,
        /// How long before each release it wakes, to warm up and meet the release exactly; 0 for not at
        /// all, at most half the period.
        lead: Span,
    },
    /// A message on one of the channels it receives from.
    On {
        /// That channel's name.
        channel: String,
        /// How long before each release of the loop it wakes to warm up, and then waits on; 0 for not at all,
        /// at most half the period.
        lead: Span,
    },
    /// A pulse or a grant of its federation.
    Federation,
    /// The program itself.
    Own,
}

/// A replacement unit as the variant starts with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Unique in the variant, processes included.
    pub name: String,
    /// What runs in it.
    pub program: UnitProgram,
    /// What goes wrong in it on purpose.
    pub fault: Option<InjectedFault>,
    /// Whether it controls from the start.
    pub state: UnitState,
    /// Processor time it may use in a cycle before it is stopped; at most the period.
    pub budget: Span,
    /// What it asks the system for; always below the decision process.
    pub profile: Profile,
    /// The name of that profile in the scenario; `None` for an ordinary process.
    pub profile_name: Option<String>,
}

/// The executable of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitProgram {
    /// Our own unit with this law.
    Gain(Gain),
    /// Any program that keeps the unit contract.
    Command {
        /// As written: a path, relative to the scenario's folder, or a name to look up.
        program: String,
        /// What follows it.
        arguments: Vec<String>,
    },
}

/// A fault injected on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedFault {
    /// A fault of a unit's output, its messages or its process.
    pub kind: FaultKind,
    /// When, from the start of the run, warm-up included.
    pub after: Span,
}

/// How a unit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitState {
    /// Its answers are used, as long as they are safe; at most one per variant.
    Active,
    /// Its answers are judged and recorded only.
    Shadow,
}

/// Faults to inject, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// Faults of a controller's output, in pure simulation.
    pub simulated: Option<SimulatedFaults>,
    /// Faults of real processes, in variants of this plan.
    pub process: Option<ProcessFaults>,
}

/// Faults injected in pure simulation, without and with the decision rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedFaults {
    /// Faults of the class [`Class::Output`](hemiola_simplex::fault::Class::Output).
    pub kinds: Vec<FaultKind>,
    /// Runs a kind, without and with the decision rule each.
    pub runs: u32,
    /// Simulated time of one run.
    pub duration: Span,
    /// When the fault begins.
    pub fault_after: Span,
    /// The law that goes wrong.
    pub gain: Gain,
    /// The decision rule.
    pub decision: hemiola_simplex::Settings,
    /// The rate of the control cycle.
    pub rate: Rate,
}

/// Faults injected into real processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessFaults {
    /// Faults of a unit's messages or its process.
    pub kinds: Vec<FaultKind>,
    /// Runs a kind, without and with the decision process each.
    pub runs: u32,
    /// Real time of one run, warm-up included.
    pub duration: Span,
    /// When the fault begins, from the start of the run.
    pub fault_after: Span,
    /// The variant with a decision process; the fault goes into its active unit.
    pub with: Option<String>,
    /// The variant without; the fault goes into its controller.
    pub without: Option<String>,
}
