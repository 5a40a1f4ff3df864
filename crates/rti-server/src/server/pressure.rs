//! Back-pressure: receivers that read too slowly, the senders that are held for them, and the timeouts of both.
//!
//! ```text
//!  queue of a session   0 ────── 7/8 congested_len ── congested_len ────────────── backlog_len_max
//!  its main senders           go on ◀──                 are held, hold_max per call   it ends
//! ```
//!
//! A receiver is congested as long as too much is queued for it. A call that adds to the queue is carried out; then its
//! sender is held, unless it has added little compared with the other senders. A sender is held for at most
//! [`hold_max`](crate::Settings::hold_max) per call, so a slow receiver limits a flood but stops no sender. A congested
//! receiver ends if it reads nothing for [`stall_max`](crate::Settings::stall_max), or if its queue reaches
//! [`backlog_len_max`](crate::Settings::backlog_len_max). Detached sessions hold no sender.

use hemiola_rti::SessionId;

use super::Server;
use crate::network::Network;
use crate::session::{Congestion, Hold, PendingOutput};

/// A sender that has added less since a receiver became congested is not held, in bytes.
const HARMLESS_LEN: usize = 64 << 10;

impl Server {
    /// A message of this length was queued for a session; its sender is known if it was caused by a call.
    pub(super) fn queued(&mut self, id: SessionId, sender: Option<SessionId>, len: usize) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let queue = session.protocol.waiting_len();
        if queue <= self.settings.congested_len {
            return;
        }
        if queue > self.settings.backlog_len_max && session.ending.eviction.is_none() {
            let reason = match session.connection {
                None => "its connection is broken, and too much is queued for it",
                Some(_) => "it reads too slowly, and too much is queued for it",
            };
            self.schedule.evictions.push((id, reason));
        }
        let is_connected = session.connection.is_some();
        let (now, sent) = (self.now, session.traffic.sent_len);
        let congestion = session.pressure.congestion.get_or_insert_with(|| {
            self.schedule.wake_by(now + self.settings.stall_max);
            Congestion { since: now, sent_then: sent, by: Default::default(), holds: Vec::new() }
        });
        let Some(sender) = sender.filter(|sender| *sender != id && is_connected) else { return };
        let added = congestion.by.entry(sender).or_default();
        *added += len;
        let added = *added;
        // Less than half of an equal share.
        let is_minor = || {
            let total: usize = congestion.by.values().sum();
            2 * added * congestion.by.len() < total
        };
        if added < HARMLESS_LEN || is_minor() {
            return;
        }
        let Some(sending) = self.sessions.by_id.get_mut(&sender) else { return };
        if sending.pressure.hold.is_some() {
            return;
        }
        let until = now + self.settings.hold_max;
        sending.pressure.hold = Some(Hold { by: id, until });
        self.schedule.wake_by(until);
        let receiver = self.sessions.by_id.get_mut(&id).expect("it was found above");
        if let Some(congestion) = &mut receiver.pressure.congestion {
            if congestion.holds.is_empty() {
                tracing::info!(session = id.0, sender = sender.0, "a slow receiver delays senders");
            }
            congestion.holds.push(sender);
        }
    }

    /// Ends the congestion of a session: it goes on, and so do the senders it held.
    fn relieve(&mut self, id: SessionId) {
        self.release_all(id);
        if let Some(session) = self.sessions.by_id.get_mut(&id)
            && session.pressure.congestion.take().is_some()
        {
            self.schedule.resumed.push(id);
        }
    }

    /// The senders that a session held go on.
    pub(super) fn release_all(&mut self, id: SessionId) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let Some(congestion) = &mut session.pressure.congestion else { return };
        for sender in std::mem::take(&mut congestion.holds) {
            self.release(sender, id);
        }
    }

    /// A sender goes on if this receiver holds it.
    pub(super) fn release(&mut self, sender: SessionId, receiver: SessionId) {
        if let Some(sending) = self.sessions.by_id.get_mut(&sender)
            && sending.pressure.hold.is_some_and(|hold| hold.by == receiver)
        {
            sending.pressure.hold = None;
            self.schedule.resumed.push(sender);
        }
    }

    /// Charges the memory account with what a session uses now. Beyond the limit, the session that uses most ends.
    pub(super) fn charge(&mut self, id: SessionId) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        let rest =
            session.connection.and_then(|connection| self.connections.by_id.get(&connection));
        let large_len = session.large_len();
        let memory = session.memory() + rest.map_or(0, |connection| connection.rest_len());
        self.sessions.memory = self.sessions.memory - session.charged + memory;
        session.charged = memory;
        let released = self.gate.hold(id, large_len, self.settings.incoming_len_max);
        self.read_again(released);
        if self.sessions.memory > self.settings.memory_max {
            let largest = self.sessions.by_id.iter().max_by_key(|(_, session)| session.charged);
            if let Some((id, session)) = largest
                && session.ending.eviction.is_none()
            {
                let reason = "all sessions together use too much memory, and this one uses most";
                self.schedule.evictions.push((*id, reason));
            }
        }
    }

    /// Ends a session from this side.
    pub(super) fn evict(&mut self, id: SessionId, reason: &'static str) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        if session.protocol.has_ended() {
            return;
        }
        session.ending.eviction = Some(reason);
        session.protocol.close(self.now);
        self.mark(id, PendingOutput::Lazy);
    }

    /// Draws the consequences after something was written to a session, or could not be.
    pub(super) fn settle(&mut self, network: &mut dyn Network, id: SessionId) {
        self.charge(id);
        let Some(session) = self.sessions.by_id.get(&id) else { return };
        let relieved_len = self.settings.congested_len - self.settings.congested_len / 8;
        if session.pressure.congestion.is_some() && session.protocol.waiting_len() <= relieved_len {
            self.relieve(id);
        }
        if self.sessions.by_id[&id].protocol.has_ended() {
            self.drive(network, id);
            self.forget(network, id);
        }
    }

    /// Forgets a session that has ended and has nothing left to send.
    fn forget(&mut self, network: &mut dyn Network, id: SessionId) {
        let Some(session) = self.sessions.by_id.get(&id) else { return };
        let has_output = session.connection.is_some() && session.protocol.has_output();
        if !session.ending.is_over || has_output {
            return;
        }
        self.relieve(id);
        self.leave_gate(id);
        let session = self.sessions.by_id.remove(&id).expect("it was found above");
        self.sessions.memory -= session.charged;
        if let Some(connection) = session.connection {
            self.leave(network, connection);
        }
    }
}
