//! The data of a federation in a result folder: its mode, its federates, and the outcome of its runs.
//!
//! A variant of the folder is one *mode*: one way to synchronize, one choice of priorities, one of processors and
//! memory. In a run's trace each federate has a track with a job for each of its cycles:
//!
//! ```text
//! start    the cycle begins: the master's timer, or the pulse or the grant that reached the federate;
//!          its release is the instant the cycle was due on the master's grid
//!   mark SYNCHRONIZED   a: logical time, ns; b: ns from start (0 for all but the master)
//!   mark EXCHANGED      a: number of the state received in mid-cycle; b: ns waited for it
//!   mark DEVIATION      a: metres, the bits of an f64; b: ns of logical time
//! finish   updates are sent; its deadline is release + period
//! ```
//!
//! The track of the RTI ([`Role::Rti`](super::Role)) has a job for each turn of its loop that did work, with a mark
//! [`TURN`]; its release is its start. A run of a bare timer is a trace of its own, with one track of
//! [`Role::Timer`](super::Role) whose jobs are empty.

use hemiola_units::Span;
use serde::{Deserialize, Serialize};

/// The mark of a turn of the RTI: `a` calls taken, `b` callbacks sent.
pub const TURN: u16 = 1;
/// The mark of a federate that has its pulse or its grant: `a` logical time, ns; `b` ns from the cycle's start.
pub const SYNCHRONIZED: u16 = 2;
/// The mark of a federate that received another's state in the middle of its cycle: `a` the number of the cycle
/// that state is of, `b` ns it waited.
pub const EXCHANGED: u16 = 3;
/// The mark of a trajectory compared with the closed form: `a` the bits of an `f64`, metres; `b` logical time, ns.
pub const DEVIATION: u16 = 4;

/// How the federates of a federation synchronize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Synchronization {
    /// The master sends an interaction at the beginning of each of its cycles, and the others wait for it.
    Interaction,
    /// Every federate is regulating and constrained, and requests the time of its next cycle.
    TimeManagement,
}

impl Synchronization {
    /// The word for it, as in a scenario.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Interaction => "interaction",
            Self::TimeManagement => "time-management",
        }
    }
}

/// The priorities of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityMode {
    /// All are ordinary processes.
    Low,
    /// Each process has the real-time priority that the scenario gives it.
    High,
}

impl PriorityMode {
    /// The word for it, as in a scenario.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

/// One mode of a federation. In a scenario with a federation, each variant is a mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederationRecord {
    /// How its federates synchronize.
    pub sync: Synchronization,
    /// Its priorities.
    pub priority: PriorityMode,
    /// Whether each process is pinned to its processors and locks its memory.
    pub affinity: bool,
    /// How federates reach the RTI: `"shm"` or `"tcp"`.
    pub transport: String,
    /// The name of the RTI's process.
    pub rti: String,
    /// The name of the federate with the timer; [`VariantRecord::period`](super::VariantRecord::period) is its period.
    pub master: String,
    /// The federates in the scenario's order, the master among them.
    pub federates: Vec<FederateRecord>,
    /// Runs of a bare periodic task with the master's rate, profile and way of waiting, in the order made: one before
    /// and one after each run of the mode.
    pub bare: Vec<BareRun>,
}

/// A federate as the scenario describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateRecord {
    /// The name of its process.
    pub name: String,
    /// Its cycle.
    pub period: Span,
    /// Processor time that it uses in each cycle.
    pub compute: Span,
    /// The federates it receives data from at the beginning of its next cycle.
    pub hears: Vec<String>,
    /// The federate it receives data from in the middle of its cycle, if any.
    pub hears_mid_cycle: Option<String>,
}

/// One run of a bare timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BareRun {
    /// The run of the mode it belongs to, counted from 1.
    pub run: u32,
    /// Whether it was made after that run; else before.
    pub after: bool,
    /// Path of its trace, relative to the folder.
    pub trace: String,
    /// The process and track in it.
    pub process: String,
    /// Releases at the start that no figure counts.
    pub warmup_cycles: u64,
}

/// The outcome of one run of a federation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FederationRun {
    /// The trajectory as received through the federation, compared with the closed form; `None` where no federate
    /// receives states of both satellites.
    pub trajectory: Option<Trajectory>,
    /// The counts of each federate, in the order of [`FederationRecord::federates`].
    pub federates: Vec<FederateRun>,
}

/// A trajectory compared with the closed form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// States compared.
    pub states: u64,
    /// The greatest distance from the closed form, m.
    pub deviation_m_max: f64,
    /// The least and the greatest distance between the two satellites, m.
    pub distance_m: [f64; 2],
}

/// The counts of one federate in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FederateRun {
    /// Cycles begun, warm-up included.
    pub cycles: u64,
    /// Attribute updates sent.
    pub sent: u64,
    /// Attribute updates received.
    pub received: u64,
    /// Updates that arrived after a newer one or never, by the numbers they carry: 0 in a federation that works.
    pub lost: u64,
}
