//! Mutation testing of one crate: cargo-mutants changes the source in a copy and lists the changes no test notices.

use std::path::Path;
use std::process::Command;

const INSTALL: &str = "cargo-mutants is missing: cargo install --locked cargo-mutants";

/// How long the tests of one mutant may take, in seconds. A mutant that hangs counts as noticed.
const TIMEOUT: &str = "120";

/// The mutants to try.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options<'a> {
    /// The crate, with or without `hemiola-`.
    package: &'a str,
    /// Only in lines that changed since this revision.
    since: Option<&'a str>,
    /// Only those whose file, function or change matches this regular expression.
    filter: Option<&'a str>,
}

impl<'a> Options<'a> {
    /// Reads `CRATE [--since REV] [FILTER]`.
    pub(crate) fn parse(words: &[&'a str]) -> Option<Self> {
        let (package, mut rest) = words.split_first()?;
        let mut options =
            Self { package: package.trim_start_matches("hemiola-"), ..Self::default() };
        loop {
            rest = match rest {
                [] => return Some(options),
                ["--since", revision, rest @ ..] => {
                    options.since = Some(revision);
                    rest
                }
                [filter, rest @ ..] if options.filter.is_none() && !filter.starts_with('-') => {
                    options.filter = Some(filter);
                    rest
                }
                _ => return None,
            };
        }
    }
}

/// Runs cargo-mutants. True if a test notices every mutant that `.cargo/mutants.toml` does not accept.
pub(crate) fn run(root: &Path, options: &Options<'_>) -> bool {
    match try_run(root, options) {
        Ok(sound) => sound,
        Err(message) => {
            eprintln!("{message}");
            false
        }
    }
}

fn try_run(root: &Path, options: &Options<'_>) -> Result<bool, String> {
    let installed = Command::new("cargo").args(["mutants", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err(INSTALL.to_owned());
    }
    let output = root.join("target/mutants");
    std::fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let mut mutants = Command::new("cargo");
    mutants.current_dir(root).args(["mutants", "--jobs", "1", "--timeout", TIMEOUT]);
    mutants
        .args(["--package", &format!("hemiola-{}", options.package)])
        .arg("--output")
        .arg(&output);
    mutants.args(options.filter.iter().flat_map(|filter| ["--re", filter]));
    if let Some(revision) = options.since {
        let diff = output.join("since.diff");
        let git = Command::new("git").current_dir(root).args(["diff", revision]).output();
        let git = git.map_err(|error| format!("git: {error}"))?;
        if !git.status.success() {
            return Err(String::from_utf8_lossy(&git.stderr).into_owned());
        }
        std::fs::write(&diff, git.stdout)
            .map_err(|error| format!("{}: {error}", diff.display()))?;
        mutants.arg("--in-diff").arg(diff);
    }
    let status = mutants.status().map_err(|error| format!("cargo mutants: {error}"))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_crate_a_revision_and_a_filter() {
        let options = Options { package: "rti", since: Some("main"), filter: Some("is_for") };
        assert_eq!(Options::parse(&["hemiola-rti", "--since", "main", "is_for"]), Some(options));
        for wrong in [&[][..], &["rti", "--since"], &["rti", "a", "b"], &["rti", "--fast"]] {
            assert_eq!(Options::parse(wrong), None, "{wrong:?}");
        }
    }
}
