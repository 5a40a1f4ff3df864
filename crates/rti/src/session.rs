//! One session: whether its federate is connected, and which federation it joined.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::{Callback, Exception, FederateHandle};

use crate::authority::Permit;
use crate::creation::Owner;
use crate::federate::Edition;
use crate::input::{CallId, Effect, SessionId};
use crate::memory::SessionAccounts;
use crate::notice::Notice;
use crate::services::Answer;

/// The state of a session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The edition the client connected with, if it is connected.
    pub(crate) connected: Option<Edition>,
    /// Whether the client asked to be told why the RTI ends the session.
    pub(crate) told_of_loss: bool,
    /// What its credentials allow, if there are permits.
    pub(crate) permit: Option<Arc<Permit>>,
    pub(crate) member: Option<Member>,
    /// The federations that it creates count against the quota of this owner.
    pub(crate) owner: Owner,
    pub(crate) accounts: SessionAccounts,
    /// Where its client is, as the shell says.
    pub(crate) host: Arc<str>,
}

impl Session {
    /// The last callback to it if the RTI ends it for this reason and the client asked for that (clause 4.4).
    pub(crate) fn farewell(&self, fault_description: &str) -> Option<Notice> {
        let is_told = self.connected.is_some() && self.told_of_loss;
        let fault_description = fault_description.to_owned();
        is_told.then(|| Notice::new(Callback::ConnectionLost { fault_description }))
    }

    /// Its federate.
    pub(crate) fn member(&self) -> Result<Member, Exception> {
        self.connected.ok_or(Exception::NotConnected)?;
        self.member.ok_or(Exception::FederateNotExecutionMember)
    }
}

/// A federate within its federation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) federation: FederationId,
    pub(crate) federate: FederateHandle,
}

/// A federation execution. Unlike its name, the identifier is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FederationId(pub(crate) u64);

/// Returns the reply to a call, with the exceptions of the edition that the client speaks.
pub(crate) fn reply(
    sessions: &BTreeMap<SessionId, Session>,
    session: SessionId,
    call: CallId,
    answer: Answer,
) -> Effect {
    let answer = answer.map_err(|refusal| {
        let connected = sessions.get(&session).and_then(|state| state.connected);
        if connected == Some(Edition::Evolved) { refusal.of_2010() } else { refusal }
    });
    Effect::Reply(session, call, answer)
}
