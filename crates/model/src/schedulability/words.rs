//! The verdict as text, with its assumptions.

use hemiola_report::text::{duration, percent, ratio, were};
use hemiola_units::Span;

use super::measured::{LeftOut, LeftOutReason, Measured, Others};
use super::reserved::ReservedTask;
use super::verdict::{ProcessorVerdict, TaskVerdict};
use super::{Answer, Assessment};
use crate::response_time::PriorityOrder;

/// The source of the context switch cost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SwitchCostSource {
    Given,
    Difference,
    Unknown,
}

/// Linux by default stops real-time tasks above this share for the rest of each second (sched(7)).
const REAL_TIME_SHARE: f64 = 0.95;

/// Names listed in one sentence; the rest are counted.
const NAMES_MAX: usize = 5;

/// The name of a priority order.
pub(super) fn order(order: PriorityOrder) -> &'static str {
    match order {
        PriorityOrder::Given => "as it ran",
        PriorityOrder::RateMonotonic => "rate-monotonic",
        PriorityOrder::DeadlineMonotonic => "deadline-monotonic",
    }
}

/// The verdict on one processor.
pub(super) fn processor(
    cpu: u16,
    as_it_ran: bool,
    found: &Assessment,
    tasks: &[TaskVerdict],
    doubts: &[String],
    overloaded: &[String],
) -> String {
    let fixed = &found.fixed[0];
    let how = if as_it_ran { "as it ran" } else { "with rate-monotonic priorities" };
    let grows = match fixed.tolerance.together {
        None => String::new(),
        Some(factor) if factor < 1.01 => " Execution times cannot grow together.".into(),
        Some(factor) => {
            format!(" All execution times can grow together to {}.", factor_text(factor))
        }
    };
    if !overloaded.is_empty() {
        return self::overloaded(cpu, how, overloaded);
    }
    if !doubts.is_empty() {
        let figures = match fixed.answer() {
            Answer::Yes => "The figures of its tasks would allow every deadline to be kept",
            _ => "With the figures of its tasks, a deadline would be missed",
        };
        return format!(
            "Processor {cpu}: cannot tell {how}. {figures}, but the recording does not bear them out. {}",
            doubts.join(" ")
        );
    }
    if fixed.answer() == Answer::Yes {
        let Some(nearest) = tasks.iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b))) else {
            return format!("Processor {cpu}: no task.");
        };
        return format!(
            "Processor {cpu}: schedulable {how}. Every deadline is kept, even after a simultaneous release; the \
             tightest is {}, with {} of {}.{grows}",
            nearest.measured.name,
            time(nearest.bound_ns.unwrap_or(0)),
            time(nearest.measured.deadline_ns),
        );
    }
    let late =
        |task: &&TaskVerdict| task.bound_ns.is_none_or(|bound| bound > task.measured.deadline_ns);
    let late: Vec<&TaskVerdict> = tasks.iter().filter(late).collect();
    let first = late.iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    let worst = first.map_or(String::new(), |task| match task.bound_ns {
        Some(bound) => format!(
            " {} may finish {} after its release, {} too late.",
            task.measured.name,
            time(bound),
            time(bound - task.measured.deadline_ns)
        ),
        None => format!(
            " {} has no bound: it and the tasks of higher priority demand more than the whole processor.",
            task.measured.name
        ),
    });
    let others: Vec<String> = late
        .iter()
        .filter(|task| first.is_none_or(|first| !std::ptr::eq(*first, **task)))
        .map(|task| task.measured.name.clone())
        .collect();
    let others = match others.len() {
        0 => String::new(),
        _ => format!(" {} may be late too.", names(&others)),
    };
    let seen = !tasks.iter().any(TaskVerdict::was_late);
    let seen = if seen { " No miss was recorded: the worst case did not occur." } else { "" };
    let mut other_orders: Vec<&str> = found.fixed[1..]
        .iter()
        .filter(|fixed| fixed.answer() == Answer::Yes)
        .map(|fixed| match fixed.order {
            PriorityOrder::RateMonotonic => "rate-monotonic priorities",
            PriorityOrder::DeadlineMonotonic => "deadline-monotonic priorities",
            PriorityOrder::Given => "the priorities it had",
        })
        .collect();
    if found.earliest_deadline.demand.answer == Answer::Yes {
        other_orders.push("earliest deadline first");
    }
    let helps = match other_orders.as_slice() {
        [] => String::new(),
        orders => format!(" Every deadline would be kept with {}.", orders.join(" or with ")),
    };
    let blocking = tasks.iter().map(|task| task.measured.blocking_ns).max().unwrap_or(0);
    let shrinks = match (fixed.tolerance.together, blocking) {
        (Some(factor), _) => {
            let factor = factor_text(factor);
            format!(" It would be with execution times of {factor} the observed ones.")
        }
        (None, 0) => " No shorter execution times would help.".into(),
        (None, _) => format!(
            " Shorter execution times would not help as long as less urgent threads hold jobs up for {}.",
            time(blocking)
        ),
    };
    format!("Processor {cpu}: not schedulable {how}.{worst}{others}{shrinks}{helps}{seen}")
}

/// The verdict on a processor with tasks that are always late.
pub(super) fn overloaded(cpu: u16, how: &str, overloaded: &[String]) -> String {
    format!(
        "Processor {cpu}: not schedulable {how}. {} never slept in the recording and was late in every period: the \
         processor is overloaded.",
        names(overloaded)
    )
}

/// Why a set is not called schedulable although its figures say so.
pub(super) fn doubts(tasks: &[TaskVerdict], others: &Others, as_it_ran: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if !others.unknown.is_empty() {
        doubts.push(format!(
            "{} ran at a real-time priority without a known period: give it (--period NAME=T).",
            names(&others.unknown)
        ));
    }
    if !others.unreserved.is_empty() {
        doubts.push(format!(
            "{} ran under SCHED_DEADLINE, and the recording does not have the runtime, deadline and period.",
            names(&others.unreserved)
        ));
    }
    if !others.busy.is_empty() {
        doubts.push(format!(
            "{} used or wanted a considerable share of the processor without a known period, as a thread does that is late in every \
             period. If that is a task, give its period (--period NAME=T), otherwise mark the jobs of the tasks.",
            names(&others.busy)
        ));
    }
    if !others.late.is_empty() {
        doubts.push(format!(
            "{} never slept in the recording and was late in every period.",
            names(&others.late)
        ));
    }
    let measured = || tasks.iter().map(|task| &task.measured);
    doubts.extend(measured().flat_map(doubts_of_jobs));
    doubts.extend(measured().filter(|of| of.is_period_doubtful).map(doubtful_period));
    for task in tasks.iter().filter(|task| task.was_late()) {
        doubts.push(late_job(&task.measured));
    }
    let is_in_time = |task: &&TaskVerdict| !task.was_late();
    doubts.extend(jitter(tasks));
    // At other priorities the responses were others too.
    if as_it_ran {
        doubts.extend(contradictions(tasks.iter().filter(is_in_time)));
    }
    doubts
}

/// Why it is not known whether the recorded jobs of a task kept its deadline, one sentence each.
pub(super) fn doubts_of_jobs(measured: &Measured) -> impl Iterator<Item = String> {
    let doubt = |is_there: bool, text: fn(&Measured) -> String| is_there.then(|| text(measured));
    let by_wake_ups = [
        doubt(measured.has_other_releases(), other_releases),
        doubt(measured.has_doubtful_jobs(), doubtful_jobs),
        doubt(measured.has_late_wake_up(), late_wake_up),
        doubt(measured.has_uneven_jobs(), uneven_jobs),
        doubt(measured.has_doubtful_startup(), doubtful_startup),
    ];
    by_wake_ups.into_iter().flatten().chain(unseen_jobs(measured))
}

fn other_releases(measured: &Measured) -> String {
    let [distance, period] = [measured.distance_ns.unwrap_or(0), measured.period_ns];
    let (mut every, mut not) = (time(distance), time(period));
    if every == not {
        [every, not] = [distance, period].map(|ns| format!("{:.4} ms", ns as f64 / 1e6));
    }
    format!(
        "{} woke up every {every} on average, and not every {not}: its wake-ups are not its releases, or its period is \
         another one. Mark its jobs.",
        measured.name,
    )
}

fn late_wake_up(measured: &Measured) -> String {
    let others = if measured.asks_before_loop { "" } else { ", and most are not" };
    format!(
        "Wake-ups of {} are up to {} off{others}: a late one may have ended a sleep within a job. Mark its jobs.",
        measured.name,
        time(measured.jitter_ns.max(measured.usual_late_ns))
    )
}

fn uneven_jobs(measured: &Measured) -> String {
    format!(
        "Jobs of {} took from {} to {} of processor time: a long one may be the end of a job that slept until its next \
         release, and the next job. Mark its jobs.",
        measured.name,
        time(measured.execution_later_min_ns),
        time(measured.execution_ns)
    )
}

pub(super) fn woken_late(measured: &Measured) -> String {
    format!(
        "{} woke up as late as {} after a release, and a job took up to {} from its wake-up.",
        measured.name,
        time(measured.jitter_ns),
        time(measured.response_ns.unwrap_or(0))
    )
}

/// The doubt that releases may come as close to each other as the closest two did.
pub(super) fn closer(tasks: &[TaskVerdict]) -> String {
    let shorter = |task: &&TaskVerdict| {
        task.measured.shortest_ns.is_some_and(|shortest| shortest < task.measured.period_ns)
    };
    let closest = tasks.iter().filter(shorter).map(|task| {
        let Measured { name, shortest_ns, .. } = &task.measured;
        format!("{name} every {}", time(shortest_ns.unwrap_or(0)))
    });
    let closest: Vec<String> = closest.collect();
    format!(
        "If each release came as soon after another one as the closest once did ({}), a deadline would be missed.",
        closest.join(", ")
    )
}

fn doubtful_startup(measured: &Measured) -> String {
    format!(
        "{} took {} from its creation until it slept for the first time: a start-up, or jobs that were late. Mark its \
         jobs, or let the recording begin later.",
        measured.name,
        time(measured.startup_ns)
    )
}

/// Jobs that may have been late where the recording or the thread begins or ends.
fn unseen_jobs(measured: &Measured) -> impl Iterator<Item = String> {
    let name = &measured.name;
    let part = measured.has_doubtful_part().then(|| {
        format!(
            "A job of {name} that was seen in part lasted {}, longer than its deadline: it was late, or no job.",
            time(measured.part_ns)
        )
    });
    let end = measured.has_doubtful_end().then(|| {
        format!(
            "{name} ended {} after its last release: its last job was late, or it had more to do at its end.",
            time(measured.ended_ns)
        )
    });
    let silent = measured.is_silent().then(|| {
        format!(
            "{name} had slept for {} at the end: it waits within a job, or it has no more jobs.",
            time(measured.silent_ns)
        )
    });
    let disordered = (measured.disordered > 0).then(|| {
        format!(
            "{name} asked to sleep until a time and then until no later one ({} ×): it slept within a job until its next \
             release or beyond. Mark its jobs.",
            measured.disordered
        )
    });
    let strayed = (measured.strayed > 0).then(|| {
        format!(
            "{name} asked to sleep until times that are no multiple of {} from the others ({} ×): it may have slept within \
             a job beyond its next release. Mark its jobs.",
            time(measured.period_ns),
            measured.strayed
        )
    });
    let within = measured.asks_within_jobs.then(|| {
        format!(
            "{name} asked to sleep until a time within some of its jobs, which may have lasted beyond the next release. \
             Mark its jobs."
        )
    });
    let unclear = (measured.unclear > 0).then(|| {
        format!(
            "{name} slept for something else until about a release, and then asked for another one than the next ({} ×): \
             that sleep was within a late job or between two jobs. Mark its jobs.",
            measured.unclear
        )
    });
    [part, end, silent, disordered, strayed, within, unclear].into_iter().flatten()
}

fn doubtful_jobs(measured: &Measured) -> String {
    format!(
        "{} slept within its jobs, once for {}: its wake-ups do not tell where one job ends and the next begins. Mark \
         its jobs.",
        measured.name,
        time(measured.suspension_ns.max(measured.answered_ns))
    )
}

fn doubtful_period(measured: &Measured) -> String {
    format!(
        "The period of {0} was found in its wake-ups, but most jobs took more than half of it: a thread with half the \
         period that is always late looks the same. Give its period (--period {0}=T).",
        measured.name
    )
}

/// The doubt that threads without a period would let a deadline pass.
pub(super) fn disturbed(sporadic: &[Measured]) -> String {
    let all: Vec<String> = sporadic.iter().map(|task| task.name.clone()).collect();
    format!(
        "If {} came as often and took as long as they once did, a deadline would be missed.",
        names(&all)
    )
}

/// The doubt that reservations are not used up.
pub(super) fn rough(reserved: &[String]) -> String {
    format!(
        "A deadline would be missed if {} always used up the reservation, and nobody knows how much less it may take.",
        names(reserved)
    )
}

/// The doubt that the sleeps within jobs let a deadline pass.
pub(super) fn slept(tasks: &[TaskVerdict]) -> String {
    let sleep = tasks.iter().filter(|task| task.measured.suspension_ns > 0);
    let all: Vec<String> = sleep.map(|task| task.measured.name.clone()).collect();
    format!(
        "If the longest sleeps of {} within a job delayed the others as execution does, a deadline would be missed.",
        names(&all)
    )
}

fn jitter(tasks: &[TaskVerdict]) -> Option<String> {
    let late: Vec<String> = tasks
        .iter()
        .filter(|task| task.needs_punctual_releases())
        .map(|task| task.measured.name.clone())
        .collect();
    (!late.is_empty()).then(|| {
        format!(
            "With the observed release jitter, the deadlines of {} are not guaranteed.",
            names(&late)
        )
    })
}

fn contradictions<'t>(tasks: impl IntoIterator<Item = &'t TaskVerdict>) -> Vec<String> {
    let contradicted = tasks.into_iter().filter(|task| task.is_contradicted());
    contradicted.map(|task| longer_than_its_bound(&task.measured)).collect()
}

fn longer_than_its_bound(measured: &Measured) -> String {
    format!(
        "{} once took {}, longer than its bound: something not in the figures delayed it.",
        measured.name,
        time(measured.response_ns.unwrap_or(0))
    )
}

/// The verdict on the threads under `SCHED_DEADLINE` of some processors.
pub(super) fn reserved(
    cpus: &[u16],
    answer: Answer,
    tasks: &[ReservedTask],
    is_kept: bool,
    doubts: &[String],
) -> String {
    let cpus: Vec<String> = cpus.iter().map(u16::to_string).collect();
    let head = format!("SCHED_DEADLINE on {}", processors_text(&cpus));
    let late = || tasks.iter().filter(|task| task.answer == Answer::No);
    match answer {
        Answer::Yes => format!(
            "{head}: schedulable as it ran. Every job fits its reservation, and every reservation can be kept."
        ),
        Answer::Open => {
            let kept = if is_kept { " Every reservation can be kept." } else { "" };
            format!("{head}: cannot tell.{kept} {}", doubts.join(" "))
        }
        Answer::No if late().next().is_none() => format!(
            "{head}: not schedulable. More work is due in some interval than the processor can do."
        ),
        Answer::No => {
            let each: Vec<String> = late().map(exceeded).collect();
            format!("{head}: not schedulable as it ran. {}", each.join(" "))
        }
    }
}

fn processors_text(cpus: &[String]) -> String {
    match cpus {
        [one] => format!("processor {one}"),
        several => format!("processors {}", names(several)),
    }
}

/// Why a reservation does not suffice.
fn exceeded(task: &ReservedTask) -> String {
    let ReservedTask { measured, reservation, .. } = task;
    let (name, execution) = (&measured.name, time(measured.execution_ns));
    if measured.execution_ns <= reservation.runtime_ns {
        if !task.is_overload() {
            return format!(
                "A job of {name} took {execution} of processor time, and is due {} after its release.",
                time(measured.deadline_ns)
            );
        }
        return format!(
            "A job of {name} took {execution} of processor time, and one comes every {}: its reservation of {} in each {} \
             is too small, and its backlog grows.",
            time(measured.period_ns),
            time(reservation.runtime_ns),
            time(reservation.period_ns)
        );
    }
    let late = if task.is_overload() {
        "its backlog grows".into()
    } else {
        format!(
            "it finishes {} after its release at the earliest, with a deadline of {}",
            time(task.least()),
            time(measured.deadline_ns)
        )
    };
    format!(
        "A job of {name} took {execution} of processor time, more than its runtime of {}: it is throttled until the next \
         period, and {late}.",
        time(reservation.runtime_ns)
    )
}

/// Why threads with sufficient reservations are not called schedulable.
pub(super) fn reserved_doubts(tasks: &[ReservedTask], is_kept: bool) -> Vec<String> {
    let measured = || tasks.iter().map(|task| &task.measured);
    let mut doubts: Vec<String> =
        measured().filter(|measured| measured.was_late()).map(late_job).collect();
    for task in measured().filter(|measured| measured.jobs == 0) {
        doubts.push(format!(
            "No job of {} was recorded from release to finish: record longer.",
            task.name
        ));
    }
    let others = tasks.iter().filter(|task| task.has_other_releases());
    doubts.extend(others.map(|task| other_releases(&task.measured)));
    doubts.extend(measured().filter(|of| of.has_doubtful_jobs()).map(doubtful_jobs));
    doubts.extend(measured().filter(|of| of.has_late_wake_up()).map(late_wake_up));
    doubts.extend(measured().flat_map(unseen_jobs));
    let has_waited = |task: &&ReservedTask| task.has_waited() && !task.measured.has_doubtful_jobs();
    doubts.extend(tasks.iter().filter(has_waited).map(waited));
    let is_contradicted = |task: &&ReservedTask| task.is_contradicted();
    let contradicted = tasks.iter().filter(is_contradicted);
    doubts.extend(contradicted.map(|task| longer_than_its_bound(&task.measured)));
    doubts.extend(measured().filter(|of| of.is_period_doubtful).map(doubtful_period));
    let is_unserved = |task: &&ReservedTask| {
        task.answer == Answer::Open && !task.has_waited() && !task.is_contradicted()
    };
    doubts.extend(tasks.iter().filter(is_unserved).map(unserved));
    let is_shared = |(index, task): (usize, &ReservedTask)| {
        let same = |other: &ReservedTask| other.measured.tid == task.measured.tid;
        tasks[..index].iter().any(same).then(|| task.measured.name.clone())
    };
    let shared: Vec<String> = tasks.iter().enumerate().filter_map(is_shared).collect();
    if !shared.is_empty() {
        doubts.push(format!(
            "The thread of {} has other jobs in the same reservation.",
            names(&shared)
        ));
    }
    if !is_kept {
        doubts.push("No test can tell whether every reservation is kept.".into());
    }
    doubts
}

fn waited(task: &ReservedTask) -> String {
    let Measured { ref name, suspension_ns, blocking_ns, .. } = task.measured;
    format!(
        "{name} slept or waited for other threads within its jobs, once for {}: its reservation does not bound that.",
        time(suspension_ns.max(blocking_ns))
    )
}

/// Why nobody can tell whether the jobs of a thread keep their deadlines under its reservation.
fn unserved(task: &ReservedTask) -> String {
    let ReservedTask { measured, reservation, bound_ns, .. } = task;
    let (name, deadline) = (&measured.name, time(measured.deadline_ns));
    let needs = format!(
        "A job of {name} took {} of processor time, up to {} budgets of {}",
        time(measured.execution_ns),
        task.servings(),
        time(reservation.runtime_ns)
    );
    match bound_ns {
        _ if !task.has_period && measured.is_marked => format!(
            "The wake-ups of the thread of {name} do not show the period of its marks, so it is unknown how early a job \
             may come."
        ),
        _ if !task.has_period => format!(
            "The wake-ups of {name} show no period, so it is unknown when its jobs are due. Give it (--period {name}=T)."
        ),
        None if task.servings() == 1 => format!(
            "A job of {name} comes every {}, and its budget is replenished every {}: no test can tell whether one \
             suffices for all jobs meanwhile.",
            time(measured.period_ns),
            time(reservation.period_ns)
        ),
        None => format!(
            "{needs}, and the next one comes after {}, when the periods of these may not be over: no test can tell how \
             late it is.",
            time(measured.period_ns)
        ),
        Some(bound) if bound - task.lag_ns <= measured.deadline_ns => format!(
            "With the observed release jitter, the deadline of {name} is not guaranteed: a job may come {} before its \
             budget is whole again.",
            time(task.lag_ns)
        ),
        Some(bound) if task.servings() == 1 => format!(
            "{name} is due {deadline} after its release, and its reservation guarantees {} only.",
            time(*bound)
        ),
        Some(bound) => format!(
            "{needs}, which are guaranteed {} after its release only: it is due after {deadline}.",
            time(*bound)
        ),
    }
}

/// That a job was late.
pub(super) fn late_job(measured: &Measured) -> String {
    let took = measured.response_ns.filter(|response| *response > measured.deadline_ns);
    match took {
        Some(response) => format!(
            "A job of {} took {}, longer than its deadline of {}.",
            measured.name,
            time(response),
            time(measured.deadline_ns)
        ),
        None if measured.missed == 0 && measured.overran > 0 => format!(
            "{} not finished when the next one was released.",
            were(measured.overran, &format!("{} job", measured.name))
        ),
        None if measured.missed == 0 => format!(
            "A job of {} had been under way for {} when the recording ended, longer than its deadline of {}.",
            measured.name,
            time(measured.unfinished_ns),
            time(measured.deadline_ns)
        ),
        None if measured.missed == 1 => format!("{} missed a deadline.", measured.name),
        None => format!("{} missed {} deadlines.", measured.name, measured.missed),
    }
}

/// The bound of the response time relative to the deadline.
fn nearness(task: &TaskVerdict) -> f64 {
    task.bound_ns.map_or(f64::INFINITY, |bound| bound as f64 / task.measured.deadline_ns as f64)
}

/// The assumptions and limits of the verdict.
pub(super) fn notes(
    processors: &[ProcessorVerdict],
    is_empty: bool,
    left_out: &[LeftOut],
    (switch, source): (Span, SwitchCostSource),
) -> Vec<String> {
    let mut notes = Vec::new();
    let all = || processors.iter().flat_map(|processor| &processor.tasks);
    for (why, before, after) in [
        (
            LeftOutReason::Migrates,
            "Not judged because they ran on several processors",
            "their delay of other tasks is not included. Pin each to one processor (taskset, CPUAffinity=)",
        ),
        (
            LeftOutReason::NotPeriodic,
            "At a real-time priority without a period",
            "the bounds hold only while none of them runs",
        ),
        (
            LeftOutReason::Busy,
            "With a considerable share of the processor, but without a period",
            "they are in no set",
        ),
        (
            LeftOutReason::NoJobs,
            "With a period, but without a completely recorded job",
            "they are in no set",
        ),
        (
            LeftOutReason::NeverSleeps,
            "Always late, because they never slept in the recording",
            "their processor is overloaded",
        ),
        (
            LeftOutReason::NoReservation,
            "Under SCHED_DEADLINE, but without parameters in the recording, because they changed them, ended early or left the \
             recorder no processor",
            "they are in no set",
        ),
    ] {
        let of: Vec<String> = left_out
            .iter()
            .filter(|left| left.why == why)
            .map(|left| format!("{} ({})", left.name, percent(left.utilization)))
            .collect();
        if !of.is_empty() {
            notes.push(format!("{before}: {}; {after}.", names(&of)));
        }
    }
    if is_empty {
        if left_out.is_empty() {
            notes.push(
                "No verdict: no thread has a real-time priority or a period, and none was given (--period NAME=T)."
                    .into(),
            );
        }
        return notes;
    }
    let charged = duration(switch.nanos() as f64);
    notes.push(match source {
        SwitchCostSource::Given => format!("Each job is charged two switches of {charged}."),
        SwitchCostSource::Difference => format!(
            "Each job is charged two switches of {charged}, from the difference between /proc and the recording."
        ),
        SwitchCostSource::Unknown => {
            "Switches are not charged: their cost is unknown (`hemiola measure` measures it).".into()
        }
    });
    notes.push(
        "C is the greatest execution time observed, not a bound: a longer recording may show a greater one. \
         It includes interrupts that were not recorded."
            .into(),
    );
    for task in all().filter(|task| task.is_outlier()) {
        notes.push(format!(
            "The longest job of {} is an outlier: {}, while 99 % take at most {}. If it was the program's start, mark the jobs \
             or record later.",
            task.measured.name,
            time(task.measured.execution_ns),
            time(task.measured.execution_p99_ns)
        ));
    }
    for measured in all().map(|task| &task.measured).filter(|of| of.suspension_ns > 0) {
        notes.push(format!(
            "{} slept within its jobs, for {} at most: the bounds take that for execution.",
            measured.name,
            time(measured.suspension_ns)
        ));
    }
    let hypothetical = || processors.iter().filter(|processor| !processor.as_it_ran);
    for processor in hypothetical() {
        notes.extend(contradictions(&processor.tasks));
    }
    for processor in processors.iter().filter(|processor| processor.as_it_ran) {
        if processor.utilization > REAL_TIME_SHARE {
            notes.push(format!(
                "The real-time tasks of processor {} may use {}: beyond {} Linux stops them for the rest of a second, \
                 unless /proc/sys/kernel/sched_rt_runtime_us is set otherwise, and what runs meanwhile counts as \
                 blocking.",
                processor.cpu,
                percent(processor.utilization),
                percent(REAL_TIME_SHARE)
            ));
        }
    }
    if processors.iter().any(|processor| !processor.as_it_ran) {
        notes.push(
            "Not every task has a real-time priority, so its response times as it ran are unbounded. The verdict is for \
             rate-monotonic real-time priorities."
                .into(),
        );
    }
    notes
}

fn time(nanos: u64) -> String {
    duration(nanos as f64)
}

/// Rounded down, so that the stated factor is tolerated.
fn factor_text(factor: f64) -> String {
    ratio((factor * 100.0).floor() / 100.0)
}

/// Some names, and the number of the others.
fn names(all: &[String]) -> String {
    let shown = all[..all.len().min(NAMES_MAX)].join(", ");
    match all.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
