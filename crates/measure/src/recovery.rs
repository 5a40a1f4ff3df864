//! Cost over time: how dear the work of a process is after an interruption, and how that passes.
//!
//! Muller, "Modeling and Analysis: Inputs and Uncertainties", figure 3.15: after each change of the flow of execution
//! the processor is slow, until code and data are in its caches again. Here in time for a cache line instead of clock
//! cycles for an instruction, from the figures `interruption.walk_N.…` of the catalogue, in which a process walks
//! through its own data again and again.

use std::fmt::Write as _;

use hemiola_model::machine::Figure;
use hemiola_report::charts::{Along, Lines, Point, Ranged, Series};
use hemiola_report::page::Figure as Drawn;
use hemiola_report::plot::Scale;
use hemiola_report::table::Table;
use hemiola_report::text::{duration, ratio, round_duration};

/// The file of the costs over time in a result folder.
pub const FILE_NAME: &str = "cost_over_time.csv";

const TITLE: &str = "Cost over time after an interruption";

/// One walk through all data of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Walk {
    /// Counted from 1, the first after the interruption.
    number: u32,
    /// From the end of the interruption to the beginning and to the end of the walk, ns: the medians of all walks so
    /// far, added.
    begin: f64,
    end: f64,
    /// Time for a line, ns.
    line: f64,
    /// The interval of a repeat.
    low: f64,
    high: f64,
}

/// The walks from the first one on, as far as none is missing.
fn walks(figures: &[Figure]) -> Vec<Walk> {
    let lines = hemiola_probe::INTERRUPTED_LINES as f64;
    let find = |number: u32| {
        let begin = format!("interruption.walk_{number}.");
        figures.iter().find(|figure| figure.name.starts_with(&begin))
    };
    let mut begin = 0.0;
    let walk = |(number, figure): (u32, &Figure)| {
        let end = begin + figure.value * lines;
        let of =
            Walk { number, begin, end, line: figure.value, low: figure.low, high: figure.high };
        begin = end;
        of
    };
    (1..).map_while(|number| Some((number, find(number)?))).map(walk).collect()
}

/// The walks one by one; no rows if they were not measured.
pub(crate) fn table(figures: &[Figure]) -> Table {
    let walks = walks(figures);
    let last = walks.last().map_or(f64::NAN, |walk| walk.line);
    let row = |walk: &Walk| {
        vec![
            walk.number.to_string(),
            format!("{} … {}", duration(walk.begin), duration(walk.end)),
            duration(walk.line),
            format!("{} … {}", duration(walk.low), duration(walk.high)),
            ratio(walk.line / last),
        ]
    };
    let heads = ["Walk", "When", "One line", "Repeat", "To the last"];
    Table::new(TITLE, heads, walks.iter().map(row).collect()).with_note(
        "A process walks through its own 16 KiB again and again after another one walked 4 MiB. When: since it has the \
         processor again. One line: the time for each cache line in this walk.",
    )
}

/// The walks as a curve; `None` for fewer than two.
pub(crate) fn chart(figures: &[Figure]) -> Option<Drawn> {
    let walks = walks(figures);
    let point = |x: f64, walk: &Walk| Point {
        x,
        y: Ranged { value: walk.line, ends: Some([walk.low, walk.high]) },
    };
    let points: Vec<Point> =
        walks.iter().map(|walk| point(f64::midpoint(walk.begin, walk.end), walk)).collect();
    if points.len() < 2 {
        return None;
    }
    let svg = Lines {
        description: "Time for a cache line over the time since the interruption",
        x: Along { name: "since the interruption", scale: Scale::Linear, show: &round_duration },
        y: Along { name: "one line", scale: Scale::Linear, show: &round_duration },
        series: vec![Series { name: "walks through 16 KiB".into(), points }],
        markers: Vec::new(),
    }
    .draw();
    Some(Drawn {
        title: TITLE.into(),
        caption: "What a process pays for each cache line of its own data after another one had the processor. Each \
                  point is one walk through all of them, at its middle; bars show the interval of a repeat."
            .into(),
        svg: vec![svg],
    })
}

/// The walks as comma-separated values with a heading, times in nanoseconds; `None` if they were not measured.
#[must_use]
pub fn csv(figures: &[Figure]) -> Option<String> {
    let walks = walks(figures);
    let mut text = String::from("walk,begin_ns,end_ns,line_ns,line_low_ns,line_high_ns\n");
    for Walk { number, begin, end, line, low, high } in &walks {
        writeln!(text, "{number},{begin},{end},{line},{low},{high}").expect("a text takes all");
    }
    (!walks.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::figure;

    fn figures() -> Vec<Figure> {
        [(1, 10.0), (2, 2.5), (3, 1.25), (5, 1.0)]
            .map(|(number, line)| {
                figure(
                    &format!("interruption.walk_{number}.walked_4MiB@cache_polluter"),
                    line,
                    0.25,
                )
            })
            .to_vec()
    }

    #[test]
    fn each_walk_begins_when_the_one_before_it_ends() {
        let table = table(&figures());
        // 256 lines; the fourth walk is missing, so the fifth has no place.
        let rows: Vec<[&str; 3]> =
            table.rows.iter().map(|row| [&row[1], &row[2], &row[4]].map(String::as_str)).collect();
        let expected = [
            ["0 ns … 2.56 µs", "10 ns", "8.00 ×"],
            ["2.56 µs … 3.20 µs", "2.50 ns", "2.00 ×"],
            ["3.20 µs … 3.52 µs", "1.25 ns", "1.00 ×"],
        ];
        assert_eq!(rows, expected);
        assert!(super::table(&[]).rows.is_empty());
    }

    #[test]
    fn the_curve_and_the_file_have_the_same_walks() {
        let csv = csv(&figures()).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[1..3], ["1,0,2560,10,9.75,10.25", "2,2560,3200,2.5,2.25,2.75"]);
        assert_eq!(lines.len(), 4);
        assert_eq!(chart(&figures()).unwrap().svg.len(), 1);
        assert!(chart(&figures()[..1]).is_none() && super::csv(&[]).is_none());
    }
}
