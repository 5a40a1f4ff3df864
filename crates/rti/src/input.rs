//! The kernel's inputs and effects.

use std::sync::Arc;

use hemiola_hla::{Call, Refusal, Reply};
use hemiola_units::Instant;

use crate::image::Image;
use crate::memory::Room;
use crate::notice::{Milestone, Notice};
use crate::prepare::Prepared;
use crate::session::FederationId;

/// A federate's session with the RTI. The shell that owns the kernel assigns the numbers and never reuses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// A call of a session. The session numbers its calls, and the reply carries the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// A request to the shell's storage. Its answer carries the same identifier; no two requests have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StorageId {
    pub(crate) federation: FederationId,
    pub(crate) number: u64,
}

/// The name of the file of service reports of a session. All names of an RTI begin with the same path.
#[must_use]
pub fn report_file(path: &str, session: SessionId) -> String {
    format!("{path}-{}.jsonl", session.0)
}

/// The name of a save. Both parts are foreign text of any characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SaveName {
    /// The federation.
    pub federation: String,
    /// The label that a federate chose.
    pub label: String,
}

/// An input of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A session begins.
    Opened(SessionId),
    /// A federate calls a service. Data in the call may share memory with other calls, except those of
    /// [`LONG_LEN`](hemiola_hla::body::LONG_LEN) or more, which the kernel keeps without copying them.
    Called(SessionId, CallId, Call),
    /// The modules of the next call have already been read. This affects only how long that call takes.
    Prepared(Prepared),
    /// A federate has answered the callback that marks this.
    Answered(SessionId, Milestone),
    /// A session has ended, whatever its federate was doing.
    Lost(SessionId),
    /// The shell ends a session, for this reason. A connected federate that asked for it is told by `ConnectionLost`;
    /// nothing follows that callback. Everything else is as for [`Lost`](Self::Lost).
    Dismissed(SessionId, String),
    /// An image is on durable storage, or could not be stored, with the reason.
    Stored(StorageId, Result<(), String>),
    /// The image of a save, or why there is none.
    Loaded(StorageId, Result<Image, String>),
    /// The memory that the kernel may take from now on.
    Room(Room),
    /// The current time. Only update rate limits and status reports use it; without any tick the kernel makes the same
    /// decisions otherwise.
    Tick(Instant),
}

/// What the shell must do after an input, in this order for each session.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Answers a call. Each call has exactly one reply, which comes before the callbacks that the call causes.
    Reply(SessionId, CallId, Result<Reply, Refusal>),
    /// Delivers a callback. Federates that receive the same callback share one notice.
    Callback(SessionId, Arc<Notice>),
    /// Ends a session. The kernel accepts no further calls of it.
    Close(SessionId),
    /// Stores the image of a federation in place of one with the same name, durably and as a whole. The shell answers
    /// with [`Input::Stored`].
    Store(StorageId, SaveName, Image),
    /// Reads an image. The shell answers with [`Input::Loaded`].
    Load(StorageId, SaveName),
    /// Tells operators why a save or a restore did not take place. Callbacks carry only a code.
    Failed(SaveName, String),
    /// Appends a line of service reports to the file of a session, whose name is [`report_file`].
    Report(SessionId, Vec<u8>),
}
