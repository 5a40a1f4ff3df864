//! Errors of an RTI process.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use hemiola_rt::shared::StreamError;

/// Why an RTI cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is in use, does not belong to this machine, or requires a privilege: choose another one.
    #[error("cannot listen on tcp:{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Another RTI on this machine uses the name, or it is too long: choose another one.
    #[error("cannot listen on shm:{name}: {source}")]
    Local {
        /// The name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// No file can be made in the directory for spools: choose another one.
    #[error("cannot make a spool file in {}: {source}", directory.display())]
    Spool {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory for saves does not exist, or another RTI uses it: choose another one.
    #[error("cannot keep saves in {}: {source}", directory.display())]
    Saves {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No file can be made in the directory for service reports: choose another one.
    #[error("cannot write service reports in {}: {source}", directory.display())]
    Reports {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system lacks descriptors.
    #[error("cannot {what}: {source}")]
    System {
        /// The failed operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// The RTI has stopped, or stopped before it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the RTI has stopped")]
pub struct Stopped;

/// Why a connection within the process cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The RTI has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The system lacks memory or descriptors for a stream.
    #[error(transparent)]
    Stream(#[from] StreamError),
}
