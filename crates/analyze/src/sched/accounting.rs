//! The second method (Prisching and Rinner, "Thread-based analysis of embedded applications with real-time and non
//! real-time processing on a single-processor platform", 5.2): processor use by the kernel's own accounting beside that
//! of the recording, and from their difference the cost of a switch.
//!
//! The recorder notes `/proc` when it begins and when it ends as conditions, the figures as the kernel prints them
//! (proc_stat(5); `Documentation/scheduler/sched-stats.rst`):
//!
//! ```text
//! proc.ticks_per_second       sysconf(_SC_CLK_TCK)
//! proc.start.at_ns            the monotonic clock, ns; all of these a second time as proc.stop.…
//! proc.start.cpuN             of /proc/stat, that line: user nice system idle iowait irq softirq steal …
//! proc.start.thread.TID       of /proc/PID/task/TID/schedstat: running ns, waiting ns, times it ran
//! ```

use hemiola_trace::Recording;

use super::name::Name;
use super::report::{Accounting, CpuUse, Gap, SwitchCost, ThreadUse};
use super::threads::State;

/// The counts at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// Of each processor: busy, idle, switches from or to idle, switches.
    pub(super) cpus: Vec<[u64; 4]>,
    /// Of each thread: processor time.
    pub(super) running: Vec<u64>,
}

/// Threads that used a smaller share of the time are not compared.
const USED_MIN: f64 = 0.001;

/// The two moments at which the recorder read `/proc`; empty if it did not.
pub(super) fn moments(recording: &Recording) -> Vec<u64> {
    let at = |name| recording.condition(name)?.trim().parse::<u64>().ok();
    match (at("proc.start.at_ns"), at("proc.stop.at_ns")) {
        (Some(start), Some(stop)) if start < stop => vec![start, stop],
        _ => Vec::new(),
    }
}

/// Compares the counts of a pass with those of `/proc`; `None` if the recorder did not note them.
///
/// For processors, shares of the time are compared, so the recording may begin a little later and end a little
/// earlier. `/proc/stat` truncates each of its two idle figures, idle and iowait, to a tick at both ends. The errors
/// are taken as uniform and independent; the interval is that of their sum over all processors, at 95 %.
pub(super) fn compare(
    recording: &Recording,
    copies: &[Books],
    gaps: &[Gap],
    threads: &[State],
    names: &[Name],
) -> Option<Accounting> {
    let figures = |name: &str| -> Option<Vec<u64>> {
        recording.condition(name)?.split_whitespace().map(|figure| figure.parse().ok()).collect()
    };
    let [start, stop] = moments(recording).try_into().ok()?;
    let [before, after] = copies else { return None };
    let length_ns = stop - start;
    let tick_ns = 1_000_000_000_u64.checked_div(*figures("proc.ticks_per_second")?.first()?)?;
    let mut accounting = Accounting { length_ns, ..Accounting::default() };
    let (mut difference, mut switches, mut variance) = (0.0, 0, 0.0);
    for (number, figures_after) in after.cpus.iter().enumerate() {
        let figures_before = before.cpus.get(number).copied().unwrap_or_default();
        let [busy, idle, idle_switches, all_switches] =
            std::array::from_fn(|index| figures_after[index] - figures_before[index]);
        let seen = busy + idle;
        let proc_idle = |when: &str| {
            let figures = figures(&format!("proc.{when}.cpu{number}"))?;
            figures.get(3)?.checked_add(figures.get(4).copied().unwrap_or(0))
        };
        let (Some(first), Some(last)) = (proc_idle("start"), proc_idle("stop")) else { continue };
        if seen == 0 || gaps.iter().any(|gap| usize::from(gap.cpu) == number) {
            continue;
        }
        let idle_ns = last.saturating_sub(first).saturating_mul(tick_ns);
        let proc_busy = (1.0 - idle_ns as f64 / length_ns as f64).clamp(0.0, 1.0);
        let recorded_busy = busy as f64 / seen as f64;
        let per_s = |count: u64| count as f64 / (seen as f64 * 1e-9);
        accounting.cpus.push(CpuUse {
            cpu: number as u16,
            proc_busy,
            recorded_busy,
            idle_switches_per_s: per_s(idle_switches),
            switches_per_s: per_s(all_switches),
        });
        difference += (proc_busy - recorded_busy) * seen as f64;
        switches += idle_switches;
        // Four figures, each uniform over a tick.
        variance += 4.0 * (tick_ns as f64).powi(2) / 12.0;
    }
    if switches > 0 {
        let half = 1.96 * f64::sqrt(variance);
        let each = |ns: f64| ns / switches as f64;
        accounting.switch_cost = Some(SwitchCost {
            ns: each(difference),
            low_ns: each(difference - half),
            high_ns: each(difference + half),
            switches,
        });
    }
    for (index, (state, name)) in threads.iter().zip(names).enumerate() {
        let ran =
            |when: &str| figures(&format!("proc.{when}.thread.{}", state.tid))?.first().copied();
        let (Some(first), Some(last)) = (ran("start"), ran("stop")) else { continue };
        let running = |books: &Books| books.running.get(index).copied().unwrap_or(0);
        let (proc_ns, recorded_ns) = (last.saturating_sub(first), running(after) - running(before));
        if state.cuts <= 2 && proc_ns as f64 >= USED_MIN * length_ns as f64 {
            accounting.threads.push(ThreadUse {
                name: name.to_string(),
                tid: state.tid,
                proc_ns,
                recorded_ns,
            });
        }
    }
    accounting.threads.sort_by_key(|thread| std::cmp::Reverse(thread.proc_ns));
    (!accounting.cpus.is_empty() || !accounting.threads.is_empty()).then_some(accounting)
}
