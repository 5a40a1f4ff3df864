//! Detects missed deadlines of marked jobs during the recording, as a trigger of the flight recorder.

use std::collections::BTreeMap;

use hemiola_record::marks::Task;
use hemiola_report::text::duration;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;

/// Jobs in progress, and the first late job.
#[derive(Debug, Default)]
pub(super) struct Misses {
    /// By task: its name, the job, its deadline.
    open: BTreeMap<usize, (String, u32, Instant)>,
    found: Option<String>,
}

impl Misses {
    pub(super) fn entries(&mut self, task: &Task, entries: &[Entry]) {
        for entry in entries {
            match entry.kind {
                EventKind::Start => {
                    if let Some(span) = task.deadline.or(task.period) {
                        let due = Instant::from_nanos(entry.a) + span;
                        self.open.insert(task.number, (task.name.clone(), entry.cycle, due));
                    }
                }
                EventKind::Finish => {
                    self.open.remove(&task.number);
                    let late = entry.at - Instant::from_nanos(entry.a);
                    if self.found.is_none() && late.nanos() > 0 {
                        let late = duration(late.nanos() as f64);
                        let (name, job) = (&task.name, entry.cycle);
                        self.found = Some(format!("job {job} of {name} ended {late} late"));
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes the first job that ended late, or one in progress at `now` past its deadline.
    pub(super) fn take(&mut self, now: Instant) -> Option<String> {
        let overdue = || {
            let (name, job, _) = self.open.values().find(|(_, _, due)| *due < now)?;
            Some(format!("job {job} of {name} has not ended by its deadline"))
        };
        let found = self.found.clone().or_else(overdue);
        self.found = None;
        found
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Span;

    use super::*;

    #[test]
    fn a_job_that_ends_late_or_not_at_all_is_reported() {
        let task = Task {
            number: 0,
            pid: 1,
            tid: 1,
            name: "control".into(),
            period: Some(Span::from_micros(1)),
            deadline: None,
            marks: vec![],
        };
        let at = Instant::from_nanos;
        let entry = |kind, nanos, cycle, a| Entry { at: at(nanos), kind, arg: 0, cycle, a, b: 0 };
        let mut misses = Misses::default();
        misses.entries(
            &task,
            &[entry(EventKind::Start, 10, 0, 5), entry(EventKind::Finish, 900, 0, 1005)],
        );
        assert_eq!(misses.take(at(5000)), None);
        misses.entries(&task, &[entry(EventKind::Start, 2000, 1, 1900)]);
        assert_eq!(misses.take(at(2800)), None);
        assert_eq!(
            misses.take(at(3000)).as_deref(),
            Some("job 1 of control has not ended by its deadline")
        );
        misses.entries(&task, &[entry(EventKind::Finish, 4000, 1, 2900)]);
        assert_eq!(misses.take(at(4000)).as_deref(), Some("job 1 of control ended 1.10 µs late"));
        assert_eq!(misses.take(at(9000)), None);
        // A job without a deadline is never late.
        misses.entries(&task, &[entry(EventKind::Finish, 5000, 2, u64::MAX)]);
        assert_eq!(misses.take(at(9000)), None);
    }
}
