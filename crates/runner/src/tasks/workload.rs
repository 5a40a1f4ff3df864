//! Load: a task that computes for a while.

use hemiola_rt::sys;
use hemiola_units::Span;

use crate::task::{Job, Ports, Task};

pub(super) struct Workload {
    pub(super) compute: Span,
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
