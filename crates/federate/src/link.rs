//! The connection that carries a session. Only [`Link::sleep`] blocks.

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

/// The target of a connection.
enum Route {
    /// The addresses of one host.
    Tcp(Vec<SocketAddr>),
    /// The name of the socket that hands out shared memory.
    SharedMemory(String),
    /// A given stream, until it is used.
    Given(Option<Box<Stream>>),
}

enum State {
    Closed,
    /// A connection to the address with this index is being opened.
    Connecting(TcpStream, usize),
    /// Shared memory has been requested.
    Asking(UnixStream),
    Tcp(TcpStream),
    /// A stream in shared memory. The socket is only watched: it closes when the peer dies.
    Shared {
        stream: Box<Stream>,
        _socket: Option<UnixStream>,
    },
}

/// The progress of opening a connection.
#[derive(Debug)]
pub(crate) enum Opening {
    UnderWay,
    Open,
    /// The attempt failed; it may be repeated.
    Failed(io::Error),
    /// The target no longer exists.
    Gone(io::Error),
}

/// The peer closed the connection, or it broke.
#[derive(Debug)]
pub(crate) struct Broken;

pub(crate) struct Link {
    route: Route,
    state: State,
    epoll: Epoll,
    events: Events,
    /// Whether there may be something to read; `false` only if everything has been read.
    readable: bool,
    /// Whether the peer has closed its side.
    ending: bool,
    /// Whether a socket may have room to write.
    writable: bool,
    /// An eventfd with which other threads wake this one, and whether they did.
    bell: EventFd,
    rung: bool,
}

const CONNECTION: u64 = 0;
const DOORBELL: u64 = Stream::BELL_TOKEN;
const BELL: u64 = 2;

/// The request for shared memory, and the answer that carries its descriptors.
const ASK: &[u8] = b"session 1\n";
const ANSWER: &[u8] = b"ok\n";

impl Link {
    /// Creates a link to an RTI without opening it.
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

    /// Creates a link over a stream to an RTI.
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

    /// Returns a handle with which other threads wake this one.
    pub(crate) fn bell(&self) -> io::Result<EventFd> {
        self.bell.try_clone()
    }

    /// Whether another thread has rung since the last call.
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
                    let error = "a given stream cannot be opened again";
                    return Opening::Gone(io::Error::new(io::ErrorKind::NotConnected, error));
                }
            },
        };
        match opened.and_then(|(state, is_open)| self.enter(state).map(|()| is_open)) {
            Ok(true) => Opening::Open,
            Ok(false) => Opening::UnderWay,
            // The name exists as long as the RTI does.
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

    /// Watches the descriptor of a state.
    fn enter(&mut self, state: State) -> io::Result<()> {
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match &state {
            State::Connecting(socket, _) => self.epoll.add(socket, CONNECTION, both)?,
            State::Asking(socket) => self.epoll.add(socket, CONNECTION, both)?,
            State::Shared { stream, _socket: Some(socket) } => {
                let set = stream.set()?;
                set.add(&self.bell, BELL, EventFlags::IN | EventFlags::ET)?;
                set.add(socket, CONNECTION, both)?;
                self.epoll = set;
                self.readable = true;
            }
            State::Shared { stream, _socket: None } => {
                self.epoll.add(stream.bell(), DOORBELL, EventFlags::IN | EventFlags::ET)?;
                self.readable = true;
            }
            State::Closed | State::Tcp(_) => {}
        }
        self.state = state;
        Ok(())
    }

    /// Continues to open the connection after a wait; `None` if nothing is being opened.
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
                        // Reports the error of the last address.
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

    /// Handles an RTI that closed the socket before it sent a stream. If the RTI died, its listener is gone, too.
    fn hung_up(&self, error: io::Error) -> Opening {
        let Route::SharedMemory(name) = &self.route else { return Opening::Failed(error) };
        match ask(name) {
            Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
                Opening::Gone(refused)
            }
            _ => Opening::Failed(error),
        }
    }

    /// Reads available bytes; 0 if there are none now.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        match &mut self.state {
            State::Tcp(socket) => match retry(|| socket.read(buffer)) {
                Ok(0) => Err(Broken),
                Ok(len) => {
                    // A short read has taken everything; epoll reports bytes that arrive later.
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

    /// Writes as many bytes as there is room for; 0 if there is none now.
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

    /// Sleeps until something happens or the deadline passes. Only this function blocks. `is_full` means that more
    /// waits to be written than there was room for.
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

/// Starts to open a connection.
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

/// Requests shared memory.
fn ask(name: &str) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::UNIX)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    // Any user may listen under a free name.
    let owner = local::peer(&socket)?.uid;
    if owner != 0 && owner != local::own_uid() {
        let error = format!("the socket belongs to user {owner}, not to you or root");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, error));
    }
    if local::send_with(&socket, ASK, &[])? != ASK.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(socket.into())
}

/// Receives the requested shared memory, if it has arrived.
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
