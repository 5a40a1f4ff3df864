//! Builds the fuzz targets and runs each of them.

use std::path::Path;
use std::process::Command;

use super::{Outcome, cargo_command, command, run_step, skip};

/// The coverage that libFuzzer needs, as cargo-fuzz turns it on. A stable compiler has it; the sanitizers, which a
/// stable compiler lacks, are left out.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Coverflow-checks";

/// With a target named, Cargo builds procedural macros and build scripts without [`FLAGS`].
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// For how many seconds the targets fuzz in total, or each of them if there is time.
const SECONDS: usize = 60;

/// How many targets run at the same time: each keeps one processor busy, and CI has two.
const TOGETHER: usize = 2;

/// The steps: one that builds all targets, then one that runs each for its share of [`SECONDS`], or for all of them.
pub(super) fn steps(root: &Path, slow: bool) -> Vec<Outcome> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return vec![skip("fuzz", TARGET)];
    }
    if !Command::new("c++").arg("--version").output().is_ok_and(|o| o.status.success()) {
        return vec![skip("fuzz", "c++")];
    }
    let folder = root.join("fuzz");
    let build = run_step("fuzz build", |step| step.run(build(root)));
    if !build.sound {
        return vec![build];
    }
    let programs = root.join("target/fuzz").join(TARGET).join("release");
    let artifacts = root.join("target/fuzz/artifacts");
    let targets = targets(&std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default());
    let seconds = if slow { SECONDS } else { SECONDS / targets.len().max(1) };
    let mut outcomes = vec![build];
    outcomes.push(run_step("fuzz", |step| {
        // An input that crashes is printed in base 64 and kept as a file.
        std::fs::create_dir_all(&artifacts).is_ok()
            && targets.chunks(TOGETHER).fold(!targets.is_empty(), |sound, targets| {
                let commands = targets.iter().map(|target| {
                    let mut fuzz = command(&programs.join(target), &folder);
                    fuzz.arg(format!("-max_total_time={seconds}"));
                    fuzz.args(["-timeout=10", "-rss_limit_mb=4096", "-print_final_stats=1"]);
                    fuzz.arg(format!("-artifact_prefix={}/{target}-", artifacts.display()));
                    fuzz
                });
                step.run_together(commands.collect()) && sound
            })
    }));
    outcomes
}

/// The command that builds all targets.
pub(super) fn build(root: &Path) -> Command {
    let words = format!("build --release --bins --target {TARGET} --target-dir ../target/fuzz");
    cargo_command(&root.join("fuzz"), &words, &[("RUSTFLAGS", FLAGS)])
}

/// The names of the targets in the manifest of the fuzz package.
fn targets(manifest: &str) -> Vec<String> {
    let binaries = manifest.split("[[bin]]").skip(1);
    binaries
        .filter_map(|binary| binary.lines().find_map(|line| line.strip_prefix("name = ")))
        .map(|name| name.trim_matches('"').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_binaries_of_the_manifest() {
        let manifest = "[package]\nname = \"fuzz\"\n[[bin]]\nname = \"a\"\npath = \"a.rs\"\n[[bin]]\nname = \"b\"\n";
        assert_eq!(targets(manifest), ["a", "b"]);
    }
}
