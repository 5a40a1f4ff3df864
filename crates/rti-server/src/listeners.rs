//! Listeners: which one accepts the next connection, and when one pauses.
//!
//! Connections wait at a listener in a queue of the operating system. They are accepted from all listeners in turn, so
//! that a flood at one delays no newcomer at another. When the system is out of descriptors or memory, accepting fails
//! at once and the connection keeps waiting: the listener then pauses instead of trying in every turn.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hemiola_units::{Instant, Span};

use crate::network::ListenerId;

/// How long a listener pauses when the system is out of descriptors or memory.
pub(crate) const PAUSE: Span = Span::from_millis(1000);

/// The listeners at which connections may wait.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// Those that accept.
    waiting: BTreeSet<ListenerId>,
    /// Those that pause, and until when.
    paused: BTreeMap<ListenerId, Instant>,
    /// The one that accepted last.
    last: Option<ListenerId>,
}

impl Listeners {
    /// Connections wait at a listener.
    pub(crate) fn ready(&mut self, listener: ListenerId) {
        if !self.paused.contains_key(&listener) {
            self.waiting.insert(listener);
        }
    }

    /// No connection waits at a listener any more.
    pub(crate) fn emptied(&mut self, listener: ListenerId) {
        self.waiting.remove(&listener);
    }

    /// Takes the listener that accepts next: the one behind the last.
    pub(crate) fn next(&mut self) -> Option<ListenerId> {
        let behind = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.waiting.range((behind, Bound::Unbounded)).next();
        self.last = next.or_else(|| self.waiting.first()).copied();
        self.last
    }

    /// A listener accepts nothing before this time.
    pub(crate) fn pause(&mut self, listener: ListenerId, until: Instant) {
        self.waiting.remove(&listener);
        self.paused.insert(listener, until);
    }

    /// Those whose pause is over accept again.
    pub(crate) fn resume(&mut self, now: Instant) {
        let over = self.paused.extract_if(.., |_, until| *until <= now);
        self.waiting.extend(over.map(|(listener, _)| listener));
    }

    /// When the first pause is over.
    pub(crate) fn resumes_at(&self) -> Option<Instant> {
        self.paused.values().min().copied()
    }

    /// Whether none accepts.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: ListenerId = ListenerId(0);
    const LOCAL: ListenerId = ListenerId(1);

    #[test]
    fn listeners_accept_in_turn_and_a_paused_one_does_not_delay_the_others() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mut listeners = Listeners::default();
        assert_eq!(listeners.next(), None);
        [TCP, LOCAL].into_iter().for_each(|one| listeners.ready(one));
        let order: Vec<_> = (0..4).filter_map(|_| listeners.next()).collect();
        assert_eq!(order, [TCP, LOCAL, TCP, LOCAL]);
        listeners.pause(TCP, at(1000));
        // Another connection that arrives does not end the pause.
        listeners.ready(TCP);
        listeners.resume(at(999));
        assert_eq!((listeners.next(), listeners.next()), (Some(LOCAL), Some(LOCAL)));
        listeners.emptied(LOCAL);
        assert!(listeners.is_idle());
        assert_eq!(listeners.resumes_at(), Some(at(1000)));
        listeners.resume(at(1000));
        assert_eq!((listeners.next(), listeners.resumes_at()), (Some(TCP), None));
    }
}
