//! Who reads too slowly, who is slowed down by it, and who is given up.
//!
//! ```text
//!  waits for a federate    0 ────────── 7/8 congested_len ── congested_len ──────▶
//!  those who cause it                       go on again ◀──   are not heard
//! ```
//!
//! A federate that slows others down has to read, a little at least, or its session ends. One whose connection is
//! broken slows down nobody.

use hemiola_rt::shared::Urgency;
use hemiola_rti::SessionId;
use hemiola_units::Span;

use crate::connection::Connection;
use crate::host::Output;
use crate::server::Server;

/// Bytes given to a connection with one call.
const WRITE_LEN: usize = 256 << 10;

/// How often in one turn of the loop.
const ROUNDS_MAX: usize = 4;

/// Answers wait at most until so many bytes have come from who does not wait for them.
const HELD_LEN: usize = 4 << 10;

/// And so long: soon enough for a session that keeps its calls until they are answered.
pub(crate) const HELD_FOR: Span = Span::from_millis(100);

impl Server {
    /// Something is to be written to a session, at the end of the turn.
    pub(crate) fn mark(&mut self, id: SessionId, output: Output) {
        if let Some(host) = self.hosts.get_mut(&id) {
            if host.output == Output::Nothing {
                self.dirty.push(id);
            }
            host.output = host.output.max(output);
        }
    }

    /// Answers wait for a session that does not wait for them: they go with what comes next, or when there are many, or
    /// after a while.
    pub(crate) fn hold(&mut self, id: SessionId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.output != Output::Nothing || !host.session.has_output() {
            return;
        }
        if host.held_len >= HELD_LEN {
            self.mark(id, Output::Lazy);
        } else if host.held_since.is_none() {
            host.held_since = Some(self.now);
            self.sweep_by(self.now + HELD_FOR);
        }
    }

    /// Something more waits for a session: is that too much? Then whoever caused it is not heard for a while.
    pub(crate) fn slow_down(&mut self, id: SessionId, cause: Option<SessionId>) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let waiting = host.session.waiting_len();
        if host.connection.is_none() {
            if waiting > self.options.apart_len_max && host.reason.is_none() {
                self.doomed.push((id, "its connection is broken, and too much waits for it"));
            }
            return;
        }
        if waiting <= self.options.congested_len {
            return;
        }
        if host.congested.is_none() {
            host.congested = Some((self.now, host.sent_len));
            let until = self.now + self.options.stall_max;
            self.sweep_by(until);
        }
        let Some(cause) = cause.filter(|cause| *cause != id) else { return };
        if let Some(causing) = self.hosts.get_mut(&cause)
            && causing.blocked_by.is_none()
        {
            causing.blocked_by = Some(id);
            let host = self.hosts.get_mut(&id).expect("it is congested");
            host.blocks.push(cause);
        }
    }

    /// Whoever a session slowed down goes on.
    fn release(&mut self, id: SessionId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.congested = None;
        self.woken.push(id);
        for blocked in std::mem::take(&mut host.blocks) {
            if let Some(other) = self.hosts.get_mut(&blocked)
                && other.blocked_by == Some(id)
            {
                other.blocked_by = None;
                self.woken.push(blocked);
            }
        }
    }

    /// Writes to all sessions that have something, those first that get what they did not ask for.
    pub(crate) fn write_all(&mut self) {
        while !self.dirty.is_empty() || !self.doomed.is_empty() {
            let mut dirty = std::mem::take(&mut self.dirty);
            for callbacks in [true, false] {
                for id in &dirty {
                    let output = self.hosts.get(id).map_or(Output::Nothing, |host| host.output);
                    if output != Output::Nothing && (output == Output::Callback || !callbacks) {
                        self.write(*id);
                    }
                }
            }
            if self.dirty.is_empty() {
                dirty.clear();
                self.dirty = dirty;
            }
            for (id, reason) in std::mem::take(&mut self.doomed) {
                self.give_up(id, reason);
            }
        }
    }

    fn write(&mut self, id: SessionId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let output = std::mem::replace(&mut host.output, Output::Nothing);
        host.held_since = None;
        let came = std::mem::take(&mut host.held_len);
        let urgency = if output > Output::Lazy { Urgency::Urgent } else { Urgency::Lazy };
        let (mut broken, mut goes_on) = (None, None);
        if let Some(number) = host.connection
            && let Some(connection) = self.connections.get_mut(&number)
        {
            let mut flushed = connection.flush();
            let mut rounds = 0;
            let sent_before = host.sent_len;
            while let Ok(sent) = flushed {
                host.sent_len += sent as u64;
                host.sent.count(self.now, 0, sent as u64);
                self.sent.count(self.now, 0, sent as u64);
                if !connection.is_clear() || !host.session.has_output() {
                    break;
                }
                if rounds == ROUNDS_MAX {
                    // It reads as fast as is written here; others have their turn now.
                    goes_on = Some(number);
                    break;
                }
                rounds += 1;
                self.outbox.clear();
                host.session.transmit(self.now, &mut self.outbox, WRITE_LEN);
                flushed = connection.send_with(&self.outbox, urgency);
            }
            // A federate that asks for answers later is one of ours, and sends without waiting.
            if came > 0 && host.sent_len == sent_before && !host.answers_later {
                connection.link.acknowledge();
            }
            self.outbox.clear();
            self.outbox.shrink_to(2 * WRITE_LEN);
            broken = flushed.err().map(|error| (number, error));
        }
        if host.is_dismissed && !host.session.has_ended() {
            host.session.close(self.now);
        }
        if let Some((number, error)) = broken {
            self.broke(number, &error.to_string());
        }
        if let Some(number) = goes_on {
            self.enqueue(number);
        }
        self.settle(id);
        self.read_on(id);
    }

    /// Draws the conclusions of what was written to a session.
    fn settle(&mut self, id: SessionId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let connection = host.connection.and_then(|number| self.connections.get(&number));
        let kept = host.kept_len() + connection.map_or(0, Connection::rest_len);
        self.kept = self.kept - host.kept + kept;
        host.kept = kept;
        let congested_len = self.options.congested_len;
        let is_relieved = host.connection.is_none()
            || host.session.waiting_len() <= congested_len - congested_len / 8;
        if is_relieved && (host.congested.is_some() || !host.blocks.is_empty()) {
            self.release(id);
        }
        if self.hosts[&id].session.has_ended() {
            self.drive(id);
            self.bury(id);
        }
        if self.kept > self.options.memory_max
            && let Some((id, host)) = self.hosts.iter().max_by_key(|(_, host)| host.kept)
            && host.reason.is_none()
        {
            self.doomed.push((*id, "sessions keep more than they may, and this one keeps most"));
        }
    }

    /// Ends a session from this side.
    pub(crate) fn give_up(&mut self, id: SessionId, reason: &'static str) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if host.session.has_ended() {
            return;
        }
        host.reason = Some(reason);
        host.session.close(self.now);
        self.mark(id, Output::Lazy);
    }

    /// Forgets a session that has ended, and has said so.
    fn bury(&mut self, id: SessionId) {
        let Some(host) = self.hosts.get(&id) else { return };
        if !host.is_over || (host.connection.is_some() && host.session.has_output()) {
            return;
        }
        let connection = host.connection;
        self.kept -= host.kept;
        self.release(id);
        self.hosts.remove(&id);
        if let Some(number) = connection {
            self.leave(number);
        }
    }
}
