//! Requests to the decision module: they attach, promote and remove units, each applied completely or refused.
//! [`Upgrades`](crate::Upgrades) makes them.

use hemiola_units::Span;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::decision::{Decision, SLOTS};
use crate::event::{Event, Events, Fault, Reason};
use crate::unit::{Happening, Role, Unit, UnitState};

/// A unit of a run. A slot is used again, a generation never: no two units of a run have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnitId {
    /// The slot that it answers in, below [`SLOTS`].
    pub slot: u8,
    /// The number that its commands carry, above those of all earlier units of the slot; at least 1.
    pub generation: u32,
}

/// Units in different slots, stored without allocation: the generation in each slot, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSet(pub [u32; SLOTS]);

impl UnitSet {
    /// Returns the units in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = UnitId> + '_ {
        let units = (0..).zip(self.0).map(|(slot, generation)| UnitId { slot, generation });
        units.filter(|unit| unit.generation != 0)
    }
}

impl FromIterator<UnitId> for UnitSet {
    fn from_iter<T: IntoIterator<Item = UnitId>>(units: T) -> Self {
        let mut set = Self::default();
        for unit in units {
            set.0[usize::from(unit.slot)] = unit.generation;
        }
        set
    }
}

impl From<UnitId> for UnitSet {
    fn from(unit: UnitId) -> Self {
        Self::from_iter([unit])
    }
}

/// A change of the set of units. A request that names another generation than the one in the slot is refused, so a late
/// request never reaches a later unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request", deny_unknown_fields)]
pub enum Request {
    /// Attaches a unit to a free slot, as starting.
    Add {
        /// The unit.
        unit: UnitId,
        /// Whether it becomes active without promotion.
        role: Role,
        /// Processor time that it may use in a cycle.
        budget: Span,
    },
    /// Makes a healthy shadow or standby unit the active one; the active one stands by.
    Promote {
        /// The unit.
        unit: UnitId,
    },
    /// Removes all of these units between two cycles, or none of them. If one was active, the safety controller takes
    /// over, and the previous unit becomes the candidate.
    Remove {
        /// The units, at least one.
        units: UnitSet,
    },
    /// The unit's process has ended; a late report about a unit that is gone has no effect.
    Exited {
        /// The unit.
        unit: UnitId,
    },
    /// Continues after a fail-safe.
    Resume,
}

/// Why a request was refused. A refused request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The slot does not exist: choose another.
    #[error("slot {slot} does not exist; slots are 0 to {}", SLOTS - 1)]
    NoSuchSlot {
        /// The requested slot.
        slot: u8,
    },
    /// The slot is in use: choose another, or replace the unit.
    #[error("slot {slot} is in use by generation {present}; remove or replace that unit")]
    Occupied {
        /// The requested slot.
        slot: u8,
        /// The generation in the slot.
        present: u32,
    },
    /// The slot has another unit than the requested one, which is gone.
    #[error("slot {} has generation {present}, not {}", unit.slot, unit.generation)]
    AnotherUnit {
        /// The requested unit.
        unit: UnitId,
        /// The generation in the slot.
        present: u32,
    },
    /// A removal names no unit.
    #[error("the request names no unit")]
    NoUnit,
    /// The slot has no unit.
    #[error("slot {slot} has no unit")]
    Empty {
        /// The requested slot.
        slot: u8,
    },
    /// The number is too low: use a higher one.
    #[error("generation {generation} is not above {last}, the last of slot {slot}")]
    OldGeneration {
        /// The requested slot.
        slot: u8,
        /// The requested number.
        generation: u32,
        /// The highest number so far.
        last: u32,
    },
    /// Another unit begins as active already: add this one in shadow and promote it.
    #[error("the unit in slot {active} is active already; add this one in shadow and promote it")]
    SecondActive {
        /// The slot of that unit.
        active: u8,
    },
    /// It is already active.
    #[error("the unit in slot {slot} is active already")]
    AlreadyActive {
        /// The requested slot.
        slot: u8,
    },
    /// The unit is still starting: wait for its first good answer.
    #[error("the unit in slot {slot} is still starting: it has not answered yet")]
    StillStarting {
        /// The requested slot.
        slot: u8,
    },
    /// The unit is not healthy: wait, or examine its faults.
    #[error(
        "the unit in slot {slot} is not healthy: {clean} acceptable answers in a row of the \
         {needed} needed{}", last.map(|fault| format!("; last fault: {}", fault.name())).unwrap_or_default()
    )]
    Unhealthy {
        /// The requested slot.
        slot: u8,
        /// Its consecutive acceptable answers.
        clean: u32,
        /// The number needed.
        needed: u32,
        /// Its newest fault.
        last: Option<Fault>,
    },
    /// The unit will not return: replace it.
    #[error("the unit in slot {slot} is {}; replace it", state.name())]
    Gone {
        /// The requested slot.
        slot: u8,
        /// Its state.
        state: UnitState,
    },
    /// The module is not in its fail-safe.
    #[error("the decision module is not in its fail-safe")]
    NotFailed,
    /// The module is in its fail-safe: resume before promoting a unit.
    #[error("the decision module is in its fail-safe; resume first")]
    FailSafe,
}

impl Decision {
    /// Applies a request between two cycles, completely or not at all. The next decision takes it into account; no
    /// cycle is left without a decision.
    ///
    /// # Errors
    /// If the request is not possible now.
    pub fn request(&mut self, request: Request) -> Result<Events, RequestError> {
        let mut events = Events::new();
        match request {
            Request::Add { unit, role, budget } => {
                self.add(Unit::new(unit.generation, role, budget), unit.slot, &mut events)?
            }
            Request::Promote { unit } => {
                self.check_promotable(unit)?;
                self.promote(unit.slot, &mut events);
            }
            Request::Remove { units } => self.remove(&units, &mut events)?,
            Request::Exited { unit } => self.exited(unit, &mut events)?,
            Request::Resume if self.fail_safe.is_none() => return Err(RequestError::NotFailed),
            Request::Resume => self.resume(),
        }
        Ok(events)
    }

    fn add(&mut self, unit: Unit, slot: u8, events: &mut Events) -> Result<(), RequestError> {
        let generation = unit.generation;
        if let Some(present) = self.slot(slot)? {
            let last = present.generation;
            if present.state.is_live() {
                return Err(RequestError::Occupied { slot, present: last });
            }
            if generation <= last {
                return Err(RequestError::OldGeneration { slot, generation, last });
            }
        }
        if unit.role == Role::Active
            && let Some(active) = self.active_or_to_be()
        {
            return Err(RequestError::SecondActive { active });
        }
        self.units[usize::from(slot)] = Some(unit);
        events.push(Event::UnitState { slot, state: UnitState::Starting, generation });
        Ok(())
    }

    /// Removes the active unit last, so that control never passes to a unit that leaves with it.
    fn remove(&mut self, units: &UnitSet, events: &mut Events) -> Result<(), RequestError> {
        if units.iter().next().is_none() {
            return Err(RequestError::NoUnit);
        }
        for unit in units.iter() {
            if self.named(unit)?.state == UnitState::Removed {
                return Err(RequestError::Empty { slot: unit.slot });
            }
        }
        let active = self.active;
        let is_active = |unit: &UnitId| Some(unit.slot) == active;
        let others = units.iter().filter(|unit| !is_active(unit));
        for unit in others.chain(units.iter().filter(is_active)) {
            self.leave(unit.slot, Happening::Removed, Reason::Removed, events);
        }
        Ok(())
    }

    fn exited(&mut self, unit: UnitId, events: &mut Events) -> Result<(), RequestError> {
        let slot = unit.slot;
        let present = self.occupied(slot)?;
        if present.generation != unit.generation || !present.state.is_live() {
            return Ok(());
        }
        // Also if the decision module has seen the end before: here the unit fails for it.
        events.push(Event::Fault { slot: Some(slot), fault: Fault::Exited });
        self.leave(slot, Happening::Failed, Reason::Fault(Fault::Exited), events);
        if let Some(unit) = self.units[usize::from(slot)].as_mut() {
            unit.last_fault = Some(Fault::Exited);
        }
        Ok(())
    }

    fn slot(&self, slot: u8) -> Result<Option<&Unit>, RequestError> {
        match self.units.get(usize::from(slot)) {
            Some(unit) => Ok(unit.as_ref()),
            None => Err(RequestError::NoSuchSlot { slot }),
        }
    }

    fn occupied(&self, slot: u8) -> Result<&Unit, RequestError> {
        self.slot(slot)?.ok_or(RequestError::Empty { slot })
    }

    /// The unit in the slot, if it is the one that the request names.
    fn named(&self, unit: UnitId) -> Result<&Unit, RequestError> {
        let present = self.occupied(unit.slot)?;
        if present.generation == unit.generation {
            Ok(present)
        } else {
            Err(RequestError::AnotherUnit { unit, present: present.generation })
        }
    }

    fn active_or_to_be(&self) -> Option<u8> {
        self.active.or_else(|| {
            let waiting =
                |unit: &Unit| unit.state == UnitState::Starting && unit.role == Role::Active;
            (0..SLOTS as u8)
                .find(|slot| self.units[usize::from(*slot)].as_ref().is_some_and(waiting))
        })
    }

    fn check_promotable(&self, named: UnitId) -> Result<(), RequestError> {
        let (unit, slot) = (self.named(named)?, named.slot);
        match unit.state {
            UnitState::Shadow | UnitState::Standby => {}
            UnitState::Active => return Err(RequestError::AlreadyActive { slot }),
            UnitState::Starting => return Err(RequestError::StillStarting { slot }),
            state => return Err(RequestError::Gone { slot, state }),
        }
        if self.fail_safe.is_some() {
            return Err(RequestError::FailSafe);
        }
        let needed = self.settings.promote_after;
        if unit.clean < needed {
            let (clean, last) = (unit.clean, unit.last_fault);
            return Err(RequestError::Unhealthy { slot, clean, needed, last });
        }
        Ok(())
    }
}
