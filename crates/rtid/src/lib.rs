//! The RTI as a process: sockets and shared memory around the core, on one thread.
//!
//! `hemiola-rti-server` decides everything; this crate waits for events, moves bytes, and starts threads.
//!
//! In reading order:
//!
//! * [`Options`]: the addresses, and the [`Settings`] of the core.
//! * [`Server`]: listens once it is bound, and serves while it runs. [`Stopper`] controls it from other threads.
//! * [`Observer`]: is informed of every turn of the loop.
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
//! Its protection is the choice of addresses, and [`Options::authority`]. Without permits, every program that can
//! connect can join.

#![forbid(unsafe_code)]

mod error;
mod link;
mod listener;
mod mailbox;
mod network;
mod options;
mod reports;
mod saves;
mod server;
mod spool;
mod stopper;
mod token;
mod worker;

pub use error::{ConnectError, ServeError, Stopped};
pub use hemiola_rti::{Authority, Permit, Right};
pub use hemiola_rti_server::{
    MEMORY_MIN, REAL_TIME_HOLD_MAX, Report, Settings, SlowReaderPolicy, Summary, memory_that_fits,
    report,
};
pub use listener::LOCAL_PREFIX;
pub use options::{Observer, Options, PORT};
pub use server::{Addresses, Server};
pub use stopper::Stopper;
