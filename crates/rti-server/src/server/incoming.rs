//! Large messages: sessions that wait with the rest of one until there is room.

use hemiola_hla::body::LONG_LEN;
use hemiola_rti::SessionId;

use super::Server;

impl Server {
    /// Whether a session may be read. In the middle of a large message it may have to wait.
    pub(super) fn has_room_for_rest(&mut self, id: SessionId) -> bool {
        let session = self.sessions.by_id.get_mut(&id).expect("it is being served");
        if session.protocol.partial_len() < LONG_LEN
            || self.gate.admits(id, self.settings.incoming_len_max)
        {
            return true;
        }
        session.calls.awaits_room = true;
        self.schedule.wake_by(self.now + self.settings.stall_max);
        false
    }

    /// There is room for the messages of these sessions.
    pub(super) fn read_again(&mut self, released: Vec<SessionId>) {
        for id in released {
            if let Some(session) = self.sessions.by_id.get_mut(&id) {
                session.calls.awaits_room = false;
                session.calls.read_since = self.now;
            }
            self.read_on(id);
        }
    }

    /// A session has ended or lost its connection, and its incomplete message with it.
    pub(super) fn leave_gate(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.by_id.get_mut(&id) {
            session.calls.awaits_room = false;
        }
        let released = self.gate.forget(id, self.settings.incoming_len_max);
        self.read_again(released);
    }

    /// A session that stops in the middle of a large message lets others go first.
    pub(super) fn expire_turn(&mut self, id: SessionId) {
        let Some(session) = self.sessions.by_id.get(&id) else { return };
        if !self.gate.delays_others(id) || session.protocol.partial_len() == 0 {
            return;
        }
        let until = session.traffic.heard.max(session.calls.read_since) + self.settings.stall_max;
        if until > self.now {
            self.schedule.wake_by(until);
            return;
        }
        tracing::info!(session = id.0, "a session that stopped in the middle of a message waits");
        let released = self.gate.pass_on(self.settings.incoming_len_max);
        self.read_again(released);
    }
}
