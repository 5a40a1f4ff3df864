//! A federate's end of a connection of any kind, with blocking reads that time out.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

use hemiola_rt::shared::{Stream, StreamEnded, Urgency, Wake};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_rt::sys::local;
use hemiola_rtid::{LOCAL_PREFIX, Stopper};
use hemiola_units::Span;

use crate::peer::{TIMEOUT, now};

/// The address of an RTI.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Local(String),
    Inside(Stopper),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<&Self> for Address {
    fn from(address: &Self) -> Self {
        address.clone()
    }
}

#[derive(Debug)]
pub(crate) enum Carrier {
    Tcp(TcpStream),
    Stream { stream: Stream, epoll: Epoll, _socket: Option<UnixStream> },
}

impl Carrier {
    pub(crate) fn connect(address: &Address) -> Self {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(TIMEOUT)).unwrap();
                Self::Tcp(stream)
            }
            Address::Local(name) => {
                let socket = ask(name, "session 1\n");
                let (mut line, mut descriptors) = ([0; 16], Vec::new());
                let len = local::receive_with(&socket, &mut line, &mut descriptors).unwrap();
                assert_eq!(&line[..len], b"ok\n");
                Self::over(Stream::accept(descriptors.try_into().unwrap()).unwrap(), Some(socket))
            }
            Address::Inside(stopper) => Self::over(stopper.connect().unwrap(), None),
        }
    }

    fn over(stream: Stream, socket: Option<UnixStream>) -> Self {
        let epoll = Epoll::new().unwrap();
        epoll.add(stream.bell(), 0, EventFlags::IN | EventFlags::ET).unwrap();
        Self::Stream { stream, epoll, _socket: socket }
    }

    /// Waits for bytes; an empty result means the end of the connection.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Stream { stream, epoll, .. } => loop {
                match stream.read(into) {
                    Ok(0) => {}
                    Ok(len) => return Ok(len),
                    Err(StreamEnded::Closed) => return Ok(0),
                    Err(error) => return Err(io::Error::other(error)),
                }
                if stream.sleep(Wake::Any) {
                    wait(epoll)?;
                }
            },
        }
    }

    /// Writes all bytes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Stream { stream, epoll, .. } => {
                while !bytes.is_empty() {
                    let len = stream.write(bytes, Urgency::Urgent).map_err(io::Error::other)?;
                    bytes = &bytes[len..];
                    if len == 0 && stream.wants_room() {
                        wait(epoll)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Sends a line to the local socket of an RTI.
pub(crate) fn ask(name: &str, line: &str) -> UnixStream {
    let mut socket = local::connect(&format!("{LOCAL_PREFIX}{name}")).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.write_all(line.as_bytes()).unwrap();
    socket
}

fn wait(epoll: &Epoll) -> io::Result<()> {
    let mut events = Events::with_capacity(1);
    epoll.wait(&mut events, now() + Span::from_nanos(TIMEOUT.as_nanos() as i64))?;
    if events.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
}
