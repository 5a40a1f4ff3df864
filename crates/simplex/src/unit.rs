//! The states of a replacement unit and its transitions.

use hemiola_units::Span;
use serde::{Deserialize, Serialize};

use crate::budget::{HeldBack, Standing, Usage};
use crate::decision::UnitView;
use crate::event::{Fault, coded};

coded! {
    /// The state of a unit.
    ///
    /// ```text
    ///            first good answer
    /// Starting ────────────────────► Shadow ──promote──► Active ◄──promote, roll-back── Standby
    ///    │  └─(begins as active)──────────────────────────▲ │ └──────other promoted──────────▲
    ///    │                             │                    │
    ///    └──────── silent, exited ─────┴──► Failed ◄────────┤        too many strikes: Retired
    ///                                    any state ── remove ──► Removed
    /// ```
    UnitState, STATES, "state of a unit" {
        /// It was added and has not answered yet.
        Starting = 1 "starting",
        /// Its answers are judged but never used.
        Shadow = 2 "shadow",
        /// Its acceptable answers are used.
        Active = 3 "active",
        /// It was active and is kept ready for a roll-back.
        Standby = 4 "standby",
        /// It had too many strikes.
        Retired = 5 "retired",
        /// A user removed it.
        Removed = 6 "removed",
        /// It stopped answering, or its process ended.
        Failed = 7 "failed",
    }
}

/// A transition of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// Its first good answer, as a unit that begins as active or not.
    Answered { as_active: bool },
    /// It becomes active.
    Promoted,
    /// Another unit becomes active in its place.
    Displaced,
    /// It had too many strikes.
    StruckOut,
    /// A user removed it.
    Removed,
    /// It did not answer for too long, or its process ended.
    Failed,
}

impl UnitState {
    /// Whether the answers of units in this state are read.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Starting | Self::Shadow | Self::Active | Self::Standby)
    }

    /// Returns the state after this transition; `None` if it is not possible in this state.
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
    /// It becomes active with its first good answer, without promotion.
    Active,
    /// It stays in shadow until a user promotes it.
    Shadow,
}

/// The decision module's data about the unit in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) generation: u32,
    pub(crate) state: UnitState,
    pub(crate) role: Role,
    /// How often it lost control or was held back, minus forgiven strikes.
    pub(crate) strikes: u32,
    /// Acceptable answers since the last strike, or since one was forgiven.
    pub(crate) unstruck: u32,
    /// Consecutive acceptable answers.
    pub(crate) clean: u32,
    /// Consecutive cycles without a well-formed answer.
    pub(crate) silent: u32,
    /// Cycles since its last acceptable answer.
    pub(crate) since_acceptable: u32,
    pub(crate) answers: u64,
    pub(crate) faults: u64,
    pub(crate) last_fault: Option<Fault>,
    /// Processor time per cycle.
    pub(crate) budget: Span,
    /// The part of its budgets that it could not use in the previous cycles, because others had the processor.
    pub(crate) carried: Span,
    /// If it has lost its real-time priority: since when, and what it used meanwhile.
    pub(crate) held_back: Option<HeldBack>,
    /// While it starts: processor time since it was last silent.
    pub(crate) spent: Span,
}

impl Unit {
    /// Returns its status.
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

    pub(crate) const fn new(generation: u32, role: Role, budget: Span) -> Self {
        Self {
            generation,
            state: UnitState::Starting,
            role,
            strikes: 0,
            unstruck: 0,
            clean: 0,
            silent: 0,
            since_acceptable: 0,
            answers: 0,
            faults: 0,
            last_fault: None,
            budget,
            carried: Span::ZERO,
            held_back: None,
            spent: Span::ZERO,
        }
    }

    pub(crate) const fn strike(&mut self) {
        self.strikes = self.strikes.saturating_add(1);
        self.unstruck = 0;
    }

    /// Whether it still waits for the processor: it is ready to run, and has not had its budget since it was last
    /// silent. A unit that starts has no real-time priority, so beside ordinary load this may take seconds.
    pub(crate) fn waits_to_start(&mut self, usage: Usage) -> bool {
        self.spent += usage.used;
        let waits = usage.runnable && self.spent <= self.budget;
        if !waits {
            self.spent = Span::ZERO;
        }
        waits
    }

    /// Counts an acceptable answer. A strike is forgiven `after` this many without another, 0 for never.
    pub(crate) const fn forgive(&mut self, after: u32) {
        self.unstruck = self.unstruck.saturating_add(1);
        if after > 0 && self.unstruck >= after {
            self.unstruck = 0;
            self.strikes = self.strikes.saturating_sub(1);
        }
    }

    /// How the scheduler should treat it; `None` once it is not live.
    pub(crate) const fn standing(&self) -> Option<Standing> {
        Some(match self.state {
            UnitState::Starting => Standing::Starting,
            UnitState::Active | UnitState::Shadow | UnitState::Standby
                if self.held_back.is_some() =>
            {
                Standing::HeldBack
            }
            UnitState::Active => Standing::First,
            UnitState::Shadow | UnitState::Standby => Standing::Behind,
            UnitState::Retired | UnitState::Removed | UnitState::Failed => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> impl Iterator<Item = UnitState> {
        STATES.iter().filter_map(|(code, _)| UnitState::from_code(*code))
    }

    #[test]
    fn each_transition_that_is_possible_leads_to_its_state_and_no_other_is_possible() {
        use UnitState::{Active, Failed, Removed, Retired, Shadow, Standby, Starting};
        let possible = [
            (Happening::Answered { as_active: true }, vec![(Starting, Active)]),
            (Happening::Answered { as_active: false }, vec![(Starting, Shadow)]),
            (Happening::Promoted, vec![(Shadow, Active), (Standby, Active)]),
            (Happening::Displaced, vec![(Active, Standby)]),
            (Happening::StruckOut, vec![(Active, Retired)]),
            (Happening::Failed, [Starting, Shadow, Active, Standby].map(|s| (s, Failed)).into()),
            (
                Happening::Removed,
                [Starting, Shadow, Active, Standby, Retired, Failed].map(|s| (s, Removed)).into(),
            ),
        ];
        for (happening, transitions) in possible {
            for state in states() {
                let expected = transitions.iter().find(|(from, _)| *from == state);
                let expected = expected.map(|(_, to)| *to);
                assert_eq!(state.after(happening), expected, "{state:?} {happening:?}");
            }
        }
    }

    #[test]
    fn strikes_are_forgiven_one_by_one_and_never_with_0() {
        let strikes = |after: u32, answers: u32| {
            let mut unit = Unit::new(1, Role::Shadow, Span::from_millis(1));
            (0..3).for_each(|_| unit.strike());
            (0..answers).for_each(|_| unit.forgive(after));
            unit.strikes
        };
        assert_eq!([9, 10, 19, 20, 1000].map(|answers| strikes(10, answers)), [3, 2, 2, 1, 0]);
        assert_eq!(strikes(0, 1000), 3);
    }
}
