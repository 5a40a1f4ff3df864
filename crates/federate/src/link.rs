//! The connection that carries a session: opened, read, written and waited for without blocking anywhere but in one
//! place.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use hemiola_rt::shared::{Stream, Urgency, Wake};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_rt::sys::eventfd::EventFd;
use hemiola_rt::sys::{local, retry};
use hemiola_units::{Instant, RtiAddress};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::error::Error;

/// Where a connection leads.
enum Route {
    /// Several addresses of one host.
    Tcp(Vec<SocketAddr>),
    /// The name of a socket that hands out shared memory.
    SharedMemory(String),
    /// A stream that was given, until it is used.
    Given(Option<Box<Stream>>),
}

enum State {
    Closed,
    /// A connection is being made to the address of this index.
    Connecting(TcpStream, usize),
    /// Shared memory has been asked for.
    Asking(UnixStream),
    Tcp(TcpStream),
    /// With the socket that tells of the death of the peer: it is watched, and used for nothing else.
    Shared {
        stream: Box<Stream>,
        _socket: Option<UnixStream>,
    },
}

/// How far the opening of a connection is.
#[derive(Debug)]
pub(crate) enum Opening {
    UnderWay,
    Open,
    /// It may be tried again.
    Failed(io::Error),
    /// It will never be possible again.
    Gone(io::Error),
}

/// The peer has gone, or the connection broke.
#[derive(Debug)]
pub(crate) struct Broken;

pub(crate) struct Link {
    route: Route,
    state: State,
    epoll: Epoll,
    events: Events,
    /// There may be something to read; `false` only if all has been read.
    readable: bool,
    /// The peer will send no more: what can be read ends.
    ending: bool,
    /// There may be room to write, as far as a socket tells.
    writable: bool,
    /// Rung by other threads.
    bell: EventFd,
    rung: bool,
}

const CONNECTION: u64 = 0;
const DOORBELL: u64 = 1;
const BELL: u64 = 2;

/// What asks for a session over shared memory, and the answer that comes with its parts.
const ASK: &[u8] = b"session 1\n";
const ANSWER: &[u8] = b"ok\n";

impl Link {
    /// A way to an RTI, not opened yet.
    pub(crate) fn to(address: &RtiAddress) -> Result<Self, Error> {
        Self::new(match address {
            RtiAddress::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs();
                let found: Vec<SocketAddr> = found.map(Iterator::collect).map_err(|error| {
                    Error::Unreachable { address: address.clone(), reason: error.to_string() }
                })?;
                Route::Tcp(found)
            }
            RtiAddress::SharedMemory(name) => Route::SharedMemory(RtiAddress::socket_name(name)),
        })
    }

    /// A stream whose other end an RTI has.
    pub(crate) fn over(stream: Stream) -> Result<Self, Error> {
        Self::new(Route::Given(Some(Box::new(stream))))
    }

    fn new(route: Route) -> Result<Self, Error> {
        let epoll = Epoll::new().map_err(|error| Error::system("epoll_create1", error))?;
        let bell = EventFd::new().map_err(|error| Error::system("eventfd", error))?;
        epoll
            .add(&bell, BELL, EventFlags::IN | EventFlags::ET)
            .map_err(|error| Error::system("epoll_ctl", error))?;
        Ok(Self {
            route,
            state: State::Closed,
            epoll,
            events: Events::with_capacity(4),
            readable: false,
            ending: false,
            writable: false,
            bell,
            rung: false,
        })
    }

    /// What other threads ring to wake this one.
    pub(crate) fn bell(&self) -> io::Result<EventFd> {
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
        let opened = match &mut self.route {
            Route::Tcp(_) => return self.dial(0),
            Route::SharedMemory(name) => ask(name).map(|socket| (State::Asking(socket), false)),
            Route::Given(given) => match given.take() {
                Some(stream) => Ok((State::Shared { stream, _socket: None }, true)),
                None => {
                    let error = "a stream that was given cannot be opened again";
                    return Opening::Gone(io::Error::new(io::ErrorKind::NotConnected, error));
                }
            },
        };
        match opened.and_then(|(state, is_open)| self.enter(state).map(|()| is_open)) {
            Ok(true) => Opening::Open,
            Ok(false) => Opening::UnderWay,
            // The name is there as long as the RTI that has it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Opening::Gone(error),
            Err(error) => Opening::Failed(error),
        }
    }

    fn dial(&mut self, mut index: usize) -> Opening {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        while let Route::Tcp(addresses) = &self.route
            && let Some(address) = addresses.get(index)
        {
            match begin(*address).and_then(|socket| self.enter(State::Connecting(socket, index))) {
                Ok(()) => return Opening::UnderWay,
                Err(error) => failed = error,
            }
            index += 1;
        }
        Opening::Failed(failed)
    }

    /// Watches what a state waits for.
    fn enter(&mut self, state: State) -> io::Result<()> {
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match &state {
            State::Connecting(socket, _) => self.epoll.add(socket, CONNECTION, both)?,
            State::Asking(socket) => self.epoll.add(socket, CONNECTION, both)?,
            // The socket is watched already.
            State::Shared { stream, .. } => {
                self.epoll.add(stream.bell(), DOORBELL, EventFlags::IN | EventFlags::ET)?;
                self.readable = true;
            }
            State::Closed | State::Tcp(_) => {}
        }
        self.state = state;
        Ok(())
    }

    /// Goes on with opening, after it was waited; `None` if there is nothing to open.
    pub(crate) fn go_on(&mut self) -> Option<Opening> {
        match &self.state {
            State::Connecting(socket, index) => {
                if !self.writable && !self.ending {
                    return Some(Opening::UnderWay);
                }
                let (socket_error, index) = (sockopt::socket_error(socket), *index);
                let State::Connecting(socket, _) =
                    std::mem::replace(&mut self.state, State::Closed)
                else {
                    unreachable!("it is connecting");
                };
                if let Ok(Err(error)) | Err(error) = socket_error {
                    drop(socket);
                    self.close();
                    return Some(match self.dial(index + 1) {
                        // The last that was tried is the one to tell of.
                        Opening::Failed(_) => Opening::Failed(error.into()),
                        opening => opening,
                    });
                }
                self.state = State::Tcp(socket);
                Some(Opening::Open)
            }
            State::Asking(socket) => {
                if !self.readable && !self.ending {
                    return Some(Opening::UnderWay);
                }
                let taken = match take(socket) {
                    Ok(None) => {
                        self.readable = false;
                        return Some(Opening::UnderWay);
                    }
                    Ok(Some(stream)) => Ok(stream),
                    Err(error) => Err(error),
                };
                let State::Asking(socket) = std::mem::replace(&mut self.state, State::Closed)
                else {
                    unreachable!("it is asking");
                };
                let entered = taken.and_then(|stream| {
                    self.enter(State::Shared { stream: Box::new(stream), _socket: Some(socket) })
                });
                Some(match entered {
                    Ok(()) => Opening::Open,
                    Err(error) => {
                        self.close();
                        self.hung_up(error)
                    }
                })
            }
            State::Closed | State::Tcp(_) | State::Shared { .. } => None,
        }
    }

    /// The RTI has hung up before it gave a stream. If it was about to die it is gone by now, for it took the listener
    /// with it that had let this one in.
    fn hung_up(&self, error: io::Error) -> Opening {
        let Route::SharedMemory(name) = &self.route else { return Opening::Failed(error) };
        match ask(name) {
            Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
                Opening::Gone(refused)
            }
            _ => Opening::Failed(error),
        }
    }

    /// Reads what is there; 0 when there is nothing now.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        match &mut self.state {
            State::Tcp(socket) => match retry(|| socket.read(buffer)) {
                Ok(0) => Err(Broken),
                Ok(len) => {
                    // Less than there was room for: that was all, and what comes later is told.
                    self.readable = len == buffer.len() || self.ending;
                    Ok(len)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    Ok(0)
                }
                Err(_) => Err(Broken),
            },
            State::Shared { stream, .. } => match stream.read(buffer) {
                Ok(0) if self.ending => Err(Broken),
                Ok(len) => {
                    self.readable = len == buffer.len() || self.ending;
                    Ok(len)
                }
                Err(_) => Err(Broken),
            },
            State::Closed | State::Connecting(..) | State::Asking(_) => {
                self.readable = false;
                Ok(0)
            }
        }
    }

    /// Writes what there is room for; 0 when there is none now.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        match &mut self.state {
            State::Tcp(_) if !self.writable => Ok(0),
            State::Tcp(socket) => match retry(|| socket.write(bytes)) {
                Ok(len) => Ok(len),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.writable = false;
                    Ok(0)
                }
                Err(_) => Err(Broken),
            },
            State::Shared { stream, .. } => {
                stream.write(bytes, Urgency::Urgent).map_err(|_| Broken)
            }
            State::Closed | State::Connecting(..) | State::Asking(_) => Ok(0),
        }
    }

    /// Sleeps until something happens, at most until an instant. The one place that blocks. `is_full`: there is more to
    /// write than there was room for.
    pub(crate) fn sleep(&mut self, until: Instant, wake: Wake, is_full: bool) -> Result<(), Error> {
        if let State::Shared { stream, .. } = &mut self.state {
            if !stream.sleep(wake) {
                self.readable = true;
                return Ok(());
            }
            if is_full && !stream.wants_room() {
                return Ok(());
            }
        }
        let waited = self.epoll.wait(&mut self.events, until);
        waited.map_err(|error| Error::system("epoll_pwait2", error))?;
        for event in self.events.iter() {
            match event.token {
                BELL => self.rung = true,
                DOORBELL => self.readable = true,
                _ => {
                    let ends = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                    self.readable |= event.flags.intersects(ends | EventFlags::IN);
                    self.ending |= event.flags.intersects(ends);
                    self.writable |= event.flags.contains(EventFlags::OUT);
                }
            }
        }
        Ok(())
    }
}

/// A connection that is being made.
fn begin(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Asks for shared memory.
fn ask(name: &str) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::UNIX)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    // Anybody may listen under a name that is free.
    let owner = local::peer(&socket)?.uid;
    if owner != 0 && owner != local::own_uid() {
        let error = format!("it belongs to user {owner}, who is neither you nor root");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, error));
    }
    if local::send_with(&socket, ASK, &[])? != ASK.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(socket.into())
}

/// Takes the shared memory that was asked for, if it has come.
fn take(socket: impl AsFd) -> io::Result<Option<Stream>> {
    let (mut bytes, mut parts) = ([0; 64], Vec::new());
    let len = match local::receive_with(socket, &mut bytes, &mut parts) {
        Ok(len) => len,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error),
    };
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    match <[OwnedFd; 3]>::try_from(parts) {
        Ok(parts) if &bytes[..len] == ANSWER => {
            Stream::accept(parts).map(Some).map_err(|error| invalid(error.to_string()))
        }
        _ if len == 0 => Err(invalid("it gives no shared memory".into())),
        _ => Err(invalid(format!("it answers {}", bytes[..len].escape_ascii()))),
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Closed => "closed",
            State::Connecting(..) | State::Asking(_) => "opening",
            State::Tcp(_) => "TCP",
            State::Shared { .. } => "shared memory",
        })
    }
}
