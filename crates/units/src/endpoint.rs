//! A channel as a scenario writes it: its mechanism and its name.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::parse::{is_name, text_form};

/// Mechanism and name of a channel: `"shm:sensors"`.
///
/// The name belongs to the scenario. The runner chooses the kernel object behind it in each run, so that simultaneous
/// runs never meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Endpoint {
    /// `local:` memory within one process.
    Local(String),
    /// `shm:` shared memory.
    SharedMemory(String),
    /// `mq:` a POSIX message queue (mq_overview(7)).
    MessageQueue(String),
    /// `pubsub:` publish–subscribe on iceoryx2.
    PubSub(String),
}

/// A text that is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The word before the colon is unknown, or there is no colon.
    #[error("\"{0}\" names no mechanism; an endpoint starts with local:, shm:, mq: or pubsub:")]
    Mechanism(String),
    /// The name cannot be used as a file name everywhere.
    #[error("\"{0}\" has a bad name; use 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'")]
    Name(String),
}

impl Endpoint {
    /// Returns the name after the colon.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Local(name)
            | Self::SharedMemory(name)
            | Self::MessageQueue(name)
            | Self::PubSub(name) => name,
        }
    }

    /// Returns the word before the colon.
    #[must_use]
    pub const fn mechanism(&self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::SharedMemory(_) => "shm",
            Self::MessageQueue(_) => "mq",
            Self::PubSub(_) => "pubsub",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.mechanism(), self.name()))
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;
    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let (mechanism, name) =
            text.split_once(':').ok_or_else(|| EndpointError::Mechanism(text.into()))?;
        let make = match mechanism {
            "local" => Self::Local,
            "shm" => Self::SharedMemory,
            "mq" => Self::MessageQueue,
            "pubsub" => Self::PubSub,
            _ => return Err(EndpointError::Mechanism(text.into())),
        };
        if !is_name(name) {
            return Err(EndpointError::Name(text.into()));
        }
        Ok(make(name.into()))
    }
}

text_form!(Endpoint, EndpointError);

/// Which messages a channel keeps if its receiver is slower than its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The newest message only: state.
    Latest,
    /// Up to this many messages, in order: events. A full queue refuses the next send.
    Queue(NonZeroU32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_and_shown() {
        for text in ["local:a", "shm:sensors", "mq:command-1", "pubsub:a.b_c"] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        assert_eq!(
            "shmem:x".parse::<Endpoint>().unwrap_err().to_string(),
            "\"shmem:x\" names no mechanism; an endpoint starts with local:, shm:, mq: or pubsub:"
        );
        for text in ["shm:", "shm:a/b", "shm:ä", "sensors"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
