//! Finds sentences in documents, comments and messages whose word order or wording is not plain English.

mod text;

use std::collections::BTreeMap;
use std::path::Path;

use crate::tidy::tree::Tree;
use text::Block;

/// Openings that are always rewritten, each followed by a word in lower case: the sentence has no named subject.
const RELATIVE_PRONOUNS: [&str; 9] =
    ["Who", "Whoever", "Whom", "Whomever", "Whose", "Whatever", "Of what", "Of whom", "He who"];

/// "What" opens a free relative at least before these words.
const AFTER_WHAT: [&str; 8] = ["is", "was", "are", "were", "it", "they", "has", "had"];

/// Wordings that a native engineer would hardly choose, anywhere in a sentence.
const TELLTALES: [&str; 26] = [
    "to be had",
    "has a bound",
    "have a bound",
    "nobody",
    "somebody",
    "somebody's",
    "everybody",
    "one's own",
    "of one's",
    "so late",
    "are none",
    "is none",
    "by itself alone",
    "he who",
    "whoever",
    "to whom",
    "for whom",
    "of whom",
    "all whom",
    "by whom",
    "who is to",
    "is to be",
    "are to be",
    "patience",
    "the like",
    "and not more",
];

/// How a sentence departs from plain English.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// It opens with a free relative and is no question.
    FreeRelative,
    /// It has one of the wordings in [`TELLTALES`], or opens with another "What …".
    Telltale,
}

/// One sentence that departs from plain English.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) fault: Fault,
    pub(crate) sentence: String,
}

/// Prints every finding below `place`, the name of a crate or the start of a path, and the counts per crate. True if no
/// sentence opens with a free relative.
pub(crate) fn run(root: &Path, place: Option<&str>) -> bool {
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("{}: {error}", root.display());
            return false;
        }
    };
    let folder = place.map(|place| {
        let folder = format!("crates/{}/", place.trim_start_matches("hemiola-"));
        if tree.has(&folder) { folder } else { place.trim_start_matches("./").to_owned() }
    });
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for finding in findings(&tree) {
        let Finding { path, line, fault, sentence } = &finding;
        if folder.as_ref().is_some_and(|folder| !path.starts_with(folder.as_str())) {
            continue;
        }
        let label = match fault {
            Fault::FreeRelative => "free relative",
            Fault::Telltale => "telltale",
        };
        let start: String = sentence.chars().take(100).collect();
        println!("{path}:{line}: {label}: {start}");
        counts.entry(package(path)).or_default()[*fault as usize] += 1;
    }
    println!("\n{:<16} {:>14} {:>10}", "in", "free relatives", "telltales");
    let mut sums = [0, 0];
    for (package, [relatives, telltales]) in &counts {
        println!("{package:<16} {relatives:>14} {telltales:>10}");
        sums = [sums[0] + relatives, sums[1] + telltales];
    }
    println!("{:<16} {:>14} {:>10}", "all", sums[0], sums[1]);
    sums[0] == 0
}

/// The crate a file belongs to, else its first folder.
fn package(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name.to_owned(),
        (Some(folder), Some(_)) => folder.to_owned(),
        _ => "root".to_owned(),
    }
}

/// All findings in the tree, by path and line.
pub(crate) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in tree.files() {
        // The patterns themselves, and the tests that show them.
        if path.starts_with("xtask/src/prose") {
            continue;
        }
        let blocks = text::blocks(path, source);
        let mut sentences: Vec<_> = blocks.iter().flat_map(Block::sentences).collect();
        sentences.sort();
        found.extend(sentences.into_iter().filter_map(|(line, sentence)| {
            let fault = judge(&sentence)?;
            Some(Finding { path: path.clone(), line, fault, sentence })
        }));
    }
    found
}

fn judge(sentence: &str) -> Option<Fault> {
    let question = sentence.contains('?');
    let lower = |rest: &str| rest.starts_with(|c: char| c.is_lowercase() || c == '`');
    let opens_with = |word: &&str| {
        sentence.strip_prefix(*word).and_then(|rest| rest.strip_prefix(' ')).is_some_and(lower)
    };
    if !question && RELATIVE_PRONOUNS.iter().any(opens_with) {
        return Some(Fault::FreeRelative);
    }
    if !question && let Some(rest) = sentence.strip_prefix("What ") {
        let next = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if AFTER_WHAT.contains(&next) {
            return Some(Fault::FreeRelative);
        }
        if lower(rest) {
            return Some(Fault::Telltale);
        }
    }
    let words =
        format!(" {} ", sentence.to_lowercase().replace([',', '.', ';', ':', '(', ')'], " "));
    TELLTALES.iter().any(|phrase| words.contains(&format!(" {phrase} "))).then_some(Fault::Telltale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line and fault of each finding in one file.
    fn check(path: &str, text: &str, expected: &[(usize, Fault)]) {
        let found = findings(&Tree::of(&[(path, text)]));
        let found: Vec<_> = found.iter().map(|found| (found.line, found.fault)).collect();
        assert_eq!(found, expected, "{text}");
    }

    use Fault::{FreeRelative, Telltale};

    #[test]
    fn free_relative_is_found_where_a_sentence_opens() {
        check("a.md", "Who reads slowly waits.\n", &[(1, FreeRelative)]);
        check("a.md", "A reader waits. Whoever\nwrites does not.", &[(1, FreeRelative)]);
        check("a.md", "The reader\nwaits: What is read, stays.", &[(2, FreeRelative)]);
        check("a.md", "- one\n- Whose turn it was is lost.\n", &[(2, FreeRelative)]);
        check("a.md", "| a | What was read |\n", &[(1, FreeRelative)]);
        check("a.md", "**Bold.** (Of what it is told, half.)\n", &[(1, FreeRelative)]);
        check("a.md", "The reader who waits says what is missing.\n", &[]);
    }

    #[test]
    fn questions_headings_and_code_blocks_are_not_findings() {
        check("a.md", "Who waits?\n\n\"What is\nread?\" it asks.\n", &[]);
        check("a.md", "# What it shows\n\n```text\nWho waits.\n```\n", &[]);
        check("a.rs", "//! # What it shows\n//! `Who`: see `Who::Name`.\n", &[]);
    }

    #[test]
    fn comments_and_strings_of_rust_are_read_and_code_is_not() {
        let source = "/// Reads.\n/// Who reads slowly\n/// waits.\n\
            fn f() -> Who { // What was read\n  g(\"What is it\")\n}\n";
        check("a.rs", source, &[(2, FreeRelative), (4, FreeRelative), (5, FreeRelative)]);
        check("a.rs", "f(\"One line.\\n\\\n   Who waits\")", &[(2, FreeRelative)]);
        check("a.rs", "f(r#\"\n# Who waits is lost.\n\"#)", &[]);
    }

    #[test]
    fn telltale_is_found_anywhere_in_a_sentence_as_whole_words() {
        check("a.md", "It is to be had by nobody.\n", &[(1, Telltale)]);
        check("a.md", "Every queue has a boundary.\n", &[]);
        check("a.md", "What a crate is.\n", &[(1, Telltale)]);
        check("a.toml", "# The queue has a bound.\nx = 1\n", &[(1, Telltale)]);
    }
}
