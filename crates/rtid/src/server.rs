//! The loop: waits for events, reports them to the core, and lets it work.

use std::net::SocketAddr;
use std::sync::Arc;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::shared::Stream;
use hemiola_rt::sys::epoll::Events;
use hemiola_rt::sys::memory;
use hemiola_rti::SessionId;
use hemiola_rti_server::{
    ConnectionId, Identity, ListenerId, Origin, Peer, PeerAddress, Server as Core, Summary,
};
use hemiola_units::{Bytes, Instant};

use crate::error::ServeError;
use crate::link::Link;
use crate::listener::Listener;
use crate::mailbox::{Command, Mailbox};
use crate::network::Network;
use crate::options::{Observer, Options};
use crate::reports::Reports;
use crate::saves::Saves;
use crate::spool::Spooler;
use crate::stopper::Stopper;
use crate::token::{END, LEVEL, Token};
use crate::worker::Workers;

/// Events taken with one system call. The remaining ones come with the next.
const EVENTS_MAX: usize = 256;

/// The addresses of an RTI, with the ports that the system chose in place of 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Addresses {
    /// For TCP connections of federates.
    pub tcp: Vec<SocketAddr>,
    /// For federates on this machine: the name in `shm:NAME`.
    pub local: Option<String>,
}

/// An RTI. It listens once it is bound and serves while it [runs](Self::run), on one thread that owns the kernel, the
/// sessions and their connections.
#[derive(Debug)]
pub struct Server {
    core: Core,
    network: Network,
    mailbox: Arc<Mailbox>,
    observer: Option<BoxedObserver>,
    stream_capacity: Bytes,
    empty_cache: fn(),
    stops: bool,
}

struct BoxedObserver(Box<dyn Observer + Send>);

impl std::fmt::Debug for BoxedObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

fn now() -> Instant {
    MonotonicClock.now()
}

impl Server {
    /// Listens. From then on federates can connect; they are served once the server [runs](Self::run).
    ///
    /// # Errors
    /// An address cannot be listened on, or the system lacks descriptors.
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let system = |what| move |source| ServeError::System { what, source };
        let mailbox = Arc::new(Mailbox::new().map_err(system("create an event counter"))?);
        let workers = Workers::start(Arc::clone(&mailbox), options.empty_cache)
            .map_err(system("start the threads that read object models"))?;
        let mut network =
            Network::new(options.stream_capacity, workers).map_err(system("wait for events"))?;
        let mut settings = options.settings;
        if let Some(directory) = &options.spool {
            let refused = |source| ServeError::Spool { directory: directory.clone(), source };
            network.spooler =
                Some(Spooler::start(directory, Arc::clone(&mailbox)).map_err(refused)?);
        } else {
            settings.spool_file_max = 0;
        }
        if let Some(directory) = &options.saves {
            let refused = |source| ServeError::Saves { directory: directory.clone(), source };
            settings.limits.image_len = settings.memory_max / 4;
            let (len_max, mailbox) = (settings.limits.image_len as u64, Arc::clone(&mailbox));
            network.saves = Some(
                Saves::start(directory, len_max, mailbox, options.empty_cache).map_err(refused)?,
            );
        } else {
            settings.limits.image_len = 0;
        }
        if let Some(directory) = &options.reports {
            let refused = |source| ServeError::Reports { directory: directory.clone(), source };
            network.reports = Some(
                Reports::start(directory, Arc::clone(&mailbox), options.empty_cache)
                    .map_err(refused)?,
            );
        }
        network
            .epoll
            .add(mailbox.counter(), Token::Mailbox.to_data(), LEVEL)
            .map_err(system("watch an event counter"))?;
        for address in &options.listen {
            let refused = |source| ServeError::Listen { address: *address, source };
            let listener = Listener::tcp(*address).map_err(refused)?;
            network.listen(listener).map_err(system("watch a listener"))?;
        }
        if let Some(name) = &options.local {
            let refused = |source| ServeError::Local { name: name.clone(), source };
            let listener = Listener::local(name).map_err(refused)?;
            network.listen(listener).map_err(system("watch a listener"))?;
        }
        let addresses = addresses(&network.listeners);
        let tcp = addresses.tcp.iter().map(|address| format!("tcp:{address}"));
        let local = addresses.local.iter().map(|name| format!("shm:{name}"));
        let identity = Identity {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            addresses: tcp.chain(local).collect(),
            memory_limited_by: options.memory_limited_by,
        };
        let mut core = Core::new(settings, identity, now()).with_authority(options.authority);
        if let Some(reports) = &network.reports {
            core = core.with_report_files(reports.path());
        }
        Ok(Self {
            core,
            network,
            mailbox,
            observer: options.observer.map(BoxedObserver),
            stream_capacity: options.stream_capacity,
            empty_cache: options.empty_cache,
            stops: false,
        })
    }

    /// Returns the addresses it listens on.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        addresses(&self.network.listeners)
    }

    /// Returns a handle for other threads.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        let stream_capacity = self.stream_capacity;
        Stopper { mailbox: Arc::clone(&self.mailbox), stream_capacity }
    }

    /// Serves until it is [stopped](Stopper::stop). Then output that connections accept at once is still written,
    /// federates that asked for it are told, and all connections are closed.
    ///
    /// # Errors
    /// The system reports no more events.
    pub fn run(mut self) -> Result<Summary, ServeError> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        while !self.stops {
            let until = self.core.before_sleep(&mut self.network);
            let waited = self.network.epoll.wait(&mut events, until);
            waited.map_err(|source| ServeError::System { what: "wait for events", source })?;
            let (from, before) = (now(), self.core.summary());
            self.core.begin_turn(from);
            self.report_events(&events);
            self.core.turn(&mut self.network);
            if self.core.trim_is_due() {
                (self.empty_cache)();
                memory::give_back();
            }
            let to = now();
            self.core.count_turn(from, to);
            if let Some(BoxedObserver(observer)) = &mut self.observer {
                let after = self.core.summary();
                let calls = after.calls - before.calls;
                let callbacks = after.callbacks - before.callbacks;
                observer.busy(from, to, calls as u32, callbacks as u32);
            }
        }
        self.core.stop(&mut self.network);
        if self.network.reports.is_some() {
            self.finish_reports();
        }
        let summary = self.core.summary();
        tracing::info!(sessions = summary.sessions, calls = summary.calls, "the RTI stops");
        Ok(summary)
    }

    /// Has the last service reports written.
    fn finish_reports(&mut self) {
        let finish = |network: &Network| network.reports.iter().for_each(Reports::finish);
        // One part may be on its way, and the rest follows it.
        finish(&self.network);
        self.core.reports_appended(Ok(()));
        self.core.append_reports(&mut self.network);
        finish(&self.network);
    }

    fn report_events(&mut self, events: &Events) {
        for event in events.iter() {
            match Token::from_data(event.token) {
                Token::Listener(place) => self.core.listener_ready(ListenerId(place)),
                Token::Mailbox => self.take_commands(),
                Token::Connection(number) => {
                    let id = ConnectionId(number);
                    if let Some((readable, writable)) = self.network.wake(id, event.flags) {
                        self.core.ready(id, readable, writable);
                    }
                }
                Token::Socket(number) => {
                    if event.flags.intersects(END) {
                        self.end_of_peer(ConnectionId(number));
                    }
                }
                Token::Process(session) => {
                    if let Some(connection) = self.core.process_ended(SessionId(session)) {
                        self.network.abandon(connection);
                    }
                }
            }
        }
    }

    /// Nothing more arrives over a connection than has already arrived.
    fn end_of_peer(&mut self, id: ConnectionId) {
        self.network.abandon(id);
        self.core.ready(id, true, false);
    }

    fn take_commands(&mut self) {
        for command in self.mailbox.take() {
            match command {
                Command::Stop => self.stops = true,
                Command::Connect(stream) => self.connect(stream),
                Command::Prepared(lane, session, result) => {
                    self.core.prepared(&mut self.network, lane, session, result);
                }
                Command::Discarded => self.core.discarded(),
                Command::Stored(session, chunk, result) => self.core.stored(session, chunk, result),
                Command::Loaded(session, chunk, result) => self.core.loaded(session, chunk, result),
                Command::ImageStored(request, result) => self.core.image_stored(request, result),
                Command::ImageLoaded(request, result) => self.core.image_loaded(request, result),
                Command::ReportsAppended(result) => self.core.reports_appended(result),
                Command::Report(to) => {
                    // The asking thread may have given up.
                    let _ = to.send(self.core.report());
                }
            }
        }
    }

    /// Takes a connection within this process.
    fn connect(&mut self, stream: Stream) {
        let link = Link::Stream { stream, _socket: None, is_abandoned: false };
        let peer = Peer { address: PeerAddress::Process, name: "in this process".into() };
        if let Some(id) = self.core.accept(&mut self.network, Origin::Federate, peer) {
            self.network.insert(id, link, None);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.mailbox.close();
    }
}

fn addresses(listeners: &[Listener]) -> Addresses {
    let mut addresses = Addresses::default();
    for listener in listeners {
        match listener {
            Listener::Tcp { address, .. } => addresses.tcp.push(*address),
            Listener::Local { name, .. } => addresses.local = Some(name.clone()),
        }
    }
    addresses
}
