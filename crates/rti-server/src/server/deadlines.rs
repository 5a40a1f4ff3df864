//! Deadlines. Most of them move with every message, so no order of them is kept: when the first may have expired, all
//! are checked, and the first of the remaining ones is the next.

use hemiola_rti::SessionId;
use hemiola_units::Instant;

use super::Server;
use super::output::DEFERRED_FOR;
use crate::connection::Purpose;
use crate::network::{ConnectionId, Network};
use crate::session::PendingOutput;

/// Connections that are closed in one turn because they are overdue. The others are closed in the next turns.
const OVERDUE_MAX: usize = 32;

impl Server {
    /// Handles everything whose deadline has expired.
    pub(super) fn expire(&mut self, network: &mut dyn Network) {
        self.schedule.deadline = Instant::MAX;
        self.expire_connections(network);
        self.expire_federations();
        let sessions: Vec<SessionId> = self.sessions.by_id.keys().copied().collect();
        for id in sessions {
            self.expire_congestion(id);
            self.expire_turn(id);
            self.expire_session(network, id);
        }
    }

    fn expire_connections(&mut self, network: &mut dyn Network) {
        let mut expired: Vec<ConnectionId> = Vec::new();
        for (id, connection) in &self.connections.by_id {
            let until = match &connection.purpose {
                Purpose::Arriving(arrival) => arrival.deadline(),
                Purpose::Asking { until, .. } | Purpose::Leaving { until } => *until,
                Purpose::Carrying(_) => continue,
            };
            if until > self.now || expired.len() == OVERDUE_MAX {
                self.schedule.deadline = self.schedule.deadline.min(until);
                continue;
            }
            let peer = &connection.peer;
            match connection.purpose {
                Purpose::Leaving { .. } => tracing::debug!(%peer, "the peer does not close"),
                _ => tracing::info!(%peer, "connection closed: the peer did not state its purpose"),
            }
            expired.push(*id);
        }
        for id in expired {
            self.close(network, id);
        }
    }

    /// Destroys the federations that were abandoned long enough ago.
    fn expire_federations(&mut self) {
        let Some(expiry) = self.settings.abandoned_federation_expiry else { return };
        for federation in self.kernel.destroy_abandoned(self.now - expiry) {
            tracing::warn!(federation, "federation destroyed: it was abandoned");
        }
        if let Some(since) = self.kernel.abandoned_since() {
            self.schedule.wake_by(since + expiry);
        }
    }

    /// A federate has left, or a session has ended: a federation may be abandoned from now on.
    pub(super) fn expect_abandoned(&mut self) {
        if let Some(expiry) = self.settings.abandoned_federation_expiry {
            self.schedule.wake_by(self.now + expiry);
        }
    }

    /// The deadlines of a session as a receiver that does not read, and as a sender that is held.
    fn expire_congestion(&mut self, id: SessionId) {
        let (now, stall_max) = (self.now, self.settings.stall_max);
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let progress = session.progress();
        let may_read = !session.spool.waits_for_file();
        if let Some(congestion) = &mut session.pressure.congestion {
            if progress != congestion.progress {
                (congestion.since, congestion.progress) = (now, progress);
            }
            let until = congestion.since + stall_max;
            if until > now {
                self.schedule.wake_by(until);
            } else if session.connection.is_some() && may_read {
                let reason = "it does not read";
                self.schedule.evictions.push_back((id, reason));
            }
        }
        if let Some(hold) = session.pressure.hold {
            if hold.until > now {
                self.schedule.wake_by(hold.until);
            } else {
                if let Some(receiver) = self.sessions.by_id.get_mut(&hold.by)
                    && let Some(congestion) = &mut receiver.pressure.congestion
                {
                    congestion.holds.retain(|sender| *sender != id);
                }
                self.release(id, hold.by);
            }
        }
    }

    /// The deadlines of a session itself.
    fn expire_session(&mut self, network: &mut dyn Network, id: SessionId) {
        let now = self.now;
        let detached_until = self.detached_until(id);
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let mut is_due = false;
        match session.pending.deferred_since.map(|since| since + DEFERRED_FOR) {
            Some(until) if until <= now => is_due = true,
            Some(until) => self.schedule.wake_by(until),
            None => {}
        }
        match session.answer_awaited_until().filter(|_| session.calls.awaits_answer) {
            Some(until) if until <= now => is_due = true,
            Some(until) => self.schedule.wake_by(until),
            None => {}
        }
        match detached_until {
            Some(until) if until <= now && !session.protocol.has_ended() => {
                self.schedule.evictions.push_back((id, "connection lost"));
            }
            Some(until) => self.schedule.wake_by(until.max(now)),
            None => {}
        }
        // Silence means nothing while the session is not read.
        let is_heard = session.may_receive();
        match session.protocol.deadline() {
            Some(deadline) if deadline <= now && is_heard => {
                session.protocol.tick(now);
                is_due = true;
                if let Some(next) = session.protocol.deadline() {
                    self.schedule.wake_by(next);
                }
            }
            Some(deadline) if is_heard => self.schedule.wake_by(deadline),
            Some(deadline) => {
                self.schedule.wake_by(deadline.max(now + self.settings.stall_max));
            }
            None => {}
        }
        if is_due {
            self.drive(network, id);
            self.mark(id, PendingOutput::Lazy);
        }
    }

    /// Until when a detached session is kept; `None` while it has a connection.
    pub(super) fn detached_until(&self, id: SessionId) -> Option<Instant> {
        let session = self.sessions.by_id.get(&id)?;
        let since = session.detached_since?;
        let window = if self.kernel.has_joined(id) {
            self.settings.session.resume_window
        } else {
            self.settings.idle_resume_window.min(self.settings.session.resume_window)
        };
        Some(since + session.resume_window.map_or(window, |wanted| wanted.min(window)))
    }
}
