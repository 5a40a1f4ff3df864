//! Listeners: where connections arrive.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

use hemiola_rt::sys::epoll::Epoll;
use hemiola_rt::sys::local;
use hemiola_rti_server::{Origin, Peer, PeerAddress};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::link::Link;
use crate::token::{ONCE, Token};

/// The prefix of an RTI's name in the abstract name space of Unix sockets.
pub const LOCAL_PREFIX: &str = "hemiola-rti/";

/// A listener.
#[derive(Debug)]
pub(crate) enum Listener {
    /// For federates, over TCP.
    Tcp {
        /// The socket.
        listener: TcpListener,
        /// Its address.
        address: SocketAddr,
    },
    /// For federates and commands on this machine.
    Local {
        /// The socket.
        listener: UnixListener,
        /// Its name.
        name: String,
    },
}

/// An accepted connection.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) link: Link,
    pub(crate) peer: Peer,
    /// The peer's process, if it is on this machine and known.
    pub(crate) process: Option<OwnedFd>,
}

impl Listener {
    pub(crate) fn tcp(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self::Tcp { listener, address })
    }

    pub(crate) fn local(name: &str) -> io::Result<Self> {
        let listener = local::listen(&format!("{LOCAL_PREFIX}{name}"))?;
        listener.set_nonblocking(true)?;
        Ok(Self::Local { listener, name: name.into() })
    }

    /// The kind of its connections.
    pub(crate) const fn origin(&self) -> Origin {
        match self {
            Self::Tcp { .. } => Origin::Federate,
            Self::Local { .. } => Origin::Local,
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp { listener, .. } => listener.as_fd(),
            Self::Local { listener, .. } => listener.as_fd(),
        }
    }

    /// Reports each arrival of connections from now on, under this number.
    pub(crate) fn watch(&self, epoll: &Epoll, place: u64) -> io::Result<()> {
        epoll.add(self.descriptor(), Token::Listener(place).to_data(), ONCE)
    }

    /// Accepts the next connection.
    pub(crate) fn accept(&self) -> io::Result<Incoming> {
        match self {
            Self::Tcp { listener, .. } => {
                let (socket, peer) = listener.accept()?;
                socket.set_nonblocking(true)?;
                // Each turn of the loop writes once, so there is nothing to gain from coalescing.
                socket.set_nodelay(true)?;
                let peer =
                    Peer { address: PeerAddress::host(peer.ip()), name: format!("tcp:{peer}") };
                Ok(Incoming { link: Link::Tcp(socket), peer, process: None })
            }
            Self::Local { listener, name } => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                let who = local::peer(&socket)?;
                if who.uid != local::own_uid() && who.uid != 0 {
                    let text = format!("user {} may not use another user's RTI", who.uid);
                    return Err(io::Error::new(ErrorKind::PermissionDenied, text));
                }
                let pid = i32::try_from(who.pid).ok().and_then(Pid::from_raw);
                // Without it, the end of the process is noticed by the end of the socket.
                let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                let peer = Peer {
                    address: PeerAddress::User(who.uid),
                    name: format!("shm:{name} (pid {})", who.pid),
                };
                Ok(Incoming { link: Link::Local(socket), peer, process })
            }
        }
    }
}
