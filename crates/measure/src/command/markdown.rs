//! The results of commands as a table in Markdown, with the columns of `hyperfine --export-markdown`.

use std::fmt::Write as _;

use hemiola_report::text::printable;

use super::result::{CommandResult, Results};

/// The results as a table in Markdown: mean time with its standard deviation, least and greatest time, in milliseconds
/// if the fastest command takes less than a second and in seconds otherwise, and the mean as a multiple of the least
/// mean with the error that follows from both deviations.
#[must_use]
pub fn markdown(Results { results }: &Results) -> String {
    let fastest = results.iter().min_by(|a, b| a.mean.total_cmp(&b.mean));
    let (scale, unit) = match fastest {
        Some(fastest) if fastest.mean < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    let mut text = format!(
        "| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |\n|:---|---:|---:|---:|---:|\n"
    );
    let number = |seconds: f64| match unit {
        "ms" => format!("{:.1}", seconds * scale),
        _ => format!("{seconds:.3}"),
    };
    for result in results {
        let CommandResult { command, mean, stddev, min, max, .. } = result;
        let std = stddev.map_or_else(String::new, |std| format!(" ± {}", number(std)));
        let relative = fastest.map_or_else(String::new, |fastest| relative(result, fastest));
        let (mean, min, max) = (number(*mean), number(*min), number(*max));
        let command = code(command);
        writeln!(text, "| {command} | {mean}{std} | {min} | {max} | {relative} |")
            .expect("a text takes all");
    }
    text
}

/// The mean of a command as a multiple of that of the fastest one. Relative errors add in quadrature, because the runs
/// are independent.
fn relative(result: &CommandResult, fastest: &CommandResult) -> String {
    if std::ptr::eq(result, fastest) {
        return "1.00".into();
    }
    let factor = result.mean / fastest.mean;
    let share = |of: &CommandResult| of.stddev.map(|std| std / of.mean);
    match share(result).zip(share(fastest)) {
        Some((one, other)) => format!("{factor:.2} ± {:.2}", factor * one.hypot(other)),
        None => format!("{factor:.2}"),
    }
}

/// A command as code in a cell of a table. More backquotes than any in it enclose it, and `|` would end the cell.
fn code(command: &str) -> String {
    let text = printable(command).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A space keeps a backquote at an end apart; renderers remove it.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(command: &str, mean: f64, stddev: Option<f64>) -> CommandResult {
        let (min, max) = (mean * 0.9, mean * 1.1);
        CommandResult { command: command.into(), mean, stddev, min, max, ..Default::default() }
    }

    #[test]
    fn the_table_has_the_columns_of_hyperfine_and_the_fastest_command_is_one() {
        let results = vec![
            result("sleep 0.3", 0.3012, Some(0.0301)),
            result("sleep 0.1", 0.1004, Some(0.01)),
            result("a `b` | c", 0.2, None),
        ];
        let expected = "\
| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |
|:---|---:|---:|---:|---:|
| `sleep 0.3` | 301.2 ± 30.1 | 271.1 | 331.3 | 3.00 ± 0.42 |
| `sleep 0.1` | 100.4 ± 10.0 | 90.4 | 110.4 | 1.00 |
| ``a `b` \\| c`` | 200.0 | 180.0 | 220.0 | 1.99 |
";
        assert_eq!(markdown(&Results { results }), expected);
    }

    #[test]
    fn long_times_are_in_seconds_and_names_cannot_leave_their_cell() {
        let text = markdown(&Results { results: vec![result("`x\n| y`", 2.5, Some(0.25))] });
        let row = text.lines().nth(2).unwrap();
        let expected = "| `` `x\\u{a}\\| y` `` | 2.500 ± 0.250 | 2.250 | 2.750 | 1.00 |";
        assert_eq!((row, text.lines().count()), (expected, 3));
    }
}
