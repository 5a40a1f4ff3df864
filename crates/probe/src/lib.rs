//! Figures of merit of a machine: what its clock, processor, memory, storage and communication cost, each
//! measured by a probe under stated circumstances.
//!
//! A *figure* has a dotted name, from the general to the particular: `context_switch.pipe.same_core.warm`,
//! `memory.latency.64KiB`. [`catalogue`] lists them, [`measure`] takes readings of one. Each probe is also a
//! function with typed arguments in the module of its subject, for whoever needs a floor measured in the
//! same run as what stands on it.
//!
//! Readings are raw: this crate computes no quantile and no interval of them. `stats` does.
//!
//! Where a figure needs a second process, it is this program executed again: it must answer to the
//! arguments in [`Peers`], with one more after them, by calling [`peer_main`] with that one.

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
