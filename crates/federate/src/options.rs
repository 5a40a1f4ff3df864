//! The options of a connection.

use hemiola_fedpro::{SessionId, Settings};
use hemiola_hla::data::{Credentials, RtiConfiguration};
use hemiola_units::{Bytes, Span};

/// When the methods of a federate that return no result wait for the RTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// Calls without a result are sent together and do not wait for their replies. An exception that the federate can
    /// know is raised at once; the RTI's exceptions come later, as [`Error::Earlier`](crate::Error::Earlier).
    #[default]
    Pipelined,
    /// Each call waits for its reply and raises its own exception.
    Waiting,
}

/// The options of a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether calls without a result wait for their replies.
    pub calls: Calls,
    /// How long to retry while there is no RTI at the address. With zero, there is one attempt.
    pub connect_timeout: Span,
    /// The memory for callbacks that wait to be evoked. Beyond it, calls fail with
    /// [`Error::Backlog`](crate::Error::Backlog). A pending call still waits for its reply and queues further
    /// callbacks; an RTI that sends four times this much before the reply is disconnected.
    pub callbacks_max: Bytes,
    /// The timeouts and limits of the session.
    pub session: Settings,
    /// The configuration that is passed to the RTI; most federates need none.
    pub configuration: Option<RtiConfiguration>,
    /// The session that this federate had before it crashed, as [`Federate::session`](crate::Federate::session)
    /// returned it: the RTI ends it at once, and its federate's name is free.
    pub replaces: Option<SessionId>,
    /// How long the RTI keeps the session, with its federate joined, while it has no connection; never longer than the
    /// RTI's own window, which applies to `None`.
    pub resume_window: Option<Span>,
    /// The credentials of the federate.
    pub credentials: Option<Credentials>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            calls: Calls::default(),
            connect_timeout: Span::ZERO,
            callbacks_max: Bytes(64 << 20),
            session: Settings::default(),
            configuration: None,
            replaces: None,
            resume_window: None,
            credentials: None,
        }
    }
}
