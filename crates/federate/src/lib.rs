//! A federate in Rust: the services of the High Level Architecture (IEEE 1516.1-2025) as methods, over the Federate
//! Protocol.
//!
//! In reading order:
//!
//! * [`Federate`]: connected to an RTI by [`connect`](Federate::connect), over TCP or in shared memory. Services are
//!   methods with the names of the standard; [`call`](Federate::call) makes any of its 178 calls. Callbacks are values,
//!   which [`evoke`](Federate::evoke), [`wait_for`](Federate::wait_for) and [`advance`](Federate::advance) return.
//! * [`Options`]: options of the connection; [`Calls`]: which calls wait for their replies. [`Joining`]: the name and
//!   type of a federate, and the federation to join.
//! * [`Attribute`], [`Parameter`]: encode and decode values of the object model's data types.
//! * [`Ambassador`]: a federate on a thread of its own, which handles callbacks as they arrive.
//! * [`Error`]: exceptions of the standard by name, separate from a lost connection.
//!
#![doc = include_str!("../README.md")]

mod ambassador;
mod driver;
mod error;
mod federate;
mod inbox;
mod link;
mod mirror;
mod options;
mod services;
mod values;

pub use ambassador::Ambassador;
pub use error::Error;
pub use federate::{Federate, Joining};
pub use options::{Calls, Options};
pub use services::time::TimeRequest;
pub use values::{Attribute, Parameter};

// The types of arguments and results, so that a federate needs no other dependency.
pub use hemiola_fedpro::{SessionId, Settings, session::End};
pub use hemiola_hla as hla;
pub use hemiola_rt::shared::Stream;
pub use hemiola_units::{Bytes, Instant, RtiAddress, Span};
