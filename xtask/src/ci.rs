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
    said: Said,
}

/// What a step's output says about tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    passed: u64,
    skipped: Vec<String>,
}

/// Runs all steps, also after one has failed, and ends with a table. True if every one is sound.
pub(crate) fn run(root: &Path, depth: Depth) -> bool {
    let mut outcomes = vec![
        cargo(root, "format", "fmt --all --check", &[]),
        timed("tidy", || (tidy::run(root), Said::default())),
        cargo(root, "lints", "clippy --locked --workspace --all-targets -- -D warnings", &[]),
        cargo(root, "docs", "doc --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")]),
    ];
    if depth == Depth::Slow && root.join("crates/rt/Cargo.toml").exists() {
        // Another directory, for these flags would rebuild everything in the usual one.
        let loom = "test --package hemiola-rt --release --lib --target-dir target/loom";
        outcomes.push(cargo(root, "loom", loom, &[("RUSTFLAGS", "--cfg loom")]).with_tests());
    }
    // Last, so that the tests' own closing lines stand at the end. Without capture, what was skipped becomes visible.
    outcomes.push(
        cargo(root, "tests", "test --workspace", &[("RUST_TEST_NOCAPTURE", "1")]).with_tests(),
    );
    conclude(&outcomes, depth, &mut std::io::stdout()).unwrap_or(false)
}

impl Outcome {
    /// A step that was to run tests and ran none proves nothing.
    fn with_tests(mut self) -> Self {
        self.sound &= self.said.passed > 0;
        self
    }
}

fn conclude(outcomes: &[Outcome], depth: Depth, to: &mut dyn Write) -> std::io::Result<bool> {
    writeln!(to)?;
    for Outcome { name, seconds, sound, said } in outcomes {
        let passed =
            if said.passed > 0 { format!(", {} passed", said.passed) } else { String::new() };
        writeln!(
            to,
            "{name:<8} {seconds:>6.1} s  {}{passed}",
            if *sound { "sound" } else { "FAILED" }
        )?;
        for line in &said.skipped {
            writeln!(to, "         {line}")?;
        }
    }
    let skipped: usize = outcomes.iter().map(|outcome| outcome.said.skipped.len()).sum();
    writeln!(to, "{skipped} skipped")?;
    if depth == Depth::Slow {
        writeln!(to, "not part of --slow yet: miri, fuzzing, long simulations, real-time runs")?;
    }
    Ok(outcomes.iter().all(|outcome| outcome.sound))
}

fn timed(name: &'static str, step: impl FnOnce() -> (bool, Said)) -> Outcome {
    println!("── {name}");
    let begin = Instant::now();
    let (sound, said) = step();
    Outcome { name, seconds: begin.elapsed().as_secs_f64(), sound, said }
}

fn cargo(root: &Path, name: &'static str, arguments: &str, variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments.split(' ')).envs(variables.iter().copied());
    timed(name, || {
        println!("   cargo {arguments}");
        watch(command, std::io::stdout(), AFTERMATH).unwrap_or_else(|error| {
            eprintln!("cargo {arguments}: {error}");
            (false, Said::default())
        })
    })
}

/// Runs a command, passes on what it prints, and collects what was skipped.
fn watch(
    mut command: Command,
    mut to: impl Write + Send + 'static,
    aftermath: Duration,
) -> std::io::Result<(bool, Said)> {
    let (output, input) = std::io::pipe()?;
    let mut child =
        command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input).spawn()?;
    drop(command); // its ends of the pipe would keep the output open
    let (done, over) = mpsc::channel();
    std::thread::spawn(move || done.send(pass_on(output, &mut to)));
    let sound = child.wait()?.success();
    match over.recv_timeout(aftermath) {
        Ok(said) => Ok((sound, said)),
        Err(_) => {
            eprintln!(
                "a process that this step started still runs: it holds the step's output open"
            );
            Ok((false, Said::default()))
        }
    }
}

fn pass_on(output: PipeReader, to: &mut dyn Write) -> Said {
    let mut said = Said::default();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // A closed terminal is no reason to stop checking.
        let _ = writeln!(to, "{line}");
        if let Some(at) = line.find(SKIPPED) {
            said.skipped.push(line[at..].to_owned());
        }
        let passed = line.strip_prefix("test result: ok. ").and_then(|rest| rest.split(' ').next());
        said.passed += passed.and_then(|number| number.parse().ok()).unwrap_or(0);
    }
    said
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
        let (sound, said) = watch(shell(script), std::io::sink(), AFTERMATH).unwrap();
        assert!(sound);
        assert_eq!(said.skipped, ["skipped: needs CAP_SYS_NICE", "skipped: needs gcc"]);
    }

    #[test]
    fn passed_tests_are_added_up_and_a_step_without_any_is_not_sound() {
        let script = "echo 'test result: ok. 40 passed; 0 failed'; echo 'test result: ok. 2 passed; 0 failed'";
        let (sound, said) = watch(shell(script), std::io::sink(), AFTERMATH).unwrap();
        assert_eq!(said.passed, 42);
        assert!(Outcome { name: "x", seconds: 0.0, sound, said }.with_tests().sound);
        assert!(
            !Outcome { name: "x", seconds: 0.0, sound, said: Said::default() }.with_tests().sound
        );
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
        let outcome = |sound| Outcome { name: "x", seconds: 0.0, sound, said: Said::default() };
        let sound = |all: &[Outcome]| conclude(all, Depth::Usual, &mut std::io::sink()).unwrap();
        assert!(sound(&[outcome(true), outcome(true)]));
        assert!(!sound(&[outcome(true), outcome(false)]));
    }
}
