//! What other threads can do with an RTI that serves.

use std::sync::Arc;

use crate::mailbox::{Command, Mailbox};

/// Speaks to a [`Server`](crate::Server) from any thread, also before it runs.
#[derive(Clone, Debug)]
pub struct Stopper(pub(crate) Arc<Mailbox>);

impl Stopper {
    /// Ends it: [`run`](crate::Server::run) returns soon. Does nothing if it has.
    pub fn stop(&self) {
        // It has stopped already.
        let _ = self.0.post(Command::Stop);
    }
}
