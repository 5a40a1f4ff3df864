//! Publish–subscribe on iceoryx2: one sender, receivers unknown to it, messages in shared memory.
//!
//! A channel is two iceoryx2 services of the same name: publish–subscribe carries the messages, event wakes the
//! receivers. Everything that iceoryx2 creates for one run is in `/dev/shm` under one prefix:
//!
//! ```text
//! /dev/shm/hemiola-<run>/           descriptions of services and nodes, sockets of the event services
//! /dev/shm/hemiola-<run>_<number>…  payload, connections and management segments
//! ```
//!
//! Two runs therefore never meet, and [`sweep`] removes everything of a run, even if all its processes were killed. A
//! run's name contains no `_`, so that no run's prefix begins with another's. The folder's name is not the prefix
//! itself, because iceoryx2 would take it for a segment without a name.
//!
//! Each end has its own iceoryx2 node. Opening a node first removes the dead nodes of its run, which makes room for
//! the successor of a killed process.

use std::collections::BTreeSet;
use std::io;

use hemiola_units::{Delivery, Instant};
use iceoryx2::config::Config;
use iceoryx2::node::{Node, NodeBuilder};
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::{BackpressureAction, LoanError};
use iceoryx2::prelude::{
    FileName, LogLevel, Path, SemanticString, ServiceName, SignalHandlingMode, ipc, set_log_level,
};
use iceoryx2::service::port_factory::{PortFactory, event, publish_subscribe};
use iceoryx2_bb_posix::file_descriptor_set::{
    FileDescriptorSet, FileDescriptorSetWaitError, FileEvent,
};

use crate::Readiness;
use crate::channel::{ReceiveError, Receiver, SendError, Sender, check_buffer, check_message};
use crate::open::{CreateError, OpenError, Spec, valid_run};

mod bare;

pub use bare::Bare;

/// The most receivers of one channel; the sender checks each of them for every message.
pub const RECEIVERS_MAX: usize = 16;

/// A sender, and the successor of a killed one while both are registered.
const SENDERS_MAX: usize = 2;

/// A node for the creator, for each end, and for the successor of each.
const NODES_MAX: usize = 2 * (1 + SENDERS_MAX + RECEIVERS_MAX);

/// How many messages a latest receiver reads before it takes one as the newest: one buffered per sender, and those
/// that arrive meanwhile.
const PASS_OVER_MAX: usize = 4;

/// The directory of POSIX shared memory on Linux (shm_overview(7)).
const DIRECTORY: &str = "/dev/shm";

type Messages = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;
type Wakes = event::PortFactory<ipc::Service>;

/// The services of a channel, kept alive by its creator.
#[derive(Debug)]
pub(crate) struct Service {
    _messages: Messages,
    _wakes: Wakes,
    _node: Node<ipc::Service>,
}

impl Service {
    pub(crate) fn create(spec: &Spec) -> Result<Self, CreateError> {
        let failed = |what: &str, error: String| CreateError::Failed {
            endpoint: spec.endpoint.clone(),
            what: format!("iceoryx2 could not make {what} under {DIRECTORY}"),
            source: io::Error::other(error),
        };
        let node = node(&spec.run).map_err(|error| failed("a node", error))?;
        let name = service_name(spec).map_err(|error| failed("a name", error))?;
        let (length, overflow) = buffer(spec.delivery);
        let messages = node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .subscriber_max_buffer_size(length)
            .enable_safe_overflow(overflow)
            .subscriber_max_borrowed_samples(1)
            .history_size(0)
            .max_publishers(SENDERS_MAX)
            .max_subscribers(RECEIVERS_MAX)
            .max_nodes(NODES_MAX)
            .create()
            .map_err(|error| failed("a publish–subscribe service", format!("{error:?}")))?;
        let wakes = node
            .service_builder(&name)
            .event()
            .event_id_max_value(0)
            .max_notifiers(SENDERS_MAX)
            .max_listeners(RECEIVERS_MAX)
            .max_nodes(NODES_MAX)
            .create()
            .map_err(|error| failed("an event service", format!("{error:?}")))?;
        Ok(Self { _messages: messages, _wakes: wakes, _node: node })
    }
}

/// Opens the services of a channel for an end.
fn open(spec: &Spec) -> Result<(Messages, Wakes, Node<ipc::Service>), OpenError> {
    let node = node(&spec.run).map_err(|error| failed(spec, error))?;
    let name = service_name(spec).map_err(|error| failed(spec, error))?;
    let messages = node.service_builder(&name).publish_subscribe::<[u8]>().open();
    let messages = messages.map_err(|error| failed(spec, format!("{error:?}")))?;
    let wakes = node.service_builder(&name).event().open();
    let wakes = wakes.map_err(|error| failed(spec, format!("{error:?}")))?;
    Ok((messages, wakes, node))
}

fn failed(spec: &Spec, error: String) -> OpenError {
    OpenError::Failed { endpoint: spec.endpoint.clone(), source: library(error) }
}

fn library(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("iceoryx2: {error}"))
}

/// Returns the size of a receiver's buffer, and whether a new message replaces the oldest.
const fn buffer(delivery: Delivery) -> (usize, bool) {
    match delivery {
        Delivery::Latest => (1, true),
        Delivery::Queue(length) => (length.get() as usize, false),
    }
}

/// Returns the name of a run's folder in [`DIRECTORY`].
fn folder(run: &str) -> String {
    format!("hemiola-{run}")
}

/// Returns the prefix of a run's files in [`DIRECTORY`].
fn prefix(run: &str) -> String {
    format!("hemiola-{run}_")
}

fn node(run: &str) -> Result<Node<ipc::Service>, String> {
    // iceoryx2 returns the same information as errors, and a library does not print.
    set_log_level(LogLevel::Fatal);
    let prefix = prefix(run);
    let mut config = Config::default();
    config.global.prefix = FileName::new(prefix.as_bytes()).map_err(|e| format!("{e:?}"))?;
    let root = format!("{DIRECTORY}/{}", folder(run));
    config.global.set_root_path(&Path::new(root.as_bytes()).map_err(|e| format!("{e:?}"))?);
    NodeBuilder::new()
        .config(&config)
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create()
        .map_err(|error| format!("{error:?}"))
}

fn service_name(spec: &Spec) -> Result<ServiceName, String> {
    spec.endpoint.name().try_into().map_err(|error| format!("{error:?}"))
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct PubSubSender {
    message_size: usize,
    messages: Messages,
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Notifier<ipc::Service>,
    _node: Node<ipc::Service>,
}

impl PubSubSender {
    pub(crate) fn open(spec: &Spec) -> Result<Self, OpenError> {
        let (messages, wakes, node) = open(spec)?;
        let publisher = messages
            .publisher_builder()
            .initial_max_slice_len(spec.message_size)
            .max_loaned_samples(1)
            .set_backpressure_handler(|_| BackpressureAction::DiscardDataAndFail)
            .create()
            .map_err(|error| failed(spec, format!("{error:?}")))?;
        let notifier = wakes.notifier_builder().create();
        let notifier = notifier.map_err(|error| failed(spec, format!("{error:?}")))?;
        Ok(Self { message_size: spec.message_size, messages, publisher, notifier, _node: node })
    }
}

impl Sender for PubSubSender {
    fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        use iceoryx2::port::SendError as Theirs;
        check_message(message, self.message_size)?;
        let sample = match self.publisher.loan_slice_uninit(message.len()) {
            Ok(sample) => sample.write_from_slice(message),
            // Receivers hold every sample: they are full.
            Err(LoanError::OutOfMemory) => return Err(SendError::Full),
            Err(error) => return Err(SendError::Failed(library(error))),
        };
        // A receiver that is registered but has not yet examined its buffer is skipped without an error if that is
        // full, so count the receivers that were reached.
        let receivers = self.messages.dynamic_config().number_of_subscribers();
        let sent = match sample.send() {
            Ok(reached) if reached < receivers => Err(SendError::Full),
            Ok(_) => Ok(()),
            Err(Theirs::UnableToDeliver) => Err(SendError::Full),
            Err(error) => Err(SendError::Failed(library(error))),
        };
        // Even after a refusal: another receiver may have had room.
        self.notifier.notify().map_err(|error| SendError::Failed(library(error)))?;
        sent
    }
}

/// A receiving end.
#[derive(Debug)]
pub(crate) struct PubSubReceiver {
    message_size: usize,
    pass_over: usize,
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    /// To sleep on the listener's socket, because the listener's own wait has the resolution of the kernel's ticks.
    sleep: FileDescriptorSet,
    listener: Listener<ipc::Service>,
    _node: Node<ipc::Service>,
}

impl PubSubReceiver {
    pub(crate) fn open(spec: &Spec) -> Result<Self, OpenError> {
        let (messages, wakes, node) = open(spec)?;
        // The listener first: a sender that sees the subscriber must be able to wake it.
        let listener = wakes.listener_builder().create();
        let listener = listener.map_err(|error| failed(spec, format!("{error:?}")))?;
        let subscriber = messages
            .subscriber_builder()
            .buffer_size(buffer(spec.delivery).0)
            .create()
            .map_err(|error| failed(spec, format!("{error:?}")))?;
        let pass_over = match spec.delivery {
            Delivery::Latest => PASS_OVER_MAX,
            Delivery::Queue(_) => 1,
        };
        Ok(Self {
            message_size: spec.message_size,
            pass_over,
            subscriber,
            sleep: FileDescriptorSet::new(),
            listener,
            _node: node,
        })
    }
}

impl Receiver for PubSubReceiver {
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError> {
        check_buffer(buffer, self.message_size)?;
        let mut length = None;
        for _ in 0..self.pass_over {
            let sample = self.subscriber.receive();
            let Some(sample) = sample.map_err(|error| ReceiveError::Failed(library(error)))? else {
                break;
            };
            let message = sample.payload();
            let target = buffer.get_mut(..message.len()).ok_or(ReceiveError::Torn)?;
            target.copy_from_slice(message);
            length = Some(message.len());
        }
        Ok(length.map(|length| &buffer[..length]))
    }

    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError> {
        loop {
            let ready = self.subscriber.has_samples();
            if ready.map_err(|error| ReceiveError::Failed(library(error)))? {
                return Ok(Readiness::Ready);
            }
            let left = until - crate::now();
            if !left.is_positive() {
                return Ok(Readiness::TimedOut);
            }
            let listening = self.sleep.add(&self.listener);
            let listening = listening.map_err(|error| ReceiveError::Failed(library(error)))?;
            match self.sleep.timed_wait(left.to_duration(), FileEvent::Read, |_| ()) {
                Ok(_) | Err(FileDescriptorSetWaitError::Interrupt) => {}
                Err(error) => return Err(ReceiveError::Failed(library(error))),
            }
            drop(listening);
            // Take all of them: the loop checks for messages itself, and a leftover would only wake it again.
            let drained = self.listener.try_wait(|_| ());
            drained.map_err(|error| ReceiveError::Failed(library(error)))?;
        }
    }
}

/// Returns the runs that have entries in `/dev/shm`, whether their processes live or not.
///
/// # Errors
/// If `/dev/shm` cannot be read.
pub fn runs() -> io::Result<BTreeSet<String>> {
    let mut runs = BTreeSet::new();
    for entry in std::fs::read_dir(DIRECTORY)? {
        let name = entry?.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix("hemiola-")?.split('_').next());
        runs.extend(run.filter(|run| valid_run(run)).map(str::to_owned));
    }
    Ok(runs)
}

/// Removes everything that iceoryx2 created for `run`; returns the number of entries removed from `/dev/shm`.
///
/// Call it when no process of the run is left: a remaining process keeps what it has mapped but cannot meet new ones.
/// For an unknown run, or a second time, it removes nothing.
///
/// # Errors
/// `InvalidInput` if `run` is not a valid run name; otherwise the first failure to remove an entry, after all have
/// been tried.
pub fn sweep(run: &str) -> io::Result<usize> {
    if !valid_run(run) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (folder, prefix) = (folder(run), prefix(run));
    let (mut removed, mut refused) = (0, None);
    for entry in std::fs::read_dir(DIRECTORY)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name == *folder || name.as_encoded_bytes().starts_with(prefix.as_bytes());
        if !ours {
            continue;
        }
        let path = entry.path();
        let outcome = if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(path)
        } else {
            std::fs::remove_file(path)
        };
        match outcome {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    refused.map_or(Ok(removed), Err)
}
