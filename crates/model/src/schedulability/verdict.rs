//! The verdict on a recording: whether its tasks are schedulable, processor by processor.
//!
//! The recording gives C (the greatest observed value, which is not a bound; the verdict says so), T, D, priorities and
//! B. The answer is yes only if the recording bears the figures out: see [`ProcessorVerdict::doubts`].

use hemiola_analyze::sched::Report;
use hemiola_units::Span;
use serde::Serialize;

use super::measured::{LeftOut, Measured, Others, others, partition};
use super::reserved::{ReservationsVerdict, judge_all, reserved};
use super::{Answer, Assessment, Fixed, Tolerance, assess, assess_own_order, words};
use crate::response_time::{PriorityOrder, Response, Task, TaskSet};

/// Larger sets are not tested: their tolerance would take too long.
pub const TASKS_MAX: usize = 64;

/// The verdict on a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SchedulabilityVerdict {
    /// The cost of one context switch, ns; each job is charged two.
    pub switch_ns: u64,
    /// The processors with measured tasks, and those whose real-time threads cannot be judged, in ascending order.
    pub processors: Vec<ProcessorVerdict>,
    /// The threads under `SCHED_DEADLINE` whose reservations the recording contains.
    pub reservations: Vec<ReservationsVerdict>,
    /// Threads that should be in a set but are in none.
    pub left_out: Vec<LeftOut>,
    /// Limits and assumptions of the verdict, one sentence each.
    pub notes: Vec<String>,
}

impl SchedulabilityVerdict {
    /// The verdicts in words that some deadline is not kept.
    pub fn not_kept(&self) -> impl Iterator<Item = &str> {
        let processors = self.processors.iter();
        let processors = processors.map(|processor| (processor.answer, &processor.verdict));
        let reservations = self.reservations.iter().map(|of| (of.answer, &of.verdict));
        let all = processors.chain(reservations);
        all.filter(|(answer, _)| *answer == Answer::No).map(|(_, verdict)| verdict.as_str())
    }
}

/// The verdict on one processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessorVerdict {
    /// Its number.
    pub cpu: u16,
    /// Whether the tasks are judged at the priorities they had, or else at rate-monotonic ones.
    pub as_it_ran: bool,
    /// Whether every deadline is kept. It is open if the figures say so but the recording does not bear them out.
    pub answer: Answer,
    /// Why the answer is open although the figures say yes, one sentence each.
    pub doubts: Vec<String>,
    /// Its utilization by all tasks, switches included.
    pub utilization: f64,
    /// The verdict in words.
    pub verdict: String,
    /// The tasks, the most urgent first.
    pub tasks: Vec<TaskVerdict>,
    /// The results of all tests.
    pub tests: Vec<TestResult>,
}

/// The verdict on one task; times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskVerdict {
    /// The measured task.
    #[serde(flatten)]
    pub measured: Measured,
    /// C/T with the greatest C observed, without switches.
    pub utilization: f64,
    /// R: the longest response time; `None` if it is unbounded.
    pub bound_ns: Option<u64>,
    /// The same with every release late by J.
    pub bound_with_jitter_ns: Option<u64>,
    /// The longest C without a missed deadline, with the other tasks unchanged. Less than its own if one is missed;
    /// `None` if one is missed even without it.
    pub execution_tolerated_ns: Option<u64>,
}

impl TaskVerdict {
    /// Whether a job took longer than the computed bound: it was delayed by something that is in no figure here.
    #[must_use]
    pub fn is_contradicted(&self) -> bool {
        let bound = self.bound_with_jitter_ns.max(self.bound_ns);
        bound.zip(self.measured.response_ns).is_some_and(|(bound, seen)| seen > bound)
    }

    /// Whether its greatest execution time is an outlier.
    #[must_use]
    pub fn is_outlier(&self) -> bool {
        const FACTOR: u64 = 5;
        self.measured.execution_ns > self.measured.execution_p99_ns.saturating_mul(FACTOR)
    }

    /// Whether a job was seen to finish after its deadline.
    #[must_use]
    pub fn was_late(&self) -> bool {
        self.measured.was_late()
    }

    /// Whether every deadline is kept with punctual releases, but not with the observed jitter.
    #[must_use]
    pub fn needs_punctual_releases(&self) -> bool {
        let keeps =
            |bound: Option<u64>| bound.is_some_and(|bound| bound <= self.measured.deadline_ns);
        keeps(self.bound_ns) && !keeps(self.bound_with_jitter_ns)
    }
}

/// The result of one test of a processor's tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// The name of the test.
    pub name: String,
    /// The tested value, if it is a single number.
    pub value: Option<f64>,
    /// The limit of the value.
    pub limit: Option<f64>,
    /// The answer.
    pub answer: Answer,
    /// The greatest common factor of all execution times for which the answer is yes.
    pub tolerates: Option<f64>,
}

/// Applies every test to the tasks of a recording.
///
/// `switch` is the measured cost of one context switch. Without it, the cost from the comparison with `/proc` is used
/// if the recording has one that is significantly above zero, otherwise none.
#[must_use]
pub fn verdict(report: &Report, switch: Option<Span>) -> SchedulabilityVerdict {
    let reserved_tasks = reserved(report);
    let (found, left_out) = partition(report);
    let by_difference = report
        .accounting
        .as_ref()
        .and_then(|accounting| accounting.switch_cost)
        .filter(|cost| cost.low_ns > 0.0)
        .map(|cost| Span::from_nanos(cost.ns as i64));
    let cost = switch.or(by_difference).unwrap_or(Span::ZERO);
    let mut notes = Vec::new();
    let mut processors = Vec::new();
    for cpu in Others::unjudged(report, &left_out, &found) {
        processors.extend(unjudged(cpu, &others(report, &left_out, &reserved_tasks, cpu)));
    }
    for of in found {
        let others = others(report, &left_out, &reserved_tasks, of.cpu);
        match judge(of.cpu, of.tasks, &others, cost) {
            Ok(processor) => processors.push(processor),
            Err(reason) => notes.push(format!("Processor {} is not judged: {reason}.", of.cpu)),
        }
    }
    processors.sort_by_key(|processor| processor.cpu);
    let source = match (switch, by_difference) {
        (Some(_), _) => words::SwitchCostSource::Given,
        (None, Some(_)) => words::SwitchCostSource::Difference,
        (None, None) => words::SwitchCostSource::Unknown,
    };
    let reservations = judge_all(report, &reserved_tasks);
    let is_empty = processors.is_empty() && reservations.is_empty();
    notes.extend(words::notes(&processors, is_empty, &left_out, (cost, source)));
    SchedulabilityVerdict { switch_ns: nanos(cost), processors, reservations, left_out, notes }
}

/// The verdict on a processor without a set, because what its real-time threads demand is unknown or too much; nothing
/// if they demand next to nothing.
fn unjudged(cpu: u16, others: &Others) -> Option<ProcessorVerdict> {
    let doubts = words::doubts(&[], others, true);
    let answer = match (others.overloaded.is_empty(), doubts.is_empty()) {
        (false, _) => Answer::No,
        (true, false) => Answer::Open,
        (true, true) => return None,
    };
    let verdict = match answer {
        Answer::No => words::overloaded(cpu, "as it ran", &others.overloaded),
        _ => format!("Processor {cpu}: cannot tell. {}", doubts.join(" ")),
    };
    Some(ProcessorVerdict {
        cpu,
        as_it_ran: true,
        answer,
        doubts: if answer == Answer::Open { doubts } else { Vec::new() },
        utilization: 0.0,
        verdict,
        tasks: Vec::new(),
        tests: Vec::new(),
    })
}

fn judge(
    cpu: u16,
    measured: Vec<Measured>,
    others: &Others,
    switch: Span,
) -> Result<ProcessorVerdict, String> {
    if measured.len() > TASKS_MAX {
        return Err(format!("it has {} tasks, the limit is {TASKS_MAX}", measured.len()));
    }
    let as_it_ran = measured.iter().all(Measured::is_real_time);
    let order = if as_it_ran { PriorityOrder::Given } else { PriorityOrder::RateMonotonic };
    let set = |charged: Charged, sporadic: &[Measured]| {
        let all = measured.iter().chain(sporadic);
        let tasks = all.map(|task| of_measured(task, charged));
        let tasks = tasks.chain(others.above.iter().filter(|_| as_it_ran).cloned()).collect();
        TaskSet::new(tasks, order, switch).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            errors.join("; ")
        })
    };
    let found = set(Charged { jitter: false, sleeps: false, closest: false }, &[])?;
    // Other orders than the recorded one would need a model of reservations below fixed priorities.
    let assessment = match others.above.is_empty() || !as_it_ran {
        true => assess(&found),
        false => assess_own_order(&found),
    };
    let fixed = &assessment.fixed[0];
    let own = measured.len();
    let keeps = |responses: &[Response]| responses[..own].iter().all(Response::keeps_deadline);
    // With sleeps charged, a bound is valid, but a missed deadline is none for certain.
    let sleeps = fixed.answer() == Answer::Yes;
    let charged = Charged { jitter: false, sleeps, closest: false };
    let responses = set(charged, &[])?.responses();
    let late = set(Charged { jitter: true, ..charged }, &[])?.responses();
    let closer = set(Charged { closest: true, ..charged }, &[])?.responses();
    let disturbed = match others.sporadic.as_slice() {
        [] => false,
        sporadic => set(charged, sporadic).map_or(true, |set| !keeps(&set.responses())),
    };
    let tasks = measured.into_iter().enumerate().map(|(index, measured)| TaskVerdict {
        utilization: measured.execution_ns as f64 / measured.period_ns as f64,
        bound_ns: responses[index].bound.map(nanos),
        bound_with_jitter_ns: late[index].bound.map(nanos),
        execution_tolerated_ns: fixed.tolerance.each[index]
            .map(|most| nanos(most).saturating_sub(measured.suspension_ns)),
        measured,
    });
    let tasks: Vec<TaskVerdict> = tasks.collect();
    let mut doubts = words::doubts(&tasks, others, as_it_ran);
    doubts.extend(disturbed.then(|| words::disturbed(&others.sporadic)));
    let is_closer = keeps(&responses) && keeps(&late) && !keeps(&closer);
    doubts.extend(is_closer.then(|| words::closer(&tasks)));
    doubts.extend((sleeps && !keeps(&responses)).then(|| words::slept(&tasks)));
    let is_late = tasks.iter().any(TaskVerdict::was_late);
    // If they took less than their reservations, no deadline might be missed.
    let is_rough =
        as_it_ran && fixed.answer() == Answer::No && !is_late && !others.rough.is_empty();
    doubts.extend(is_rough.then(|| words::rough(&others.rough)));
    let are_doubtful = tasks.iter().map(|task| &task.measured).any(|measured| {
        measured.has_doubtful_jobs() || (measured.has_other_releases() && !is_late)
    });
    let answer = match fixed.answer() {
        _ if !others.overloaded.is_empty() => Answer::No,
        Answer::Yes if !doubts.is_empty() => Answer::Open,
        Answer::No if are_doubtful || is_rough => Answer::Open,
        answer => answer,
    };
    if answer != Answer::Open {
        doubts.clear();
    }
    Ok(ProcessorVerdict {
        cpu,
        as_it_ran,
        answer,
        utilization: assessment.utilization,
        verdict: words::processor(cpu, as_it_ran, &assessment, &tasks, &doubts, &others.overloaded),
        doubts,
        tests: tests(&assessment),
        tasks,
    })
}

/// Times that are charged to each task besides its execution time.
#[derive(Clone, Copy)]
struct Charged {
    /// The delay of its releases.
    jitter: bool,
    /// Its sleep within a job. Taken for execution, it can only make the bounds longer (Chen et al., "Many
    /// Suspensions, Many Problems", 2019).
    sleeps: bool,
    /// The shortest distance of two releases as the period: distances that vary may be short several times in a row.
    closest: bool,
}

fn of_measured(measured: &Measured, charged: Charged) -> Task {
    // Lengths beyond the range of a span are rejected by the set with the task's name.
    let span = |nanos: u64| Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
    Task {
        name: measured.name.clone(),
        execution: span(measured.execution_ns.saturating_add(match charged.sleeps {
            true => measured.suspension_ns,
            false => 0,
        })),
        period: span(match measured.shortest_ns {
            Some(shortest) if charged.closest => measured.period_ns.min(shortest).max(1),
            _ => measured.period_ns,
        }),
        deadline: span(measured.deadline_ns),
        // Kernel priorities range from −1, the most urgent, to 139.
        priority: 200_i16.saturating_sub(measured.priority.unwrap_or(139)).unsigned_abs().into(),
        blocking: span(measured.blocking_ns),
        jitter: if charged.jitter { span(measured.jitter_ns) } else { Span::ZERO },
    }
}

fn tests(assessment: &Assessment) -> Vec<TestResult> {
    let mut tests = Vec::new();
    let exact = |name: String, answer, tolerance: &Tolerance| TestResult {
        name,
        value: None,
        limit: None,
        answer,
        tolerates: tolerance.together,
    };
    for (name, bound) in [
        ("Liu and Layland", |fixed: &Fixed| fixed.liu_layland.clone()),
        ("hyperbolic bound", |fixed: &Fixed| fixed.hyperbolic.clone()),
    ] as [(&str, fn(&Fixed) -> Option<super::bounds::Bound>); 2]
    {
        // Neither applies to priorities against the periods; then the rate-monotonic result is shown.
        let Some((fixed, bound)) =
            assessment.fixed.iter().find_map(|fixed| Some((fixed, bound(fixed)?)))
        else {
            continue;
        };
        tests.push(TestResult {
            name: format!("{name}, {}", words::order(fixed.order)),
            value: Some(bound.value),
            limit: Some(bound.limit),
            answer: bound.answer(),
            tolerates: None,
        });
    }
    for fixed in &assessment.fixed {
        let name = format!("response times, {}", words::order(fixed.order));
        tests.push(exact(name, fixed.answer(), &fixed.tolerance));
    }
    let deadline = &assessment.earliest_deadline;
    let name = "processor demand, earliest deadline first".into();
    tests.push(exact(name, deadline.demand.answer, &deadline.tolerance));
    tests
}

fn nanos(span: Span) -> u64 {
    u64::try_from(span.nanos()).unwrap_or(0)
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
