//! Messages that wait until a federate may have them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hemiola_hla::{LogicalTime, MessageRetractionHandle, ObjectInstanceHandle, OrderType};

use crate::message::Message;
use crate::notice::Notice;

/// A message that waits for a federate.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) content: Content,
    /// How many bytes it keeps, about.
    pub(crate) len: usize,
    /// Its place among the messages of the federation.
    pub(crate) sequence: u64,
    /// The instance that it is about; who does not know that any more is not told.
    pub(crate) subject: Option<ObjectInstanceHandle>,
    /// Does the federate forget the instance with it?
    pub(crate) removes: bool,
    /// What takes it back, if it was sent with a time stamp.
    pub(crate) retraction: Option<MessageRetractionHandle>,
}

/// What a federate gets of a message that waits for it.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// This, as was decided when the message was sent.
    Decided(Arc<Notice>),
    /// What it wants of this when it can be delivered, in this order.
    Undecided(Arc<Message>, OrderType),
}

/// All messages that wait for a federate.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Those with time stamps, by these and by their place among the messages of the federation.
    ordered: BTreeMap<(LogicalTime, u64), Waiting>,
    /// Those without, which a constrained federate gets only while it advances, as they came.
    held: VecDeque<Waiting>,
    len: usize,
}

impl Backlog {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.ordered.len() + self.held.len()
    }

    /// How many bytes they keep, about. Those that other federates wait for too are counted for each.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn has_ordered(&self) -> bool {
        !self.ordered.is_empty()
    }

    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// The first of those with time stamps.
    pub(crate) fn first(&self) -> Option<(LogicalTime, &Waiting)> {
        self.ordered.first_key_value().map(|((time, _), message)| (*time, message))
    }

    pub(crate) fn push_ordered(&mut self, time: LogicalTime, message: Waiting) {
        self.len += message.len;
        self.ordered.insert((time, message.sequence), message);
    }

    pub(crate) fn push_held(&mut self, message: Waiting) {
        self.len += message.len;
        self.held.push_back(message);
    }

    /// Takes the first of those with time stamps, if there is one that `is_due` is true of.
    pub(crate) fn pop_if(&mut self, is_due: impl FnOnce(LogicalTime) -> bool) -> Option<Waiting> {
        let entry = self.ordered.first_entry().filter(|entry| is_due(entry.key().0))?;
        let message = entry.remove();
        self.len -= message.len;
        Some(message)
    }

    /// Takes the first of those without time stamps.
    pub(crate) fn pop_held(&mut self) -> Option<Waiting> {
        let message = self.held.pop_front()?;
        self.len -= message.len;
        Some(message)
    }

    /// Drops the parts of a message that is taken back, which are among those of this time and of these places. Were
    /// there any?
    pub(crate) fn retract(
        &mut self,
        retraction: MessageRetractionHandle,
        time: LogicalTime,
        (first, last): (u64, u64),
    ) -> bool {
        let before = self.count();
        // Other messages may have come between the parts of one.
        let parts = self.ordered.range((time, first)..=(time, last));
        let parts = parts.filter(|(_, message)| message.retraction == Some(retraction));
        let parts: Vec<(LogicalTime, u64)> = parts.map(|(key, _)| *key).collect();
        for part in parts {
            if let Some(message) = self.ordered.remove(&part) {
                self.len -= message.len;
            }
        }
        self.held.retain(|message| {
            let kept = message.retraction != Some(retraction);
            if !kept {
                self.len -= message.len;
            }
            kept
        });
        self.count() < before
    }

    /// Checks what must be true of it; gives the time stamps in order.
    pub(crate) fn check_invariants(&self) -> impl Iterator<Item = LogicalTime> {
        let all = self.ordered.values().chain(&self.held);
        assert_eq!(all.map(|message| message.len).sum::<usize>(), self.len);
        self.ordered.keys().map(|(time, _)| *time)
    }
}
