//! A federate that does what a correct one does not: it sends without reading, reads at a chosen rate, and vanishes.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hemiola_fedpro::{Client, Event, Session, Settings, Ticket, message};
use hemiola_hla::call::FederationCall;
use hemiola_hla::{Call, Data};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::{Stream, Urgency};
use hemiola_rt::sys::local;
use hemiola_units::{Instant, RtiAddress};

/// How long it waits for an answer of the RTI.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// The pause while nothing can be read or written.
const PAUSE: Duration = Duration::from_micros(200);

fn now() -> Instant {
    MonotonicClock.now()
}

/// The connection. Its reads and writes do not wait.
enum Carrier {
    Tcp(TcpStream),
    /// The socket is only held: it shows the RTI that this end is alive.
    Shared(Box<Stream>, #[expect(dead_code, reason = "held open")] UnixStream),
}

impl Carrier {
    fn open(address: &RtiAddress) -> std::io::Result<Self> {
        match address {
            RtiAddress::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(Self::Tcp(stream))
            }
            RtiAddress::SharedMemory(name) => {
                let (socket, offered) = offered(name)?;
                let stream = Stream::accept(offered).map_err(std::io::Error::other)?;
                Ok(Self::Shared(Box::new(stream), socket))
            }
        }
    }

    /// Reads available bytes; `None` at the end of the connection.
    fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        match self {
            Self::Tcp(stream) => match stream.read(into) {
                Ok(0) => None,
                Ok(len) => Some(len),
                Err(error) => (error.kind() == ErrorKind::WouldBlock).then_some(0),
            },
            Self::Shared(stream, _) => stream.read(into).ok(),
        }
    }

    /// Writes what there is room for; `None` at the end of the connection.
    fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Tcp(stream) => match stream.write(bytes) {
                Ok(len) => Some(len),
                Err(error) => (error.kind() == ErrorKind::WouldBlock).then_some(0),
            },
            Self::Shared(stream, _) => stream.write(bytes, Urgency::Urgent).ok(),
        }
    }
}

/// Requests shared memory, and returns its descriptors and the socket beside them.
pub(crate) fn offered(name: &str) -> std::io::Result<(UnixStream, [std::os::fd::OwnedFd; 3])> {
    let mut socket = local::connect(&RtiAddress::socket_name(name))?;
    socket.set_read_timeout(Some(ANSWER_MAX))?;
    socket.write_all(b"session 1\n")?;
    let (mut bytes, mut descriptors) = ([0; 16], Vec::new());
    local::receive_with(&socket, &mut bytes, &mut descriptors)?;
    let offered = descriptors.try_into();
    offered.map(|offered| (socket, offered)).map_err(|_| ErrorKind::InvalidData.into())
}

/// The federate. Dropping it cuts the connection without a word.
pub(crate) struct Raw {
    session: Session<Client>,
    carrier: Carrier,
    out: Vec<u8>,
    answers: BTreeMap<Ticket, Data>,
    is_closed: bool,
}

/// Why the RTI did not answer.
pub(crate) type NoAnswer = &'static str;

impl Raw {
    /// Opens a session.
    pub(crate) fn open(address: &RtiAddress) -> Result<Self, NoAnswer> {
        let carrier = Carrier::open(address).map_err(|_| "it refuses the connection")?;
        let len_max = usize::MAX / 4;
        let settings =
            Settings { waiting_len_max: len_max, kept_len_max: len_max, ..Settings::default() };
        let mut session = Session::open(now(), settings);
        session.connected(now());
        let (out, answers) = (Vec::new(), BTreeMap::new());
        let mut raw = Self { session, carrier, out, answers, is_closed: false };
        raw.until(|raw| raw.session.is_running().then_some(()))?;
        Ok(raw)
    }

    /// Opens a session and connects.
    pub(crate) fn connect(address: &RtiAddress) -> Result<Self, NoAnswer> {
        let mut raw = Self::open(address)?;
        raw.call(FederationCall::Connect)?;
        Ok(raw)
    }

    /// Opens a session and joins a federation that exists.
    pub(crate) fn join(address: &RtiAddress, federation: &str) -> Result<Self, NoAnswer> {
        let mut raw = Self::connect(address)?;
        let (federate_type, federation_name) = ("Raw".into(), federation.into());
        raw.call(FederationCall::JoinFederationExecution { federate_type, federation_name })?;
        Ok(raw)
    }

    /// Queues a call.
    pub(crate) fn send(&mut self, call: impl Into<Call>) -> Option<Ticket> {
        self.session.request(now(), message::encode_call(&call.into()))
    }

    /// Makes a call and waits for any answer.
    pub(crate) fn call(&mut self, call: impl Into<Call>) -> Result<Data, NoAnswer> {
        let ticket = self.send(call).ok_or("the session has ended")?;
        self.until(|raw| raw.answers.remove(&ticket))
    }

    /// Returns the result of a call that gives handles or names.
    pub(crate) fn ask(&mut self, call: impl Into<Call>) -> Result<hemiola_hla::Reply, NoAnswer> {
        let call = call.into();
        let entry = call.entry();
        let body = self.call(call)?;
        let reply = message::decode_reply(entry.number, entry.shape, &body);
        reply.map_err(|_| "its answer is damaged")?.map_err(|_| "it refuses the call")
    }

    fn until<T>(&mut self, mut found: impl FnMut(&mut Self) -> Option<T>) -> Result<T, NoAnswer> {
        let until = std::time::Instant::now() + ANSWER_MAX;
        loop {
            let moved = self.write() + self.read(1 << 16);
            if let Some(found) = found(self) {
                return Ok(found);
            }
            if self.is_closed {
                return Err("it has closed the connection");
            }
            if std::time::Instant::now() > until {
                return Err("it does not answer");
            }
            if moved == 0 {
                std::thread::sleep(PAUSE);
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes the answer to a call, if it has arrived.
    pub(crate) fn take_answer(&mut self, ticket: Ticket) -> Option<Data> {
        self.answers.remove(&ticket)
    }

    /// Writes what there is room for, and returns how much.
    pub(crate) fn write(&mut self) -> usize {
        self.session.transmit(now(), &mut self.out, 1 << 16);
        let written = self.carrier.write(&self.out);
        self.is_closed |= written.is_none();
        let written = written.unwrap_or(0);
        self.out.drain(..written);
        written
    }

    /// Reads at most this many bytes, and returns how many there were. Callbacks are answered.
    pub(crate) fn read(&mut self, at_most: usize) -> usize {
        let mut buffer = vec![0; at_most];
        let read = self.carrier.read(&mut buffer);
        self.is_closed |= read.is_none();
        let len = read.unwrap_or(0);
        self.session.receive(now(), &buffer[..len]);
        while let Some(event) = self.session.poll() {
            match event {
                Event::Request { id, .. } => {
                    self.session.respond(now(), id, message::encode_taken(&Ok(())));
                }
                Event::Response { to, body } => drop(self.answers.insert(to, body)),
                Event::Disconnect | Event::Ended(_) => self.is_closed = true,
                Event::Done { .. } | Event::Requests { .. } | Event::Posted { .. } => {
                    panic!("this client has not agreed to shared frames")
                }
                Event::Connect | Event::Running => {}
            }
        }
        len
    }
}
