//! The run-time infrastructure as a pure state machine (IEEE 1516.1-2025): federates' calls in, replies and callbacks
//! out.
//!
//! In reading order:
//!
//! * [`Kernel`]: all federations of an RTI. [`Kernel::handle`] takes one [`Input`] and appends its [`Effect`]s;
//!   [`Kernel::handle_within`] and [`Kernel::work`] do the same in slices.
//! * [`SessionId`], [`CallId`]: the shell's names for sessions and their calls.
//! * [`Notice`]: a callback that all its receivers share.
//! * [`Preparation`]: object model modules, read on another thread before the call that brings them.
//! * [`Image`]: the state of a federation as bytes, and [`SaveName`], the name of a save.
//! * [`matching`]: which regions overlap.
//! * [`Limits`]: what federates can make the kernel keep; [`Room`]: the memory that the shell has left for it.
//! * [`Status`]: a report for operators, including which federate holds back which.
//!
//! A federation is a set of tables. Each service of the standard is a function with the standard's name, in a folder
//! per clause. The same inputs give the same effects, so a federation can be recorded, replayed and reduced to a test
//! case.
//!
//! ```
//! use hemiola_hla::call::FederationCall;
//! use hemiola_hla::data::FomModule;
//! use hemiola_hla::{Call, Reply};
//! use hemiola_rti::{CallId, Effect, Input, Kernel, Limits, SessionId};
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
//! # From an update to its callbacks
//!
//! 1. `Kernel::handle` passes the call to `services::call`, which dispatches by clause, and `services::object::call`
//!    dispatches to `update::update_attribute_values`.
//! 2. `update_attribute_values` checks the preconditions and groups the values by order and transportation. For each
//!    group, `receivers` finds the federates that subscribe to the values, and which of them.
//! 3. `message::dispatch` makes one [`Notice`] for all receivers with the same order. A receiver that can take it now
//!    gets it through `Federation::send_notice`, which appends it to the federation's outbox. For the others it goes
//!    into their `Backlog`, from which `advance::grant_advance` or `delivery::release` later takes it through
//!    `message::deliver`.
//! 4. `services::follow_up` grants what has become grantable and moves the outbox behind the reply.
//!
//! # Work on many instances or messages
//!
//! A call that concerns many instances starts a task, which runs within a budget; the rest becomes a job (`job.rs`).
//! [`Kernel::work`] continues the jobs, and other calls may come in between. With the same inputs and budgets, the
//! effects are the same. While a federate has jobs, its own calls wait.
//!
//! # Two switches of the object model
//!
//! Both keep the value that the federation was created with.
//!
//! * `delaySubscriptionEvaluation`: off, subscriptions are evaluated when a message is sent; on, when it is delivered.
//!   A request that stops at messages then continues past messages its federate does not subscribe to.
//! * `advisoriesUseKnownClass`: off, updates are wanted (clauses 6.23 and 6.24) by federates that know the instance
//!   and subscribe to the attribute at the class it was registered as, or a superclass; on, by federates that
//!   subscribe to it at the class they know the instance as, which are those that receive it.
//!
//! # Regions
//!
//! A message has an *extent*: the default region, or the regions with which it is sent (`regions.rs`). A subscription
//! of clause 5 receives everything; a subscription of clause 9 receives what overlaps its region. Receivers, scope,
//! discoveries and advisories ask `services/distribution/reach.rs`. When a region moves, an index ([`matching`]) finds
//! the regions at both places, and only the instances and federates that these concern are looked at. A federation
//! without regions compares nothing: each question first asks whether there are any.
//!
//! # Saving and restoring
//!
//! A save freezes the federation: calls are refused, no time is granted, and unfinished work is completed before the
//! federates are asked to save. When all have saved, the state is written into an image in slices (`image.rs`), which
//! the shell gets with [`Effect::Store`]. A restore reads the image into a federation of its own, which replaces the
//! present one when all federates have restored. `saving.rs` has the steps of both protocols.
//!
//! # Limits of this crate
//!
//! It reads no clock, starts no thread, opens no file and knows no protocol.
//!
//! The simulation test runs seeded worlds of federates that act in any order. To replay one seed:
//! `HEMIOLA_SEED=n cargo test -p hemiola-rti --test main -- simulation`.

#![forbid(unsafe_code)]

mod authority;
mod backlog;
mod counts;
mod creation;
mod federate;
mod federation;
pub mod fuzzing;
mod group;
mod image;
mod input;
mod instance;
mod job;
mod kernel;
mod limits;
pub mod matching;
mod members;
mod memory;
mod message;
mod mom;
mod notice;
mod operator;
mod postponed;
mod prepare;
mod regions;
mod saving;
mod services;
mod session;
mod settings;
mod status;
mod time;

pub use authority::{Authority, Permit, Right};
pub use creation::Owner;
pub use image::Image;
pub use input::{CallId, Effect, Input, SaveName, SessionId, StorageId, report_file};
pub use kernel::{Kernel, Retired};
pub use limits::Limits;
pub use memory::{Refusals, Room};
pub use notice::{Milestone, Notice};
pub use prepare::{Preparation, Prepared};
pub use settings::ConnectSettings;
pub use status::{FederateStatus, FederationStatus, HeldBack, Status, Waiting};
