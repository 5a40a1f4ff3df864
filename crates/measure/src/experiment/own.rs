//! Quantities of one's own: commands, and readings that were taken before.

use std::collections::{BTreeMap, VecDeque};

use hemiola_probe::{Readings, Unit};
use hemiola_report::text::counted;
use hemiola_stats::in_blocks;
use hemiola_units::Span;
use thiserror::Error;

use super::{Experiment, Origin};
use crate::command::{CommandRunner, Subject};
use crate::series::{ordinary, unit_named};
use crate::source::{ReadError, ReadingSource};

/// The fewest recorded readings: one in each block.
const READINGS_MIN: usize = 10;

/// A source of figures of merit, with the quantities of an experiment beside them.
pub struct Own<'s> {
    figures: &'s mut dyn ReadingSource,
    runner: &'s mut dyn CommandRunner,
    commands: BTreeMap<String, (Subject, u64)>,
    recorded: BTreeMap<String, (Unit, VecDeque<Vec<f64>>)>,
}

impl<'s> Own<'s> {
    /// The sources of an experiment. `recorded` has the readings of the cases that name a file, by figure, in the unit
    /// of the case.
    pub fn new(
        experiment: &Experiment,
        figures: &'s mut dyn ReadingSource,
        runner: &'s mut dyn CommandRunner,
        recorded: &BTreeMap<String, Vec<f64>>,
    ) -> Self {
        let command = |case: &super::Case| match &case.origin {
            Origin::Command(subject) => Some((case.figure.clone(), (subject.clone(), 0))),
            _ => None,
        };
        let readings = |case: &super::Case| {
            let readings = recorded.get(&case.figure)?;
            let blocks = in_blocks(readings).into_iter().map(Into::into).collect();
            Some((case.figure.clone(), (unit_named(case.unit), blocks)))
        };
        Self {
            figures,
            runner,
            commands: experiment.cases.iter().filter_map(command).collect(),
            recorded: experiment.cases.iter().filter_map(readings).collect(),
        }
    }
}

impl ReadingSource for Own<'_> {
    fn end_block(&mut self, rest: Span) {
        self.figures.end_block(rest);
    }

    /// The next block of recorded readings has the same part of them whatever `count` is. After the last block there
    /// are no values.
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        if let Some((subject, runs)) = self.commands.get_mut(name) {
            let mut values = Vec::with_capacity(count as usize);
            for _ in 0..count {
                *runs += 1;
                let run = self.runner.run(subject, &format!("in run {runs}"))?;
                values.push(run.wall.nanos() as f64);
            }
            let how = "a new process for each reading, with ordinary scheduling on any processor";
            return Ok(plain(name, Unit::Nanoseconds, values, how));
        }
        match self.recorded.get_mut(name) {
            Some((unit, blocks)) => {
                let values = blocks.pop_front().unwrap_or_default();
                Ok(plain(name, *unit, values, "taken before the experiment"))
            }
            None => self.figures.read(name, count),
        }
    }
}

fn plain(name: &str, unit: Unit, values: Vec<f64>, how: &str) -> Readings {
    let circumstances = vec![("taken".into(), how.into())];
    Readings { circumstances, ..ordinary(name, unit, values) }
}

/// Why a text has no readings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadReadings {
    /// There is no such column.
    #[error("it has no column `{column}`; its columns are {columns}")]
    Column {
        /// The column.
        column: String,
        /// The columns in the first line.
        columns: String,
    },
    /// A line has more fields than the heading.
    #[error(
        "line {line} has {} where the heading has {heads}\nhint: write numbers with a decimal point, and separate \
         fields with commas", counted(*fields as u64, "field")
    )]
    Fields {
        /// The line, from 1.
        line: usize,
        /// Its fields.
        fields: usize,
        /// The fields of the heading.
        heads: usize,
    },
    /// There are several columns without names.
    #[error(
        "it has {columns} columns and no heading\nhint: name the columns in a first line; write numbers with a decimal \
         point"
    )]
    Nameless {
        /// The columns of the first line.
        columns: usize,
    },
    /// Several columns have this name.
    #[error("it has {count} columns called `{column}`\nhint: give each column its own name")]
    Ambiguous {
        /// The column.
        column: String,
        /// How many there are.
        count: usize,
    },
    /// The first line is neither a number nor clearly a heading, and the experiment names no column.
    #[error(
        "line {line} has `{text}` where a heading or a finite number should be\nhint: if it is the heading, name it in \
         the experiment: column = {text:?}"
    )]
    Heading {
        /// The line, from 1.
        line: usize,
        /// The text in the first column.
        text: String,
    },
    /// A reading is too large.
    #[error("line {line} has {text}, which is too large in the unit of the case")]
    Large {
        /// The line, from 1.
        line: usize,
        /// The text in the column.
        text: String,
    },
    /// A line has no number there.
    #[error("line {line} has `{text}` where a finite number should be")]
    Number {
        /// The line, from 1.
        line: usize,
        /// The text in the column.
        text: String,
    },
    /// A reading is below 0, which no time, size or rate can be.
    #[error("line {line} has {text}, but a time, a size or a rate is not below 0")]
    Negative {
        /// The line, from 1.
        line: usize,
        /// The text in the column.
        text: String,
    },
    /// There are too few readings for an interval.
    #[error("it has {0} readings; an interval takes at least {READINGS_MIN}")]
    Few(usize),
}

/// The readings of a column of a CSV file, or of its first column, times `scale`. A first line without a number there
/// is a heading. Only a file with one column can lack it. Lines end with a newline, or all with a carriage return.
///
/// # Errors
/// See [`BadReadings`].
pub fn read_csv(text: &str, column: Option<&str>, scale: f64) -> Result<Vec<f64>, BadReadings> {
    // Spreadsheets begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let mut lines = text.split(end).zip(1..).filter(|(line, _)| !line.trim().is_empty()).peekable();
    let (heads, first): (Vec<&str>, usize) =
        lines.peek().map_or_else(|| (Vec::new(), 1), |(line, at)| (cells(line).collect(), *at));
    let place = column.map_or(Ok(0), |column| place(&heads, column))?;
    if let Some(head) = heads.get(place).filter(|head| head.parse::<f64>().is_err()) {
        if column.is_none() && !is_heading(head) {
            return Err(BadReadings::Heading { line: first, text: (*head).into() });
        }
        lines.next();
    } else if heads.len() > 1 {
        // A decimal comma makes two fields of a number.
        return Err(BadReadings::Nameless { columns: heads.len() });
    }
    let readings = lines.map(|(text, line)| {
        let cells: Vec<&str> = cells(text).collect();
        let (fields, heads) = (cells.len(), heads.len());
        if fields > heads {
            return Err(BadReadings::Fields { line, fields, heads });
        }
        reading(cells.get(place).copied().unwrap_or(""), line, scale)
    });
    let readings = readings.collect::<Result<Vec<f64>, _>>()?;
    enough(readings)
}

/// The place of the only column of this name.
fn place(heads: &[&str], column: &str) -> Result<usize, BadReadings> {
    let mut places = (0..heads.len()).filter(|place| heads[*place] == column);
    match (places.next(), places.count()) {
        (Some(place), 0) => Ok(place),
        (Some(_), others) => {
            Err(BadReadings::Ambiguous { column: column.into(), count: others + 1 })
        }
        (None, _) => Err(BadReadings::Column { column: column.into(), columns: heads.join(", ") }),
    }
}

/// Whether a text that is no number can be nothing but a heading. A number with a unit or with an unusual sign can be
/// a reading, and leaving it out without a word would change the result.
fn is_heading(text: &str) -> bool {
    let unsigned = text.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    unsigned.starts_with(char::is_alphabetic)
}

fn reading(cell: &str, line: usize, scale: f64) -> Result<f64, BadReadings> {
    let text = cell.to_owned();
    match cell.parse::<f64>() {
        Ok(number) if !number.is_finite() => Err(BadReadings::Number { line, text }),
        Ok(number) if number < 0.0 => Err(BadReadings::Negative { line, text }),
        Ok(number) if !(number * scale).is_finite() => Err(BadReadings::Large { line, text }),
        Ok(number) => Ok(number * scale),
        Err(_) => Err(BadReadings::Number { line, text }),
    }
}

/// The readings, if they are enough for an interval.
///
/// # Errors
/// [`BadReadings::Few`].
pub fn enough(readings: Vec<f64>) -> Result<Vec<f64>, BadReadings> {
    if readings.len() < READINGS_MIN { Err(BadReadings::Few(readings.len())) } else { Ok(readings) }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(readings: usize) -> String {
        (0..readings).map(|reading| format!("{reading},{}\n", reading * 10)).collect()
    }

    #[test]
    fn the_named_column_or_the_first_is_read() {
        let with_heads = format!("run, \"time\"\n{}", lines(10));
        assert_eq!(read_csv(&with_heads, Some("time"), 1.0).unwrap()[9], 90.0);
        assert_eq!(read_csv(&with_heads, None, 1.0).unwrap().len(), 10);
        assert_eq!(read_csv(&"7.5\n".repeat(12), None, 1.0).unwrap(), [7.5; 12]);
        let with_mark = format!("\u{feff}time\n{}", "7.5\n".repeat(12));
        assert_eq!(read_csv(&with_mark, Some("time"), 1.0).unwrap().len(), 12);
    }

    #[test]
    fn a_file_without_readings_is_refused_with_the_place() {
        let bad = |text: &str, column| read_csv(text, column, 1e3).unwrap_err().to_string();
        assert_eq!(
            bad(&format!("a,b\n{}", lines(10)), Some("c")),
            "it has no column `c`; its columns are a, b"
        );
        assert_eq!(bad("a\n1\n\nx\n", None), "line 4 has `x` where a finite number should be");
        assert_eq!(
            bad("a,b\n1,inf\n", Some("b")),
            "line 2 has `inf` where a finite number should be"
        );
        assert_eq!(
            bad(&format!("t\n{}-5\n", "5\n".repeat(50)), None),
            "line 52 has -5, but a time, a size or a rate is not below 0"
        );
        let hint = "hint: write numbers with a decimal point, and separate fields with commas";
        assert_eq!(
            bad("time\n95,2\n", None),
            format!("line 2 has 2 fields where the heading has 1\n{hint}")
        );
        assert!(bad(&lines(12), None).starts_with("it has 2 columns and no heading\nhint: "));
        assert_eq!(bad("a,b\n1\n", Some("b")), "line 2 has `` where a finite number should be");
        assert_eq!(bad(&"1\n".repeat(9), None), "it has 9 readings; an interval takes at least 10");
        assert_eq!(bad("", None), "it has 0 readings; an interval takes at least 10");
    }
    #[test]
    fn a_first_line_that_may_be_a_reading_is_no_heading() {
        let rest = "7.5\n".repeat(12);
        for first in ["100.0x", "100 us", "\u{2212}100", "-", "0x10", "5e"] {
            let text = format!("{first}\n{rest}");
            let found = read_csv(&text, None, 1.0);
            assert_eq!(found, Err(BadReadings::Heading { line: 1, text: first.into() }));
            // Its name in the experiment makes it a heading.
            assert_eq!(read_csv(&text, Some(first), 1.0).unwrap(), [7.5; 12]);
        }
        let nameless = read_csv(&format!(",time\n{}", lines(12)), None, 1.0);
        assert_eq!(nameless, Err(BadReadings::Heading { line: 1, text: String::new() }));
        for head in ["time", "#time", "µs", "(s)", "\"t 1\""] {
            assert_eq!(read_csv(&format!("{head}\n{rest}"), None, 1.0).unwrap(), [7.5; 12]);
        }
        let twice = read_csv(&format!("time,time\n{}", lines(12)), Some("time"), 1.0);
        let message = "it has 2 columns called `time`\nhint: give each column its own name";
        assert_eq!(twice.unwrap_err().to_string(), message);
    }

    #[test]
    fn readings_have_the_unit_of_the_case() {
        assert_eq!(read_csv(&"2\n".repeat(10), None, 1e3).unwrap(), [2e3; 10]);
        let message = "line 2 has 1e308, which is too large in the unit of the case";
        assert_eq!(read_csv("t\n1e308\n", None, 1e3).unwrap_err().to_string(), message);
    }

    #[test]
    fn lines_end_with_any_usual_mark() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                |last: &str| format!("time{end}{}{last}{end}", format!("7.5{end}").repeat(12));
            assert_eq!(read_csv(&text("1"), None, 1.0).unwrap().len(), 13);
            let bad = BadReadings::Number { line: 14, text: "x".into() };
            assert_eq!(read_csv(&text("x"), None, 1.0), Err(bad), "{end:?}");
        }
    }
}
