//! Federations of two with known times, and what is made of them.

use super::*;
use crate::cycles::analysis::{Analysis, analyze};
use crate::cycles::jobs::Process;
use crate::cycles::report::{json, page};
use crate::cycles::summary::Summary;
use crate::cycles::synthetic::{ladder, run_record};
use hemiola_report::table::Detail;
use hemiola_trace::Recording;
use hemiola_trace::perfetto::{Names, TraceWriter};
use hemiola_trace::result::{
    EXCHANGED, FederateRecord, FederateRun, ProcessRecord, Role, RunFolder, SYNCHRONIZED,
};
use hemiola_trace::sched::{Event, Left, PRIORITY_UNKNOWN, Tid, What};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Profile;
use proptest::prelude::*;

const MICRO: i64 = 1_000;
const PERIOD: i64 = 10_000 * MICRO;
const EPOCH: i64 = 1_000_000_000;
const MASTER: u32 = 11;
const OTHER: u32 = 12;
const RTI: u32 = 13;
const STRANGER: u32 = 99;
/// The work of the RTI in a cycle: three turns of 10 µs.
const SHARE: i64 = 30 * MICRO;

/// A master and another at 100 Hz. From the release on, in µs: the master starts at 20 and has its grant at 60, the
/// other has it at 70 and ends at 2600; the master takes the other's state at 2640, waiting for it since 2560, and ends
/// at 2700. The RTI works from 30 to 40, from 45 to 55 and from 2610 to 2620. Both compute for 2.5 ms.
#[derive(Clone, Copy, Default)]
struct World {
    cycles: i64,
    /// In this cycle the other ends so much later.
    other_late: Option<(i64, i64)>,
    /// In this cycle the master starts so much later.
    master_late: Option<(i64, i64)>,
    /// In this cycle the other computes so much longer.
    computing: Option<(i64, i64)>,
    /// Whether the master takes no state in mid-cycle.
    apart: bool,
}

fn entry(at: i64, kind: EventKind, arg: u16, cycle: i64, a: i64, b: i64) -> Entry {
    let at = Instant::from_nanos(at as u64);
    Entry { at, kind, arg, cycle: cycle as u32, a: a as u64, b: b as u64 }
}

impl World {
    fn new(cycles: i64) -> Self {
        Self { cycles, ..Self::default() }
    }

    fn by(late: Option<(i64, i64)>, cycle: i64) -> i64 {
        late.filter(|(which, _)| *which == cycle).map_or(0, |(_, by)| by)
    }

    /// The entries of each. A delay in a cycle moves all later entries, also those of the other one and of the next
    /// cycle.
    fn processes(&self) -> Vec<Process> {
        let (mut master, mut other, mut rti) = (Vec::new(), Vec::new(), Vec::new());
        let [mut master_free, mut other_free] = [0; 2];
        for cycle in 0..self.cycles {
            let release = EPOCH + cycle * PERIOD;
            let start = (release + 20 * MICRO).max(master_free) + Self::by(self.master_late, cycle);
            let grant = (start + 40 * MICRO).max(other_free + 50 * MICRO);
            let computing = Self::by(self.computing, cycle);
            let ended = grant + 2540 * MICRO + Self::by(self.other_late, cycle) + computing;
            let exchanged = ended + 40 * MICRO;
            let waited = exchanged - (grant + 2500 * MICRO);
            let finish = if self.apart { grant + 2640 * MICRO } else { exchanged + 60 * MICRO };
            let mark = entry(grant, EventKind::Mark, SYNCHRONIZED, cycle, 0, grant - start);
            master.extend([entry(start, EventKind::Start, 0, cycle, release, 0), mark]);
            if !self.apart {
                master.push(entry(exchanged, EventKind::Mark, EXCHANGED, cycle, cycle, waited));
            }
            let deadline = release + PERIOD;
            master.push(entry(finish, EventKind::Finish, 0, cycle, deadline, 2500 * MICRO));
            other.extend([
                entry(grant + 10 * MICRO, EventKind::Start, 0, cycle, release, 0),
                entry(ended, EventKind::Finish, 0, cycle, deadline, 2500 * MICRO + computing),
            ]);
            for from in [grant - 30 * MICRO, grant - 15 * MICRO, ended + 10 * MICRO] {
                rti.push(entry(from, EventKind::Start, 0, 0, from, 0));
                rti.push(entry(from + 10 * MICRO, EventKind::Finish, 0, 0, 0, 10 * MICRO));
            }
            [master_free, other_free] = [finish, ended];
        }
        let process = |name: &str, role, entries| Process {
            name: name.into(),
            role,
            in_cycle: false,
            entries,
        };
        vec![
            process("dynamics-1", Role::Federate, master),
            process("dynamics-2", Role::Federate, other),
            process("rti", Role::Rti, rti),
        ]
    }
}

fn mode(sync: Synchronization, priority: PriorityMode) -> FederationRecord {
    let federate = |name: &str, hears_mid_cycle: Option<&str>| FederateRecord {
        name: name.into(),
        period: Span::from_nanos(PERIOD),
        compute: Span::from_micros(2500),
        hears: Vec::new(),
        hears_mid_cycle: hears_mid_cycle.map(String::from),
    };
    let bare = |after| BareRun {
        run: 1,
        after,
        trace: format!("traces/bare-{after}.pftrace"),
        process: "bare-timer".into(),
        warmup_cycles: 1,
    };
    FederationRecord {
        sync,
        priority,
        affinity: priority == PriorityMode::High,
        transport: "shm".into(),
        rti: "rti".into(),
        master: "dynamics-1".into(),
        federates: vec![federate("dynamics-1", Some("dynamics-2")), federate("dynamics-2", None)],
        bare: vec![bare(false), bare(true)],
    }
}

fn record() -> RunRecord {
    let mut run = run_record(1, 2);
    let template = run.processes[0].clone();
    run.processes = [("dynamics-1", MASTER), ("dynamics-2", OTHER), ("rti", RTI)]
        .map(|(name, pid)| hemiola_trace::result::ProcessRun {
            name: name.into(),
            pid,
            ..template.clone()
        })
        .to_vec();
    run.federation = Some(FederationRun {
        trajectory: Some(Trajectory {
            states: 100,
            deviation_m_max: 2e-9,
            distance_m: [100.0, 200.0],
        }),
        federates: vec![FederateRun { cycles: 50, sent: 50, received: 49, lost: 0 }; 2],
    });
    run
}

fn managed() -> FederationRecord {
    mode(Synchronization::TimeManagement, PriorityMode::High)
}

/// One run of `world`, with the kernel's record where there is one.
fn run(world: &World, kernel: Option<&Recording>) -> ModeRun {
    let (processes, record) = (world.processes(), record());
    let witness = kernel.and_then(|recording| Witness::of(recording, &record, &processes));
    let period = Span::from_nanos(PERIOD);
    ModeRun::of(&managed(), &record, &processes, period, witness.as_ref(), &BTreeMap::new())
}

fn figures(run: &ModeRun) -> ModeFigures {
    ModeFigures::of("time-management", &managed(), &[run])
}

fn switch(at: i64, cpu: u16, prev: u32, next: u32) -> Event {
    let at = Instant::from_nanos(at as u64);
    let left = Left::Preempted;
    let (prev, next) = (Tid(prev), Tid(next));
    Event { at, cpu, what: What::Switch { prev, left, next, priority: PRIORITY_UNKNOWN } }
}

#[test]
fn a_cycle_lasts_from_its_beginning_to_that_of_the_next() {
    let figures = figures(&run(&World::new(50), None));
    let master = figures.master().unwrap();
    let cycle = master.cycle_ns.unwrap();
    // Of 50 the first two are the warm-up, and the last has no next.
    assert_eq!((master.cycles, cycle.p50, cycle.max), (47, PERIOD, PERIOD));
    assert_eq!((master.overruns, master.lost, master.rate_hz), (0, 0, 100.0));
    assert_eq!(master.response_ns.unwrap().p50, 2700 * MICRO);
    assert_eq!(master.deviation_ns.unwrap().max, 0);
    assert_eq!(figures.late, []);
    assert_eq!((master.sent, master.received), (50, 49));
}

#[test]
fn the_rtis_share_is_what_it_worked_within_the_cycle() {
    let figures = figures(&run(&World::new(20), None));
    for federate in &figures.federates {
        let share = federate.rti_share_ns.unwrap();
        assert_eq!((share.min, share.max), (SHARE, SHARE), "{}", federate.name);
    }
}

#[test]
fn what_others_had_of_the_rtis_turns_is_not_its_share() {
    // In cycle 9 a stranger takes the RTI's processor for 4 µs of its first turn.
    let turn = EPOCH + 9 * PERIOD + 30 * MICRO;
    let events = vec![
        switch(EPOCH, 0, 0, RTI),
        switch(turn + 2 * MICRO, 0, RTI, STRANGER),
        switch(turn + 6 * MICRO, 0, STRANGER, RTI),
    ];
    let kernel = Recording::new(events, Vec::new(), Vec::new());
    let share = figures(&run(&World::new(20), Some(&kernel))).federates[0].rti_share_ns.unwrap();
    assert_eq!((share.min, share.max), (SHARE - 4 * MICRO, SHARE));
}

/// Late cycles, a line each.
fn told(figures: &ModeFigures) -> String {
    let line = |late: &Late| format!("{} {}: {}", late.federate, late.cycle, late.explanation);
    let mut lines: Vec<String> = figures.late.iter().map(line).collect();
    lines.sort();
    lines.join("\n")
}

/// In cycle 7 of `world` a stranger has the processor of the other for as long as it stands still there.
fn with_a_stranger(world: &World) -> ModeFigures {
    let (cycle, held) = world.other_late.expect("that is the story");
    let began = EPOCH + cycle * PERIOD + 100 * MICRO;
    let events = vec![
        switch(EPOCH - 1, 1, 0, OTHER),
        switch(began, 1, OTHER, STRANGER),
        switch(began + held, 1, STRANGER, OTHER),
        switch(EPOCH - 1, 0, 0, MASTER),
    ];
    figures(&run(world, Some(&Recording::new(events, Vec::new(), Vec::new()))))
}

#[test]
fn a_master_that_waits_in_mid_cycle_is_late_because_of_what_held_the_other() {
    let world = World { other_late: Some((7, 9_000 * MICRO)), ..World::new(20) };
    let figures = with_a_stranger(&world);
    insta::assert_snapshot!(told(&figures), @r"
    dynamics-1 7: 9.00 ms longer than usual: it waited 9.08 ms in mid-cycle (usually 80.0 µs) for dynamics-2, which took 11.5 ms instead of 2.53 ms, not computing: thread 99 had processor 1 for 9.00 ms
    dynamics-2 7: 9.00 ms longer than usual: it took 11.5 ms instead of 2.53 ms, not computing: thread 99 had processor 1 for 9.00 ms
    ");
    let stranger = format!("thread {STRANGER}");
    assert!(figures.late.iter().all(|late| late.because == stranger && !late.ours));
    let blamed: Vec<(&str, &str, u64)> = figures
        .late_because
        .iter()
        .map(|blame| (blame.federate.as_str(), blame.because.as_str(), blame.cycles))
        .collect();
    let each = |name| (name, stranger.as_str(), 1);
    assert_eq!(blamed, [each("dynamics-1"), each("dynamics-2")]);
    let master = figures.master().unwrap();
    assert_eq!((master.overruns, master.lost), (1, 0));
}

#[test]
fn a_master_that_waits_for_its_grant_is_late_because_of_what_held_the_other() {
    let world = World { other_late: Some((7, 9_000 * MICRO)), apart: true, ..World::new(20) };
    insta::assert_snapshot!(told(&with_a_stranger(&world)), @r"
    dynamics-1 8: 1.59 ms longer than usual: it waited 1.63 ms to be let go (usually 40.0 µs): held by dynamics-2, which took 11.5 ms instead of 2.53 ms, not computing: thread 99 had processor 1 for 9.00 ms
    dynamics-2 7: 9.00 ms longer than usual: it took 11.5 ms instead of 2.53 ms, not computing: thread 99 had processor 1 for 9.00 ms
    ");
}

#[test]
fn a_federate_that_computes_longer_makes_the_master_late() {
    let world = World { computing: Some((7, 2_000 * MICRO)), ..World::new(20) };
    let figures = figures(&run(&world, None));
    insta::assert_snapshot!(told(&figures), @r"
    dynamics-1 7: 2.00 ms longer than usual: it waited 2.08 ms in mid-cycle (usually 80.0 µs) for dynamics-2, which computed for 4.50 ms (usually 2.50 ms)
    dynamics-2 7: 2.00 ms longer than usual: it computed for 4.50 ms (usually 2.50 ms)
    ");
    assert!(figures.late.iter().all(|late| late.because == "dynamics-2" && late.ours));
}

#[test]
fn a_master_woken_late_is_explained_by_its_processor() {
    let by = 1_000 * MICRO;
    let world = World { master_late: Some((7, by)), ..World::new(20) };
    let release = EPOCH + 7 * PERIOD;
    let events = vec![
        switch(EPOCH - 1, 0, 0, MASTER),
        switch(release - MICRO, 0, MASTER, RTI),
        switch(release + by + 20 * MICRO, 0, RTI, MASTER),
        switch(EPOCH - 1, 1, 0, OTHER),
    ];
    let kernel = Recording::new(events, Vec::new(), Vec::new());
    let figures = figures(&run(&world, Some(&kernel)));
    let words: Vec<String> = figures
        .late
        .iter()
        .map(|late| format!("{}: {}", late.federate, late.explanation))
        .collect();
    insta::assert_snapshot!(words.join("\n"), @r"
    dynamics-1: 1.00 ms longer than usual: it began 1.02 ms after it could (usually 20.0 µs): rti had processor 0 for 1.02 ms
    dynamics-2: 1.00 ms longer than usual: it began 1.07 ms after it could (usually 70.0 µs): held by dynamics-1, which began 1.02 ms after it could (usually 20.0 µs): rti had processor 0 for 1.02 ms
    ");
    assert!(figures.late.iter().all(|late| late.because == "rti" && late.ours));
}

#[test]
fn without_a_record_of_anything_there_are_no_figures_and_no_panic() {
    let empty = World::new(0);
    let figures = figures(&run(&empty, None));
    assert_eq!((figures.federates[0].cycle_ns, figures.bare_timer_ns), (None, None));
    let strange = FederationRecord { master: "nobody".into(), federates: Vec::new(), ..managed() };
    let run = ModeRun::of(&strange, &record(), &[], Span::ZERO, None, &BTreeMap::new());
    assert_eq!(ModeFigures::of("x", &strange, &[&run]).master(), None);
}

proptest! {
    #[test]
    fn any_entries_are_taken_without_a_panic(
        words in prop::collection::vec(any::<[u64; 4]>(), 0..80),
        parts in prop::collection::vec(0usize..3, 80),
        small in any::<bool>(),
    ) {
        let mut processes = World::new(3).processes();
        let mask = if small { 0xffff } else { u64::MAX };
        for ([at, word, a, b], part) in words.into_iter().zip(parts) {
            let word = word & 0x0000_0007_0007_000f;
            processes[part].entries.extend(Entry::from_words([at & mask, word, a & mask, b & mask]));
        }
        let period = Span::from_nanos(PERIOD);
        let run = ModeRun::of(&managed(), &record(), &processes, period, None, &BTreeMap::new());
        let figures = figures(&run);
        prop_assert!(figures.late.len() <= LATE_KEPT_MAX);
    }
}

/// The trace of these processes.
fn trace<'p>(processes: impl IntoIterator<Item = &'p Process>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
    for (number, process) in processes.into_iter().enumerate() {
        let pid = MASTER + number as u32;
        let track = writer.process(pid, &process.name, Names::default()).unwrap();
        writer.entries(track, &process.entries).unwrap();
    }
    writer.close().unwrap();
    file
}

/// A bare timer, 20 µs late in every second cycle.
fn bare() -> Process {
    let cycle = |cycle: i64| {
        let release = EPOCH + cycle * PERIOD;
        let at = release + cycle % 2 * 20 * MICRO;
        [
            entry(at, EventKind::Start, 0, cycle, release, 0),
            entry(at, EventKind::Finish, 0, cycle, release + PERIOD, 0),
        ]
    };
    Process {
        name: "bare-timer".into(),
        role: Role::Timer,
        in_cycle: false,
        entries: (0..10).flat_map(cycle).collect(),
    }
}

/// A result folder of two modes with a run each, the second with an overrun, and its traces.
fn folder() -> (RunFolder, BTreeMap<String, Vec<u8>>) {
    let (mut folder, _) = ladder(1, 4);
    let mut traces = BTreeMap::new();
    folder.variants.truncate(2);
    folder.faults.clear();
    folder.scenario = "federation".into();
    let modes = [
        ("interaction-low", mode(Synchronization::Interaction, PriorityMode::Low)),
        ("time-management-high", managed()),
    ];
    for (variant, (name, mode)) in folder.variants.iter_mut().zip(modes) {
        let late = (name == "interaction-low").then_some((7, 9_000 * MICRO));
        let processes = World { other_late: late, ..World::new(30) }.processes();
        variant.name = name.into();
        variant.period = Span::from_nanos(PERIOD);
        let record_of = |process: &Process| ProcessRecord {
            name: process.name.clone(),
            role: process.role,
            in_cycle: process.role == Role::Federate,
            asked: Profile::ordinary(),
        };
        variant.processes = processes.iter().map(record_of).collect();
        let run = RunRecord { trace: format!("traces/{name}.pftrace"), ..record() };
        traces.insert(run.trace.clone(), trace(&processes));
        variant.runs = vec![run];
        for timer in &mode.bare {
            traces.insert(timer.trace.clone(), trace([&bare()]));
        }
        variant.federation = Some(mode);
    }
    (folder, traces)
}

fn analysis() -> Analysis {
    let (folder, traces) = folder();
    analyze(&folder, |path| traces.get(path).cloned().ok_or("no such trace"))
}

/// A summary of two modes, as a result folder gives it.
pub(crate) fn summary() -> Summary {
    analysis().summary
}

#[test]
fn a_folder_becomes_modes_with_every_key_that_is_asked_for() {
    let summary = summary();
    assert_eq!(summary.problems, Vec::<String>::new());
    let value: serde_json::Value = serde_json::from_str(&json::write(&summary)).unwrap();
    let [loose, strict] = value["modes"].as_array().unwrap().as_slice() else {
        panic!("two modes")
    };
    assert_eq!([&loose["sync"], &loose["priority"]], ["interaction", "low"]);
    assert_eq!([&strict["sync"], &strict["priority"]], ["time-management", "high"]);
    assert_eq!(strict["affinity"], true);
    let master = &strict["federates"][0];
    assert_eq!(
        (master["name"].as_str(), master["rate_hz"].as_f64()),
        (Some("dynamics-1"), Some(100.0))
    );
    for key in ["min", "mean", "p50", "p99", "p999", "max", "std"] {
        assert!(master["cycle_ns"][key].is_number(), "{key}");
        assert!(strict["bare_timer_ns"][key].is_number(), "{key}");
    }
    assert_eq!(master["overruns"], 0);
    assert_eq!(loose["federates"][0]["overruns"], 1);
    assert_eq!([&master["rti_share_ns"]["p50"], &master["rti_share_ns"]["p99"]], [SHARE, SHARE]);
    assert_eq!(json::read(&json::write(&summary)).unwrap(), summary);
}

#[test]
fn a_bare_timer_counts_behind_its_warm_up() {
    let mode = &summary().modes[0];
    let (timer, deviation) = (mode.bare_timer_ns.unwrap(), mode.bare_deviation_ns.unwrap());
    assert_eq!((timer.min, timer.max), (PERIOD - 20 * MICRO, PERIOD + 20 * MICRO));
    assert_eq!((deviation.min, deviation.max), (20 * MICRO, 20 * MICRO));
}

#[test]
fn the_masters_cycles_are_those_of_the_program() {
    let analysis = analysis();
    let figures = &analysis.summary.variants[0].combined;
    assert_eq!((figures.observations, figures.deadlines_missed), (27, 1));
    assert_eq!(figures.misses.len(), 1);
    assert_eq!(figures.processes.len(), 3);
    assert!(crate::cycles::report::csv::write(&analysis).lines().count() > 50);
}

#[test]
fn a_missing_trace_of_a_bare_timer_is_a_problem() {
    let (folder, mut traces) = folder();
    traces.retain(|path, _| !path.contains("bare-true"));
    let summary = analyze(&folder, |path| traces.get(path).cloned().ok_or("no such file")).summary;
    assert_eq!(
        summary.problems[0],
        "interaction-low, run 1: cannot read traces/bare-true.pftrace: no such file"
    );
    assert!(summary.modes[0].bare_timer_ns.is_some());
}

#[test]
fn the_tables_have_the_papers_columns() {
    let summary = summary();
    let tables: Vec<String> = crate::cycles::report::federation::tables(&summary, Detail::Full)
        .iter()
        .filter(|table| !table.rows.is_empty())
        .map(hemiola_report::terminal::table)
        .collect();
    insta::assert_snapshot!(tables.join("\n\n"), @r"
    Table 1: cycle of the master (dynamics-1 at 100 Hz), ms
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Synchronization  Priority  Processors   Cycles     Min     Max    Mean    Std  Median     p99   p99.9  Overruns  Lost
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    interaction      low       any              27   8.320  11.680  10.000  0.466  10.000  11.680  11.680         1     0
    time-management  high      own, locked      27  10.000  10.000  10.000  0.000  10.000  10.000  10.000         0     0
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    From the beginning of a cycle to that of the next, all runs together. Overruns: cycles not over when
    the timer called for the next. Lost: cycles that never began because of that. Processors: any, or
    each process its own with locked memory.

    The master's distance from its period, beside a bare timer's, µs
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Synchronization  Priority  Processors    p50  bare   p99  bare  p99.9  bare   Max  bare  Period p50    p99  p99.9
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    interaction      low       any          0.00  20.0  1680  20.0   1680  20.0  1680  20.0       1.002  1.166  1.166
    time-management  high      own, locked  0.00  20.0  0.00  20.0   0.00  20.0  0.00  20.0       1.002  0.998  0.998
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Bare: a periodic task of the same rate, profile and way of waiting that does nothing, before and
    after each run: what the machine does to any program. Period: quantiles of the master's cycle over
    those of the bare task's.

    The RTI's share of the master's cycle, µs
    ──────────────────────────────────────────────────────────────────────────
    Synchronization  Priority  Processors   RTI over   p50   p99  p99.9   Max
    ──────────────────────────────────────────────────────────────────────────
    interaction      low       any          shm       30.0  30.0   30.0  30.0
    time-management  high      own, locked  shm       30.0  30.0   30.0  30.0
    ──────────────────────────────────────────────────────────────────────────
    How long the RTI worked within each cycle of the master, for all federates together: its turns,
    without the time others had its processor in them, where the kernel was recorded.

    Cycles of all federates, ms
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Mode                                            Federate     Hz  Cycles     Min     Max    Mean    Std  Median     p99   p99.9  Response  Overruns  Lost  RTI, µs
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    interaction, low priority                       dynamics-1  100      27   8.320  11.680  10.000  0.466  10.000  11.680  11.680     2.700         1     0     30.0
    interaction, low priority                       dynamics-2  100      27   8.320  11.680  10.000  0.466  10.000  11.680  11.680     2.600         1     0     30.0
    time-management, high priority, own processors  dynamics-1  100      27  10.000  10.000  10.000  0.000  10.000  10.000  10.000     2.700         0     0     30.0
    time-management, high priority, own processors  dynamics-2  100      27  10.000  10.000  10.000  0.000  10.000  10.000  10.000     2.600         0     0     30.0
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Response: median from the moment a cycle was due to its end. RTI: median of what it worked within
    the cycle.

    Federates that made others late
    ──────────────────────────────────────────────────────────────────────────────────────────
    Mode                       Late        Because of               Cycles  Mean, µs  Max, µs
    ──────────────────────────────────────────────────────────────────────────────────────────
    interaction, low priority  dynamics-1  dynamics-2, not running       1      9000     9000
    interaction, low priority  dynamics-2  dynamics-2, not running       1      9000     9000
    ──────────────────────────────────────────────────────────────────────────────────────────
    Cycles that took longer than the federate's usually do by more than a twentieth of its period, from
    when they were due or could begin. A wait is followed to the federate that asked the RTI last, and
    on from there; who had the processor is by the kernel's record.

    The latest cycles, explained
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Mode                       Federate    Cycle  Explanation
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    interaction, low priority  dynamics-1      7  9.00 ms longer than usual: it waited 9.08 ms in mid-cycle (usually 80.0 µs)
                                                  for dynamics-2, which took 11.5 ms instead of 2.53 ms, not computing: the
                                                  kernel's switches were not recorded
    interaction, low priority  dynamics-2      7  9.00 ms longer than usual: it took 11.5 ms instead of 2.53 ms, not
                                                  computing: the kernel's switches were not recorded
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    Exchange between the federates
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────
    Mode                                            Sent  Received  Lost  States  Deviation, m       Apart, m
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────
    interaction, low priority                        100        98     0     100        2.0e-9  100.0 … 200.0
    time-management, high priority, own processors   100        98     0     100        2.0e-9  100.0 … 200.0
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────
    Attribute updates of all federates. States: positions of both satellites that went through the
    federation, held against the closed form of their motion (Clohessy and Wiltshire); the greatest
    deviation of their distance, and how far apart they were.
    ");
}

#[test]
fn the_page_has_the_papers_figures_and_nothing_of_a_control_loop() {
    let page = page::render(&analysis(), &BTreeMap::new());
    for shown in [
        "Figure 7: maximum and median cycle",
        "Figure 8:",
        "Federates that made others late",
        "Cycles lost",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    for not in
        ["Table 2: cycle time", "Plant lost", "Actuations", "NaN", "against steps of communication"]
    {
        assert!(!page.contains(not), "{not}");
    }
}
