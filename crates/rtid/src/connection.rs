//! A connection: what it is for, and what could not be written to it yet.

use std::io;
use std::os::fd::OwnedFd;

use hemiola_fedpro::Arrival;
use hemiola_rt::shared::Urgency;
use hemiola_rt::sys::epoll::EventFlags;
use hemiola_rti::SessionId;
use hemiola_units::Instant;

use crate::link::{Link, Taken};
use crate::token::END;

/// What a connection is for.
#[derive(Debug)]
pub(crate) enum Stage {
    /// It has not said it yet.
    Arriving(Arrival),
    /// It is of this machine, and has not said it yet.
    Asking {
        /// When it is closed if it has not.
        until: Instant,
        /// What it has said.
        line: Vec<u8>,
    },
    /// It wants to know the metrics over HTTP.
    Collecting {
        /// When it is closed if it has not asked for them.
        until: Instant,
        /// What it has said.
        request: Vec<u8>,
    },
    /// It carries a session.
    Carrying(SessionId),
    /// It has nothing to say any more: the rest is written, and what comes is thrown away, until then at most.
    Leaving {
        /// When it is closed, whatever waits.
        until: Instant,
    },
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    pub(crate) stage: Stage,
    /// Who is at the other end, for people.
    pub(crate) peer: String,
    /// The process at the other end, until a session has it.
    pub(crate) process: Option<OwnedFd>,
    /// What could not be written yet, from `gone` on.
    rest: Vec<u8>,
    gone: usize,
    /// May there be something to read?
    pub(crate) readable: bool,
    writable: bool,
    hung_up: bool,
    /// Is it among those to be served?
    pub(crate) queued: bool,
    /// Has it to be told before the loop sleeps?
    pub(crate) is_unarmed: bool,
}

/// What could not be written and is longer gives its memory back once it was.
const SPARE_MAX: usize = 4096;

impl Connection {
    pub(crate) const fn new(
        link: Link,
        stage: Stage,
        peer: String,
        process: Option<OwnedFd>,
    ) -> Self {
        Self {
            link,
            stage,
            peer,
            process,
            rest: Vec::new(),
            gone: 0,
            readable: true,
            writable: true,
            hung_up: false,
            queued: false,
            is_unarmed: false,
        }
    }

    /// Something happened to what carries it.
    pub(crate) fn wake(&mut self, flags: EventFlags) {
        self.hung_up |= flags.intersects(END);
        self.readable |= self.hung_up || flags.contains(EventFlags::IN);
        self.writable |= flags.contains(EventFlags::OUT) || self.link.is_silent();
    }

    /// Nobody is at the other end any more: what has come is still taken.
    pub(crate) fn abandon(&mut self) {
        if let Link::Stream { is_abandoned, .. } = &mut self.link {
            *is_abandoned = true;
        }
        self.readable = true;
    }

    /// Takes what came, or `None` if its end has come.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(match self.link.read(into)? {
            Taken::Bytes(len) => Some(len),
            Taken::Last(len) => {
                // The end is told of once, perhaps together with the last bytes.
                self.readable = self.hung_up && len > 0;
                Some(len)
            }
            Taken::Closed => None,
        })
    }

    /// Would more bytes be written at once?
    pub(crate) const fn is_clear(&self) -> bool {
        self.writable && self.rest.is_empty()
    }

    /// Writes bytes that somebody waits for. Says how many went out.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_with(bytes, Urgency::Urgent)
    }

    /// Writes bytes, behind those that could not be written before. Says how many went out.
    pub(crate) fn send_with(&mut self, mut bytes: &[u8], urgency: Urgency) -> io::Result<usize> {
        let mut sent = self.flush()?;
        if self.rest.is_empty() {
            let now = self.write(bytes, urgency)?;
            sent += now;
            bytes = &bytes[now..];
        }
        self.rest.extend_from_slice(bytes);
        Ok(sent)
    }

    /// Writes what could not be written before. Says how much went out.
    pub(crate) fn flush(&mut self) -> io::Result<usize> {
        if self.rest.is_empty() {
            return Ok(0);
        }
        let rest = std::mem::take(&mut self.rest);
        let written = self.write(&rest[self.gone..], Urgency::Urgent);
        self.rest = rest;
        let written = written?;
        self.gone += written;
        if self.gone == self.rest.len() {
            self.gone = 0;
            self.rest.clear();
            self.rest.shrink_to(SPARE_MAX);
            if matches!(self.stage, Stage::Leaving { .. }) {
                self.link.finish();
            }
        }
        Ok(written)
    }

    fn write(&mut self, bytes: &[u8], urgency: Urgency) -> io::Result<usize> {
        let mut written = 0;
        while self.writable && written < bytes.len() {
            match self.link.write(&bytes[written..], urgency)? {
                0 => self.writable = false,
                len => written += len,
            }
        }
        Ok(written)
    }

    /// How many bytes could not be written yet.
    pub(crate) const fn rest_len(&self) -> usize {
        self.rest.len() - self.gone
    }

    /// Nothing is sent any more but what waits.
    pub(crate) fn leave(&mut self, until: Instant) {
        self.stage = Stage::Leaving { until };
        if self.rest.is_empty() {
            self.link.finish();
        }
    }
}
