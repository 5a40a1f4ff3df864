//! The RTI's side: accepts connections, creates sessions and resumes them after a connection broke.

use hemiola_units::Instant;

use super::client::VERSION;
use super::violation::{End, ResumeRefusal, SessionRefusal, Violation};
use super::{Event, Phase, Session, Settings, Side, SideRules};
use crate::frame::{
    Deframer, Frame, FrameError, FrameKind, HEADER_LEN, Header, SessionId, Unread, number_at,
};
use crate::sequence::Sequence;

/// The side of an RTI: it receives calls and sends callbacks.
#[derive(Debug)]
pub enum Server {}

impl Side for Server {}

/// The maximum length of the first frame on a connection, in bytes.
const FIRST_LEN_MAX: u32 = HEADER_LEN as u32 + 8;

/// A new connection whose first frame has not arrived.
#[derive(Debug)]
pub struct Arrival {
    until: Instant,
    deframer: Deframer,
    /// The bytes received behind the first frame.
    rest: Vec<u8>,
}

/// The request in the first frame on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// A new session: [`accept`](Session::accept) it, or send [`refuse_session`].
    New,
    /// An existing session on a new connection: [`resume`](Session::resume) it, or send [`refuse_resume`]. The RTI may
    /// not have noticed yet that the old connection broke.
    Resume(Resume),
    /// A session with an unsupported version of the protocol: send [`refuse_session`].
    Unsupported {
        /// The requested version.
        version: u32,
    },
}

/// A client's request to resume a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The session.
    pub session: SessionId,
    /// The newest message that the client has received.
    pub newest_received: Option<Sequence>,
    /// The oldest message that the client still keeps.
    pub oldest_kept: Option<Sequence>,
}

impl Arrival {
    /// Starts to wait for the first frame on a connection that was just accepted.
    #[must_use]
    pub fn new(now: Instant, settings: &Settings) -> Self {
        Self {
            until: now + settings.greeting_max,
            deframer: Deframer::new(FIRST_LEN_MAX),
            rest: Vec::new(),
        }
    }

    /// Returns when to close the connection if its first frame has not arrived.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.until
    }

    /// Takes received bytes until the first frame is complete; then returns what it requests. Bytes behind the first
    /// frame are kept for the session.
    ///
    /// # Errors
    /// The bytes cannot begin a connection: close it.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<Greeting>, Violation> {
        let mut bytes = Unread::new(bytes);
        let Some(Frame { header, payload }) = self.deframer.next(&mut bytes)? else {
            return Ok(None);
        };
        self.rest = bytes.rest().to_vec();
        let Header { kind, session, sequence, .. } = header;
        let takes = match kind {
            FrameKind::NewSession => 4,
            FrameKind::ResumeRequest => 8,
            _ => return Err(Violation::Unexpected(kind)),
        };
        if payload.len() != takes {
            return Err(Violation::BadPayload { kind, len: payload.len() });
        }
        if kind == FrameKind::NewSession {
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

/// Returns the frame that refuses a new session. Send it and close the connection.
#[must_use]
pub fn refuse_session(refusal: SessionRefusal) -> Vec<u8> {
    refusal_frame(FrameKind::NewSessionStatus, SessionId::NONE, &[refusal.number()])
}

/// Returns the frame that refuses to resume a session. Send it and close the connection.
#[must_use]
pub fn refuse_resume(session: SessionId, refusal: ResumeRefusal) -> Vec<u8> {
    let numbers = [refusal.number(), Sequence::to_wire(None)];
    refusal_frame(FrameKind::ResumeStatus, session, &numbers)
}

fn refusal_frame(kind: FrameKind, session: SessionId, numbers: &[u32]) -> Vec<u8> {
    let header = Header { sequence: Some(Sequence::FIRST), session, last_received: None, kind };
    let mut bytes = header.to_bytes(4 * numbers.len()).to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    bytes
}

impl Session<Server> {
    /// Creates a session with this name on a connection that requested one.
    pub fn accept(now: Instant, settings: Settings, id: SessionId, arrival: Arrival) -> Self {
        let mut session = Self::new(settings, id, Phase::Running, now);
        session.traffic.push_control(FrameKind::NewSessionStatus, &[0]);
        session.events.push_back(Event::Running);
        session.receive(now, &arrival.rest);
        session
    }

    /// Resumes the session on a connection that requested it. If the session still has an older connection, close that
    /// one first, without calling [`disconnected`](Self::disconnected). If the session cannot be resumed, it ends and
    /// the client is sent the reason. Does nothing if the session has ended: send [`refuse_resume`].
    pub fn resume(&mut self, now: Instant, arrival: Arrival, resume: Resume) {
        if self.has_ended() {
            return;
        }
        self.deframer = Deframer::new(self.settings.frame_len_max);
        self.traffic.connection_lost();
        self.last_heard = now;
        self.phase = Phase::Running;
        let received = self.traffic.received();
        let is_lost = match (resume.oldest_kept, received) {
            // The client no longer keeps a message that this side has not received.
            (Some(oldest), Some(received)) => oldest.is_after(received),
            _ => false,
        };
        if is_lost || self.traffic.resume_after(resume.newest_received).is_err() {
            let refusal = ResumeRefusal::NotKept;
            let numbers = vec![refusal.number(), Sequence::to_wire(None)];
            self.end_with(now, End::NotResumed(refusal), Some((FrameKind::ResumeStatus, numbers)));
            return;
        }
        self.traffic.push_control(FrameKind::ResumeStatus, &[0, Sequence::to_wire(received)]);
        self.events.push_back(Event::Running);
        self.receive(now, &arrival.rest);
    }
}

impl SideRules for Server {
    const SENDS: (FrameKind, FrameKind) = (FrameKind::CallbackRequest, FrameKind::CallResponse);
    const TAKES: (FrameKind, FrameKind) = (FrameKind::CallRequest, FrameKind::CallbackResponse);
    const DONE: (FrameKind, FrameKind) = (FrameKind::CallsDone, FrameKind::CallbacksDone);
    const POSTED: (Option<FrameKind>, Option<FrameKind>) = (None, Some(FrameKind::CallPosted));
    const SHARED: (Option<FrameKind>, Option<FrameKind>) =
        (Some(FrameKind::CallbackRequests), None);
    // Some clients never respond to some callbacks. A late response to a dropped one does no harm.
    const UNANSWERED_MAX: usize = 1 << 14;
    // Clients do not understand any frame of an RTI as the end of the session.
    const LAST_FRAME: Option<FrameKind> = None;

    fn handshake(_: &mut Session<Self>, _: Instant, _: &Frame) -> Result<bool, Violation> {
        Ok(false)
    }

    fn control(
        session: &mut Session<Self>,
        now: Instant,
        kind: FrameKind,
        number: Sequence,
    ) -> Result<(), Violation> {
        match kind {
            FrameKind::Heartbeat => {
                session.traffic.push_control(FrameKind::HeartbeatResponse, &[number.number()]);
                session.check_len(now);
                Ok(())
            }
            FrameKind::TerminateSession => {
                session.end(now, End::Terminated, Some(FrameKind::SessionTerminated));
                Ok(())
            }
            _ => Err(Violation::Unexpected(kind)),
        }
    }

    /// Accepts any answer: a client may respond after the callback was dropped.
    fn unexpected_answer(_: u32) -> Result<(), Violation> {
        Ok(())
    }

    fn connection_lost(session: &mut Session<Self>, _: Instant) {
        session.phase = Phase::Disconnected { retry: None };
    }

    fn deadline(session: &Session<Self>) -> Option<Instant> {
        Some(match session.phase {
            Phase::Disconnected { .. } => session.kept_until,
            _ => session.last_heard + session.settings.silence_max,
        })
    }

    fn timer_due(_: &mut Session<Self>, _: Instant) {}
}
