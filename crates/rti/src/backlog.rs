//! Messages that are queued for a federate until it may receive them.

mod queue;

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(test)]
use hemiola_hla::Callback;
use hemiola_hla::{LogicalTime, MessageRetractionHandle, ObjectInstanceHandle, OrderType};

use crate::image::{Reader, SharedContent, Stored, Taken, Writer};
use crate::memory::{ALLOCATION, Account, Charge, ParcelMemory, entry_len};
use crate::message::Message;
use crate::notice::Notice;
use queue::Queue;

/// A message that is queued for one federate: its place in the queue, and what the queues share that hold it.
#[derive(Debug)]
pub(crate) struct QueuedMessage {
    parcel: Arc<Parcel>,
    /// For the place, unless the payer of the message pays it.
    place: Option<Charge>,
}

/// A message that federates receive alike.
#[derive(Debug)]
pub(crate) struct Parcel {
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
    pub(crate) memory: ParcelMemory,
}

/// What a queued message delivers.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A callback whose subscriptions were evaluated when the message was sent.
    Evaluated(Arc<Notice>),
    /// A message whose subscriptions are evaluated at delivery, and the order in which it will be received.
    Unevaluated(Arc<Message>, OrderType),
}

impl Parcel {
    /// The memory of a message besides its values and tag, in bytes.
    pub(crate) const OVERHEAD: usize = 4 * 64;

    /// Returns the instance that its receivers no longer know.
    pub(crate) fn removed(&self) -> Option<ObjectInstanceHandle> {
        self.subject.filter(|_| self.removes)
    }

    /// Whether it is the same message as another one with this content, which an image contains.
    fn is_like(&self, other: &Self) -> bool {
        let order = |one: &Self| match one.content {
            Content::Evaluated(_) => None,
            Content::Unevaluated(_, order) => Some(order),
        };
        let key = |one: &Self| (one.len, one.sequence, one.subject, one.removes, one.retraction);
        key(self) == key(other) && order(self) == order(other)
    }
}

impl QueuedMessage {
    /// The estimated memory of a place in the queue in time stamp order, in bytes.
    const ORDERED: usize =
        entry_len::<(LogicalTime, u64), VecDeque<Self>>() + ALLOCATION + size_of::<Self>();
    /// The estimated memory of a place in the queue in receive order, in bytes.
    const HELD: usize = size_of::<Self>() * 3 / 2;

    /// A place in the queue in time stamp order, which the payer of the message pays too.
    pub(crate) fn ordered(parcel: Arc<Parcel>) -> Self {
        parcel.memory.take_place(Self::ORDERED);
        Self { parcel, place: None }
    }

    /// A place in the queue in receive order, which the receiver pays.
    pub(crate) fn held(parcel: Arc<Parcel>, receiver: &Arc<Account>) -> Self {
        Self { parcel, place: Some(Charge::new(receiver, Self::HELD)) }
    }

    /// The charge for the place.
    pub(crate) fn place_len(&self) -> usize {
        self.place.as_ref().map_or(Self::ORDERED, Charge::len)
    }

    /// The parcel, to recognise it, and the memory that it holds.
    pub(crate) fn parcel(&self) -> (*const Parcel, usize) {
        (Arc::as_ptr(&self.parcel), self.parcel.memory.held())
    }

    /// The message is encoded for a receiver. If others still wait, the encoding is kept for them.
    pub(crate) fn encoded(&self) {
        if Arc::strong_count(&self.parcel) > 1 {
            self.parcel.memory.keep_encoding();
        }
    }

    /// A message of a test with this sequence number.
    #[cfg(test)]
    pub(crate) fn numbered(sequence: u64) -> Self {
        Self::with_retraction(sequence, None)
    }

    /// The same with a retraction handle.
    #[cfg(test)]
    fn with_retraction(sequence: u64, retraction: Option<MessageRetractionHandle>) -> Self {
        let content = Content::Evaluated(Arc::new(Notice::new(Callback::FederationSaved)));
        let (subject, removes, memory) = (None, false, ParcelMemory::new(&Arc::default(), 1));
        let parcel = Parcel { content, len: 1, sequence, subject, removes, retraction, memory };
        Self::ordered(Arc::new(parcel))
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
                (Content::Evaluated(notice), number)
            }
            1 => {
                let (message, number) = Message::take_shared(from)?;
                (Content::Unevaluated(message, OrderType::take(from)?), number)
            }
            _ => return Err("a queued message is of an unknown kind"),
        };
        let len = u32::take(from)? as usize;
        let parcel = Parcel {
            content,
            len,
            sequence: Stored::take(from)?,
            subject: Stored::take(from)?,
            removes: Stored::take(from)?,
            retraction: Stored::take(from)?,
            memory: ParcelMemory::new(account, len),
        };
        let known = &mut from.parcels(number)[usize::from(is_ordered)];
        let parcel = match known {
            Some(known) if known.is_like(&parcel) => Arc::clone(known),
            _ => Arc::clone(known.insert(Arc::new(parcel))),
        };
        Ok(if is_ordered { Self::ordered(parcel) } else { Self::held(parcel, account) })
    }
}

impl Deref for QueuedMessage {
    type Target = Parcel;

    fn deref(&self) -> &Parcel {
        &self.parcel
    }
}

impl Drop for QueuedMessage {
    fn drop(&mut self) {
        if self.place.is_none() {
            self.parcel.memory.give_back_place(Self::ORDERED);
        }
    }
}

/// All messages queued for a federate.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Messages in time stamp order; messages of the same time are in sending order.
    ordered: Queue<LogicalTime>,
    /// Messages in receive order, which a constrained federate receives only while it advances. First in, first out.
    held: Queue<()>,
}

impl Backlog {
    /// Returns the number of messages.
    pub(crate) const fn count(&self) -> usize {
        self.ordered.count() + self.held.count()
    }

    /// Returns the number of messages in receive order.
    pub(crate) const fn held_count(&self) -> usize {
        self.held.count()
    }

    /// Returns the approximate size of the messages in bytes. A message that is queued for several federates counts for
    /// each.
    pub(crate) const fn len(&self) -> usize {
        self.ordered.len() + self.held.len()
    }

    pub(crate) const fn has_ordered(&self) -> bool {
        self.ordered.count() > 0
    }

    pub(crate) const fn has_held(&self) -> bool {
        self.held.count() > 0
    }

    /// Returns the message with the least time stamp.
    pub(crate) fn first(&self) -> Option<(LogicalTime, &QueuedMessage)> {
        self.ordered.first()
    }

    /// Queues a message in time stamp order. Its sequence number is the greatest of its time.
    pub(crate) fn push_ordered(&mut self, time: LogicalTime, message: QueuedMessage) {
        self.ordered.push(time, message);
    }

    /// Queues a message in receive order. Its sequence number is the greatest of these.
    pub(crate) fn push_held(&mut self, message: QueuedMessage) {
        self.held.push((), message);
    }

    /// Removes the message with the least time stamp, if `is_due` holds for that time.
    pub(crate) fn pop_if(
        &mut self,
        is_due: impl FnOnce(LogicalTime) -> bool,
    ) -> Option<QueuedMessage> {
        self.ordered.pop_if(|time, _| is_due(time))
    }

    /// Removes the message with the least time stamp up to `until`, unless it was sent after `newest`.
    pub(crate) fn pop_due(&mut self, until: LogicalTime, newest: u64) -> Option<QueuedMessage> {
        self.ordered.pop_if(|time, message| time <= until && message.sequence <= newest)
    }

    /// Looks at the first message behind the time `after`. Removes it, unless it was sent after `newest`; then it and
    /// all others of its time stay. Returns `None` at the end.
    pub(crate) fn pop_after(
        &mut self,
        after: &mut Option<LogicalTime>,
        newest: u64,
    ) -> Option<Option<QueuedMessage>> {
        self.ordered.pop_after(after, newest)
    }

    /// Removes the oldest message in receive order.
    pub(crate) fn pop_held(&mut self) -> Option<QueuedMessage> {
        self.held.pop_if(|(), _| true)
    }

    /// Removes the oldest message in receive order, unless it was sent after `newest`.
    pub(crate) fn pop_held_until(&mut self, newest: u64) -> Option<QueuedMessage> {
        self.held.pop_if(|(), message| message.sequence <= newest)
    }

    /// Removes the parts of a retracted message, given their time stamp and the range of their sequence numbers.
    /// Returns whether there were any.
    pub(crate) fn retract(
        &mut self,
        retraction: MessageRetractionHandle,
        time: LogicalTime,
        sequence: (u64, u64),
    ) -> bool {
        self.ordered.retract(retraction, time, sequence)
            || self.held.retract(retraction, (), sequence)
    }

    /// Returns the message behind this time stamp and sequence number, in time stamp order.
    pub(crate) fn ordered_behind(
        &self,
        last: Option<(LogicalTime, u64)>,
    ) -> Option<(LogicalTime, &QueuedMessage)> {
        self.ordered.behind(last)
    }

    /// Returns the message behind this sequence number, in receive order.
    pub(crate) fn held_behind(&self, last: Option<u64>) -> Option<&QueuedMessage> {
        self.held.behind(last.map(|last| ((), last))).map(|((), message)| message)
    }

    /// Whether this message may follow those that are queued with this time stamp, or in receive order.
    pub(crate) fn may_follow(&self, time: Option<LogicalTime>, message: &QueuedMessage) -> bool {
        match time {
            Some(time) => self.ordered.may_follow(time, message),
            None => self.held.may_follow((), message),
        }
    }

    /// All messages.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &QueuedMessage> {
        self.ordered.iter().chain(self.held.iter())
    }

    /// Checks both queues and returns the time stamps in order.
    pub(crate) fn check_invariants(&self) -> impl Iterator<Item = LogicalTime> {
        self.held.check_invariants().for_each(drop);
        self.ordered.check_invariants()
    }
}
