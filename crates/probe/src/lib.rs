//! Figures of merit of a machine: the costs of its clock, processor, memory, storage and communication, each measured
//! by a probe under stated circumstances.
//!
//! A *figure* has a dotted name, from the general to the particular: `context_switch.pipe.same_core.warm`,
//! `memory.latency.64KiB`. [`catalogue`] lists them, [`measure`] takes readings of one. Each probe is also a
//! function with typed arguments in the module of its subject, for callers that need a floor measured in the same run
//! as the figures compared with it.
//!
//! Readings are raw: quantiles and intervals are computed by `stats`, not by this crate.
//!
//! A figure that needs a second process executes this program again. The program must handle the arguments in
//! [`Peers`], followed by one more argument, by calling [`peer_main`] with that argument.

mod catalogue;
pub mod clock;
pub mod communication;
pub mod context_switch;
pub mod creation;
pub mod file;
pub mod hand_over;
pub mod idle;
mod link;
pub mod load;
pub mod memory;
pub mod page_fault;
mod peer;
pub mod processor;
mod readings;
mod setting;
mod stage;
pub mod system_call;
pub mod wake_up;
pub mod workload;

pub use catalogue::{Figure, catalogue, measure};
pub use peer::peer_main;
pub use readings::{Overhead, ProbeError, Readings, Unit};
pub use setting::{Load, Peers, Placement, Setting};
