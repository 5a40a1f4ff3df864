//! Which processors the machine has.

use hemiola_units::CpuSet;

/// Returns the processors that are online; if the kernel does not show them, those that this thread may use.
///
/// Source: `/sys/devices/system/cpu/online`, in the format of cpuset(7).
#[must_use]
pub fn online() -> CpuSet {
    listed("online")
        .or_else(|| super::sched::affinity(None).ok())
        .unwrap_or_else(|| CpuSet::one(0).expect("processor 0 is a processor"))
}

/// Returns the processors that the machine has, online or not; if the kernel does not show them, those online.
///
/// Source: `/sys/devices/system/cpu/present`.
pub fn present() -> CpuSet {
    listed("present").unwrap_or_else(online)
}

fn listed(which: &str) -> Option<CpuSet> {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{which}"));
    text.ok()?.trim().parse().ok()
}

/// Returns the processor that the caller runs on, or ran on a moment ago.
#[must_use]
pub fn current() -> u16 {
    rustix::thread::sched_getcpu() as u16
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_present_processor_is_online() {
        assert!(super::online().contains(super::current()));
        assert!(super::online().iter().all(|cpu| super::present().contains(cpu)));
    }
}
