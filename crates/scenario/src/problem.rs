//! What is wrong with a file, where, and what to do about it.

use std::fmt::Write;
use std::ops::Range;

use hemiola_units::edit_distance;

/// One thing wrong with a scenario, or another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The bytes of the source it is about; `None` for what is missing from all of
    /// it, or comes from the command line.
    pub span: Option<Range<usize>>,
    /// What is wrong: one sentence without a full stop.
    pub message: String,
    /// What to write beside the caret; may be empty.
    pub label: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl Problem {
    /// A problem with a place or with none, without label and hint.
    pub fn new(span: impl Into<Option<Range<usize>>>, message: impl Into<String>) -> Self {
        Self {
            span: span.into(),
            message: message.into(),
            label: String::new(),
            hint: String::new(),
        }
    }

    /// With what to write beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// The problems as plain text for a terminal: each with its sentence, the source line with carets
/// under what it is about, and its hint. The same text always, without colour.
///
/// At most 100 are shown, then how many there are besides: who has more repairs those first. A span
/// that reaches over several lines is marked on its first; spans outside `source` are moved to
/// its end.
#[must_use]
pub fn render(problems: &[Problem], source: &str, file_name: &str) -> String {
    let mut text = String::new();
    for problem in problems.iter().take(SHOWN_MAX) {
        render_one(&mut text, problem, source, file_name).expect("a String takes all text");
    }
    if problems.len() > SHOWN_MAX {
        text += &format!("\n{} more problems are not shown\n", problems.len() - SHOWN_MAX);
    }
    text
}

/// The most problems in one text; finding each one's line takes time in proportion to the source.
const SHOWN_MAX: usize = 100;

fn render_one(
    text: &mut String,
    problem: &Problem,
    source: &str,
    file_name: &str,
) -> std::fmt::Result {
    if !text.is_empty() {
        text.push('\n');
    }
    writeln!(text, "error: {}", printable(&problem.message))?;
    let mut margin = String::from(" ");
    if let Some(span) = &problem.span {
        let place = Place::find(source, span);
        margin = " ".repeat(place.line.to_string().len());
        writeln!(text, "{margin}--> {file_name}:{}:{}", place.line, place.column)?;
        writeln!(text, "{margin} |")?;
        writeln!(text, "{} | {}", place.line, place.text)?;
        let gap = " ".repeat(place.column - 1);
        let line =
            format!("{margin} | {gap}{} {}", "^".repeat(place.width), printable(&problem.label));
        writeln!(text, "{}", line.trim_end())?;
    }
    if !problem.hint.is_empty() {
        writeln!(text, "{margin} = hint: {}", printable(&problem.hint))?;
    }
    Ok(())
}

/// Where on which line.
struct Place {
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    /// Carets to draw, at least one.
    width: usize,
    /// The line; every tab is one space, so that the carets stand right.
    text: String,
}

impl Place {
    fn find(source: &str, span: &Range<usize>) -> Self {
        let start = floor(source, span.start);
        let end = floor(source, span.end.max(start));
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |at| start + at);
        let shown = source[line_start..line_end].trim_end();
        let marked = &source[start..end.min(line_end)];
        Self {
            line: source[..start].matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            width: marked.trim_end().chars().count().max(1),
            text: printable(shown),
        }
    }
}

/// The text on one line, without what a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The nearest character boundary at or before `at`.
fn floor(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The candidate most like `word`, if one is like enough to be what was meant: "did you mean …?"
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Longer words are not compared: the table below grows with both lengths.
    const WORD_LEN_MAX: usize = 64;
    let length = word.chars().count();
    if length > WORD_LEN_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| {
            *distance <= 1 + candidate.chars().count().max(length) / 4 && *distance < length.max(2)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_line_with_carets_and_a_hint() {
        let source = "title = \"x\"\nraet = \"50Hz\"\n";
        let problems = [
            Problem::new(12..16, "unknown key \"raet\"")
                .label("here")
                .hint("did you mean \"rate\"?"),
            Problem::new(None, "0 runs are none").hint("give --runs at least 1"),
        ];
        insta::assert_snapshot!(render(&problems, source, "scenario.toml"), @r#"
        error: unknown key "raet"
         --> scenario.toml:2:1
          |
        2 | raet = "50Hz"
          | ^^^^ here
          = hint: did you mean "rate"?

        error: 0 runs are none
          = hint: give --runs at least 1
        "#);
    }

    #[test]
    fn any_span_can_be_shown() {
        let source = "a = \"äöü\"\n\tb = 1";
        for start in 0..source.len() + 3 {
            for end in 0..source.len() + 3 {
                let text = render(&[Problem::new(start..end, "x")], source, "f");
                assert!(text.contains('^'), "{start}..{end}");
            }
        }
    }

    #[test]
    fn near_words_are_suggested_and_far_ones_not() {
        let keys = ["rate", "runs", "duration", "allow_less"];
        assert_eq!(nearest("raet", keys), Some("rate"));
        assert_eq!(nearest("durations", keys), Some("duration"));
        assert_eq!(nearest("allowless", keys), Some("allow_less"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
    }
}
