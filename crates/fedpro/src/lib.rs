//! The Federate Protocol (IEEE 1516-2025) between federates and an RTI, without a network.
//!
//! In reading order:
//!
//! * [`frame`]: splits a stream of bytes into frames. [`Sequence`]: the number of a frame.
//! * [`message`]: calls, replies and callbacks as the bodies of frames. `fedpro.proto`, beside this crate's manifest,
//!   defines all of them. Encoding and decoding work on the types of `hemiola-hla`, without generated structures.
//! * [`session`]: a session outlives its connections. Each call and callback arrives exactly once, however often a
//!   connection breaks. [`Session`] is the same type for a federate and for an RTI.
//! * [`fuzzing`]: the bodies of the fuzz targets, and a simulated network that cuts, delays and splits.
//!
//! ```
//! use hemiola_fedpro::{Arrival, Client, Event, Greeting, Server, Session, SessionId, Settings, message};
//! use hemiola_hla::{Call, Reply, call::FederationCall};
//! use hemiola_units::Instant;
//!
//! let (now, settings) = (Instant::ZERO, Settings::default());
//! let mut federate = Session::<Client>::open(now, settings);
//! assert_eq!(federate.poll(), Some(Event::Connect));
//! federate.connected(now);
//! let mut wire = Vec::new();
//! federate.transmit(now, &mut wire, 65_536);
//!
//! let mut arrival = Arrival::new(now, &settings);
//! assert_eq!(arrival.receive(&wire), Ok(Some(Greeting::New)));
//! let id = SessionId::new(0x0123_4567_89AB_CDEF).unwrap();
//! let mut rti = Session::<Server>::accept(now, settings, id, arrival);
//! wire.clear();
//! rti.transmit(now, &mut wire, 65_536);
//! federate.receive(now, &wire);
//! assert_eq!((federate.poll(), rti.poll()), (Some(Event::Running), Some(Event::Running)));
//!
//! let call = Call::from(FederationCall::ListFederationExecutions);
//! let ticket = federate.request(now, message::encode_call(&call)).unwrap();
//! wire.clear();
//! federate.transmit(now, &mut wire, 65_536);
//! rti.receive(now, &wire);
//! let Some(Event::Request { id, body }) = rti.poll() else { panic!("expected the call") };
//! assert_eq!(message::decode_call(&body), Ok(call.clone()));
//! rti.respond(now, id, message::encode_reply(call.number(), &Ok(Reply::Done)));
//! wire.clear();
//! rti.transmit(now, &mut wire, 65_536);
//! federate.receive(now, &wire);
//! let Some(Event::Response { to, body }) = federate.poll() else { panic!("expected the reply") };
//! assert_eq!(to, ticket);
//! let entry = call.entry();
//! assert_eq!(message::decode_reply(entry.number, entry.shape, &body), Ok(Ok(Reply::Done)));
//! ```
//!
//! This crate opens no connection and reads no clock: the caller passes in bytes and instants. It does not know what a
//! call does; the RTI kernel does. A callback to many federates is encoded once: the sessions share its body, and each
//! puts its own header in front. Long data in it are not copied at all.

#![forbid(unsafe_code)]

mod field;
pub mod frame;
pub mod fuzzing;
pub mod message;
mod out;
mod sequence;
pub mod session;
mod wire;

pub use frame::SessionId;
pub use hemiola_wire::WireError;
pub use sequence::Sequence;
pub use session::{
    Arrival, Bodies, Client, End, Event, Greeting, RequestId, Server, Session, Settings, Ticket,
    Violation, shrink_queue,
};
pub use wire::{ELEMENTS_MAX, MessageError};
