//! One session: whether its federate is connected, and which federation it joined.

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_hla::{Exception, FederateHandle};

use crate::authority::Permit;
use crate::creation::Owner;
use crate::federate::Edition;
use crate::input::{CallId, Effect, SessionId};
use crate::memory::SessionAccounts;
use crate::services::Answer;

/// The state of a session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The edition the client connected with, if it is connected.
    pub(crate) connected: Option<Edition>,
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
