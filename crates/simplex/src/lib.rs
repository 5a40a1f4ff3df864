//! Simplex: an untrusted controller may balance the pendulum as long as a trusted one could still save
//! it.
#![forbid(unsafe_code)]

pub mod campaign;
mod controller;
mod decision;
mod event;
pub mod fault;
mod matrix;
mod message;
mod model;
mod observer;
pub mod performance;
mod region;
mod safety;
pub mod simulate;
mod unit;
mod upgrade;

pub use controller::{CLIP_VOLTS, Controller, GAINS, Gain, StateFeedback, clipped};
pub use decision::{
    Answer, Decided, Decision, SLOTS, Sensed, Settings, SettingsError, Status, UnitStatus,
};
pub use event::{
    Event, Events, FAULTS, Fault, REASONS, Reason, Source, fault_name, reason_name, state_name,
};
pub use matrix::{Matrix, Vector};
pub use message::{Command, DecodeError, Sensors};
pub use model::{Model, ModelError};
pub use observer::Observer;
pub use region::{Region, RegionError};
pub use safety::SafetyController;
pub use unit::{Role, STATES, UnitState};
pub use upgrade::{Request, RequestError};
