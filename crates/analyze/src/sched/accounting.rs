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

use serde::Serialize;

use super::engine::Engine;

/// Processor use by both methods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Accounting {
    /// How long `/proc` looked, ns.
    pub length_ns: u64,
    /// Each processor that both methods saw without a gap.
    pub cpus: Vec<CpuUse>,
    /// Each thread that both methods saw from beginning to end.
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

/// Holds the figures of a pass against those of `/proc`; nothing where the recorder has not noted them.
///
/// A processor's share of the time is compared, so that the recording may begin a little later and end a little
/// earlier. Each of the two idle figures of `/proc/stat`, idle and iowait, is cut off to a tick, at both ends: the
/// true difference is within two ticks of theirs, and the interval is that, the processors' taken together as if each
/// error were uniform and independent, at 95 %.
pub(super) fn compare(engine: &Engine<'_>, names: &[String]) -> Option<Accounting> {
    let conditions = &engine.recording.conditions;
    let read =
        |name: &str| conditions.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str());
    let whole = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let figures = |name: &str| -> Option<Vec<u64>> {
        read(name)?.split_whitespace().map(|figure| figure.parse().ok()).collect()
    };
    let length_ns = whole("proc.stop.at_ns")?
        .checked_sub(whole("proc.start.at_ns")?)
        .filter(|length| *length > 0)?;
    let tick_ns = 1_000_000_000_u64.checked_div(whole("proc.ticks_per_second")?)?;
    let gaps = engine.gaps.all();
    let mut accounting = Accounting { length_ns, ..Accounting::default() };
    let (mut difference, mut switches, mut variance) = (0.0, 0, 0.0);
    for (number, cpu) in engine.cpus.iter().enumerate().filter(|(_, cpu)| cpu.last.is_some()) {
        let seen = cpu.busy + cpu.idle;
        let idle = |when: &str| {
            let figures = figures(&format!("proc.{when}.cpu{number}"))?;
            figures.get(3)?.checked_add(figures.get(4).copied().unwrap_or(0))
        };
        let (Some(before), Some(after)) = (idle("start"), idle("stop")) else { continue };
        if seen == 0 || gaps.iter().any(|gap| usize::from(gap.cpu) == number) {
            continue;
        }
        let idle_ns = after.saturating_sub(before).saturating_mul(tick_ns);
        let proc_busy = (1.0 - idle_ns as f64 / length_ns as f64).clamp(0.0, 1.0);
        let recorded_busy = cpu.busy as f64 / seen as f64;
        let per_s = |count: u64| count as f64 / (seen as f64 * 1e-9);
        accounting.cpus.push(CpuUse {
            cpu: number as u16,
            proc_busy,
            recorded_busy,
            idle_switches_per_s: per_s(cpu.idle_switches),
            switches_per_s: per_s(cpu.switches),
        });
        difference += (proc_busy - recorded_busy) * seen as f64;
        switches += cpu.idle_switches;
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
    for (state, name) in
        engine.threads.states.iter().zip(names).filter(|(state, _)| state.cuts == 0)
    {
        let ran =
            |when: &str| figures(&format!("proc.{when}.thread.{}", state.tid))?.first().copied();
        if let (Some(before), Some(after)) = (ran("start"), ran("stop")) {
            let proc_ns = after.saturating_sub(before);
            let (name, tid, recorded_ns) = (name.clone(), state.tid, state.totals.running);
            accounting.threads.push(ThreadUse { name, tid, proc_ns, recorded_ns });
        }
    }
    (!accounting.cpus.is_empty() || !accounting.threads.is_empty()).then_some(accounting)
}
