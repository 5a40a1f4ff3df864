//! How long jobs may take to finish, from what they compute and who may interfere: the bound of
//! [`response_time`](crate::response_time) for each processor of a program, beside what was seen.

use hemiola_analyze::cycles::summary::Summary;
use hemiola_scenario::{Plan, Task as Doing, Variant};
use hemiola_units::{CpuSet, Policy, Profile, Span};
use serde::Serialize;

use super::{PredictError, Prediction};
use crate::machine::Machine;
use crate::response_time::{Order, Set, Task};

/// What the control loop is called among the tasks.
pub const LOOP: &str = "control loop";

/// One switch of tasks: the least a hand-over costs.
const SWITCH: &str = "hand_over.futex.up.back_to_back";

/// The bound of one task's response time, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Response {
    /// The program.
    pub variant: String,
    /// The process, or [`LOOP`].
    pub task: String,
    /// From release to finish at most; nothing where its processor is asked for more than there is.
    pub bound: Option<Span>,
    /// When it must have finished.
    pub deadline: Span,
    /// The greatest response seen; nothing where the run recorded none.
    pub seen_max: Option<Span>,
}

/// The bounds of all programs of `plan` in which a process computes beside others, or beside the control loop,
/// at real-time priorities. What ordinary processes do is not bounded, and the plant counts as the world.
///
/// # Errors
/// See [`PredictError`].
pub fn responses(
    plan: &Plan,
    machine: &Machine,
    predictions: &[Prediction],
    summary: &Summary,
) -> Result<Vec<Response>, PredictError> {
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
            let set = Set::new(tasks, Order::Given, switch(machine)?).map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                PredictError::Figures(errors.join("; "))
            })?;
            found.extend(set.responses().into_iter().map(|response| Response {
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

/// The processes that do nothing but compute, each with the processors it may use.
fn loads(variant: &Variant) -> impl Iterator<Item = (CpuSet, Task)> {
    variant.processes.iter().filter_map(|process| {
        let Doing::Workload { compute, .. } = process.task else { return None };
        let (cpus, priority) = place(&process.profile)?;
        let mut task = Task::periodic(process.name.clone(), compute, process.period);
        (task.deadline, task.priority) = (process.deadline, priority);
        Some((cpus, task))
    })
}

/// The control loop as one task: its processes wait for each other, so the least of their priorities decides
/// who interferes.
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

/// The greatest response the run recorded.
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
