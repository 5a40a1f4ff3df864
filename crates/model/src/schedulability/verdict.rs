//! The verdict on what a recording shows: whether its tasks are schedulable, processor by processor.
//!
//! The recording gives C (the greatest observed: no bound, and the verdict says so), T, D, priorities and B. Release
//! jitter is left out of the first answer, because a single late timer on a shared machine would decide everything;
//! the bounds with it stand beside those without.

use hemiola_analyze::sched::Report;
use hemiola_units::Span;
use serde::Serialize;

use super::measured::{LeftOut, Measured, partition};
use super::{Answer, Assessment, Fixed, Tolerance, assess, words};
use crate::response_time::{Order, Set, Task};

/// Sets of more tasks are not put to the tests: what each tolerates would take long.
pub const TASKS_MAX: usize = 64;

/// The verdict on a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// What each job is charged twice: one switch, ns.
    pub switch_ns: u64,
    /// Each processor that a task was measured on, ascending.
    pub processors: Vec<Processor>,
    /// Threads that belong in a set and are in none.
    pub left_out: Vec<LeftOut>,
    /// What the verdict does not answer, and what it rests on: a sentence each.
    pub notes: Vec<String>,
}

/// The verdict on one processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Processor {
    /// Its number.
    pub cpu: u16,
    /// Whether the tasks are judged at the priorities they had; else at rate-monotonic ones that they could have.
    pub as_it_ran: bool,
    /// Whether every deadline is kept.
    pub answer: Answer,
    /// The share of it that all of them want at most, switches included.
    pub utilization: f64,
    /// The verdict in words.
    pub verdict: String,
    /// The tasks, the most urgent first.
    pub tasks: Vec<TaskVerdict>,
    /// What each test says.
    pub tests: Vec<Test>,
}

/// The verdict on one task; times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskVerdict {
    /// What was measured of it.
    #[serde(flatten)]
    pub measured: Measured,
    /// C/T with C as the greatest observed, switches not included.
    pub utilization: f64,
    /// R: the longest it can take to finish; nothing where there is no bound.
    pub bound_ns: Option<u64>,
    /// The same when every release is late by J.
    pub bound_with_jitter_ns: Option<u64>,
    /// How long its C may become before any deadline is missed, the others as they are: less than its own where one is
    /// missed already. Nothing where one is missed even without it.
    pub execution_tolerated_ns: Option<u64>,
}

impl TaskVerdict {
    /// Whether a job took longer than the bound that was computed: something delayed it that is in no figure here.
    #[must_use]
    pub fn is_contradicted(&self) -> bool {
        let bound = self.bound_with_jitter_ns.max(self.bound_ns);
        bound.zip(self.measured.response_ns).is_some_and(|(bound, seen)| seen > bound)
    }

    /// Whether its greatest execution time is far from the others.
    #[must_use]
    pub fn stands_alone(&self) -> bool {
        const FACTOR: u64 = 5;
        self.measured.execution_ns > self.measured.execution_p99_ns.saturating_mul(FACTOR)
            || (self.measured.jobs <= 100 && self.measured.execution_ns > self.measured.period_ns)
    }
}

/// What one test says of a processor's tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// Which.
    pub name: String,
    /// What it compares, where that is one number.
    pub value: Option<f64>,
    /// What that may be at most.
    pub limit: Option<f64>,
    /// What it says.
    pub answer: Answer,
    /// The greatest factor for all execution times together with which it says yes.
    pub tolerates: Option<f64>,
}

/// Puts every test to the tasks that a recording shows.
///
/// `switch` is what one context switch costs, measured directly; without it, the cost by the difference to `/proc`
/// is taken where the recording has one that is surely above zero, and else none.
#[must_use]
pub fn verdict(report: &Report, switch: Option<Span>) -> Verdict {
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
    for of in found {
        match judge(of.cpu, of.tasks, cost) {
            Ok(processor) => processors.push(processor),
            Err(why) => notes.push(format!("Processor {} is not judged: {why}.", of.cpu)),
        }
    }
    let source = match (switch, by_difference) {
        (Some(_), _) => words::Source::Given,
        (None, Some(_)) => words::Source::Difference,
        (None, None) => words::Source::None,
    };
    notes.extend(words::notes(&processors, &left_out, (cost, source)));
    Verdict { switch_ns: nanos(cost), processors, left_out, notes }
}

fn judge(cpu: u16, measured: Vec<Measured>, switch: Span) -> Result<Processor, String> {
    if measured.len() > TASKS_MAX {
        return Err(format!("{} tasks are more than {TASKS_MAX}", measured.len()));
    }
    let as_it_ran = measured.iter().all(Measured::is_real_time);
    let order = if as_it_ran { Order::Given } else { Order::RateMonotonic };
    let set = |jitter: bool| {
        let tasks = measured.iter().map(|task| of_measured(task, jitter)).collect();
        Set::new(tasks, order, switch).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            errors.join("; ")
        })
    };
    let late = set(true)?.responses();
    let assessment = assess(&set(false)?);
    let fixed = &assessment.fixed[0];
    let tasks = measured.into_iter().enumerate().map(|(index, measured)| TaskVerdict {
        utilization: measured.execution_ns as f64 / measured.period_ns as f64,
        bound_ns: fixed.responses[index].bound.map(nanos),
        bound_with_jitter_ns: late[index].bound.map(nanos),
        execution_tolerated_ns: fixed.tolerance.each[index].map(nanos),
        measured,
    });
    let tasks: Vec<TaskVerdict> = tasks.collect();
    Ok(Processor {
        cpu,
        as_it_ran,
        answer: fixed.answer(),
        utilization: assessment.utilisation,
        verdict: words::processor(cpu, as_it_ran, &assessment, &tasks),
        tests: tests(&assessment),
        tasks,
    })
}

fn of_measured(measured: &Measured, jitter: bool) -> Task {
    // Lengths beyond what a span holds are beyond what a set takes, and refused there with the name.
    let span = |nanos: u64| Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
    Task {
        name: measured.name.clone(),
        execution: span(measured.execution_ns),
        period: span(measured.period_ns),
        deadline: span(measured.deadline_ns),
        // The kernel's numbers are from −1, the most urgent, to 139.
        priority: 200_i16.saturating_sub(measured.priority.unwrap_or(139)).unsigned_abs().into(),
        blocking: span(measured.blocking_ns),
        jitter: if jitter { span(measured.jitter_ns) } else { Span::ZERO },
    }
}

fn tests(assessment: &Assessment) -> Vec<Test> {
    let mut tests = Vec::new();
    let exact = |name: String, answer, tolerance: &Tolerance| Test {
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
        // Of priorities against the periods neither says anything; then what it says of rate-monotonic ones.
        let Some((fixed, bound)) =
            assessment.fixed.iter().find_map(|fixed| Some((fixed, bound(fixed)?)))
        else {
            continue;
        };
        tests.push(Test {
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
mod tests;
