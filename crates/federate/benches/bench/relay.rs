//! The floor of any RTI: the same hops between the same number of processes, without any work on the bytes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use hemiola_federate::{Bytes, Instant};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::{Stream, Urgency, Wake, Words};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_rt::sys::local;
use rustix::event::{EventfdFlags, eventfd};

use super::{Orders, Peer, Placement, Role, next_order, report};

/// The bytes that a server reads at once.
const PIECE: usize = 64 << 10;
/// The capacity of a shared-memory stream in each direction, in bytes.
const CAPACITY: Bytes = Bytes(64 << 10);
/// The bytes that a pump sends at once, and that federates gather.
pub(crate) const GATHER: usize = 16 << 10;

pub(crate) const ROLES: &[Role] = &[
    ("relay", |orders| serve(orders, relay)),
    ("barrier", |orders| serve(orders, barrier)),
    ("post", |orders| serve(orders, post)),
    ("ping", |orders| ping(orders, &mut *connect(orders))),
    ("pong", |orders| pong(orders, &mut *connect(orders))),
    ("pump", |orders| pump(orders, &mut *connect(orders))),
    ("sink", |orders| sink(orders, &mut *connect(orders))),
    ("member", |orders| member(orders, &mut *connect(orders))),
    ("reader", |orders| reader(orders, &mut *connect(orders))),
];

/// The transport of a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TCP on loopback.
    Tcp,
    /// `rt`'s streams: rings in shared memory with eventfd wake-ups, and epoll.
    Stream,
    /// A word in shared memory, and an eventfd that is read to wait: the cheapest possible hand-over.
    Bell,
}

impl Kind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Stream => "stream",
            Self::Bell => "bell",
        }
    }
}

/// Starts a server in a role. Returns it with the orders for its clients.
pub(crate) fn start(
    role: &str,
    kind: Kind,
    clients: usize,
    len: usize,
    placement: Placement,
) -> (Peer, [String; 4]) {
    let common =
        [format!("kind={}", kind.word()), format!("clients={clients}"), format!("len={len}")];
    let mut server = Peer::start(role, placement, true, &common);
    let at = server.read_line();
    let [kind, clients, len] = common;
    (server, [kind, clients, len, format!("at={at}")])
}

/// One end of a transport.
trait Wire: AsFd {
    /// Sends all bytes.
    fn send(&mut self, bytes: &[u8]);
    /// Receives available bytes; returns 0 if there are none.
    fn take(&mut self, buffer: &mut [u8]) -> usize;
    /// Waits until bytes are available.
    fn wait(&mut self);
    /// Returns the epoll flags that suit it.
    fn flags(&self) -> EventFlags {
        EventFlags::IN
    }
    /// Prepares to wait with epoll; returns false if bytes are available already.
    fn arm(&mut self) -> bool {
        true
    }

    /// Waits until the buffer is full.
    fn receive(&mut self, buffer: &mut [u8]) {
        let mut have = 0;
        while have < buffer.len() {
            match self.take(&mut buffer[have..]) {
                0 => self.wait(),
                count => have += count,
            }
        }
    }
}

/// Ends this process, because the other end is gone and the parent ends the measurement.
fn gone<T, E>(_: E) -> T {
    std::process::exit(0)
}

/// A client waits for one connection only, so it blocks in `read`.
impl Wire for TcpStream {
    fn send(&mut self, bytes: &[u8]) {
        self.write_all(bytes).unwrap_or_else(gone);
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        match self.read(buffer).unwrap_or_else(gone) {
            0 => gone(()),
            count => count,
        }
    }

    fn wait(&mut self) {}
}

struct Ring {
    stream: Stream,
    epoll: Epoll,
    events: Events,
}

impl Ring {
    fn new(stream: Stream) -> Self {
        let epoll = Epoll::new().expect("a descriptor is available");
        let flags = EventFlags::IN | EventFlags::ET;
        epoll.add(stream.bell(), 0, flags).expect("the descriptor is new to this epoll");
        Self { stream, epoll, events: Events::with_capacity(1) }
    }

    fn hear(&mut self) {
        self.epoll.wait(&mut self.events, Instant::MAX).expect("epoll_pwait2 needs Linux 5.11");
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.bell()
    }
}

impl Wire for Ring {
    fn send(&mut self, bytes: &[u8]) {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.stream.write(&bytes[sent..], Urgency::Urgent).unwrap_or_else(gone) {
                0 if self.stream.wants_room() => self.hear(),
                count => sent += count,
            }
        }
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        self.stream.read(buffer).unwrap_or_else(gone)
    }

    fn wait(&mut self) {
        if self.stream.sleep(Wake::Any) {
            self.hear();
        }
    }

    fn flags(&self) -> EventFlags {
        EventFlags::IN | EventFlags::ET
    }

    fn arm(&mut self) -> bool {
        self.stream.sleep(Wake::Any)
    }
}

/// A counter in shared memory; each message increments it.
struct Word {
    words: Words,
    ours: usize,
    seen: u32,
    bell: OwnedFd,
    peer_bell: OwnedFd,
}

impl AsFd for Word {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Wire for Word {
    fn send(&mut self, _: &[u8]) {
        self.words.word(self.ours).fetch_add(1, Ordering::Release);
        let _ = rustix::io::write(&self.peer_bell, &1_u64.to_ne_bytes());
    }

    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let count = self.words.word(1 - self.ours).load(Ordering::Acquire);
        if count == self.seen {
            return 0;
        }
        self.seen = count;
        buffer.len()
    }

    fn wait(&mut self) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }
}

/// Connects as a client and reports it.
fn connect(orders: &Orders) -> Box<dyn Wire> {
    let wire = reach(orders);
    report("joined");
    wire
}

fn reach(orders: &Orders) -> Box<dyn Wire> {
    let at = orders.text("at").expect("the parent passes the address");
    match orders.text("kind") {
        Some("tcp") => {
            let stream = TcpStream::connect(at).expect("the server listens");
            stream.set_nodelay(true).expect("TCP supports it");
            Box::new(stream)
        }
        Some(kind) => {
            let socket = local::connect(at).expect("the server listens");
            let (mut byte, mut offered) = ([0], vec![]);
            local::receive_with(&socket, &mut byte, &mut offered).expect("the server offers");
            let offered: [OwnedFd; 3] = offered.try_into().expect("the server offers three");
            if kind == "stream" {
                return Box::new(Ring::new(
                    Stream::accept(offered).expect("the descriptors form a stream"),
                ));
            }
            let [words, bell, peer_bell] = offered;
            let words = Words::from_fd(words).expect("the descriptor holds the words");
            Box::new(Word { words, ours: 1, seen: 0, bell, peer_bell })
        }
        None => panic!("the parent passes the kind"),
    }
}

/// Accepts the clients and serves them.
fn serve(orders: &Orders, work: fn(Vec<Box<dyn Wire>>, usize, bool)) {
    let clients = orders.number("clients", 2) as usize;
    let len = orders.number("len", 64) as usize;
    let kind = orders.text("kind").expect("the parent passes the kind");
    if kind == "tcp" {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is available");
        report(listener.local_addr().expect("a listener has an address"));
        let accept = || -> Box<dyn Wire> {
            let (stream, _) = listener.accept().expect("a client connects");
            stream.set_nodelay(true).expect("TCP supports it");
            Box::new(stream)
        };
        return work((0..clients).map(|_| accept()).collect(), len, true);
    }
    let name = format!("hemiola-bench-{}", std::process::id());
    let listener = local::listen(&name).expect("the name is free");
    report(&name);
    let accept = || -> Box<dyn Wire> {
        let (socket, _) = listener.accept().expect("a client connects");
        let offer = |fds: &[OwnedFd; 3]| {
            let fds = fds.each_ref().map(AsFd::as_fd);
            local::send_with(&socket, b"x", &fds).expect("the client runs");
        };
        if kind == "stream" {
            let (stream, offered) = Stream::offer(CAPACITY).expect("memory is available");
            offer(&offered);
            return Box::new(Ring::new(stream));
        }
        let bell = || eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor is available");
        let words = Words::create("bench").expect("memory is available");
        let (bell, peer_bell) = (bell(), bell());
        let clone =
            |fd: BorrowedFd<'_>| fd.try_clone_to_owned().expect("a descriptor is available");
        offer(&[clone(words.fd()), clone(peer_bell.as_fd()), clone(bell.as_fd())]);
        Box::new(Word { words, ours: 0, seen: 0, bell, peer_bell })
    };
    work((0..clients).map(|_| accept()).collect(), len, kind == "stream");
}

/// Passes the first client's bytes to all others, and the others' bytes to the first. It waits for all clients at once,
/// as an RTI must; with bare eventfds it waits for the client whose turn it is.
fn relay(mut wires: Vec<Box<dyn Wire>>, len: usize, waits_for_all: bool) {
    let mut buffer = vec![0; PIECE];
    if !waits_for_all {
        let message = &mut buffer[..len];
        loop {
            for from in [0, 1] {
                wires[from].receive(message);
                wires[1 - from].send(message);
            }
        }
    }
    let epoll = Epoll::new().expect("a descriptor is available");
    for (token, wire) in (0..).zip(&wires) {
        epoll.add(wire.as_fd(), token, wire.flags()).expect("the descriptor is new to this epoll");
    }
    let mut events = Events::with_capacity(wires.len());
    loop {
        let sleeps = wires.iter_mut().all(|wire| wire.arm());
        let until = if sleeps { Instant::MAX } else { Instant::ZERO };
        epoll.wait(&mut events, until).expect("epoll_pwait2 needs Linux 5.11");
        for from in 0..wires.len() {
            if sleeps && !events.iter().any(|event| event.token == from as u64) {
                continue;
            }
            let count = wires[from].take(&mut buffer);
            for (to, wire) in wires.iter_mut().enumerate() {
                if count > 0 && to != from && (to == 0 || from == 0) {
                    wire.send(&buffer[..count]);
                }
            }
        }
    }
}

/// Waits for a message of each client, then sends all messages to each.
fn barrier(mut wires: Vec<Box<dyn Wire>>, len: usize, _: bool) {
    let mut all = vec![0; len * wires.len()];
    loop {
        for (wire, message) in wires.iter_mut().zip(all.chunks_mut(len)) {
            wire.receive(message);
        }
        for wire in &mut wires {
            wire.send(&all);
        }
    }
}

/// The bytes before a letter: its length.
const LETTER_HEAD: usize = 4;

/// Waits for a letter of each client, then sends each client the letters of all others, one by one.
fn post(mut wires: Vec<Box<dyn Wire>>, len: usize, _: bool) {
    let mut letters = vec![0; len * wires.len()];
    let mut out = Vec::new();
    loop {
        for (wire, letter) in wires.iter_mut().zip(letters.chunks_mut(len)) {
            wire.receive(letter);
        }
        for (to, wire) in wires.iter_mut().enumerate() {
            out.clear();
            for (_, letter) in letters.chunks(len).enumerate().filter(|(from, _)| *from != to) {
                out.extend_from_slice(&(letter.len() as u32).to_be_bytes());
                out.extend_from_slice(letter);
            }
            wire.send(&out);
        }
    }
}

fn ping(orders: &Orders, wire: &mut dyn Wire) {
    let mut message = vec![7; orders.number("len", 64) as usize];
    while let Some(count) = next_order() {
        let samples: Vec<String> = (0..count.parse().expect("a number"))
            .map(|_| {
                let start = MonotonicClock.now();
                wire.send(&message);
                wire.receive(&mut message);
                (MonotonicClock.now() - start).nanos().to_string()
            })
            .collect();
        report(samples.join(" "));
    }
}

fn pong(orders: &Orders, wire: &mut dyn Wire) {
    let mut message = vec![0; orders.number("len", 64) as usize];
    loop {
        wire.receive(&mut message);
        wire.send(&message);
    }
}

/// Sends the ordered number of messages, many per call, as fast as they are accepted.
fn pump(orders: &Orders, wire: &mut dyn Wire) {
    let len = orders.number("len", 64) as usize;
    let piece = vec![0; len * (GATHER / len).max(1)];
    while let Some(count) = next_order() {
        let mut left = count.parse::<usize>().expect("a number") * len;
        while left > 0 {
            let now = left.min(piece.len());
            wire.send(&piece[..now]);
            left -= now;
        }
    }
}

/// Receives the ordered number of messages, then reports `done`.
fn sink(orders: &Orders, wire: &mut dyn Wire) {
    let len = orders.number("len", 64) as usize;
    let mut buffer = vec![0; PIECE];
    while let Some(count) = next_order() {
        let mut left = count.parse::<usize>().expect("a number") * len;
        report("ready");
        while left > 0 {
            match wire.take(&mut buffer) {
                0 => wire.wait(),
                count => left -= count,
            }
        }
        report("done");
    }
}

/// Sends a message and receives those of all clients, the ordered number of times.
fn member(orders: &Orders, wire: &mut dyn Wire) {
    let len = orders.number("len", 64) as usize;
    let mut all = vec![0; len * orders.number("clients", 2) as usize];
    while let Some(count) = next_order() {
        for _ in 0..count.parse().expect("a number") {
            wire.send(&all[..len]);
            wire.receive(&mut all);
        }
        report("done");
    }
}

/// Sends a letter and reads those of all others one by one, the ordered number of times.
fn reader(orders: &Orders, wire: &mut dyn Wire) {
    let len = orders.number("len", 64) as usize;
    let others = orders.number("clients", 2) as usize - 1;
    let (letter, mut received) = (vec![7; len], vec![0; others * (LETTER_HEAD + len)]);
    while let Some(count) = next_order() {
        for _ in 0..count.parse().expect("a number") {
            wire.send(&letter);
            wire.receive(&mut received);
            let (mut rest, mut letters) = (&received[..], 0);
            while let Some((head, tail)) = rest.split_first_chunk::<LETTER_HEAD>() {
                let (letter, tail) = tail.split_at(u32::from_be_bytes(*head) as usize);
                std::hint::black_box(letter.first());
                (rest, letters) = (tail, letters + 1);
            }
            assert_eq!(letters, others);
        }
        report("done");
    }
}
