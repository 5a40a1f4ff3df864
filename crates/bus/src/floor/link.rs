//! The two ways of a ping-pong, for each mechanism.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use hemiola_rt::shared::{
    Access, Kind, LATEST_SLOTS, LatestReader, LatestWriter, Segment, SegmentError,
};
use hemiola_rt::sys::{descriptor::duplicate, mqueue};
use hemiola_units::{Delivery, Endpoint, Instant};
use rustix::fs::{OFlags, fcntl_setfl};
use serde::{Deserialize, Serialize};

use super::{FloorError, MESSAGE_SIZE, Mechanism};
use crate::{
    Channel, Handle, ReceiveError, Receiver, SendError, Sender, Spec, open_receiver, open_sender,
};

/// One process's way to the other and back.
pub(crate) trait Link {
    /// Sends, waking the other.
    fn send(&mut self, message: &[u8; MESSAGE_SIZE]) -> io::Result<()>;
    /// Sleeps until there is a message and takes it.
    fn receive(&mut self) -> io::Result<[u8; MESSAGE_SIZE]>;
}

/// What the measuring process keeps while the two play: each mechanism's way down and way up.
pub(super) enum Object {
    Memory([Segment; 2], Mechanism),
    Pipes([(PipeReader, PipeWriter); 2]),
    Queues([OwnedFd; 2]),
    Channels([Channel; 2], #[expect(dead_code, reason = "swept last")] [Run; 2]),
    PubSub(Run),
}

/// What a process needs to open its link.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Description {
    /// Descriptors of the segments, down and up, and whether to yield rather than sleep.
    Memory([i32; 2], bool),
    /// Descriptors to read and write, down and up.
    Pipes([(i32, i32); 2]),
    /// Descriptors of the queues, down and up.
    Queues([i32; 2]),
    /// Channels down and up.
    Channels([Handle; 2]),
    /// The run of the services.
    PubSub(String),
}

/// A run name of this measurement's own, swept afterwards.
pub(super) struct Run(String);

impl Run {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("f{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // What cannot be removed now is the next sweep's.
        #[cfg(feature = "pubsub")]
        let _ = crate::pubsub::sweep(&self.0);
    }
}

impl Object {
    pub(super) fn create(mechanism: &Mechanism) -> Result<Self, FloorError> {
        Ok(match mechanism {
            Mechanism::Yield | Mechanism::Futex => {
                let make =
                    || Segment::create("hemiola-floor", Kind::Latest, MESSAGE_SIZE, LATEST_SLOTS);
                Self::Memory([make().map_err(system)?, make().map_err(system)?], mechanism.clone())
            }
            Mechanism::Pipe => Self::Pipes([io::pipe()?, io::pipe()?]),
            Mechanism::MessageQueue => {
                let run = Run::new();
                let make = |way: &str| {
                    mqueue::create(&format!("/hemiola-{}-{way}", run.0), 1, MESSAGE_SIZE)
                        .map(|ends| ends.sender)
                };
                let queues = [make("down")?, make("up")?];
                for queue in &queues {
                    // Blocking, which is the cheapest way to wait.
                    fcntl_setfl(queue, OFlags::RDWR).map_err(io::Error::from)?;
                }
                Self::Queues(queues)
            }
            Mechanism::PubSub if cfg!(feature = "pubsub") => Self::PubSub(Run::new()),
            Mechanism::PubSub => return Err(FloorError::NotBuilt),
            Mechanism::Channel { endpoint, delivery } => {
                let runs = [Run::new(), Run::new()];
                let make = |run: &Run| channel(endpoint, *delivery, run);
                Self::Channels([make(&runs[0])?, make(&runs[1])?], runs)
            }
        })
    }

    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Memory(segments, _) => segments.iter().map(Segment::fd).collect(),
            Self::Pipes(pipes) => {
                pipes.iter().flat_map(|(read, write)| [read.as_fd(), write.as_fd()]).collect()
            }
            Self::Queues(queues) => queues.iter().map(AsFd::as_fd).collect(),
            Self::Channels(channels, _) => channels.iter().flat_map(Channel::descriptors).collect(),
            Self::PubSub(_) => Vec::new(),
        }
    }

    pub(super) fn description(&self) -> Description {
        match self {
            Self::Memory(segments, mechanism) => Description::Memory(
                segments.each_ref().map(|segment| segment.fd().as_raw_fd()),
                *mechanism == Mechanism::Yield,
            ),
            Self::Pipes(pipes) => Description::Pipes(
                pipes.each_ref().map(|(read, write)| (read.as_raw_fd(), write.as_raw_fd())),
            ),
            Self::Queues(queues) => Description::Queues(queues.each_ref().map(AsRawFd::as_raw_fd)),
            Self::Channels(channels, _) => {
                Description::Channels(channels.each_ref().map(Channel::handle))
            }
            Self::PubSub(run) => Description::PubSub(run.0.clone()),
        }
    }
}

fn channel(endpoint: &Endpoint, delivery: Delivery, run: &Run) -> Result<Channel, FloorError> {
    let (endpoint, run) = (endpoint.clone(), run.0.clone());
    Ok(Channel::create(&Spec { endpoint, delivery, message_size: MESSAGE_SIZE, run })?)
}

fn system(error: SegmentError) -> io::Error {
    io::Error::other(error)
}

impl Description {
    pub(super) fn open(&self, near: bool) -> Result<Box<dyn Link>, FloorError> {
        // The way out and the way in, as indices of [down, up].
        let (out, back) = if near { (0, 1) } else { (1, 0) };
        Ok(match self {
            Self::Memory(segments, yielding) => {
                let segment = |way: usize| {
                    let fd = duplicate(segments[way])?;
                    Segment::from_fd(fd, Access::ReadWrite).map_err(system)
                };
                let writer = LatestWriter::attach(segment(out)?).map_err(system)?;
                let reader = LatestReader::attach(segment(back)?).map_err(system)?;
                if *yielding {
                    Box::new(Yielding { writer, reader })
                } else {
                    Box::new(Sleeping { writer, reader })
                }
            }
            Self::Pipes(pipes) => Box::new(Piped {
                writer: File::from(duplicate(pipes[out].1)?),
                reader: File::from(duplicate(pipes[back].0)?),
            }),
            Self::Queues(queues) => {
                Box::new(Queued { out: duplicate(queues[out])?, back: duplicate(queues[back])? })
            }
            Self::Channels(handles) => Box::new(Channelled {
                receiver: open_receiver(&handles[back])?,
                sender: open_sender(&handles[out])?,
            }),
            #[cfg(feature = "pubsub")]
            Self::PubSub(run) => {
                let ways = ["down", "up"];
                Box::new(crate::pubsub::Raw::open(run, ways[out], ways[back])?)
            }
            #[cfg(not(feature = "pubsub"))]
            Self::PubSub(_) => return Err(FloorError::NotBuilt),
        })
    }
}

/// Takes what `reader` has, if it has something new.
fn take(reader: &mut LatestReader) -> io::Result<Option<[u8; MESSAGE_SIZE]>> {
    let mut message = [0; MESSAGE_SIZE];
    let read = reader.read(&mut message).map_err(io::Error::other)?;
    Ok(read.map(|_| message))
}

struct Yielding {
    writer: LatestWriter,
    reader: LatestReader,
}

impl Link for Yielding {
    fn send(&mut self, message: &[u8; MESSAGE_SIZE]) -> io::Result<()> {
        self.writer.publish_quiet(message).map(drop).map_err(io::Error::other)
    }

    fn receive(&mut self) -> io::Result<[u8; MESSAGE_SIZE]> {
        loop {
            rustix::thread::sched_yield();
            if let Some(message) = take(&mut self.reader)? {
                return Ok(message);
            }
        }
    }
}

struct Sleeping {
    writer: LatestWriter,
    reader: LatestReader,
}

impl Link for Sleeping {
    fn send(&mut self, message: &[u8; MESSAGE_SIZE]) -> io::Result<()> {
        self.writer.publish(message).map(drop).map_err(io::Error::other)
    }

    fn receive(&mut self) -> io::Result<[u8; MESSAGE_SIZE]> {
        loop {
            let _ = self.reader.wait(Instant::MAX);
            if let Some(message) = take(&mut self.reader)? {
                return Ok(message);
            }
        }
    }
}

struct Piped {
    writer: File,
    reader: File,
}

impl Link for Piped {
    fn send(&mut self, message: &[u8; MESSAGE_SIZE]) -> io::Result<()> {
        // So short a write is one call and whole (pipe(7), PIPE_BUF).
        self.writer.write_all(message)
    }

    fn receive(&mut self) -> io::Result<[u8; MESSAGE_SIZE]> {
        let mut message = [0; MESSAGE_SIZE];
        self.reader.read_exact(&mut message).map(|()| message)
    }
}

struct Queued {
    out: OwnedFd,
    back: OwnedFd,
}

impl Link for Queued {
    fn send(&mut self, message: &[u8; MESSAGE_SIZE]) -> io::Result<()> {
        mqueue::send(self.out.as_fd(), message)
    }

    fn receive(&mut self) -> io::Result<[u8; MESSAGE_SIZE]> {
        let mut message = [0; MESSAGE_SIZE];
        mqueue::wait_receive(self.back.as_fd(), &mut message).map(|_| message)
    }
}

struct Channelled {
    sender: Box<dyn Sender>,
    receiver: Box<dyn Receiver>,
}

impl Link for Channelled {
    fn send(&mut self, message: &[u8; MESSAGE_SIZE]) -> io::Result<()> {
        self.sender.send(message).map_err(|error: SendError| io::Error::other(error))
    }

    fn receive(&mut self) -> io::Result<[u8; MESSAGE_SIZE]> {
        let other = |error: ReceiveError| io::Error::other(error);
        let mut message = [0; MESSAGE_SIZE];
        loop {
            self.receiver.wait(Instant::MAX).map_err(other)?;
            if self.receiver.receive(&mut message).map_err(other)?.is_some() {
                return Ok(message);
            }
        }
    }
}
