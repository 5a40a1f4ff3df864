//! The address at which an RTI listens: over TCP, or in shared memory on this machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::parse::{is_name, text_form};

/// The default port of an RTI: that of the Federate Protocol (IEEE 1516-2025).
const PORT: u16 = 15164;

/// The address of an RTI: `"tcp:HOST:PORT"`, or `"HOST:PORT"` for short, or `"shm:NAME"`.
///
/// The default is `tcp:127.0.0.1:15164`. A host is a name or a number. A host with colons, such as an IPv6 address,
/// is written in brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RtiAddress {
    /// `tcp:` a host and a port.
    Tcp {
        /// A name or a number, without brackets.
        host: String,
        /// The port; never 0.
        port: u16,
    },
    /// `shm:` shared memory with the RTI of this name on this machine. The default name is the digits of the RTI's
    /// TCP port.
    SharedMemory(String),
}

/// A text that is not the address of an RTI.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RtiAddressError {
    /// The port is missing, or is not a number from 1 to 65535.
    #[error("\"{0}\" has no port; write tcp:HOST:PORT, such as tcp:127.0.0.1:15164, or shm:NAME")]
    Port(String),
    /// The host is empty, or contains blanks, or contains colons without brackets.
    #[error(
        "\"{0}\" has no valid host; write tcp:HOST:PORT, and put a host with colons in [brackets]"
    )]
    Host(String),
    /// The name could not be used in a file name or a shell.
    #[error("\"{0}\" has a bad name; use 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'")]
    Name(String),
}

impl RtiAddress {
    /// Returns the name, in the abstract name space of sockets (unix(7)), at which an RTI of this name hands out
    /// shared memory.
    #[must_use]
    pub fn socket_name(name: &str) -> String {
        format!("hemiola-rti/{name}")
    }

    fn tcp(whole: &str, rest: &str) -> Result<Self, RtiAddressError> {
        let (host, port) =
            rest.rsplit_once(':').ok_or_else(|| RtiAddressError::Port(whole.into()))?;
        let port = port.parse().ok().filter(|port| *port != 0);
        let port = port.ok_or_else(|| RtiAddressError::Port(whole.into()))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let bad = |c: char| c.is_whitespace() || "[]/".contains(c) || (c == ':' && bare.is_none());
        if host.is_empty() || host.contains(bad) {
            return Err(RtiAddressError::Host(whole.into()));
        }
        Ok(Self::Tcp { host: host.into(), port })
    }
}

impl Default for RtiAddress {
    fn default() -> Self {
        Self::Tcp { host: "127.0.0.1".into(), port: PORT }
    }
}

impl fmt::Display for RtiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Self::Tcp { host, port } if host.contains(':') => format!("tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => format!("tcp:{host}:{port}"),
            Self::SharedMemory(name) => format!("shm:{name}"),
        })
    }
}

impl FromStr for RtiAddress {
    type Err = RtiAddressError;
    fn from_str(text: &str) -> Result<Self, RtiAddressError> {
        let Some(name) = text.strip_prefix("shm:") else {
            return Self::tcp(text, text.strip_prefix("tcp:").unwrap_or(text));
        };
        if !is_name(name) {
            return Err(RtiAddressError::Name(text.into()));
        }
        Ok(Self::SharedMemory(name.into()))
    }
}

text_form!(RtiAddress, RtiAddressError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for text in ["tcp:127.0.0.1:15164", "tcp:rti.local:1", "tcp:[::1]:65535", "shm:15164"] {
            assert_eq!(text.parse::<RtiAddress>().unwrap().to_string(), text);
        }
        assert_eq!("127.0.0.1:15164".parse(), Ok(RtiAddress::default()));
        assert_eq!("[fe80::1]:9".parse(), Ok(RtiAddress::Tcp { host: "fe80::1".into(), port: 9 }));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let error = |text: &str| text.parse::<RtiAddress>().unwrap_err().to_string();
        for text in ["", "localhost", "localhost:", "localhost:0", "localhost:65536", "tcp:a:-1"] {
            assert!(error(text).contains("write tcp:HOST:PORT"), "{text}");
        }
        for text in [":1", "::1:15164", "[]:1", "[::1:1", "a b:1", "http://a:1"] {
            assert!(error(text).contains("host with colons in [brackets]"), "{text}");
        }
        for text in ["shm:", "shm:a/b", "shm:a b"] {
            assert!(error(text).contains("use 1 to 64 of"), "{text}");
        }
    }

    #[test]
    fn a_settings_file_holds_an_address_as_text() {
        let address: RtiAddress = serde_json::from_str("\"shm:demo\"").unwrap();
        assert_eq!(address, RtiAddress::SharedMemory("demo".into()));
        assert_eq!(
            serde_json::to_string(&RtiAddress::default()).unwrap(),
            "\"tcp:127.0.0.1:15164\""
        );
    }
}
