//! The queue of a manager in shared memory: the end that a universe sends with.

use std::os::fd::OwnedFd;

use hemiola_rt::shared::{PushError, QueueWriter, Segment, SegmentError, SegmentKind};
use hemiola_world::{Enlistment, Outbox};

/// The sending end.
#[derive(Debug)]
pub(super) struct Queue {
    writer: QueueWriter,
    /// The damage that its last use found.
    damage: Option<PushError>,
}

impl Queue {
    /// A new queue, and the descriptor for the manager.
    pub(super) fn create(enlistment: &Enlistment) -> Result<(Self, OwnedFd), String> {
        let failed = |error: SegmentError| format!("the queue cannot be made: {error}");
        let (len, messages) = (enlistment.format.len_max(), enlistment.messages);
        let segment = Segment::create("hemiola-manager", SegmentKind::Queue, len, messages);
        let segment = segment.map_err(failed)?;
        let fd = segment.fd().try_clone_to_owned();
        let fd = fd.map_err(|error| format!("the queue cannot be shared: {error}"))?;
        let writer = QueueWriter::attach(segment).map_err(failed)?;
        Ok((Self { writer, damage: None }, fd))
    }

    /// Wakes the manager to see that it has ended.
    pub(super) fn wake_to_end(&self) {
        self.writer.wake();
    }
}

impl Outbox for Queue {
    fn room(&mut self) -> Result<u32, String> {
        match self.damage {
            Some(damage) => Err(damage.to_string()),
            None => self.writer.room().map_err(|error| error.to_string()),
        }
    }

    fn send(&mut self, message: &[u8]) {
        // There was room when the step began, so only a manager that wrote another count can be the reason.
        if let Err(damage) = self.writer.push_quiet(message) {
            self.damage = Some(damage);
        }
    }

    fn wake(&mut self) {
        self.writer.wake();
    }
}
