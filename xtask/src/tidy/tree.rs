//! The text files of the workspace in memory, so that a test can write a tree in a few words.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::{fs, io};

/// Files by their path from the root, with `/`, in order.
pub(crate) struct Tree(BTreeMap<String, String>);

/// Folders that hold nothing written by hand. Those whose name starts with a dot are left out too, except `.ci`
/// and `.cargo`.
const LEFT_OUT: [&str; 3] = ["target", "results", "node_modules"];

impl Tree {
    /// Reads every file below `root` that is text.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        read_folder(root, "", &mut files)?;
        Ok(Self(files))
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    pub(crate) fn files(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Is there such a file, or a folder with files in it?
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.0.contains_key(path)
            || self.0.range(folder.clone()..).next().is_some_and(|(p, _)| p.starts_with(&folder))
    }

    /// Files whose name ends so.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .filter(move |(path, _)| path.ends_with(end))
    }

    /// Names of the folders in `crates/` that hold a package.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &str> {
        let folder =
            |path: &'_ str| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").map(str::len);
        self.0
            .keys()
            .filter_map(move |path| folder(path).map(|len| &path["crates/".len()..][..len]))
    }
}

fn read_folder(root: &Path, folder: &str, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
            if !hidden && !LEFT_OUT.contains(&name.as_str()) {
                read_folder(root, &path, files)?;
            }
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
        {
            files.insert(path, text);
        }
    }
    Ok(())
}

/// Rust source with comments, strings and characters turned to blanks; every line keeps its number.
///
/// Enough of the language for rules about words: nested comments, raw strings, and lifetimes told from characters.
pub(super) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    for (_, range) in segments(source) {
        code.extend(source[at..range.start].chars().map(|c| if c.is_ascii() { c } else { ' ' }));
        let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
        code.extend(source[range.clone()].bytes().map(|byte| blank(char::from(byte))));
        at = range.end;
    }
    code.extend(source[at..].chars().map(|c| if c.is_ascii() { c } else { ' ' }));
    code
}

/// A part of Rust source that is not code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// One line comment without its line end, or one block comment.
    Comment,
    /// A string or character literal with its quotes.
    Literal,
}

/// The comments and literals of Rust source, in order.
pub(crate) fn segments(source: &str) -> Vec<(Segment, Range<usize>)> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let comment = comment_end(bytes, at).map(|end| (Segment::Comment, end));
        match comment.or_else(|| literal_end(bytes, at).map(|end| (Segment::Literal, end))) {
            Some((segment, end)) => {
                found.push((segment, at..end));
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

fn comment_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return Some(
            rest.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length),
        );
    }
    if !rest.starts_with(b"/*") {
        return None;
    }
    let (mut depth, mut here) = (0_u32, at);
    while here < bytes.len() {
        match &bytes[here..] {
            [b'/', b'*', ..] => (depth, here) = (depth + 1, here + 2),
            [b'*', b'/', ..] => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            return Some(here);
        }
    }
    Some(bytes.len())
}

fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match bytes[at] {
        b'"' => Some(quoted_end(bytes, at + 1, b'"')),
        b'\'' => match bytes[at + 1..] {
            [b'\\', ..] => Some(quoted_end(bytes, at + 1, b'\'')),
            // One character, of up to four bytes, then the quote: else it is a lifetime.
            [first, ..] if first != b'\'' => {
                let length =
                    1 + bytes[at + 2..].iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
                (bytes.get(at + 1 + length) == Some(&b'\'')).then_some(at + 2 + length)
            }
            _ => None,
        },
        b'r' if !in_word || matches!(bytes[at - 1], b'b' | b'c') => {
            let hashes = bytes[at + 1..].iter().take_while(|&&byte| byte == b'#').count();
            if bytes.get(at + 1 + hashes) != Some(&b'"') {
                return None;
            }
            let close: Vec<u8> =
                std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
            let inside = at + 2 + hashes;
            let length = bytes[inside..].windows(close.len()).position(|window| window == close);
            Some(length.map_or(bytes.len(), |length| inside + length + close.len()))
        }
        _ => None,
    }
}

fn quoted_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    bytes.len().min(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(code_only(source), expected, "of {source}");
    }

    #[test]
    fn comments_become_blank_and_lines_stay() {
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */\n d */ e", "a             \n      e");
    }

    #[test]
    fn strings_become_blank() {
        check(r#"f("a\"b", 1)"#, "f(      , 1)");
        check("f(r#\"a\"b\"#, 1)", "f(        , 1)");
        check("br\"x\" + number", "b     + number");
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check("'a' '\\'' '\"' 'é' b", &format!("{}b", " ".repeat(18)));
    }

    #[test]
    fn folder_counts_as_there_only_with_files_in_it() {
        let tree = Tree::of(&[("a/b.md", ""), ("ac", "")]);
        assert!(tree.has("a") && tree.has("a/") && tree.has("ac") && tree.has("a/b.md"));
        assert!(!tree.has("b") && !tree.has("a/c"));
    }
}
