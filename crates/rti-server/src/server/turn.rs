//! A turn of the loop, step by step.

use hemiola_rti::{Input, SessionId};
use hemiola_units::Instant;

use super::{Schedule, Server};
use crate::connection::Connection;
use crate::network::{ConnectionId, Network};

/// The work for all connections and sessions in one turn, in the units of [`drive`](Server::drive): about a
/// millisecond.
const TURN_BUDGET: u64 = 512;
/// The part of it that may be spent on accepting connections.
const ACCEPT_BUDGET: u64 = 256;

/// Something that is due to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A session whose calls may go on.
    Session(SessionId),
    /// A connection that may have bytes or room.
    Connection(ConnectionId),
}

impl Schedule {
    /// Notes work for one for which this much was done before. Returns what has now been done for it.
    fn count(&mut self, served: u64, spent: u64) -> u64 {
        self.served = self.served.max(served);
        self.served + spent
    }

    /// Notes the work that was done for a connection without a session.
    pub(super) fn count_without_session(&mut self, spent: u64) {
        self.served_without_session = self.count(self.served_without_session, spent);
    }
}

impl Server {
    /// Begins a turn at this time. The events of the turn are reported between this call and [`turn`](Self::turn).
    pub fn begin_turn(&mut self, now: Instant) {
        self.now = now;
        self.input(Input::Tick(now));
    }

    /// Does the work that is due, a bounded amount of it:
    ///
    /// 1. Connections that wait at listeners are accepted, for at most half of the budget of the turn.
    /// 2. Each ready connection is read once, and its calls are carried out within a budget; sessions that were held or
    ///    interrupted continue with theirs. Those that were served least come first, until the budget of the turn is
    ///    used up. The others are served in the next turn, after what has become ready by then and was served less.
    /// 3. Object models are given to the threads that read them.
    /// 4. Expired deadlines are handled.
    /// 5. Calls that concern many instances or messages are continued, for at most
    ///    [`work_max`](crate::Settings::work_max) units of work. A call begins with a quarter of these; while the rest
    ///    is unfinished, the further calls of its session wait, and the calls of all other sessions are carried out.
    /// 6. Output is written, callbacks first and a bounded amount for each session and for all; sessions are evicted.
    /// 7. Images of federations are given to the storage, and service reports to the thread that writes them.
    /// 8. What the kernel no longer needs is given to another thread to be dropped.
    ///
    /// The work that remains is part of the next turn, for which [`before_sleep`](Self::before_sleep) does not wait.
    pub fn turn(&mut self, network: &mut dyn Network) {
        self.look_for_input(network);
        let spent = self.accept_waiting(network);
        self.serve_due(network, TURN_BUDGET.saturating_sub(spent));
        if self.schedule.preparations_due {
            self.start_preparations(network);
        }
        if self.schedule.deadline <= self.now && self.schedule.evictions.is_empty() {
            self.expire(network);
        }
        self.work();
        self.write_all(network);
        self.request_images(network);
        self.append_reports(network);
        self.discard_retired(network);
    }

    /// Enqueues the connections that have bytes, of those that were not armed because other work was due. To look for
    /// bytes costs less than to be woken for them, or to read in vain.
    fn look_for_input(&mut self, network: &mut dyn Network) {
        let mut unarmed = std::mem::take(&mut self.schedule.unarmed);
        unarmed.retain(|id| {
            let Some(connection) = self.connections.get_mut(*id) else { return false };
            if !network.has_input(*id) {
                return true;
            }
            (connection.is_unarmed, connection.readable) = (false, true);
            self.enqueue(*id);
            false
        });
        self.schedule.unarmed = unarmed;
    }

    /// Accepts connections from the listeners in turn. Returns the work that it was.
    fn accept_waiting(&mut self, network: &mut dyn Network) -> u64 {
        self.listeners.resume(self.now);
        let mut spent = 0;
        while spent < ACCEPT_BUDGET
            && let Some(listener) = self.listeners.next()
        {
            spent += self.accept_from(network, listener);
        }
        spent
    }

    /// Serves what is due, the sessions first that were served least, until this budget is used up.
    fn serve_due(&mut self, network: &mut dyn Network, mut left: u64) {
        let mut due = self.due();
        for (_, one) in due.drain(..) {
            match one {
                Due::Session(id) if left == 0 => self.schedule.resumed.push(id),
                Due::Connection(id) if left == 0 => self.schedule.ready.push(id),
                Due::Session(id) => left = left.saturating_sub(self.drive(network, id)),
                Due::Connection(id) => left = left.saturating_sub(self.serve(network, id)),
            }
        }
        self.schedule.due = due;
    }

    /// Takes what is due, each with the work that was done for its session.
    fn due(&mut self) -> Vec<(u64, Due)> {
        let mut due = std::mem::take(&mut self.schedule.due);
        let mut resumed = std::mem::take(&mut self.schedule.resumed);
        let mut ready = std::mem::take(&mut self.schedule.ready);
        let all = resumed.drain(..).map(Due::Session).chain(ready.drain(..).map(Due::Connection));
        due.extend(all.map(|one| (0, one)));
        (self.schedule.resumed, self.schedule.ready) = (resumed, ready);
        // Mostly one is due.
        if due.len() > 1 {
            due.iter_mut().for_each(|(served, one)| *served = self.served(*one));
            due.sort_unstable();
        }
        due
    }

    /// The work that was done for a session, or for all connections that carry none. One that has rested is not owed
    /// anything for that.
    fn served(&self, due: Due) -> u64 {
        let session = match due {
            Due::Session(id) => Some(id),
            Due::Connection(id) => self.connections.by_id.get(&id).and_then(Connection::session),
        };
        let served = match session {
            Some(id) => self.sessions.by_id.get(&id).map_or(0, |session| session.served),
            None => self.schedule.served_without_session,
        };
        served.max(self.schedule.served)
    }

    /// Notes the work that was done for a session.
    pub(super) fn count_service(&mut self, id: SessionId, spent: u64) {
        let Some(session) = self.sessions.by_id.get_mut(&id) else { return };
        session.served = self.schedule.count(session.served, spent);
    }

    /// Returns until when the shell may wait for events. Connections that report new bytes only on request are armed.
    pub fn before_sleep(&mut self, network: &mut dyn Network) -> Instant {
        if self.is_idle() {
            let mut unarmed = std::mem::take(&mut self.schedule.unarmed);
            for id in unarmed.drain(..) {
                let Some(connection) = self.connections.get_mut(id) else { continue };
                connection.is_unarmed = false;
                if !network.arm(id) {
                    connection.readable = true;
                    self.enqueue(id);
                }
            }
            self.schedule.unarmed = unarmed;
        }
        if !self.is_idle() {
            return Instant::ZERO;
        }
        let due = [self.kernel.next_due(), self.listeners.resumes_at()];
        due.into_iter().flatten().fold(self.schedule.deadline, Instant::min)
    }

    fn is_idle(&self) -> bool {
        self.schedule.is_idle() && self.listeners.is_idle() && !self.kernel.has_work()
    }
}
