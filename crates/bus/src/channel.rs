//! What a channel is: the pair of traits every backend has, and how sending and receiving fail.

use std::io;

use hemiola_units::Instant;
use thiserror::Error;

/// The sending end of a channel. It never blocks.
pub trait Sender {
    /// Sends one message, at most as long as the channel's message size.
    ///
    /// # Errors
    /// See [`SendError`]; a message that was refused was not sent, and the channel goes on working.
    fn send(&mut self, message: &[u8]) -> Result<(), SendError>;

    /// Brings what sending needs into the caches, as far as that can be done without sending: for whoever
    /// is awake before it is time.
    fn warm_up(&mut self) {}
}

/// The receiving end of a channel. Only [`wait`](Self::wait) and [`take`](Self::take) block.
pub trait Receiver {
    /// Takes the next message (queue) or the newest one not yet seen (latest) into the front of
    /// `buffer`; nothing when there is none.
    ///
    /// # Errors
    /// See [`ReceiveError`]. `buffer` must hold the channel's message size.
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError>;

    /// Waits for a message as [`wait`](Self::wait) does and takes it as [`receive`](Self::receive) does;
    /// nothing when the time came first, or the message was gone again. With [`Instant::MAX`] a backend
    /// may do both in one system call.
    ///
    /// # Errors
    /// See [`ReceiveError`].
    fn take<'b>(
        &mut self,
        buffer: &'b mut [u8],
        until: Instant,
    ) -> Result<Option<&'b [u8]>, ReceiveError> {
        match self.wait(until)? {
            Readiness::Ready => self.receive(buffer),
            Readiness::TimedOut => Ok(None),
        }
    }

    /// Sleeps until [`receive`](Self::receive) would give a message, or until `until`, an absolute
    /// time on `CLOCK_MONOTONIC`; an instant in the past asks without sleeping.
    ///
    /// # Errors
    /// See [`ReceiveError`]; a signal is not an error, the wait goes on.
    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError>;

    /// Brings what receiving needs into the caches, taking nothing out.
    fn warm_up(&mut self) {
        // Whether it is ready is of no interest now, and an error shows again when it matters.
        let _ = self.wait(Instant::ZERO);
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// There is a message to receive.
    Ready,
    /// The time came first.
    TimedOut,
}

/// A message that was not sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The queue is full: the receiver is slower than the sender. Drop the message or try later.
    #[error("the queue is full")]
    Full,
    /// The message is longer than the channel was made for.
    #[error("a message of {size} B does not fit a channel of {size_max} B messages")]
    Size {
        /// Bytes of the message.
        size: usize,
        /// Most bytes a message of this channel may have.
        size_max: usize,
    },
    /// The operating system or the backend's library failed; the channel is not usable.
    #[error("sending failed: {0}")]
    Failed(#[source] io::Error),
}

/// A message that could not be received.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The buffer could not hold every message of this channel: give a longer one.
    #[error("a buffer of {size} B is too short for a channel of {size_max} B messages")]
    Buffer {
        /// Bytes of the buffer.
        size: usize,
        /// Most bytes a message of this channel may have.
        size_max: usize,
    },
    /// Every attempt met a write in progress, or the sender corrupted the channel. Receive again
    /// after the next message.
    #[error("the message changed while it was read")]
    Torn,
    /// The operating system or the backend's library failed; the channel is not usable.
    #[error("receiving failed: {0}")]
    Failed(#[source] io::Error),
}

/// Refuses a message longer than `size_max`.
pub(crate) fn check_message(message: &[u8], size_max: usize) -> Result<(), SendError> {
    let size = message.len();
    if size <= size_max { Ok(()) } else { Err(SendError::Size { size, size_max }) }
}

/// Refuses a buffer shorter than `size_max`.
pub(crate) fn check_buffer(buffer: &[u8], size_max: usize) -> Result<(), ReceiveError> {
    let size = buffer.len();
    if size >= size_max { Ok(()) } else { Err(ReceiveError::Buffer { size, size_max }) }
}
