//! Live upgrade: requests that attach, promote, replace and remove units, each applied completely or refused.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::decision::{Decision, SLOTS};
use crate::event::{Event, Events, Fault, Reason};
use crate::unit::{Happening, Role, Unit, UnitState};

/// A change of the set of units. Every generation number must exceed all earlier ones of its slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request", deny_unknown_fields)]
pub enum Request {
    /// Attaches a unit to a free slot, as starting.
    Add {
        /// The slot.
        slot: u8,
        /// Its name for users.
        name: String,
        /// The number that its commands must carry.
        generation: u32,
        /// Whether it becomes active without promotion.
        role: Role,
    },
    /// Makes a healthy shadow or standby unit the active one; the active one stands by.
    Promote {
        /// The slot.
        slot: u8,
    },
    /// Removes a unit. If it was active, the safety controller takes over and the previous unit becomes the candidate.
    Remove {
        /// The slot.
        slot: u8,
    },
    /// Replaces a unit by another generation, which begins in shadow.
    Replace {
        /// The slot.
        slot: u8,
        /// The new unit's name for users.
        name: String,
        /// The number that its commands must carry.
        generation: u32,
    },
    /// The process of this generation has ended; a late report about an older one has no effect.
    Exited {
        /// The slot.
        slot: u8,
        /// The generation that ended.
        generation: u32,
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
    #[error("slot {slot} has the unit \"{name}\"; remove or replace it")]
    Occupied {
        /// The requested slot.
        slot: u8,
        /// The unit in the slot.
        name: String,
    },
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
            Request::Add { slot, name, generation, role } => {
                if let Some(unit) = self.slot(slot)?.filter(|unit| unit.state.is_live()) {
                    return Err(RequestError::Occupied { slot, name: unit.name.clone() });
                }
                self.check_generation(slot, generation)?;
                if role == Role::Active
                    && let Some(active) = self.active_or_to_be()
                {
                    return Err(RequestError::SecondActive { active });
                }
                self.attach(slot, Unit::new(name, generation, role), &mut events);
            }
            Request::Promote { slot } => {
                self.check_promotable(slot)?;
                self.promote(slot, &mut events);
            }
            Request::Remove { slot } => {
                let unit = self.occupied(slot)?;
                if unit.state == UnitState::Removed {
                    return Err(RequestError::Empty { slot });
                }
                self.leave(slot, Happening::Removed, Reason::Removed, &mut events);
            }
            Request::Replace { slot, name, generation } => {
                self.occupied(slot)?;
                self.check_generation(slot, generation)?;
                self.leave(slot, Happening::Removed, Reason::Replaced, &mut events);
                self.attach(slot, Unit::new(name, generation, Role::Shadow), &mut events);
            }
            Request::Exited { slot, generation } => {
                let unit = self.occupied(slot)?;
                if unit.generation == generation && unit.state.is_live() {
                    events.push(Event::Fault { slot: Some(slot), fault: Fault::Exited });
                    let reason = Reason::Fault(Fault::Exited);
                    self.leave(slot, Happening::Failed, reason, &mut events);
                    if let Some(unit) = self.units[usize::from(slot)].as_mut() {
                        unit.last_fault = Some(Fault::Exited);
                    }
                }
            }
            Request::Resume => {
                if self.fail_safe.is_none() {
                    return Err(RequestError::NotFailed);
                }
                self.resume();
            }
        }
        Ok(events)
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

    fn check_generation(&self, slot: u8, generation: u32) -> Result<(), RequestError> {
        match self.slot(slot)? {
            Some(unit) if generation <= unit.generation => {
                Err(RequestError::OldGeneration { slot, generation, last: unit.generation })
            }
            _ => Ok(()),
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

    fn check_promotable(&self, slot: u8) -> Result<(), RequestError> {
        let unit = self.occupied(slot)?;
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

    fn attach(&mut self, slot: u8, unit: Unit, events: &mut Events) {
        let generation = unit.generation;
        self.units[usize::from(slot)] = Some(unit);
        events.push(Event::UnitState { slot, state: UnitState::Starting, generation });
    }
}
