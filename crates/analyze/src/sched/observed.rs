//! The times of the jobs of a thread: in memory, or outside once there are many threads with many jobs.

use std::borrow::Cow;

use hemiola_stats::{Numbers, Stream};

use crate::spill::Outside;

/// A time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Series {
    Execution,
    Latency,
    Response,
    /// The time since the release before.
    Interval,
    Blocking,
}

/// How many of these there are.
const SERIES: usize = 5;

impl Series {
    const ALL: [Self; SERIES] =
        [Self::Execution, Self::Latency, Self::Response, Self::Interval, Self::Blocking];
}

/// A thread of which so much was observed has many jobs.
const MANY: u64 = 128;

/// At most this part of its observations waits in memory for the next block, but at least [`MANY`] and no more than
/// [`WAITING_MAX`] do.
const WAITING_PART: u64 = 64;
const WAITING_MAX: u64 = 4096;

/// About the bytes of a thread with many jobs in memory, most of them the buckets of its series.
const MANY_BYTES: usize = 50 << 10;

/// Where the observations of threads with many jobs go.
#[derive(Debug)]
pub(super) struct ManyJobs {
    outside: Outside,
    /// How many more threads may stay in memory.
    kept: usize,
}

impl ManyJobs {
    pub(super) fn new(outside: Outside) -> Self {
        Self { kept: outside.kept_max() / MANY_BYTES, outside }
    }

    /// Whether observations could not be read back.
    pub(super) fn is_unread(&self) -> bool {
        self.outside.is_unread()
    }

    /// Whether one more thread stays in memory.
    fn keeps_one_more(&mut self) -> bool {
        let is_kept = self.kept > 0;
        self.kept -= usize::from(is_kept);
        is_kept
    }
}

/// The series of a thread, each in order: whole numbers, mostly nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed(Form);

#[derive(Clone, Debug, Default)]
enum Form {
    #[default]
    Nothing,
    Here(Box<Streams>),
    Outside(Box<Log>),
}

/// The series of a thread in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    /// Each at the place of its number.
    all: [Stream; SERIES],
    /// How many observations there are of all.
    count: u64,
}

/// All observations of a thread: a few in memory, and those before them in blocks.
#[derive(Clone, Debug, Default)]
struct Log {
    last: Block,
    /// How many observations there are of each series.
    counts: [u64; SERIES],
    waiting: Waiting,
}

/// Observations of all series in the order in which they were made.
///
/// An observation is a number: the value above three bits for the series. A value that has no place above them follows
/// as a second number, and the first one has [`FOLLOWS`] in its place and the series above it.
#[derive(Clone, Debug, Default)]
struct Waiting(Numbers);

const FOLLOWS: u64 = 7;

/// Where a block of observations is, and its length; the length is 0 if there is none.
///
/// A block begins with these two of the block before it, in little-endian order, so only the last one need be known.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    offset: u64,
    length: u32,
}

/// The bytes of a block before its observations.
const HEAD: usize = 12;

impl Block {
    /// Puts observations outside, behind the block.
    fn append(self, waiting: &Waiting, outside: &Outside) -> Option<Self> {
        let (offset, length) = (self.offset.to_le_bytes(), self.length.to_le_bytes());
        let (offset, length) =
            outside.append(&[&offset[..], &length[..], waiting.0.bytes()].concat())?;
        Some(Self { offset, length })
    }

    /// Reads which block is before it.
    fn before(self, outside: &Outside) -> Option<Self> {
        let mut head = [0; HEAD];
        let is_read = outside.get(self.offset, &mut head);
        let (offset, length) = head.split_first_chunk()?;
        let (offset, length) = (u64::from_le_bytes(*offset), length.first_chunk()?);
        is_read.then_some(Self { offset, length: u32::from_le_bytes(*length) })
    }
}

impl Waiting {
    #[inline]
    fn push(&mut self, of: Series, value: u64) {
        if value < 1 << (u64::BITS - 3) {
            self.0.push(value << 3 | of as u64);
        } else {
            self.0.push((of as u64) << 3 | FOLLOWS);
            self.0.push(value);
        }
    }

    /// Adds the observations in such numbers to their series.
    fn read(mut numbers: impl Iterator<Item = u64>, streams: &mut Streams) {
        while let Some(number) = numbers.next() {
            let (series, value) = match number & 7 {
                FOLLOWS => (number >> 3, numbers.next().unwrap_or_default()),
                series => (series, number >> 3),
            };
            if let Some(series) = Series::ALL.get(series as usize) {
                streams.push(*series, value);
            }
        }
    }
}

impl Streams {
    /// The distribution of all observations of a series.
    pub(super) const fn of(&self, series: Series) -> &Stream {
        &self.all[series as usize]
    }

    #[inline]
    fn push(&mut self, of: Series, value: u64) {
        self.all[of as usize].push(value);
        self.count += 1;
    }

    /// All observations, if they are few enough to be kept as they are.
    fn exact(&self) -> Option<Waiting> {
        let mut all = Waiting::default();
        for series in Series::ALL {
            self.of(series).exact()?.iter().for_each(|value| all.push(series, value));
        }
        Some(all)
    }
}

impl Observed {
    /// Adds an observation. Without room outside, all stay in memory.
    #[inline]
    pub(super) fn push(&mut self, of: Series, value: u64, many: &mut Option<ManyJobs>) {
        match &mut self.0 {
            Form::Nothing => {
                let mut streams = Box::<Streams>::default();
                streams.push(of, value);
                self.0 = Form::Here(streams);
            }
            Form::Here(streams) => {
                streams.push(of, value);
                if let Some(many) = many
                    && streams.count == MANY
                {
                    self.has_many(many);
                }
            }
            Form::Outside(log) => {
                log.counts[of as usize] += 1;
                log.waiting.push(of, value);
                if log.waiting.0.len() as u64 >= log.waiting_max() {
                    self.put(many);
                }
            }
        }
    }

    /// Decides where the series stay from now on.
    #[cold]
    fn has_many(&mut self, many: &mut ManyJobs) {
        if let Form::Here(streams) = &self.0
            && let Some(all) = streams.exact()
            && !many.keeps_one_more()
            && let Some(last) = Block::default().append(&all, &many.outside)
        {
            let counts = streams.all.each_ref().map(Stream::count);
            self.0 = Form::Outside(Box::new(Log { last, counts, waiting: Waiting::default() }));
        }
    }

    /// Puts what waits outside. If there is no more room, everything comes back.
    #[cold]
    fn put(&mut self, many: &Option<ManyJobs>) {
        let Form::Outside(log) = &mut self.0 else { return };
        let outside = many.as_ref().map(|many| &many.outside);
        match outside.and_then(|outside| log.last.append(&log.waiting, outside)) {
            Some(last) => {
                log.last = last;
                log.waiting.0.clear(usize::MAX);
            }
            None => self.0 = Form::Here(Box::new(log.streams(outside))),
        }
    }

    /// How many observations of a series there are.
    pub(super) fn count(&self, of: Series) -> u64 {
        match &self.0 {
            Form::Nothing => 0,
            Form::Here(streams) => streams.of(of).count(),
            Form::Outside(log) => log.counts[of as usize],
        }
    }

    /// All observations. Those that cannot be read back are missing in them, and in their counts.
    pub(super) fn streams(&self, many: &Option<ManyJobs>) -> Cow<'_, Streams> {
        match &self.0 {
            Form::Nothing => Cow::Owned(Streams::default()),
            Form::Here(streams) => Cow::Borrowed(streams),
            Form::Outside(log) => Cow::Owned(log.streams(many.as_ref().map(|many| &many.outside))),
        }
    }
}

impl Log {
    /// How many observations wait for the next block.
    fn waiting_max(&self) -> u64 {
        let all: u64 = self.counts.iter().sum();
        (all / WAITING_PART).clamp(MANY, WAITING_MAX)
    }

    fn streams(&self, outside: Option<&Outside>) -> Streams {
        let (mut blocks, mut next) = (Vec::new(), Some(self.last));
        while let (Some(block), Some(outside)) = (next.filter(|block| block.length > 0), outside) {
            next = block.before(outside);
            if next.is_some() {
                blocks.push(block);
            }
        }
        let (mut streams, mut bytes) = (Streams::default(), Vec::new());
        for block in blocks.into_iter().rev() {
            bytes.resize(block.length as usize, 0);
            if outside.is_some_and(|outside| outside.get(block.offset, &mut bytes)) {
                Waiting::read(Numbers::unpack(&bytes[HEAD..]), &mut streams);
            }
        }
        Waiting::read(self.waiting.0.iter(), &mut streams);
        streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::tests::Room;

    /// Of all series, some more often than others, and numbers of any size.
    fn observations(length: u64) -> impl Iterator<Item = (Series, u64)> {
        let series = |n: u64| Series::ALL[(n * n % 11 % SERIES as u64) as usize];
        let value = |n: u64| match n % 97 {
            5 => u64::MAX - n,
            6 => (1 << 61) - 1 + n % 2,
            _ => n * 7_919 % 100_003 + (n % 50) * 1_000_000,
        };
        (0..length).map(move |n| (series(n), value(n)))
    }

    #[test]
    fn observations_outside_have_the_distributions_of_those_in_memory() {
        for length in [0, 127, 128, 129, 2048, 2049, 30_000] {
            let mut plain: [Stream; SERIES] = std::array::from_fn(|_| Stream::default());
            observations(length).for_each(|(of, value)| plain[of as usize].push(value));
            for room_max in [0, 1, 1_500, 20_000, usize::MAX] {
                let room = Room::new(0, room_max, true);
                let mut many = Some(ManyJobs::new(Outside::new(room.clone())));
                let mut observed = Observed::default();
                observations(length).for_each(|(of, value)| observed.push(of, value, &mut many));
                let streams = observed.streams(&many);
                for of in Series::ALL {
                    let plain = &plain[of as usize];
                    assert_eq!(observed.count(of), plain.count());
                    let what = format!("{of:?} of {length}, {room_max}");
                    assert_eq!(streams.of(of).distribution(), plain.distribution(), "{what}");
                }
                let is_outside = matches!(observed.0, Form::Outside(_));
                match room_max {
                    0 | 1 => assert!(!is_outside),
                    usize::MAX => assert_eq!(is_outside, length >= MANY),
                    // Some blocks have room, and all come back when there is no more.
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn the_first_threads_with_many_jobs_stay_in_memory() {
        let room = Room::new(2 * MANY_BYTES, usize::MAX, true);
        let mut many = Some(ManyJobs::new(Outside::new(room)));
        let mut all = vec![Observed::default(); 5];
        for (of, value) in observations(300) {
            all.iter_mut().for_each(|observed| observed.push(of, value, &mut many));
        }
        let is_outside = |observed: &Observed| matches!(observed.0, Form::Outside(_));
        let outside: Vec<bool> = all.iter().map(is_outside).collect();
        assert_eq!(outside, [false, false, true, true, true]);
    }
}
