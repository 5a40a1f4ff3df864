//! One session: whether its federate is connected, and where it joined.

use hemiola_hla::FederateHandle;

use crate::federate::Edition;

/// What the kernel knows of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Session {
    /// As what its federate is connected.
    pub(crate) connected: Option<Edition>,
    pub(crate) member: Option<Member>,
}

/// A federate of a federation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) federation: FederationId,
    pub(crate) federate: FederateHandle,
}

/// A federation execution, for as long as it exists. Its name may have been another's before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FederationId(pub(crate) u64);
