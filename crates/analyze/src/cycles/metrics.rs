//! Computes the figures of one run, and of several runs together, from cycles.

use std::collections::BTreeMap;

use hemiola_trace::result::{ProcessRecord, ProcessRun, Role, RunRecord};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{Cycle, CycleRow, Job, Process, cycles};
use crate::cycles::misses::{self, Miss, MissGroup};
use crate::cycles::phases::{PhaseFigures, Phases};
use crate::cycles::segments::{Segment, Segments};
use crate::cycles::typical::Typical;
use crate::cycles::witness::{CycleDelay, Witness};
use hemiola_stats::{self as stats, LEVEL, OutlierClasses, Spread};

/// How many misses a summary keeps in words; all are counted.
pub const MISSES_KEPT_MAX: usize = 50;

/// The observations of one run, from which [`Figures`] are computed.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// One row for each cycle after the warm-up.
    pub cycles: Vec<CycleRow>,
    /// Times of pairs of marks back to back in the processes of the cycle, ns, sorted.
    pub pairs: Vec<i64>,
    /// The cycle whose time is nearest the median.
    pub typical: Option<Typical>,
    /// The benchmark and its load, where there are any.
    pub mixed: Option<crate::cycles::mixed::MixedRun>,
    /// Authority and faults, in a program with a decision module.
    pub control: Option<crate::cycles::authority::Control>,
    /// The federation, where it is one.
    pub federation: Option<crate::cycles::federation::ModeRun>,
    misses: Vec<Miss>,
    /// Number of cycles, total and greatest time, ns, of threads that had the loop's processor, by name.
    delays: BTreeMap<String, [i64; 3]>,
    processes: BTreeMap<String, Jobs>,
    segments: Segments,
    phases: Phases,
    context_switches: u64,
    /// Cycles during which those were counted.
    counted_cycles: u64,
    pair_ns: Option<f64>,
    peak_v: Option<f64>,
    /// Time from the first release to the loss of the plant.
    pub(crate) fallen_after: Option<Span>,
    switches: u64,
    lost_events: u64,
}

/// The jobs of one process.
#[derive(Clone, Debug, Default)]
struct Jobs {
    /// Start − release, ns.
    latency: Vec<i64>,
    /// Finish − release, ns.
    response: Vec<i64>,
    /// Processor time, ns.
    execution: Vec<i64>,
    /// Processor time of warming up, ns; without the jobs that nothing was warmed up for.
    warm_up: Vec<i64>,
    /// First release to last, plus one period.
    observed: Span,
    /// Time on a processor by the kernel's record, of a program that records no jobs.
    occupied: Option<Span>,
}

/// The processes of a run, put together from what the scenario says about them and what the trace
/// holds. Tracks of one name are one process that was started again; a name the scenario does not
/// know is a unit added while it ran, outside the cycle.
pub fn processes(
    records: &[ProcessRecord],
    tracks: impl IntoIterator<Item = (String, Vec<Entry>)>,
) -> Vec<Process> {
    let mut processes: Vec<Process> = records
        .iter()
        .map(|record| Process {
            name: record.name.clone(),
            role: record.role,
            in_cycle: record.in_cycle,
            entries: Vec::new(),
        })
        .collect();
    for (name, entries) in tracks {
        match processes.iter_mut().find(|process| process.name == name) {
            Some(process) => process.entries.extend(entries),
            None => {
                processes.push(Process { name, role: Role::Unit, in_cycle: false, entries });
            }
        }
    }
    processes
}

impl Observed {
    /// The observations of `processes` in the run described by `record`, whose cycle has the period `period`. `witness`
    /// is the kernel's record, if there is one.
    pub fn of(
        processes: &[Process],
        record: &RunRecord,
        period: Span,
        witness: Option<&Witness<'_>>,
    ) -> Self {
        let cycles = cycles(processes, record.warmup_cycles);
        let lost: Vec<u64> = processes
            .iter()
            .map(|process| runs_of(record, process).map(|run| run.lost_events).sum())
            .collect();
        let looped = || {
            processes
                .iter()
                .filter(|process| process.in_cycle)
                .flat_map(|process| runs_of(record, process))
        };

        let mut jobs = BTreeMap::<String, Jobs>::new();
        for job in cycles.iter().flat_map(|cycle| &cycle.jobs) {
            take(&mut jobs, &processes[job.process].name, job);
        }
        // Loads beside the loop, from the loop's first counted release on; without a loop, after the warm-up. So are
        // federates and their RTI, and units that were added while the loop ran.
        let from =
            cycles.first().map_or_else(|| first_counted(processes, record, period), Cycle::release);
        for (index, process) in processes.iter().enumerate() {
            let is_beside = matches!(process.role, Role::Workload | Role::Federate | Role::Rti);
            if !is_beside && (process.role != Role::Unit || process.in_cycle) {
                continue;
            }
            let all = crate::cycles::jobs::jobs(index, process);
            if process.role == Role::Unit && all.is_empty() {
                let to = cycles.last().map_or(from, Cycle::finish);
                let occupied = witness.and_then(|witness| witness.time_of(index, from, to));
                jobs.insert(process.name.clone(), Jobs { occupied, ..Jobs::default() });
            }
            let counted = all.iter().map(|(job, _)| job).filter(|job| job.release >= from);
            counted.for_each(|job| take(&mut jobs, &process.name, job));
        }
        if let [first, .., last] = cycles.as_slice() {
            let observed = last.release() - first.release() + period;
            jobs.values_mut().for_each(|jobs| jobs.observed = observed);
        } else {
            jobs.values_mut().for_each(|jobs| jobs.observed = record.duration);
        }

        let mut pairs: Vec<i64> =
            processes.iter().filter(|process| process.in_cycle).flat_map(pairs).collect();
        pairs.sort_unstable();
        let pair_ns = mark_cost(&pairs);

        let mut delays = BTreeMap::new();
        if let Some(witness) = witness {
            cycles.iter().for_each(|cycle| witness.add_delays(cycle, &mut delays));
        }
        Self {
            mixed: None,
            typical: Typical::of(&cycles, processes),
            control: None,
            federation: None,
            misses: misses::explain(processes, &cycles, &lost, witness),
            delays,
            processes: jobs,
            segments: Segments::of(&cycles, processes),
            phases: Phases::of(&cycles, processes),
            context_switches: looped()
                .map(|run| run.voluntary_switches + run.involuntary_switches)
                .sum(),
            counted_cycles: cycles.len() as u64 + record.warmup_cycles,
            pairs,
            pair_ns,
            // 0 where no plant was recorded.
            peak_v: Some(peak_v(processes, record)).filter(|v| v.is_finite() && *v > 0.0),
            fallen_after: record.fallen_after.or_else(|| fall(processes)),
            switches: record.switches,
            lost_events: record.processes.iter().map(|run| run.lost_events).sum(),
            cycles: cycles
                .iter()
                .map(|cycle| CycleRow {
                    cycle: cycle.number,
                    release: cycle.release(),
                    latency: cycle.start() - cycle.release(),
                    time: cycle.time(),
                    lateness: cycle.lateness(),
                    stamps: cycle.stamps.len() as u32,
                    skipped: cycle.skipped(),
                    complete: cycle.is_complete(),
                    actuated: cycle.is_actuated(),
                })
                .collect(),
        }
    }

    /// Adds the observations of a federation. Its master's cycles are those of the run.
    pub(crate) fn take_federation(&mut self, mut run: crate::cycles::federation::ModeRun) {
        (self.cycles, self.misses) = run.take_rows();
        self.federation = Some(run);
    }

    /// The times of the complete cycles in their order, ns.
    #[must_use]
    pub fn times(&self) -> Vec<i64> {
        self.cycles.iter().filter(|row| row.complete).map(|row| row.time.nanos()).collect()
    }
}

/// The greatest V of the true state: the plant's own report, or its record, if it ended without one.
fn peak_v(processes: &[Process], record: &RunRecord) -> f64 {
    let states = processes.iter().flat_map(|process| &process.entries);
    let states = states.filter(|entry| entry.kind == EventKind::PlantState);
    states.map(Entry::a_f64).fold(record.peak_v, f64::max)
}

/// When the plant was lost by the plant's record, counted from the first release of any process.
fn fall(processes: &[Process]) -> Option<Span> {
    let entries = || processes.iter().flat_map(|process| &process.entries);
    let fall = entries().find(|entry| entry.kind == EventKind::Fall)?;
    let starts = entries().filter(|entry| entry.kind == EventKind::Start);
    Some(fall.at - Instant::from_nanos(starts.map(|entry| entry.a).min()?))
}

/// When the warm-up of a run without a loop is over: counted from the first release of any of its loads.
fn first_counted(processes: &[Process], record: &RunRecord, period: Span) -> Instant {
    // The RTI has turns before there is a cycle.
    let cyclic = processes.iter().filter(|process| process.role != Role::Rti);
    let starts = cyclic.flat_map(|process| &process.entries);
    let releases = starts.filter(|entry| entry.kind == EventKind::Start).map(|entry| entry.a);
    let first = Instant::from_nanos(releases.min().unwrap_or(0));
    first + period * i64::try_from(record.warmup_cycles).unwrap_or(i64::MAX)
}

/// Adds a job to those of its process.
fn take(jobs: &mut BTreeMap<String, Jobs>, name: &str, job: &Job) {
    let entry = jobs.entry(name.to_owned()).or_default();
    entry.latency.push(job.release_latency().nanos());
    entry.warm_up.extend(Some(job.warm_up.nanos()).filter(|time| *time > 0));
    if let Some(end) = job.end {
        entry.response.push((end.finish - job.release).nanos());
        entry.execution.push(end.execution.nanos());
    }
}

/// The lengths of the pairs of marks that `process` took back to back, ns. The first mark of each
/// series has none before it and is left out.
fn pairs(process: &Process) -> impl Iterator<Item = i64> {
    process
        .entries
        .windows(2)
        .filter(|two| two.iter().all(|entry| entry.kind == EventKind::Pair))
        .map(|two| two[1].b.try_into().unwrap_or(i64::MAX))
}

/// The cost of one mark, ns: the mean of these `sorted` pairs without the greatest hundredth.
///
/// Some processors' counters step by about what a mark costs, so a median says 10 or 20 where the
/// truth lies between; the hundredth left out is where interrupts fall into a pair.
#[must_use]
pub fn mark_cost(sorted: &[i64]) -> Option<f64> {
    let kept = &sorted[..sorted.len() - sorted.len() / 100];
    (!kept.is_empty()).then(|| kept.iter().map(|ns| *ns as f64).sum::<f64>() / kept.len() as f64)
}

/// Every time `process` ran in the run: more than once when it was started again.
fn runs_of<'r>(
    record: &'r RunRecord,
    process: &'r Process,
) -> impl Iterator<Item = &'r ProcessRun> {
    record.processes.iter().filter(|run| run.name == process.name)
}

/// Cycle times of a run, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleTime {
    /// Their spread.
    #[serde(flatten)]
    pub spread: Spread,
    /// The maximum without the last observation of each run, taken as the run is stopped (the report, section 5).
    pub adjusted_max: i64,
    /// How many stand apart; none in folders of earlier versions.
    #[serde(default)]
    pub outliers: OutlierClasses,
}

/// The figures of one run, or of several together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Complete cycles after the warm-up.
    pub observations: u64,
    /// Their times, last stamp minus first; `None` without observations.
    pub cycle_ns: Option<CycleTime>,
    /// The interval of the median at 95 %, within the run.
    pub p50_interval_ns: Option<[i64; 2]>,
    /// The interval of the 99th percentile at 95 %, within the run.
    pub p99_interval_ns: Option<[i64; 2]>,
    /// Finishes behind their deadline, dropped releases and incomplete cycles.
    pub deadlines_missed: u64,
    /// Missed cycles whose cause lies in the programs of the loop.
    pub misses_ours: u64,
    /// Dropped releases alone.
    pub releases_skipped: u64,
    /// Incomplete cycles alone.
    pub cycles_incomplete: u64,
    /// Cycles and dropped releases without a voltage written.
    pub actuations_missed: u64,
    /// The first [`MISSES_KEPT_MAX`] misses in words.
    pub misses: Vec<Miss>,
    /// All misses by cause, the most frequent first.
    #[serde(default)]
    pub miss_causes: Vec<MissGroup>,
    /// Stamps taken in a cycle, mean.
    pub stamps_per_cycle: f64,
    /// Mean cost of taking them in a cycle, ns: [`mark_cost`] times the stamps, the first and
    /// the last counting half (the report, section 6.2).
    pub timing_overhead_ns: f64,
    /// The same as a share of the mean cycle.
    pub timing_overhead_share: f64,
    /// Voluntary and involuntary switches of the processes in the cycle, for each cycle.
    pub context_switches_per_cycle: f64,
    /// Start − release of each cycle's first job, ns.
    pub release_latency_ns: Option<Spread>,
    /// Processor time that all processes spent on warming up for a cycle, mean, ns.
    #[serde(default)]
    pub warm_up_per_cycle_ns: f64,
    /// Processor time of the processes of the cycle in a cycle, without warming up, mean, ns.
    #[serde(default)]
    pub execution_per_cycle_ns: f64,
    /// The processes of the cycle, and loads beside it, by name.
    pub processes: Vec<ProcessFigures>,
    /// Where the time of a cycle goes, the longest segment first.
    pub segments: Vec<Segment>,
    /// The phases of the steps of universes, in their order.
    #[serde(default)]
    pub phases: Vec<PhaseFigures>,
    /// Other threads that had the loop's processor between the release of a cycle and its end, longest total first;
    /// empty if the kernel was not recorded.
    pub delayed_by: Vec<CycleDelay>,
    /// Greatest V of the plant's true state; `None` if it was never known.
    pub peak_v: Option<f64>,
    /// Runs in which the plant was lost.
    pub fallen: u64,
    /// How often control passed from one source to another.
    pub switches: u64,
    /// Events the recorders of all processes had no room for.
    pub lost_events: u64,
}

/// One process of the cycle, or a load beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessFigures {
    /// Its name.
    pub name: String,
    /// Its jobs.
    pub jobs: u64,
    /// Start − release, ns.
    pub start_latency_ns: Option<Spread>,
    /// Finish − release, ns.
    pub response_ns: Option<Spread>,
    /// Processor time of a job, ns, without that of warming up.
    pub execution_ns: Option<Spread>,
    /// Processor time of warming up for a job, ns; `None` without a `lead`.
    #[serde(default)]
    pub warm_up_ns: Option<Spread>,
    /// Processor time, with warming up, as a share of the time observed; `None` for a program that records no jobs, if
    /// the kernel was not recorded.
    #[serde(rename = "utilisation")]
    pub utilization: Option<f64>,
}

impl Figures {
    /// The figures of `runs` together; of one run when there is one.
    pub fn of(runs: &[Observed]) -> Self {
        let per_run: Vec<Vec<i64>> = runs.iter().map(Observed::times).collect();
        let mut times: Vec<i64> = per_run.concat();
        times.sort_unstable();
        let rows = || runs.iter().flat_map(|run| &run.cycles);
        let cycle_count = rows().count();
        let per_cycle = |sum: f64| if cycle_count == 0 { 0.0 } else { sum / cycle_count as f64 };
        let cycle_ns = Spread::of(&times).map(|spread| CycleTime {
            spread,
            adjusted_max: adjusted_max(&per_run),
            outliers: OutlierClasses::of(&times),
        });

        let stamps: u64 = rows().map(|row| u64::from(row.stamps)).sum();
        let timing_overhead_ns = per_cycle(
            runs.iter()
                .map(|run| {
                    let pair = run.pair_ns.unwrap_or(0.0);
                    // Bookends count half each: n stamps cost n − 1 of them.
                    let inside = |row: &CycleRow| f64::from(row.stamps.saturating_sub(1));
                    run.cycles.iter().map(|row| pair * inside(row)).sum::<f64>()
                })
                .sum(),
        );
        let mut latencies: Vec<i64> = rows().map(|row| row.latency.nanos()).collect();
        latencies.sort_unstable();
        let skipped: u64 = rows().map(|row| row.skipped).sum();
        let incomplete = rows().filter(|row| !row.complete).count() as u64;
        let late = |row: &&CycleRow| !row.complete || row.lateness.is_some_and(Span::is_positive);
        let counted: u64 = runs.iter().map(|run| run.counted_cycles).sum();
        let context_switches: u64 = runs.iter().map(|run| run.context_switches).sum();
        // A scenario that never writes a voltage misses none.
        let actuations_missed = if rows().any(|row| row.actuated) {
            rows().filter(|row| !row.actuated).count() as u64 + skipped
        } else {
            0
        };
        let misses = || runs.iter().flat_map(|run| &run.misses);

        Self {
            observations: times.len() as u64,
            cycle_ns,
            p50_interval_ns: stats::quantile_interval(&times, 0.5, LEVEL),
            p99_interval_ns: stats::quantile_interval(&times, 0.99, LEVEL),
            deadlines_missed: rows().filter(late).count() as u64 + skipped,
            misses_ours: misses().filter(|miss| miss.ours).count() as u64,
            releases_skipped: skipped,
            cycles_incomplete: incomplete,
            actuations_missed,
            misses: misses().take(MISSES_KEPT_MAX).cloned().collect(),
            miss_causes: misses::by_cause(misses()),
            stamps_per_cycle: per_cycle(stamps as f64),
            timing_overhead_ns,
            timing_overhead_share: cycle_ns
                .map_or(0.0, |cycle| timing_overhead_ns / cycle.spread.mean.max(1.0)),
            context_switches_per_cycle: context_switches as f64 / counted.max(1) as f64,
            release_latency_ns: Spread::of(&latencies),
            warm_up_per_cycle_ns: per_cycle(total(runs, |jobs| &jobs.warm_up)),
            execution_per_cycle_ns: per_cycle(total(runs, |jobs| &jobs.execution)),
            processes: process_figures(runs),
            segments: Segments::combine(runs.iter().map(|run| &run.segments)),
            phases: Phases::combine(runs.iter().map(|run| &run.phases)),
            delayed_by: CycleDelay::list(delays(runs)),
            peak_v: runs.iter().filter_map(|run| run.peak_v).max_by(f64::total_cmp),
            fallen: runs.iter().filter(|run| run.fallen_after.is_some()).count() as u64,
            switches: runs.iter().map(|run| run.switches).sum(),
            lost_events: runs.iter().map(|run| run.lost_events).sum(),
        }
    }
}

/// A sum over all jobs of all processes.
fn total(runs: &[Observed], pick: fn(&Jobs) -> &Vec<i64>) -> f64 {
    runs.iter().flat_map(|run| run.processes.values()).flat_map(pick).map(|ns| *ns as f64).sum()
}

/// The threads that delayed cycles, over all runs.
fn delays(runs: &[Observed]) -> BTreeMap<String, [i64; 3]> {
    let mut all = BTreeMap::<String, [i64; 3]>::new();
    for (name, [cycles, total, max]) in runs.iter().flat_map(|run| &run.delays) {
        let sum = all.entry(name.clone()).or_default();
        *sum = [sum[0] + cycles, sum[1] + total, sum[2].max(*max)];
    }
    all
}

/// The greatest time without the last observation of each run; of a run of one, that one.
fn adjusted_max(runs: &[Vec<i64>]) -> i64 {
    let without_last = |times: &Vec<i64>| match times.as_slice() {
        [first, rest @ .., _] => rest.iter().copied().fold(*first, i64::max),
        short => short.first().copied().unwrap_or(0),
    };
    runs.iter().map(without_last).max().unwrap_or(0)
}

fn process_figures(runs: &[Observed]) -> Vec<ProcessFigures> {
    let mut names: Vec<&String> = runs.iter().flat_map(|run| run.processes.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let figures = |name: &String| {
        let all = || runs.iter().filter_map(|run| run.processes.get(name));
        let sorted = |pick: fn(&Jobs) -> &Vec<i64>| {
            let mut values: Vec<i64> = all().flat_map(|jobs| pick(jobs).iter().copied()).collect();
            values.sort_unstable();
            values
        };
        let latency = sorted(|jobs| &jobs.latency);
        let execution = sorted(|jobs| &jobs.execution);
        let observed = all().map(|jobs| jobs.observed).sum::<Span>().nanos();
        let occupied = all().filter_map(|jobs| jobs.occupied).reduce(|sum, part| sum + part);
        let warm_up = sorted(|jobs| &jobs.warm_up);
        let own = execution.iter().chain(&warm_up).sum::<i64>();
        let executed = (!execution.is_empty()).then_some(own);
        let used = executed.or(occupied.map(Span::nanos));
        ProcessFigures {
            name: name.clone(),
            jobs: latency.len() as u64,
            start_latency_ns: Spread::of(&latency),
            response_ns: Spread::of(&sorted(|jobs| &jobs.response)),
            execution_ns: Spread::of(&execution),
            warm_up_ns: Spread::of(&warm_up),
            utilization: used.map(|used| used as f64 / observed.max(1) as f64),
        }
    };
    names.into_iter().map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::{Loop, MICRO, PERIOD, run_record};
    use proptest::prelude::*;

    fn observed(run: &Loop) -> Observed {
        Observed::of(&run.processes(), &run_record(1, 0), Span::from_nanos(PERIOD), None)
    }

    #[test]
    fn figures_of_a_known_run() {
        let run = Observed { pair_ns: Some(40.0), ..observed(&Loop::new(100)) };
        let figures = Figures::of(&[run]);
        let cycle = figures.cycle_ns.unwrap();
        assert_eq!((figures.observations, cycle.spread.p50, cycle.spread.std), (100, 10_000, 0.0));
        // Ten stamps at 40 ns, the bookends half each.
        assert_eq!((figures.stamps_per_cycle, figures.timing_overhead_ns), (10.0, 360.0));
        assert!((figures.timing_overhead_share - 0.036).abs() < 1e-12);
        assert_eq!(figures.release_latency_ns.unwrap().p50, 3 * MICRO);
        // 100 voluntary switches of each of the two processes in 100 cycles.
        assert_eq!(figures.context_switches_per_cycle, 2.0);
        assert_eq!((figures.deadlines_missed, figures.actuations_missed), (0, 0));
        let io = &figures.processes[1];
        assert_eq!((io.name.as_str(), io.jobs), ("io", 100));
        assert_eq!(io.response_ns.unwrap().p50, 13 * MICRO);
        assert!((io.utilization.unwrap() - 5.0 / 20_000.0).abs() < 1e-9);
    }

    #[test]
    fn warming_up_counts_as_processor_time_and_not_as_execution() {
        let mut processes = Loop::new(100).processes();
        let starts = processes[0].entries.iter_mut().filter(|it| it.kind == EventKind::Start);
        starts.for_each(|start| start.b = 50_000);
        let record = run_record(1, 0);
        let figures =
            Figures::of(&[Observed::of(&processes, &record, Span::from_nanos(PERIOD), None)]);
        assert_eq!(figures.warm_up_per_cycle_ns, 50_000.0);
        // 5 us of io and 3 us of the controller.
        assert_eq!(figures.execution_per_cycle_ns, 8_000.0);
        let [controller, io] = &figures.processes[..] else { panic!("{:?}", figures.processes) };
        assert_eq!(io.warm_up_ns.unwrap().p50, 50_000);
        assert_eq!((io.execution_ns.unwrap().p50, controller.warm_up_ns), (5_000, None));
        assert!((io.utilization.unwrap() - 55.0 / 20_000.0).abs() < 1e-9);
    }

    #[test]
    fn outliers_are_counted_over_all_runs() {
        let first = Loop::new(20).stalled(9, 5, 900 * MICRO);
        let second = Loop::new(20).stalled(3, 5, 100 * MICRO);
        let figures = Figures::of(&[observed(&first), observed(&second)]);
        let expected = OutlierClasses { high_severe: 2, ..OutlierClasses::default() };
        assert_eq!(figures.cycle_ns.unwrap().outliers, expected);
    }

    #[test]
    fn the_adjusted_maximum_leaves_out_each_runs_last_observation() {
        // The last cycle of the first run and one in the middle of the second.
        let first = Loop::new(20).stalled(19, 5, 900 * MICRO);
        let second = Loop::new(20).stalled(3, 5, 100 * MICRO);
        let figures = Figures::of(&[observed(&first), observed(&second)]);
        let cycle = figures.cycle_ns.unwrap();
        assert_eq!((cycle.spread.max, cycle.adjusted_max), (910 * MICRO, 110 * MICRO));
    }

    #[test]
    fn misses_are_counted_beyond_those_kept_in_words() {
        let late = (0..80).fold(Loop::new(100), |run, n| run.stalled(n, 1, 21_000 * MICRO));
        let figures = Figures::of(&[observed(&late)]);
        assert_eq!((figures.deadlines_missed, figures.misses.len()), (80, MISSES_KEPT_MAX));
        let grouped: u64 = figures.miss_causes.iter().map(|group| group.cycles).sum();
        assert_eq!(grouped, 80, "{:?}", figures.miss_causes);
        let counts: Vec<u64> = figures.miss_causes.iter().map(|group| group.cycles).collect();
        assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
        assert_eq!(figures.miss_causes[0].explanation, figures.misses[0].explanation);
    }

    #[test]
    fn a_mark_costs_the_mean_of_its_pairs_without_the_rare_long_ones() {
        let mut pairs = vec![10; 60];
        pairs.extend([20; 39]);
        pairs.push(30_000);
        assert_eq!(mark_cost(&pairs), Some((60.0 * 10.0 + 39.0 * 20.0) / 99.0));
        assert_eq!(mark_cost(&[40]), Some(40.0));
        assert_eq!(mark_cost(&[]), None);
    }

    proptest! {
        #[test]
        fn the_order_of_runs_does_not_matter(stalls in prop::collection::vec((0u32..30, 1i64..100_000), 1..6)) {
            let mut runs: Vec<Observed> =
                stalls.iter().map(|(cycle, by)| observed(&Loop::new(30).stalled(*cycle, 5, *by))).collect();
            let there = Figures::of(&runs);
            runs.reverse();
            let back = Figures::of(&runs);
            prop_assert_eq!(there.cycle_ns.map(|c| (c.spread.max, c.spread.p50, c.adjusted_max)),
                            back.cycle_ns.map(|c| (c.spread.max, c.spread.p50, c.adjusted_max)));
            prop_assert_eq!(there.deadlines_missed, back.deadlines_missed);
        }
    }
}
