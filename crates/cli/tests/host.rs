//! The machine on which a table is measured.

/// The properties on which the figures depend, for the middle of a sentence.
pub(crate) fn machine() -> String {
    let info = read("/proc/cpuinfo");
    let of_info = |key| info.lines().find_map(|line: &str| line.strip_prefix(key));
    let is_virtual =
        of_info("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let is_real_time = read("/sys/kernel/realtime").trim() == "1";
    format!(
        "a {} with {} processors ({}, Linux {}, {})",
        if is_virtual { "virtual machine" } else { "machine" },
        std::thread::available_parallelism().map_or(0, usize::from),
        of_info("model name").unwrap_or("?").trim_start_matches([' ', '\t', ':']),
        read("/proc/sys/kernel/osrelease").trim(),
        if is_real_time { "PREEMPT_RT" } else { "not PREEMPT_RT" },
    )
}

/// The mean number of tasks that ran or were ready to run in the last minute.
pub(crate) fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or("?").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
