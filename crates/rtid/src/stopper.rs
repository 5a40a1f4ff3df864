//! What other threads can do with an RTI that serves.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use hemiola_rt::shared::Stream;
use hemiola_units::Bytes;

use crate::error::{ConnectError, Stopped};
use crate::mailbox::{Command, Mailbox};
use crate::report::Report;

/// Speaks to a [`Server`](crate::Server) from any thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) stream_capacity: Bytes,
}

impl Stopper {
    /// Ends it: [`run`](crate::Server::run) returns soon. Does nothing if it has.
    pub fn stop(&self) {
        // It has stopped already.
        let _ = self.mailbox.post(Command::Stop);
    }

    /// What is going on. Waits for the server to [run](crate::Server::run).
    ///
    /// # Errors
    /// It has stopped, or stops before it answers.
    pub fn status(&self) -> Result<Report, Stopped> {
        let (sender, receiver) = sync_channel(1);
        self.mailbox.post(Command::Report(sender))?;
        receiver.recv().map_err(|_| Stopped)
    }

    /// A connection from this process: the federate's end of a stream, to be used as any other connection.
    ///
    /// # Errors
    /// It has stopped, or the system gives no memory or descriptors.
    pub fn connect(&self) -> Result<Stream, ConnectError> {
        let (here, there) = Stream::pair(self.stream_capacity)?;
        self.mailbox.post(Command::Connect(there))?;
        Ok(here)
    }
}
