//! A queue of messages in blocks.

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;
use std::ops::Bound;

use hemiola_hla::MessageRetractionHandle;

use super::QueuedMessage;

/// The greatest number of messages in a block.
const BLOCK_LEN: usize = 256;

/// The room of an empty block that is kept, in messages.
const SPARE_LEN: usize = 8;

/// The greatest room that a block gets because the one before it had as much, in messages.
const ROOM_MAX: usize = 64;

/// A block: messages of one key in sending order.
type Block = VecDeque<QueuedMessage>;

/// Messages by key, and those of one key in sending order. They are in blocks, so that a queue that grows, shrinks or
/// loses a message in its middle moves a block at most, and gives back the memory of messages that have left.
#[derive(Debug)]
pub(super) struct Queue<K> {
    /// By key and the sequence number of the block's first message, which may have left. No block is empty.
    blocks: BTreeMap<(K, u64), Block>,
    count: usize,
    /// The size of the messages in bytes.
    len: usize,
    /// An empty block, small enough to keep.
    spare: Block,
    /// The room of the block that was emptied last, in messages: the next one will often need as much.
    room: usize,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self { blocks: BTreeMap::new(), count: 0, len: 0, spare: Block::new(), room: 0 }
    }
}

impl<K: Copy + Ord> Queue<K> {
    /// Returns the number of messages.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Returns the approximate size of the messages in bytes.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the first message and its key.
    pub(super) fn first(&self) -> Option<(K, &QueuedMessage)> {
        let ((key, _), block) = self.blocks.first_key_value()?;
        Some((*key, &block[0]))
    }

    /// Appends a message to those of its key. It was sent after them.
    pub(super) fn push(&mut self, key: K, message: QueuedMessage) {
        self.count += 1;
        self.len += message.len;
        let last = match self.blocks.last_entry() {
            // Almost always.
            Some(last) if last.key().0 == key => Some(last.into_mut()),
            _ => {
                let before = self.blocks.range_mut(..=(key, u64::MAX)).next_back();
                before.filter(|((one, _), _)| *one == key).map(|(_, block)| block)
            }
        };
        let block = match last.filter(|last| last.len() < BLOCK_LEN) {
            Some(last) => last,
            None => {
                self.blocks.entry((key, message.sequence)).or_insert_with(|| take(&mut self.spare))
            }
        };
        // Without a block before it, the room doubles from one, because often there is only one message of a key.
        if block.len() == block.capacity() {
            let more = if block.len() == 1 {
                take(&mut self.room).min(ROOM_MAX).saturating_sub(1)
            } else {
                0
            };
            block.reserve_exact(block.len().max(more).max(1));
        }
        block.push_back(message);
    }

    /// Removes the first message if `is_due` holds for it and its key.
    pub(super) fn pop_if(
        &mut self,
        is_due: impl FnOnce(K, &QueuedMessage) -> bool,
    ) -> Option<QueuedMessage> {
        let mut first = self.blocks.first_entry()?;
        let (key, _) = *first.key();
        let message = first.get_mut().pop_front_if(|message| is_due(key, message))?;
        if first.get().is_empty() {
            let emptied = first.remove();
            self.room = emptied.capacity();
            self.spare = small(emptied);
        }
        self.note_removed(&message);
        Some(message)
    }

    /// Looks at the first message behind the key `after`. Removes it, unless it was sent after `newest`; then it and
    /// all others of its key stay. Returns `None` at the end.
    pub(super) fn pop_after(
        &mut self,
        after: &mut Option<K>,
        newest: u64,
    ) -> Option<Option<QueuedMessage>> {
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded((after, u64::MAX)));
        let (at, block) = self.blocks.range_mut((from, Bound::Unbounded)).next()?;
        let at = *at;
        let Some(message) = block.pop_front_if(|message| message.sequence <= newest) else {
            *after = Some(at.0);
            return Some(None);
        };
        if block.is_empty() {
            self.blocks.remove(&at);
        }
        self.note_removed(&message);
        Some(Some(message))
    }

    /// Removes the parts of a retracted message, given its key and the range of their sequence numbers. Returns whether
    /// there were any.
    pub(super) fn retract(
        &mut self,
        retraction: MessageRetractionHandle,
        key: K,
        (first, last): (u64, u64),
    ) -> bool {
        // Without parts, the last one precedes the first one.
        if first > last {
            return false;
        }
        let count = self.count;
        let mut from = Bound::Included(self.block_before(key, first).unwrap_or((key, first)));
        let until = Bound::Included((key, last));
        while let Some((at, block)) = self.blocks.range_mut((from, until)).next() {
            let at = *at;
            // The sequence numbers in between may belong to other messages.
            let is_part = |one: &QueuedMessage| one.retraction == Some(retraction);
            while let Some(place) = place_of(block, first, last, is_part) {
                let message = block.remove(place).expect("it is there");
                self.count -= 1;
                self.len -= message.len;
            }
            if block.is_empty() {
                self.blocks.remove(&at);
            } else if block.len() <= block.capacity() / 4 {
                block.shrink_to(2 * block.len());
            }
            from = Bound::Excluded(at);
        }
        self.count < count
    }

    /// Returns the message behind one with this key and sequence number, or the first message, and its key.
    pub(super) fn behind(&self, last: Option<(K, u64)>) -> Option<(K, &QueuedMessage)> {
        let Some((key, sequence)) = last else { return self.first() };
        let from = self.block_before(key, sequence).unwrap_or((key, sequence));
        self.blocks.range(from..).find_map(|((one, _), block)| {
            let is_before = |message: &QueuedMessage| *one == key && message.sequence <= sequence;
            Some((*one, block.get(block.partition_point(is_before))?))
        })
    }

    /// Whether this message was sent after those that are queued with this key.
    pub(super) fn may_follow(&self, key: K, message: &QueuedMessage) -> bool {
        let newest = self.blocks.range((key, 0)..=(key, u64::MAX)).next_back();
        let newest = newest.and_then(|(_, block)| block.back());
        newest.is_none_or(|newest| newest.sequence < message.sequence)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedMessage> {
        self.blocks.values().flatten()
    }

    /// Checks the order and the sums, and returns the keys in order.
    pub(super) fn check_invariants(&self) -> impl Iterator<Item = K> {
        assert_eq!(self.iter().count(), self.count);
        assert_eq!(self.iter().map(|message| message.len).sum::<usize>(), self.len);
        for ((_, first), block) in &self.blocks {
            assert!(!block.is_empty() && block.len() <= BLOCK_LEN && *first <= block[0].sequence);
        }
        let all = self.blocks.iter().flat_map(|((key, _), block)| {
            block.iter().map(move |message| (*key, message.sequence))
        });
        assert!(all.is_sorted_by(|one, next| one < next));
        self.blocks.keys().map(|(key, _)| *key)
    }

    /// Returns where the block begins that contains this sequence number, if it is in one.
    fn block_before(&self, key: K, sequence: u64) -> Option<(K, u64)> {
        let (at, _) = self.blocks.range((key, 0)..=(key, sequence)).next_back()?;
        Some(*at)
    }

    fn note_removed(&mut self, message: &QueuedMessage) {
        self.count -= 1;
        self.len -= message.len;
    }
}

/// Returns an empty block in the memory of this one, which is empty, or without memory if that one has much.
fn small(emptied: Block) -> Block {
    if emptied.capacity() <= SPARE_LEN { emptied } else { Block::new() }
}

/// Returns the place of the first message in a range of sequence numbers for which `is_part` holds.
fn place_of(
    block: &Block,
    first: u64,
    last: u64,
    is_part: impl Fn(&QueuedMessage) -> bool,
) -> Option<usize> {
    let from = block.partition_point(|message| message.sequence < first);
    let mut behind = block.range(from..).take_while(|message| message.sequence <= last);
    behind.position(is_part).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    /// A message of these tests: its key, its sequence number, and its retraction handle.
    type Entry = (u64, u64, u64);

    fn entry(key: u64, message: &QueuedMessage) -> Entry {
        (key, message.sequence, message.retraction.map_or(0, MessageRetractionHandle::number))
    }

    /// A queue, and a list that does the same slowly.
    #[derive(Default)]
    struct Pair {
        queue: Queue<u64>,
        list: Vec<Entry>,
        sent: u64,
    }

    impl Pair {
        fn push(&mut self, key: u64, retraction: u64) {
            self.sent += 1;
            let handle = Some(MessageRetractionHandle::new(retraction));
            let message = QueuedMessage::with_retraction(self.sent, handle);
            assert!(self.queue.may_follow(key, &message));
            self.queue.push(key, message);
            let at = self.list.partition_point(|one| *one < (key, self.sent, 0));
            self.list.insert(at, (key, self.sent, retraction));
        }

        fn pop(&mut self, until: u64) {
            let is_due = |(key, ..): &Entry| *key <= until;
            let expected = self.list.first().copied().filter(is_due);
            self.list.drain(..usize::from(expected.is_some()));
            let popped = self.queue.pop_if(|key, _| key <= until);
            assert_eq!(popped.map(|one| one.sequence), expected.map(|(_, sequence, _)| sequence));
        }

        /// Pops the messages up to this one behind a key.
        fn pop_after(&mut self, after: u64, newest: u64) {
            let at = self.list.iter().position(|(key, ..)| *key > after);
            let expected = at.map(|at| Some(at).filter(|at| self.list[*at].1 <= newest));
            let expected = expected.map(|at| at.map(|at| self.list.remove(at).1));
            let popped = self.queue.pop_after(&mut Some(after), newest);
            assert_eq!(popped.map(|one| one.map(|one| one.sequence)), expected);
        }

        fn retract(&mut self, retraction: u64) {
            let count = self.list.len();
            let parts = self.list.iter().filter(|(.., one)| *one == retraction);
            let (key, first) = parts.clone().next().map_or((0, 0), |(key, one, _)| (*key, *one));
            let last = parts.clone().next_back().map_or(0, |(_, last, _)| *last);
            self.list.retain(|(.., one)| *one != retraction);
            let handle = MessageRetractionHandle::new(retraction);
            let was_there = self.queue.retract(handle, key, (first, last));
            assert_eq!(was_there, self.list.len() < count);
        }

        fn check(&self) {
            assert!(self.queue.check_invariants().is_sorted());
            let mut last = None;
            let walked = std::iter::from_fn(|| {
                let (key, message) = self.queue.behind(last)?;
                last = Some((key, message.sequence));
                Some(entry(key, message))
            });
            assert_eq!(walked.collect::<Vec<_>>(), self.list);
        }
    }

    #[test]
    fn a_queue_in_blocks_does_what_a_sorted_list_does() {
        for seed in 0..4 {
            let mut random = Random::from_seed(seed);
            let mut pair = Pair::default();
            // Phases in which it grows and shrinks.
            for (pushes, keys) in [(90, 1), (30, 2), (70, 3), (20, 1), (60, 40), (0, 1)] {
                for _ in 0..1000 {
                    let key = random.below(keys);
                    match random.below(100) {
                        // The parts of one message have one retraction handle and one key.
                        below if below < pushes => {
                            let retraction = pair.sent + 1;
                            (0..1 + random.below(3)).for_each(|_| pair.push(key, retraction));
                        }
                        below if below % 3 == 0 => pair.retract(random.below(pair.sent + 1)),
                        below if below % 3 == 1 => pair.pop_after(key, random.below(pair.sent + 1)),
                        _ => pair.pop(key),
                    }
                }
                pair.check();
            }
        }
    }
}
