//! `cargo xtask`: the project's own checks, the same on a desk and in continuous integration.
//!
//! * `cargo xtask ci` runs every check that a change must pass. A STEP runs alone. `--slow` fuzzes for longer;
//!   `--require-all` fails when a test was skipped without an excuse.
//! * `cargo xtask tidy` runs only the rules about the tree itself.
//! * `cargo xtask prose [CRATE|PATH]` lists sentences whose word order or wording is not plain English.
//! * `cargo xtask guides` copies the tables of keys from the code to the guides.
//! * `cargo xtask conformance [--check]` makes the page that names a test for each service of the standard.
//! * `cargo xtask mutants CRATE [--since REV] [FILTER]` lists changes of the source that no test notices.
//! * `cargo xtask attack [NAME …] [over=tcp|shm] [--output FILE]` attacks an RTI and prints the table of the guide,
//!   also to FILE. With the name `churn`, federates come and go for ten minutes, or `churn-minutes=N`.
//! * `cargo xtask hostile [KIND …] [--times N] [--output FILE]` adds each kind of hostile unit N times to a real run
//!   and prints the table of what became of them, also to FILE.
//! * `cargo xtask universe-suite [NAME …] [--output FILE | --quick]` prints the tables and figures of the thesis of the
//!   Universe Simulation System with its numbers beside ours, also to FILE; `--quick` checks only counts.
//! * `cargo xtask dist [BINARY]` makes an archive and a Debian package, of BINARY or of a release build.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command: its output is what it is for"
)]

mod attack;
mod ci;
mod conformance;
mod dist;
mod guides;
mod hostile;
mod mutants;
mod prose;
mod tidy;
mod universe_suite;

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask ci [--slow] [--require-all] [STEP]
       cargo xtask tidy
       cargo xtask prose [CRATE|PATH]
       cargo xtask guides
       cargo xtask conformance [--check]
       cargo xtask mutants CRATE [--since REV] [FILTER]
       cargo xtask attack [NAME …] [over=tcp|shm] [--output FILE] [program=PATH]
       cargo xtask attack churn [over=tcp|shm] [--output FILE] [churn-minutes=N] [program=PATH]
       cargo xtask hostile [KIND …] [--times N] [--output FILE]
       cargo xtask universe-suite [NAME …] [--output FILE | --quick]
       cargo xtask dist [BINARY]";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sound = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci", ref words @ ..] => match ci_options(words) {
            Some(options) => ci::run(root, options),
            None => return usage(),
        },
        ["mutants", ref words @ ..] => match mutants::Options::parse(words) {
            Some(options) => mutants::run(root, &options),
            None => return usage(),
        },
        ["attack", ref words @ ..] => match attack::words(words) {
            Some(words) => attack::run(root, &words),
            None => return usage(),
        },
        ["hostile", ref words @ ..] => match hostile::Options::parse(words) {
            Some(options) => hostile::run(root, &options),
            None => return usage(),
        },
        ["universe-suite", ref words @ ..] => match universe_suite::Options::parse(words) {
            Some(options) => universe_suite::run(root, &options),
            None => return usage(),
        },
        ["dist"] => dist::run(root, None),
        ["dist", binary] => dist::run(root, Some(binary)),
        ["tidy"] => tidy::run(root),
        ["conformance"] => conformance::run(root, false),
        ["conformance", "--check"] => conformance::run(root, true),
        ["guides"] => guides::run(root),
        ["prose"] => prose::run(root, None),
        ["prose", place] => prose::run(root, Some(place)),
        _ => return usage(),
    };
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ci_options<'a>(words: &[&'a str]) -> Option<ci::Options<'a>> {
    let mut options = ci::Options::default();
    for word in words {
        match *word {
            "--slow" => options.slow = true,
            "--require-all" => options.require_all = true,
            step if options.only.is_none() && !step.starts_with('-') => options.only = Some(step),
            _ => return None,
        }
    }
    Some(options)
}

/// Whether the command can be started and succeeds.
fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("{command:?}: {error}");
            false
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
