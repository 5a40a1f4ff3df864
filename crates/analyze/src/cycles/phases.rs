//! The phases of the steps of universes.

use std::collections::BTreeMap;

use hemiola_stats::Spread;
use hemiola_trace::EventKind;
use hemiola_trace::result::{PHASE_ENDED, PHASES, Role};
use hemiola_units::Instant;
use serde::{Deserialize, Serialize};

use crate::cycles::jobs::{Cycle, Process};

/// One phase of the steps of a universe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// The process of the universe.
    pub process: String,
    /// The name of the phase.
    pub phase: String,
    /// Its time, ns.
    pub ns: Spread,
    /// Its part of the time of all phases of the universe.
    pub share: f64,
}

/// The times of phases, ns, by process and by the place of the phase in a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases(BTreeMap<(String, usize), Vec<i64>>);

impl Phases {
    /// A phase lasts from the stamp before its mark to its mark.
    pub(crate) fn of(cycles: &[Cycle], processes: &[Process]) -> Self {
        let mut all = Self::default();
        for (index, process) in processes.iter().enumerate() {
            if process.role != Role::Universe {
                continue;
            }
            for cycle in cycles {
                let mut last: Option<Instant> = None;
                for stamp in cycle.stamps.iter().filter(|stamp| stamp.process == index) {
                    if let (Some(phase), Some(last)) = (phase(stamp.kind, stamp.arg), last) {
                        let times = all.0.entry((process.name.clone(), phase)).or_default();
                        times.push((stamp.at - last).nanos());
                    }
                    last = Some(stamp.at);
                }
            }
        }
        all
    }

    /// The phases of several runs together, in the order of a step.
    pub(crate) fn combine<'p>(runs: impl Iterator<Item = &'p Self>) -> Vec<PhaseFigures> {
        let mut all = Self::default();
        for (key, times) in runs.flat_map(|run| &run.0) {
            all.0.entry(key.clone()).or_default().extend(times);
        }
        let mut totals = BTreeMap::<&str, i64>::new();
        for ((process, _), times) in &all.0 {
            *totals.entry(process).or_default() += times.iter().sum::<i64>();
        }
        let figures = all.0.iter().filter_map(|((process, phase), times)| {
            let mut sorted = times.clone();
            sorted.sort_unstable();
            Some(PhaseFigures {
                process: process.clone(),
                phase: PHASES[*phase].to_owned(),
                ns: Spread::of(&sorted)?,
                share: times.iter().sum::<i64>() as f64 / totals[&**process].max(1) as f64,
            })
        });
        figures.collect()
    }
}

/// The phase that ends with a stamp.
fn phase(kind: EventKind, arg: u16) -> Option<usize> {
    let phase = usize::from(arg.checked_sub(PHASE_ENDED)?);
    (kind == EventKind::Mark && phase < PHASES.len()).then_some(phase)
}

#[cfg(test)]
mod tests {
    use hemiola_trace::Entry;

    use super::*;
    use crate::cycles::jobs::cycles;

    /// The step of a cycle of 1 ms: `begin` takes 1 µs, `update` 2 µs and so on; `more` is added to `update`.
    fn step(cycle: u32, more: u64) -> Vec<Entry> {
        let release = 1_000_000 * (u64::from(cycle) + 1);
        let entry = |at: u64, kind, arg, a| Entry {
            at: Instant::from_nanos(release + at),
            kind,
            arg,
            cycle,
            a,
            b: 0,
        };
        let number = u64::from(cycle) + 1;
        let ends = [1_000, 3_000 + more, 6_000 + more, 10_000 + more, 15_000 + more];
        let marks = ends.into_iter().zip(PHASE_ENDED..);
        let marks = marks.map(|(at, mark)| entry(at, EventKind::Mark, mark, number));
        let start = entry(0, EventKind::Start, 0, release);
        let finish = entry(16_000 + more, EventKind::Finish, 0, release + 1_000_000);
        std::iter::once(start).chain(marks).chain([finish]).collect()
    }

    #[test]
    fn a_phase_lasts_from_one_mark_to_the_next() {
        let process = Process {
            name: "world".into(),
            role: Role::Universe,
            in_cycle: true,
            entries: (0..10).flat_map(|cycle| step(cycle, 1_000 * u64::from(cycle / 5))).collect(),
        };
        let processes = [process];
        let run = Phases::of(&cycles(&processes, 0), &processes);
        let figures = Phases::combine([&run, &run].into_iter());
        let names: Vec<&str> = figures.iter().map(|phase| &*phase.phase).collect();
        assert_eq!(names, PHASES);
        let bounds: Vec<(i64, i64)> = figures.iter().map(|one| (one.ns.min, one.ns.max)).collect();
        let expected =
            [(1_000, 1_000), (2_000, 3_000), (3_000, 3_000), (4_000, 4_000), (5_000, 5_000)];
        assert_eq!(bounds, expected);
        let shares: f64 = figures.iter().map(|phase| phase.share).sum();
        assert!((shares - 1.0).abs() < 1e-12, "{shares}");
    }
}
