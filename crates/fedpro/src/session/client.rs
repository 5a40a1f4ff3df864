//! The federate's side: it opens connections, asks for the session, keeps it alive, says goodbye.

use hemiola_units::Instant;

use super::violation::{End, ResumeRefusal, SessionRefusal, Violation};
use super::{Event, Part, Phase, Session, Settings, Side};
use crate::frame::{Frame, Kind, SessionId, number_at};
use crate::sequence::Sequence;

/// The version of the protocol.
pub(super) const VERSION: u32 = 1;

/// The side of a federate: calls go out, callbacks come in.
#[derive(Debug)]
pub enum Client {}

impl Side for Client {}

impl Session<Client> {
    /// A session that is to be had from an RTI. It asks for a connection at once.
    #[must_use]
    pub fn open(now: Instant, settings: Settings) -> Self {
        let mut session = Self::new(settings, SessionId::NONE, Phase::Apart { retry: None }, now);
        session.events.push_back(Event::Connect);
        session
    }

    /// There is a connection, as [`Event::Connect`] wanted it.
    pub fn connected(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Apart { .. }) {
            return;
        }
        if self.id == SessionId::NONE {
            self.traffic.push_control(Kind::NewSession, &[VERSION]);
        } else {
            let numbers = [self.traffic.received(), self.traffic.oldest()].map(Sequence::to_wire);
            self.traffic.push_control(Kind::ResumeRequest, &numbers);
        }
        self.phase = Phase::Greeting { until: now + self.settings.greeting_max };
        self.heard = now;
        self.said = now;
    }

    /// Says goodbye. Ends once the RTI has answered; what still waits to be sent is not sent any more.
    pub fn terminate(&mut self, now: Instant) {
        if self.is_running() {
            self.traffic.push_control(Kind::TerminateSession, &[]);
            self.phase = Phase::Closing { until: now + self.settings.silence_max };
        } else if !matches!(self.phase, Phase::Closing { .. }) {
            self.end(now, End::Terminated, None);
        }
    }

    /// When a heartbeat is due.
    fn heartbeat_at(&self) -> Instant {
        let every = self.settings.heartbeat_every;
        self.said + every - every / 6
    }

    fn run(&mut self) {
        self.phase = Phase::Running;
        self.events.push_back(Event::Running);
    }
}

impl Part for Client {
    const SENDS: (Kind, Kind) = (Kind::CallRequest, Kind::CallbackResponse);
    const TAKES: (Kind, Kind) = (Kind::CallbackRequest, Kind::CallResponse);
    // Each has an answer, and the shell does not make too many.
    const UNANSWERED_MAX: usize = usize::MAX;
    const FAREWELL: Option<Kind> = Some(Kind::TerminateSession);

    fn greet(session: &mut Session<Self>, now: Instant, frame: &Frame) -> Result<bool, Violation> {
        let Frame { header, payload } = frame;
        let kind = header.kind;
        if !matches!(session.phase, Phase::Greeting { .. }) {
            return Ok(false);
        }
        let is_new = session.id == SessionId::NONE;
        let expected = if is_new { Kind::NewSessionStatus } else { Kind::ResumeStatus };
        if kind != expected {
            return Err(Violation::Unexpected(kind));
        }
        if payload.len() != if is_new { 4 } else { 8 } {
            return Err(Violation::BadPayload { kind, len: payload.len() });
        }
        let status = number_at(payload, 0);
        if is_new {
            match SessionRefusal::from_number(status, kind)? {
                Some(refusal) => session.end(now, End::Refused(refusal), None),
                None if header.session == SessionId::NONE => {
                    return Err(Violation::WrongSession(header.session));
                }
                None => {
                    session.id = header.session;
                    session.run();
                }
            }
        } else {
            match ResumeRefusal::from_number(status, kind)? {
                Some(refusal) => session.end(now, End::NotResumed(refusal), None),
                None => {
                    let newest = Sequence::from_wire(number_at(payload, 4));
                    let newest = newest.map_err(crate::frame::FrameError::BadSequence)?;
                    match session.traffic.go_on_after(newest) {
                        Ok(()) => session.run(),
                        Err(_) => {
                            let end = End::NotResumed(ResumeRefusal::NotKept);
                            session.end(now, end, Self::FAREWELL);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    fn control(
        session: &mut Session<Self>,
        now: Instant,
        kind: Kind,
        _: Sequence,
    ) -> Result<(), Violation> {
        match kind {
            Kind::HeartbeatResponse => Ok(()),
            Kind::SessionTerminated => {
                session.end(now, End::Terminated, None);
                Ok(())
            }
            _ => Err(Violation::Unexpected(kind)),
        }
    }

    fn unasked(number: u32) -> Result<(), Violation> {
        Err(Violation::AnsweredUnasked(number))
    }

    fn part(session: &mut Session<Self>, now: Instant) {
        if session.id == SessionId::NONE {
            session.phase = Phase::Apart { retry: None };
            session.end(now, End::Unreachable, None);
        } else if session.is_running() {
            session.phase = Phase::Apart { retry: None };
            session.events.push_back(Event::Connect);
        } else {
            let retry = Some(now + session.settings.retry_every);
            session.phase = Phase::Apart { retry };
        }
    }

    fn deadline(session: &Session<Self>) -> Option<Instant> {
        Some(match session.phase {
            Phase::Apart { retry: Some(retry) } => retry.min(session.kept_until),
            Phase::Apart { .. } => session.kept_until,
            _ => session.heartbeat_at().min(session.heard + session.settings.silence_max),
        })
    }

    fn wake(session: &mut Session<Self>, now: Instant) {
        match session.phase {
            Phase::Apart { retry: Some(retry) } if retry <= now => {
                session.phase = Phase::Apart { retry: None };
                session.events.push_back(Event::Connect);
            }
            Phase::Running if session.heartbeat_at() <= now => {
                session.traffic.push_control(Kind::Heartbeat, &[]);
                // One is enough, also if it cannot be written now.
                session.said = now;
            }
            _ => {}
        }
    }
}
