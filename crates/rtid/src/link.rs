//! What carries the bytes of a connection: a TCP connection, or a stream in shared memory.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// What carries bytes both ways. Nothing here blocks.
#[derive(Debug)]
pub(crate) enum Link {
    /// A TCP connection.
    Tcp(TcpStream),
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
    /// Takes what came. An error means that nothing will come any more.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<Taken> {
        match self {
            Self::Tcp(stream) => match retry(|| stream.read(into)) {
                Ok(0) => Ok(Taken::Closed),
                // Of a stream, less than was asked for means that there is no more now: epoll(7).
                Ok(len) if len < into.len() => Ok(Taken::Last(len)),
                Ok(len) => Ok(Taken::Bytes(len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Taken::Last(0)),
                Err(error) => Err(error),
            },
        }
    }

    /// Gives bytes; says how many there was room for. An error means that there will be no room any more.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => match retry(|| stream.write(bytes)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
                written => written,
            },
        }
    }

    /// Nothing more will be written.
    pub(crate) fn finish(&mut self) {
        match self {
            // If the other side is gone already, that is no news.
            Self::Tcp(stream) => drop(stream.shutdown(std::net::Shutdown::Write)),
        }
    }
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
