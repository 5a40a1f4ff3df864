//! The machine on which a table is measured.

/// The properties on which the figures depend.
pub(crate) fn conditions() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("?");
    format!(
        "{}, {} processors, Linux {}, load {}",
        model.trim_start_matches([' ', '\t', ':']),
        std::thread::available_parallelism().map_or(0, usize::from),
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").split(' ').next().unwrap_or("?"),
    )
}
