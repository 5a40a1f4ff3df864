//! Shared memory: the newest value for any number of receivers, or a queue between two ends.
//!
//! The structures and their layout are those of [`hemiola_rt::shared`]; this module implements the traits for them.
//! The receivers of a latest channel map it read-only, except one that is alone and tells when it sleeps.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use hemiola_rt::shared::{
    Access, LATEST_SLOTS, LatestReader, LatestWriter, Message, PushError, QueueReader, QueueWriter,
    ReadError, Segment, SegmentError, SegmentKind,
};
use hemiola_rt::sys::futex;
use hemiola_units::{Delivery, Instant};

use crate::Readiness;
use crate::channel::{ReceiveError, Receiver, SendError, Sender, check_buffer, check_message};
use crate::open::{CreateError, End, Receivers, Spec};

/// A segment, kept by the creator of the channel.
#[derive(Debug)]
pub(crate) struct Memory {
    segment: Segment,
    read_only: Option<OwnedFd>,
}

impl Memory {
    pub(crate) fn create(spec: &Spec) -> Result<Self, CreateError> {
        let failed = |error: SegmentError| CreateError::Failed {
            endpoint: spec.endpoint.clone(),
            what: "shared memory failed".into(),
            source: io_error(error),
        };
        let label = format!("hemiola-{}-{}", spec.run, spec.endpoint.name());
        let (kind, count) = match spec.delivery {
            Delivery::Latest => (SegmentKind::Latest, LATEST_SLOTS),
            Delivery::Queue(length) => (SegmentKind::Queue, length.get()),
        };
        let segment = Segment::create(&label, kind, spec.message_size, count).map_err(failed)?;
        let read_only = match spec.delivery {
            Delivery::Latest => Some(segment.reopen_read_only().map_err(failed)?),
            Delivery::Queue(_) => None,
        };
        Ok(Self { segment, read_only })
    }

    pub(crate) fn renew(&self) {
        self.segment.renew();
    }

    pub(crate) fn descriptor(&self, end: End) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        match (end, &self.read_only) {
            (End::Receiver, Some(read_only)) => read_only.as_fd(),
            _ => self.segment.fd(),
        }
    }
}

/// Opens the sending end of a channel in the segment behind `descriptor`.
pub(crate) fn open_sender(
    descriptor: OwnedFd,
    spec: &Spec,
    receivers: Receivers,
) -> io::Result<Box<dyn Sender>> {
    let segment = Segment::from_fd(descriptor, Access::ReadWrite).map_err(io_error)?;
    let message_size = spec.message_size;
    Ok(match spec.delivery {
        Delivery::Latest => {
            let writer = match receivers {
                Receivers::Any => LatestWriter::attach(segment),
                Receivers::One | Receivers::OneThatTells => LatestWriter::attach_for_one(segment),
            };
            let writer = writer.map_err(io_error)?;
            Box::new(LatestSender { writer, message_size })
        }
        Delivery::Queue(_) => {
            let writer = QueueWriter::attach(segment).map_err(io_error)?;
            Box::new(QueueSender { writer, message_size })
        }
    })
}

/// Opens a receiving end of a channel in the segment behind `descriptor`.
pub(crate) fn open_receiver(
    descriptor: OwnedFd,
    spec: &Spec,
    receivers: Receivers,
) -> io::Result<Box<dyn Receiver>> {
    let message_size = spec.message_size;
    let attach = |access| Segment::from_fd(descriptor, access).map_err(io_error);
    Ok(match spec.delivery {
        Delivery::Latest => {
            let reader = match receivers {
                Receivers::Any | Receivers::One => LatestReader::attach(attach(Access::ReadOnly)?),
                Receivers::OneThatTells => LatestReader::attach_alone(attach(Access::ReadWrite)?),
            };
            let reader = reader.map_err(io_error)?;
            Box::new(LatestReceiver { reader, message_size })
        }
        Delivery::Queue(_) => {
            let reader = QueueReader::attach(attach(Access::ReadWrite)?).map_err(io_error)?;
            Box::new(QueueReceiver { reader, message_size })
        }
    })
}

fn io_error(error: SegmentError) -> io::Error {
    match error {
        SegmentError::System { source, .. } => source,
        other => io::Error::other(other),
    }
}

#[derive(Debug)]
struct LatestSender {
    writer: LatestWriter,
    message_size: usize,
}

impl Sender for LatestSender {
    fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        check_message(message, self.message_size)?;
        let published = self.writer.publish(message);
        published.map(drop).map_err(|error| SendError::Failed(io::Error::other(error)))
    }

    fn warm_up(&mut self) {
        rehearse_waking();
    }
}

#[derive(Debug)]
struct QueueSender {
    writer: QueueWriter,
    message_size: usize,
}

impl Sender for QueueSender {
    fn send(&mut self, message: &[u8]) -> Result<(), SendError> {
        check_message(message, self.message_size)?;
        self.writer.push(message).map_err(|error| match error {
            PushError::Full { .. } => SendError::Full,
            error => SendError::Failed(io::Error::other(error)),
        })
    }

    fn warm_up(&mut self) {
        rehearse_waking();
    }
}

#[derive(Debug)]
struct LatestReceiver {
    reader: LatestReader,
    message_size: usize,
}

impl Receiver for LatestReceiver {
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError> {
        check_buffer(buffer, self.message_size)?;
        let read = self.reader.read(buffer);
        message(read, buffer)
    }

    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError> {
        Ok(self.reader.wait(until))
    }
}

#[derive(Debug)]
struct QueueReceiver {
    reader: QueueReader,
    message_size: usize,
}

impl Receiver for QueueReceiver {
    fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReceiveError> {
        check_buffer(buffer, self.message_size)?;
        let popped = self.reader.pop(buffer);
        message(popped, buffer)
    }

    fn wait(&mut self, until: Instant) -> Result<Readiness, ReceiveError> {
        Ok(self.reader.wait(until))
    }
}

/// Runs the code that wakes a receiver, on a word that no thread waits on.
fn rehearse_waking() {
    futex::wake_all(&AtomicU32::new(0));
}

/// Converts the result of a read.
fn message(
    read: Result<Option<Message>, ReadError>,
    buffer: &[u8],
) -> Result<Option<&[u8]>, ReceiveError> {
    match read {
        Ok(message) => Ok(message.map(|message| &buffer[..message.length])),
        Err(ReadError::BufferTooShort { length, buffer }) => {
            Err(ReceiveError::Buffer { size: buffer, size_max: length })
        }
        // Torn by a faster writer, or damaged by a faulty one.
        Err(_) => Err(ReceiveError::Torn),
    }
}
