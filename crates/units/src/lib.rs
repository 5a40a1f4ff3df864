//! The quantities used throughout Hemiola, as types that cannot be confused.
//!
//! In reading order:
//!
//! * [`Instant`] and [`Span`]: a point on the monotonic clock and a signed length of time, both in whole nanoseconds.
//! * [`Rate`]: how often something happens, stored exactly as a period.
//! * [`Bytes`], [`Priority`], [`CpuSet`]: sizes, real-time priorities, sets of processors.
//! * [`Profile`] and [`Granted`]: what a process requests from the operating system, and what it gets.
//! * [`Overrun`]: what a periodic task does when it is late.
//! * [`Endpoint`] and [`Delivery`]: how a scenario writes a channel (`"shm:sensors"`).
//! * [`RtiAddress`]: where an RTI listens (`"tcp:127.0.0.1:15164"`, `"shm:15164"`).
//! * [`Random`]: the seeded generator.
//! * [`Checksum`]: what files of ours end or begin with, so that a torn one is recognised.
//!
//! ```
//! use hemiola_units::{Instant, Rate, Span};
//!
//! let rate: Rate = "50Hz".parse().unwrap();
//! let release = Instant::from_nanos(1_000_000_000);
//! let deadline = release + rate.period();
//! assert_eq!(deadline - release, "20ms".parse::<Span>().unwrap());
//! assert_eq!((release - deadline).to_string(), "-20ms");
//! ```
//!
//! This crate reads no clock and touches no file: it only defines vocabulary.

#![forbid(unsafe_code)]

mod checksum;
mod cpu;
mod endpoint;
mod instant;
mod normal;
mod parse;
mod profile;
mod random;
mod rate;
mod rti_address;
mod size;
mod span;

pub use checksum::Checksum;
pub use cpu::{CpuSet, CpuSetError};
pub use endpoint::{Delivery, Endpoint, EndpointError};
pub use instant::Instant;
pub use parse::QuantityError;
pub use profile::{Granted, Policy, Priority, PriorityError, Profile, Refusal};
pub use random::Random;
pub use rate::{Overrun, Rate};
pub use rti_address::{RtiAddress, RtiAddressError};
pub use size::Bytes;
pub use span::Span;
