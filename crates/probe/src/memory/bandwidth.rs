//! Memory bandwidth: bytes read, written and copied per second.

use std::hint::black_box;

use hemiola_rt::sys::mapping::Anonymous;
use hemiola_units::{Bytes, Span};

use super::{Pages, no_memory, within_free_memory};
use crate::catalogue::Probe;
use crate::stage::{Stage, pair};
use crate::{FigureOfMerit, Overhead, ProbeError, Readings, Setting, Unit};

/// The operation on the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    /// Sums words of eight bytes.
    Read,
    /// Fills words of eight bytes with one value.
    Write,
    /// Copies the first half over the second; the bytes of one half count.
    Copy,
}

/// Sizes in the catalogue: inside the first cache, inside the second, and beyond the last of most machines. Fixed, so
/// that machines can be compared.
const SIZES: [Bytes; 3] = [Bytes(16 << 10), Bytes(256 << 10), Bytes(128 << 20)];

/// The minimum duration of a reading, so that a clock reading is less than a thousandth of it.
const LASTING: Span = Span::from_micros(100);

pub(super) fn probes() -> impl Iterator<Item = Probe> {
    let transfers = [
        ("read", Transfer::Read, "read"),
        ("write", Transfer::Write, "written"),
        ("copy", Transfer::Copy, "copied"),
    ];
    let probe = |(word, transfer, participle): (&str, Transfer, &str), size: Bytes| {
        let figure = FigureOfMerit {
            name: format!("memory.bandwidth.{word}.{size}"),
            title: format!("bytes {participle} per second in {size}"),
            unit: Unit::BytesPerSecond,
            quick: true,
        };
        Probe::new(figure, move |name, setting, count| {
            bandwidth(transfer, size, name, setting, count)
        })
    };
    transfers.into_iter().flat_map(move |transfer| SIZES.map(|size| probe(transfer, size)))
}

/// Takes `count` readings of the bytes moved per second, repeatedly over the same `size` bytes. Reading and writing use
/// the instructions of this build (vectors of 16 bytes in a generic x86-64 build), copying uses those of the C library;
/// inside the caches that is the limit. The cost of reading the clock is not subtracted but stated as the uncertainty.
fn bandwidth(
    transfer: Transfer,
    size: Bytes,
    name: &str,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    within_free_memory(name, size)?;
    let len = usize::try_from(size.0).unwrap_or(usize::MAX).max(16);
    Stage::run(setting, setting.cpu, |stage| {
        let mut memory = Anonymous::map(len, Pages::Unasked).map_err(no_memory)?;
        let words = &mut memory.words_mut()[..len / 8];
        // Makes the pages present and distinct from the shared page of zeros.
        words.fill(1);
        let moved = match transfer {
            Transfer::Copy => len / 2,
            _ => len,
        };
        let mut work = |passes: u64| (0..passes).for_each(|_| pass(transfer, words));
        let passes = stage.batch(LASTING, &mut work);
        let mut nanos = Vec::with_capacity(count as usize);
        for _ in 0..count {
            stage.rest_if_due();
            nanos.push(stage.time(|| work(passes)));
        }
        let bytes = moved as f64 * passes as f64;
        let values: Vec<f64> = nanos.iter().map(|nanos| bytes / nanos * 1e9).collect();
        let clock = pair(&stage.clock).value;
        let shares = nanos.iter().zip(&values).map(|(nanos, value)| value * clock / nanos);
        let uncertainty = Overhead::of(shares.collect()).value;
        let taken = (values, Overhead { value: 0.0, uncertainty });
        let place = (setting, stage.granted.clone());
        let circumstances = [("order", "rising addresses")];
        Ok(Readings::new(name, Unit::BytesPerSecond, taken, passes, place, &circumstances))
    })
}

/// One pass through all `words`.
#[inline(never)]
fn pass(transfer: Transfer, words: &mut [u64]) {
    match transfer {
        Transfer::Read => {
            let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
            black_box(sum);
        }
        Transfer::Write => {
            words.fill(black_box(0x0123_4567_89ab_cdef));
            black_box(&mut *words);
        }
        Transfer::Copy => {
            let (from, to) = words.split_at_mut(words.len() / 2);
            let len = from.len();
            to[..len].copy_from_slice(from);
            black_box(&mut *words);
        }
    }
}
