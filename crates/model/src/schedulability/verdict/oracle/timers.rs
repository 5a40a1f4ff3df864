//! Random sets whose tasks do not ask for each release: timers release them, or they sleep for something else in turn.

use super::*;

/// When the loops begin: later than all tasks are created.
const BEGIN: u64 = 20 * MS;

impl Case {
    /// The same with timers that release the tasks. With `asks_once`, each task is created in the recording and asks
    /// once to sleep, until the beginning of its loop.
    fn by_timers(mut self, asks_once: bool) -> Self {
        for (task, number) in self.tasks.iter_mut().zip(1..) {
            (task.timer, task.jitter_ns) = (true, 0);
            task.offset_ns += BEGIN;
            task.created_ns = asks_once.then_some(number * MS);
        }
        self
    }

    /// The same with tasks that ask for each second or third release only.
    fn asking_in_turn(self) -> Self {
        let mut random = Random::from_seed(self.seed).fork(6);
        let mut case = self.asking();
        for task in &mut case.tasks {
            (task.asks_every, task.skips) = (2 + random.below(2), random.below(2) == 0);
        }
        case
    }
}

/// Sets that missed no deadline and are not called schedulable, and those that are.
fn alarms(said: &BTreeMap<(bool, String), u64>) -> [u64; 2] {
    let in_time = said.iter().filter(|((is_late, _), _)| !is_late);
    let in_time = in_time.filter(|((_, told), _)| told != "None");
    in_time.fold([0; 2], |[alarms, kept], ((_, told), count)| match told.contains("Yes") {
        true => [alarms, kept + count],
        false => [alarms + count, kept],
    })
}

/// Sets that timers release are as safe with one request before each loop as without. At least so many hundredths of
/// those that are kept without are kept with it: jobs that take different times are in doubt.
fn check_timers(kept_min: u64, case: impl Fn(u64) -> Case) {
    let [without, with] = [false, true].map(|asks_once| {
        let said = check_some(CASES / 2, |seed| case(seed).by_timers(asks_once));
        let [alarms, kept] = alarms(&said);
        println!(
            "released by timers, asked once: {asks_once}; false alarms: {alarms}, kept: {kept}"
        );
        [alarms, kept]
    });
    assert!(100 * with[1] >= kept_min * without[1], "{with:?} {without:?}");
}

#[test]
fn verdicts_on_random_sets_released_by_timers_are_safe_with_given_periods() {
    check_timers(20, |seed| Case::random(seed, true));
}

#[test]
fn verdicts_on_random_sets_released_by_timers_with_equal_jobs_are_the_same_with_one_request() {
    check_timers(100, |seed| {
        let mut case = Case::random(seed, true);
        case.tasks.iter_mut().for_each(|task| task.execution_min_ns = task.execution_max_ns);
        case
    });
}

#[test]
fn verdicts_on_random_sets_released_by_timers_are_safe_with_periods_found() {
    check_timers(20, |seed| Case::random(seed, false));
}

#[test]
fn verdicts_on_random_sets_released_by_timers_that_sleep_within_jobs_are_safe() {
    check_timers(20, |seed| Case::with_sleeps(seed, true));
}

#[test]
fn verdicts_on_random_sets_released_by_timers_that_use_mutexes_are_safe() {
    check_timers(20, |seed| Case::with_locks(seed, seed % 2 == 0));
}

#[test]
fn no_miss_is_invented_of_random_sets_that_ask_for_some_releases_only() {
    let mut invented = 0;
    let of = |seed| match seed % 2 {
        0 => Case::random(seed, true),
        _ => Case::with_sleeps(seed, true),
    };
    check_some(CASES / 2, |seed| of(seed).asking_in_turn());
    for seed in 0..CASES / 10 {
        let judged = of(seed).asking_in_turn().judge();
        invented += u64::from(judged.missed == 0 && judged.told > 0);
    }
    println!("asked for some releases, misses invented: {invented}");
    assert_eq!(invented, 0);
}
