//! Simplex: an untrusted controller may balance the pendulum, or control another plant, as long as a trusted one could
//! still save it, and may be replaced while it runs.
//!
//! In reading order:
//!
//! * [`Sensors`] and [`Command`]: the two messages, as bytes.
//! * [`Model`] and [`Observer`]: the model of the plant that all controllers share.
//! * [`Controller`], [`Gain`] and [`StateFeedback`]: the controllers; [`GAINS`] names the known ones.
//! * [`Region`] and [`SafetyController`]: the states from which the trusted controller recovers.
//! * [`Decision`]: decides whose voltage is used in each cycle; its module states what is covered and what is not.
//!   [`performance`] monitors cost beside it.
//! * [`Watchdog`]: commands the plant from the I/O process while the decision module does not.
//! * [`Usage`], [`Standing`] and [`Share`]: the processor time of units, the order in which they run, and the room for
//!   more of them.
//! * [`UnitState`], [`Request`] and [`Upgrades`]: the states of a replacement unit, the requests that change it, and
//!   live upgrade as transactions of such requests.
//! * [`Event`], with [`REASONS`], [`FAULTS`] and [`STATES`]: the reports, by number and by name.
//! * [`fault`], [`simulate`], [`campaign`]: fault injection, faster than real time.
//!
//! ```
//! use hemiola_simplex::{Answer, Command, CommandSource, Decision, Request, Role, SLOTS, Sensors, Settings, UnitId};
//! use hemiola_units::{Instant, Span};
//!
//! let mut decision = Decision::new(Settings::default(), Span::from_millis(20)).unwrap();
//! let unit = UnitId { slot: 0, generation: 1 };
//! let budget = Span::from_micros(500);
//! decision.request(Request::Add { unit, role: Role::Active, budget }).unwrap();
//!
//! // A cycle in which the unit answers, and one in which it does not.
//! let mut answers = [Answer::None; SLOTS];
//! let command = Command { sequence: 0, unit: 1, volts: 0.2, stamp: Instant::ZERO };
//! answers[0] = Answer::Command(command);
//! decision.sense(&Sensors { sequence: 0, ..Sensors::default() });
//! assert_eq!(decision.decide(&answers, Instant::ZERO).source, CommandSource::Unit(0));
//!
//! answers[0] = Answer::Missing;
//! decision.sense(&Sensors { sequence: 1, ..Sensors::default() });
//! assert_eq!(decision.decide(&answers, Instant::ZERO).source, CommandSource::Safety);
//! ```
//!
//! Nothing here reads a clock, waits or touches a process, so the safety argument involves no threads.

#![forbid(unsafe_code)]

mod admission;
mod budget;
pub mod campaign;
mod controller;
mod decision;
mod event;
pub mod fault;
mod latency;
mod matrix;
mod message;
mod model;
mod observer;
pub mod performance;
mod region;
mod safety;
pub mod simulate;
mod transaction;
mod unit;
mod upgrade;
mod watchdog;

pub use admission::{PriorityError, Share, ShareError, admit, policy_for, unit_policy};
pub use budget::{Standing, Usage};
pub use controller::{CLIP_VOLTS, Controller, GAINS, Gain, StateFeedback, clipped};
pub use decision::{
    Answer, Decided, Decision, SLOTS, Sensed, Settings, SettingsError, Status, UnitStatus, UnitView,
};
pub use event::{
    CommandSource, Event, Events, FAULTS, Fault, REASONS, Reason, fault_name, reason_name,
    state_name,
};
pub use matrix::{Matrix, Vector};
pub use message::{Command, DecodeError, Sensors};
pub use model::{Model, ModelError};
pub use observer::Observer;
pub use region::{Region, RegionError};
pub use safety::SafetyController;
pub use transaction::{
    Begun, Change, ChangeError, Effect, Outcome, Replacement, TRANSACTIONS_MAX, Ticket, UNITS_MAX,
    Upgrades,
};
pub use unit::{Role, STATES, UnitState};
pub use upgrade::{Request, RequestError, UnitId, UnitSet};
pub use watchdog::{Chosen, Watchdog};
