//! Detects missed deadlines of marked jobs during the recording, as a trigger of the flight recorder.

use std::collections::BTreeMap;

use hemiola_record::marks::Task;
use hemiola_report::text::duration;
use hemiola_trace::sched::{Event, Left, Tid, What};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;

/// Jobs in progress, and the first late job.
#[derive(Debug, Default)]
pub(super) struct Misses {
    /// By task.
    open: BTreeMap<usize, Job>,
    found: Option<String>,
}

/// A job in progress that was recorded from its beginning.
#[derive(Debug)]
struct Job {
    task: String,
    number: u32,
    tid: Tid,
    began: Instant,
    due: Instant,
}

impl Misses {
    /// Takes all marks of a task, also those during a pause, of which `is_recorded` tells which are recorded. A job
    /// counts if its beginning or its end is recorded.
    pub(super) fn entries(
        &mut self,
        task: &Task,
        entries: &[Entry],
        is_recorded: impl Fn(Instant) -> bool,
    ) {
        for entry in entries {
            match entry.kind {
                EventKind::Start => {
                    self.open.remove(&task.number);
                    let span = task.deadline.or(task.period);
                    if let Some(span) = span.filter(|_| is_recorded(entry.at)) {
                        let job = Job {
                            task: task.name.clone(),
                            number: entry.cycle,
                            tid: Tid(task.tid),
                            began: entry.at,
                            due: Instant::from_nanos(entry.a) + span,
                        };
                        self.open.insert(task.number, job);
                    }
                }
                EventKind::Finish => {
                    let began = self.open.remove(&task.number).is_some();
                    let late = entry.at - Instant::from_nanos(entry.a);
                    if late.nanos() > 0 && (began || is_recorded(entry.at)) {
                        let late = duration(late.nanos() as f64);
                        let (name, job) = (&task.name, entry.cycle);
                        self.find(format!("job {job} of {name} ended {late} late"));
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes the end of a thread. A job that it leaves open is missed if its deadline came first, as in the analysis.
    pub(super) fn ended(&mut self, tid: Tid, at: Instant) {
        let ends = |job: &Job| job.tid == tid && job.began <= at;
        let left: Vec<Job> =
            self.open.extract_if(.., |_, job| ends(job)).map(|(_, job)| job).collect();
        for job in left.iter().filter(|job| job.due < at) {
            self.find(job.overdue());
        }
    }

    fn find(&mut self, what: String) {
        self.found.get_or_insert(what);
    }

    /// Takes the first job that ended late, or one in progress at `now` past its deadline.
    pub(super) fn take(&mut self, now: Instant) -> Option<String> {
        let overdue = || self.open.values().find(|job| job.due < now).map(Job::overdue);
        self.found.take().or_else(overdue)
    }
}

impl Job {
    fn overdue(&self) -> String {
        format!("job {} of {} has not ended by its deadline", self.number, self.task)
    }
}

/// The threads that end in these events, and when.
pub(super) fn ends(events: &[Event]) -> impl Iterator<Item = (Tid, Instant)> {
    events.iter().filter_map(|event| match event.what {
        What::Switch { prev, left: Left::Dead, .. } => Some((prev, event.at)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use hemiola_trace::sched::PRIORITY_UNKNOWN;
    use hemiola_units::Span;

    use super::*;

    /// A task of thread 7 with a deadline of 1 µs.
    fn task() -> Task {
        Task {
            number: 0,
            pid: 1,
            tid: 7,
            name: "control".into(),
            period: Some(Span::from_micros(1)),
            deadline: None,
            marks: vec![],
        }
    }

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn entry(kind: EventKind, nanos: u64, cycle: u32, a: u64) -> Entry {
        Entry { at: at(nanos), kind, arg: 0, cycle, a, b: 0 }
    }

    #[test]
    fn a_job_that_ends_late_or_not_at_all_is_reported() {
        let task = task();
        let mut misses = Misses::default();
        let mut marked = |entries: &[Entry], now| {
            misses.entries(&task, entries, |_| true);
            misses.take(at(now))
        };
        let whole = [entry(EventKind::Start, 10, 0, 5), entry(EventKind::Finish, 900, 0, 1005)];
        assert_eq!(marked(&whole, 5000), None);
        assert_eq!(marked(&[entry(EventKind::Start, 2000, 1, 1900)], 2800), None);
        assert_eq!(
            marked(&[], 3000).as_deref(),
            Some("job 1 of control has not ended by its deadline")
        );
        let late = marked(&[entry(EventKind::Finish, 4000, 1, 2900)], 4000);
        assert_eq!(late.as_deref(), Some("job 1 of control ended 1.10 µs late"));
        assert_eq!(marked(&[], 9000), None);
        // A job without a deadline is never late.
        assert_eq!(marked(&[entry(EventKind::Finish, 5000, 2, u64::MAX)], 9000), None);
    }

    #[test]
    fn a_job_that_ends_in_time_during_a_pause_is_not_reported_and_a_late_one_is() {
        let task = task();
        let paused_from = |from| move |moment: Instant| moment < at(from);
        for (end, late) in [(900, None), (1200, Some("job 0 of control ended 200 ns late"))] {
            let mut misses = Misses::default();
            misses.entries(&task, &[entry(EventKind::Start, 10, 0, 0)], paused_from(500));
            assert_eq!(misses.take(at(600)), None);
            misses.entries(&task, &[entry(EventKind::Finish, end, 0, 1000)], paused_from(500));
            assert_eq!(misses.take(at(9000)).as_deref(), late);
        }
        // Nothing of this one is recorded.
        let mut misses = Misses::default();
        let both = [entry(EventKind::Start, 10, 0, 0), entry(EventKind::Finish, 2000, 0, 1000)];
        misses.entries(&task, &both[..1], paused_from(0));
        assert_eq!(misses.take(at(1500)), None);
        misses.entries(&task, &both[1..], paused_from(0));
        assert_eq!(misses.take(at(9000)), None);
    }

    #[test]
    fn a_job_whose_thread_ends_first_is_not_reported() {
        let task = task();
        for (end, found) in [(500, false), (1500, true)] {
            let mut misses = Misses::default();
            misses.entries(&task, &[entry(EventKind::Start, 10, 0, 0)], |_| true);
            // Another thread, and one that had the same number before.
            misses.ended(Tid(8), at(200));
            misses.ended(Tid(7), at(5));
            misses.ended(Tid(7), at(end));
            assert_eq!(misses.take(at(9000)).is_some(), found);
            assert_eq!(misses.take(at(9000)), None);
        }
    }

    #[test]
    fn the_ends_of_threads_are_their_last_switches() {
        let switch = |prev, left| What::Switch {
            prev: Tid(prev),
            left,
            next: Tid(0),
            priority: PRIORITY_UNKNOWN,
        };
        let event = |nanos, what| Event { at: at(nanos), cpu: 0, what };
        let events = [event(1, switch(7, Left::Sleeping)), event(2, switch(8, Left::Dead))];
        assert_eq!(ends(&events).collect::<Vec<_>>(), [(Tid(8), at(2))]);
    }
}
