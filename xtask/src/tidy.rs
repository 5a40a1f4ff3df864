//! Rules about the tree that can be checked without compiling it, each with a test that it catches what it forbids.

mod arrows;
mod documents;
mod lines;
mod modules;
pub(crate) mod tree;

use std::fmt;
use std::path::Path;

use tree::Tree;

/// One place that breaks one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    path: String,
    /// From 1; 0 for the file as a whole.
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// All rules; each sees the whole tree and says all it found.
const RULES: &[fn(&Tree) -> Vec<Violation>] = &[
    arrows::dependencies_follow_the_table,
    arrows::arrows_of_the_table_are_used,
    arrows::dependencies_are_used,
    arrows::features_are_used,
    arrows::pure_crates_are_walled,
    modules::every_file_is_reachable,
    modules::modules_with_children_are_named,
    lines::files_say_what_they_hold,
    lines::lines_are_short,
    lines::merges_are_finished,
    lines::libraries_do_not_print,
    lines::unsafe_stays_in_its_two_modules,
    lines::todos_say_until_when,
    lines::paths_name_no_machine,
    lines::sentences_name_their_subject,
    documents::decisions_are_numbered,
    documents::architecture_names_every_crate,
    documents::links_lead_somewhere,
];

/// Applies all rules to the tree at `root` and prints what breaks them. True if nothing does.
pub(crate) fn run(root: &Path) -> bool {
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("{}: {error}", root.display());
            return false;
        }
    };
    let mut violations: Vec<Violation> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    println!("tidy: {} files, {} violations", tree.files().len(), violations.len());
    violations.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violation_names_file_and_line() {
        assert_eq!(Violation::new("a.rs", 3, "x").to_string(), "a.rs:3: x");
        assert_eq!(Violation::new("a.rs", 0, "x").to_string(), "a.rs: x");
    }
}
