//! The limits and timeouts of a session.

use hemiola_units::Span;

/// The limits of a session. No behaviour of the peer makes the session keep more than these limits and one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The maximum length of a received frame, in bytes. One object model module, or one set of attribute values, is
    /// one frame.
    pub frame_len_max: u32,
    /// How much may wait to be sent to the peer, in bytes of memory. From half of it on, the senders should be slowed
    /// down; beyond it, the session ends.
    pub waiting_len_max: usize,
    /// How much is kept for retransmission, in bytes of memory. Beyond it the oldest messages are dropped: the session
    /// continues, but cannot be resumed if a dropped message was lost.
    pub kept_len_max: usize,
    /// How many requests, or heartbeats, may be unanswered before no more should be made, or received.
    pub requests_max: usize,
    /// How long the peer may take for the handshake of a connection, and this side for its last frame.
    pub greeting_max: Span,
    /// How long the peer may be silent before the connection counts as broken.
    pub silence_max: Span,
    /// How long a session without a connection is kept.
    pub resume_window: Span,
    /// A client that has sent nothing for five sixths of this sends a heartbeat.
    pub heartbeat_every: Span,
    /// The pause of a client between two attempts to connect.
    pub retry_every: Span,
}

const SECOND: i64 = 1_000_000_000;

/// The timeouts of the standard, where it defines any, and room for an object model module of 16 MiB.
impl Default for Settings {
    fn default() -> Self {
        Self {
            frame_len_max: 16 << 20,
            waiting_len_max: 32 << 20,
            kept_len_max: 16 << 20,
            requests_max: 2000,
            greeting_max: Span::from_nanos(10 * SECOND),
            silence_max: Span::from_nanos(180 * SECOND),
            resume_window: Span::from_nanos(600 * SECOND),
            heartbeat_every: Span::from_nanos(60 * SECOND),
            retry_every: Span::from_nanos(5 * SECOND),
        }
    }
}
