//! The whole loop in one process: sample, compute, actuate.

use hemiola_simplex::{Controller, Gain, Model, Sensors, StateFeedback};
use hemiola_trace::EventKind;
use hemiola_trace::event::source;
use hemiola_units::Span;

use crate::card::Card;
use crate::io::Io;
use crate::task::{Job, Ports, Task, mark_values};

pub(super) struct Monolithic {
    io: Io,
    controller: StateFeedback,
}

impl Monolithic {
    pub(super) fn prepare(card: Card, gain: Gain, period: Span) -> Result<Self, String> {
        let model = Model::new(period).map_err(|e| e.to_string())?;
        Ok(Self { io: Io::new(card, period), controller: StateFeedback::new(model, gain) })
    }
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
