//! What other threads want of the one that serves.

use std::io;
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use hemiola_rt::shared::Stream;
use hemiola_rt::sys::eventfd::EventFd;
use hemiola_rti::{Prepared, SessionId};

use crate::error::Stopped;
use crate::report::Report;

/// What a thread may want.
#[derive(Debug)]
pub(crate) enum Command {
    /// The end.
    Stop,
    /// A connection over this stream, the other end of which is in this process.
    Connect(Stream),
    /// A report.
    Report(SyncSender<Report>),
    /// The call of this session to go on, whose modules were read.
    Prepared(SessionId, Prepared),
}

/// Takes commands until it is closed; rings for each.
#[derive(Debug)]
pub(crate) struct Mailbox {
    bell: EventFd,
    /// `None` when nobody will look any more.
    commands: Mutex<Option<Vec<Command>>>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { bell: EventFd::new()?, commands: Mutex::new(Some(Vec::new())) })
    }

    /// Leaves a command.
    pub(crate) fn post(&self, command: Command) -> Result<(), Stopped> {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.as_mut().ok_or(Stopped)?.push(command);
        self.bell.ring();
        Ok(())
    }

    /// Rings for commands; to be watched as long as there is something to read.
    pub(crate) const fn bell(&self) -> &EventFd {
        &self.bell
    }

    /// Takes all commands, and ends the ringing.
    pub(crate) fn take(&self) -> Vec<Command> {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        self.bell.silence();
        commands.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes no commands any more; those that nobody has looked at are dropped.
    pub(crate) fn close(&self) {
        *self.commands.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
