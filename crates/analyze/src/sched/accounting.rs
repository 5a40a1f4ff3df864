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
use serde::Serialize;

use super::engine::{Books, Engine};

/// Processor use by both methods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Accounting {
    /// How long `/proc` looked, ns.
    pub length_ns: u64,
    /// Each processor that both methods saw without a gap.
    pub cpus: Vec<CpuUse>,
    /// Each thread that both methods saw from beginning to end and that used a thousandth of the time, the busiest
    /// first. `/proc` was not read of all at the same moment, so a busy one may be some ms off.
    pub threads: Vec<ThreadUse>,
    /// What one switch costs, by the difference; nothing when there is no processor to compare.
    pub switch_cost: Option<SwitchCost>,
}

/// A processor's use by both methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuUse {
    /// The processor.
    pub cpu: u16,
    /// Share of the time it was not idle, by `/proc/stat`: 0 to 1.
    pub proc_busy: f64,
    /// Share of the time a thread ran, by the recording.
    pub recorded_busy: f64,
    /// Switches from or to the idle thread, a second.
    pub idle_switches_per_s: f64,
    /// Switches of any kind, a second.
    pub switches_per_s: f64,
}

/// A thread's processor time by both methods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadUse {
    /// Its name.
    pub name: String,
    /// Its number.
    pub tid: u32,
    /// By `/proc/…/schedstat`, ns.
    pub proc_ns: u64,
    /// By the recording, ns.
    pub recorded_ns: u64,
}

/// What one switch costs by the difference of the methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SwitchCost {
    /// The difference of busy time over the number of switches from or to the idle thread, ns. It holds what the
    /// recording charges to the idle thread and the kernel does not: the interrupt that ends idling, leaving it, the
    /// switch itself.
    pub ns: f64,
    /// Lower end of its interval, from the resolution of `/proc/stat`.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Switches from or to the idle thread behind it.
    pub switches: u64,
}

/// Threads that used less than this share of the time are not compared.
const USED_MIN: f64 = 0.001;

/// The two moments at which the recorder looked at `/proc`, none where it did not.
pub(super) fn moments(recording: &Recording) -> Vec<u64> {
    let at = |name| condition(recording, name)?.trim().parse::<u64>().ok();
    match (at("proc.start.at_ns"), at("proc.stop.at_ns")) {
        (Some(start), Some(stop)) if start < stop => vec![start, stop],
        _ => Vec::new(),
    }
}

fn condition<'r>(recording: &'r Recording, name: &str) -> Option<&'r str> {
    let found = recording.conditions.iter().find(|(key, _)| key == name);
    found.map(|(_, text)| text.as_str())
}

/// Holds the figures of a pass against those of `/proc`; nothing where the recorder has not noted them.
///
/// Of a processor the shares of the time are compared, so that the recording may begin a little later and end a little
/// earlier. Each of the two idle figures of `/proc/stat`, idle and iowait, is cut off to a tick, at both ends, as if
/// by a uniform and independent error; the interval is that of their sum over all processors, at 95 %.
pub(super) fn compare(engine: &Engine<'_>, names: &[String]) -> Option<Accounting> {
    let figures = |name: &str| -> Option<Vec<u64>> {
        condition(engine.recording, name)?
            .split_whitespace()
            .map(|figure| figure.parse().ok())
            .collect()
    };
    let [start, stop] = moments(engine.recording).try_into().ok()?;
    let [before, after] = engine.copies.as_slice() else { return None };
    let length_ns = stop - start;
    let tick_ns = 1_000_000_000_u64.checked_div(*figures("proc.ticks_per_second")?.first()?)?;
    let gaps = engine.gaps.all();
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
    for (index, (state, name)) in engine.threads.states.iter().zip(names).enumerate() {
        let ran =
            |when: &str| figures(&format!("proc.{when}.thread.{}", state.tid))?.first().copied();
        let (Some(first), Some(last)) = (ran("start"), ran("stop")) else { continue };
        let running = |books: &Books| books.running.get(index).copied().unwrap_or(0);
        let (proc_ns, recorded_ns) = (last.saturating_sub(first), running(after) - running(before));
        if state.cuts <= 2 && proc_ns as f64 >= USED_MIN * length_ns as f64 {
            accounting.threads.push(ThreadUse {
                name: name.clone(),
                tid: state.tid,
                proc_ns,
                recorded_ns,
            });
        }
    }
    accounting.threads.sort_by_key(|thread| std::cmp::Reverse(thread.proc_ns));
    (!accounting.cpus.is_empty() || !accounting.threads.is_empty()).then_some(accounting)
}
