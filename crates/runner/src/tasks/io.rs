//! The I/O process of the programs with more than one process.

use serde::{Deserialize, Serialize};

use hemiola_scenario::{Order, Task as Settings};
use hemiola_simplex::{Chosen, Command, Event, Fault, Sensors, Watchdog};
use hemiola_trace::EventKind;
use hemiola_trace::event::source;
use hemiola_trace::result::Role;
use hemiola_units::Instant;

use super::{Body, TaskKind, mismatch};
use crate::audience::{self, Audience};
use crate::card::Registers;
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
    name_marks: |names| {
        names.insert_all(EventKind::Switch, hemiola_simplex::REASONS);
        names.insert_all(EventKind::Fault, hemiola_simplex::FAULTS);
    },
    sources: &[include_str!("io.rs")],
    ..TaskKind::new(Role::Io, Body::Loop(prepare))
};

/// The facts of an I/O process, which the monolithic program shares.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IoFacts {
    #[serde(flatten)]
    pub(crate) card: Registers,
    /// The units that read the sensors, in a program with a decision module.
    pub(crate) audience: Option<audience::Lines>,
}

fn prepare(spec: &NodeSpec) -> Result<Box<dyn Task>, String> {
    let Settings::Io { order } = spec.process.task else { return mismatch() };
    let watchdog = spec.run.variant.decision.as_ref().map(|settings| {
        Watchdog::new(settings, spec.process.period).map_err(|e| format!("the watchdog: {e}"))
    });
    let facts: IoFacts = spec.facts()?;
    let audience = facts.audience.as_ref().map(Audience::open).transpose()?;
    let (io, watchdog) = (Io::open(spec)?, watchdog.transpose()?);
    Ok(Box::new(IoTask { io, order, held: 0.0, last: None, audience, watchdog }))
}

struct IoTask {
    io: Io,
    order: Order,
    /// The last voltage commanded.
    held: f64,
    /// The last sample.
    last: Option<Sensors>,
    audience: Option<Audience>,
    /// Takes the place of a decision module that gives no command.
    watchdog: Option<Watchdog>,
}

impl IoTask {
    fn sample_and_send(&mut self, job: &Job<'_>, ports: &mut dyn Ports) -> Sensors {
        let sensors = self.io.sample(job.cycle, job.release, ports.now());
        mark_values(ports, EventKind::Sample, 0, sensors.position, sensors.angle);
        let message = sensors.encode();
        ports.send(&message);
        if let Some(audience) = &mut self.audience {
            audience.publish(&message);
        }
        self.last = Some(sensors);
        sensors
    }

    fn actuate(&mut self, volts: f64, source: u16, ports: &mut dyn Ports) {
        let (volts, before) = self.io.actuate(volts, ports.now());
        mark_values(ports, EventKind::Actuate, source, volts, before);
    }

    fn write(&mut self, chosen: Chosen, ports: &mut dyn Ports) {
        self.actuate(chosen.volts, chosen.source.code(), ports);
        if let Some(Event::Switch { from, to, reason }) = chosen.switch {
            let (from, to) = (u64::from(from.code()), u64::from(to.code()));
            ports.mark(EventKind::Switch, reason.code(), from, to);
        }
    }

    /// The command of the previous cycle goes out at a fixed point of this one.
    fn write_previous(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        let before = job.cycle.saturating_sub(1);
        let command = newest(before, ports);
        if let (Some(watchdog), Some(sensors)) = (&mut self.watchdog, self.last) {
            let chosen = judged(watchdog, before, command, ports);
            let chosen = chosen.unwrap_or_else(|| watchdog.command(&sensors));
            watchdog.learn(&sensors);
            return self.write(chosen, ports);
        }
        // A missing one leaves the last voltage standing, because this process has no better value.
        let command = command.filter(|command| command.volts.is_finite());
        let source = if command.is_some() { source::CONTROLLER } else { source::HELD };
        self.held = command.map_or(self.held, |command| command.volts);
        self.actuate(self.held, source, ports);
    }

    fn write_answer(&mut self, sensors: &Sensors, limit: Instant, ports: &mut dyn Ports) {
        let cycle = sensors.sequence;
        let Some(watchdog) = &mut self.watchdog else {
            return match answer(cycle, limit, ports) {
                Some(command) if command.volts.is_finite() => {
                    self.actuate(command.volts, command.unit as u16, ports);
                }
                _ => self.actuate(0.0, source::FAIL_SAFE, ports),
            };
        };
        if watchdog.has_plant() {
            let chosen = watchdog.command(sensors);
            self.write(chosen, ports);
            // Only to find out whether the module is back.
            let command = answer(cycle, limit, ports);
            self.watchdog.as_mut().and_then(|watchdog| judged(watchdog, cycle, command, ports));
            return;
        }
        let command = answer(cycle, limit, ports);
        let chosen = judged(watchdog, cycle, command, ports);
        let chosen = chosen.unwrap_or_else(|| watchdog.command(sensors));
        self.write(chosen, ports);
        // After the voltage is written, when no process waits.
        self.watchdog.as_mut().expect("present above").learn(sensors);
    }
}

/// What the watchdog makes of an answer; a missing one is a fault in the record.
fn judged(
    watchdog: &mut Watchdog,
    cycle: u64,
    command: Option<Command>,
    ports: &mut dyn Ports,
) -> Option<Chosen> {
    let usable = watchdog.judge(cycle, command);
    if watchdog.has_missed() {
        ports.mark(EventKind::Fault, Fault::DecisionMissing.code(), u64::MAX, 0);
    }
    usable
}

/// The newest valid command. The search ends with one that answers `cycle`, because none can be newer.
fn newest(cycle: u64, ports: &mut dyn Ports) -> Option<Command> {
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
fn answer(cycle: u64, limit: Instant, ports: &mut dyn Ports) -> Option<Command> {
    loop {
        if let Some(command) = newest(cycle, ports).filter(|command| command.sequence == cycle) {
            return Some(command);
        }
        if !ports.wait(limit) {
            return None;
        }
    }
}

// One command in the buffer at a time, whatever a queue's message size is.
const _: () = assert!(Command::SIZE <= crate::node::MESSAGE_LEN_MAX);

impl Task for IoTask {
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        match self.order {
            Order::WriteFirst => {
                self.write_previous(job, ports);
                let _ = self.sample_and_send(job, ports);
            }
            Order::ReadFirst { command_within } => {
                let sensors = self.sample_and_send(job, ports);
                self.write_answer(&sensors, sensors.sampled + command_within, ports);
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
