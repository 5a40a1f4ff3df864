//! Turns with known work, and what is made of them.

use super::*;
use crate::cycles::analysis::Analysis;
use crate::cycles::report::page;
use crate::cycles::summary::Summary;
use crate::cycles::synthetic::ladder_analysis;
use hemiola_trace::sched::{Event, Left, PRIORITY_UNKNOWN, What};

const TURN: i64 = 100_000_000;
const FIRST: i64 = 1_000_000_000;
/// The load: 2 kHz, 100 µs.
const PERIOD: i64 = 500_000;
const COMPUTE: i64 = 100_000;

fn entry(at: i64, kind: EventKind, cycle: usize, a: i64, b: i64) -> Entry {
    let cycle = cycle as u32;
    let at = Instant::from_nanos(at as u64);
    Entry { at, kind, arg: 0, cycle, a: a as u64, b: b as u64 }
}

fn process(name: &str, role: Role, entries: Vec<Entry>) -> Process {
    Process { name: name.into(), role, in_cycle: false, entries }
}

fn job(release: i64, latency: i64, compute: i64, cycle: usize) -> [Entry; 2] {
    let start = release + latency;
    [
        entry(start, EventKind::Start, cycle, release, 0),
        entry(start + compute, EventKind::Finish, cycle, release + PERIOD, compute),
    ]
}

fn works(turn: i64) -> bool {
    matches!(turn % 4, 1 | 2)
}

/// Eight turns: 1000 units of work in those without the load, 790 in those with it; a thread that wakes 10 µs
/// late in those without, 90 µs late in those with it.
pub(crate) fn processes() -> Vec<Process> {
    let begin = |turn: i64| FIRST + turn * TURN;
    let work = |turn: i64| if works(turn) { 790 } else { 1000 };
    let marks =
        (0..8).map(|turn| entry(begin(turn + 2), EventKind::Mark, 0, begin(turn), work(turn)));
    let releases = (0..8)
        .filter(|turn| works(*turn))
        .flat_map(|turn| (0..TURN / PERIOD).map(move |number| begin(turn) + number * PERIOD));
    let load = releases.enumerate().flat_map(|(cycle, at)| job(at, 5_000, COMPUTE, cycle));
    let interactive = (0..8).flat_map(|turn| {
        let late = if works(turn) { 90_000 } else { 10_000 };
        job(begin(turn) + TURN / 2, late, 20_000, turn as usize)
    });
    vec![
        process("benchmark", Role::Benchmark, marks.collect()),
        process("load", Role::Workload, load.collect()),
        process("interactive", Role::Workload, interactive.collect()),
    ]
}

pub(crate) fn record() -> MixedRecord {
    MixedRecord {
        series: "share".into(),
        benchmark: "benchmark".into(),
        load: Some("load".into()),
        share: 0.2,
        rate_hz: 2000.0,
        turn: Span::from_nanos(TURN),
    }
}

/// The switches to the load and back, of a processor that the benchmark has otherwise.
fn switches() -> Vec<Event> {
    let event = |at: i64, prev, next| Event {
        at: Instant::from_nanos(at as u64),
        cpu: 0,
        what: What::Switch {
            prev: Tid(prev),
            left: Left::Preempted,
            next: Tid(next),
            priority: PRIORITY_UNKNOWN,
        },
    };
    let starts = processes()[1]
        .entries
        .iter()
        .filter(|e| e.kind == EventKind::Start)
        .map(|e| e.at.nanos() as i64)
        .collect::<Vec<_>>();
    let around = |at: i64| [event(at - 2_000, 1, 7), event(at + COMPUTE + 3_000, 7, 1)];
    starts.into_iter().flat_map(around).collect()
}

fn near(estimate: Option<Estimate>, value: f64) {
    let found = estimate.expect("there is a figure").value;
    assert!((found - value).abs() < 1e-9 * value.abs().max(1.0), "{found} is not {value}");
}

/// The figures of three runs that are alike.
fn figures(record: &MixedRecord, kernel: Option<(&Occupancy, Option<Tid>)>) -> MixedFigures {
    let run = MixedRun::of(record, &processes(), kernel);
    MixedFigures::of(record, &[&run; 3])
}

#[test]
fn the_overhead_is_what_neither_the_load_nor_the_benchmark_has() {
    let figures = figures(&record(), None);
    assert_eq!(figures.comparisons, 2 * 3);
    near(figures.share, 0.2);
    near(figures.score, 0.79);
    near(figures.overhead, 0.01);
    // 1 % of a second, spread over 2000 releases.
    near(figures.per_release_ns, 5_000.0);
    assert_eq!((figures.share_by_switches, figures.switches_per_s), (None, None));
    let [wake_ups] = &figures.wake_ups[..] else { panic!("{:?}", figures.wake_ups) };
    let median = |spread: Option<Spread>| spread.unwrap().p50;
    let medians = (median(wake_ups.without_ns), median(wake_ups.with_ns));
    assert_eq!((wake_ups.name.as_str(), medians), ("interactive", (10_000, 90_000)));
}

#[test]
fn the_kernels_switches_tell_the_share_as_well() {
    let occupancy = Occupancy::of(switches());
    let kernel = Some((&occupancy, Some(Tid(7))));
    let figures = figures(&record(), kernel);
    // 105 µs each: what the switches take is on the load's account here.
    near(figures.share_by_switches, 0.21);
    near(figures.switches_per_s, 4_000.0);
    // 100 µs by the clock, 105 µs by the switches.
    near(figures.deviation_ns, -5_000.0);
}

#[test]
fn a_control_has_a_score_and_no_share() {
    let record = MixedRecord { load: None, share: 0.0, rate_hz: 0.0, ..record() };
    let figures = figures(&record, None);
    assert_eq!((figures.share, figures.per_release_ns), (None, None));
    assert!(figures.score.is_some());
}

#[test]
fn four_turns_count_only_together() {
    let mut processes = processes();
    processes[0].entries.remove(5);
    let run = MixedRun::of(&record(), &processes, None);
    assert_eq!(run.comparisons.len(), 1);
    processes[0].entries.clear();
    assert_eq!(MixedRun::of(&record(), &processes, None), MixedRun::default());
}

#[test]
fn a_series_has_the_slope_of_its_overheads() {
    let run = MixedRun::of(&record(), &processes(), None);
    let half = MixedRecord { rate_hz: 1000.0, ..record() };
    let control = MixedRecord { load: None, ..record() };
    let whole = record();
    let variants = [&control, &whole, &half].map(|record| (record, vec![&run; 3]));
    let [series] = &series(&variants)[..] else { panic!("one series") };
    near(series.overhead, 0.01);
    // (2000 + 1000) · 0.01 over 2000² + 1000².
    near(series.per_release_ns, 6_000.0);
}

/// A summary of one program of each kind, as a result folder gives it.
pub(crate) fn summary() -> Summary {
    let mut summary = ladder_analysis().summary;
    summary.variants.truncate(2);
    let run = MixedRun::of(&record(), &processes(), None);
    let control = MixedRecord { load: None, rate_hz: 0.0, ..record() };
    for (variant, record) in summary.variants.iter_mut().zip([control, record()]) {
        variant.name = format!("share-{}", 100.0 * record.rate_hz / 10_000.0);
        variant.mixed = Some(MixedFigures::of(&record, &[&run; 3]));
    }
    summary.series = series(&[(&record(), vec![&run; 3])]);
    summary
}

#[test]
fn the_tables_have_the_papers_columns() {
    let tables = crate::cycles::report::mixed::tables(&summary())
        .map(|table| hemiola_report::terminal::table(&table))
        .join("\n\n");
    insta::assert_snapshot!(tables, @r"
    Real-time load beside a benchmark
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Program   Rate, Hz  n  Load, %  switches  Score  Overhead, %         95 %  Per release  Deviation  Switches/s
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
    share-0          –  6        –         –  79.00         1.00  1.00 … 1.00            –          –           –
    share-20     2 000  6    20.00         –  79.00         1.00  1.00 … 1.00         5.00          –           –
    ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
    The benchmark's score is what it gets done in turns with the load over what it does in turns without
    it, in percent; overhead = 100 − load − score: what neither has. Load: processor time by the clock
    of its thread, and by the switches in the kernel's record. Medians over n comparisons of four turns.
    Per release, µs: the overhead over the releases, what each costs the rest besides the load's own
    time. Deviation, µs: what the kernel's accounting charges the load around each release beyond the
    time between its switches (the paper, 5.2). Switches/s: those the load brings.

    Overhead by series
    ────────────────────────────────────────────────────────────────────
    Series  Mean overhead, %         95 %  One release, µs         95 %
    ────────────────────────────────────────────────────────────────────
    share               1.00  1.00 … 1.00             5.00  5.00 … 5.00
    ────────────────────────────────────────────────────────────────────
    Over the runs: the mean overhead of a series' programs with a load, and the slope of the overhead
    over the rate, which is what one release takes from the rest besides the load's own time.

    Wake-up of the other threads without the load and with it, µs
    ───────────────────────────────────────────────────────────────
    Program   Thread        p50   p99   Max  With: p50   p99   Max
    ───────────────────────────────────────────────────────────────
    share-0   interactive  10.0  10.0  10.0       90.0  90.0  90.0
    share-20  interactive  10.0  10.0  10.0       90.0  90.0  90.0
    ───────────────────────────────────────────────────────────────
    Start − release in turns without the load, and in turns with it.
    ");
}

#[test]
fn a_page_of_benchmarks_has_their_figures_and_no_cycles() {
    let analysis = Analysis { summary: summary(), observed: vec![Vec::new(); 2] };
    let page = page::render(&analysis, &BTreeMap::new());
    for shown in
        ["Overhead over the load", "Wake-up of an interactive thread", "Overhead by series"]
    {
        assert!(page.contains(shown), "{shown}");
    }
    for not in ["Table 2: cycle time", "Plant lost", "NaN"] {
        assert!(!page.contains(not), "{not}");
    }
}
