//! What a trace is: the events that can be recorded, the file they are kept in, and the data of a result folder.
//!
//! In reading order:
//!
//! * [`event`]: an [`Entry`] is one thing that happened, 32 bytes, stamped on the monotonic clock.
//! * [`result`]: what stands in a result folder beside the traces, the conditions of the run above all.
//!
//! This crate reads no clock and touches no file: bytes and writers are passed in.

#![forbid(unsafe_code)]

pub mod event;
pub mod result;

pub use event::{Entry, Kind};
