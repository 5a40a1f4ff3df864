//! Timelines of small recordings made by hand, and of random ones against a slow and obvious answer.

mod ranges;

use hemiola_trace::perfetto::Track as Marks;
use hemiola_trace::sched::{Context, Event, Interrupt, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind, Recording};
use hemiola_units::{Instant, Random, Span};
use proptest::prelude::*;

use super::find::{self, Place, Query, What as Found};
use super::jobs::{self, Job, List};
use super::range;
use super::{NOBODY, Segment, State, Subject, Timeline};
use crate::sched::synthetic::{Protocol, Section, Task, run};
use crate::sched::{
    Behind, Culprit, Delay, DelayKind, Of, Options, Wanted, Who, explain, jobs as figures,
};

fn event(at: u64, cpu: u16, what: What) -> Event {
    Event { at: Instant::from_nanos(at), cpu, what }
}

fn switch(at: u64, cpu: u16, prev: u32, left: Left, next: u32) -> Event {
    event(at, cpu, What::Switch { prev: Tid(prev), left, next: Tid(next), priority: 120 })
}

fn wake(at: u64, tid: u32, waker: u32) -> Event {
    let (tid, waker) = (Tid(tid), Tid(waker));
    event(at, 0, What::Wake { tid, waker, context: Context::Thread, target: 0 })
}

fn timeline(events: Vec<Event>) -> Timeline {
    Timeline::build(&Recording::new(events, Vec::new(), Vec::new()))
}

fn row(timeline: &Timeline, wanted: u32) -> usize {
    let is = |row: &usize| matches!(timeline.rows[*row].subject, Subject::Thread { tid, .. } if tid == wanted);
    timeline.thread_rows().find(is).expect("the thread is there")
}

fn states(timeline: &Timeline, row: usize) -> Vec<(u64, State)> {
    let track = &timeline.rows[row].track;
    (0..track.len()).map(|index| track.segment(index)).map(|s| (s.from, s.state)).collect()
}

/// 7 is woken by 9, waits for it, runs, is preempted by 8, runs on and sleeps.
fn preempted_events() -> Vec<Event> {
    vec![
        switch(50, 0, 0, Left::Unknown, 9),
        wake(100, 7, 9),
        switch(130, 0, 9, Left::Sleeping, 7),
        switch(200, 0, 7, Left::Preempted, 8),
        switch(260, 0, 8, Left::Sleeping, 7),
        switch(300, 0, 7, Left::Sleeping, 0),
        switch(900, 0, 0, Left::Unknown, 9),
    ]
}

fn preempted() -> Timeline {
    timeline(preempted_events())
}

#[test]
fn a_job_is_told_from_wake_up_to_sleep_with_who_delayed_it() {
    use State::{Preempted, Ready, Rest, Running};
    let timeline = preempted();
    let seven = row(&timeline, 7);
    let expected = [(100, Ready), (130, Running), (200, Preempted), (260, Running), (300, Rest)];
    assert_eq!(states(&timeline, seven), expected);

    let found: Vec<Job> = jobs::of(&timeline.rows[seven]).iter().collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].whole);
    assert_eq!((found[0].release, found[0].finish, found[0].response()), (100, 300, 200));

    let account = jobs::account(&timeline, seven, &found[0], 0);
    assert_eq!((account.running, account.waiting, account.asleep), (110, 90, 0));
    assert_eq!(account.woken_by, row(&timeline, 9) as u32);
    let by = |tid, kind, ns| Delay { who: Culprit::Thread(tid), kind, ns, times: 1, behind: None };
    let expected = [by(8, DelayKind::Preempted, 60), by(9, DelayKind::BeforeStart, 30)];
    assert_eq!(account.job.unwrap().delays, expected);
}

#[test]
fn a_range_has_the_time_of_each_thread_and_the_jobs_that_are_whole_inside() {
    let timeline = preempted();
    let seven = row(&timeline, 7);
    let in_range = |from, to| {
        let of = range::threads(&timeline, from, to).into_iter().find(|of| of.row == seven);
        let of = of.map(|of| (of.totals.of(State::Running), of.totals.of(State::Ready)));
        let jobs = range::jobs(&timeline, seven, &jobs::of(&timeline.rows[seven]), from, to);
        (of, jobs.count, jobs.execution_ns, jobs.execution_max_ns)
    };
    assert_eq!(in_range(100, 300), (Some((110, 90)), 1, 110, 110));
    assert_eq!(in_range(0, u64::MAX), (Some((110, 90)), 1, 110, 110));
    // It is cut at either end.
    assert_eq!(in_range(101, 300), (Some((110, 89)), 0, 0, 0));
    assert_eq!(in_range(100, 299), (Some((109, 90)), 0, 0, 0));
    assert_eq!(in_range(210, 250), (Some((0, 40)), 0, 0, 0));
    assert_eq!(in_range(300, 900), (None, 0, 0, 0));
    assert_eq!(in_range(250, 210), (None, 0, 0, 0));
    let busiest: Vec<usize> = range::threads(&timeline, 100, 300).iter().map(|of| of.row).collect();
    assert_eq!(busiest, [seven, row(&timeline, 8), row(&timeline, 9)]);
}

#[test]
fn the_thread_behind_a_lock_holder_is_named_as_in_the_figures() {
    let blocked = Left::Uninterruptible;
    // 3 holds a lock that 1 wants; 2, which has nothing to do with it, keeps 3 from running.
    let events = vec![
        wake(100, 3, 0),
        switch(100, 0, 0, Left::Unknown, 3),
        wake(200, 1, 0),
        switch(200, 0, 3, Left::Preempted, 1),
        switch(300, 0, 1, blocked, 3),
        wake(400, 2, 0),
        switch(400, 0, 3, Left::Preempted, 2),
        switch(1400, 0, 2, Left::Sleeping, 3),
        wake(1500, 1, 3),
        switch(1500, 0, 3, Left::Preempted, 1),
        switch(1600, 0, 1, Left::Sleeping, 3),
        switch(1700, 0, 3, Left::Sleeping, 0),
    ];
    let recording = Recording::new(events, Vec::new(), Vec::new());
    let (timeline, report) = Timeline::with_report(&recording, &Options::default());
    let one = row(&timeline, 1);
    let job = jobs::of(&timeline.rows[one]).get(0).unwrap();
    let job = jobs::account(&timeline, one, &job, 0).job.unwrap();
    let behind = Some(Behind { who: Culprit::Thread(2), ns: 1000 });
    let (who, kind) = (Culprit::Thread(3), DelayKind::Blocked);
    assert_eq!(job.delays, [Delay { who, kind, ns: 1200, times: 1, behind }]);
    assert_eq!(
        explain(&job, &report),
        "1.40 µs from release to finish: 1.20 µs waiting until thread 3 woke it (lock holder?) after 1.00 µs behind \
         thread 2"
    );
}

/// The jobs of each thread of a recording in the figures and in the timeline: release, start, finish, execution,
/// whether they are complete, and their delays.
fn both(recording: &Recording, options: &Options) -> [Vec<crate::sched::Job>; 2] {
    let (timeline, report) = Timeline::with_report(recording, options);
    let mut all = [Vec::new(), Vec::new()];
    for thread in &report.threads {
        let of = Of::Thread(thread.tid);
        let wanted = Wanted { of, from_ns: 0, to_ns: u64::MAX, max: usize::MAX };
        all[0].extend(figures(recording, options, &wanted));
    }
    for row in timeline.thread_rows() {
        let list = jobs::of(&timeline.rows[row]);
        let account = |(number, job)| jobs::account(&timeline, row, &job, number).job;
        all[1].extend(list.iter().enumerate().filter_map(account));
    }
    all.map(|mut jobs| {
        // The greatest delays are kept one by one; the others, and parts of jobs, are not compared.
        jobs.retain(|job| job.complete && job.delays.iter().all(|of| of.who != Culprit::Others));
        jobs.sort_by_key(|job| (job.tid, job.release_ns, job.finish_ns));
        for delay in jobs.iter_mut().flat_map(|job| &mut job.delays) {
            // A wait is divided when a processor's memory is full.
            delay.times = 0;
        }
        for job in &mut jobs {
            job.number = 0;
            job.delays.sort_by_key(|delay| (delay.kind, delay.who));
        }
        jobs
    })
}

/// The range of the whole recording has the jobs and the C of the figures, and the jobs of the page are as late as
/// those of the figures where their ends are known.
fn counts_as_in_the_figures(recording: &Recording, options: &Options) {
    let (timeline, report) = Timeline::with_report(recording, options);
    for thread in &report.threads {
        let of = row(&timeline, thread.tid);
        let list = jobs::of(&timeline.rows[of]);
        let found = range::jobs(&timeline, of, &list, 0, u64::MAX);
        let (mean, max) = thread.execution_ns.as_ref().map_or((0.0, 0), |of| (of.mean, of.max));
        let sum = mean * thread.invocations as f64;
        assert_eq!((found.count, found.execution_max_ns), (thread.invocations, max), "{thread:?}");
        assert!((found.execution_ns as f64 - sum).abs() < 1.0 + sum * 1e-9, "{thread:?}");
        let misses = report.misses.iter().filter(|miss| miss.job.tid == thread.tid);
        let latest = misses.clone().map(|miss| miss.late_ns).max();
        assert_eq!(list.iter().filter(|job| job.whole).filter_map(|job| job.late()).max(), latest);
        for miss in misses {
            let late = hemiola_report::text::duration(miss.late_ns as f64);
            assert!(miss.explanation.starts_with(&format!("{late} late")), "{miss:?}");
            let busy = &timeline.rows[of].busy;
            let is_it = |job: Job| job.release == miss.job.release_ns;
            let place = list.iter().position(is_it).unwrap();
            assert_eq!(busy.number(place, miss.job.release_ns), miss.job.number, "{miss:?}");
        }
    }
}

#[test]
fn the_page_has_the_jobs_and_the_blame_of_the_figures() {
    let mut jobs = 0;
    for seed in 0..200 {
        let mut random = Random::from_seed(seed);
        let protocol =
            [Protocol::None, Protocol::Inheritance, Protocol::Ceiling][random.below(3) as usize];
        let task = |tid: u64, random: &mut Random| {
            let period_ns = [4, 5, 8, 10, 20][random.below(5) as usize] * 1_000_000;
            let execution_max_ns = 10_000 + random.below(period_ns / 3);
            let after_ns = random.below(execution_max_ns);
            let length_ns = 1 + random.below(execution_max_ns - after_ns);
            let section = Section { mutex: random.below(2) as u32, protocol, after_ns, length_ns };
            Task {
                tid: 10 + tid as u32,
                cpu: (tid % 2) as u16,
                priority: 10 + tid as i16,
                period_ns,
                offset_ns: random.below(period_ns),
                jitter_ns: random.below(period_ns / 5),
                execution_min_ns: execution_max_ns / 2,
                execution_max_ns,
                section: (random.below(2) == 0).then_some(section),
                asks: (seed + tid).is_multiple_of(3),
                ..Task::default()
            }
        };
        let tasks: Vec<Task> = (0..2 + random.below(5)).map(|tid| task(tid, &mut random)).collect();
        let (recording, _) = run(&tasks, 300_000_000, seed);
        let mut options = Options::default();
        if seed % 2 == 0 {
            let period =
                |task: &Task| (Who::Tid(task.tid), Span::from_nanos(task.period_ns as i64));
            options.periods = tasks.iter().map(period).collect();
        }
        let [figures, page] = both(&recording, &options);
        jobs += figures.len();
        assert_eq!(figures, page, "set {seed}");
        counts_as_in_the_figures(&recording, &options);
    }
    assert!(jobs > 15_000, "{jobs}");
}

#[test]
fn a_job_that_sleeps_within_the_first_half_of_its_period_stays_one() {
    let mut events = Vec::new();
    for release in [1_000, 2_000, 3_000] {
        for wake_up in [release, release + 300] {
            events.push(wake(wake_up, 7, 0));
            events.push(switch(wake_up + 10, 0, 0, Left::Unknown, 7));
            events.push(switch(wake_up + 60, 0, 7, Left::Sleeping, 0));
        }
    }
    let recording = Recording::new(events, Vec::new(), Vec::new());
    let without = Timeline::build(&recording);
    assert_eq!(jobs::of(&without.rows[row(&without, 7)]).len(), 6);
    let periods = vec![(Who::Tid(7), Span::from_nanos(1_000))];
    let (timeline, _) =
        Timeline::with_report(&recording, &Options { periods, ..Options::default() });
    let found: Vec<Job> = jobs::of(&timeline.rows[row(&timeline, 7)]).iter().collect();
    let ends: Vec<(u64, u64)> = found.iter().map(|job| (job.release, job.finish)).collect();
    assert_eq!(ends, [(1_000, 1_360), (2_000, 2_360), (3_000, 3_360)]);
    assert_eq!(found[0].deadline, Some(2_000));
    let account = jobs::account(&timeline, row(&timeline, 7), &found[0], 0);
    assert_eq!((account.running, account.waiting, account.asleep), (100, 20, 240));
    assert_eq!(account.job.unwrap().delayed_ns(DelayKind::Blocked), 240);
}

#[test]
fn a_gap_makes_processor_and_its_threads_unknown_until_they_are_heard_of_again() {
    let timeline = timeline(vec![
        switch(100, 0, 0, Left::Unknown, 7),
        switch(150, 1, 0, Left::Unknown, 8),
        switch(200, 0, 7, Left::Sleeping, 9),
        event(500, 0, What::Lost(3)),
        switch(600, 0, u32::MAX, Left::Unknown, 7),
        switch(700, 0, 7, Left::Sleeping, 0),
        switch(800, 1, 8, Left::Sleeping, 0),
    ]);
    use State::{Rest, Running, Unknown};
    assert_eq!(timeline.lost, 3);
    assert_eq!((timeline.gaps[0].from_ns, timeline.gaps[0].to_ns), (200, 500));
    assert_eq!(states(&timeline, 0), [(100, Running), (200, Unknown), (600, Running), (700, Rest)]);
    let seven = row(&timeline, 7);
    assert_eq!(
        states(&timeline, seven),
        [(100, Running), (200, Unknown), (600, Running), (700, Rest)]
    );
    // The other processor's thread is not touched.
    assert_eq!(states(&timeline, row(&timeline, 8)), [(150, Running), (800, Rest)]);
    let whole: Vec<bool> = jobs::of(&timeline.rows[seven]).iter().map(|job| job.whole).collect();
    assert_eq!(whole, [false, true]);
}

#[test]
fn a_thread_that_ended_is_not_unknown_after_a_gap() {
    let timeline = timeline(vec![
        switch(100, 0, 0, Left::Unknown, 7),
        switch(200, 0, 7, Left::Dead, 0),
        event(500, 0, What::Lost(0)),
        switch(600, 0, u32::MAX, Left::Unknown, 8),
    ]);
    let seven = row(&timeline, 7);
    assert_eq!(states(&timeline, seven), [(100, State::Running), (200, State::Rest)]);
}

#[test]
fn a_number_used_again_is_another_row_and_the_last_name_counts() {
    let thread = |since, name: &str, new| Thread {
        tid: Tid(7),
        since: Instant::from_nanos(since),
        pid: 7,
        name: name.into(),
        new,
    };
    let events = vec![
        switch(100, 0, 0, Left::Unknown, 7),
        switch(200, 0, 7, Left::Dead, 0),
        switch(400, 0, 0, Left::Unknown, 7),
        switch(500, 0, 7, Left::Sleeping, 0),
    ];
    let threads =
        vec![thread(0, "bash", false), thread(150, "make", false), thread(300, "cat", true)];
    let timeline = Timeline::build(&Recording::new(events, threads, Vec::new()));
    let names: Vec<&str> = timeline
        .thread_rows()
        .map(|row| match &timeline.rows[row].subject {
            Subject::Thread { name, .. } => name.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(names, ["make", "cat"]);
}

#[test]
fn marked_jobs_are_the_jobs_and_stand_alone_without_the_kernel() {
    let entry =
        |at, kind, cycle, a| Entry { at: Instant::from_nanos(at), kind, arg: 0, cycle, a, b: 0 };
    let entries = vec![
        entry(110, EventKind::Start, 0, 100),
        entry(120, EventKind::Send, 0, 0),
        entry(150, EventKind::Finish, 0, 140),
        entry(210, EventKind::Start, 1, 200),
    ];
    let marks = Marks { pid: 5, tid: 5, name: "io".into(), entries, ..Marks::default() };
    let timeline = Timeline::build(&Recording::new(Vec::new(), Vec::new(), vec![marks]));
    let row = row(&timeline, 5);
    assert_eq!(states(&timeline, row), [(110, State::Running), (150, State::Rest)]);
    let found: Vec<Job> = jobs::of(&timeline.rows[row]).iter().collect();
    assert_eq!((found[0].release, found[0].late(), found[0].cycle), (100, Some(10), Some(0)));
    assert_eq!(timeline.names[timeline.rows[row].marks[0].name as usize], "send");
    assert_eq!((timeline.from.nanos(), timeline.to.nanos()), (110, 210));
}

#[test]
fn marks_of_a_number_used_again_belong_to_the_thread_that_made_them() {
    let thread = |since, name: &str| Thread {
        tid: Tid(7),
        since: Instant::from_nanos(since),
        pid: 7,
        name: name.into(),
        new: true,
    };
    let priority = |at, prev, left, next, priority| {
        event(at, 0, What::Switch { prev: Tid(prev), left, next: Tid(next), priority })
    };
    let events = vec![
        priority(110, 0, Left::Unknown, 7, 10),
        priority(200, 7, Left::Dead, 0, 120),
        priority(310, 0, Left::Unknown, 7, 20),
        priority(400, 7, Left::Dead, 0, 120),
    ];
    let marks = |name: &str, from: u64| {
        let entry =
            |at, kind, a| Entry { at: Instant::from_nanos(at), kind, arg: 0, cycle: 0, a, b: 0 };
        let start = entry(from, EventKind::Start, from);
        let finish = entry(from + 50, EventKind::Finish, from + 30);
        Marks {
            pid: 7,
            tid: 7,
            name: name.into(),
            entries: vec![start, finish],
            ..Marks::default()
        }
    };
    let tracks = vec![marks("first", 120), marks("second", 320)];
    let recording = Recording::new(events, vec![thread(100, "one"), thread(300, "two")], tracks);
    let (timeline, report) = Timeline::with_report(&recording, &Options::default());
    let [one, two] = [timeline.threads, timeline.threads + 1];
    let starts = |row: usize| {
        jobs::of(&timeline.rows[row]).iter().map(|job| job.release).collect::<Vec<_>>()
    };
    assert_eq!([starts(one), starts(two)], [[120], [320]]);
    assert_eq!(timeline.tracks, [Some(one), Some(two)]);
    let priorities: Vec<_> = report.tasks.iter().map(|task| task.priority).collect();
    assert_eq!(priorities, [Some(10), Some(20)]);
    let rows: Vec<_> = report.misses.iter().map(|miss| timeline.row_of_job(&miss.job)).collect();
    assert_eq!(rows, [Some(one), Some(two)]);
}

#[test]
fn a_job_that_ends_at_its_deadline_is_not_late() {
    let job = |finish| {
        let (deadline, cycle, track) = (Some(300), None, None);
        jobs::Job { release: 100, start: 100, finish, deadline, cycle, track, whole: true }
    };
    assert_eq!([299, 300, 301].map(|finish| job(finish).late()), [None, None, Some(1)]);
}

#[test]
fn the_job_at_a_moment_is_the_one_around_it_or_the_nearest() {
    let job = |release, finish| {
        let (deadline, cycle, track) = (None, None, None);
        jobs::Job { release, start: release, finish, deadline, cycle, track, whole: true }
    };
    let list: List = [job(100, 200), job(300, 310), job(400, 450)].into_iter().collect();
    let at = |moment| list.at(moment);
    assert_eq!([at(0), at(150), at(240), at(260), at(999)].map(Option::unwrap), [0, 0, 0, 1, 2]);
    let nothing = List::default();
    assert_eq!((nothing.at(5), nothing.median(), nothing.slowest()), (None, None, None));
    assert_eq!((list.median(), list.slowest()), (Some(2), Some(0)));
}

#[test]
fn nothing_short_disappears_and_windows_beyond_the_ends_are_empty() {
    let mut events = Vec::new();
    for n in 0..10_000 {
        events.push(switch(n * 1_000, 0, 0, Left::Unknown, 7));
        events.push(switch(n * 1_000 + 1, 0, 7, Left::Sleeping, 0));
    }
    let timeline = timeline(events);
    let spans = timeline.window(0, 10_000_000, 10, 0);
    assert_eq!(spans.len(), 10);
    assert!(spans.iter().all(|span| span.shares == [1, 0, 0, 0]));
    assert!(timeline.window(20_000_000, 30_000_000, 10, 0).is_empty());
    assert!(timeline.window(5, 5, 10, 0).is_empty());
    assert!(timeline.window(0, 10, 10, 99).is_empty());
}

/// Events that no kernel makes, with numbers of any size.
fn anything() -> impl Strategy<Value = Event> {
    let number = prop_oneof![0u32..4, any::<u32>()];
    let moment = prop_oneof![0u64..1_000, any::<u64>()];
    (moment, prop_oneof![0u16..3, any::<u16>()], number.clone(), number, 0u8..13).prop_map(
        |(at, cpu, a, b, kind)| {
            let left = [Left::Preempted, Left::Dead, Left::Unknown, Left::Uninterruptible];
            let left = left[a as usize % 4];
            let context = [Context::Thread, Context::Interrupt][b as usize % 2];
            let what = match kind {
                0..4 => What::Switch { prev: Tid(a), left, next: Tid(b), priority: b as i16 },
                4..6 => What::Wake { tid: Tid(a), waker: Tid(b), context, target: a as u16 },
                6 => What::InterruptEntry(Interrupt::Hard(a as u16)),
                7 => What::InterruptExit(Interrupt::Soft(b as u16)),
                8 => What::PageFault(a % 2 == 0),
                9 => What::CallEntry(a as u16),
                10 => What::Lost(a),
                11 => What::SleepUntil(Instant::from_nanos(at ^ u64::from(b)).into()),
                _ => What::Online(b % 2 == 0),
            };
            event(at, cpu, what)
        },
    )
}

/// A random life of a few threads on two processors.
fn life() -> impl Strategy<Value = Vec<Event>> {
    let step = (1u64..2_000, 0u16..2, 0u32..5, 0u8..12);
    proptest::collection::vec(step, 1..400).prop_map(|steps| {
        let (mut at, mut events, mut running) = (1_000, Vec::new(), [0u32; 2]);
        for (wait, cpu, tid, kind) in steps {
            at += wait;
            let slot = usize::from(cpu);
            match kind {
                0 => events.push(event(at, cpu, What::Lost(1))),
                1..4 => events.push(wake(at, tid + 1, running[slot])),
                _ if running[1 - slot] != tid + 1 => {
                    let next = if running[slot] == tid + 1 { 0 } else { tid + 1 };
                    events.push(switch(at, cpu, running[slot], Left::Sleeping, next));
                    running[slot] = next;
                }
                _ => {}
            }
        }
        events
    })
}

#[test]
fn a_search_finds_events_and_marks_by_thread_and_name() {
    let mark = |at, arg| Entry {
        at: Instant::from_nanos(at),
        kind: EventKind::Mark,
        arg,
        cycle: 0,
        a: 0,
        b: 0,
    };
    let mut marks = Marks { pid: 7, tid: 7, name: "seven".into(), ..Marks::default() };
    marks.names.insert(EventKind::Mark, 0, "Frame drawn");
    marks.names.insert(EventKind::Mark, 1, "retry");
    marks.entries = vec![mark(110, 0), mark(140, 1), mark(270, 0)];
    let thread =
        Thread { tid: Tid(7), since: Instant::ZERO, pid: 70, name: "seven".into(), new: false };
    let recording = Recording::new(preempted_events(), vec![thread], vec![marks]);
    let timeline = Timeline::build(&recording);
    let [seven, eight, nine] = [7, 8, 9].map(|tid| row(&timeline, tid));
    let find = |text: &str, from| {
        let (places, more) = find::find(&timeline, &Query::new(text), from, 3);
        (places.iter().map(|place| (place.at, place.row, place.what)).collect::<Vec<_>>(), more)
    };
    let [drawn, retry] = ["Frame drawn", "retry"].map(|name| {
        Found::Mark(timeline.names.iter().position(|known| known == name).unwrap() as u32)
    });
    assert_eq!(find("frame", 0), (vec![(110, seven, drawn), (270, seven, drawn)], false));
    assert_eq!(find("FRAME seven", 111), (vec![(270, seven, drawn)], false));
    assert_eq!(find("seven", 0).0, [(110, seven, drawn), (140, seven, retry), (270, seven, drawn)]);
    assert_eq!(find("frame eight", 0), (vec![], false));
    let by = |row: usize, state| Found::Begins(state, row as u32);
    assert_eq!(find("woken", 0), (vec![(100, seven, by(nine, State::Ready))], false));
    assert_eq!(find("preempted 70", 0), (vec![(200, seven, by(eight, State::Preempted))], false));
    assert_eq!(find("preempted nine", 0), (vec![], false));
    // Those of all threads by time, as many as are asked for.
    let ran = |at, row| (at, row, Found::Begins(State::Running, 0));
    assert_eq!(find("running", 0), (vec![ran(50, nine), ran(130, seven), ran(200, eight)], true));
    assert_eq!(find("running", 201), (vec![ran(260, seven), ran(900, nine)], false));
    assert_eq!(find(" ", 0), (vec![], false));

    assert_eq!(timeline.wake_ups(seven, 0, 1000, 9), [(100, nine as u32)]);
    assert_eq!(timeline.wake_ups(seven, 100, 101, 9), [(100, nine as u32)]);
    assert_eq!(timeline.wake_ups(seven, 101, 1000, 9), []);
    assert_eq!(timeline.wake_ups(seven, 0, 1000, 3), []);
    assert_eq!(timeline.wake_ups(nine, 0, 1000, 9), []);
    assert_eq!(timeline.wake_ups(usize::MAX, 0, 1000, 9), []);
}

#[test]
fn a_first_segment_of_no_length_overlaps_nothing() {
    let lost = timeline(vec![event(1_114, 0, What::Lost(1))]);
    // A wake-up and the switch that follows it have one time.
    let woken = timeline(vec![
        wake(500, 7, 0),
        switch(500, 0, 0, Left::Sleeping, 7),
        event(900, 0, What::Lost(1)),
    ]);
    let seven = woken.thread_rows().next().unwrap();
    assert_eq!(
        (woken.rows[seven].track.segment(0).from, woken.rows[seven].track.segment(0).to),
        (500, 500)
    );
    for (timeline, row) in [(&lost, 0), (&woken, seven)] {
        let track = &timeline.rows[row].track;
        for from in [0, 499, 500, 501, 1_114] {
            assert!(track.between(from, 2_000).all(|of| of.from < of.to), "{row}, {from}");
        }
    }
}

/// Any job, with times that do not even fit each other.
fn any_job() -> impl Strategy<Value = Job> {
    let time = || prop_oneof![0_u64..3_000, 0_u64..1 << 40, any::<u64>()];
    let optional = (proptest::option::of(time()), any::<Option<u32>>(), any::<Option<usize>>());
    (time(), time(), time(), optional, any::<bool>()).prop_map(
        |(release, start, finish, (deadline, cycle, track), whole)| Job {
            release,
            start,
            finish,
            deadline,
            cycle,
            track,
            whole,
        },
    )
}

/// A job of a release and a response time.
const fn without_deadline((release, response): (u64, u64)) -> Job {
    let finish = release + response;
    Job {
        release,
        start: release,
        finish,
        deadline: None,
        cycle: None,
        track: Some(0),
        whole: true,
    }
}

proptest! {
    #[test]
    fn a_list_has_the_jobs_that_were_put_in(
        jobs in proptest::collection::vec(any_job(), 0..300), at in any::<u64>(), to in any::<u64>(),
    ) {
        let list: List = jobs.iter().copied().collect();
        prop_assert!(list.iter().eq(jobs.iter().copied()));
        for number in 0..jobs.len() + 2 {
            prop_assert_eq!(list.get(number), jobs.get(number).copied());
        }
        let inside = |job: &Job| job.release < to && job.finish >= at;
        let between = jobs.iter().copied().enumerate().filter(|(_, job)| inside(job));
        prop_assert!(list.between(at, to).eq(between));
    }

    #[test]
    fn the_job_at_a_moment_is_open_there_or_the_nearest(
        times in proptest::collection::vec((0_u64..100_000, 0_u64..300), 1..300),
        moments in proptest::collection::vec(0_u64..101_000, 20),
    ) {
        let list: List = times.iter().copied().map(without_deadline).collect();
        for at in moments {
            let distance = |(release, length): &(u64, u64)| {
                release.saturating_sub(at).max(at.saturating_sub(release + length))
            };
            let found = times[list.at(at).unwrap()];
            prop_assert_eq!(Some(distance(&found)), times.iter().map(distance).min());
            let open = times.iter().filter(|of| distance(of) == 0);
            prop_assert!(distance(&found) > 0 || open.clone().all(|of| of.0 <= found.0));
        }
    }

    #[test]
    fn a_range_has_the_jobs_that_were_released_and_done_in_it(
        times in proptest::collection::vec((0_u64..100_000, 0_u64..3_000), 0..300),
        from in 0_u64..100_000, length in 0_u64..100_000,
    ) {
        let list: List = times.iter().copied().map(without_deadline).collect();
        let timeline = timeline(vec![switch(0, 0, 0, Left::Preempted, 7), switch(9, 0, 7, Left::Sleeping, 0)]);
        let row = timeline.thread_rows().last().unwrap();
        let to = from + length;
        let inside = |of: &&(u64, u64)| of.0 >= from && of.0 < to && of.0 + of.1 <= to;
        let expected = times.iter().filter(inside).count() as u64;
        prop_assert_eq!(range::jobs(&timeline, row, &list, from, to).count, expected);
    }

    #[test]
    fn a_search_finds_the_first_of_what_a_look_at_all_segments_finds(
        events in life(), from in 0u64..300_000, max in 1usize..30,
    ) {
        let timeline = timeline(events);
        for (text, state) in [("woken", State::Ready), ("running", State::Running), ("lost", State::Unknown)] {
            let mut all: Vec<Place> = timeline
                .thread_rows()
                .flat_map(|row| {
                    let track = &timeline.rows[row].track;
                    (0..track.len()).map(move |index| (row, track.segment(index)))
                })
                .filter(|(_, of)| of.from >= from && of.state == state)
                .map(|(row, of)| Place { at: of.from, row, what: Found::Begins(state, of.key) })
                .collect();
            all.sort();
            let more = all.len() > max;
            all.truncate(max);
            prop_assert_eq!(find::find(&timeline, &Query::new(text), from, max), (all, more));
        }
    }

    #[test]
    fn any_window_shows_exactly_the_time_that_was_there(
        events in life(), from in 0u64..300_000, length in 1u64..400_000, pixels in 1u32..300,
    ) {
        let timeline = timeline(events);
        for row in 0..timeline.rows.len() {
            let track = &timeline.rows[row].track;
            let spans = timeline.window(from, from + length, pixels, row);
            prop_assert!(spans.len() <= 2 * pixels as usize + 2);
            prop_assert!(spans.windows(2).all(|pair| pair[0].x + pair[0].width <= pair[1].x + 1e-2));
            // Sums by the pyramid are sums of segments.
            let mut slow = [0u64; 4];
            let all = (0..track.len()).map(|index| track.segment(index));
            let clipped = all.map(|of| Segment {
                from: of.from.max(from), to: of.to.min(from + length), ..of
            });
            let inside: Vec<Segment> = clipped.filter(|of| of.from < of.to).collect();
            prop_assert_eq!(&track.between(from, from + length).collect::<Vec<_>>(), &inside);
            for segment in inside {
                let slot = [None, Some(0), Some(1), Some(1), Some(2), Some(3), Some(2)];
                let slot = slot[segment.state as usize];
                if let Some(slot) = slot {
                    slow[slot] += segment.to - segment.from;
                }
            }
            prop_assert_eq!(track.totals_between(from, from + length).all(), slow);
            // And so are the spans, but for their rounding.
            let pixel = length as f64 / f64::from(pixels);
            for (slot, expected) in slow.into_iter().enumerate() {
                let drawn: f64 = spans
                    .iter()
                    .map(|span| f64::from(span.width) * pixel * f64::from(span.shares[slot]) / 255.0)
                    .sum();
                let slack = spans.len() as f64 * (pixel / 255.0 + 1.0) + length as f64 * 1e-3;
                prop_assert!((drawn - expected as f64).abs() <= slack, "{drawn} {expected}");
            }
        }
    }

    #[test]
    fn any_events_at_all_can_be_looked_at(
        events in proptest::collection::vec(anything(), 0..60), from: u64, to: u64, pixels in 0u32..50,
    ) {
        let timeline = timeline(events);
        for row in 0..timeline.rows.len() {
            prop_assert!(timeline.window(from, to, pixels, row).len() <= 2 * pixels as usize + 2);
            prop_assert!(timeline.window(0, u64::MAX, pixels, row).len() <= 2 * pixels as usize + 2);
            for job in jobs::of(&timeline.rows[row]).iter() {
                let account = jobs::account(&timeline, row, &job, 0);
                let jobs::Account { running, interrupted, waiting, blocked, asleep, unknown, .. } = account;
                let told = [running, interrupted, waiting, blocked, asleep, unknown];
                prop_assert_eq!(told.iter().sum::<u64>(), job.response());
            }
        }
    }

    #[test]
    fn whatever_happens_the_page_has_the_jobs_and_the_blame_of_the_figures(events in life()) {
        let [figures, page] = both(&Recording::new(events, Vec::new(), Vec::new()), &Options::default());
        prop_assert_eq!(figures, page);
    }

    #[test]
    fn segments_follow_each_other_without_a_hole(events in life()) {
        let timeline = timeline(events);
        for row in &timeline.rows {
            for index in 1..row.track.len() {
                let (a, b) = (row.track.segment(index - 1), row.track.segment(index));
                prop_assert_eq!(a.to, b.from);
                let is_release = row.track.cursor().releases(index).0;
                prop_assert!((a.state, a.key) != (b.state, b.key) || is_release);
            }
            let found: Vec<Job> = jobs::of(row).iter().collect();
            prop_assert!(found.windows(2).all(|pair| pair[0].finish <= pair[1].release));
            prop_assert!(found.iter().all(|job| job.release <= job.finish));
        }
        prop_assert!(timeline.rows.iter().all(|row| row.track.totals().top <= NOBODY));
    }
}
