//! Messages that are queued for a federate until it may receive them.

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;
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
    /// Whether it was retracted and only its place is left.
    pub(crate) const fn is_retracted(&self) -> bool {
        matches!(self.content, Content::Retracted)
    }

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

/// The room of an empty queue that is kept, in messages.
const SPARE_LEN: usize = 8;

/// All messages queued for a federate.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Messages in time stamp order; messages of the same time are in sending order. No queue is empty.
    ordered: BTreeMap<LogicalTime, VecDeque<QueuedMessage>>,
    /// The number of messages in time stamp order that have not been retracted.
    ordered_count: usize,
    /// An empty queue, small enough to keep for the next time.
    spare: VecDeque<QueuedMessage>,
    /// Messages in receive order, which a constrained federate receives only while it advances. First in, first out.
    held: VecDeque<QueuedMessage>,
    len: usize,
}

impl Backlog {
    /// Returns the number of messages.
    pub(crate) fn count(&self) -> usize {
        self.ordered_count + self.held.len()
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
        let (time, messages) = self.ordered.first_key_value()?;
        Some((*time, &messages[0]))
    }

    /// Queues a message in time stamp order. Its sequence number is the greatest of its time.
    pub(crate) fn push_ordered(&mut self, time: LogicalTime, message: QueuedMessage) {
        self.len += message.len;
        self.ordered_count += usize::from(!message.is_retracted());
        let messages = self.ordered.entry(time).or_insert_with(|| take(&mut self.spare));
        // The room doubles from one, because often there is only one message of a time.
        if messages.len() == messages.capacity() {
            messages.reserve_exact(messages.len().max(1));
        }
        messages.push_back(message);
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
        self.pop_first_if(|time, _| is_due(time))
    }

    /// Removes the message with the least time stamp up to `until`, unless it was sent after `newest`.
    pub(crate) fn pop_due(&mut self, until: LogicalTime, newest: u64) -> Option<QueuedMessage> {
        self.pop_first_if(|time, message| time <= until && message.sequence <= newest)
    }

    fn pop_first_if(
        &mut self,
        is_due: impl FnOnce(LogicalTime, &QueuedMessage) -> bool,
    ) -> Option<QueuedMessage> {
        let mut entry = self.ordered.first_entry()?;
        let time = *entry.key();
        let message = entry.get_mut().pop_front_if(|message| is_due(time, message))?;
        if entry.get().is_empty() {
            self.spare = small(entry.remove());
        }
        self.note_popped(&message);
        Some(message)
    }

    fn note_popped(&mut self, message: &QueuedMessage) {
        self.len -= message.len;
        self.ordered_count -= usize::from(!message.is_retracted());
    }

    /// Looks at the first message behind the time `after`. Removes it, unless it was sent after `newest`; then it and
    /// all others of its time stay. Returns `None` at the end.
    pub(crate) fn pop_after(
        &mut self,
        after: &mut Option<LogicalTime>,
        newest: u64,
    ) -> Option<Option<QueuedMessage>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (time, messages) = self.ordered.range_mut((from, Bound::Unbounded)).next()?;
        let time = *time;
        let Some(message) = messages.pop_front_if(|message| message.sequence <= newest) else {
            *after = Some(time);
            return Some(None);
        };
        if messages.is_empty() {
            self.ordered.remove(&time);
        }
        self.note_popped(&message);
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

    /// Empties the parts of a retracted message, given their time stamp and the range of their sequence numbers. Parts
    /// between other messages keep their places, because a queue may be long. Returns whether there were any.
    pub(crate) fn retract(
        &mut self,
        retraction: MessageRetractionHandle,
        time: LogicalTime,
        sequence: (u64, u64),
    ) -> bool {
        if let Some(messages) = self.ordered.get_mut(&time) {
            let (count, len) = empty_parts(messages, retraction, sequence);
            self.ordered_count -= count;
            self.len -= len;
            trim(messages, count);
            if messages.is_empty() {
                self.ordered.remove(&time);
            }
            if count > 0 {
                return true;
            }
        }
        let (count, len) = empty_parts(&mut self.held, retraction, sequence);
        self.len -= len;
        count > 0
    }

    /// Returns the message behind this time stamp and sequence number, in time stamp order.
    pub(crate) fn ordered_behind(
        &self,
        last: Option<(LogicalTime, u64)>,
    ) -> Option<(LogicalTime, &QueuedMessage)> {
        let Some((time, sequence)) = last else { return self.first() };
        self.ordered.range(time..).find_map(|(one, messages)| {
            let is_before = |message: &QueuedMessage| *one == time && message.sequence <= sequence;
            Some((*one, messages.get(messages.partition_point(is_before))?))
        })
    }

    /// Whether this message may follow the ones that are queued with this time stamp.
    pub(crate) fn may_follow(&self, time: LogicalTime, message: &QueuedMessage) -> bool {
        let newest = self.ordered.get(&time).and_then(VecDeque::back);
        newest.is_none_or(|newest| newest.sequence < message.sequence)
    }

    /// The messages in receive order.
    pub(crate) const fn held(&self) -> &VecDeque<QueuedMessage> {
        &self.held
    }

    /// The memory of the queued messages.
    pub(crate) fn shares(&self) -> impl Iterator<Item = &Share> {
        self.all().filter_map(|message| message.share.as_ref())
    }

    fn all(&self) -> impl Iterator<Item = &QueuedMessage> {
        self.ordered.values().flatten().chain(&self.held)
    }

    /// Checks the size and returns the time stamps in order.
    pub(crate) fn check_invariants(&self) -> impl Iterator<Item = LogicalTime> {
        assert_eq!(self.all().map(|message| message.len).sum::<usize>(), self.len);
        let is_kept = |message: &&QueuedMessage| !message.is_retracted();
        assert_eq!(self.ordered.values().flatten().filter(is_kept).count(), self.ordered_count);
        for messages in self.ordered.values() {
            assert!(!messages.is_empty() && messages.iter().is_sorted_by_key(|one| one.sequence));
        }
        self.ordered.keys().copied()
    }
}

/// Returns an empty queue in the memory of this one, which is empty, or without memory if that one has much.
fn small(emptied: VecDeque<QueuedMessage>) -> VecDeque<QueuedMessage> {
    if emptied.capacity() <= SPARE_LEN { emptied } else { VecDeque::new() }
}

/// Empties the parts of a retracted message in a queue whose sequence numbers increase. Returns their number and their
/// size.
fn empty_parts(
    messages: &mut VecDeque<QueuedMessage>,
    retraction: MessageRetractionHandle,
    (first, last): (u64, u64),
) -> (usize, usize) {
    let (mut count, mut len) = (0, 0);
    let at = messages.partition_point(|message| message.sequence < first);
    let parts = messages.range_mut(at..).take_while(|message| message.sequence <= last);
    // The sequence numbers in between may belong to other messages.
    for message in parts.filter(|message| message.retraction == Some(retraction)) {
        count += 1;
        len += message.len;
        (message.content, message.len) = (Content::Retracted, 0);
        (message.removes, message.retraction) = (false, None);
    }
    (count, len)
}

/// Removes empty places from the ends of a queue: at most twice as many as have just been emptied. So retractions catch
/// up with what they leave, and none of them takes long.
fn trim(messages: &mut VecDeque<QueuedMessage>, emptied: usize) {
    for _ in 0..2 * emptied {
        let is_retracted = |message: &mut QueuedMessage| message.is_retracted();
        if messages.pop_back_if(is_retracted).is_none()
            && messages.pop_front_if(is_retracted).is_none()
        {
            return;
        }
    }
}
