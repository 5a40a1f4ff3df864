//! Segments in a few bytes each, in groups that are unpacked together, and groups in blocks that are read together.
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
//!
//! A block has a directory before its groups, with these varints for each of them:
//!
//! ```text
//! ns since the group before it in the block; 0 for the first
//! its length in bytes
//! the sum of its segments: four times, a key and its votes; zeros for a group that is not full
//! ```
//!
//! Of a block, only its beginning, its place and its sum stay in memory.

use hemiola_stats::growth::push_slowly;

use super::sums::{Pyramid, Sums};
use super::track::{State, Totals};
use super::{INTERRUPT, NOBODY};
use crate::spill::Outside;

/// Segments in a group.
pub(super) const GROUP: usize = 32;

/// Groups in a block.
const GROUPS: usize = 8;

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

/// The same in twelve bytes instead of sixteen: many rows have some that are not packed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unpacked {
    /// The lower and the upper half of the beginning.
    at: [u32; 2],
    word: Word,
}

impl Unpacked {
    #[inline]
    pub(super) const fn of((at, word): Start) -> Self {
        Self { at: [at as u32, (at >> 32) as u32], word }
    }

    #[inline]
    pub(super) const fn start(self) -> Start {
        let [low, high] = self.at;
        ((high as u64) << 32 | low as u64, self.word)
    }
}

/// Packed groups, all of [`GROUP`] segments but the last one of a track that is complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// When each block begins, ns: the full ones, and then the open one.
    starts: Vec<u64>,
    /// Where the full blocks are; all blocks once no more groups follow.
    places: Vec<BlockPlace>,
    /// The bytes of those that are in memory.
    here: Vec<Box<[u8]>>,
    /// The sum of each of these.
    sums: Sums,
    /// Sums over many of them, once no more groups follow.
    pyramid: Pyramid,
    open: Open,
    segments: usize,
    /// Where full blocks go; none if all stay in memory.
    outside: Option<Outside>,
}

/// Where the bytes of a block are, in one word: a long recording has a million blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockPlace(u64);

/// Bits for the length of a block outside, which has 256 segments of at most 16 bytes and a directory. The offset is
/// above them.
const LENGTH_BITS: u32 = 15;

impl BlockPlace {
    /// In memory, the block of that number among those that are.
    const fn here(number: usize) -> Self {
        Self((number as u64) << LENGTH_BITS)
    }

    /// Outside, at an offset and of a length. `None` if that does not fit: an offset beyond 512 TiB.
    fn outside(offset: u64, length: usize) -> Option<Self> {
        let fits =
            offset < 1 << (u64::BITS - LENGTH_BITS) && (1..1 << LENGTH_BITS).contains(&length);
        fits.then_some(Self(offset << LENGTH_BITS | length as u64))
    }

    /// The offset and the length of a block outside; in memory, its number and 0.
    const fn get(self) -> (u64, usize) {
        (self.0 >> LENGTH_BITS, (self.0 & ((1 << LENGTH_BITS) - 1)) as usize)
    }
}

/// The block to which groups are added.
#[derive(Clone, Debug, Default)]
struct Open {
    directory: Vec<u8>,
    bytes: Vec<u8>,
    /// How many groups it has.
    groups: usize,
    /// When the last one begins, ns.
    last: u64,
}

/// What a block tells about its groups.
#[derive(Clone, Copy, Debug, Default)]
struct Directory {
    groups: usize,
    entries: [InBlock; GROUPS],
}

/// A group in a block.
#[derive(Clone, Copy, Debug, Default)]
struct InBlock {
    /// When it begins, ns.
    start: u64,
    /// Where its bytes begin.
    at: usize,
    length: usize,
    sum: Totals,
}

impl Directory {
    /// Reads the directory of that many groups, of which the first begins at `start`, from the beginning of a block.
    fn read(bytes: &mut &[u8], groups: usize, start: u64) -> Self {
        let mut directory = Self { groups, ..Self::default() };
        let (mut start, mut at) = (start, 0);
        for entry in directory.entries.iter_mut().take(groups) {
            start += number(bytes);
            let length = number(bytes) as usize;
            let ns = std::array::from_fn(|_| number(bytes));
            let (top, top_ns) = (number(bytes) as u32, number(bytes));
            *entry = InBlock { start, at, length, sum: Totals::new(ns, top, top_ns) };
            at += length;
        }
        directory
    }

    /// Writes the entry of a group that begins so long after the one before it.
    fn write(bytes: &mut Vec<u8>, since: u64, length: usize, sum: &Totals) {
        put_number(bytes, since);
        put_number(bytes, length as u64);
        sum.all().into_iter().for_each(|ns| put_number(bytes, ns));
        put_number(bytes, u64::from(sum.top));
        put_number(bytes, sum.top_ns());
    }

    /// Of a block that can no longer be read: its groups are [`UNREADABLE`]. All begin with the block, so the last one
    /// lasts until the next block, of which `next` is the beginning, if there is one.
    fn unreadable(groups: usize, start: u64, next: Option<u64>) -> Self {
        let mut directory = Self { groups, ..Self::default() };
        for (index, entry) in directory.entries.iter_mut().take(groups).enumerate() {
            *entry =
                InBlock { start, at: index * 2 * GROUP, length: 2 * GROUP, ..InBlock::default() };
        }
        if let (Some(last), Some(next)) = (groups.checked_sub(1), next) {
            directory.entries[last].sum = Totals::new([0, 0, 0, next - start], 0, 0);
        }
        directory
    }

    fn entries(&self) -> &[InBlock] {
        &self.entries[..self.groups]
    }

    /// The sum of all groups.
    fn sum(&self) -> Totals {
        let mut totals = Totals::default();
        self.entries().iter().for_each(|entry| totals.join(&entry.sum));
        totals
    }
}

impl Groups {
    /// Groups whose full blocks go outside.
    pub(super) fn outside(outside: Option<Outside>) -> Self {
        Self { outside, ..Self::default() }
    }

    /// How many segments there are.
    pub(super) const fn segments(&self) -> usize {
        self.segments
    }

    /// How many groups a block has.
    fn groups_in(&self, block: usize) -> usize {
        (self.segments.div_ceil(GROUP) - block * GROUPS).min(GROUPS)
    }

    /// Adds a group with the sum of its segments.
    pub(super) fn push(&mut self, group: &[Start], sum: &Totals) {
        let Some(&(start, _)) = group.first() else { return };
        if self.open.groups == GROUPS {
            self.close_block();
        }
        if self.open.groups == 0 {
            push_slowly(&mut self.starts, start);
            self.open.last = start;
        }
        let Open { directory, bytes, groups, last } = &mut self.open;
        let begin = bytes.len();
        let mut before = start;
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
        Directory::write(directory, start - *last, bytes.len() - begin, sum);
        (*groups, *last) = (*groups + 1, start);
        self.segments += group.len();
    }

    /// Moves the open block to the full ones.
    fn close_block(&mut self) {
        let Open { directory, bytes, groups, .. } = &mut self.open;
        let start = self.starts.last().copied().unwrap_or(0);
        let sum = Directory::read(&mut directory.as_slice(), *groups, start).sum();
        // Of many rows, half of this room would always be empty if it were kept for the next block.
        let whole = [std::mem::take(directory), std::mem::take(bytes)].concat();
        *groups = 0;
        let place = match self.outside.as_ref().and_then(|outside| outside.put(&whole)) {
            Some(offset) => BlockPlace::outside(offset, whole.len()),
            None => None,
        };
        let place = place.unwrap_or_else(|| {
            push_slowly(&mut self.here, whole.into());
            BlockPlace::here(self.here.len() - 1)
        });
        push_slowly(&mut self.places, place);
        self.sums.push(sum);
    }

    /// Makes the last full block the open one.
    fn reopen_block(&mut self) {
        let Some(block) = self.places.len().checked_sub(1) else { return };
        let mut loaded = Loaded::default();
        loaded.load(self, block);
        let mut open = Open { bytes: loaded.bytes().to_vec(), ..Open::default() };
        open.set_groups(loaded.directory.entries());
        self.open = open;
        if self.places.pop().is_some_and(|place| place.get().1 == 0) {
            self.here.pop();
        }
        self.sums.pop();
    }

    /// Takes the last group away, and returns its segments.
    pub(super) fn pop(&mut self) -> Vec<Start> {
        let Some(group) = self.segments.div_ceil(GROUP).checked_sub(1) else { return Vec::new() };
        if self.open.groups == 0 {
            self.reopen_block();
        }
        let last = Steps::from_group(self, group).collect();
        let directory = self.open_directory();
        if let [before @ .., entry] = directory.entries() {
            self.open.bytes.truncate(entry.at);
            self.open.set_groups(before);
            if before.is_empty() {
                self.starts.pop();
            }
        }
        self.segments = group * GROUP;
        last
    }

    fn open_directory(&self) -> Directory {
        let start = self.starts.last().copied().unwrap_or(0);
        Directory::read(&mut self.open.directory.as_slice(), self.open.groups, start)
    }

    /// The steps from the beginning of a group that has the last segment before a moment, or of the first group.
    pub(super) fn steps_to(&self, at: u64) -> Steps<'_> {
        let block = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        Steps::from_block(self, block, |entry| entry.start <= at)
    }

    /// How many segments begin before a moment.
    pub(super) fn before(&self, at: u64) -> usize {
        let block = self.starts.partition_point(|start| *start < at).saturating_sub(1);
        let steps = Steps::from_block(self, block, |entry| entry.start < at);
        let first = steps.index;
        first + steps.take(GROUP).take_while(|(start, _)| *start < at).count()
    }

    /// The last block, from a block on, that begins at a moment or before.
    #[inline]
    fn last_block_until(&self, block: usize, to: u64) -> usize {
        let later = self.starts.get(block + 1..).unwrap_or_default();
        let mut step = 1;
        while step < later.len() && later[step] <= to {
            step *= 2;
        }
        let (low, high) = (step / 2, later.len().min(step));
        block + low + later[low..high].partition_point(|start| *start <= to)
    }

    /// Gives unused room back, and sums up. No more groups follow.
    pub(super) fn finish(&mut self) {
        if self.open.groups > 0 {
            self.close_block();
        }
        self.open = Open::default();
        self.starts.shrink_to_fit();
        self.places.shrink_to_fit();
        self.here.shrink_to_fit();
        self.sums.shrink_to_fit();
        self.pyramid = Pyramid::of(&self.sums);
    }
}

impl Open {
    /// Writes the directory anew.
    fn set_groups(&mut self, entries: &[InBlock]) {
        self.directory.clear();
        let mut before = entries.first().map_or(0, |entry| entry.start);
        for entry in entries {
            let InBlock { start, length, ref sum, .. } = *entry;
            Directory::write(&mut self.directory, start - before, length, sum);
            before = start;
        }
        (self.groups, self.last) = (entries.len(), before);
    }
}

/// A block that was read.
#[derive(Clone, Debug, Default)]
struct Loaded<'g> {
    /// Its number.
    block: Option<usize>,
    directory: Directory,
    /// Its groups, if they are in memory.
    here: &'g [u8],
    /// Otherwise its bytes, and where in them its groups begin.
    read: Vec<u8>,
    groups_at: Option<usize>,
}

/// Stands for the groups of a block that can no longer be read: segments of no length in an unknown state.
static UNREADABLE: [u8; 2 * GROUP * GROUPS] = {
    let mut bytes = [0; 2 * GROUP * GROUPS];
    let mut segment = 0;
    while segment < GROUP * GROUPS {
        bytes[2 * segment] = State::Unknown as u8;
        segment += 1;
    }
    bytes
};

impl<'g> Loaded<'g> {
    /// Reads a block.
    fn load(&mut self, groups: &'g Groups, block: usize) {
        let (count, start) = (groups.groups_in(block), groups.starts[block]);
        self.block = Some(block);
        match groups.places.get(block).map(|place| place.get()) {
            None => {
                self.directory = groups.open_directory();
                (self.here, self.groups_at) = (&groups.open.bytes, None);
            }
            Some((number, 0)) => {
                let mut rest = &groups.here[number as usize][..];
                self.directory = Directory::read(&mut rest, count, start);
                (self.here, self.groups_at) = (rest, None);
            }
            Some((offset, length)) => {
                self.read.resize(length, 0);
                let outside = groups.outside.as_ref();
                if outside.is_some_and(|outside| outside.get(offset, &mut self.read)) {
                    let mut rest = &self.read[..];
                    self.directory = Directory::read(&mut rest, count, start);
                    self.groups_at = Some(self.read.len() - rest.len());
                } else {
                    let next = groups.starts.get(block + 1).copied();
                    self.directory = Directory::unreadable(count, start, next);
                    (self.here, self.groups_at) = (&UNREADABLE, None);
                }
            }
        }
    }

    /// The bytes of its groups.
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self.groups_at {
            None => self.here,
            Some(at) => &self.read[at..],
        }
    }
}

/// Goes from segment to segment, and unpacks each when it comes to it.
#[derive(Clone, Debug)]
pub(super) struct Steps<'g> {
    groups: &'g Groups,
    loaded: Loaded<'g>,
    /// Where in the groups of the block the next segment is.
    at_byte: usize,
    /// The number of the next segment.
    index: usize,
    /// When the last segment began, ns.
    at: u64,
}

impl<'g> Steps<'g> {
    fn at_end(groups: &'g Groups) -> Self {
        let index = groups.segments;
        Self { groups, loaded: Loaded::default(), at_byte: 0, index, at: 0 }
    }

    /// From the first segment of a group on.
    pub(super) fn from_group(groups: &'g Groups, group: usize) -> Self {
        let mut steps = Self::at_end(groups);
        if group * GROUP < groups.segments {
            steps.go_to_group(group);
        }
        steps
    }

    /// From the last group of a block on that `is_before` accepts, or from its first.
    fn from_block(groups: &'g Groups, block: usize, is_before: impl Fn(&InBlock) -> bool) -> Self {
        let mut steps = Self::at_end(groups);
        if block < groups.starts.len() {
            let entries = steps.load(block).entries();
            let group = entries.partition_point(is_before).saturating_sub(1);
            steps.go_to_group(block * GROUPS + group);
        }
        steps
    }

    /// Goes to the first segment of a group.
    pub(super) fn go_to_group(&mut self, group: usize) {
        let InBlock { at, start, .. } = self.load(group / GROUPS).entries[group % GROUPS];
        (self.at_byte, self.at) = (at, start);
        self.index = group * GROUP;
    }

    /// Reads a block, unless it is the one that was read last.
    #[inline]
    fn load(&mut self, block: usize) -> &Directory {
        if self.loaded.block != Some(block) {
            self.loaded.load(self.groups, block);
        }
        &self.loaded.directory
    }

    /// Passes the rest of a group and those after it that end at `to` or before, if their sums tell enough. Of the
    /// first group, `passed` is over. Adds what is passed to the totals, and returns the group reached.
    pub(super) fn pass(
        &mut self,
        first: usize,
        passed: [u64; 4],
        to: u64,
        totals: &mut Totals,
    ) -> Option<usize> {
        if first * GROUP >= self.groups.segments {
            return None;
        }
        let (block, within) = (first / GROUPS, first % GROUPS);
        let until = self.groups.last_block_until(block, to);
        let entries = self.load(block).entries();
        // The last group of this block that begins in time.
        let reached = match block == until {
            true => within + entries[within + 1..].partition_point(|entry| entry.start <= to),
            false => entries.len() - 1,
        };
        if block == until && reached == within {
            return None;
        }
        totals.join(&entries[within].sum.without(passed)?);
        let end = if block == until { reached } else { entries.len() };
        entries[within + 1..end].iter().for_each(|entry| totals.join(&entry.sum));
        if block == until {
            return Some(block * GROUPS + reached);
        }
        totals.join(&self.groups.pyramid.sum(&self.groups.sums, block + 1, until));
        let entries = self.load(until).entries();
        let reached = entries.partition_point(|entry| entry.start <= to).saturating_sub(1);
        entries[..reached].iter().for_each(|entry| totals.join(&entry.sum));
        Some(until * GROUPS + reached)
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
        }
        // A sum over blocks may have read another one since.
        self.load(self.index / (GROUP * GROUPS));
        let rest = &self.loaded.bytes()[self.at_byte..];
        let mut bytes = rest;
        let (head, key, step) = unpack(&mut bytes);
        self.at_byte += rest.len() - bytes.len();
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
    pub(super) fn new(groups: &'g Groups) -> Self {
        Self { steps: Steps::at_end(groups), group: None, unpacked: Vec::new() }
    }

    /// When a segment begins.
    ///
    /// # Panics
    /// If there is no such segment.
    #[inline]
    pub(super) fn start_of(&mut self, index: usize) -> u64 {
        let group = index / GROUP;
        // The beginnings of blocks are at hand, and the block that was read knows those of its groups.
        if index.is_multiple_of(GROUP * GROUPS) {
            return self.steps.groups.starts[group / GROUPS];
        }
        if index.is_multiple_of(GROUP) && self.steps.loaded.block == Some(group / GROUPS) {
            return self.steps.loaded.directory.entries[group % GROUPS].start;
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
    fn a_long_track_is_in_blocks_from_which_the_last_groups_can_be_taken_back() {
        let (mut random, mut at) = (Random::from_seed(3), 0);
        let segment = |_| {
            at += random.below(1 << 40);
            (at, Word::new(State::Running, random.below(1 << 27) as u32, false))
        };
        let plain: Vec<Start> = (0..30_000).map(segment).collect();
        let nothing = Totals::default();
        let outside = Some(Outside::new(Room::new(50_000, usize::MAX, true)));
        for (outside, goes_outside) in [(None, false), (outside, true)] {
            let mut groups = Groups::outside(outside);
            plain.chunks(GROUP).for_each(|group| groups.push(group, &nothing));
            assert_eq!(groups.places.len(), 30_000_usize.div_ceil(GROUP * GROUPS) - 1);
            let is_outside = |place: &BlockPlace| place.get().1 > 0;
            assert_eq!(groups.places.iter().any(is_outside), goes_outside);
            assert!(Steps::from_group(&groups, 0).eq(plain.iter().copied()));
            for (group, first) in plain.iter().step_by(GROUP).enumerate() {
                assert_eq!(Steps::from_group(&groups, group).next(), Some(*first));
            }
            while groups.segments() > 10_000 {
                let last = groups.pop();
                assert_eq!(last, plain[groups.segments()..][..last.len()]);
            }
            let begin = groups.segments();
            plain[begin..].chunks(GROUP).for_each(|group| groups.push(group, &nothing));
            groups.finish();
            assert!(Steps::from_group(&groups, 0).eq(plain.iter().copied()));
            // Also those that no more groups should follow.
            while groups.segments() > 25_000 {
                groups.pop();
            }
            assert!(Steps::from_group(&groups, 0).eq(plain[..groups.segments()].iter().copied()));
        }
    }

    proptest! {
        #[test]
        fn segments_are_found_as_in_a_plain_vector(
            steps in prop::collection::vec(
                (prop_oneof![0_u64..4, 0_u64..1 << 31, 0_u64..1 << 40], word()), 0..1200,
            ),
            ask in prop::collection::vec(0_u64..1 << 42, 0..20),
            is_finished in any::<bool>(),
        ) {
            let mut at = 0;
            let plain: Vec<Start> = steps.into_iter().map(|(step, word)| { at += step; (at, word) }).collect();
            let mut groups = Groups::default();
            plain.chunks(GROUP).for_each(|group| groups.push(group, &Totals::default()));
            if is_finished {
                groups.finish();
            }
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
    }
}
