//! Where connections come in.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

use hemiola_rt::sys::epoll::Epoll;
use hemiola_rt::sys::local;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::link::Link;
use crate::token::{LEVEL, Token};

/// What stands before the name of an RTI in the abstract name space of Unix sockets.
pub const LOCAL_PREFIX: &str = "hemiola-rti/";

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
    /// For federates and status, on this machine.
    Local {
        /// The listener.
        listener: UnixListener,
        /// The name it is found by.
        name: String,
    },
    /// For metrics, over HTTP.
    Metrics {
        /// The listener.
        listener: TcpListener,
        /// Its address.
        address: SocketAddr,
    },
}

/// Somebody who came in.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) link: Link,
    /// Who it is, for people.
    pub(crate) peer: String,
    /// Its process, if that is on this machine and known.
    pub(crate) process: Option<OwnedFd>,
}

impl Door {
    pub(crate) fn tcp(address: SocketAddr) -> io::Result<Self> {
        let (listener, address) = listen(address)?;
        Ok(Self::Tcp { listener, address })
    }

    pub(crate) fn metrics(address: SocketAddr) -> io::Result<Self> {
        let (listener, address) = listen(address)?;
        Ok(Self::Metrics { listener, address })
    }

    pub(crate) fn local(name: &str) -> io::Result<Self> {
        let listener = local::listen(&format!("{LOCAL_PREFIX}{name}"))?;
        listener.set_nonblocking(true)?;
        Ok(Self::Local { listener, name: name.into() })
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp { listener, .. } | Self::Metrics { listener, .. } => listener.as_fd(),
            Self::Local { listener, .. } => listener.as_fd(),
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

    /// Takes the next connection.
    pub(crate) fn accept(&self) -> io::Result<Guest> {
        match self {
            Self::Tcp { listener, .. } => accept(listener, "tcp"),
            Self::Metrics { listener, .. } => accept(listener, "http"),
            Self::Local { listener, name } => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                let who = local::peer(&socket)?;
                if who.uid != local::own_uid() && who.uid != 0 {
                    let text = format!("user {} may not use the RTI of another user", who.uid);
                    return Err(io::Error::new(ErrorKind::PermissionDenied, text));
                }
                let pid = i32::try_from(who.pid).ok().and_then(Pid::from_raw);
                // Without it the end of the process is noticed by that of the socket.
                let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                let peer = format!("shm:{name} (pid {})", who.pid);
                Ok(Guest { link: Link::Local(socket), peer, process })
            }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn accept(listener: &TcpListener, scheme: &str) -> io::Result<Guest> {
    let (socket, peer) = listener.accept()?;
    socket.set_nonblocking(true)?;
    // Each turn of the loop writes once; nothing is gained by waiting for more.
    socket.set_nodelay(true)?;
    Ok(Guest { link: Link::Tcp(socket), peer: format!("{scheme}:{peer}"), process: None })
}
