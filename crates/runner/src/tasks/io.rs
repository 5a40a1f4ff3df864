//! The I/O process of the programs with more than one process.

use hemiola_scenario::Order;
use hemiola_simplex::Command;
use hemiola_trace::EventKind;
use hemiola_trace::event::source;
use hemiola_units::{Instant, Span};

use crate::card::Card;
use crate::io::Io;
use crate::task::{Job, Ports, Task, mark_values};

pub(super) struct IoTask {
    io: Io,
    order: Order,
    held: f64,
}

impl IoTask {
    pub(super) fn prepare(card: Card, order: Order, period: Span) -> Self {
        Self { io: Io::new(card, period), order, held: 0.0 }
    }

    /// Gives the time of the sample.
    fn sample_and_send(&mut self, job: &Job<'_>, ports: &mut dyn Ports) -> Instant {
        let sensors = self.io.sample(job.cycle, job.release, ports.now());
        mark_values(ports, EventKind::Sample, 0, sensors.position, sensors.angle);
        ports.send(&sensors.encode());
        sensors.sampled
    }

    fn actuate(&mut self, volts: f64, source: u16, ports: &mut dyn Ports) {
        let (volts, before) = self.io.actuate(volts, ports.now());
        mark_values(ports, EventKind::Actuate, source, volts, before);
    }

    /// The newest good command; looking ends with one that answers `cycle`, because none can be newer.
    fn newest(&mut self, cycle: u64, ports: &mut dyn Ports) -> Option<Command> {
        let mut newest = None;
        let mut buffer = [0; crate::node::MESSAGE_LEN_MAX];
        while let Some(len) = ports.receive(&mut buffer) {
            newest = Command::decode(&buffer[..len]).ok().or(newest);
            if newest.is_some_and(|command| command.sequence >= cycle) {
                break;
            }
        }
        newest
    }

    /// The command that answers `cycle`, waiting for it until `limit`.
    fn answer(&mut self, cycle: u64, limit: Instant, ports: &mut dyn Ports) -> Option<Command> {
        loop {
            if let Some(command) =
                self.newest(cycle, ports).filter(|command| command.sequence == cycle)
            {
                return Some(command);
            }
            if !ports.wait(limit) {
                return None;
            }
        }
    }
}

// One command in the buffer at a time, whatever a queue's message size is.
const _: () = assert!(Command::SIZE <= crate::node::MESSAGE_LEN_MAX);

impl Task for IoTask {
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        match self.order {
            // The command of the previous cycle goes out at a fixed point of this one; a missing one
            // leaves the last voltage standing, because nobody here knows better.
            Order::WriteFirst => {
                let before = job.cycle.saturating_sub(1);
                let command =
                    self.newest(before, ports).filter(|command| command.volts.is_finite());
                let source = if command.is_some() { source::CONTROLLER } else { source::HELD };
                self.held = command.map_or(self.held, |command| command.volts);
                self.actuate(self.held, source, ports);
                let _ = self.sample_and_send(job, ports);
            }
            // Behind a decision module a missing command means that the module itself is gone: the one
            // fault Simplex does not cover. It ends in a defined state, 0 V, and in the record.
            Order::ReadFirst { command_within } => {
                let sampled = self.sample_and_send(job, ports);
                match self.answer(job.cycle, sampled + command_within, ports) {
                    Some(command) if command.volts.is_finite() => {
                        // The decision module says in place of a unit whose voltage it is.
                        self.actuate(command.volts, command.unit as u16, ports);
                    }
                    _ => self.actuate(0.0, source::FAIL_SAFE, ports),
                }
            }
        }
    }

    fn warm_up(&mut self, ports: &mut dyn Ports) {
        self.io.warm_up();
        ports.warm_up();
    }

    fn close(&mut self, ports: &mut dyn Ports) {
        self.io.actuate(0.0, ports.now());
    }
}
