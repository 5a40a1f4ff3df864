//! The figures of a recording by name, for models that are compared with it.

use std::collections::BTreeMap;

use hemiola_stats::{Distribution, Estimate, in_blocks, mean_and_std};
use hemiola_trace::Recording;
use hemiola_trace::perfetto::Track;

use super::report::Report;

/// A figure of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedFigure {
    /// `jobs.TASK.response`, `threads.NAME.execution` or `marks.TASK.MARK`.
    pub name: String,
    /// `"ns"`, or `"1"` for a marked number.
    pub unit: &'static str,
    /// The mean with its interval.
    pub mean: Estimate,
    /// Each value with its count, rising: of times, if the analysis was asked for observations.
    pub values: Vec<(f64, u64)>,
}

/// The means of response, execution and latency of the jobs of each marked task and of the invocations of each thread,
/// and of the numbers that programs mark. Where several have one name, their numbers follow it:
/// `threads.worker.4711.response`. A figure with too few values for an interval is left out.
///
/// ```
/// # use hemiola_analyze::sched::{Options, analyze, figures, synthetic::{Task, run}};
/// let task = Task { name: "audio".into(), tid: 7, period_ns: 1_000_000, execution_min_ns: 1_000,
///     execution_max_ns: 2_000, ..Task::default() };
/// let recording = run(&[task], 1_000_000_000, 1).0;
/// let figures = figures(&recording, &analyze(&recording, &Options::default()));
/// let execution = figures.iter().find(|figure| figure.name == "threads.audio.execution").unwrap();
/// assert!(execution.mean.low < 1_500.0 && 1_500.0 < execution.mean.high);
/// ```
#[must_use]
pub fn figures(recording: &Recording, report: &Report) -> Vec<RecordedFigure> {
    let tasks = labels(report.tasks.iter().map(|task| (task.name.as_str(), task.tid)));
    let threads = labels(report.threads.iter().map(|thread| (thread.name.as_str(), thread.tid)));
    let of_tasks = tasks.iter().zip(&report.tasks).flat_map(|(label, task)| {
        times("jobs", label, [&task.response_ns, &task.execution_ns, &task.latency_ns])
    });
    let of_threads = threads.iter().zip(&report.threads).flat_map(|(label, thread)| {
        times("threads", label, [&thread.response_ns, &thread.execution_ns, &thread.latency_ns])
    });
    let of_marks = tasks
        .iter()
        .zip(&report.tasks)
        .flat_map(|(label, task)| numbers(label, &recording.tracks[task.track]));
    of_tasks.chain(of_threads).chain(of_marks).collect()
}

/// The names, each with its number if another one is the same.
fn labels<'n>(named: impl Iterator<Item = (&'n str, u32)> + Clone) -> Vec<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (name, _) in named.clone() {
        *counts.entry(name).or_default() += 1;
    }
    let label = |(name, tid): (&str, u32)| match counts[name] {
        1 => name.to_owned(),
        _ => format!("{name}.{tid}"),
    };
    named.map(label).collect()
}

fn times(kind: &str, label: &str, of: [&Option<Distribution>; 3]) -> Vec<RecordedFigure> {
    let figure = |(what, times): (&str, &Option<Distribution>)| {
        let times = times.as_ref()?;
        let mean = times.mean_interval?;
        let mean = Estimate { samples: times.count, std: times.std, ..mean };
        let values = times.observations.iter().flat_map(|counts| counts.iter());
        let values = values.map(|(value, count)| (value as f64, count)).collect();
        Some(RecordedFigure { name: format!("{kind}.{label}.{what}"), unit: "ns", mean, values })
    };
    ["response", "execution", "latency"].into_iter().zip(of).filter_map(figure).collect()
}

/// The numbers of a track by the names of their marks.
fn numbers(label: &str, track: &Track) -> Vec<RecordedFigure> {
    let mut found = BTreeMap::<&str, Vec<f64>>::new();
    for entry in &track.entries {
        if let Some(value) = entry.value() {
            let name = track.names.get(entry.kind, entry.arg).unwrap_or("mark");
            found.entry(name).or_default().push(value);
        }
    }
    let figure = |(mark, values): (&str, Vec<f64>)| {
        let blocks = in_blocks(&values).into_iter();
        let means: Vec<f64> = blocks.filter_map(|of| Some(mean_and_std(of)?.0)).collect();
        let (_, std) = mean_and_std(&values)?;
        let mean = Estimate { samples: values.len() as u64, std, ..Estimate::of_mean(&means)? };
        let mut values: Vec<(f64, u64)> = values.into_iter().map(|value| (value, 1)).collect();
        values.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        Some(RecordedFigure { name: format!("marks.{label}.{mark}"), unit: "1", mean, values })
    };
    found.into_iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use hemiola_trace::{Entry, EventKind};
    use hemiola_units::Instant;

    use super::*;

    #[test]
    fn threads_of_one_name_have_their_numbers() {
        let named = [("a", 1), ("b", 2), ("a", 3)];
        assert_eq!(labels(named.into_iter()), ["a.1", "b", "a.3"]);
    }

    #[test]
    fn times_have_all_observations_if_the_analysis_was_asked_for_them() {
        use crate::sched::synthetic::{Task, run};
        use crate::sched::{Options, analyze};
        let task = Task {
            name: "audio".into(),
            tid: 7,
            period_ns: 1_000_000,
            execution_min_ns: 1_000,
            execution_max_ns: 2_000,
            ..Task::default()
        };
        let recording = run(&[task], 1_000_000_000, 1).0;
        for observations in [false, true] {
            let report = analyze(&recording, &Options { observations, ..Options::default() });
            let found = figures(&recording, &report);
            let execution = found.iter().find(|one| one.name == "threads.audio.execution").unwrap();
            let count: u64 = execution.values.iter().map(|(_, count)| count).sum();
            assert_eq!(count, if observations { execution.mean.samples } else { 0 });
            assert!(execution.values.is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn marked_numbers_have_their_mean_with_its_interval() {
        let entry = |n: u64| Entry {
            at: Instant::from_nanos(n),
            kind: EventKind::MarkReal,
            arg: 3,
            cycle: 0,
            a: (0.5 + (n * 7 % 10) as f64).to_bits(),
            b: 0,
        };
        let mut track = Track { entries: (0..200).map(entry).collect(), ..Track::default() };
        track.names.insert(EventKind::Mark, 3, "depth");
        let found = numbers("queue", &track);
        assert_eq!((found.len(), found[0].name.as_str()), (1, "marks.queue.depth"));
        let mean = &found[0].mean;
        assert_eq!((mean.value, mean.samples, found[0].unit), (5.0, 200, "1"));
        assert!(mean.low <= 5.0 && 5.0 <= mean.high);
        assert_eq!(numbers("queue", &Track::default()), []);
    }
}
