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
