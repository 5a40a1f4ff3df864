//! A task that does nothing: what waiting for a release costs alone.

use hemiola_trace::result::Role;

use super::{Body, TaskKind};
use crate::task::{Job, Ports, Task};

pub(super) const KIND: TaskKind = TaskKind {
    paces: |_, _| true,
    ..TaskKind::new(Role::Timer, Body::Loop(|_| Ok(Box::new(Timer))))
};

struct Timer;

impl Task for Timer {
    fn step(&mut self, _job: &Job<'_>, _ports: &mut dyn Ports) {}
}
