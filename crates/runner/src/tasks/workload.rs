//! Load: a task that computes for a while.

use hemiola_rt::sys;
use hemiola_units::Span;

use crate::task::{Job, Ports, Task};

pub(super) struct Workload {
    pub(super) compute: Span,
}

impl Task for Workload {
    /// Spins until the thread has used its processor time, so that preemption does not shorten the work.
    fn step(&mut self, _job: &Job<'_>, _ports: &mut dyn Ports) {
        let end = sys::cpu_clock::thread() + self.compute;
        while sys::cpu_clock::thread() < end {
            std::hint::spin_loop();
        }
    }
}
