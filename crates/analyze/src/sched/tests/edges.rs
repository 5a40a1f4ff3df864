//! What a thread does before its first job, after its last one, and between two of them.

use hemiola_trace::sched::Reservation;

use super::*;

const TID: u32 = 7;

/// A timer wakes the thread, and it runs for a while.
fn job(story: &mut Story, at_us: u64, length_us: u64, left: Left) {
    story.wake(at_us, TID, IDLE).switch(at_us, IDLE, Left::Preempted, TID);
    story.switch(at_us + length_us, TID, left, IDLE);
}

/// Jobs of 1 ms in 10 ms of a thread at a real-time priority; the first is released at 10 ms.
fn jobs_of_a_loop(count: u64) -> Story {
    let mut story = Story::default();
    story.on(1).priorities.push((TID, 40));
    (1..=count).for_each(|n| job(&mut story, 10_000 * n, 1_000, Left::Sleeping));
    story
}

fn given(story: &Story, name: &str) -> Report {
    let periods = vec![(Who::Name(name.into()), Span::from_millis(10))];
    analyze(&story.recording(), &Options { periods, ..Options::default() })
}

fn asks(story: &mut Story, at_us: u64, until_us: u64) {
    let until = Instant::from_nanos(until_us * US);
    story.push(at_us, What::SleepUntil(until.into()));
}

#[test]
fn a_thread_that_names_itself_in_a_job_keeps_that_job() {
    for (jobs_before, expected) in [(20, 41), (5, 40)] {
        let mut story = jobs_of_a_loop(jobs_before);
        story.thread(TID, 0, "loop", false);
        let at = 10_000 * (jobs_before + 1);
        job(&mut story, at, 9_000, Left::Sleeping);
        story.thread(TID, at + 500, "alarm", false);
        (jobs_before + 2..42).for_each(|n| job(&mut story, 10_000 * n, 1_000, Left::Sleeping));
        let report = story.report();
        let thread = of(&report, TID);
        let longest = thread.execution_ns.as_ref().unwrap().max;
        // Among the first twelve releases, it is a start-up.
        assert_eq!(thread.invocations, expected);
        assert_eq!(longest, if expected == 41 { 9 * MS } else { MS });
    }
}

#[test]
fn the_invocation_in_which_a_thread_ends_is_no_job_of_a_periodic_one() {
    let mut story = jobs_of_a_loop(20);
    job(&mut story, 210_000, 25_000, Left::Dead);
    story.thread(TID, 0, "loop", false);
    for report in [story.report(), given(&story, "loop")] {
        let thread = of(&report, TID);
        assert_eq!((thread.invocations, thread.ended_ns), (20, 25 * MS));
        assert_eq!(thread.execution_ns.as_ref().unwrap().max, MS);
        assert_eq!((thread.missed, thread.part_ns, report.missed_deadlines), (0, 0, 0));
    }
    // Without a period, it is one like any other.
    let mut once = Story::default();
    job(once.on(1), 10_000, 25_000, Left::Dead);
    assert_eq!(of(&once.report(), TID).invocations, 1);
}

#[test]
fn a_signal_before_the_time_that_was_asked_for_is_not_in_the_job_before() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=20 {
        story.wake(10_000 * n, TID, IDLE).switch(10_000 * n, IDLE, Left::Preempted, TID);
        asks(&mut story, 10_000 * n + 1_000, 10_000 * (n + 1));
        story.switch(10_000 * n + 1_000, TID, Left::Sleeping, IDLE);
    }
    // Another thread ends the process.
    story.wake(207_000, TID, 99).switch(207_000, IDLE, Left::Preempted, TID);
    story.switch(207_100, TID, Left::Dead, IDLE);
    let report = story.report();
    let thread = of(&report, TID);
    assert_eq!((thread.invocations, thread.response_ns.as_ref().unwrap().max), (20, MS));
    assert_eq!((thread.silent_ns, thread.timer_late_ns), (0, Some(0)));
}

#[test]
fn a_thread_that_waits_for_another_between_two_loops_was_not_late() {
    let mut story = Story::default();
    story.on(1);
    for n in (1..=20).chain(50..=70) {
        let by = if n == 50 { 99 } else { IDLE };
        story.wake(10_000 * n, TID, by).switch(10_000 * n, IDLE, Left::Preempted, TID);
        if n != 20 {
            asks(&mut story, 10_000 * n + 1_000, 10_000 * (n + 1));
        }
        story.switch(10_000 * n + 1_000, TID, Left::Sleeping, IDLE);
    }
    story.thread(TID, 0, "loop", false);
    for report in [story.report(), given(&story, "loop")] {
        let thread = of(&report, TID);
        assert_eq!(thread.response_ns.as_ref().unwrap().max, MS, "{thread:?}");
        assert_eq!((thread.missed, thread.suspension_ns), (0, 0));
    }
}

#[test]
fn a_thread_that_asks_within_some_jobs_only_is_released_by_its_wake_ups() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=60 {
        let at = 10_000 * n;
        story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
        if [1, 2, 9, 17, 18, 30, 41, 52].contains(&n) {
            asks(&mut story, at + 400, at + 900);
            story.switch(at + 400, TID, Left::Sleeping, IDLE);
            story.wake(at + 900, TID, IDLE).switch(at + 900, IDLE, Left::Preempted, TID);
        }
        story.switch(at + 1_000, TID, Left::Sleeping, IDLE);
    }
    story.thread(TID, 0, "loop", false);
    for report in [story.report(), given(&story, "loop")] {
        let thread = of(&report, TID);
        let [execution, response] =
            [&thread.execution_ns, &thread.response_ns].map(|times| times.as_ref().unwrap());
        assert_eq!((thread.invocations, thread.period_ns), (60, Some(10 * MS)));
        assert_eq!((execution.min, execution.max), (MS / 2, MS));
        assert_eq!((response.min, response.max, thread.missed), (MS, MS, 0));
        assert_eq!((thread.timer_late_ns, thread.strayed), (None, 0));
        assert!(thread.asks_within_jobs);
    }
}

#[test]
fn one_request_in_the_start_up_is_not_within_a_job() {
    // A timer releases the loop. It begins at a time that the thread asks for in its start-up, or in its first job.
    let of_loop = |is_created: bool, asked_in: u64| {
        let mut story = Story::default();
        story.on(1);
        story.wake(1_000, TID, 99).switch(1_000, IDLE, Left::Preempted, TID);
        if asked_in == 0 {
            asks(&mut story, 1_100, 10_000);
        }
        story.switch(1_200, TID, Left::Sleeping, IDLE);
        for n in 1..=60 {
            let at = 10_000 * n;
            story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
            if asked_in == n {
                asks(&mut story, at + 400, at + 10_000);
            }
            story.switch(at + 500, TID, Left::Sleeping, IDLE);
        }
        story.thread(TID, if is_created { 900 } else { 0 }, "loop", is_created);
        [story.report(), given(&story, "loop")]
    };
    for report in of_loop(true, 0) {
        let thread = of(&report, TID);
        assert_eq!((thread.invocations, thread.period_ns), (60, Some(10 * MS)), "{thread:?}");
        assert_eq!(thread.response_ns.as_ref().unwrap().max, MS / 2);
        assert_eq!(
            (thread.missed, thread.asks_within_jobs, thread.asks_before_loop),
            (0, false, true)
        );
        assert_eq!(thread.execution_later_min_ns, MS / 2);
        // The interval from the time that it asked for counts.
        assert_eq!(thread.interval_ns.as_ref().unwrap().count, 59);
    }
    // It was there before the recording, or has had a job before.
    for (is_created, asked_in) in [(false, 0), (true, 1), (true, 30)] {
        let [_, report] = of_loop(is_created, asked_in);
        let thread = of(&report, TID);
        assert!(thread.asks_within_jobs && !thread.asks_before_loop, "{asked_in}: {thread:?}");
    }
}

#[test]
fn a_release_of_another_sleep_is_no_miss_and_leaves_open_what_it_was() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=60 {
        let at = 10_000 * n;
        story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
        // Each second time it sleeps without asking.
        if n % 2 == 0 {
            asks(&mut story, at + 1_000, at + 10_000);
        }
        story.switch(at + 1_000, TID, Left::Sleeping, IDLE);
    }
    story.thread(TID, 0, "loop", false);
    let report = given(&story, "loop");
    let thread = of(&report, TID);
    assert_eq!((thread.missed, thread.unclear, report.missed_deadlines), (0, 29, 0), "{thread:?}");
    assert_eq!(thread.response_ns.as_ref().unwrap().max, MS);
    assert_eq!((thread.part_ns, thread.asks_within_jobs), (0, false));
}

#[test]
fn a_thread_that_leaves_out_a_release_after_a_sleep_in_its_job_has_a_stray() {
    let mut story = Story::default();
    story.on(1);
    let mut at = 10_000;
    while at < 400_000 {
        story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
        let (mut finish, mut next) = (at + 1_000, at + 10_000);
        if at % 100_000 == 0 {
            asks(&mut story, finish, at + 10_400);
            story.switch(finish, TID, Left::Sleeping, IDLE);
            (finish, next) = (at + 10_600, at + 20_000);
            story.wake(at + 10_400, TID, IDLE).switch(at + 10_400, IDLE, Left::Preempted, TID);
        }
        asks(&mut story, finish, next);
        story.switch(finish, TID, Left::Sleeping, IDLE);
        at = next;
    }
    story.thread(TID, 0, "loop", false);
    for report in [story.report(), given(&story, "loop")] {
        let thread = of(&report, TID);
        assert_eq!((thread.strayed, thread.disordered), (3, 0));
        assert_eq!((thread.period_ns, thread.timer_late_ns), (Some(10 * MS), None));
    }
}

#[test]
fn a_thread_that_hangs_until_the_end_is_silent_and_misses_what_was_stated() {
    for ends in [false, true] {
        let mut story = jobs_of_a_loop(20);
        // Another thread shows that the recording goes on.
        story.wake(500_500, 9, IDLE).switch(500_500, IDLE, Left::Preempted, 9);
        story.switch(500_600, 9, Left::Sleeping, IDLE);
        if ends {
            story.wake(500_700, TID, 9).switch(500_700, IDLE, Left::Preempted, TID);
            story.switch(500_900, TID, Left::Dead, IDLE);
        }
        story.thread(TID, 0, "loop", false);
        let report = story.report();
        let silent = of(&report, TID).silent_ns;
        assert!((299 * MS..=300 * MS).contains(&silent), "{silent}");
        assert_eq!(report.missed_deadlines, 0);
        let report = given(&story, "loop");
        assert_eq!((of(&report, TID).missed, report.missed_deadlines), (28, 28));
    }
    // A thread that was woken all the time is silent for a period at most.
    assert!(of(&jobs_of_a_loop(20).report(), TID).silent_ns <= 10 * MS);
}

#[test]
fn an_overload_in_which_a_recording_begins_has_its_length() {
    let mut story = Story::default();
    story.on(1).switch(5, UNKNOWN, Left::Preempted, TID);
    story.switch(95_000, TID, Left::Sleeping, IDLE);
    (10..40).for_each(|n| job(&mut story, 10_000 * n, 1_000, Left::Sleeping));
    let report = story.report();
    assert_eq!(of(&report, TID).part_ns, 94_995 * US);
    assert_eq!(of(&jobs_of_a_loop(20).report(), TID).part_ns, 0);
}

#[test]
fn marks_and_reservations_are_not_those_of_a_later_thread_with_the_same_number() {
    let mut story = jobs_of_a_loop(20);
    story.switch(205_000, IDLE, Left::Preempted, TID).switch(205_500, TID, Left::Dead, IDLE);
    (31..60).for_each(|n| job(&mut story, 10_000 * n, 2_000, Left::Sleeping));
    story.thread(TID, 1, "marked", true).thread(TID, 300_000, "later", true);
    let entries = vec![entry(10_100, EventKind::Start, 0), entry(10_900, EventKind::Finish, 0)];
    story.tracks.push(Track { pid: TID, tid: TID, entries, ..Track::default() });
    let mut recording = story.recording();
    let reservation = Reservation { runtime_ns: MS, deadline_ns: 10 * MS, period_ns: 10 * MS };
    recording.conditions.push(reservation.condition(Tid(TID)));
    let report = analyze(&recording, &Options::default());
    let [marked, later] = ["marked", "later"]
        .map(|name| report.threads.iter().find(|thread| &*thread.name == name).unwrap());
    assert_eq!((marked.has_foreign_marks, later.has_foreign_marks), (false, true));
    assert_eq!((marked.reservation, later.reservation), (None, None));
    assert_eq!(later.execution_ns.as_ref().unwrap().max, 2 * MS);
}

#[test]
fn a_thread_that_leaves_sched_deadline_has_no_reservation_any_more() {
    let mut reserved = Story::default();
    reserved.on(1).priorities.push((TID, -1));
    (1..=20).for_each(|n| job(&mut reserved, 10_000 * n, 1_000, Left::Sleeping));
    let both = |later: i16| {
        let mut story = Story { cpu: 1, events: reserved.events.clone(), ..Story::default() };
        story.priorities.push((TID, later));
        (21..=60).for_each(|n| job(&mut story, 10_000 * n, 4_000, Left::Sleeping));
        let mut recording = story.recording();
        let reservation = Reservation { runtime_ns: MS, deadline_ns: 5 * MS, period_ns: 10 * MS };
        recording.conditions.push(reservation.condition(Tid(TID)));
        let report = analyze(&recording, &Options::default());
        (of(&report, TID).reservation.is_some(), of(&report, TID).changed_policy)
    };
    assert_eq!([both(-1), both(40)], [(true, false), (false, true)]);
}

#[test]
fn a_thread_has_its_reservation_although_it_ran_before_it_asked_for_that() {
    let mut story = Story::default();
    story.on(1).priorities.push((TID, 120));
    job(&mut story, 5_000, 1_000, Left::Sleeping);
    story.priorities.clear();
    story.priorities.push((TID, -1));
    (1..=20).for_each(|n| job(&mut story, 10_000 * n, 1_000, Left::Sleeping));
    let mut recording = story.recording();
    let reservation = Reservation { runtime_ns: MS, deadline_ns: 5 * MS, period_ns: 10 * MS };
    recording.conditions.push(reservation.condition(Tid(TID)));
    let report = analyze(&recording, &Options::default());
    let thread = of(&report, TID);
    assert_eq!((thread.reservation, thread.changed_policy), (Some(reservation), false));
}

#[test]
fn a_thread_that_leaves_out_releases_after_sleeps_in_its_jobs_missed_deadlines() {
    // Each second job sleeps until so long after the next release, for which the thread does not ask. If that is soon
    // after it, the sleep may have been until that release: then each of these jobs is two.
    for (slept, is_known) in [(10_800, true), (10_200, false)] {
        let mut story = Story::default();
        story.on(1);
        let (mut at, mut n) = (10_000, 0);
        while at < 900_000 {
            story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
            let (mut finish, mut next) = (at + 1_000, at + 10_000);
            if n % 2 == 1 {
                story.switch(finish, TID, Left::Sleeping, IDLE);
                (finish, next) = (at + slept + 200, at + 20_000);
                story.wake(at + slept, TID, IDLE).switch(at + slept, IDLE, Left::Preempted, TID);
            }
            asks(&mut story, finish, next);
            story.switch(finish, TID, Left::Sleeping, IDLE);
            (at, n) = (next, n + 1);
        }
        story.thread(TID, 0, "loop", false);
        let report = given(&story, "loop");
        let thread = of(&report, TID);
        let (missed, unclear) = if is_known { (n / 2, 0) } else { (0, n / 2) };
        assert_eq!((thread.invocations, thread.missed, thread.unclear), (n, missed, unclear));
        let longest = if is_known { slept + 200 } else { 1_000 };
        assert_eq!(thread.response_ns.as_ref().unwrap().max, longest * US);
    }
}

#[test]
fn a_request_whose_time_comes_in_a_gap_releases_no_job_after_it() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=40 {
        if n == 20 {
            // Asleep since the job before; nothing is known until another wake-up.
            story.push(395_000, What::Lost(0));
        }
        let at = if n < 20 { 10_000 * n } else { 10_000 * (n + 20) };
        story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
        asks(&mut story, at + 1_000, at + 10_000);
        story.switch(at + 1_000, TID, Left::Sleeping, IDLE);
    }
    story.thread(TID, 0, "loop", false);
    for report in [story.report(), given(&story, "loop")] {
        let thread = of(&report, TID);
        assert_eq!(thread.missed, 0);
        assert_eq!(thread.response_ns.as_ref().unwrap().max, MS, "{thread:?}");
        assert_eq!(thread.execution_ns.as_ref().unwrap().max, MS);
    }
}

#[test]
fn a_job_seen_in_part_that_asks_for_a_release_that_has_passed_was_late() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=40 {
        let at = 10_000 * n;
        story.wake(at, TID, IDLE).switch(at, IDLE, Left::Preempted, TID);
        let mut finish = at + 1_000;
        if n == 20 {
            finish = at + 15_000;
            story.push(at + 9_000, What::Lost(0));
            let priority = 40;
            let (prev, next) = (Tid::UNKNOWN, Tid(TID));
            let arrival = What::Switch { prev, left: Left::Unknown, next, priority };
            story.push(finish - 2_000, arrival);
        }
        if n != 21 {
            asks(&mut story, finish, at + 10_000);
            if n == 20 {
                asks(&mut story, finish + 1_000, at + 20_000);
                finish += 1_000;
            }
            story.switch(finish, TID, Left::Sleeping, IDLE);
        }
    }
    story.thread(TID, 0, "loop", false);
    let report = given(&story, "loop");
    assert_eq!(of(&report, TID).part_ns, 15 * MS);
}

#[test]
fn a_wake_up_for_a_time_that_has_passed_is_not_that_of_the_next_sleep() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=40 {
        let at = 10_000 * n;
        if n != 30 {
            story.wake(at, TID, IDLE);
        }
        story.switch(at, IDLE, Left::Preempted, TID);
        asks(&mut story, at + 1_000, at + 900);
        story.wake(at + 1_001, TID, IDLE);
        asks(&mut story, at + 1_100, at + 10_000);
        story.switch(at + 1_100, TID, Left::Sleeping, IDLE);
    }
    story.thread(TID, 0, "loop", false);
    for report in [story.report(), given(&story, "loop")] {
        let thread = of(&report, TID);
        assert_eq!((thread.missed, thread.waiting_ns), (0, 0));
        assert!(thread.response_ns.as_ref().unwrap().max <= 1_100 * US);
    }
}

#[test]
fn a_name_is_not_that_of_a_thread_that_only_began_with_it() {
    let mut story = jobs_of_a_loop(20);
    story.thread(TID, 5_000, "program", true).thread(TID, 10_100, "logger", false);
    assert_eq!(of(&given(&story, "program"), TID).period_from, Some(PeriodFrom::Found));
    assert_eq!(of(&given(&story, "logger"), TID).period_from, Some(PeriodFrom::Given));
}

#[test]
fn a_wait_for_another_thread_between_two_releases_is_told() {
    let mut story = Story::default();
    story.on(1);
    for n in 1..=40 {
        job(&mut story, 10_000 * n, 1_000, Left::Sleeping);
        if n == 30 {
            story.wake(308_000, TID, 99).switch(308_000, IDLE, Left::Preempted, TID);
            story.switch(308_500, TID, Left::Sleeping, IDLE);
        }
    }
    assert_eq!(of(&story.report(), TID).answered_ns, 7 * MS);
}

#[test]
fn a_thread_that_marks_late_jobs_uses_no_more_than_the_time_it_ran() {
    // Each fifth job takes so long that the next two follow without a sleep.
    let mut story = Story::default();
    story.switch(0, UNKNOWN, Left::Preempted, IDLE);
    let mut entries = Vec::new();
    let mut ran = 0;
    for turn in 0..20 {
        let first = 10_000 + 70_000 * turn;
        for job in 0..5 {
            let (at, length) = (first + 10_000 * job, if job == 4 { 29_000 } else { 3_000 });
            story.wake(at, 7, IDLE).switch(at, IDLE, Left::Preempted, 7);
            story.switch(at + length, 7, Left::Sleeping, IDLE);
            let marks: &[u64] = if job == 4 { &[0, 23_000, 26_000, 29_000] } else { &[0, 3_000] };
            for (number, pair) in marks.windows(2).enumerate() {
                let release = at + 10_000 * number as u64;
                entries.push(entry(at + pair[0] + 1, EventKind::Start, release));
                entries.push(entry(at + pair[1] - 1, EventKind::Finish, 0));
            }
            ran += length;
        }
    }
    story.tracks =
        vec![Track { pid: 7, tid: 7, name: "seven".into(), entries, ..Track::default() }];
    let periods = vec![(Who::Tid(7), Span::from_nanos(10 * MS as i64))];
    let report = analyze(&story.recording(), &Options { periods, ..Options::default() });
    let thread = of(&report, 7);
    assert_eq!((thread.running_ns, thread.period_ns), (ran * US, Some(10 * MS)));
    let share = ran as f64 / (20.0 * 70_000.0);
    assert!((thread.utilization - share).abs() < 0.02, "{} {share}", thread.utilization);
    assert!((report.tasks[0].utilization - share).abs() < 0.02, "{}", report.tasks[0].utilization);
}
