//! A turn of the loop, step by step.

use hemiola_rti::Input;
use hemiola_units::Instant;

use super::Server;
use crate::network::Network;

impl Server {
    /// Begins a turn at this time. The events of the turn are reported between this call and [`turn`](Self::turn).
    pub fn begin_turn(&mut self, now: Instant) {
        self.now = now;
        self.input(Input::Tick(now));
    }

    /// Does the work that is due, a bounded amount of it:
    ///
    /// 1. Sessions that were held or interrupted continue with their calls.
    /// 2. Each ready connection is read once, and its calls are carried out within a budget.
    /// 3. Object models are given to the threads that read them.
    /// 4. Expired deadlines are handled.
    /// 5. Calls that concern many instances or messages are continued, for at most
    ///    [`work_max`](crate::Settings::work_max) units of work. A call begins with a quarter of these; while the rest
    ///    is unfinished, the further calls of its session wait, and the calls of all other sessions are carried out.
    /// 6. Output is written, callbacks first and a bounded amount for each session; sessions are evicted.
    /// 7. What the kernel no longer needs is given to another thread to be dropped.
    ///
    /// The work that remains is part of the next turn, for which [`before_sleep`](Self::before_sleep) does not wait.
    pub fn turn(&mut self, network: &mut dyn Network) {
        for session in std::mem::take(&mut self.schedule.resumed) {
            self.drive(network, session);
        }
        for _ in 0..self.schedule.ready.len() {
            let Some(connection) = self.schedule.ready.pop_front() else { break };
            self.serve(network, connection);
        }
        if self.schedule.preparations_due {
            self.start_preparations(network);
        }
        if self.schedule.deadline <= self.now {
            self.expire(network);
        }
        self.work();
        self.write_all(network);
        self.discard_retired(network);
    }

    /// Returns until when the shell may wait for events. Connections that report new bytes only on request are armed.
    pub fn before_sleep(&mut self, network: &mut dyn Network) -> Instant {
        let is_idle = self.is_idle();
        let mut unarmed = std::mem::take(&mut self.schedule.unarmed);
        for id in unarmed.drain(..) {
            let Some(connection) = self.connections.get_mut(id) else { continue };
            connection.is_unarmed = false;
            // While other work is due, reading again costs less than a wake-up.
            if !is_idle || !network.arm(id) {
                connection.readable = true;
                self.enqueue(id);
            }
        }
        self.schedule.unarmed = unarmed;
        if !self.is_idle() {
            return Instant::ZERO;
        }
        let due = self.kernel.next_due();
        due.map_or(self.schedule.deadline, |due| due.min(self.schedule.deadline))
    }

    fn is_idle(&self) -> bool {
        self.schedule.is_idle() && !self.kernel.has_work()
    }
}
