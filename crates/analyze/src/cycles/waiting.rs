//! Since when a process of a run had waited for a processor, from the switches and wake-ups that a kernel recorded.

use std::collections::BTreeMap;

use hemiola_trace::sched::{Event, Tid, What};
use hemiola_units::Instant;

/// When each thread began to wait for a processor, and when it stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// In order of time: `true` where the thread is ready to run and has no processor from then on.
    changes: BTreeMap<Tid, Vec<(Instant, bool)>>,
}

/// What happened to a thread, in the order in which it does at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happened {
    Left { ready: bool },
    Woken,
    Ran,
}

impl Waiting {
    /// Follows these threads through the events of all processors.
    pub(crate) fn of(events: impl IntoIterator<Item = Event>, threads: &[Tid]) -> Self {
        let mut happened = BTreeMap::<Tid, Vec<(Instant, Happened)>>::new();
        let mut note = |tid: Tid, at: Instant, what: Happened| {
            if threads.contains(&tid) {
                happened.entry(tid).or_default().push((at, what));
            }
        };
        for event in events {
            match event.what {
                What::Switch { prev, left, next, .. } => {
                    note(prev, event.at, Happened::Left { ready: left.is_ready() });
                    note(next, event.at, Happened::Ran);
                }
                What::Wake { tid, .. } => note(tid, event.at, Happened::Woken),
                _ => {}
            }
        }
        let changes = happened.into_iter().map(|(tid, mut happened)| {
            happened.sort_unstable();
            (tid, changes(&happened))
        });
        Self { changes: changes.collect() }
    }

    /// Since when a thread had been ready to run without a processor at `at`; `None` if it was not.
    pub(crate) fn since(&self, tid: Tid, at: Instant) -> Option<Instant> {
        let changes = self.changes.get(&tid)?;
        let until = changes.partition_point(|(from, _)| *from <= at);
        let (from, waits) = *changes.get(until.checked_sub(1)?)?;
        waits.then_some(from)
    }
}

/// A wake-up of a thread that runs, or waits already, changes nothing.
fn changes(happened: &[(Instant, Happened)]) -> Vec<(Instant, bool)> {
    let mut changes: Vec<(Instant, bool)> = Vec::new();
    let (mut runs, mut waits) = (false, false);
    for (at, what) in happened {
        let before = waits;
        (runs, waits) = match what {
            Happened::Left { ready } => (false, *ready),
            Happened::Woken => (runs, !runs),
            Happened::Ran => (true, false),
        };
        if waits != before {
            changes.push((*at, waits));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_trace::sched::{Context, Left, PRIORITY_UNKNOWN};

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn switch(nanos: u64, prev: u32, left: Left, next: u32) -> Event {
        let (prev, next) = (Tid(prev), Tid(next));
        let what = What::Switch { prev, left, next, priority: PRIORITY_UNKNOWN };
        Event { at: at(nanos), cpu: 0, what }
    }

    fn wake(nanos: u64, tid: u32) -> Event {
        let (tid, waker) = (Tid(tid), Tid(8));
        let what = What::Wake { tid, waker, context: Context::Thread, target: 0 };
        Event { at: at(nanos), cpu: 1, what }
    }

    #[test]
    fn a_thread_waits_from_its_wake_up_or_its_preemption_until_it_runs() {
        let events = [
            wake(100, 7),
            wake(110, 7),
            switch(200, 9, Left::Preempted, 7),
            wake(210, 7),
            switch(300, 7, Left::Sleeping, 9),
            switch(400, 9, Left::Preempted, 7),
            switch(500, 7, Left::Preempted, 9),
            switch(600, 9, Left::Stopped, 7),
        ];
        let waiting = Waiting::of(events, &[Tid(7), Tid(9)]);
        let since = |tid, nanos| waiting.since(Tid(tid), at(nanos)).map(Instant::nanos);
        assert_eq!(
            [50, 100, 199, 200, 250, 350].map(|now| since(7, now)),
            [None, Some(100), Some(100), None, None, None]
        );
        assert_eq!([450, 599, 700].map(|now| since(7, now)), [None, Some(500), None]);
        assert_eq!(
            [250, 350, 450, 550, 700].map(|now| since(9, now)),
            [Some(200), None, Some(400), None, None]
        );
        assert_eq!(since(1, 450), None, "it is not followed");
    }

    #[test]
    fn a_switch_away_and_a_wake_up_at_the_same_instant_leave_it_waiting() {
        let events =
            [wake(300, 7), switch(200, 0, Left::Sleeping, 7), switch(300, 7, Left::Sleeping, 0)];
        let waiting = Waiting::of(events, &[Tid(7)]);
        assert_eq!(waiting.since(Tid(7), at(310)), Some(at(300)));
    }
}
