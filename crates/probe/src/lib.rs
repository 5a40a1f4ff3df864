//! Figures of merit of a machine: the costs of its clock, processor, memory, storage and communication, each measured
//! by a probe under stated circumstances.
//!
//! A *figure* has a dotted name, from the general to the particular: `context_switch.pipe.same_core.warm`,
//! `memory.latency.64KiB`. [`catalogue`] lists them, [`measure`] takes readings of one. Probes that take more
//! arguments than the catalogue has figures for are also public functions: [`hand_over`] and [`chain`] serve callers
//! that need a floor measured in the same run as the figures compared with it.
//!
//! Readings are raw: quantiles and intervals are computed by `stats`, not by this crate.
//!
//! A figure that needs a second process executes this program again. The program must handle the arguments in
//! [`Peers`], followed by one more argument, by calling [`peer_main`] with that argument.

mod catalogue;
pub mod chain;
mod clock;
pub mod communication;
mod context_switch;
mod creation;
pub mod file;
pub mod hand_over;
mod idle;
mod interruption;
mod link;
pub mod load;
pub mod memory;
mod page_fault;
mod peer;
mod processor;
mod readings;
mod setting;
mod stage;
mod system_call;
mod wake_up;
pub mod workload;

pub use catalogue::{FigureOfMerit, catalogue, measure};
pub use interruption::LINES as INTERRUPTED_LINES;
pub use peer::peer_main;
pub use readings::{Overhead, ProbeError, Readings, Unit};
pub use setting::{Load, Peers, Placement, Setting};
