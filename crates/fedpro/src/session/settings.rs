//! How patient a session is, and how much it keeps.

use hemiola_units::Span;

/// The limits of a session. Nothing that a peer does makes it keep more than these say, and one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a frame may be that is received, in bytes. One object model module, or one set of attribute values, is
    /// one frame.
    pub frame_len_max: u32,
    /// How much may wait for the peer, in bytes of memory. At half of it those who cause it should be slowed down,
    /// beyond it the session ends.
    pub waiting_len_max: usize,
    /// How much is kept to be sent again, in bytes of memory. Beyond it the oldest is forgotten: the session goes on,
    /// but cannot be resumed if just that was lost.
    pub kept_len_max: usize,
    /// How many requests, or heartbeats, may be without an answer before more should be made, or received.
    pub requests_max: usize,
    /// How long the other side may take over the beginning of a connection, and this one over the end.
    pub greeting_max: Span,
    /// How long nothing may come before a connection counts as broken.
    pub silence_max: Span,
    /// How long a session is kept without a connection.
    pub resume_window: Span,
    /// A client that has sent nothing for five sixths of this sends a heartbeat.
    pub heartbeat_every: Span,
    /// How long a client waits between one attempt at a connection and the next.
    pub retry_every: Span,
}

const SECOND: i64 = 1_000_000_000;

/// The standard's times, where it has any, and room for a module of 16 MiB.
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
