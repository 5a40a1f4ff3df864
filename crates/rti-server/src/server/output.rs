//! Writing: what goes to which session at the end of a turn, and what may wait.

use hemiola_rti::SessionId;
use hemiola_units::Span;

use super::{Schedule, Server};
use crate::connection::Connection;
use crate::network::{Network, Urgency};
use crate::session::{PendingOutput, Session};

/// Bytes given to a connection at once.
const WRITE_LEN: usize = 64 << 10;
/// How often per turn.
const WRITES_MAX: usize = 2;
/// Bytes given to all connections in one turn, about. The rest is written in the next turn, except of sessions with
/// little to write.
const WRITTEN_MAX: usize = 1 << 20;
const LITTLE: usize = 16 << 10;
/// The work of evictions in one turn, in the units of a turn's budget.
const EVICTIONS_BUDGET: u64 = 128;
/// The work of an eviction: that of resigning a federate …
const EVICTION: u64 = 32;
/// … and one unit for this many bytes of a queue that is dropped.
const DROPPED_PER_UNIT: usize = 16 << 10;
/// Deferred responses are written once this many bytes have been received since the last write …
const DEFERRED_LEN: usize = 4 << 10;
/// … or after this time: soon enough for a client that keeps its calls until they are answered.
pub(super) const DEFERRED_FOR: Span = Span::from_millis(100);

impl Schedule {
    /// A session has output, to be written at the end of the turn.
    pub(super) fn mark(&mut self, id: SessionId, session: &mut Session, output: PendingOutput) {
        if session.pending.output == PendingOutput::None {
            self.pending.push(id);
        }
        session.pending.output = session.pending.output.max(output);
    }
}

impl Server {
    /// A session has output, to be written at the end of the turn.
    pub(super) fn mark(&mut self, id: SessionId, output: PendingOutput) {
        if let Some(session) = self.sessions.by_id.get_mut(&id) {
            self.schedule.mark(id, session, output);
        }
    }

    /// Responses that the client does not wait for are written with its next output, or when there are many, or after a
    /// while.
    pub(super) fn defer(&mut self, id: SessionId) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        if session.pending.output != PendingOutput::None || !session.protocol.has_output() {
            return;
        }
        if session.pending.received_since >= DEFERRED_LEN {
            self.mark(id, PendingOutput::Lazy);
        } else if session.pending.deferred_since.is_none() {
            session.pending.deferred_since = Some(self.now);
            self.schedule.wake_by(self.now + DEFERRED_FOR);
        }
    }

    /// Writes to all sessions that have output, callbacks first, and evicts sessions that are due: a bounded amount of
    /// both, and the rest in the next turn.
    pub(super) fn write_all(&mut self, network: &mut dyn Network) {
        let (mut room, mut late, mut budget) = (WRITTEN_MAX, Vec::new(), EVICTIONS_BUDGET);
        loop {
            let mut pending = std::mem::take(&mut self.schedule.pending);
            for callbacks in [true, false] {
                for id in &pending {
                    let output = self
                        .sessions
                        .by_id
                        .get(id)
                        .map_or(PendingOutput::None, |session| session.pending.output);
                    if output == PendingOutput::None
                        || (output != PendingOutput::Callback && callbacks)
                    {
                        continue;
                    }
                    if room == 0 && self.has_much_to_write(*id) {
                        late.extend((!callbacks).then_some(*id));
                    } else {
                        room = room.saturating_sub(self.write(network, *id));
                    }
                }
            }
            if self.schedule.pending.is_empty() {
                pending.clear();
                self.schedule.pending = pending;
                if budget == 0 || self.schedule.evictions.is_empty() {
                    break;
                }
            }
            budget = self.evict_within(budget);
        }
        self.schedule.pending.append(&mut late);
        if self.schedule.evictions.is_empty() {
            for federation in std::mem::take(&mut self.schedule.destructions) {
                self.kernel.destroy(&federation);
            }
        }
    }

    /// Whether a connection would take much from a session at once.
    fn has_much_to_write(&self, id: SessionId) -> bool {
        let Some(session) = self.sessions.by_id.get(&id) else { return false };
        let connection = session.connection.and_then(|number| self.connections.by_id.get(&number));
        connection.is_some_and(Connection::is_clear) && session.queue_len() > LITTLE
    }

    /// Evicts the sessions that are due, within this budget. Returns what is left of it.
    fn evict_within(&mut self, mut budget: u64) -> u64 {
        while budget > 0 {
            let Some((id, reason)) = self.schedule.evictions.pop_front() else { break };
            let Some(session) = self.sessions.by_id.get(&id) else { continue };
            let dropped = session.memory() / DROPPED_PER_UNIT;
            budget = budget.saturating_sub(EVICTION + dropped as u64);
            self.evict(id, reason);
        }
        budget
    }

    /// Writes to one session. Returns the number of bytes that its connection has taken.
    pub(super) fn write(&mut self, network: &mut dyn Network, id: SessionId) -> usize {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return 0 };
        let mut taken = 0;
        let output = std::mem::replace(&mut session.pending.output, PendingOutput::None);
        session.pending.deferred_since = None;
        let received = std::mem::take(&mut session.pending.received_since);
        let urgency = if output > PendingOutput::Lazy { Urgency::Urgent } else { Urgency::Lazy };
        let (mut lost, mut unfinished) = (None, None);
        if let Some(number) = session.connection
            && let Some(connection) = self.connections.by_id.get_mut(&number)
        {
            let sent_before = session.traffic.sent_len;
            let mut flushed = connection.flush(network);
            let mut writes = 0;
            while let Ok(sent) = flushed {
                taken += sent;
                session.traffic.sent_len += sent as u64;
                session.traffic.sent.count(self.now, 0, sent as u64);
                self.statistics.sent.count(self.now, 0, sent as u64);
                if !connection.is_clear() {
                    break;
                }
                if !session.spool.is_empty() {
                    let fed = session.feed(self.now, WRITE_LEN);
                    session.traffic.sent.count(self.now, fed, 0);
                    self.statistics.sent.count(self.now, fed, 0);
                }
                if !session.protocol.has_output() {
                    break;
                }
                if writes == WRITES_MAX && !session.ending.is_dismissed {
                    // The peer reads as fast as the server writes; the others have their turn first.
                    unfinished = Some(number);
                    break;
                }
                writes += 1;
                self.buffers.outbox.clear();
                session.protocol.transmit(self.now, &mut self.buffers.outbox, WRITE_LEN);
                flushed = connection.send(network, &self.buffers.outbox, urgency);
            }
            if let Some(chunk) = session.spool.next_to_read() {
                network.load(id, chunk);
            }
            // A client that defers responses is one of ours, and sends without waiting.
            let is_silent = session.traffic.sent_len == sent_before;
            if received > 0 && is_silent && !session.pending.defers_responses {
                network.acknowledge(number);
            }
            self.buffers.outbox.clear();
            self.buffers.outbox.shrink_to(2 * WRITE_LEN);
            lost = flushed.err().map(|error| (number, error));
        }
        if session.ending.is_dismissed && !session.protocol.has_ended() {
            session.protocol.close(self.now);
        }
        if let Some((number, error)) = lost {
            self.lose(network, number, &error.0);
        }
        if let Some(number) = unfinished {
            self.enqueue(number);
        }
        self.settle(network, id);
        self.read_on(id);
        taken
    }
}
