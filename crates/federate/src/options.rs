//! The options of a connection.

use hemiola_fedpro::{SessionId, Settings};
use hemiola_hla::data::{Credentials, RtiConfiguration};
use hemiola_units::{Bytes, Span};

/// The options of a connection. The default behaves like the standard's programming interfaces: each call waits for its
/// reply and raises its own exception.
#[derive(Clone, Debug)]
pub struct Options {
    /// Updates, interactions and time requests do not wait for their replies. A later call or evocation returns their
    /// exceptions as [`Error::Earlier`](crate::Error::Earlier); their retraction handles are discarded. The RTI sends
    /// their replies together with the next message.
    pub pipelined: bool,
    /// Calls that do not wait are gathered until this many bytes wait, a call waits for its reply, a callback is
    /// evoked, or [`flush`](crate::Federate::flush) is called. With 0, each is sent at once.
    pub gather: Bytes,
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
            pipelined: false,
            gather: Bytes(0),
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
