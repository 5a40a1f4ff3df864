//! Writing: what goes to which session at the end of a turn, and what may wait.

use hemiola_rti::SessionId;
use hemiola_units::Span;

use super::Server;
use crate::network::{Network, Urgency};
use crate::session::PendingOutput;

/// Bytes given to a connection at once.
const WRITE_LEN: usize = 64 << 10;
/// How often per turn.
const WRITES_MAX: usize = 2;
/// Deferred responses are written once this many bytes have been received since the last write …
const DEFERRED_LEN: usize = 4 << 10;
/// … or after this time: soon enough for a client that keeps its calls until they are answered.
pub(super) const DEFERRED_FOR: Span = Span::from_millis(100);

impl Server {
    /// A session has output, to be written at the end of the turn.
    pub(super) fn mark(&mut self, id: SessionId, output: PendingOutput) {
        if let Some(session) = self.sessions.by_id.get_mut(&id) {
            if session.pending.output == PendingOutput::None {
                self.schedule.pending.push(id);
            }
            session.pending.output = session.pending.output.max(output);
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

    /// Writes to all sessions that have output, callbacks first, and evicts the sessions that are due.
    pub(super) fn write_all(&mut self, network: &mut dyn Network) {
        while !self.schedule.pending.is_empty() || !self.schedule.evictions.is_empty() {
            let mut pending = std::mem::take(&mut self.schedule.pending);
            for callbacks in [true, false] {
                for id in &pending {
                    let output = self
                        .sessions
                        .by_id
                        .get(id)
                        .map_or(PendingOutput::None, |session| session.pending.output);
                    if output != PendingOutput::None
                        && (output == PendingOutput::Callback || !callbacks)
                    {
                        self.write(network, *id);
                    }
                }
            }
            if self.schedule.pending.is_empty() {
                pending.clear();
                self.schedule.pending = pending;
            }
            for (id, reason) in std::mem::take(&mut self.schedule.evictions) {
                self.evict(id, reason);
            }
        }
        for federation in std::mem::take(&mut self.schedule.destructions) {
            self.kernel.destroy(&federation);
        }
    }

    fn write(&mut self, network: &mut dyn Network, id: SessionId) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
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
                if writes == WRITES_MAX {
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
    }
}
