//! `cargo xtask`: the project's own checks, the same on a desk and in continuous integration.
//!
//! * `cargo xtask ci` runs every check that a change must pass. `--slow` adds the checks that take longer;
//!   `--require-all` fails when a test was skipped without an excuse.
//! * `cargo xtask tidy` runs only the rules about the tree itself.
//! * `cargo xtask prose [CRATE|PATH]` lists sentences whose word order or wording is not plain English.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command: its output is what it is for"
)]

mod ci;
mod prose;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask ci [--slow] [--require-all] | tidy | prose [CRATE|PATH]";

const FLAGS: [&str; 2] = ["--slow", "--require-all"];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sound = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci", ref flags @ ..] if flags.iter().all(|flag| FLAGS.contains(flag)) => {
            let [slow, require_all] = FLAGS.map(|flag| flags.contains(&flag));
            ci::run(root, ci::Options { slow, require_all })
        }
        ["tidy"] => tidy::run(root),
        ["prose"] => prose::run(root, None),
        ["prose", place] => prose::run(root, Some(place)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
