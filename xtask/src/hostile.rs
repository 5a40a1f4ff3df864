//! Adds every kind of hostile unit many times to a real run, with the release build of the command, and prints the
//! table of what became of them.

use std::path::Path;
use std::process::Command;

/// Words of `cargo test` that make the table in `crates/cli/tests/hostile/table.rs`.
const TABLE: &str = "test --locked --release --package hemiola --test main -- --nocapture --exact";
/// The test that makes it.
const TEST: &str = "hostile::table::measured";

/// How often each kind is added unless the command line says so.
const TIMES: &str = "20";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    times: String,
    /// Named from the present folder, which is not that of the test.
    output: Option<String>,
    /// All of them if there is none.
    kinds: Vec<String>,
}

impl Options {
    /// Returns the options of these words; `None` for words that are none.
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self { times: TIMES.into(), output: None, kinds: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--times" => options.times = words.next()?.parse::<u32>().ok()?.to_string(),
                "--output" => {
                    let path = std::path::absolute(words.next()?).ok()?;
                    options.output = Some(path.display().to_string());
                }
                word if word.starts_with('-') => return None,
                kind => options.kinds.push(kind.into()),
            }
        }
        Some(options)
    }
}

/// Makes the table. True if every row is sound.
pub(crate) fn run(root: &Path, options: &Options) -> bool {
    let mut command = Command::new(crate::ci::cargo_program());
    command.args(TABLE.split(' ')).arg(TEST).current_dir(root);
    command.env("HEMIOLA_HOSTILE_TIMES", &options.times);
    command.env("HEMIOLA_HOSTILE_KINDS", options.kinds.join(" "));
    command.envs(options.output.iter().map(|path| ("HEMIOLA_HOSTILE_OUTPUT", path)));
    crate::succeeds(&mut command)
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn words_are_options_or_refused() {
        let folder = std::env::current_dir().unwrap();
        let options = Options::parse(&["nan", "--times", "3", "--output", "table.md"]).unwrap();
        assert_eq!((&*options.times, options.kinds), ("3", vec!["nan".to_owned()]));
        assert_eq!(options.output, Some(format!("{}/table.md", folder.display())));
        assert_eq!(Options::parse(&[]).unwrap().times, "20");
        for bad in [["--times", "x"], ["--times", "-1"], ["--full", "nan"], ["nan", "--output"]] {
            assert_eq!(Options::parse(&bad), None, "{bad:?}");
        }
    }
}
