//! The whole loop in one process: sample, compute, actuate.

use hemiola_scenario::Task as Settings;
use hemiola_simplex::{Controller, Sensors, StateFeedback};
use hemiola_trace::EventKind;
use hemiola_trace::event::source;
use hemiola_trace::result::Role;

use super::{Body, TaskKind, mismatch};
use crate::io::Io;
use crate::spec::NodeSpec;
use crate::task::{Job, Ports, Task, mark_values};

pub(super) const KIND: TaskKind = TaskKind {
    is_in_cycle: true,
    paces: |_, _| true,
    equip: |supplies| supplies.wiring.io_side(),
    sources: &[include_str!("monolithic.rs")],
    ..TaskKind::new(Role::Monolithic, Body::Loop(prepare))
};

struct Monolithic {
    io: Io,
    controller: StateFeedback,
}

fn prepare(spec: &NodeSpec) -> Result<Box<dyn Task>, String> {
    let Settings::Monolithic { gain } = spec.process.task else { return mismatch() };
    let model = spec.run.model(spec.process.period)?;
    let controller = StateFeedback::new(model, gain);
    Ok(Box::new(Monolithic { io: Io::open(spec)?, controller }))
}

impl Task for Monolithic {
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        let sensors = self.io.sample(job.cycle, job.release, ports.now());
        mark_values(ports, EventKind::Sample, 0, sensors.position, sensors.angle);
        let volts = self.controller.step(&sensors);
        let (volts, before) = self.io.actuate(volts, ports.now());
        mark_values(ports, EventKind::Actuate, source::CONTROLLER, volts, before);
    }

    fn warm_up(&mut self, _ports: &mut dyn Ports) {
        self.io.warm_up();
        // A copy computes: the observer itself must see each sample once.
        std::hint::black_box(self.controller.clone().step(&Sensors::default()));
    }

    fn close(&mut self, ports: &mut dyn Ports) {
        self.io.actuate(0.0, ports.now());
    }
}
