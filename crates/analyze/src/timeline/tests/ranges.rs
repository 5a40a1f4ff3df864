//! The figures of a stretch of time, and the jobs that lie in it.

use super::*;

/// A mark of a job of thread 7.
fn mark(at: u64, kind: EventKind, a: u64) -> Entry {
    Entry { at: Instant::from_nanos(at), kind, arg: 0, cycle: 0, a, b: 0 }
}

#[test]
fn the_marked_jobs_of_a_range_are_those_of_the_figures() {
    use EventKind::{Finish, Lost, Start};
    // The first was open before the thread was seen, the third waits for the second, and the end of the fifth is lost.
    let entries = vec![
        mark(90, Start, 90),
        mark(150, Finish, 0),
        mark(150, Start, 140),
        mark(250, Finish, 0),
        mark(250, Start, 200),
        mark(300, Finish, 0),
        mark(300, Start, 300),
        mark(320, Lost, 2),
        mark(340, Finish, 0),
    ];
    let events = vec![switch(100, 0, 0, Left::Unknown, 7), switch(400, 0, 7, Left::Sleeping, 0)];
    let marks = Marks { pid: 7, tid: 7, name: "io".into(), entries, ..Marks::default() };
    let recording = Recording::new(events, Vec::new(), vec![marks]);
    let (timeline, report) = Timeline::with_report(&recording, &Options::default());
    let seven = row(&timeline, 7);
    let found = range::jobs(&timeline, seven, &jobs::of(&timeline.rows[seven]), 0, u64::MAX);
    let execution = report.tasks[0].execution_ns.as_ref().unwrap();
    assert_eq!((report.tasks[0].jobs, execution.mean, execution.max), (2, 75.0, 100));
    assert_eq!((found.count, found.execution_ns, found.execution_max_ns), (2, 150, 100));
}

#[test]
fn the_time_of_interrupts_is_not_that_of_the_thread() {
    let interrupt = Interrupt::Hard(9);
    let recording = Recording::new(
        vec![
            wake(90, 7, 0),
            switch(100, 0, 0, Left::Unknown, 7),
            event(150, 0, What::InterruptEntry(interrupt)),
            event(170, 0, What::InterruptExit(interrupt)),
            switch(200, 0, 7, Left::Preempted, 8),
            event(210, 0, What::InterruptEntry(interrupt)),
            event(215, 0, What::InterruptExit(interrupt)),
            switch(230, 0, 8, Left::Sleeping, 7),
            switch(300, 0, 7, Left::Sleeping, 0),
            event(350, 0, What::InterruptEntry(interrupt)),
            event(360, 0, What::InterruptExit(interrupt)),
        ],
        Vec::new(),
        Vec::new(),
    );
    let (timeline, report) = Timeline::with_report(&recording, &Options::default());
    let in_range = |tid, from, to| {
        let wanted = row(&timeline, tid);
        let threads = range::threads(&timeline, from, to).into_iter();
        let mut of = threads.filter(|of| of.row == wanted);
        of.next().map(|of| of.totals.of(State::Running))
    };
    let running = |tid| report.threads.iter().find(|of| of.tid == tid).map(|of| of.running_ns);
    assert_eq!([7, 8].map(running), [Some(150), Some(25)]);
    assert_eq!([7, 8].map(|tid| in_range(tid, 0, u64::MAX)), [Some(150), Some(25)]);
    assert_eq!([in_range(7, 160, 240), in_range(8, 160, 212)], [Some(40), Some(10)]);
    let seven = row(&timeline, 7);
    let list = jobs::of(&timeline.rows[seven]);
    let found = range::jobs(&timeline, seven, &list, 0, u64::MAX);
    assert_eq!((found.count, found.execution_ns), (1, 150));
    let account = jobs::account(&timeline, seven, &list.get(0).unwrap(), 0);
    assert_eq!((account.running, account.interrupted, account.waiting), (150, 20, 40));
    assert_eq!(account.job.unwrap().execution_ns, 150);
}

#[test]
fn a_long_job_is_listed_wherever_it_is_open() {
    let job = |release, finish| {
        let (deadline, cycle, track) = (Some(release + 50), None, None);
        jobs::Job { release, start: release, finish, deadline, cycle, track, whole: true }
    };
    // One job around all others.
    let short = (0..1000).map(|number| job(100 * number + 10, 100 * number + 20));
    let list: List = [job(0, 100_000)].into_iter().chain(short).collect();
    let numbers = |found: Vec<(usize, Job)>| found.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(numbers(list.foremost(90_000, 90_200, 9)), [0, 901, 902]);
    assert_eq!(numbers(list.foremost(90_000, 100_001, 4)), [0, 901, 902, 903]);
}

const US: u64 = 1_000;

/// What thread 7 does, which timers wake, alone on a processor.
#[derive(Default)]
struct Life {
    events: Vec<Event>,
    names: Vec<Thread>,
}

impl Life {
    fn named(&mut self, at_us: u64, name: &str, new: bool) {
        let since = Instant::from_nanos(at_us * US);
        self.names.push(Thread { tid: Tid(7), since, pid: 7, name: name.into(), new });
    }

    fn begins(&mut self, at_us: u64) {
        let (tid, waker, context) = (Tid(7), Tid(0), Context::Interrupt);
        let what = What::Wake { tid, waker, context, target: 0 };
        self.events.push(event(at_us * US, 0, what));
        self.events.push(switch((at_us + 5) * US, 0, 0, Left::Preempted, 7));
    }

    fn asks(&mut self, at_us: u64, until_us: u64) {
        let until = Instant::from_nanos(until_us * US);
        self.events.push(event(at_us * US, 0, What::SleepUntil(until.into())));
    }

    fn sleeps(&mut self, at_us: u64) {
        self.events.push(switch(at_us * US, 0, 7, Left::Sleeping, 0));
    }

    fn recording(self) -> Recording {
        Recording::new(self.events, self.names, Vec::new())
    }

    /// The page has the jobs and the blame of the figures. Returns how many jobs there are.
    fn check(self) -> u64 {
        let (recording, options) = (self.recording(), Options::default());
        counts_as_in_the_figures(&recording, &options);
        let [figures, page] = both(&recording, &options);
        assert_eq!(figures, page);
        let report = crate::sched::analyze(&recording, &options);
        report.threads.iter().find(|of| of.tid == 7).map_or(0, |of| of.invocations)
    }
}

#[test]
fn a_start_up_is_no_job_if_a_period_is_found_later() {
    let mut life = Life::default();
    life.named(1_000, "main", true);
    life.begins(1_000);
    life.named(2_000, "control", false);
    life.sleeps(4_000);
    for n in 1..=30 {
        life.begins(10_000 * n);
        life.sleeps(10_000 * n + 500);
    }
    assert_eq!(life.check(), 30);
}

#[test]
fn of_several_start_ups_without_a_period_the_longest_is_a_job() {
    let mut life = Life::default();
    life.named(1_000, "sh", true);
    life.begins(1_000);
    life.sleeps(1_300);
    life.begins(2_000);
    life.named(2_100, "program", false);
    life.sleeps(4_000);
    life.begins(9_000);
    life.sleeps(9_500);
    assert_eq!(life.check(), 2);
}

#[test]
fn a_job_ends_where_its_thread_went_on_to_something_else() {
    let mut life = Life::default();
    for n in 1..=20 {
        life.begins(10_000 * n);
        life.asks(10_000 * n + 1_000, 10_000 * (n + 1));
        life.sleeps(10_000 * n + 1_000);
    }
    // It does not ask again in time.
    for at in [210_000, 214_000, 217_000] {
        life.begins(at);
        life.sleeps(at + 2_000);
    }
    life.begins(900_000);
    life.asks(901_000, 910_000);
    life.sleeps(901_000);
    life.begins(910_000);
    life.sleeps(911_000);
    assert!(life.check() > 20);
}

#[test]
fn whatever_a_thread_asks_for_the_page_counts_as_the_figures_do() {
    for seed in 0..1000 {
        let mut random = Random::from_seed(seed);
        let mut life = Life::default();
        let mut at = 1_000;
        life.named(at, "first", true);
        let asks_often = 1 + random.below(6);
        for n in 0..10 + random.below(80) {
            life.begins(at);
            if random.below(20) == 0 {
                life.named(at + 50, &format!("name {n}"), false);
            }
            let mut finish = at + 100 + random.below(2_000);
            let mut next = at.next_multiple_of(10_000) + 10_000;
            if random.below(asks_often) == 0 {
                let until = match random.below(8) {
                    0 => finish.saturating_sub(random.below(20_000)),
                    1 => finish + random.below(20_000),
                    _ => next,
                };
                life.asks(finish, until);
                next = until.max(finish + 10);
            } else if random.below(4) == 0 {
                next = finish + 10 + random.below(9_000);
            }
            if random.below(12) == 0 {
                finish += random.below(30_000);
            }
            life.sleeps(finish);
            at = next.max(finish + 1);
        }
        if random.below(2) == 0 {
            life.begins(at);
        }
        counts_as_in_the_figures(&life.recording(), &Options::default());
    }
}
