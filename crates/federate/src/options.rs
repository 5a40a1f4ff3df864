//! How a federate wants to be connected.

use hemiola_fedpro::Settings;
use hemiola_hla::data::{Credentials, RtiConfiguration};
use hemiola_units::{Bytes, Span};

/// What a federate may choose. The default is what the standard's programming interfaces do: each call waits for its
/// answer, and raises its own exception.
#[derive(Clone, Debug)]
pub struct Options {
    /// Updates, interactions and requests to advance time do not wait for their answers. Their exceptions come out of a
    /// later call or evocation as [`Error::Earlier`](crate::Error::Earlier), and their retraction handles are not told.
    /// The RTI is told at connecting, and answers them together with what comes next.
    pub pipelined: bool,
    /// Calls that do not wait are collected until so much is there, or a call waits, a callback is evoked, or
    /// [`flush`](crate::Federate::flush) says so. 0: each goes out at once.
    pub gather: Bytes,
    /// How long to go on looking for an RTI that is not there yet. Zero: one attempt.
    pub patience: Span,
    /// How much memory callbacks may take that wait to be evoked. Beyond it no further call is made; the answer to a
    /// call that is under way is still waited for, and what comes before it taken in. An RTI that sends four times as
    /// much before the answer is given up.
    pub callbacks_max: Bytes,
    /// How patient the session is, and how much it keeps.
    pub session: Settings,
    /// What the RTI is told at connecting; most federates have nothing to say.
    pub configuration: Option<RtiConfiguration>,
    /// Who the federate says it is.
    pub credentials: Option<Credentials>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pipelined: false,
            gather: Bytes(0),
            patience: Span::ZERO,
            callbacks_max: Bytes(64 << 20),
            session: Settings::default(),
            configuration: None,
            credentials: None,
        }
    }
}
