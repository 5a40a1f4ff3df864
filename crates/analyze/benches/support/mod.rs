//! The task set that the benchmarks analyse and draw.

use hemiola_analyze::sched::synthetic::{Task, run};
use hemiola_trace::Recording;

/// Eight periodic threads on two processors, for a time in ns.
pub(crate) fn task_set(length_ns: u64) -> Recording {
    let task = |n: u32, period_ns: u64| Task {
        name: format!("task {n}"),
        tid: 100 + n,
        cpu: (n % 2) as u16,
        priority: n as i16,
        period_ns,
        jitter_ns: 20_000,
        execution_min_ns: period_ns / 20,
        execution_max_ns: period_ns / 10,
        ..Task::default()
    };
    run(&[1, 2, 3, 5, 8, 13, 21, 34].map(|n| task(n, u64::from(n) * 100_000)), length_ns, 1).0
}
