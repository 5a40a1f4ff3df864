//! The rules of an RTI process, as a pure core: which connection is read, which call is carried out, which federate
//! waits for another, what is kept, and which session ends.
//!
//! In reading order:
//!
//! * [`Settings`]: the limits.
//! * [`Network`]: everything the core needs from the outside world, as a trait. `hemiola-rtid` implements it with
//!   sockets and shared memory, the simulation in this crate's tests with virtual links.
//! * [`Server`]: [events](Server::ready) go in, [`Server::turn`] does a bounded amount of work, and
//!   [`Server::before_sleep`] returns how long the shell may wait. `server/turn.rs` lists the steps of a turn in order.
//! * [`report`]: the state of the server as data, as JSON and for Prometheus.
//!
//! The core reads no clock, opens no socket and starts no thread: the same events give the same calls of the network.
//! It takes no decision about federations, which is the kernel's task (`hemiola-rti`), and knows no byte of the
//! protocol, which is that of `hemiola-fedpro`.

#![forbid(unsafe_code)]

mod chunk;
mod connection;
mod denials;
mod discards;
mod fit;
mod gate;
mod listeners;
mod meter;
mod network;
mod preparations;
pub mod report;
mod server;
mod session;
mod settings;
mod shares;
mod spool;

pub use chunk::SpoolChunk;
pub use fit::{MEMORY_MIN, memory_that_fits};
pub use meter::Meter;
pub use network::{
    Accepted, ConnectionId, ConnectionLost, Lane, ListenerId, Network, Origin, Peer, PeerAddress,
    Received, Urgency,
};
pub use report::Report;
pub use server::{Identity, LostReports, ReportBatch, Server, Summary};
pub use settings::{REAL_TIME_HOLD_MAX, Settings, SlowReaderPolicy};
