//! What carries the bytes of a connection: a socket, or a stream in shared memory.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use hemiola_rt::shared::{Stream, StreamEnded, Urgency, Wake};
use hemiola_rt::sys::retry;

/// What carries bytes both ways. Nothing here blocks.
#[derive(Debug)]
pub(crate) enum Link {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A socket of this machine, before it has asked for a stream.
    Local(UnixStream),
    /// A stream in shared memory.
    Stream {
        /// The stream.
        stream: Stream,
        /// The socket it was asked for with; closed if the other process is gone. None for one inside this process.
        _socket: Option<UnixStream>,
        /// That socket was closed at the other end.
        is_abandoned: bool,
    },
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// So many bytes, and perhaps there are more.
    Bytes(usize),
    /// So many bytes, perhaps none; more will be told of.
    Last(usize),
    /// The other side has closed it.
    Closed,
}

impl Link {
    /// What tells of bytes and of room.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Local(socket) => socket.as_fd(),
            Self::Stream { stream, .. } => stream.bell(),
        }
    }

    /// Takes what came. An error means that nothing will come any more.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<Taken> {
        match self {
            Self::Tcp(socket) => read_socket(socket, into),
            Self::Local(socket) => read_socket(socket, into),
            Self::Stream { stream, is_abandoned, .. } => match stream.read(into) {
                Ok(0) if *is_abandoned => Ok(Taken::Closed),
                Ok(len) if len < into.len() && !*is_abandoned => Ok(Taken::Last(len)),
                Ok(len) => Ok(Taken::Bytes(len)),
                Err(StreamEnded::Closed) => Ok(Taken::Closed),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }

    /// Gives bytes; says how many there was room for. An error means that there will be no room any more.
    pub(crate) fn write(&mut self, bytes: &[u8], urgency: Urgency) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => write_socket(socket, bytes),
            Self::Local(socket) => write_socket(socket, bytes),
            Self::Stream { stream, .. } => loop {
                match stream.write(bytes, urgency) {
                    // Room may have come since: then the bell does not ring for it.
                    Ok(0) if !stream.wants_room() => {}
                    Ok(len) => return Ok(len),
                    Err(error) => return Err(io::Error::new(ErrorKind::BrokenPipe, error)),
                }
            },
        }
    }

    /// Tells the other side that its bytes have come. A client that leaves Nagle's algorithm on sends no further frame
    /// before it knows, and where nothing is answered the kernel would tell it 40 ms later (tcp(7), `TCP_QUICKACK`).
    pub(crate) fn acknowledge(&self) {
        if let Self::Tcp(socket) = self {
            // Where this does not work the client waits, no more.
            let _ = rustix::net::sockopt::set_tcp_quickack(socket, true);
        }
    }

    /// Has it to be told that its reader will sleep? Sockets always tell of what comes.
    pub(crate) const fn is_silent(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }

    /// From now on it tells of what comes; `false` if there is something already.
    pub(crate) fn sleep(&mut self) -> bool {
        match self {
            Self::Stream { stream, .. } => stream.sleep(Wake::Any),
            Self::Tcp(_) | Self::Local(_) => true,
        }
    }

    /// Nothing more will be written.
    pub(crate) fn finish(&mut self) {
        // If the other side is gone already, that is no news.
        match self {
            Self::Tcp(socket) => drop(socket.shutdown(Shutdown::Write)),
            Self::Local(socket) => drop(socket.shutdown(Shutdown::Write)),
            Self::Stream { stream, .. } => stream.close(),
        }
    }
}

fn read_socket(mut socket: impl Read, into: &mut [u8]) -> io::Result<Taken> {
    match retry(|| socket.read(into)) {
        Ok(0) => Ok(Taken::Closed),
        // Of a stream, less than was asked for means that there is no more now: epoll(7).
        Ok(len) if len < into.len() => Ok(Taken::Last(len)),
        Ok(len) => Ok(Taken::Bytes(len)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Taken::Last(0)),
        Err(error) => Err(error),
    }
}

fn write_socket(mut socket: impl Write, bytes: &[u8]) -> io::Result<usize> {
    match retry(|| socket.write(bytes)) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}
