//! A line of the suite, and the page that it fills: rows with the thesis's numbers beside ours, and verdicts.

use super::seed::NUMBERS;
use super::timing::Scale;

/// A table or figure of the thesis, and the function that measures ours.
pub(crate) struct Line {
    /// Such as `T6.3` for a table, `F6.5` for a figure.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) measure: fn(Scale, &mut Page),
}

impl Line {
    pub(crate) fn measured(&self, scale: Scale) -> Page {
        let mut page = Page::new(self.name, self.title);
        (self.measure)(scale, &mut page);
        page
    }
}

/// What a line has found.
pub(crate) struct Page {
    name: &'static str,
    title: &'static str,
    rows: Vec<[String; 3]>,
    /// Claims about counts, which hold on every machine.
    laws: Vec<(String, bool)>,
    /// Claims about times.
    shapes: Vec<(String, bool)>,
    /// Parts that are not measured, and why.
    missing: Vec<String>,
}

const NONE: &str = "–";

impl Page {
    pub(crate) fn new(name: &'static str, title: &'static str) -> Self {
        let (rows, laws, shapes, missing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { name, title, rows, laws, shapes, missing }
    }

    /// Adds a row. The thesis's number beside it is the one with the same name in `seed.rs`.
    pub(crate) fn row(&mut self, what: impl Into<String>, ours: impl Into<String>) {
        let what = what.into();
        let seed = self.numbers().find(|(name, _)| *name == what).map_or(NONE, |(_, seed)| seed);
        self.rows.push([what, seed.to_owned(), ours.into()]);
    }

    /// A claim about counts: the suite fails unless it holds.
    pub(crate) fn law(&mut self, claim: impl Into<String>, holds: bool) {
        self.laws.push((claim.into(), holds));
    }

    /// A claim about times: it is printed whether it holds.
    pub(crate) fn shape(&mut self, claim: impl Into<String>, holds: bool) {
        self.shapes.push((claim.into(), holds));
    }

    /// A part that is not measured, and why. A reason that starts with "needs" names a privilege or a tool.
    pub(crate) fn missing(&mut self, reason: impl Into<String>) {
        self.missing.push(reason.into());
    }

    /// The thesis's numbers for this line.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let name = self.name;
        NUMBERS.iter().filter(move |(line, ..)| *line == name).map(|(_, what, seed)| (*what, *seed))
    }

    /// Those that no row has.
    fn hidden(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let is_shown = |what: &str| self.rows.iter().any(|[name, ..]| name == what);
        self.numbers().filter(move |(what, _)| !is_shown(what))
    }

    /// Privileges and tools that this machine lacks.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str).filter(|reason| reason.starts_with("needs "))
    }

    /// Its faults, which do not depend on the machine.
    pub(crate) fn broken(&self) -> Vec<String> {
        let laws = self.laws.iter().filter(|(_, holds)| !holds);
        let mut broken: Vec<String> =
            laws.map(|(claim, _)| format!("does not hold: {claim}")).collect();
        if self.missing.is_empty() {
            let hidden = self.hidden();
            broken.extend(hidden.map(|(what, _)| format!("no figure beside the thesis's: {what}")));
        }
        if self.rows.is_empty() && self.missing.is_empty() {
            broken.push("neither a row nor the reason for none".into());
        }
        broken
    }

    /// The page as Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("## {}: {}\n\n", self.name, self.title);
        let hidden =
            self.hidden().map(|(what, seed)| [what, seed, "not measured"].map(str::to_owned));
        let rows: Vec<[String; 3]> = self.rows.iter().cloned().chain(hidden).collect();
        if !rows.is_empty() {
            text += "| | thesis | here |\n|---|---|---|\n";
            for [what, seed, ours] in &rows {
                text += &format!("| {what} | {seed} | {ours} |\n");
            }
            text += "\n";
        }
        for (claim, holds) in &self.laws {
            let verdict = if *holds { "holds" } else { "DOES NOT HOLD" };
            text += &format!("* {verdict}: {claim}\n");
        }
        for (claim, holds) in &self.shapes {
            let verdict = if *holds { "shape kept" } else { "shape not kept" };
            text += &format!("* {verdict}: {claim}\n");
        }
        for reason in &self.missing {
            text += &format!("* not measured: {reason}\n");
        }
        text
    }
}

/// How many claims hold, and what is not measured.
pub(crate) fn summary(pages: &[Page]) -> String {
    let holding = |claims: fn(&Page) -> &Vec<(String, bool)>| {
        let all: Vec<bool> = pages.iter().flat_map(claims).map(|(_, holds)| *holds).collect();
        let held = all.iter().filter(|holds| **holds).count();
        format!("{held} of {}", all.len())
    };
    let missing: Vec<&str> =
        pages.iter().filter(|page| !page.missing.is_empty()).map(|page| page.name).collect();
    let missing = if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") };
    format!(
        "{} lines; {} counts and laws hold; {} shapes of times are kept; not measured, at least in part: {missing}",
        pages.len(),
        holding(|page| &page.laws),
        holding(|page| &page.shapes),
    )
}
