//! Where the time of a cycle goes: between two stamps, either one process works or one hands over to another.

use std::collections::BTreeMap;

use hemiola_trace::EventKind;
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{Cycle, Process, Stamp};
use hemiola_stats::quantile;

/// The time a cycle spends within one process or between two.
///
/// The means of all segments of a run add up to the mean cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The process of the earlier stamp.
    pub from: String,
    /// The process that runs next: the same one while it works, another one after a hand-over. A hand-over begins with
    /// the stamp before the sending call.
    pub to: String,
    /// How often in a cycle, mean.
    pub per_cycle: f64,
    /// Its time in a cycle, all its occurrences together, mean over all complete cycles, ns.
    pub mean_ns: f64,
    /// The median of the same over the cycles it occurred in, ns.
    pub p50_ns: i64,
}

/// The segments of many cycles, before they are condensed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    cycles: u64,
    /// By the names of the two processes: how often, and the time in each cycle that had any, ns.
    found: BTreeMap<(String, String), (u64, Vec<i64>)>,
}

impl Segments {
    /// Takes the cycles that are complete.
    pub(crate) fn of(cycles: &[Cycle], processes: &[Process]) -> Self {
        let mut all = Self::default();
        for cycle in cycles.iter().filter(|cycle| cycle.is_complete()) {
            all.cycles += 1;
            let mut times = BTreeMap::<(usize, usize), i64>::new();
            for (index, two) in cycle.stamps.windows(2).enumerate() {
                let to = match two[0].kind {
                    // The stamp stands before the call: what the sender still does is part of handing over.
                    EventKind::Send => receiver(&cycle.stamps[index..]).unwrap_or(two[1].process),
                    _ => two[1].process,
                };
                *times.entry((two[0].process, to)).or_default() += (two[1].at - two[0].at).nanos();
            }
            for ((from, to), nanos) in times {
                let key = (processes[from].name.clone(), processes[to].name.clone());
                let entry = all.found.entry(key).or_default();
                // However many stamps it takes, a process works once and hands over once to each.
                entry.0 += 1;
                entry.1.push(nanos);
            }
        }
        all
    }

    /// The segments of several runs together, the longest first.
    pub(crate) fn combine<'s>(runs: impl Iterator<Item = &'s Self>) -> Vec<Segment> {
        let mut all = Self::default();
        for run in runs {
            all.cycles += run.cycles;
            for (key, (count, nanos)) in &run.found {
                let entry = all.found.entry(key.clone()).or_default();
                entry.0 += count;
                entry.1.extend(nanos);
            }
        }
        let cycles = all.cycles.max(1) as f64;
        let mut segments: Vec<Segment> = all
            .found
            .into_iter()
            .map(|((from, to), (count, mut nanos))| {
                nanos.sort_unstable();
                Segment {
                    from,
                    to,
                    per_cycle: count as f64 / cycles,
                    mean_ns: nanos.iter().sum::<i64>() as f64 / cycles,
                    p50_ns: quantile(&nanos, 0.5).expect("a segment was found at least once"),
                }
            })
            .collect();
        segments.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns));
        segments
    }
}

/// The next process to run on after the stamp in front.
fn receiver(stamps: &[Stamp]) -> Option<usize> {
    let sender = stamps.first()?.process;
    stamps.iter().map(|stamp| stamp.process).find(|process| *process != sender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::jobs::cycles;
    use crate::cycles::synthetic::Loop;

    #[test]
    fn the_segments_of_a_cycle_add_up_to_its_time() {
        let processes = Loop::new(50).stalled(7, 5, 40_000).processes();
        let cycles = cycles(&processes, 0);
        let segments = Segments::of(&cycles, &processes);
        let sum: f64 = Segments::combine([&segments].into_iter()).iter().map(|s| s.mean_ns).sum();
        let times: f64 = cycles.iter().map(|cycle| cycle.time().nanos() as f64).sum();
        assert!((sum - times / cycles.len() as f64).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn a_hand_over_lies_between_two_processes_and_work_within_one() {
        let processes = Loop::new(10).processes();
        let segments = Segments::of(&cycles(&processes, 0), &processes);
        let segments = Segments::combine([&segments].into_iter());
        let within = |name: &str| segments.iter().any(|s| s.from == name && s.to == name);
        assert!(within("io") && within("controller"), "{segments:?}");
        let over: Vec<_> = segments.iter().filter(|s| s.from != s.to).collect();
        assert!(!over.is_empty() && over.iter().all(|s| s.per_cycle > 0.0 && s.p50_ns > 0));
    }
}
