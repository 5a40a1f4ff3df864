//! Where connections come in.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use hemiola_rt::sys::epoll::Epoll;

use crate::link::Link;
use crate::token::{LEVEL, Token};

/// A listener.
#[derive(Debug)]
pub(crate) enum Door {
    /// For federates, over TCP.
    Tcp {
        /// The listener.
        listener: TcpListener,
        /// Its address.
        address: SocketAddr,
    },
}

impl Door {
    pub(crate) fn tcp(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self::Tcp { listener, address })
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp { listener, .. } => listener.as_fd(),
        }
    }

    /// Tells of connections from now on, as the one of this place.
    pub(crate) fn open(&self, epoll: &Epoll, place: u64) -> io::Result<()> {
        epoll.add(self.descriptor(), Token::Listener(place).to_data(), LEVEL)
    }

    /// Tells of connections no more, until it is opened again.
    pub(crate) fn shut(&self, epoll: &Epoll) -> io::Result<()> {
        epoll.remove(self.descriptor())
    }

    /// Takes the next connection, and says who it is.
    pub(crate) fn accept(&self) -> io::Result<(Link, String)> {
        match self {
            Self::Tcp { listener, .. } => {
                let (stream, peer) = listener.accept()?;
                stream.set_nonblocking(true)?;
                // Each turn of the loop writes once; nothing is gained by waiting for more.
                stream.set_nodelay(true)?;
                Ok((Link::Tcp(stream), format!("tcp:{peer}")))
            }
        }
    }
}

impl Link {
    /// What tells of bytes and of room.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}
