//! Connections from their first byte to the session they carry, and at their end.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;

use hemiola_fedpro as fedpro;
use hemiola_fedpro::session::{ResumeRefusal, SessionRefusal, refuse_resume, refuse_session};
use hemiola_fedpro::{Arrival, Greeting, Session, SessionId as Name};
use hemiola_rt::shared::Stream;
use hemiola_rt::sys::random::secret;
use hemiola_rti::{Input, SessionId};
use hemiola_units::Span;

use crate::connection::{Connection, Stage};
use crate::door::{Door, Guest};
use crate::host::{Host, Output};
use crate::link::Link;
use crate::server::Server;
use crate::token::{EDGE, ONCE, Token};

/// Connections taken in one turn of the loop.
const ACCEPTED_MAX: usize = 64;

/// How long nobody is let in when the system has no more descriptors or memory.
const PAUSE: Span = Span::from_millis(1000);

/// Why a session ends whose process has.
const ORPHANED: &str = "its process has ended";

/// How long a connection that is done stays open, so that what was written last arrives.
const LINGER: Span = Span::from_millis(2000);

impl Server {
    /// Takes the connections that wait at a listener.
    pub(crate) fn answer_door(&mut self, place: u64) {
        for _ in 0..ACCEPTED_MAX {
            let door = &self.doors[place as usize];
            match door.accept() {
                Ok(guest) => {
                    let stage = self.first_stage(place);
                    self.let_in(guest, stage);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if is_shortage(&error) => {
                    tracing::warn!(%error, "takes no connections for a second");
                    if door.shut(&self.epoll).is_ok() {
                        self.shut_doors.push((place, self.now + PAUSE));
                        self.sweep_by(self.now + PAUSE);
                    }
                    return;
                }
                // One that was given up before it was taken, or that is of another user.
                Err(error) => tracing::info!(%error, "a connection is not taken"),
            }
        }
    }

    fn first_stage(&self, place: u64) -> Stage {
        let until = self.now + self.options.session.greeting_max;
        match &self.doors[place as usize] {
            Door::Tcp { .. } => Stage::Arriving(Arrival::new(self.now, &self.options.session)),
            Door::Local { .. } => Stage::Asking { until, line: Vec::new() },
            Door::Metrics { .. } => Stage::Collecting { until, request: Vec::new() },
        }
    }

    /// Begins with a stream from inside this process.
    pub(crate) fn let_in_stream(&mut self, stream: Stream) {
        let stage = Stage::Arriving(Arrival::new(self.now, &self.options.session));
        let link = Link::Stream { stream, _socket: None, is_abandoned: false };
        self.let_in(Guest { link, peer: "in this process".into(), process: None }, stage);
    }

    /// Begins with a connection that was just made.
    fn let_in(&mut self, guest: Guest, stage: Stage) {
        let Guest { link, peer, process } = guest;
        let was_full = self.is_full;
        self.is_full = self.connections.len() >= self.options.connections_max;
        if self.is_full {
            // Said once: whoever fills the RTI with connections need not fill its log too.
            if !was_full {
                tracing::warn!(%peer, "refused: there are as many connections as there may be");
            }
            return;
        }
        let number = self.connection_count;
        self.connection_count += 1;
        let watched = self.epoll.add(link.descriptor(), Token::Connection(number).to_data(), EDGE);
        if let Err(error) = watched {
            tracing::warn!(%peer, %error, "refused: it cannot be watched");
            return;
        }
        self.sweep_by(self.now + self.options.session.greeting_max);
        self.keep(number, link, stage, peer, process);
    }

    /// Has a connection from now on.
    pub(crate) fn keep(
        &mut self,
        number: u64,
        link: Link,
        stage: Stage,
        peer: String,
        process: Option<OwnedFd>,
    ) {
        self.connections.insert(number, Connection::new(link, stage, peer, process));
        self.enqueue(number);
    }

    /// Serves a connection that may have something to read, or room.
    pub(crate) fn serve(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        connection.queued = false;
        match connection.stage {
            Stage::Carrying(session) => self.serve_session(number, session),
            Stage::Leaving { .. } => self.serve_leaving(number),
            Stage::Arriving(_) | Stage::Asking { .. } | Stage::Collecting { .. } => {
                let Some(len) = self.read(number) else { return };
                match self.connections[&number].stage {
                    Stage::Asking { .. } => self.take_line(number, len),
                    Stage::Collecting { .. } => self.take_request(number, len),
                    _ => self.take_greeting(number, len),
                }
            }
        }
    }

    fn take_greeting(&mut self, number: u64, len: usize) {
        let connection = self.connections.get_mut(&number).expect("it was read from");
        let Stage::Arriving(arrival) = &mut connection.stage else { return };
        match arrival.receive(&self.inbox[..len]) {
            Ok(None) => {}
            Err(violation) => {
                tracing::info!(peer = %connection.peer, %violation, "a connection is closed");
                self.connections.remove(&number);
            }
            Ok(Some(greeting)) => {
                let spent = Arrival::new(self.now, &self.options.session);
                let arrival = std::mem::replace(arrival, spent);
                self.greet(number, arrival, greeting);
            }
        }
    }

    fn greet(&mut self, number: u64, arrival: Arrival, greeting: Greeting) {
        match greeting {
            Greeting::Unsupported { version } => {
                let refusal = SessionRefusal::UnsupportedVersion;
                self.refuse(number, &refuse_session(refusal), &format!("{refusal}: {version}"));
            }
            Greeting::New if self.hosts.len() >= self.options.sessions_max => {
                let refusal = SessionRefusal::OutOfResources;
                self.refuse(number, &refuse_session(refusal), &refusal.to_string());
            }
            Greeting::New => match self.new_name() {
                Some(name) => self.open(number, arrival, name),
                None => {
                    let frame = refuse_session(SessionRefusal::Other);
                    self.refuse(number, &frame, "the system gives no random numbers");
                }
            },
            Greeting::Resume(resume) => {
                let known = self.names.get(&resume.session).copied();
                match known.filter(|id| !self.hosts[id].session.has_ended()) {
                    Some(id) => self.resume(number, arrival, resume, id),
                    None => {
                        let refusal = ResumeRefusal::UnknownSession;
                        let frame = refuse_resume(resume.session, refusal);
                        self.refuse(number, &frame, &refusal.to_string());
                    }
                }
            }
        }
    }

    /// A name that nobody has, and nobody guesses.
    fn new_name(&self) -> Option<Name> {
        loop {
            let name = Name::new(u64::from_ne_bytes(secret().ok()?));
            if let Some(name) = name.filter(|name| !self.names.contains_key(name)) {
                return Some(name);
            }
        }
    }

    fn open(&mut self, number: u64, arrival: Arrival, name: Name) {
        let session = Session::accept(self.now, self.options.session, name, arrival);
        self.summary.sessions += 1;
        let id = SessionId(self.summary.sessions);
        let connection = self.connections.get_mut(&number).expect("it has asked for a session");
        connection.stage = Stage::Carrying(id);
        tracing::info!(session = id.0, peer = %connection.peer, "a session begins");
        let peer = connection.peer.clone();
        if let Some(deadline) = session.deadline() {
            self.sweep_by(deadline);
        }
        self.names.insert(name, id);
        self.hosts.insert(id, Host::new(session, number, peer, self.now));
        self.know_process(id, number);
        self.kernel.handle(Input::Opened(id), &mut self.outputs);
        self.mark(id, Output::Urgent);
        self.drive(id);
    }

    fn resume(
        &mut self,
        number: u64,
        arrival: Arrival,
        resume: fedpro::session::Resume,
        id: SessionId,
    ) {
        let host = self.hosts.get_mut(&id).expect("names are those of hosts");
        let before = host.connection.replace(number);
        host.session.resume(self.now, arrival, resume);
        if let Some(before) = before {
            self.connections.remove(&before);
        }
        let connection = self.connections.get_mut(&number).expect("it has asked for a session");
        connection.stage = Stage::Carrying(id);
        tracing::info!(session = id.0, peer = %connection.peer, "a session is resumed");
        host.peer.clone_from(&connection.peer);
        host.heard = self.now;
        self.know_process(id, number);
        self.mark(id, Output::Urgent);
        self.drive(id);
    }

    /// Says no, and hangs up.
    fn refuse(&mut self, number: u64, frame: &[u8], reason: &str) {
        let connection = self.connections.get_mut(&number).expect("it has asked for something");
        tracing::info!(peer = %connection.peer, reason, "a connection is refused");
        self.answer(number, frame);
    }

    /// Watches the process at the other end, if it is known.
    fn know_process(&mut self, id: SessionId, number: u64) {
        let process = self.connections.get_mut(&number).and_then(|one| one.process.take());
        let watched = process.filter(|process| {
            let watched = self.epoll.add(process, Token::Process(id.0).to_data(), ONCE);
            watched.is_ok()
        });
        if let Some(host) = self.hosts.get_mut(&id) {
            host.process = watched;
            host.is_orphan = false;
        }
    }

    /// The process of a session has ended. It will not come back: its session ends with what it has sent.
    pub(crate) fn orphan(&mut self, id: SessionId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.is_orphan = true;
        host.process = None;
        match host.connection {
            Some(number) => self.abandon(number),
            None => self.give_up(id, ORPHANED),
        }
    }

    fn serve_session(&mut self, number: u64, id: SessionId) {
        let Some(host) = self.hosts.get(&id) else { return };
        let has_output = self.connections[&number].rest_len() > 0
            || (host.session.has_output() && host.held_since.is_none());
        if has_output {
            // What it waits for may be among it.
            self.mark(id, Output::Urgent);
        }
        if !self.hosts[&id].may_receive() {
            return;
        }
        let Some(len) = self.read(number) else { return };
        if len > 0 {
            let host = self.hosts.get_mut(&id).expect("it was there");
            host.session.receive(self.now, &self.inbox[..len]);
            host.heard = self.now;
            host.held_len += len;
            host.received.count(self.now, 0, len as u64);
            self.received.count(self.now, 0, len as u64);
            let answers_later = host.answers_later;
            self.drive(id);
            let has_output = self.hosts.get(&id).is_some_and(|host| host.session.has_output());
            if answers_later && has_output {
                self.hold(id);
            } else {
                self.mark(id, Output::Lazy);
            }
        }
    }

    fn serve_leaving(&mut self, number: u64) {
        let connection = self.connections.get_mut(&number).expect("it is served");
        if connection.flush().is_err() {
            self.connections.remove(&number);
        }
        // What comes is not looked at, but the end is.
        self.read(number);
    }

    /// Reads into the inbox, and says how much. `None` if there is nothing to do about it.
    fn read(&mut self, number: u64) -> Option<usize> {
        let connection = self.connections.get_mut(&number)?;
        if !connection.readable {
            return None;
        }
        let reason = match connection.read(&mut self.inbox) {
            Ok(Some(len)) => {
                if connection.readable {
                    self.enqueue(number);
                } else if connection.link.is_silent() && !connection.is_unarmed {
                    connection.is_unarmed = true;
                    self.unarmed.push(number);
                }
                return Some(len);
            }
            Ok(None) => "the other side has closed it".into(),
            Err(error) => error.to_string(),
        };
        self.broke(number, &reason);
        None
    }

    /// A connection is no more.
    pub(crate) fn broke(&mut self, number: u64, reason: &str) {
        let Some(connection) = self.connections.remove(&number) else { return };
        tracing::debug!(peer = %connection.peer, reason, "a connection broke");
        let Stage::Carrying(id) = connection.stage else { return };
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.connection = None;
        host.session.disconnected(self.now);
        if host.is_orphan {
            self.give_up(id, ORPHANED);
        } else if let Some(deadline) = host.session.deadline() {
            tracing::info!(session = id.0, reason, "a session has lost its connection");
            self.sweep_by(deadline);
        }
        self.mark(id, Output::Lazy);
    }

    /// Closes a connection once what waits has gone out.
    pub(crate) fn leave(&mut self, number: u64) {
        if let Some(connection) = self.connections.get_mut(&number) {
            let is_done = connection.rest_len() == 0;
            let patience = if is_done { LINGER } else { self.options.session.greeting_max };
            let until = self.now + patience;
            connection.leave(until);
            self.sweep_by(until);
            self.enqueue(number);
        }
    }
}

/// Does the system have no more of something? Then it does no good to try again at once.
fn is_shortage(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    let code = error.raw_os_error();
    shortages.iter().any(|one| code == Some(one.raw_os_error()))
}
