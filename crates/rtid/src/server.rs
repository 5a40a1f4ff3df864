//! The loop: waits, serves whoever has something, writes what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use hemiola_fedpro as fedpro;
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::epoll::{Epoll, Events};
use hemiola_rti::{Input, Kernel, SessionId};
use hemiola_units::{Instant, Span};

use crate::connection::Connection;
use crate::door::Door;
use crate::error::ServeError;
use crate::host::Host;
use crate::mailbox::{Command, Mailbox};
use crate::meter::Meter;
use crate::options::Options;
use crate::stopper::Stopper;
use crate::token::{END, LEVEL, Token};
use crate::worker::Worker;

/// Bytes read from one connection before the next has its turn.
pub(crate) const READ_LEN: usize = 64 << 10;

/// Events taken with one call to the system. What does not fit comes with the next.
const EVENTS_MAX: usize = 256;

/// Where an RTI listens, with the ports that the system chose for those that were 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Addresses {
    /// For TCP connections of federates.
    pub tcp: Vec<SocketAddr>,
    /// For federates on this machine: the name in `shm:NAME`.
    pub local: Option<String>,
    /// For collectors of metrics.
    pub metrics: Option<SocketAddr>,
}

/// What an RTI has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Sessions that were given.
    pub sessions: u64,
    /// Calls that were carried out.
    pub calls: u64,
    /// Callbacks that came of them, each counted for everyone who got it.
    pub callbacks: u64,
    /// Turns of the loop that did something.
    pub turns: u64,
    /// How long these took, together.
    pub busy: Span,
}

/// An RTI: listens once it is bound, serves while it [runs](Self::run). One thread has the kernel, the sessions and
/// their connections; no lock is taken for a message.
#[derive(Debug)]
pub struct Server {
    pub(crate) options: Options,
    pub(crate) epoll: Epoll,
    pub(crate) doors: Vec<Door>,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) kernel: Kernel,
    /// So late it was when the turn began.
    pub(crate) now: Instant,
    pub(crate) began: Instant,
    pub(crate) summary: Summary,
    /// What came from all sessions and went to them.
    pub(crate) received: Meter,
    pub(crate) sent: Meter,
    pub(crate) sessions_ended: BTreeMap<&'static str, u64>,
    /// Reads object models, from the first on.
    pub(crate) worker: Option<Worker>,

    /// By numbers that are never used twice.
    pub(crate) connections: BTreeMap<u64, Connection>,
    pub(crate) connection_count: u64,
    /// Was the last one refused because there are too many?
    pub(crate) is_full: bool,
    pub(crate) hosts: BTreeMap<SessionId, Host>,
    pub(crate) names: BTreeMap<fedpro::SessionId, SessionId>,
    /// What all sessions keep together, in bytes of memory.
    pub(crate) kept: usize,

    /// Connections that may have something to read, or room to write.
    pub(crate) ready: VecDeque<u64>,
    /// Connections that have to be told before the loop sleeps.
    pub(crate) unarmed: Vec<u64>,
    /// Sessions whose calls may go on.
    pub(crate) woken: Vec<SessionId>,
    /// Sessions that something is to be written to.
    pub(crate) dirty: Vec<SessionId>,
    /// Sessions to be ended from this side, and why.
    pub(crate) doomed: Vec<(SessionId, &'static str)>,
    /// Listeners that take nobody, until then.
    pub(crate) shut_doors: Vec<(u64, Instant)>,
    /// When somebody's patience may end next.
    pub(crate) next_sweep: Instant,
    stops: bool,

    // What is used again and again.
    pub(crate) inbox: Box<[u8]>,
    pub(crate) outbox: Vec<u8>,
    pub(crate) outputs: Vec<hemiola_rti::Effect>,
}

fn now() -> Instant {
    MonotonicClock.now()
}

impl Server {
    /// Listens. From then on federates can connect; they are answered once it [runs](Self::run).
    ///
    /// # Errors
    /// An address cannot be listened on, or the system gives too little.
    pub fn bind(mut options: Options) -> Result<Self, ServeError> {
        // Beyond this a session does not want to be read at all.
        options.congested_len = options.congested_len.min(options.session.waiting_len_max / 2);
        let system = |what| move |source| ServeError::System { what, source };
        let epoll = Epoll::new().map_err(system("wait for events"))?;
        let mailbox = Mailbox::new().map_err(system("make an event counter"))?;
        let watched = epoll.add(mailbox.bell(), Token::Mailbox.to_data(), LEVEL);
        watched.map_err(system("watch an event counter"))?;
        let mut doors = Vec::new();
        for address in &options.listen {
            let refused = |source| ServeError::Listen { address: *address, source };
            doors.push(Door::tcp(*address).map_err(refused)?);
        }
        if let Some(name) = &options.local {
            let refused = |source| ServeError::Local { name: name.clone(), source };
            doors.push(Door::local(name).map_err(refused)?);
        }
        if let Some(address) = options.metrics {
            let refused = |source| ServeError::Listen { address, source };
            doors.push(Door::metrics(address).map_err(refused)?);
        }
        for (place, door) in (0..).zip(&doors) {
            door.open(&epoll, place).map_err(system("watch a listener"))?;
        }
        let began = now();
        Ok(Self {
            kernel: Kernel::new(options.limits),
            options,
            epoll,
            doors,
            mailbox: Arc::new(mailbox),
            now: began,
            began,
            summary: Summary::default(),
            received: Meter::new(began),
            sent: Meter::new(began),
            sessions_ended: BTreeMap::new(),
            worker: None,
            connections: BTreeMap::new(),
            connection_count: 0,
            is_full: false,
            hosts: BTreeMap::new(),
            names: BTreeMap::new(),
            kept: 0,
            ready: VecDeque::new(),
            woken: Vec::new(),
            dirty: Vec::new(),
            unarmed: Vec::new(),
            doomed: Vec::new(),
            shut_doors: Vec::new(),
            next_sweep: Instant::MAX,
            stops: false,
            inbox: vec![0; READ_LEN].into_boxed_slice(),
            outbox: Vec::new(),
            outputs: Vec::new(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        let mut addresses = Addresses::default();
        for door in &self.doors {
            match door {
                Door::Tcp { address, .. } => addresses.tcp.push(*address),
                Door::Local { name, .. } => addresses.local = Some(name.clone()),
                Door::Metrics { address, .. } => addresses.metrics = Some(*address),
            }
        }
        addresses
    }

    /// What can be done with it from other threads.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        let stream_capacity = self.options.stream_capacity;
        Stopper { mailbox: Arc::clone(&self.mailbox), stream_capacity }
    }

    /// Serves until it is [stopped](Stopper::stop). What waits for federates then is given to their connections as far
    /// as these take it at once; they are closed.
    ///
    /// # Errors
    /// The system does not tell of events any more.
    pub fn run(mut self) -> Result<Summary, ServeError> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        while !self.stops {
            let until = self.patience();
            let waited = self.epoll.wait(&mut events, until);
            waited.map_err(|source| ServeError::System { what: "wait for events", source })?;
            let (from, before) = (now(), self.summary);
            self.now = from;
            self.kernel.handle(Input::Tick(from), &mut self.outputs);
            self.turn(&events);
            let to = now();
            self.summary.turns += 1;
            self.summary.busy += to - from;
            if let Some(observer) = &mut self.options.observer {
                let calls = self.summary.calls - before.calls;
                let callbacks = self.summary.callbacks - before.callbacks;
                observer.busy(from, to, calls as u32, callbacks as u32);
            }
        }
        let (sessions, calls) = (self.summary.sessions, self.summary.calls);
        tracing::info!(sessions, calls, "the RTI stops");
        Ok(self.summary)
    }

    /// Until when events may be waited for. Whoever would have to be told first is told.
    fn patience(&mut self) -> Instant {
        let is_idle = self.ready.is_empty() && self.woken.is_empty();
        let mut unarmed = std::mem::take(&mut self.unarmed);
        for number in unarmed.drain(..) {
            let Some(connection) = self.connections.get_mut(&number) else { continue };
            connection.is_unarmed = false;
            // While others are busy it costs less to look again than to be woken.
            if !is_idle || !connection.link.sleep() {
                connection.readable = true;
                self.enqueue(number);
            }
        }
        self.unarmed = unarmed;
        let is_idle = self.ready.is_empty() && self.woken.is_empty();
        if is_idle { self.next_sweep } else { Instant::ZERO }
    }

    fn turn(&mut self, events: &Events) {
        for event in events.iter() {
            match Token::from_data(event.token) {
                Token::Listener(place) => self.answer_door(place),
                Token::Mailbox => self.look_into_mailbox(),
                Token::Connection(number) => {
                    if let Some(connection) = self.connections.get_mut(&number) {
                        connection.wake(event.flags);
                        self.enqueue(number);
                    }
                }
                Token::Socket(number) => {
                    if event.flags.intersects(END) {
                        self.abandon(number);
                    }
                }
                Token::Process(session) => self.orphan(SessionId(session)),
            }
        }
        for session in std::mem::take(&mut self.woken) {
            self.drive(session);
        }
        for _ in 0..self.ready.len() {
            let Some(number) = self.ready.pop_front() else { break };
            self.serve(number);
        }
        if self.next_sweep <= self.now {
            self.sweep();
        }
        self.write_all();
    }

    fn look_into_mailbox(&mut self) {
        for command in self.mailbox.take() {
            match command {
                Command::Stop => self.stops = true,
                Command::Connect(stream) => self.let_in_stream(stream),
                Command::Prepared(session, prepared) => self.go_on(session, prepared),
                Command::Report(to) => {
                    // Who asked may not wait any more.
                    let _ = to.send(self.report());
                }
            }
        }
    }

    /// Will serve this connection.
    pub(crate) fn enqueue(&mut self, number: u64) {
        if let Some(connection) = self.connections.get_mut(&number)
            && !connection.queued
        {
            connection.queued = true;
            self.ready.push_back(number);
        }
    }

    /// Somebody's patience ends then.
    pub(crate) fn sweep_by(&mut self, at: Instant) {
        self.next_sweep = self.next_sweep.min(at);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.mailbox.close();
    }
}
