//! One row's segments, and the sums over them from which any stretch is summed in a few steps.

use hemiola_stats::growth::push_slowly;

use super::packed::{GROUP, Groups, Reader, Start, Steps, Unpacked, Word};
use super::sweep::Sweep;
use crate::spill::Outside;

/// How a thread or a processor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// A thread sleeps, or is not there; a processor is idle.
    Rest = 0,
    /// It runs, or (a processor) runs a thread.
    Running = 1,
    /// Woken, and waits for a processor.
    Ready = 2,
    /// Another thread took its processor.
    Preempted = 3,
    /// Waits in the kernel for a device or a lock.
    Blocked = 4,
    /// It is not known.
    Unknown = 5,
    /// Has used up its reservation under `SCHED_DEADLINE`.
    Throttled = 6,
}

impl State {
    /// Every state, by its number.
    pub const ALL: [Self; 7] = [
        Self::Rest,
        Self::Running,
        Self::Ready,
        Self::Preempted,
        Self::Blocked,
        Self::Unknown,
        Self::Throttled,
    ];
}

/// A stretch in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its beginning, ns.
    pub from: u64,
    /// Its end, ns: the beginning of the next.
    pub to: u64,
    /// The state.
    pub state: State,
    /// The subject of the state; see [`Subject`](super::Subject).
    pub key: u32,
}

/// How long a stretch was spent in each state, and with whom most of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    ns: [u64; 4],
    /// The key with the most running time in it: for certain where one has more than half, else a likely one.
    pub top: u32,
    top_ns: u64,
}

/// Where the time of each state is counted, by its number: running, waiting for a processor, blocked or throttled,
/// unknown; rest and what is no state nowhere.
const SLOTS: [usize; 8] = [NOWHERE, 0, 1, 1, 2, 3, 2, NOWHERE];
const NOWHERE: usize = 4;

impl Totals {
    /// Time in that state, ns. [`State::Ready`] and [`State::Preempted`] are counted together, and so are
    /// [`State::Blocked`] and [`State::Throttled`]; rest is not counted.
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.ns.get(SLOTS[state as usize]).copied().unwrap_or(0)
    }

    /// Running, waiting for a processor, blocked or throttled, unknown, ns.
    #[must_use]
    pub const fn all(&self) -> [u64; 4] {
        self.ns
    }

    #[inline]
    pub(super) const fn new(ns: [u64; 4], top: u32, top_ns: u64) -> Self {
        Self { ns, top, top_ns }
    }

    /// Without this part of the running time, ns.
    #[must_use]
    pub(super) const fn less(mut self, running: u64) -> Self {
        self.ns[0] = self.ns[0].saturating_sub(running);
        self
    }

    /// By how much the votes for [`Totals::top`] exceed all others.
    #[inline]
    pub(super) const fn top_ns(&self) -> u64 {
        self.top_ns
    }

    /// Adds a time in the state of a segment.
    #[inline]
    pub(super) fn add(&mut self, word: Word, ns: u64) {
        let slot = SLOTS[word.state()];
        if slot < NOWHERE {
            self.ns[slot] += ns;
        }
        if slot == 0 {
            self.vote(word.key(), ns);
        }
    }

    #[inline]
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.ns.iter_mut().zip(other.ns) {
            *mine += theirs;
        }
        self.vote(other.top, other.top_ns);
    }

    /// A sum without a part of it, if it is certain which key ran in the rest: the part is empty, or one key alone
    /// ran.
    pub(super) fn without(mut self, part: [u64; 4]) -> Option<Self> {
        let is_certain = part == [0; 4] || self.top_ns == self.ns[0];
        for (sum, part) in self.ns.iter_mut().zip(part) {
            *sum -= part;
        }
        self.top_ns = self.top_ns.min(self.ns[0]);
        is_certain.then_some(self)
    }

    /// Boyer and Moore's majority vote with weights: what has more than half of the time wins.
    #[inline]
    fn vote(&mut self, key: u32, ns: u64) {
        if key == self.top {
            self.top_ns += ns;
        } else if ns > self.top_ns {
            (self.top, self.top_ns) = (key, ns - self.top_ns);
        } else {
            self.top_ns -= ns;
        }
    }
}

/// Segments that stay unpacked while a track grows: the last ones may still change.
const UNPACKED: usize = 8;

/// The segments of one row, in order of time and without a hole between the first and the end.
#[derive(Clone, Debug, Default)]
pub struct Track {
    groups: Groups,
    /// The segments after those in groups; none once the track is closed.
    open: Vec<Unpacked>,
    /// The segments whose job was seen in part only.
    in_part: Vec<usize>,
    /// The next segment releases a job.
    is_release: bool,
    /// The segment with which the last job began.
    job: Option<usize>,
    end: u64,
}

impl Track {
    /// A track whose segments go outside, except the last ones.
    pub(super) fn outside(outside: Option<Outside>) -> Self {
        Self { groups: Groups::outside(outside), ..Self::default() }
    }

    /// How many segments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.segments() + self.open.len()
    }

    /// Whether it has no segments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The segment of that number.
    ///
    /// # Panics
    /// If there is no such segment.
    #[must_use]
    pub fn segment(&self, index: usize) -> Segment {
        self.cursor().segment(index)
    }

    /// The segments that overlap `from..to`, clipped to it.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = Segment> + '_ {
        let mut sweep = Sweep::new(self, from);
        std::iter::from_fn(move || {
            let segment = sweep.segment().filter(|segment| segment.from < to)?;
            sweep.pass(segment.to);
            Some(Segment { to: segment.to.min(to), ..segment })
        })
    }

    /// The number of the segment at a moment; none before the first.
    #[must_use]
    pub fn at(&self, at: u64) -> Option<usize> {
        let after = at.checked_add(1).map_or(self.len(), |after| self.groups.before(after));
        after.checked_sub(1)
    }

    /// All of it.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals_between(0, u64::MAX)
    }

    /// Between two moments, ns.
    #[must_use]
    pub fn totals_between(&self, from: u64, to: u64) -> Totals {
        if from < to { Sweep::new(self, from).pass(to) } else { Totals::default() }
    }

    /// The segments from the one at a moment, or a few before it, on.
    pub(super) fn steps_to(&self, at: u64) -> Steps<'_> {
        self.groups.steps_to(at)
    }

    /// The end of the last segment, ns.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Reads segments that are near each other. The track is closed.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor { track: self, reader: Reader::new(&self.groups) }
    }

    /// From `at` on, another state. Time does not go back: an earlier moment counts as that of the last change.
    pub(super) fn push(&mut self, at: u64, state: State, key: u32) {
        let at = self.last().map_or(at, |last| at.max(last.0));
        let is_new = std::mem::take(&mut self.is_release);
        let (mut is_release, mut in_part) = (is_new, false);
        if self.last().is_some_and(|last| last.0 == at) && !self.tells_something(state) {
            // A segment of no length is not kept.
            is_release |= self.open.pop().is_some_and(|last| last.start().1.is_release());
            let place = self.groups.segments() + self.open.len();
            // Whether a job of no length is whole says nothing about the one that begins there.
            in_part = self.in_part.pop_if(|index| *index == place).is_some() && !is_new;
            self.reopen();
        }
        let word = Word::new(state, key, is_release);
        if is_release {
            self.job = Some(self.len());
            if in_part {
                self.in_part.push(self.len());
            }
        } else if self.last().is_some_and(|last| last.1.is_like(word)) {
            return;
        }
        push_slowly(&mut self.open, Unpacked::of((at, word)));
        if self.open.len() == GROUP + UNPACKED {
            self.pack(at);
        }
    }

    /// The beginning of the last segment.
    #[inline]
    fn last(&self) -> Option<Start> {
        self.open.last().map(|last| last.start())
    }

    /// Keeps two segments unpacked, if there are as many.
    fn reopen(&mut self) {
        if self.open.len() < 2 && self.groups.segments() > 0 {
            self.open.splice(0..0, self.groups.pop().into_iter().map(Unpacked::of));
        }
    }

    /// Packs the first of the open segments as a group; `end` is that of the last one.
    fn pack(&mut self, end: u64) {
        let mut totals = Totals::default();
        let group: [Start; GROUP] = std::array::from_fn(|index| self.open[index].start());
        let next = self.open.get(GROUP).map_or(end, |next| next.start().0);
        let ends = group.iter().skip(1).map(|(start, _)| *start).chain([next]);
        for (&(from, word), to) in group.iter().zip(ends) {
            totals.add(word, to - from);
        }
        self.groups.push(&group, &totals);
        // Not all rows are about to fill another group.
        self.open = self.open[GROUP..].to_vec();
    }

    /// Whether the last segment says something even without a length: what woke the thread, or that it ran then.
    fn tells_something(&self, next: State) -> bool {
        let [before @ .., last] = &self.open[..] else { return false };
        let (start, word) = last.start();
        let (state, key) = word.what();
        match state {
            State::Running => before.last().is_some_and(|before| before.start().0 == start),
            State::Ready => next == State::Running && key != super::NOBODY,
            _ => false,
        }
    }

    /// The next segment releases a job.
    pub(super) const fn release(&mut self) {
        self.is_release = true;
    }

    /// The last job was seen in part only.
    pub(super) fn in_part(&mut self) {
        if let Some(job) = self.job
            && self.in_part.last() != Some(&job)
        {
            self.in_part.push(job);
        }
    }

    /// Ends the last segment and sums up, unless that has been done.
    pub(super) fn close(&mut self, end: u64) {
        if self.open.is_empty() && self.groups.segments() > 0 {
            return;
        }
        self.end = self.last().map_or(end, |last| end.max(last.0));
        if self.open.len() >= GROUP {
            self.pack(self.end);
        }
        // Of a last group that is not full no sum is asked for.
        let last: Vec<Start> = self.open.iter().map(|last| last.start()).collect();
        self.groups.push(&last, &Totals::default());
        self.open = Vec::new();
        self.groups.finish();
        self.in_part.shrink_to_fit();
    }
}

/// Reads the segments of a track that are near each other, in any order.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'t> {
    track: &'t Track,
    reader: Reader<'t>,
}

impl Cursor<'_> {
    /// How many segments the track has.
    pub(super) fn len(&self) -> usize {
        self.track.len()
    }

    /// When the segment of that number begins.
    #[inline]
    pub(super) fn start_of(&mut self, index: usize) -> u64 {
        self.reader.start_of(index)
    }

    /// The first segment that begins at a moment or later.
    pub(super) fn before(&self, at: u64) -> usize {
        self.track.groups.before(at)
    }

    /// How a thread or processor stands in a segment, and the subject of that.
    #[inline]
    pub(super) fn what(&mut self, index: usize) -> (State, u32) {
        self.reader.get(index).1.what()
    }

    /// Whether a job is released when the segment begins, and whether all of that job was seen.
    pub(super) fn releases(&mut self, index: usize) -> (bool, bool) {
        let is_whole = self.track.in_part.binary_search(&index).is_err();
        (self.reader.get(index).1.is_release(), is_whole)
    }

    #[inline]
    pub(super) fn end_of(&mut self, index: usize) -> u64 {
        if index + 1 < self.track.len() { self.start_of(index + 1) } else { self.track.end }
    }

    pub(super) fn segment(&mut self, index: usize) -> Segment {
        let (from, word) = self.reader.get(index);
        let (state, key) = word.what();
        Segment { from, to: self.end_of(index), state, key }
    }
}
