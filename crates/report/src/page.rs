//! A report as one self-contained HTML file for screen, light or dark, and print.

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::table::Table;

const TEMPLATE: &str = include_str!("page.html");

/// The content of a page from top to bottom. Empty parts are left out.
///
/// ```
/// use hemiola_report::page::{Card, Page, Tone};
/// use hemiola_report::table::Table;
///
/// let page = Page {
///     title: "Figures of merit".into(),
///     cards: vec![Card::new("Empty system call", "131 ns", "± 2 ns", Tone::Plain)],
///     tables: vec![Table::new("Clock", ["Read", "ns"], vec![vec!["fast".into(), "9.7".into()]])],
///     ..Page::default()
/// };
/// assert!(page.render().contains("131 ns"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// When the run started, as [`crate::text::date`] writes it.
    pub started: String,
    /// The command line.
    pub subtitle: String,
    /// The most important figures.
    pub cards: Vec<Card>,
    /// Problems that limit the rest, a sentence each.
    pub problems: Vec<String>,
    /// Its figures. Their SVG goes into the page as it is: only drawings of [`crate::plot`] and
    /// [`crate::charts`] belong there, which escape all text.
    pub figures: Vec<Figure>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Names and values of what everything above depends on.
    pub conditions: Vec<(String, String)>,
}

/// A figure with its caption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// One SVG element or more.
    pub svg: Vec<String>,
}

/// One of the highlighted values at the top.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// The value with its unit.
    pub value: String,
    /// A value to compare it with; may be empty.
    pub note: String,
    /// How it is coloured.
    #[serde(rename = "class")]
    pub tone: Tone,
}

/// Whether a value is good or bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Tone {
    /// Neither.
    #[default]
    #[serde(rename = "")]
    Plain,
    /// As required.
    #[serde(rename = "good")]
    Good,
    /// Not as required.
    #[serde(rename = "bad")]
    Bad,
}

impl Card {
    /// A card with these words.
    pub fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        note: impl Into<String>,
        tone: Tone,
    ) -> Self {
        Self { name: name.into(), value: value.into(), note: note.into(), tone }
    }
}

impl Page {
    /// The page as HTML; names and values cannot break out of their places.
    ///
    /// # Panics
    /// Never: the template is part of the program, and a test renders it.
    #[must_use]
    pub fn render(&self) -> String {
        // The name's ending turns on the escaping of all values.
        const NAME: &str = "page.html";
        let mut environment = Environment::new();
        environment.add_template(NAME, TEMPLATE).expect("the template is part of the program");
        let template = environment.get_template(NAME).expect("it was added above");
        template
            .render(Value::from(Serde(self)))
            .expect("a page has every value the template names")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_page_has_no_empty_parts() {
        let page = Page { title: "Nothing".into(), ..Page::default() }.render();
        for part in
            ["id=\"figures\"", "id=\"tables\"", "id=\"conditions\"", "Problems", "class=\"card"]
        {
            assert!(!page.contains(part), "{part}");
        }
        assert!(page.contains("<h1>Nothing</h1>"));
    }

    #[test]
    fn values_cannot_break_out_of_the_page() {
        let wild = "<script>\"'&";
        let page = Page {
            title: wild.into(),
            started: wild.into(),
            subtitle: wild.into(),
            cards: vec![Card::new(wild, wild, wild, Tone::Bad)],
            problems: vec![wild.into()],
            figures: Vec::new(),
            tables: vec![Table::new(wild, [wild, wild], vec![vec![wild.into(), wild.into()]])],
            conditions: vec![(wild.into(), wild.into())],
        };
        assert!(!page.render().contains("<script>"));
    }
}
