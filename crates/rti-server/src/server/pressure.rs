//! Back-pressure: sessions that read too slowly, and the senders that are held for them as a last resort.
//!
//! ```text
//!  queue of a session  0 ── behind_len ────── congested_len ─────── 1/2 ─────────────────── 1, in memory
//!                      protocol │ its spool takes    │ its own calls   │ senders that fill it │ it ends
//!                      session  │ further messages   │ wait            │ are held, hold_max   │
//!                               │ and conflates      │ it must read    │ per call             │
//! ```
//!
//! A session that reads too slowly costs itself. Messages for it wait in its own [spool](crate::spool), and no sender
//! notices. The [policy](crate::SlowReaderPolicy) says which best-effort messages it misses. It ends when the spool
//! is full, or when it reads nothing for [`stall_max`](Settings::stall_max) while much is queued.
//!
//! A sender is held only if the spool is half full and the sender fills it: a flood then proceeds at the pace of its
//! receivers. It is held for at most [`hold_max`](Settings::hold_max) per call. A sender is never held that adds less
//! per second than a [64th](ALLOWANCE) of the spool's memory, however slowly the receiver reads. Detached sessions hold
//! no sender.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec::Drain;

use hemiola_fedpro::{RequestId, message};
use hemiola_hla::body::{Body, EXACT_LEN};
use hemiola_hla::{Callback, Data, Refusal, Reply};
use hemiola_rti::{Effect, Input, Milestone, Notice, SessionId};

use super::{STOPS, Server};
use crate::chunk::Message;
use crate::connection::Connection;
use crate::network::Network;
use crate::report::SlowReading;
use crate::session::{Caller, Congestion, Hold, PendingOutput, Session};
use crate::settings::{Settings, SlowReaderPolicy};
use crate::spool::{Dispensable, Key, Passing};

/// Senders are held while more of a receiver's spool is used than this, and until no more than that, in eighths.
const HOLD_FROM: usize = 4;
const HOLD_UNTIL: usize = 3;

/// A sender that takes longer than this to fill the memory of a spool is not held, in seconds.
const ALLOWANCE: usize = 64;

impl Server {
    /// Queues callbacks for a session: this one, and those for the same session that are the next effects, such as the
    /// messages that a grant releases, until the session is behind or congested. Their sender is known if a call caused
    /// them. Returns their number and the number of bytes queued.
    pub(super) fn send_callbacks(
        &mut self,
        id: SessionId,
        mut notice: Arc<Notice>,
        effects: &mut Drain<'_, Effect>,
        sender: Option<SessionId>,
    ) -> (u64, usize) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return (1, 0) };
        if session.is_behind(self.settings.behind_len) {
            return (1, self.spool_callback(id, &notice, sender));
        }
        let (mut count, mut len) = (0, 0);
        let newest_len = loop {
            let body = notice.encoded(message::encode_callback);
            let newest_len = body.len();
            session.request(self.now, body, Milestone::of_callback(notice.callback().number()));
            (count, len) = (count + 1, len + newest_len);
            if session.is_behind(self.settings.behind_len) {
                break newest_len;
            }
            // Looks before it takes: effects are long.
            match effects.as_slice().first() {
                Some(Effect::Callback(to, _)) if *to == id => {}
                _ => break newest_len,
            }
            let Some(Effect::Callback(_, next)) = effects.next() else { break newest_len };
            notice = next;
        };
        session.traffic.sent.count(self.now, count, 0);
        self.statistics.sent.count(self.now, count, 0);
        self.schedule.mark(id, session, PendingOutput::Callback);
        if session.is_congested(self.settings.congested_len) {
            self.exceeded(id, sender, newest_len);
        }
        (count, len)
    }

    /// Queues the reply to a call. Replies without a result, or whose result is not wanted, are gathered if the client
    /// accepts that. Returns the number of bytes that it takes by itself.
    pub(super) fn send_reply(
        &mut self,
        id: SessionId,
        caller: &Caller,
        answer: &Result<Reply, Refusal>,
    ) -> usize {
        let session = self.sessions.by_id.get_mut(&id).expect("the caller exists");
        let body = || message::encode_reply(caller.number, answer);
        let is_done = match answer {
            Ok(Reply::Done) => true,
            answer => answer.is_ok() && !caller.wants_result,
        };
        if !is_done || !session.spool.is_empty() {
            let body = body();
            let len = body.len();
            self.send_response(id, caller.request, body);
            return len;
        }
        session.protocol.respond_done(self.now, caller.request, body);
        session.traffic.sent.count(self.now, 1, 0);
        self.statistics.sent.count(self.now, 1, 0);
        self.queued(id, None, 0);
        0
    }

    /// Queues the response to a call of a session, behind its spooled callbacks. It may make calls and never read a
    /// response.
    pub(super) fn send_response(&mut self, id: SessionId, request: RequestId, body: Data) {
        let session = self.sessions.by_id.get_mut(&id).expect("the caller exists");
        if !session.spool.is_empty() {
            session
                .spool
                .push(Message { answers: Some(request), body: body.into() }, Passing::Never);
        } else {
            session.protocol.respond(self.now, request, body);
            session.traffic.sent.count(self.now, 1, 0);
            self.statistics.sent.count(self.now, 1, 0);
        }
        self.queued(id, None, 0);
    }

    /// Queues a callback for a session that is behind. Returns the number of bytes that the queue has grown by.
    fn spool_callback(
        &mut self,
        id: SessionId,
        notice: &Notice,
        sender: Option<SessionId>,
    ) -> usize {
        let callback = notice.callback();
        let passing = match self.dispensable(id, callback) {
            Some(Dispensable { update: None, .. }) => {
                let is_first = self.count_slow(id, |count| &mut count.dropped);
                if is_first {
                    tracing::info!(session = id.0, "a slow reader misses best-effort interactions");
                }
                return 0;
            }
            Some(Dispensable { update: Some((instance, values)), .. }) => {
                Passing::Value(Key::new(instance, values))
            }
            None => Passing::new(callback),
        };
        let body = spooled(notice.encoded(message::encode_callback));
        let mut len = body.len();
        let session = self.sessions.by_id.get_mut(&id).expect("it is behind");
        if session.protocol.has_ended() {
            return 0;
        }
        if session.spool.push(Message { answers: None, body }, passing) {
            len = 0;
            let is_first = self.count_slow(id, |count| &mut count.conflated);
            if is_first {
                let name = callback.name();
                tracing::info!(session = id.0, name, "a slow reader misses best-effort updates");
            }
        }
        self.count_slow(id, |count| &mut count.spooled);
        self.mark(id, PendingOutput::Callback);
        self.queued(id, sender, len);
        len
    }

    /// Whether a session that is behind may miss a callback: its connection takes no more, the callback is best effort,
    /// and the policy allows it.
    fn dispensable<'a>(&self, id: SessionId, callback: &'a Callback) -> Option<Dispensable<'a>> {
        let policy = self.settings.slow_reader;
        if policy == SlowReaderPolicy::Wait {
            return None;
        }
        let connection = self.sessions.by_id.get(&id)?.connection;
        let connection = connection.and_then(|number| self.connections.by_id.get(&number));
        if connection.is_some_and(Connection::is_clear) {
            return None;
        }
        Dispensable::new(callback)
            .filter(|one| one.update.is_some() || policy == SlowReaderPolicy::Drop)
            .filter(|one| self.kernel.is_best_effort(id, one.transportation))
    }

    /// Counts for a slow reader. Returns whether it is the first of its kind in an episode.
    pub(super) fn count_slow(
        &mut self,
        id: SessionId,
        kind: fn(&mut SlowReading) -> &mut u64,
    ) -> bool {
        *kind(&mut self.statistics.slow) += 1;
        let session = self.sessions.by_id.get_mut(&id);
        session.is_some_and(|session| session.count_slow(self.now, kind))
    }

    /// A message of this length was queued for a session.
    fn queued(&mut self, id: SessionId, sender: Option<SessionId>, len: usize) {
        let session = self.sessions.by_id.get(&id);
        if session.is_some_and(|session| session.is_congested(self.settings.congested_len)) {
            self.exceeded(id, sender, len);
        }
    }

    /// A message of this length was queued for a session that is congested.
    fn exceeded(&mut self, id: SessionId, sender: Option<SessionId>, len: usize) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        if session.queue_memory() > self.settings.backlog_len_max
            && session.ending.eviction.is_none()
        {
            let reason = match session.connection {
                None => "its connection is broken, and its spool is full",
                Some(_) => "it reads too slowly, and its spool is full",
            };
            self.schedule.evictions.push_back((id, reason));
        }
        if session.pressure.congestion.is_none() {
            self.congest(id);
        }
        if let Some(sender) = sender.filter(|sender| *sender != id && len > 0) {
            let session = self.sessions.by_id.get_mut(&id).expect("it was found above");
            let congestion = session.pressure.congestion.as_mut().expect("it has begun");
            *congestion.by.entry(sender).or_default() += len;
            self.hold(id, sender);
        }
    }

    /// The congestion of a session begins.
    fn congest(&mut self, id: SessionId) {
        let now = self.now;
        if self.count_slow(id, |count| &mut count.congested) {
            tracing::info!(session = id.0, "a slow reader: its own calls wait until it has read");
        }
        self.schedule.wake_by(now + self.settings.stall_max);
        let session = self.sessions.by_id.get_mut(&id).expect("something was queued for it");
        let (progress, by, holds) = (session.progress(), BTreeMap::new(), Vec::new());
        let congestion = Congestion { began: now, since: now, progress, by, holds };
        session.pressure.congestion = Some(Box::new(congestion));
    }

    /// Holds a sender that floods a receiver whose spool is half full.
    fn hold(&mut self, id: SessionId, sender: SessionId) {
        let receiver = &self.sessions.by_id[&id];
        let Some(congestion) = &receiver.pressure.congestion else { return };
        if receiver.connection.is_none()
            || !self.is_full(receiver, HOLD_FROM)
            || !self.floods(congestion, sender)
        {
            return;
        }
        let Some(sending) = self.sessions.by_id.get_mut(&sender) else { return };
        if sending.pressure.hold.is_some() {
            return;
        }
        let until = self.now + self.settings.hold_max;
        sending.pressure.hold = Some(Hold { by: id, until });
        self.schedule.wake_by(until);
        let receiver = self.sessions.by_id.get_mut(&id).expect("it was found above");
        if let Some(congestion) = &mut receiver.pressure.congestion {
            congestion.holds.push(sender);
        }
        if self.count_slow(id, |count| &mut count.held) {
            tracing::info!(session = id.0, sender = sender.0, "a slow reader delays a sender");
        }
    }

    /// Whether a session's queue exceeds this many eighths of its limit, in memory or in all.
    fn is_full(&self, session: &Session, eighths: usize) -> bool {
        let Settings { backlog_len_max, spool_file_max, .. } = self.settings;
        let exceeds = |len: usize, max: usize| len / eighths > max / 8;
        exceeds(session.queue_memory(), backlog_len_max)
            || exceeds(session.queue_len(), backlog_len_max.saturating_add(spool_file_max))
    }

    /// Whether a sender fills the queue of a session: it added more than its allowance, and more than half of an equal
    /// share.
    fn floods(&self, congestion: &Congestion, sender: SessionId) -> bool {
        let added = congestion.by.get(&sender).copied().unwrap_or(0);
        let per_second = self.settings.backlog_len_max / ALLOWANCE;
        let millis = (self.now - congestion.began).nanos() / 1_000_000;
        let millis = usize::try_from(millis).unwrap_or(0);
        if added <= per_second.saturating_add(per_second.saturating_mul(millis) / 1000) {
            return false;
        }
        let total: usize = congestion.by.values().sum();
        2 * added * congestion.by.len() >= total
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

    /// Ends a session from this side. If its connection takes output without waiting, the session ends when it is next
    /// written to, and the last callback can be the reason (decision 0059); otherwise it ends at once.
    pub(super) fn evict(&mut self, id: SessionId, reason: &'static str) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        if session.protocol.has_ended() || session.is_ending() {
            return;
        }
        session.ending.eviction = Some(reason);
        let connection = session.connection.and_then(|number| self.connections.by_id.get(&number));
        if connection.is_some_and(Connection::is_clear)
            && !session.is_behind(self.settings.behind_len)
        {
            session.ending.is_dismissed = true;
            self.input(Input::Dismissed(id, reason.to_owned()));
            self.deliver(None);
        } else {
            session.protocol.close(self.now);
        }
        self.mark(id, PendingOutput::Lazy);
    }

    /// Ends a session from this side at once: its place and its names are free then.
    pub(super) fn evict_now(
        &mut self,
        network: &mut dyn Network,
        id: SessionId,
        reason: &'static str,
    ) {
        self.evict(id, reason);
        self.write(network, id);
    }

    /// Ends all sessions, before the process ends. Those whose connections take it without waiting are told so.
    pub fn stop(&mut self, network: &mut dyn Network) {
        let sessions: Vec<SessionId> = self.sessions.by_id.keys().copied().collect();
        for id in sessions {
            self.evict_now(network, id, STOPS);
        }
    }

    /// Draws the consequences after something was written to a session, or could not be.
    pub(super) fn settle(&mut self, network: &mut dyn Network, id: SessionId) {
        self.spill(network, id);
        self.charge(id);
        let Some(session) = self.sessions.by_id.get(&id) else { return };
        let relieved_len = self.settings.congested_len - self.settings.congested_len / 8;
        if session.pressure.congestion.is_some() && session.queue_len() <= relieved_len {
            self.relieve(id);
        } else if session.pressure.has_holds() && !self.is_full(session, HOLD_UNTIL) {
            self.release_all(id);
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
        self.discharge(session.charged);
        self.forget_reports(id);
        if let Some(connection) = session.connection {
            self.leave(network, connection);
        }
    }
}

/// Returns a body as it waits in a spool. A short one may take twice its length, and is copied; others are shared.
fn spooled(body: &Body) -> Body {
    if body.len() >= EXACT_LEN {
        return body.clone();
    }
    Data::copy_from_slice(body.first()).into()
}
