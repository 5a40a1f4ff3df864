//! Verdicts on recordings of random task sets, compared with what a simulated scheduler knows.

use std::collections::BTreeMap;

use hemiola_analyze::sched::{Options, Who, analyze, synthetic};
use hemiola_units::Random;

use super::*;

const MS: u64 = 1_000_000;
const CPU: u16 = 1;

/// A random task set, and whether the recording is analysed with its periods given.
struct Case {
    tasks: Vec<synthetic::Task>,
    length: u64,
    seed: u64,
    is_given: bool,
}

impl Case {
    /// Utilizations between 30 % and 130 %, shared out evenly at random (Bini and Buttazzo, "Measuring the Performance
    /// of Schedulability Tests", 2005); mostly rate-monotonic priorities, sometimes variable execution times and
    /// release jitter.
    fn random(seed: u64, is_given: bool) -> Self {
        const PERIODS: [u64; 10] = [4, 5, 7, 8, 10, 12, 20, 25, 40, 50];
        let mut random = Random::from_seed(seed);
        let count = 2 + random.below(4) as usize;
        let mut rest = 0.3 + random.uniform();
        let (varies, jitters) = (random.below(2) == 0, random.below(3) == 0);
        let mut tasks: Vec<synthetic::Task> = (0..count)
            .map(|index| {
                let left = rest * random.uniform().powf(1.0 / (count - index).max(2) as f64);
                let share = if index + 1 == count { rest } else { rest - left };
                rest -= share;
                let period_ns = PERIODS[random.below(PERIODS.len() as u64) as usize] * MS;
                let execution_max_ns = ((share * period_ns as f64) as u64).max(MS / 100);
                let least = if varies { 0.5 + random.uniform() / 2.0 } else { 1.0 };
                synthetic::Task {
                    name: format!("task {index}"),
                    tid: 10 + index as u32,
                    cpu: CPU,
                    priority: 0,
                    period_ns,
                    offset_ns: random.below(period_ns),
                    jitter_ns: if jitters { random.below(period_ns / 5) } else { 0 },
                    execution_min_ns: (execution_max_ns as f64 * least) as u64,
                    execution_max_ns,
                }
            })
            .collect();
        let mut order: Vec<usize> = (0..count).collect();
        if random.below(10) < 7 {
            order.sort_by_key(|index| tasks[*index].period_ns);
        }
        for (place, index) in order.into_iter().enumerate() {
            tasks[index].priority = 10 + place as i16;
        }
        Self { tasks, length: 2_000 * MS, seed, is_given }
    }

    /// A textbook set: C and T in milliseconds, rate-monotonic.
    fn textbook(tasks: &[(f64, u64)], is_given: bool) -> Self {
        let task = |(index, (c, t)): (usize, &(f64, u64))| synthetic::Task {
            name: format!("task {index}"),
            tid: 10 + index as u32,
            cpu: CPU,
            priority: 10 + index as i16,
            period_ns: t * MS,
            offset_ns: MS,
            jitter_ns: 0,
            execution_min_ns: (c * MS as f64) as u64,
            execution_max_ns: (c * MS as f64) as u64,
        };
        let tasks = tasks.iter().enumerate().map(task).collect();
        Self { tasks, length: 10_000 * MS, seed: 1, is_given }
    }

    fn judge(&self) -> Judged {
        let (recording, jobs) = synthetic::run(&self.tasks, self.length, self.seed);
        let mut options = Options::default();
        if self.is_given {
            let period = |task: &synthetic::Task| {
                (Who::Tid(task.tid), Span::from_nanos(task.period_ns as i64))
            };
            options.periods = self.tasks.iter().map(period).collect();
        }
        let report = analyze(&recording, &options);
        let missed = self.tasks.iter().zip(&jobs).map(|(task, jobs)| {
            let late = jobs.iter().filter(|job| job.finish_ns - job.release_ns > task.period_ns);
            // Jobs that were due before the end but did not finish.
            let first_due = task.offset_ns + task.jitter_ns + task.period_ns;
            let due = self.length.saturating_sub(first_due).div_ceil(task.period_ns);
            late.count() as u64 + due.saturating_sub(jobs.len() as u64)
        });
        Judged { missed: missed.sum(), verdict: verdict(&report, Some(Span::ZERO)) }
    }

    /// Whether all deadlines are kept for certain, with 2 % to spare.
    fn has_slack(&self) -> bool {
        let nanos = |nanos: u64| Span::from_nanos(nanos as i64);
        let task = |task: &synthetic::Task| Task {
            execution: nanos(task.execution_max_ns + task.execution_max_ns / 50),
            deadline: nanos(task.period_ns - task.period_ns / 50),
            priority: 200 - task.priority.unsigned_abs() as u32,
            jitter: nanos(task.jitter_ns),
            ..Task::periodic(task.name.clone(), Span::ZERO, nanos(task.period_ns))
        };
        let tasks = self.tasks.iter().map(task).collect();
        TaskSet::new(tasks, PriorityOrder::Given, Span::ZERO).unwrap().keeps_deadlines()
    }
}

struct Judged {
    missed: u64,
    verdict: SchedulabilityVerdict,
}

impl Judged {
    fn answer(&self) -> Option<Answer> {
        self.verdict.processors.first().map(|processor| processor.answer)
    }
}

/// Random sets for each of the two tests.
const CASES: u64 = 5_000;

/// No set that missed a deadline is called schedulable, and no set with slack unschedulable.
fn check(is_given: bool) {
    let mut said = BTreeMap::new();
    for seed in 0..CASES {
        let case = Case::random(seed, is_given);
        let judged = case.judge();
        let (missed, answer) = (judged.missed > 0, judged.answer());
        *said.entry((missed, format!("{answer:?}"))).or_insert(0) += 1;
        assert!(!missed || answer != Some(Answer::Yes), "set {seed} missed {}", judged.missed);
        let is_harsh = !missed && answer == Some(Answer::No) && case.has_slack();
        assert!(!is_harsh, "set {seed} has slack");
    }
    println!("(missed, answer): {said:?}");
}

#[test]
fn verdicts_on_random_sets_are_safe_with_given_periods() {
    check(true);
}

#[test]
fn verdicts_on_random_sets_are_safe_with_periods_from_wake_ups() {
    check(false);
}

#[test]
fn textbook_sets_get_the_textbook_answer_or_none() {
    type Set = &'static [(f64, u64)];
    let sets: [(Set, Answer, Answer); 4] = [
        // Overloaded: U = 1.108. The third never sleeps.
        (&[(1.0, 3), (2.0, 5), (3.0, 8)], Answer::No, Answer::Open),
        // Lehoczky, Sha and Ding, 1989; U = 0.99. The second is late, and catches up every 700 ms.
        (&[(26.0, 70), (62.0, 100)], Answer::No, Answer::Open),
        // The third of Burns and Wellings, "Real-Time Systems and Programming Languages", finishes exactly in time …
        (&[(3.0, 7), (3.0, 12), (5.0, 20)], Answer::Yes, Answer::Open),
        // … and with a little more to do too late.
        (&[(3.0, 7), (3.0, 12), (5.1, 20)], Answer::No, Answer::No),
    ];
    for (set, given, found) in sets {
        for (is_given, expected) in [(true, given), (false, found)] {
            let judged = Case::textbook(set, is_given).judge();
            assert_eq!(judged.missed > 0, given == Answer::No, "{set:?}");
            let verdict = &judged.verdict.processors[0].verdict;
            assert_eq!(judged.answer(), Some(expected), "{set:?}, given: {is_given}; {verdict}");
        }
    }
}
