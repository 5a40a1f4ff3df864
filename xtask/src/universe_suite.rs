//! Measures the tables and figures of the thesis of the Universe Simulation System, with the release build.

use std::path::Path;
use std::process::Command;

/// Words of `cargo test` that run the suite in `crates/cli/tests/universe_suite`.
const SUITE: &str = "test --locked --package hemiola --test main";
/// The test that prints the tables, and the one that checks counts only.
const TABLES: &str = "universe_suite::measured";
const COUNTS: &str = "universe_suite::every_line_keeps_its_counts_and_laws";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The short form of the tests, with the debug build.
    quick: bool,
    /// A file for the tables, named from the present folder, which is not that of the suite.
    output: Option<String>,
    /// All lines if there is none.
    names: Vec<String>,
}

impl Options {
    /// Returns the options of these words; `None` for words that are none.
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => options.quick = true,
                "--output" => {
                    let path = std::path::absolute(words.next()?).ok()?;
                    options.output = Some(path.display().to_string());
                }
                word if word.starts_with('-') => return None,
                name => options.names.push(name.to_owned()),
            }
        }
        // The short form prints no tables.
        (!options.quick || options.output.is_none()).then_some(options)
    }
}

/// Runs the suite. True if every count is right.
pub(crate) fn run(root: &Path, options: &Options) -> bool {
    let mut command = Command::new(crate::ci::cargo_program());
    command.args(SUITE.split(' ')).current_dir(root);
    let test = if options.quick {
        COUNTS
    } else {
        command.arg("--release");
        command.env("HEMIOLA_SUITE_OUTPUT", options.output.as_deref().unwrap_or_default());
        TABLES
    };
    command.args(["--", "--nocapture", "--exact", test]);
    command.env("HEMIOLA_SUITE_NAMES", options.names.join(" "));
    crate::succeeds(&mut command)
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn words_are_options_or_refused() {
        let folder = std::env::current_dir().unwrap();
        let options = Options::parse(&["T6.3", "--output", "table.md"]).unwrap();
        let output = Some(format!("{}/table.md", folder.display()));
        assert_eq!(options, Options { quick: false, output, names: vec!["T6.3".to_owned()] });
        assert!(Options::parse(&["--quick", "F6.5"]).unwrap().quick);
        for bad in [&["--full"][..], &["--output"], &["--quick", "--output", "table.md"]] {
            assert_eq!(Options::parse(bad), None, "{bad:?}");
        }
    }
}
