//! A session that the RTI has given, and what the loop knows about it.

use std::os::fd::OwnedFd;

use hemiola_fedpro::{RequestId, Server, Session};
use hemiola_hla::{Call, Data};
use hemiola_rti::SessionId;
use hemiola_units::Instant;

use crate::meter::Meter;

/// A session with the state of everything around it.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) session: Session<Server>,
    /// The connection that carries it.
    pub(crate) connection: Option<u64>,
    /// Who is, or was last, at the other end, for people.
    pub(crate) peer: String,
    /// Its process, if it is on this machine; and whether that has ended.
    pub(crate) process: Option<OwnedFd>,
    pub(crate) is_orphan: bool,
    pub(crate) opened: Instant,
    /// When something came from it last.
    pub(crate) heard: Instant,
    /// Calls, and all bytes that came.
    pub(crate) received: Meter,
    /// Answers and callbacks, and all bytes that went out.
    pub(crate) sent: Meter,
    /// A call that came and is not carried out yet. As long as there is one, nothing is read.
    pub(crate) held: Option<(RequestId, Data)>,
    /// A call whose object model modules are read on another thread.
    pub(crate) preparing: Option<(RequestId, Call)>,
    /// The session that is congested by what this one does.
    pub(crate) blocked_by: Option<SessionId>,
    /// Those that wait until this one has read.
    pub(crate) blocks: Vec<SessionId>,
    /// Since when it is congested, and how much it had read then.
    pub(crate) congested: Option<(Instant, u64)>,
    /// Bytes that were given to its connections.
    pub(crate) sent_len: u64,
    /// What is to be written to it in this turn.
    pub(crate) output: Output,
    /// It waits for no answer to updates and their like: these wait until there is something else to say.
    pub(crate) answers_later: bool,
    /// Since when some wait, and how many bytes have come from it since something was written to it.
    pub(crate) held_since: Option<Instant>,
    pub(crate) held_len: usize,
    /// The kernel wants it to end.
    pub(crate) is_dismissed: bool,
    /// Why this side ends it.
    pub(crate) reason: Option<&'static str>,
    /// The kernel knows that it has ended.
    pub(crate) is_over: bool,
    /// What it keeps, as far as it is counted in the sum over all.
    pub(crate) kept: usize,
}

/// What one turn of the loop has for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Output {
    /// Nothing.
    Nothing,
    /// Answers that hardly anybody waits for.
    Lazy,
    /// Something that the federate may wait for.
    Urgent,
    /// Something it has not asked for: it comes first.
    Callback,
}

impl Host {
    pub(crate) const fn new(
        session: Session<Server>,
        connection: u64,
        peer: String,
        now: Instant,
    ) -> Self {
        Self {
            session,
            connection: Some(connection),
            peer,
            process: None,
            is_orphan: false,
            opened: now,
            heard: now,
            received: Meter::new(now),
            sent: Meter::new(now),
            held: None,
            preparing: None,
            blocked_by: None,
            blocks: Vec::new(),
            congested: None,
            sent_len: 0,
            output: Output::Nothing,
            answers_later: false,
            held_since: None,
            held_len: 0,
            is_dismissed: false,
            reason: None,
            is_over: false,
            kept: 0,
        }
    }

    /// Are its calls not carried out now?
    pub(crate) const fn is_paused(&self) -> bool {
        self.blocked_by.is_some() || self.preparing.is_some() || self.congested.is_some()
    }

    /// What it makes the RTI keep, in bytes of memory.
    pub(crate) fn kept_len(&self) -> usize {
        let held = self.held.as_ref().map_or(0, |(_, body)| body.len());
        let session = &self.session;
        held + session.partial_len() + session.waiting_len() + session.kept_len()
    }

    /// Is it ended from this side? Then its calls are not carried out any more.
    pub(crate) const fn is_ending(&self) -> bool {
        self.is_dismissed || self.reason.is_some()
    }

    /// Should more be read for it? Also while it is congested, until it calls: it may have to get rid of answers before
    /// it can read.
    pub(crate) fn may_receive(&self) -> bool {
        self.held.is_none() && self.session.may_receive()
    }
}
