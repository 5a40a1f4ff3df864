//! One session: whether its federate is connected, and which federation it joined.

use hemiola_hla::FederateHandle;

use crate::creation::Owner;
use crate::federate::Edition;

/// The state of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Session {
    /// The edition the client connected with, if it is connected.
    pub(crate) connected: Option<Edition>,
    pub(crate) member: Option<Member>,
    /// The federations that it creates count against the quota of this owner.
    pub(crate) owner: Owner,
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
