//! The steps of continuous integration: what each runs, how long it took, what was skipped.

use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::tidy;

/// How much to check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What every change must pass.
    Usual,
    /// Also what takes long.
    Slow,
}

/// A test that lacks a privilege or a tool prints this and goes on.
const SKIPPED: &str = "skipped: needs ";

/// How long output may go on after a step has ended, before somebody is said to have been left behind.
const AFTERMATH: Duration = Duration::from_secs(5);

struct Outcome {
    name: &'static str,
    seconds: f64,
    sound: bool,
    skipped: Vec<String>,
}

/// Runs all steps, also after one has failed, and ends with a table. True if every one is sound.
pub(crate) fn run(root: &Path, depth: Depth) -> bool {
    let mut outcomes = vec![
        cargo(root, "format", "fmt --all --check", &[]),
        timed("tidy", || (tidy::run(root), Vec::new())),
        cargo(root, "lints", "clippy --locked --workspace --all-targets -- -D warnings", &[]),
        cargo(root, "docs", "doc --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")]),
    ];
    if depth == Depth::Slow && root.join("crates/rt/Cargo.toml").exists() {
        // Another directory, for these flags would rebuild everything in the usual one.
        let loom = "test --package hemiola-rt --release --lib --target-dir target/loom loom";
        outcomes.push(cargo(root, "loom", loom, &[("RUSTFLAGS", "--cfg loom")]));
    }
    // Last, so that the tests' own closing lines stand at the end. Without capture, what was skipped becomes visible.
    outcomes.push(cargo(root, "tests", "test --workspace", &[("RUST_TEST_NOCAPTURE", "1")]));
    conclude(&outcomes, depth, &mut std::io::stdout()).unwrap_or(false)
}

fn conclude(outcomes: &[Outcome], depth: Depth, to: &mut dyn Write) -> std::io::Result<bool> {
    writeln!(to)?;
    for Outcome { name, seconds, sound, skipped } in outcomes {
        writeln!(to, "{name:<8} {seconds:>6.1} s  {}", if *sound { "sound" } else { "FAILED" })?;
        for line in skipped {
            writeln!(to, "         {line}")?;
        }
    }
    let skipped: usize = outcomes.iter().map(|outcome| outcome.skipped.len()).sum();
    writeln!(to, "{skipped} skipped")?;
    if depth == Depth::Slow {
        writeln!(to, "not part of --slow yet: miri, fuzzing, long simulations, real-time runs")?;
    }
    Ok(outcomes.iter().all(|outcome| outcome.sound))
}

fn timed(name: &'static str, step: impl FnOnce() -> (bool, Vec<String>)) -> Outcome {
    println!("── {name}");
    let begin = Instant::now();
    let (sound, skipped) = step();
    Outcome { name, seconds: begin.elapsed().as_secs_f64(), sound, skipped }
}

fn cargo(root: &Path, name: &'static str, arguments: &str, variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments.split(' ')).envs(variables.iter().copied());
    timed(name, || {
        println!("   cargo {arguments}");
        watch(command, std::io::stdout(), AFTERMATH).unwrap_or_else(|error| {
            eprintln!("cargo {arguments}: {error}");
            (false, Vec::new())
        })
    })
}

/// Runs a command, passes on what it prints, and collects what was skipped.
fn watch(
    mut command: Command,
    mut to: impl Write + Send + 'static,
    aftermath: Duration,
) -> std::io::Result<(bool, Vec<String>)> {
    let (output, input) = std::io::pipe()?;
    let mut child =
        command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input).spawn()?;
    drop(command); // its ends of the pipe would keep the output open
    let (done, over) = mpsc::channel();
    std::thread::spawn(move || done.send(pass_on(output, &mut to)));
    let sound = child.wait()?.success();
    match over.recv_timeout(aftermath) {
        Ok(skipped) => Ok((sound, skipped)),
        Err(_) => {
            eprintln!(
                "a process that this step started still runs: it holds the step's output open"
            );
            Ok((false, Vec::new()))
        }
    }
}

fn pass_on(output: PipeReader, to: &mut dyn Write) -> Vec<String> {
    let mut skipped = Vec::new();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // A closed terminal is no reason to stop checking.
        let _ = writeln!(to, "{line}");
        if let Some(at) = line.find(SKIPPED) {
            skipped.push(line[at..].to_owned());
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn skipped_tests_are_counted_wherever_the_line_begins() {
        let script =
            "echo 'test a ... skipped: needs CAP_SYS_NICE'; echo ok; echo 'skipped: needs gcc' >&2";
        let (sound, skipped) = watch(shell(script), std::io::sink(), AFTERMATH).unwrap();
        assert!(sound);
        assert_eq!(skipped, ["skipped: needs CAP_SYS_NICE", "skipped: needs gcc"]);
    }

    #[test]
    fn failing_step_is_not_sound() {
        assert!(!watch(shell("exit 3"), std::io::sink(), AFTERMATH).unwrap().0);
    }

    #[test]
    fn step_that_leaves_a_process_behind_is_not_sound() {
        assert!(!watch(shell("sleep 5 & exit 0"), std::io::sink(), Duration::ZERO).unwrap().0);
    }

    #[test]
    fn step_has_no_input() {
        assert!(watch(shell("! read line"), std::io::sink(), AFTERMATH).unwrap().0);
    }

    #[test]
    fn one_failed_step_fails_the_whole() {
        let outcome = |sound| Outcome { name: "x", seconds: 0.0, sound, skipped: Vec::new() };
        let sound = |all: &[Outcome]| conclude(all, Depth::Usual, &mut std::io::sink()).unwrap();
        assert!(sound(&[outcome(true), outcome(true)]));
        assert!(!sound(&[outcome(true), outcome(false)]));
    }
}
