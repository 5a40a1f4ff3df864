//! A replacement unit: a controller or a foreign program that answers in a slot of the decision module.

use std::os::fd::{AsRawFd, BorrowedFd};

use hemiola_bus::End;
use hemiola_scenario::{Process, Release, Task, Unit, UnitProgram, Variant};
use hemiola_simplex::UnitId;
use hemiola_trace::result::Role;
use hemiola_units::{Bytes, Span};

use super::command::Foreign;
use super::controller::{ControllerFacts, Fault};
use super::{EarlyEnd, Equipment, StopBy, Supplies, TaskKind, command, controller};
use crate::spec::{Limits, Port};

/// Port indices of the slots in a record, beyond those of channels.
const SLOT_PORT: u16 = 0x100;
/// Address space of a unit; far more than a controller needs, far less than the machine has.
const MEMORY: Bytes = Bytes(1 << 30);
/// The kernel checks once per tick, 4 ms at 250 Hz: a tighter limit would be chance.
const UNBROKEN_MIN: Span = Span::from_millis(20);

/// The kind of a unit's process: that of its program, with another role, and its end is the decision module's business.
/// A sandboxed unit has no process.
pub(crate) fn kind(program: &UnitProgram) -> Option<&'static TaskKind> {
    const fn unit(kind: TaskKind) -> TaskKind {
        let (stop_by, early_end) = (StopBy::Signal, EarlyEnd::FailureAtOnce);
        TaskKind { role: Role::Unit, stop_by, early_end, ..kind }
    }
    const OURS: TaskKind = unit(controller::KIND);
    const FOREIGN: TaskKind = unit(command::KIND);
    match program {
        UnitProgram::Gain(_) => Some(&OURS),
        UnitProgram::Command { .. } => Some(&FOREIGN),
        UnitProgram::Module { .. } => None,
    }
}

/// A unit about to be started.
#[derive(Clone, Debug)]
pub(crate) struct UnitLaunch {
    pub(crate) id: UnitId,
    pub(crate) unit: Unit,
    pub(crate) fault: Option<Fault>,
    /// Whether its end at any time is part of an experiment.
    pub(crate) may_end: bool,
}

/// The process of a unit: a controller or a command in its place, released by the sensors. A sandboxed unit has none.
pub(crate) fn process(variant: &Variant, unit: &Unit) -> Option<Process> {
    let decision = variant.decision_process().expect("units come with a decision process");
    let sensors = &decision.receives[0];
    Some(Process {
        name: unit.name.clone(),
        task: match &unit.program {
            UnitProgram::Gain(gain) => Task::Controller { gain: *gain },
            UnitProgram::Command { program, arguments } => {
                Task::Command { program: program.clone(), arguments: arguments.clone() }
            }
            UnitProgram::Module { .. } => return None,
        },
        release: Release::On { channel: sensors.clone(), lead: Span::ZERO },
        period: variant.rate.period(),
        deadline: decision.deadline,
        profile: unit.profile.clone(),
        profile_name: unit.profile_name.clone(),
        sends: Vec::new(),
        receives: vec![sensors.clone()],
    })
}

/// What a unit gets: its slot, its limits, and as a foreign program the environment of the unit contract.
pub(crate) fn equipment<'w>(launch: &UnitLaunch, supplies: &Supplies<'w>) -> Equipment<'w> {
    let (wiring, unit) = (supplies.wiring, &launch.unit);
    let supervision = wiring.supervision.as_ref().expect("units come with a decision process");
    let UnitId { slot: number, generation } = launch.id;
    let slot = &supervision.slots[usize::from(number)];
    let descriptor = slot.descriptor(End::Sender);
    let gear = match &unit.program {
        UnitProgram::Gain(_) => {
            let facts = ControllerFacts { unit: generation, fault: launch.fault.clone() };
            Equipment::new(&facts, descriptor)
        }
        UnitProgram::Command { program, arguments } => {
            let number = |fd: Option<BorrowedFd<'_>>| {
                fd.map_or_else(String::new, |fd| fd.as_raw_fd().to_string())
            };
            let sensors = supplies.run.variant.sensors().and_then(|s| wiring.channel(&s.name));
            let sensors = sensors.and_then(|channel| channel.descriptor(End::Receiver));
            let period = supplies.run.variant.rate.period();
            let environment = [
                ("HEMIOLA_SENSORS_FD", number(sensors)),
                ("HEMIOLA_COMMAND_FD", number(descriptor)),
                ("HEMIOLA_UNIT", generation.to_string()),
                ("HEMIOLA_PERIOD_NS", period.nanos().to_string()),
            ];
            let environment = environment.map(|(key, value)| (key.to_owned(), value)).to_vec();
            let folder = supplies.scenario_folder;
            Equipment::new(&Foreign::new(folder, program, arguments, environment), descriptor)
        }
        UnitProgram::Module { .. } => Equipment::NONE,
    };
    Equipment {
        sends: Some(Port { index: SLOT_PORT + u16::from(number), handle: slot.handle() }),
        limits: Some(Limits { unbroken: (unit.budget * 4).max(UNBROKEN_MIN), memory: MEMORY }),
        ..gear
    }
}
