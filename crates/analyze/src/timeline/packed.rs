//! Segments in a few bytes each, in groups that are unpacked together.
//!
//! A group begins at a known moment. Each of its segments is
//!
//! ```text
//! 1 byte    bits 0 to 2: the state; bit 3: a job is released; bits 4 to 7: the key, see below
//! varint    the key, if bits 4 to 7 are 15
//! varint    ns since the segment before it in the group; 0 for the first
//! ```
//!
//! where bits 4 to 7 are 0 for [`NOBODY`], 14 for [`INTERRUPT`], and one more than the key from 1 to 13. A varint has
//! seven bits of a number in each byte, the low ones first, and the top bit in all bytes but the last.

use hemiola_stats::growth::push_slowly;

use super::track::{State, Totals};
use super::{INTERRUPT, NOBODY};
use crate::spill::Outside;

/// Segments in a group.
pub(super) const GROUP: usize = 64;

/// In a segment's word: the state is above the flag, and the flag above the key.
const STATE: u32 = 29;
/// A job is released when the segment begins.
const RELEASE: u32 = 1 << 28;

/// What a segment is, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Word(u32);

impl Word {
    pub(super) fn new(state: State, key: u32, is_release: bool) -> Self {
        Self((state as u32) << STATE | if is_release { RELEASE } else { 0 } | key.min(NOBODY))
    }

    #[inline]
    pub(super) const fn what(self) -> (State, u32) {
        (State::ALL[self.state()], self.key())
    }

    /// The number of the state.
    #[inline]
    pub(super) const fn state(self) -> usize {
        (self.0 >> STATE) as usize
    }

    /// The subject.
    #[inline]
    pub(super) const fn key(self) -> u32 {
        self.0 & NOBODY
    }

    pub(super) const fn is_release(self) -> bool {
        self.0 & RELEASE != 0
    }

    /// Whether both are the same but for a release.
    pub(super) const fn is_like(self, other: Self) -> bool {
        (self.0 ^ other.0) & !RELEASE == 0
    }
}

/// The beginning of a segment, ns, and what it is.
pub(super) type Start = (u64, Word);

/// Packed groups, all of [`GROUP`] segments but the last one of a track that is complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// When each group begins, ns.
    starts: Vec<u64>,
    /// Where its bytes begin: in which chunk, and where in it.
    places: Vec<(u32, u32)>,
    /// The bytes of whole groups. A long track grows by chunks, so that no unused room grows with its length.
    chunks: Vec<Chunk>,
    segments: usize,
    /// Where full chunks go; none if all stay in memory.
    outside: Option<Outside>,
}

/// A piece of the bytes of a track.
#[derive(Clone, Debug)]
enum Chunk {
    /// It is in memory. Only the last chunk grows.
    Here(Vec<u8>),
    /// It is outside, at an offset and of a length.
    Outside(u64, u32),
}

/// The most bytes of a chunk.
const CHUNK: usize = 64 << 10;

/// The most bytes of a chunk that goes outside. It is read as a whole.
const BLOCK: usize = 4 << 10;

/// The most bytes of a group: of each segment one byte, a key of 27 bits and a time of 64 bits.
const GROUP_LEN_MAX: usize = GROUP * (1 + 4 + 10);

impl Groups {
    /// Groups whose full chunks go outside.
    pub(super) fn outside(outside: Option<Outside>) -> Self {
        Self { outside, ..Self::default() }
    }

    /// How many segments there are.
    pub(super) const fn segments(&self) -> usize {
        self.segments
    }

    /// Adds a group.
    pub(super) fn push(&mut self, group: &[Start]) {
        let Some(&(start, _)) = group.first() else { return };
        push_slowly(&mut self.starts, start);
        let mut before = start;
        let (place, bytes) = self.room();
        for &(at, word) in group {
            let (state, key) = word.what();
            let nibble = match key {
                NOBODY => 0,
                INTERRUPT => 14,
                0..=12 => key as u8 + 1,
                _ => 15,
            };
            let release = if word.is_release() { 1 << 3 } else { 0 };
            push_slowly(bytes, state as u8 | release | nibble << 4);
            if nibble == 15 {
                put_number(bytes, u64::from(key));
            }
            put_number(bytes, at - before);
            before = at;
        }
        push_slowly(&mut self.places, place);
        self.segments += group.len();
    }

    /// Returns the chunk for the next group, and where in it the group begins.
    fn room(&mut self) -> ((u32, u32), &mut Vec<u8>) {
        let max = if self.outside.is_some() { BLOCK } else { CHUNK };
        match self.chunks.last_mut() {
            // Most of a million tracks are short and have one chunk, which grows slowly.
            None => {
                self.chunks.reserve_exact(1);
                self.chunks.push(Chunk::Here(Vec::new()));
            }
            Some(Chunk::Here(bytes)) if bytes.len() + GROUP_LEN_MAX <= max => {}
            Some(Chunk::Here(bytes)) => {
                let full = std::mem::take(bytes);
                let put = self.outside.as_ref().and_then(|outside| outside.put(&full));
                let last = self.chunks.len() - 1;
                let next = match put {
                    Some(offset) => {
                        self.chunks[last] = Chunk::Outside(offset, full.len() as u32);
                        let mut next = full;
                        next.clear();
                        next
                    }
                    None => {
                        self.chunks[last] = Chunk::Here(full);
                        Vec::with_capacity(max)
                    }
                };
                push_slowly(&mut self.chunks, Chunk::Here(next));
            }
            // Groups were taken back.
            Some(Chunk::Outside(..)) => push_slowly(&mut self.chunks, Chunk::Here(Vec::new())),
        }
        let last = self.chunks.len() - 1;
        let Chunk::Here(bytes) = &mut self.chunks[last] else {
            unreachable!("the last chunk is in memory")
        };
        ((last as u32, bytes.len() as u32), bytes)
    }

    /// Takes the last group away, and returns its segments.
    pub(super) fn pop(&mut self) -> Vec<Start> {
        let Some(group) = self.starts.len().checked_sub(1) else { return Vec::new() };
        let last = Steps::from_group(self, group).collect();
        self.segments = group * GROUP;
        self.starts.pop();
        if let Some((chunk, at)) = self.places.pop() {
            self.chunks.truncate(chunk as usize + 1);
            // Outside, the bytes stay where they are, and nothing refers to them.
            if let Chunk::Here(bytes) = &mut self.chunks[chunk as usize] {
                bytes.truncate(at as usize);
            }
        }
        last
    }

    /// The steps from the beginning of a group that has the last segment before a moment, or of the first group.
    pub(super) fn steps_to(&self, at: u64) -> Steps<'_> {
        let later = self.starts.partition_point(|start| *start <= at);
        Steps::from_group(self, later.saturating_sub(1))
    }

    /// The last group, from a group on, that begins at a moment or before.
    pub(super) fn last_until(&self, group: usize, to: u64) -> usize {
        let later = self.starts.get(group + 1..).unwrap_or_default();
        let mut step = 1;
        while step < later.len() && later[step] <= to {
            step *= 2;
        }
        let (low, high) = (step / 2, later.len().min(step));
        group + low + later[low..high].partition_point(|start| *start <= to)
    }

    /// How many segments begin before a moment.
    pub(super) fn before(&self, at: u64) -> usize {
        let group = self.starts.partition_point(|start| *start < at).saturating_sub(1);
        let in_group = Steps::from_group(self, group).take(GROUP);
        group * GROUP + in_group.take_while(|(start, _)| *start < at).count()
    }

    /// Gives unused room back. No more groups follow.
    pub(super) fn finish(&mut self) {
        self.starts.shrink_to_fit();
        self.places.shrink_to_fit();
        self.chunks.shrink_to_fit();
        if let Some(last) = self.chunks.last_mut()
            && let Chunk::Here(bytes) = last
        {
            match self.outside.as_ref().and_then(|outside| outside.put(bytes)) {
                Some(offset) => *last = Chunk::Outside(offset, bytes.len() as u32),
                None => bytes.shrink_to_fit(),
            }
        }
    }
}

/// Goes from segment to segment, and unpacks each when it comes to it.
#[derive(Clone, Debug)]
pub(super) struct Steps<'g> {
    groups: &'g Groups,
    /// Of the segments to come, if they are in memory.
    bytes: &'g [u8],
    /// Otherwise the chunk that was read, and its bytes.
    read: Option<u32>,
    block: Vec<u8>,
    /// Where in them the next segment is; none if the segments to come are in memory.
    in_block: Option<usize>,
    /// The number of the next segment.
    index: usize,
    /// When the last segment began, ns.
    at: u64,
}

/// Stands for a group that can no longer be read: segments of no length in an unknown state, of which the last one
/// lasts until the next group begins.
const UNREADABLE: [u8; 2 * GROUP] = {
    let mut bytes = [0; 2 * GROUP];
    let mut segment = 0;
    while segment < GROUP {
        bytes[2 * segment] = State::Unknown as u8;
        segment += 1;
    }
    bytes
};

impl<'g> Steps<'g> {
    const fn at_end(groups: &'g Groups) -> Self {
        let index = groups.segments;
        Self { groups, bytes: &[], read: None, block: Vec::new(), in_block: None, index, at: 0 }
    }

    /// From the first segment of a group on.
    pub(super) fn from_group(groups: &'g Groups, group: usize) -> Self {
        let mut steps = Self::at_end(groups);
        if group < groups.starts.len() {
            steps.go_to_group(group);
        }
        steps
    }

    /// Goes to the first segment of a group.
    pub(super) fn go_to_group(&mut self, group: usize) {
        let groups = self.groups;
        let (chunk, at) = groups.places[group];
        match &groups.chunks[chunk as usize] {
            Chunk::Here(bytes) => (self.bytes, self.in_block) = (&bytes[at as usize..], None),
            Chunk::Outside(offset, length) => {
                if self.read != Some(chunk) {
                    self.read(chunk, *offset, *length);
                }
                self.in_block = Some(if self.read.is_some() { at as usize } else { 0 });
            }
        }
        self.index = group * GROUP;
    }

    /// Reads a chunk that is outside.
    #[cold]
    fn read(&mut self, chunk: u32, offset: u64, length: u32) {
        self.block.resize(length as usize, 0);
        let outside = self.groups.outside.as_ref();
        let is_read = outside.is_some_and(|outside| outside.get(offset, &mut self.block));
        self.read = is_read.then_some(chunk);
        if !is_read {
            self.block.clear();
            self.block.extend(UNREADABLE);
        }
    }

    /// The number of the next segment.
    pub(super) const fn index(&self) -> usize {
        self.index
    }
}

impl Iterator for Steps<'_> {
    type Item = Start;

    #[inline]
    fn next(&mut self) -> Option<Start> {
        if self.index == self.groups.segments {
            return None;
        }
        if self.index.is_multiple_of(GROUP) {
            self.go_to_group(self.index / GROUP);
            self.at = self.groups.starts[self.index / GROUP];
        }
        let (head, key, step) = match self.in_block {
            None => unpack(&mut self.bytes),
            Some(at) => {
                let mut bytes = &self.block[at..];
                let segment = unpack(&mut bytes);
                self.in_block = Some(self.block.len() - bytes.len());
                segment
            }
        };
        self.at += step;
        self.index += 1;
        Some((self.at, Word((head & 7) << STATE | (head & 8) << 25 | key)))
    }
}

/// Returns the first byte of a segment, its key, and the time since the one before it.
#[inline]
fn unpack(bytes: &mut &[u8]) -> (u32, u32, u64) {
    let head = u32::from(byte(bytes));
    let key = match head >> 4 {
        0 => NOBODY,
        14 => INTERRUPT,
        15 => number(bytes) as u32,
        near => near - 1,
    };
    (head, key, number(bytes))
}

fn put_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 1 << 7 {
        push_slowly(bytes, value as u8 | 1 << 7);
        value >>= 7;
    }
    push_slowly(bytes, value as u8);
}

#[inline]
fn byte(bytes: &mut &[u8]) -> u8 {
    bytes.split_off_first().copied().expect("a group has all bytes of its segments")
}

#[inline]
fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = byte(bytes);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 1 << 7 {
            return value;
        }
        shift += 7;
    }
}

/// Reads segments that are near each other, in any order. It unpacks a group when it comes to it.
#[derive(Clone, Debug)]
pub(super) struct Reader<'g> {
    steps: Steps<'g>,
    /// The group that is unpacked.
    group: Option<usize>,
    unpacked: Vec<Start>,
}

impl<'g> Reader<'g> {
    pub(super) const fn new(groups: &'g Groups) -> Self {
        Self { steps: Steps::at_end(groups), group: None, unpacked: Vec::new() }
    }

    /// When a segment begins.
    ///
    /// # Panics
    /// If there is no such segment.
    #[inline]
    pub(super) fn start_of(&mut self, index: usize) -> u64 {
        if index.is_multiple_of(GROUP) {
            return self.steps.groups.starts[index / GROUP];
        }
        self.get(index).0
    }

    /// When a segment begins, and what it is.
    ///
    /// # Panics
    /// If there is no such segment.
    #[inline]
    pub(super) fn get(&mut self, index: usize) -> Start {
        let group = index / GROUP;
        if self.group != Some(group) {
            self.unpacked.clear();
            self.steps.go_to_group(group);
            self.unpacked.extend(self.steps.by_ref().take(GROUP));
            self.group = Some(group);
        }
        self.unpacked[index % GROUP]
    }
}

/// Sums over groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    short: Vec<Short>,
    /// Those that do not fit.
    long: Vec<Totals>,
}

/// Sums of at most about 4 s in half the space.
#[derive(Clone, Copy, Debug)]
struct Short {
    ns: [u32; 4],
    /// [`LONG`] if the sums are at the place `top_ns` of the long ones.
    top: u32,
    top_ns: u32,
}

const LONG: u32 = u32::MAX;

impl Sums {
    pub(super) const fn len(&self) -> usize {
        self.short.len()
    }

    pub(super) fn push(&mut self, totals: Totals) {
        let (all, top_ns) = (totals.all(), totals.top_ns());
        let fits = all.iter().chain([&top_ns]).all(|ns| u32::try_from(*ns).is_ok());
        let short = match fits {
            true => Short { ns: all.map(|ns| ns as u32), top: totals.top, top_ns: top_ns as u32 },
            false => {
                self.long.push(totals);
                Short { ns: [0; 4], top: LONG, top_ns: self.long.len() as u32 - 1 }
            }
        };
        push_slowly(&mut self.short, short);
    }

    pub(super) fn pop(&mut self) {
        if self.short.pop().is_some_and(|short| short.top == LONG) {
            self.long.pop();
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Totals {
        let short = self.short[index];
        match short.top {
            LONG => self.long[short.top_ns as usize],
            top => Totals::new(short.ns.map(u64::from), top, u64::from(short.top_ns)),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.short.shrink_to_fit();
        self.long.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::tests::Room;
    use hemiola_units::Random;
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = Word> {
        let key = prop_oneof![0_u32..20, 0_u32..1 << 27, Just(NOBODY), Just(INTERRUPT)];
        (0_usize..7, key, any::<bool>())
            .prop_map(|(state, key, is_release)| Word::new(State::ALL[state], key, is_release))
    }

    #[test]
    fn a_long_track_is_in_chunks_from_which_the_last_groups_can_be_taken_back() {
        let (mut random, mut at) = (Random::from_seed(3), 0);
        let segment = |_| {
            at += random.below(1 << 40);
            (at, Word::new(State::Running, random.below(1 << 27) as u32, false))
        };
        let plain: Vec<Start> = (0..30_000).map(segment).collect();
        let room = |chunk: &Chunk| match chunk {
            Chunk::Here(bytes) => bytes.capacity(),
            Chunk::Outside(..) => 0,
        };
        let outside = || Outside::new(Room::new(50_000, usize::MAX, true));
        for (outside, max) in [(None, CHUNK), (Some(outside()), BLOCK)] {
            let mut groups = Groups::outside(outside);
            plain.chunks(GROUP).for_each(|group| groups.push(group));
            assert!(groups.chunks.len() > 3);
            assert!(groups.chunks.iter().all(|chunk| room(chunk) <= max + max / 4));
            let is_outside = groups.chunks.iter().any(|chunk| matches!(chunk, Chunk::Outside(..)));
            assert_eq!(is_outside, max == BLOCK);
            assert!(Steps::from_group(&groups, 0).eq(plain.iter().copied()));
            for (group, first) in plain.iter().step_by(GROUP).enumerate() {
                assert_eq!(Steps::from_group(&groups, group).next(), Some(*first));
            }
            while groups.segments() > 10_000 {
                let last = groups.pop();
                assert_eq!(last, plain[groups.segments()..][..last.len()]);
            }
            let begin = groups.segments();
            plain[begin..].chunks(GROUP).for_each(|group| groups.push(group));
            groups.finish();
            assert!(Steps::from_group(&groups, 0).eq(plain.iter().copied()));
        }
    }

    proptest! {
        #[test]
        fn segments_are_found_as_in_a_plain_vector(
            steps in prop::collection::vec(
                (prop_oneof![0_u64..4, 0_u64..1 << 31, 0_u64..1 << 40], word()), 0..300,
            ),
            ask in prop::collection::vec(0_u64..1 << 42, 0..20),
        ) {
            let mut at = 0;
            let plain: Vec<Start> = steps.into_iter().map(|(step, word)| { at += step; (at, word) }).collect();
            let mut groups = Groups::default();
            plain.chunks(GROUP).for_each(|group| groups.push(group));
            prop_assert_eq!(groups.segments(), plain.len());
            let mut reader = Reader::new(&groups);
            prop_assert!(Steps::from_group(&groups, 0).eq(plain.iter().copied()));
            for index in (0..plain.len()).chain((0..plain.len()).rev()) {
                prop_assert_eq!(reader.start_of(index), plain[index].0);
                prop_assert_eq!(reader.get(index), plain[index]);
            }
            for at in plain.iter().map(|(at, _)| *at).chain(ask).chain([u64::MAX]) {
                let before = plain.partition_point(|(start, _)| *start < at);
                prop_assert_eq!(groups.before(at), before);
            }
            let mut popped = Vec::new();
            while groups.segments() > 0 {
                popped.splice(0..0, groups.pop());
            }
            prop_assert_eq!(popped, plain);
        }

        #[test]
        fn sums_of_any_length_are_kept(all in prop::collection::vec(any::<[u64; 4]>(), 1..20), shift in 0_u32..64) {
            let totals = |ns: &[u64; 4]| Totals::new(ns.map(|ns| ns >> shift), ns[0] as u32 & NOBODY, ns[1] >> shift);
            let mut sums = Sums::default();
            all.iter().for_each(|ns| sums.push(totals(ns)));
            for (index, ns) in all.iter().enumerate() {
                prop_assert_eq!(sums.get(index), totals(ns));
            }
            all.iter().for_each(|_| sums.pop());
            prop_assert_eq!((sums.len(), sums.long.len()), (0, 0));
        }
    }
}
