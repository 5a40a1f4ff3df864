//! A connection: its purpose, and the bytes that the network has not accepted yet.

use hemiola_fedpro::Arrival;
use hemiola_rti::SessionId;
use hemiola_units::Instant;

use crate::network::{ConnectionId, ConnectionLost, Network, Peer, Urgency};

/// The purpose of a connection.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// Its first frame has not arrived.
    Arriving(Arrival),
    /// It is local, and its first line has not arrived.
    Asking {
        /// When it is closed.
        until: Instant,
        /// The received part of the line.
        line: Vec<u8>,
    },
    /// It carries a session.
    Carrying(SessionId),
    /// The rest is written, received bytes are discarded, and it is closed.
    Leaving {
        /// When it is closed in any case.
        until: Instant,
    },
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) purpose: Purpose,
    pub(crate) peer: Peer,
    /// Bytes that the network has not accepted, from `written` on.
    rest: Vec<u8>,
    written: usize,
    /// Whether a read may return something.
    pub(crate) readable: bool,
    writable: bool,
    /// Whether it is in the queue of connections to be served.
    pub(crate) is_queued: bool,
    /// Whether it has to be armed before the server sleeps.
    pub(crate) is_unarmed: bool,
}

/// A rest buffer that was larger gives its memory back once it is empty.
const SPARE_MAX: usize = 4096;

impl Connection {
    pub(crate) const fn new(id: ConnectionId, purpose: Purpose, peer: Peer) -> Self {
        Self {
            id,
            purpose,
            peer,
            rest: Vec::new(),
            written: 0,
            readable: true,
            writable: true,
            is_queued: false,
            is_unarmed: false,
        }
    }

    /// The network has bytes or room, or the connection has ended.
    pub(crate) const fn wake(&mut self, readable: bool, writable: bool) {
        self.readable |= readable;
        self.writable |= writable;
    }

    /// The session that it carries.
    pub(crate) const fn session(&self) -> Option<SessionId> {
        match self.purpose {
            Purpose::Carrying(session) => Some(session),
            _ => None,
        }
    }

    /// Whether further bytes would be written at once.
    pub(crate) const fn is_clear(&self) -> bool {
        self.writable && self.rest.is_empty()
    }

    /// The number of bytes that the network has not accepted.
    pub(crate) const fn rest_len(&self) -> usize {
        self.rest.len() - self.written
    }

    /// Writes bytes behind those that were not accepted before. Returns how many were accepted.
    pub(crate) fn send(
        &mut self,
        network: &mut dyn Network,
        mut bytes: &[u8],
        urgency: Urgency,
    ) -> Result<usize, ConnectionLost> {
        let mut sent = self.flush(network)?;
        if self.rest.is_empty() {
            let now = self.write(network, bytes, urgency)?;
            sent += now;
            bytes = &bytes[now..];
        }
        self.rest.extend_from_slice(bytes);
        Ok(sent)
    }

    /// Writes the bytes that were not accepted before. Returns how many were accepted.
    pub(crate) fn flush(&mut self, network: &mut dyn Network) -> Result<usize, ConnectionLost> {
        if self.rest.is_empty() {
            return Ok(0);
        }
        let rest = std::mem::take(&mut self.rest);
        let written = self.write(network, &rest[self.written..], Urgency::Urgent);
        self.rest = rest;
        let written = written?;
        self.written += written;
        if self.written == self.rest.len() {
            self.written = 0;
            self.rest.clear();
            self.rest.shrink_to(SPARE_MAX);
            if matches!(self.purpose, Purpose::Leaving { .. }) {
                network.finish(self.id);
            }
        }
        Ok(written)
    }

    fn write(
        &mut self,
        network: &mut dyn Network,
        bytes: &[u8],
        urgency: Urgency,
    ) -> Result<usize, ConnectionLost> {
        if !self.writable || bytes.is_empty() {
            return Ok(0);
        }
        let written = network.write(self.id, bytes, urgency)?;
        self.writable = written == bytes.len();
        Ok(written)
    }

    /// Sends nothing more but the rest.
    pub(crate) fn leave(&mut self, network: &mut dyn Network, until: Instant) {
        self.purpose = Purpose::Leaving { until };
        if self.rest.is_empty() {
            network.finish(self.id);
        }
    }
}
