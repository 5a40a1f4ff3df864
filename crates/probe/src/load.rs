//! The load on the machine during a measurement: one process of ordinary priority that computes without rest, or that
//! writes through more memory than the last cache holds.
//!
//! It runs on the setting's other processor, or on the same one if there is only one. Real-time processes preempt an
//! ordinary process there, so it competes for caches, memory bandwidth and other shared resources, not for the
//! processor.

use std::hint::black_box;

use hemiola_rt::sys::cpu;
use hemiola_units::{Bytes, Policy};
use serde::{Deserialize, Serialize};

use crate::peer::{Part, Peer, PeerProcess, place};
use crate::{Load, ProbeError, Setting};

/// The assumed size of the last cache if the kernel does not report it.
const CACHE_UNKNOWN: Bytes = Bytes(64 << 20);

/// Bytes of a cache line, of which one word is written.
const LINE: usize = 64;

/// The most memory that a polluter maps.
const POLLUTED_MAX: Bytes = Bytes(512 << 20);

/// The orders for the process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    load: Load,
}

/// A running load; it ends when this is dropped or the process that started it ends.
#[derive(Debug)]
#[must_use = "the load ends when this is dropped"]
pub struct LoadGuard {
    #[expect(dead_code, reason = "killed when dropped")]
    peer: Peer,
}

/// Starts the setting's load and returns when it is running; `None` if the setting is idle. The load also ends with the
/// calling thread.
///
/// # Errors
/// `Peer` when the process does not become ready, `System` when it cannot be started.
pub fn start(setting: &Setting) -> Result<Option<LoadGuard>, ProbeError> {
    if setting.load == Load::Idle {
        return Ok(None);
    }
    let cpu = setting.other_cpu.unwrap_or(setting.cpu);
    let profile = place(cpu, Policy::Other { nice: 0 }, false);
    let mut peer = Peer::start(setting, profile, Part::Load(Orders { load: setting.load }))?;
    peer.begin()?;
    Ok(Some(LoadGuard { peer }))
}

/// Runs the load until it is killed.
pub(crate) fn run_peer(mut process: PeerProcess, orders: &Orders) -> Result<(), ProbeError> {
    // Touched here first, so that the memory is present before the process reports that it is ready.
    let words = match orders.load {
        Load::Idle | Load::BusyNeighbour => 1,
        Load::CachePolluter => polluted() / size_of::<u64>(),
    };
    let mut memory = vec![1u64; words];
    let _ = process.apply_profile();
    process.ready()?;
    match orders.load {
        Load::Idle => Ok(()),
        Load::BusyNeighbour => compute(&mut memory[0]),
        Load::CachePolluter => pollute(&mut memory),
    }
}

/// Computes in registers forever.
fn compute(word: &mut u64) -> ! {
    loop {
        *word = black_box(*word).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
}

/// Writes to every line in turn, forever.
fn pollute(memory: &mut [u64]) -> ! {
    loop {
        for word in memory.iter_mut().step_by(LINE / size_of::<u64>()) {
            *word = word.wrapping_add(1);
        }
        black_box(&mut *memory);
    }
}

/// The size of the polluted memory: twice the last cache.
fn polluted() -> usize {
    let cache = last_cache(cpu::current()).unwrap_or(CACHE_UNKNOWN);
    (2 * cache.0).min(POLLUTED_MAX.0) as usize
}

/// The size of the largest cache of processor `cpu` as reported by the kernel (`/sys/devices/system/cpu/cpu*/cache`).
fn last_cache(cpu: u16) -> Option<Bytes> {
    let folder = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}/cache")).ok()?;
    let size = |text: String| {
        // The kernel only uses this format: "32K", "8192K".
        Some(Bytes(text.trim().strip_suffix('K')?.parse::<u64>().ok()? << 10))
    };
    folder
        .flatten()
        .filter_map(|index| size(std::fs::read_to_string(index.path().join("size")).ok()?))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polluter_writes_more_than_the_last_cache() {
        let cache = last_cache(0).unwrap_or(CACHE_UNKNOWN);
        assert!(polluted() as u64 > cache.0.min(POLLUTED_MAX.0 - 1));
        assert_eq!(last_cache(u16::MAX), None);
    }
}
