//! Calls to the kernel, and what comes of them to the sessions.

use std::sync::Arc;

use hemiola_fedpro::session::End;
use hemiola_fedpro::{Event, RequestId, message};
use hemiola_hla::call::FederationCall;
use hemiola_hla::data::ANSWERS_LATER;
use hemiola_hla::{Call, Data, Exception};
use hemiola_rti::{CallId, Effect, Input, Preparation, Prepared, SessionId};

use crate::host::Output;
use crate::server::Server;
use crate::worker::Worker;

/// The call that is carried out.
#[derive(Clone, Copy, Debug)]
struct Caller {
    session: SessionId,
    request: RequestId,
    number: u32,
    /// How soon it wants to know.
    output: Output,
}

impl Server {
    /// Does what a session asks for, as far as it may go on.
    pub(crate) fn drive(&mut self, id: SessionId) {
        loop {
            let Some(host) = self.hosts.get_mut(&id) else { return };
            if let Some((request, body)) = host.held.take() {
                if host.is_ending() {
                    continue;
                }
                if host.is_paused() {
                    host.held = Some((request, body));
                    break;
                }
                self.call(id, request, &body);
                continue;
            }
            match host.session.poll() {
                None => break,
                Some(Event::Request { id: request, body }) => host.held = Some((request, body)),
                Some(Event::Response { body, .. }) => taken(id, &body),
                Some(Event::Ended(end)) => self.ended(id, end),
                Some(Event::Disconnect) => {
                    if let Some(number) = host.connection.take() {
                        self.leave(number);
                    }
                }
                Some(Event::Running | Event::Connect) => {}
            }
        }
        self.read_on(id);
    }

    /// Reads what was not read while it should not.
    pub(crate) fn read_on(&mut self, id: SessionId) {
        if let Some(host) = self.hosts.get(&id)
            && let Some(number) = host.connection
            && host.may_receive()
            && self.connections.get(&number).is_some_and(|connection| connection.readable)
        {
            self.enqueue(number);
        }
    }

    fn call(&mut self, id: SessionId, request: RequestId, body: &Data) {
        if let Some(host) = self.hosts.get_mut(&id) {
            host.received.count(self.now, 1, 0);
            self.received.count(self.now, 1, 0);
        }
        match message::decode_call(body) {
            Ok(call) => match self.kernel.preparation(id, &call) {
                Some(preparation) => self.prepare(id, request, call, preparation),
                None => self.carry_out(id, request, call),
            },
            Err(error) => {
                let refusal = Exception::RTIinternalError.because(error.to_string());
                tracing::debug!(session = id.0, %error, "a call cannot be understood");
                let host = self.hosts.get_mut(&id).expect("it has called");
                host.session.respond(self.now, request, message::encode_reply(0, &Err(refusal)));
                self.mark(id, Output::Urgent);
                self.slow_down(id, None);
            }
        }
    }

    /// Has the modules of a call read before it is carried out.
    fn prepare(&mut self, id: SessionId, request: RequestId, call: Call, what: Preparation) {
        if self.worker.is_none() {
            match Worker::start(Arc::clone(&self.mailbox)) {
                Ok(worker) => self.worker = Some(worker),
                Err(error) => tracing::warn!(%error, "modules are read between calls"),
            }
        }
        match &self.worker {
            Some(worker) => {
                worker.give(id, what);
                let host = self.hosts.get_mut(&id).expect("it has called");
                host.preparing = Some((request, call));
            }
            None => {
                self.kernel.handle(Input::Prepared(what.run()), &mut self.outputs);
                self.carry_out(id, request, call);
            }
        }
    }

    /// The modules of a call were read.
    pub(crate) fn go_on(&mut self, id: SessionId, prepared: Prepared) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        if let Some((request, call)) = host.preparing.take() {
            if !host.is_ending() {
                self.kernel.handle(Input::Prepared(prepared), &mut self.outputs);
                self.carry_out(id, request, call);
            }
            self.drive(id);
        }
    }

    fn carry_out(&mut self, session: SessionId, request: RequestId, call: Call) {
        let entry = call.entry();
        let number = entry.number;
        let host = self.hosts.get_mut(&session).expect("it has called");
        host.answers_later |= wants_answers_later(&call);
        let is_lazy = entry.sends() || (entry.advances() && host.answers_later);
        let output = if is_lazy { Output::Lazy } else { Output::Urgent };
        self.summary.calls += 1;
        let input = Input::Called(session, CallId(request.number()), call);
        self.kernel.handle(input, &mut self.outputs);
        self.deliver(Some(Caller { session, request, number, output }));
    }

    /// Gives what came of an input to whom it is for.
    fn deliver(&mut self, caller: Option<Caller>) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                Effect::Reply(id, _, answer) => {
                    let caller = caller.expect("a reply follows a call");
                    let output = if answer.is_err() { Output::Urgent } else { caller.output };
                    let body = message::encode_reply(caller.number, &answer);
                    let host = self.hosts.get_mut(&id).expect("who calls is there");
                    host.session.respond(self.now, caller.request, body);
                    host.sent.count(self.now, 1, 0);
                    self.sent.count(self.now, 1, 0);
                    if output == Output::Lazy && host.answers_later {
                        self.hold(id);
                    } else {
                        self.mark(id, output);
                    }
                    // It may ask without ever reading an answer.
                    self.slow_down(id, None);
                }
                Effect::Callback(id, notice) => {
                    self.summary.callbacks += 1;
                    let body = notice.encoded(message::encode_callback).clone();
                    let Some(host) = self.hosts.get_mut(&id) else { continue };
                    host.session.request(self.now, body);
                    host.sent.count(self.now, 1, 0);
                    self.sent.count(self.now, 1, 0);
                    self.mark(id, Output::Callback);
                    self.slow_down(id, caller.map(|caller| caller.session));
                }
                Effect::Close(id) => {
                    if let Some(host) = self.hosts.get_mut(&id) {
                        host.is_dismissed = true;
                        self.mark(id, Output::Callback);
                    }
                }
            }
        }
        self.outputs = outputs;
    }

    /// A session is over: the kernel hears of it, and others of what comes of that.
    fn ended(&mut self, id: SessionId, end: End) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        host.is_over = true;
        host.preparing = None;
        self.names.remove(&host.session.id());
        let deadline = host.session.deadline();
        let why = host.reason.unwrap_or_else(|| in_a_word(end));
        *self.sessions_ended.entry(why).or_default() += 1;
        match (host.reason, end) {
            (Some(reason), _) => tracing::warn!(session = id.0, reason, "a session is ended"),
            (None, End::Terminated) => tracing::info!(session = id.0, "a session ends: {end}"),
            (None, _) => tracing::warn!(session = id.0, "a session ends: {end}"),
        }
        self.kernel.handle(Input::Lost(id), &mut self.outputs);
        self.deliver(None);
        self.mark(id, Output::Lazy);
        if let Some(deadline) = deadline {
            self.sweep_by(deadline);
        }
    }
}

/// How a session ended, for who counts.
const fn in_a_word(end: End) -> &'static str {
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

/// Looks at a federate's answer to a callback. Nothing depends on it.
fn taken(id: SessionId, body: &Data) {
    match message::decode_taken(body) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => tracing::debug!(session = id.0, %failure, "a callback failed"),
        Err(error) => tracing::debug!(session = id.0, %error, "an answer cannot be understood"),
    }
}

/// Does a federate say, as it connects, that it waits for no answer to updates and their like?
fn wants_answers_later(call: &Call) -> bool {
    let Call::Federation(
        FederationCall::ConnectWithConfiguration { rti_configuration }
        | FederationCall::ConnectWithConfigurationAndCredentials { rti_configuration, .. },
    ) = call
    else {
        return false;
    };
    rti_configuration.additional_settings.lines().any(|setting| setting.trim() == ANSWERS_LATER)
}
