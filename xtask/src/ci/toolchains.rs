//! Steps that need a certain toolchain: the oldest one that the manifest promises, and a nightly one with Miri.

use std::path::Path;
use std::process::Command;

use super::{Outcome, command, run_step, skip};

/// Crates whose library tests Miri interprets in a few minutes: pure ones that read bytes of peers and files.
const INTERPRETED: [&str; 4] = ["hemiola-units", "hemiola-wire", "hemiola-hla", "hemiola-fedpro"];

/// The compiler of `rust-version` builds the workspace. When it is the one in use, the other steps show that.
pub(super) fn oldest(root: &Path) -> Outcome {
    const NAME: &str = "oldest";
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let Some(oldest) = rust_version(&manifest) else {
        return run_step(NAME, |_| {
            eprintln!("Cargo.toml states no `rust-version`");
            false
        });
    };
    if version(&mut Command::new(super::cargo_program())).is_some_and(|used| is_of(&used, oldest)) {
        return run_step(NAME, |_| {
            println!("   the toolchain in use is {oldest}, the oldest that Cargo.toml promises");
            true
        });
    }
    let toolchain = format!("{oldest}.0");
    if version(&mut of_toolchain(&toolchain, root)).is_none() {
        return skip(
            NAME,
            &format!("the toolchain {toolchain}: rustup toolchain install {toolchain}"),
        );
    }
    run_step(NAME, |step| {
        let mut check = of_toolchain(&toolchain, root);
        check
            .args("check --locked --workspace --all-targets --target-dir target/oldest".split(' '));
        step.run(check)
    })
}

/// Miri finds undefined behaviour in the tests of some pure crates and of what they depend on.
pub(super) fn miri(root: &Path) -> Outcome {
    const NAME: &str = "miri";
    if version(of_toolchain("nightly", root).arg("miri")).is_none() {
        return skip(NAME, "miri: rustup component add --toolchain nightly miri rust-src");
    }
    run_step(NAME, |step| {
        let mut miri = of_toolchain("nightly", root);
        miri.args("miri test --locked --lib --target-dir target/miri".split(' '));
        miri.args(INTERPRETED.iter().flat_map(|package| ["--package", package]));
        // Property tests read the environment and the file of earlier failures. Each case takes seconds here.
        miri.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "2");
        step.run(miri)
    })
    .with_tests()
}

fn of_toolchain(toolchain: &str, root: &Path) -> Command {
    let mut cargo = command(Path::new("rustup"), root);
    // Variables that name the programs of the toolchain in use would be stronger.
    cargo.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    cargo.args(["run", toolchain, "cargo"]);
    cargo
}

/// What a command prints for `--version`, when it can be run.
fn version(command: &mut Command) -> Option<String> {
    let output = command.arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the output of `cargo --version` names this `rust-version`.
fn is_of(output: &str, rust_version: &str) -> bool {
    let number = output.split(' ').nth(1).unwrap_or_default();
    number.strip_prefix(rust_version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn rust_version(manifest: &str) -> Option<&str> {
    manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .map(|text| text.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_compared_as_a_whole() {
        assert!(is_of("cargo 1.95.0 (abc 2026-01-01)", "1.95"));
        assert!(!is_of("cargo 1.950.0", "1.95"));
        assert!(!is_of("cargo 1.96.0", "1.95"));
        assert_eq!(rust_version("[x]\nrust-version = \"1.95\"\n"), Some("1.95"));
    }
}
