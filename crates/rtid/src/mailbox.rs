//! Commands from other threads to the one that serves.

use std::io;
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use hemiola_rt::shared::Stream;
use hemiola_rt::sys::eventfd::EventFd;
use hemiola_rti::{Image, Prepared, SessionId, StorageId};
use hemiola_rti_server::{Lane, LostReports, Report, SpoolChunk};

use crate::error::Stopped;

#[derive(Debug)]
pub(crate) enum Command {
    /// Stop serving.
    Stop,
    /// Take a connection over this stream, whose other end is in this process.
    Connect(Stream),
    /// Send a report.
    Report(SyncSender<Report>),
    /// Carry out the call of this session, whose object model has been merged; or the message of a panic.
    Prepared(Lane, SessionId, Result<Prepared, String>),
    /// Something that was given away has been dropped.
    Discarded,
    /// A part of a session's spool has been written to its file, or not, with the reason.
    Stored(SessionId, u64, Result<(), String>),
    /// A part of a session's spool has been read, or not, with the reason.
    Loaded(SessionId, u64, Result<SpoolChunk, String>),
    /// An image has been stored, or not, with the reason.
    ImageStored(StorageId, Result<(), String>),
    /// An image has been read, or not, with the reason.
    ImageLoaded(StorageId, Result<Image, String>),
    /// Service reports have been written to their files, or some are lost.
    ReportsAppended(Result<(), LostReports>),
}

/// Takes commands until it is closed, and signals each through an event counter.
#[derive(Debug)]
pub(crate) struct Mailbox {
    counter: EventFd,
    /// `None` once it is closed.
    commands: Mutex<Option<Vec<Command>>>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { counter: EventFd::new()?, commands: Mutex::new(Some(Vec::new())) })
    }

    /// Adds a command.
    pub(crate) fn post(&self, command: Command) -> Result<(), Stopped> {
        self.post_then(command, || self.counter.ring())
    }

    /// Adds a command and then rings. The lock is free again when it rings: the thread that serves may have a higher
    /// priority and must not wait for it.
    fn post_then(&self, command: Command, ring: impl FnOnce()) -> Result<(), Stopped> {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.as_mut().ok_or(Stopped)?.push(command);
        drop(commands);
        ring();
        Ok(())
    }

    /// The event counter, readable while there are commands.
    pub(crate) const fn counter(&self) -> &EventFd {
        &self.counter
    }

    /// Takes all commands and resets the counter.
    pub(crate) fn take(&self) -> Vec<Command> {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        self.counter.silence();
        commands.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes no further commands and drops the remaining ones.
    pub(crate) fn close(&self) {
        *self.commands.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_free_when_the_counter_is_rung() {
        let mailbox = Mailbox::new().unwrap();
        let posted = mailbox.post_then(Command::Stop, || {
            let commands = mailbox.commands.try_lock().expect("the lock is free");
            assert_eq!(commands.as_ref().map(Vec::len), Some(1), "the command is there");
        });
        assert_eq!(posted, Ok(()));
    }
}
