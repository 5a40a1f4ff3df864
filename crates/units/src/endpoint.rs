//! A channel as a scenario writes it: which mechanism, under which name.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Mechanism and name of a channel: `"shm:sensors"`.
///
/// The name is the scenario's own; which kernel object stands behind it in one run is the runner's
/// business, so that two runs at once never meet.
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

/// A text that is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The word before the colon is unknown, or there is no colon.
    #[error("\"{0}\" names no mechanism; an endpoint starts with local:, shm:, mq: or pubsub:")]
    Mechanism(String),
    /// The name cannot serve as a file name everywhere.
    #[error("\"{0}\" has a bad name; use 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'")]
    Name(String),
}

/// The longest name; every mechanism's own limit is beyond it even with a run's prefix in front.
const NAME_LEN_MAX: usize = 64;

impl Endpoint {
    /// The name behind the colon.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Local(name)
            | Self::SharedMemory(name)
            | Self::MessageQueue(name)
            | Self::PubSub(name) => name,
        }
    }

    /// The word before the colon.
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
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_LEN_MAX || !name.chars().all(good) {
            return Err(EndpointError::Name(text.into()));
        }
        Ok(make(name.into()))
    }
}

impl TryFrom<String> for Endpoint {
    type Error = EndpointError;
    fn try_from(text: String) -> Result<Self, EndpointError> {
        text.parse()
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.to_string()
    }
}

/// What a channel keeps when its receiver is slower than its sender.
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
    fn bad_endpoints_say_what_would_be_right() {
        assert_eq!(
            "shmem:x".parse::<Endpoint>().unwrap_err().to_string(),
            "\"shmem:x\" names no mechanism; an endpoint starts with local:, shm:, mq: or pubsub:"
        );
        for text in ["shm:", "shm:a/b", "shm:ä", "sensors"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
