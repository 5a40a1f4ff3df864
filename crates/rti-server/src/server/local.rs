//! The line that a local connection begins with.
//!
//! ```text
//! session 1 ⏎             →  ok ⏎ with the three descriptors of a stream; the socket stays open beside it
//! status 1 ⏎              →  the report as JSON, then the end
//! metrics 1 ⏎             →  the metrics for Prometheus, then the end
//! evict 1 NAME ⏎          →  ok or error, with the details: ends a session by number, or a federate by name
//! destroy 1 FEDERATION ⏎  →  ok or error, with the details: evicts all its federates and destroys it
//! ```

use hemiola_fedpro::Arrival;
use hemiola_rti::SessionId;

use super::Server;
use crate::connection::Purpose;
use crate::network::{ConnectionId, Network};
use crate::report::prometheus;

/// The maximum length of a line, in bytes: a command and the longest name.
const LINE_LEN_MAX: usize = 1024;

/// Why an operator's session ends.
const EVICTED: &str = "evicted by the operator";
const DESTROYED: &str = "the operator has destroyed its federation";

impl Server {
    /// Takes received bytes of a line.
    pub(super) fn take_line(&mut self, network: &mut dyn Network, id: ConnectionId, len: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Purpose::Asking { line, .. } = &mut connection.purpose else { return };
        line.extend_from_slice(&self.buffers.inbox[..len.min(LINE_LEN_MAX + 1)]);
        let reason = match line.iter().position(|byte| *byte == b'\n') {
            None if line.len() <= LINE_LEN_MAX => return,
            Some(end) if end + 1 == line.len() => {
                let line = String::from_utf8_lossy(&line[..end]).into_owned();
                match line.split_once(" 1").map(|(verb, rest)| (verb, rest.trim_start())) {
                    Some(("session", "")) => return self.give_stream(network, id),
                    Some(("status", "")) => {
                        let json = self.report().to_json();
                        return self.answer(network, id, json.as_bytes());
                    }
                    Some(("metrics", "")) => {
                        let text = prometheus(&self.report());
                        return self.answer(network, id, text.as_bytes());
                    }
                    Some(("evict", name)) if !name.is_empty() => {
                        let answer = self.evict_by_name(name);
                        return self.answer_operator(network, id, answer);
                    }
                    Some(("destroy", name)) if !name.is_empty() => {
                        let answer = self.destroy(name);
                        return self.answer_operator(network, id, answer);
                    }
                    _ => "the line is not a known command",
                }
            }
            _ => "the line is too long",
        };
        tracing::info!(peer = %connection.peer, reason, "connection closed");
        self.close(network, id);
    }

    fn answer_operator(
        &mut self,
        network: &mut dyn Network,
        id: ConnectionId,
        answer: Result<String, String>,
    ) {
        let line = match answer {
            Ok(done) => format!("ok {done}\n"),
            Err(reason) => format!("error {reason}\n"),
        };
        self.answer(network, id, line.as_bytes());
    }

    /// Replaces a local connection by a stream in shared memory.
    fn give_stream(&mut self, network: &mut dyn Network, id: ConnectionId) {
        if let Err(error) = network.become_stream(id) {
            tracing::warn!(reason = error.0, "a stream in shared memory cannot be provided");
            self.close(network, id);
            return;
        }
        let arrival = Arrival::new(self.now, &self.settings.session);
        self.schedule.wake_by(arrival.deadline());
        if let Some(connection) = self.connections.get_mut(id) {
            connection.purpose = Purpose::Arriving(arrival);
            connection.readable = true;
            self.enqueue(id);
        }
    }

    /// Evicts a session by its number, or a federate by its name.
    fn evict_by_name(&mut self, name: &str) -> Result<String, String> {
        if let Some(id) = name.parse().ok().map(SessionId)
            && self.sessions.by_id.contains_key(&id)
        {
            self.schedule.evictions.push_back((id, EVICTED));
            return Ok(format!("session {name}"));
        }
        let status = self.kernel.status();
        let federates = status.federations.iter().flat_map(|one| &one.federates);
        let found: Vec<SessionId> =
            federates.filter(|federate| federate.name == name).map(|one| one.session).collect();
        match found[..] {
            [id] => {
                self.schedule.evictions.push_back((id, EVICTED));
                Ok(format!("federate {name}, session {}", id.0))
            }
            [] => Err(format!("there is no session or federate \"{name}\"")),
            _ => {
                let sessions: Vec<String> = found.iter().map(|id| id.0.to_string()).collect();
                let sessions = sessions.join(", ");
                Err(format!(
                    "several federates are called \"{name}\": give one of the sessions {sessions}"
                ))
            }
        }
    }

    /// Evicts all federates of a federation, and destroys it.
    fn destroy(&mut self, name: &str) -> Result<String, String> {
        let status = self.kernel.status();
        let found = status.federations.iter().find(|federation| federation.name == name);
        let Some(found) = found else { return Err(format!("there is no federation \"{name}\"")) };
        let sessions: Vec<SessionId> = found.federates.iter().map(|one| one.session).collect();
        self.schedule.evictions.extend(sessions.iter().map(|id| (*id, DESTROYED)));
        self.schedule.destructions.push(name.to_owned());
        Ok(format!("federation {name}, {} federates", sessions.len()))
    }
}
