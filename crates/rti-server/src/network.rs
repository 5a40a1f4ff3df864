//! The outside world, as the core sees it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use hemiola_rti::{Image, Owner, Preparation, Retired, SaveName, SessionId, StorageId};

use crate::chunk::SpoolChunk;
use crate::server::ReportBatch;

/// A connection, as the server numbers them. A number is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A listener, as the shell numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u64);

/// The kind of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It speaks the Federate Protocol from its first byte: a TCP connection, or a stream in shared memory.
    Federate,
    /// The local socket: its first line says what it is for.
    Local,
}

/// The address of a peer, as far as quotas distinguish peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerAddress {
    /// A host, over TCP.
    Host(IpAddr),
    /// A user of this machine, over the local socket.
    User(u32),
    /// This process.
    Process,
}

impl PeerAddress {
    /// The address of a host. An IPv6 host owns its whole /64 network, so only these 64 bits count; an IPv4 address is
    /// the same in its IPv6 form.
    #[must_use]
    pub const fn host(address: IpAddr) -> Self {
        Self::Host(match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !(u64::MAX as u128)))
            }
            address => address,
        })
    }
}

impl From<PeerAddress> for Owner {
    fn from(address: PeerAddress) -> Self {
        let (kind, number) = match address {
            PeerAddress::Process => (0, 0),
            PeerAddress::User(user) => (1, user.into()),
            PeerAddress::Host(IpAddr::V4(host)) => (2, host.to_bits().into()),
            PeerAddress::Host(IpAddr::V6(host)) => (3, (host.to_bits() >> 64) as u64),
        };
        Self(kind << 64 | u128::from(number))
    }
}

/// The peer of a new connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address, for quotas.
    pub address: PeerAddress,
    /// Its description, for reports and the log.
    pub name: String,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The result of accepting a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A connection of this kind, from this peer.
    Connection(Origin, Peer),
    /// None waits; the shell reports when another one arrives.
    None,
    /// One was not accepted, for this reason: its peer had closed it, or may not connect. Others may wait.
    Refused(String),
    /// The system is out of descriptors or memory, as this message says. The connection still waits.
    Shortage(String),
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// This many bytes, and there may be more.
    Some(usize),
    /// This many bytes, possibly none; the shell reports when more arrive.
    All(usize),
    /// The same, but the shell reports more only after the connection has been [armed](Network::arm).
    AllUnarmed(usize),
    /// The peer has closed the connection.
    Closed,
}

/// Whether the peer may be waiting for the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// The peer need not be woken for them.
    Lazy,
    /// The peer is woken.
    Urgent,
}

/// A thread of the shell that reads and merges object models, one job after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// For small jobs only.
    Express,
    /// For jobs of any size.
    Main,
}

/// A connection broke, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLost(pub String);

/// The services of the shell that the server uses. No method blocks.
pub trait Network {
    /// Accepts the connection that has waited longest at a listener. It has this number from now on, and the shell
    /// reports its bytes under it.
    fn accept(&mut self, listener: ListenerId, connection: ConnectionId) -> Accepted;

    /// Reads received bytes.
    ///
    /// # Errors
    /// The connection broke.
    fn read(
        &mut self,
        connection: ConnectionId,
        into: &mut [u8],
    ) -> Result<Received, ConnectionLost>;

    /// Writes bytes and returns how many were accepted. If fewer than all, the shell reports when there is room again
    /// ([`Server::ready`](crate::Server::ready)).
    ///
    /// # Errors
    /// The connection broke.
    fn write(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        urgency: Urgency,
    ) -> Result<usize, ConnectionLost>;

    /// Announces that nothing more will be written.
    fn finish(&mut self, connection: ConnectionId);

    /// Closes and forgets the connection.
    fn close(&mut self, connection: ConnectionId);

    /// Acknowledges received bytes at the transport level although nothing is sent. A client with Nagle's algorithm
    /// sends no further frame before that, and the kernel would delay it by 40 ms (tcp(7), `TCP_QUICKACK`).
    fn acknowledge(&mut self, connection: ConnectionId);

    /// Prepares the connection to report the next bytes; `false` if some have arrived already. Called before the server
    /// sleeps, for every connection whose last read returned [`Received::AllUnarmed`].
    fn arm(&mut self, connection: ConnectionId) -> bool;

    /// Whether a read of a connection that is not armed would return something. Called in a turn that follows another
    /// one without a sleep.
    fn has_input(&mut self, connection: ConnectionId) -> bool;

    /// Replaces a local connection by a stream in shared memory, which the peer receives over it. The connection keeps
    /// its number.
    ///
    /// # Errors
    /// The system provides no memory or descriptors; the connection is closed.
    fn become_stream(&mut self, connection: ConnectionId) -> Result<(), ConnectionLost>;

    /// Watches the peer's process of a connection, if it is known, on behalf of the session. The shell reports its end
    /// with [`Server::process_ended`](crate::Server::process_ended).
    fn watch_process(&mut self, connection: ConnectionId, session: SessionId);

    /// Stops watching on behalf of this session.
    fn forget_process(&mut self, session: SessionId);

    /// Has object model modules read and merged by the thread of this lane, which is free. The shell returns the result
    /// with [`Server::prepared`](crate::Server::prepared).
    fn prepare(&mut self, lane: Lane, session: SessionId, job: Preparation);

    /// Drops something outside the loop, because that may take milliseconds. The shell confirms it with
    /// [`Server::discarded`](crate::Server::discarded); large messages may wait for that.
    fn discard(&mut self, unneeded: Retired);

    /// Stores a part of a session's spool in its file, outside the loop; the shell confirms it with
    /// [`Server::stored`](crate::Server::stored). Called only if [`Settings`](crate::Settings) allow a file.
    fn store(&mut self, session: SessionId, chunk: u64, messages: SpoolChunk);

    /// Reads a stored part, once and outside the loop; the shell returns it with
    /// [`Server::loaded`](crate::Server::loaded).
    fn load(&mut self, session: SessionId, chunk: u64);

    /// Removes the file of a session's spool, if it has one.
    fn discard_spool(&mut self, session: SessionId);

    /// Stores the image of a federation durably and as a whole, outside the loop: until that is done, and if the
    /// process ends before, the image that is stored under this name remains. The shell answers with
    /// [`Server::image_stored`](crate::Server::image_stored).
    fn store_image(&mut self, request: StorageId, name: SaveName, image: Image);

    /// Reads an image outside the loop. The shell answers with [`Server::image_loaded`](crate::Server::image_loaded).
    fn load_image(&mut self, request: StorageId, name: SaveName);

    /// Appends lines to the files of their sessions ([`hemiola_rti::report_file`]), outside the loop. The shell answers
    /// with [`Server::reports_appended`](crate::Server::reports_appended); until then, there are no others.
    fn append_reports(&mut self, batch: ReportBatch);

    /// A random number that no peer can guess; `None` if the system provides none.
    fn secret(&mut self) -> Option<u64>;
}
