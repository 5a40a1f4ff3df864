//! Makes jobs from the entries of a run, and cycles from jobs.

use std::collections::BTreeMap;

use hemiola_trace::result::Role;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

/// One process of a run with everything it recorded, in the order it recorded it.
#[derive(Clone, Debug)]
pub struct Process {
    /// As in the trace and in `run.json`.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Whether its jobs are part of the cycle whose cost is measured.
    pub in_cycle: bool,
    /// The entries it recorded.
    pub entries: Vec<Entry>,
}

/// One activation of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index of its process.
    pub process: usize,
    /// The cycle it worked on.
    pub cycle: u32,
    /// The nominal instant it could first have run.
    pub release: Instant,
    /// When it began.
    pub start: Instant,
    /// Processor time that its process spent on warming up for it.
    pub warm_up: Span,
    /// Releases dropped just before it, because its process was late.
    pub skipped: u64,
    /// How it ended; `None` if the record stops before.
    pub end: Option<End>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// When.
    pub finish: Instant,
    /// When it should have, if it had a deadline.
    pub deadline: Option<Instant>,
    /// Processor time its thread spent in it.
    pub execution: Span,
}

impl Job {
    /// Start − release.
    #[must_use]
    pub fn release_latency(&self) -> Span {
        self.start - self.release
    }
}

/// A point in a cycle: one entry of a job, with the index of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When.
    pub at: Instant,
    /// Index of its process.
    pub process: usize,
    /// The kind of its entry.
    pub kind: EventKind,
    /// The entry's small number. It distinguishes stamps of one kind only for channels.
    pub arg: u16,
}

/// One turn of the control loop: what all processes of the loop did under one cycle number.
///
/// Its time is the last stamp minus the first within the processes in the cycle (the report's "last time minus first
/// time", section 6.1), so waiting for each other counts and slack does not. Work that a decision module or a unit does
/// after the voltage is out and I/O has finished is not part of it, because no process waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Its number; gaps are skipped releases.
    pub number: u32,
    /// The jobs of the processes in the cycle, by start.
    pub jobs: Vec<Job>,
    /// All stamps of those jobs, by time.
    pub stamps: Vec<Stamp>,
    /// Processes that should have had a finished job here and did not.
    pub missing: Vec<usize>,
}

impl Cycle {
    /// The earliest release among its jobs.
    #[must_use]
    pub fn release(&self) -> Instant {
        self.jobs.iter().map(|job| job.release).min().unwrap_or_default()
    }

    /// When its first job began.
    #[must_use]
    pub fn start(&self) -> Instant {
        self.stamps.first().map_or(Instant::ZERO, |stamp| stamp.at)
    }

    /// Its last stamp.
    #[must_use]
    pub fn finish(&self) -> Instant {
        self.stamps.last().map_or(Instant::ZERO, |stamp| stamp.at)
    }

    /// Last stamp minus first.
    #[must_use]
    pub fn time(&self) -> Span {
        self.finish() - self.start()
    }

    /// When the last of the processes that the loop waits for finished.
    fn completion(&self, processes: &[Process]) -> Option<Instant> {
        let awaited =
            |job: &&Job| !matches!(processes[job.process].role, Role::Decision | Role::Unit);
        self.jobs.iter().filter(awaited).filter_map(|job| Some(job.end?.finish)).max()
    }

    /// Whether every process that should have finished a job here did.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// Releases dropped just before it, by the process that dropped most.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.jobs.iter().map(|job| job.skipped).max().unwrap_or(0)
    }

    /// The greatest finish − deadline among its jobs; positive is late.
    #[must_use]
    pub fn lateness(&self) -> Option<Span> {
        let late = |end: End| end.deadline.map(|deadline| end.finish - deadline);
        self.jobs.iter().filter_map(|job| job.end.and_then(late)).max()
    }

    /// Whether a voltage was written in it.
    #[must_use]
    pub fn is_actuated(&self) -> bool {
        self.stamps.iter().any(|stamp| stamp.kind == EventKind::Actuate)
    }
}

/// One cycle as a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleRow {
    /// Its number.
    pub cycle: u32,
    /// Its nominal release.
    pub release: Instant,
    /// Start − release.
    pub latency: Span,
    /// Last stamp minus first.
    pub time: Span,
    /// The greatest finish − deadline of its jobs.
    pub lateness: Option<Span>,
    /// Stamps taken in it.
    pub stamps: u32,
    /// Releases dropped just before it.
    pub skipped: u64,
    /// Whether every process finished a job in it; the time of an incomplete cycle is no observation.
    pub complete: bool,
    /// Whether a voltage was written in it.
    pub actuated: bool,
}

/// Whether an entry of this kind is a stamp of a cycle: something the program did, at that moment.
const fn is_stamp(kind: EventKind) -> bool {
    !matches!(kind, EventKind::PlantState | EventKind::Fall | EventKind::Pair | EventKind::Lost)
}

/// The jobs of `process`, the `index`th of its run, in the order they began, each with its stamps.
///
/// A job consists of the entries from a start to the finish of the same cycle. A start without a finish
/// is a job that never ended. Entries outside a job are ignored.
#[must_use]
pub fn jobs(index: usize, process: &Process) -> Vec<(Job, Vec<Stamp>)> {
    let mut found: Vec<(Job, Vec<Stamp>)> = Vec::new();
    let mut is_open = false;
    for entry in process.entries.iter().filter(|entry| is_stamp(entry.kind)) {
        let stamp = Stamp { at: entry.at, process: index, kind: entry.kind, arg: entry.arg };
        if entry.kind == EventKind::Start {
            let job = Job {
                process: index,
                cycle: entry.cycle,
                release: Instant::from_nanos(entry.a),
                start: entry.at,
                warm_up: Span::from_nanos(entry.b.try_into().unwrap_or(i64::MAX)),
                skipped: entry.arg.into(),
                end: None,
            };
            found.push((job, vec![stamp]));
            is_open = true;
            continue;
        }
        let Some((job, stamps)) = found.last_mut().filter(|_| is_open) else { continue };
        stamps.push(stamp);
        if entry.kind == EventKind::Finish && entry.cycle == job.cycle {
            job.end = Some(End {
                finish: entry.at,
                deadline: (entry.a != 0 && entry.a != u64::MAX)
                    .then(|| Instant::from_nanos(entry.a)),
                execution: Span::from_nanos(entry.b.try_into().unwrap_or(i64::MAX)),
            });
            is_open = false;
        }
    }
    found
}

/// The cycles of one run in rising number, without the first `warmup` ones.
///
/// A process is expected in every cycle, a replacement unit from its first job to its last only, since units come and
/// go. The very last cycle is left out when it is incomplete: the run was stopped in it.
#[must_use]
pub fn cycles(processes: &[Process], warmup: u64) -> Vec<Cycle> {
    let mut by_number = BTreeMap::<u32, Cycle>::new();
    let mut ranges = vec![None::<(u32, u32)>; processes.len()];
    for (index, process) in processes.iter().enumerate().filter(|(_, p)| p.in_cycle) {
        for (job, stamps) in jobs(index, process) {
            let cycle = by_number.entry(job.cycle).or_insert_with(|| Cycle {
                number: job.cycle,
                jobs: Vec::new(),
                stamps: Vec::new(),
                missing: Vec::new(),
            });
            cycle.jobs.push(job);
            cycle.stamps.extend(stamps);
            let (first, last) = ranges[index].get_or_insert((job.cycle, job.cycle));
            (*first, *last) = ((*first).min(job.cycle), (*last).max(job.cycle));
        }
    }
    let expected = |index: usize, number: u32| {
        processes[index].in_cycle
            && (processes[index].role != Role::Unit
                || ranges[index].is_some_and(|(first, last)| (first..=last).contains(&number)))
    };
    for cycle in by_number.values_mut() {
        cycle.jobs.sort_by_key(|job| job.start);
        cycle.stamps.sort_by_key(|stamp| stamp.at);
        if let Some(end) = cycle.completion(processes) {
            cycle.stamps.retain(|stamp| stamp.at <= end);
        }
        cycle.missing = (0..processes.len())
            .filter(|index| expected(*index, cycle.number))
            .filter(|index| {
                !cycle.jobs.iter().any(|job| job.process == *index && job.end.is_some())
            })
            .collect();
    }
    let mut cycles: Vec<Cycle> = by_number.into_values().collect();
    cycles.pop_if(|last| !last.is_complete());
    // Warm-up is counted in releases from the first one recorded, so a skip in it shortens nothing.
    let Some(first) = cycles.first().map(|cycle| u64::from(cycle.number)) else { return cycles };
    cycles.retain(|cycle| u64::from(cycle.number) >= first + warmup);
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::{Loop, MICRO, PERIOD};
    use proptest::prelude::*;

    #[test]
    fn a_cycle_lasts_from_its_first_stamp_to_its_last_over_all_its_processes() {
        let cycles = cycles(&Loop::new(10).processes(), 0);
        assert_eq!(cycles.len(), 10);
        for cycle in &cycles {
            assert_eq!(cycle.time().nanos(), 10 * MICRO);
            assert_eq!(cycle.jobs.len(), 2);
            assert_eq!(cycle.jobs[0].release_latency().nanos(), 3 * MICRO);
            assert!(cycle.is_complete() && cycle.is_actuated());
            assert_eq!(cycle.lateness().unwrap().nanos(), 13 * MICRO - PERIOD);
        }
    }

    #[test]
    fn warm_up_is_left_out() {
        let cycles = cycles(&Loop::new(10).processes(), 4);
        assert_eq!(cycles.iter().map(|cycle| cycle.number).collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn an_incomplete_last_cycle_is_not_a_miss() {
        let mut processes = Loop::new(10).processes();
        // The controller's last job never ended.
        processes[1].entries.pop();
        let cycles = cycles(&processes, 0);
        assert_eq!(cycles.len(), 9);
        assert!(cycles.iter().all(Cycle::is_complete));
    }

    #[test]
    fn a_cycle_without_one_of_its_processes_is_incomplete() {
        let mut processes = Loop::new(10).processes();
        processes[1].entries.retain(|entry| entry.cycle != 5);
        let cycles = cycles(&processes, 0);
        assert_eq!(cycles[5].missing, [1]);
        assert_eq!(cycles.iter().filter(|cycle| !cycle.is_complete()).count(), 1);
    }

    #[test]
    fn a_unit_is_expected_only_between_its_first_job_and_its_last() {
        let mut processes = Loop::new(10).processes();
        processes[1].role = Role::Unit;
        processes[1].entries.retain(|entry| (3..8).contains(&entry.cycle) && entry.cycle != 6);
        let incomplete: Vec<u32> = cycles(&processes, 0)
            .iter()
            .filter(|cycle| !cycle.is_complete())
            .map(|cycle| cycle.number)
            .collect();
        assert_eq!(incomplete, [6]);
    }

    proptest! {
        #[test]
        fn the_order_of_processes_does_not_matter(length in 1u32..30, warmup in 0u64..5) {
            let processes = Loop::new(length).processes();
            let mut turned = processes.clone();
            turned.reverse();
            let times = |p: &[Process]| cycles(p, warmup).iter().map(Cycle::time).collect::<Vec<_>>();
            prop_assert_eq!(times(&processes), times(&turned));
        }

        #[test]
        fn arbitrary_entries_do_not_panic(words in prop::collection::vec(any::<[u64; 4]>(), 0..60)) {
            let small = |[at, word, a, b]: [u64; 4]| [at, word & 0x0000_0007_0003_000f, a, b];
            let entries = words.into_iter().filter_map(|w| Entry::from_words(small(w))).collect();
            let process = Process { name: "x".into(), role: Role::Io, in_cycle: true, entries };
            for cycle in cycles(&[process], 1) {
                prop_assert!(!cycle.stamps.is_empty());
                let _ = (cycle.time(), cycle.lateness(), cycle.skipped());
            }
        }
    }
}
