//! The federate's side: opens connections, requests the session, keeps it alive and terminates it.

use hemiola_units::Instant;

use super::violation::{End, ResumeRefusal, SessionRefusal, Violation};
use super::{Event, Phase, Session, Settings, Side, SideRules};
use crate::frame::{Frame, FrameKind, SessionId, number_at};
use crate::sequence::Sequence;

/// The version of the protocol that this crate implements.
pub(super) const VERSION: u32 = 1;

/// The side of a federate: it sends calls and receives callbacks.
#[derive(Debug)]
pub enum Client {}

impl Side for Client {}

impl Session<Client> {
    /// Requests a session from an RTI. The first event is [`Event::Connect`].
    pub fn open(now: Instant, settings: Settings) -> Self {
        let mut session =
            Self::new(settings, SessionId::NONE, Phase::Disconnected { retry: None }, now);
        session.events.push_back(Event::Connect);
        session
    }

    /// Reports that the connection requested by [`Event::Connect`] is open.
    pub fn connected(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Disconnected { .. }) {
            return;
        }
        if self.id == SessionId::NONE {
            self.traffic.push_control(FrameKind::NewSession, &[VERSION]);
        } else {
            let numbers = [self.traffic.received(), self.traffic.oldest()].map(Sequence::to_wire);
            self.traffic.push_control(FrameKind::ResumeRequest, &numbers);
        }
        self.phase = Phase::Handshake { until: now + self.settings.greeting_max };
        self.last_heard = now;
        self.last_sent = now;
    }

    /// Terminates the session. It ends once the RTI has answered; messages that have not been transmitted are dropped.
    pub fn terminate(&mut self, now: Instant) {
        if self.is_running() {
            self.traffic.push_control(FrameKind::TerminateSession, &[]);
            self.phase = Phase::Closing { until: now + self.settings.silence_max };
        } else if !matches!(self.phase, Phase::Closing { .. }) {
            self.end(now, End::Terminated, None);
        }
    }

    /// Returns when a heartbeat is due: after five sixths of the interval without any other frame.
    fn heartbeat_due(&self) -> Instant {
        let every = self.settings.heartbeat_every;
        self.last_sent + every - every / 6
    }

    fn run(&mut self) {
        self.phase = Phase::Running;
        self.events.push_back(Event::Running);
    }
}

impl SideRules for Client {
    const SENDS: (FrameKind, FrameKind) = (FrameKind::CallRequest, FrameKind::CallbackResponse);
    const TAKES: (FrameKind, FrameKind) = (FrameKind::CallbackRequest, FrameKind::CallResponse);
    const DONE: (FrameKind, FrameKind) = (FrameKind::CallbacksDone, FrameKind::CallsDone);
    const POSTED: (Option<FrameKind>, Option<FrameKind>) = (Some(FrameKind::CallPosted), None);
    const SHARED: (Option<FrameKind>, Option<FrameKind>) =
        (None, Some(FrameKind::CallbackRequests));
    // The RTI answers every call, and the shell limits how many it makes.
    const UNANSWERED_MAX: usize = usize::MAX;
    const LAST_FRAME: Option<FrameKind> = Some(FrameKind::TerminateSession);

    fn handshake(
        session: &mut Session<Self>,
        now: Instant,
        frame: &Frame,
    ) -> Result<bool, Violation> {
        let Frame { header, payload } = frame;
        let kind = header.kind;
        if !matches!(session.phase, Phase::Handshake { .. }) {
            return Ok(false);
        }
        let is_new = session.id == SessionId::NONE;
        let expected = if is_new { FrameKind::NewSessionStatus } else { FrameKind::ResumeStatus };
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
                    match session.traffic.resume_after(newest) {
                        Ok(()) => session.run(),
                        Err(_) => {
                            let end = End::NotResumed(ResumeRefusal::NotKept);
                            session.end(now, end, Self::LAST_FRAME);
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
        kind: FrameKind,
        _: Sequence,
    ) -> Result<(), Violation> {
        match kind {
            FrameKind::HeartbeatResponse => Ok(()),
            FrameKind::SessionTerminated => {
                session.end(now, End::Terminated, None);
                Ok(())
            }
            _ => Err(Violation::Unexpected(kind)),
        }
    }

    fn unexpected_answer(number: u32) -> Result<(), Violation> {
        Err(Violation::UnexpectedAnswer(number))
    }

    fn connection_lost(session: &mut Session<Self>, now: Instant) {
        if session.id == SessionId::NONE {
            session.phase = Phase::Disconnected { retry: None };
            session.end(now, End::Unreachable, None);
        } else if session.is_running() {
            session.phase = Phase::Disconnected { retry: None };
            session.events.push_back(Event::Connect);
        } else {
            let retry = Some(now + session.settings.retry_every);
            session.phase = Phase::Disconnected { retry };
        }
    }

    fn deadline(session: &Session<Self>) -> Option<Instant> {
        Some(match session.phase {
            Phase::Disconnected { retry: Some(retry) } => retry.min(session.kept_until),
            Phase::Disconnected { .. } => session.kept_until,
            _ => session.heartbeat_due().min(session.last_heard + session.settings.silence_max),
        })
    }

    fn timer_due(session: &mut Session<Self>, now: Instant) {
        match session.phase {
            Phase::Disconnected { retry: Some(retry) } if retry <= now => {
                session.phase = Phase::Disconnected { retry: None };
                session.events.push_back(Event::Connect);
            }
            Phase::Running if session.heartbeat_due() <= now => {
                session.traffic.push_control(FrameKind::Heartbeat, &[]);
                // One heartbeat is enough, even if it cannot be written now.
                session.last_sent = now;
            }
            _ => {}
        }
    }
}
