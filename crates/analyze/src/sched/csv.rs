//! The tasks and threads of a report as lines of a table for other programs (RFC 4180).

use std::fmt::Write;

use super::list::List;
use super::report::{Distribution, Interference, Report};
use hemiola_report::csv::quoted;

/// One line for each marked task, then one for each thread, behind a heading; times in ns, a figure that is not known
/// left empty.
#[must_use]
pub fn write(report: &Report) -> String {
    let mut text = String::from(
        "kind,name,tid,pid,priority,invocations,incomplete,\
         execution_min_ns,execution_mean_ns,execution_p50_ns,execution_p99_ns,execution_max_ns,\
         period_ns,deadline_ns,release_jitter_ns,\
         latency_p50_ns,latency_p99_ns,latency_max_ns,response_p50_ns,response_p99_ns,response_max_ns,\
         utilization,missed,running_ns,waiting_ns,blocked_ns,preemptions,migrations,most_delayed_by,\
         most_delayed_by_ns\n",
    );
    let mut line = |fields: Vec<String>| {
        writeln!(text, "{}", fields.join(",")).expect("a String takes everything");
    };
    for task in &report.tasks {
        let mut fields =
            vec!["task".into(), quoted(&task.name), task.tid.to_string(), task.pid.to_string()];
        fields.extend([given(task.priority), task.jobs.to_string(), task.incomplete.to_string()]);
        fields.extend(all(&task.execution_ns));
        fields.extend([
            given(task.period_ns),
            given(task.deadline_ns),
            given(task.release_jitter_ns),
        ]);
        fields.extend(upper(&task.latency_ns));
        fields.extend(upper(&task.response_ns));
        fields.extend([task.utilization.to_string(), task.missed.to_string()]);
        fields.extend(std::iter::repeat_n(String::new(), 5));
        fields.extend(first(&task.preempted_by));
        line(fields);
    }
    for thread in &report.threads {
        let mut fields = vec![
            "thread".into(),
            quoted(&thread.name),
            thread.tid.to_string(),
            thread.pid.to_string(),
        ];
        fields.extend([
            given(thread.priority),
            thread.invocations.to_string(),
            thread.incomplete.to_string(),
        ]);
        fields.extend(all(&thread.execution_ns));
        fields.extend([given(thread.period_ns), String::new(), given(thread.release_jitter_ns)]);
        fields.extend(upper(&thread.latency_ns));
        fields.extend(upper(&thread.response_ns));
        fields.extend([thread.utilization.to_string(), thread.missed.to_string()]);
        let counts = [
            thread.running_ns,
            thread.waiting_ns,
            thread.blocked_ns,
            thread.preemptions,
            thread.migrations,
        ];
        fields.extend(counts.map(|count| count.to_string()));
        fields.extend(first(&thread.preempted_by));
        line(fields);
    }
    text
}

fn given<T: ToString>(figure: Option<T>) -> String {
    figure.map_or_else(String::new, |figure| figure.to_string())
}

fn all(found: &Option<Distribution>) -> [String; 5] {
    match found {
        Some(Distribution { min, mean, p50, p99, max, .. }) => {
            [min.to_string(), mean.to_string(), p50.to_string(), p99.to_string(), max.to_string()]
        }
        None => Default::default(),
    }
}

fn upper(found: &Option<Distribution>) -> [String; 3] {
    match found {
        Some(Distribution { p50, p99, max, .. }) => [p50, p99, max].map(u64::to_string),
        None => Default::default(),
    }
}

fn first(culprits: &List<Interference>) -> [String; 2] {
    culprits.first().map_or_else(Default::default, |most| [quoted(&most.name), most.ns.to_string()])
}
