//! The RTI's side: it takes connections, gives sessions, lets them go on after a break.

use hemiola_units::Instant;

use super::client::VERSION;
use super::violation::{End, ResumeRefusal, SessionRefusal, Violation};
use super::{Event, Part, Phase, Session, Settings, Side};
use crate::frame::{Deframer, Frame, FrameError, HEADER_LEN, Header, Kind, SessionId, number_at};
use crate::sequence::Sequence;

/// The side of an RTI: calls come in, callbacks go out.
#[derive(Debug)]
pub enum Server {}

impl Side for Server {}

/// How long the frame is that a connection begins with, at most.
const FIRST_LEN_MAX: u32 = HEADER_LEN as u32 + 8;

/// A connection that has not said yet what it is for.
#[derive(Debug)]
pub struct Arrival {
    until: Instant,
    deframer: Deframer,
    /// What came behind the first frame.
    rest: Vec<u8>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// A new session: [`accept`](Session::accept) it, or send [`refuse_session`].
    New,
    /// A session that has lost its connection, or will find that it has: [`resume`](Session::resume) it, or send
    /// [`refuse_resume`].
    Resume(Resume),
    /// A version of the protocol that is not spoken here: send [`refuse_session`].
    Unsupported {
        /// The one asked for.
        version: u32,
    },
}

/// What a client has of a session it wants to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The session.
    pub session: SessionId,
    /// The newest message it has received.
    pub newest_received: Option<Sequence>,
    /// The oldest message it still keeps.
    pub oldest_kept: Option<Sequence>,
}

impl Arrival {
    /// A connection that was just made.
    #[must_use]
    pub fn new(now: Instant, settings: &Settings) -> Self {
        Self {
            until: now + settings.greeting_max,
            deframer: Deframer::new(FIRST_LEN_MAX),
            rest: Vec::new(),
        }
    }

    /// When to close it if it has not said what it is for.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.until
    }

    /// Takes bytes that came, until it is known what it is for; they are part of the session.
    ///
    /// # Errors
    /// What cannot begin a connection: close it.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<Option<Greeting>, Violation> {
        let Some(Frame { header, payload }) = self.deframer.next(&mut bytes)? else {
            return Ok(None);
        };
        self.rest = bytes.to_vec();
        let Header { kind, session, sequence, .. } = header;
        let takes = match kind {
            Kind::NewSession => 4,
            Kind::ResumeRequest => 8,
            _ => return Err(Violation::Unexpected(kind)),
        };
        if payload.len() != takes {
            return Err(Violation::BadPayload { kind, len: payload.len() });
        }
        if kind == Kind::NewSession {
            if session != SessionId::NONE {
                return Err(Violation::WrongSession(session));
            }
            sequence.ok_or(Violation::NoSequence(kind))?;
            return Ok(Some(match number_at(&payload, 0) {
                VERSION => Greeting::New,
                version => Greeting::Unsupported { version },
            }));
        }
        let sequence_at = |at| Sequence::from_wire(number_at(&payload, at));
        Ok(Some(Greeting::Resume(Resume {
            session,
            newest_received: sequence_at(0).map_err(FrameError::BadSequence)?,
            oldest_kept: sequence_at(4).map_err(FrameError::BadSequence)?,
        })))
    }
}

/// The frame that refuses a new session; send it and close the connection.
#[must_use]
pub fn refuse_session(refusal: SessionRefusal) -> Vec<u8> {
    refusal_frame(Kind::NewSessionStatus, SessionId::NONE, &[refusal.number()])
}

/// The frame that refuses to let a session go on; send it and close the connection.
#[must_use]
pub fn refuse_resume(session: SessionId, refusal: ResumeRefusal) -> Vec<u8> {
    let numbers = [refusal.number(), Sequence::to_wire(None)];
    refusal_frame(Kind::ResumeStatus, session, &numbers)
}

fn refusal_frame(kind: Kind, session: SessionId, numbers: &[u32]) -> Vec<u8> {
    let header = Header { sequence: Some(Sequence::FIRST), session, last_received: None, kind };
    let mut bytes = header.to_bytes(4 * numbers.len()).to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    bytes
}

impl Session<Server> {
    /// A new session of this name on a connection that asked for one.
    #[must_use]
    pub fn accept(now: Instant, settings: Settings, id: SessionId, arrival: Arrival) -> Self {
        let mut session = Self::new(settings, id, Phase::Running, now);
        session.traffic.push_control(Kind::NewSessionStatus, &[0]);
        session.events.push_back(Event::Running);
        session.receive(now, &arrival.rest);
        session
    }

    /// Goes on over a connection that asked for it. If the session has an older connection, close that first and do
    /// not tell. If it cannot go on it ends, and the connection is told why. One that has ended does nothing: send
    /// [`refuse_resume`].
    pub fn resume(&mut self, now: Instant, arrival: Arrival, resume: Resume) {
        if self.has_ended() {
            return;
        }
        self.deframer = Deframer::new(self.settings.frame_len_max);
        self.traffic.part();
        self.heard = now;
        self.phase = Phase::Running;
        let received = self.traffic.received();
        let is_lost = match (resume.oldest_kept, received) {
            // What came after the newest received, or the place it stands at, is not kept.
            (Some(oldest), Some(received)) => oldest.is_after(received),
            _ => false,
        };
        if is_lost || self.traffic.go_on_after(resume.newest_received).is_err() {
            let refusal = ResumeRefusal::NotKept;
            let numbers = vec![refusal.number(), Sequence::to_wire(None)];
            self.end_with(now, End::NotResumed(refusal), Some((Kind::ResumeStatus, numbers)));
            return;
        }
        self.traffic.push_control(Kind::ResumeStatus, &[0, Sequence::to_wire(received)]);
        self.events.push_back(Event::Running);
        self.receive(now, &arrival.rest);
    }
}

impl Part for Server {
    const SENDS: (Kind, Kind) = (Kind::CallbackRequest, Kind::CallResponse);
    const TAKES: (Kind, Kind) = (Kind::CallRequest, Kind::CallbackResponse);
    // Some clients never answer some callbacks. A late answer to one that is forgotten is no harm.
    const UNANSWERED_MAX: usize = 1 << 14;
    // No frame of an RTI means the end and is understood as it by clients.
    const FAREWELL: Option<Kind> = None;

    fn greet(_: &mut Session<Self>, _: Instant, _: &Frame) -> Result<bool, Violation> {
        Ok(false)
    }

    fn control(
        session: &mut Session<Self>,
        now: Instant,
        kind: Kind,
        number: Sequence,
    ) -> Result<(), Violation> {
        match kind {
            Kind::Heartbeat => {
                session.traffic.push_control(Kind::HeartbeatResponse, &[number.number()]);
                session.check_len(now);
                Ok(())
            }
            Kind::TerminateSession => {
                session.end(now, End::Terminated, Some(Kind::SessionTerminated));
                Ok(())
            }
            _ => Err(Violation::Unexpected(kind)),
        }
    }

    /// Clients may answer late what counts as answered already.
    fn unasked(_: u32) -> Result<(), Violation> {
        Ok(())
    }

    fn part(session: &mut Session<Self>, _: Instant) {
        session.phase = Phase::Apart { retry: None };
    }

    fn deadline(session: &Session<Self>) -> Option<Instant> {
        Some(match session.phase {
            Phase::Apart { .. } => session.kept_until,
            _ => session.heard + session.settings.silence_max,
        })
    }

    fn wake(_: &mut Session<Self>, _: Instant) {}
}
