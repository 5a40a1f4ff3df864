//! The run-time infrastructure on a network: the federation kernel behind sockets, in one thread.
//!
//! In reading order:
//!
//! * [`Options`]: where an RTI listens, and what it lets its peers make it keep.
//! * [`Server`]: listens, then serves until it is stopped. [`Stopper`] speaks to it from other threads.
//! * [`report`]: what is going on, as data; as JSON; for Prometheus. [`http`]: for a collector of metrics.
//! * [`Observer`]: sees how its thread spends its time.
//!
//! One thread has everything: it waits for all connections at once, reads what came, carries calls out in the
//! kernel, and writes to each session once for all that came of a turn. What goes to many is encoded once. Who reads
//! too slowly slows those down who write to it; who does not read at all is given up.
//!
//! ```
//! use hemiola_rtid::{Options, Server};
//!
//! let options = Options { listen: vec!["127.0.0.1:0".parse()?], local: None, ..Options::default() };
//! let server = Server::bind(options)?;
//! let address = server.addresses().tcp[0];
//! let stopper = server.stopper();
//! let thread = std::thread::spawn(|| server.run());
//! // Federates connect to the address …
//! std::net::TcpStream::connect(address)?;
//! stopper.stop();
//! let summary = thread.join().unwrap()?;
//! assert_eq!(summary.calls, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It decides nothing about federations: that is the kernel's. It has no protection but where it listens: who can
//! reach it can join.

#![forbid(unsafe_code)]

mod arrival;
mod connection;
mod dispatch;
mod door;
mod error;
mod host;
pub mod http;
mod link;
mod local;
mod mailbox;
mod meter;
mod options;
mod pressure;
pub mod report;
mod server;
mod status;
mod stopper;
mod sweep;
mod token;
mod worker;

pub use door::LOCAL_PREFIX;
pub use error::{ConnectError, ServeError, Stopped};
pub use meter::Meter;
pub use options::{Observer, Options, PORT};
pub use report::Report;
pub use server::{Addresses, Server, Summary};
pub use stopper::Stopper;
