//! The spool of a slow reader: a queue of messages that its protocol session has not numbered yet.
//!
//! ```text
//!  push ──▶ queue ─────────────────────────────▶ pop ──▶ protocol session (numbers, transmits, keeps)
//!              └─▶ chunks in a file ─▶ front ─▶┘
//! ```
//!
//! **The rule of conflation.** A message with a [`Key`] may be conflated: it takes the place of the queued message with
//! its key. In this way it may overtake updates of other instances and interactions, if these were sent in receive
//! order, and nothing else. If anything else was queued since, it is appended; of those with its key, the oldest stays,
//! and a message between the two is removed. So at most two with a key are queued:
//!
//! * Messages without a key arrive exactly once, in the order in which they were sent.
//! * A message with a key arrives, or a later one with the same key does. The newest of each key always arrives.
//! * Updates of an instance arrive in the order in which they were sent, after its discovery and before its removal.
//! * A key that is updated faster than the queue drains is not starved, because its place never moves back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hemiola_hla::data::AttributeValues;
use hemiola_hla::{
    AttributeHandle, Callback, ObjectInstanceHandle, OrderType, TransportationTypeHandle,
};

use crate::chunk::{Message, SpoolChunk};

/// Updates with the same key replace each other: those of the same attributes of the same instance. Values that were
/// sent together are kept or replaced together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Arc<(ObjectInstanceHandle, Vec<AttributeHandle>)>);

impl Key {
    pub(crate) fn new(instance: ObjectInstanceHandle, values: &AttributeValues) -> Self {
        let mut attributes: Vec<AttributeHandle> = values.iter().map(|(one, _)| *one).collect();
        attributes.sort_unstable();
        Self(Arc::new((instance, attributes)))
    }
}

/// What a message may overtake, and be overtaken by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    /// It is not overtaken.
    Never,
    /// Values of other instances may overtake it: an interaction, or an update of this instance, in receive order.
    Others(Option<ObjectInstanceHandle>),
    /// It may take the place of a message with the same key, and be replaced.
    Value(Key),
}

impl Passing {
    /// Of a callback that is not conflated.
    pub(crate) fn new(callback: &Callback) -> Self {
        let others = |one: Dispensable<'_>| Self::Others(one.update.map(|(instance, _)| instance));
        Dispensable::new(callback).map_or(Self::Never, others)
    }

    fn instance(&self) -> Option<ObjectInstanceHandle> {
        match self {
            Self::Never => None,
            Self::Others(instance) => *instance,
            Self::Value(key) => Some(key.0.0),
        }
    }

    const fn key(&self) -> Option<&Key> {
        match self {
            Self::Value(key) => Some(key),
            Self::Never | Self::Others(_) => None,
        }
    }
}

/// A callback that a reader may miss if its transportation is best effort.
#[derive(Debug)]
pub(crate) struct Dispensable<'a> {
    pub(crate) transportation: TransportationTypeHandle,
    /// The updated instance and values; `None` for an interaction.
    pub(crate) update: Option<(ObjectInstanceHandle, &'a AttributeValues)>,
}

impl<'a> Dispensable<'a> {
    /// Returns `None` for a callback that must arrive: any but an update or interaction that was sent in receive order.
    pub(crate) const fn new(callback: &'a Callback) -> Option<Self> {
        use Callback as C;
        let (transportation, update) = match callback {
            C::ReflectAttributeValues {
                transportation_type,
                object_instance,
                attribute_values,
                ..
            }
            | C::ReflectAttributeValuesWithTime {
                transportation_type,
                object_instance,
                attribute_values,
                sent_order_type: OrderType::Receive,
                retraction: None,
                ..
            } => (*transportation_type, Some((*object_instance, attribute_values))),
            C::ReceiveInteraction { transportation_type, .. }
            | C::ReceiveDirectedInteraction { transportation_type, .. }
            | C::ReceiveInteractionWithTime {
                transportation_type,
                sent_order_type: OrderType::Receive,
                retraction: None,
                ..
            }
            | C::ReceiveDirectedInteractionWithTime {
                transportation_type,
                sent_order_type: OrderType::Receive,
                retraction: None,
                ..
            } => (*transportation_type, None),
            _ => return None,
        };
        Some(Self { transportation, update })
    }
}

#[derive(Debug)]
struct Queued {
    message: Message,
    passing: Passing,
}

/// The places of a key's messages in the queue: at most two.
#[derive(Clone, Copy, Debug)]
struct Places {
    oldest: u64,
    newest: Option<u64>,
}

impl Places {
    fn latest(self) -> u64 {
        self.newest.unwrap_or(self.oldest)
    }
}

/// A part of the queue in the file, or on the way.
#[derive(Debug)]
struct Stored {
    number: u64,
    count: usize,
    /// The memory of its messages, in bytes.
    len: usize,
    state: StoredState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredState {
    /// It is being written, and still in memory.
    Writing,
    InFile,
    /// It is being read.
    Reading,
}

/// A queue of messages in memory, and behind its head in a file. The shell writes and reads the file.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    /// Messages that were read from the file.
    front: VecDeque<Message>,
    /// The parts in the file, behind `front`, oldest first.
    stored: VecDeque<Stored>,
    /// The messages behind these, by place.
    queue: BTreeMap<u64, Queued>,
    places: BTreeMap<Key, Places>,
    /// The place of the latest update of each instance.
    latest: BTreeMap<ObjectInstanceHandle, u64>,
    /// The first place behind everything that must not be overtaken.
    passable_from: u64,
    next_place: u64,
    next_chunk: u64,
    count: usize,
    /// Memory in bytes: of the queue, and of everything in front of it that is not in the file.
    queue_len: usize,
    front_len: usize,
    file_len: usize,
}

impl Spool {
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of messages.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The memory of the messages that are not in the file, in bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.queue_len + self.front_len
    }

    /// The memory of the messages that can still be moved to the file, in bytes.
    pub(crate) const fn in_queue(&self) -> usize {
        self.queue_len
    }

    /// The memory that the messages in the file would take, in bytes.
    pub(crate) const fn file_len(&self) -> usize {
        self.file_len
    }

    /// The memory of the messages on the way to the file or back from it, in bytes.
    pub(crate) const fn ahead(&self) -> usize {
        self.front_len
    }

    /// Whether the next message is in the file.
    pub(crate) fn waits_for_file(&self) -> bool {
        self.front.is_empty() && !self.stored.is_empty()
    }

    /// Queues a message. Returns whether it replaced an older one with the same key.
    pub(crate) fn push(&mut self, message: Message, passing: Passing) -> bool {
        let (place, replaced) = match passing.key().and_then(|key| self.replaceable(key)) {
            Some(place) => (place, Some(place)),
            None => self.append(&passing),
        };
        let replaced = replaced.and_then(|place| self.queue.remove(&place));
        if let Some(replaced) = &replaced {
            self.queue_len -= replaced.message.cost();
            self.count -= 1;
        }
        self.queue_len += message.cost();
        self.count += 1;
        self.queue.insert(place, Queued { message, passing });
        replaced.is_some()
    }

    /// Returns the place of the latest message with this key if a newer one may take it.
    fn replaceable(&self, key: &Key) -> Option<u64> {
        let latest = self.places.get(key)?.latest();
        let is_last_of_instance = self.latest.get(&key.0.0) == Some(&latest);
        (is_last_of_instance && latest >= self.passable_from).then_some(latest)
    }

    /// Returns a place at the end, and that of the message that is replaced from there: the newer one of two with the
    /// same key.
    fn append(&mut self, passing: &Passing) -> (u64, Option<u64>) {
        let place = self.next_place;
        self.next_place += 1;
        if *passing == Passing::Never {
            self.passable_from = self.next_place;
        }
        if let Some(instance) = passing.instance() {
            self.latest.insert(instance, place);
        }
        let Some(key) = passing.key() else { return (place, None) };
        if let Some(places) = self.places.get_mut(key) {
            return (place, places.newest.replace(place));
        }
        self.places.insert(key.clone(), Places { oldest: place, newest: None });
        (place, None)
    }

    /// Takes the oldest message; `None` if there is none, or if it [is in the file](Self::waits_for_file).
    pub(crate) fn pop(&mut self) -> Option<Message> {
        let message = match self.front.pop_front() {
            Some(message) => {
                self.front_len -= message.cost();
                message
            }
            None if self.stored.is_empty() => self.pop_queue()?,
            None => return None,
        };
        self.count -= 1;
        Some(message)
    }

    fn pop_queue(&mut self) -> Option<Message> {
        let (place, Queued { message, passing }) = self.queue.pop_first()?;
        if let Some(key) = passing.key() {
            let places = self.places.get_mut(key).expect("a queued message with a key is placed");
            debug_assert_eq!(places.oldest, place);
            match places.newest.take() {
                Some(next) => places.oldest = next,
                None => drop(self.places.remove(key)),
            }
        }
        if let Some(instance) = passing.instance()
            && self.latest.get(&instance) == Some(&place)
        {
            self.latest.remove(&instance);
        }
        self.queue_len -= message.cost();
        Some(message)
    }

    /// Takes about this much from the begin of the queue, to be written to the file under the returned number; `None`
    /// if the queue is shorter. It counts as memory until it [is stored](Self::stored).
    pub(crate) fn take_chunk(&mut self, len: usize) -> Option<(u64, SpoolChunk)> {
        if self.queue_len < len {
            return None;
        }
        let mut chunk = SpoolChunk::default();
        let before = self.queue_len;
        while before - self.queue_len < len
            && let Some(message) = self.pop_queue()
        {
            chunk.messages.push(message);
        }
        let (number, len) = (self.next_chunk, before - self.queue_len);
        self.next_chunk += 1;
        self.front_len += len;
        let state = StoredState::Writing;
        self.stored.push_back(Stored { number, count: chunk.messages.len(), len, state });
        Some((number, chunk))
    }

    /// A chunk is in the file.
    pub(crate) fn stored(&mut self, number: u64) {
        let writing = |one: &&mut Stored| (one.number, one.state) == (number, StoredState::Writing);
        if let Some(stored) = self.stored.iter_mut().find(writing) {
            stored.state = StoredState::InFile;
            self.front_len -= stored.len;
            self.file_len += stored.len;
        }
    }

    /// Returns the number of the chunk that has to be read next, once.
    pub(crate) fn next_to_read(&mut self) -> Option<u64> {
        let stored = self.stored.front_mut().filter(|_| self.front.is_empty())?;
        if stored.state != StoredState::InFile {
            return None;
        }
        stored.state = StoredState::Reading;
        Some(stored.number)
    }

    /// A chunk has been read. Returns `false` if it is not the expected one.
    pub(crate) fn loaded(&mut self, number: u64, chunk: &SpoolChunk) -> bool {
        let expected = |one: &mut Stored| (one.number, one.state) == (number, StoredState::Reading);
        let Some(stored) = self.stored.pop_front_if(expected) else { return false };
        let len = chunk.messages.iter().map(Message::cost).sum();
        let is_whole = (chunk.messages.len(), len) == (stored.count, stored.len);
        self.file_len -= stored.len;
        self.front_len += len;
        self.count = self.count - stored.count + chunk.messages.len();
        self.front.extend(chunk.messages.iter().cloned());
        is_whole
    }

    /// Checks the counters against the content.
    ///
    /// # Panics
    /// They differ.
    pub(crate) fn check_invariants(&self) {
        let in_state = |is: fn(StoredState) -> bool| {
            self.stored.iter().filter(move |one| is(one.state)).map(|one| one.len).sum::<usize>()
        };
        let front: usize = self.front.iter().map(Message::cost).sum();
        assert_eq!(self.front_len, front + in_state(|state| state == StoredState::Writing));
        assert_eq!(self.file_len, in_state(|state| state != StoredState::Writing));
        let queue = self.queue.values().map(|queued| queued.message.cost());
        assert_eq!(self.queue_len, queue.sum::<usize>());
        let stored: usize = self.stored.iter().map(|one| one.count).sum();
        assert_eq!(self.count, self.front.len() + stored + self.queue.len());
        let keyed = self.queue.values().filter(|queued| queued.passing.key().is_some()).count();
        let placed = self.places.values().map(|places| 1 + usize::from(places.newest.is_some()));
        assert_eq!(keyed, placed.sum::<usize>(), "every message with a key has its place");
        let updates =
            self.queue.iter().filter_map(|(place, one)| Some((one.passing.instance()?, *place)));
        let latest: BTreeMap<ObjectInstanceHandle, u64> = updates.collect();
        assert_eq!(self.latest, latest, "the latest update of every instance is known");
    }
}

#[cfg(test)]
mod tests;
