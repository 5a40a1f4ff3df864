//! Verdicts on recordings of random task sets, compared with what a simulated scheduler knows.

use std::collections::BTreeMap;

use hemiola_analyze::sched::synthetic::{Protocol, Section, Sleep};
use hemiola_analyze::sched::{
    Culprit, DelayKind, Job, Of, Options, Reservation, Wanted, Who, analyze, jobs, synthetic,
};
use hemiola_units::Random;

use super::*;

mod timers;

const MS: u64 = 1_000_000;
const CPU: u16 = 1;

/// A random task set, and whether the recording is analysed with its periods given.
struct Case {
    tasks: Vec<synthetic::Task>,
    length: u64,
    seed: u64,
    is_given: bool,
    /// Whether the periods of tasks under `SCHED_DEADLINE` are given, too.
    gives_reserved: bool,
}

/// One task in two shares one of two mutexes.
const MUTEXES: u64 = 2;

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
                    ..synthetic::Task::default()
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
        Self { tasks, length: 2_000 * MS, seed, is_given, gives_reserved: false }
    }

    /// The same with critical sections in half of the tasks, under one protocol.
    fn with_locks(seed: u64, is_given: bool) -> Self {
        let mut case = Self::random(seed, is_given);
        let mut random = Random::from_seed(seed).fork(1);
        let protocol =
            [Protocol::None, Protocol::Inheritance, Protocol::Ceiling][random.below(3) as usize];
        for task in &mut case.tasks {
            let whole = task.execution_min_ns;
            let after_ns = random.below(whole.max(1));
            let length_ns = 1 + random.below((whole - after_ns).max(1));
            let section =
                Section { mutex: random.below(MUTEXES) as u32, protocol, after_ns, length_ns };
            task.section = (random.below(2) == 0).then_some(section);
        }
        case
    }

    /// The same with a sleep within each job of half of the tasks, which may take most of the period.
    fn with_sleeps(seed: u64, is_given: bool) -> Self {
        let mut case = Self::random(seed, is_given);
        let mut random = Random::from_seed(seed).fork(3);
        for task in &mut case.tasks {
            let after_ns = random.below(task.execution_min_ns) + 1;
            let tenths = [1, 2, 10][random.below(3) as usize];
            let length_ns = 1 + random.below(task.period_ns * tenths / 10);
            let sleep = Sleep { after_ns, length_ns, asked_in_ten: 0 };
            task.sleep = (random.below(2) == 0).then_some(sleep);
        }
        case
    }

    /// The same with tasks that ask to sleep until their next release, which comes in time.
    fn asking(mut self) -> Self {
        for task in &mut self.tasks {
            (task.asks, task.jitter_ns) = (!task.yields, 0);
        }
        self
    }

    /// The same with tasks that also ask to sleep within their jobs, in some or all of them. Some do not ask for their
    /// releases, and some leave out those that have passed.
    fn asking_within(mut self) -> Self {
        let mut random = Random::from_seed(self.seed).fork(5);
        for task in &mut self.tasks {
            (task.asks, task.skips) = (random.below(3) > 0, random.below(2) == 0);
            task.jitter_ns = 0;
            let asked = [1, 5, 9, 10][random.below(4) as usize];
            task.sleep = task.sleep.map(|sleep| Sleep { asked_in_ten: asked, ..sleep });
        }
        self
    }

    /// The same without real-time priorities.
    fn time_shared(seed: u64, is_given: bool) -> Self {
        let mut case = match seed % 2 {
            0 => Self::random(seed, is_given),
            _ => Self::with_sleeps(seed, is_given),
        };
        case.tasks.iter_mut().for_each(|task| task.priority += 100);
        case
    }

    /// Tasks under `SCHED_DEADLINE`, whose budgets mostly suffice, above up to two tasks at fixed priorities.
    fn reserved(seed: u64) -> Self {
        let mut case = Self::random(seed, true);
        let mut random = Random::from_seed(seed).fork(2);
        let free = random.below(3).min(case.tasks.len() as u64 - 1) as usize;
        for task in case.tasks.iter_mut().skip(free) {
            let runtime_ns = (task.execution_max_ns as f64 * (0.9 + random.uniform())) as u64;
            let shortest = runtime_ns.max(task.period_ns / 2).min(task.period_ns);
            let deadline_ns = match random.below(2) {
                0 => task.period_ns,
                _ => shortest + random.below(task.period_ns - shortest + 1),
            };
            let runtime_ns = runtime_ns.min(deadline_ns);
            let period_ns = task.period_ns;
            task.reservation = Some(Reservation { runtime_ns, deadline_ns, period_ns });
            task.yields = random.below(4) == 0;
        }
        case
    }

    /// The same with reservations of other periods than the jobs have, and budgets for a part of a job.
    fn served(seed: u64, gives_reserved: bool) -> Self {
        let mut case = Self { gives_reserved, ..Self::random(seed, true) };
        let mut random = Random::from_seed(seed).fork(4);
        let free = random.below(3).min(case.tasks.len() as u64 - 1) as usize;
        // Half of the sets have room for servers that are larger than their jobs.
        let smaller = [1, 3][random.below(2) as usize];
        for task in case.tasks.iter_mut().skip(free) {
            task.execution_max_ns = (task.execution_max_ns / smaller).max(2000);
            task.execution_min_ns = (task.execution_min_ns / smaller).max(2000);
            let whole = task.period_ns;
            let period_ns = match random.below(8) {
                0..3 => whole / (2 + random.below(4)),
                3..5 => (whole as f64 * (0.3 + 0.65 * random.uniform())) as u64,
                5..7 => whole,
                _ => (whole as f64 * (1.05 + 1.5 * random.uniform())) as u64,
            };
            let budgets = (1 + random.below(3)).min((whole / period_ns).max(1));
            let part = task.execution_max_ns as f64 / budgets as f64;
            let runtime_ns =
                ((part * (0.85 + 0.6 * random.uniform())) as u64).clamp(1000, period_ns);
            let deadline_ns = match random.below(3) {
                0 => runtime_ns + random.below(period_ns - runtime_ns + 1),
                _ => period_ns,
            };
            task.reservation = Some(Reservation { runtime_ns, deadline_ns, period_ns });
            task.yields = period_ns == whole && random.below(4) == 0;
        }
        case
    }

    /// The same tasks under earliest deadline first, with budgets that never throttle.
    fn by_deadline(&self) -> Self {
        let reserve = |task: &synthetic::Task| {
            let (runtime_ns, period_ns) = (task.execution_max_ns, task.period_ns);
            let reservation = Reservation { runtime_ns, deadline_ns: period_ns, period_ns };
            synthetic::Task { reservation: Some(reservation), ..task.clone() }
        };
        Self { tasks: self.tasks.iter().map(reserve).collect(), ..*self }
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
            ..synthetic::Task::default()
        };
        let tasks = tasks.iter().enumerate().map(task).collect();
        Self { tasks, length: 10_000 * MS, seed: 1, is_given, gives_reserved: false }
    }

    fn judge(&self) -> Judged {
        let (recording, jobs) = synthetic::run(&self.tasks, self.length, self.seed);
        let mut options = Options::default();
        if self.is_given {
            let period = |task: &synthetic::Task| {
                (Who::Tid(task.tid), Span::from_nanos(task.period_ns as i64))
            };
            let is_told = |task: &&synthetic::Task| {
                task.reservation.is_none() || (self.gives_reserved && !task.yields)
            };
            let free = self.tasks.iter().filter(is_told);
            options.periods = free.map(period).collect();
        }
        let report = analyze(&recording, &options);
        let late = |is_reserved: bool| {
            let all = self.tasks.iter().zip(&jobs);
            let of = all.filter(|(task, _)| task.reservation.is_some() == is_reserved);
            of.map(|(task, jobs)| self.missed(task, jobs)).sum()
        };
        let greatest = |jobs: &Vec<synthetic::TrueJob>| {
            let most = |figure: fn(&synthetic::TrueJob) -> u64| jobs.iter().map(figure).max();
            [most(|job| job.execution_ns), most(|job| job.finish_ns - job.release_ns)]
                .map(Option::unwrap_or_default)
        };
        let is_hidden = |(task, jobs): (&synthetic::Task, &Vec<synthetic::TrueJob>)| {
            let sleeps = task.sleep.is_some() && !task.asks;
            (sleeps || ((task.skips || task.timer) && !self.is_given))
                && self.missed(task, jobs) as usize * 10 >= jobs.len() * 9
        };
        Judged {
            is_hidden: self.tasks.iter().zip(&jobs).any(is_hidden),
            missed: late(false),
            missed_by_reserved: late(true),
            told: report.missed_deadlines,
            greatest: jobs.iter().map(greatest).collect(),
            verdict: verdict(&report, Some(Span::ZERO)),
        }
    }

    /// D: that of the reservation if it has the period of the jobs and no other one was given.
    fn deadline(&self, task: &synthetic::Task) -> u64 {
        let is_own = |of: &Reservation| of.period_ns.abs_diff(task.period_ns) <= of.period_ns / 20;
        let of = task.reservation.filter(|of| task.yields || (!self.gives_reserved && is_own(of)));
        of.map_or(task.period_ns, |of| of.deadline_ns)
    }

    /// How many jobs of a task were late, or due before the end and not finished.
    fn missed(&self, task: &synthetic::Task, jobs: &[synthetic::TrueJob]) -> u64 {
        let deadline = self.deadline(task);
        let late = jobs.iter().filter(|job| job.finish_ns - job.release_ns > deadline).count();
        let first_due = task.offset_ns + task.jitter_ns + task.period_ns;
        let due = self.length.saturating_sub(first_due).div_ceil(task.period_ns);
        // A task that yields is released when its server is replenished.
        let unfinished = if task.yields { 0 } else { due.saturating_sub(jobs.len() as u64) };
        late as u64 + unfinished
    }

    /// Whether all deadlines under `SCHED_DEADLINE` are kept for certain, with 2 % to spare.
    fn has_slack_by_deadline(&self) -> bool {
        let nanos = |nanos: u64| Span::from_nanos(nanos as i64);
        let more = |nanos: u64| nanos + nanos / 50;
        let reserved = || self.tasks.iter().filter_map(|task| Some((task, task.reservation?)));
        let fits = |(task, of): (&synthetic::Task, Reservation)| {
            // A yield to another reserved thread looks like a preemption.
            let throttles = more(task.execution_max_ns).div_ceil(of.runtime_ns) - 1;
            let response = throttles * of.period_ns + of.deadline_ns;
            !task.yields
                && task.jitter_ns == 0
                && (throttles + 1) * of.period_ns <= task.period_ns
                && response <= self.deadline(task)
        };
        let set = reserved().map(|(task, of)| Task {
            deadline: nanos(of.deadline_ns - of.deadline_ns / 50),
            ..Task::periodic(task.name.clone(), nanos(of.runtime_ns), nanos(of.period_ns))
        });
        let set = TaskSet::new(set.collect(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
        reserved().all(fits) && crate::schedulability::demand::of(&set).answer == Answer::Yes
    }

    /// Whether all deadlines at fixed priorities are kept for certain, with 2 % to spare.
    fn has_slack(&self) -> bool {
        let is_unbounded = |task: &synthetic::Task| {
            task.section.is_some_and(|section| section.protocol == Protocol::None)
        };
        if self.tasks.iter().any(is_unbounded) {
            return false;
        }
        let nanos = |nanos: u64| Span::from_nanos(nanos as i64);
        let more = |nanos: u64| nanos + nanos / 50;
        let task = |task: &synthetic::Task| Task {
            // A sleep taken for execution makes the bounds longer.
            execution: nanos(more(
                task.execution_max_ns + task.sleep.map_or(0, |sleep| sleep.length_ns),
            )),
            deadline: nanos(task.period_ns - task.period_ns / 50),
            priority: 200 - task.priority.unsigned_abs() as u32,
            jitter: nanos(task.jitter_ns),
            blocking: nanos(self.blocking(task)),
            ..Task::periodic(task.name.clone(), Span::ZERO, nanos(task.period_ns))
        };
        let above = |task: &synthetic::Task| {
            let of = task.reservation?;
            let is_rough = task.period_ns < of.period_ns
                || task.execution_max_ns > of.runtime_ns
                || task.yields;
            let (execution, period) = match is_rough {
                true => (of.runtime_ns, of.period_ns),
                false => (task.execution_max_ns, task.period_ns),
            };
            Some(Task {
                priority: u32::MAX,
                jitter: nanos(more(of.deadline_ns) + task.jitter_ns),
                ..Task::periodic(task.name.clone(), nanos(more(execution)), nanos(period))
            })
        };
        let free = self.tasks.iter().filter(|task| task.reservation.is_none()).map(task);
        let tasks = free.chain(self.tasks.iter().filter_map(above)).collect();
        TaskSet::new(tasks, PriorityOrder::Given, Span::ZERO).unwrap().keeps_deadlines()
    }

    /// B with inheritance or ceilings: for each mutex that it or a more urgent task uses, the longest section of a less
    /// urgent one (Sha, Rajkumar and Lehoczky, 1990).
    fn blocking(&self, of: &synthetic::Task) -> u64 {
        let longest = |mutex: u32| {
            let users = || {
                let uses = move |task: &&synthetic::Task| {
                    task.section.is_some_and(|section| section.mutex == mutex)
                };
                self.tasks.iter().filter(uses)
            };
            let reaches = users().any(|task| task.priority <= of.priority);
            let less_urgent = users().filter(|task| task.priority > of.priority);
            let lengths = less_urgent.filter_map(|task| Some(task.section?.length_ns));
            if reaches { lengths.max().unwrap_or(0) } else { 0 }
        };
        (0..MUTEXES as u32).map(longest).sum()
    }
}

struct Judged {
    /// Deadlines missed by tasks at fixed priorities, and by those under `SCHED_DEADLINE`.
    missed: u64,
    missed_by_reserved: u64,
    /// Those that the analysis tells.
    told: u64,
    /// A thread that sleeps within its jobs is late in nearly all of them. Then it does not sleep between them, and has
    /// the wake-ups of a thread that is in time. Or it leaves out each second release, as one of twice the period does.
    is_hidden: bool,
    /// The greatest execution and response time of each task's finished jobs.
    greatest: Vec<[u64; 2]>,
    verdict: SchedulabilityVerdict,
}

impl Judged {
    fn answer(&self) -> Option<Answer> {
        self.verdict.processors.first().map(|processor| processor.answer)
    }

    fn answer_by_deadline(&self) -> Option<Answer> {
        self.verdict.reservations.first().map(|of| of.answer)
    }

    /// C and R of a schedulable set are exact, and T is within 1 %.
    fn check_figures(&self, case: &Case) {
        let fixed = self.verdict.processors.iter().filter(|of| of.answer == Answer::Yes);
        let fixed = fixed.flat_map(|of| &of.tasks).map(|task| &task.measured);
        let reserved = self.verdict.reservations.iter().filter(|of| of.answer == Answer::Yes);
        let reserved = reserved.flat_map(|of| &of.tasks).map(|task| &task.measured);
        for found in fixed.chain(reserved) {
            let index = case.tasks.iter().position(|task| task.tid == found.tid).unwrap();
            let figures = [Some(found.execution_ns), found.response_ns];
            assert_eq!(figures, self.greatest[index].map(Some), "set {}: {found:?}", case.seed);
            let period = case.tasks[index].period_ns;
            let off = found.period_ns.abs_diff(period);
            assert!(off <= period / 100, "set {}: {found:?}", case.seed);
        }
    }
}

/// A delay as both tell it: the way, the thread, its length, and what the awaited thread was behind for how long.
type Told = (String, u32, u64, u64);

impl Case {
    /// Compares the delays of each job with the truth. Returns how many jobs and how many waits for a mutex were
    /// compared.
    fn check_blame(&self) -> [u64; 2] {
        let (recording, truth) = synthetic::run(&self.tasks, self.length, self.seed);
        let period =
            |task: &synthetic::Task| (Who::Tid(task.tid), Span::from_nanos(task.period_ns as i64));
        let options =
            Options { periods: self.tasks.iter().map(period).collect(), ..Options::default() };
        let mut compared = [0; 2];
        for (task, truth) in self.tasks.iter().zip(truth) {
            let of = Of::Thread(task.tid);
            let wanted = Wanted { of, from_ns: 0, to_ns: u64::MAX, max: usize::MAX };
            let found = jobs(&recording, &options, &wanted);
            // A job that follows a late one is in the same invocation.
            let mut at = truth.iter().peekable();
            for job in found.iter().filter(|job| job.complete) {
                while at.next_if(|truth| truth.release_ns < job.release_ns).is_some() {}
                let Some(truth) = at.peek().filter(|truth| truth.finish_ns == job.finish_ns) else {
                    continue;
                };
                let mut told: Vec<Told> = truth.delays.iter().map(of_truth).collect();
                told.sort();
                assert_eq!(of_walk(job, truth), told, "set {}: {job:?}\n{truth:?}", self.seed);
                let waits = truth.delays.iter().filter(|delay| delay.kind == DelayKind::Blocked);
                compared[0] += 1;
                compared[1] += waits.count() as u64;
            }
        }
        compared
    }
}

fn of_truth(delay: &synthetic::TrueDelay) -> Told {
    (format!("{:?}", delay.kind), delay.tid, delay.ns, delay.behind_ns)
}

fn of_walk(job: &Job, truth: &synthetic::TrueJob) -> Vec<Told> {
    let mut told = Vec::new();
    for delay in &job.delays {
        let Culprit::Thread(tid) = delay.who else { panic!("{job:?}") };
        let same = |of: &&synthetic::TrueDelay| of.kind == delay.kind && of.tid == tid;
        if let Some(behind) = delay.behind {
            let truth = truth.delays.iter().find(same).expect("the truth has this delay");
            let Culprit::Thread(third) = behind.who else { panic!("{job:?}") };
            assert!(truth.behind.contains(&third), "{job:?}\n{truth:?}");
        }
        let behind_ns = delay.behind.map_or(0, |behind| behind.ns);
        told.push((format!("{:?}", delay.kind), tid, delay.ns, behind_ns));
    }
    told.sort();
    told
}

#[test]
fn blame_is_that_of_the_simulator() {
    let mut compared = [0; 2];
    for seed in 0..CASES {
        let [jobs, waits] = Case::with_locks(seed, true).check_blame();
        compared = [compared[0] + jobs, compared[1] + waits];
    }
    println!("jobs, waits for a mutex: {compared:?}");
    assert!(compared[0] > 500_000 && compared[1] > 10_000, "{compared:?}");
}

/// Random sets for each test.
const CASES: u64 = 2_500;

/// No set that missed a deadline is called schedulable, no set with slack unschedulable, and the figures of a
/// schedulable one are right.
fn check(case: impl Fn(u64) -> Case) {
    check_some(CASES, case);
}

fn check_some(cases: u64, case: impl Fn(u64) -> Case) -> BTreeMap<(bool, String), u64> {
    let mut said = BTreeMap::new();
    // Of a thread that sleeps within its jobs, the wake-ups may show half the period, unless it asks for its releases
    // only.
    let is_told = |task: &synthetic::Task| {
        task.sleep.is_none_or(|sleep| task.asks && sleep.asked_in_ten == 0)
    };
    // If it asks for times within half of its jobs or more and not for its releases, those times look like them.
    let misleads = |task: &synthetic::Task| {
        !task.asks && task.sleep.is_some_and(|sleep| sleep.asked_in_ten >= 5)
    };
    for seed in 0..cases {
        let case = case(seed);
        let judged = case.judge();
        let by_deadline = judged.answer_by_deadline();
        for (missed, answer, has_slack) in [
            (judged.missed, judged.answer(), case.has_slack()),
            (judged.missed_by_reserved, by_deadline, case.has_slack_by_deadline()),
        ] {
            *said.entry((missed > 0, format!("{answer:?}"))).or_insert(0) += 1;
            let verdict = &judged.verdict;
            let is_safe = missed == 0 || answer != Some(Answer::Yes) || judged.is_hidden;
            assert!(is_safe, "set {seed} missed {missed}: {verdict:?}");
            let has_figures = (case.is_given || case.tasks.iter().all(is_told))
                && !case.tasks.iter().any(misleads);
            let is_harsh = missed == 0 && answer == Some(Answer::No) && has_slack && has_figures;
            assert!(!is_harsh, "set {seed} has slack: {verdict:?}");
        }
        if !judged.is_hidden && case.tasks.iter().all(is_told) {
            judged.check_figures(&case);
        }
    }
    println!("(missed, answer): {said:?}");
    said
}

#[test]
fn verdicts_on_random_sets_with_reservations_are_safe() {
    check(Case::reserved);
}

#[test]
fn verdicts_on_random_sets_with_reservations_of_other_periods_are_safe_with_given_periods() {
    check(|seed| Case::served(seed, true));
}

#[test]
fn verdicts_on_random_sets_with_reservations_of_other_periods_are_safe_with_periods_from_wake_ups()
{
    check(|seed| Case::served(seed, false));
}

#[test]
fn no_job_takes_longer_than_its_servers_need_if_they_are_kept() {
    let mut compared = [0; 2];
    for seed in 0..CASES {
        let case = Case::served(seed, true);
        let judged = case.judge();
        let kept = judged.verdict.reservations.iter().filter(|of| {
            judged.missed_by_reserved == 0 && of.tests.iter().any(|test| test.answer == Answer::Yes)
        });
        for found in kept.flat_map(|of| &of.tasks) {
            let index = case.tasks.iter().position(|task| task.tid == found.measured.tid).unwrap();
            let (task, Some(bound)) = (&case.tasks[index], found.bound_ns) else { continue };
            let greatest = judged.greatest[index][1];
            assert!(greatest <= bound + task.jitter_ns, "set {seed}: {greatest}, {found:?}");
            compared[usize::from(found.measured.execution_ns > found.reservation.runtime_ns)] += 1;
        }
    }
    println!("jobs within one budget, longer ones: {compared:?}");
    assert!(compared.iter().all(|count| *count > 300), "{compared:?}");
}

#[test]
fn a_yes_for_earliest_deadline_first_holds_when_the_set_is_run_so() {
    let mut schedulable = 0;
    for seed in 0..CASES {
        let case = Case::random(seed, true);
        let is_steady = |task: &synthetic::Task| {
            task.jitter_ns == 0 && task.execution_min_ns == task.execution_max_ns
        };
        if !case.tasks.iter().all(is_steady) {
            continue;
        }
        let judged = case.judge();
        let tests = judged.verdict.processors.iter().flat_map(|processor| &processor.tests);
        let by_deadline = tests.filter(|test| test.name.contains("demand")).map(|test| test.answer);
        if judged.verdict.left_out.is_empty() && by_deadline.eq([Answer::Yes]) {
            let missed = case.by_deadline().judge().missed_by_reserved;
            assert_eq!(missed, 0, "set {seed}");
            schedulable += 1;
        }
    }
    println!("schedulable by earliest deadline first: {schedulable}");
    assert!(schedulable > CASES / 10);
}

#[test]
fn verdicts_on_random_sets_are_safe_with_given_periods() {
    check(|seed| Case::random(seed, true));
}

#[test]
fn verdicts_on_random_sets_are_safe_with_periods_from_wake_ups() {
    check(|seed| Case::random(seed, false));
}

#[test]
fn verdicts_on_random_sets_that_sleep_within_jobs_are_safe_with_given_periods() {
    check(|seed| Case::with_sleeps(seed, true));
}

#[test]
fn verdicts_on_random_sets_that_sleep_within_jobs_are_safe_with_periods_from_wake_ups() {
    check(|seed| Case::with_sleeps(seed, false));
}

#[test]
fn verdicts_on_random_sets_without_real_time_priorities_are_safe() {
    check(|seed| Case::time_shared(seed, seed % 3 > 0));
}

#[test]
fn verdicts_on_random_sets_with_mutexes_are_safe_with_given_periods() {
    check(|seed| Case::with_locks(seed, true));
}

#[test]
fn verdicts_on_random_sets_with_mutexes_are_safe_with_periods_from_wake_ups() {
    check(|seed| Case::with_locks(seed, false));
}

/// Of sets that ask for their releases, the verdict knows every job: of those that missed a deadline, it leaves this
/// part open at most, in hundredths.
fn check_asking(case: impl Fn(u64) -> Case, open_max: u64) {
    let said = check_some(CASES / 2, |seed| case(seed).asking());
    let late = |answer: &str| {
        let of = said.iter().filter(|((is_late, told), _)| *is_late && told.contains(answer));
        of.map(|of| of.1).sum::<u64>()
    };
    let (no, open) = (late("No"), late("Open"));
    assert!(100 * open <= open_max * (no + open), "{said:?}");
}

#[test]
fn verdicts_on_random_sets_that_ask_for_their_releases_are_safe_with_given_periods() {
    check_asking(|seed| Case::random(seed, true), 0);
}

#[test]
fn verdicts_on_random_sets_that_ask_for_their_releases_are_safe_with_periods_found() {
    check_asking(|seed| Case::random(seed, false), 1);
}

#[test]
fn verdicts_on_random_sets_that_ask_and_sleep_within_jobs_are_safe() {
    check_asking(|seed| Case::with_sleeps(seed, seed % 2 == 0), 25);
}

#[test]
fn verdicts_on_random_sets_that_ask_within_their_jobs_are_safe() {
    check_some(CASES, |seed| Case::with_sleeps(seed, seed % 2 == 0).asking_within());
}

#[test]
fn verdicts_on_random_sets_that_ask_and_leave_out_releases_are_safe() {
    check_some(CASES / 2, |seed| {
        let mut case = Case::random(seed, seed % 2 == 0).asking();
        case.tasks.iter_mut().for_each(|task| task.skips = true);
        case
    });
}

#[test]
fn verdicts_on_random_sets_that_ask_and_use_mutexes_are_safe() {
    check_asking(|seed| Case::with_locks(seed, seed % 2 == 0), 10);
}

#[test]
fn verdicts_on_random_sets_with_reservations_that_ask_are_safe() {
    check_some(CASES / 2, |seed| Case::reserved(seed).asking());
}

#[test]
fn verdicts_on_random_sets_with_reservations_of_other_periods_that_ask_are_safe() {
    check_some(CASES / 2, |seed| Case::served(seed, seed % 2 == 0).asking());
}

#[test]
fn textbook_sets_that_ask_for_their_releases_get_the_textbook_answer() {
    for (set, answer) in TEXTBOOK.map(|(set, given, _)| (set, given)) {
        for is_given in [true, false] {
            let judged = Case::textbook(set, is_given).asking().judge();
            let verdict = &judged.verdict.processors[0].verdict;
            assert_eq!(judged.answer(), Some(answer), "{set:?}, given: {is_given}; {verdict}");
        }
    }
}

/// C in milliseconds and T of each task.
type Set = &'static [(f64, u64)];

/// Sets of textbooks, and the answers with given periods and with those from wake-ups.
const TEXTBOOK: [(Set, Answer, Answer); 4] = [
    // Overloaded: U = 1.108. The third never sleeps.
    (&[(1.0, 3), (2.0, 5), (3.0, 8)], Answer::No, Answer::Open),
    // Lehoczky, Sha and Ding, 1989; U = 0.99. The second is late, and catches up every 700 ms.
    (&[(26.0, 70), (62.0, 100)], Answer::No, Answer::Open),
    // The third of Burns and Wellings, "Real-Time Systems and Programming Languages", finishes exactly in time …
    (&[(3.0, 7), (3.0, 12), (5.0, 20)], Answer::Yes, Answer::Open),
    // … and with a little more to do too late.
    (&[(3.0, 7), (3.0, 12), (5.1, 20)], Answer::No, Answer::No),
];

#[test]
fn textbook_sets_get_the_textbook_answer_or_none() {
    for (set, given, found) in TEXTBOOK {
        for (is_given, expected) in [(true, given), (false, found)] {
            let judged = Case::textbook(set, is_given).judge();
            assert_eq!(judged.missed > 0, given == Answer::No, "{set:?}");
            let verdict = &judged.verdict.processors[0].verdict;
            assert_eq!(judged.answer(), Some(expected), "{set:?}, given: {is_given}; {verdict}");
        }
    }
}
