//! A web shop's pictures: requests by Zipf's law, served from a file with and without a cache.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;

use hemiola_units::Random;

use super::{runs, shown, window};
use crate::catalogue::Probe;
use crate::file::filled;
use crate::stage::Stage;
use crate::{ProbeError, Readings, Setting, Unit};

/// Bytes of a stored picture.
const PICTURE: usize = 16 << 10;
/// Pictures in the shop.
const PICTURES: usize = 1000;
/// Capacity of a cache in pictures.
const CAPACITY: usize = 100;
/// The exponent of Zipf's law.
const EXPONENT: f64 = 0.8;
/// Requests in one run.
const REQUESTS: usize = 1000;
/// Requests before the first run, after which a cache is in its steady state.
const WARM_UP: usize = 5000;
/// The seed of the requests.
const SEED: u64 = 1;
/// The displayed range of brightness.
const WINDOW: (u8, u8) = (40, 200);

/// The way requests are served, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureCache {
    /// Each picture is read from the file and processed.
    Uncached,
    /// The 100 most recent pictures are kept as stored, and processed at each request.
    LruRaw,
    /// The 100 most recent pictures are kept processed; only the others are read and processed.
    LruProcessed,
    /// A part: one picture read from the file.
    Fetch,
    /// A part: one picture processed.
    Process,
    /// A part: one processed picture found in a cache and copied.
    Hit,
}

impl PictureCache {
    /// All, in the order of the catalogue.
    pub const ALL: [Self; 6] =
        [Self::Uncached, Self::LruRaw, Self::LruProcessed, Self::Fetch, Self::Process, Self::Hit];

    /// The last word of its name, and its description.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Uncached => ("uncached", "a request for a picture, without a cache"),
            Self::LruRaw => ("lru_raw", "a request for a picture, with a cache of stored pictures"),
            Self::LruProcessed => {
                ("lru_processed", "a request for a picture, with a cache of processed pictures")
            }
            Self::Fetch => ("fetch", "one picture read from the file"),
            Self::Process => ("process", "one picture processed"),
            Self::Hit => ("hit", "one picture found processed and copied"),
        }
    }

    fn name(self) -> String {
        format!("workload.picture_cache.{}", self.words().0)
    }

    pub(super) fn probe(self) -> Probe {
        Probe::time(self.name(), self.words().1, false, move |_, setting, count| {
            self.measure(setting, count)
        })
    }

    /// Takes `count` readings, each the mean request of a run of 1000.
    ///
    /// # Errors
    /// `System` when the setting's directory does not accept a file.
    pub fn measure(self, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
        let file = filled(&setting.directory, false).map_err(ProbeError::doing("create a file"))?;
        let mut requests = Requests::new();
        let mut shop = Shop::new(&file);
        let (mut raw, mut processed) = (Lru::new(), Lru::new());
        let mut serve = |picture: u32| match self {
            Self::Uncached => shop.uncached(picture),
            Self::LruRaw => shop.raw(picture, &mut raw),
            Self::LruProcessed => shop.processed(picture, &mut processed),
            Self::Fetch => shop.fetch(picture),
            Self::Process => {
                shop.process();
                Ok(())
            }
            // Always the same picture, cached before the first run.
            Self::Hit => shop.processed(0, &mut processed),
        };
        for _ in 0..WARM_UP {
            serve(requests.next()).map_err(ProbeError::doing("serve a picture"))?;
        }
        let (taken, granted) = Stage::run(setting, setting.cpu, |stage| {
            // Drawn in advance: a run for each reading and the warm-up.
            let total = REQUESTS * (count as usize + 1);
            let mut drawn: Vec<u32> = (0..total).map(|_| requests.next()).collect();
            let taken = runs(stage, count, REQUESTS as u64, &mut || {
                let rest = drawn.len().saturating_sub(REQUESTS);
                drawn.drain(rest..).try_for_each(&mut serve)
            })?;
            Ok((taken, stage.granted.clone()))
        })?;
        let shop = format!("{PICTURES} of {} KiB, Zipf {EXPONENT}", PICTURE >> 10);
        let cache = format!("{CAPACITY} pictures");
        let cached = matches!(self, Self::LruRaw | Self::LruProcessed);
        let circumstances = [("pictures", shop.as_str()), ("cache", cache.as_str())];
        let readings = Readings::new(
            &self.name(),
            Unit::Nanoseconds,
            taken,
            REQUESTS as u64,
            (setting, granted),
            &circumstances[..if cached { 2 } else { 1 }],
        );
        let (hits, misses) = (raw.hits + processed.hits, raw.misses + processed.misses);
        Ok(if cached {
            readings.note(format!("{hits} hits and {misses} misses, including the warm-up"))
        } else {
            readings
        })
    }
}

/// Requests for pictures, independent of each other.
struct Requests {
    random: Random,
    /// The cumulative share of requests up to each picture.
    shares: Vec<f64>,
}

impl Requests {
    fn new() -> Self {
        let mut shares: Vec<f64> =
            (1..=PICTURES).map(|rank| (rank as f64).powf(-EXPONENT)).collect();
        let total: f64 = shares.iter().sum();
        let mut sum = 0.0;
        for share in &mut shares {
            sum += *share / total;
            *share = sum;
        }
        Self { random: Random::from_seed(SEED), shares }
    }

    fn next(&mut self) -> u32 {
        let at = self.random.uniform();
        self.shares.partition_point(|share| *share <= at).min(PICTURES - 1) as u32
    }
}

/// The file, and the buffers of one request.
struct Shop<'a> {
    file: &'a File,
    table: [u32; 256],
    stored: Vec<u8>,
    ready: Vec<u32>,
}

impl<'a> Shop<'a> {
    fn new(file: &'a File) -> Self {
        let table = window(WINDOW.0, WINDOW.1);
        Self { file, table, stored: vec![0; PICTURE], ready: vec![0; PICTURE] }
    }

    fn fetch(&mut self, picture: u32) -> io::Result<()> {
        self.file.read_exact_at(&mut self.stored, u64::from(picture) * PICTURE as u64)
    }

    fn process(&mut self) {
        shown(&self.stored, &self.table, &mut self.ready);
        black_box(&mut self.ready);
    }

    fn uncached(&mut self, picture: u32) -> io::Result<()> {
        self.fetch(picture)?;
        self.process();
        Ok(())
    }

    fn raw(&mut self, picture: u32, cache: &mut Lru<u8>) -> io::Result<()> {
        if let Some(kept) = cache.get(picture) {
            self.stored.copy_from_slice(kept);
        } else {
            self.fetch(picture)?;
            cache.put(picture, &self.stored);
        }
        self.process();
        Ok(())
    }

    fn processed(&mut self, picture: u32, cache: &mut Lru<u32>) -> io::Result<()> {
        if let Some(kept) = cache.get(picture) {
            self.ready.copy_from_slice(kept);
            black_box(&mut self.ready);
        } else {
            self.uncached(picture)?;
            cache.put(picture, &self.ready);
        }
        Ok(())
    }
}

/// A cache of the [`CAPACITY`] most recently used values.
struct Lru<T> {
    kept: HashMap<u32, (u64, Vec<T>)>,
    /// Keys by the time of their last use.
    order: BTreeMap<u64, u32>,
    now: u64,
    hits: u64,
    misses: u64,
}

impl<T: Clone> Lru<T> {
    fn new() -> Self {
        Self { kept: HashMap::new(), order: BTreeMap::new(), now: 0, hits: 0, misses: 0 }
    }

    fn get(&mut self, key: u32) -> Option<&[T]> {
        let Some((used, value)) = self.kept.get_mut(&key) else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        self.order.remove(used);
        self.now += 1;
        *used = self.now;
        self.order.insert(self.now, key);
        Some(value)
    }

    /// Adds a missing value; evicts the least recently used one if the cache is full.
    fn put(&mut self, key: u32, value: &[T]) {
        let mut place = Vec::new();
        if self.kept.len() == CAPACITY
            && let Some((_, oldest)) = self.order.pop_first()
            && let Some((_, memory)) = self.kept.remove(&oldest)
        {
            place = memory;
        }
        place.clear();
        place.extend_from_slice(value);
        self.now += 1;
        self.order.insert(self.now, key);
        self.kept.insert(key, (self.now, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_evicts_the_least_recently_used() {
        let mut cache = Lru::new();
        for key in 0..CAPACITY as u32 {
            assert!(cache.get(key).is_none());
            cache.put(key, &[key]);
        }
        assert_eq!(cache.get(0), Some(&[0][..]));
        cache.put(1000, &[1000]);
        assert!(cache.get(1).is_none());
        assert_eq!(cache.get(0), Some(&[0][..]));
        assert_eq!((cache.kept.len(), cache.order.len()), (CAPACITY, CAPACITY));
        assert_eq!((cache.hits, cache.misses), (2, CAPACITY as u64 + 1));
    }

    #[test]
    fn requests_follow_zipfs_law() {
        let mut requests = Requests::new();
        let mut counts = vec![0u32; PICTURES];
        (0..100_000).for_each(|_| counts[requests.next() as usize] += 1);
        let ratio = f64::from(counts[0]) / f64::from(counts[1]);
        assert!((ratio - 2f64.powf(EXPONENT)).abs() < 0.1, "{ratio}");
        assert!((requests.shares[PICTURES - 1] - 1.0).abs() < 1e-9);
    }
}
