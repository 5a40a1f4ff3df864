//! One row's segments, and the sums over them from which any stretch is summed in a few steps.

use super::starts::{self, Starts, push_slowly};

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

/// Where a state's time is counted: running, waiting for a processor, blocked or throttled, unknown.
const fn slot(state: State) -> Option<usize> {
    match state {
        State::Rest => None,
        State::Running => Some(0),
        State::Ready | State::Preempted => Some(1),
        State::Blocked | State::Throttled => Some(2),
        State::Unknown => Some(3),
    }
}

impl Totals {
    /// Time in that state, ns. [`State::Ready`] and [`State::Preempted`] are counted together, and so are
    /// [`State::Blocked`] and [`State::Throttled`]; rest is not counted.
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        slot(state).map_or(0, |slot| self.ns[slot])
    }

    /// Running, waiting for a processor, blocked or throttled, unknown, ns.
    #[must_use]
    pub const fn all(&self) -> [u64; 4] {
        self.ns
    }

    #[inline]
    pub(super) fn add(&mut self, state: State, key: u32, ns: u64) {
        let Some(slot) = slot(state) else { return };
        self.ns[slot] += ns;
        // The key is that of the running thread, or else of the last segment.
        if slot == 0 {
            self.vote(key, ns);
        }
    }

    #[inline]
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.ns.iter_mut().zip(other.ns) {
            *mine += theirs;
        }
        self.vote(other.top, other.top_ns);
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

/// Segments that a sum above them stands for, at each level.
const FAN: usize = 16;

/// In a segment's word: the state is above the key, and between them two flags.
const STATE: u32 = 29;
/// A job is released when the segment begins.
const RELEASE: u32 = 1 << 28;
/// That job was seen in part only.
const IN_PART: u32 = 1 << 27;

/// The segments of one row, in order of time and without a hole between the first and the end.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Where each begins.
    starts: Starts,
    /// State, flags and key of each.
    words: Vec<u32>,
    /// The flags of the next segment.
    next: u32,
    /// The segment with which the last job began.
    job: usize,
    end: u64,
    /// Sums over [`FAN`] segments, over [`FAN`] of those, and so on.
    levels: Vec<Vec<Totals>>,
}

impl Track {
    /// How many segments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether it has no segments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
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
        let (first, mut cursor) = (self.at(from).unwrap_or(0), self.cursor());
        (first..self.len())
            .map(move |index| cursor.segment(index))
            .take_while(move |segment| segment.from < to)
            .map(move |segment| Segment {
                from: segment.from.max(from),
                to: segment.to.min(to),
                ..segment
            })
            .filter(|segment| segment.from < segment.to)
    }

    /// The number of the segment at a moment; none before the first.
    #[must_use]
    pub fn at(&self, at: u64) -> Option<usize> {
        self.starts.until(at).checked_sub(1)
    }

    /// All of it.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.cursor().sum(0, self.len())
    }

    /// Between two moments, ns.
    #[must_use]
    pub fn totals_between(&self, from: u64, to: u64) -> Totals {
        let mut totals = Totals::default();
        let to = to.min(self.end);
        let (Some(last), true) = (self.at(to), from < to) else { return totals };
        let (first, mut cursor) = (self.at(from).unwrap_or(0), self.cursor());
        cursor.partial(first, from, to, &mut totals);
        if last > first {
            totals.join(&cursor.sum(first + 1, last));
            cursor.partial(last, from, to, &mut totals);
        }
        totals
    }

    /// Reads segments that are near each other.
    pub(super) const fn cursor(&self) -> Cursor<'_> {
        Cursor { track: self, starts: self.starts.cursor() }
    }

    pub(super) fn what(&self, index: usize) -> (State, u32) {
        let word = self.words[index];
        (State::ALL[(word >> STATE) as usize], word & super::NOBODY)
    }

    /// The first segment that begins at a moment or later.
    pub(super) fn from(&self, at: u64) -> usize {
        self.starts.before(at)
    }

    /// Whether a job is released when the segment begins, and whether all of that job was seen.
    pub(super) fn releases(&self, index: usize) -> (bool, bool) {
        let word = self.words[index];
        (word & RELEASE != 0, word & IN_PART == 0)
    }

    /// From `at` on, another state. Time does not go back: an earlier moment counts as that of the last change.
    pub(super) fn push(&mut self, at: u64, state: State, key: u32) {
        let mut flags = std::mem::take(&mut self.next);
        let at = self.starts.last().map_or(at, |last| at.max(last));
        if self.starts.last() == Some(at) && !self.tells_something(state) {
            // A segment of no length is not kept.
            self.starts.pop();
            flags |= self.words.pop().map_or(0, |word| word & (RELEASE | IN_PART));
        }
        let word = (state as u32) << STATE | key.min(super::NOBODY);
        if flags & RELEASE != 0 {
            self.job = self.len();
        } else if self.words.last().is_some_and(|last| last & !(RELEASE | IN_PART) == word) {
            return;
        }
        self.starts.push(at);
        push_slowly(&mut self.words, word | flags);
    }

    /// Whether the last segment says something even without a length: what woke the thread, or that it ran then.
    fn tells_something(&self, next: State) -> bool {
        let Some(last) = self.len().checked_sub(1) else { return false };
        let (state, key) = self.what(last);
        match state {
            State::Running => last > 0 && self.starts.get(last - 1) == self.starts.get(last),
            State::Ready => next == State::Running && key != super::NOBODY,
            _ => false,
        }
    }

    /// The next segment releases a job.
    pub(super) const fn release(&mut self) {
        self.next |= RELEASE;
    }

    /// The last job was seen in part only.
    pub(super) fn in_part(&mut self) {
        match self.words.get_mut(self.job) {
            Some(word) if *word & RELEASE != 0 => *word |= IN_PART,
            _ => {}
        }
    }

    /// Ends the last segment and sums up.
    pub(super) fn close(&mut self, end: u64) {
        self.end = self.starts.last().map_or(end, |last| end.max(last));
        self.starts.shrink_to_fit();
        self.words.shrink_to_fit();
        self.levels.clear();
        let mut below = self.len();
        while below > FAN {
            // A last, incomplete group is never asked for: the ragged end is summed below.
            let mut cursor = self.cursor();
            let level: Vec<Totals> = (0..below / FAN)
                .map(|group| {
                    let mut totals = Totals::default();
                    for index in group * FAN..(group + 1) * FAN {
                        match self.levels.last() {
                            Some(lower) => totals.join(&lower[index]),
                            None => cursor.add(index, &mut totals),
                        }
                    }
                    totals
                })
                .collect();
            below = level.len();
            self.levels.push(level);
        }
    }
}

/// Reads the segments of a track that are near each other.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'t> {
    track: &'t Track,
    starts: starts::Cursor<'t>,
}

impl Cursor<'_> {
    /// When the segment of that number begins.
    #[inline]
    pub(super) fn start_of(&mut self, index: usize) -> u64 {
        self.starts.get(index)
    }

    #[inline]
    pub(super) fn end_of(&mut self, index: usize) -> u64 {
        if index + 1 < self.track.len() { self.start_of(index + 1) } else { self.track.end }
    }

    fn segment(&mut self, index: usize) -> Segment {
        let (state, key) = self.track.what(index);
        Segment { from: self.start_of(index), to: self.end_of(index), state, key }
    }

    /// The first segment from `index` on that begins at `at` or later; looks near first, for `at` is near.
    pub(super) fn next_from(&mut self, index: usize, at: u64) -> usize {
        let len = self.track.len();
        let (mut low, mut step) = (index, 1);
        while low + step < len && self.start_of(low + step) < at {
            low += step;
            step *= 2;
        }
        let mut high = len.min(low + step + 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.start_of(middle) < at {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Adds the part of a segment that is between two moments.
    pub(super) fn partial(&mut self, index: usize, from: u64, to: u64, totals: &mut Totals) {
        let Segment { from: start, to: end, state, key } = self.segment(index);
        totals.add(state, key, end.min(to).saturating_sub(start.max(from)));
    }

    fn add(&mut self, index: usize, totals: &mut Totals) {
        let Segment { from, to, state, key } = self.segment(index);
        totals.add(state, key, to - from);
    }

    /// The sum of the segments `from..to`, by number.
    pub(super) fn sum(&mut self, mut from: usize, mut to: usize) -> Totals {
        let (mut totals, levels) = (Totals::default(), &self.track.levels);
        // At each level the ragged ends are added one by one, and what is between them is left to the level above.
        for level in 0..=levels.len() {
            let mut add = |index: usize| match level {
                0 => self.add(index, &mut totals),
                _ => totals.join(&levels[level - 1][index]),
            };
            let top = level == levels.len();
            while from < to && (top || !from.is_multiple_of(FAN)) {
                add(from);
                from += 1;
            }
            while from < to && !to.is_multiple_of(FAN) {
                to -= 1;
                add(to);
            }
            if from >= to {
                break;
            }
            (from, to) = (from / FAN, to / FAN);
        }
        totals
    }
}
