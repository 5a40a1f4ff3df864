//! Connections: from their first byte to the session they carry, and to their end.

use hemiola_fedpro as fedpro;
use hemiola_fedpro::session::{
    Resume, ResumeRefusal, SessionRefusal, refuse_resume, refuse_session,
};
use hemiola_fedpro::{Arrival, Greeting};
use hemiola_rti::{Input, SessionId};
use hemiola_units::Span;

use super::{ORPHANED, Server};
use crate::connection::{Connection, Purpose};
use crate::listeners::PAUSE;
use crate::network::{
    Accepted, ConnectionId, ListenerId, Network, Origin, Peer, PeerAddress, Received, Urgency,
};
use crate::session::{PendingOutput, Place, Session};
use crate::settings::Settings;
use crate::shares::{Crowd, Quota, Room};

/// The work of a step of a connection that carries no session, in the units of a turn's budget.
const STEP: u64 = 4;
/// The work of accepting a connection: the system makes a descriptor and tells whose it is.
const ACCEPT: u64 = 8;
/// The work of closing one: the system takes its socket apart and tells the peer.
const CLOSE: u64 = 16;
/// Received bytes that are copied for one unit: their pages may have to be made, too.
const COPIED_PER_UNIT: usize = 4 << 10;

/// How long a finished connection stays open, so that the last bytes arrive.
const LINGER: Span = Span::from_millis(2000);

impl Server {
    /// Accepts the next connection of a listener. Returns the work that it was.
    pub(super) fn accept_from(&mut self, network: &mut dyn Network, listener: ListenerId) -> u64 {
        let id = ConnectionId(self.connections.count);
        match network.accept(listener, id) {
            Accepted::Connection(origin, peer) => {
                let before = self.connections.by_id.len();
                if self.accept(network, origin, peer).is_none() {
                    self.connections.count += 1;
                    network.close(id);
                    return ACCEPT + CLOSE;
                }
                // It may have taken the place of another one.
                let is_one_more = self.connections.by_id.len() > before;
                ACCEPT + if is_one_more { 0 } else { CLOSE }
            }
            Accepted::None => {
                self.listeners.emptied(listener);
                1
            }
            Accepted::Refused(reason) => {
                tracing::info!(reason, "a connection was not accepted");
                ACCEPT + CLOSE
            }
            Accepted::Shortage(error) => {
                tracing::warn!(error, "no connections are accepted for {PAUSE}");
                self.listeners.pause(listener, self.now + PAUSE);
                ACCEPT
            }
        }
    }

    /// Takes a new connection. Returns its number, under which the shell must know it before the next
    /// [turn](Self::turn); `None` if there are too many.
    pub fn accept(
        &mut self,
        network: &mut dyn Network,
        origin: Origin,
        peer: Peer,
    ) -> Option<ConnectionId> {
        if !self.has_room_for_connection(network, peer.address) {
            // Logged once: a peer that exhausts the connections must not fill the log as well.
            if !self.connections.is_full {
                tracing::warn!(%peer, "refused: too many connections");
            }
            self.connections.is_full = true;
            return None;
        }
        self.connections.is_full = false;
        let id = ConnectionId(self.connections.count);
        self.connections.count += 1;
        let until = self.now + self.settings.session.greeting_max;
        let purpose = match origin {
            Origin::Federate => Purpose::Arriving(Arrival::new(self.now, &self.settings.session)),
            Origin::Local => Purpose::Asking { until, line: Vec::new() },
        };
        self.schedule.wake_by(until);
        self.connections.shares.take(peer.address);
        self.connections.shares.offer(peer.address, Crowd::Unneeded, id);
        self.connections.by_id.insert(id, Connection::new(id, purpose, peer));
        self.enqueue(id);
        Some(id)
    }

    /// Whether a peer may have another connection, if need be in place of one that carries no session.
    fn has_room_for_connection(&mut self, network: &mut dyn Network, peer: PeerAddress) -> bool {
        let Settings { connections_max, peer_connections_max, .. } = self.settings;
        let quota = Quota { total: connections_max, of_peer: peer_connections_max };
        let room = self.connections.shares.room_for(peer, quota);
        if let Room::InPlaceOf(id) = room {
            self.lose(network, id, "its place was needed for another connection");
        }
        room != Room::None
    }

    /// Forgets a connection.
    pub(super) fn close(
        &mut self,
        network: &mut dyn Network,
        id: ConnectionId,
    ) -> Option<Connection> {
        let connection = self.connections.by_id.remove(&id)?;
        self.connections.shares.withdraw(connection.peer.address, Crowd::Unneeded, id);
        self.connections.shares.give_back(connection.peer.address);
        network.close(id);
        Some(connection)
    }

    /// Serves a connection that may have bytes or room. Returns the work that it was.
    pub(super) fn serve(&mut self, network: &mut dyn Network, id: ConnectionId) -> u64 {
        let Some(connection) = self.connections.get_mut(id) else { return 0 };
        connection.is_queued = false;
        match connection.purpose {
            Purpose::Carrying(session) => return self.serve_session(network, id, session),
            Purpose::Leaving { .. } => self.serve_leaving(network, id),
            Purpose::Arriving(_) => {
                if let Some(len) = self.read(network, id) {
                    self.take_greeting(network, id, len);
                }
            }
            Purpose::Asking { .. } => {
                if let Some(len) = self.read(network, id) {
                    self.take_line(network, id, len);
                }
            }
        }
        let spent = self.step_of(id);
        self.schedule.count_without_session(spent);
        spent
    }

    /// The work of a step of this connection, which may have been closed in it.
    fn step_of(&self, id: ConnectionId) -> u64 {
        if self.connections.by_id.contains_key(&id) { STEP } else { CLOSE }
    }

    fn take_greeting(&mut self, network: &mut dyn Network, id: ConnectionId, len: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Purpose::Arriving(arrival) = &mut connection.purpose else { return };
        match arrival.receive(&self.buffers.inbox[..len]) {
            Ok(None) => {}
            Err(violation) => {
                tracing::info!(peer = %connection.peer, %violation, "connection closed");
                self.close(network, id);
            }
            Ok(Some(greeting)) => {
                let spent = Arrival::new(self.now, &self.settings.session);
                let arrival = std::mem::replace(arrival, spent);
                self.greet(network, id, arrival, greeting);
            }
        }
    }

    fn greet(
        &mut self,
        network: &mut dyn Network,
        id: ConnectionId,
        arrival: Arrival,
        greeting: Greeting,
    ) {
        match greeting {
            Greeting::Unsupported { version } => {
                let refusal = SessionRefusal::UnsupportedVersion;
                let reason = format!("{refusal}: {version}");
                self.refuse(network, id, &refuse_session(refusal), &reason);
            }
            Greeting::New => self.greet_new(network, id, arrival),
            Greeting::Resume(resume) => {
                let known = self.sessions.by_name.get(&resume.session).copied();
                let known = known.filter(|id| !self.sessions.by_id[id].protocol.has_ended());
                match known {
                    Some(session) => self.resume(network, id, arrival, resume, session),
                    None => {
                        let refusal = ResumeRefusal::UnknownSession;
                        let frame = refuse_resume(resume.session, refusal);
                        self.refuse(network, id, &frame, &refusal.to_string());
                    }
                }
            }
        }
    }

    fn greet_new(&mut self, network: &mut dyn Network, id: ConnectionId, arrival: Arrival) {
        let peer = self.connections.by_id[&id].peer.address;
        if !self.has_room_for_session(network, peer) {
            let refusal = SessionRefusal::OutOfResources;
            let reason = "joined federates use all sessions, or all of this peer";
            return self.refuse(network, id, &refuse_session(refusal), reason);
        }
        match self.new_name(network) {
            Some(name) => self.open(network, id, arrival, name),
            None => {
                let frame = refuse_session(SessionRefusal::Other);
                self.refuse(network, id, &frame, "the system provides no random numbers");
            }
        }
    }

    /// Whether a peer may have another session, if need be in place of one that can make room.
    fn has_room_for_session(&mut self, network: &mut dyn Network, peer: PeerAddress) -> bool {
        let Settings { sessions_max, peer_sessions_max, .. } = self.settings;
        let quota = Quota { total: sessions_max, of_peer: peer_sessions_max };
        let room = self.sessions.shares.room_for(peer, quota);
        if let Room::InPlaceOf(Place { session: id, .. }) = room {
            self.evict_now(network, id, "room was needed for another session");
        }
        room != Room::None
    }

    /// Offers the place of a session to others while it has no federate or no connection.
    pub(super) fn offer_session(&mut self, id: SessionId) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let crowd = match (session.connection.is_some(), self.kernel.has_joined(id)) {
            _ if session.ending.is_over => None,
            (true, true) => None,
            (true, false) => Some(Crowd::Idle),
            (false, true) => Some(Crowd::Away),
            (false, false) => Some(Crowd::Unneeded),
        };
        let place = Place { since: session.detached_since, session: id };
        let offer = crowd.map(|crowd| (crowd, place));
        let before = std::mem::replace(&mut session.offer, offer);
        if before == offer {
            return;
        }
        let (shares, peer) = (&mut self.sessions.shares, session.peer.address);
        if let Some((crowd, place)) = before {
            shares.withdraw(peer, crowd, place);
        }
        if let Some((crowd, place)) = offer {
            shares.offer(peer, crowd, place);
        }
    }

    /// A name that no other session has and no peer can guess.
    fn new_name(&self, network: &mut dyn Network) -> Option<fedpro::SessionId> {
        loop {
            let name = fedpro::SessionId::new(network.secret()?);
            if let Some(name) = name.filter(|name| !self.sessions.by_name.contains_key(name)) {
                return Some(name);
            }
        }
    }

    fn open(
        &mut self,
        network: &mut dyn Network,
        id: ConnectionId,
        arrival: Arrival,
        name: fedpro::SessionId,
    ) {
        let protocol = fedpro::Session::accept(self.now, self.settings.session, name, arrival);
        self.statistics.summary.sessions += 1;
        let session = SessionId(self.statistics.summary.sessions);
        let connection = self.connections.get_mut(id).expect("it asked for a session");
        connection.purpose = Purpose::Carrying(session);
        tracing::info!(session = session.0, peer = %connection.peer, "session opened");
        let peer = connection.peer.clone();
        self.connections.shares.withdraw(peer.address, Crowd::Unneeded, id);
        self.sessions.shares.take(peer.address);
        let (owner, host) = (peer.address.into(), peer.name.clone());
        if let Some(deadline) = protocol.deadline() {
            self.schedule.wake_by(deadline);
        }
        self.sessions.by_name.insert(name, session);
        let opened = Session::new(protocol, id, peer, self.now);
        self.sessions.by_id.insert(session, Box::new(opened));
        network.watch_process(id, session);
        self.input(Input::Opened(session));
        self.kernel.set_owner(session, owner);
        self.kernel.set_host(session, &host);
        self.offer_session(session);
        self.mark(session, PendingOutput::Urgent);
        self.drive(network, session);
    }

    fn resume(
        &mut self,
        network: &mut dyn Network,
        id: ConnectionId,
        arrival: Arrival,
        resume: Resume,
        session: SessionId,
    ) {
        let found = self.sessions.by_id.get_mut(&session).expect("names refer to sessions");
        let before = found.connection.replace(id);
        found.protocol.resume(self.now, arrival, resume);
        found.detached_since = None;
        found.is_orphaned = false;
        found.traffic.heard = self.now;
        let connection = self.connections.get_mut(id).expect("it asked for a session");
        connection.purpose = Purpose::Carrying(session);
        tracing::info!(session = session.0, peer = %connection.peer, "session resumed");
        let peer = std::mem::replace(&mut found.peer, connection.peer.clone());
        let (shares, address) = (&mut self.sessions.shares, found.peer.address);
        self.connections.shares.withdraw(address, Crowd::Unneeded, id);
        if let Some((crowd, place)) = found.offer.take() {
            shares.withdraw(peer.address, crowd, place);
        }
        shares.give_back(peer.address);
        shares.take(address);
        self.offer_session(session);
        if let Some(before) = before {
            self.close(network, before);
        }
        network.watch_process(id, session);
        self.mark(session, PendingOutput::Urgent);
        self.drive(network, session);
    }

    /// Sends a refusal and closes the connection.
    fn refuse(&mut self, network: &mut dyn Network, id: ConnectionId, frame: &[u8], reason: &str) {
        let connection = self.connections.get_mut(id).expect("it asked for something");
        tracing::info!(peer = %connection.peer, reason, "connection refused");
        self.answer(network, id, frame);
    }

    /// Sends bytes and closes the connection.
    pub(super) fn answer(&mut self, network: &mut dyn Network, id: ConnectionId, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        match connection.send(network, bytes, Urgency::Urgent) {
            Ok(_) => self.leave(network, id),
            Err(_) => drop(self.close(network, id)),
        }
    }

    fn serve_session(
        &mut self,
        network: &mut dyn Network,
        id: ConnectionId,
        session: SessionId,
    ) -> u64 {
        let Some(found) = self.sessions.by_id.get(&session) else { return 0 };
        let has_output = self.connections.by_id[&id].rest_len() > 0
            || !found.spool.is_empty()
            || (found.protocol.has_output() && found.pending.deferred_since.is_none());
        if has_output {
            // The peer may be waiting for a part of it.
            self.mark(session, PendingOutput::Urgent);
        }
        if !self.sessions.by_id[&session].may_receive() || !self.has_room_for_rest(session) {
            return 1;
        }
        let len = match self.read(network, id) {
            Some(0) => return 1,
            Some(len) => len,
            None => return self.step_of(id),
        };
        let found = self.sessions.by_id.get_mut(&session).expect("it was found above");
        let partial_len = found.protocol.partial_len();
        found.protocol.receive(self.now, &self.buffers.inbox[..len]);
        // The received part of a message is copied whenever there has to be more room for it.
        let grew = found.protocol.partial_len() > partial_len;
        let moved = len + if grew { partial_len } else { 0 };
        found.traffic.heard = self.now;
        found.traffic.received.count(self.now, 0, len as u64);
        found.pending.received_since += len;
        let defers = found.pending.defers_responses;
        self.statistics.received.count(self.now, 0, len as u64);
        let copying = (moved / COPIED_PER_UNIT) as u64;
        self.count_service(session, copying);
        let spent = copying + self.drive(network, session);
        let has_output =
            self.sessions.by_id.get(&session).is_some_and(|found| found.protocol.has_output());
        if defers && has_output {
            self.defer(session);
        } else {
            self.mark(session, PendingOutput::Lazy);
        }
        spent
    }

    fn serve_leaving(&mut self, network: &mut dyn Network, id: ConnectionId) {
        let connection = self.connections.get_mut(id).expect("it is being served");
        if connection.flush(network).is_err() {
            self.close(network, id);
        }
        // The bytes are discarded, but their end matters.
        self.read(network, id);
    }

    /// Reads into the inbox and returns the number of bytes; `None` if nothing can be read or the connection ended.
    fn read(&mut self, network: &mut dyn Network, id: ConnectionId) -> Option<usize> {
        let connection = self.connections.get_mut(id)?;
        if !connection.readable {
            return None;
        }
        let reason = match network.read(id, &mut self.buffers.inbox) {
            Ok(Received::Some(len)) => {
                self.enqueue(id);
                return Some(len);
            }
            Ok(Received::All(len)) => {
                connection.readable = false;
                return Some(len);
            }
            Ok(Received::AllUnarmed(len)) => {
                connection.readable = false;
                if !connection.is_unarmed {
                    connection.is_unarmed = true;
                    self.schedule.unarmed.push(id);
                }
                return Some(len);
            }
            Ok(Received::Closed) => "the peer closed it".into(),
            Err(lost) => lost.0,
        };
        self.lose(network, id, &reason);
        None
    }

    /// A connection has ended.
    pub(super) fn lose(&mut self, network: &mut dyn Network, id: ConnectionId, reason: &str) {
        let Some(connection) = self.close(network, id) else { return };
        tracing::debug!(peer = %connection.peer, reason, "connection lost");
        let Purpose::Carrying(session) = connection.purpose else { return };
        let Some(found) = self.sessions.by_id.get_mut(&session) else { return };
        found.detach(self.now);
        self.leave_gate(session);
        self.offer_session(session);
        self.release_all(session);
        let found = &self.sessions.by_id[&session];
        if found.is_orphaned {
            self.schedule.evictions.push_back((session, ORPHANED));
        } else if !self.kernel.has_joined(session) && found.is_behind(self.settings.behind_len) {
            // It can open another, and what waits for it is not worth its memory.
            let reason = "its connection is broken, and much was queued for it";
            self.schedule.evictions.push_back((session, reason));
        } else if let Some(until) = self.detached_until(session) {
            tracing::info!(session = session.0, reason, "session detached from its connection");
            self.schedule.wake_by(until);
        }
        self.mark(session, PendingOutput::Lazy);
    }

    /// Closes a connection once its output has been written.
    pub(super) fn leave(&mut self, network: &mut dyn Network, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id) {
            let is_done = connection.rest_len() == 0;
            let timeout = if is_done { LINGER } else { self.settings.session.greeting_max };
            let until = self.now + timeout;
            connection.leave(network, until);
            let peer = connection.peer.address;
            self.connections.shares.offer(peer, Crowd::Unneeded, id);
            self.schedule.wake_by(until);
            self.enqueue(id);
        }
    }
}
