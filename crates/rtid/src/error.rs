//! Why an RTI cannot serve.

use std::io;
use std::net::SocketAddr;

use hemiola_rt::shared::StreamError;

/// Why an RTI cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is taken, is not one of this machine, or needs a privilege: choose another.
    #[error("cannot listen on tcp:{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The name is taken by another RTI on this machine, or too long: choose another.
    #[error("cannot listen on shm:{name}: {source}")]
    Local {
        /// The name.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system gives no descriptors for waiting, or no thread.
    #[error("cannot {what}: {source}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// What it says.
        source: io::Error,
    },
}

/// The RTI does not run any more, or never will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the RTI has stopped")]
pub struct Stopped;

/// Why there is no connection inside the process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The RTI has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The system gives no memory or descriptors for a stream.
    #[error(transparent)]
    Stream(#[from] StreamError),
}
