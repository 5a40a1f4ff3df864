//! A stream between two processes, one of which is killed at any instruction: bytes stay whole and in order, the
//! survivor does not hang, and the socket beside the stream reports the death.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::{Stream, Urgency, Wake};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_rt::sys::local;
use hemiola_units::{Bytes, Span};

use crate::child::{Peer, inherited};

const CAPACITY: Bytes = Bytes(4096);
const ROUNDS: u64 = 12;
const BELL: u64 = 0;
const SOCKET: u64 = 1;

/// The byte at a position. Neighbours differ, and so do bytes of successive rounds of the ring.
fn byte(at: u64) -> u8 {
    (at % 251) as u8
}

/// One end, the socket beside it, and an epoll for both.
struct End {
    stream: Stream,
    socket: UnixStream,
    epoll: Epoll,
    events: Events,
    at: u64,
}

impl End {
    fn new(stream: Stream, socket: UnixStream) -> Self {
        let epoll = Epoll::new().unwrap();
        epoll.add(stream.bell(), BELL, EventFlags::IN | EventFlags::ET).unwrap();
        epoll.add(&socket, SOCKET, EventFlags::RDHUP).unwrap();
        Self { stream, socket, epoll, events: Events::with_capacity(2), at: 0 }
    }

    /// Returns a stream to a new process that plays `role`.
    fn to(role: &str) -> (Self, Peer) {
        let (mine, theirs) = UnixStream::pair().unwrap();
        let peer = Peer::start(role, &theirs);
        drop(theirs);
        let (stream, offered) = Stream::offer(CAPACITY).unwrap();
        let descriptors = offered.each_ref().map(|fd| fd.as_fd());
        assert_eq!(local::send_with(&mine, b"ok\n", &descriptors).unwrap(), 3);
        (Self::new(stream, mine), peer)
    }

    /// In the child: returns the other end.
    fn inherited() -> Self {
        let socket = UnixStream::from(inherited());
        let (mut bytes, mut offered) = ([0; 3], vec![]);
        assert_eq!(local::receive_with(&socket, &mut bytes, &mut offered).unwrap(), 3);
        Self::new(Stream::accept(offered.try_into().unwrap()).unwrap(), socket)
    }

    /// Waits for the bell; false if the peer's process is gone.
    fn wait(&mut self) -> bool {
        let until = MonotonicClock.now() + Span::from_millis(60_000);
        self.epoll.wait(&mut self.events, until).unwrap();
        assert!(!self.events.is_empty(), "no ring and no death for a minute");
        !self.events.iter().any(|event| event.token == SOCKET)
    }

    /// Writes some bytes or waits for room; false if the peer's process is gone.
    fn write(&mut self) -> bool {
        let len = 1 + self.at * 7919 % 900;
        let bytes: Vec<u8> = (self.at..self.at + len).map(byte).collect();
        let urgency = if self.at.is_multiple_of(2) { Urgency::Lazy } else { Urgency::Urgent };
        let count = self.stream.write(&bytes, urgency).unwrap();
        self.at += count as u64;
        count > 0 || !self.stream.wants_room() || self.wait()
    }

    /// Reads some bytes or waits for some; false if the peer's process is gone.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 900];
        let count = self.stream.read(&mut buffer).unwrap();
        for byte_read in &buffer[..count] {
            assert_eq!(*byte_read, byte(self.at), "byte {}", self.at);
            self.at += 1;
        }
        let wake = if self.at.is_multiple_of(2) { Wake::Urgent } else { Wake::Any };
        count > 0 || !self.stream.sleep(wake) || self.wait()
    }
}

pub(crate) fn writer() {
    let mut end = End::inherited();
    while end.write() {}
}

pub(crate) fn reader() {
    let mut end = End::inherited();
    while end.read() {}
}

#[test]
fn a_reader_of_a_killed_writer_gets_whole_bytes_in_order_and_notices_the_death() {
    for round in 0..ROUNDS {
        let (mut end, mut writer) = End::to("stream writer");
        while end.at <= 7919 * round {
            assert!(end.read());
        }
        writer.kill();
        let before = end.at;
        while end.read() {}
        assert!(end.at - before <= CAPACITY.0);
        assert_eq!(local::receive_with(&end.socket, &mut [0], &mut vec![]).unwrap(), 0);
    }
}

#[test]
fn a_writer_to_a_killed_reader_notices_the_death_when_the_ring_is_full() {
    for round in 0..ROUNDS {
        let (mut end, mut reader) = End::to("stream reader");
        while end.at <= 7919 * round {
            assert!(end.write());
        }
        reader.kill();
        while end.write() {}
        assert!(end.stream.unread().unwrap() > Bytes(CAPACITY.0 / 2));
    }
}
