//! What else the machine does while something is measured: one process of ordinary priority that computes
//! without rest, or that writes through more memory than the last cache holds.
//!
//! It runs on the setting's other processor, or on the same one where there is only that; an ordinary
//! process is stopped by every real-time one there, so what it takes is caches, memory bandwidth and what
//! processors share, not the processor itself.

use std::hint::black_box;

use hemiola_rt::sys::cpu;
use hemiola_units::{Bytes, Policy};
use serde::{Deserialize, Serialize};

use crate::peer::{Part, Peer, Player, place};
use crate::{Load, ProbeError, Setting};

/// Where the kernel does not say how large the last cache is.
const CACHE_UNKNOWN: Bytes = Bytes(64 << 20);

/// Bytes of a line, of each of which one word is written.
const LINE: usize = 64;

/// The most a polluter maps, however large the last cache.
const POLLUTED_MAX: Bytes = Bytes(512 << 20);

/// What the process is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    load: Load,
}

/// A load that lasts until this is dropped, or the process that started it ends.
#[derive(Debug)]
#[must_use = "the load ends when this is dropped"]
pub struct LoadGuard {
    #[expect(dead_code, reason = "killed when dropped")]
    peer: Peer,
}

/// Starts the setting's load and returns when it is under way; nothing where the setting is idle. It also
/// ends with the thread that calls this.
///
/// # Errors
/// `Peer` when the process does not come up, `System` when it cannot be started.
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

/// Plays the load until it is killed.
pub(crate) fn play(mut player: Player, orders: &Orders) -> Result<(), ProbeError> {
    // One word for each line, first touched here: it has its memory before it says that it is ready.
    let words = match orders.load {
        Load::Idle | Load::BusyNeighbour => 1,
        Load::CachePolluter => polluted() / size_of::<u64>(),
    };
    let mut memory = vec![1u64; words];
    let _ = player.settle();
    player.ready()?;
    match orders.load {
        Load::Idle => Ok(()),
        Load::BusyNeighbour => compute(&mut memory[0]),
        Load::CachePolluter => pollute(&mut memory),
    }
}

/// Computes in registers for ever.
fn compute(word: &mut u64) -> ! {
    loop {
        *word = black_box(*word).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
}

/// Writes to every line in turn, for ever.
fn pollute(memory: &mut [u64]) -> ! {
    loop {
        for word in memory.iter_mut().step_by(LINE / size_of::<u64>()) {
            *word = word.wrapping_add(1);
        }
        black_box(&mut *memory);
    }
}

/// Bytes to write through: twice the last cache.
fn polluted() -> usize {
    let cache = last_cache(cpu::current()).unwrap_or(CACHE_UNKNOWN);
    (2 * cache.0).min(POLLUTED_MAX.0) as usize
}

/// The size of the largest cache of processor `cpu` by what the kernel says
/// (`/sys/devices/system/cpu/cpu*/cache`).
fn last_cache(cpu: u16) -> Option<Bytes> {
    let folder = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}/cache")).ok()?;
    let size = |text: String| {
        // "32K", "8192K" and, so far, never anything else.
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
