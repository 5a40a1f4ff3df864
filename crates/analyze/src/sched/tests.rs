//! Recordings made by hand and by simulation, and what the analysis must say of them.

use hemiola_trace::perfetto::Track;
use hemiola_trace::sched::{Context, Event, Interrupt, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind, Recording};
use hemiola_units::{Instant, Random, Span};
use proptest::prelude::*;

use super::synthetic::{Task, TrueJob, run};
use super::*;

mod edges;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
const IDLE: u32 = 0;
const UNKNOWN: u32 = u32::MAX;
const EVERYTHING: Wanted =
    Wanted { of: Of::Thread(0), from_ns: 0, to_ns: u64::MAX, max: usize::MAX };

/// Events, written as what happens in order: times in µs.
#[derive(Default)]
struct Story {
    events: Vec<Event>,
    threads: Vec<Thread>,
    tracks: Vec<Track>,
    cpu: u16,
    priorities: Vec<(u32, i16)>,
}

impl Story {
    fn on(&mut self, cpu: u16) -> &mut Self {
        self.cpu = cpu;
        self
    }
    fn push(&mut self, at_us: u64, what: What) -> &mut Self {
        self.events.push(Event { at: Instant::from_nanos(at_us * US), cpu: self.cpu, what });
        self
    }
    fn switch(&mut self, at_us: u64, prev: u32, left: Left, next: u32) -> &mut Self {
        let priority =
            self.priorities.iter().find(|(tid, _)| *tid == next).map_or(120, |found| found.1);
        self.push(at_us, What::Switch { prev: Tid(prev), left, next: Tid(next), priority })
    }
    fn wake(&mut self, at_us: u64, tid: u32, waker: u32) -> &mut Self {
        let context = if waker == IDLE { Context::Interrupt } else { Context::Thread };
        let target = self.cpu;
        self.push(at_us, What::Wake { tid: Tid(tid), waker: Tid(waker), context, target })
    }
    fn thread(&mut self, tid: u32, since_us: u64, name: &str, new: bool) -> &mut Self {
        let (tid, since) = (Tid(tid), Instant::from_nanos(since_us * US));
        self.threads.push(Thread { tid, since, pid: tid.0, name: name.into(), new });
        self
    }
    fn recording(&self) -> Recording {
        Recording::new(self.events.clone(), self.threads.clone(), self.tracks.clone())
    }
    fn report(&self) -> Report {
        analyze(&self.recording(), &Options::default())
    }
    fn jobs(&self, tid: u32) -> Vec<Job> {
        jobs(&self.recording(), &Options::default(), &Wanted { of: Of::Thread(tid), ..EVERYTHING })
    }
}

/// An entry of a marked task, µs.
fn entry(at_us: u64, kind: EventKind, a_us: u64) -> Entry {
    Entry { at: Instant::from_nanos(at_us * US), kind, arg: 0, cycle: 0, a: a_us * US, b: 0 }
}

fn of(report: &Report, tid: u32) -> &ThreadReport {
    report.threads.iter().find(|thread| thread.tid == tid).unwrap()
}

fn task(tid: u32, priority: i16, period_us: u64, execution_us: u64) -> Task {
    Task {
        name: format!("task {tid}"),
        tid,
        cpu: 0,
        priority,
        period_ns: period_us * US,
        offset_ns: 10 * MS + u64::from(tid) * 7 * US,
        jitter_ns: 0,
        execution_min_ns: execution_us * US,
        execution_max_ns: execution_us * US,
        ..Task::default()
    }
}

#[test]
fn the_longest_delay_of_a_long_wait_is_named_however_many_follow() {
    // It runs for 60 ms while another thread is ready, then 40 others for 1 ms each.
    let mut story = Story::default();
    story.switch(0, UNKNOWN, Left::Preempted, IDLE).wake(10, 9, IDLE);
    story.switch(20, IDLE, Left::Preempted, 8).wake(30, 7, 8);
    let mut at = 60_020;
    let mut before = 8;
    for next in 100..140 {
        story.switch(at, before, Left::Preempted, next);
        (before, at) = (next, at + 1_000);
    }
    story.switch(at, before, Left::Preempted, 7).switch(at + 500, 7, Left::Sleeping, IDLE);
    let delays = &story.jobs(7)[0].delays;
    assert_eq!(delays.len(), DELAYS_MAX + 1);
    assert_eq!((delays[0].who, delays[0].ns), (Culprit::Thread(8), 59_990 * US));
    let others = delays.iter().find(|delay| delay.who == Culprit::Others).unwrap();
    assert_eq!(others.ns, (41 - DELAYS_MAX as u64) * MS);
    let longest = of(&story.report(), 7).preempted_by.iter().next().map(|by| (by.who, by.ns));
    assert_eq!(longest, Some((Culprit::Thread(8), 59_990 * US)));
}

#[test]
fn a_known_task_set_has_its_known_figures() {
    let tasks = [
        Task { jitter_ns: 40 * US, execution_min_ns: 150 * US, ..task(11, 9, 1000, 250) },
        Task { jitter_ns: 25 * US, execution_min_ns: 500 * US, ..task(12, 19, 5000, 1200) },
        Task { execution_min_ns: 800 * US, ..task(13, 29, 10_000, 2400) },
        Task { cpu: 1, ..task(14, 9, 20_000, 12_000) },
    ];
    let (recording, truth) = run(&tasks, 4_000 * MS, 1);
    let report = analyze(&recording, &Options::default());
    let mut total = 0.0;
    for (task, jobs) in tasks.iter().zip(&truth) {
        let found = of(&report, task.tid);
        let near = |found: f64, truth: f64| {
            assert!((found - truth).abs() <= 0.01 * truth + 5e3, "{}: {found} {truth}", task.name);
        };
        let execution = found.execution_ns.as_ref().unwrap();
        let response = found.response_ns.as_ref().unwrap();
        let list = |figure: fn(&TrueJob) -> u64| jobs.iter().map(figure).collect::<Vec<u64>>();
        let executions = list(|job| job.execution_ns);
        let responses = list(|job| job.finish_ns - job.release_ns);
        assert!(found.invocations.abs_diff(jobs.len() as u64) <= 1);
        near(execution.mean, executions.iter().sum::<u64>() as f64 / executions.len() as f64);
        near(execution.min as f64, *executions.iter().min().unwrap() as f64);
        assert_eq!(execution.max, *executions.iter().max().unwrap());
        assert_eq!(response.max, *responses.iter().max().unwrap());
        near(found.period_ns.unwrap() as f64, task.period_ns as f64);
        assert_eq!(found.period_from, Some(PeriodFrom::Found));
        let utilization =
            executions.iter().sum::<u64>() as f64 / executions.len() as f64 / task.period_ns as f64;
        assert!((found.utilization - utilization).abs() <= 0.01 * utilization);
        total += utilization;
    }
    assert!((report.task_set_utilization - total).abs() <= 0.01 * total);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    // The least urgent is held up by the others alone, and by each for as long as it was.
    let held_up = of(&report, 13);
    let by: u64 = held_up.preempted_by.iter().map(|entry| entry.ns).sum();
    assert_eq!(by, held_up.waiting_ns);
    let mut culprits: Vec<u32> =
        held_up.preempted_by.iter().filter_map(|entry| entry.tid).collect();
    culprits.sort_unstable();
    assert_eq!(culprits, [11, 12]);
    assert_eq!(held_up.blocking_ns.as_ref().unwrap().max, 0);
    assert!(of(&report, 11).preempted_by.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_nanosecond_of_a_job_is_in_its_execution_or_in_a_delay(
        set in prop::collection::vec((300_u64..3000, 20_u64..800, 0_u64..50), 1..6),
        seed: u64,
    ) {
        let tasks: Vec<Task> = set.iter().enumerate().map(|(index, &(period, execution, jitter))| Task {
            jitter_ns: jitter * US,
            execution_min_ns: execution * US / 2,
            ..task(index as u32 + 1, index as i16, period, execution)
        }).collect();
        let (recording, truth) = run(&tasks, 200 * MS, seed);
        for (task, truth) in tasks.iter().zip(&truth) {
            let wanted = Wanted { of: Of::Thread(task.tid), ..EVERYTHING };
            // Without a period, so that no two invocations are taken together.
            let periods = vec![(Who::Tid(task.tid), Span::from_nanos(2))];
            let options = Options { periods, ..Options::default() };
            let jobs = jobs(&recording, &options, &wanted);
            let both = report_and_jobs(&recording, &options, &wanted);
            prop_assert_eq!(&both, &(analyze(&recording, &options), jobs.clone()));
            for job in jobs.iter().filter(|job| job.complete) {
                let delayed: u64 = job.delays.iter().map(|delay| delay.ns).sum();
                prop_assert_eq!(job.execution_ns + delayed, job.response_ns());
                prop_assert!(job.start_ns >= job.release_ns && job.start_ns <= job.finish_ns);
                prop_assert!(truth.iter().any(|truth| truth.finish_ns == job.finish_ns));
            }
            let waited: u64 = jobs.iter().map(|job| job.delayed_ns(DelayKind::Blocked)).sum();
            prop_assert_eq!(waited, 0);
        }
    }
}

#[test]
fn a_preempted_job_has_its_own_time_and_those_who_took_the_rest() {
    let mut story = Story { priorities: vec![(1, 9), (2, 49)], ..Story::default() };
    story.thread(1, 0, "urgent", false).thread(2, 0, "work", false).thread(3, 0, "other", false);
    story.switch(0, IDLE, Left::Preempted, 3);
    story.wake(100, 2, IDLE).switch(110, 3, Left::Preempted, 2);
    story.wake(200, 1, IDLE).switch(205, 2, Left::Preempted, 1).switch(305, 1, Left::Sleeping, 2);
    story.switch(400, 2, Left::Sleeping, 3);
    let job = &story.jobs(2)[0];
    assert_eq!((job.release_ns, job.start_ns, job.finish_ns), (100 * US, 110 * US, 400 * US));
    assert_eq!((job.execution_ns, job.complete), (190 * US, true));
    let delay = |tid, kind, us: u64| Delay {
        who: Culprit::Thread(tid),
        kind,
        ns: us * US,
        times: 1,
        behind: None,
    };
    assert_eq!(
        job.delays,
        [delay(1, DelayKind::Preempted, 100), delay(3, DelayKind::BeforeStart, 10)]
    );
    let report = story.report();
    let work = of(&report, 2);
    assert_eq!((work.preemptions, work.waiting_ns, work.running_ns), (1, 110 * US, 190 * US));
    assert_eq!(work.preempted_by.first().unwrap().name, "urgent");
    // The other one is less urgent: what it took is blocking.
    assert_eq!(work.blocking_ns.as_ref().unwrap().max, 10 * US);
    assert_eq!(work.woken_by.first().unwrap().name, "interrupt");
    assert_eq!(explain(job, &report), "300 µs from release to finish: 100 µs preempted by urgent");
    // The one that never slept has no invocation, and its processor time all the same.
    let other = of(&report, 3);
    assert_eq!((other.invocations, other.incomplete, other.running_ns), (0, 1, 110 * US));
}

#[test]
fn a_missed_deadline_says_who_had_the_processor_and_who_had_the_lock() {
    let mut story = Story { priorities: vec![(5, 49), (6, 49), (7, 9)], ..Story::default() };
    story.thread(5, 0, "control", false).thread(6, 0, "logger", false).thread(
        7,
        0,
        "kworker/0:1",
        false,
    );
    let mut entries = Vec::new();
    let mut job = |cycle: u32, release: u64, start: u64, finish: u64| {
        let entry = |at, kind, a| Entry { cycle, ..entry(at, kind, a) };
        entries.push(entry(start, EventKind::Start, release));
        entries.push(entry(finish, EventKind::Finish, release + 5_000));
    };
    for cycle in 0..20_u32 {
        let at = 10_000 + u64::from(cycle) * 10_000;
        story.wake(at + 20, 5, IDLE).switch(at + 25, IDLE, Left::Preempted, 5);
        if cycle == 12 {
            // Preempted for 9.8 ms, then it waits 2.1 ms for the logger.
            story.switch(at + 1000, 5, Left::Preempted, 7).switch(
                at + 10_800,
                7,
                Left::Sleeping,
                5,
            );
            story.switch(at + 11_000, 5, Left::Sleeping, 6).wake(at + 13_100, 5, 6);
            story.switch(at + 13_100, 6, Left::Sleeping, 5).switch(
                at + 14_000,
                5,
                Left::Sleeping,
                IDLE,
            );
            job(cycle, at, at + 30, at + 13_990);
        } else if cycle != 13 {
            story.switch(at + 2_000, 5, Left::Sleeping, IDLE);
            job(cycle, at, at + 30, at + 1_990);
        } else {
            story.events.truncate(story.events.len() - 2);
        }
    }
    story.tracks.push(Track {
        pid: 5,
        tid: 5,
        name: "control loop".into(),
        entries,
        ..Track::default()
    });
    let report = story.report();
    let task = &report.tasks[0];
    assert_eq!((task.jobs, task.incomplete, task.missed, report.missed_deadlines), (19, 0, 1, 1));
    assert_eq!((task.period_ns, task.deadline_ns), (Some(10 * MS), Some(5 * MS)));
    assert_eq!(task.execution_ns.as_ref().unwrap().min, 1960 * US);
    assert_eq!(task.lateness_max_ns, Some(8_990 * US as i64));
    assert_eq!(task.latency_ns.as_ref().unwrap().p50, 30 * US);
    let miss = &report.misses[0];
    assert_eq!(
        (miss.name.as_str(), miss.job.number, miss.late_ns),
        ("control loop", 12, 8_990 * US)
    );
    assert_eq!(
        miss.explanation,
        "8.99 ms late: 9.80 ms preempted by kworker/0:1, 2.10 ms waiting until logger woke it (lock holder?)"
    );
    let delayed: u64 = miss.job.delays.iter().map(|delay| delay.ns).sum();
    assert_eq!(miss.job.execution_ns + delayed, miss.job.response_ns());
    assert_eq!(task.blocked_by.first().unwrap().name, "logger");
    // The thread's own invocation is whole too: what it waited for within a marked job does not end it.
    assert_eq!(of(&report, 5).blocked_ns, 2_100 * US);
    let marked =
        jobs(&story.recording(), &Options::default(), &Wanted { of: Of::Track(0), ..EVERYTHING });
    assert_eq!(marked.len(), 19);
    assert_eq!(median_job(&marked).unwrap().response_ns(), 1_990 * US);
}

#[test]
fn a_job_that_follows_a_late_one_says_so() {
    let mut story = Story::default();
    story.wake(1000, 5, IDLE).switch(1005, IDLE, Left::Preempted, 5).switch(
        4000,
        5,
        Left::Sleeping,
        IDLE,
    );
    let entries = vec![
        entry(1010, EventKind::Start, 1000),
        entry(2900, EventKind::Finish, 2000),
        entry(2910, EventKind::Start, 2000),
        entry(3900, EventKind::Finish, 3000),
    ];
    story.tracks.push(Track { pid: 5, tid: 0, name: "loop".into(), entries, ..Track::default() });
    let report = story.report();
    let text = |index: usize| report.misses[index].explanation.as_str();
    assert_eq!(text(0), "900 µs late: 1.89 ms computing (usually 990 µs)");
    assert_eq!(text(1), "900 µs late: 910 µs busy with what came before");
}

#[test]
fn a_period_that_is_given_makes_wake_ups_within_it_one_job() {
    let mut story = Story::default();
    for n in 0..10 {
        let at = 1000 + n * 10_000;
        story.wake(at, 4, IDLE).switch(at, IDLE, Left::Preempted, 4).switch(
            at + 500,
            4,
            Left::Sleeping,
            IDLE,
        );
        story.wake(at + 700, 4, IDLE).switch(at + 700, IDLE, Left::Preempted, 4);
        story.switch(at + 1000, 4, Left::Sleeping, IDLE);
    }
    let given =
        Options { periods: vec![(Who::Tid(4), Span::from_millis(10))], ..Options::default() };
    let report = analyze(&story.recording(), &given);
    let thread = of(&report, 4);
    assert_eq!((thread.invocations, thread.period_from), (10, Some(PeriodFrom::Given)));
    let execution = thread.execution_ns.as_ref().unwrap();
    assert_eq!((execution.min, execution.max, thread.blocked_ns), (800 * US, 800 * US, 2000 * US));
    assert_eq!(thread.response_ns.as_ref().unwrap().max, 1000 * US);
    // With more of them it is found, also for those before it showed.
    for n in 10..40 {
        let at = 1000 + n * 10_000;
        story.wake(at, 4, IDLE).switch(at, IDLE, Left::Preempted, 4).switch(
            at + 500,
            4,
            Left::Sleeping,
            IDLE,
        );
        story.wake(at + 700, 4, IDLE).switch(at + 700, IDLE, Left::Preempted, 4);
        story.switch(at + 1000, 4, Left::Sleeping, IDLE);
    }
    let report = story.report();
    let thread = of(&report, 4);
    assert_eq!((thread.invocations, thread.period_ns), (40, Some(10 * MS)));
    assert_eq!(thread.execution_ns.as_ref().unwrap().min, 800 * US);
    // A deadline that no execution can meet is explained as such.
    let impossible = Options {
        periods: vec![
            (Who::Name("thread 4".into()), Span::from_micros(300)),
            (Who::Tid(4), Span::from_micros(300)),
        ],
        ..Options::default()
    };
    let report = analyze(&story.recording(), &impossible);
    assert_eq!(report.missed_deadlines, of(&report, 4).missed);
    assert!(report.misses[0].explanation.contains("late"), "{}", report.misses[0].explanation);
}

#[test]
fn a_period_that_the_recording_does_not_bear_out_merges_no_jobs() {
    // Twenty releases look like a period, and those after them follow each other within half of it.
    let mut random = Random::from_seed(3);
    let mut at_us = 1_000;
    let releases: Vec<u64> = (0..220)
        .map(|number| {
            at_us += if number < 20 { 10_000 } else { 200 + random.below(4_000) };
            at_us
        })
        .collect();
    let mut story = Story::default();
    for at in &releases {
        story.wake(*at, 7, IDLE).switch(*at, IDLE, Left::Preempted, 7);
        story.switch(at + 100, 7, Left::Sleeping, IDLE);
    }
    let report = story.report();
    let thread = of(&report, 7);
    assert_eq!((thread.period_ns, thread.invocations, thread.incomplete), (None, 220, 0));
    for times in [&thread.execution_ns, &thread.response_ns] {
        let times = times.as_ref().unwrap();
        assert_eq!((times.min, times.max), (100 * US, 100 * US));
    }
    let found: Vec<u64> = story.jobs(7).iter().map(|job| job.release_ns / US).collect();
    assert_eq!(found, releases);
}

#[test]
fn waiting_for_a_device_belongs_to_the_job() {
    let mut story = Story::default();
    story.wake(100, 4, IDLE).switch(100, IDLE, Left::Preempted, 4);
    story.switch(200, 4, Left::Uninterruptible, IDLE).wake(900, 4, IDLE).switch(
        910,
        IDLE,
        Left::Preempted,
        4,
    );
    story.switch(1000, 4, Left::Sleeping, IDLE);
    let jobs = story.jobs(4);
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].execution_ns, jobs[0].response_ns()), (190 * US, 900 * US));
    assert_eq!(jobs[0].delayed_ns(DelayKind::Blocked), 700 * US);
    assert_eq!(jobs[0].delayed_ns(DelayKind::Preempted), 10 * US);
}

#[test]
fn a_lock_holder_that_was_held_up_itself_is_seen_through() {
    let mut story = Story { priorities: vec![(1, 9), (2, 49), (3, 89)], ..Story::default() };
    story.thread(1, 0, "high", false).thread(2, 0, "middle", false).thread(3, 0, "low", false);
    // The low one has a lock that the high one wants; the middle one, which has nothing to do with it, comes between.
    story.wake(100, 3, IDLE).switch(100, IDLE, Left::Preempted, 3);
    story.wake(200, 1, IDLE).switch(200, 3, Left::Preempted, 1);
    story.switch(300, 1, Left::Uninterruptible, 3).wake(400, 2, IDLE).switch(
        400,
        3,
        Left::Preempted,
        2,
    );
    story.switch(1400, 2, Left::Sleeping, 3).wake(1500, 1, 3).switch(1500, 3, Left::Preempted, 1);
    story.switch(1600, 1, Left::Sleeping, 3).switch(1700, 3, Left::Sleeping, IDLE);
    let report = story.report();
    let job = &story.jobs(1)[0];
    let behind = Some(Behind { who: Culprit::Thread(2), ns: 1000 * US });
    let kind = DelayKind::Blocked;
    assert_eq!(
        job.delays,
        [Delay { who: Culprit::Thread(3), kind, ns: 1200 * US, times: 1, behind }]
    );
    assert_eq!(
        explain(job, &report),
        "1.40 ms from release to finish: 1.20 ms waiting until low woke it (lock holder?) after 1.00 ms behind middle"
    );
    assert_eq!(of(&report, 1).blocking_ns.as_ref().unwrap().max, 1200 * US);
}

#[test]
fn a_thread_of_equal_priority_blocks_nobody() {
    let mut story = Story { priorities: vec![(1, 9), (2, 9), (3, 89)], ..Story::default() };
    // The first waits for the second, of its own priority, before it starts.
    story.wake(100, 2, IDLE).switch(100, IDLE, Left::Preempted, 2).wake(200, 1, IDLE);
    story.switch(1100, 2, Left::Sleeping, 1).switch(1200, 1, Left::Sleeping, IDLE);
    assert_eq!(of(&story.report(), 1).blocking_ns.as_ref().unwrap().max, 0);
}

#[test]
fn a_thread_of_equal_priority_does_not_shorten_the_blocking_by_a_lock() {
    let mut story = Story { priorities: vec![(1, 9), (2, 9), (3, 89)], ..Story::default() };
    // The third has a lock that the first wants, and the second, as urgent as the first, comes between.
    story.wake(100, 3, IDLE).switch(100, IDLE, Left::Preempted, 3);
    story.wake(200, 1, IDLE).switch(200, 3, Left::Preempted, 1);
    story.switch(300, 1, Left::Uninterruptible, 3);
    story.wake(400, 2, IDLE).switch(400, 3, Left::Preempted, 2);
    story.switch(1400, 2, Left::Sleeping, 3).wake(1500, 1, 3).switch(1500, 3, Left::Preempted, 1);
    story.switch(1600, 1, Left::Sleeping, 3).switch(1700, 3, Left::Sleeping, IDLE);
    assert_eq!(of(&story.report(), 1).blocking_ns.as_ref().unwrap().max, 1200 * US);
}

#[test]
fn interrupts_are_taken_off_the_execution_time() {
    let mut story = Story::default();
    story.wake(100, 4, IDLE).switch(100, IDLE, Left::Preempted, 4);
    story.push(150, What::InterruptEntry(Interrupt::Hard(24)));
    story
        .push(160, What::InterruptEntry(Interrupt::Soft(1)))
        .push(170, What::InterruptExit(Interrupt::Soft(1)));
    story.push(180, What::InterruptExit(Interrupt::Hard(24)));
    story.switch(300, 4, Left::Sleeping, IDLE);
    story
        .push(350, What::InterruptEntry(Interrupt::Soft(3)))
        .push(360, What::InterruptExit(Interrupt::Soft(3)));
    story.switch(400, IDLE, Left::Preempted, 9);
    let job = &story.jobs(4)[0];
    assert_eq!((job.execution_ns, job.response_ns()), (170 * US, 200 * US));
    let kind = DelayKind::Interrupted;
    assert_eq!(
        job.delays,
        [Delay { who: Culprit::Interrupt(24), kind, ns: 30 * US, times: 1, behind: None }]
    );
    let report = story.report();
    assert_eq!(report.cpus[0].interrupts_ns, 40 * US);
    assert_eq!(report.cpus[0].busy_ns + report.cpus[0].idle_ns, report.cpus[0].seen_ns);
    assert_eq!((of(&report, 4).running_ns, of(&report, 4).interrupted_ns), (170 * US, 30 * US));
    assert_eq!(of(&report, 4).preempted_by.first().unwrap().name, "interrupt 24");
}

/// Two threads, each with a job every ms on a processor of its own.
fn two_processors() -> Story {
    let mut story = Story::default();
    for n in 0..100 {
        let at = 1000 + n * 1000;
        for (cpu, tid) in [(0, 10), (1, 11)] {
            story.on(cpu).wake(at, tid, IDLE).switch(at + 5, IDLE, Left::Preempted, tid);
            story.switch(at + 205, tid, Left::Sleeping, IDLE);
        }
    }
    story
}

#[test]
fn the_release_jitter_of_a_marked_task_is_that_of_its_releases() {
    let mut entries = Vec::new();
    for cycle in 0..100_u64 {
        // Each third release is 0.2 ms late, and each second start 0.5 ms.
        let release = 10_000 * (cycle + 1) + 200 * u64::from(cycle % 3 == 0);
        let start = release + 500 * u64::from(cycle % 2 == 0);
        for (at, kind, value) in [
            (start, EventKind::Start, release),
            (start + 1_000, EventKind::Finish, release + 5_000),
        ] {
            entries.push(Entry { cycle: cycle as u32, ..entry(at, kind, value) });
        }
    }
    let track = Track { name: "loop".into(), pid: 10, tid: 10, entries, ..Track::default() };
    let recording = Recording::new(Vec::new(), Vec::new(), vec![track]);
    let report = analyze(&recording, &Options::default());
    let task = &report.tasks[0];
    assert_eq!(task.release_jitter_ns, Some(400 * US));
    let latency = task.latency_ns.as_ref().unwrap();
    assert_eq!((latency.min, latency.max), (0, 500 * US));
}

#[test]
fn nothing_is_said_of_a_gap() {
    let whole = two_processors().report();
    assert_eq!((of(&whole, 10).invocations, of(&whole, 11).invocations), (100, 100));
    let mut story = two_processors();
    // On processor 0 everything from 20.1 to 23.1 ms is lost: the end of one job, two others, the start of a fourth.
    let hole = 20_100 * US..23_100 * US;
    story.events.retain(|event| event.cpu != 0 || !hole.contains(&event.at.nanos()));
    story.on(0).push(23_100, What::Lost(9));
    let report = story.report();
    assert_eq!(report.lost_events, 9);
    assert_eq!(report.gaps, [Gap { cpu: 0, from_ns: 20_005 * US, to_ns: 23_100 * US, lost: 9 }]);
    let cut = of(&report, 10);
    assert_eq!((cut.invocations, cut.incomplete), (96, 2));
    assert_eq!(cut.execution_ns.as_ref().unwrap().max, 200 * US);
    assert_eq!(cut.response_ns.as_ref().unwrap().max, 205 * US);
    assert_eq!(cut.interval_ns.as_ref().unwrap().max, 1000 * US);
    assert_eq!(cut.period_ns, Some(MS));
    assert!((cut.utilization - 0.2).abs() < 1e-9);
    // The other might have run on processor 0 while it was not running on its own.
    let other = of(&report, 11);
    assert!(other.invocations >= 96 && other.execution_ns.as_ref().unwrap().max == 200 * US);
    assert!(other.interval_ns.as_ref().unwrap().count <= 97);
    assert_eq!(report.cpus[0].seen_ns, whole.cpus[0].seen_ns - 3_095 * US);
    assert!(
        report.notes[0].starts_with("9 events are lost, in a gap of 3.10 ms"),
        "{}",
        report.notes[0]
    );
    let wanted = Wanted { of: Of::Thread(10), ..EVERYTHING };
    let jobs = jobs(&story.recording(), &Options::default(), &wanted);
    assert_eq!(jobs.iter().filter(|job| !job.complete).count(), 2);
}

#[test]
fn a_pause_of_a_recording_is_no_loss() {
    let mut story = two_processors();
    let hole = 20_100 * US..23_100 * US;
    story.events.retain(|event| !hole.contains(&event.at.nanos()));
    for cpu in [0, 1] {
        story.on(cpu).push(23_100, What::Lost(0));
    }
    let mut recording = story.recording();
    let first = |recording: &Recording| analyze(recording, &Options::default()).notes.remove(0);
    let foreign = first(&recording);
    assert!(foreign.starts_with("an unknown number of events is lost in 2 gaps of"), "{foreign}");
    recording.conditions.push(("hemiola".into(), "0.1.0".into()));
    let own = first(&recording);
    let expected =
        "nothing was recorded in a stretch of 3.10 ms together, because recording was stopped or";
    assert!(own.starts_with(expected), "{own}");
    // The recorder states that there are gaps whose size it does not know.
    recording.conditions.push(("missing.gaps".into(), "1".into()));
    assert_eq!(first(&recording), foreign);
}

#[test]
fn pauses_at_the_ends_are_named_as_the_recorder_states_them() {
    let mut recording = two_processors().recording();
    let mut notes = |conditions: &[(&str, &str)]| {
        recording.conditions =
            conditions.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        let notes = analyze(&recording, &Options::default()).notes;
        let said = |note: &String| note.contains("because recording was stopped");
        notes.into_iter().filter(said).collect::<Vec<String>>()
    };
    let of = |ends: &str| -> Vec<String> {
        let rest = "because recording was stopped: no figure includes that time";
        vec![format!("nothing was recorded in {ends}, {rest}")]
    };
    assert_eq!(notes(&[("paused.before", "0.3s")]), of("the first 300 ms"));
    assert_eq!(notes(&[("paused.after", "2s")]), of("the last 2.00 s"));
    let both = [("paused.before", "1500000ns"), ("paused.after", "2s")];
    assert_eq!(notes(&both), of("the first 1.50 ms and in the last 2.00 s"));
    let none: Vec<String> = Vec::new();
    assert_eq!(notes(&[("paused.before", "soon"), ("paused.after", "0s")]), none);
}

#[test]
fn a_processor_without_a_switch_is_neither_idle_nor_busy() {
    let mut story = two_processors();
    story.on(2).wake(5_000, 10, IDLE);
    let report = story.report();
    assert_eq!((report.cpus[2].cpu, report.cpus[2].seen_ns), (2, 0));
    let note = "processor 2 did not switch threads: one thread had it all the time, or none, and no figure includes it";
    assert!(report.notes.iter().any(|said| said == note), "{:?}", report.notes);
    let table = tables::tables(&report).into_iter().find(|table| table.title == "Processors");
    assert_eq!(table.unwrap().rows[2].last().unwrap(), "–");
}

#[test]
fn a_processor_that_is_taken_away_cuts_only_what_ran_there() {
    let mut story = two_processors();
    let hole = 20_100 * US..=23_100 * US;
    story.events.retain(|event| event.cpu != 0 || !hole.contains(&event.at.nanos()));
    story.on(0).push(20_100, What::Online(false)).push(23_100, What::Online(true));
    let report = story.report();
    assert_eq!(report.gaps, [Gap { cpu: 0, from_ns: 20_100 * US, to_ns: 23_100 * US, lost: 0 }]);
    assert_eq!(of(&report, 11).invocations, 100);
    assert_eq!(of(&report, 10).execution_ns.as_ref().unwrap().max, 200 * US);
    assert_eq!(report.cpus[0].busy_ns, 96 * 200 * US + 200 * US);
}

#[test]
fn events_that_contradict_each_other_cut_and_are_counted() {
    let mut story = two_processors();
    // A switch is missing without a reported loss.
    let missing = story
        .events
        .iter()
        .position(|event| event.cpu == 0 && event.at.nanos() == 30_005 * US)
        .unwrap();
    story.events.remove(missing);
    let report = story.report();
    assert_eq!(of(&report, 10).invocations, 99);
    assert!(
        report.notes.iter().any(|note| note.contains("not fit what came before")),
        "{:?}",
        report.notes
    );
    // A clock that goes back: what is earlier counts as of now.
    let mut events: Vec<Event> = two_processors().recording().events().collect();
    events[40].at = Instant::from_nanos(5);
    let mut recording = Recording::new(Vec::new(), Vec::new(), Vec::new());
    let count = events.len();
    recording.clone_from(&Recording::new(events, Vec::new(), Vec::new()));
    assert_eq!(recording.events().count(), count);
    let report = analyze(&recording, &Options::default());
    assert!(of(&report, 10).execution_ns.as_ref().unwrap().max <= 200 * US);
}

#[test]
fn a_number_that_is_used_again_is_another_thread_and_a_new_name_is_not() {
    let mut story = Story::default();
    story.thread(7, 0, "sh", false).thread(7, 350, "first", false).thread(7, 1000, "second", true);
    story.wake(100, 7, IDLE).switch(100, IDLE, Left::Preempted, 7).switch(
        300,
        7,
        Left::Sleeping,
        IDLE,
    );
    story.wake(400, 7, IDLE).switch(400, IDLE, Left::Preempted, 7).switch(500, 7, Left::Dead, IDLE);
    story.wake(1100, 7, IDLE).switch(1100, IDLE, Left::Preempted, 7).switch(
        1140,
        7,
        Left::Sleeping,
        IDLE,
    );
    let report = story.report();
    let named: Vec<(&str, u64, &[String])> = report
        .threads
        .iter()
        .map(|thread| (thread.name.as_str(), thread.invocations, thread.names_before.as_slice()))
        .collect();
    assert_eq!(named, [("first", 2, ["sh".to_owned()].as_slice()), ("second", 1, [].as_slice())]);
}

#[test]
fn without_wake_ups_an_invocation_begins_when_it_runs() {
    let mut story = Story::default();
    for n in 0..50 {
        let at = 1000 + n * 2000;
        story.switch(at, UNKNOWN, Left::Unknown, 4).switch(at + 300, 4, Left::Preempted, UNKNOWN);
        story.switch(at + 400, UNKNOWN, Left::Unknown, 4).switch(
            at + 500,
            4,
            Left::Sleeping,
            UNKNOWN,
        );
    }
    let report = story.report();
    let thread = of(&report, 4);
    // Of the first it is not known whether it began there.
    assert_eq!((thread.invocations, thread.incomplete, thread.period_ns), (49, 1, Some(2 * MS)));
    assert_eq!(thread.execution_ns.as_ref().unwrap().max, 400 * US);
    assert_eq!(thread.response_ns.as_ref().unwrap().max, 500 * US);
    assert_eq!(
        (thread.preempted_by.first().unwrap().who, thread.preempted_by.first().unwrap().ns),
        (Culprit::Unknown, 5000 * US)
    );
    assert_eq!(report.notes.len(), 1);
    assert!(report.notes[0].starts_with("no wake-ups recorded"));
}

#[test]
fn marks_without_the_kernels_side_have_the_programs_own_figures() {
    let mut entries = Vec::new();
    for cycle in 0..10_u32 {
        let at = u64::from(cycle) * 1000 + 500;
        let entry = |at: u64, kind, a: u64, b| Entry {
            at: Instant::from_nanos(at * US),
            kind,
            arg: 0,
            cycle,
            a: a * US,
            b,
        };
        entries.push(entry(at + 10, EventKind::Start, at, 0));
        entries.push(entry(at + 200, EventKind::Finish, at + 1000, 150 * US));
    }
    let track = Track { pid: 5, tid: 5, name: "alone".into(), entries, ..Track::default() };
    let report = analyze(&Recording::new(Vec::new(), Vec::new(), vec![track]), &Options::default());
    let task = &report.tasks[0];
    assert_eq!((task.jobs, task.incomplete, task.period_ns), (10, 0, Some(MS)));
    assert_eq!(task.execution_ns.as_ref().unwrap().mean, 150e3);
    assert_eq!((task.missed, task.utilization), (0, 0.15));
    assert!(report.notes[0].contains("kernel's side was not recorded"));
}

#[test]
fn a_wake_up_on_the_way_to_sleep_is_not_lost() {
    let mut story = Story::default();
    story.wake(100, 4, IDLE).switch(100, IDLE, Left::Preempted, 4);
    // Processor 1 wakes it at 200 while it is leaving, which shows at 201.
    story.on(1).wake(200, 4, 9).on(0).switch(201, 4, Left::Sleeping, 8).switch(
        250,
        8,
        Left::Sleeping,
        4,
    );
    story.switch(300, 4, Left::Sleeping, IDLE);
    let jobs = story.jobs(4);
    assert_eq!(
        jobs.iter().map(|job| (job.release_ns, job.complete)).collect::<Vec<_>>(),
        [(100 * US, true), (201 * US, true)]
    );
    assert_eq!(jobs[1].delays[0].who, Culprit::Thread(8));
}

#[test]
fn the_second_method_gives_the_cost_of_a_switch() {
    let mut recording = two_processors().recording();
    // By /proc 100 ms in which processor 0 was idle for 70: 0.3 busy, and 0.2 by the recording.
    recording.conditions = [
        ("proc.ticks_per_second", "100"),
        ("proc.start.at_ns", "1000000"),
        ("proc.stop.at_ns", "101000000"),
        ("proc.start.cpu0", "5 0 5 1000 0 0 0 0 0 0"),
        ("proc.stop.cpu0", "8 0 5 1006 1 0 0 0 0 0"),
        ("proc.start.cpu1", "5 0 5 1000 0 0 0 0 0 0"),
        ("proc.stop.cpu1", "nonsense"),
        ("proc.start.thread.10", "1000 5 3"),
        ("proc.stop.thread.10", "20001000 5 103"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .to_vec();
    let report = analyze(&recording, &Options::default());
    let accounting = report.accounting.unwrap();
    assert_eq!((accounting.cpus.len(), accounting.length_ns), (1, 100 * MS));
    let cpu = &accounting.cpus[0];
    assert!(
        (cpu.proc_busy - 0.3).abs() < 1e-9 && (cpu.recorded_busy - 0.2).abs() < 0.003,
        "{cpu:?}"
    );
    let cost = accounting.switch_cost.unwrap();
    // A tenth of the time over 2 switches a ms; four ticks of 10 ms leave it open by more.
    assert_eq!(cost.switches, 200);
    assert!(
        (cost.ns - 50e3).abs() < 1_500.0 && cost.low_ns < 0.0 && cost.high_ns > 100e3,
        "{cost:?}"
    );
    assert_eq!(
        (accounting.threads[0].proc_ns, accounting.threads[0].recorded_ns),
        (20 * MS, 20 * MS)
    );
}

#[test]
fn a_stretch_is_drawn_in_characters() {
    let mut story = Story { priorities: vec![(1, 9), (2, 49)], ..Story::default() };
    story.thread(1, 0, "urgent", false).thread(2, 0, "work", false);
    story.wake(100, 2, IDLE).switch(100, IDLE, Left::Preempted, 2);
    story.wake(200, 1, IDLE).switch(200, 2, Left::Preempted, 1).switch(
        300,
        1,
        Left::Uninterruptible,
        2,
    );
    story.switch(400, 2, Left::Sleeping, IDLE).wake(500, 1, IDLE).switch(
        500,
        IDLE,
        Left::Preempted,
        1,
    );
    story.switch(560, 1, Left::Sleeping, IDLE).push(900, What::Lost(3)).switch(
        950,
        IDLE,
        Left::Preempted,
        2,
    );
    let recording = story.recording();
    let report = story.report();
    let stretch = gantt::Stretch { from_ns: 100 * US, to_ns: 1000 * US, columns: 36, only: None };
    insta::assert_snapshot!(gantt::gantt(&recording, &report, stretch), @r"
                       |0.000000 s 25.0 µs each 0.000900 s|
processor 0            ████████████    ██??????????????  ██
work 2                 ████····████      ????????????????██
urgent 1               ????████~~~~~~~~██??????????????????
█ runs  ▄ runs less than half of the time  · ready, waits for a processor  ~ waits for a device or lock  ? not seen  ! misses its deadline
");
    let only = gantt::Stretch { only: Some(1), ..stretch };
    assert!(!gantt::gantt(&recording, &report, only).contains("work"));
}

#[test]
fn the_tables_of_a_known_recording() {
    let tasks = [
        Task { jitter_ns: 40 * US, execution_min_ns: 150 * US, ..task(11, 9, 1000, 250) },
        Task { execution_min_ns: 800 * US, ..task(13, 29, 10_000, 2400) },
    ];
    let (recording, _) = run(&tasks, 200 * MS, 1);
    let options = Options {
        periods: vec![(Who::Name("task 13".into()), Span::from_micros(2850))],
        ..Options::default()
    };
    let report = analyze(&recording, &options);
    let text: Vec<String> =
        tables::tables(&report).iter().map(hemiola_report::terminal::table).collect();
    insta::assert_snapshot!(text.join("\n\n"), @r"
Threads: 411 switches in 189 ms, processors 34.7 % busy, ΣC/T 68.9 %
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Thread   Tid   Prio  Jobs   C min     mean      max        T       U  Response p50      p99      max  Preempted   Waited
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
task 11   11  rt 90   190  151 µs   198 µs   249 µs  1.00 ms  19.8 %        196 µs   249 µs   249 µs          0     0 ns
task 13   13  rt 70    20  803 µs  1.40 ms  2.19 ms  2.85 ms  49.1 %       1.76 ms  2.85 ms  2.85 ms         36  8.28 ms
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
A job lasts from wake-up to sleep. C: processor time of a job, free of preemption. T: found in the
wake-ups, or given. U: C/T, without a period the share of the time. Response: from wake-up to sleep.
Waited: ready without a processor, altogether.

Threads that had the processor while another was ready
──────────────────────────────────────────────────────────────────────
Thread        By            In total  Before it began  Times  Longest
──────────────────────────────────────────────────────────────────────
task 13 [13]  task 11 [11]   8.28 ms          1.26 ms     43   246 µs
──────────────────────────────────────────────────────────────────────
Before it began: after the wake-up, before the first instruction of a job; the rest is preemption.

Missed deadlines, explained
───────────────────────────────────────────────────────────────────────────────────────────────────────
Released at  Task     Job  Why
───────────────────────────────────────────────────────────────────────────────────────────────────────
0.160000 s   task 13   16  93.1 µs late at most, 1 of 2 jobs without a sleep between them, the last
                           not: 2.33 ms computing (usually 1.18 ms), 445 µs preempted by task 11, 164
                           µs waiting while task 11 had the processor
───────────────────────────────────────────────────────────────────────────────────────────────────────
Deadlines missed: 1. Shown: the first 1.

Processors
─────────────────────────────────────────────────────────────────────
Processor  Switches    Seen     Busy    Idle  Interrupts  Busy share
─────────────────────────────────────────────────────────────────────
0               411  189 ms  65.7 ms  124 ms        0 ns      34.7 %
─────────────────────────────────────────────────────────────────────
");
    let thread = of(&report, 13);
    let jobs = jobs(&recording, &options, &Wanted { of: Of::Thread(13), ..EVERYTHING });
    let text: Vec<String> = tables::thread_tables(&report, thread, &jobs)
        .iter()
        .map(hemiola_report::terminal::table)
        .collect();
    insta::assert_snapshot!(text.join("\n\n"), @r"
task 13 [13]
────────────────────────────────────────────────────────────────────────────────
Time       Count      Min     Mean      p50      p90      p99      Max      Std
────────────────────────────────────────────────────────────────────────────────
execution     20   803 µs  1.40 ms  1.18 ms  2.04 ms  2.19 ms  2.19 ms   436 µs
latency       19     0 ns  66.2 µs     0 ns   210 µs   228 µs   228 µs  90.6 µs
response      20  93.1 µs  1.81 ms  1.76 ms  2.68 ms  2.85 ms  2.85 ms   697 µs
interval      19  2.85 ms  9.47 ms  10.0 ms  10.0 ms  10.0 ms  10.0 ms  1.73 ms
blocking      19     0 ns     0 ns     0 ns     0 ns     0 ns     0 ns     0 ns
────────────────────────────────────────────────────────────────────────────────
Priority rt 70; processors 0; T 2.85 ms, release jitter 0 ns; 28.0 ms of processor time, 8.28 ms
ready, 0 ns blocked, 153 ms asleep; 36 preemptions, 0 migrations; 0 invocations seen in part only.

Threads that had the processor while it was ready
────────────────────────────────────────────────────────
By            In total  Before it began  Times  Longest
────────────────────────────────────────────────────────
task 11 [11]   8.28 ms          1.26 ms     43   246 µs
────────────────────────────────────────────────────────

Threads that released it
─────────────────
By         Times
─────────────────
interrupt     19
─────────────────

Its slowest jobs, and the median one last
─────────────────────────────────────────────────────────────────────────────────────────
Released at  Why
─────────────────────────────────────────────────────────────────────────────────────────
0.160000 s   93.1 µs late: 2.33 ms computing (usually 1.18 ms), 445 µs preempted by task
             11, 164 µs waiting while task 11 had the processor
0.040000 s   2.76 ms from release to finish: 2.19 ms computing (usually 1.18 ms), 576 µs
             preempted by task 11
0.070000 s   2.68 ms from release to finish: 2.08 ms computing (usually 1.18 ms), 598 µs
             preempted by task 11
0.180000 s   2.58 ms from release to finish: 2.04 ms computing (usually 1.18 ms), 537 µs
             preempted by task 11
0.030000 s   2.50 ms from release to finish: 1.97 ms computing (usually 1.18 ms), 348 µs
             preempted by task 11, 180 µs waiting while task 11 had the processor
0.170000 s   1.82 ms from release to finish: 448 µs preempted by task 11, 1.37 ms
             computing (usually 1.18 ms)
─────────────────────────────────────────────────────────────────────────────────────────
");
    insta::assert_snapshot!(csv::write(&report), @r"
kind,name,tid,pid,priority,invocations,incomplete,execution_min_ns,execution_mean_ns,execution_p50_ns,execution_p99_ns,execution_max_ns,period_ns,deadline_ns,release_jitter_ns,latency_p50_ns,latency_p99_ns,latency_max_ns,response_p50_ns,response_p99_ns,response_max_ns,utilization,missed,running_ns,waiting_ns,blocked_ns,preemptions,migrations,most_delayed_by,most_delayed_by_ns
thread,task 11,11,11,9,190,0,151443,198280.76315789475,196156,249229,249456,999952,,73286,0,0,0,196156,249229,249456,0.19829028109138713,0,37673345,0,0,0,0,,
thread,task 13,13,13,29,20,0,803046,1399490.85,1181838,2185441,2185441,2850000,,0,0,227956,227956,1758441,2850001,2850001,0.4910494210526316,1,27989817,8282802,0,36,0,task 11,8282802
");
}

/// A thread of a given period on an otherwise idle processor, which computes for that long in each job, µs; a job of 0
/// never ends.
fn alone(period_us: u64, jobs: &[u64], hold_up: u64) -> Story {
    let mut story = Story { priorities: vec![(7, 39), (9, 9)], ..Story::default() };
    story.thread(7, 0, "seven", false).thread(9, 0, "urgent", false);
    let (mut free, mut running) = (0, false);
    for (number, length) in jobs.iter().enumerate() {
        let release = 1_000 + number as u64 * period_us;
        if running && free <= release {
            story.switch(free, 7, Left::Sleeping, IDLE);
            running = false;
        }
        if !running {
            // Another thread is released with the first job.
            let held_up = if number == 0 { hold_up } else { 0 };
            if held_up > 0 {
                story.wake(release, 9, IDLE).switch(release, IDLE, Left::Idle, 9);
            }
            story.wake(release, 7, IDLE);
            let before = if held_up > 0 { 9 } else { IDLE };
            let left = if held_up > 0 { Left::Sleeping } else { Left::Idle };
            story.switch(release + held_up, before, left, 7);
            (free, running) = (release + held_up, true);
        }
        free += length;
        if *length == 0 {
            // Something else goes on.
            let after = release + 50 * period_us;
            story.on(1).switch(after, IDLE, Left::Idle, 9).switch(
                after + 1,
                9,
                Left::Sleeping,
                IDLE,
            );
            return story;
        }
    }
    story.switch(free, 7, Left::Sleeping, IDLE);
    story
}

fn greatest(report: &Report) -> [u64; 2] {
    let seven = of(report, 7);
    [&seven.execution_ns, &seven.response_ns].map(|of| of.as_ref().unwrap().max / US)
}

#[test]
fn a_job_longer_than_its_period_has_its_own_time_and_those_after_it_theirs() {
    let mut lengths = [3_000; 60];
    lengths[20] = 35_000;
    let periods = vec![(Who::Tid(7), Span::from_millis(10))];
    let given = Options { periods, ..Options::default() };
    let report = analyze(&alone(10_000, &lengths, 0).recording(), &given);
    assert_eq!((of(&report, 7).invocations, greatest(&report)), (60, [35_000, 35_000]));
}

#[test]
fn jobs_before_a_period_was_found_are_counted_by_it() {
    // The first waits for 16 ms, and the next ones are released meanwhile.
    let report = alone(10_000, &[4_000; 60], 16_000).report();
    let seven = of(&report, 7);
    assert_eq!((seven.invocations, seven.period_ns), (60, Some(10 * MS)));
    assert_eq!(greatest(&report), [4_000, 20_000]);
}

#[test]
fn a_job_under_way_at_the_end_has_its_time_so_far() {
    let mut lengths = vec![3_000; 40];
    let sound = alone(10_000, &lengths, 0).report();
    assert_eq!(of(&sound, 7).unfinished_ns, 0);
    lengths.push(0);
    let report = alone(10_000, &lengths, 0).report();
    assert_eq!((of(&report, 7).unfinished_ns, of(&report, 7).missed), (500 * MS + US, 0));
}

#[test]
fn deadlines_missed_in_a_row_are_counted_one_by_one_and_told_together() {
    let mut lengths = [3_000; 60];
    lengths[20] = 35_000;
    let mut story = alone(10_000, &lengths, 0);
    story.thread(7, 0, "seven", false);
    let periods = vec![(Who::Tid(7), Span::from_millis(10))];
    let report = analyze(&story.recording(), &Options { periods, ..Options::default() });
    // Released at 0, 10, 20, 30 and 40 ms, finished at 35, 38, 41, 44 and 47.
    let [miss] = report.misses.as_slice() else { panic!("{:?}", report.misses) };
    assert_eq!((miss.jobs, miss.missed, miss.late_ns), (5, 4, 37 * MS));
    assert_eq!((miss.last_late_ns, report.missed_deadlines), (-3 * MS as i64, 4));
    assert_eq!(
        miss.explanation,
        "37.0 ms late at most, 4 of 5 jobs without a sleep between them, the last not: 47.0 ms computing (usually 3.00 ms each)"
    );
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn as_many_deadlines_are_missed_as_jobs_were_late() {
    let (mut several, mut late_at_last) = (0, 0);
    for seed in 0..200 {
        // Every other one is due before its next release.
        let deadline = if seed % 2 == 0 { 10 } else { 6 };
        let task = Task {
            execution_min_ns: MS,
            execution_max_ns: (8 + seed % 9) * MS,
            ..served(10, 0, [6, deadline, 10])
        };
        // This one runs before it in each period.
        let other = Task { tid: 12, ..served(10, 3, [3, 4, 10]) };
        let (recording, truth) = run(&[task, other], 1_000 * MS, seed);
        let report = analyze(&recording, &Options::default());
        let mut jobs = truth[0].iter().peekable();
        let lateness =
            |job: &TrueJob| job.finish_ns as i64 - (job.release_ns + deadline * MS) as i64;
        if of(&report, 11).period_from != Some(PeriodFrom::Reservation) {
            continue;
        }
        for miss in report.misses.iter().filter(|miss| miss.job.tid == 11) {
            while jobs.next_if(|job| job.release_ns < miss.job.release_ns).is_some() {}
            let row: Vec<i64> = std::iter::from_fn(|| {
                jobs.next_if(|job| job.finish_ns <= miss.job.finish_ns).map(lateness)
            })
            .collect();
            let late = row.iter().filter(|late| **late > 0).count() as u64;
            assert_eq!((miss.jobs, miss.missed), (row.len() as u64, late), "set {seed}: {miss:?}");
            assert_eq!(row.last(), Some(&miss.last_late_ns), "set {seed}: {miss:?}");
            assert!(row.iter().all(|late| *late <= miss.late_ns as i64), "set {seed}: {miss:?}");
            several += u64::from(miss.jobs > 1);
            late_at_last += u64::from(miss.jobs > 1 && miss.last_late_ns > 0);
        }
    }
    assert!(several > 300 && late_at_last > 30, "{several} {late_at_last}");
}

/// A task with that T and C under `SCHED_DEADLINE`: Q, D and P, all in ms.
fn served(period: u64, execution: u64, [runtime, deadline, of_server]: [u64; 3]) -> Task {
    let reservation = Reservation {
        runtime_ns: runtime * MS,
        deadline_ns: deadline * MS,
        period_ns: of_server * MS,
    };
    Task { reservation: Some(reservation), ..task(11, -1, period * 1000, execution * 1000) }
}

#[test]
fn jobs_under_a_reservation_have_the_period_of_their_wake_ups() {
    use PeriodFrom::{Found, Reservation};
    // T, C; Q, D, P; and the period, the times of each job, and how long one is throttled.
    let cases = [
        (served(20, 4, [3, 10, 10]), Some((20, Found)), [4, 11], 7),
        (served(20, 2, [3, 10, 10]), Some((20, Found)), [2, 2], 0),
        (served(35, 7, [3, 8, 10]), Some((35, Found)), [7, 21], 14),
        (served(5, 1, [3, 10, 10]), Some((5, Found)), [1, 1], 0),
        (served(3, 1, [8, 10, 10]), Some((3, Found)), [1, 1], 0),
        (served(10, 2, [3, 6, 10]), Some((10, Reservation)), [2, 2], 0),
        // A sleep until a release that was missed returns at once: all that is known is the reservation.
        (served(10, 4, [3, 10, 10]), Some((10, Reservation)), [0, 0], 0),
        (Task { yields: true, ..served(20, 2, [3, 6, 10]) }, Some((10, Reservation)), [2, 2], 0),
        (Task { jitter_ns: 30 * MS, ..served(45, 4, [3, 7, 7]) }, None, [4, 8], 4),
    ];
    for (task, period, times, throttled) in cases {
        let (recording, truth) = run(std::slice::from_ref(&task), 4_000 * MS, 5);
        let report = analyze(&recording, &Options::default());
        let found = of(&report, 11);
        let period_ns = found.period_ns.map(|period| (period / MS, period % MS));
        assert_eq!(
            period_ns.zip(found.period_from),
            period.map(|(t, from)| ((t, 0), from)),
            "{task:?}"
        );
        let is_late = task.period_ns == 10 * MS && times == [0, 0];
        assert_eq!(found.missed > 300, is_late, "{task:?}");
        if is_late {
            continue;
        }
        assert!(found.invocations.abs_diff(truth[0].len() as u64) <= 1, "{task:?}: {found:?}");
        let all = [&found.execution_ns, &found.response_ns].map(|of| of.as_ref().unwrap());
        // Aperiodic jobs may come early, and then wait for their server.
        let least = all.map(|of| of.min / MS);
        assert_eq!(least, times, "{task:?}: {found:?}");
        let response = truth[0].iter().map(|job| job.finish_ns - job.release_ns).max();
        assert_eq!((all[0].max / MS, Some(all[1].max)), (times[0], response), "{task:?}");
        // Throttled, and delayed by no thread.
        let jobs = found.invocations;
        let is_throttled =
            period.is_none() || found.throttled_ns.abs_diff(jobs * throttled * MS) <= 20 * MS;
        assert!(is_throttled, "{task:?}: {found:?}");
        assert!(
            found.waiting_ns == 0 && found.preempted_by.iter().all(|by| by.tid.is_none()),
            "{found:?}"
        );
    }
}

#[test]
fn a_job_that_yields_after_more_than_its_reservation_counts_once() {
    // C, Q and the time from release to finish, ms: P is 10 ms.
    for (execution, runtime, response) in [(2, 3, 2), (5, 3, 12), (7, 3, 21), (23, 4, 53)] {
        let task = Task { yields: true, ..served(10, execution, [runtime, 8, 10]) };
        let (recording, truth) = run(std::slice::from_ref(&task), 4_000 * MS, 5);
        let report = analyze(&recording, &Options::default());
        let found = of(&report, 11);
        assert!(found.invocations.abs_diff(truth[0].len() as u64) <= 1, "{task:?}: {found:?}");
        let times = [&found.execution_ns, &found.response_ns, &found.interval_ns];
        let times = times.map(|of| of.as_ref().map(|of| (of.min / MS, of.max / MS)));
        let interval = u64::div_ceil(response, 10) * 10;
        assert_eq!(times, [execution, response, interval].map(|ms| Some((ms, ms))), "{task:?}");
        assert!(found.overran == 0 && found.incomplete <= 1, "{task:?}: {found:?}");
        let late = if response > 8 { found.invocations } else { 0 };
        assert!(found.missed.abs_diff(late) <= 1, "{task:?}: {found:?}");
    }
}

#[test]
fn a_job_does_not_end_where_the_kernel_notices_late_that_its_reservation_is_used_up() {
    // Q is 3 ms and P 10 ms. A job of 7 ms runs for 4 ms until a tick stops it, so it has only 2 ms in the next period.
    // It is stopped there on its way to user space, which looks like sched_yield(2), and yields after 1 ms in the
    // third.
    let mut story = Story { priorities: vec![(7, -1)], ..Story::default() };
    story.switch(0, UNKNOWN, Left::Preempted, IDLE).wake(1_000, 7, IDLE);
    for start in (0..40).map(|job| 1_000 + 30_000 * job) {
        story.switch(start, IDLE, Left::Preempted, 7);
        story.switch(start + 4_000, 7, Left::Preempted, IDLE);
        story.switch(start + 10_000, IDLE, Left::Preempted, 7);
        story.switch(start + 12_000, 7, Left::Yielded, IDLE);
        story.switch(start + 20_000, IDLE, Left::Preempted, 7);
        story.switch(start + 21_000, 7, Left::Yielded, IDLE);
    }
    let reservation = Reservation { runtime_ns: 3 * MS, deadline_ns: 10 * MS, period_ns: 10 * MS };
    let mut recording = story.recording();
    recording.conditions = vec![reservation.condition(Tid(7))];
    let report = analyze(&recording, &Options::default());
    let found = of(&report, 7);
    let times = [&found.execution_ns, &found.response_ns, &found.interval_ns];
    let times = times.map(|of| of.as_ref().map(|of| (of.count, of.min / MS, of.max / MS)));
    assert_eq!(times, [Some((40, 7, 7)), Some((40, 21, 21)), Some((39, 30, 30))], "{found:?}");
}

#[test]
fn a_period_that_is_given_counts_before_the_reservation() {
    let (recording, _) = run(&[served(20, 4, [3, 10, 10])], 4_000 * MS, 5);
    let periods = vec![(Who::Tid(11), Span::from_millis(20))];
    let report = analyze(&recording, &Options { periods, ..Options::default() });
    let found = of(&report, 11);
    assert_eq!(
        (found.period_ns, found.period_from, found.missed),
        (Some(20 * MS), Some(PeriodFrom::Given), 0)
    );
    assert_eq!(found.execution_ns.as_ref().unwrap().max, 4 * MS);
}

#[test]
fn a_note_says_whose_jobs_were_seen_in_part_only() {
    // Each job of the task begins twice: the first beginning has no end.
    let marked = |jobs: u64| {
        let mut story = alone(10_000, &[3_000; 40], 0);
        let at = |n: u64| 1_000 + n * 10_000;
        let mut entries = Vec::new();
        for n in 0..40 {
            if n < jobs {
                entries.push(entry(at(n) + 10, EventKind::Start, at(n)));
            }
            entries.push(entry(at(n) + 20, EventKind::Start, at(n)));
            entries.push(entry(at(n) + 2_900, EventKind::Finish, at(n) + 5_000));
        }
        let name = "con\ntrol".into();
        story.tracks = vec![Track { pid: 7, tid: 7, name, entries, ..Track::default() }];
        let report = story.report();
        assert_eq!(report.tasks[0].incomplete, jobs);
        report.notes.into_iter().filter(|note| note.contains("in part")).collect::<Vec<_>>()
    };
    // The beginning and the end of a recording cut one job each.
    assert!(marked(0).is_empty() && marked(2).is_empty());
    let note = "jobs seen in part only, which are in no distribution: con\\u{a}trol (3 of 43)";
    assert_eq!(marked(3), [note]);
}

#[test]
fn a_marked_job_that_does_not_end_by_its_deadline_is_missed_while_its_thread_lives() {
    let marked = |story: &mut Story, jobs: u64, last: Option<u64>| {
        let mut entries = Vec::new();
        for at in (0..jobs).map(|n| 1_000 + n * 10_000) {
            entries.push(entry(at + 10, EventKind::Start, at));
            entries.push(entry(at + 2_900, EventKind::Finish, at + 5_000));
        }
        entries.extend(last.map(|at| entry(at + 10, EventKind::Start, at)));
        story.tracks =
            vec![Track { pid: 7, tid: 7, name: "control".into(), entries, ..Track::default() }];
        let report = story.report();
        (report.tasks[0].missed, report.tasks[0].incomplete, report.missed_deadlines)
    };
    let mut lengths = vec![3_000; 40];
    assert_eq!(marked(&mut alone(10_000, &lengths, 0), 40, None), (0, 0, 0));
    lengths.push(0);
    let begun = Some(1_000 + 40 * 10_000);
    assert_eq!(marked(&mut alone(10_000, &lengths, 0), 40, begun), (1, 1, 1));
    // A thread that ended before the deadline cannot miss it, and one whose deadline is to come has not.
    let mut ended = alone(10_000, &lengths, 0);
    let last = ended.events.len() - 2;
    let switch = What::Switch { prev: Tid(7), left: Left::Dead, next: Tid(IDLE), priority: 120 };
    let at = Instant::from_nanos((1_000 + 40 * 10_000 + 4_000) * US);
    ended.events.insert(last, Event { at, cpu: 0, what: switch });
    assert_eq!(marked(&mut ended, 40, begun), (0, 1, 0));
    let mut cut = alone(10_000, &[3_000; 41], 0);
    assert_eq!(marked(&mut cut, 40, begun), (0, 1, 0));
}
