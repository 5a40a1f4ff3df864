//! A world of virtual links around one server. Time passes by turns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use hemiola_rti::{Image, Preparation, Retired, SaveName, SessionId, StorageId};
use hemiola_rti_server::{
    Accepted, ConnectionId, ConnectionLost, Identity, Lane, ListenerId, LostReports, Network,
    Origin, Peer, PeerAddress, Received, ReportBatch, Server, Settings, SpoolChunk, Urgency,
};
use hemiola_units::{Instant, Random, Span};

/// The duration of a turn, and of the way through a link.
pub(crate) const TURN: Span = Span::from_millis(1);

/// The address of a peer that has no other.
pub(crate) const HERE: PeerAddress = host(1);

/// The address of a host by its number.
pub(crate) const fn host(number: u8) -> PeerAddress {
    PeerAddress::host(IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)))
}

/// One end-to-end link, as the network of the kernel would hold it.
#[derive(Default)]
struct Link {
    to_server: VecDeque<u8>,
    to_peer: VecDeque<u8>,
    /// The peer has closed its end.
    is_closed: bool,
    /// The server has closed its end, or will write no more.
    is_finished: bool,
    /// A write found no room.
    wants_room: bool,
    /// It is like a stream in shared memory: bytes are reported only if the server has armed it.
    is_stream: bool,
    is_armed: bool,
    /// Room is reported once no more than this waits for the peer; `None`: as soon as there is any.
    room_at: Option<usize>,
}

impl Link {
    /// A new link. Every other one is like a stream in shared memory.
    fn new(id: ConnectionId) -> Self {
        Self { is_stream: id.0 % 2 == 1, ..Self::default() }
    }
}

/// Bytes that a link holds in each direction, as socket buffers do.
const ROOM: usize = 128 << 10;

/// Bytes of modules that a virtual thread reads and merges in one turn.
const PARSED_PER_TURN: usize = 16 << 10;

/// An object model that a virtual thread reads.
struct Job {
    session: SessionId,
    preparation: Preparation,
    turns_left: usize,
}

enum FileJob {
    Store(SessionId, u64, SpoolChunk),
    Load(SessionId, u64),
    Discard(SessionId),
    StoreImage(StorageId, SaveName, Image),
    LoadImage(StorageId, SaveName),
    Append(ReportBatch),
}

/// A connection that waits at a listener.
struct Waiting {
    dial: u64,
    address: PeerAddress,
    may_connect: bool,
}

#[derive(Default)]
pub(crate) struct Links {
    links: BTreeMap<ConnectionId, Link>,
    waiting: BTreeMap<ListenerId, VecDeque<Waiting>>,
    dials: u64,
    /// The connections that were accepted, by dial.
    pub(crate) accepted: BTreeMap<u64, ConnectionId>,
    /// How often the server has tried to accept, and how many connections it has closed.
    pub(crate) tries: u64,
    pub(crate) closed: u64,
    /// Whether the system has no descriptor for another connection.
    pub(crate) is_short: bool,
    secrets: u64,
    /// The job of each thread that reads object models.
    lanes: [Option<Job>; 2],
    /// The number of values that were given away to be dropped, and those that have not been dropped yet.
    pub(crate) discarded: usize,
    pub(crate) leaving: Vec<Retired>,
    /// Whether the threads that read models and drop values get no processor.
    pub(crate) is_starved: bool,
    /// Whether the thread that drops values gets none.
    pub(crate) drops_nothing: bool,
    /// The files of spools, and what the thread that writes and reads them has to do.
    files: BTreeMap<(SessionId, u64), Vec<u8>>,
    file_jobs: VecDeque<FileJob>,
    /// The saves of federations.
    pub(crate) images: BTreeMap<SaveName, Image>,
    /// The files of service reports.
    pub(crate) reports: BTreeMap<SessionId, Vec<u8>>,
    /// Whether files can be written.
    pub(crate) disk_is_full: bool,
    /// Bytes written by the server, over all links.
    pub(crate) written: u64,
}

impl Network for Links {
    fn accept(&mut self, listener: ListenerId, id: ConnectionId) -> Accepted {
        self.tries += 1;
        // Linux takes the descriptor first, and fails even if nothing waits.
        if self.is_short {
            return Accepted::Shortage("too many open files".into());
        }
        let next = self.waiting.get_mut(&listener).and_then(VecDeque::pop_front);
        let Some(Waiting { dial, address, may_connect }) = next else { return Accepted::None };
        if !may_connect {
            return Accepted::Refused("another user's".into());
        }
        let before = self.links.insert(id, Link::new(id));
        assert!(before.is_none(), "a number is never used twice");
        self.accepted.insert(dial, id);
        Accepted::Connection(Origin::Federate, Peer { address, name: format!("{address:?}") })
    }

    fn read(&mut self, id: ConnectionId, into: &mut [u8]) -> Result<Received, ConnectionLost> {
        let Some(link) = self.links.get_mut(&id) else {
            return Err(ConnectionLost("no such link".into()));
        };
        link.is_armed = false;
        let len = link.to_server.len().min(into.len());
        for (slot, byte) in into.iter_mut().zip(link.to_server.drain(..len)) {
            *slot = byte;
        }
        Ok(match len {
            0 if link.is_closed => Received::Closed,
            _ if len == into.len() || link.is_closed => Received::Some(len),
            _ if link.is_stream => Received::AllUnarmed(len),
            _ => Received::All(len),
        })
    }

    fn write(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        _: Urgency,
    ) -> Result<usize, ConnectionLost> {
        let Some(link) = self.links.get_mut(&id) else {
            return Err(ConnectionLost("no such link".into()));
        };
        if link.is_closed {
            return Err(ConnectionLost("the peer is gone".into()));
        }
        let len = bytes.len().min(ROOM.saturating_sub(link.to_peer.len()));
        link.to_peer.extend(&bytes[..len]);
        link.wants_room = len < bytes.len();
        self.written += len as u64;
        Ok(len)
    }

    fn finish(&mut self, id: ConnectionId) {
        if let Some(link) = self.links.get_mut(&id) {
            link.is_finished = true;
        }
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(link) = self.links.get_mut(&id) {
            link.is_finished = true;
            link.to_server.clear();
            self.closed += 1;
        }
    }

    fn acknowledge(&mut self, _: ConnectionId) {}

    fn arm(&mut self, id: ConnectionId) -> bool {
        let has_input = self.has_input(id);
        if let Some(link) = self.links.get_mut(&id) {
            link.is_armed = !has_input;
        }
        !has_input
    }

    fn has_input(&mut self, id: ConnectionId) -> bool {
        self.links.get(&id).is_none_or(|link| !link.to_server.is_empty() || link.is_closed)
    }

    fn become_stream(&mut self, _: ConnectionId) -> Result<(), ConnectionLost> {
        Err(ConnectionLost("there is no shared memory".into()))
    }

    fn watch_process(&mut self, _: ConnectionId, _: SessionId) {}

    fn forget_process(&mut self, _: SessionId) {}

    fn prepare(&mut self, lane: Lane, session: SessionId, preparation: Preparation) {
        let mut others = self.lanes.iter().flatten();
        let federation = preparation.federation();
        assert!(others.all(|job| job.preparation.federation() != federation), "one at a time");
        let turns_left = 1 + preparation.work() / PARSED_PER_TURN;
        let before = self.lanes[lane as usize].replace(Job { session, preparation, turns_left });
        assert!(before.is_none(), "a lane gets one job at a time");
    }

    fn discard(&mut self, unneeded: Retired) {
        self.discarded += 1;
        self.leaving.push(unneeded);
    }

    fn store(&mut self, session: SessionId, chunk: u64, messages: SpoolChunk) {
        self.file_jobs.push_back(FileJob::Store(session, chunk, messages));
    }

    fn load(&mut self, session: SessionId, chunk: u64) {
        self.file_jobs.push_back(FileJob::Load(session, chunk));
    }

    fn discard_spool(&mut self, session: SessionId) {
        self.file_jobs.push_back(FileJob::Discard(session));
    }

    fn store_image(&mut self, request: StorageId, name: SaveName, image: Image) {
        self.file_jobs.push_back(FileJob::StoreImage(request, name, image));
    }

    fn load_image(&mut self, request: StorageId, name: SaveName) {
        self.file_jobs.push_back(FileJob::LoadImage(request, name));
    }

    fn append_reports(&mut self, batch: ReportBatch) {
        self.file_jobs.push_back(FileJob::Append(batch));
    }

    fn secret(&mut self) -> Option<u64> {
        // Unguessable only where it matters.
        self.secrets += 1;
        Some(self.secrets.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) server: Server,
    pub(crate) links: Links,
    pub(crate) random: Random,
    /// Sessions whose object models make the reader panic.
    pub(crate) panics: BTreeSet<SessionId>,
    /// The pieces that were sent to the server, in order, if they are recorded.
    pub(crate) recorded: Option<Vec<Vec<u8>>>,
    settings: Settings,
}

impl World {
    pub(crate) fn new(seed: u64, settings: Settings) -> Self {
        let now = Instant::ZERO + Span::from_millis(1000);
        Self {
            now,
            server: Server::new(settings, Identity::default(), now),
            links: Links::default(),
            random: Random::from_seed(seed),
            panics: BTreeSet::new(),
            recorded: None,
            settings,
        }
    }

    /// A connection to the server, if it takes one.
    pub(crate) fn connect(&mut self) -> Option<ConnectionId> {
        self.connect_from(HERE)
    }

    /// A connection from this address.
    pub(crate) fn connect_from(&mut self, address: PeerAddress) -> Option<ConnectionId> {
        self.open(Origin::Federate, address)
    }

    /// Connects at a listener, where the connection waits until it is accepted. Returns the number of the dial.
    pub(crate) fn dial(
        &mut self,
        listener: ListenerId,
        address: PeerAddress,
        may_connect: bool,
    ) -> u64 {
        self.links.dials += 1;
        let dial = self.links.dials;
        let waiting = self.links.waiting.entry(listener).or_default();
        waiting.push_back(Waiting { dial, address, may_connect });
        self.server.listener_ready(listener);
        dial
    }

    /// How many connections wait at a listener.
    pub(crate) fn waiting(&self, listener: ListenerId) -> usize {
        self.links.waiting.get(&listener).map_or(0, VecDeque::len)
    }

    /// A connection over the local socket.
    pub(crate) fn connect_locally(&mut self) -> Option<ConnectionId> {
        self.open(Origin::Local, PeerAddress::User(1000))
    }

    fn open(&mut self, origin: Origin, address: PeerAddress) -> Option<ConnectionId> {
        let peer = Peer { address, name: format!("{address:?}") };
        let id = self.server.accept(&mut self.links, origin, peer)?;
        self.links.links.insert(id, Link::new(id));
        Some(id)
    }

    /// Sends bytes to the server, as many as there is room for.
    pub(crate) fn send(&mut self, id: ConnectionId, bytes: &[u8]) -> usize {
        let Some(link) = self.links.links.get_mut(&id) else { return 0 };
        let len = bytes.len().min(ROOM.saturating_sub(link.to_server.len()));
        link.to_server.extend(&bytes[..len]);
        if let Some(recorded) = &mut self.recorded {
            recorded.push(bytes[..len].to_vec());
        }
        if len > 0 && (!link.is_stream || std::mem::take(&mut link.is_armed)) {
            self.server.ready(id, true, false);
        }
        len
    }

    /// Takes up to `len` bytes from the server; `None` once it has closed the connection and all are taken.
    pub(crate) fn take(&mut self, id: ConnectionId, len: usize) -> Option<Vec<u8>> {
        let link = self.links.links.get_mut(&id)?;
        let len = len.min(link.to_peer.len());
        if len == 0 && link.is_finished {
            return None;
        }
        let bytes = link.to_peer.drain(..len).collect();
        let has_room = link.room_at.is_none_or(|at| link.to_peer.len() <= at);
        if link.wants_room && len > 0 && has_room {
            link.wants_room = false;
            self.server.ready(id, false, true);
        }
        Some(bytes)
    }

    /// Whether the server has not closed the connection.
    pub(crate) fn is_open(&self, id: ConnectionId) -> bool {
        self.links.links.get(&id).is_some_and(|link| !link.is_finished)
    }

    /// Room is reported late, as Linux does over TCP: once a third of the buffer is free (tcp(7), `SO_SNDBUF`).
    pub(crate) fn report_room_late(&mut self, id: ConnectionId) {
        if let Some(link) = self.links.links.get_mut(&id) {
            link.room_at = Some(ROOM / 3 * 2);
        }
    }

    /// Breaks the connection.
    pub(crate) fn cut(&mut self, id: ConnectionId) {
        if let Some(link) = self.links.links.get_mut(&id) {
            link.is_closed = true;
            link.to_peer.clear();
            self.server.ready(id, true, true);
        }
    }

    /// One turn of the server, and the passing of time. Everything that must always hold is checked.
    pub(crate) fn turn(&mut self) {
        self.now += TURN;
        let calls_before = self.server.summary().calls;
        self.server.begin_turn(self.now);
        if !self.links.is_starved {
            self.read_models();
            if !self.links.drops_nothing && !self.links.leaving.is_empty() {
                self.links.leaving.remove(0);
                self.server.discarded();
            }
        }
        if self.random.below(2) == 0 {
            self.work_on_files();
        }
        self.server.turn(&mut self.links);
        let _ = self.server.before_sleep(&mut self.links);
        self.server.check_invariants();
        let sessions = self.server.report().sessions;
        let memory = self.server.report().memory;
        // One call per session may exceed it.
        let slack = 8 << 20;
        assert!(memory.used <= self.settings.memory_max + slack, "{memory:?}");
        // A turn is bounded by the number of sessions, not by what they ask for.
        let calls = self.server.summary().calls - calls_before;
        assert!(calls <= 2 * 257 * (sessions.len() as u64 + 2), "{calls} calls in one turn");
    }

    /// The process of the server is about to end.
    pub(crate) fn stop(&mut self) {
        self.server.stop(&mut self.links);
        self.server.check_invariants();
    }

    /// The virtual threads read on. Either may be interrupted, so they finish in any order.
    fn read_models(&mut self) {
        for lane in [Lane::Express, Lane::Main] {
            let place = &mut self.links.lanes[lane as usize];
            let is_interrupted = self.random.below(4) == 0;
            let done = place.take_if(|job| {
                job.turns_left -= usize::from(!is_interrupted);
                job.turns_left == 0
            });
            let Some(Job { session, preparation, .. }) = done else { continue };
            let result = if self.panics.contains(&session) {
                Err("planted".into())
            } else {
                Ok(preparation.run())
            };
            self.server.prepared(&mut self.links, lane, session, result);
        }
    }

    /// Does the oldest job of the thread that writes and reads files.
    fn work_on_files(&mut self) {
        match self.links.file_jobs.pop_front() {
            None => {}
            Some(FileJob::Store(session, chunk, messages)) => {
                let result = match self.links.disk_is_full {
                    true => Err("no space left on device".into()),
                    false => Ok(()),
                };
                self.links.files.insert((session, chunk), messages.to_bytes());
                self.server.stored(session, chunk, result);
            }
            Some(FileJob::Load(session, chunk)) => {
                let bytes = self.links.files.remove(&(session, chunk)).expect("it was stored");
                let chunk_read = SpoolChunk::from_bytes(bytes).expect("it is as it was stored");
                self.server.loaded(session, chunk, Ok(chunk_read));
            }
            Some(FileJob::Discard(session)) => self.links.files.retain(|(of, _), _| *of != session),
            Some(FileJob::StoreImage(request, ..)) if self.links.disk_is_full => {
                self.server.image_stored(request, Err("no space left on device".into()));
            }
            Some(FileJob::StoreImage(request, name, image)) => {
                self.links.images.insert(name, image);
                self.server.image_stored(request, Ok(()));
            }
            Some(FileJob::Append(batch)) if self.links.disk_is_full => {
                let len = batch.values().map(|lines| lines.len() as u64).sum();
                let reason = "no space left on device".into();
                self.server.reports_appended(Err(LostReports { len, reason }));
            }
            Some(FileJob::Append(batch)) => {
                for (session, lines) in batch {
                    self.links.reports.entry(session).or_default().extend(lines);
                }
                self.server.reports_appended(Ok(()));
            }
            Some(FileJob::LoadImage(request, name)) => {
                let image = self.links.images.get(&name).cloned();
                self.server.image_loaded(request, image.ok_or_else(|| "there is none".into()));
            }
        }
    }

    /// The bytes in all files of spools, once the thread has nothing left to do.
    pub(crate) fn file_len(&mut self) -> usize {
        while !self.links.file_jobs.is_empty() {
            self.work_on_files();
        }
        self.links.files.values().map(Vec::len).sum()
    }

    pub(crate) fn turns(&mut self, count: u32) {
        (0..count).for_each(|_| self.turn());
    }
}
