//! The staircase: what a load costs that waits for the one before, over buffers of growing size.

use std::hint::black_box;

use hemiola_rt::sys::mapping::Anonymous;
use hemiola_units::{Bytes, Random};

use super::{Pages, no_memory, within_free_memory};
use crate::stage::Stage;
use crate::{Figure, ProbeError, Readings, Setting, Unit};

/// What is loaded lies this many bytes apart: one cache line of every processor of note.
pub const LINE: usize = 64;

/// Loads in one reading; at 1 ns each, 5000 times what reading the clock is out by. As many go before the
/// first reading, which fills the caches near the processor; what is larger than those 6 MiB was written a
/// moment ago, so as much of it as fits is in the last cache.
const LOADS: u64 = 100_000;

/// Lines laid out between two pauses, in some milliseconds.
const PAUSE: usize = 1 << 16;

/// The seed of the order: the same in every run, so that two runs differ by the machine alone.
const SEED: u64 = 0x5741_4952;

/// The sizes of the catalogue: the powers of two from 1 KiB to 1 GiB and, from 2 KiB on, one between.
#[must_use]
pub fn sizes() -> Vec<Bytes> {
    let between = |size: u64| (size > 1 << 10 && size < 1 << 30).then_some(size / 2 * 3);
    let powers = (10..=30).map(|exponent| 1 << exponent);
    powers.flat_map(|size: u64| [Some(size), between(size)]).flatten().map(Bytes).collect()
}

pub(super) fn figures() -> Vec<Figure> {
    let figure = |size: Bytes| {
        let name = format!("memory.latency.{size}");
        let quick = size.0.is_power_of_two() && size <= Bytes(128 << 20);
        Figure::time(name, format!("a load that waits for the last, anywhere in {size}"), quick)
    };
    sizes().into_iter().map(figure).collect()
}

/// Takes `count` readings of a load somewhere in `size` bytes, whose address is what the load before gave.
///
/// All lines of the buffer form one random cycle, so that nothing guesses the next (Sattolo, "An algorithm
/// to generate a random cyclic permutation", 1986). What it holds is where in the buffer the next line
/// begins; the check that it is inside stands beside the chain of loads and not in it, as a predicted
/// branch does. In a large buffer nearly every load is also to another page, so with ordinary pages the
/// time of finding its address is in it, as it is in a program that does this.
///
/// # Errors
/// `Lacking` when it is more than a quarter of the free memory; `System` when it cannot be mapped.
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

/// Writes into each line of `buffer` where the next begins, which takes seconds for the largest: `pause` is
/// called every now and then.
fn lay_out(buffer: &mut [u8], mut pause: impl FnMut()) {
    let lines = u32::try_from(buffer.len() / LINE).expect("a buffer has fewer than 2³² lines");
    let mut random = Random::from_seed(SEED);
    // Shuffled by itself first: it is a sixteenth of the buffer, which then is written in order.
    let mut next: Vec<u32> = (0..lines).collect();
    for last in (1..next.len()).rev() {
        // Never with itself: that makes the permutation one cycle.
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

/// Follows the cycle from `at` for `loads` steps; returns where it has come to.
#[inline(never)]
fn chase(buffer: &[u8], mut at: usize, loads: u64) -> usize {
    for _ in 0..loads {
        let Some(word) = buffer.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        at = u64::from_le_bytes(*word) as usize;
    }
    at
}

/// In words, what pages back `len` bytes of which `huge` are huge.
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
    fn the_cycle_comes_to_every_line_once() {
        for lines in [1, 2, 3, 1000] {
            let mut buffer = vec![0; lines * LINE];
            lay_out(&mut buffer, || ());
            let mut seen = vec![false; lines];
            let mut at = 0;
            for _ in 0..lines {
                at = chase(&buffer, at, 1);
                assert!(!std::mem::replace(&mut seen[at / LINE], true));
            }
            assert_eq!(at, 0, "and then to the first again");
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
    fn pages_are_told_in_words() {
        assert_eq!(paged(Bytes(0), 1 << 20), "4KiB");
        assert_eq!(paged(Bytes(3 << 20), 4 << 20), "75 % huge, the rest 4KiB");
    }
}
