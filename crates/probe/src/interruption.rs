//! What an interruption costs the interrupted program afterwards: the time that it loses while it reloads its own data.
//!
//! A process walks 16 KiB of its own, changing one word of each cache line, hands over to another process on its
//! processor, and goes on walking when it has the processor again. The other process walks a buffer of its own in
//! between. The first walks afterwards are slower than the last, because the lines of the first process were evicted.
//! The *loss* is what they take more in total than if all were like the last. The hand-over itself is not included
//! ([`context_switch`](crate::context_switch)): both together are the total cost of a context switch in Muller,
//! "Modeling and Analysis: Inputs and Uncertainties", figure 3.4, and the times of the walks one by one are the
//! recovery of figure 3.15, in time per line instead of clock cycles per instruction.

use hemiola_units::Bytes;

use crate::catalogue::Probe;
use crate::context_switch::{Exchange, Mechanism, WALKS};
use crate::{Overhead, Placement, ProbeError, Readings, Setting, Unit};

/// The data of the interrupted process: the first level of every processor's caches holds them.
const OWN: Bytes = Bytes(16 << 10);
/// Cache lines that the interrupted process walks each time.
pub const LINES: u64 = OWN.0 / 64;

/// Walks after each interruption.
const PASSES: usize = 8;

/// The walks that are figures of their own, from 1 on: all, so that each begins where the one before it ends.
const SHOWN: [usize; PASSES] = [1, 2, 3, 4, 5, 6, 7, 8];

/// What the other process walks in the figures of single walks.
const SHOWN_AFTER: Bytes = Bytes(4 << 20);

pub(crate) fn probes() -> Vec<Probe> {
    let loss = WALKS.into_iter().filter(|others| others.0 > 0).map(|others| {
        let title = format!("lost by a process with {OWN} of data after another walked {others}");
        let name = format!("interruption.loss.walked_{others}");
        Probe::time(name, title, others == SHOWN_AFTER, move |name, setting, count| {
            // The clock reading that is in each walk cancels.
            interruption(others, name, setting, count, lost, |_| Overhead::default())
        })
    });
    let single = SHOWN.into_iter().map(|number| {
        let name = format!("interruption.walk_{number}.walked_{SHOWN_AFTER}");
        let title = format!(
            "a line in walk {number} through {OWN} after another process walked {SHOWN_AFTER}"
        );
        Probe::time(name, title, false, move |name, setting, count| {
            let line = |walks: &[u64]| walks[number - 1] as f64 / LINES as f64;
            interruption(SHOWN_AFTER, name, setting, count, line, |pair| pair.per(LINES))
        })
    });
    loss.chain(single).collect()
}

/// What all walks take more than if each were like the last.
fn lost(walks: &[u64]) -> f64 {
    let last = walks.last().copied().unwrap_or_default() as f64;
    walks.iter().map(|walk| *walk as f64 - last).sum()
}

/// Takes `count` readings of `value` of the times of the walks after an interruption, in nanoseconds, less the overhead
/// that it has from the clock reading in each walk.
fn interruption(
    others: Bytes,
    name: &str,
    setting: &Setting,
    count: u32,
    value: impl Fn(&[u64]) -> f64,
    overhead: fn(Overhead) -> Overhead,
) -> Result<Readings, ProbeError> {
    let exchange = Exchange {
        mechanism: Mechanism::Pipe,
        placement: Placement::SameCore,
        own: OWN,
        others,
        passes: PASSES,
        batch: 1,
    };
    let (near, _) = exchange.run(name, setting, count)?;
    let walks = near.walks(PASSES).ok_or_else(|| ProbeError::Peer("lost count".into()))?;
    let overhead = overhead(near.pair);
    let values: Vec<f64> = walks.into_iter().map(|walks| value(walks) - overhead.value).collect();
    let walked = format!("the other process walks {others} in between");
    let circumstances = [("data", "16KiB, one word changed per line"), ("memory", &walked)];
    let place = (setting, near.granted.clone());
    let taken: (Vec<f64>, Overhead) = (values, overhead);
    Ok(Readings::new(name, Unit::Nanoseconds, taken, 1, place, &circumstances))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_what_the_walks_take_more_than_the_last() {
        assert_eq!(lost(&[50, 14, 11, 10]), 45.0);
        assert_eq!(lost(&[10, 10]), 0.0);
        assert_eq!(lost(&[]), 0.0);
    }
}
