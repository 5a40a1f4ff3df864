//! Verdicts on hand-made recordings.

use hemiola_analyze::sched::report::{Accounting, SwitchCost};
use hemiola_analyze::sched::{
    CpuReport, Distribution, Options, PeriodFrom, Report, Reservation, TaskReport, ThreadReport,
    Who, analyze, synthetic,
};
use hemiola_report::terminal;

use proptest::prelude::*;

use super::*;
use crate::schedulability::{LeftOutReason, doubts_of_jobs};

const MS: u64 = 1_000_000;

/// The kernel's number for `SCHED_FIFO` of this priority.
const fn fifo(priority: i16) -> Option<i16> {
    Some(99 - priority)
}

fn distribution(max: u64) -> Option<Distribution> {
    let count = 1000;
    Some(Distribution { count, p50: max, p99: max, max, ..Distribution::default() })
}

/// A thread on processor 1 that computes `c` ms every `t` ms.
fn thread(name: &str, tid: u32, priority: Option<i16>, c: u64, t: u64) -> ThreadReport {
    ThreadReport {
        name: name.into(),
        tid,
        priority,
        cpus: vec![1],
        execution_ns: distribution(c * MS),
        period_ns: (t > 0).then_some(t * MS),
        response_ns: distribution(c * MS),
        running_ns: c * MS,
        ..ThreadReport::default()
    }
}

fn report(threads: impl Into<Vec<ThreadReport>>) -> Report {
    Report { to_ns: 1000 * MS, threads: threads.into(), ..Report::default() }
}

/// Lehoczky, Sha and Ding's set: the third finishes after 300 ms at most.
fn textbook() -> [ThreadReport; 3] {
    [
        thread("logger", 12, fifo(10), 100, 350),
        thread("control", 10, fifo(80), 40, 100),
        thread("filter", 11, fifo(40), 40, 150),
    ]
}

/// One sentence per line.
fn sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

fn bounds(processor: &ProcessorVerdict) -> Vec<Option<u64>> {
    processor.tasks.iter().map(|task| task.bound_ns.map(|bound| bound / MS)).collect()
}

#[test]
fn a_recorded_textbook_set_gets_the_textbook_answer() {
    let found = verdict(&report(textbook()), Some(Span::ZERO));
    let processor = &found.processors[0];
    assert_eq!(bounds(processor), [Some(40), Some(80), Some(300)]);
    assert_eq!((found.processors.len(), processor.cpu, processor.answer), (1, 1, Answer::Yes));
    let text: Vec<String> = found.tables().iter().map(terminal::table).collect();
    insta::assert_snapshot!(text.join("\n"), @r"
Task set of processor 1
───────────────────────────────────────────────────────────────────────────────────────────────────────
Task     Runs at         C max       T       D     B     J       U   R seen  R bound   with J  C limit
───────────────────────────────────────────────────────────────────────────────────────────────────────
control  real time 80  40.0 ms  100 ms  100 ms  0 ns  0 ns  40.0 %  40.0 ms  40.0 ms  40.0 ms  40.0 ms
filter   real time 40  40.0 ms  150 ms  150 ms  0 ns  0 ns  26.7 %  40.0 ms  80.0 ms  80.0 ms  40.0 ms
logger   real time 10   100 ms  350 ms  350 ms  0 ns  0 ns  28.6 %   100 ms   300 ms   300 ms   100 ms
───────────────────────────────────────────────────────────────────────────────────────────────────────
C, B and R seen are the greatest observed values, J is half the spread of the release intervals. R
bound: the longest response in the worst case. C limit: the longest execution time without a missed
deadline, the other tasks unchanged.
Is processor 1 schedulable?
─────────────────────────────────────────────────────────────────────────────────────
Test                                       Value  Limit  Schedulable  Limit of all C
─────────────────────────────────────────────────────────────────────────────────────
Liu and Layland, as it ran                 0.952  0.780  cannot tell               –
hyperbolic bound, as it ran                2.280  2.000  cannot tell               –
response times, as it ran                      –      –  yes                  1.00 ×
processor demand, earliest deadline first      –      –  yes                  1.05 ×
─────────────────────────────────────────────────────────────────────────────────────
Processor 1: schedulable as it ran. Every deadline is kept, even after a simultaneous release; the
tightest is logger, with 300 ms of 350 ms. Execution times cannot grow together. U = 95.2 %,
switches not included.
");
}

#[test]
fn in_a_simulated_recording_responses_reach_their_bounds() {
    let task = |(tid, c, t): (u32, u64, u64)| synthetic::Task {
        name: format!("task {tid}"),
        tid,
        cpu: 1,
        priority: tid as i16,
        period_ns: t * MS,
        offset_ns: MS,
        jitter_ns: 0,
        execution_min_ns: c * MS,
        execution_max_ns: c * MS,
        ..synthetic::Task::default()
    };
    let tasks = [(10, 40, 100), (20, 40, 150), (30, 100, 350)].map(task);
    // The hyperperiod is 2.1 s.
    let (recording, _) = synthetic::run(&tasks, 10_000 * MS, 1);
    let found = verdict(&analyze(&recording, &Options::default()), Some(Span::ZERO));
    let processor = &found.processors[0];
    assert_eq!((bounds(processor), found.left_out.len()), (vec![Some(40), Some(80), Some(300)], 0));
    for task in &processor.tasks {
        assert_eq!(task.bound_ns, task.measured.response_ns, "{task:?}");
        assert!(!task.is_contradicted() && !task.is_outlier());
    }
}

#[test]
fn priorities_against_the_periods_are_judged_as_they_were() {
    let mut threads = textbook();
    (threads[0].priority, threads[1].priority) = (threads[1].priority, threads[0].priority);
    let processor = &verdict(&report(threads), None).processors[0];
    assert_eq!(processor.answer, Answer::No);
    // The control task waits for both: 40 + 100 + 40 + 40, since the next filter job is released at 150.
    assert_eq!(bounds(processor), [Some(100), Some(140), Some(220)]);
    insta::assert_snapshot!(sentences(&processor.verdict), @r"
Processor 1: not schedulable as it ran.
control may finish 220 ms after its release, 120 ms too late.
It would be with execution times of 0.55 × the observed ones.
Every deadline would be kept with rate-monotonic priorities or with earliest deadline first.
No miss was recorded: the worst case did not occur.
");
}

#[test]
fn equal_priorities_delay_each_other() {
    let threads = [thread("a", 1, fifo(5), 2, 10), thread("b", 2, fifo(5), 3, 10)];
    assert_eq!(bounds(&verdict(&report(threads), None).processors[0]), [Some(5), Some(5)]);
}

#[test]
fn an_overloaded_processor_has_no_bound_but_a_tolerated_factor() {
    let threads = [thread("a", 1, fifo(9), 6, 10), thread("b", 2, fifo(5), 6, 10)];
    let processor = &verdict(&report(threads), None).processors[0];
    assert_eq!(processor.tasks[1].execution_tolerated_ns, Some(4 * MS));
    insta::assert_snapshot!(sentences(&processor.verdict), @r"
Processor 1: not schedulable as it ran.
b has no bound: it and the tasks of higher priority demand more than the whole processor.
It would be with execution times of 0.83 × the observed ones.
No miss was recorded: the worst case did not occur.
");
}

#[test]
fn a_miss_that_was_recorded_is_never_denied() {
    let set = || [thread("a", 1, fifo(9), 6, 10), thread("b", 2, fifo(5), 6, 10)];
    let denied = "No miss was recorded";
    assert!(verdict(&report(set()), None).processors[0].verdict.contains(denied));
    // A job that ended after its deadline is a miss, whether it was counted as one or not.
    let [mut counted, mut seen] = [set(), set()];
    counted[1].missed = 3;
    seen[1].response_ns = distribution(11 * MS);
    for threads in [counted, seen] {
        let found = verdict(&report(threads), None);
        let words = format!("{:?} {:?} {:?}", found.processors[0], found.notes, found.tables());
        assert_eq!(found.processors[0].answer, Answer::No);
        assert!(!words.contains(denied) && found.processors[0].tasks[1].was_late(), "{words}");
    }
}

#[test]
fn a_job_hardly_longer_than_most_is_no_outlier() {
    let noted = |p99: u64| {
        let mut threads = [thread("a", 1, fifo(9), 12, 100)];
        threads[0].execution_ns.as_mut().unwrap().p99 = p99;
        verdict(&report(threads), None).notes.iter().any(|note| note.contains("an outlier"))
    };
    // 12 ms where 99 % take at most 11.99 ms, and where they take at most 0.1 ms.
    assert_eq!([noted(11_990_000), noted(100_000)], [false, true]);
}

#[test]
fn threads_that_cannot_be_judged_are_named_with_the_reason() {
    let mut threads = vec![
        thread("fixed", 1, fifo(5), 1, 10),
        thread("wanders", 2, fifo(6), 1, 10),
        thread("irq/9-acpi", 3, fifo(50), 1, 0),
        thread("editor", 4, Some(120), 5, 20),
        thread("starting", 5, fifo(3), 1, 10),
        thread("asleep", 6, fifo(99), 1, 10),
    ];
    (threads[1].cpus, threads[1].last_cpu) = (vec![0, 1], Some(1));
    threads[1].settled_ns = threads[1].running_ns / 2;
    // It was pinned after it had started.
    (threads[0].cpus, threads[0].last_cpu) = (vec![0, 1], Some(1));
    threads[0].settled_ns = threads[0].running_ns - 5_000;
    threads[4].execution_ns = None;
    threads[5].cpus = Vec::new();
    let found = verdict(&report(threads), None);
    let names: Vec<_> = found.processors[0].tasks.iter().map(|task| &task.measured.name).collect();
    assert_eq!(names, ["fixed"]);
    let why: Vec<_> = found.left_out.iter().map(|left| (left.name.as_str(), left.why)).collect();
    assert_eq!(
        why,
        [
            ("wanders", LeftOutReason::Migrates),
            ("irq/9-acpi", LeftOutReason::NotPeriodic),
            ("starting", LeftOutReason::NoJobs),
        ]
    );
    insta::assert_snapshot!(sentences(&found.notes.join(" ")), @r"
Not judged because they ran on several processors: wanders (0.1 %); their delay of other tasks is not included.
Pin each to one processor (taskset, CPUAffinity=).
At a real-time priority without a period: irq/9-acpi (0.1 %); the bounds hold only while none of them runs.
With a period, but without a completely recorded job: starting (0.1 %); they are in no set.
Switches are not charged: their cost is unknown (`hemiola measure` measures it).
C is the greatest execution time observed, not a bound: a longer recording may show a greater one.
It includes interrupts that were not recorded.
");
}

#[test]
fn without_real_time_priorities_the_verdict_is_for_rate_monotonic_ones() {
    let mut threads = textbook();
    threads.iter_mut().for_each(|thread| thread.priority = Some(120));
    let found = verdict(&report(threads), None);
    let processor = &found.processors[0];
    assert!(!processor.as_it_ran && processor.verdict.contains("with rate-monotonic priorities"));
    assert_eq!(processor.tasks[0].measured.name, "control");
    assert!(found.notes.iter().any(|note| note.contains("as it ran are unbounded")));
}

#[test]
fn a_marked_task_has_its_deadline_and_the_overhead_of_its_thread() {
    let mut control = thread("worker", 10, fifo(80), 50, 100);
    // Once, at its start, the thread computed for 50 ms; usually 3.
    control.execution_ns.as_mut().unwrap().p50 = 3 * MS;
    let task = TaskReport {
        name: "control".into(),
        tid: 10,
        priority: fifo(80),
        execution_ns: distribution(2 * MS),
        period_ns: Some(100 * MS),
        deadline_ns: Some(20 * MS),
        blocking_ns: distribution(4 * MS),
        response_ns: distribution(7 * MS),
        ..TaskReport::default()
    };
    let report = Report { tasks: vec![task], ..report([control]) };
    let found = verdict(&report, None);
    let [task] = found.processors[0].tasks.as_slice() else { panic!("{found:?}") };
    assert_eq!(task.measured.name, "control");
    assert_eq!(
        (task.measured.execution_ns, task.measured.deadline_ns, task.bound_ns),
        (3 * MS, 20 * MS, Some(7 * MS))
    );
    assert!(!task.is_contradicted());
}

#[test]
fn a_deadline_from_the_release_on_is_in_doubt_where_the_wake_up_was_late() {
    // Woken up to 3 ms after the time it had asked for.
    let mut loops = thread("loop", 1, fifo(9), 2, 10);
    loops.timer_late_ns = Some(3 * MS);
    loops.response_ns = distribution(7 * MS);
    assert_eq!(doubts_of_jobs(&loops), Vec::<String>::new());
    loops.response_ns = distribution(8 * MS);
    let expected = "loop woke up as late as 3.00 ms after a release, and a job took up to 8.00 ms from its wake-up.";
    assert_eq!(doubts_of_jobs(&loops), [expected]);
}

#[test]
fn a_thread_that_asked_before_its_loop_is_judged_by_even_wake_ups_of_even_jobs() {
    let mut begun = thread("loop", 1, fifo(9), 2, 10);
    begun.release_jitter_ns = Some(100_000);
    (begun.asks_before_loop, begun.execution_later_min_ns) = (true, 2 * MS - 50_000);
    assert_eq!(doubts_of_jobs(&begun), Vec::<String>::new());
    begun.release_jitter_ns = Some(102_000);
    let late = "Wake-ups of loop are up to 51.0 µs off: a late one may have ended a sleep within a job. Mark its jobs.";
    assert_eq!(doubts_of_jobs(&begun), [late]);
    (begun.release_jitter_ns, begun.execution_later_min_ns) = (Some(0), MS);
    let uneven = "Jobs of loop took from 1.00 ms to 2.00 ms of processor time: a long one may be the end of a job \
                  that slept until its next release, and the next job. Mark its jobs.";
    assert_eq!(doubts_of_jobs(&begun), [uneven]);
    // Of other threads less is asked.
    begun.asks_before_loop = false;
    begun.release_jitter_ns = Some(400_000);
    assert_eq!(doubts_of_jobs(&begun), Vec::<String>::new());
    // A sleep that may have been a job's or between two.
    begun.unclear = 2;
    let unclear = "loop slept for something else until about a release, and then asked for another one than the next \
                   (2 ×): that sleep was within a late job or between two jobs. Mark its jobs.";
    assert_eq!(doubts_of_jobs(&begun), [unclear]);
}

#[test]
fn jitter_blocking_and_switches_are_charged() {
    let mut threads = [thread("a", 1, fifo(9), 1, 10), thread("b", 2, fifo(5), 2, 20)];
    threads[0].blocking_ns = distribution(2 * MS);
    threads[0].release_jitter_ns = Some(16 * MS);
    threads[0].interval_ns =
        Some(Distribution { min: 2 * MS, p50: 10 * MS, p90: 17 * MS, ..Distribution::default() });
    threads[0].interval_ns.as_mut().unwrap().mean = 10.0 * MS as f64;
    let mut report = report(threads);
    let processor = |report: &Report, switch| verdict(report, switch).processors[0].clone();
    // As in the response-time tests: with J = 8 the first runs twice within the second's 4.
    let found = processor(&report, Some(Span::ZERO));
    assert_eq!(bounds(&found), [Some(3), Some(3)]);
    let late: Vec<_> = found.tasks.iter().map(|task| task.bound_with_jitter_ns).collect();
    assert_eq!(late, [Some(11 * MS), Some(4 * MS)]);
    assert_eq!((found.answer, found.doubts.len()), (Answer::Open, 2));
    assert!(found.doubts[0].starts_with("Wake-ups of a are up to 8.00 ms off"), "{found:?}");
    assert!(found.doubts[1].contains("the deadlines of a are not guaranteed"), "{found:?}");
    // Where no interval lasted one period, its spread is unknown, and one in ten is this late.
    report.threads[0].release_jitter_ns = None;
    let found = processor(&report, Some(Span::ZERO));
    assert!(found.doubts[0].starts_with("Wake-ups of a are up to 7.00 ms off"), "{found:?}");
    report.threads[0].release_jitter_ns = Some(16 * MS);
    // Two switches of 1 ms per job.
    assert_eq!(bounds(&processor(&report, Some(Span::from_millis(1)))), [Some(5), Some(7)]);
    // The cost from the difference to /proc counts if it is significantly above zero.
    let cost = |low_ns| Some(SwitchCost { ns: 1e6, low_ns, high_ns: 2e6, switches: 100 });
    report.accounting = Some(Accounting { switch_cost: cost(5e5), ..Accounting::default() });
    assert_eq!(verdict(&report, None).switch_ns, MS);
    report.accounting = Some(Accounting { switch_cost: cost(-5e5), ..Accounting::default() });
    assert_eq!(verdict(&report, None).switch_ns, 0);
}

#[test]
fn shorter_execution_times_are_not_said_to_be_useless_without_the_blocking_that_makes_them_so() {
    // Three tasks that the kernel stopped for 50 ms, since they asked for more than 95 % of the processor.
    let mut threads = [
        thread("fast", 1, fifo(30), 1, 4),
        thread("mid", 2, fifo(20), 6, 10),
        thread("slow", 3, fifo(10), 3, 20),
    ];
    let helps = |threads: &[ThreadReport]| {
        let found = verdict(&report(threads), Some(Span::ZERO));
        found.processors[0]
            .verdict
            .split(". ")
            .find(|part| part.contains("hort"))
            .map(str::to_owned)
    };
    let unblocked = helps(&threads);
    assert!(unblocked.is_none_or(|text| !text.contains("would not help")));
    threads[0].blocking_ns = distribution(50 * MS);
    assert_eq!(
        helps(&threads).as_deref(),
        Some(
            "Shorter execution times would not help as long as less urgent threads hold jobs up for 50.0 ms"
        )
    );
}

#[test]
fn a_contradicted_bound_and_an_outlier_are_reported() {
    let mut threads = [thread("a", 1, fifo(9), 1, 10), thread("b", 2, fifo(5), 2, 20)];
    threads[0].response_ns = distribution(5 * MS);
    threads[1].execution_ns.as_mut().unwrap().p99 = MS / 10;
    let found = verdict(&report(threads), None);
    let (processor, notes) = (&found.processors[0], found.notes.join("\n"));
    assert_eq!(processor.answer, Answer::Open);
    assert_eq!(
        processor.doubts,
        ["a once took 5.00 ms, longer than its bound: something not in the figures delayed it."]
    );
    assert!(
        notes.contains(
            "The longest job of b is an outlier: 2.00 ms, while 99 % take at most 100 µs"
        ),
        "{notes}"
    );
}

#[test]
fn a_recording_without_tasks_has_a_note_instead_of_a_verdict() {
    let found = verdict(&report([thread("editor", 4, Some(120), 5, 0)]), None);
    assert!(found.processors.is_empty() && found.tables().is_empty());
    assert_eq!(
        found.notes,
        [
            "No verdict: no thread has a real-time priority or a period, and none was given (--period NAME=T)."
        ]
    );
}

#[test]
fn impossible_figures_are_rejected() {
    let mut threads = [thread("a", 1, fifo(9), 1, 10), thread("b", 2, fifo(5), 2, 20)];
    threads[0].period_ns = Some(u64::MAX);
    let found = verdict(&report(threads.clone()), None);
    assert!(found.processors.is_empty());
    assert!(found.notes[0].contains("a: its period is longer than a day"), "{:?}", found.notes);
    threads[0].period_ns = Some(0);
    assert!(verdict(&report(threads), None).notes[0].contains("longer than zero"));
}

/// The verdict on processor 1, and why it is open.
fn answer_on(threads: impl Into<Vec<ThreadReport>>) -> (Answer, String) {
    let found = verdict(&report(threads), None);
    let [processor] = found.processors.as_slice() else { panic!("{found:?}") };
    assert_eq!(processor.cpu, 1);
    (processor.answer, processor.doubts.join(" "))
}

/// A thread that is always late: it wakes up at times, and computes for most of the time.
fn always_late(name: &str, tid: u32, priority: Option<i16>) -> ThreadReport {
    ThreadReport {
        running_ns: 630 * MS,
        response_ns: distribution(900 * MS),
        ..thread(name, tid, priority, 400, 0)
    }
}

#[test]
fn a_real_time_thread_without_a_period_leaves_its_processor_open() {
    // Alone, it has no set, but a verdict.
    let (answer, why) = answer_on([always_late("hog", 1, fifo(30))]);
    assert!(answer == Answer::Open && why.contains("hog ran at a real-time priority"), "{why}");
    // Nor are the tasks below it judged as if it were not there.
    let worker = thread("worker", 2, Some(120), 5, 50);
    let (answer, why) = answer_on([always_late("hog", 1, fifo(30)), worker]);
    assert!(answer == Answer::Open && why.contains("hog ran at a real-time priority"), "{why}");
    // One that computes next to nothing does not matter.
    let found = verdict(&report([thread("irq/9-acpi", 3, fifo(50), 1, 0)]), None);
    assert!(found.processors.is_empty(), "{found:?}");
    // With a period given, it is overloaded.
    let given = ThreadReport {
        missed: 99,
        execution_ns: None,
        period_ns: Some(10 * MS),
        ..always_late("hog", 1, fifo(30))
    };
    assert_eq!(answer_on([given]).0, Answer::No);
}

#[test]
fn a_busy_thread_without_a_period_leaves_rate_monotonic_sets_open() {
    let set = || [thread("a", 1, Some(110), 4, 10), always_late("b", 2, Some(130))];
    let (answer, why) = answer_on(set());
    assert!(answer == Answer::Open && why.contains("b used or wanted"), "{why}");
    let mut idle = set();
    (idle[1].running_ns, idle[1].waiting_ns) = (10 * MS, 5 * MS);
    assert_eq!(answer_on(idle).0, Answer::Yes);
    // Marks say which threads are tasks.
    let task = TaskReport {
        tid: 1,
        execution_ns: distribution(4 * MS),
        period_ns: Some(10 * MS),
        ..TaskReport::default()
    };
    let found = verdict(&Report { tasks: vec![task], ..report(set()) }, None);
    assert_eq!((found.processors[0].answer, found.left_out.len()), (Answer::Yes, 0));
}

#[test]
fn late_jobs_leave_rate_monotonic_sets_open() {
    let mut threads = textbook();
    threads.iter_mut().for_each(|thread| thread.priority = Some(120));
    threads[1].missed = 22;
    let (answer, why) = answer_on(threads);
    assert_eq!((answer, why.as_str()), (Answer::Open, "control missed 22 deadlines."));
}

#[test]
fn a_job_under_way_for_longer_than_its_deadline_is_late() {
    let mut threads = [thread("loop", 1, fifo(40), 3, 10)];
    threads[0].unfinished_ns = 9 * MS;
    assert_eq!(answer_on(threads.clone()).0, Answer::Yes);
    threads[0].unfinished_ns = 1_200 * MS;
    let (answer, why) = answer_on(threads);
    assert!(answer == Answer::Open && why.contains("under way for 1.20 s"), "{why}");
}

#[test]
fn releases_that_do_not_fit_the_period_and_sleeps_within_jobs_leave_a_set_open() {
    let every = |ns: u64| {
        let mean = ns as f64;
        Some(Distribution {
            count: 100,
            min: ns,
            mean,
            p50: ns,
            max: ns,
            ..Distribution::default()
        })
    };
    let io = |interval: u64, sleep: u64| {
        let interval_ns = every(interval);
        ThreadReport { interval_ns, suspension_ns: sleep, ..thread("io", 1, fifo(40), 8, 20) }
    };
    assert_eq!(answer_on([io(20 * MS, 0)]).0, Answer::Yes);
    assert_eq!(answer_on([io(20 * MS - 50_000, 150_000)]).0, Answer::Yes);
    // A thread that is late in each job a little more than in the one before wakes up less often.
    for off in [22 * MS, 20 * MS + 50_000, 18 * MS] {
        let (answer, why) = answer_on([io(off, 0)]);
        assert!(answer == Answer::Open && why.contains("io woke up every"), "{why}");
    }
    let (answer, why) = answer_on([io(20 * MS, 3 * MS)]);
    assert!(
        answer == Answer::Open && why.contains("io slept within its jobs, once for 3.00 ms"),
        "{why}"
    );
    // Nor is such a set refused for certain.
    let (answer, why) =
        answer_on([ThreadReport { execution_ns: distribution(21 * MS), ..io(20 * MS, 3 * MS) }]);
    assert!(answer == Answer::Open && why.contains("slept within"), "{why}");
}

/// The report on a thread that wakes up at these moments and computes for as long, ms, with its period stated or not;
/// created in that process at 9.9 ms, or before the recording.
fn waking(wakes: &[(f64, f64)], process: Option<u32>, stated_ms: Option<i64>) -> Report {
    let ns = |ms: f64| (ms * 1e6) as u64;
    let alone = synthetic::Alone {
        tid: 7,
        pid: process.unwrap_or(7),
        created_ns: process.map_or(0, |_| ns(9.9)),
        wake_ups: wakes.iter().map(|(at, length)| (ns(*at), ns(*length))).collect(),
    };
    let stated = stated_ms.map(|ms| (Who::Tid(7), Span::from_millis(ms)));
    let options = Options { periods: stated.into_iter().collect(), ..Options::default() };
    analyze(&alone.recording(), &options)
}

#[test]
fn wake_ups_that_may_hide_a_late_job_leave_a_set_open() {
    let grid = |n: usize, period: f64, c: f64| -> Vec<(f64, f64)> {
        (1..n).map(|k| (k as f64 * period, c)).collect()
    };
    let mut late = grid(300, 10.0, 2.5);
    // One release comes 8 ms late, and the next job follows it without a sleep.
    late[100] = (late[100].0 + 8.0, 5.0);
    late.remove(101);
    // One job computes for 1 ms, sleeps for 11.5 ms and computes for another 1 ms.
    let mut asleep = grid(300, 10.0, 2.0);
    asleep[100].1 = 1.0;
    asleep[101] = (asleep[101].0 + 2.5, 3.0);
    // It sleeps within each job until the next release is over, and is late in each by more.
    let drifting = grid(300, 10.04, 1.5);
    let all = [(late, "woke up every"), (asleep, "a late one may have ended a sleep")];
    let cases = all
        .into_iter()
        .flat_map(|(wakes, why)| [None, Some(10)].map(|stated| (wakes.clone(), stated, why)));
    for (wakes, stated, why) in cases.chain([(drifting, Some(10), "woke up every 10.04")]) {
        let found = verdict(&waking(&wakes, None, stated), None);
        let processor = &found.processors[0];
        assert_eq!(processor.answer, Answer::Open, "{why} {}", processor.verdict);
        assert!(processor.verdict.contains(why), "{why}: {}", processor.verdict);
    }
    for stated in [None, Some(10)] {
        let found = verdict(&waking(&grid(300, 10.0, 2.5), None, stated), None);
        assert_eq!(found.processors[0].answer, Answer::Yes);
    }
}

#[test]
fn jobs_are_told_apart_after_a_wake_up_out_of_step() {
    // T = 20 and C = 14. The first wake-up is 8 ms before the first release; job 60 takes 25 ms, so job 61 follows it
    // without a sleep.
    let mut wakes: Vec<(f64, f64)> = (0..150).map(|k| (8.0 + 20.0 * k as f64, 14.0)).collect();
    wakes[60].1 = 39.0;
    wakes.remove(61);
    wakes.insert(0, (0.0, 0.01));
    let report = waking(&wakes, None, Some(20));
    let thread = &report.threads[0];
    assert!((145..=151).contains(&thread.invocations), "{}", thread.invocations);
    // The wake-up before the first release and the job after it look like one of 22 ms.
    assert_eq!((thread.missed, report.missed_deadlines), (2, 2));
    assert!((25 * MS..26 * MS).contains(&thread.execution_ns.as_ref().unwrap().max));
    assert_ne!(verdict(&report, None).processors[0].answer, Answer::Yes);
}

#[test]
fn a_start_up_is_no_job() {
    let jobs = (0..200).map(|k| (200.0 + 10.0 * k as f64, 1.0));
    // Of a program, and of a thread of process 6. Then it waits for others, and for its first release.
    for (length, pid, answer) in
        [(30.0, 7, Answer::Yes), (30.0, 6, Answer::Open), (0.1, 6, Answer::Yes)]
    {
        let start = [(10.0, length), (60.0, 0.02)];
        let wakes: Vec<(f64, f64)> = start.into_iter().chain(jobs.clone()).collect();
        for stated in [None, Some(10)] {
            let report = waking(&wakes, Some(pid), stated);
            let thread = &report.threads[0];
            assert_eq!((thread.missed, thread.invocations), (0, 201), "{stated:?}");
            assert!(thread.execution_ns.as_ref().unwrap().max < 2 * MS);
            let found = verdict(&report, None);
            let processor = &found.processors[0];
            assert_eq!(processor.answer, answer, "{}", processor.verdict);
            let is_doubtful = processor.verdict.contains("from its creation until it slept");
            assert_eq!(is_doubtful, answer == Answer::Open, "{}", processor.verdict);
        }
    }
    // Without a period, it is a job like any other.
    let report = waking(&[(10.0, 30.0), (60.0, 5.0)], Some(7), None);
    assert_eq!(report.threads[0].invocations, 2);
    assert_eq!(report.threads[0].execution_ns.as_ref().unwrap().max, 30 * MS);
}

#[test]
fn jobs_that_run_into_the_next_are_late_without_a_stated_deadline() {
    let mut wakes: Vec<(f64, f64)> = (1..200).map(|k| (70.0 * k as f64, 26.0)).collect();
    wakes[100].1 = 105.0;
    wakes.remove(101);
    let report = waking(&wakes, None, None);
    assert_eq!((report.threads[0].overran, report.missed_deadlines), (1, 0));
    let found = verdict(&report, None);
    assert!(!found.processors[0].verdict.contains("No miss was recorded"));
    assert_ne!(found.processors[0].answer, Answer::Yes);
}

#[test]
fn a_thread_that_never_sleeps_has_the_execution_time_of_its_mean_job() {
    // 10 ms and a little every 10 ms.
    let report = waking(&[(10.0, 0.1), (20.0, 3090.01)], Some(7), Some(10));
    let thread = &report.threads[0];
    assert_eq!(thread.execution_ns.as_ref().unwrap().max, 3_090_010_000 / 310);
    assert_eq!((thread.missed, thread.overran), (309, 309));
    assert_ne!(verdict(&report, None).processors[0].answer, Answer::Yes);
}

#[test]
fn releases_as_close_as_the_closest_must_be_kept_too() {
    // Distances of 4 to 5.8 ms at random: 13 of them can take 52 ms, in which both need more.
    let interval = Distribution { count: 600, min: 4 * MS, ..Distribution::default() };
    let interval = Distribution { p50: 49 * MS / 10, p90: 56 * MS / 10, mean: 4.9e6, ..interval };
    let often = ThreadReport {
        execution_ns: distribution(2_350_000),
        period_ns: Some(4_900_000),
        interval_ns: Some(interval),
        release_jitter_ns: Some(1_800_000),
        ..thread("often", 1, fifo(50), 1, 1)
    };
    let rarely = ThreadReport {
        execution_ns: distribution(20_500_000),
        ..thread("rarely", 2, fifo(40), 1, 50)
    };
    let (answer, why) = answer_on([often, rarely]);
    assert!(answer == Answer::Open && why.contains("(often every 4.00 ms)"), "{why}");
}

#[test]
fn a_thread_under_sched_deadline_without_parameters_leaves_its_processor_open() {
    let unknown = ThreadReport { running_ns: 300 * MS, ..thread("dl", 1, Some(-1), 3, 10) };
    let found = verdict(&report([unknown, thread("worker", 2, fifo(40), 5, 50)]), None);
    let processor = &found.processors[0];
    assert_eq!(processor.answer, Answer::Open);
    assert!(processor.verdict.contains("dl ran under SCHED_DEADLINE"), "{}", processor.verdict);
    assert_eq!(found.left_out[0].why, LeftOutReason::NoReservation);
}

#[test]
fn a_sleep_of_a_marked_job_is_taken_for_execution() {
    let task = |sleep: u64| TaskReport {
        name: "control".into(),
        tid: 1,
        execution_ns: distribution(2 * MS),
        period_ns: Some(10 * MS),
        response_ns: distribution((2 + sleep) * MS),
        suspension_ns: sleep * MS,
        ..TaskReport::default()
    };
    let judged = |sleep: u64, below: u64| {
        let threads =
            [thread("control", 1, fifo(40), 2, 10), thread("log", 2, fifo(20), below, 20)];
        let found = verdict(&Report { tasks: vec![task(sleep)], ..report(threads) }, None);
        (found.processors[0].answer, bounds(&found.processors[0]))
    };
    assert_eq!(judged(0, 10), (Answer::Yes, vec![Some(2), Some(14)]));
    assert_eq!(judged(3, 10), (Answer::Yes, vec![Some(5), Some(20)]));
    // A deadline that is missed with it may be kept all the same.
    assert_eq!(judged(3, 11).0, Answer::Open);
}

#[test]
fn a_gate_is_told_of_every_no() {
    let mut threads = [thread("a", 1, Some(110), 4, 10), thread("b", 2, Some(130), 8, 15)];
    let refused = |threads: &[ThreadReport]| {
        let found = verdict(&report(threads), None);
        found.not_kept().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(refused(&threads)[0].contains("not schedulable with rate-monotonic priorities"));
    threads.iter_mut().for_each(|thread| thread.priority = fifo(9));
    assert!(refused(&threads)[0].contains("not schedulable as it ran"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_figures_are_judged_in_reasonable_time(
        figures in prop::collection::vec((0_u32..47, 0_u32..47, 0_u32..47, 0_u32..47, -1_i16..140), 0..12),
    ) {
        let far = |bits: u32| (1_u64 << bits) + u64::from(bits);
        let figures = figures.into_iter().enumerate();
        let (threads, tasks): (Vec<_>, Vec<_>) = figures
            .map(|(tid, (c, t, d, other, priority))| {
                let tid = tid as u32;
                let thread = ThreadReport {
                    execution_ns: distribution(far(c)),
                    period_ns: Some(far(t)),
                    blocking_ns: distribution(far(other) / 1024),
                    release_jitter_ns: Some(far(other)),
                    ..thread("thread", tid, Some(priority), 1, 1)
                };
                let task = TaskReport {
                    tid,
                    execution_ns: distribution(far(c)),
                    period_ns: Some(far(t)),
                    deadline_ns: Some(far(d)),
                    ..TaskReport::default()
                };
                (thread, task)
            })
            .unzip();
        let mut report = report(threads);
        let _ = verdict(&report, None);
        report.tasks = tasks;
        let _ = verdict(&report, Some(Span::from_nanos(1000)));
    }
}

#[test]
fn the_json_form_of_a_verdict_has_plain_numbers() {
    let value = serde_json::to_value(verdict(&report(textbook()), None)).unwrap();
    let task = &value["processors"][0]["tasks"][0];
    assert_eq!((&task["name"], &task["bound_ns"]), (&"control".into(), &(40 * MS).into()));
    assert_eq!(value["processors"][0]["answer"], "yes");
}

/// The thread with a reservation: runtime, deadline and period in ms.
fn with_reservation(thread: ThreadReport, (q, d, p): (u64, u64, u64)) -> ThreadReport {
    let reservation = Reservation { runtime_ns: q * MS, deadline_ns: d * MS, period_ns: p * MS };
    ThreadReport {
        priority: Some(-1),
        reservation: Some(reservation),
        period_ns: Some(p * MS),
        period_from: Some(PeriodFrom::Reservation),
        ..thread
    }
}

#[test]
fn threads_under_sched_deadline_are_judged_by_their_reservations() {
    let threads = [
        with_reservation(thread("video", 1, None, 4, 20), (5, 20, 20)),
        with_reservation(thread("audio", 2, None, 2, 10), (3, 5, 10)),
        thread("control", 3, fifo(50), 10, 100),
    ];
    let found = verdict(&report(threads.clone()), Some(Span::ZERO));
    let reserved = &found.reservations[0];
    assert_eq!((reserved.answer, &reserved.cpus), (Answer::Yes, &vec![1]));
    assert!((reserved.utilization - 0.55).abs() < 1e-9);
    let tasks: Vec<_> =
        reserved.tasks.iter().map(|task| (task.measured.name.as_str(), task.bound_ns)).collect();
    assert_eq!(tasks, [("audio", Some(5 * MS)), ("video", Some(20 * MS))]);
    // By hand, with J = D − C: 10 + ⌈(24 + 3) / 10⌉·2 + ⌈(24 + 16) / 20⌉·4 = 24.
    assert_eq!(bounds(&found.processors[0]), [Some(24)]);
    // A job that needs more than its runtime is throttled until the next period.
    let mut threads = threads;
    threads[0] = with_reservation(thread("video", 1, None, 8, 20), (5, 20, 20));
    let found = verdict(&report(threads.clone()), Some(Span::ZERO));
    assert_eq!(found.reservations[0].answer, Answer::No);
    insta::assert_snapshot!(sentences(&found.reservations[0].verdict), @r"
SCHED_DEADLINE on processor 1: not schedulable as it ran.
A job of video took 8.00 ms of processor time, more than its runtime of 5.00 ms: it is throttled until the next period, and its backlog grows.
");
    // On two processors only the density test applies.
    let moving = |thread: &mut ThreadReport| (thread.cpus, thread.last_cpu) = (vec![0, 1], None);
    threads[0] = with_reservation(thread("video", 1, None, 4, 20), (5, 20, 20));
    threads.iter_mut().for_each(moving);
    let mut report = report(threads);
    let cpu = |cpu| CpuReport { cpu, ..CpuReport::default() };
    report.cpus = vec![cpu(0), cpu(1)];
    let found = verdict(&report, Some(Span::ZERO));
    let test = &found.reservations[0].tests[0];
    // δ = 0.25 + 0.6, and 2 − 0.6.
    assert_eq!((found.reservations[0].answer, test.answer), (Answer::Yes, Answer::Yes));
    assert!((test.value.unwrap() - 0.85).abs() < 1e-9 && (test.limit.unwrap() - 1.4).abs() < 1e-9);
}

#[test]
fn jobs_of_another_period_than_their_reservation_are_judged_by_their_own() {
    use PeriodFrom::{Found, Given};
    /// C, T and its origin; Q, D and P; R seen, in ms.
    type Jobs = ((u64, u64, PeriodFrom), (u64, u64, u64), u64);
    let judge = |((c, t, from), reservation, response): Jobs| {
        let video = with_reservation(thread("video", 1, None, c, t), reservation);
        let video = ThreadReport {
            period_ns: Some(t * MS),
            period_from: Some(from),
            response_ns: distribution(response * MS),
            ..video
        };
        verdict(&report([video, thread("audio", 2, fifo(50), 1, 4)]), Some(Span::ZERO))
    };
    let cases: [(Jobs, Answer, Option<u64>); 9] = [
        // Two budgets in 20 ms: served by the end of the second period.
        (((4, 20, Given), (3, 10, 10), 11), Answer::Yes, Some(20)),
        (((4, 20, Given), (3, 8, 10), 11), Answer::Yes, Some(18)),
        (((4, 25, Found), (3, 10, 10), 11), Answer::Yes, Some(20)),
        // One in the first of two periods, whose reservation has an earlier deadline.
        (((2, 20, Found), (3, 5, 10), 2), Answer::Yes, Some(5)),
        // A job every 10 ms that is late every other time looks the same.
        (((4, 20, Found), (3, 10, 10), 11), Answer::Open, Some(20)),
        // The third budget may come after the next release.
        (((7, 25, Given), (3, 10, 10), 21), Answer::Open, None),
        // Four budgets are needed and two come.
        (((10, 20, Given), (3, 10, 10), 19), Answer::No, None),
        // Two jobs in one period of the reservation: 4 of 3 ms, and 2 of 3 ms.
        (((2, 5, Found), (3, 10, 10), 2), Answer::No, None),
        (((1, 5, Found), (3, 10, 10), 1), Answer::Open, None),
    ];
    let mut words = Vec::new();
    for (jobs, answer, bound) in cases {
        let found = judge(jobs).reservations.remove(0);
        assert_eq!(
            (found.answer, found.tasks[0].bound_ns),
            (answer, bound.map(|ms| ms * MS)),
            "{found:?}"
        );
        words.push(found.verdict);
    }
    words.dedup();
    insta::assert_snapshot!(sentences(&words.join("\n")), @r"
SCHED_DEADLINE on processor 1: schedulable as it ran.
Every job fits its reservation, and every reservation can be kept.
SCHED_DEADLINE on processor 1: cannot tell.
Every reservation can be kept.
The period of video was found in its wake-ups, but most jobs took more than half of it: a thread with half the period that is always late looks the same.
Give its period (--period video=T).
SCHED_DEADLINE on processor 1: cannot tell.
Every reservation can be kept.
A job of video took 7.00 ms of processor time, up to 3 budgets of 3.00 ms, and the next one comes after 25.0 ms, when the periods of these may not be over: no test can tell how late it is.
SCHED_DEADLINE on processor 1: not schedulable as it ran.
A job of video took 10.0 ms of processor time, more than its runtime of 3.00 ms: it is throttled until the next period, and its backlog grows.
SCHED_DEADLINE on processor 1: not schedulable as it ran.
A job of video took 2.00 ms of processor time, and one comes every 5.00 ms: its reservation of 3.00 ms in each 10.0 ms is too small, and its backlog grows.
SCHED_DEADLINE on processor 1: cannot tell.
Every reservation can be kept.
A job of video comes every 5.00 ms, and its budget is replenished every 10.0 ms: no test can tell whether one suffices for all jobs meanwhile.
");
    // Against a fixed priority, its budget counts in each period of the reservation: 1 + 2·3, 1 + 3·3 > 4.
    let above = judge(((4, 20, Given), (3, 10, 10), 11)).processors.remove(0);
    assert_eq!((above.answer, bounds(&above)), (Answer::Open, vec![Some(7)]));
}

#[test]
fn jobs_without_a_period_are_not_judged() {
    let video = with_reservation(thread("video", 1, None, 2, 0), (3, 10, 10));
    let interval = Distribution { min: 12 * MS, ..distribution(90 * MS).unwrap() };
    let video =
        ThreadReport { period_ns: None, period_from: None, interval_ns: Some(interval), ..video };
    let found = verdict(&report([video]), Some(Span::ZERO)).reservations.remove(0);
    let task = &found.tasks[0];
    assert_eq!(
        (found.answer, task.has_period, task.bound_ns),
        (Answer::Open, false, Some(10 * MS))
    );
    insta::assert_snapshot!(sentences(&found.verdict), @r"
SCHED_DEADLINE on processor 1: cannot tell.
Every reservation can be kept.
The wake-ups of video show no period, so it is unknown when its jobs are due.
Give it (--period video=T).
");
}

#[test]
fn a_job_that_comes_early_may_have_to_wait_for_its_budget() {
    let judge = |c: u64, deadline: u64, jitter: u64| {
        let video = with_reservation(thread("video", 1, None, c, 10), (4, deadline, 10));
        let video = ThreadReport { release_jitter_ns: Some(2 * jitter * MS / 10), ..video };
        let found = verdict(&report([video]), Some(Span::ZERO)).reservations.remove(0);
        (found.answer, found.tasks[0].bound_ns.map(|bound| bound * 10 / MS))
    };
    assert_eq!(judge(4, 10, 0), (Answer::Yes, Some(100)));
    assert_eq!(judge(4, 10, 5), (Answer::Open, Some(105)));
    // Also if budget is left: a thread that is still busy does not wake up, so its server begins no new period.
    assert_eq!(judge(3, 10, 5), (Answer::Open, Some(105)));
    assert_eq!(judge(3, 9, 5), (Answer::Open, Some(95)));
    // Less than a hundredth of the period.
    assert_eq!(judge(3, 9, 1), (Answer::Yes, Some(90)));
}

#[test]
fn what_a_reservation_does_not_bound_is_never_schedulable() {
    use PeriodFrom::Given;
    let video = |c: u64, t: u64, reservation: (u64, u64, u64)| {
        let video = with_reservation(thread("video", 1, None, c, t), reservation);
        ThreadReport { period_ns: Some(t * MS), period_from: Some(Given), ..video }
    };
    let judge = |video: ThreadReport| {
        let found = verdict(&report([video]), Some(Span::ZERO)).reservations.remove(0);
        (found.answer, found.tasks[0].bound_ns.map(|bound| bound / MS), found.verdict)
    };
    let intervals = |min: u64, mean: u64| {
        Some(Distribution {
            min: min * MS,
            mean: (mean * MS) as f64,
            ..distribution(mean * MS).unwrap()
        })
    };
    assert_eq!(judge(video(6, 24, (3, 10, 10))).0, Answer::Yes);
    // One release that is early, which half of the spread does not show.
    let early = ThreadReport { interval_ns: intervals(14, 24), ..video(6, 24, (3, 10, 10)) };
    let (answer, bound, _) = judge(early);
    assert_eq!((answer, bound), (Answer::Open, Some(26)));
    // Bursts of two jobs, rarer on average than the reservation allows.
    let bursts = with_reservation(thread("video", 1, None, 2, 10), (3, 10, 10));
    let bursts = ThreadReport { interval_ns: intervals(6, 45), ..bursts };
    assert_eq!(judge(bursts).0, Answer::Open);
    // A period that is a little shorter than two of the reservation: delays add up.
    assert_eq!(judge(video(6, 20, (3, 9, 10))).0, Answer::Yes);
    let shorter = ThreadReport { period_ns: Some(20 * MS - 50_000), ..video(6, 20, (3, 9, 10)) };
    assert_eq!(judge(shorter).0, Answer::Open);
    // It waits for another thread within its jobs; and one took longer than its bound.
    let waits = ThreadReport { blocking_ns: distribution(8 * MS), ..video(2, 20, (3, 10, 10)) };
    let (answer, _, words) = judge(waits);
    assert!(answer == Answer::Open && words.contains("once for 8.00 ms"), "{words}");
    let longer = ThreadReport { response_ns: distribution(11 * MS), ..video(2, 20, (3, 10, 10)) };
    let (answer, _, words) = judge(longer);
    assert!(answer == Answer::Open && words.contains("longer than its bound"), "{words}");
}

#[test]
fn a_marked_period_that_wake_ups_do_not_show_bounds_nothing() {
    let judge = |shown: bool| {
        let video = with_reservation(thread("video", 1, None, 3, 20), (3, 10, 10));
        let period_ns = shown.then_some(20 * MS);
        let video = ThreadReport { period_ns, period_from: None, ..video };
        let task = TaskReport {
            name: "frame".into(),
            tid: 1,
            jobs: 1000,
            execution_ns: distribution(3 * MS),
            period_ns: Some(20 * MS),
            deadline_ns: Some(10 * MS),
            response_ns: distribution(3 * MS),
            ..TaskReport::default()
        };
        let report = Report { tasks: vec![task], ..report([video]) };
        verdict(&report, Some(Span::ZERO)).reservations.remove(0)
    };
    assert_eq!(judge(true).answer, Answer::Yes);
    let unknown = judge(false);
    assert_eq!(unknown.answer, Answer::Open);
    assert!(unknown.verdict.contains("how early a job may come"), "{}", unknown.verdict);
}

#[test]
fn demand_within_the_deadlines_of_reservations_does_not_refute_later_ones_of_jobs() {
    let two = [1, 2].map(|tid| {
        let name = format!("video {tid}");
        let video = with_reservation(thread(&name, tid, None, 6, 20), (6, 6, 20));
        ThreadReport { period_from: Some(PeriodFrom::Given), ..video }
    });
    let found = verdict(&report(two), Some(Span::ZERO)).reservations.remove(0);
    assert_eq!(found.answer, Answer::Open, "{found:?}");
}

#[test]
fn reservations_of_any_size_are_judged_without_overflow() {
    for (q, d, p) in [(1, 2, u64::MAX), (u64::MAX, u64::MAX, u64::MAX), (1, u64::MAX, u64::MAX)] {
        for period_ns in [None, Some(1), Some(20 * MS), Some(u64::MAX)] {
            let reservation = Reservation { runtime_ns: q, deadline_ns: d, period_ns: p };
            let video = with_reservation(thread("video", 1, None, 3, 20), (3, 10, 10));
            let video = ThreadReport { reservation: Some(reservation), period_ns, ..video };
            let found = verdict(&report([video]), Some(Span::ZERO)).reservations.remove(0);
            assert_ne!(found.answer, Answer::Yes, "{found:?}");
        }
    }
}
