//! One side of a session between a federate and an RTI. A session outlives the connections that carry it.
//!
//! ```text
//!                 connected     accepted
//! Disconnected ─────────────▶ Handshake ──────▶ Running ───▶ Closing (client: termination sent)
//!     ▲                           │               │ │             │
//!     └───────────────────────────┴───────────────┘ └──▶ Leaving ─┴─▶ Ended
//!                  disconnected                       (a last frame)
//! ```

mod client;
mod event;
mod ledger;
mod server;
mod settings;
mod traffic;
mod violation;

use std::collections::VecDeque;
use std::marker::PhantomData;

use bytes::Buf;
use hemiola_hla::{Body, Data};
use hemiola_units::Instant;

pub use client::Client;
pub use event::{Bodies, Event, RequestId, Ticket};
pub use server::{Arrival, Greeting, Resume, Server, refuse_resume, refuse_session};
pub use settings::Settings;
pub use traffic::shrink_queue;
pub use violation::{End, ResumeRefusal, SessionRefusal, Violation};

use crate::frame::{Deframer, Frame, FrameKind, SessionId, Unread, number_at};
use crate::sequence::Sequence;
use traffic::Traffic;

/// One of the two sides, [`Client`] or [`Server`].
#[expect(private_bounds, reason = "the protocol has exactly two sides")]
pub trait Side: SideRules {}

/// The rules in which the two sides differ.
trait SideRules: Sized {
    /// The kinds of the requests and responses that this side sends.
    const SENDS: (FrameKind, FrameKind);
    /// The kinds of the requests and responses that this side receives.
    const TAKES: (FrameKind, FrameKind);
    /// The kinds of frames with which this side answers several requests, and with which the peer does.
    const DONE: (FrameKind, FrameKind);
    /// The kinds of requests without a result that this side sends and receives, if it does.
    const POSTED: (Option<FrameKind>, Option<FrameKind>);
    /// The kinds of frames in which this side sends and receives several requests, if it does.
    const SHARED: (Option<FrameKind>, Option<FrameKind>);
    /// How many unanswered requests this side remembers.
    const UNANSWERED_MAX: usize;
    /// The last frame to a peer that violated the protocol.
    const LAST_FRAME: Option<FrameKind>;

    /// Handles a frame that creates or resumes the session; returns `false` for any other frame.
    fn handshake(
        session: &mut Session<Self>,
        now: Instant,
        frame: &Frame,
    ) -> Result<bool, Violation>
    where
        Self: Side;

    /// Handles a frame that controls the session.
    fn control(
        session: &mut Session<Self>,
        now: Instant,
        kind: FrameKind,
        number: Sequence,
    ) -> Result<(), Violation>
    where
        Self: Side;

    /// Handles an answer to something that is not an open request.
    fn unexpected_answer(number: u32) -> Result<(), Violation>;

    /// Handles a connection that broke or could not be opened.
    fn connection_lost(session: &mut Session<Self>, now: Instant)
    where
        Self: Side;

    /// Returns the next deadline while the session runs or is disconnected.
    fn deadline(session: &Session<Self>) -> Option<Instant>
    where
        Self: Side;

    /// Handles that deadline.
    fn timer_due(session: &mut Session<Self>, now: Instant)
    where
        Self: Side;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is no connection. The client opens one at `retry`; with `None` it is opening one now.
    Disconnected {
        retry: Option<Instant>,
    },
    /// The client waits for what the RTI says to it.
    Handshake {
        until: Instant,
    },
    Running,
    /// The client has terminated the session and waits for the answer.
    Closing {
        until: Instant,
    },
    /// The session has ended, but a last frame has not been transmitted.
    Leaving {
        until: Instant,
    },
    Ended,
}

/// Whether one frame may answer several requests, which the standard does not provide for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gathering {
    Off,
    /// The peer may send such frames. As soon as it does, this side may too.
    Offered,
    On,
}

/// One side of a session: bytes and instants go in, bytes and [`Event`]s come out.
///
/// After every call of a method that changes the session, the shell takes all events with [`poll`](Self::poll), writes
/// the bytes of [`transmit`](Self::transmit) to the connection, and calls [`tick`](Self::tick) at the
/// [`deadline`](Self::deadline).
#[derive(Debug)]
pub struct Session<S: Side> {
    settings: Settings,
    id: SessionId,
    phase: Phase,
    /// When a session without a connection expires.
    kept_until: Instant,
    deframer: Deframer,
    traffic: Traffic,
    events: VecDeque<Event>,
    /// When a frame was last received, and when one was last sent.
    last_heard: Instant,
    last_sent: Instant,
    requests: u64,
    gathering: Gathering,
    /// Whether frames may hold several requests.
    shares_frames: bool,
    side: PhantomData<S>,
}

impl<S: Side> Session<S> {
    fn new(settings: Settings, id: SessionId, phase: Phase, now: Instant) -> Self {
        Self {
            settings,
            id,
            phase,
            kept_until: now + settings.greeting_max,
            deframer: Deframer::new(settings.frame_len_max),
            traffic: Traffic::default(),
            events: VecDeque::new(),
            last_heard: now,
            last_sent: now,
            requests: 0,
            gathering: Gathering::Off,
            shares_frames: false,
            side: PhantomData,
        }
    }

    /// Returns the name of the session; [`SessionId::NONE`] until the RTI has assigned one.
    #[must_use]
    pub const fn id(&self) -> SessionId {
        self.id
    }

    /// Whether the session has ended. Then all methods do nothing.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Ended)
    }

    /// Whether there is a connection that carries messages.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// Returns the next event, if there is one.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes bytes received over the connection.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        let mut bytes = Unread::new(bytes);
        while matches!(self.phase, Phase::Handshake { .. } | Phase::Running | Phase::Closing { .. })
        {
            let taken = match self.deframer.next(&mut bytes) {
                Ok(None) => return,
                Ok(Some(frame)) => self.receive_frame(now, frame),
                Err(error) => Err(error.into()),
            };
            if let Err(violation) = taken {
                self.end(now, violation.into(), S::LAST_FRAME);
            }
        }
    }

    fn receive_frame(&mut self, now: Instant, frame: Frame) -> Result<(), Violation> {
        self.last_heard = now;
        if S::handshake(self, now, &frame)? {
            return Ok(());
        }
        let Frame { header, mut payload } = frame;
        let kind = header.kind;
        if header.session != self.id {
            return Err(Violation::WrongSession(header.session));
        }
        let sequence = header.sequence.ok_or(Violation::NoSequence(kind))?;
        if let Some(newest) = header.last_received {
            self.traffic.acknowledge(newest)?;
        }
        if kind == S::TAKES.0 {
            self.take_request(sequence, |id| Event::Request { id, body: payload })
        } else if Some(kind) == S::POSTED.1 && self.gathering != Gathering::Off {
            self.take_request(sequence, |id| Event::Posted { id, body: payload })
        } else if Some(kind) == S::SHARED.1 && self.shares_frames {
            let len = payload.len();
            let bodies = Bodies::new(payload).ok_or(Violation::BadPayload { kind, len })?;
            self.take_request(sequence, |id| Event::Requests { id, bodies })
        } else if kind == S::TAKES.1 {
            if payload.len() < 4 {
                return Err(Violation::BadPayload { kind, len: payload.len() });
            }
            if !self.traffic.note_received(sequence) {
                return Ok(());
            }
            let number = number_at(&payload, 0);
            let asked = Sequence::new(number);
            match asked.and_then(|asked| self.traffic.unanswered.answer(asked)) {
                Some(ticket) => {
                    payload.advance(4);
                    self.events.push_back(Event::Response { to: Ticket(ticket), body: payload });
                    Ok(())
                }
                None => S::unexpected_answer(number),
            }
        } else if kind == S::DONE.1 && self.gathering != Gathering::Off {
            self.take_done(kind, sequence, &payload)
        } else {
            let len = match kind {
                FrameKind::HeartbeatResponse => 4,
                FrameKind::Heartbeat
                | FrameKind::TerminateSession
                | FrameKind::SessionTerminated => 0,
                _ => return Err(Violation::Unexpected(kind)),
            };
            if payload.len() != len {
                return Err(Violation::BadPayload { kind, len: payload.len() });
            }
            S::control(self, now, kind, sequence)
        }
    }

    fn take_request(
        &mut self,
        sequence: Sequence,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<(), Violation> {
        if self.traffic.note_received(sequence) {
            if !self.traffic.to_answer.has_room_for(sequence) {
                return Err(Violation::TooFarAhead(sequence));
            }
            self.traffic.to_answer.open(sequence);
            self.events.push_back(event(RequestId(sequence)));
        }
        Ok(())
    }

    fn take_done(
        &mut self,
        kind: FrameKind,
        sequence: Sequence,
        payload: &Data,
    ) -> Result<(), Violation> {
        if payload.len() != 4 {
            return Err(Violation::BadPayload { kind, len: payload.len() });
        }
        self.gathering = Gathering::On;
        if !self.traffic.note_received(sequence) {
            return Ok(());
        }
        let number = number_at(payload, 0);
        let through = Sequence::new(number);
        match through.and_then(|through| self.traffic.unanswered.answer_through(through)) {
            Some(ticket) => {
                self.events.push_back(Event::Done { through: Ticket(ticket) });
                Ok(())
            }
            None => S::unexpected_answer(number),
        }
    }

    /// Queues a request: a call or a callback. Returns `None` if the session has ended.
    ///
    /// The session ends if more than [`waiting_len_max`](Settings::waiting_len_max) bytes wait to be sent.
    pub fn request(&mut self, now: Instant, body: impl Into<Body>) -> Option<Ticket> {
        if self.has_ended() {
            return None;
        }
        let body = body.into();
        if !self.join(&body) {
            self.begin_request(S::SENDS.0, body);
        }
        self.traffic.close();
        self.requested(now)
    }

    /// Queues a request of which this side wants to know only whether it was carried out. As soon as the peer has
    /// [gathered](Self::gather_answers) an answer, the request says so, and its answer can be gathered; until then this
    /// is [`request`](Self::request).
    pub fn post(&mut self, now: Instant, body: impl Into<Body>) -> Option<Ticket> {
        let Some(kind) = S::POSTED.0.filter(|_| self.gathering == Gathering::On) else {
            return self.request(now, body);
        };
        if self.has_ended() {
            return None;
        }
        self.begin_request(kind, body.into());
        self.requested(now)
    }

    /// Queues a request whose frame may also hold requests that are queued before it and after it, if both sides
    /// [share frames](Self::share_frames). Requests of one frame have one ticket, and one answer. Otherwise, and if the
    /// frame would be longer than [`BLOCK_LEN`](crate::frame::BLOCK_LEN), this is [`request`](Self::request); a request
    /// that is queued with that may share the frame of those before it, but not of those after it.
    pub fn request_with_next(&mut self, now: Instant, body: &Body) -> Option<Ticket> {
        if self.has_ended() {
            return None;
        }
        if !self.join(body) {
            self.begin_request(S::SENDS.0, body.clone());
            self.traffic.set_open(self.shares_frames);
        }
        self.requested(now)
    }

    /// Adds a request to the frame of the one before it, if both may share it.
    fn join(&mut self, body: &Body) -> bool {
        S::SHARED.0.is_some_and(|kind| self.traffic.join(kind, body))
    }

    fn begin_request(&mut self, kind: FrameKind, body: Body) {
        self.traffic.push_message(kind, None, body);
        self.requests += 1;
    }

    /// Returns the ticket of the newest request, unless too much waits now.
    fn requested(&mut self, now: Instant) -> Option<Ticket> {
        self.check_len(now);
        (!self.has_ended()).then(|| Ticket(self.requests - 1))
    }

    /// From now on, a frame may hold several requests of the server: both sides have agreed on it. The standard does
    /// not have such frames.
    pub const fn share_frames(&mut self) {
        self.shares_frames = true;
    }

    /// Queues the answer to a request of the peer. Does nothing if the session has ended.
    ///
    /// # Panics
    /// If the request is unknown or already answered: a client may stop reading after a second answer.
    pub fn respond(&mut self, now: Instant, id: RequestId, body: impl Into<Body>) {
        if !self.has_ended() {
            assert!(
                self.traffic.to_answer.answer(id.0).is_some(),
                "request {} is answered once",
                id.0
            );
            self.traffic.push_message(S::SENDS.1, Some(id.0), body.into());
            self.check_len(now);
        }
    }

    /// Queues an answer that says only that a request was carried out. If answers are
    /// [gathered](Self::gather_answers) and all older requests are answered, one frame holds it and its neighbours, and
    /// the peer gets [`Event::Done`]; otherwise the answer has this body. Does nothing if the session has ended.
    ///
    /// # Panics
    /// As [`respond`](Self::respond).
    pub fn respond_done(&mut self, now: Instant, id: RequestId, body: impl FnOnce() -> Data) {
        let is_gathered = self.gathering == Gathering::On && self.traffic.to_answer.is_oldest(id.0);
        if !is_gathered || self.has_ended() {
            return self.respond(now, id, body());
        }
        self.traffic.to_answer.answer(id.0).expect("it is the oldest open request");
        self.traffic.push_joined(S::DONE.0, id.0);
        self.check_len(now);
    }

    /// Gathers answers from now on, in frames that the standard does not have, and sends and accepts
    /// [posted](Self::post) requests: the peer is known to understand them.
    pub const fn gather_answers(&mut self) {
        self.gathering = Gathering::On;
    }

    /// Accepts gathered answers. This side gathers its own and [posts](Self::post) requests as soon as the peer has
    /// sent one: then the peer understands them.
    pub fn offer_gathering(&mut self) {
        if self.gathering == Gathering::Off {
            self.gathering = Gathering::Offered;
        }
    }

    fn check_len(&mut self, now: Instant) {
        let len_max = self.settings.waiting_len_max;
        if self.traffic.waiting_len() > len_max {
            self.end(now, End::Overflow(len_max), S::LAST_FRAME);
        }
    }

    /// Appends frames to `out`, while it has fewer than `len_max` bytes: whole ones, except that a frame of more than
    /// 64 KiB is appended in parts. The caller writes them to the connection. They count as sent; if the connection
    /// breaks before they arrive, the session sends them again.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<u8>, len_max: usize) {
        let before = out.len();
        if !matches!(self.phase, Phase::Disconnected { .. } | Phase::Ended) {
            self.traffic.write_control(self.id, out, len_max);
        }
        if self.is_running() {
            let kept = self.settings.kept_len_max;
            self.traffic.write_messages(self.id, out, len_max, kept);
            self.traffic.unanswered.forget_beyond(S::UNANSWERED_MAX);
        }
        if out.len() > before {
            self.last_sent = now;
        }
        if matches!(self.phase, Phase::Leaving { .. }) && !self.traffic.has_control() {
            self.phase = Phase::Ended;
            self.events.push_back(Event::Disconnect);
        }
    }

    /// Whether [`transmit`](Self::transmit) would append anything.
    #[must_use]
    pub fn has_output(&self) -> bool {
        match self.phase {
            Phase::Disconnected { .. } | Phase::Ended => false,
            Phase::Running => self.traffic.has_control() || self.traffic.has_messages(),
            _ => self.traffic.has_control(),
        }
    }

    /// Reports that the connection broke or could not be opened.
    pub fn disconnected(&mut self, now: Instant) {
        self.deframer = Deframer::new(self.settings.frame_len_max);
        self.traffic.connection_lost();
        self.events.shrink_to_fit();
        match self.phase {
            Phase::Closing { .. } => {
                self.phase = Phase::Ended;
                self.events.push_back(Event::Ended(End::Terminated));
            }
            Phase::Leaving { .. } | Phase::Ended => self.phase = Phase::Ended,
            Phase::Running => {
                self.kept_until = now + self.settings.resume_window;
                S::connection_lost(self, now);
            }
            Phase::Disconnected { .. } | Phase::Handshake { .. } => S::connection_lost(self, now),
        }
    }

    /// Returns when to call [`tick`](Self::tick), if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Ended => None,
            Phase::Handshake { until } | Phase::Closing { until } | Phase::Leaving { until } => {
                Some(until)
            }
            Phase::Disconnected { .. } | Phase::Running => S::deadline(self),
        }
    }

    /// Handles the deadlines that have passed at `now`.
    pub fn tick(&mut self, now: Instant) {
        match self.phase {
            Phase::Handshake { until } | Phase::Closing { until } | Phase::Leaving { until } => {
                if until <= now {
                    self.drop_connection(now);
                }
            }
            Phase::Disconnected { .. } if self.kept_until <= now => {
                let end = if self.id == SessionId::NONE { End::Unreachable } else { End::Expired };
                self.end(now, end, None);
            }
            Phase::Running if self.last_heard + self.settings.silence_max <= now => {
                self.drop_connection(now)
            }
            Phase::Disconnected { .. } | Phase::Running => S::timer_due(self, now),
            Phase::Ended => {}
        }
    }

    /// Gives up a connection whose peer is silent.
    fn drop_connection(&mut self, now: Instant) {
        self.events.push_back(Event::Disconnect);
        self.disconnected(now);
    }

    /// Ends the session, with a last frame if there is a connection.
    fn end(&mut self, now: Instant, end: End, last: Option<FrameKind>) {
        self.end_with(now, end, last.map(|kind| (kind, Vec::new())));
    }

    fn end_with(&mut self, now: Instant, end: End, last: Option<(FrameKind, Vec<u32>)>) {
        if self.has_ended() {
            return;
        }
        let is_disconnected = matches!(self.phase, Phase::Disconnected { .. });
        self.traffic.clear();
        self.events.push_back(Event::Ended(end));
        match last {
            Some((kind, numbers)) if !is_disconnected => {
                self.traffic.push_control(kind, &numbers);
                self.phase = Phase::Leaving { until: now + self.settings.greeting_max };
            }
            _ => {
                self.phase = Phase::Ended;
                if !is_disconnected {
                    self.events.push_back(Event::Disconnect);
                }
            }
        }
    }

    /// Ends the session from this side without a last frame, as a server must: the peer finds the connection closed,
    /// and the session unknown if it tries to resume it. Messages that have not been transmitted are dropped.
    pub fn close(&mut self, now: Instant) {
        self.end(now, End::Closed, None);
    }

    /// Whether the shell should receive more bytes: not while too much waits to be sent to the peer, or too many of its
    /// requests and heartbeats wait for an answer. A shell that does not receive for longer than
    /// [`silence_max`](Settings::silence_max) loses the connection.
    #[must_use]
    pub fn may_receive(&self) -> bool {
        !self.is_congested()
            && self.traffic.to_answer.len() < self.settings.requests_max
            && self.traffic.control() < self.settings.requests_max
    }

    /// Whether the shell should make more requests: not while the peer has too many to answer or to read.
    #[must_use]
    pub fn may_request(&self) -> bool {
        let requests = self.traffic.waiting() + self.traffic.unanswered.len();
        !self.is_congested() && requests < self.settings.requests_max
    }

    /// Whether so much waits to be sent to the peer that its senders should be slowed down.
    #[must_use]
    pub fn is_congested(&self) -> bool {
        self.traffic.waiting_len() > self.settings.waiting_len_max / 2
    }

    /// Returns how much waits to be transmitted, in bytes of memory.
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.traffic.waiting_len()
    }

    /// Returns how many messages wait to be transmitted.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.traffic.waiting()
    }

    /// Returns how many bytes of an incomplete frame have been received.
    #[must_use]
    pub const fn partial_len(&self) -> usize {
        self.deframer.pending_len()
    }

    /// Returns how much has been transmitted but not acknowledged and is kept for retransmission, in bytes of memory.
    #[must_use]
    pub const fn kept_len(&self) -> usize {
        self.traffic.kept_len()
    }

    /// Returns the newest message that the peer has acknowledged. It tells whether the peer reads, even slowly.
    #[must_use]
    pub const fn acknowledged(&self) -> Option<Sequence> {
        self.traffic.acknowledged()
    }

    /// Returns how many requests the peer has not answered; those that share a frame count as one. For a server this is
    /// an estimate: some clients never respond to some callbacks.
    #[must_use]
    pub const fn unanswered(&self) -> usize {
        self.traffic.unanswered.len()
    }

    /// Sets the number of the first frame, to test numbers that wrap.
    pub(crate) fn start_at(&mut self, number: Sequence) {
        self.traffic.start_at(number);
    }
}
