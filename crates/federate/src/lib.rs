//! A federate in Rust: the services of the High Level Architecture (IEEE 1516.1-2025) as methods, over the Federate
//! Protocol.
//!
//! In reading order:
//!
//! * [`Federate`]: connected to an RTI by [`connect`](Federate::connect), over TCP or in shared memory. Services are
//!   methods of the standard's names; [`call`](Federate::call) makes any of its 178 calls. Callbacks are values:
//!   [`evoke`](Federate::evoke).
//! * [`Options`]: how. [`Joining`]: who joins which federation execution.
//! * [`Attribute`], [`Parameter`]: values of data types of the object model.
//! * [`Ambassador`]: callbacks that come by themselves.
//! * [`Error`]: the standard's exceptions, by name, apart from a lost connection.
//!
//! ```no_run
//! use hemiola_federate::hla::{Callback, Data, LogicalTime, ResignAction};
//! use hemiola_federate::{Federate, Joining, Options, RtiAddress};
//!
//! # fn main() -> Result<(), hemiola_federate::Error> {
//! let mut federate = Federate::connect(&RtiAddress::default(), Options::default())?;
//! federate.join_federation_execution(Joining::new("Viewer", "Demo").named("viewer 1"))?;
//! let vehicle = federate.get_object_class_handle("HLAobjectRoot.Vehicle")?;
//! let position = federate.get_attribute_handle(vehicle, "Position")?;
//! federate.subscribe_object_class_attributes(vehicle, &[position])?;
//! let values = federate.wait_for(|_, callback| match callback {
//!     Callback::ReflectAttributeValues { attribute_values, .. } => Ok(Some(attribute_values)),
//!     _ => Ok(None),
//! })?;
//! federate.resign_federation_execution(ResignAction::NoAction)?;
//! federate.disconnect()
//! # }
//! ```
//!
//! Waiting blocks: no thread runs, and no processor time is used. If the connection breaks it is made again, and every
//! call and callback still arrives exactly once; this happens within whatever call or evocation is at hand. Nothing is
//! printed, and no address but the given one is opened.

mod ambassador;
mod driver;
mod error;
mod federate;
mod link;
mod names;
mod options;
mod services;
mod values;

pub use ambassador::Ambassador;
pub use error::Error;
pub use federate::{Federate, Joining};
pub use options::Options;
pub use values::{Attribute, Parameter};

// What its methods take and return, so that a federate needs no other dependency.
pub use hemiola_fedpro::{Settings, session::End};
pub use hemiola_hla as hla;
pub use hemiola_rt::shared::Stream;
pub use hemiola_units::{Bytes, Instant, RtiAddress, Span};
