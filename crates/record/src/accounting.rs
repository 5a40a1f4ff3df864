//! Processor use according to the kernel's own accounting, at the beginning and the end of a recording: a second
//! method beside the recording itself.
//!
//! It is stored in the conditions of a trace, each figure as the kernel prints it (proc_stat(5), proc_pid_stat(5),
//! `Documentation/scheduler/sched-stats.rst`):
//!
//! ```text
//! proc.ticks_per_second       sysconf(_SC_CLK_TCK)
//! proc.start.at_ns            the monotonic clock, ns; proc.stop.… likewise for all that follow
//! proc.start.cpuN             of /proc/stat, the figures of its line: user nice system idle iowait irq softirq steal …
//! proc.start.thread.TID       of /proc/PID/task/TID/schedstat: running ns, waiting ns, times it ran
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_units::Instant;

/// The most threads noted; on a machine with more, some are left out.
const THREADS_MAX: usize = 4096;

/// The accounting at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounts {
    at: Instant,
    cpus: Vec<(String, String)>,
    threads: BTreeMap<u32, String>,
}

impl Accounts {
    /// Reads the accounting of every processor and of every readable thread.
    pub fn read() -> Self {
        let at = MonotonicClock.now();
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let cpus = stat.lines().filter_map(cpu_line).collect();
        let mut threads = BTreeMap::new();
        for process in numbers(Path::new("/proc")) {
            let tasks = format!("/proc/{process}/task");
            for tid in numbers(Path::new(&tasks)) {
                if threads.len() == THREADS_MAX {
                    break;
                }
                // The thread may have ended since it was listed.
                if let Ok(text) = fs::read_to_string(format!("{tasks}/{tid}/schedstat")) {
                    threads.insert(tid, text.trim().to_owned());
                }
            }
        }
        Self { at, cpus, threads }
    }

    /// Removes the processors, for a recording that does not cover everything they did.
    #[must_use]
    pub fn of_threads(mut self) -> Self {
        self.cpus.clear();
        self
    }

    /// Returns the entries that a trace stores about the time between two readings. A thread that is only in the
    /// later reading started in between and had used nothing before.
    #[must_use]
    pub fn between(start: &Self, stop: &Self) -> Vec<(String, String)> {
        let ticks = rustix::param::clock_ticks_per_second();
        let mut said = vec![("proc.ticks_per_second".to_owned(), ticks.to_string())];
        let full = start.threads.len() == THREADS_MAX;
        for (when, accounts) in [("start", start), ("stop", stop)] {
            said.push((format!("proc.{when}.at_ns"), accounts.at.nanos().to_string()));
            for (cpu, figures) in &accounts.cpus {
                said.push((format!("proc.{when}.{cpu}"), figures.clone()));
            }
            for tid in stop.threads.keys() {
                let nothing = (!full).then(|| "0 0 0".to_owned());
                if let Some(figures) = accounts.threads.get(tid).cloned().or(nothing) {
                    said.push((format!("proc.{when}.thread.{tid}"), figures));
                }
            }
        }
        said
    }
}

/// Parses `cpu0 1 2 …`, but not the sum `cpu  1 2 …`.
fn cpu_line(line: &str) -> Option<(String, String)> {
    let (name, figures) = line.split_once(' ')?;
    let number = name.strip_prefix("cpu")?;
    number.parse::<u16>().is_ok().then(|| (name.to_owned(), figures.trim().to_owned()))
}

/// Returns the entries of a folder whose names are numbers.
fn numbers(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(at: u64, threads: &[(u32, &str)]) -> Accounts {
        let threads = threads.iter().map(|&(tid, figures)| (tid, figures.to_owned())).collect();
        let cpus = vec![("cpu0".to_owned(), format!("{at} 0 0"))];
        Accounts { at: Instant::from_nanos(at), cpus, threads }
    }

    #[test]
    fn a_new_thread_starts_from_zero_and_an_ended_one_is_left_out() {
        let start = accounts(5, &[(1, "10 20 3"), (2, "7 7 7")]);
        let stop = accounts(9, &[(1, "11 20 4"), (3, "1 1 1")]);
        let said = Accounts::between(&start, &stop);
        let of = |name: &str| {
            let found = said.iter().find(|(key, _)| key == name);
            found.map(|(_, text)| text.as_str())
        };
        assert_eq!((of("proc.start.at_ns"), of("proc.stop.at_ns")), (Some("5"), Some("9")));
        assert_eq!((of("proc.start.cpu0"), of("proc.stop.cpu0")), (Some("5 0 0"), Some("9 0 0")));
        assert_eq!(of("proc.start.thread.1"), Some("10 20 3"));
        assert_eq!(
            (of("proc.start.thread.3"), of("proc.stop.thread.3")),
            (Some("0 0 0"), Some("1 1 1"))
        );
        assert_eq!((of("proc.start.thread.2"), of("proc.stop.thread.2")), (None, None));
        let threads = Accounts::between(&start.of_threads(), &stop.of_threads());
        assert_eq!(threads.len(), said.len() - 2);
    }

    #[test]
    fn this_process_is_accounted_for() {
        let start = Accounts::read();
        let own = std::process::id();
        let Some(figures) = start.threads.get(&own) else {
            println!("skipped: needs a kernel with CONFIG_SCHED_INFO");
            return;
        };
        assert_eq!(figures.split(' ').filter_map(|n| n.parse::<u64>().ok()).count(), 3);
        assert!(!start.cpus.is_empty() && Accounts::read().at > start.at);
    }

    #[test]
    fn the_line_of_the_sum_is_skipped() {
        assert_eq!(cpu_line("cpu  1 2 3"), None);
        assert_eq!(cpu_line("cpu12 1 2 3"), Some(("cpu12".into(), "1 2 3".into())));
        assert_eq!(cpu_line("ctxt 12"), None);
    }
}
