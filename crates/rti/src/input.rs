//! What goes into the kernel and what comes out of it.

use std::sync::Arc;

use hemiola_hla::{Call, Refusal, Reply};
use hemiola_units::Instant;

use crate::notice::Notice;
use crate::prepare::Prepared;

/// A connection of a federate, as the shell that owns the kernel numbers them. A number is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// A call of a session, as the session numbers them; the reply has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// What happens to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A session begins.
    Opened(SessionId),
    /// A federate calls a service.
    Called(SessionId, CallId, Call),
    /// What the next call brings was read already. It changes nothing but how long that call takes.
    Prepared(Prepared),
    /// A session is gone, whatever its federate was doing.
    Lost(SessionId),
    /// So late it is. Only limits of update rates and status reports look at it; a kernel that is never told
    /// decides everything else the same.
    Tick(Instant),
}

/// What the kernel wants done, in this order for each session.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Answer a call. Each call has one answer, before all callbacks that come of it.
    Reply(SessionId, CallId, Result<Reply, Refusal>),
    /// Tell a federate. Notices are shared among those who get the same.
    Callback(SessionId, Arc<Notice>),
    /// End a session, and take no calls of it any more.
    Close(SessionId),
}
