//! Measures what attacks on the RTI do to a healthy pair of federates, with the release build of the command.

use std::path::Path;
use std::process::Command;

/// Words of `cargo test` that run the measuring form of the harness in `crates/cli/tests/attack`.
const HARNESS: &str = "test --locked --release --package hemiola --test attack -- --full";

/// Returns the words for the harness. A file for the table is named from the present folder, which is not that of the
/// harness. `None` if the file has no name.
pub(crate) fn words(given: &[&str]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut given = given.iter();
    while let Some(word) = given.next() {
        words.push(match *word {
            "--output" => format!("output={}", std::path::absolute(given.next()?).ok()?.display()),
            word if word.starts_with('-') => return None,
            word => word.to_owned(),
        });
    }
    Some(words)
}

/// Runs the harness with these words. True if every limit holds.
pub(crate) fn run(root: &Path, words: &[String]) -> bool {
    let mut command = Command::new(crate::ci::cargo_program());
    command.args(HARNESS.split(' ')).args(words).current_dir(root);
    command.args(commit(root).map(|commit| format!("commit={commit}")));
    crate::succeeds(&mut command)
}

/// Returns what is measured, for the table: the commit, and whether files differ from it. `None` outside a repository.
fn commit(root: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(root).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=8", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if is_changed { format!("{commit} with changes") } else { commit })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn the_file_of_the_table_is_named_from_the_present_folder() {
        let folder = std::env::current_dir().unwrap();
        let expected = ["lists-30".to_owned(), format!("output={}/table.md", folder.display())];
        assert_eq!(words(&["lists-30", "--output", "table.md"]), Some(expected.to_vec()));
        assert_eq!(words(&["--output"]), None);
        assert_eq!(words(&["--full"]), None);
    }
}
