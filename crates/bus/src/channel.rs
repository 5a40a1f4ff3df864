//! The pair of traits that every backend implements, and the errors of sending and receiving.

use std::io;

use hemiola_units::Instant;
use thiserror::Error;

use crate::Readiness;

/// The sending end of a channel. It never blocks.
pub trait Sender {
    /// Sends one message, at most as long as the channel's message size.
    ///
    /// # Errors
    /// See [`SendError`]. A refused message is not sent, and the channel continues to work.
    fn send(&mut self, message: &[u8]) -> Result<(), SendError>;

    /// Loads what sending needs into the caches without sending, for a task that wakes before its release.
    fn warm_up(&mut self) {}
}

/// The receiving end of a channel. Only [`wait`](Self::wait) and [`take`](Self::take) block.
pub trait Receiver {
    /// Takes the next message (queue) or the newest one not yet seen (latest) into the front of `buffer`; `None` if
    /// there is none.
    ///
    /// # Errors
    /// See [`ReceiveError`]. `buffer` must hold the channel's message size.
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError>;

    /// Waits for a message like [`wait`](Self::wait) and takes it like [`receive`](Self::receive); `None` if the time
    /// limit came first or the message was replaced meanwhile. With [`Instant::MAX`], a backend may do both in one
    /// system call.
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

    /// Sleeps until [`receive`](Self::receive) would return a message, or until `until`, an absolute time on
    /// `CLOCK_MONOTONIC`. With an instant in the past, it checks without sleeping.
    ///
    /// # Errors
    /// See [`ReceiveError`]. A signal is not an error and does not end the wait.
    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError>;

    /// Loads what receiving needs into the caches, without taking a message.
    fn warm_up(&mut self) {
        // The result does not matter now, and an error will occur again when it does.
        let _ = self.wait(Instant::ZERO);
    }
}

/// Why a message was not sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The queue is full: the receiver is slower than the sender. Drop the message or try again later.
    #[error("the queue is full")]
    Full,
    /// The message is longer than the channel allows.
    #[error("a message of {size} B does not fit a channel of {size_max} B messages")]
    Size {
        /// Bytes of the message.
        size: usize,
        /// The most bytes in a message of this channel.
        size_max: usize,
    },
    /// The operating system or the backend's library failed; the channel is not usable.
    #[error("sending failed: {0}")]
    Failed(#[source] io::Error),
}

/// Why a message could not be received.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The buffer could not hold every message of this channel: use a longer one.
    #[error("a buffer of {size} B is too short for a channel of {size_max} B messages")]
    Buffer {
        /// Bytes of the buffer.
        size: usize,
        /// The most bytes in a message of this channel.
        size_max: usize,
    },
    /// Every attempt met a write in progress, or the sender corrupted the channel. Receive again after the next
    /// message.
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
