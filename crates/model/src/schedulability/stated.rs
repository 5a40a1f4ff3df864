//! What counts of a recording for those who state requirements on some of its threads only.

use hemiola_analyze::sched::Report;

use super::measured::Measured;
use super::{Answer, LeftOutReason, SchedulabilityVerdict, TaskVerdict};

/// The deadlines missed in a recording, without those of threads that are not in `tids`. The marks of programs state
/// deadlines too, so those of their tasks always count.
#[must_use]
pub fn missed_of(report: &Report, tids: &[u32]) -> u64 {
    let others = report.threads.iter().filter(|thread| !tids.contains(&thread.tid));
    report.missed_deadlines.saturating_sub(others.map(|thread| thread.missed).sum())
}

impl SchedulabilityVerdict {
    /// The verdicts in words that some deadline of these threads is not kept. A processor on which only other tasks
    /// miss theirs is not among them.
    #[must_use]
    pub fn not_kept_by(&self, tids: &[u32]) -> Vec<&str> {
        let is_stated = |measured: &Measured| tids.contains(&measured.tid);
        let is_always_late = |cpu: u16| {
            self.left_out.iter().any(|left| {
                left.why == LeftOutReason::NeverSleeps
                    && tids.contains(&left.tid)
                    && (left.cpus.is_empty() || left.cpus.contains(&cpu))
            })
        };
        let processors = self.processors.iter().filter(|of| of.answer == Answer::No);
        let processors = processors.filter(|of| {
            let tasks = of.tasks.iter().map(|task| (is_stated(&task.measured), is_missed(task)));
            concerns(tasks) || is_always_late(of.cpu)
        });
        let reservations = self.reservations.iter().filter(|of| of.answer == Answer::No);
        let reservations = reservations.filter(|of| {
            let is_missed = |answer| answer == Answer::No;
            let tasks = of.tasks.iter();
            concerns(tasks.map(|task| (is_stated(&task.measured), is_missed(task.answer))))
        });
        let processors = processors.map(|of| of.verdict.as_str());
        processors.chain(reservations.map(|of| of.verdict.as_str())).collect()
    }
}

/// Whether a *no* for some tasks is one for those of them that are stated: a deadline of theirs is missed, or none of
/// the tasks by itself, so that the *no* is for all. Each task is stated or not, and misses a deadline or not.
fn concerns(tasks: impl Iterator<Item = (bool, bool)> + Clone) -> bool {
    let is_for_all = !tasks.clone().any(|(_, is_missed)| is_missed);
    tasks.into_iter().any(|(is_stated, is_missed)| is_stated && (is_missed || is_for_all))
}

/// Whether a deadline of a task is missed in the worst case.
fn is_missed(task: &TaskVerdict) -> bool {
    task.bound_ns.is_none_or(|bound| bound > task.measured.deadline_ns)
}

#[cfg(test)]
mod tests {
    use hemiola_analyze::sched::{Reservation, ThreadReport};

    use super::*;
    use crate::schedulability::{LeftOut, ProcessorVerdict, ReservationsVerdict, ReservedTask};

    fn processor(cpu: u16, tasks: &[(u32, Option<u64>)]) -> ProcessorVerdict {
        let task = |(tid, bound_ns): &(u32, Option<u64>)| TaskVerdict {
            measured: Measured { tid: *tid, deadline_ns: 10, ..Measured::default() },
            utilization: 0.0,
            bound_ns: *bound_ns,
            bound_with_jitter_ns: *bound_ns,
            execution_tolerated_ns: None,
        };
        ProcessorVerdict {
            cpu,
            as_it_ran: true,
            answer: Answer::No,
            doubts: Vec::new(),
            utilization: 0.0,
            verdict: format!("processor {cpu}"),
            tasks: tasks.iter().map(task).collect(),
            tests: Vec::new(),
        }
    }

    #[test]
    fn only_verdicts_on_stated_threads_count() {
        let mut found = SchedulabilityVerdict {
            processors: vec![
                processor(0, &[(1, Some(10)), (2, Some(11))]),
                processor(1, &[(3, None), (4, Some(5))]),
            ],
            ..SchedulabilityVerdict::default()
        };
        let nothing: [&str; 0] = [];
        assert_eq!(found.not_kept_by(&[1, 4]), nothing);
        assert_eq!(found.not_kept_by(&[1, 2]), ["processor 0"]);
        assert_eq!(found.not_kept_by(&[3]), ["processor 1"]);
        // The figures of all tasks are fine, but a thread is always late: nobody knows whom it delays.
        found.processors.push(processor(2, &[(5, Some(3))]));
        found.processors.push(processor(3, &[]));
        found.left_out.push(LeftOut {
            name: "busy".into(),
            tid: 6,
            cpus: vec![3],
            utilization: 1.0,
            why: LeftOutReason::NeverSleeps,
        });
        assert_eq!(found.not_kept_by(&[5]), ["processor 2"]);
        assert_eq!(found.not_kept_by(&[6]), ["processor 3"]);
        found.processors.iter_mut().for_each(|of| of.answer = Answer::Open);
        assert_eq!(found.not_kept_by(&[1, 2, 3, 4, 5, 6]), nothing);
    }

    #[test]
    fn only_reservations_of_stated_threads_count() {
        let task = |tid, answer| ReservedTask {
            measured: Measured { tid, ..Measured::default() },
            reservation: Reservation { runtime_ns: 1, deadline_ns: 2, period_ns: 2 },
            throttles: 0,
            has_period: true,
            bound_ns: None,
            answer,
            lag_ns: 0,
            cpus: Vec::new(),
        };
        let of = |answers: [Answer; 2]| SchedulabilityVerdict {
            reservations: vec![ReservationsVerdict {
                cpus: vec![0],
                answer: Answer::No,
                doubts: Vec::new(),
                utilization: 0.0,
                verdict: "reserved".into(),
                tasks: vec![task(1, answers[0]), task(2, answers[1])],
                tests: Vec::new(),
            }],
            ..SchedulabilityVerdict::default()
        };
        let one = of([Answer::Yes, Answer::No]);
        assert!(one.not_kept_by(&[1]).is_empty() && one.not_kept_by(&[2]) == ["reserved"]);
        // More work is due than the processor can do: whose is late, nobody knows.
        assert_eq!(of([Answer::Yes, Answer::Open]).not_kept_by(&[1]), ["reserved"]);
    }

    #[test]
    fn misses_of_other_reservations_do_not_count() {
        let thread = |tid, missed| ThreadReport { tid, missed, ..ThreadReport::default() };
        // Two more are of marked tasks.
        let threads = vec![thread(1, 3), thread(2, 4)];
        let report = Report { threads, missed_deadlines: 9, ..Report::default() };
        assert_eq!([&[1][..], &[2], &[1, 2]].map(|tids| missed_of(&report, tids)), [5, 6, 9]);
    }
}
