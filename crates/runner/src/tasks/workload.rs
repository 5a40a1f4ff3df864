//! Load: a task that computes for a while.

use hemiola_rt::sys;
use hemiola_scenario::{Process, Task as Settings};
use hemiola_trace::result::Role;
use hemiola_units::Span;

use super::{Body, TaskKind, Turns, mismatch, whole};
use crate::spec::{NodeSpec, RunSpec};
use crate::task::{Job, Ports, Task};

pub(super) const KIND: TaskKind =
    TaskKind { turns, ..TaskKind::new(Role::Workload, Body::Loop(prepare)) };

fn prepare(spec: &NodeSpec) -> Result<Box<dyn Task>, String> {
    let Settings::Workload { compute, .. } = spec.process.task else { return mismatch() };
    Ok(Box::new(Workload { compute }))
}

fn turns(process: &Process, run: &RunSpec) -> Option<Turns> {
    let Settings::Workload { takes_turns: true, .. } = process.task else { return None };
    let turn = run.variant.mixed()?.turn;
    Some(Turns { from: run.warmup, turn, fours: whole(run.duration, turn) / 4 })
}

struct Workload {
    compute: Span,
}

impl Task for Workload {
    fn step(&mut self, _job: &Job<'_>, _ports: &mut dyn Ports) {
        compute(self.compute);
    }
}

/// Spins until the thread has used so much processor time, so that preemption does not shorten the work.
pub(crate) fn compute(time: Span) {
    let end = sys::cpu_clock::thread() + time;
    while sys::cpu_clock::thread() < end {
        std::hint::spin_loop();
    }
}
