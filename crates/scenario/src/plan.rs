//! The plan: a checked scenario, with every name resolved and every default filled in.
//!
//! A [`Plan`] from [`crate::read`] needs no further checks. It is plain data and serialises: the runner passes
//! parts of it to the processes it starts and stores the whole plan with the results.

mod federation;

use std::fmt;

pub use hemiola_simplex::Gain;
use hemiola_simplex::Share;
use hemiola_simplex::fault::FaultKind;
use hemiola_units::{Bytes, Delivery, Endpoint, Overrun, Profile, Rate, Span};
use serde::{Deserialize, Serialize};

pub use federation::{
    Ellipse, Exchange, FederateSettings, Federation, Model, OrbitSettings, SATELLITES, Transport,
};

/// A checked scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// One line for headings.
    pub title: String,
    /// The purpose of the scenario; may be empty.
    pub description: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// The counted part of one run of one variant.
    pub duration: Span,
    /// The uncounted part before it.
    pub warmup: Span,
    /// The number of runs of each variant; 1 to 10 000.
    pub runs: u32,
    /// Whether a run continues when the system grants less than a profile requests.
    pub allow_less: bool,
    /// The apparatus, shared by all variants; `None` if nothing is controlled. Each run has its own noise.
    pub plant: Option<hemiola_plant::Settings>,
    /// The converter card between plant and I/O.
    pub card: CardSettings,
    /// The variants in the order written. Not empty unless there is a campaign of simulated faults only.
    pub variants: Vec<Variant>,
    /// Whether runs record scheduling events of the kernel.
    pub kernel: KernelTrace,
    /// Faults to inject instead of running the variants one by one.
    pub campaign: Option<Campaign>,
    /// Remarks that are no errors: lengths shortened to fit a rate given on the command line, priorities that
    /// `allow_less` lets through. One sentence each.
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

/// Whether a run's trace has the kernel's scheduling switches and wake-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelTrace {
    /// If this user has permission; a note says so otherwise.
    #[default]
    WherePermitted,
    /// Always: a run without permission fails, unless the scenario allows less.
    Required,
    /// Never.
    Off,
}

/// The emulated converter card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardSettings {
    /// Time of one conversion; a cycle has two A/D and one D/A.
    pub conversion_time: Span,
}

/// One program to compare: processes, and the channels between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique in the plan.
    pub name: String,
    /// What distinguishes it; may be empty.
    pub description: String,
    /// The rate of the control cycle.
    pub rate: Rate,
    /// All channels between processes in the order written, without those to the card and from the units, which
    /// follow from the variant.
    pub channels: Vec<Channel>,
    /// All processes in start order, the plant first, without the units.
    pub processes: Vec<Process>,
    /// Replacement units by slot; the decision process starts before them.
    pub units: Vec<Unit>,
    /// The rule of the decision process, if there is one.
    pub decision: Option<hemiola_simplex::Settings>,
    /// The name of the variant as written, if a list expanded it into several.
    pub series: Option<String>,
    /// The settings of the federation, if the variant is a mode of one.
    #[serde(default)]
    pub federation: Option<Federation>,
}

/// A benchmark, and the load that disturbs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed<'r> {
    /// The benchmark's process.
    pub benchmark: &'r Process,
    /// The length of one turn.
    pub turn: Span,
    /// The load that works in the second and third of every four turns; `None` for the control.
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
            (true, _) => match self.units.iter().filter(|unit| !unit.is_sandboxed()).count() {
                // To the decision module, which calls its units, and back up.
                0 if !self.units.is_empty() => (1, 1),
                processes => (processes as u32, 2),
            },
            // To the controller and back up.
            (false, Order::ReadFirst { .. }) => (1, 1),
            // To the controller; its answer is used in the next cycle.
            (false, Order::WriteFirst) => (1, 0),
        };
        HandOvers { down, up, mechanism }
    }
}

/// Hand-overs from process to process between the first and the last stamp of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOvers {
    /// To a process of lower priority, which runs when the sender sleeps.
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
    /// The messages kept for a slower receiver.
    pub delivery: Delivery,
    /// The type of its messages.
    pub message: Message,
}

/// The message type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The measurements of I/O: 64 bytes.
    Sensors,
    /// The answer of a controller: 48 bytes.
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
    /// The task of the process.
    pub task: Task,
    /// The event that starts each of its jobs.
    pub release: Release,
    /// The time between its releases, from its own rate or that of the sender that releases it.
    pub period: Span,
    /// From release to the latest finish; never beyond the period.
    pub deadline: Span,
    /// The scheduling, processors and memory that it requests.
    pub profile: Profile,
    /// The name of that profile in the scenario; `None` for an ordinary process.
    pub profile_name: Option<String>,
    /// Channels it sends on.
    pub sends: Vec<String>,
    /// Channels it receives from.
    pub receives: Vec<String>,
}

/// The task of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Integrates the apparatus; settings are [`Plan::plant`].
    Plant,
    /// Reads the card, sends sensors, receives the command, writes the card. One channel each way.
    Io {
        /// The order of work in a cycle.
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
    /// Computes for a fixed time in each period, as load.
    Workload {
        /// Processor time of one job.
        compute: Span,
        /// Whether it works only in the second and third of every four turns of the variant's benchmark.
        takes_turns: bool,
    },
    /// Computes and traverses memory in several threads without pause, and counts the work done; its period
    /// is the turn.
    Benchmark {
        /// The number of threads; 1 to 64.
        threads: u32,
        /// The memory that each thread traverses.
        memory: Bytes,
        /// The interval over which work is counted.
        turn: Span,
    },
    /// Any other program; it paces itself.
    Command {
        /// As written: a path relative to the scenario's folder, or a name to look up in `PATH`.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// The run-time infrastructure of the variant's federation.
    Rti {
        /// The network name space it runs in; `None` for the runner's own.
        namespace: Option<String>,
    },
    /// A federate of the variant's federation.
    Federate(FederateSettings),
    /// Makes a step of a simulated world at each release.
    Universe(UniverseSettings),
    /// Wakes at every release and does nothing, to measure the cost of waiting alone.
    Timer,
}

impl Task {
    /// The word for it in a scenario.
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
            Self::Universe(_) => "universe",
            Self::Timer => "timer",
        }
    }
}

/// A simulated world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniverseSettings {
    /// The files of its definition, as written: paths relative to the scenario's folder.
    pub definition: Vec<String>,
    /// Entities beside those of the definition, as texts.
    pub populate: Vec<String>,
    /// Monitors, as texts.
    pub monitor: Vec<String>,
    /// Births, as texts.
    pub birth: Vec<String>,
    /// Deaths, as texts.
    pub death: Vec<String>,
    /// Modules of users, as texts.
    pub module: Vec<String>,
    /// Births beyond so many entities do not happen.
    pub entities_max: u32,
    /// The simulated length of a step.
    pub step: Span,
    /// Threads that carry out each step together.
    pub workers: u32,
    /// Whether functions are interpreted where they could be compiled.
    pub interpret: bool,
    /// The file of its checkpoints, as written: a path relative to the scenario's folder.
    pub checkpoint: Option<String>,
    /// Steps from one checkpoint to the next; `None` for one at the end only.
    pub checkpoint_every: Option<u32>,
}

/// The order of work in an I/O cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Write the command of the previous cycle, then sample: a delay of one sample, and no waiting.
    WriteFirst,
    /// Sample, send, wait for the answer, write it.
    ReadFirst {
        /// From the release until waiting ends and 0 V is written; shorter than the period, longer than the
        /// decision process's [`answer_within`](hemiola_simplex::Settings::answer_within).
        command_within: Span,
    },
}

/// The event that starts a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// The clock.
    Every {
        /// How often.
        rate: Rate,
        /// The policy for a job that still runs at the next release.
        overrun: Overrun,
        /// The time before each release at which it wakes, to warm its caches and meet the release exactly; 0 for
        /// never, at most half the period.
        lead: Span,
    },
    /// A message on one of the channels it receives from.
    On {
        /// That channel's name.
        channel: String,
        /// The time before each release of the loop at which it wakes to warm its caches, before it waits again;
        /// 0 for never, at most half the period.
        lead: Span,
    },
    /// A pulse or a grant of its federation.
    Federation,
    /// None: the program paces itself.
    Own,
}

/// A replacement unit as the variant starts with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Unique in the variant, processes included.
    pub name: String,
    /// The program that it runs.
    pub program: UnitProgram,
    /// The fault to inject.
    pub fault: Option<InjectedFault>,
    /// Its initial state.
    pub state: UnitState,
    /// Processor time that it may use in a cycle; there is room for that of all units within `answer_within`.
    pub budget: Span,
    /// The scheduling, processors and memory that it requests; always below the decision process.
    pub profile: Profile,
    /// The name of that profile in the scenario; `None` for an ordinary process.
    pub profile_name: Option<String>,
    /// The user of a program; `None` for its own where the run may change user ids, and the run's where not.
    pub user: Option<UnitUser>,
}

/// The user that a unit's program runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitUser {
    /// One that no other process has: it can act on no other process, and has limits of its own.
    Own,
    /// That of the run, with its files.
    Run,
}

impl Unit {
    /// Returns what it needs of the processors.
    #[must_use]
    pub fn share(&self) -> Share {
        Share { budget: self.budget, cpus: self.profile.cpus.clone() }
    }
}

/// The executable of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitProgram {
    /// The built-in controller with this law.
    Gain(Gain),
    /// Any program that keeps the unit contract.
    Command {
        /// As written: a path relative to the scenario's folder, or a name to look up in `PATH`.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A WebAssembly module that the decision process calls.
    Module {
        /// As written: a path relative to the scenario's folder.
        file: String,
    },
}

/// The budget of a sandboxed unit that states none: with eight of them, half of `answer_within` is left.
#[must_use]
pub fn sandboxed_budget(answer_within: Span) -> Span {
    Span::from_micros(100).min(answer_within / 16)
}

impl Unit {
    /// Whether it is a module in the sandbox of the decision process, and no process of its own.
    #[must_use]
    pub const fn is_sandboxed(&self) -> bool {
        matches!(self.program, UnitProgram::Module { .. })
    }
}

/// An injected fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedFault {
    /// A fault of a unit's output, its messages or its process.
    pub kind: FaultKind,
    /// The time of the fault from the start of the run, warm-up included.
    pub after: Span,
}

/// The initial state of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitState {
    /// Its answers are used, as long as they are safe; at most one per variant.
    Active,
    /// Its answers are only judged and recorded.
    Shadow,
}

/// Faults to inject, and the number of runs.
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
    /// Runs per kind of fault, each without and with the decision rule.
    pub runs: u32,
    /// Simulated time of one run.
    pub duration: Span,
    /// The time from the start of the run to the fault.
    pub fault_after: Span,
    /// The faulty control law.
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
    /// Runs per kind of fault, each without and with the decision process.
    pub runs: u32,
    /// Real time of one run, warm-up included.
    pub duration: Span,
    /// The time from the start of the run to the fault.
    pub fault_after: Span,
    /// The variant with a decision process; the fault goes into its active unit.
    pub with: Option<String>,
    /// The variant without one; the fault goes into its controller.
    pub without: Option<String>,
}
