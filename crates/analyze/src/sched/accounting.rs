//! The second method (paper "Thread-based analysis of embedded applications …", 5.2): processor use by the kernel's own
//! accounting beside that of the recording, and from their difference the cost of a switch.
//!
//! The recorder notes `/proc` when it begins and when it ends as conditions, each figure as the kernel prints it
//! (proc_pid_stat(5), proc_stat(5), `Documentation/scheduler/sched-stats.rst`):
//!
//! ```text
//! proc.ticks_per_second       sysconf(_SC_CLK_TCK)
//! proc.start.at_ns            the monotonic clock, ns; proc.stop.… likewise for all that follow
//! proc.start.cpuN             of /proc/stat, the figures of that line: user nice system idle iowait irq softirq steal …
//! proc.start.thread.TID       of /proc/PID/task/TID/schedstat: running ns, waiting ns, times it ran
//! ```

use serde::Serialize;

/// Processor use by both methods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Accounting {
    /// How long both methods looked, ns.
    pub length_ns: u64,
    /// Each processor that both methods saw without a gap.
    pub cpus: Vec<CpuUse>,
    /// Each thread that both methods saw, in the order of the report.
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
    /// recording charges to the idle thread and the kernel does not: leaving idle, the interrupt that ended it, the
    /// switch itself.
    pub ns: f64,
    /// Lower end of its interval, from the resolution of `/proc/stat`.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Switches from or to the idle thread behind it.
    pub switches: u64,
}
