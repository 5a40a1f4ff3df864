//! Bounds of response times from execution times and interference: [`response_time`](crate::response_time) for each
//! processor of a program, beside the measured response times.

use hemiola_analyze::cycles::summary::Summary;
use hemiola_scenario::{Plan, Task as Doing, Variant};
use hemiola_units::{CpuSet, Policy, Profile, Span};
use serde::Serialize;

use super::{PredictError, Prediction};
use crate::machine::Machine;
use crate::response_time::{PriorityOrder, Task, TaskSet};

/// The name of the control loop among the tasks.
pub const LOOP: &str = "control loop";

/// The cost of one context switch: the cheapest hand-over.
const SWITCH: &str = "hand_over.futex.up.back_to_back";

/// The bound of one task's response time and the greatest one measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskResponse {
    /// The program.
    pub variant: String,
    /// The process, or [`LOOP`].
    pub task: String,
    /// The longest time from release to finish; `None` if its processor is overloaded.
    pub bound: Option<Span>,
    /// Its deadline after release.
    pub deadline: Span,
    /// The greatest response time measured; `None` if the run recorded none.
    pub seen_max: Option<Span>,
}

/// The bounds for all programs of `plan` in which a process shares a processor with others, or with the control loop,
/// at real-time priorities. Ordinary processes are not bounded, and the plant counts as environment.
///
/// # Errors
/// See [`PredictError`].
pub fn responses(
    plan: &Plan,
    machine: &Machine,
    predictions: &[Prediction],
    summary: &Summary,
) -> Result<Vec<TaskResponse>, PredictError> {
    let mut found = Vec::new();
    for variant in &plan.variants {
        let looping = predictions.iter().find(|prediction| prediction.variant == variant.name);
        let mut sets: Vec<(CpuSet, Vec<Task>)> = Vec::new();
        for (cpus, task) in loads(variant).chain(looping.and_then(|p| control(variant, p))) {
            match sets.iter_mut().find(|(known, _)| *known == cpus) {
                Some((_, tasks)) => tasks.push(task),
                None => sets.push((cpus, vec![task])),
            }
        }
        let has_load = loads(variant).next().is_some();
        for (_, tasks) in sets.into_iter().filter(|_| has_load) {
            let set =
                TaskSet::new(tasks, PriorityOrder::Given, switch(machine)?).map_err(|errors| {
                    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    PredictError::Figures(errors.join("; "))
                })?;
            found.extend(set.responses().into_iter().map(|response| TaskResponse {
                variant: variant.name.clone(),
                seen_max: seen(summary, variant, &response.name),
                task: response.name,
                bound: response.bound,
                deadline: response.deadline,
            }));
        }
    }
    Ok(found)
}

fn switch(machine: &Machine) -> Result<Span, PredictError> {
    let figure = machine.figure(SWITCH);
    let figure = figure.ok_or_else(|| PredictError::NoFigure { name: SWITCH.into() })?;
    Ok(Span::from_nanos(super::seconds(figure)?.value.mul_add(1e9, 0.5) as i64))
}

/// The pure workload processes, each with the processors it may use.
fn loads(variant: &Variant) -> impl Iterator<Item = (CpuSet, Task)> {
    variant.processes.iter().filter_map(|process| {
        let Doing::Workload { compute, .. } = process.task else { return None };
        let (cpus, priority) = place(&process.profile)?;
        let mut task = Task::periodic(process.name.clone(), compute, process.period);
        (task.deadline, task.priority) = (process.deadline, priority);
        Some((cpus, task))
    })
}

/// The control loop as one task. Its processes wait for each other, so the lowest of their priorities determines the
/// interference.
fn control(variant: &Variant, prediction: &Prediction) -> Option<(CpuSet, Task)> {
    let processes = variant
        .processes
        .iter()
        .filter(|process| super::work::of(&process.task).is_some())
        .map(|process| &process.profile);
    let places: Vec<(CpuSet, u32)> =
        processes.chain(variant.units.iter().map(|unit| &unit.profile)).filter_map(place).collect();
    let (cpus, _) = places.first()?.clone();
    let execution = Span::from_nanos(prediction.cycle.high.ceil() as i64);
    let mut task = Task::periodic(LOOP, execution, variant.rate.period());
    task.priority = places.iter().map(|(_, priority)| *priority).min()?;
    Some((cpus, task))
}

/// Processors and priority of a real-time profile.
fn place(profile: &Profile) -> Option<(CpuSet, u32)> {
    match profile.scheduling {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => {
            Some((profile.cpus.clone()?, u32::from(priority.get())))
        }
        Policy::Other { .. } | Policy::Deadline { .. } => None,
    }
}

/// The greatest response time recorded.
fn seen(summary: &Summary, variant: &Variant, task: &str) -> Option<Span> {
    let of = summary.variants.iter().find(|found| found.name == variant.name)?;
    let processes = of.combined.processes.iter().filter(|process| {
        let loads = variant.processes.iter().any(|known| {
            known.name == process.name && matches!(known.task, Doing::Workload { .. })
        });
        if task == LOOP { !loads } else { process.name == task }
    });
    let greatest = processes.filter_map(|process| Some(process.response_ns?.max)).max()?;
    Some(Span::from_nanos(greatest))
}
