//! Textbook sets with their sources, and properties that relate the tests.

use hemiola_units::Span;
use proptest::prelude::*;

use super::{Answer, assess, bounds, demand, tolerance};
use crate::response_time::{PriorityOrder, Task, TaskSet};

const fn ms(millis: i64) -> Span {
    Span::from_millis(millis)
}

/// Execution time, period, deadline, ms.
fn set<const N: usize>(tasks: [(i64, i64, i64); N]) -> TaskSet {
    let task =
        |(c, t, d)| Task { deadline: ms(d), ..Task::periodic(format!("{c}/{t}"), ms(c), ms(t)) };
    TaskSet::new(tasks.map(task).into(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap()
}

/// A set with implicit deadlines.
fn implicit<const N: usize>(tasks: [(i64, i64); N]) -> TaskSet {
    set(tasks.map(|(c, t)| (c, t, t)))
}

fn quick(set: &TaskSet) -> [Answer; 2] {
    [bounds::liu_layland(set), bounds::hyperbolic(set)].map(|bound| bound.unwrap().answer())
}

#[test]
fn the_bound_of_liu_and_layland_distinguishes_the_sets_of_the_book() {
    // Burns and Wellings, "Real-Time Systems and Programming Languages", the chapter on scheduling: sets A, B and C.
    let (a, b, c) = (
        implicit([(12, 50), (10, 40), (10, 30)]),
        implicit([(32, 80), (5, 40), (4, 16)]),
        implicit([(40, 80), (10, 40), (5, 20)]),
    );
    for (set, used, answer, keeps) in [
        (a, 0.823, Answer::Open, false),
        (b, 0.775, Answer::Yes, true),
        (c, 1.0, Answer::Open, true),
    ] {
        let bound = bounds::liu_layland(&set).unwrap();
        assert!(
            (bound.value - used).abs() < 5e-4 && (bound.limit - 0.7798).abs() < 5e-5,
            "{bound:?}"
        );
        assert_eq!((bound.answer(), set.keeps_deadlines()), (answer, keeps));
    }
}

#[test]
fn the_hyperbolic_bound_admits_a_set_that_utilization_does_not() {
    // By hand: (1/2 + 1)(1/3 + 1) = 2 exactly, and 5/6 is more than 2 (√2 − 1) = 0.828.
    assert_eq!(quick(&implicit([(1, 2), (1, 3)])), [Answer::Open, Answer::Yes]);
}

#[test]
fn the_set_of_lehoczky_sha_and_ding_is_schedulable_beyond_both_bounds() {
    // "The Rate Monotonic Scheduling Algorithm: Exact Characterization and Average Case Behavior", 1989: with 20
    // instead of 40 it is within the bound.
    assert_eq!(quick(&implicit([(20, 100), (40, 150), (100, 350)])), [Answer::Yes; 2]);
    let set = implicit([(40, 100), (40, 150), (100, 350)]);
    assert_eq!(quick(&set), [Answer::Open; 2]);
    let found = assess(&set);
    let longest: Vec<_> = found.fixed[0].responses.iter().map(|one| one.bound.unwrap()).collect();
    assert_eq!(longest, [ms(40), ms(80), ms(300)]);
    // Deadline- and rate-monotonic orders are the same here.
    assert_eq!(found.fixed.len(), 1);
    // By hand: the third ends at 300 = 3·C₁ + 2·C₂ + C₃, when both others are released again, so it cannot take
    // longer there. At 350 it would be 4·40 + 3·40 + C₃.
    assert_eq!(found.fixed[0].tolerance.each[2], Some(ms(100)));
}

#[test]
fn blocking_is_charged_to_the_task_that_suffers_it() {
    // Sha, Rajkumar and Lehoczky, "Priority Inheritance Protocols", 1990, theorem 16: for every i,
    // C₁/T₁ + … + Cᵢ/Tᵢ + Bᵢ/Tᵢ ≤ i (2^(1/i) − 1). Here 2/10 + 3/10 = 0.5 and 2/10 + 6/20 + 5/20 = 0.75.
    let with = |first, second| {
        let mut tasks = implicit([(2, 10), (6, 20)]).tasks().to_vec();
        (tasks[0].blocking, tasks[1].blocking) = (ms(first), ms(second));
        TaskSet::new(tasks, PriorityOrder::RateMonotonic, Span::ZERO).unwrap()
    };
    let bound = bounds::liu_layland(&with(3, 5)).unwrap();
    assert!((bound.value - 0.75).abs() < 1e-12 && bound.task == "6/20", "{bound:?}");
    assert_eq!(quick(&with(3, 5)), [Answer::Yes; 2]);
    // 2/10 + 9/10 for the first, which is beyond.
    let bound = bounds::liu_layland(&with(9, 0)).unwrap();
    assert_eq!((bound.task.as_str(), bound.answer()), ("2/10", Answer::Open));
    assert!(!with(9, 0).keeps_deadlines() && with(8, 0).keeps_deadlines());
}

#[test]
fn priorities_against_the_periods_have_no_utilization_bound() {
    let mut tasks = implicit([(1, 10), (1, 20)]).tasks().to_vec();
    tasks[1].priority = 9;
    let set = TaskSet::new(tasks, PriorityOrder::Given, Span::ZERO).unwrap();
    assert_eq!((bounds::liu_layland(&set), bounds::hyperbolic(&set)), (None, None));
    // The assessment includes the rate-monotonic order.
    let orders: Vec<_> = assess(&set).fixed.iter().map(|fixed| fixed.order).collect();
    assert_eq!(orders, [PriorityOrder::Given, PriorityOrder::RateMonotonic]);
}

#[test]
fn the_textbook_set_for_processor_demand_is_schedulable_without_slack() {
    // Buttazzo, "Hard Real-Time Computing Systems", the section on processor demand: C, D, T = (2, 4, 6), (2, 5, 8),
    // (3, 7, 9), of which 7 are due at 7 and 16 at 16. No execution time may grow.
    let found = assess(&set([(2, 6, 4), (2, 8, 5), (3, 9, 7)]));
    let deadline = &found.earliest_deadline;
    assert_eq!(deadline.demand, demand::Demand { answer: Answer::Yes, exceeded: None });
    assert_eq!(deadline.tolerance.each, [Some(ms(2)), Some(ms(2)), Some(ms(3))]);
    assert_eq!(deadline.tolerance.together, Some(1.0));
    // With a slightly earlier deadline the third is late: 7 are due at 6.
    let sooner = demand::of(&set([(2, 6, 4), (2, 8, 5), (3, 9, 6)]));
    let exceeded = Some(demand::Exceeded { within: ms(6), due: ms(7) });
    assert_eq!(sooner, demand::Demand { answer: Answer::No, exceeded });
    // Fixed priorities cannot schedule it.
    assert!(found.fixed.iter().all(|fixed| fixed.answer() == Answer::No));
}

#[test]
fn earliest_deadline_first_uses_the_whole_processor() {
    // Liu and Layland, theorem 7. Fixed priorities fail: the second ends after 4 + 2·2 = 8 of 7.
    let set = implicit([(2, 5), (4, 7)]);
    assert!(!set.keeps_deadlines());
    assert_eq!(demand::of(&set).answer, Answer::Yes);
    assert_eq!(demand::of(&implicit([(1, 2), (1, 3), (1, 6)])).answer, Answer::Yes);
    assert_eq!(demand::of(&implicit([(1, 2), (2, 3)])).answer, Answer::No);
}

#[test]
fn blocking_and_jitter_count_under_earliest_deadline_too() {
    let with = |blocking, jitter| {
        let mut tasks = implicit([(2, 5), (3, 10)]).tasks().to_vec();
        (tasks[0].blocking, tasks[0].jitter) = (ms(blocking), ms(jitter));
        demand::of(&TaskSet::new(tasks, PriorityOrder::RateMonotonic, Span::ZERO).unwrap()).answer
    };
    // By hand: at 5, 2 are due and 3 are left; at 10, 7 are due and 3 are left.
    assert_eq!([with(3, 0), with(4, 0)], [Answer::Yes, Answer::No]);
    // Released 3 late, the first is due 2 after its release; 4 late, 1 after.
    assert_eq!([with(0, 3), with(0, 4)], [Answer::Yes, Answer::No]);
}

#[test]
fn tolerance_finds_the_hand_computed_margins() {
    // By hand: the first may take 3 of every 5, or the second does not end in its 10 with 2·C₁ + 4; the second
    // ends by 5 with C₂ ≤ 3, or by 10 with C₂ ≤ 10 − 2·2.
    let found = tolerance(&implicit([(2, 5), (4, 10)]), TaskSet::keeps_deadlines);
    assert_eq!(found.each, [Some(ms(3)), Some(ms(6))]);
    assert_eq!(found.together, Some(1.25));
    // A failing set has a factor below 1: (3, 5), (6, 10) demand 1.2 of the processor.
    let found = tolerance(&implicit([(3, 5), (6, 10)]), TaskSet::keeps_deadlines);
    assert_eq!(found.each, [Some(ms(2)), Some(ms(4))]);
    assert_eq!(found.together, Some(0.833_333));
    // No execution time helps if another task is late by itself.
    let found = tolerance(&set([(1, 10, 5), (8, 10, 7)]), TaskSet::keeps_deadlines);
    assert_eq!(found.each, [None, Some(ms(6))]);
}

#[test]
fn an_empty_set_keeps_its_deadlines() {
    let found = assess(&implicit([]));
    assert_eq!((found.fixed.len(), found.fixed[0].answer()), (1, Answer::Yes));
    assert_eq!(found.earliest_deadline.demand.answer, Answer::Yes);
    assert_eq!(found.fixed[0].tolerance.together, None);
}

#[test]
fn a_fully_used_processor_is_analysed_in_reasonable_time() {
    let half = |period: i64| {
        let nanos = Span::from_nanos;
        let (execution, deadline) = (nanos(period / 2), nanos(period - 1));
        Task { deadline, ..Task::periodic("", execution, nanos(period)) }
    };
    let tasks = vec![half(1_000_000_000), half(1_000_000_002)];
    let set = TaskSet::new(tasks, PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
    assert_ne!(demand::of(&set).answer, Answer::Yes);
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let one = (1i64..12, 1i64..40, 0i64..20, 0i64..4, 0i64..4).prop_map(|(c, t, d, b, j)| Task {
        deadline: ms((c + t - d).max(1)),
        blocking: ms(b),
        jitter: ms(j),
        ..Task::periodic(format!("{c}/{t}"), ms(c), ms(c + t))
    });
    prop::collection::vec(one, 1..5)
}

/// Whether jobs keep their deadlines in a simulation of earliest deadline first in steps of 1 ms after a simultaneous
/// release; at most 50 s, which is longer than their first busy period.
fn simulated(tasks: &[Task]) -> bool {
    let millis = |span: Span| span.nanos() / 1_000_000;
    let mut jobs: Vec<(i64, i64)> = Vec::new();
    for now in 0..50_000 {
        for task in tasks.iter().filter(|task| now % millis(task.period) == 0) {
            jobs.push((now + millis(task.deadline), millis(task.execution)));
        }
        jobs.sort_unstable();
        if let Some(first) = jobs.first_mut() {
            first.1 -= 1;
            if first.0 <= now {
                return false;
            }
            if first.1 == 0 {
                jobs.remove(0);
            }
        } else if now > 0 {
            return true;
        }
    }
    true
}

proptest! {
    #[test]
    fn a_yes_of_a_utilization_bound_is_never_contradicted(tasks in tasks()) {
        let set = TaskSet::new(tasks, PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
        let [by_sum, by_product] = quick(&set);
        prop_assert!(by_sum != Answer::Yes || by_product == Answer::Yes);
        prop_assert!(by_product != Answer::Yes || set.keeps_deadlines());
    }

    #[test]
    fn earliest_deadline_first_schedules_every_set_that_fixed_priorities_do(mut tasks in tasks()) {
        for task in &mut tasks {
            task.blocking = Span::ZERO;
        }
        let set = TaskSet::new(tasks, PriorityOrder::DeadlineMonotonic, Span::ZERO).unwrap();
        if set.keeps_deadlines() {
            prop_assert_eq!(demand::of(&set).answer, Answer::Yes);
        }
    }

    #[test]
    fn the_demand_test_agrees_with_a_simulation(mut tasks in tasks()) {
        for task in &mut tasks {
            (task.blocking, task.jitter) = (Span::ZERO, Span::ZERO);
        }
        let set = TaskSet::new(tasks.clone(), PriorityOrder::RateMonotonic, Span::ZERO).unwrap();
        // On an overloaded processor the first miss may come late.
        prop_assume!(set.utilization() <= 1.0);
        prop_assert_eq!(demand::of(&set).answer == Answer::Yes, simulated(&tasks));
    }

    #[test]
    fn a_nanosecond_more_than_tolerated_is_too_much(tasks in tasks()) {
        let set = TaskSet::new(tasks, PriorityOrder::DeadlineMonotonic, Span::ZERO).unwrap();
        let found = tolerance(&set, TaskSet::keeps_deadlines);
        for (index, longest) in found.each.iter().enumerate() {
            let Some(longest) = longest else { continue };
            let holds = |execution| {
                let own = set.tasks().iter().map(|task| task.execution).enumerate();
                let with = own.map(|(at, own)| if at == index { execution } else { own });
                set.with_executions(with).keeps_deadlines()
            };
            prop_assert!(holds(*longest) && !holds(*longest + Span::from_nanos(1)));
        }
        if let Some(factor) = found.together {
            prop_assert_eq!(factor >= 1.0, set.keeps_deadlines());
        }
    }
}
