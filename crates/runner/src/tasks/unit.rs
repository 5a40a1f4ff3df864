//! A replacement unit: a controller or a foreign program that answers in a slot of the decision module.

use std::os::fd::AsRawFd;

use hemiola_bus::End;
use hemiola_scenario::{Process, Release, Task, Unit, UnitProgram, UnitUser, Variant};
use hemiola_simplex::{SLOTS, UnitId};
use hemiola_trace::result::Role;
use hemiola_units::{Bytes, Span};

use super::command::Foreign;
use super::controller::{ControllerFacts, Fault};
use super::{EarlyEnd, Equipment, StopBy, Supplies, TaskKind, command, controller};
use crate::spec::{Limits, OwnUser, Port};

/// Port indices of the slots in a record, beyond those of channels.
const SLOT_PORT: u16 = 0x100;
/// Address space of a unit; far more than a controller needs, far less than the machine has.
const MEMORY: Bytes = Bytes(1 << 30);
/// The kernel checks once per tick, 4 ms at 250 Hz: a tighter limit would be chance.
const UNBROKEN_MIN: Span = Span::from_millis(20);

/// The first of the user ids that units get. systemd, containers and subuid(5) use none from here to 2³¹ − 1.
const FIRST_USER: u32 = 0x7000_0000;
/// User ids for each process number, which is below 2²² (proc_sys_kernel(5), `pid_max`).
const USERS_EACH: u32 = 64;
const _: () = assert!(SLOTS <= USERS_EACH as usize);

/// The user id of the unit in this slot: no other unit on the machine has it while the run lasts.
fn user_of(slot: u8) -> u32 {
    let run = std::process::id() % (1 << 22);
    FIRST_USER + run * USERS_EACH + u32::from(slot)
}

/// The user id that a unit gets: a program of its own has one, unless it is not wanted.
fn own_user(unit: &Unit, slot: u8) -> Option<OwnUser> {
    let is_wanted = unit.user != Some(UnitUser::Run);
    let is_foreign = matches!(unit.program, UnitProgram::Command { .. });
    let is_required = unit.user == Some(UnitUser::Own);
    (is_foreign && is_wanted).then(|| OwnUser { id: user_of(slot), is_required })
}

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

/// The process of a unit: a controller or a command in its place, released by the sensors. It has no channel of the
/// scenario. A sandboxed unit has no process.
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
        receives: Vec::new(),
    })
}

/// What a unit gets: its slot, its sensors, its limits, and as a foreign program the environment of the unit contract.
pub(crate) fn equipment<'w>(launch: &UnitLaunch, supplies: &Supplies<'w>) -> Equipment<'w> {
    let (wiring, unit) = (supplies.wiring, &launch.unit);
    let supervision = wiring.supervision.as_ref().expect("units come with a decision process");
    let UnitId { slot: number, generation } = launch.id;
    let slot = &supervision.slots[usize::from(number)];
    let sensors = &supervision.sensors[usize::from(number)];
    let ends = [sensors.descriptor(End::Receiver), slot.descriptor(End::Sender)];
    let descriptors = ends.iter().copied().flatten();
    let gear = match &unit.program {
        UnitProgram::Gain(_) => {
            let facts = ControllerFacts { unit: generation, fault: launch.fault.clone() };
            Equipment::new(&facts, descriptors)
        }
        UnitProgram::Command { program, arguments } => {
            let [sensors, command] =
                ends.map(|fd| fd.map_or_else(String::new, |fd| fd.as_raw_fd().to_string()));
            let period = supplies.run.variant.rate.period();
            let environment = [
                ("HEMIOLA_SENSORS_FD", sensors),
                ("HEMIOLA_COMMAND_FD", command),
                ("HEMIOLA_UNIT", generation.to_string()),
                ("HEMIOLA_PERIOD_NS", period.nanos().to_string()),
            ];
            let environment = environment.map(|(key, value)| (key.to_owned(), value)).to_vec();
            let folder = supplies.scenario_folder;
            Equipment::new(&Foreign::new(folder, program, arguments, environment), descriptors)
        }
        UnitProgram::Module { .. } => Equipment::NONE,
    };
    let sensors_name = supplies.run.variant.sensors().map(|sensors| sensors.name.as_str());
    Equipment {
        sends: Some(Port { index: SLOT_PORT + u16::from(number), handle: slot.handle() }),
        receives: sensors_name.and_then(|name| wiring.sensors_of(number, name)),
        limits: Some(Limits {
            unbroken: (unit.budget * 4).max(UNBROKEN_MIN),
            memory: MEMORY,
            user: own_user(unit, number),
        }),
        ..gear
    }
}

#[cfg(test)]
mod tests {
    use hemiola_scenario::UnitState;
    use hemiola_units::Profile;

    use super::*;

    fn unit(program: UnitProgram, user: Option<UnitUser>) -> Unit {
        Unit {
            name: "unit".into(),
            program,
            fault: None,
            state: UnitState::Shadow,
            budget: Span::from_micros(100),
            profile: Profile::ordinary(),
            profile_name: None,
            user,
        }
    }

    #[test]
    fn each_program_gets_another_user_id_and_only_programs_get_one() {
        let command = || UnitProgram::Command { program: "unit".into(), arguments: Vec::new() };
        let id = |slot| own_user(&unit(command(), None), slot).unwrap().id;
        let mut ids: Vec<u32> = (0..SLOTS as u8).map(id).collect();
        assert!(ids.iter().all(|id| (FIRST_USER..1 << 31).contains(id)), "{ids:?}");
        ids.dedup();
        assert_eq!(ids.len(), SLOTS);
        assert!(!own_user(&unit(command(), None), 0).unwrap().is_required);
        assert!(own_user(&unit(command(), Some(UnitUser::Own)), 0).unwrap().is_required);
        assert!(own_user(&unit(command(), Some(UnitUser::Run)), 0).is_none());
        let module = UnitProgram::Module { file: "unit.wat".into() };
        assert!(own_user(&unit(module, None), 0).is_none());
        let greatest = FIRST_USER + ((1 << 22) - 1) * USERS_EACH + USERS_EACH - 1;
        assert_eq!(greatest, i32::MAX as u32);
    }
}
