//! The admission of large messages, from [`LONG_LEN`](hemiola_hla::body::LONG_LEN) on: how much of them, and of object
//! models that wait, may be in memory together.
//!
//! Below the limit every session is read. Beyond it, one session at a time is read until its message has been received
//! and carried out; the others wait in the order in which they had to stop. So the memory stays below the limit plus
//! one message, and every message arrives in the end. A session that stops in the middle of its message while others
//! wait [loses its turn](Gate::pass_on).
//!
//! Large messages that another thread drops are in memory as well. Beyond the limit, no session begins its turn before
//! they are gone.

use std::collections::{BTreeMap, VecDeque};

use hemiola_rti::SessionId;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Bytes of the large message of each session that has one.
    held: BTreeMap<SessionId, usize>,
    /// Bytes that another thread drops.
    leaving: usize,
    /// The sum of both.
    total: usize,
    /// The session that is read although the limit is exceeded.
    turn: Option<SessionId>,
    /// The sessions that are not read.
    waiting: VecDeque<SessionId>,
}

impl Gate {
    /// Returns the number of bytes of all large messages.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Whether a session in the middle of a large message is read on. If not, it waits.
    pub(crate) fn admits(&mut self, session: SessionId, len_max: usize) -> bool {
        if self.total <= len_max || self.turn == Some(session) {
            return true;
        }
        if self.turn.is_none() && self.leaving == 0 {
            self.turn = Some(session);
            return true;
        }
        if !self.waiting.contains(&session) {
            self.waiting.push_back(session);
        }
        false
    }

    /// A session now has this many bytes of a large message, or none. Returns the sessions that are read on.
    pub(crate) fn hold(
        &mut self,
        session: SessionId,
        len: usize,
        len_max: usize,
    ) -> Vec<SessionId> {
        let before = match len {
            0 => self.held.remove(&session),
            len => self.held.insert(session, len),
        };
        self.total = self.total - before.unwrap_or(0) + len;
        if len == 0 && before.is_none() {
            return Vec::new();
        }
        if len == 0 && self.turn == Some(session) {
            self.turn = None;
        }
        self.next(len_max)
    }

    /// This much is with the thread that drops it, in bytes. Returns the sessions that are read on.
    pub(crate) fn leave(&mut self, len: usize, len_max: usize) -> Vec<SessionId> {
        self.total = self.total - self.leaving + len;
        self.leaving = len;
        self.next(len_max)
    }

    /// Whether it is this session's turn and others wait for it.
    pub(crate) fn delays_others(&self, session: SessionId) -> bool {
        self.turn == Some(session) && !self.waiting.is_empty()
    }

    /// Takes the turn from the session that has it. Returns the session that is read instead.
    pub(crate) fn pass_on(&mut self, len_max: usize) -> Vec<SessionId> {
        self.turn = None;
        self.next(len_max)
    }

    /// Forgets a session that has ended. Returns the sessions that are read on.
    pub(crate) fn forget(&mut self, session: SessionId, len_max: usize) -> Vec<SessionId> {
        self.waiting.retain(|one| *one != session);
        if self.turn == Some(session) {
            self.turn = None;
        }
        self.total -= self.held.remove(&session).unwrap_or(0);
        self.next(len_max)
    }

    fn next(&mut self, len_max: usize) -> Vec<SessionId> {
        if self.total <= len_max {
            return self.waiting.drain(..).collect();
        }
        if self.turn.is_none() && self.leaving == 0 {
            self.turn = self.waiting.pop_front();
            return self.turn.into_iter().collect();
        }
        Vec::new()
    }

    /// Checks the sum of all messages.
    pub(crate) fn check_invariants(&self) {
        assert_eq!(self.total, self.leaving + self.held.values().sum::<usize>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 100;

    #[test]
    fn beyond_the_limit_one_session_is_read_at_a_time_in_order() {
        let mut gate = Gate::default();
        let [a, b, c] = [1, 2, 3].map(SessionId);
        for one in [a, b, c] {
            assert_eq!(gate.hold(one, 60, MAX), []);
        }
        assert_eq!([a, b, c].map(|one| gate.admits(one, MAX)), [true, false, false]);
        assert_eq!(gate.hold(a, 90, MAX), []);
        assert_eq!(gate.hold(a, 0, MAX), [b]);
        assert_eq!([c, b].map(|one| gate.admits(one, MAX)), [false, true]);
        assert_eq!(gate.hold(b, 0, MAX), [c], "below the limit, all go on");
        gate.check_invariants();
    }

    #[test]
    fn beyond_the_limit_what_is_dropped_is_waited_for() {
        let mut gate = Gate::default();
        let [a, b] = [1, 2].map(SessionId);
        assert_eq!(gate.leave(60, MAX), []);
        assert!(gate.admits(a, MAX), "there is room");
        gate.hold(a, 60, MAX);
        assert_eq!([a, b].map(|one| gate.admits(one, MAX)), [false, false]);
        assert_eq!(gate.leave(50, MAX), [], "120 bytes before, and 110 now");
        assert_eq!(gate.leave(0, MAX), [a, b]);
        gate.hold(b, 60, MAX);
        assert_eq!([a, b].map(|one| gate.admits(one, MAX)), [true, false]);
        assert_eq!(gate.leave(10, MAX), [], "the turn has begun");
        assert!(gate.admits(a, MAX));
        gate.check_invariants();
    }

    #[test]
    fn a_session_that_stops_or_ends_does_not_stop_the_others() {
        let mut gate = Gate::default();
        let [a, b, c] = [1, 2, 3].map(SessionId);
        for one in [a, b, c] {
            gate.hold(one, 60, MAX);
            gate.admits(one, MAX);
        }
        assert!(!gate.admits(a, MAX) && gate.delays_others(b));
        assert_eq!(gate.pass_on(MAX), [c]);
        assert_eq!(gate.forget(c, MAX), [a]);
        assert!(gate.admits(a, MAX));
        gate.check_invariants();
    }
}
