//! Diagnostics as plain text for a terminal.

use std::fmt::{self, Write};
use std::ops::Range;

/// Whether a diagnostic rejects the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The input is rejected.
    Error,
    /// The input is accepted.
    Warning,
}

/// One problem as it is shown.
#[derive(Clone, Debug)]
pub struct Diagnostic<'d> {
    /// The first word of the text.
    pub severity: Severity,
    /// The error in one sentence without a full stop.
    pub message: &'d str,
    /// The places to look at, the most important one first.
    pub labels: Vec<Label<'d>>,
    /// The suggested remedy; may be empty.
    pub hint: &'d str,
}

/// A place in a file, and the text beside its carets.
#[derive(Clone, Debug)]
pub struct Label<'d> {
    /// The name of the file.
    pub file_name: &'d str,
    /// All of its text.
    pub source: &'d str,
    /// The bytes that are marked. A span of several lines is marked on its first line; a span outside the
    /// source is moved to its end.
    pub span: Range<usize>,
    /// The text beside the carets; may be empty.
    pub text: &'d str,
}

/// The most diagnostics in one text; finding the line of each scans the source.
const SHOWN_MAX: usize = 100;

/// The most characters shown of a source line: a line may be as long as a file.
const LINE_LEN_MAX: usize = 160;

/// The most bytes shown of a message, a label or a hint: it may quote a formula that is as long as a file.
const TEXT_LEN_MAX: usize = 2_000;

/// The items as text, each as `show` describes it: the message, its places with the source line and carets,
/// and its hint. The text has no colour and depends on nothing else.
///
/// After 100 items, the text ends with the number of those left out.
pub fn render_all<'d, T>(items: &'d [T], show: impl Fn(&'d T) -> Diagnostic<'d>) -> String {
    let mut text = String::new();
    for item in items.iter().take(SHOWN_MAX) {
        render_one(&mut text, &show(item)).expect("writing to a String does not fail");
    }
    if items.len() > SHOWN_MAX {
        text += &format!("\n{} more problems are not shown\n", items.len() - SHOWN_MAX);
    }
    text
}

/// The line and column of a byte, both from 1; columns count characters.
#[must_use]
pub fn line_column(source: &str, at: usize) -> (usize, usize) {
    let before = &source[..source.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn render_one(text: &mut String, diagnostic: &Diagnostic<'_>) -> fmt::Result {
    if !text.is_empty() {
        text.push('\n');
    }
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    writeln!(text, "{severity}: {}", printable(diagnostic.message))?;
    let lines: Vec<MarkedLine> = diagnostic.labels.iter().map(MarkedLine::find).collect();
    let width = lines.iter().map(|line| line.number.to_string().len()).max().unwrap_or(1);
    let margin = " ".repeat(width);
    for (at, (line, label)) in lines.iter().zip(&diagnostic.labels).enumerate() {
        let MarkedLine { number, column, before, marked, text: source } = line;
        let arrow = if at == 0 { "-->" } else { ":::" };
        writeln!(text, "{margin}{arrow} {}:{number}:{column}", printable(label.file_name))?;
        writeln!(text, "{margin} |")?;
        writeln!(text, "{number:width$} | {source}")?;
        let gap = " ".repeat(*before);
        let carets = format!("{gap}{} {}", "^".repeat(*marked), printable(label.text));
        writeln!(text, "{margin} | {}", carets.trim_end())?;
    }
    if !diagnostic.hint.is_empty() {
        writeln!(text, "{margin} = hint: {}", printable(diagnostic.hint))?;
    }
    Ok(())
}

/// A source line as it is shown.
struct MarkedLine {
    /// From 1.
    number: usize,
    /// In characters, from 1.
    column: usize,
    /// Characters of `text` before the carets.
    before: usize,
    /// Carets to draw, at least one.
    marked: usize,
    /// The line, or the part of it around the place. Indentation is left out, a tab is one space.
    text: String,
}

impl MarkedLine {
    fn find(label: &Label<'_>) -> Self {
        let source = label.source;
        let start = source.floor_char_boundary(label.span.start);
        let end = source.floor_char_boundary(label.span.end).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |at| start + at);
        let lead = &source[line_start..start];
        let rest = source[start..line_end].trim_end();
        let indent = lead.len() - lead.trim_start().len();
        // In a long line, the place starts within the first third of the shown part.
        let fits = lead[indent..].chars().count() + rest.chars().count() <= LINE_LEN_MAX;
        let lead_max = if fits { LINE_LEN_MAX } else { LINE_LEN_MAX / 3 };
        let shown_lead = last_chars(&lead[indent..], lead_max);
        let before = shown_lead.chars().count();
        let text: String = shown_lead.chars().chain(rest.chars()).take(LINE_LEN_MAX).collect();
        let marked = source[start..end.min(line_end)].trim_end().chars().count();
        let (number, column) = line_column(source, start);
        let marked = marked.clamp(1, (LINE_LEN_MAX - before).max(1));
        Self { number, column, before, marked, text: printable(&text) }
    }
}

/// The end of a text: at most `most` characters.
fn last_chars(text: &str, most: usize) -> &str {
    text.char_indices().rev().nth(most.saturating_sub(1)).map_or(text, |(at, _)| &text[at..])
}

/// The text on one line, without the characters that control a terminal. Of a long one, the beginning and the end.
fn printable(text: &str) -> String {
    let shown = |text: &str| -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    if text.len() <= TEXT_LEN_MAX {
        return shown(text);
    }
    let head = text.floor_char_boundary(TEXT_LEN_MAX * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - TEXT_LEN_MAX / 4);
    format!("{} … {}", shown(&text[..head]), shown(&text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Problem, render};

    #[test]
    fn a_problem_shows_its_line_with_carets_and_a_hint() {
        let source = "title = \"x\"\nraet = \"50Hz\"\n";
        let problems = [
            Problem::new(12..16, "unknown key \"raet\"")
                .label("here")
                .hint("did you mean \"rate\"?"),
            Problem::new(None, "--runs is 0").hint("give --runs at least 1"),
        ];
        insta::assert_snapshot!(render(&problems, source, "scenario.toml"), @r#"
        error: unknown key "raet"
         --> scenario.toml:2:1
          |
        2 | raet = "50Hz"
          | ^^^^ here
          = hint: did you mean "rate"?

        error: --runs is 0
          = hint: give --runs at least 1
        "#);
    }

    #[test]
    fn a_diagnostic_shows_all_its_places() {
        let label = |source, span, text| Label { file_name: "a.xml", source, span, text };
        let shown = render_all(&[()], |()| Diagnostic {
            severity: Severity::Warning,
            message: "Car is two things",
            labels: vec![
                label("<x>\n\t<name>Car</name>\n", 11..14, "a class here"),
                label("<name>Car</name>", 6..9, "an array here"),
            ],
            hint: "rename one",
        });
        insta::assert_snapshot!(shown, @r"
        warning: Car is two things
         --> a.xml:2:8
          |
        2 | <name>Car</name>
          |       ^^^ a class here
         ::: a.xml:1:7
          |
        1 | <name>Car</name>
          |       ^^^ an array here
          = hint: rename one
        ");
    }

    #[test]
    fn of_a_long_message_the_beginning_and_the_end_are_shown() {
        let long = format!("`{}` is no unit", "ä".repeat(200_000));
        let problem = Problem::new(0..1, long.clone()).label(long.clone()).hint(long);
        let shown = render(&[problem], "x", "f");
        assert!(shown.len() < 4 * TEXT_LEN_MAX, "{}", shown.len());
        assert_eq!(shown.matches("ä … ä").count(), 3, "{shown}");
        assert_eq!(shown.matches("ä` is no unit\n").count(), 3, "{shown}");
    }

    #[test]
    fn any_span_can_be_shown() {
        let long = format!("a = \"äöü\"\n\t{}b = 1", "ä".repeat(400));
        for (source, step) in [("a = \"äöü\"\n\tb = 1", 1), (long.as_str(), 7)] {
            for start in (0..source.len() + 3).step_by(step) {
                for end in (0..source.len() + 3).step_by(step) {
                    let shown = render(&[Problem::new(start..end, "x")], source, "f");
                    assert!(shown.contains('^'), "{start}..{end}");
                    assert!(shown.lines().all(|line| line.chars().count() < LINE_LEN_MAX + 20));
                }
            }
        }
    }
}
