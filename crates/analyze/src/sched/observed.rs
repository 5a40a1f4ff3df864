//! Series of observations of a thread: in memory, or outside once there are many long ones.

use std::borrow::Cow;

use hemiola_stats::{Numbers, Stream};

use crate::spill::Outside;

/// A series of this length is long.
const LONG: u64 = 64;

/// Of a long series, at most this part waits in memory for the next block, but at least [`LONG`] observations and no
/// more than [`WAITING_MAX`].
const WAITING_PART: u64 = 64;
const WAITING_MAX: u64 = 2048;

/// About the bytes of a long series in memory, most of them its buckets.
const LONG_BYTES: usize = 10 << 10;

/// Where long series go.
#[derive(Debug)]
pub(super) struct LongSeries {
    outside: Outside,
    /// How many more may stay in memory.
    kept: usize,
}

impl LongSeries {
    pub(super) fn new(outside: Outside) -> Self {
        Self { kept: outside.kept_max() / LONG_BYTES, outside }
    }

    /// Whether observations could not be read back.
    pub(super) fn is_unread(&self) -> bool {
        self.outside.is_unread()
    }

    /// Whether one more series stays in memory.
    fn keeps_one_more(&mut self) -> bool {
        let is_kept = self.kept > 0;
        self.kept -= usize::from(is_kept);
        is_kept
    }
}

/// A series of observations in order, mostly nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Observed(Form);

#[derive(Clone, Debug)]
enum Form {
    Here(Stream),
    Outside(Box<Log>),
}

/// All observations of a series: a few in memory, and those before them in blocks.
#[derive(Clone, Debug, Default)]
struct Log {
    last: Block,
    /// How many observations are in blocks.
    count: u64,
    waiting: Numbers,
}

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
    fn append(self, numbers: &Numbers, outside: &Outside) -> Option<Self> {
        let (offset, length) = (self.offset.to_le_bytes(), self.length.to_le_bytes());
        let (offset, length) =
            outside.append(&[&offset[..], &length[..], numbers.bytes()].concat())?;
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

impl Default for Observed {
    fn default() -> Self {
        Self(Form::Here(Stream::default()))
    }
}

impl Observed {
    /// Adds an observation. Without room outside, all stay in memory.
    #[inline]
    pub(super) fn push(&mut self, value: u64, long: &mut Option<LongSeries>) {
        match &mut self.0 {
            Form::Here(stream) => {
                stream.push(value);
                if stream.count() == LONG
                    && let Some(long) = long
                {
                    self.becomes_long(long);
                }
            }
            Form::Outside(log) => {
                log.waiting.push(value);
                if log.waiting.len() as u64 >= log.waiting_max() {
                    self.put(long);
                }
            }
        }
    }

    /// Decides where the series stays from now on.
    #[cold]
    fn becomes_long(&mut self, long: &mut LongSeries) {
        if let Form::Here(stream) = &self.0
            && let Some(numbers) = stream.exact()
            && !long.keeps_one_more()
            && let Some(last) = Block::default().append(numbers, &long.outside)
        {
            let log = Log { last, count: LONG, waiting: Numbers::default() };
            self.0 = Form::Outside(Box::new(log));
        }
    }

    /// Puts what waits outside. If there is no more room, the whole series comes back.
    #[cold]
    fn put(&mut self, long: &Option<LongSeries>) {
        let Form::Outside(log) = &mut self.0 else { return };
        let outside = long.as_ref().map(|long| &long.outside);
        match outside.and_then(|outside| log.last.append(&log.waiting, outside)) {
            Some(last) => {
                log.last = last;
                log.count += log.waiting.len() as u64;
                log.waiting.clear(usize::MAX);
            }
            None => self.0 = Form::Here(log.stream(outside)),
        }
    }

    /// How many observations there are.
    pub(super) fn count(&self) -> u64 {
        match &self.0 {
            Form::Here(stream) => stream.count(),
            Form::Outside(log) => log.count + log.waiting.len() as u64,
        }
    }

    /// The distribution of all observations. Those that cannot be read back are missing in it, and in its count.
    pub(super) fn stream(&self, long: &Option<LongSeries>) -> Cow<'_, Stream> {
        match &self.0 {
            Form::Here(stream) => Cow::Borrowed(stream),
            Form::Outside(log) => Cow::Owned(log.stream(long.as_ref().map(|long| &long.outside))),
        }
    }
}

impl Log {
    /// How many observations wait for the next block.
    const fn waiting_max(&self) -> u64 {
        match self.count / WAITING_PART {
            ..LONG => LONG,
            part @ LONG..WAITING_MAX => part,
            WAITING_MAX.. => WAITING_MAX,
        }
    }

    fn stream(&self, outside: Option<&Outside>) -> Stream {
        let (mut blocks, mut next) = (Vec::new(), Some(self.last));
        while let (Some(block), Some(outside)) = (next.filter(|block| block.length > 0), outside) {
            next = block.before(outside);
            if next.is_some() {
                blocks.push(block);
            }
        }
        let (mut stream, mut bytes) = (Stream::default(), Vec::new());
        for block in blocks.into_iter().rev() {
            bytes.resize(block.length as usize, 0);
            if outside.is_some_and(|outside| outside.get(block.offset, &mut bytes)) {
                Numbers::unpack(&bytes[HEAD..]).for_each(|value| stream.push(value));
            }
        }
        self.waiting.iter().for_each(|value| stream.push(value));
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::tests::Room;

    fn values(length: u64) -> impl Iterator<Item = u64> {
        (0..length).map(|n| n * 7_919 % 100_003 + (n % 50) * 1_000_000)
    }

    #[test]
    fn a_series_outside_has_the_distribution_of_one_in_memory() {
        for length in [0, 127, 128, 129, 1024, 1025, 10_000] {
            let mut plain = Stream::default();
            values(length).for_each(|value| plain.push(value));
            for room_max in [0, 1, 700, 5_000, usize::MAX] {
                let room = Room::new(0, room_max, true);
                let mut long = Some(LongSeries::new(Outside::new(room.clone())));
                let mut observed = Observed::default();
                values(length).for_each(|value| observed.push(value, &mut long));
                assert_eq!(observed.count(), length);
                let stream = observed.stream(&long);
                assert_eq!(stream.distribution(), plain.distribution(), "{length}, {room_max}");
                let is_outside = matches!(observed.0, Form::Outside(_));
                match room_max {
                    0 | 1 => assert!(!is_outside),
                    usize::MAX => assert_eq!(is_outside, length >= LONG),
                    // Some blocks have room, and all come back when there is no more.
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn the_first_long_series_stay_in_memory() {
        let room = Room::new(2 * LONG_BYTES, usize::MAX, true);
        let mut long = Some(LongSeries::new(Outside::new(room)));
        let mut all = vec![Observed::default(); 5];
        for value in values(300) {
            all.iter_mut().for_each(|observed| observed.push(value, &mut long));
        }
        let is_outside = |observed: &Observed| matches!(observed.0, Form::Outside(_));
        let outside: Vec<bool> = all.iter().map(is_outside).collect();
        assert_eq!(outside, [false, false, true, true, true]);
    }
}
