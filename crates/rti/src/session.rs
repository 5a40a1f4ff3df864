//! One session: whether its federate is connected, and which federation it joined.

use hemiola_hla::{Exception, FederateHandle};

use crate::creation::Owner;
use crate::federate::Edition;
use crate::memory::SessionAccounts;

/// The state of a session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The edition the client connected with, if it is connected.
    pub(crate) connected: Option<Edition>,
    pub(crate) member: Option<Member>,
    /// The federations that it creates count against the quota of this owner.
    pub(crate) owner: Owner,
    pub(crate) accounts: SessionAccounts,
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
