//! The cost of loads from memory, and the memory bandwidth.

mod bandwidth;
mod latency;

use hemiola_units::Bytes;

pub use hemiola_rt::sys::mapping::Pages;
pub use latency::latency;

use crate::ProbeError;
use crate::catalogue::Probe;

pub(crate) fn probes() -> Vec<Probe> {
    latency::probes().chain(bandwidth::probes()).collect()
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
