//! A report for a terminal or a text file.

use comfy_table::{CellAlignment, ColumnConstraint, LineStyle, TableStyle, Width};

use crate::table::{Alignment, Table};
use crate::text::{printable, printable_lines};

/// The maximum width of a column of prose.
const PROSE_WIDTH_MAX: u16 = 76;

/// The width of a note below a table.
const NOTE_WIDTH: usize = 100;

/// A line above, below and under the heading, none between rows: more rows on a screen.
const STYLE: TableStyle = {
    let line = LineStyle::none().fill('─').junction('─');
    TableStyle::new().top_border(line).header_separator(line).bottom_border(line)
};

/// A report as text: title, tables, problems and conditions, separated by blank lines. Empty parts are left out. What
/// could control a terminal, such as the name of a thread, is escaped.
pub fn document(
    title: &str,
    tables: &[Table],
    problems: &[String],
    conditions: &[(String, String)],
) -> String {
    // Some titles and problems have several lines.
    let mut parts = vec![printable_lines(title)];
    parts.extend(tables.iter().map(table));
    let section = |name: &str, lines: Vec<String>| {
        (!lines.is_empty()).then(|| format!("{name}\n{}", lines.join("\n")))
    };
    parts.extend(section(
        "Problems",
        problems.iter().map(|text| format!("  {}", printable_lines(text))).collect(),
    ));
    let pair = |(name, value): &(String, String)| {
        format!("  {:<24} {}", printable(name), printable(value))
    };
    parts.extend(section("Conditions", conditions.iter().map(pair).collect()));
    parts.join("\n\n") + "\n"
}

/// One table with its title above and its note below. What could control a terminal is escaped.
#[must_use]
pub fn table(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(STYLE);
    drawn.set_header(table.columns.iter().map(|(head, _)| printable(head)));
    drawn.add_rows(table.rows.iter().map(|row| row.iter().map(|cell| printable(cell))));
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
    format!("{}\n{}{}", printable(&table.title), lines.join("\n"), wrapped(&table.note))
}

/// The words of `text` in lines of [`NOTE_WIDTH`], each behind a line break.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = NOTE_WIDTH;
    for word in text.split_whitespace() {
        let word = printable(word);
        let length = word.chars().count();
        let separator = if width + length >= NOTE_WIDTH { '\n' } else { ' ' };
        width = if separator == '\n' { length } else { width + 1 + length };
        lines.push(separator);
        lines.push_str(&word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_control_a_terminal_is_escaped_wherever_it_stands() {
        let evil = "a\x1b[2J\u{202e}b";
        let columns = vec![(evil.into(), Alignment::Left)];
        let table =
            Table { title: evil.into(), note: evil.into(), columns, rows: vec![vec![evil.into()]] };
        let (problems, conditions) = ([evil.to_owned()], [(evil.to_owned(), evil.to_owned())]);
        let text = document(evil, &[table], &problems, &conditions);
        assert_eq!(text.matches(r"a\u{1b}[2J\u{202e}b").count(), 8, "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}
