//! The run-time infrastructure as a pure state machine (IEEE 1516.1-2025): calls of federates in, replies and callbacks
//! out.
//!
//! In reading order:
//!
//! * [`Kernel`]: all federations of an RTI. [`Kernel::handle`] takes one [`Input`] and appends [`Effect`]s.
//! * [`SessionId`], [`CallId`]: how the shell around it calls connections and calls.
//! * [`Notice`]: a callback, shared by all federates that get the same.
//! * [`Preparation`]: object model modules, read on another thread before the call that brings them.
//! * [`Limits`]: what federates can make it keep.
//! * [`Status`]: what is going on, for people; who holds back whom.
//!
//! Inside, a federation is a set of tables, and a service of the standard a function of its name, in a folder for each
//! clause. The same inputs give the same outputs: a federation can be recorded, replayed and shrunk.
//!
//! ```
//! use hemiola_hla::call::FederationCall;
//! use hemiola_hla::data::FomModule;
//! use hemiola_hla::{Call, Reply};
//! use hemiola_rti::{CallId, Input, Kernel, Limits, Effect, SessionId};
//!
//! let mut kernel = Kernel::new(Limits::default());
//! let mut out = Vec::new();
//! let session = SessionId(1);
//! kernel.handle(Input::Opened(session), &mut out);
//! let module = FomModule::File {
//!     name: "Empty.xml".into(),
//!     content: r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"/>"#.into(),
//! };
//! let calls = [
//!     FederationCall::Connect,
//!     FederationCall::CreateFederationExecution { federation_name: "Demo".into(), fom_module: module },
//!     FederationCall::JoinFederationExecution {
//!         federate_type: "Viewer".into(),
//!         federation_name: "Demo".into(),
//!     },
//! ];
//! for (number, call) in (1..).zip(calls) {
//!     kernel.handle(Input::Called(session, CallId(number), Call::from(call)), &mut out);
//! }
//! let Effect::Reply(_, CallId(3), Ok(Reply::Joined(joined))) = &out[2] else { panic!("{out:?}") };
//! assert_eq!(joined.logical_time_implementation, "HLAfloat64Time");
//! ```
//!
//! Two switches of the object model say for whom messages and advisories are; both stay as they were when the
//! federation was created:
//!
//! * `delaySubscriptionEvaluation` off: a message is for who is subscribed when it is sent. On: it waits for every
//!   federate that cannot have it yet, and is for those that are subscribed when it could be delivered; a request that
//!   stops at messages goes on past those that its federate does not want.
//! * `advisoriesUseKnownClass` off: updates are wanted (clauses 6.23 and 6.24) by who knows the instance and
//!   subscribes to the attribute at the class it was registered as, or above. On: by who subscribes to it at the class
//!   that it knows the instance as, and so gets it.
//!
//! This crate reads no clock, starts no thread, and knows no protocol. It does not offer yet: saving and restoring
//! (clauses 4.19 to 4.35), data distribution (9) and the management object model (11). Calls of these are refused
//! with `RTIinternalError`.
//!
//! Its simulation test runs seeded worlds of federates that do anything in any order. One seed is replayed by
//! `HEMIOLA_SEED=n cargo test -p hemiola-rti --test main -- simulation`.

#![forbid(unsafe_code)]

mod backlog;
mod federate;
mod federation;
pub mod fuzzing;
mod input;
mod instance;
mod kernel;
mod limits;
mod message;
mod notice;
mod prepare;
mod services;
mod session;
mod status;
mod time;

pub use input::{CallId, Effect, Input, SessionId};
pub use kernel::Kernel;
pub use limits::Limits;
pub use notice::Notice;
pub use prepare::{Preparation, Prepared};
pub use status::{FederateStatus, FederationStatus, HeldBack, Status, Waiting};
