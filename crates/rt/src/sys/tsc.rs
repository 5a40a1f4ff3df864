//! The processor's time stamp counter.

use std::fs;

/// Returns the counter. The read is not ordered with the instructions around it; the error of some tens of cycles is
/// less than ordering would cost. Zero on processors other than x86-64.
#[inline]
#[must_use]
pub fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and Linux allows it in user space unless the process itself
    // disables it with prctl(PR_SET_TSC), which nothing here does.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Whether the counter runs at one rate, never stops, and agrees between processors: the kernel uses it as its own
/// clock, and the processor reports `constant_tsc` and `nonstop_tsc`.
#[must_use]
pub fn is_trustworthy() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64")
        && fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
        && fs::read_to_string("/proc/cpuinfo").is_ok_and(|info| {
            let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
            let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
            has("constant_tsc") && has("nonstop_tsc")
        })
}
