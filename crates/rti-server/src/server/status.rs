//! The report of a server.

use super::Server;
use crate::connection::Purpose;
use crate::report::{LAYOUT, Report, SessionReport, SessionState, Work, federations};
use crate::session::Session;
use hemiola_rti::SessionId;
use hemiola_units::Span;

impl Server {
    /// Returns the state of the server.
    #[must_use]
    pub fn report(&self) -> Report {
        let now = self.now;
        let statistics = &self.statistics;
        let ended = statistics.sessions_ended.iter();
        let is_arriving =
            |purpose: &Purpose| matches!(purpose, Purpose::Arriving(_) | Purpose::Asking { .. });
        let connections = self.connections.by_id.values();
        Report {
            layout: LAYOUT,
            version: self.identity.version.clone(),
            pid: self.identity.pid,
            uptime: now - statistics.began,
            addresses: self.identity.addresses.clone(),
            work: Work {
                turns: statistics.summary.turns,
                busy: statistics.summary.busy,
                longest_turn: statistics.summary.longest_turn,
                calls: statistics.summary.calls,
                callbacks: statistics.summary.callbacks,
            },
            memory: self.memory_report(),
            received: statistics.received.read(now),
            sent: statistics.sent.read(now),
            arrivals: connections.filter(|one| is_arriving(&one.purpose)).count(),
            sessions_opened: statistics.summary.sessions,
            sessions_ended: ended.map(|(why, count)| ((*why).to_owned(), *count)).collect(),
            slow_reading: statistics.slow,
            sessions: self.sessions.by_id.iter().map(|(id, one)| self.session(id.0, one)).collect(),
            federations: federations(&self.kernel.status(), now),
        }
    }

    fn session(&self, number: u64, session: &Session) -> SessionReport {
        let is_slow = session.pressure.congestion.is_some() || !session.spool.is_empty();
        let state = match session.connection {
            None => SessionState::Apart,
            Some(_) if is_slow => SessionState::Congested,
            Some(_) => SessionState::Running,
        };
        SessionReport {
            number,
            peer: session.peer.name.clone(),
            state,
            age: self.now - session.traffic.opened,
            silence: self.now - session.traffic.heard,
            apart: session.detached_since.map_or(Span::ZERO, |since| self.now - since),
            received: session.traffic.received.read(self.now),
            sent: session.traffic.sent.read(self.now),
            backlog: session.protocol.waiting() + session.spool.count(),
            backlog_bytes: session.queue_memory(),
            file_bytes: session.spool.file_len(),
            slow_reading: session.slow_reading(),
            kept_bytes: session.protocol.kept_len(),
            unanswered: session.protocol.unanswered(),
            memory: session.charged.0 + session.charged.1,
            federation_memory: self.kernel.memory_len_of(SessionId(number)),
        }
    }

    /// Checks what must be true between two turns; tests call it after every event.
    ///
    /// # Panics
    /// An invariant is violated.
    pub fn check_invariants(&self) {
        let sessions = &self.sessions.by_id;
        self.check_memory();
        for (id, session) in sessions {
            if let Some(connection) = session.connection {
                let carried = self.connections.by_id.get(&connection).map(|one| &one.purpose);
                assert!(
                    matches!(carried, Some(Purpose::Carrying(carried)) if carried == id),
                    "{id:?} and its connection know each other: {carried:?}"
                );
            }
            assert_eq!(session.connection.is_none(), session.detached_since.is_some(), "{id:?}");
            session.spool.check_invariants();
            let connection = session.connection.and_then(|id| self.connections.by_id.get(&id));
            if !session.spool.is_empty()
                && let Some(connection) = connection
            {
                let waits = !connection.is_clear() || connection.is_queued;
                assert!(waits || session.spool.waits_for_file(), "the spool of {id:?} is stuck");
            }
            if let Some(hold) = session.pressure.hold {
                let longest = self.now + self.settings.hold_max;
                assert!(hold.until > self.now && hold.until <= longest, "{id:?}: {hold:?}");
                let receiver = sessions.get(&hold.by).expect("a receiver that holds exists");
                let congestion = receiver.pressure.congestion.as_ref();
                assert!(congestion.is_some_and(|one| one.holds.contains(id)), "{id:?}: {hold:?}");
            }
        }
        for connection in self.connections.by_id.values() {
            if let Purpose::Carrying(id) = connection.purpose {
                let carried = sessions.get(&id).and_then(|session| session.connection);
                assert_eq!(carried, Some(connection.id), "{id:?}");
            }
        }
        let running = sessions.values().filter(|session| !session.ending.is_over).count();
        assert_eq!(self.sessions.shares.counts().0, running);
        assert_eq!(self.connections.shares.counts().0, self.connections.by_id.len());
        self.gate.check_invariants();
        assert_eq!(self.kernel.unprepared(), 0, "object models are merged beside the loop");
        self.kernel.check_invariants();
    }
}
