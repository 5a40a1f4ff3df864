//! The cost of loads from memory, and the memory bandwidth.

mod bandwidth;
mod latency;

use hemiola_units::Bytes;

pub use bandwidth::{Transfer, bandwidth};
pub use hemiola_rt::sys::mapping::Pages;
pub use latency::{LINE, latency, sizes};

use crate::{Figure, ProbeError, Readings, Setting};

pub(crate) fn figures() -> Vec<Figure> {
    [latency::figures(), bandwidth::figures()].concat()
}

pub(crate) fn measure(
    words: &[&str],
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let size = words.last().and_then(|word| word.parse().ok()).unwrap_or(Bytes(0));
    match words {
        [_, "latency", _] => latency(size, Pages::Unasked, setting, count),
        [_, _, "read", _] => bandwidth(Transfer::Read, size, setting, count),
        [_, _, "write", _] => bandwidth(Transfer::Write, size, setting, count),
        _ => bandwidth(Transfer::Copy, size, setting, count),
    }
}

/// Rejects more than a quarter of the free memory: taking it would evict other programs' memory and measure that.
fn within_free_memory(name: &str, size: Bytes) -> Result<(), ProbeError> {
    let info = std::fs::read_to_string("/proc/meminfo")
        .map_err(ProbeError::doing("read how much memory is free from /proc/meminfo"))?;
    let kib = |line: &str| line.trim().strip_suffix(" kB")?.parse::<u64>().ok();
    let available = info.lines().find_map(|line| kib(line.strip_prefix("MemAvailable:")?));
    match available.map(|kib| Bytes(kib << 10)) {
        Some(Bytes(available)) if size.0 > available / 4 => {
            let needed = Bytes(size.0.saturating_mul(4));
            let available = Bytes(available >> 20 << 20);
            let what =
                format!("{needed} of free memory, four times its size, but {available} are free");
            Err(ProbeError::lacking(name, what))
        }
        _ => Ok(()),
    }
}

/// The error for a failed mapping.
fn no_memory(error: std::io::Error) -> ProbeError {
    ProbeError::doing("map memory to measure")(error)
}
