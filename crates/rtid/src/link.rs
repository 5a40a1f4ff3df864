//! A link carries the bytes of a connection: a socket, or a stream in shared memory. No operation blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use hemiola_rt::shared::{self, Stream, StreamEnded, Wake};
use hemiola_rt::sys::retry;
use hemiola_rti_server::{Received, Urgency};

/// The carrier of a connection's bytes, in both directions.
#[derive(Debug)]
pub(crate) enum Link {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A local socket, before it has requested a stream.
    Local(UnixStream),
    /// A stream in shared memory.
    Stream {
        /// The stream.
        stream: Stream,
        /// The socket over which it was requested; the peer's process is gone when it is closed. `None` within this
        /// process.
        _socket: Option<UnixStream>,
        /// Whether the peer has closed that socket.
        is_abandoned: bool,
    },
}

impl Link {
    /// The descriptor that reports bytes and room.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Local(socket) => socket.as_fd(),
            Self::Stream { stream, .. } => stream.bell(),
        }
    }

    /// Reads received bytes. After an error, nothing more can be read.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<Received> {
        match self {
            Self::Tcp(socket) => read_socket(socket, into),
            Self::Local(socket) => read_socket(socket, into),
            Self::Stream { stream, is_abandoned, .. } => match stream.read(into) {
                Ok(0) if *is_abandoned => Ok(Received::Closed),
                Ok(len) if len < into.len() && !*is_abandoned => Ok(Received::AllUnarmed(len)),
                Ok(len) => Ok(Received::Some(len)),
                Err(StreamEnded::Closed) => Ok(Received::Closed),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }

    /// Writes bytes and returns how many there was room for. After an error, nothing more can be written.
    pub(crate) fn write(&mut self, bytes: &[u8], urgency: Urgency) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => write_socket(socket, bytes),
            Self::Local(socket) => write_socket(socket, bytes),
            Self::Stream { stream, .. } => {
                let urgency = match urgency {
                    Urgency::Lazy => shared::Urgency::Lazy,
                    Urgency::Urgent => shared::Urgency::Urgent,
                };
                let broken = |error| io::Error::new(ErrorKind::BrokenPipe, error);
                let len = stream.write(bytes, urgency).map_err(broken)?;
                if len > 0 || stream.wants_room() {
                    return Ok(len);
                }
                // Room has appeared since, and the peer does not announce it. An honest peer never takes room back; a
                // hostile one must not keep this end in a loop.
                match stream.write(bytes, urgency).map_err(broken)? {
                    0 => Err(io::Error::other("the peer takes room back")),
                    len => Ok(len),
                }
            }
        }
    }

    /// Acknowledges received bytes at once.
    pub(crate) fn acknowledge(&self) {
        if let Self::Tcp(socket) = self {
            // If this fails, the client waits a little longer.
            let _ = rustix::net::sockopt::set_tcp_quickack(socket, true);
        }
    }

    /// Whether any event of its descriptor may mean room for writing.
    pub(crate) const fn is_stream(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }

    /// From now on the peer announces what it writes; `false` if it has already written something.
    pub(crate) fn arm(&mut self) -> bool {
        match self {
            Self::Stream { stream, .. } => stream.sleep(Wake::Any),
            Self::Tcp(_) | Self::Local(_) => true,
        }
    }

    /// Whether the peer has written something, or closed its end.
    pub(crate) fn has_input(&self) -> bool {
        match self {
            Self::Stream { stream, is_abandoned, .. } => *is_abandoned || stream.has_input(),
            Self::Tcp(_) | Self::Local(_) => true,
        }
    }

    /// Announces that nothing more will be written.
    pub(crate) fn finish(&mut self) {
        // If the peer is already gone, there is nobody to inform.
        match self {
            Self::Tcp(socket) => drop(socket.shutdown(Shutdown::Write)),
            Self::Local(socket) => drop(socket.shutdown(Shutdown::Write)),
            Self::Stream { stream, .. } => stream.close(),
        }
    }
}

fn read_socket(mut socket: impl Read, into: &mut [u8]) -> io::Result<Received> {
    match retry(|| socket.read(into)) {
        Ok(0) => Ok(Received::Closed),
        // A short read from a stream socket means that nothing more has arrived: epoll(7).
        Ok(len) if len < into.len() => Ok(Received::All(len)),
        Ok(len) => Ok(Received::Some(len)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Received::All(0)),
        Err(error) => Err(error),
    }
}

fn write_socket(mut socket: impl Write, bytes: &[u8]) -> io::Result<usize> {
    match retry(|| socket.write(bytes)) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}
