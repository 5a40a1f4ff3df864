//! Which processors there are.

use hemiola_units::CpuSet;

/// The processors that are online; where the kernel does not say, those this thread may use.
///
/// Source: `/sys/devices/system/cpu/online`, in the format of cpuset(7).
#[must_use]
pub fn online() -> CpuSet {
    std::fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .or_else(|| super::sched::affinity(None).ok())
        .unwrap_or_else(|| CpuSet::one(0).expect("processor 0 is a processor"))
}

/// The processor the caller runs on, or did a moment ago.
#[must_use]
pub fn current() -> u16 {
    rustix::thread::sched_getcpu() as u16
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_present_processor_is_online() {
        assert!(super::online().contains(super::current()));
    }
}
