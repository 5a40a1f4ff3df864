//! A task that does nothing: what waiting for a release costs alone.

use crate::task::{Job, Ports, Task};

pub(super) struct Timer;

impl Task for Timer {
    fn step(&mut self, _job: &Job<'_>, _ports: &mut dyn Ports) {}
}
