//! A benchmark beside a real-time load that works in turns: the cost to the benchmark beyond the load's own share.
//!
//! Prisching and Rinner, "Thread-based analysis of embedded applications with real-time and non real-time
//! processing on a single-processor platform", section 5.3, hold the score of a benchmark against its score
//! without any load: overhead = 100 − share of the load − score (table 5-1 over shares at 2 kHz, figure 5-4
//! over rates). Here the load rests in the first of every four turns, works in the second and the third, and
//! rests in the fourth, so each four give one comparison in which slow changes of the machine cancel.

use std::collections::BTreeMap;

use hemiola_trace::result::{MixedRecord, Role, WORK};
use hemiola_trace::sched::Tid;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{Process, jobs};
use crate::cycles::occupancy::Occupancy;
use hemiola_stats::{Estimate, Spread, median};

/// The observations of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MixedRun {
    comparisons: Vec<Comparison>,
    /// Of each other load: start − release in turns without the load and with it, ns.
    wake_ups: BTreeMap<String, [Vec<i64>; 2]>,
}

/// Four turns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Comparison {
    /// Processor time of the load as a share of its two turns, by the clock of its thread.
    share: f64,
    /// The same by the switches of the kernel's record.
    share_by_switches: Option<f64>,
    /// Work done with the load over work done without it.
    score: f64,
    /// Switches of the load's processor a second, beyond those without the load.
    switches_per_s: Option<f64>,
}

impl Comparison {
    fn overhead(&self) -> f64 {
        1.0 - self.share - self.score
    }
}

/// A program that is a benchmark beside a load, all runs together. Shares and scores are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixedFigures {
    /// The scenario's name of the series it belongs to.
    pub series: String,
    /// The load's process; `None` for the control.
    pub load: Option<String>,
    /// The share of a processor the load was asked for.
    pub asked_share: f64,
    /// Its releases a second.
    pub rate_hz: f64,
    /// Comparisons of four turns.
    pub comparisons: u64,
    /// Processor time of the load by the clock of its thread, as a share.
    pub share: Option<Estimate>,
    /// The same by the switches the kernel recorded; `None` if it was not recorded or has a gap.
    pub share_by_switches: Option<Estimate>,
    /// The time that the kernel's accounting charges to the load around each release beyond the time between its
    /// switches, ns: (share − share by switches) over the rate (the paper, section 5.2).
    pub deviation_ns: Option<Estimate>,
    /// Work done by the benchmark with the load over work done without it.
    pub score: Option<Estimate>,
    /// 1 − share − score.
    pub overhead: Option<Estimate>,
    /// Overhead divided by releases: the cost of each beyond its own processor time, ns.
    pub per_release_ns: Option<Estimate>,
    /// Switches a second that the load brings, where the kernel was recorded.
    pub switches_per_s: Option<Estimate>,
    /// How late the threads of other loads wake.
    pub wake_ups: Vec<WakeUps>,
}

/// How late an ordinary thread wakes, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WakeUps {
    /// Its process.
    pub name: String,
    /// Start − release in turns without the load.
    pub without_ns: Option<Spread>,
    /// In turns with it.
    pub with_ns: Option<Spread>,
}

/// The programs of one series together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesFigures {
    /// The scenario's name of it.
    pub name: String,
    /// The mean overhead of its programs with a load, over runs.
    pub overhead: Option<Estimate>,
    /// The cost of a release beyond the load's own processor time, ns: for each run the slope of the overhead over the
    /// rate through the origin; over runs.
    pub per_release_ns: Option<Estimate>,
}

/// The jobs of the load that ended: release and processor time, ns.
type Spent = Vec<(Instant, i64)>;

impl MixedRun {
    /// The observations of `processes`. `kernel` gives the occupancy of the processors and the load's thread.
    #[must_use]
    pub fn of(
        record: &MixedRecord,
        processes: &[Process],
        kernel: Option<(&Occupancy, Option<Tid>)>,
    ) -> Self {
        let named = |name: &str| processes.iter().position(|process| process.name == name);
        let turns = named(&record.benchmark)
            .and_then(|index| Turns::of(&processes[index].entries, record.turn));
        let Some(turns) = turns else { return Self::default() };
        let load = record.load.as_deref().and_then(named);
        let spent: Spent = load.map_or(Vec::new(), |load| {
            let all = jobs(load, &processes[load]).into_iter();
            all.filter_map(|(job, _)| Some((job.release, job.end?.execution.nanos()))).collect()
        });
        let mut wake_ups = BTreeMap::<String, [Vec<i64>; 2]>::new();
        for (index, process) in processes.iter().enumerate() {
            if process.role != Role::Workload || Some(index) == load {
                continue;
            }
            let latencies = wake_ups.entry(process.name.clone()).or_default();
            for (job, _) in jobs(index, process) {
                let Some(with) = turns.load_works_at(job.release) else { continue };
                latencies[usize::from(with)].push(job.release_latency().nanos());
            }
        }
        let comparison = |four| turns.compare(four, &spent, kernel);
        Self { comparisons: (0..turns.fours()).filter_map(comparison).collect(), wake_ups }
    }
}

/// The turns of a run, with the work done in each.
struct Turns {
    first: Instant,
    turn: Span,
    work: BTreeMap<i64, u64>,
}

impl Turns {
    /// The turns that the benchmark marked; `None` if it marked none.
    fn of(entries: &[Entry], turn: Span) -> Option<Self> {
        let marks = || entries.iter().filter(|e| e.kind == EventKind::Mark && e.arg == WORK);
        let first = Instant::from_nanos(marks().map(|mark| mark.a).min()?);
        let turn = turn.max(Span::from_nanos(1));
        let number = |mark: &Entry| (Instant::from_nanos(mark.a) - first).nanos() / turn.nanos();
        Some(Self { first, turn, work: marks().map(|mark| (number(mark), mark.b)).collect() })
    }

    /// How many times four turns there may be.
    fn fours(&self) -> i64 {
        self.work.keys().next_back().map_or(0, |last| last / 4 + 1)
    }

    /// When a turn begins.
    fn at(&self, number: i64) -> Instant {
        self.first + self.turn * number
    }

    /// Whether the load has its turn at this moment; `None` before the first turn and after the last.
    fn load_works_at(&self, at: Instant) -> Option<bool> {
        let since = (at - self.first).nanos();
        let number = (since >= 0).then(|| since / self.turn.nanos())?;
        self.work.contains_key(&number).then_some(matches!(number % 4, 1 | 2))
    }

    /// The four turns from 4 · `four` on; `None` if one of them is missing or no work was done.
    fn compare(
        &self,
        four: i64,
        spent: &Spent,
        kernel: Option<(&Occupancy, Option<Tid>)>,
    ) -> Option<Comparison> {
        let done = |number: i64| self.work.get(&(4 * four + number)).map(|work| *work as f64);
        let (without, with) = (done(0)? + done(3)?, done(1)? + done(2)?);
        if without <= 0.0 {
            return None;
        }
        let [begin, from, to, end] = [0, 1, 3, 4].map(|number| self.at(4 * four + number));
        let length = (to - from).secs_f64();
        let inside = |job: &&(Instant, i64)| (from..to).contains(&job.0);
        let nanos: i64 = spent.iter().filter(inside).map(|(_, nanos)| nanos).sum();
        let by_switches = |(occupancy, load): (&Occupancy, Option<Tid>)| {
            Some(occupancy.had(load?, from, to)?.secs_f64() / length)
        };
        let switches = |(occupancy, load): (&Occupancy, Option<Tid>)| {
            let cpu = occupancy.processor_of(load?, from)?;
            let count = |from, to| occupancy.switches(cpu, from, to) as f64;
            // Both pairs of turns are equally long.
            Some((count(from, to) - count(begin, from) - count(to, end)) / length)
        };
        Some(Comparison {
            share: Span::from_nanos(nanos).secs_f64() / length,
            share_by_switches: kernel.and_then(by_switches),
            score: with / without,
            switches_per_s: kernel.and_then(switches),
        })
    }
}

/// The median of comparisons in their order; their mean where they are too few for its interval.
fn estimate(values: &[f64]) -> Option<Estimate> {
    Estimate::of_median(values).or_else(|| Estimate::of_mean(values))
}

/// The same in another unit.
fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    Estimate {
        value: estimate.value * factor,
        low: estimate.low * factor,
        high: estimate.high * factor,
        std: estimate.std * factor,
        ..estimate
    }
}

impl MixedFigures {
    /// The figures of `runs` together.
    #[must_use]
    pub fn of(record: &MixedRecord, runs: &[&MixedRun]) -> Self {
        let all: Vec<Comparison> =
            runs.iter().flat_map(|run| run.comparisons.iter().copied()).collect();
        let of = |pick: fn(&Comparison) -> Option<f64>| {
            estimate(&all.iter().filter_map(pick).collect::<Vec<f64>>())
        };
        let loaded = record.load.is_some();
        let overhead = of(|four| Some(four.overhead()));
        let nanos = 1e9 / record.rate_hz;
        Self {
            series: record.series.clone(),
            load: record.load.clone(),
            asked_share: record.share,
            rate_hz: record.rate_hz,
            comparisons: all.len() as u64,
            share: of(|four| Some(four.share)).filter(|_| loaded),
            share_by_switches: of(|four| four.share_by_switches).filter(|_| loaded),
            deviation_ns: of(|four| Some(four.share - four.share_by_switches?))
                .filter(|_| loaded && nanos.is_finite())
                .map(|share| scaled(share, nanos)),
            score: of(|four| Some(four.score)),
            overhead,
            per_release_ns: overhead
                .filter(|_| loaded && nanos.is_finite())
                .map(|overhead| scaled(overhead, nanos)),
            switches_per_s: of(|four| four.switches_per_s).filter(|_| loaded),
            wake_ups: wake_ups(runs),
        }
    }
}

fn wake_ups(runs: &[&MixedRun]) -> Vec<WakeUps> {
    let mut all = BTreeMap::<&String, [Vec<i64>; 2]>::new();
    for (name, latencies) in runs.iter().flat_map(|run| &run.wake_ups) {
        let entry = all.entry(name).or_default();
        entry.iter_mut().zip(latencies).for_each(|(all, new)| all.extend(new));
    }
    let figures = |(name, mut latencies): (&String, [Vec<i64>; 2])| {
        latencies.iter_mut().for_each(|latencies| latencies.sort_unstable());
        let [without_ns, with_ns] = latencies.map(|latencies| Spread::of(&latencies));
        WakeUps { name: name.clone(), without_ns, with_ns }
    };
    all.into_iter().map(figures).collect()
}

/// The figures of each series, in the order of their first programs.
#[must_use]
pub fn series(variants: &[(&MixedRecord, Vec<&MixedRun>)]) -> Vec<SeriesFigures> {
    let mut names: Vec<&str> = Vec::new();
    for (record, _) in variants {
        if !names.contains(&record.series.as_str()) {
            names.push(&record.series);
        }
    }
    let figures = |name: &str| {
        let programs: Vec<_> = variants
            .iter()
            .filter(|(record, _)| record.series == name && record.load.is_some())
            .collect();
        let runs = programs.iter().map(|(_, runs)| runs.len()).max().unwrap_or(0);
        // Rate and median overhead of each program in one of the runs.
        let points = |run: usize| -> Vec<[f64; 2]> {
            let point = |(record, runs): &&(&MixedRecord, Vec<&MixedRun>)| {
                let comparisons = &runs.get(run)?.comparisons;
                let overheads: Vec<f64> = comparisons.iter().map(Comparison::overhead).collect();
                Some([record.rate_hz, median(&overheads)?])
            };
            programs.iter().filter_map(point).collect()
        };
        let over_runs = |figure: fn(&[[f64; 2]]) -> f64| {
            let all = (0..runs).map(points).filter(|points| !points.is_empty());
            Estimate::of_mean(&all.map(|points| figure(&points)).collect::<Vec<f64>>())
        };
        SeriesFigures {
            name: name.to_owned(),
            overhead: over_runs(|points| {
                points.iter().map(|[_, overhead]| overhead).sum::<f64>() / points.len() as f64
            }),
            per_release_ns: over_runs(|points| {
                let product: f64 = points.iter().map(|[rate, overhead]| rate * overhead).sum();
                let square: f64 = points.iter().map(|[rate, _]| rate * rate).sum();
                1e9 * product / square
            }),
        }
    };
    names.into_iter().map(figures).collect()
}

#[cfg(test)]
pub(crate) mod tests;
