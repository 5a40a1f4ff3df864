//! Reports of the decision module: sources, reasons, faults and states, each with a number and a name, in a list that
//! never allocates.

use serde::{Deserialize, Serialize};

use crate::{SLOTS, UnitState};

/// The source of a cycle's voltage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandSource {
    /// None: the last voltage is held.
    Held,
    /// The only controller of a program without Simplex.
    Controller,
    /// The safety controller in the decision module.
    Safety,
    /// 0 V, because no better voltage is known.
    FailSafe,
    /// The safety law of the I/O process, while the decision module gives no usable command.
    Watchdog,
    /// The unit in this slot.
    Unit(u8),
}

impl CommandSource {
    /// Returns the number in the record: 0 to 4, and 16 + slot.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Held => 0,
            Self::Controller => 1,
            Self::Safety => 2,
            Self::FailSafe => 3,
            Self::Watchdog => 4,
            Self::Unit(slot) => 16 + slot as u16,
        }
    }

    /// The inverse of [`CommandSource::code`].
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Some(match code {
            0 => Self::Held,
            1 => Self::Controller,
            2 => Self::Safety,
            3 => Self::FailSafe,
            4 => Self::Watchdog,
            _ => {
                let slot = code.checked_sub(16).filter(|slot| usize::from(*slot) < SLOTS)?;
                Self::Unit(u8::try_from(slot).ok()?)
            }
        })
    }
}

macro_rules! coded {
    ($(#[$meta:meta])* $name:ident, $table:ident, $what:literal {
        $($(#[$doc:meta])* $variant:ident = $code:literal $text:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant = $code),+ }

        #[doc = concat!("Numbers and names of every ", $what, ".")]
        pub const $table: &[(u16, &str)] = &[$(($code, $text)),+];

        impl $name {
            /// Returns the number in the record.
            pub const fn code(self) -> u16 {
                self as u16
            }

            /// The inverse of `code`.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            /// Returns the name for users.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}
pub(crate) use coded;

coded! {
    /// A fault of a unit's answer, of a unit, or of the decision module's own input.
    Fault, FAULTS, "fault the decision module can find" {
        /// No answer in time.
        Missing = 1 "missing",
        /// The answer came after the time limit.
        Late = 2 "late",
        /// The bytes are not a command.
        Malformed = 3 "malformed",
        /// The answer is to an older sample.
        Stale = 4 "stale",
        /// The answer is to a sample that does not exist yet.
        Ahead = 5 "ahead",
        /// The answer carries another unit's generation.
        WrongUnit = 6 "wrong-unit",
        /// The voltage is not finite.
        NotFinite = 7 "not-finite",
        /// The voltage is beyond the usable command.
        OutOfRange = 8 "out-of-range",
        /// The predicted state is outside the accepted part of the recoverable region.
        LeavesRegion = 9 "leaves-region",
        /// The running cost is far above that of the safety controller.
        PoorPerformance = 10 "poor-performance",
        /// The unit's process ended.
        Exited = 12 "exited",
        /// A measurement cannot follow from the previous one.
        SensorsImplausible = 13 "sensors-implausible",
        /// A measurement does not change although the pendulum moves.
        SensorsStuck = 14 "sensors-stuck",
        /// The measurement is older than a period.
        SensorsLate = 15 "sensors-late",
        /// The cart is at its stop or the rod beyond 30°.
        PlantLost = 16 "plant-lost",
        /// No sensors were given for this decision.
        SensorsMissing = 17 "sensors-missing",
        /// The decision module gave no usable command in time, and the watchdog has the plant.
        DecisionMissing = 18 "decision-missing",
        /// It could not answer, because others had the processor. It is not to blame.
        Starved = 19 "starved",
        /// It used more processor time than its budget, and did not answer or kept another unit from answering.
        OverBudget = 20 "over-budget",
        /// A sandboxed unit computed for longer than its fuel lasts; it fails at once.
        OutOfFuel = 21 "out-of-fuel",
        /// A sandboxed unit broke a rule of WebAssembly or panicked; it fails at once.
        Trapped = 22 "trapped",
    }
}

impl Fault {
    /// Whether the fault is the unit's own.
    #[must_use]
    pub const fn blames(self) -> bool {
        !matches!(self, Self::Starved)
    }

    /// Whether the unit cannot continue: its code was stopped in the middle of its work.
    pub(crate) const fn ends_unit(self) -> bool {
        matches!(self, Self::OutOfFuel | Self::Trapped)
    }
}

/// The first number of faults as reasons.
const FAULT_REASON: u16 = 100;

/// Why the source of the voltage changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The first decision, or the first unit taking over at the start.
    Started,
    /// The return rule was met.
    Returned,
    /// A user promoted another unit.
    Promoted,
    /// The active unit was removed.
    Removed,
    /// The module was resumed after a fail-safe.
    Resumed,
    /// A fault of the unit in control or of the sensors.
    Fault(Fault),
}

impl Reason {
    /// Returns the number in the record; faults start at 100.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Started => 1,
            Self::Returned => 2,
            Self::Promoted => 3,
            Self::Removed => 4,
            Self::Resumed => 6,
            Self::Fault(fault) => FAULT_REASON + fault.code(),
        }
    }
}

/// Numbers and names of every reason.
pub const REASONS: &[(u16, &str)] = &[
    (1, "started"),
    (2, "returned"),
    (3, "promoted"),
    (4, "removed"),
    (6, "resumed"),
    (101, "missing"),
    (102, "late"),
    (103, "malformed"),
    (104, "stale"),
    (105, "ahead"),
    (106, "wrong-unit"),
    (107, "not-finite"),
    (108, "out-of-range"),
    (109, "leaves-region"),
    (110, "poor-performance"),
    (112, "exited"),
    (113, "sensors-implausible"),
    (114, "sensors-stuck"),
    (115, "sensors-late"),
    (116, "plant-lost"),
    (117, "sensors-missing"),
    (118, "decision-missing"),
    (119, "starved"),
    (120, "over-budget"),
    (121, "out-of-fuel"),
    (122, "trapped"),
];

/// An event in a cycle or of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The source of the voltage changed.
    Switch {
        /// The source in the previous cycle.
        from: CommandSource,
        /// The source in this cycle.
        to: CommandSource,
        /// The reason.
        reason: Reason,
    },
    /// A fault was detected.
    Fault {
        /// The unit's slot, or `None` for the module's own input.
        slot: Option<u8>,
        /// The fault.
        fault: Fault,
    },
    /// A unit entered a state.
    UnitState {
        /// Its slot.
        slot: u8,
        /// Its new state.
        state: UnitState,
        /// Its generation in the slot.
        generation: u32,
    },
}

/// The most events in one cycle: for each slot a fault and two changes of state, and a few of the module itself.
const EVENTS_MAX: usize = 3 * SLOTS + 8;

/// The events of one cycle or request, in order, stored without allocation.
#[derive(Clone, Copy)]
pub struct Events {
    list: [Event; EVENTS_MAX],
    length: usize,
}

impl Events {
    pub(crate) const fn new() -> Self {
        let none = Event::Fault { slot: None, fault: Fault::Missing };
        Self { list: [none; EVENTS_MAX], length: 0 }
    }

    pub(crate) fn push(&mut self, event: Event) {
        assert!(self.length < EVENTS_MAX, "the bound counts every event a cycle can have");
        self.list[self.length] = event;
        self.length += 1;
    }

    /// Returns the events in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Event] {
        &self.list[..self.length]
    }
}

impl PartialEq for Events {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl std::ops::Deref for Events {
    type Target = [Event];
    fn deref(&self) -> &[Event] {
        self.as_slice()
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a Event;
    type IntoIter = std::slice::Iter<'a, Event>;
    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// Returns the name of a reason.
#[must_use]
pub fn reason_name(code: u16) -> Option<&'static str> {
    name_of(REASONS, code)
}

/// Returns the name of a fault.
#[must_use]
pub fn fault_name(code: u16) -> Option<&'static str> {
    name_of(FAULTS, code)
}

/// Returns the name of a unit state.
#[must_use]
pub fn state_name(code: u16) -> Option<&'static str> {
    name_of(crate::unit::STATES, code)
}

fn name_of(table: &[(u16, &'static str)], code: u16) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_a_reason_too() {
        for (code, name) in FAULTS {
            assert_eq!(reason_name(FAULT_REASON + code), Some(*name));
        }
        assert_eq!(REASONS.len(), FAULTS.len() + 5);
        assert_eq!(fault_name(Fault::Stale.code()), Some(Fault::Stale.name()));
    }

    #[test]
    fn sources_survive_encoding() {
        for code in 0..64 {
            if let Some(source) = CommandSource::from_code(code) {
                assert_eq!(source.code(), code);
            }
        }
        assert_eq!(CommandSource::from_code(16 + SLOTS as u16), None);
    }
}
