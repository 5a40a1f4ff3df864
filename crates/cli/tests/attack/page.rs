//! The part of the guide that the full form makes: on what was measured, the table, and what became of the visitors.

use super::host;
use super::process::Orders;
use super::table::HEAD;

/// The lines around it. A measurement takes the place of the one before it.
pub(crate) const BEGIN: &str = "<!-- table of attacks -->";
pub(crate) const END: &str = "<!-- end -->";

/// The longest line of a paragraph, in characters.
const WIDTH: usize = 120;

/// The part, as far as it is measured.
pub(crate) struct Page {
    /// On what it is measured, and the load before it.
    conditions: String,
    rows: Vec<String>,
    /// How many of the rows hold.
    held: usize,
    /// The visitors that come and go, and what they did not find kept.
    churn: Option<String>,
}

impl Page {
    /// Notes what is measured: the program of the command line, or that of a commit if it is known.
    pub(crate) fn new(orders: &Orders) -> Self {
        let of_what = match (orders.text("program"), orders.text("commit")) {
            (Some(program), _) => format!(" with {program}"),
            (None, Some(commit)) => format!(" at commit {commit}"),
            (None, None) => String::new(),
        };
        let (machine, load) = (host::machine(), host::load());
        let conditions = format!("Measured{of_what} on {machine}; load before it {load}.");
        Self { conditions, rows: Vec::new(), held: 0, churn: None }
    }

    /// The sentence about what is measured.
    pub(crate) fn conditions(&self) -> &str {
        &self.conditions
    }

    pub(crate) fn add(&mut self, row: String, holds: bool) {
        self.rows.push(row);
        self.held += usize::from(holds);
    }

    pub(crate) fn add_churn(&mut self, line: String) {
        self.churn = Some(line);
    }

    /// Whether every row holds.
    pub(crate) fn holds(&self) -> bool {
        self.held == self.rows.len()
    }

    /// How many rows hold.
    pub(crate) fn verdict(&self) -> String {
        format!("{} of {} rows hold.", self.held, self.rows.len())
    }

    /// Returns it as Markdown.
    pub(crate) fn text(&self) -> String {
        let mut parts = Vec::new();
        let units = "Times are in ms, memory is in MiB.";
        if self.rows.is_empty() {
            parts.push(filled(&self.conditions));
        } else {
            parts.push(filled(&format!("{} {} {units}", self.conditions, self.verdict())));
            parts.push(format!("{HEAD}\n{}", self.rows.join("\n")));
        }
        parts.extend(self.churn.as_deref().map(filled));
        format!("{BEGIN}\n{}\n{END}\n", parts.join("\n\n"))
    }
}

/// Returns a paragraph in lines that are as long as they may be.
fn filled(paragraph: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in paragraph.split(' ') {
        let len = word.chars().count();
        if width > 0 && width + 1 + len > WIDTH {
            text.push('\n');
            width = 0;
        }
        if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += len;
    }
    text
}

/// The guide, in which the last measurement stands.
const GUIDE: &str = include_str!("../../../../docs/guide/rti.md");

/// The next measurement can take the place of the one in the guide: that is what this makes of its conditions and rows.
pub(crate) fn has_the_form_of_the_guide(_: &str) -> Result<(), String> {
    let (_, rest) = GUIDE.split_once(BEGIN).ok_or("the guide has no table of attacks")?;
    let (guide, _) = rest.split_once(END).ok_or("the table of the guide has no end")?;
    let (paragraph, rest) = guide.trim_start().split_once("\n\n").ok_or("it has no table")?;
    let (conditions, _) = paragraph.split_once(". ").ok_or("it has no conditions")?;
    let conditions = format!("{}.", conditions.replace('\n', " "));
    let mut page = Page { conditions, rows: Vec::new(), held: 0, churn: None };
    let rows = rest.lines().skip(HEAD.lines().count()).take_while(|line| line.starts_with('|'));
    rows.for_each(|row| page.add(row.to_owned(), row.ends_with("| holds |")));
    let head = HEAD.lines().next().unwrap_or_default();
    let columns = |row: &str| row.split(" | ").count();
    if let Some(row) = page.rows.iter().find(|row| columns(row) != columns(head)) {
        return Err(format!("a row of the guide has other columns: {row}"));
    }
    page.churn = rest.split_once("\n\n").map(|(_, churn)| churn.trim_end().replace('\n', " "));
    let (ours, theirs) = (page.text(), format!("{BEGIN}{guide}{END}\n"));
    if ours == theirs { Ok(()) } else { Err(format!("the guide has not the form of\n{ours}")) }
}
