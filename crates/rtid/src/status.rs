//! What is going on, from everything the loop has.

use std::collections::BTreeMap;

use crate::connection::Stage;
use crate::host::Host;
use crate::report::{LAYOUT, Report, SessionReport, SessionState, Work, federations};
use crate::server::Server;

impl Server {
    /// What is going on now.
    pub(crate) fn report(&self) -> Report {
        let now = self.now;
        let at = self.addresses();
        let addresses = at.tcp.iter().map(|address| format!("tcp:{address}"));
        let local = at.local.iter().map(|name| format!("shm:{name}"));
        let metrics = at.metrics.iter().map(|address| format!("http://{address}/metrics"));
        let ended = self.sessions_ended.iter().map(|(why, count)| ((*why).to_owned(), *count));
        let is_arrival = |stage: &Stage| matches!(stage, Stage::Arriving(_) | Stage::Asking { .. });
        let connections = self.connections.values();
        Report {
            layout: LAYOUT,
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            uptime: now - self.began,
            addresses: addresses.chain(local).chain(metrics).collect(),
            work: Work {
                turns: self.summary.turns,
                busy: self.summary.busy,
                calls: self.summary.calls,
                callbacks: self.summary.callbacks,
            },
            received: self.received.read(now),
            sent: self.sent.read(now),
            arrivals: connections.filter(|one| is_arrival(&one.stage)).count(),
            sessions_opened: self.summary.sessions,
            sessions_ended: ended.collect::<BTreeMap<_, _>>(),
            sessions: self.hosts.iter().map(|(id, host)| self.session(id.0, host)).collect(),
            federations: federations(&self.kernel.status(), now),
        }
    }

    fn session(&self, number: u64, host: &Host) -> SessionReport {
        let state = match (host.connection, host.congested) {
            (None, _) => SessionState::Apart,
            (_, Some(_)) => SessionState::Congested,
            _ => SessionState::Running,
        };
        SessionReport {
            number,
            peer: host.peer.clone(),
            state,
            age: self.now - host.opened,
            silence: self.now - host.heard,
            received: host.received.read(self.now),
            sent: host.sent.read(self.now),
            backlog: host.session.waiting(),
            backlog_bytes: host.session.waiting_len(),
            kept_bytes: host.session.kept_len(),
            unanswered: host.session.unanswered(),
        }
    }
}
