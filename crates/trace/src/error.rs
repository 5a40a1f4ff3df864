//! Problems in files that are read.

use thiserror::Error;

use crate::missing::Missing;

/// The most errors kept; reading continues after them without reports.
pub const ERRORS_MAX: usize = 100;

/// Why part of a file could not be read. Everything else was read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file ends within a packet, because its writer was stopped. All packets before it were read.
    #[error("the trace ends within the packet at byte {offset}")]
    Truncated {
        /// Where the packet begins.
        offset: usize,
    },
    /// From here on, the file is not a Perfetto trace.
    #[error("no packet begins at byte {offset}")]
    NoPacket {
        /// Where a packet should begin.
        offset: usize,
    },
    /// The packet is malformed and was skipped.
    #[error("the packet at byte {offset} is malformed: {reason}")]
    Packet {
        /// Where the packet begins.
        offset: usize,
        /// The decoder's error.
        reason: String,
    },
    /// A packet differs from its checksum, or has none in a file whose other packets have one. It was left out, and the
    /// place counts as a gap.
    #[error("the packet at byte {offset} differs from its checksum and was left out")]
    Checksum {
        /// Where the packet begins.
        offset: usize,
    },
    /// A recording of Hemiola has no closing record. Everything up to its end was read.
    #[error(
        "the recording was not closed: it is still running, or its recorder was killed, so up to 0.1 s may be missing \
         at the end"
    )]
    Unfinished,
    /// The recorder of Hemiola could not record everything, and wrote so into the file.
    #[error("{}", .what.sentence(*.count))]
    Missing {
        /// The missing part.
        what: Missing,
        /// How many.
        count: u64,
    },
    /// An event of Hemiola lacks a field and was skipped.
    #[error("the event at byte {offset} has no {missing}")]
    Event {
        /// Where its packet begins.
        offset: usize,
        /// The missing field.
        missing: &'static str,
    },
    /// Track events of another program could not be placed in the recording.
    #[error("track events left out: {events} ({reason})")]
    LeftOut {
        /// How many.
        events: u64,
        /// The reason, and where the first one is.
        reason: String,
    },
    /// The file is empty: its writer wrote nothing, or was stopped first.
    #[error("the file is empty: nothing was recorded, or its writer was stopped before it wrote")]
    Empty,
    /// The file cannot be read further: the disk or the descriptor failed.
    #[error("reading at byte {offset} failed: {reason}")]
    Io {
        /// Where reading stopped.
        offset: usize,
        /// The system's error.
        reason: String,
    },
    /// The file or a part of it is of an unsupported kind; the message says what to do.
    #[error("at byte {offset}: {what}")]
    Unsupported {
        /// Where the part begins.
        offset: usize,
        /// The unsupported feature, and the remedy.
        what: String,
    },
    /// A part of the file contradicts its own format and was skipped.
    #[error("at byte {offset}: {reason}")]
    Malformed {
        /// Where the part begins.
        offset: usize,
        /// The reason.
        reason: String,
    },
    /// The clock of a processor went back. Events are skipped, and counted as lost, until the clock has caught up.
    #[error(
        "the clock of processor {cpu} steps back by {back_ns} ns in the part at byte {offset}: \
         later events are skipped and counted as lost until the clock has caught up"
    )]
    ClockStep {
        /// The processor.
        cpu: u16,
        /// The offset of the part in which it first did.
        offset: usize,
        /// The size of the step.
        back_ns: u64,
    },
}

/// Collected errors, at most [`ERRORS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Errors(pub(crate) Vec<ReadError>);

impl Errors {
    pub(crate) fn push(&mut self, error: ReadError) {
        if self.0.len() < ERRORS_MAX {
            self.0.push(error);
        }
    }
}
