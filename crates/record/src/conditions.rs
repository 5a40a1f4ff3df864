//! The conditions of a run or a measurement, read from the kernel. A figure without its conditions cannot be compared.

use std::fs;

use hemiola_rt::clock::{Calibration, ClockFigures};
use hemiola_trace::result::{ClockConditions, Conditions};

/// Reads the conditions. `steal_ticks_delta` counts from boot until [`finish`] makes it a difference.
#[must_use]
pub fn read(
    calibration: Calibration,
    allow_less: bool,
    commit: Option<String>,
    command_line: String,
) -> Conditions {
    let clock = ClockFigures::measure(calibration);
    let uname = rustix::system::uname();
    let version = uname.version().to_string_lossy().into_owned();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Conditions {
        hemiola_version: env!("CARGO_PKG_VERSION").into(),
        commit,
        kernel: format!("{} {version}", uname.release().to_string_lossy()),
        cpu_model: cpu_field(&cpuinfo, "model name").unwrap_or("unknown").into(),
        cpus_online: hemiola_rt::sys::cpu::online().iter().count() as u32,
        preempt: preemption(&version).into(),
        clock: ClockConditions {
            source: clock.source.to_string(),
            read_ns: clock.read_ns,
            fast_read_ns: clock.fast_read_ns,
            resolution_ns: clock.resolution_ns,
        },
        // If the file is missing, the kernel has no throttling, which it writes as −1.
        rt_runtime_us: number("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or(-1),
        rt_period_us: number("/proc/sys/kernel/sched_rt_period_us").unwrap_or(0),
        load_average_1m: fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|text| text.split(' ').next()?.parse().ok())
            .unwrap_or(f64::NAN),
        steal_ticks_delta: steal_ticks(),
        virtualized: cpu_field(&cpuinfo, "flags")
            .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
            .then(|| hypervisor().unwrap_or_else(|| "hypervisor".into())),
        allow_less,
        command_line,
    }
}

/// Replaces the steal ticks since boot by those since the start.
pub fn finish(conditions: &mut Conditions) {
    conditions.steal_ticks_delta = conditions
        .steal_ticks_delta
        .zip(steal_ticks())
        .map(|(start, end)| end.saturating_sub(start));
}

/// Returns the conditions as a trace stores them, with the entries that identify the run.
#[must_use]
pub fn for_trace(conditions: &Conditions, run: &[(&str, String)]) -> Vec<(String, String)> {
    let clock = &conditions.clock;
    let own = [
        ("hemiola", conditions.hemiola_version.clone()),
        ("commit", conditions.commit.clone().unwrap_or_else(|| "unknown".into())),
        ("kernel", conditions.kernel.clone()),
        ("processor", format!("{}, {} online", conditions.cpu_model, conditions.cpus_online)),
        ("virtualized", conditions.virtualized.clone().unwrap_or_else(|| "no".into())),
        (
            "clock",
            format!(
                "{}, fast read {:.1} ns, bare read {:.1} ns",
                clock.source, clock.fast_read_ns, clock.read_ns
            ),
        ),
        (
            "real-time share",
            format!("{} of {} us", conditions.rt_runtime_us, conditions.rt_period_us),
        ),
        ("load average", format!("{:.2}", conditions.load_average_1m)),
        ("command", conditions.command_line.clone()),
    ];
    run.iter().cloned().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn cpu_field<'t>(cpuinfo: &'t str, name: &str) -> Option<&'t str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Returns the preemption model in the kernel's version string.
fn preemption(version: &str) -> &'static str {
    // PREEMPT_RT and PREEMPT_DYNAMIC contain PREEMPT, so the longer words come first.
    ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"]
        .into_iter()
        .find(|word| version.split_whitespace().any(|part| part == *word))
        .unwrap_or("none")
}

fn number(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the ticks stolen by the hypervisor since boot, over all processors (proc_stat(5), field 8).
fn steal_ticks() -> Option<u64> {
    fs::read_to_string("/proc/stat").ok()?.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

fn hypervisor() -> Option<String> {
    ["/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preemption_model_is_the_most_specific_word() {
        assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC Fri"), "PREEMPT_DYNAMIC");
        assert_eq!(preemption("#1 SMP PREEMPT_RT"), "PREEMPT_RT");
        assert_eq!(preemption("#1 SMP"), "none");
    }

    #[test]
    fn conditions_of_this_machine_are_read() {
        let conditions = read(Calibration::measure(), false, None, "test".into());
        assert!(conditions.cpus_online >= 1 && !conditions.kernel.is_empty());
        assert!(conditions.clock.read_ns > 0.0);
    }
}
