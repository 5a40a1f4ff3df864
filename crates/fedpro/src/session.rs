//! A session between a federate and an RTI, on either side: it outlives the connections that carry it.
//!
//! ```text
//!            connected      accepted
//!   Apart ─────────────▶ Greeting ─────────▶ Running ───▶ Closing (client: goodbye said)
//!     ▲                      │                 │ │             │
//!     └──────────────────────┴─────────────────┘ └──▶ Leaving ─┴─▶ Ended
//!             disconnected                        (a last frame)
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
use hemiola_hla::Data;
use hemiola_units::Instant;

pub use client::Client;
pub use event::{Event, RequestId, Ticket};
pub use server::{Arrival, Greeting, Resume, Server, refuse_resume, refuse_session};
pub use settings::Settings;
pub use violation::{End, ResumeRefusal, SessionRefusal, Violation};

use crate::frame::{Deframer, Frame, Kind, SessionId, number_at};
use crate::sequence::Sequence;
use traffic::Traffic;

/// One of the two sides, [`Client`] or [`Server`].
#[expect(private_bounds, reason = "there are two sides and there will never be another")]
pub trait Side: Part {}

/// What the sides do differently.
trait Part: Sized {
    /// Kinds of the requests and responses it sends.
    const SENDS: (Kind, Kind);
    /// Kinds of the requests and responses it gets.
    const TAKES: (Kind, Kind);
    /// How many requests without an answer it remembers.
    const UNANSWERED_MAX: usize;
    /// The last word to a peer that broke the protocol.
    const FAREWELL: Option<Kind>;

    /// Takes a frame that decides whether the session runs at all; `false` for any other.
    fn greet(session: &mut Session<Self>, now: Instant, frame: &Frame) -> Result<bool, Violation>
    where
        Self: Side;

    /// Takes a frame that is about the session itself.
    fn control(
        session: &mut Session<Self>,
        now: Instant,
        kind: Kind,
        number: Sequence,
    ) -> Result<(), Violation>
    where
        Self: Side;

    /// A request that the peer answered and nobody waits for.
    fn unasked(number: u32) -> Result<(), Violation>;

    /// There is no connection any more, or none was had.
    fn part(session: &mut Session<Self>, now: Instant)
    where
        Self: Side;

    /// When it wants to be woken while it runs or is apart.
    fn deadline(session: &Session<Self>) -> Option<Instant>
    where
        Self: Side;

    /// It is woken.
    fn wake(session: &mut Session<Self>, now: Instant)
    where
        Self: Side;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is no connection. The client opens one at `retry`, if it is not doing so.
    Apart {
        retry: Option<Instant>,
    },
    /// The client waits for what the RTI says to it.
    Greeting {
        until: Instant,
    },
    Running,
    /// The client has said goodbye and waits for the answer.
    Closing {
        until: Instant,
    },
    /// It has ended, but for a last frame.
    Leaving {
        until: Instant,
    },
    Ended,
}

/// One side of a session: bytes and instants go in, bytes and [`Event`]s come out.
///
/// Whatever was done with a session, afterwards the shell takes all events with [`poll`](Self::poll), writes what
/// [`transmit`](Self::transmit) gives to the connection, and calls [`tick`](Self::tick) at its
/// [`deadline`](Self::deadline).
#[derive(Debug)]
pub struct Session<S: Side> {
    settings: Settings,
    id: SessionId,
    phase: Phase,
    /// Until when a session without connection is kept.
    kept_until: Instant,
    deframer: Deframer,
    traffic: Traffic,
    events: VecDeque<Event>,
    /// When the last frame came, and when one was last sent.
    heard: Instant,
    said: Instant,
    requests: u64,
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
            heard: now,
            said: now,
            requests: 0,
            side: PhantomData,
        }
    }

    /// Its name; [`SessionId::NONE`] until the RTI has given it one.
    #[must_use]
    pub const fn id(&self) -> SessionId {
        self.id
    }

    /// Has it ended? Then nothing does anything any more.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. } | Phase::Ended)
    }

    /// Is there a connection that messages flow over?
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// The next thing to do, if there is any.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes bytes that came over the connection.
    pub fn receive(&mut self, now: Instant, mut bytes: &[u8]) {
        while matches!(self.phase, Phase::Greeting { .. } | Phase::Running | Phase::Closing { .. })
        {
            let taken = match self.deframer.next(&mut bytes) {
                Ok(None) => return,
                Ok(Some(frame)) => self.take(now, frame),
                Err(error) => Err(error.into()),
            };
            if let Err(violation) = taken {
                self.end(now, violation.into(), S::FAREWELL);
            }
        }
    }

    fn take(&mut self, now: Instant, frame: Frame) -> Result<(), Violation> {
        self.heard = now;
        if S::greet(self, now, &frame)? {
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
            if self.traffic.is_news(sequence) {
                if !self.traffic.owed.has_room_for(sequence) {
                    return Err(Violation::Lapped(sequence));
                }
                self.traffic.owed.open(sequence);
                self.events.push_back(Event::Request { id: RequestId(sequence), body: payload });
            }
            Ok(())
        } else if kind == S::TAKES.1 {
            if payload.len() < 4 {
                return Err(Violation::BadPayload { kind, len: payload.len() });
            }
            if !self.traffic.is_news(sequence) {
                return Ok(());
            }
            let number = number_at(&payload, 0);
            let asked = Sequence::new(number);
            match asked.and_then(|asked| self.traffic.unanswered.settle(asked)) {
                Some(ticket) => {
                    payload.advance(4);
                    self.events.push_back(Event::Response { to: Ticket(ticket), body: payload });
                    Ok(())
                }
                None => S::unasked(number),
            }
        } else {
            let len = match kind {
                Kind::HeartbeatResponse => 4,
                Kind::Heartbeat | Kind::TerminateSession | Kind::SessionTerminated => 0,
                _ => return Err(Violation::Unexpected(kind)),
            };
            if payload.len() != len {
                return Err(Violation::BadPayload { kind, len: payload.len() });
            }
            S::control(self, now, kind, sequence)
        }
    }

    /// Asks the peer: queues a call, or a callback. `None` if the session has ended.
    ///
    /// When more waits than [`waiting_len_max`](Settings::waiting_len_max) the session ends.
    pub fn request(&mut self, now: Instant, body: Data) -> Option<Ticket> {
        if !self.queue(now, S::SENDS.0, None, body) {
            return None;
        }
        let ticket = Ticket(self.requests);
        self.requests += 1;
        Some(ticket)
    }

    /// Answers the peer. Does nothing if the session has ended.
    ///
    /// # Panics
    /// When there is no such request, or it has been answered: a client may never read again after a second answer.
    pub fn respond(&mut self, now: Instant, id: RequestId, body: Data) {
        if !self.has_ended() {
            assert!(self.traffic.owed.settle(id.0).is_some(), "request {} is answered once", id.0);
            self.queue(now, S::SENDS.1, Some(id.0), body);
        }
    }

    fn queue(&mut self, now: Instant, kind: Kind, answers: Option<Sequence>, body: Data) -> bool {
        if self.has_ended() {
            return false;
        }
        self.traffic.push_message(kind, answers, body);
        self.check_len(now);
        !self.has_ended()
    }

    fn check_len(&mut self, now: Instant) {
        let len_max = self.settings.waiting_len_max;
        if self.traffic.waiting_len() > len_max {
            self.end(now, End::Overflow(len_max), S::FAREWELL);
        }
    }

    /// Appends whole frames to what is to be written to the connection, as long as it has fewer bytes than so many.
    /// They count as sent: if the connection breaks before they arrive they are sent again.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<u8>, len_max: usize) {
        let before = out.len();
        if !matches!(self.phase, Phase::Apart { .. } | Phase::Ended) {
            self.traffic.write_control(self.id, out, len_max);
        }
        if self.is_running() {
            let kept = self.settings.kept_len_max;
            self.traffic.write_messages(self.id, out, len_max, kept);
            self.traffic.unanswered.forget_beyond(S::UNANSWERED_MAX);
        }
        if out.len() > before {
            self.said = now;
        }
        if matches!(self.phase, Phase::Leaving { .. }) && !self.traffic.has_control() {
            self.phase = Phase::Ended;
            self.events.push_back(Event::Disconnect);
        }
    }

    /// Would [`transmit`](Self::transmit) give anything?
    #[must_use]
    pub fn has_output(&self) -> bool {
        match self.phase {
            Phase::Apart { .. } | Phase::Ended => false,
            Phase::Running => self.traffic.has_control() || self.traffic.has_messages(),
            _ => self.traffic.has_control(),
        }
    }

    /// The connection broke, or could not be had.
    pub fn disconnected(&mut self, now: Instant) {
        self.deframer = Deframer::new(self.settings.frame_len_max);
        self.traffic.part();
        match self.phase {
            Phase::Closing { .. } => {
                self.phase = Phase::Ended;
                self.events.push_back(Event::Ended(End::Terminated));
            }
            Phase::Leaving { .. } | Phase::Ended => self.phase = Phase::Ended,
            Phase::Running => {
                self.kept_until = now + self.settings.resume_window;
                S::part(self, now);
            }
            Phase::Apart { .. } | Phase::Greeting { .. } => S::part(self, now),
        }
    }

    /// When it wants to be woken, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Ended => None,
            Phase::Greeting { until } | Phase::Closing { until } | Phase::Leaving { until } => {
                Some(until)
            }
            Phase::Apart { .. } | Phase::Running => S::deadline(self),
        }
    }

    /// So late it is.
    pub fn tick(&mut self, now: Instant) {
        match self.phase {
            Phase::Greeting { until } | Phase::Closing { until } | Phase::Leaving { until } => {
                if until <= now {
                    self.hang_up(now);
                }
            }
            Phase::Apart { .. } if self.kept_until <= now => {
                let end = if self.id == SessionId::NONE { End::Unreachable } else { End::Expired };
                self.end(now, end, None);
            }
            Phase::Running if self.heard + self.settings.silence_max <= now => self.hang_up(now),
            Phase::Apart { .. } | Phase::Running => S::wake(self, now),
            Phase::Ended => {}
        }
    }

    /// Gives a connection up that nothing comes over.
    fn hang_up(&mut self, now: Instant) {
        self.events.push_back(Event::Disconnect);
        self.disconnected(now);
    }

    /// Ends it, with a last word if there is a connection.
    fn end(&mut self, now: Instant, end: End, last: Option<Kind>) {
        self.end_with(now, end, last.map(|kind| (kind, Vec::new())));
    }

    fn end_with(&mut self, now: Instant, end: End, last: Option<(Kind, Vec<u32>)>) {
        if self.has_ended() {
            return;
        }
        let is_apart = matches!(self.phase, Phase::Apart { .. });
        self.traffic.clear();
        self.events.push_back(Event::Ended(end));
        match last {
            Some((kind, numbers)) if !is_apart => {
                self.traffic.push_control(kind, &numbers);
                self.phase = Phase::Leaving { until: now + self.settings.greeting_max };
            }
            _ => {
                self.phase = Phase::Ended;
                if !is_apart {
                    self.events.push_back(Event::Disconnect);
                }
            }
        }
    }

    /// Ends it from this side, without a word, as a server has to: the peer finds the connection closed, and the
    /// session unknown if it wants to resume it. What waits is not sent any more; who wants a last callback to arrive
    /// transmits it first.
    pub fn close(&mut self, now: Instant) {
        self.end(now, End::Closed, None);
    }

    /// Should more bytes be received? Not while so much waits for the peer, or so many of its requests and heartbeats
    /// for an answer, that it should be slowed down. Who does not receive for longer than
    /// [`silence_max`](Settings::silence_max) loses the connection.
    #[must_use]
    pub fn may_receive(&self) -> bool {
        !self.is_congested()
            && self.traffic.owed.len() < self.settings.requests_max
            && self.traffic.control() < self.settings.requests_max
    }

    /// Should more requests be made? Not while the peer has too many to answer, or to read.
    #[must_use]
    pub fn may_request(&self) -> bool {
        let requests = self.traffic.waiting() + self.traffic.unanswered.len();
        !self.is_congested() && requests < self.settings.requests_max
    }

    /// Does so much wait for the peer that those who cause it should be slowed down?
    #[must_use]
    pub fn is_congested(&self) -> bool {
        self.traffic.waiting_len() > self.settings.waiting_len_max / 2
    }

    /// How much waits for the peer and has not been transmitted, in bytes of memory.
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.traffic.waiting_len()
    }

    /// How many messages wait for the peer and have not been transmitted.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.traffic.waiting()
    }

    /// How much has come of a message that is not complete, in bytes.
    #[must_use]
    pub const fn partial_len(&self) -> usize {
        self.deframer.pending_len()
    }

    /// How much was transmitted and is kept, because the peer has not said that it has it, in bytes of memory.
    #[must_use]
    pub const fn kept_len(&self) -> usize {
        self.traffic.kept_len()
    }

    /// How many requests the peer has not answered. For a server that is a soft measure: some clients never
    /// answer some callbacks.
    #[must_use]
    pub const fn unanswered(&self) -> usize {
        self.traffic.unanswered.len()
    }

    /// Begins with this number, to see what happens when numbers start again.
    pub(crate) fn begin_with(&mut self, number: Sequence) {
        self.traffic.begin_with(number);
    }
}
