//! The network of the core: links by number, watched with epoll.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hemiola_rt::shared::Stream;
use hemiola_rt::sys::epoll::{Epoll, EventFlags};
use hemiola_rt::sys::local::send_with;
use hemiola_rt::sys::random::secret;
use hemiola_rti::{Image, Preparation, Retired, SaveName, SessionId, StorageId};
use hemiola_rti_server::{
    Accepted, ConnectionId, ConnectionLost, Lane, ListenerId, Received, ReportBatch, SpoolChunk,
    Urgency,
};
use hemiola_units::Bytes;

use crate::link::Link;
use crate::listener::{Incoming, Listener};
use crate::reports::Reports;
use crate::saves::Saves;
use crate::spool::{Job, Spooler};
use crate::token::{EDGE, END, ONCE, Token};
use crate::worker::Workers;

/// Listeners, links, processes, and the threads that read object models.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) epoll: Epoll,
    /// By their numbers.
    pub(crate) listeners: Vec<Listener>,
    ports: BTreeMap<ConnectionId, Port>,
    /// Processes watched for sessions.
    processes: BTreeMap<SessionId, OwnedFd>,
    workers: Workers,
    /// Writes and reads the files of spools, if there are any.
    pub(crate) spooler: Option<Spooler>,
    /// Writes and reads the images of federations, if there is a directory for them.
    pub(crate) saves: Option<Saves>,
    /// Writes service reports, if there is a directory for them.
    pub(crate) reports: Option<Reports>,
    stream_capacity: Bytes,
}

/// A link with its state.
#[derive(Debug)]
struct Port {
    link: Link,
    /// The peer's process, until a session watches it.
    process: Option<OwnedFd>,
    /// Whether epoll has reported the end, which it does once.
    is_hung_up: bool,
}

impl Network {
    pub(crate) fn new(stream_capacity: Bytes, workers: Workers) -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            listeners: Vec::new(),
            ports: BTreeMap::new(),
            processes: BTreeMap::new(),
            workers,
            spooler: None,
            saves: None,
            reports: None,
            stream_capacity,
        })
    }

    /// Listens, and reports connections that arrive.
    pub(crate) fn listen(&mut self, listener: Listener) -> io::Result<()> {
        listener.watch(&self.epoll, self.listeners.len() as u64)?;
        self.listeners.push(listener);
        Ok(())
    }

    /// Adds a link under the number that the core gave it. If it cannot be watched, its first read fails.
    pub(crate) fn insert(&mut self, id: ConnectionId, link: Link, process: Option<OwnedFd>) {
        match self.epoll.add(link.descriptor(), Token::Connection(id.0).to_data(), EDGE) {
            Ok(()) => drop(self.ports.insert(id, Port { link, process, is_hung_up: false })),
            Err(error) => tracing::warn!(%error, "a connection cannot be watched"),
        }
    }

    /// Returns whether an event means that the link may have bytes, and that it may have room.
    pub(crate) fn wake(&mut self, id: ConnectionId, flags: EventFlags) -> Option<(bool, bool)> {
        let port = self.ports.get_mut(&id)?;
        port.is_hung_up |= flags.intersects(END);
        let readable = port.is_hung_up || flags.contains(EventFlags::IN);
        Some((readable, flags.contains(EventFlags::OUT) || port.link.is_stream()))
    }

    /// Has a job done for a spool. Without files, there is none but discarding nothing.
    fn spool(&self, job: Job) {
        if let Some(spooler) = &self.spooler {
            spooler.give(job);
        }
    }

    /// The peer is gone: after what has arrived, the link is closed.
    pub(crate) fn abandon(&mut self, id: ConnectionId) {
        if let Some(Port { link: Link::Stream { is_abandoned, .. }, .. }) = self.ports.get_mut(&id)
        {
            *is_abandoned = true;
        }
    }
}

fn lost(error: impl ToString) -> ConnectionLost {
    ConnectionLost(error.to_string())
}

/// Whether the system is out of some resource, so that trying again at once is pointless.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    let code = error.raw_os_error();
    shortages.iter().any(|one| code == Some(one.raw_os_error()))
}

impl hemiola_rti_server::Network for Network {
    fn accept(&mut self, listener: ListenerId, connection: ConnectionId) -> Accepted {
        let listener = &self.listeners[listener.0 as usize];
        match listener.accept() {
            Ok(Incoming { link, peer, process }) => {
                let origin = listener.origin();
                self.insert(connection, link, process);
                Accepted::Connection(origin, peer)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Accepted::None,
            Err(error) if is_shortage(&error) => Accepted::Shortage(error.to_string()),
            // It was closed before it was accepted, or belongs to another user.
            Err(error) => Accepted::Refused(error.to_string()),
        }
    }

    fn read(
        &mut self,
        connection: ConnectionId,
        into: &mut [u8],
    ) -> Result<Received, ConnectionLost> {
        let port = self.ports.get_mut(&connection).ok_or_else(|| lost("it cannot be watched"))?;
        Ok(match port.link.read(into).map_err(lost)? {
            // The end was reported already, perhaps together with the last bytes.
            Received::All(len) if port.is_hung_up && len > 0 => Received::Some(len),
            received => received,
        })
    }

    fn write(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        urgency: Urgency,
    ) -> Result<usize, ConnectionLost> {
        let port = self.ports.get_mut(&connection).ok_or_else(|| lost("it cannot be watched"))?;
        let mut written = 0;
        while written < bytes.len() {
            match port.link.write(&bytes[written..], urgency).map_err(lost)? {
                0 => break,
                len => written += len,
            }
        }
        Ok(written)
    }

    fn finish(&mut self, connection: ConnectionId) {
        if let Some(port) = self.ports.get_mut(&connection) {
            port.link.finish();
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        self.ports.remove(&connection);
    }

    fn acknowledge(&mut self, connection: ConnectionId) {
        if let Some(port) = self.ports.get(&connection) {
            port.link.acknowledge();
        }
    }

    fn arm(&mut self, connection: ConnectionId) -> bool {
        self.ports.get_mut(&connection).is_none_or(|port| port.link.arm())
    }

    fn has_input(&mut self, connection: ConnectionId) -> bool {
        self.ports.get(&connection).is_none_or(|port| port.link.has_input())
    }

    fn become_stream(&mut self, connection: ConnectionId) -> Result<(), ConnectionLost> {
        let port = self.ports.remove(&connection).ok_or_else(|| lost("it is closed"))?;
        let Link::Local(socket) = port.link else { return Err(lost("it is not a local socket")) };
        let (stream, descriptors) = Stream::offer(self.stream_capacity).map_err(lost)?;
        send_with(&socket, b"ok\n", &descriptors.each_ref().map(OwnedFd::as_fd)).map_err(lost)?;
        let flags = EventFlags::IN | EventFlags::ET;
        let number = connection.0;
        self.epoll.modify(&socket, Token::Socket(number).to_data(), flags | END).map_err(lost)?;
        self.epoll.add(stream.bell(), Token::Connection(number).to_data(), flags).map_err(lost)?;
        let link = Link::Stream { stream, _socket: Some(socket), is_abandoned: false };
        self.ports.insert(connection, Port { link, process: port.process, is_hung_up: false });
        Ok(())
    }

    fn watch_process(&mut self, connection: ConnectionId, session: SessionId) {
        self.processes.remove(&session);
        let process = self.ports.get_mut(&connection).and_then(|port| port.process.take());
        let Some(process) = process else { return };
        if self.epoll.add(&process, Token::Process(session.0).to_data(), ONCE).is_ok() {
            self.processes.insert(session, process);
        }
    }

    fn forget_process(&mut self, session: SessionId) {
        self.processes.remove(&session);
    }

    fn prepare(&mut self, lane: Lane, session: SessionId, job: Preparation) {
        self.workers.prepare(lane, session, job);
    }

    fn discard(&mut self, unneeded: Retired) {
        self.workers.discard(unneeded);
    }

    fn store(&mut self, session: SessionId, chunk: u64, messages: SpoolChunk) {
        self.spool(Job::Store(session, chunk, messages));
    }

    fn load(&mut self, session: SessionId, chunk: u64) {
        self.spool(Job::Load(session, chunk));
    }

    fn discard_spool(&mut self, session: SessionId) {
        self.spool(Job::Discard(session));
    }

    fn store_image(&mut self, request: StorageId, name: SaveName, image: Image) {
        let saves = self.saves.as_ref().expect("without a directory, no save begins");
        saves.store(request, name, image);
    }

    fn load_image(&mut self, request: StorageId, name: SaveName) {
        let saves = self.saves.as_ref().expect("without a directory, no restore begins");
        saves.load(request, name);
    }

    fn append_reports(&mut self, batch: ReportBatch) {
        let reports = self.reports.as_ref().expect("without a directory, there are no reports");
        reports.append(batch);
    }

    fn secret(&mut self) -> Option<u64> {
        secret().ok().map(u64::from_ne_bytes)
    }
}
