//! Links between two threads over each of the channels that the suite compares.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use hemiola_rt::shared::{Stream, Urgency, Wake};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_units::{Bytes, Instant};

/// What a link consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Pipe,
    Unix,
    Tcp,
    /// A stream in shared memory.
    Shared,
}

impl Channel {
    pub(crate) const ALL: [Self; 4] = [Self::Pipe, Self::Unix, Self::Tcp, Self::Shared];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Unix => "Unix socket",
            Self::Tcp => "TCP",
            Self::Shared => "shared memory",
        }
    }

    /// Both ends of a new link.
    pub(crate) fn pair(self) -> (Link, Link) {
        match self {
            Self::Pipe => {
                let [(here, there), (from_there, from_here)] =
                    [pipe().expect("descriptors are left"), pipe().expect("descriptors are left")];
                (Link::Pipe(here, from_here), Link::Pipe(from_there, there))
            }
            Self::Unix => {
                let (one, two) = UnixStream::pair().expect("descriptors are left");
                (Link::Unix(one), Link::Unix(two))
            }
            Self::Tcp => {
                let (one, two) = tcp();
                (Link::Tcp(one), Link::Tcp(two))
            }
            Self::Shared => {
                let (one, two) = Stream::pair(RING).expect("memory is left");
                (Link::shared(one), Link::shared(two))
            }
        }
    }
}

/// Bytes each way of a stream in shared memory.
const RING: Bytes = Bytes(1 << 20);

/// A connection on the loopback interface that sends at once.
pub(crate) fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is left");
    let address = listener.local_addr().expect("it is bound");
    let one = TcpStream::connect(address).expect("it listens");
    let (two, _) = listener.accept().expect("one connected");
    for stream in [&one, &two] {
        stream.set_nodelay(true).expect("it is a TCP socket");
    }
    (one, two)
}

/// One end of a link.
pub(crate) enum Link {
    Pipe(PipeReader, PipeWriter),
    Unix(UnixStream),
    Tcp(TcpStream),
    Shared(Stream, Epoll, Events),
}

impl Link {
    fn shared(stream: Stream) -> Self {
        let epoll = Epoll::new().expect("descriptors are left");
        epoll.add(stream.bell(), 0, EventFlags::IN | EventFlags::ET).expect("it is a descriptor");
        Self::Shared(stream, epoll, Events::with_capacity(1))
    }

    /// Sends all of these bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let sent = match self {
            Self::Pipe(_, to) => to.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Shared(stream, epoll, events) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let count = stream.write(rest, Urgency::Urgent).expect("the peer is there");
                    rest = &rest[count..];
                    if count == 0 && stream.wants_room() {
                        wait(epoll, events);
                    }
                }
                Ok(())
            }
        };
        sent.expect("the peer is there");
    }

    /// Receives what is there, after waiting for something; returns how many bytes.
    pub(crate) fn receive_some(&mut self, buffer: &mut [u8]) -> usize {
        let count = match self {
            Self::Pipe(from, _) => from.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
            Self::Shared(stream, epoll, events) => loop {
                let count = stream.read(buffer).expect("the peer is there");
                if count > 0 {
                    break Ok(count);
                }
                if stream.sleep(Wake::Any) {
                    wait(epoll, events);
                }
            },
        };
        let count = count.expect("the peer is there");
        assert!(count > 0, "the peer is there");
        count
    }

    /// Fills the buffer; returns how many receptions it took.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> u64 {
        let (mut at, mut receptions) = (0, 0);
        while at < buffer.len() {
            at += self.receive_some(&mut buffer[at..]);
            receptions += 1;
        }
        receptions
    }
}

/// Waits for the bell. A peer that ends rings it.
fn wait(epoll: &Epoll, events: &mut Events) {
    epoll.wait(events, Instant::MAX).expect("it is an epoll descriptor");
}
