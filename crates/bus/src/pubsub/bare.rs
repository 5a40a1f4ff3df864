//! Plain iceoryx2: two services, one each way, without a channel around them.

use std::fmt::Debug;
use std::io;

use iceoryx2::node::Node;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{ServiceName, ipc};

use super::{Messages, Wakes, library, node};

/// The ends that one process has of a service out and of another back. A [`Channel`](crate::Channel) over `pubsub:`
/// is compared with it. It checks nothing and has no [`Delivery`](hemiola_units::Delivery).
#[derive(Debug)]
pub struct Bare {
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Notifier<ipc::Service>,
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    listener: Listener<ipc::Service>,
    _node: Node<ipc::Service>,
}

impl Bare {
    /// Sends to service `out` of `run` and receives from `back`, each given with its longest message in bytes. The
    /// first process to open them creates them. A receiver holds `buffer` messages, after which the oldest is lost.
    /// [`sweep`](super::sweep) removes what a killed process leaves behind.
    ///
    /// # Errors
    /// The error of iceoryx2.
    pub fn open(
        run: &str,
        out: (&str, usize),
        back: (&str, usize),
        buffer: usize,
    ) -> io::Result<Self> {
        let node = node(run).map_err(library)?;
        let services = |name: &str| -> io::Result<(Messages, Wakes)> {
            let name: ServiceName = name.try_into().map_err(refused)?;
            let messages = node.service_builder(&name).publish_subscribe::<[u8]>();
            let messages = messages.subscriber_max_buffer_size(buffer).open_or_create();
            let wakes = node.service_builder(&name).event().open_or_create();
            Ok((messages.map_err(refused)?, wakes.map_err(refused)?))
        };
        let (messages, wakes) = services(back.0)?;
        let listener = wakes.listener_builder().create().map_err(refused)?;
        let subscriber =
            messages.subscriber_builder().buffer_size(buffer).create().map_err(refused)?;
        let (messages, wakes) = services(out.0)?;
        let publisher = messages.publisher_builder().initial_max_slice_len(out.1);
        let publisher = publisher.create().map_err(refused)?;
        let notifier = wakes.notifier_builder().create().map_err(refused)?;
        Ok(Self { publisher, notifier, subscriber, listener, _node: node })
    }

    /// Publishes `message` without waking a receiver.
    ///
    /// # Errors
    /// The error of iceoryx2: the message is too long, or no memory is left to loan.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        let sample = self.publisher.loan_slice_uninit(message.len()).map_err(library)?;
        sample.write_from_slice(message).send().map(drop).map_err(library)
    }

    /// Wakes the other end if it waits; otherwise its next wait returns at once.
    ///
    /// # Errors
    /// The error of iceoryx2.
    pub fn wake(&self) -> io::Result<()> {
        self.notifier.notify().map(drop).map_err(library)
    }

    /// Takes the oldest message into the front of `buffer` and returns its length; `None` if there is none.
    ///
    /// # Errors
    /// `InvalidData` if it is longer than `buffer`; otherwise the error of iceoryx2.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(sample) = self.subscriber.receive().map_err(library)? else { return Ok(None) };
        let message = sample.payload();
        let target = buffer.get_mut(..message.len()).ok_or(io::ErrorKind::InvalidData)?;
        target.copy_from_slice(message);
        Ok(Some(message.len()))
    }

    /// Sleeps until it is woken; returns at once if that happened since the last wait.
    ///
    /// # Errors
    /// The error of iceoryx2.
    pub fn wait(&self) -> io::Result<()> {
        self.listener.blocking_wait(|_| ()).map(drop).map_err(library)
    }
}

fn refused(error: impl Debug) -> io::Error {
    library(format!("{error:?}"))
}
