//! The results of commands, in the format that hyperfine writes, and what follows from them.

use std::collections::BTreeMap;
use std::fmt;

use hemiola_report::text::duration;
use hemiola_stats::{
    Change, Covers, Difference, Estimate, in_blocks, mean_and_std, median, median_of_times,
    outliers, paired_difference, sorted,
};
use hemiola_units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Run, Subject};
use crate::activity::Meanwhile;

/// The results of commands that were measured together; as JSON, what `hyperfine --export-json` writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// A result for each command.
    pub results: Vec<CommandResult>,
}

/// The readings of one command. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandResult {
    /// Its name.
    pub command: String,
    /// Mean time.
    pub mean: f64,
    /// Standard deviation of the times; `None` for one reading.
    pub stddev: Option<f64>,
    /// Median time.
    pub median: f64,
    /// Mean processor time in user space.
    pub user: f64,
    /// Mean processor time in the kernel.
    pub system: f64,
    /// Least time.
    pub min: f64,
    /// Greatest time.
    pub max: f64,
    /// All times, in the order of the runs.
    #[serde(default)]
    pub times: Vec<f64>,
    /// The most memory of each run in RAM, bytes; not above `memory_floor_byte` only a bound.
    #[serde(default)]
    pub memory_usage_byte: Vec<u64>,
    /// The most memory of the measuring program, which Linux counts for a command that has less; not in hyperfine's
    /// files, whose figures are bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_floor_byte: Option<u64>,
    /// The exit status of each run; `None` if a signal ended it.
    #[serde(default)]
    pub exit_codes: Vec<Option<i32>>,
    /// The values of the parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The lower end of the interval that contains the time of a repeat in 95 of 100 cases; not in hyperfine's files.
    #[serde(default)]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default)]
    pub high: Option<f64>,
    /// Processor time of each run; not in hyperfine's files.
    #[serde(default)]
    pub processor_times: Vec<f64>,
    /// The work of others during the runs; not in hyperfine's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<Meanwhile>,
    /// The same in words, if it disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<String>,
}

/// Why a text has no results of commands.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotResults {
    /// It is not JSON, or has other keys.
    #[error("it has no results as `--export-json` writes them: {0}")]
    Json(#[from] serde_json::Error),
    /// A result has no times.
    #[error("the result of `{0}` has no times, or one that is not positive")]
    Times(String),
}

impl Results {
    /// The results of `subjects` from their runs, in the order of [`take`](super::take), with the work of others
    /// meanwhile and the memory of this program, which Linux counts for a command that has less.
    #[must_use]
    pub fn of(
        subjects: &[Subject],
        runs: &[Vec<Run>],
        meanwhile: &Meanwhile,
        memory_floor: Bytes,
    ) -> Self {
        let result = |(subject, runs): (&Subject, &Vec<Run>)| CommandResult {
            meanwhile: Some(meanwhile.clone()),
            disturbance: meanwhile.disturbance(),
            memory_floor_byte: Some(memory_floor.0),
            ..of_runs(subject, runs)
        };
        Self { results: subjects.iter().zip(runs).map(result).collect() }
    }

    /// Reads results that this program or hyperfine wrote. The times count: what the file derives from them is computed
    /// again. Returns also each result whose stated figures contradict its times.
    ///
    /// # Errors
    /// See [`NotResults`].
    pub fn read(text: &str) -> Result<(Self, Vec<Contradiction>), NotResults> {
        let mut read: Self = serde_json::from_str(text)?;
        let is_time = |time: &f64| time.is_finite() && *time > 0.0;
        let whole = |of: &CommandResult| !of.times.is_empty() && of.times.iter().all(is_time);
        if let Some(of) = read.results.iter().find(|of| !whole(of)) {
            return Err(NotResults::Times(of.command.clone()));
        }
        let contradictions = read.results.iter_mut().filter_map(CommandResult::derive).collect();
        Ok((read, contradictions))
    }
}

/// Figures of a result that contradict its times.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// The command.
    pub command: String,
    /// The key of each figure, as the file states it, and by the times.
    pub figures: Vec<(&'static str, f64, f64)>,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |seconds: f64| duration(seconds * 1e9);
        let figure = |(key, stated, found): &(&str, f64, f64)| {
            format!("`{key}` is {}, but that of its times is {}", seconds(*stated), seconds(*found))
        };
        let figures: Vec<String> = self.figures.iter().map(figure).collect();
        write!(f, "`{}`: {}; the times count", self.command, figures.join("; "))
    }
}

fn of_runs(subject: &Subject, runs: &[Run]) -> CommandResult {
    let seconds = |of: fn(&Run) -> f64| runs.iter().map(of).collect::<Vec<f64>>();
    let mean = |values: &[f64]| mean_and_std(values).map_or(0.0, |(mean, _)| mean);
    let mut result = CommandResult {
        command: subject.name.clone(),
        user: mean(&seconds(|run| run.user.secs_f64())),
        system: mean(&seconds(|run| run.system.secs_f64())),
        memory_usage_byte: runs.iter().map(|run| run.memory_max.0).collect(),
        exit_codes: runs.iter().map(|run| run.exit_code).collect(),
        parameters: subject.parameters.clone(),
        processor_times: seconds(|run| (run.user + run.system).secs_f64()),
        times: seconds(|run| run.wall.secs_f64()),
        ..CommandResult::default()
    };
    result.derive();
    result
}

/// A stated figure contradicts the times if it differs by more than this share of their greatest: less is rounding.
const ROUNDED: f64 = 1e-3;

/// The median of the times, with the interval of a repeat; `None` for one time.
fn interval_of(times: &[f64]) -> Option<Estimate> {
    median_of_times(&in_blocks(times), Covers::Repeat)
}

/// How the time of a command compares with that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The factor, with its interval at 95 %.
    pub factor: Difference,
    /// Whether the commands ran in turns, but the pairs do not tell about the medians, so the factor is that of the
    /// medians.
    pub is_doubtful: bool,
}

impl CommandResult {
    /// Computes everything that follows from the times. Returns what contradicted them before.
    fn derive(&mut self) -> Option<Contradiction> {
        let ordered = sorted(&self.times);
        let (mean, std) = mean_and_std(&self.times).unwrap_or_default();
        let median = median(&self.times).unwrap_or_default();
        let [min, max] = [ordered.first(), ordered.last()].map(|time| *time.unwrap_or(&0.0));
        let stddev = (self.times.len() > 1).then_some(std);
        let figures = [
            ("mean", Some(self.mean), Some(mean)),
            ("stddev", self.stddev, stddev),
            ("median", Some(self.median), Some(median)),
            ("min", Some(self.min), Some(min)),
            ("max", Some(self.max), Some(max)),
        ];
        let contradicts =
            |(_, stated, found): &(&str, f64, f64)| (stated - found).abs() > ROUNDED * max;
        let figures = figures.into_iter().filter_map(|(key, stated, of)| Some((key, stated?, of?)));
        let figures: Vec<(&str, f64, f64)> = figures.filter(contradicts).collect();
        (self.mean, self.stddev, self.median) = (mean, stddev, median);
        (self.min, self.max) = (min, max);
        let interval = self.interval();
        (self.low, self.high) = (interval.map(|of| of.low), interval.map(|of| of.high));
        let command = || self.command.clone();
        (!figures.is_empty()).then(|| Contradiction { command: command(), figures })
    }

    /// The time of another command as a multiple of the time of this one: by pairs if they ran in turns, otherwise by
    /// the medians of both. `None` if there are too few readings.
    ///
    /// With two kinds of runs, the median over the pairs is neither the ratio of the medians nor that of the means.
    /// Then the ratio of the medians counts, which is what the tables show as the time.
    #[must_use]
    pub fn compared(&self, other: &Self, in_turns: bool) -> Option<Compared> {
        let paired = if in_turns { paired(&self.times, &other.times) } else { None };
        let medians = self.ratio_of_medians(other);
        let of = |(factor, is_doubtful)| Compared { factor, is_doubtful };
        match (paired, medians) {
            (Some(paired), Some(medians)) if contradict(&paired, &medians) => {
                Some(of((medians, true)))
            }
            (paired, medians) => paired.or(medians).map(|factor| of((factor, false))),
        }
    }

    fn ratio_of_medians(&self, other: &Self) -> Option<Difference> {
        let (before, after) = (self.interval()?, other.interval()?);
        Change::of_estimates(&before, &after, Covers::Repeat).factor
    }

    /// The interval that contains the time of a repeat in 95 of 100 cases, s; `None` for one reading.
    #[must_use]
    pub fn interval(&self) -> Option<Estimate> {
        interval_of(&self.times)
    }

    /// Whether the machine was busier during the runs of one of both, so that their times are not comparable. Unknown
    /// conditions count as the same.
    #[must_use]
    pub fn ran_under_other_conditions(&self, other: &Self) -> bool {
        let both = self.meanwhile.as_ref().zip(other.meanwhile.as_ref());
        both.and_then(|(a, b)| a.differs_from(b)) == Some(true)
    }

    /// The runs that stand apart, by number from 0.
    #[must_use]
    pub fn outliers(&self) -> Vec<usize> {
        outliers(&self.times)
    }
}

/// The factor between times of two commands that ran in turns, A B B A.
fn paired(a: &[f64], b: &[f64]) -> Option<Difference> {
    let rounds = a.as_chunks::<2>().0.iter().zip(b.as_chunks::<2>().0);
    let turns: Vec<f64> =
        rounds.flat_map(|([a1, a2], [b1, b2])| [a1.ln(), b1.ln(), b2.ln(), a2.ln()]).collect();
    let Estimate { value, low, high, .. } = paired_difference(&turns)?;
    Some(Difference { value: value.exp(), low: low.exp(), high: high.exp() })
}

/// Whether a factor by pairs and one by medians are about different things: their intervals are apart, or the pairs
/// show a difference of which the medians show less than half or more than one and a half, beyond the noise of the
/// pairs.
fn contradict(paired: &Difference, medians: &Difference) -> bool {
    let is_apart = paired.high < medians.low || medians.high < paired.low;
    let is_decided = paired.low > 1.0 || paired.high < 1.0;
    let [value, low, high, ratio] =
        [paired.value, paired.low, paired.high, medians.value].map(f64::ln);
    let noise = (value - low).max(high - value);
    is_apart || is_decided && (ratio - value).abs() >= noise.max(value.abs() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::Activity;
    use hemiola_probe::Load;
    use hemiola_units::{Random, Span};

    fn run(micros: f64) -> Run {
        let wall = Span::from_nanos((micros * 1e3) as i64);
        Run {
            prepared: Span::ZERO,
            wall,
            user: wall / 2,
            system: wall / 4,
            memory_max: Bytes(1 << 20),
            exit_code: Some(0),
        }
    }

    fn result(name: &str, micros: impl IntoIterator<Item = f64>) -> CommandResult {
        let (words, parameters) = (vec![name.to_owned()], BTreeMap::new());
        let subject = Subject { name: name.into(), words, parameters, ..Subject::default() };
        of_runs(&subject, &micros.into_iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn the_figures_are_those_of_the_readings() {
        let result = result("a", [100.0, 300.0, 200.0, 400.0]);
        let figures =
            [result.mean, result.median, result.min, result.max, result.user, result.system];
        for (figure, micros) in figures.into_iter().zip([250.0, 250.0, 100.0, 400.0, 125.0, 62.5]) {
            assert!((figure - micros * 1e-6).abs() < 1e-12, "{figure} {micros}");
        }
        assert!((result.stddev.unwrap() - 129.099e-6).abs() < 1e-9);
        assert!(result.low.unwrap() < result.median && result.median < result.high.unwrap());
        assert_eq!((result.times.len(), result.exit_codes.len()), (4, 4));
    }

    #[test]
    fn the_median_of_two_kinds_of_runs_lies_between_them_and_in_the_interval() {
        for count in [2, 6, 12, 20, 24] {
            let result = result("a", (0..count).map(|run| [10.0, 30.0][run % 2]));
            assert!((result.median - 20e-6).abs() < 1e-9, "{result:?}");
            let repeat = result.interval().unwrap();
            assert_eq!(repeat.value, result.median);
            assert!(repeat.low < 10.001e-6 && repeat.high > 29.999e-6, "{count}: {repeat:?}");
        }
    }

    #[test]
    fn a_drift_that_both_commands_share_does_not_hide_a_small_difference() {
        // The machine becomes 50 % slower, and B takes 2 % longer than A.
        let mut random = Random::from_seed(1);
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..40 {
            for command in [round % 2, 1 - round % 2] {
                let place = times[0].len() + times[1].len();
                let noise = 1.0 + 0.002 * (random.below(1000) as f64 / 1000.0 - 0.5);
                let drift = 1.0 + place as f64 / 160.0;
                times[command].push(1000.0 * drift * noise * [1.0, 1.02][command]);
            }
        }
        let [a, b] = times.map(|times| result("x", times));
        let factor = a.compared(&b, true).unwrap().factor;
        assert!(factor.low > 1.015 && factor.high < 1.025, "{factor:?}");
        let apart = a.compared(&b, false).unwrap().factor;
        assert!(apart.low < 1.0 && apart.high > 1.02, "{apart:?}");
    }

    /// The share of comparisons that are doubtful when both commands have log-normal times with this deviation, and B
    /// takes `factor` times as long.
    fn doubtful(pairs: usize, deviation: f64, factor: f64, drift: f64) -> f64 {
        let mut random = Random::from_seed(3);
        let mut normal = || {
            (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
        };
        let mut is_doubtful = || {
            let mut times = [Vec::new(), Vec::new()];
            for pair in 0..pairs {
                for command in [pair % 2, 1 - pair % 2] {
                    let place = (times[0].len() + times[1].len()) as f64 / (2 * pairs) as f64;
                    let time = 1e6 * (deviation * normal() + drift * place).exp();
                    times[command].push(time * [1.0, factor][command]);
                }
            }
            let [a, b] = times.map(|times| result("x", times));
            a.compared(&b, true).unwrap().is_doubtful
        };
        (0..200).filter(|_| is_doubtful()).count() as f64 / 200.0
    }

    #[test]
    fn commands_with_one_kind_of_runs_are_compared_by_pairs() {
        for pairs in [12, 40, 200] {
            for (deviation, factor) in [(0.03, 1.01), (0.03, 1.1), (0.3, 1.1)] {
                let share = doubtful(pairs, deviation, factor, 0.0);
                assert!(share <= 0.02, "{pairs} {deviation} {factor}: {share}");
            }
        }
        // A machine that becomes 50 % slower makes the medians less certain than the pairs.
        let share = doubtful(200, 0.03, 1.01, 0.4);
        assert!(share <= 0.2, "{share}");
        let share = doubtful(40, 0.03, 1.1, 0.4);
        assert!(share <= 0.02, "{share}");
    }

    #[test]
    fn a_command_with_a_greater_median_is_not_called_faster() {
        // Two kinds of runs each, in an order that makes the mean of most pairs of B smaller.
        let a = [20.0, 300.0, 20.0, 300.0, 20.0, 20.0, 20.0, 300.0, 20.0, 300.0];
        let b = [12.0, 40.0, 12.0, 40.0, 40.0, 1500.0, 12.0, 40.0, 12.0, 40.0];
        let times = |pattern: [f64; 10], count| {
            pattern.map(|ms| (ms + 1.8) * 1e3).into_iter().cycle().take(count)
        };
        for count in [12, 20, 40, 100, 400] {
            let [a, b] = [result("a", times(a, count)), result("b", times(b, count))];
            let by_pairs = paired(&a.times, &b.times).unwrap();
            let compared = a.compared(&b, true).unwrap();
            assert!(count < 40 || by_pairs.high < 1.0, "{count}: {by_pairs:?}");
            assert!(compared.factor.high > 1.0, "{count}: {compared:?}");
        }
    }

    #[test]
    fn too_few_pairs_are_compared_by_their_intervals() {
        let (a, b) =
            (result("a", [100.0, 101.0, 99.0, 100.0]), result("b", [200.0, 201.0, 199.0, 200.0]));
        let factor = a.compared(&b, true).unwrap().factor;
        assert!(factor.low > 1.9 && factor.high < 2.1, "{factor:?}");
        assert_eq!(a.compared(&result("c", [100.0]), true), None);
    }

    #[test]
    fn a_file_keeps_the_bound_of_memory_and_the_work_of_others() {
        let subject = Subject { name: "a".into(), words: vec!["a".into()], ..Subject::default() };
        let block = Activity { others: 0.9, stolen: 0.0 };
        let meanwhile = Meanwhile::of(&[block; 2], 2, Load::Idle);
        let results = Results::of(&[subject], &[vec![run(100.0); 12]], &meanwhile, Bytes(10 << 20));
        let text = serde_json::to_string(&results).unwrap();
        assert!(text.contains(r#""memory_floor_byte":10485760"#), "{text}");
        assert!(text.contains("busy in 2 of 2 blocks: others used 1.80 of 2 processors"), "{text}");
        assert_eq!(Results::read(&text).unwrap(), (results, Vec::new()));
    }

    #[test]
    fn results_of_hyperfine_are_read() {
        // The fields that hyperfine writes, as its documentation names them.
        let text = r#"{"results": [{"command": "sleep 0.01", "mean": 0.0115333, "stddev": 0.000503, "median": 0.0116,
            "user": 0.0006, "system": 0.0004, "min": 0.011, "max": 0.012, "times": [0.011, 0.0116, 0.012],
            "memory_usage_byte": [2097152, 2097152, 2097152], "exit_codes": [0, 0, 0],
            "parameters": {"time": "0.01"}}]}"#;
        let (read, contradictions) = Results::read(text).unwrap();
        assert!(contradictions.is_empty(), "{contradictions:?}");
        assert_eq!(
            (read.results[0].times[2], read.results[0].memory_usage_byte[0]),
            (0.012, 2 << 20)
        );
        assert_eq!(read.results[0].parameters["time"], "0.01");
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(Results::read(&written).unwrap(), (read, Vec::new()));
    }

    #[test]
    fn the_times_of_a_file_count_where_its_figures_contradict_them() {
        let text = r#"{"results": [
            {"command": "a", "mean": 2.5, "stddev": 0.1, "median": 3.0, "user": 0, "system": 0, "min": 1.0, "max": 1.2,
             "times": [1.0, 1.1, 1.2]},
            {"command": "b", "mean": 1.1, "stddev": 0.1, "median": 1.1, "user": 0, "system": 0, "min": 0.5, "max": 1.2,
             "times": [1.0, 1.1, 1.2]}]}"#;
        let (read, contradictions) = Results::read(text).unwrap();
        for result in &read.results {
            let figures = [result.mean, result.median, result.min, result.max];
            for (figure, expected) in figures.into_iter().zip([1.1, 1.1, 1.0, 1.2]) {
                assert!((figure - expected).abs() < 1e-12, "{result:?}");
            }
        }
        let words: Vec<String> = contradictions.iter().map(ToString::to_string).collect();
        let expected = [
            "`a`: `mean` is 2.50 s, but that of its times is 1.10 s; `median` is 3.00 s, but that of its times is 1.10 s; \
             the times count",
            "`b`: `min` is 500 ms, but that of its times is 1.00 s; the times count",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_result_without_times_is_refused() {
        let of = |times: &str| {
            let text = format!(
                r#"{{"results": [{{"command": "a", "mean": 1, "stddev": null, "median": 1, "user": 0, "system": 0,
                    "min": 1, "max": 1{times}}}]}}"#
            );
            Results::read(&text).unwrap_err().to_string()
        };
        let expected = "the result of `a` has no times, or one that is not positive";
        assert_eq!([of(""), of(r#", "times": [1, 0]"#)], [expected; 2]);
        assert!(Results::read("{}").unwrap_err().to_string().contains("missing field `results`"));
    }
}
