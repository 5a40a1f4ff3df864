//! The I/O process of the programs with more than one process.

use hemiola_scenario::{Order, Task as Settings};
use hemiola_simplex::Command;
use hemiola_trace::EventKind;
use hemiola_trace::event::source;
use hemiola_trace::result::Role;
use hemiola_units::Instant;

use super::{Body, TaskKind, mismatch};
use crate::io::Io;
use crate::spec::NodeSpec;
use crate::task::{Job, Ports, Task, mark_values};

pub(super) const KIND: TaskKind = TaskKind {
    is_in_cycle: true,
    paces: |_, _| true,
    equip: |supplies| supplies.wiring.io_side(),
    describe: |_, record| {
        record.features.extend(["separate processes", "data integrity"].map(String::from));
    },
    sources: &[include_str!("io.rs")],
    ..TaskKind::new(Role::Io, Body::Loop(prepare))
};

fn prepare(spec: &NodeSpec) -> Result<Box<dyn Task>, String> {
    let Settings::Io { order } = spec.process.task else { return mismatch() };
    Ok(Box::new(IoTask { io: Io::open(spec)?, order, held: 0.0 }))
}

struct IoTask {
    io: Io,
    order: Order,
    /// The last voltage commanded.
    held: f64,
}

impl IoTask {
    /// Returns the time of the sample.
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

    /// The newest valid command. The search ends with one that answers `cycle`, because none can be newer.
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
            // leaves the last voltage standing, because this process has no better value.
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
            // fault Simplex does not cover. The output is then 0 V, and the record says so.
            Order::ReadFirst { command_within } => {
                let sampled = self.sample_and_send(job, ports);
                match self.answer(job.cycle, sampled + command_within, ports) {
                    Some(command) if command.volts.is_finite() => {
                        // In place of a unit, the decision module names the source of the voltage.
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
