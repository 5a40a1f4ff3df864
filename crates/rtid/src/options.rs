//! What an RTI listens on, and what it lets its peers make it keep.

use std::net::{Ipv4Addr, SocketAddr};

use hemiola_fedpro::Settings;
use hemiola_rti::Limits;
use hemiola_units::{Bytes, Instant, Span};

/// The port of the Federate Protocol over TCP.
pub const PORT: u16 = 15164;

/// Where an RTI listens, and its limits.
pub struct Options {
    /// Where it takes TCP connections of federates. Who can reach one of these can join: there is no other protection.
    pub listen: Vec<SocketAddr>,
    /// The name under which federates of the same user on the same machine find it, as in `shm:NAME`.
    pub local: Option<String>,
    /// Where it answers HTTP requests for its metrics.
    pub metrics: Option<SocketAddr>,
    /// What federates may make the kernel keep.
    pub limits: Limits,
    /// How patient sessions are, and what they keep.
    pub session: Settings,
    /// Connections at a time, whatever for. More are closed at once.
    pub connections_max: usize,
    /// Sessions at a time. More are refused.
    pub sessions_max: usize,
    /// How much may wait for a federate before those who cause it are slowed down, in bytes of memory.
    pub congested_len: usize,
    /// How much may wait for a federate whose connection is broken, in bytes of memory. Nobody is slowed down by it;
    /// beyond this its session ends.
    pub apart_len_max: usize,
    /// How much all sessions may keep together, in bytes of memory. Beyond it the one that keeps most is ended.
    pub memory_max: usize,
    /// Within this a federate that slows others down has to read at least [`STALL_LEN_MIN`](Self::STALL_LEN_MIN)
    /// bytes; else its session ends.
    pub stall_max: Span,
    /// How much a stream in shared memory holds each way. All of it is memory of this process too.
    pub stream_capacity: Bytes,
    /// Is told of every turn of the loop that did something.
    pub observer: Option<Box<dyn Observer + Send>>,
}

impl Options {
    /// What is so little that who reads no more in [`stall_max`](Self::stall_max) counts as reading nothing.
    pub const STALL_LEN_MIN: u64 = 16 << 10;
}

const MIB: usize = 1 << 20;

/// On loopback alone, for a machine of a few gigabytes.
impl Default for Options {
    fn default() -> Self {
        let limits = Limits::default();
        let session = Settings {
            // A grant of time lets go at once what the kernel kept for a federate.
            waiting_len_max: 2 * limits.undelivered_len,
            ..Settings::default()
        };
        Self {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
            local: Some(PORT.to_string()),
            metrics: None,
            limits,
            session,
            connections_max: 4096,
            sessions_max: 2048,
            congested_len: 4 * MIB,
            apart_len_max: 64 * MIB,
            memory_max: 1024 * MIB,
            stall_max: Span::from_millis(10_000),
            stream_capacity: Bytes(64 << 10),
            observer: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("listen", &self.listen)
            .field("local", &self.local)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

/// Sees how the thread of an RTI spends its time. Called on that thread: it must not wait.
pub trait Observer {
    /// One turn of the loop, from when it woke until it was ready to sleep again: so many calls were carried out, and
    /// so many callbacks came of them.
    fn busy(&mut self, from: Instant, to: Instant, calls: u32, callbacks: u32);
}
