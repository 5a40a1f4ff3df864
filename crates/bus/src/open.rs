//! Creates channels, describes them to other processes, and opens their ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use hemiola_rt::sys::mqueue::Ends;
use hemiola_units::{Delivery, Endpoint};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::channel::{Receiver, Sender};
#[cfg(feature = "pubsub")]
use crate::pubsub;
use crate::{local, mqueue, shared_memory};

/// The longest message of any backend: a channel carries states and commands, not bulk data, and a segment of sixteen
/// such slots fits the usual 64 MiB of lockable memory.
pub const MESSAGE_SIZE_MAX: usize = 1 << 20;

/// The longest queue of any backend; a receiver that far behind cannot catch up.
pub const QUEUE_LENGTH_MAX: u32 = 4096;

/// The longest name of a run: two of them still fit the 108 bytes of a socket's path.
pub const RUN_LEN_MAX: usize = 16;

/// The description of a channel to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Mechanism and name.
    pub endpoint: Endpoint,
    /// Which messages are kept for a slow receiver.
    pub delivery: Delivery,
    /// The longest message in bytes, 1 to [`MESSAGE_SIZE_MAX`].
    pub message_size: usize,
    /// The run it belongs to: 1 to [`RUN_LEN_MAX`] of a-z, A-Z, 0-9 and '-'. Channels of different runs never meet,
    /// whatever their names.
    pub run: String,
}

/// An end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where messages go in.
    Sender,
    /// Where messages come out.
    Receiver,
}

/// How many receivers a channel has, where that spares its sender work: a latest value in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Receivers {
    /// As many as the mechanism allows. Each message wakes all that wait.
    #[default]
    Any,
    /// One. A message wakes at most one thread.
    One,
    /// One, and no message wakes it while it is awake. It says so in the memory, which it may write.
    OneThatTells,
}

/// The information with which a process opens an end of a channel: plain data, sent as JSON.
///
/// It contains numbers of descriptors, so it is valid only in a process that inherited them under the same numbers
/// (see [`Channel::descriptors`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handle {
    pub(crate) spec: Spec,
    sender: Option<i32>,
    receiver: Option<i32>,
    receivers: Receivers,
}

impl Handle {
    /// Creates a handle with the specification only.
    #[cfg(feature = "testing")]
    pub(crate) const fn named(spec: Spec) -> Self {
        Self { spec, sender: None, receiver: None, receivers: Receivers::Any }
    }

    /// Returns the specification of the channel.
    #[must_use]
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }
}

/// Why a channel could not be created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The name of the run cannot be used in file names.
    #[error("\"{0}\" is not a valid run name; use 1 to {RUN_LEN_MAX} of a-z, A-Z, 0-9 and '-'")]
    Run(String),
    /// The message size is zero or too large.
    #[error(
        "messages of {size} B are not possible here; {mechanism}: carries 1 to {size_max} B{remedy}"
    )]
    MessageSize {
        /// The word of the mechanism.
        mechanism: &'static str,
        /// The requested size.
        size: usize,
        /// The limit.
        size_max: usize,
        /// How to raise the limit, or empty; starts with a separator.
        remedy: String,
    },
    /// The queue is longer than the mechanism allows.
    #[error(
        "a queue of {length} is not possible here; {mechanism}: holds at most {length_max}{remedy}"
    )]
    QueueLength {
        /// The word of the mechanism.
        mechanism: &'static str,
        /// The requested length.
        length: u32,
        /// The limit.
        length_max: u32,
        /// How to raise the limit, or empty; starts with a separator.
        remedy: String,
    },
    /// Run and name are already in use in this process.
    #[error("run {run} already has a channel {endpoint}")]
    Taken {
        /// The run.
        run: String,
        /// The channel.
        endpoint: Endpoint,
    },
    /// This build does not contain the backend.
    #[error("{0} is not part of this build; build with `--features pubsub`")]
    NotBuilt(Endpoint),
    /// The operating system or the backend's library failed.
    #[error("cannot make {endpoint}: {what}: {source}")]
    Failed {
        /// The channel.
        endpoint: Endpoint,
        /// The failure and the remedy.
        what: String,
        /// The error.
        source: io::Error,
    },
}

/// Why an end could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A local channel exists only in the process that created it, as long as the [`Channel`] lives.
    #[error("{0} is not a channel of this process")]
    Elsewhere(Endpoint),
    /// The descriptor in the handle was not inherited, or is something else.
    #[error("descriptor {number} for {endpoint} was not inherited: {source}")]
    NotInherited {
        /// The channel.
        endpoint: Endpoint,
        /// The number in the handle; -1 if there is none.
        number: i32,
        /// The error.
        source: io::Error,
    },
    /// This build does not contain the backend.
    #[error("{0} is not part of this build; build with `--features pubsub`")]
    NotBuilt(Endpoint),
    /// The operating system or the backend's library failed.
    #[error("cannot open {endpoint}: {source}")]
    Failed {
        /// The channel.
        endpoint: Endpoint,
        /// The error.
        source: io::Error,
    },
}

/// A channel, owned by the process that created it. Dropping it removes the underlying object; open ends continue to
/// work with each other.
#[derive(Debug)]
pub struct Channel {
    spec: Spec,
    object: Object,
    receivers: Receivers,
}

/// The underlying object of a channel.
#[derive(Debug)]
enum Object {
    Local(#[expect(dead_code, reason = "keeps the channel alive")] Arc<local::Memory>),
    SharedMemory(shared_memory::Memory),
    MessageQueue(Ends),
    #[cfg(feature = "pubsub")]
    PubSub(#[expect(dead_code, reason = "keeps the channel alive")] pubsub::Service),
}

impl Channel {
    /// Creates the channel.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(spec: &Spec) -> Result<Self, CreateError> {
        check(spec)?;
        let object = match &spec.endpoint {
            Endpoint::Local(_) => {
                let taken = || CreateError::Taken {
                    run: spec.run.clone(),
                    endpoint: spec.endpoint.clone(),
                };
                Object::Local(local::Memory::create(spec).ok_or_else(taken)?)
            }
            Endpoint::SharedMemory(_) => Object::SharedMemory(shared_memory::Memory::create(spec)?),
            Endpoint::MessageQueue(_) => Object::MessageQueue(mqueue::create(spec)?),
            #[cfg(feature = "pubsub")]
            Endpoint::PubSub(_) => Object::PubSub(pubsub::Service::create(spec)?),
            #[cfg(not(feature = "pubsub"))]
            Endpoint::PubSub(_) => return Err(CreateError::NotBuilt(spec.endpoint.clone())),
        };
        Ok(Self { spec: spec.clone(), object, receivers: Receivers::Any })
    }

    /// Returns the channel for so many receivers. Its handles and descriptors are then for so many.
    #[must_use]
    pub fn with_receivers(mut self, receivers: Receivers) -> Self {
        self.receivers = receivers;
        self
    }

    /// Returns the information with which another process opens an end.
    #[must_use]
    pub fn handle(&self) -> Handle {
        let number = |end| self.descriptor(end).map(|fd| fd.as_raw_fd());
        Handle {
            spec: self.spec.clone(),
            sender: number(End::Sender),
            receiver: number(End::Receiver),
            receivers: self.receivers,
        }
    }

    /// Returns the descriptor that a process must inherit, under the same number, to open this end; `None` for
    /// mechanisms without one. It is close-on-exec: the launcher clears the flag just before it starts the child and
    /// sets it again just after, so that no other child inherits it.
    #[must_use]
    pub fn descriptor(&self, end: End) -> Option<BorrowedFd<'_>> {
        match &self.object {
            Object::Local(_) => None,
            Object::SharedMemory(memory) => Some(match self.receivers {
                Receivers::OneThatTells => memory.descriptor(End::Sender),
                Receivers::Any | Receivers::One => memory.descriptor(end),
            }),
            Object::MessageQueue(ends) => Some(match end {
                End::Sender => ends.sender.as_fd(),
                End::Receiver => ends.receiver.as_fd(),
            }),
            #[cfg(feature = "pubsub")]
            Object::PubSub(_) => None,
        }
    }

    /// Makes the channel sound and empty for a new process, after one with an end of it may have destroyed it and has
    /// ended. Only shared memory can be destroyed from there.
    pub fn renew(&self) {
        if let Object::SharedMemory(memory) = &self.object {
            memory.renew();
        }
    }

    /// Returns the descriptors that a process must inherit to open both ends.
    #[must_use]
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut descriptors: Vec<_> = [End::Sender, End::Receiver]
            .into_iter()
            .filter_map(|end| self.descriptor(end))
            .collect();
        descriptors.dedup_by_key(|descriptor| descriptor.as_raw_fd());
        descriptors
    }
}

/// Refuses what no backend can do.
fn check(spec: &Spec) -> Result<(), CreateError> {
    let mechanism = spec.endpoint.mechanism();
    if !valid_run(&spec.run) {
        return Err(CreateError::Run(spec.run.clone()));
    }
    let (size, size_max) = (spec.message_size, MESSAGE_SIZE_MAX);
    if !(1..=size_max).contains(&size) {
        return Err(CreateError::MessageSize { mechanism, size, size_max, remedy: String::new() });
    }
    match spec.delivery {
        Delivery::Queue(length) if length.get() > QUEUE_LENGTH_MAX => {
            let (length, length_max) = (length.get(), QUEUE_LENGTH_MAX);
            Err(CreateError::QueueLength { mechanism, length, length_max, remedy: String::new() })
        }
        _ => Ok(()),
    }
}

/// Whether `run` is a valid run name.
pub(crate) fn valid_run(run: &str) -> bool {
    (1..=RUN_LEN_MAX).contains(&run.len())
        && run.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Opens the sending end in this process.
///
/// # Errors
/// See [`OpenError`].
pub fn open_sender(handle: &Handle) -> Result<Box<dyn Sender>, OpenError> {
    let Spec { endpoint, run, .. } = &handle.spec;
    match endpoint {
        Endpoint::Local(name) => {
            let memory = local::Memory::find(run, name)
                .ok_or_else(|| OpenError::Elsewhere(endpoint.clone()))?;
            Ok(Box::new(local::LocalSender(memory)))
        }
        Endpoint::SharedMemory(_) => {
            let descriptor = inherited(endpoint, handle.sender)?;
            shared_memory::open_sender(descriptor, &handle.spec, handle.receivers)
                .map_err(|source| OpenError::Failed { endpoint: endpoint.clone(), source })
        }
        Endpoint::MessageQueue(_) => {
            let queue = inherited(endpoint, handle.sender)?;
            Ok(Box::new(mqueue::QueueSender::new(queue, &handle.spec)))
        }
        #[cfg(feature = "pubsub")]
        Endpoint::PubSub(_) => Ok(Box::new(pubsub::PubSubSender::open(&handle.spec)?)),
        #[cfg(not(feature = "pubsub"))]
        Endpoint::PubSub(_) => Err(OpenError::NotBuilt(endpoint.clone())),
    }
}

/// Opens a receiving end in this process.
///
/// # Errors
/// See [`OpenError`].
pub fn open_receiver(handle: &Handle) -> Result<Box<dyn Receiver>, OpenError> {
    let Spec { endpoint, run, .. } = &handle.spec;
    match endpoint {
        Endpoint::Local(name) => {
            let memory = local::Memory::find(run, name)
                .ok_or_else(|| OpenError::Elsewhere(endpoint.clone()))?;
            Ok(Box::new(local::LocalReceiver::new(memory)))
        }
        Endpoint::SharedMemory(_) => {
            let descriptor = inherited(endpoint, handle.receiver)?;
            shared_memory::open_receiver(descriptor, &handle.spec, handle.receivers)
                .map_err(|source| OpenError::Failed { endpoint: endpoint.clone(), source })
        }
        Endpoint::MessageQueue(_) => {
            let queue = inherited(endpoint, handle.receiver)?;
            Ok(Box::new(mqueue::QueueReceiver::new(queue, &handle.spec)))
        }
        #[cfg(feature = "pubsub")]
        Endpoint::PubSub(_) => Ok(Box::new(pubsub::PubSubReceiver::open(&handle.spec)?)),
        #[cfg(not(feature = "pubsub"))]
        Endpoint::PubSub(_) => Err(OpenError::NotBuilt(endpoint.clone())),
    }
}

/// Returns a new descriptor for the one inherited under `number`.
fn inherited(endpoint: &Endpoint, number: Option<i32>) -> Result<OwnedFd, OpenError> {
    let number = number.unwrap_or(-1);
    hemiola_rt::sys::descriptor::duplicate(number).map_err(|source| OpenError::NotInherited {
        endpoint: endpoint.clone(),
        number,
        source,
    })
}
