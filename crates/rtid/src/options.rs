//! The addresses of an RTI, and its limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use hemiola_rti::Authority;
use hemiola_rti_server::Settings;
use hemiola_units::{Bytes, Instant};

/// The port of the Federate Protocol over TCP.
pub const PORT: u16 = 15164;

/// The addresses of an RTI, and its limits.
pub struct Options {
    /// The addresses for TCP connections of federates. Without permits, every program that can reach one of them can
    /// join.
    pub listen: Vec<SocketAddr>,
    /// The name for federates of the same user on the same machine, as in `shm:NAME`.
    pub local: Option<String>,
    /// The limits and timeouts.
    pub settings: Settings,
    /// What federates may do with which credentials.
    pub authority: Authority,
    /// The limit of the system to which the memory limit was lowered, for reports.
    pub memory_limited_by: Option<String>,
    /// The directory for the files of spools; `None` if they stay in memory.
    pub spool: Option<PathBuf>,
    /// The directory for the images of federations; without one, saves are refused.
    pub saves: Option<PathBuf>,
    /// The directory for the files of service reports; without one, there are no such files.
    pub reports: Option<PathBuf>,
    /// The capacity of a stream in shared memory, in each direction. It is memory of this process too.
    pub stream_capacity: Bytes,
    /// Is informed of every turn of the loop.
    pub observer: Option<Box<dyn Observer + Send>>,
    /// Empties what the allocator keeps of freed memory for the calling thread. The loop calls it when it has freed
    /// much, the other threads after each of their jobs.
    pub empty_cache: fn(),
}

/// On loopback only.
impl Default for Options {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))],
            local: Some(PORT.to_string()),
            settings: Settings::default(),
            authority: Authority::default(),
            memory_limited_by: None,
            spool: None,
            saves: None,
            reports: None,
            stream_capacity: Bytes(64 << 10),
            observer: None,
            empty_cache: || {},
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("listen", &self.listen)
            .field("local", &self.local)
            .field("settings", &self.settings)
            .field("spool", &self.spool)
            .field("saves", &self.saves)
            .field("reports", &self.reports)
            .finish_non_exhaustive()
    }
}

/// Sees how the thread of an RTI spends its time. It is called on that thread and must not block.
pub trait Observer {
    /// One turn of the loop, from the wake-up until it is ready to sleep again, with the number of calls that were
    /// carried out and of callbacks that resulted.
    fn busy(&mut self, from: Instant, to: Instant, calls: u32, callbacks: u32);
}
