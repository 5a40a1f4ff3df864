//! Messages that are queued for a federate until it may receive them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use hemiola_hla::{LogicalTime, MessageRetractionHandle, ObjectInstanceHandle, OrderType};

use crate::image::{Reader, SharedContent, Stored, Taken, Writer};
use crate::memory::{Account, Share};
use crate::message::Message;
use crate::notice::Notice;

/// A message that is queued for one federate.
#[derive(Debug)]
pub(crate) struct QueuedMessage {
    pub(crate) content: Content,
    /// Its approximate size in bytes.
    pub(crate) len: usize,
    /// Its position in the sequence of the federation's messages.
    pub(crate) sequence: u64,
    /// The instance it is about. The message is dropped if the federate no longer knows that instance.
    pub(crate) subject: Option<ObjectInstanceHandle>,
    /// Whether delivery removes the instance for the federate.
    pub(crate) removes: bool,
    /// The retraction handle, if the message has a time stamp that orders it.
    pub(crate) retraction: Option<MessageRetractionHandle>,
    /// The memory of the message and of its place in the queue; `None` before it is queued.
    pub(crate) share: Option<Share>,
}

/// What a queued message delivers.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A callback whose subscriptions were evaluated when the message was sent.
    Evaluated(Arc<Notice>),
    /// A message whose subscriptions are evaluated at delivery, and the order in which it will be received.
    Unevaluated(Arc<Message>, OrderType),
    /// Nothing: the message was retracted.
    Retracted,
}

impl QueuedMessage {
    /// Writes it. The content is written once for all queues.
    pub(crate) fn put(&self, to: &mut Writer) {
        match &self.content {
            Content::Evaluated(notice) => {
                0u8.put(to);
                to.put_shared(notice);
            }
            Content::Unevaluated(message, order) => {
                1u8.put(to);
                to.put_shared(message);
                order.put(to);
            }
            Content::Retracted => 2u8.put(to),
        }
        // The limits are far below 4 GiB.
        (self.len as u32).put(to);
        self.sequence.put(to);
        self.subject.put(to);
        self.removes.put(to);
        self.retraction.put(to);
    }

    /// Reads the same, for the queue in time stamp order or the other one. This account pays for it.
    pub(crate) fn take(from: &mut Reader, account: &Arc<Account>, is_ordered: bool) -> Taken<Self> {
        let (content, number) = match u8::take(from)? {
            0 => {
                let notice = |from: &mut Reader| {
                    Notice::take(from).map(|one| SharedContent::Notice(Arc::new(one)))
                };
                let (content, number) = from.take_shared(notice)?;
                let SharedContent::Notice(notice) = content else {
                    return Err("a notice is no notice");
                };
                (Content::Evaluated(notice), Some(number))
            }
            1 => {
                let (message, number) = Message::take_shared(from)?;
                (Content::Unevaluated(message, OrderType::take(from)?), Some(number))
            }
            2 => (Content::Retracted, None),
            _ => return Err("a queued message is of an unknown kind"),
        };
        let len = u32::take(from)? as usize;
        let share = number.map(|number| from.parcels(number).restored(account, is_ordered, len));
        Ok(Self {
            content,
            len,
            sequence: Stored::take(from)?,
            subject: Stored::take(from)?,
            removes: Stored::take(from)?,
            retraction: Stored::take(from)?,
            share,
        })
    }
}

/// All messages queued for a federate.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Messages in time stamp order; messages of the same time are in sending order.
    ordered: BTreeMap<(LogicalTime, u64), QueuedMessage>,
    /// Messages in receive order, which a constrained federate receives only while it advances. First in, first out.
    held: VecDeque<QueuedMessage>,
    len: usize,
}

impl Backlog {
    /// Returns the number of messages.
    pub(crate) fn count(&self) -> usize {
        self.ordered.len() + self.held.len()
    }

    /// Returns the number of messages in receive order.
    pub(crate) fn held_count(&self) -> usize {
        self.held.len()
    }

    /// Returns the approximate size of the messages in bytes. A message that is queued for several federates counts for
    /// each.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn has_ordered(&self) -> bool {
        !self.ordered.is_empty()
    }

    pub(crate) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the message with the least time stamp.
    pub(crate) fn first(&self) -> Option<(LogicalTime, &QueuedMessage)> {
        self.ordered.first_key_value().map(|((time, _), message)| (*time, message))
    }

    pub(crate) fn push_ordered(&mut self, time: LogicalTime, message: QueuedMessage) {
        self.len += message.len;
        self.ordered.insert((time, message.sequence), message);
    }

    pub(crate) fn push_held(&mut self, message: QueuedMessage) {
        self.len += message.len;
        self.held.push_back(message);
    }

    /// Removes the message with the least time stamp, if `is_due` holds for that time.
    pub(crate) fn pop_if(
        &mut self,
        is_due: impl FnOnce(LogicalTime) -> bool,
    ) -> Option<QueuedMessage> {
        let entry = self.ordered.first_entry().filter(|entry| is_due(entry.key().0))?;
        let message = entry.remove();
        self.len -= message.len;
        Some(message)
    }

    /// Removes the message with the least time stamp up to `until`, unless it was sent after `newest`.
    pub(crate) fn pop_due(&mut self, until: LogicalTime, newest: u64) -> Option<QueuedMessage> {
        let entry = self.ordered.first_entry()?;
        let (time, sequence) = *entry.key();
        if time > until || sequence > newest {
            return None;
        }
        let message = entry.remove();
        self.len -= message.len;
        Some(message)
    }

    /// Looks at the message behind `after` in time stamp order. Removes it, unless it was sent after `newest`. Returns
    /// `None` at the end.
    pub(crate) fn pop_after(
        &mut self,
        after: &mut Option<(LogicalTime, u64)>,
        newest: u64,
    ) -> Option<Option<QueuedMessage>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (key, _) = self.ordered.range((from, Bound::Unbounded)).next()?;
        let key = *key;
        *after = Some(key);
        if key.1 > newest {
            return Some(None);
        }
        let message = self.ordered.remove(&key).expect("just seen");
        self.len -= message.len;
        Some(Some(message))
    }

    /// Removes the oldest message in receive order.
    pub(crate) fn pop_held(&mut self) -> Option<QueuedMessage> {
        let message = self.held.pop_front()?;
        self.len -= message.len;
        Some(message)
    }

    /// Removes the oldest message in receive order, unless it was sent after `newest`.
    pub(crate) fn pop_held_until(&mut self, newest: u64) -> Option<QueuedMessage> {
        self.held.front().filter(|message| message.sequence <= newest)?;
        self.pop_held()
    }

    /// Removes the parts of a retracted message, given their time stamp and the range of their sequence numbers.
    /// Returns whether there were any.
    pub(crate) fn retract(
        &mut self,
        retraction: MessageRetractionHandle,
        time: LogicalTime,
        (first, last): (u64, u64),
    ) -> bool {
        let before = self.ordered.len();
        // The sequence numbers in between may belong to other messages.
        let parts = self.ordered.range((time, first)..=(time, last));
        let parts = parts.filter(|(_, message)| message.retraction == Some(retraction));
        let parts: Vec<(LogicalTime, u64)> = parts.map(|(key, _)| *key).collect();
        for part in parts {
            if let Some(message) = self.ordered.remove(&part) {
                self.len -= message.len;
            }
        }
        self.ordered.len() < before || self.retract_held(retraction, (first, last))
    }

    /// Empties the parts of a retracted message that are queued in receive order. They keep their places, because the
    /// queue may be long.
    fn retract_held(
        &mut self,
        retraction: MessageRetractionHandle,
        (first, last): (u64, u64),
    ) -> bool {
        let at = self.held.partition_point(|message| message.sequence < first);
        let parts = self.held.range_mut(at..).take_while(|message| message.sequence <= last);
        let mut is_found = false;
        for message in parts.filter(|message| message.retraction == Some(retraction)) {
            is_found = true;
            self.len -= message.len;
            (message.content, message.len) = (Content::Retracted, 0);
            (message.removes, message.retraction) = (false, None);
        }
        is_found
    }

    /// The messages in time stamp order.
    pub(crate) const fn ordered(&self) -> &BTreeMap<(LogicalTime, u64), QueuedMessage> {
        &self.ordered
    }

    /// The messages in receive order.
    pub(crate) const fn held(&self) -> &VecDeque<QueuedMessage> {
        &self.held
    }

    /// The memory of the queued messages.
    pub(crate) fn shares(&self) -> impl Iterator<Item = &Share> {
        self.ordered.values().chain(&self.held).filter_map(|message| message.share.as_ref())
    }

    /// Checks the size and returns the time stamps in order.
    pub(crate) fn check_invariants(&self) -> impl Iterator<Item = LogicalTime> {
        let all = self.ordered.values().chain(&self.held);
        assert_eq!(all.map(|message| message.len).sum::<usize>(), self.len);
        self.ordered.keys().map(|(time, _)| *time)
    }
}
