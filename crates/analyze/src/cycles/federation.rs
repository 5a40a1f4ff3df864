//! A federation in several modes: the time of its cycles, the RTI's share of them, and which federate delayed which.
//!
//! d'Ausbourg, Siron and Noulard, "Running Real Time Distributed Simulations under Linux and CERTI", report for each
//! way to run a federation the least, greatest, mean and median cycle of its master and the standard deviation
//! (table 1), and draw maximum and median over the modes (figures 7 and 8). A cycle is there, and here, the time from
//! the beginning of one to the beginning of the next. Beside it stands a bare periodic task of the same rate, profile
//! and way of waiting in the same run, as a measure of the machine alone.

mod cycle;
mod late;
mod share;

use std::collections::BTreeMap;

use hemiola_trace::result::{
    BareRun, FederationRecord, FederationRun, PriorityMode, RunRecord, Synchronization, Trajectory,
};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{CycleRow, Process, jobs};
use crate::cycles::misses::Miss;
use crate::cycles::witness::Witness;
use hemiola_stats::Spread;

use self::cycle::{Cycle, cycles};
use self::late::Scene;
use self::share::Turns;

pub use self::late::{Blame, Late};

/// The maximum number of late cycles of a mode that a summary explains, the latest first; all are counted.
pub const LATE_KEPT_MAX: usize = 20;
/// The maximum number of causes of delays kept for each mode.
const BLAMES_KEPT_MAX: usize = 24;

/// The observations of one run of a federation.
#[derive(Clone, Debug, Default)]
pub struct ModeRun {
    federates: Vec<Federate>,
    bare: Vec<i64>,
    late: Vec<Late>,
    blames: BTreeMap<(String, String), [i64; 3]>,
    record: FederationRun,
    rows: Vec<CycleRow>,
    misses: Vec<Miss>,
}

/// The observations of one federate in one run, ns.
#[derive(Clone, Debug, Default)]
struct Federate {
    /// From the beginning of each cycle to the next.
    cycle: Vec<i64>,
    /// Finish − release.
    response: Vec<i64>,
    /// How long the RTI worked within each of those cycles.
    share: Vec<i64>,
    overruns: u64,
    lost: u64,
}

/// One mode of a federation, all its runs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeFigures {
    /// The program it is, by its name among the variants.
    pub name: String,
    /// How its federates keep step.
    pub sync: Synchronization,
    /// At which priority it runs.
    pub priority: PriorityMode,
    /// Whether each process has its processors and locks its memory.
    pub affinity: bool,
    /// How federates reach the RTI.
    pub transport: String,
    /// The federate with the timer.
    pub master: String,
    /// All federates in the scenario's order.
    pub federates: Vec<FederateFigures>,
    /// From one release to the next of a bare periodic task with the master's rate, profile and way of waiting, in the
    /// same run; `None` if there was none.
    pub bare_timer_ns: Option<Spread>,
    /// How far those are from the period, whichever way.
    pub bare_deviation_ns: Option<Spread>,
    /// The trajectory that went through the federation, held against the closed form: over all runs.
    pub trajectory: Option<Trajectory>,
    /// The latest cycles in words, at most [`LATE_KEPT_MAX`].
    pub late: Vec<Late>,
    /// Causes of late cycles, longest first.
    pub late_because: Vec<Blame>,
}

/// One federate in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateFigures {
    /// Its name.
    pub name: String,
    /// Its cycles a second, as asked for.
    pub rate_hz: f64,
    /// Processor time it computes in each of them, as asked for, ns.
    pub compute_ns: i64,
    /// Cycles observed after the warm-up.
    pub cycles: u64,
    /// From the beginning of each to the beginning of the next.
    pub cycle_ns: Option<Spread>,
    /// How far those are from the period, whichever way.
    pub deviation_ns: Option<Spread>,
    /// From the moment a cycle was due to its end.
    pub response_ns: Option<Spread>,
    /// Cycles that were not over when the next was due.
    pub overruns: u64,
    /// Cycles that never began because the ones before took too long.
    pub lost: u64,
    /// Processor time of the RTI within each cycle, in its turns and without what others had of them.
    pub rti_share_ns: Option<Spread>,
    /// Attribute updates sent, over all runs, warm-up included.
    pub sent: u64,
    /// Attribute updates received.
    pub received: u64,
    /// Updates that came out of order or never.
    pub updates_lost: u64,
}

impl ModeRun {
    /// The observations of `processes` in the run `run` of the mode `mode`, whose master has the period `period`.
    /// `bare` holds the records of the bare timers of this run, by the path of their trace.
    pub fn of(
        mode: &FederationRecord,
        run: &RunRecord,
        processes: &[Process],
        period: Span,
        witness: Option<&Witness<'_>>,
        bare: &BTreeMap<String, Vec<Process>>,
    ) -> Self {
        let index = |name: &str| processes.iter().position(|process| process.name == name);
        let rti = index(&mode.rti);
        let kernel = witness.and_then(|witness| Some((witness.occupancy(), witness.tid(rti?)?)));
        let turns = Turns::of(rti.map(|rti| &processes[rti]), kernel);
        let all: Vec<Vec<Cycle>> = mode
            .federates
            .iter()
            .map(|federate| {
                index(&federate.name).map(|index| cycles(&processes[index])).unwrap_or_default()
            })
            .collect();
        let master = mode.federates.iter().position(|federate| federate.name == mode.master);
        let from = master
            .and_then(|master| all[master].first())
            .map_or(Instant::ZERO, |first| first.release + warm_up(run.warmup_cycles, period));

        let mut this =
            Self { record: run.federation.clone().unwrap_or_default(), ..Self::default() };
        let counted = |cycles: &[Cycle]| cycles.partition_point(|cycle| cycle.release < from);
        for cycles in &all {
            this.federates.push(Federate::of(&cycles[counted(cycles)..], &turns));
        }
        let scene = Scene {
            mode,
            cycles: &all,
            first: all.iter().map(|cycles| counted(cycles)).collect(),
            master,
            turns: &turns,
            processes: mode.federates.iter().map(|federate| index(&federate.name)).collect(),
            rti,
            witness,
        };
        for late in scene.late() {
            let key = (late.federate.clone(), late.because.clone());
            let [cycles, total, max] = this.blames.entry(key).or_default();
            *cycles += 1;
            *total = total.saturating_add(late.late_ns);
            *max = (*max).max(late.late_ns);
            if late.federate == mode.master && late.is_overrun {
                this.misses.push(late.miss());
            }
            this.late.push(late);
        }
        if let Some(master) = master {
            let cycles = &all[master][counted(&all[master])..];
            this.rows = cycles.windows(2).map(row).collect();
        }
        let ours = mode.bare.iter().filter(|bare| bare.run == run.number);
        for timer in ours {
            let recorded = bare.get(&timer.trace).map_or(&[][..], Vec::as_slice);
            this.bare.extend(periods(timer, recorded, period));
        }
        this
    }

    /// The master's cycles as rows of a table, and its misses in words.
    pub(crate) fn take_rows(&mut self) -> (Vec<CycleRow>, Vec<Miss>) {
        (std::mem::take(&mut self.rows), std::mem::take(&mut self.misses))
    }
}

fn warm_up(cycles: u64, period: Span) -> Span {
    period * i64::try_from(cycles).unwrap_or(i64::MAX)
}

/// The master's cycle as other programs' cycles are written down; its time is that until the next began.
fn row(two: &[Cycle]) -> CycleRow {
    let (this, next) = (&two[0], &two[1]);
    let lateness = this.end.and_then(|end| Some(end.finish - end.deadline?));
    CycleRow {
        cycle: this.number,
        release: this.release,
        latency: this.start - this.release,
        time: next.start - this.start,
        lateness,
        stamps: 0,
        skipped: this.skipped,
        complete: this.end.is_some(),
        actuated: false,
    }
}

/// From one start to the next of a bare timer, behind its warm-up, ns.
fn periods(timer: &BareRun, recorded: &[Process], period: Span) -> Vec<i64> {
    let Some(process) = recorded.iter().find(|process| process.name == timer.process) else {
        return Vec::new();
    };
    let jobs = jobs(0, process);
    let first = jobs.first().map_or(Instant::ZERO, |(job, _)| job.release);
    let from = first + warm_up(timer.warmup_cycles, period);
    let starts: Vec<Instant> =
        jobs.iter().filter(|(job, _)| job.release >= from).map(|(job, _)| job.start).collect();
    starts.windows(2).map(|two| (two[1] - two[0]).nanos()).collect()
}

impl Federate {
    fn of(cycles: &[Cycle], turns: &Turns<'_>) -> Self {
        let pairs = || cycles.windows(2).map(|two| (two[0].start, two[1].start));
        Self {
            cycle: pairs().map(|(from, to)| (to - from).nanos()).collect(),
            response: cycles.iter().filter_map(|c| Some(c.response()?.nanos())).collect(),
            share: pairs().filter_map(|(from, to)| Some(turns.share(from, to)?.nanos())).collect(),
            overruns: cycles.iter().filter(|cycle| cycle.overran()).count() as u64,
            lost: cycles.iter().map(|cycle| cycle.skipped).sum(),
        }
    }
}

impl ModeFigures {
    /// The figures of `runs` of the mode `mode`, which is the program `name`, together.
    #[must_use]
    pub fn of(name: &str, mode: &FederationRecord, runs: &[&ModeRun]) -> Self {
        let federates = mode.federates.iter().enumerate().map(|(index, record)| {
            let all = || runs.iter().filter_map(move |run| run.federates.get(index));
            let counts = || runs.iter().filter_map(move |run| run.record.federates.get(index));
            let cycle = joined(all().map(|federate| &federate.cycle));
            FederateFigures {
                name: record.name.clone(),
                rate_hz: 1e9 / record.period.nanos().max(1) as f64,
                compute_ns: record.compute.nanos(),
                cycles: cycle.len() as u64,
                cycle_ns: Spread::of(&cycle),
                deviation_ns: deviation(&cycle, record.period),
                response_ns: Spread::of(&joined(all().map(|federate| &federate.response))),
                overruns: all().map(|federate| federate.overruns).sum(),
                lost: all().map(|federate| federate.lost).sum(),
                rti_share_ns: Spread::of(&joined(all().map(|federate| &federate.share))),
                sent: counts().map(|federate| federate.sent).sum(),
                received: counts().map(|federate| federate.received).sum(),
                updates_lost: counts().map(|federate| federate.lost).sum(),
            }
        });
        let period = mode.federates.iter().find(|federate| federate.name == mode.master);
        let bare = joined(runs.iter().map(|run| &run.bare));
        let mut late: Vec<Late> = runs.iter().flat_map(|run| run.late.iter().cloned()).collect();
        late.sort_by_key(|late| std::cmp::Reverse(late.late_ns));
        late.truncate(LATE_KEPT_MAX);
        Self {
            name: name.to_owned(),
            sync: mode.sync,
            priority: mode.priority,
            affinity: mode.affinity,
            transport: mode.transport.clone(),
            master: mode.master.clone(),
            federates: federates.collect(),
            bare_timer_ns: Spread::of(&bare),
            bare_deviation_ns: period.and_then(|master| deviation(&bare, master.period)),
            trajectory: trajectory(runs),
            late,
            late_because: blames(runs),
        }
    }

    /// The figures of the federate with the timer.
    #[must_use]
    pub fn master(&self) -> Option<&FederateFigures> {
        self.federates.iter().find(|federate| federate.name == self.master)
    }
}

/// All values together, sorted.
fn joined<'v>(values: impl Iterator<Item = &'v Vec<i64>>) -> Vec<i64> {
    let mut all: Vec<i64> = values.flatten().copied().collect();
    all.sort_unstable();
    all
}

/// How far cycles are from their period, whichever way.
fn deviation(cycles: &[i64], period: Span) -> Option<Spread> {
    let mut all: Vec<i64> =
        cycles.iter().map(|cycle| cycle.saturating_sub(period.nanos()).saturating_abs()).collect();
    all.sort_unstable();
    Spread::of(&all)
}

/// The trajectories of all runs as one: the greatest deviation, the least and greatest distance.
fn trajectory(runs: &[&ModeRun]) -> Option<Trajectory> {
    runs.iter().filter_map(|run| run.record.trajectory).reduce(|a, b| Trajectory {
        states: a.states + b.states,
        deviation_m_max: a.deviation_m_max.max(b.deviation_m_max),
        distance_m: [a.distance_m[0].min(b.distance_m[0]), a.distance_m[1].max(b.distance_m[1])],
    })
}

fn blames(runs: &[&ModeRun]) -> Vec<Blame> {
    let mut all = BTreeMap::<&(String, String), [i64; 3]>::new();
    for (key, [cycles, total, max]) in runs.iter().flat_map(|run| &run.blames) {
        let sum = all.entry(key).or_default();
        *sum = [sum[0] + cycles, sum[1].saturating_add(*total), sum[2].max(*max)];
    }
    let blame =
        |((federate, because), [cycles, total_ns, max_ns]): (&(String, String), [i64; 3])| Blame {
            federate: federate.clone(),
            because: because.clone(),
            cycles: cycles as u64,
            total_ns,
            max_ns,
        };
    let mut list: Vec<Blame> = all.into_iter().map(blame).collect();
    list.sort_by_key(|blame| std::cmp::Reverse(blame.total_ns));
    list.truncate(BLAMES_KEPT_MAX);
    list
}

#[cfg(test)]
pub(crate) mod tests;
