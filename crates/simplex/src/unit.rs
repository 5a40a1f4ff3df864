//! The life of a replacement unit, as states and what moves it between them.

use serde::{Deserialize, Serialize};

use crate::event::coded;

coded! {
    /// Where a unit is in its life.
    ///
    /// ```text
    ///            first good answer
    /// Starting ────────────────────► Shadow ──promote──► Active ◄──promote, roll-back── Standby
    ///    │  └─(begins as active)──────────────────────────▲ │ └──────other promoted──────────▲
    ///    │                             │                    │
    ///    └──────── silent, exited ─────┴──► Failed ◄────────┤        too many strikes: Retired
    ///                                    any live state ── remove, replace ──► Removed
    /// ```
    UnitState, STATES, "state of a unit" {
        /// It was added and has not answered yet.
        Starting = 1 "starting",
        /// It answers and is judged, but never actuates.
        Shadow = 2 "shadow",
        /// Its answers are used whenever they are acceptable.
        Active = 3 "active",
        /// It was active and is kept ready for a roll-back.
        Standby = 4 "standby",
        /// It had too many strikes.
        Retired = 5 "retired",
        /// A person took it out.
        Removed = 6 "removed",
        /// It fell silent or its process ended.
        Failed = 7 "failed",
    }
}

/// What can happen to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// Its first good answer, when it is to begin as active or not.
    Answered { as_active: bool },
    /// It is to be used.
    Promoted,
    /// Another unit is used in its place.
    Displaced,
    /// It had too many strikes.
    StruckOut,
    /// A person took it out.
    Removed,
    /// It is silent for too long, or its process ended.
    Failed,
}

impl UnitState {
    /// Whether units in this state are listened to.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Starting | Self::Shadow | Self::Active | Self::Standby)
    }

    /// The state after this happened; nothing when it cannot happen in this state.
    pub(crate) const fn after(self, happening: Happening) -> Option<Self> {
        Some(match (self, happening) {
            (Self::Starting, Happening::Answered { as_active: true })
            | (Self::Shadow | Self::Standby, Happening::Promoted) => Self::Active,
            (Self::Starting, Happening::Answered { as_active: false }) => Self::Shadow,
            (Self::Active, Happening::Displaced) => Self::Standby,
            (Self::Active, Happening::StruckOut) => Self::Retired,
            (state, Happening::Failed) if state.is_live() => Self::Failed,
            (state, Happening::Removed) if !matches!(state, Self::Removed) => Self::Removed,
            _ => return None,
        })
    }
}

/// How a unit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It becomes active with its first good answer, without being promoted.
    Active,
    /// It is judged in shadow until somebody promotes it.
    Shadow,
}

/// What the decision module remembers of the unit in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) generation: u32,
    pub(crate) state: UnitState,
    pub(crate) role: Role,
    /// How often it was taken out of control and not yet forgiven.
    pub(crate) strikes: u32,
    /// Cycles in control since the last strike.
    pub(crate) served: u32,
    /// Acceptable answers in a row.
    pub(crate) clean: u32,
    /// Cycles in a row without a well-formed answer.
    pub(crate) silent: u32,
    pub(crate) answers: u64,
    pub(crate) faults: u64,
    pub(crate) last_fault: Option<Fault>,
}

use crate::decision::UnitView;
use crate::event::Fault;

impl Unit {
    /// What others may see of it.
    pub(crate) fn view(&self) -> UnitView {
        UnitView {
            generation: self.generation,
            state: self.state,
            strikes: self.strikes,
            clean: self.clean,
            answers: self.answers,
            faults: self.faults,
            last_fault: self.last_fault,
        }
    }

    pub(crate) const fn new(name: String, generation: u32, role: Role) -> Self {
        Self {
            name,
            generation,
            state: UnitState::Starting,
            role,
            strikes: 0,
            served: 0,
            clean: 0,
            silent: 0,
            answers: 0,
            faults: 0,
            last_fault: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [UnitState; 7] = [
        UnitState::Starting,
        UnitState::Shadow,
        UnitState::Active,
        UnitState::Standby,
        UnitState::Retired,
        UnitState::Removed,
        UnitState::Failed,
    ];

    #[test]
    fn only_shadow_and_standby_can_be_promoted() {
        let promotable: Vec<_> =
            STATES.into_iter().filter(|s| s.after(Happening::Promoted).is_some()).collect();
        assert_eq!(promotable, [UnitState::Shadow, UnitState::Standby]);
    }

    #[test]
    fn the_dead_stay_dead_until_removed() {
        for state in STATES.into_iter().filter(|s| !s.is_live()) {
            for happening in [
                Happening::Answered { as_active: true },
                Happening::Promoted,
                Happening::Displaced,
                Happening::StruckOut,
                Happening::Failed,
            ] {
                assert_eq!(state.after(happening), None, "{state:?} {happening:?}");
            }
        }
    }
}
