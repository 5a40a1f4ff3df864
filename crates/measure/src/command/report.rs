//! The results of commands as tables.

use hemiola_report::table::Table;
use hemiola_report::text::{NONE, counted, duration, ratio, size};
use hemiola_stats::median;

use super::result::{CommandResult, Compared, Results};
use crate::activity::Meanwhile;

/// The results as tables: times and use, then the comparison with result number `baseline` if there is more than one.
/// Of the results, the first `in_turns` ran in turns after `warm_up` runs each; the others were read from a file.
#[must_use]
pub fn tables(results: &Results, in_turns: usize, warm_up: u32, baseline: usize) -> Vec<Table> {
    let mut tables = vec![times(results, in_turns, warm_up)];
    if results.results.len() > 1 {
        tables.push(comparison(results, in_turns, baseline));
    }
    tables
}

fn times(Results { results }: &Results, in_turns: usize, warm_up: u32) -> Table {
    let heads =
        ["Command", "Time", "Repeat at 95 %", "Least … greatest", "Processor", "Memory", "Runs"];
    let rows = results.iter().map(|result| {
        let repeat = result.interval().map(|of| between(of.low, of.high));
        vec![
            result.command.clone(),
            seconds(result.median),
            repeat.unwrap_or_else(|| NONE.into()),
            between(result.min, result.max),
            seconds(result.processor()),
            memory(result),
            result.times.len().to_string(),
        ]
    });
    let mut notes = Vec::new();
    if results.len() > in_turns {
        let first = &results[in_turns].command;
        notes.push(format!("From `{first}` on, the results were read from a file"));
    }
    notes.extend(disturbances(results));
    let may_warm_up = |index: usize| index < in_turns && warm_up == 0;
    let remarks = results.iter().enumerate().flat_map(|(at, of)| remarks(of, may_warm_up(at)));
    notes.extend(remarks);
    let ending = if notes.is_empty() { "" } else { "." };
    Table::new("Commands", heads, rows.collect()).with_note(notes.join(". ") + ending)
}

fn comparison(Results { results }: &Results, in_turns: usize, baseline: usize) -> Table {
    let base = &results[baseline];
    let mut others: Vec<usize> = (0..results.len()).filter(|index| *index != baseline).collect();
    others.sort_by(|a, b| results[*a].median.total_cmp(&results[*b].median));
    let row = |index: &usize| {
        let pair = *index < in_turns && baseline < in_turns;
        let compared = base.compared(&results[*index], pair);
        let is_comparable = !base.ran_under_other_conditions(&results[*index]);
        let [value, range, words] = match compared {
            None => [NONE.into(), NONE.into(), "cannot tell: too few runs".into()],
            Some(of) => [
                ratio(of.factor.value),
                format!("{} … {}", ratio(of.factor.low), ratio(of.factor.high)),
                if is_comparable { verdict(of) } else { OTHER_CONDITIONS }.to_owned(),
            ],
        };
        vec![results[*index].command.clone(), value, range, words]
    };
    let title = format!("Compared with `{}`", base.command);
    let heads = ["Command", "Time", "Interval at 95 %", "Verdict"];
    let differ = |index: &&usize| base.ran_under_other_conditions(&results[**index]);
    let apart: Vec<&usize> = others.iter().filter(differ).collect();
    let mut notes: Vec<String> = apart.iter().map(|index| conditions(&results[**index])).collect();
    if !notes.is_empty() {
        notes.insert(0, conditions(base));
    }
    let ending = if notes.is_empty() { "" } else { "." };
    Table::new(title, heads, others.iter().map(row).collect())
        .with_prose(&[3])
        .with_note(notes.join(". ") + ending)
}

/// The verdict on two times of which one was taken on a busier machine.
const OTHER_CONDITIONS: &str = "cannot tell: the machine was not equally busy";

/// The work of others during the runs of a command.
fn conditions(result: &CommandResult) -> String {
    let words = result.meanwhile.as_ref().map_or("unknown".into(), Meanwhile::words);
    format!("During `{}`, {words}", result.command)
}

/// The verdict on two times of which the pairs of runs say something else than the medians.
const SEVERAL_KINDS: &str = "cannot tell: the runs are of several kinds";

fn verdict(Compared { factor, is_doubtful }: Compared) -> &'static str {
    match factor {
        of if of.low > 1.0 => "slower",
        of if of.high < 1.0 => "faster",
        _ if is_doubtful => SEVERAL_KINDS,
        _ => "within noise",
    }
}

/// The work of others that disturbed, a clause for the commands that ran in turns.
fn disturbances(results: &[CommandResult]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for result in results {
        let Some(disturbance) = result.disturbance.as_deref() else { continue };
        let name = format!("`{}`", result.command);
        match found.iter_mut().find(|(known, _)| *known == disturbance) {
            Some((_, names)) => names.push(name),
            None => found.push((disturbance, vec![name])),
        }
    }
    let words = |(disturbance, names): &(&str, Vec<String>)| {
        format!("{}: the machine was {disturbance}", names.join(", "))
    };
    found.iter().map(words).collect()
}

/// What a reader must know about the readings of a command, a clause each. A first run that was slow calls for a
/// warm-up if there was none and one is possible.
fn remarks(result: &CommandResult, may_warm_up: bool) -> Vec<String> {
    let (name, mut remarks) = (&result.command, Vec::new());
    let outliers = result.outliers();
    if !outliers.is_empty() {
        let listed: Vec<String> =
            outliers.iter().take(LISTED_MAX).map(|run| (run + 1).to_string()).collect();
        let more = outliers.len().saturating_sub(LISTED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let runs = listed.join(", ");
        let (word, verb) = if outliers.len() == 1 { ("run", "stands") } else { ("runs", "stand") };
        let is_slow_start = outliers == [0] && result.times[0] > result.median;
        let hint = match is_slow_start && may_warm_up {
            true => "; `--warmup 1` leaves a first run out",
            false => "",
        };
        remarks.push(format!(
            "`{name}`: {word} {runs}{more} {verb} apart from the {} others, {}{hint}",
            result.times.len() - outliers.len(),
            reach(
                &outliers.iter().map(|run| result.times[*run]).collect::<Vec<_>>(),
                result.median
            )
        ));
    }
    remarks.extend(failures(result));
    remarks
}

/// How many runs failed. A file may have fewer or more exit statuses than times.
fn failures(result: &CommandResult) -> Option<String> {
    let CommandResult { command, times, exit_codes, .. } = result;
    let failed = exit_codes.iter().filter(|code| **code != Some(0)).count();
    let (stated, runs) = (exit_codes.len(), times.len());
    match failed {
        0 => None,
        _ if stated == runs => Some(format!("`{command}` failed in {failed} of {runs} runs")),
        _ => Some(format!(
            "`{command}` failed in {failed} of the {} of which the file has the exit status; it has {runs} times",
            counted(stated as u64, "run")
        )),
    }
}

/// How far these times are from the median.
fn reach(times: &[f64], median: f64) -> String {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let far = |time: f64| format!("{} or {} the median", seconds(time), ratio(time / median));
    match (least < median, greatest > median) {
        (true, true) => format!("from {} to {}", far(least), far(greatest)),
        (true, false) => format!("down to {}", far(least)),
        (false, _) => format!("up to {}", far(greatest)),
    }
}

/// The most runs that stand apart which a note lists.
const LISTED_MAX: usize = 5;

impl CommandResult {
    /// The median processor time, s, or the mean where only that is known.
    fn processor(&self) -> f64 {
        median(&self.processor_times).unwrap_or(self.user + self.system)
    }
}

/// The most memory of any run. Without a floor the file does not say how much the measuring program had, so the memory
/// is a bound.
fn memory(result: &CommandResult) -> String {
    let Some(most) = result.memory_usage_byte.iter().copied().max() else { return NONE.into() };
    match result.memory_floor_byte {
        Some(floor) if most > floor => size(most as f64),
        floor => format!("≤ {}", size(most.max(floor.unwrap_or(0)) as f64)),
    }
}

fn seconds(seconds: f64) -> String {
    duration(seconds * 1e9)
}

fn between(low: f64, high: f64) -> String {
    format!("{} … {}", seconds(low), seconds(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::Activity;
    use hemiola_probe::Load;

    fn result(command: &str, times: &[f64]) -> CommandResult {
        let [min, max] =
            [times.iter().copied().reduce(f64::min), times.iter().copied().reduce(f64::max)];
        CommandResult {
            command: command.into(),
            median: median(times).unwrap(),
            min: min.unwrap(),
            max: max.unwrap(),
            times: times.to_vec(),
            memory_usage_byte: vec![4 << 20; times.len()],
            exit_codes: vec![Some(0); times.len()],
            ..CommandResult::default()
        }
    }

    /// Twelve times around a value, s.
    fn around(value: f64) -> Vec<f64> {
        (0..12).map(|run| value * (1.0 + f64::from(run * 5 % 12) * 1e-3)).collect()
    }

    fn shown(results: Vec<CommandResult>, in_turns: usize, baseline: usize) -> Vec<Table> {
        tables(&Results { results }, in_turns, 0, baseline)
    }

    #[test]
    fn commands_are_compared_with_the_baseline_the_fastest_first() {
        let all = [("slow", 0.3), ("base", 0.1), ("fast", 0.05), ("same", 0.1)];
        let results = all.map(|(name, time)| result(name, &around(time))).to_vec();
        let tables = shown(results, 4, 1);
        assert_eq!(tables[1].title, "Compared with `base`");
        let rows: Vec<[&str; 3]> = tables[1]
            .rows
            .iter()
            .map(|row| [&row[0], &row[1], &row[3]].map(String::as_str))
            .collect();
        let expected = [
            ["fast", "0.50 ×", "faster"],
            ["same", "1.00 ×", "within noise"],
            ["slow", "3.00 ×", "slower"],
        ];
        assert_eq!(rows, expected);
        assert_eq!(shown(vec![result("one", &around(0.1))], 1, 0).len(), 1);
    }

    #[test]
    fn a_ratio_of_the_medians_that_the_pairs_contradict_is_undecided() {
        let alternating =
            |values: [f64; 10]| values.into_iter().cycle().take(40).collect::<Vec<_>>();
        let a = alternating([0.02, 0.3, 0.02, 0.3, 0.02, 0.02, 0.02, 0.3, 0.02, 0.3]);
        let b = alternating([0.012, 0.04, 0.012, 0.04, 0.04, 1.5, 0.012, 0.04, 0.012, 0.04]);
        let rows = &shown(vec![result("a", &a), result("b", &b)], 2, 0)[1].rows;
        assert_eq!([&rows[0][1], &rows[0][3]], ["2.00 ×", SEVERAL_KINDS], "{rows:?}");
    }

    #[test]
    fn runs_that_stand_apart_and_failures_are_named() {
        let mut times = around(0.1);
        times[0] = 0.4;
        let first = shown(vec![result("cold", &times)], 1, 0)[0].note.clone();
        let expected = "`cold`: run 1 stands apart from the 11 others, up to 400 ms or 3.97 × the median; \
                        `--warmup 1` leaves a first run out.";
        assert_eq!(first, expected);
        // There was a warm-up, the first run was faster, or both.
        let slow =
            "`cold`: run 1 stands apart from the 11 others, up to 400 ms or 3.97 × the median.";
        let results = Results { results: vec![result("cold", &times)] };
        assert_eq!(tables(&results, 1, 1, 0)[0].note, slow);
        assert_eq!(
            tables(&results, 0, 0, 0)[0].note,
            "From `cold` on, the results were read from a file. ".to_owned() + slow
        );
        let fast = |at: usize, time: f64| {
            let times = [&[0.04], &times[1..at], &[time], &times[at + 1..]].concat();
            shown(vec![result("hot", &times)], 1, 0)[0].note.clone()
        };
        let down =
            "`hot`: run 1 stands apart from the 11 others, down to 40.0 ms or 0.40 × the median.";
        assert_eq!(fast(7, times[7]), down);
        let both = "from 40.0 ms or 0.40 × the median to 400 ms or 3.98 × the median.";
        assert!(fast(7, 0.4).ends_with(both), "{}", fast(7, 0.4));
        times[7] = 0.5;
        let mut failing = result("rough", &times);
        failing.exit_codes[3] = None;
        let note = shown(vec![failing], 1, 0)[0].note.clone();
        assert!(note.starts_with("`rough`: runs 1, 8 stand apart from the 10 others"), "{note}");
        assert!(note.ends_with("`rough` failed in 1 of 12 runs."), "{note}");
        // A file with the exit status of two runs only.
        let mut failing = result("rough", &around(0.1));
        failing.exit_codes = vec![Some(0), Some(1)];
        let note = shown(vec![failing], 0, 0)[0].note.clone();
        let expected = "`rough` failed in 1 of the 2 runs of which the file has the exit status; it has 12 times.";
        assert!(note.ends_with(expected), "{note}");
    }

    #[test]
    fn times_of_a_busier_machine_are_not_compared() {
        let of = |name: &str, time, others: f64| {
            let meanwhile = Meanwhile::of(&[Activity { others, stolen: 0.0 }; 4], 2, Load::Idle);
            let disturbance = meanwhile.disturbance();
            CommandResult { meanwhile: Some(meanwhile), disturbance, ..result(name, &around(time)) }
        };
        let tables = shown(vec![of("busy", 0.36, 0.9), of("quiet", 0.08, 0.01)], 1, 0);
        assert_eq!(tables[1].rows[0][3], OTHER_CONDITIONS);
        let note = "During `busy`, others used 1.80 of 2 processors, at most 1.80 in a block; the host took at most \
                    0.0 %. During `quiet`, others used 0.02 of 2 processors";
        assert!(tables[1].note.starts_with(note), "{}", tables[1].note);
        let note =
            "`busy`: the machine was busy in 4 of 4 blocks: others used 1.80 of 2 processors";
        assert!(tables[0].note.contains(note), "{}", tables[0].note);
        let both = shown(vec![of("a", 0.1, 0.9), of("b", 0.1, 0.9)], 2, 0);
        let note = "`a`, `b`: the machine was busy in 4 of 4 blocks";
        assert!(both[0].note.starts_with(note), "{}", both[0].note);
        // Equally busy, and unknown as in a file of hyperfine.
        let tables =
            shown(vec![of("a", 0.1, 0.9), of("b", 0.3, 0.9), result("c", &around(0.2))], 2, 0);
        let words: Vec<&str> = tables[1].rows.iter().map(|row| row[3].as_str()).collect();
        assert_eq!((words, tables[1].note.as_str()), (vec!["slower", "slower"], ""));
    }

    #[test]
    fn memory_below_that_of_the_measuring_program_is_a_bound() {
        let memory = |bytes: &[u64], memory_floor_byte, in_turns| {
            let memory_usage_byte = bytes.to_vec();
            let of = result("a", &around(0.1));
            let of = CommandResult { memory_usage_byte, memory_floor_byte, ..of };
            shown(vec![of], in_turns, 0)[0].rows[0][5].clone()
        };
        let floor = Some(2 << 20);
        // The bound is the same when it comes from a file.
        for in_turns in [1, 0] {
            assert_eq!(memory(&[1 << 20, 2 << 20], floor, in_turns), "≤ 2 MiB");
            assert_eq!(memory(&[2 << 20, 3 << 20], floor, in_turns), "3 MiB");
            assert_eq!(memory(&[], floor, in_turns), NONE);
        }
        // A file of hyperfine does not say how much memory hyperfine had.
        assert_eq!(memory(&[2 << 20], None, 0), "≤ 2 MiB");
    }
}
