//! Deadlines: once in a while, everything that has taken too long is ended.
//!
//! Most deadlines move on with every message. So nothing is kept in order of them: all are looked at when the first may
//! have come, and the next time when the first of the rest may have.

use hemiola_units::{Instant, Span};

use crate::connection::Stage;
use crate::host::Output;
use crate::options::Options;
use crate::pressure::HELD_FOR;
use crate::server::Server;

/// How long after it could not be opened a listener is tried again.
const RETRY: Span = Span::from_millis(1000);

impl Server {
    /// Ends everything that has taken too long.
    pub(crate) fn sweep(&mut self) {
        let now = self.now;
        let mut next = Instant::MAX;
        self.sweep_connections(&mut next);
        self.sweep_doors(&mut next);
        let mut due = Vec::new();
        for (id, host) in &mut self.hosts {
            if let Some((since, sent)) = host.congested {
                let until = since + self.options.stall_max;
                if until > now {
                    next = next.min(until);
                } else if host.sent_len - sent < Options::STALL_LEN_MIN {
                    self.doomed.push((*id, "it does not read, and others wait for it"));
                } else {
                    host.congested = Some((now, host.sent_len));
                    next = next.min(now + self.options.stall_max);
                }
            }
            match host.held_since.map(|since| since + HELD_FOR) {
                Some(until) if until <= now => due.push(*id),
                Some(until) => next = next.min(until),
                None => {}
            }
            // Nothing is heard of one that is not listened to.
            let is_heard = host.may_receive();
            match host.session.deadline() {
                Some(deadline) if deadline <= now && is_heard => {
                    host.session.tick(now);
                    due.push(*id);
                    next = next.min(host.session.deadline().unwrap_or(next));
                }
                Some(deadline) if is_heard => next = next.min(deadline),
                Some(deadline) => next = next.min(deadline.max(now + self.options.stall_max)),
                None => {}
            }
        }
        self.next_sweep = next;
        for id in due {
            self.drive(id);
            self.mark(id, Output::Lazy);
        }
    }

    fn sweep_connections(&mut self, next: &mut Instant) {
        let now = self.now;
        self.connections.retain(|_, connection| {
            let until = match &connection.stage {
                Stage::Arriving(arrival) => arrival.deadline(),
                Stage::Asking { until, .. }
                | Stage::Collecting { until, .. }
                | Stage::Leaving { until } => *until,
                Stage::Carrying(_) => return true,
            };
            if until <= now {
                let peer = &connection.peer;
                match connection.stage {
                    Stage::Leaving { .. } => {
                        tracing::debug!(%peer, "the other side does not close")
                    }
                    _ => tracing::info!(%peer, "a connection is closed: it takes too long"),
                }
                return false;
            }
            *next = (*next).min(until);
            true
        });
    }

    fn sweep_doors(&mut self, next: &mut Instant) {
        for (place, until) in std::mem::take(&mut self.shut_doors) {
            if until > self.now || self.doors[place as usize].open(&self.epoll, place).is_err() {
                let until = if until > self.now { until } else { self.now + RETRY };
                self.shut_doors.push((place, until));
                *next = (*next).min(until);
            }
        }
    }
}
