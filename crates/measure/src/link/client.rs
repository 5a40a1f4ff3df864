//! The measuring host: readings of the figures of a link.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use hemiola_probe::{Readings, Unit};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::epoll::{Epoll, EventFlags, Events};
use hemiola_rt::sys::random::secret;
use hemiola_units::{Instant, Span};

use super::error::LinkError;
use super::frame::{
    DATAGRAM_MAX, DATAGRAM_MIN, Datagram, ECHO_MAX, MAGIC, Request, Sequence, Sum, TRANSFER_MAX,
    WELCOME, Welcome,
};
use super::train::{Counts, Losses, Train};
use super::{BANDWIDTH_FROM, BANDWIDTH_TO, DATAGRAMS, JITTER, MESSAGES, PORT, round_trip};
use crate::activity::{Meanwhile, Watch};
use crate::series::ordinary;
use crate::source::{ReadError, ReadingSource};

/// How long the other host may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(3);

/// How long nothing may arrive, or be accepted, on a connection.
const STALL: Duration = Duration::from_secs(5);

/// How long a whole answer may take, however it arrives.
const ANSWER_MAX: Span = Span::from_millis(20_000);

/// A datagram that does not return within this time counts as lost.
pub(super) const LOST_AFTER: Span = Span::from_millis(1_000);

/// So many lost datagrams in turn mean that none gets through.
const LOST_MAX: u32 = 5;

/// The least time of a transfer, and the least number of round trips that it takes: one of them belongs to the answer.
const TRANSFER: Span = Span::from_millis(20);
const ROUND_TRIPS: i64 = 20;

/// The first transfer.
const TRANSFER_FIRST: u64 = 256 << 10;

/// A train: its datagrams, their size and their distance.
const TRAIN: u64 = 50;
const TRAIN_BYTES: usize = 200;
const APART: Span = Span::from_millis(1);

/// How many datagrams are known by their proof: more than a train has.
const PROOFS: usize = 64;

/// The most datagrams that are looked at while one is awaited: a host that sends more floods us.
const OTHERS_MAX: u32 = 10_000;

/// A link to a host that answers, as a source of readings of [`catalogue`](super::catalogue).
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    stream: TcpStream,
    datagrams: UdpSocket,
    epoll: Epoll,
    token: u64,
    /// The number of the last datagram.
    number: u64,
    /// A random word in each of the last datagrams, by its number: nobody can return it before it has arrived.
    proofs: [u64; PROOFS],
    /// Bytes to send, and room for what comes back.
    block: Vec<u8>,
    room: Vec<u8>,
    /// The lengths of transfers by figure.
    lengths: BTreeMap<&'static str, u64>,
    /// The shortest round trip of a message.
    round_trip: Span,
    losses: Vec<Counts>,
    /// The figures that had readings.
    read: BTreeSet<String>,
    /// Why the link failed during the measurement.
    cut: Option<String>,
    watch: Watch,
}

/// The address of a host that is written as `HOST` or `HOST:PORT`.
///
/// # Errors
/// [`LinkError::Name`] or [`LinkError::Port`].
pub fn resolve(name: &str) -> Result<SocketAddr, LinkError> {
    let bare: Option<IpAddr> = name.parse().ok();
    let port = name.rsplit_once(':').filter(|_| bare.is_none()).map(|(_, port)| port);
    if let Some(port) = port
        && port.parse::<u16>().ok().is_none_or(|number| number == 0)
    {
        return Err(LinkError::Port { port: port.into() });
    }
    let has_port = port.is_some();
    let found = match (bare, has_port) {
        (Some(address), _) => return Ok(SocketAddr::new(address, PORT)),
        (None, true) => name.to_socket_addrs(),
        (None, false) => (name, PORT).to_socket_addrs(),
    };
    let none = || io::Error::from(ErrorKind::NotFound);
    let first = found.and_then(|mut found| found.next().ok_or_else(none));
    first.map_err(|source| LinkError::Name { name: name.into(), source })
}

/// A source of readings to which figures of a link come from another host.
pub struct WithLink<'s> {
    /// All other figures.
    pub others: &'s mut dyn ReadingSource,
    /// The link, if there is one.
    pub link: Option<&'s mut Link>,
}

impl ReadingSource for WithLink<'_> {
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        match &mut self.link {
            _ if !name.starts_with("link.") => self.others.read(name, count),
            Some(link) => ReadingSource::read(&mut **link, name, count),
            None => Err(LinkError::NoPeer { figure: name.into() }.into()),
        }
    }

    fn end_block(&mut self, rest: Span) {
        self.others.end_block(rest);
    }
}

impl Link {
    /// Connects to a host that answers.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub fn connect(address: SocketAddr) -> Result<Self, LinkError> {
        let unreachable = |source| LinkError::Unreachable { address, source };
        let mut stream = TcpStream::connect_timeout(&address, CONNECT).map_err(unreachable)?;
        let failed = |source| LinkError::Failed { doing: "opening it", source };
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(STALL)).map_err(failed)?;
        stream.set_write_timeout(Some(STALL)).map_err(failed)?;
        stream.write_all(&MAGIC).map_err(failed)?;
        let mut welcome = [0; WELCOME];
        stream.read_exact(&mut welcome).map_err(failed)?;
        let (token, port) = match Welcome::decode(&welcome) {
            Some(Welcome::Granted { token, port }) => (token, port),
            Some(Welcome::Busy) => return Err(LinkError::Busy { address }),
            None => return Err(LinkError::Wrong("does not speak this protocol".into())),
        };
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let datagrams = UdpSocket::bind((any, 0)).map_err(failed)?;
        let mut to = address;
        to.set_port(port);
        datagrams.connect(to).map_err(failed)?;
        datagrams.set_nonblocking(true).map_err(failed)?;
        let epoll = Epoll::new().map_err(failed)?;
        epoll.add(&datagrams, 0, EventFlags::IN).map_err(failed)?;
        let mut block = vec![0; ECHO_MAX as usize];
        Sequence(random().map_err(failed)?).fill(&mut block);
        Ok(Self {
            address,
            stream,
            datagrams,
            epoll,
            token,
            number: 0,
            proofs: [0; PROOFS],
            room: vec![0; block.len()],
            block,
            lengths: BTreeMap::new(),
            round_trip: Span::ZERO,
            losses: Vec::new(),
            read: BTreeSet::new(),
            cut: None,
            watch: Watch::start(),
        })
    }

    /// Sets how long nothing may arrive on the connection.
    #[cfg(test)]
    pub(super) fn stalls_after(&self, limit: Duration) {
        self.stream.set_read_timeout(Some(limit)).unwrap();
    }

    /// Why the link failed during the measurement, if it did. Nothing more is read then.
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Whether the link has failed with this error at a figure. Datagrams alone may be refused from the beginning.
    fn is_cut_by(&self, error: &LinkError, name: &str) -> bool {
        match error {
            LinkError::Failed { .. } => true,
            LinkError::Silent { .. } => self.read.contains(name),
            _ => false,
        }
    }

    /// The losses so far; `None` if none were measured.
    #[must_use]
    pub fn losses(&self) -> Option<Losses> {
        Losses::of(&self.losses)
    }

    /// The work of others during the blocks so far.
    #[must_use]
    pub fn meanwhile(&self) -> Meanwhile {
        self.watch.meanwhile(hemiola_probe::Load::Idle)
    }

    /// One reading of a figure; `None` if it was lost.
    fn reading(&mut self, name: &str, counts: &mut Counts) -> Result<Option<f64>, LinkError> {
        let ns = |span: Span| span.nanos() as f64;
        if let Some(length) =
            DATAGRAMS.into_iter().find(|length| round_trip("udp", *length) == name)
        {
            return Ok(self.datagram(length as usize)?.map(ns));
        }
        if let Some(length) = MESSAGES.into_iter().find(|length| round_trip("tcp", *length) == name)
        {
            return Ok(Some(ns(self.message(length as usize)?)));
        }
        match name {
            BANDWIDTH_TO => self.transfer(BANDWIDTH_TO, Self::take).map(Some),
            BANDWIDTH_FROM => self.transfer(BANDWIDTH_FROM, Self::give).map(Some),
            JITTER => self.train(counts),
            _ => Err(LinkError::Wrong(format!("has no figure `{name}`"))),
        }
    }

    /// The round trip of a datagram; `None` if it was lost.
    fn datagram(&mut self, length: usize) -> Result<Option<Span>, LinkError> {
        self.number += 1;
        let number = self.number;
        let sent = self.send(number, length)?;
        let until = sent + LOST_AFTER;
        for _ in 0..OTHERS_MAX {
            match self.receive(until)? {
                Some((found, at)) if found == number => return Ok(Some(at.since(sent))),
                Some(_) => {}
                None if MonotonicClock.now() >= until => return Ok(None),
                None => {}
            }
        }
        Err(LinkError::Wrong("floods this one with datagrams".into()))
    }

    fn send(&mut self, number: u64, length: usize) -> Result<Instant, LinkError> {
        let doing = "preparing a datagram";
        let proof = random().map_err(|source| LinkError::Failed { doing, source })?;
        self.proofs[number as usize % PROOFS] = proof;
        let bytes = &mut self.block[..length.clamp(DATAGRAM_MIN, DATAGRAM_MAX)];
        Datagram { token: self.token, number }.write(bytes);
        bytes[DATAGRAM_MIN..][..8].copy_from_slice(&proof.to_le_bytes());
        let at = MonotonicClock.now();
        match self.datagrams.send(bytes) {
            // The answer to an earlier datagram: nobody listens. Datagrams without a place in the queue are lost.
            Err(error) if is_pause(&error) || error.kind() == ErrorKind::ConnectionRefused => {
                Ok(at)
            }
            Err(source) => Err(LinkError::Failed { doing: "sending a datagram", source }),
            Ok(_) => Ok(at),
        }
    }

    /// Waits for a datagram of this session; `None` at the given time, or earlier.
    fn receive(&mut self, until: Instant) -> Result<Option<(u64, Instant)>, LinkError> {
        let failed = |source| LinkError::Failed { doing: "waiting for a datagram", source };
        let mut events = Events::with_capacity(1);
        for wait in [false, true] {
            if wait {
                self.epoll.wait(&mut events, until).map_err(failed)?;
            }
            match self.datagrams.recv(&mut self.room) {
                Ok(length) => {
                    let at = MonotonicClock.now();
                    let (bytes, proofs) = (&self.room[..length], &self.proofs);
                    let proof = bytes.get(DATAGRAM_MIN..DATAGRAM_MIN + 8);
                    let is_own = |head: &Datagram| {
                        let known = proofs[head.number as usize % PROOFS].to_le_bytes();
                        head.token == self.token && proof == Some(&known[..])
                    };
                    let head = Datagram::read(bytes).filter(is_own);
                    return Ok(head.map(|head| (head.number, at)));
                }
                Err(error) if is_pause(&error) || error.kind() == ErrorKind::ConnectionRefused => {}
                Err(source) => return Err(failed(source)),
            }
        }
        Ok(None)
    }

    /// The round trip of a message over the connection.
    fn message(&mut self, length: usize) -> Result<Span, LinkError> {
        // Fresh bytes in front: those of the last message could be returned before this one has arrived.
        let doing = "preparing a message";
        let failed = |source| LinkError::Failed { doing, source };
        self.block[..8].copy_from_slice(&random().map_err(failed)?.to_le_bytes());
        let request = Request::Echo { length: length as u64 }.encode();
        let mut bytes = [&request[..], &self.block[..length]].concat();
        let sent = MonotonicClock.now();
        self.write(&bytes)?;
        self.arrive(length)?;
        let took = MonotonicClock.now().since(sent);
        if bytes.split_off(request.len()) != self.room[..length] {
            return Err(LinkError::Wrong("returned other bytes than it was sent".into()));
        }
        if self.round_trip == Span::ZERO || took < self.round_trip {
            self.round_trip = took;
        }
        Ok(took)
    }

    /// Bytes per second of a transfer, which becomes long enough.
    fn transfer(
        &mut self,
        name: &'static str,
        act: fn(&mut Self, u64) -> Result<Span, LinkError>,
    ) -> Result<f64, LinkError> {
        if self.round_trip == Span::ZERO {
            self.message(MESSAGES[0] as usize)?;
        }
        let least = TRANSFER.max(self.round_trip * ROUND_TRIPS);
        let mut length = self.lengths.get(name).copied().unwrap_or(TRANSFER_FIRST);
        loop {
            let took = act(self, length)?.max(Span::from_nanos(1));
            let per_second = length as f64 / took.secs_f64();
            if took >= least || length == TRANSFER_MAX {
                self.lengths.insert(name, length);
                return Ok(per_second);
            }
            // A tenth more than the last one says, and at most eightfold: the first transfers are slower.
            let wanted = (per_second * least.secs_f64() * 1.1) as u64;
            length = wanted.clamp(length + 1, length * 8).min(TRANSFER_MAX);
        }
    }

    /// Sends bytes until the other host has proved that it has them all.
    fn take(&mut self, length: u64) -> Result<Span, LinkError> {
        // The other host knows its answer only when the last bytes have arrived.
        let failed = |source| LinkError::Failed { doing: "preparing a transfer", source };
        Sequence(random().map_err(failed)?).fill(&mut self.room[..16]);
        let last: [u8; 16] = *self.room.first_chunk().expect("the room is longer");
        let (mut sum, mut left) = (Sum::default(), length - last.len() as u64);
        let began = MonotonicClock.now();
        self.write(&Request::Take { length }.encode())?;
        while left > 0 {
            let piece = left.min(self.block.len() as u64) as usize;
            let doing = "sending bytes";
            self.stream
                .write_all(&self.block[..piece])
                .map_err(|source| LinkError::Failed { doing, source })?;
            if MonotonicClock.now().since(began) > ANSWER_MAX {
                return Err(LinkError::Wrong(format!(
                    "took more than {ANSWER_MAX} for a transfer"
                )));
            }
            left -= piece as u64;
        }
        self.write(&last)?;
        self.arrive(8)?;
        let took = MonotonicClock.now().since(began);
        let mut left = length - last.len() as u64;
        while left > 0 {
            let piece = left.min(self.block.len() as u64) as usize;
            sum.add(&self.block[..piece]);
            left -= piece as u64;
        }
        sum.add(&last);
        if self.room[..8] != sum.value().to_le_bytes() {
            return Err(LinkError::Wrong("answered a transfer with a wrong sum".into()));
        }
        Ok(took)
    }

    /// Asks for bytes until all have arrived.
    fn give(&mut self, length: u64) -> Result<Span, LinkError> {
        let failed = |source| LinkError::Failed { doing: "preparing a transfer", source };
        let seed = random().map_err(failed)?;
        let mut expected = vec![0; self.block.len()];
        Sequence(seed).fill(&mut expected);
        let began = MonotonicClock.now();
        self.write(&Request::Give { length, seed }.encode())?;
        let mut left = length;
        while left > 0 {
            let piece = left.min(expected.len() as u64) as usize;
            self.arrive(piece)?;
            if self.room[..piece] != expected[..piece] {
                return Err(LinkError::Wrong("sent other bytes than it was asked for".into()));
            }
            left -= piece as u64;
        }
        Ok(MonotonicClock.now().since(began))
    }

    /// Sends a train, and returns the jitter of its round trips; `None` if no two neighbours came back.
    fn train(&mut self, counts: &mut Counts) -> Result<Option<f64>, LinkError> {
        let before = self.count()?;
        let first = self.number + 1;
        let mut train = Train::new();
        let (mut others, mut due) = (0, MonotonicClock.now() + APART);
        for number in first..first + TRAIN {
            self.collect(&mut train, first, due, &mut others)?;
            train.sent(self.send(number, TRAIN_BYTES)?);
            self.number = number;
            due += APART;
        }
        self.collect(&mut train, first, MonotonicClock.now() + LOST_AFTER, &mut others)?;
        let arrived = self.count()?.checked_sub(before);
        self.collect_copies(&mut train, first, &mut others)?;
        let Some(found) = arrived.and_then(|arrived| train.counts(arrived)) else {
            let text =
                "says that it received fewer datagrams than it returned, or more than were sent";
            return Err(LinkError::Wrong(text.into()));
        };
        *counts = counts.and(&found);
        Ok(Some(train.jitter_ns()).filter(|jitter| jitter.is_finite()))
    }

    /// Receives the datagrams of a train until the given time, or until all that were sent are back at the end.
    fn collect(
        &mut self,
        train: &mut Train,
        first: u64,
        until: Instant,
        others: &mut u32,
    ) -> Result<(), LinkError> {
        let is_last = self.number + 1 == first + TRAIN;
        while !(is_last && train.is_whole()) {
            match self.receive(until)? {
                Some((number, at)) => note(train, number.wrapping_sub(first), at, others)?,
                None if MonotonicClock.now() >= until => return Ok(()),
                None => {}
            }
        }
        Ok(())
    }

    /// Takes the datagrams that are there already: of a whole train, the copies behind its last datagram.
    fn collect_copies(
        &mut self,
        train: &mut Train,
        first: u64,
        others: &mut u32,
    ) -> Result<(), LinkError> {
        let now = MonotonicClock.now();
        while train.is_whole()
            && let Some((number, at)) = self.receive(now)?
        {
            note(train, number.wrapping_sub(first), at, others)?;
        }
        Ok(())
    }

    /// How many datagrams the other host says it has returned.
    fn count(&mut self) -> Result<u64, LinkError> {
        self.write(&Request::Count.encode())?;
        self.arrive(8)?;
        let bytes = self.room.first_chunk().expect("the room is longer");
        Ok(u64::from_le_bytes(*bytes))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let doing = "sending a request";
        self.stream.write_all(bytes).map_err(|source| LinkError::Failed { doing, source })
    }

    /// Reads the next bytes of the connection into the room. A host that sends them one by one runs out of time.
    fn arrive(&mut self, length: usize) -> Result<(), LinkError> {
        let doing = "waiting for an answer";
        let until = MonotonicClock.now() + ANSWER_MAX;
        let mut done = 0;
        while done < length {
            match self.stream.read(&mut self.room[done..length]) {
                Ok(0) => {
                    let source = ErrorKind::UnexpectedEof.into();
                    return Err(LinkError::Failed { doing, source });
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) => {
                    let source = ErrorKind::TimedOut.into();
                    return Err(LinkError::Failed { doing, source });
                }
                Err(source) => return Err(LinkError::Failed { doing, source }),
            }
            if MonotonicClock.now() > until && done < length {
                return Err(LinkError::Wrong(format!("took more than {ANSWER_MAX} for an answer")));
            }
        }
        Ok(())
    }
}

/// Notes a datagram of a train. A host may send a limited number of them.
fn note(train: &mut Train, number: u64, at: Instant, others: &mut u32) -> Result<(), LinkError> {
    train.returned(number, at);
    *others += 1;
    if *others > OTHERS_MAX {
        return Err(LinkError::Wrong("floods this one with datagrams".into()));
    }
    Ok(())
}

/// Why a figure has no reading after [`LOST_MAX`] attempts in turn. `counts` are the datagrams of trains among them.
fn nothing_read(name: &str, counts: Counts) -> LinkError {
    let Counts { sent, arrived, returned, .. } = counts;
    let length = DATAGRAMS.into_iter().find(|length| round_trip("udp", *length) == name);
    match length {
        Some(length) => {
            LinkError::Silent { sent: LOST_MAX.into(), bytes: length as usize, arrived: None }
        }
        None if returned > 0 => LinkError::Sparse { sent, returned },
        None => LinkError::Silent { sent, bytes: TRAIN_BYTES, arrived: Some(arrived) },
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn random() -> io::Result<u64> {
    Ok(u64::from_le_bytes(secret()?))
}

impl Link {
    fn readings(&mut self, name: &str, count: u32) -> Result<Readings, LinkError> {
        let mut values = Vec::with_capacity(count as usize);
        // The datagrams of trains: of this block, and of the attempts in turn that gave no reading.
        let (mut counts, mut in_vain, mut lost) = (Counts::default(), Counts::default(), 0);
        for _ in 0..count {
            let mut found = Counts::default();
            let value = self.reading(name, &mut found)?;
            counts = counts.and(&found);
            if let Some(value) = value {
                values.push(value);
                (in_vain, lost) = (Counts::default(), 0);
                continue;
            }
            (in_vain, lost) = (in_vain.and(&found), lost + 1);
            if lost == LOST_MAX {
                let error = nothing_read(name, in_vain);
                // The losses of a link that fails later are those before.
                if self.is_cut_by(&error, name) {
                    return Err(error);
                }
                self.count_losses(counts);
                // The other host ends a session in which nothing arrives, and other figures need it.
                if let Err(failed) = self.count() {
                    self.cut = Some(failed.to_string());
                }
                return Err(error);
            }
        }
        self.count_losses(counts);
        let (unit, batch, how) = match name {
            BANDWIDTH_TO | BANDWIDTH_FROM => {
                (Unit::BytesPerSecond, 1, "one connection, and one round trip at the end")
            }
            JITTER => {
                (Unit::Nanoseconds, TRAIN - 1, "datagrams of 200 B, one each ms, there and back")
            }
            _ => (Unit::Nanoseconds, 1, "one at a time, there and back"),
        };
        let circumstances = vec![
            ("with".to_owned(), format!("with {}", self.address.ip())),
            ("taken".to_owned(), how.to_owned()),
        ];
        Ok(Readings { batch, circumstances, ..ordinary(name, unit, values) })
    }

    /// Keeps the counts of a block that sent trains.
    fn count_losses(&mut self, counts: Counts) {
        if counts.sent > 0 {
            self.losses.push(counts);
        }
    }
}

impl ReadingSource for Link {
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        if let Some(cut) = &self.cut {
            return Err(LinkError::Cut(cut.clone()).into());
        }
        let readings = self.readings(name, count);
        match &readings {
            Ok(_) => {
                self.read.insert(name.to_owned());
            }
            Err(error) if self.is_cut_by(error, name) => self.cut = Some(error.to_string()),
            Err(_) => {}
        }
        Ok(readings?)
    }

    fn end_block(&mut self, rest: Span) {
        self.watch.end_block(rest);
    }
}
