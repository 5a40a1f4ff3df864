//! Why a link cannot be measured.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::PORT;
use super::client::LOST_AFTER;

/// Why a link cannot be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// No connection.
    #[error("{address} cannot be reached: {source}\nhint: start `hemiola measure link --serve {}` there", address.ip())]
    Unreachable {
        /// The address of the other host.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The other host measures with somebody else.
    #[error("{address} is measuring with another host; try again when it is done")]
    Busy {
        /// The address of the other host.
        address: SocketAddr,
    },
    /// The connection failed.
    #[error("the connection to the other host failed while {doing}: {source}")]
    Failed {
        /// The attempted action.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The other host does not follow the protocol.
    #[error("the other host {0}; its figures cannot be trusted")]
    Wrong(String),
    /// There is no such port.
    #[error(
        "the port `{port}` is not a number from 1 to 65535\nhint: give HOST or HOST:PORT, such as 10.0.0.1:{PORT}"
    )]
    Port {
        /// The port as written.
        port: String,
    },
    /// The name of the other host is unknown.
    #[error(
        "no host is called {name}: {source}\nhint: give HOST or HOST:PORT, an IPv6 address with a port as [::1]:15168"
    )]
    Name {
        /// The name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// A figure of a link without another host.
    #[error(
        "`{figure}` needs another host\nhint: write peer = \"HOST\" in [circumstances], and start `hemiola measure link \
         --serve` there"
    )]
    NoPeer {
        /// The figure.
        figure: String,
    },
    /// It failed at an earlier figure.
    #[error("the link failed before: {0}")]
    Cut(String),
    /// Nothing comes back.
    #[error(
        "none of {sent} datagrams of {bytes} bytes came back within {LOST_AFTER} each{}; does a firewall refuse UDP?",
        received(*arrived)
    )]
    Silent {
        /// How many were sent in turn.
        sent: u64,
        /// Their length.
        bytes: usize,
        /// How many the other host received according to it, if it was asked.
        arrived: Option<u64>,
    },
    /// Too little comes back for a jitter.
    #[error(
        "{returned} of {sent} datagrams came back, but no two that were sent in turn: there is no jitter to measure"
    )]
    Sparse {
        /// How many were sent in turn.
        sent: u64,
        /// How many of them came back.
        returned: u64,
    },
}

/// How many datagrams the other host received, as part of a sentence.
fn received(arrived: Option<u64>) -> String {
    match arrived {
        None => String::new(),
        Some(0) => ", and the other host received none of them".into(),
        Some(arrived) => format!(", although the other host received {arrived} of them"),
    }
}
