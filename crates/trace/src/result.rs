//! What stands in a result folder beside the traces: the conditions of a run and what each run came to.
//!
//! The runner writes it as `run.json`; every later tool reads only the folder. Figures are absent
//! here on purpose: they are computed from the traces, so they can be made again.

mod federation;

use hemiola_units::{Granted, Profile, Span};
use serde::{Deserialize, Serialize};

pub use federation::{
    BareRun, DEVIATION, EXCHANGED, FederateRecord, FederateRun, FederationRecord, FederationRun,
    PriorityMode, SYNCHRONIZED, Synchronization, TURN, Trajectory,
};

/// The version of this format; a reader refuses a larger one.
pub const FORMAT: u32 = 1;

/// The file in a result folder that holds a [`RunFolder`].
pub const FILE_NAME: &str = "run.json";

/// Everything a run produced except the traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFolder {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The scenario's title.
    pub title: String,
    /// What kind of scenario: `"ladder"`, `"campaign"`, `"mixed-load"`, `"federation"` or `"scenario"`.
    pub scenario: String,
    /// When it started, seconds since 1970 UTC; for people, never for measuring.
    pub started_unix_s: u64,
    /// Under which conditions.
    pub conditions: Conditions,
    /// What one hand-over costs on this machine, measured in the same run.
    pub floors: Vec<Floor>,
    /// The programs that ran, in the scenario's order; empty for a campaign.
    #[serde(alias = "rungs")]
    pub variants: Vec<VariantRecord>,
    /// What the injected faults did; empty for a ladder.
    pub faults: Vec<FaultRecord>,
    /// Whether the traces have the kernel's side, and what recording it costs.
    #[serde(default)]
    pub kernel: KernelSide,
}

/// Whether runs record who had which processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelSide {
    /// By which interface of the kernel, `"bpf"` or `"perf"`; nothing when it is not recorded.
    pub interface: Option<String>,
    /// Why not, in words, where it was wanted.
    pub refused: Option<String>,
    /// One hand-over, ns: medians of many back to back, in turns without the recording and with it, A B B A.
    pub price_readings_ns: Vec<f64>,
}

/// What one run recorded of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRun {
    /// Events in the trace.
    pub events: u64,
    /// Events the kernel had no room for; each gap stands in the trace.
    pub lost: u64,
    /// Gaps of which nobody knows how much is missing.
    pub gaps: u64,
}

/// What a figure depends on besides the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of the command.
    pub hemiola_version: String,
    /// Commit it was built from, where known.
    pub commit: Option<String>,
    /// Kernel release and version, as uname(2) says.
    pub kernel: String,
    /// The processor's model name.
    pub cpu_model: String,
    /// Processors online.
    pub cpus_online: u32,
    /// The kernel's preemption model.
    pub preempt: String,
    /// The clock and what reading it costs.
    pub clock: ClockConditions,
    /// `sched_rt_runtime_us`, µs; −1 when throttling is off.
    pub rt_runtime_us: i64,
    /// `sched_rt_period_us`, µs.
    pub rt_period_us: i64,
    /// Load average over the minute before the start.
    pub load_average_1m: f64,
    /// Ticks the hypervisor took from us during the run, all processors together.
    pub steal_ticks_delta: Option<u64>,
    /// The hypervisor, where one is seen.
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

/// What one hand-over from a process to another costs by a mechanism alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// `"futex"`, `"mq"`, `"pubsub"`, `"yield"` or `"pipe"`.
    pub mechanism: String,
    /// `"down"`: to a process of lower priority, which runs when the sender goes to sleep; `"up"`: back to
    /// one of higher priority, which preempts.
    pub direction: String,
    /// `"back-to-back"`, or `"at-rate"`: once per period, the processor idle in between.
    pub circumstances: String,
    /// Each one, ns, in the order measured.
    pub samples_ns: Vec<u64>,
}

/// One program of a scenario with all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// The scenario's name of it.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// The period of its cycle.
    pub period: Span,
    /// Hand-overs from a process to another in one cycle, between sampling and actuation.
    pub hand_overs: u32,
    /// How many of them go up, to a process of higher priority.
    pub hand_overs_up: u32,
    /// By which [`Floor::mechanism`]; empty when there are none.
    pub hand_over_mechanism: String,
    /// Lines of code of the parts it is made of.
    pub lines_of_code: u32,
    /// What it can do, by the names of the feature table.
    pub features: Vec<String>,
    /// Its processes, in order of start.
    pub processes: Vec<ProcessRecord>,
    /// What each run came to.
    pub runs: Vec<RunRecord>,
    /// The benchmark in it and the load beside that, where there is one.
    #[serde(default)]
    pub mixed: Option<MixedRecord>,
    /// The federation it is, where it is one mode of one.
    #[serde(default)]
    pub federation: Option<FederationRecord>,
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
    /// The load's process; nothing for the control, where none works.
    pub load: Option<String>,
    /// The share of a processor the load is asked for, 0 to 1.
    pub share: f64,
    /// Its releases a second, in the turns it works in.
    pub rate_hz: f64,
    /// The length of a turn.
    pub turn: Span,
}

/// The mark in which a benchmark says what it got done in a turn: `a` is the turn's beginning, ns, `b` the
/// work, a number without a unit.
pub const WORK: u16 = 0;

/// A process as the scenario asks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its name; also that of its track and its slices in the trace.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// Whether the cycle waits for it: its time counts in the cycle's cost.
    pub in_cycle: bool,
    /// What it asks of the operating system.
    pub asked: Profile,
}

/// What a process is in the control loop.
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
    /// Counts what is left for it.
    Benchmark,
    /// The run-time infrastructure of a federation.
    Rti,
    /// A federate.
    Federate,
    /// A periodic task that does nothing, to measure what waiting costs.
    Timer,
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
    /// What became of each process.
    pub processes: Vec<ProcessRun>,
    /// Time from the start to the fall, if the pendulum fell.
    pub fallen_after: Option<Span>,
    /// Greatest V of the true state.
    pub peak_v: f64,
    /// How often control passed on.
    pub switches: u64,
    /// Why it ended before its time.
    pub stopped_early: Option<String>,
    /// What its trace has of the kernel; nothing when that was not recorded.
    #[serde(default)]
    pub kernel: Option<KernelRun>,
    /// What became of the federation, where it is one.
    #[serde(default)]
    pub federation: Option<FederationRun>,
}

/// One process in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessRun {
    /// As in [`ProcessRecord::name`], or a unit added while it ran.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// What the operating system gave it.
    pub granted: Granted,
    /// How it ended, in words.
    pub exit: String,
    /// Times it gave up the processor (getrusage(2)).
    pub voluntary_switches: u64,
    /// Times the processor was taken from it.
    pub involuntary_switches: u64,
    /// Events its recorder had no room for.
    pub lost_events: u64,
    /// Median time between two marks back to back, ns.
    pub mark_pair_ns_p50: f64,
}

/// What a fault kind did over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// The kind's name.
    pub kind: String,
    /// Whether real processes ran, or the simulation.
    pub process: bool,
    /// With the decision module.
    pub with: Option<FaultFigures>,
    /// Without it.
    pub without: Option<FaultFigures>,
}

/// The outcome of many runs with the same fault kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultFigures {
    /// Runs made.
    pub runs: u64,
    /// Runs in which the pendulum was lost.
    pub lost: u64,
    /// Least time from injection to loss, ns.
    pub earliest_loss_ns: Option<u64>,
    /// Greatest V of the true state.
    pub peak_v: f64,
    /// Cycles from injection to detection, the mean over runs that detected it.
    pub detection_cycles: Option<f64>,
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
    fn a_run_folder_survives_json() {
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
                        mark_pair_ns_p50: 40.0,
                    }],
                    fallen_after: None,
                    peak_v: 0.1,
                    switches: 0,
                    stopped_early: None,
                    kernel: Some(KernelRun { events: 7, lost: 0, gaps: 0 }),
                    federation: Some(FederationRun {
                        trajectory: Some(Trajectory {
                            states: 100,
                            deviation_m_max: 1e-9,
                            distance_m: [100.0, 200.0],
                        }),
                        federates: vec![FederateRun { cycles: 9, sent: 8, received: 7, lost: 0 }],
                    }),
                }],
                mixed: None,
                federation: Some(a_mode()),
            }],
            faults: vec![],
            kernel: KernelSide::default(),
        };
        let text = serde_json::to_string(&folder).unwrap();
        assert_eq!(serde_json::from_str::<RunFolder>(&text).unwrap(), folder);
    }
}
