//! The vocabulary of the High Level Architecture (IEEE 1516-2025) as plain data: the messages between federates and an
//! RTI, and the encoding of values.
//!
//! In reading order:
//!
//! * [`handle`]: handles, with a type for each kind of object.
//! * [`time`]: [`LogicalTime`] and [`LogicalInterval`], which cannot be mixed with clock time.
//! * [`order`], [`resign`], [`status`], [`group`], [`switch`]: the standard's small enumerations.
//! * [`exception`]: every [`Exception`] by its standard name.
//! * [`data`]: further data of calls: regions, modules, credentials, results.
//! * [`body`]: an encoded message in pieces.
//! * [`call`]: the 178 calls of federates, one enum per clause, and their [`Reply`].
//! * [`callback`]: the 62 callbacks to federates.
//! * [`encoding`]: the encoding of the standard's data types, with its padding rules.
//!
//! ```
//! use hemiola_hla::call::{Call, TimeCall};
//! use hemiola_hla::encoding::{HLAunicodeString, decode, encode};
//! use hemiola_hla::{LogicalInterval, LogicalTime, TimeImplementation};
//!
//! let implementation = TimeImplementation::named("HLAinteger64Time").unwrap();
//! let time = LogicalTime::initial(implementation);
//! let step = LogicalInterval::integer(20).unwrap();
//! let next = time.plus(step).unwrap();
//! assert!(next > time);
//!
//! let call = Call::from(TimeCall::TimeAdvanceRequest { time: next.into() });
//! assert_eq!((call.number(), call.clause()), (93, "8.8"));
//!
//! let bytes = encode(&HLAunicodeString::from("ab"));
//! assert_eq!(bytes, [0, 0, 0, 2, 0, b'a', 0, b'b']);
//! assert_eq!(decode::<HLAunicodeString>(&bytes).unwrap(), HLAunicodeString::from("ab"));
//! ```
//!
//! This crate makes no decisions, keeps no state, performs no I/O and knows no protocol. Names and numbers are those of
//! IEEE 1516.1-2025 and its Federate Protocol; documentation and code are our own.

#![forbid(unsafe_code)]

pub mod body;
pub mod call;
pub mod callback;
pub mod data;
pub mod encoding;
pub mod exception;
pub mod group;
pub mod handle;
pub mod order;
pub mod resign;
pub mod status;
pub mod switch;
pub mod time;
mod word;

pub use body::Body;
pub use call::{Call, Reply};
pub use callback::Callback;
pub use data::Data;
pub use exception::{Exception, Refusal};
pub use group::ServiceGroup;
pub use handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
    RegionHandle, TransportationTypeHandle,
};
pub use order::OrderType;
pub use resign::ResignAction;
pub use switch::Switch;
pub use time::{EncodedInterval, EncodedTime, LogicalInterval, LogicalTime, TimeImplementation};
