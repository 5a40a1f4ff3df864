//! The server: what it consists of, and the events that the shell reports.

mod arrival;
mod calls;
mod deadlines;
mod incoming;
mod local;
mod memory;
mod models;
mod output;
mod pressure;
mod reports;
mod saves;
mod spooling;
mod status;
mod turn;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hemiola_fedpro as fedpro;
use hemiola_rti::{Authority, Effect, Kernel, SessionId};
use hemiola_units::{Instant, Span};
use reports::Reports;
pub use reports::{LostReports, ReportBatch};
use turn::Due;

use crate::connection::Connection;
use crate::denials::Denials;
use crate::discards::Discards;
use crate::gate::Gate;
use crate::listeners::Listeners;
use crate::meter::Meter;
use crate::network::{ConnectionId, ListenerId};
use crate::preparations::Preparations;
use crate::report::SlowReading;
use crate::session::{Place, Session};
use crate::settings::Settings;
use crate::shares::Shares;

/// Bytes read from one connection before the next has its turn.
const READ_LEN: usize = 64 << 10;

/// The facts about the server's process that its reports show.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The version of the program.
    pub version: String,
    /// Its process ID.
    pub pid: u32,
    /// The addresses it listens on, such as `tcp:127.0.0.1:15164`.
    pub addresses: Vec<String>,
    /// The limit of the system to which the memory limit was lowered, such as `RLIMIT_AS of 512 MiB`.
    pub memory_limited_by: Option<String>,
}

/// Counters since the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Sessions that were created.
    pub sessions: u64,
    /// Calls that were carried out.
    pub calls: u64,
    /// Callbacks, counted per receiver.
    pub callbacks: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Their total duration.
    pub busy: Span,
    /// The duration of the longest.
    pub longest_turn: Span,
}

/// The core of an RTI process: the kernel, all sessions, and all connections.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    identity: Identity,
    kernel: Kernel,
    /// The time at which the present turn began.
    now: Instant,
    listeners: Listeners,
    connections: Connections,
    sessions: Sessions,
    gate: Gate,
    discards: Discards,
    preparations: Preparations,
    schedule: Schedule,
    statistics: Statistics,
    reports: Reports,
    buffers: Buffers,
}

/// The connections by number.
#[derive(Debug, Default)]
struct Connections {
    by_id: BTreeMap<ConnectionId, Connection>,
    count: u64,
    /// The peers' shares. A connection that carries no session can make room.
    shares: Shares<ConnectionId>,
    /// Whether the last connection was closed for lack of room: that is logged once.
    is_full: bool,
}

/// The sessions, and the memory account.
#[derive(Debug)]
struct Sessions {
    /// Boxed: a table of large values leaves nearly half of its room unused.
    by_id: BTreeMap<SessionId, Box<Session>>,
    /// By the secret name that their clients present.
    by_name: BTreeMap<fedpro::SessionId, SessionId>,
    /// The peers' shares in the sessions that have not ended. A session without a federate or a connection can make
    /// room.
    shares: Shares<Place>,
    /// The memory that all use together, in bytes.
    memory: usize,
    /// The memory of the modules that are being parsed, in bytes.
    preparing: usize,
    /// The most that everything used since memory was last given back, in bytes.
    memory_before: usize,
    /// When memory was last given back.
    trimmed: Instant,
}

/// The work that is due.
#[derive(Debug)]
struct Schedule {
    /// Connections that may have bytes or room.
    ready: Vec<ConnectionId>,
    /// Connections to be armed before the server sleeps.
    unarmed: Vec<ConnectionId>,
    /// Sessions whose calls may go on.
    resumed: Vec<SessionId>,
    /// Sessions whose next call waits for unfinished work of the kernel.
    busy: BTreeSet<SessionId>,
    /// Sessions with output.
    pending: Vec<SessionId>,
    /// Everything that is due in the present turn, each with the work that was done for its session.
    due: Vec<(u64, Due)>,
    /// The work that had been done for the session that was served last, before it was.
    served: u64,
    /// The work that was done for all connections without a session together: many of them are owed no more than one
    /// session.
    served_without_session: u64,
    /// Sessions to be evicted, and why.
    evictions: VecDeque<(SessionId, &'static str)>,
    /// Sessions to be ended before the next call, because their federates have opened others.
    replaced: Vec<SessionId>,
    /// Federations to be destroyed once their federates have been evicted.
    destructions: Vec<String>,
    /// Requests to the storage of images.
    images: Vec<Effect>,
    /// Whether an object model may be due to be read.
    preparations_due: bool,
    /// No deadline expires before this time.
    deadline: Instant,
}

#[derive(Debug)]
struct Statistics {
    began: Instant,
    summary: Summary,
    received: Meter,
    sent: Meter,
    sessions_ended: BTreeMap<&'static str, u64>,
    slow: SlowReading,
    denials: Denials,
}

/// Memory that every turn uses again.
#[derive(Debug)]
struct Buffers {
    inbox: Box<[u8]>,
    outbox: Vec<u8>,
    effects: Vec<Effect>,
}

impl Schedule {
    /// A deadline may expire at this time.
    fn wake_by(&mut self, at: Instant) {
        self.deadline = self.deadline.min(at);
    }

    fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && self.resumed.is_empty()
            && self.pending.is_empty()
            && self.evictions.is_empty()
            && !self.preparations_due
    }
}

impl Connections {
    fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.by_id.get_mut(&id)
    }
}

impl Server {
    /// Creates a server without connections.
    #[must_use]
    pub fn new(settings: Settings, identity: Identity, now: Instant) -> Self {
        let settings = settings.consistent();
        Self {
            kernel: Kernel::new(settings.limits).with_partial_models(settings.partial_models),
            settings,
            identity,
            now,
            listeners: Listeners::default(),
            connections: Connections::default(),
            sessions: Sessions {
                by_id: BTreeMap::new(),
                by_name: BTreeMap::new(),
                shares: Shares::default(),
                memory: 0,
                preparing: 0,
                memory_before: 0,
                trimmed: now,
            },
            gate: Gate::default(),
            discards: Discards::default(),
            preparations: Preparations::default(),
            schedule: Schedule {
                ready: Vec::new(),
                unarmed: Vec::new(),
                resumed: Vec::new(),
                busy: BTreeSet::new(),
                pending: Vec::new(),
                due: Vec::new(),
                served: 0,
                served_without_session: 0,
                evictions: VecDeque::new(),
                replaced: Vec::new(),
                destructions: Vec::new(),
                images: Vec::new(),
                preparations_due: false,
                deadline: Instant::MAX,
            },
            statistics: Statistics {
                began: now,
                summary: Summary::default(),
                received: Meter::new(now),
                sent: Meter::new(now),
                sessions_ended: BTreeMap::new(),
                slow: SlowReading::default(),
                denials: Denials::new(now),
            },
            reports: Reports::default(),
            buffers: Buffers {
                inbox: vec![0; READ_LEN].into_boxed_slice(),
                outbox: Vec::new(),
                effects: Vec::new(),
            },
        }
    }

    /// Sets what federates may do with which credentials. Without permits, every federate may do everything.
    #[must_use]
    pub fn with_authority(mut self, authority: Authority) -> Self {
        self.kernel = self.kernel.with_authority(authority);
        self
    }

    /// Lets federates have their service reports written to files, whose names begin with this path.
    #[must_use]
    pub fn with_report_files(mut self, path: &str) -> Self {
        self.kernel = self.kernel.with_report_files(path);
        self
    }

    /// Returns the counters so far.
    #[must_use]
    pub const fn summary(&self) -> Summary {
        self.statistics.summary
    }

    /// Returns the number of bytes of large messages that are being received, and of object models that wait.
    #[must_use]
    pub const fn incoming_len(&self) -> usize {
        self.gate.total()
    }

    /// The shell has worked for the server from one instant to another; this is shown in reports.
    pub fn count_turn(&mut self, from: Instant, to: Instant) {
        let summary = &mut self.statistics.summary;
        summary.turns += 1;
        summary.busy += to - from;
        summary.longest_turn = summary.longest_turn.max(to - from);
    }

    /// Connections wait at a listener. They are accepted in this turn and the next ones, until none waits any more;
    /// only one that arrives later has to be reported.
    pub fn listener_ready(&mut self, listener: ListenerId) {
        self.listeners.ready(listener);
    }

    /// Something happened to a connection: there are bytes to read, or room to write, or it has ended.
    pub fn ready(&mut self, connection: ConnectionId, readable: bool, writable: bool) {
        if let Some(found) = self.connections.get_mut(connection) {
            found.wake(readable, writable);
            self.enqueue(connection);
        }
    }

    /// The process of a session's peer has ended. The session ends once everything it sent has been read. Returns its
    /// connection: from now on its reads end with [`Received::Closed`](crate::Received::Closed).
    pub fn process_ended(&mut self, session: SessionId) -> Option<ConnectionId> {
        let found = self.sessions.by_id.get_mut(&session)?;
        found.is_orphaned = true;
        let connection = found.connection;
        match connection {
            Some(connection) => self.ready(connection, true, false),
            None => self.schedule.evictions.push_back((session, ORPHANED)),
        }
        connection
    }

    /// Will serve this connection.
    fn enqueue(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.is_queued
        {
            connection.is_queued = true;
            self.schedule.ready.push(id);
        }
    }
}

/// Why a session ends whose process has ended.
const ORPHANED: &str = "its process has ended";

/// Why all sessions end when the process does.
const STOPS: &str = "the RTI stops";
