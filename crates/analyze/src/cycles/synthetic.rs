//! Runs built in code with known answers, for the tests.

use std::collections::BTreeMap;

use hemiola_trace::perfetto::{Names, TraceWriter};
use hemiola_trace::result::{
    ClockConditions, Conditions, FaultFigures, FaultRecord, Floor, ProcessRecord, ProcessRun, Role,
    RunFolder, RunRecord, VariantRecord,
};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Bytes, CpuSet, Granted, Instant, Policy, Profile, Random, Span};

use crate::cycles::analysis::{Analysis, analyze};
use crate::cycles::jobs::Process;

/// Nanoseconds.
pub(crate) const MICRO: i64 = 1_000;
/// 50 Hz, nanoseconds.
pub(crate) const PERIOD: i64 = 20_000 * MICRO;
/// The first release.
const EPOCH: i64 = 1_000_000_000;

/// A loop of two processes: `io` starts 3 µs after its release, samples at +1 µs, sends at +2, takes the command at +8,
/// actuates at +9 and finishes at +10; `controller` starts at +4, receives at +5, sends at +6 and finishes at +7.
/// Deadlines are the next release; `io` executes for 5 µs, `controller` for 3 µs. The processor goes over twice.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    length: u32,
    delays: Vec<Delay>,
}

/// Everything from `step` on in `cycle` comes `by` later; `executing` is charged to the process.
#[derive(Clone, Copy, Debug)]
struct Delay {
    cycle: u32,
    step: i64,
    by: i64,
    executing: bool,
}

impl Loop {
    pub(crate) fn new(length: u32) -> Self {
        Self { length, delays: Vec::new() }
    }

    /// In `cycle`, what comes at `step` µs after the start or later comes `by` nanoseconds later, the
    /// processor being given to something else meanwhile. Step 0 is a late wake-up.
    pub(crate) fn stalled(mut self, cycle: u32, step: i64, by: i64) -> Self {
        self.delays.push(Delay { cycle, step, by, executing: false });
        self
    }

    /// The same, the process computing meanwhile.
    pub(crate) fn computing(mut self, cycle: u32, step: i64, by: i64) -> Self {
        self.delays.push(Delay { cycle, step, by, executing: true });
        self
    }

    pub(crate) fn processes(&self) -> Vec<Process> {
        let io = [
            (0, EventKind::Start),
            (1, EventKind::Sample),
            (2, EventKind::Send),
            (8, EventKind::Receive),
            (9, EventKind::Actuate),
            (10, EventKind::Finish),
        ];
        let controller = [
            (4, EventKind::Start),
            (5, EventKind::Receive),
            (6, EventKind::Send),
            (7, EventKind::Finish),
        ];
        vec![
            self.process("io", Role::Io, &io, 5 * MICRO),
            self.process("controller", Role::Controller, &controller, 3 * MICRO),
        ]
    }

    fn process(
        &self,
        name: &str,
        role: Role,
        steps: &[(i64, EventKind)],
        execution: i64,
    ) -> Process {
        let mut entries = Vec::new();
        for cycle in 0..self.length {
            let release = EPOCH + i64::from(cycle) * PERIOD;
            let delays = || self.delays.iter().filter(|delay| delay.cycle == cycle);
            let charged: i64 = delays()
                .filter(|delay| {
                    delay.executing && steps.iter().any(|(step, _)| *step == delay.step)
                })
                .map(|delay| delay.by)
                .sum();
            for (step, kind) in steps {
                let late: i64 = delays().filter(|d| d.step <= *step).map(|d| d.by).sum();
                let (a, b) = match kind {
                    EventKind::Start => (release, 0),
                    EventKind::Finish => (release + PERIOD, execution + charged),
                    _ => (0, 0),
                };
                entries.push(Entry {
                    at: Instant::from_nanos((release + (3 + step) * MICRO + late) as u64),
                    kind: *kind,
                    arg: 0,
                    cycle,
                    a: a as u64,
                    b: b as u64,
                });
            }
        }
        Process { name: name.into(), role, in_cycle: true, entries }
    }
}

/// The record of a run of [`Loop`]: 100 voluntary switches for each process.
pub(crate) fn run_record(number: u32, warmup_cycles: u64) -> RunRecord {
    let process = |name: &str, pid| ProcessRun {
        name: name.into(),
        pid,
        granted: Granted {
            scheduling: Policy::Other { nice: 0 },
            cpus: CpuSet::one(0).unwrap(),
            lock_memory: false,
            prefault_stack: Bytes(0),
            refusals: vec![],
        },
        exit: "exit status 0".into(),
        voluntary_switches: 100,
        involuntary_switches: 0,
        lost_events: 0,
    };
    RunRecord {
        number,
        trace: format!("traces/loop-{number}.pftrace"),
        duration: Span::from_millis(5000),
        warmup_cycles,
        processes: vec![process("io", 11), process("controller", 12)],
        fallen_after: None,
        peak_v: 0.25,
        switches: 0,
        stopped_early: None,
        disturbances: Vec::new(),
        kernel: None,
        federation: None,
        universes: Vec::new(),
        units: Vec::new(),
    }
}

/// The parts of a synthetic program.
struct Program {
    name: &'static str,
    hand_overs: u32,
    mechanism: &'static str,
    /// Median time between two stamps, ns.
    step: f64,
    features: &'static [&'static str],
    processes: &'static [(&'static str, Role)],
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "Monolithic",
        hand_overs: 0,
        mechanism: "",
        step: 900.0,
        features: &[],
        processes: &[("io", Role::Monolithic)],
    },
    Program {
        name: "Shared memory",
        hand_overs: 1,
        mechanism: "futex",
        step: 1000.0,
        features: &["Several processes"],
        processes: &[("io", Role::Io), ("controller", Role::Controller)],
    },
    Program {
        name: "Message queues",
        hand_overs: 1,
        mechanism: "mq",
        step: 1300.0,
        features: &["Several processes", "System data integrity"],
        processes: &[("io", Role::Io), ("controller", Role::Controller)],
    },
    Program {
        name: "Simplex (1)",
        hand_overs: 4,
        mechanism: "futex",
        step: 1500.0,
        features: &["Several processes", "System data integrity", "Safety checking"],
        processes: &[("io", Role::Io), ("decision", Role::Decision), ("unit-1", Role::Unit)],
    },
];

/// A ladder of four programs with `run_count` runs of `cycle_count` cycles each, with seeded noise
/// and one late cycle: the record and the traces by their paths.
pub(crate) fn ladder(run_count: u32, cycle_count: u32) -> (RunFolder, BTreeMap<String, Vec<u8>>) {
    let mut traces = BTreeMap::new();
    let mut random = Random::from_seed(7);
    let mut variants = Vec::new();
    for program in &PROGRAMS {
        let mut runs = Vec::new();
        for number in 1..=run_count {
            let mut run = run_record(number, 2);
            run.trace = format!("traces/{}-{number}.pftrace", program.name.to_lowercase());
            let template = run.processes[0].clone();
            run.processes = program
                .processes
                .iter()
                .map(|(name, _)| ProcessRun { name: (*name).into(), ..template.clone() })
                .collect();
            let late = (program.name == "Simplex (1)" && number == 1).then_some(cycle_count / 2);
            traces.insert(run.trace.clone(), trace(program, cycle_count, late, &mut random));
            runs.push(run);
        }
        let process = |(name, role): &(&str, Role)| ProcessRecord {
            name: (*name).into(),
            role: *role,
            in_cycle: true,
            asked: Profile::ordinary(),
        };
        variants.push(VariantRecord {
            name: program.name.into(),
            description: format!("{} processes.", program.processes.len()),
            period: Span::from_nanos(PERIOD),
            hand_overs: program.hand_overs,
            hand_overs_up: 0,
            hand_over_mechanism: program.mechanism.into(),
            // A cold first one, and others that are less than the sum of single hand-overs.
            chain_ns: match program.hand_overs {
                0 => Vec::new(),
                count => [vec![90_000], vec![2_000 * u64::from(count); 9]].concat(),
            },
            lines_of_code: 400 + 300 * program.hand_overs,
            features: program.features.iter().map(|name| (*name).into()).collect(),
            processes: program.processes.iter().map(process).collect(),
            runs,
            mixed: None,
            federation: None,
            decision: None,
        });
    }
    let folder = RunFolder {
        format: 1,
        title: "Synthetic ladder".into(),
        scenario: "ladder".into(),
        started_unix_s: 1_700_000_000,
        conditions: conditions(),
        floors: vec![
            floor("futex", "at-rate", 2600),
            floor("futex", "back-to-back", 2300),
            floor("mq", "at-rate", 3100),
            floor("yield", "back-to-back", 1150),
        ],
        variants,
        faults: vec![
            FaultRecord {
                kind: "stuck output".into(),
                process: false,
                with: Some(fault_figures(0, None, 0.61, Some(1.5))),
                without: Some(fault_figures(1000, Some(412_000_000), 9.3, None)),
                kernel: None,
            },
            FaultRecord {
                kind: "busy loop".into(),
                process: true,
                with: Some(fault_figures(0, None, 0.42, Some(1.0))),
                without: None,
                kernel: None,
            },
        ],
        kernel: hemiola_trace::result::KernelSide::default(),
        measured: Vec::new(),
        incomplete: None,
    };
    (folder, traces)
}

/// [`ladder`] of two short runs, analysed.
pub(crate) fn ladder_analysis() -> Analysis {
    analysis(2, 40)
}

/// [`ladder`], analysed.
pub(crate) fn analysis(run_count: u32, cycle_count: u32) -> Analysis {
    let (folder, traces) = ladder(run_count, cycle_count);
    analyze(&folder, |path| traces.get(path).cloned().ok_or("no such trace"))
}

fn fault_figures(
    lost: u64,
    earliest_loss_ns: Option<u64>,
    peak_v: f64,
    detection_cycles: Option<f64>,
) -> FaultFigures {
    let found_as = detection_cycles.map(|_| ("leaves-region".into(), 1000)).into_iter().collect();
    FaultFigures {
        runs: 1000,
        lost,
        earliest_loss_ns,
        peak_v,
        detection_cycles,
        found_as,
        false_switches: 0,
    }
}

/// A thousand hand-overs with this median: one cold, a tenth slow, most of them alike, a tenth fast.
fn floor(mechanism: &str, circumstances: &str, p50_ns: u64) -> Floor {
    let tenths = [(90, 1), (15, 99), (10, 800), (9, 100)];
    let samples = tenths.map(|(tenths, count)| vec![p50_ns * tenths / 10; count]);
    Floor {
        mechanism: mechanism.into(),
        direction: "down".into(),
        circumstances: circumstances.into(),
        samples_ns: samples.concat(),
    }
}

fn conditions() -> Conditions {
    Conditions {
        hemiola_version: "0.1.0".into(),
        commit: None,
        kernel: "Linux 6.1".into(),
        cpu_model: "Test CPU".into(),
        cpus_online: 2,
        preempt: "voluntary".into(),
        clock: ClockConditions {
            source: "tsc".into(),
            read_ns: 22.0,
            fast_read_ns: 10.0,
            resolution_ns: 1.0,
        },
        rt_runtime_us: 950_000,
        rt_period_us: 1_000_000,
        load_average_1m: 0.25,
        steal_ticks_delta: Some(3),
        virtualized: Some("kvm".into()),
        allow_less: false,
        command_line: "hemiola run examples/1-pendulum-ladder".into(),
    }
}

/// Each process in turn: starts, works, finishes; `io` goes round the others.
fn trace(program: &Program, cycle_count: u32, late: Option<u32>, random: &mut Random) -> Vec<u8> {
    let mut entries = vec![Vec::new(); program.processes.len()];
    let mut deviate = move |scale: f64| {
        // A long tail on the right, as waiting has.
        let tail = if random.uniform() < 0.01 { random.uniform() * 3.0 } else { 0.0 };
        (scale * (0.06 * random.normal() + tail).exp()) as i64
    };
    for cycle in 0..cycle_count {
        let release = EPOCH + i64::from(cycle) * PERIOD;
        let mut at = release + deviate(3000.0);
        let mut put = |process: usize, kind, a: i64, b: i64| {
            entries[process].push(Entry {
                at: Instant::from_nanos(at as u64),
                kind,
                arg: 0,
                cycle,
                a: a as u64,
                b: b as u64,
            });
            at += deviate(program.step);
            if late == Some(cycle) && kind == EventKind::Sample {
                at += PERIOD;
            }
        };
        let deadline = release + PERIOD;
        put(0, EventKind::Start, release, 0);
        put(0, EventKind::Sample, 0, 0);
        for process in 1..program.processes.len() {
            put(0, EventKind::Send, 0, 0);
            put(process, EventKind::Start, release, 0);
            put(process, EventKind::Receive, 0, 0);
            put(process, EventKind::Send, 0, 0);
            put(process, EventKind::Finish, deadline, 3 * program.step as i64);
        }
        put(0, EventKind::Actuate, 0, 0);
        put(0, EventKind::Finish, deadline, 4 * program.step as i64);
        for pair in [0, 38, 41] {
            put(0, EventKind::Pair, 0, pair);
        }
    }
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
    for ((name, _), entries) in program.processes.iter().zip(entries) {
        let track = writer.process(1, name, Names::default()).unwrap();
        writer.entries(track, &entries).unwrap();
    }
    writer.close().unwrap();
    file
}
