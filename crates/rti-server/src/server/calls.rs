//! From received requests to calls of the kernel, and from their effects to the sessions.

use hemiola_fedpro as fedpro;
use hemiola_fedpro::session::End;
use hemiola_fedpro::{Event, RequestId, Ticket, message};
use hemiola_hla::body::LONG_LEN;
use hemiola_hla::{Call, Data, Exception, Refusal, Reply};
use hemiola_rti::{CallId, ConnectSettings, Effect, Input, Milestone, SaveName, SessionId};

use super::{STOPS, Server};
use crate::network::Network;
use crate::session::{Arrived, Caller, PendingOutput};
use crate::shares::Crowd;
use crate::spool::Spool;

/// The work for one session in one turn, in units of a call without consequences (1 to 2 µs).
const BUDGET: u64 = 256;
/// Bytes of replies, and callbacks, that cost as much as a call.
const BYTES_PER_UNIT: u64 = 1024;
const CALLBACKS_PER_UNIT: u64 = 4;
/// The kernel's units of work (about 100 ns) that cost as much as a call.
const KERNEL_WORK_PER_UNIT: u64 = 20;
/// A turn's work is done in this many parts, so that several sessions share it. A call begins with one part.
const WORK_PARTS: u64 = 4;
/// Characters of the reason of a refusal that are logged.
const REASON_LEN: usize = 200;
/// The capacity that the list of effects keeps.
const SPARE_EFFECTS: usize = 4096;

impl Server {
    /// Carries out the calls of a session, within its budget of a turn. Returns the work that it was.
    pub(super) fn drive(&mut self, network: &mut dyn Network, id: SessionId) -> u64 {
        let mut spent = 1;
        loop {
            let Some(session) = self.sessions.by_id.get_mut(&id) else { return spent };
            let awaited = session.answer_awaited_until().filter(|until| *until > self.now);
            session.calls.awaits_answer = awaited.is_some() && !session.is_ending();
            if let Some(until) = awaited {
                self.schedule.wake_by(until);
            }
            if session.calls.next.is_some() && !session.calls.awaits_answer {
                if session.is_ending() {
                    (session.calls.next, session.calls.second) = (None, None);
                    continue;
                }
                if session.is_paused() {
                    break;
                }
                if self.kernel.is_busy(id) {
                    self.schedule.busy.insert(id);
                    break;
                }
                if spent >= BUDGET {
                    session.calls.has_more = true;
                    self.schedule.resumed.push(id);
                    break;
                }
                let call = session.calls.next.take().expect("there is one");
                session.calls.next = session.calls.second.take();
                spent += self.call(id, &call);
                self.end_replaced(network);
                continue;
            }
            session.calls.has_more = false;
            match session.protocol.poll() {
                None => break,
                Some(Event::Request { id: request, body }) => {
                    session.calls.push(Arrived { request, body, wants_result: true });
                }
                Some(Event::Posted { id: request, body }) => {
                    session.calls.push(Arrived { request, body, wants_result: false });
                }
                Some(Event::Response { to, body }) => {
                    log_response(id, &body);
                    if let Some(milestone) = session.answered(to) {
                        self.input(Input::Answered(id, milestone));
                    }
                }
                Some(Event::Done { through }) => {
                    while let Some(milestone) = self.answered_through(id, through) {
                        self.input(Input::Answered(id, milestone));
                    }
                }
                Some(Event::Ended(end)) => self.ended(network, id, end),
                Some(Event::Disconnect) => {
                    if let Some(connection) = session.connection.take() {
                        session.detached_since = Some(self.now);
                        self.leave(network, connection);
                    }
                }
                Some(Event::Running | Event::Connect | Event::Requests { .. }) => {}
            }
        }
        self.charge(id);
        self.read_on(id);
        self.count_service(id, spent);
        spent
    }

    /// Reads what was not read while the session was paused.
    pub(super) fn read_on(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.by_id.get(&id)
            && let Some(connection) = session.connection
            && session.may_receive()
            && self.connections.by_id.get(&connection).is_some_and(|found| found.readable)
        {
            self.enqueue(connection);
        }
    }

    /// Carries out a call, or has its modules read first. Returns its cost.
    fn call(&mut self, id: SessionId, arrived: &Arrived) -> u64 {
        let Arrived { request, body, wants_result } = arrived;
        if let Some(session) = self.sessions.by_id.get_mut(&id) {
            session.traffic.received.count(self.now, 1, 0);
            self.statistics.received.count(self.now, 1, 0);
        }
        // The kernel may keep values for long, and accounts for no other memory than theirs.
        let decoded = if body.len() >= LONG_LEN {
            message::decode_call_to_keep(body)
        } else if message::is_passed_on(body) {
            message::decode_call(body)
        } else {
            message::decode_call(&Data::copy_from_slice(body))
        };
        match decoded {
            Ok(call) => match self.kernel.preparation(id, &call) {
                Some(job) => {
                    self.queue_preparation(id, *request, call, &job);
                    1
                }
                None => self.carry_out(id, (*request, *wants_result), call, body.len()),
            },
            Err(error) => {
                let refusal = Exception::RTIinternalError.because(error.to_string());
                tracing::debug!(session = id.0, %error, "a call cannot be decoded");
                self.refuse_call(id, *request, &refusal);
                1
            }
        }
    }

    /// Passes a call to the kernel, and its effects to the sessions. With the request comes whether the federate wants
    /// the result. Returns the cost. `len` is the length of the call as it was received, whose memory its values share.
    pub(super) fn carry_out(
        &mut self,
        session: SessionId,
        (request, wants_result): (RequestId, bool),
        call: Call,
        len: usize,
    ) -> u64 {
        let entry = call.entry();
        let number = entry.number;
        let found = self.sessions.by_id.get_mut(&session).expect("it made a call");
        let settings = ConnectSettings::of_call(&call);
        found.pending.defers_responses |= settings.as_ref().is_some_and(|one| one.answers_later);
        let is_lazy = entry.sends() || (entry.advances() && found.pending.defers_responses);
        let output = if is_lazy { PendingOutput::Lazy } else { PendingOutput::Urgent };
        self.statistics.summary.calls += 1;
        let may_join = matches!(call, Call::Federation(_));
        found.calls.answering = Some(Caller { request, number, output, wants_result });
        self.input(Input::Room(self.room(len)));
        let work = self.input(Input::Called(session, CallId(request.number()), call));
        if let Some(settings) = settings {
            self.apply(session, &settings);
        }
        if may_join {
            self.offer_session(session);
            self.expect_abandoned();
        }
        // Callbacks are among the kernel's work, too.
        self.deliver(Some(session)).max(1 + work / KERNEL_WORK_PER_UNIT)
    }

    /// Applies the settings of a session whose call to connect has just been carried out.
    fn apply(&mut self, id: SessionId, settings: &ConnectSettings) {
        let first = self.buffers.effects.first();
        if !matches!(first, Some(Effect::Reply(_, _, Ok(Reply::Configured(_))))) {
            return;
        }
        if let Some(session) = self.sessions.by_id.get_mut(&id) {
            session.resume_window = settings.resume_window;
            if settings.answers_gathered {
                session.protocol.gather_answers();
            }
            if settings.callbacks_together {
                session.protocol.share_frames();
            }
        }
        let name = settings.replaces.and_then(fedpro::SessionId::new);
        let replaced = name.and_then(|name| self.sessions.by_name.get(&name)).copied();
        self.schedule.replaced.extend(replaced.filter(|replaced| *replaced != id));
    }

    /// Ends the sessions that their federates have replaced, before any further call: their names are free then.
    fn end_replaced(&mut self, network: &mut dyn Network) {
        while let Some(id) = self.schedule.replaced.pop() {
            self.evict_now(network, id, "its federate has replaced it");
        }
    }

    /// Passes an input to the kernel, for a part of the work of a turn. Returns the kernel's units of work.
    pub(super) fn input(&mut self, input: Input) -> u64 {
        let budget = self.settings.work_max / WORK_PARTS;
        self.kernel.handle_within(input, budget, &mut self.buffers.effects)
    }

    /// Continues the work on many instances or messages that calls have left, session by session.
    pub(super) fn work(&mut self) {
        for _ in 0..WORK_PARTS {
            if !self.kernel.has_work() {
                break;
            }
            let budget = self.settings.work_max / WORK_PARTS;
            let worker = self.kernel.work(budget, &mut self.buffers.effects);
            self.deliver(worker);
            if let Some(worker) = worker {
                // It may have resigned.
                self.offer_session(worker);
            }
            self.expect_abandoned();
        }
        let idle = self.schedule.busy.extract_if(.., |id| !self.kernel.is_busy(*id));
        self.schedule.resumed.extend(idle);
    }

    /// Passes effects to the sessions. The sender is the session that caused them. Returns the cost.
    pub(super) fn deliver(&mut self, sender: Option<SessionId>) -> u64 {
        let (mut bytes, mut callbacks) = (0, 0);
        let mut effects = std::mem::take(&mut self.buffers.effects);
        let mut rest = effects.drain(..);
        while let Some(effect) = rest.next() {
            match effect {
                Effect::Reply(id, _, answer) => {
                    let session = self.sessions.by_id.get_mut(&id).expect("the caller exists");
                    let caller = session.calls.answering.take().expect("a reply follows a call");
                    if matches!(answer, Ok(Reply::Joined(_))) {
                        // Later answers to the callbacks of a previous membership end nothing.
                        session.calls.milestones.clear();
                    }
                    if let Err(refusal) = &answer
                        && refusal.exception == Exception::Unauthorized
                    {
                        self.log_denial(id, refusal);
                    }
                    let output =
                        if answer.is_err() { PendingOutput::Urgent } else { caller.output };
                    let session = &self.sessions.by_id[&id];
                    let is_deferred =
                        output == PendingOutput::Lazy && session.pending.defers_responses;
                    bytes += self.send_reply(id, &caller, &answer) as u64;
                    if is_deferred {
                        self.defer(id);
                    } else {
                        self.mark(id, output);
                    }
                }
                Effect::Callback(id, notice) => {
                    let (count, len) = self.send_callbacks(id, notice, &mut rest, sender);
                    callbacks += count;
                    // What others receive is work for them; a list that the sender asked for is work for it.
                    bytes += if sender == Some(id) { len as u64 } else { 0 };
                }
                Effect::Close(id) => {
                    if let Some(session) = self.sessions.by_id.get_mut(&id) {
                        session.ending.is_dismissed = true;
                        self.mark(id, PendingOutput::Callback);
                    }
                }
                Effect::Failed(SaveName { federation, label }, reason) => {
                    tracing::warn!(federation, label, reason, "no save or restore");
                }
                Effect::Report(id, line) => self.keep_report(id, &line),
                request @ (Effect::Store(..) | Effect::Load(..)) => {
                    self.schedule.images.push(request);
                }
            }
        }
        drop(rest);
        // A burst must not occupy memory permanently.
        effects.shrink_to(SPARE_EFFECTS);
        self.buffers.effects = effects;
        self.statistics.summary.callbacks += callbacks;
        1 + bytes / BYTES_PER_UNIT + callbacks / CALLBACKS_PER_UNIT
    }

    /// Logs that the credentials of a session were refused, without them.
    #[cold]
    fn log_denial(&mut self, id: SessionId, refusal: &Refusal) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        if std::mem::replace(&mut session.is_denied, true) {
            return;
        }
        if let Some(omitted) = self.statistics.denials.note(self.now) {
            let peer = &session.peer;
            // It names a federation, and a name may be long.
            let reason: String = refusal.details.chars().take(REASON_LEN).collect();
            tracing::warn!(session = id.0, %peer, reason, omitted, "access refused");
        }
    }

    /// Returns the oldest transition that an answer to all callbacks up to this one ends, if it ends one.
    fn answered_through(&mut self, id: SessionId, through: Ticket) -> Option<Milestone> {
        let milestones = &mut self.sessions.by_id.get_mut(&id)?.calls.milestones;
        let (_, milestone) = milestones.pop_front_if(|(ticket, _)| *ticket <= through)?;
        Some(milestone)
    }

    /// A session is over: the kernel learns of it, and other sessions receive the consequences.
    fn ended(&mut self, network: &mut dyn Network, id: SessionId, end: End) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        session.ending.is_over = true;
        let preparing = session.calls.preparing.take();
        session.spool = Spool::default();
        let eviction = session.ending.eviction;
        let deadline = session.protocol.deadline();
        let name = session.protocol.id();
        self.sessions.by_name.remove(&name);
        let (peer, connection) = (session.peer.address, session.connection);
        if let Some(preparing) = preparing {
            self.preparations.forget(id);
            self.discard(network, preparing.call, preparing.memory);
        }
        self.offer_session(id);
        self.sessions.shares.give_back(peer);
        if let Some(connection) = connection
            && let Some(found) = self.connections.by_id.get(&connection)
        {
            self.connections.shares.offer(found.peer.address, Crowd::Unneeded, connection);
        }
        let reason = eviction.unwrap_or_else(|| short_reason(end));
        *self.statistics.sessions_ended.entry(reason).or_default() += 1;
        match (eviction, end) {
            // It is no news of this session.
            (Some(STOPS), _) => tracing::debug!(session = id.0, "session ended: {STOPS}"),
            (Some(reason), _) => tracing::warn!(session = id.0, reason, "session evicted"),
            (None, End::Terminated) => tracing::info!(session = id.0, "session ended: {end}"),
            (None, _) => tracing::warn!(session = id.0, "session ended: {end}"),
        }
        network.forget_process(id);
        network.discard_spool(id);
        let dismissed = |reason: &str| Input::Dismissed(id, reason.to_owned());
        self.input(eviction.map_or(Input::Lost(id), dismissed));
        self.expect_abandoned();
        self.deliver(None);
        self.mark(id, PendingOutput::Lazy);
        if let Some(deadline) = deadline {
            self.schedule.wake_by(deadline);
        }
    }
}

/// The reason of an end, as a key for counting.
const fn short_reason(end: End) -> &'static str {
    match end {
        End::Terminated => "terminated",
        End::Closed => "dismissed",
        End::Violation(_) => "protocol broken",
        End::Overflow(_) => "does not read",
        End::Expired => "connection lost",
        End::NotResumed(_) => "not resumed",
        _ => "other",
    }
}

/// Logs a federate's failed response to a callback. Nothing depends on it.
fn log_response(id: SessionId, body: &Data) {
    match message::decode_taken(body) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => tracing::debug!(session = id.0, %failure, "a callback failed"),
        Err(error) => tracing::debug!(session = id.0, %error, "a response cannot be decoded"),
    }
}
