//! Cuts files into blocks of running text, and blocks into sentences.

use crate::tidy::tree::{Segment, segments};

/// A paragraph, list item, table cell, comment or string, with the line that each of its characters stands in.
#[derive(Default)]
pub(super) struct Block {
    text: String,
    /// Start in `text` and line in the file of each line of the block.
    lines: Vec<(usize, usize)>,
}

impl Block {
    fn push(&mut self, line: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), line));
        self.text.push_str(text.trim());
    }

    /// The sentences of the block, each with the line it begins in. A sentence ends with a full stop, a question mark,
    /// an exclamation mark or a colon before a capital letter.
    pub(super) fn sentences(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut start = 0;
        let mut ends: Vec<usize> = self
            .text
            .match_indices(['.', '?', '!', ':'])
            .map(|(at, end)| {
                let rest = &self.text[at + end.len()..];
                at + end.len() + rest.len() - rest.trim_start_matches(CLOSING).len()
            })
            .filter(|&end| {
                let rest = &self.text[end..];
                let next = rest.trim_start().trim_start_matches(OPENING);
                rest.starts_with(' ') && next.starts_with(|c: char| c.is_uppercase() || c == '`')
            })
            .collect();
        ends.push(self.text.len());
        for end in ends {
            let sentence = &self.text[start..end];
            let trimmed = sentence.trim_start().trim_start_matches(OPENING);
            let at = end - trimmed.len();
            let line = self.lines.iter().rev().find(|(begin, _)| *begin <= at);
            if let Some(&(_, line)) = line
                && !trimmed.is_empty()
            {
                found.push((line, trimmed.to_owned()));
            }
            start = end;
        }
        found
    }
}

const OPENING: [char; 6] = ['(', '"', '“', '*', '_', '['];
const CLOSING: [char; 6] = [')', '"', '”', '*', '_', ']'];

/// The blocks of a file, by what kind of file it is; none of one that holds no text for people.
pub(super) fn blocks(path: &str, source: &str) -> Vec<Block> {
    let lines = || (1..).zip(source.lines());
    let ends = |all: &[&str]| all.iter().any(|end| path.ends_with(end));
    if path.ends_with(".md") {
        markdown(lines())
    } else if path.ends_with(".rs") {
        rust(source)
    } else if ends(&[".toml", ".py", ".sh", ".ci/run"]) {
        markdown(lines().map(|(line, text)| (line, after(text, &["#"]))))
    } else if ends(&[".js", ".ts", ".c", ".h", ".proto"]) {
        markdown(lines().map(|(line, text)| (line, after(text, &["///", "//", "/**", "/*", "*"]))))
    } else {
        Vec::new()
    }
}

/// The text of a line that is a comment, else nothing.
fn after<'a>(line: &'a str, marks: &[&str]) -> &'a str {
    marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)).unwrap_or_default()
}

/// The blocks of Markdown, without headings and blocks of code.
fn markdown<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut block = Block::default();
    let mut in_code = false;
    for (line, text) in lines {
        let text = text.trim();
        let text = text.strip_prefix("> ").unwrap_or(text);
        if text.starts_with("```") || text.starts_with("~~~") {
            in_code = !in_code;
        }
        let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = ["- ", "* ", "◆ "]
            .iter()
            .find_map(|mark| text.strip_prefix(mark))
            .or_else(|| (number.len() < text.len()).then(|| number.strip_prefix(". ")).flatten());
        let table = text.starts_with('|');
        let left_out = in_code
            || text.is_empty()
            || ["#", "```", "~~~"].iter().any(|mark| text.starts_with(mark));
        if left_out || table || item.is_some() {
            blocks.push(std::mem::take(&mut block));
        }
        if table {
            for cell in text.split('|') {
                let mut block = Block::default();
                block.push(line, cell);
                blocks.push(block);
            }
        } else if !left_out {
            block.push(line, item.unwrap_or(text));
        }
    }
    blocks.push(block);
    blocks
}

/// The blocks of Rust: comments, of which those on lines that follow each other belong together, and string literals.
fn rust(source: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut comment: Vec<(usize, &str)> = Vec::new();
    let mut comment_mark = "";
    let (mut line, mut at) = (1, 0);
    for (segment, range) in segments(source) {
        line += source[at..range.start].matches('\n').count();
        at = range.start;
        let text = &source[range.clone()];
        match segment {
            Segment::Comment => {
                let alone = source[..range.start].lines().next_back().is_none_or(|before| {
                    source[..range.start].ends_with('\n') || before.trim().is_empty()
                });
                let mark = ["//!", "///", "//"]
                    .into_iter()
                    .find(|mark| text.starts_with(mark))
                    .unwrap_or("/*");
                let follows = comment.last().is_some_and(|(last, _)| last + 1 == line);
                if !(alone && follows && mark == comment_mark) {
                    blocks.extend(markdown(comment.drain(..)));
                }
                comment_mark = mark;
                if mark == "/*" {
                    let inner = (line..).zip(text.lines());
                    blocks.extend(markdown(
                        inner.map(|(line, text)| (line, text.trim_matches(['/', '*', ' ']))),
                    ));
                } else {
                    comment.push((line, &text[mark.len()..]));
                }
            }
            Segment::Literal => blocks.extend(literal(line, text)),
        }
    }
    blocks.extend(markdown(comment.drain(..)));
    blocks
}

/// The blocks of a string literal: its lines, as the program would print them.
fn literal(line: usize, literal: &str) -> Vec<Block> {
    let text = literal.trim_start_matches(['r', '#']).trim_end_matches('#');
    let Some(text) = text.strip_prefix('"').map(|text| text.strip_suffix('"').unwrap_or(text))
    else {
        return Vec::new();
    };
    let mut blocks = vec![Block::default()];
    for (line, text) in (line..).zip(text.lines()) {
        let (text, goes_on) = text.strip_suffix('\\').map_or((text, false), |text| (text, true));
        let parts: Vec<&str> = text.split("\\n").collect();
        for (index, part) in parts.iter().enumerate() {
            // Examples of scenarios and documents stand in strings, with their comments and headings.
            if !part.trim().is_empty() && !part.trim_start().starts_with(['#', '/', '<']) {
                blocks
                    .last_mut()
                    .expect("there is always one")
                    .push(line, &part.replace("\\\"", "\""));
            }
            if index + 1 < parts.len() || !goes_on {
                blocks.push(Block::default());
            }
        }
    }
    blocks
}
