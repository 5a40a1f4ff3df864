//! What other threads can do with a running RTI.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use hemiola_rt::shared::Stream;
use hemiola_rti_server::Report;
use hemiola_units::Bytes;

use crate::error::{ConnectError, Stopped};
use crate::mailbox::{Command, Mailbox};

/// Controls a [`Server`](crate::Server) from any thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) stream_capacity: Bytes,
}

impl Stopper {
    /// Stops the server: [`run`](crate::Server::run) returns soon. Has no effect if it has already stopped.
    pub fn stop(&self) {
        let _ = self.mailbox.post(Command::Stop);
    }

    /// Returns a report. Blocks until the server [runs](crate::Server::run).
    ///
    /// # Errors
    /// The server has stopped, or stops before it replies.
    pub fn status(&self) -> Result<Report, Stopped> {
        let (sender, receiver) = sync_channel(1);
        self.mailbox.post(Command::Report(sender))?;
        receiver.recv().map_err(|_| Stopped)
    }

    /// Opens a connection within this process. Returns the federate's end of a stream.
    ///
    /// # Errors
    /// The server has stopped, or the system lacks memory or descriptors.
    pub fn connect(&self) -> Result<Stream, ConnectError> {
        let (here, there) = Stream::pair(self.stream_capacity)?;
        self.mailbox.post(Command::Connect(there))?;
        Ok(here)
    }
}
