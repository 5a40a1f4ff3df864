//! Messages in shared memory: the latest value for request and answer, a queue for a stream.

use std::io;
use std::os::fd::OwnedFd;

use hemiola_rt::shared::{
    Access, LatestReader, LatestWriter, QueueReader, QueueWriter, Segment, SegmentKind,
};
use hemiola_units::Instant;

use super::{Link, Mechanism, spin};

pub(super) struct Memory {
    writer: Writer,
    reader: Reader,
    waiting: Waiting,
}

enum Writer {
    Newest(LatestWriter),
    Queue(QueueWriter),
}

enum Reader {
    Newest(LatestReader),
    Queue(QueueReader),
}

#[derive(Clone, Copy)]
enum Waiting {
    Yield,
    Sleep,
    Spin,
}

impl Memory {
    pub(super) fn open(mechanism: &Mechanism, out: OwnedFd, back: OwnedFd) -> io::Result<Self> {
        let open =
            |descriptor| Segment::from_fd(descriptor, Access::ReadWrite).map_err(io::Error::other);
        let (out, back) = (open(out)?, open(back)?);
        let waiting = match mechanism {
            Mechanism::Yield => Waiting::Yield,
            Mechanism::Spin => Waiting::Spin,
            _ => Waiting::Sleep,
        };
        let (writer, reader) = if out.kind() == SegmentKind::Latest {
            let writer = LatestWriter::attach(out).map_err(io::Error::other)?;
            let reader = LatestReader::attach(back).map_err(io::Error::other)?;
            (Writer::Newest(writer), Reader::Newest(reader))
        } else {
            let writer = QueueWriter::attach(out).map_err(io::Error::other)?;
            let reader = QueueReader::attach(back).map_err(io::Error::other)?;
            (Writer::Queue(writer), Reader::Queue(reader))
        };
        Ok(Self { writer, reader, waiting })
    }
}

impl Reader {
    /// Takes the next message, if there is a new one.
    fn take(&mut self, message: &mut [u8]) -> io::Result<bool> {
        let read = match self {
            Self::Newest(reader) => reader.read(message),
            Self::Queue(reader) => reader.pop(message),
        };
        read.map(|read| read.is_some()).map_err(io::Error::other)
    }

    fn wait(&self) {
        let _ = match self {
            Self::Newest(reader) => reader.wait(Instant::MAX),
            Self::Queue(reader) => reader.wait(Instant::MAX),
        };
    }
}

impl Link for Memory {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match (&mut self.writer, self.waiting) {
            (Writer::Newest(writer), Waiting::Sleep) => {
                writer.publish(message).map(drop).map_err(io::Error::other)
            }
            (Writer::Newest(writer), _) => {
                writer.publish_quiet(message).map(drop).map_err(io::Error::other)
            }
            (Writer::Queue(writer), Waiting::Sleep) => {
                writer.push(message).map_err(io::Error::other)
            }
            (Writer::Queue(writer), _) => writer.push_quiet(message).map_err(io::Error::other),
        }
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        match self.waiting {
            Waiting::Spin => spin(|| self.reader.take(message)),
            Waiting::Yield => loop {
                rustix::thread::sched_yield();
                if self.reader.take(message)? {
                    return Ok(());
                }
            },
            Waiting::Sleep => loop {
                self.reader.wait();
                if self.reader.take(message)? {
                    return Ok(());
                }
            },
        }
    }
}
