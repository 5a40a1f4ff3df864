//! A controller process: sensors in, command out. A replacement unit of ours runs the same code.

use serde::{Deserialize, Serialize};

use hemiola_scenario::Task as Settings;
use hemiola_simplex::fault::{FaultKind, Faulty};
use hemiola_simplex::{Command, Controller, Sensors, StateFeedback};
use hemiola_trace::result::Role;
use hemiola_units::Instant;

use super::{Body, EarlyEnd, Equipment, TaskKind, mismatch};
use crate::campaign::Injection;
use crate::spec::NodeSpec;
use crate::task::{Job, Ports, Task};

/// The facts of a controller process, beside its law.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ControllerFacts {
    /// Its generation as a unit; 0 in a program without units.
    pub(super) unit: u32,
    /// What goes wrong in it, on purpose.
    pub(super) fault: Option<Fault>,
}

/// A fault injected into a controller process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fault {
    /// What goes wrong.
    pub(crate) kind: FaultKind,
    /// The first cycle that has it.
    pub(crate) from_cycle: u64,
    /// What the adversary among the faults knows of the decision rule.
    pub(crate) accept_below: f64,
    /// Seed of whatever is random in it.
    pub(crate) seed: u64,
}

pub(super) const KIND: TaskKind = TaskKind {
    is_in_cycle: true,
    // A controller whose fault is the experiment may die of it.
    early_end: EarlyEnd::FailureWithoutFaults,
    equip: |supplies| {
        let fault = supplies.injected.iter().find_map(Injection::in_controller);
        Equipment::new(&ControllerFacts { unit: 0, fault }, [])
    },
    sources: &[include_str!("controller.rs")],
    ..TaskKind::new(
        Role::Controller,
        Body::Loop(|spec| Ok(Box::new(ControllerTask::prepare(spec)?))),
    )
};

struct ControllerTask {
    law: Law,
    unit: u32,
}

enum Law {
    Good(Box<StateFeedback>),
    Faulty {
        law: Box<Faulty<StateFeedback>>,
        kind: FaultKind,
        from_cycle: u64,
        hoard: Vec<Vec<u8>>,
    },
}

/// Bytes a memory hog takes in one cycle.
const HOARD: usize = 64 << 20;

impl ControllerTask {
    fn prepare(spec: &NodeSpec) -> Result<Self, String> {
        let Settings::Controller { gain } = spec.process.task else { return mismatch() };
        let model = spec.run.model(spec.process.period)?;
        let good = StateFeedback::new(model.clone(), gain);
        let facts: ControllerFacts = spec.facts()?;
        let law = match facts.fault {
            None => Law::Good(Box::new(good)),
            Some(Fault { kind, from_cycle, accept_below, seed }) => {
                let known = (spec.run.region()?, accept_below);
                let law = Box::new(Faulty::new(good, kind, from_cycle, &model, known, seed));
                Law::Faulty { law, kind, from_cycle, hoard: Vec::new() }
            }
        };
        Ok(Self { law, unit: facts.unit })
    }
}

/// Carries out a fault of the process itself; faults of the output are left to [`Faulty`].
fn misbehave(kind: FaultKind, hoard: &mut Vec<Vec<u8>>) {
    match kind {
        FaultKind::Crash => std::process::abort(),
        FaultKind::Hang => loop {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        },
        FaultKind::BusyLoop => loop {
            std::hint::spin_loop();
        },
        // Ones, so that the kernel has to find real pages.
        FaultKind::MemoryHog => hoard.push(vec![1; HOARD]),
        _ => {}
    }
}

impl Task for ControllerTask {
    fn trigger(&mut self, message: &[u8]) -> Option<(u64, Instant)> {
        Sensors::decode(message).ok().map(|sensors| (sensors.sequence, sensors.release))
    }

    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        let Ok(sensors) = Sensors::decode(job.message) else { return };
        match &mut self.law {
            Law::Good(law) => {
                let volts = law.step(&sensors);
                let stamp = ports.now();
                let command = Command { sequence: sensors.sequence, unit: self.unit, volts, stamp };
                ports.send(&command.encode());
            }
            Law::Faulty { law, kind, from_cycle, hoard } => {
                if job.cycle >= *from_cycle {
                    misbehave(*kind, hoard);
                }
                let stamp = ports.now();
                law.answer(&sensors, self.unit, stamp, &mut |message| {
                    ports.send(message);
                });
            }
        }
    }
}
