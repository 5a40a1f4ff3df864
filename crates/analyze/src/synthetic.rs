//! Runs built in code with known answers, for the tests.

use hemiola_trace::result::{ProcessRun, Role, RunRecord};
use hemiola_trace::{Entry, Kind};
use hemiola_units::{Bytes, CpuSet, Granted, Instant, Policy, Span};

use crate::jobs::Process;

/// Nanoseconds.
pub(crate) const MICRO: i64 = 1_000;
/// 50 Hz, nanoseconds.
pub(crate) const PERIOD: i64 = 20_000 * MICRO;
/// The first release.
const EPOCH: i64 = 1_000_000_000;

/// A loop of two processes: `io` starts 3 µs after its release, samples at +1 µs, sends at +2,
/// takes the command at +8, actuates at +9 and finishes at +10; `controller` starts at +4, receives
/// at +5, sends at +6 and finishes at +7. Deadlines are the next release; `io` executes for 5 µs,
/// `controller` for 3 µs. The processor goes over twice.
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
            (0, Kind::Start),
            (1, Kind::Sample),
            (2, Kind::Send),
            (8, Kind::Receive),
            (9, Kind::Actuate),
            (10, Kind::Finish),
        ];
        let controller = [(4, Kind::Start), (5, Kind::Receive), (6, Kind::Send), (7, Kind::Finish)];
        vec![
            self.process("io", Role::Io, &io, 5 * MICRO),
            self.process("controller", Role::Controller, &controller, 3 * MICRO),
        ]
    }

    fn process(&self, name: &str, role: Role, steps: &[(i64, Kind)], execution: i64) -> Process {
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
                    Kind::Start => (release, 0),
                    Kind::Finish => (release + PERIOD, execution + charged),
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

/// The record of a run of [`Loop`]: 40 ns a pair of marks, 100 voluntary switches a process.
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
        mark_pair_ns_p50: 40.0,
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
    }
}
