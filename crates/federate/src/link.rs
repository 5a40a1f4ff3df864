//! The connection that carries a session: opened, read, written and waited for without blocking anywhere but in one
//! place.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;

use hemiola_units::{RtiAddress, Span};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::time::Timespec;

use crate::error::Error;

/// Where a connection leads.
#[derive(Debug)]
enum Route {
    /// Several addresses of one host.
    Tcp(Vec<SocketAddr>),
}

#[derive(Debug)]
enum State {
    Closed,
    /// A connection is being made to the address of this index.
    Connecting(TcpStream, usize),
    Tcp(TcpStream),
}

/// How far the opening of a connection is.
#[derive(Debug)]
pub(crate) enum Opening {
    UnderWay,
    Open,
    Failed(io::Error),
}

/// The peer has gone, or the connection broke.
#[derive(Debug)]
pub(crate) struct Broken;

pub(crate) struct Link {
    route: Route,
    epoll: OwnedFd,
    state: State,
    /// There may be something to read; `false` only if all has been read.
    readable: bool,
    /// The peer will send no more: what can be read ends.
    ending: bool,
    /// There may be room to write.
    writable: bool,
    /// Rung by other threads.
    bell: OwnedFd,
    rung: bool,
}

const CONNECTION: u64 = 0;
const BELL: u64 = 1;

impl Link {
    /// A way to an RTI, not opened yet.
    pub(crate) fn to(address: &RtiAddress) -> Result<Self, Error> {
        let unreachable = |reason: String| Error::Unreachable { address: address.clone(), reason };
        let route = match address {
            RtiAddress::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs();
                let found = found.map_err(|error| unreachable(error.to_string()))?;
                let found: Vec<SocketAddr> = found.collect();
                if found.is_empty() {
                    return Err(unreachable("the host has no address".into()));
                }
                Route::Tcp(found)
            }
            RtiAddress::SharedMemory(_) => return Err(unreachable("no shared memory".into())),
        };
        Self::new(route)
    }

    fn new(route: Route) -> Result<Self, Error> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Error::system("epoll_create1", error))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::system("eventfd", error))?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), flags)
            .map_err(|error| Error::system("epoll_ctl", error))?;
        let state = State::Closed;
        Ok(Self {
            route,
            epoll,
            state,
            readable: false,
            ending: false,
            writable: false,
            bell,
            rung: false,
        })
    }

    /// What other threads ring to wake this one.
    pub(crate) fn bell(&self) -> io::Result<OwnedFd> {
        self.bell.try_clone()
    }

    /// Was it rung since the last time?
    pub(crate) fn take_rung(&mut self) -> bool {
        std::mem::take(&mut self.rung)
    }

    pub(crate) const fn is_rung(&self) -> bool {
        self.rung
    }

    pub(crate) const fn is_readable(&self) -> bool {
        self.readable
    }

    pub(crate) fn close(&mut self) {
        self.state = State::Closed;
        (self.readable, self.ending, self.writable) = (false, false, false);
    }

    /// Begins to open a connection.
    pub(crate) fn open(&mut self) -> Opening {
        self.close();
        match &self.route {
            Route::Tcp(_) => self.dial(0),
        }
    }

    fn dial(&mut self, index: usize) -> Opening {
        let Route::Tcp(addresses) = &self.route;
        match begin(addresses[index]) {
            Ok(socket) => match self.watch(&socket) {
                Ok(()) => {
                    self.state = State::Connecting(socket, index);
                    Opening::UnderWay
                }
                Err(error) => Opening::Failed(error.into()),
            },
            Err(_) if index + 1 < addresses.len() => self.dial(index + 1),
            Err(error) => Opening::Failed(error.into()),
        }
    }

    fn watch(&self, source: impl std::os::fd::AsFd) -> Result<(), Errno> {
        use epoll::EventFlags;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, source, epoll::EventData::new_u64(CONNECTION), flags)
    }

    /// Goes on with opening, after it was waited.
    pub(crate) fn go_on(&mut self) -> Option<Opening> {
        if !self.writable && !self.ending {
            return matches!(self.state, State::Connecting(..)).then_some(Opening::UnderWay);
        }
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Connecting(socket, index) => match sockopt::socket_error(&socket) {
                Ok(Ok(())) => {
                    self.state = State::Tcp(socket);
                    Some(Opening::Open)
                }
                Ok(Err(error)) | Err(error) => {
                    drop(socket);
                    self.close();
                    let Route::Tcp(addresses) = &self.route;
                    Some(if index + 1 < addresses.len() {
                        self.dial(index + 1)
                    } else {
                        Opening::Failed(error.into())
                    })
                }
            },
            state => {
                self.state = state;
                None
            }
        }
    }

    /// Reads what is there; 0 when there is nothing now.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        let State::Tcp(socket) = &mut self.state else {
            self.readable = false;
            return Ok(0);
        };
        loop {
            return match socket.read(buffer) {
                Ok(0) => Err(Broken),
                Ok(len) => {
                    // Less than there was room for: that was all, and what comes later is told.
                    self.readable = len == buffer.len() || self.ending;
                    Ok(len)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    Ok(0)
                }
                Err(_) => Err(Broken),
            };
        }
    }

    /// Writes what there is room for; 0 when there is none now.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let State::Tcp(socket) = &mut self.state else { return Ok(0) };
        if !self.writable {
            return Ok(0);
        }
        loop {
            return match socket.write(bytes) {
                Ok(len) => Ok(len),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.writable = false;
                    Ok(0)
                }
                Err(_) => Err(Broken),
            };
        }
    }

    /// Sleeps until something happens, at most so long. The one place that blocks.
    pub(crate) fn sleep(&mut self, at_most: Span) -> Result<(), Error> {
        let mut events = [const { std::mem::MaybeUninit::uninit() }; 4];
        let timeout = (at_most < Span::MAX).then(|| timespec(at_most));
        let (events, _) = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok(events) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(Error::system("epoll_wait", error)),
        };
        for event in events {
            let (flags, data) = (event.flags, event.data);
            if data.u64() == BELL {
                self.rung = true;
                continue;
            }
            use epoll::EventFlags;
            self.readable |= flags != EventFlags::OUT;
            self.ending |= flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
            self.writable |= flags.contains(EventFlags::OUT);
        }
        Ok(())
    }
}

fn timespec(span: Span) -> Timespec {
    const SECOND: i64 = 1_000_000_000;
    let nanos = span.nanos().max(0);
    Timespec { tv_sec: nanos / SECOND, tv_nsec: nanos % SECOND }
}

/// A connection that is being made.
fn begin(address: SocketAddr) -> Result<TcpStream, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error),
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("state", &self.state).finish_non_exhaustive()
    }
}
