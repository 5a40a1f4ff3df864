//! The data of a result folder beside the traces: the conditions of a run, and the outcome of each run.
//!
//! The runner writes it as `run.json`; every later tool reads only the folder. There are no figures here on
//! purpose: they are computed from the traces, so they can be computed again.

mod federation;
mod universe;

use std::collections::BTreeMap;

use hemiola_units::{Granted, Profile, Span};
use serde::{Deserialize, Serialize};

pub use federation::{
    BareRun, DEVIATION, EXCHANGED, FederateRecord, FederateRun, FederationRecord, FederationRun,
    PriorityMode, SYNCHRONIZED, Synchronization, TURN, Trajectory,
};

pub use universe::{
    CHECKPOINT, CheckpointsRun, ModuleRun, MonitorRun, PHASE_ENDED, PHASES, REQUEST,
    RedefinitionRun, UniverseRun,
};

/// The version of this format; a reader rejects a larger one. Format 1 called variants `rungs`; it is still read.
pub const FORMAT: u32 = 2;

/// The file in a result folder that holds a [`RunFolder`].
pub const FILE_NAME: &str = "run.json";

/// Everything a run produced except the traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFolder {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// The scenario's title.
    pub title: String,
    /// The kind of scenario: `"ladder"`, `"campaign"`, `"mixed-load"`, `"federation"` or `"scenario"`.
    pub scenario: String,
    /// When it started, seconds since 1970 UTC; for people, never for measuring.
    pub started_unix_s: u64,
    /// The conditions of the run.
    pub conditions: Conditions,
    /// The cost of one hand-over on this machine, measured in the same run.
    pub floors: Vec<Floor>,
    /// The programs that ran, in the scenario's order; empty for a campaign.
    #[serde(alias = "rungs")]
    pub variants: Vec<VariantRecord>,
    /// The outcomes of the injected faults; empty except for a campaign.
    pub faults: Vec<FaultRecord>,
    /// Whether the traces have the kernel's side, and the cost of recording it.
    #[serde(default)]
    pub kernel: KernelSide,
    /// The names of both measured states of the plant; empty for the pendulum, or without a plant.
    #[serde(default)]
    pub measured: Vec<String>,
    /// Why the folder does not hold everything that the scenario asks for; `None` once it does.
    #[serde(default)]
    pub incomplete: Option<String>,
}

/// Whether runs record which thread had which processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelSide {
    /// The interface of the kernel, `"bpf"` or `"perf"`; `None` when it is not recorded.
    pub interface: Option<String>,
    /// The reason why it is not recorded, where the scenario wants it.
    pub refused: Option<String>,
    /// One hand-over, ns: medians of many back to back, in turns without the recording and with it, A B B A.
    pub price_readings_ns: Vec<f64>,
}

/// The kernel's record in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRun {
    /// Events in the trace.
    pub events: u64,
    /// Events that the kernel had no room for; the trace marks each gap.
    pub lost: u64,
    /// Gaps whose size is unknown.
    pub gaps: u64,
}

impl KernelRun {
    /// The record of both runs.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            events: self.events + other.events,
            lost: self.lost + other.lost,
            gaps: self.gaps + other.gaps,
        }
    }
}

/// Conditions that figures depend on besides the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of the command.
    pub hemiola_version: String,
    /// Commit it was built from, where known.
    pub commit: Option<String>,
    /// Kernel release and version, from uname(2).
    pub kernel: String,
    /// The processor's model name.
    pub cpu_model: String,
    /// Processors online.
    pub cpus_online: u32,
    /// The kernel's preemption model.
    pub preempt: String,
    /// The clock and the cost of reading it.
    pub clock: ClockConditions,
    /// `sched_rt_runtime_us`, µs; −1 when throttling is off.
    pub rt_runtime_us: i64,
    /// `sched_rt_period_us`, µs.
    pub rt_period_us: i64,
    /// Load average over the minute before the start.
    pub load_average_1m: f64,
    /// Ticks that the hypervisor took during the run, on all processors together.
    pub steal_ticks_delta: Option<u64>,
    /// The hypervisor, where one is detected.
    pub virtualized: Option<String>,
    /// Whether the scenario accepted less than it asked for.
    pub allow_less: bool,
    /// The command as typed.
    pub command_line: String,
}

/// The clock of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockConditions {
    /// `"tsc"` or `"clock_gettime"`.
    pub source: String,
    /// One bare `clock_gettime`, ns.
    pub read_ns: f64,
    /// One fast read, ns.
    pub fast_read_ns: f64,
    /// The smallest step seen between two reads that differ, ns.
    pub resolution_ns: f64,
}

/// The cost of one hand-over from a process to another by a mechanism alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// `"futex"`, `"mq"`, `"pubsub"`, `"yield"` or `"pipe"`.
    pub mechanism: String,
    /// `"down"`: to a process of lower priority, which runs when the sender goes to sleep; `"up"`: back to
    /// one of higher priority, which preempts.
    pub direction: String,
    /// `"back-to-back"`, or `"at-rate"`: once per period, the processor idle in between.
    pub circumstances: String,
    /// Each hand-over, ns, in the order measured.
    pub samples_ns: Vec<u64>,
}

/// One program of a scenario with all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Its name in the scenario.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// The period of its cycle.
    pub period: Span,
    /// Hand-overs from a process to another in one cycle, between sampling and actuation.
    pub hand_overs: u32,
    /// How many of them go up, to a process of higher priority.
    pub hand_overs_up: u32,
    /// Their [`Floor::mechanism`]; empty when there are none.
    pub hand_over_mechanism: String,
    /// Times of a chain of processes with the same hand-overs, priorities and leads that do nothing else, ns, in the
    /// order measured.
    #[serde(default)]
    pub chain_ns: Vec<u64>,
    /// Lines of code of the parts it is made of.
    pub lines_of_code: u32,
    /// Its features, by their names in the feature table.
    pub features: Vec<String>,
    /// Its processes, in order of start.
    pub processes: Vec<ProcessRecord>,
    /// Its runs.
    pub runs: Vec<RunRecord>,
    /// Its benchmark and the load beside it, if it has one.
    #[serde(default)]
    pub mixed: Option<MixedRecord>,
    /// The federation of which it is a mode, if it is one.
    #[serde(default)]
    pub federation: Option<FederationRecord>,
    /// The limits of its decision module, if it has one.
    #[serde(default)]
    pub decision: Option<DecisionRecord>,
}

/// The limits by which a decision module passes control on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The greatest predicted V with which it uses an answer.
    pub accept_below: f64,
    /// V below which it returns control to a unit.
    pub return_below: f64,
}

/// A benchmark beside a load that takes turns: it rests in the first of every four turns, works in the
/// second and the third, and rests in the fourth. The benchmark marks each turn's work
/// ([`EventKind::Mark`](crate::EventKind::Mark) number [`WORK`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixedRecord {
    /// The variant as the scenario writes it, of which this is one value of a list; else its own name.
    pub series: String,
    /// The benchmark's process.
    pub benchmark: String,
    /// The load's process; `None` for the control, where there is no load.
    pub load: Option<String>,
    /// The share of a processor that the load asks for, 0 to 1.
    pub share: f64,
    /// Releases of the load a second, in the turns it works in.
    pub rate_hz: f64,
    /// The length of a turn.
    pub turn: Span,
}

/// The mark of a benchmark for the work of a turn: `a` is the turn's beginning, ns, `b` the work, a number without a
/// unit.
pub const WORK: u16 = 0;

/// A process as the scenario asks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its name; also that of its track and its slices in the trace.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Whether the cycle waits for it: its time counts in the cycle's cost.
    pub in_cycle: bool,
    /// The profile it asks for.
    pub asked: Profile,
}

/// The role of a process in its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The simulated apparatus.
    Plant,
    /// Samples and actuates.
    Io,
    /// Computes the voltage, alone.
    Controller,
    /// Samples, computes and actuates.
    Monolithic,
    /// Holds the decision module and the safety controller.
    Decision,
    /// A replacement unit.
    Unit,
    /// Load beside the loop.
    Workload,
    /// Measures the processor time left beside the load.
    Benchmark,
    /// The run-time infrastructure of a federation.
    Rti,
    /// A federate.
    Federate,
    /// A periodic task that does nothing, to measure what waiting costs.
    Timer,
    /// A simulated world.
    Universe,
    /// Any other command the scenario starts.
    Command,
}

/// One run of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Counted from 1.
    pub number: u32,
    /// Path of its trace, relative to the folder.
    pub trace: String,
    /// How long it ran.
    pub duration: Span,
    /// Cycles at the start that no figure counts.
    pub warmup_cycles: u64,
    /// Its processes.
    pub processes: Vec<ProcessRun>,
    /// Time from the start to the loss of the plant, if the pendulum fell or another plant went beyond its limits.
    pub fallen_after: Option<Span>,
    /// Greatest V of the true state.
    pub peak_v: f64,
    /// Changes of the source of commands.
    pub switches: u64,
    /// The reason why it ended early, if it did.
    pub stopped_early: Option<String>,
    /// Stops of its processes by a signal or a tracer, a sentence each.
    #[serde(default)]
    pub disturbances: Vec<String>,
    /// The kernel's record in its trace; `None` when there is none.
    #[serde(default)]
    pub kernel: Option<KernelRun>,
    /// The outcome of the federation, if it is one.
    #[serde(default)]
    pub federation: Option<FederationRun>,
    /// The outcomes of its universes.
    #[serde(default)]
    pub universes: Vec<UniverseRun>,
    /// Every replacement unit that was started, with or without a process.
    #[serde(default)]
    pub units: Vec<UnitRun>,
}

/// A replacement unit of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitRun {
    /// Its name, which no other unit of the run has.
    pub name: String,
    /// Its slot in the decision module.
    pub slot: u8,
    /// Its generation in the slot.
    pub generation: u32,
    /// The profile it asks for; ordinary for a sandboxed unit, which has no process.
    pub asked: Profile,
    /// Time from the first release to the end of its process, if it ended before the run.
    pub ended_after: Option<Span>,
    /// The user id that its process has for itself; `None` if it has the run's, or no process.
    #[serde(default)]
    pub user: Option<u32>,
}

/// One process in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRun {
    /// As in [`ProcessRecord::name`], or a unit added while it ran.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// What the operating system granted.
    pub granted: Granted,
    /// How it ended, in words.
    pub exit: String,
    /// How often it gave up the processor (getrusage(2)).
    pub voluntary_switches: u64,
    /// How often it was preempted.
    pub involuntary_switches: u64,
    /// Events that its recorder had no room for.
    pub lost_events: u64,
}

/// The outcomes of all runs with a kind of fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// The kind's name.
    pub kind: String,
    /// Whether real processes ran; otherwise it was simulated.
    pub process: bool,
    /// With the decision module.
    pub with: Option<FaultFigures>,
    /// Without it.
    pub without: Option<FaultFigures>,
    /// The kernel's record in the traces of all these runs; `None` when there is none.
    #[serde(default)]
    pub kernel: Option<KernelRun>,
}

/// The outcome of many runs with the same fault kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultFigures {
    /// Runs made.
    pub runs: u64,
    /// Runs in which the plant was lost.
    pub lost: u64,
    /// Least time from injection to loss, ns.
    pub earliest_loss_ns: Option<u64>,
    /// Greatest V of the true state.
    pub peak_v: f64,
    /// Mean of the cycles from injection to detection, over the runs that detected it.
    pub detection_cycles: Option<f64>,
    /// Runs that detected it, by the name of the first fault that the decision module found.
    #[serde(default)]
    pub found_as: BTreeMap<String, u64>,
    /// Switches away from a unit that had no fault.
    pub false_switches: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::{Bytes, CpuSet, Policy};

    fn a_mode() -> FederationRecord {
        FederationRecord {
            sync: Synchronization::TimeManagement,
            priority: PriorityMode::High,
            affinity: true,
            transport: "shm".into(),
            rti: "rti".into(),
            master: "dynamics-1".into(),
            federates: vec![FederateRecord {
                name: "dynamics-1".into(),
                period: Span::from_millis(10),
                compute: Span::from_micros(2_500),
                hears: vec!["board-1".into()],
                hears_mid_cycle: Some("dynamics-2".into()),
            }],
            bare: vec![BareRun {
                run: 1,
                after: false,
                trace: "traces/bare-1-before.pftrace".into(),
                process: "bare-timer".into(),
                warmup_cycles: 5,
            }],
        }
    }

    #[test]
    fn a_run_folder_is_the_same_after_json() {
        let folder = RunFolder {
            format: FORMAT,
            title: "ladder".into(),
            scenario: "ladder".into(),
            started_unix_s: 1,
            conditions: Conditions {
                hemiola_version: "0.1.0".into(),
                commit: None,
                kernel: "6".into(),
                cpu_model: "x".into(),
                cpus_online: 2,
                preempt: "voluntary".into(),
                clock: ClockConditions {
                    source: "tsc".into(),
                    read_ns: 22.5,
                    fast_read_ns: 10.1,
                    resolution_ns: 1.0,
                },
                rt_runtime_us: -1,
                rt_period_us: 1_000_000,
                load_average_1m: 0.1,
                steal_ticks_delta: Some(3),
                virtualized: None,
                allow_less: false,
                command_line: "hemiola run x".into(),
            },
            floors: vec![Floor {
                mechanism: "futex".into(),
                direction: "down".into(),
                circumstances: "at-rate".into(),
                samples_ns: vec![2_600, 2_300],
            }],
            variants: vec![VariantRecord {
                name: "monolithic".into(),
                description: "one process".into(),
                period: Span::from_millis(20),
                hand_overs: 0,
                hand_overs_up: 0,
                hand_over_mechanism: String::new(),
                chain_ns: vec![31_000, 29_500],
                lines_of_code: 1,
                features: vec!["periodic".into()],
                processes: vec![ProcessRecord {
                    name: "loop".into(),
                    role: Role::Monolithic,
                    in_cycle: true,
                    asked: Profile::ordinary(),
                }],
                runs: vec![RunRecord {
                    number: 1,
                    trace: "traces/monolithic-1.pftrace".into(),
                    duration: Span::from_millis(5000),
                    warmup_cycles: 10,
                    processes: vec![ProcessRun {
                        name: "loop".into(),
                        pid: 7,
                        granted: Granted {
                            scheduling: Policy::Other { nice: 0 },
                            cpus: CpuSet::one(0).unwrap(),
                            lock_memory: false,
                            prefault_stack: Bytes(0),
                            refusals: vec![],
                        },
                        exit: "exit status 0".into(),
                        voluntary_switches: 1,
                        involuntary_switches: 0,
                        lost_events: 0,
                    }],
                    fallen_after: None,
                    peak_v: 0.1,
                    switches: 0,
                    stopped_early: None,
                    disturbances: vec!["decision was stopped".into()],
                    kernel: Some(KernelRun { events: 7, lost: 0, gaps: 0 }),
                    universes: vec![UniverseRun {
                        monitors: vec![MonitorRun::default()],
                        redefinitions: vec![RedefinitionRun::default()],
                        ..UniverseRun::default()
                    }],
                    federation: Some(FederationRun {
                        trajectory: Some(Trajectory {
                            states: 100,
                            deviation_m_max: 1e-9,
                            distance_m: [100.0, 200.0],
                        }),
                        federates: vec![FederateRun { cycles: 9, sent: 8, received: 7, lost: 0 }],
                    }),
                    units: vec![UnitRun {
                        name: "experimental".into(),
                        slot: 0,
                        generation: 1,
                        asked: Profile::ordinary(),
                        ended_after: Some(Span::from_millis(1234)),
                        user: Some(0x7000_0000),
                    }],
                }],
                mixed: None,
                federation: Some(a_mode()),
                decision: Some(DecisionRecord { accept_below: 0.6, return_below: 0.25 }),
            }],
            faults: vec![],
            kernel: KernelSide::default(),
            measured: Vec::new(),
            incomplete: Some("interrupted".into()),
        };
        let text = serde_json::to_string(&folder).unwrap();
        assert_eq!(serde_json::from_str::<RunFolder>(&text).unwrap(), folder);
    }

    #[test]
    fn a_folder_of_format_1_is_still_read() {
        let folder: RunFolder = serde_json::from_str(include_str!("result/format-1.json")).unwrap();
        assert_eq!(folder.format, 1);
        let [variant] = &folder.variants[..] else { panic!("{:?}", folder.variants) };
        assert_eq!((variant.name.as_str(), variant.period), ("monolithic", Span::from_millis(20)));
        assert_eq!(variant.processes[0].role, Role::Monolithic);
        let run = &variant.runs[0];
        assert_eq!((run.processes[0].pid, run.kernel, &run.federation), (7, None, &None));
        assert_eq!(folder.kernel, KernelSide::default());
    }
}
