//! The staircase: the latency of a load that depends on the previous one, over buffers of growing size.

use std::hint::black_box;

use hemiola_rt::sys::mapping::Anonymous;
use hemiola_units::{Bytes, Random};

use super::{Pages, no_memory, within_free_memory};
use crate::catalogue::Probe;
use crate::stage::Stage;
use crate::{ProbeError, Readings, Setting, Unit};

/// The distance of loaded words in bytes: a cache line of common processors.
const LINE: usize = 64;

/// Loads in one reading; at 1 ns each, 5000 times the error of a clock reading. As many warm up the near caches before
/// the first reading. A buffer larger than the 6 MiB they reach was just written, so as much of it as fits is in the
/// last cache.
const LOADS: u64 = 100_000;

/// Lines laid out between two pauses, in a few milliseconds.
const PAUSE: usize = 1 << 16;

/// The seed of the order, fixed so that runs differ only by the machine.
const SEED: u64 = 0x5741_4952;

/// The sizes of the catalogue: powers of two from 1 KiB to 1 GiB and, from 2 KiB, one size in between.
fn sizes() -> Vec<Bytes> {
    let between = |size: u64| (size > 1 << 10 && size < 1 << 30).then_some(size / 2 * 3);
    let powers = (10..=30).map(|exponent| 1 << exponent);
    powers.flat_map(|size: u64| [Some(size), between(size)]).flatten().map(Bytes).collect()
}

pub(super) fn probes() -> impl Iterator<Item = Probe> {
    sizes().into_iter().map(|size| {
        let title = format!("a load that depends on the last, anywhere in {size}");
        let quick = size.0.is_power_of_two() && size <= Bytes(128 << 20);
        Probe::time(format!("memory.latency.{size}"), title, quick, move |_, setting, count| {
            latency(size, Pages::Unasked, setting, count)
        })
    })
}

/// Takes `count` readings of a load somewhere in `size` bytes from an address that the previous load returned.
///
/// All lines of the buffer form one random cycle, which prefetchers cannot predict (Sattolo, "An algorithm to generate
/// a random cyclic permutation", 1986). Each line holds the offset of the next. The bounds check is a predicted branch
/// beside the chain of loads, not in it. In a large buffer nearly every load is to another page, so with ordinary pages
/// the time includes address translation, as in a program with this access pattern.
///
/// # Errors
/// `Lacking` for more than a quarter of the free memory; `System` when the memory cannot be mapped.
pub fn latency(
    size: Bytes,
    pages: Pages,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let name = format!("memory.latency.{size}");
    within_free_memory(&name, size)?;
    let len = usize::try_from(size.0).unwrap_or(usize::MAX).max(LINE);
    Stage::run(setting, setting.cpu, |stage| {
        let mut memory = Anonymous::map(len, pages).map_err(no_memory)?;
        lay_out(&mut memory.bytes_mut()[..len], || stage.rest_if_due());
        let huge = memory.huge().map_err(ProbeError::doing("read the size of pages"))?;

        let buffer = &memory.bytes()[..len];
        let mut at = chase(buffer, 0, LOADS);
        let mut work = |loads: u64| at = chase(buffer, black_box(at), loads);
        let taken = stage.compare(count, LOADS, &mut work, &mut |_| ());
        let place = (setting, stage.granted.clone());
        let pages = paged(huge, len);
        let order = format!("one random cycle over lines of {LINE} B");
        let circumstances = [("order", order.as_str()), ("pages", pages.as_str())];
        Ok(Readings::new(&name, Unit::Nanoseconds, taken, LOADS, place, &circumstances))
    })
}

/// Writes the offset of the next line into each line of `buffer`. This takes seconds for the largest, so `pause` is
/// called from time to time.
fn lay_out(buffer: &mut [u8], mut pause: impl FnMut()) {
    let lines = u32::try_from(buffer.len() / LINE).expect("a buffer has fewer than 2³² lines");
    let mut random = Random::from_seed(SEED);
    // The shuffled offsets take a sixteenth of the buffer, which is then written in order.
    let mut next: Vec<u32> = (0..lines).collect();
    for last in (1..next.len()).rev() {
        // Never with itself, which makes the permutation one cycle.
        let other = random.below(last as u64) as usize;
        next.swap(last, other);
        if last.is_multiple_of(PAUSE) {
            pause();
        }
    }
    for (number, (line, next)) in buffer.chunks_exact_mut(LINE).zip(next).enumerate() {
        if number.is_multiple_of(PAUSE) {
            pause();
        }
        line[..8].copy_from_slice(&(u64::from(next) * LINE as u64).to_le_bytes());
    }
}

/// Follows the cycle from `at` for `loads` steps and returns the final offset.
#[inline(never)]
fn chase(buffer: &[u8], mut at: usize, loads: u64) -> usize {
    for _ in 0..loads {
        let Some(word) = buffer.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        at = u64::from_le_bytes(*word) as usize;
    }
    at
}

/// Describes the pages behind `len` bytes, of which `huge` are in huge pages.
fn paged(huge: Bytes, len: usize) -> String {
    let ordinary = Bytes(hemiola_rt::sys::mapping::page_size() as u64);
    match huge.0 * 100 / len as u64 {
        0 => ordinary.to_string(),
        share => format!("{} % huge, the rest {ordinary}", share.min(100)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_visits_every_line_once() {
        for lines in [1, 2, 3, 1000] {
            let mut buffer = vec![0; lines * LINE];
            lay_out(&mut buffer, || ());
            let mut seen = vec![false; lines];
            let mut at = 0;
            for _ in 0..lines {
                at = chase(&buffer, at, 1);
                assert!(!std::mem::replace(&mut seen[at / LINE], true));
            }
            assert_eq!(at, 0, "the cycle returns to the first line");
        }
    }

    #[test]
    fn sizes_rise_from_one_kibibyte_to_one_gibibyte() {
        let sizes = sizes();
        assert!(sizes.is_sorted() && sizes.len() == 40);
        assert_eq!(sizes[..4], [Bytes(1024), Bytes(2048), Bytes(3072), Bytes(4096)]);
        assert_eq!(sizes.last(), Some(&Bytes(1 << 30)));
        assert!(sizes.iter().all(|size| size.to_string().parse() == Ok(*size)));
    }

    #[test]
    fn pages_are_described() {
        assert_eq!(paged(Bytes(0), 1 << 20), "4KiB");
        assert_eq!(paged(Bytes(3 << 20), 4 << 20), "75 % huge, the rest 4KiB");
    }
}
