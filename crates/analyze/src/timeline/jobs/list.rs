//! The jobs of one row, packed.

use std::cmp::Reverse;

use hemiola_stats::growth::push_slowly;
use hemiola_stats::{Numbers, Stream};

use super::Job;

/// Jobs in about ten bytes each: a row may have millions. They are in the order of their starts; one may have been
/// released before the job before it.
///
/// ```
/// use hemiola_analyze::timeline::jobs::{Job, List};
/// let job = |release| {
///     let (start, finish) = (release + 3, release + 40);
///     Job { release, start, finish, deadline: Some(release + 50), cycle: None, track: None, whole: true }
/// };
/// let list: List = (0..1000).map(|n| job(n * 100)).collect();
/// assert_eq!((list.len(), list.get(700)), (1000, Some(job(70_000))));
/// assert_eq!((list.at(70_020), list.at(70_090)), (Some(700), Some(701)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// Of each job: flags, the distance of its release from that of the job before, and then its start, finish,
    /// deadline, cycle and track as far as it has them, the times as distances.
    numbers: Numbers,
    /// The jobs by [`BLOCK`]s.
    blocks: Vec<Block>,
    count: usize,
    /// The release of the last job, ns.
    last: u64,
}

/// Where some jobs are; times are in ns.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    /// Where its numbers begin.
    at: usize,
    /// The release of the job before.
    last: u64,
    /// The first release in it.
    from: u64,
    /// The last end in it: jobs end in any order, because one may be inside another.
    to: u64,
}

/// Jobs that are unpacked together.
const BLOCK: usize = 64;

const WHOLE: u64 = 1;
const DEADLINE: u64 = 2;
const CYCLE: u64 = 4;
const TRACK: u64 = 8;
/// It was released before the job before it.
const EARLIER: u64 = 16;

impl List {
    /// How many jobs there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a job.
    pub fn push(&mut self, job: &Job) {
        if self.count.is_multiple_of(BLOCK) {
            let at = self.numbers.bytes().len();
            push_slowly(&mut self.blocks, Block { at, last: self.last, from: u64::MAX, to: 0 });
        }
        if let Some(block) = self.blocks.last_mut() {
            (block.from, block.to) = (block.from.min(job.release), block.to.max(job.finish));
        }
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let flags = flag(job.whole, WHOLE)
            | flag(job.deadline.is_some(), DEADLINE)
            | flag(job.cycle.is_some(), CYCLE)
            | flag(job.track.is_some(), TRACK)
            | flag(job.release < self.last, EARLIER);
        let since = job.release.abs_diff(self.last);
        let (start, finish) =
            (job.start.wrapping_sub(job.release), job.finish.wrapping_sub(job.start));
        [flags, since, start, finish].into_iter().for_each(|number| self.numbers.push(number));
        let deadline = job.deadline.map(|deadline| deadline.wrapping_sub(job.release));
        let others = [deadline, job.cycle.map(u64::from), job.track.map(|track| track as u64)];
        others.into_iter().flatten().for_each(|number| self.numbers.push(number));
        (self.count, self.last) = (self.count + 1, job.release);
    }

    /// The jobs in order.
    pub fn iter(&self) -> impl Iterator<Item = Job> + Clone + '_ {
        self.of_block(0)
    }

    /// The job of a number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Job> {
        self.of_block(number / BLOCK).nth(number % BLOCK)
    }

    fn of_block(&self, block: usize) -> impl Iterator<Item = Job> + Clone + '_ {
        let place = self.blocks.get(block).map(|block| (block.at, block.last));
        let (at, mut last) = place.unwrap_or((self.numbers.bytes().len(), 0));
        let mut numbers = Numbers::unpack(&self.numbers.bytes()[at..]);
        std::iter::from_fn(move || {
            let (flags, since) = (numbers.next()?, numbers.next()?);
            let release = match flags & EARLIER {
                0 => last.wrapping_add(since),
                _ => last.wrapping_sub(since),
            };
            let start = release.wrapping_add(numbers.next()?);
            let finish = start.wrapping_add(numbers.next()?);
            let mut of = |flag: u64| if flags & flag == 0 { None } else { numbers.next() };
            let deadline = of(DEADLINE).map(|after| release.wrapping_add(after));
            let (cycle, track) = (of(CYCLE), of(TRACK));
            last = release;
            let (cycle, track) =
                (cycle.map(|cycle| cycle as u32), track.map(|track| track as usize));
            Some(Job { release, start, finish, deadline, cycle, track, whole: flags & WHOLE != 0 })
        })
    }

    /// The jobs that are released before `to` and do not end before `from`, with their numbers.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = (usize, Job)> + '_ {
        let blocks = self.blocks.iter().enumerate();
        let blocks = blocks.filter(move |(_, block)| block.from < to && block.to >= from);
        let jobs = blocks.flat_map(|(number, _)| {
            self.of_block(number)
                .take(BLOCK)
                .enumerate()
                .map(move |(index, job)| (number * BLOCK + index, job))
        });
        jobs.filter(move |(_, job)| job.release < to && job.finish >= from)
    }

    /// Of the jobs of [`List::between`] the `most` that matter most, by number: those that are latest, and then those
    /// that take longest.
    #[must_use]
    pub fn foremost(&self, from: u64, to: u64, most: usize) -> Vec<(usize, Job)> {
        let mut jobs: Vec<(usize, Job)> = self.between(from, to).collect();
        if jobs.len() > most {
            let rank = |(_, job): &(usize, Job)| Reverse((job.late(), job.response()));
            jobs.sort_by_key(rank);
            jobs.truncate(most);
            jobs.sort_by_key(|(number, _)| *number);
        }
        jobs
    }

    /// The number of the job at a moment, the last released of several, or of the nearest one.
    #[must_use]
    pub fn at(&self, at: u64) -> Option<usize> {
        let open = self.between(at, at.saturating_add(1));
        if let Some((number, _)) = open.max_by_key(|(number, job)| (job.release, *number)) {
            return Some(number);
        }
        let distance = |from: u64, to: u64| from.saturating_sub(at).max(at.saturating_sub(to));
        // No job of a block is nearer than this.
        let least = |block: &Block| distance(block.from, block.to);
        let in_block = |block: usize| {
            let jobs = self.of_block(block).take(BLOCK).enumerate();
            let distances = jobs.map(move |(index, job)| {
                let number = Reverse(block * BLOCK + index);
                (distance(job.release, job.finish), job.release > at, number)
            });
            distances.min()
        };
        let nearest = (0..self.blocks.len()).min_by_key(|block| least(&self.blocks[*block]))?;
        let mut found = in_block(nearest)?;
        for (number, block) in self.blocks.iter().enumerate() {
            if least(block) <= found.0 {
                found = in_block(number).map_or(found, |other| other.min(found));
            }
        }
        Some(found.2.0)
    }

    /// The number of the first job whose response time is the median of the whole ones; of more than 1024, a response
    /// time at most 0.8 % above it.
    #[must_use]
    pub fn median(&self) -> Option<usize> {
        let mut responses = Stream::default();
        let whole = || self.iter().filter(|job| job.whole);
        whole().for_each(|job| responses.push(job.response()));
        let median = responses.distribution()?.p50;
        self.iter().position(|job| job.whole && job.response() == median)
    }

    /// The number of the last of the whole jobs with the longest response time.
    #[must_use]
    pub fn slowest(&self) -> Option<usize> {
        let whole = self.iter().enumerate().filter(|(_, job)| job.whole);
        whole.max_by_key(|(_, job)| job.response()).map(|(number, _)| number)
    }
}

impl FromIterator<Job> for List {
    fn from_iter<I: IntoIterator<Item = Job>>(jobs: I) -> Self {
        let mut list = Self::default();
        jobs.into_iter().for_each(|job| list.push(&job));
        list
    }
}
