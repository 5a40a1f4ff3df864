//! What can be wrong with a file that is read.

use thiserror::Error;

/// The most errors kept; reading goes on after them in silence.
pub const ERRORS_MAX: usize = 100;

/// Why part of a file could not be read; everything else was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file ends within a packet: its writer was stopped. All packets before were read.
    #[error("the trace breaks off in the packet at byte {offset}")]
    Truncated {
        /// Where the packet begins.
        offset: usize,
    },
    /// This is no Perfetto trace from here on.
    #[error("no packet begins at byte {offset}")]
    NoPacket {
        /// Where a packet should begin.
        offset: usize,
    },
    /// The packet is malformed; it was left out.
    #[error("the packet at byte {offset} is malformed: {reason}")]
    Packet {
        /// Where the packet begins.
        offset: usize,
        /// What the decoder says.
        reason: String,
    },
    /// An event of ours lacks something; it was left out.
    #[error("the event at byte {offset} has no {missing}")]
    Event {
        /// Where its packet begins.
        offset: usize,
        /// What it lacks.
        missing: &'static str,
    },
    /// The file is empty: its writer wrote nothing, or was stopped before it did.
    #[error("the file is empty: nothing was recorded, or its writer was stopped before it wrote")]
    Empty,
    /// The file cannot be read on: the disk or the descriptor refuses.
    #[error("reading at byte {offset} failed: {reason}")]
    Io {
        /// Where reading stopped.
        offset: usize,
        /// What the system says.
        reason: String,
    },
    /// The file is of a kind or has a part that is not read, and what to do about it.
    #[error("at byte {offset}: {what}")]
    Unsupported {
        /// Where the part begins.
        offset: usize,
        /// What it is, and what to do.
        what: String,
    },
    /// A part of the file contradicts its own format; it was left out.
    #[error("at byte {offset}: {reason}")]
    Malformed {
        /// Where the part begins.
        offset: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The clock of a processor went back; until it was where it had been, what happened is left out, as a gap.
    #[error(
        "the clock of processor {cpu} steps back by {back_ns} ns in the part at byte {offset}: \
         what follows is left out until the clock is where it was, and counts as lost"
    )]
    ClockStep {
        /// The processor.
        cpu: u16,
        /// Where the part begins in which it first did.
        offset: usize,
        /// By how much.
        back_ns: u64,
    },
}

/// Errors that are collected, [`ERRORS_MAX`] at most.
#[derive(Debug, Default)]
pub(crate) struct Errors(pub(crate) Vec<ReadError>);

impl Errors {
    pub(crate) fn push(&mut self, error: ReadError) {
        if self.0.len() < ERRORS_MAX {
            self.0.push(error);
        }
    }
}
