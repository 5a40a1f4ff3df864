//! The cycle of a run whose time is nearest its median: when each process worked in it, and what it marked.

use hemiola_trace::EventKind;
use hemiola_units::Span;

use crate::cycles::jobs::{Cycle, Process};
use hemiola_stats::quantile;

/// A cycle that stands for the others of its run. All times are from its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typical {
    /// Its number.
    pub cycle: u32,
    /// When its last stamp was taken.
    pub finish: Span,
    /// Its jobs, by start.
    pub lanes: Vec<Lane>,
}

/// One job of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The process.
    pub process: String,
    /// When the job began.
    pub start: Span,
    /// When it ended, which can be after the end of the cycle.
    pub finish: Span,
    /// Its stamps in the cycle, by time.
    pub stamps: Vec<(Span, EventKind)>,
}

impl Typical {
    /// Chooses among the complete cycles; the first of those that are equally near. `None` if there is none.
    pub(crate) fn of(cycles: &[Cycle], processes: &[Process]) -> Option<Self> {
        let complete = || cycles.iter().filter(|cycle| cycle.is_complete());
        let mut times: Vec<i64> = complete().map(|cycle| cycle.time().nanos()).collect();
        times.sort_unstable();
        let median = quantile(&times, 0.5)?;
        let cycle = complete().min_by_key(|cycle| cycle.time().nanos().abs_diff(median))?;
        let from = cycle.release();
        let lanes = cycle.jobs.iter().filter_map(|job| {
            let own = cycle.stamps.iter().filter(|stamp| stamp.process == job.process);
            Some(Lane {
                process: processes[job.process].name.clone(),
                start: job.start - from,
                finish: job.end?.finish - from,
                stamps: own.map(|stamp| (stamp.at - from, stamp.kind)).collect(),
            })
        });
        let (lanes, finish) = (lanes.collect(), cycle.finish() - from);
        Some(Self { cycle: cycle.number, finish, lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::jobs::cycles;
    use crate::cycles::synthetic::{Loop, MICRO};

    #[test]
    fn the_typical_cycle_is_the_one_nearest_the_median() {
        let slower = |run: Loop, cycle: u32| run.stalled(cycle, 5, i64::from(cycle) * MICRO);
        // Times of 10, 11, 12, 13 and 14 µs.
        let processes = (0..5).fold(Loop::new(5), slower).processes();
        let typical = Typical::of(&cycles(&processes, 0), &processes).unwrap();
        let span = |micros| Span::from_nanos(micros * MICRO);
        assert_eq!((typical.cycle, typical.finish), (2, span(15)));
        let [io, controller] = &typical.lanes[..] else { panic!("{typical:?}") };
        assert_eq!((&*io.process, io.start, io.finish), ("io", span(3), span(15)));
        assert_eq!((controller.start, controller.finish), (span(7), span(12)));
        use EventKind::{Actuate, Finish, Receive, Sample, Send, Start};
        let expected =
            [(3, Start), (4, Sample), (5, Send), (13, Receive), (14, Actuate), (15, Finish)];
        assert_eq!(io.stamps, expected.map(|(at, kind)| (span(at), kind)));
    }

    #[test]
    fn incomplete_cycles_are_not_typical() {
        let mut processes = Loop::new(3).processes();
        processes[1].entries.retain(|entry| entry.cycle == 2);
        let typical = Typical::of(&cycles(&processes, 0), &processes).unwrap();
        assert_eq!(typical.cycle, 2);
        assert_eq!(Typical::of(&[], &processes), None);
    }
}
