//! A report as one file with everything in it: readable offline, light or dark, and printed.

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::table::Table;

const TEMPLATE: &str = include_str!("page.html");

/// What a page shows, from top to bottom. Parts without content are left out.
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
    /// What it is about.
    pub title: String,
    /// When that was, as [`crate::text::date`] writes it.
    pub started: String,
    /// What stands behind it: the command line.
    pub subtitle: String,
    /// The few figures to see first.
    pub cards: Vec<Card>,
    /// What a reader must know before trusting the rest, a sentence each.
    pub problems: Vec<String>,
    /// Its figures. Their SVG goes into the page as it is: only drawings of [`crate::plot`] and
    /// [`crate::charts`] belong there, which escape all text.
    pub figures: Vec<Figure>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Names and values of what everything above depends on.
    pub conditions: Vec<(String, String)>,
}

/// A figure with what stands below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// One SVG element or more.
    pub svg: Vec<String>,
}

/// One of the figures at the top.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Card {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// What to hold it against; may be empty.
    pub note: String,
    /// How it stands out.
    #[serde(rename = "class")]
    pub tone: Tone,
}

/// Whether a figure is good news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Tone {
    /// Neither.
    #[default]
    #[serde(rename = "")]
    Plain,
    /// As it should be.
    #[serde(rename = "good")]
    Good,
    /// Not as it should be.
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
    fn nothing_given_breaks_out_of_the_page() {
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
