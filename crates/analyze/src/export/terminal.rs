//! The tables of a summary for a terminal or a text file.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ColumnConstraint, LineStyle, TableStyle, Width};

use crate::summary::Summary;
use crate::tables::{Alignment, Detail, Table, conditions, tables};

/// How wide a column of prose may grow before it is broken.
const PROSE_WIDTH_MAX: u16 = 76;

/// How wide a note below a table is.
const NOTE_WIDTH: usize = 100;

/// A line above, below and under the heading, none between rows: more rows on a screen.
const STYLE: TableStyle = {
    let line = LineStyle::none().fill('─').junction('─');
    TableStyle::new().top_border(line).header_separator(line).bottom_border(line)
};

/// The summary as text: title, tables, problems, conditions, a blank line between them.
#[must_use]
pub fn render(summary: &Summary, detail: Detail) -> String {
    let tables = tables(summary, &BTreeMap::new(), detail);
    document(&summary.title, &tables, &summary.problems, &conditions(summary))
}

/// Any report as text: title, tables, problems and conditions, a blank line between them, those that
/// are empty left out.
#[must_use]
pub fn document(
    title: &str,
    tables: &[Table],
    problems: &[String],
    conditions: &[(String, String)],
) -> String {
    let mut parts = vec![title.to_owned()];
    parts.extend(tables.iter().map(table));
    let section = |name: &str, lines: Vec<String>| {
        (!lines.is_empty()).then(|| format!("{name}\n{}", lines.join("\n")))
    };
    parts.extend(section("Problems", problems.iter().map(|text| format!("  {text}")).collect()));
    let pair = |(name, value): &(String, String)| format!("  {name:<24} {value}");
    parts.extend(section("Conditions", conditions.iter().map(pair).collect()));
    parts.join("\n\n") + "\n"
}

/// One table with its title above and its note below.
#[must_use]
pub fn table(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(STYLE);
    drawn.set_header(table.columns.iter().map(|(head, _)| head));
    drawn.add_rows(&table.rows);
    for (index, (_, alignment)) in table.columns.iter().enumerate() {
        let column = drawn.column_mut(index).expect("the heading made this column");
        column.set_cell_alignment(match alignment {
            Alignment::Left => CellAlignment::Left,
            Alignment::Right => CellAlignment::Right,
            Alignment::Centre => CellAlignment::Center,
        });
        column.set_padding((0, 1));
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(PROSE_WIDTH_MAX)));
    }
    let lines: Vec<String> = drawn.lines().map(|line| line.trim_end().to_string()).collect();
    format!("{}\n{}{}", table.title, lines.join("\n"), wrapped(&table.note))
}

/// The words of `text` in lines of [`NOTE_WIDTH`], each behind a line break.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = NOTE_WIDTH;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let separator = if width + length >= NOTE_WIDTH { '\n' } else { ' ' };
        width = if separator == '\n' { length } else { width + 1 + length };
        lines.push(separator);
        lines.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::ladder_analysis;

    #[test]
    fn the_short_form_has_the_reports_tables() {
        insta::assert_snapshot!(render(&ladder_analysis().summary, Detail::Short), @r"
Synthetic ladder

Table 1: features
──────────────────────────────────────────────────────────────────────────────
Feature                Monolithic  Shared memory  Message queues  Simplex (1)
──────────────────────────────────────────────────────────────────────────────
Several processes                        ✓               ✓             ✓
System data integrity                                    ✓             ✓
Safety checking                                                        ✓
──────────────────────────────────────────────────────────────────────────────

Table 2: cycle time, all runs together, µs
─────────────────────────────────────────────────────────────────────────────────────────────
Program         Lines  Cycles   Min  Mean   p50    p99  p99.9    Max  Adj. max   Std  Missed
─────────────────────────────────────────────────────────────────────────────────────────────
Monolithic        400      76  2.46  2.75  2.69   6.87   6.87   6.87      6.87  0.49       0
Shared memory     700      76  7.70  8.25  8.02   23.8   23.8   23.8      23.8  1.82       0
Message queues    700      76  9.83  10.7  10.5   21.8   21.8   21.8      21.8  1.80       0
Simplex (1)      1600      76  18.7   284  19.5  20019  20019  20019     20019  2294       1
─────────────────────────────────────────────────────────────────────────────────────────────
A cycle lasts from its first time stamp to its last, over all processes in the loop; the timing
overhead of Table 15 is included. Adj. max: without each run's last cycle.

Cost against the floor of the machine
─────────────────────────────────────────────────────────────────────────────────────────────────────
Program         Hand-overs  Floor   Ratio  Floor b-b  Ratio b-b  To first    Adj.  Switches  Latency
─────────────────────────────────────────────────────────────────────────────────────────────────────
Monolithic               –      –       –          –          –    1.00 ×  1.00 ×       2.5     3.02
Shared memory      1 futex   2.60  3.08 ×       2.30     3.49 ×    2.98 ×  3.00 ×       5.0     3.02
Message queues        1 mq   3.10  3.38 ×          –          –    3.90 ×  3.95 ×       5.0     2.96
Simplex (1)        4 futex   10.4  1.88 ×       9.20     2.12 ×    7.26 ×  7.40 ×       7.5     3.01
─────────────────────────────────────────────────────────────────────────────────────────────────────
Floor, µs: hand-overs × the median of one hand-over of that kind measured in this run, those down
and those up each by their own, at the rate of the loop (the processor idle in between) and back to
back. Ratios are of the median cycle; adj.: to the first, the timing overhead taken off both.
Context switches of a cycle, median release latency in µs.

Table 15: timing overhead as a share of the figure
────────────────────────────────────────────────────────────
Program         Mean, µs  Stamps/cycle  Overhead, µs  Share
────────────────────────────────────────────────────────────
Monolithic          2.75           4.0          0.12  4.3 %
Shared memory       8.25           9.0          0.32  3.8 %
Message queues      10.7           9.0          0.32  2.9 %
Simplex (1)          284          14.0          0.51  0.2 %
────────────────────────────────────────────────────────────
Time stamps of a cycle × what a pair of marks takes back to back, the first and the last counting
half. Here: 39.5 ns, 1.79 × a bare clock read.

Floors: one hand-over between two processes on this machine, µs
───────────────────────────────────────────────────────────────
Mechanism  Measured      Samples   Min  Mean   p50   p99   Max
───────────────────────────────────────────────────────────────
futex      back to back    1 000  2.07  2.41  2.30  3.45  20.7
futex      at rate         1 000  2.34  2.72  2.60  3.90  23.4
mq         at rate         1 000  2.79  3.25  3.10  4.65  27.9
yield      back to back    1 000  1.03  1.20  1.15  1.73  10.3
───────────────────────────────────────────────────────────────
Measured in the same run as the programs above. Down: to a process of lower priority, which runs
when the sender goes to sleep; up: to one of higher priority, which preempts.

Missed deadlines, explained
───────────────────────────────────────────────────────────────────────────────────────────────────────────────
Program      Run  Cycle  Cause in  Explanation
───────────────────────────────────────────────────────────────────────────────────────────────────────────────
Simplex (1)    1     20  not ours  22.1 µs late: 20.0 ms (usually 1.46 µs) in io between sample and send, not
                                   computing: something else had the processor
───────────────────────────────────────────────────────────────────────────────────────────────────────────────
Deadlines missed: 1. Missed cycles whose cause is in the programs of the loop: 0. Shown: 1.

Faults, with the decision module and without
──────────────────────────────────────────────────────────────────────────────────────────────────────────
Fault         Injected into  Lost with  Earliest  Peak V  Detected  False  Lost without  Earliest  Peak V
──────────────────────────────────────────────────────────────────────────────────────────────────────────
stuck output  simulated         0/1000         –   0.610       1.5      0     1000/1000    412 ms   9.300
busy loop     processes         0/1000         –   0.420       1.0      0             –         –       –
──────────────────────────────────────────────────────────────────────────────────────────────────────────
Lost: runs in which the pendulum fell or left the track, of all runs. Detected: after so many
cycles. False: switches away from a unit that had no fault.

Conditions
  Hemiola                  0.1.0
  Commit                   unknown
  Kernel                   Linux 6.1
  Preemption               voluntary
  Processor                Test CPU, 2 online
  Virtual machine          kvm
  Clock                    tsc: fast read 10.0 ns, bare read 22.0 ns, resolution 1.0 ns
  Real-time share          950000 of 1000000 µs
  Load before              0.25
  Stolen by the host       3 ticks
  Command                  hemiola run examples/1-pendulum-ladder
");
    }

    #[test]
    fn the_full_form_has_every_run() {
        let text = render(&ladder_analysis().summary, Detail::Full);
        for title in ["Monolithic: runs", "Simplex (1): runs", "Processes of the loop"] {
            assert!(text.contains(title), "{title}");
        }
    }
}
