//! Measures what attacks on the RTI do to a healthy pair of federates, with the release build of the command.

use std::path::Path;
use std::process::Command;

/// Words of `cargo test` that run the measuring form of the harness in `crates/cli/tests/attack`.
const HARNESS: &str = "test --locked --release --package hemiola --test attack -- --full";

/// Runs the harness with these words. True if every limit holds.
pub(crate) fn run(root: &Path, words: &[&str]) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(HARNESS.split(' ')).args(words).current_dir(root);
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("{command:?}: {error}");
            false
        }
    }
}
