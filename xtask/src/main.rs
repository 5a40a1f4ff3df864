//! `cargo xtask`: the project's own checks, the same on a desk and in continuous integration.
//!
//! * `cargo xtask ci` runs every check a change must pass; `--slow` adds those that take longer.
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

const USAGE: &str = "usage: cargo xtask ci [--slow] | tidy | prose [CRATE|PATH]";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sound = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci"] => ci::run(root, ci::Depth::Usual),
        ["ci", "--slow"] => ci::run(root, ci::Depth::Slow),
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
