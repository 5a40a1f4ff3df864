//! The steps of continuous integration, and a table of how long each took and which tests were skipped.

mod ahead;
mod fuzz;
mod licences;
mod toolchains;
mod usable;

use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::{conformance, tidy};

/// Which checks to run, and how strictly to judge them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options<'a> {
    /// Fuzz for longer.
    pub(crate) slow: bool,
    /// A skipped test is a failure unless [`EXCUSABLE`] lists it.
    pub(crate) require_all: bool,
    /// Run one step instead of all.
    pub(crate) only: Option<&'a str>,
}

/// A test that lacks a privilege or a tool prints this and what it lacks, and passes.
const SKIPPED: &str = "skipped: needs ";

/// The skips that `--require-all` accepts: words that name the missing thing, and why it may be missing.
const EXCUSABLE: [(&str, &str); 6] = [
    (
        "the public object models in ../shared/foms",
        "they are files of other projects, which the repository does not hold",
    ),
    ("the files of /sys/kernel/tracing", "a container may not mount tracefs"),
    (
        "a temporary folder whose programs may have more rights",
        "a container may mount it with nosuid, or lack other users",
    ),
    ("miri", "it is a component of the nightly toolchain, which nothing else needs"),
    ("cargo-audit and a database of advisories", "CI reaches no registry of advisories"),
    ("a host that takes no processor away", "a virtual machine cannot keep its host from doing so"),
];

/// How long a step's output may stay open after its command has ended; after that, a process was left behind.
const AFTERMATH: Duration = Duration::from_secs(5);

struct Outcome {
    name: &'static str,
    seconds: f64,
    sound: bool,
    tests: Tests,
}

/// The tests that a step's output reports.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tests {
    passed: u64,
    skipped: Vec<String>,
    /// The names of those that failed, each with what it said when it panicked.
    failed: Vec<(String, Vec<String>)>,
}

/// How many lines after a panic's first may belong to it: tests write at the same time.
const LINES_OF_A_PANIC: usize = 12;

const LINTS: &str = "clippy --locked --workspace --all-targets -- -D warnings";
const DOCS: &str = "doc --locked --workspace --no-deps";
const LOOM: &str = "test --locked --package hemiola-rt --release --lib --target-dir target/loom";
const TESTS: &str = "test --locked --workspace --no-fail-fast";
/// What differs with the sandbox: its own tests, the runs with sandboxed units, and the ladder. The command with the
/// feature has a target directory of its own, because it is built while the tests use the command without it.
const SANDBOX: &str = "test --locked --package hemiola-sandbox --package hemiola-world-sandbox --package hemiola \
     --features hemiola-sandbox/engine,hemiola/sandbox --lib --bins --test main --target-dir target/sandbox \
     -- sandbox living::a_hundred ladder:: module:: call:: values:: tiers:: failures:: workers:: shared::";
const DOCS_FLAGS: &[(&str, &str)] = &[("RUSTDOCFLAGS", "-D warnings")];
/// The flags that make the primitives of `hemiola-rt` those of loom.
const LOOM_FLAGS: &[(&str, &str)] = &[("RUSTFLAGS", "--cfg loom")];
/// Without capture, skips become visible.
const UNCAPTURED: &[(&str, &str)] = &[("RUST_TEST_NOCAPTURE", "1")];

/// Runs all steps, also after one has failed, and ends with a table. True if every step is sound.
pub(crate) fn run(root: &Path, options: Options<'_>) -> bool {
    // Loom has a target directory of its own, for its flags would rebuild everything in the usual one. The steps after
    // the tests find built what they need.
    let steps: [(&str, &dyn Fn() -> Vec<Outcome>); 14] = [
        ("format", &|| vec![cargo(root, "format", "fmt --all --check", &[])]),
        ("tidy", &|| vec![run_step("tidy", |_| tidy::run(root))]),
        ("licences", &|| vec![run_step("licences", |_| licences::run(root, &cargo_program()))]),
        ("advisories", &|| vec![advisories(root)]),
        ("usable", &|| vec![usable::run(root)]),
        ("oldest", &|| vec![toolchains::oldest(root)]),
        ("miri", &|| vec![toolchains::miri(root)]),
        ("tests", &|| tests(root, options.only.is_none())),
        ("lints", &|| vec![cargo(root, "lints", LINTS, &[])]),
        ("docs", &|| vec![cargo(root, "docs", DOCS, DOCS_FLAGS)]),
        ("conformance", &|| vec![run_step("conformance", |_| conformance::run(root, true))]),
        ("loom", &|| vec![cargo(root, "loom", LOOM, LOOM_FLAGS).with_tests()]),
        ("fuzz", &|| fuzz::steps(root, options.slow)),
        ("sandbox", &|| vec![cargo(root, "sandbox", SANDBOX, UNCAPTURED).with_tests()]),
    ];
    let only = options.only;
    let asked = steps.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    let outcomes: Vec<Outcome> = asked.flat_map(|(_, step)| step()).collect();
    if outcomes.is_empty() {
        eprintln!("the steps are: {}", steps.map(|(name, _)| name).join(", "));
        return false;
    }
    conclude(&outcomes, options, &mut std::io::stdout()).unwrap_or(false)
}

/// Builds the tests, then runs them while everything is built that the later steps need, if those are wanted.
fn tests(root: &Path, are_more_wanted: bool) -> Vec<Outcome> {
    let build = cargo(root, "test build", &format!("{TESTS} --no-run"), &[]);
    if !build.sound {
        return vec![build];
    }
    let later = || {
        let unrun = |arguments: &str| arguments.replacen("test ", "test --no-run ", 1);
        vec![
            cargo_command(root, &unrun(SANDBOX), &[]),
            fuzz::build(root),
            cargo_command(root, &unrun(LOOM), LOOM_FLAGS),
            cargo_command(root, LINTS, &[]),
            cargo_command(root, DOCS, DOCS_FLAGS),
        ]
    };
    let ahead = are_more_wanted.then(|| ahead::Ahead::start(later()));
    let run = cargo(root, "tests", TESTS, UNCAPTURED).with_tests();
    let rest = ahead.map(|ahead| {
        run_step("build ahead", |_| {
            ahead.finish();
            true
        })
    });
    [build, run].into_iter().chain(rest).collect()
}

impl Outcome {
    /// Fails a step that ran no test, or only skipped ones, which count as passed: it proves nothing.
    fn with_tests(mut self) -> Self {
        self.sound &= self.tests.passed > self.tests.skipped.len() as u64;
        self
    }

    /// The skips that no line of [`EXCUSABLE`] accepts.
    fn inexcusable(&self) -> impl Iterator<Item = &str> {
        self.tests.skipped.iter().map(String::as_str).filter(|line| {
            let lacking = line.strip_prefix(SKIPPED).unwrap_or(line);
            !EXCUSABLE.iter().any(|(words, _)| lacking.contains(words))
        })
    }
}

fn conclude(
    outcomes: &[Outcome],
    options: Options<'_>,
    to: &mut dyn Write,
) -> std::io::Result<bool> {
    writeln!(to)?;
    for Outcome { name, seconds, sound, tests } in outcomes {
        let passed =
            if tests.passed > 0 { format!(", {} passed", tests.passed) } else { String::new() };
        writeln!(
            to,
            "{name:<10} {seconds:>6.1} s  {}{passed}",
            if *sound { "sound" } else { "FAILED" }
        )?;
        for line in &tests.skipped {
            writeln!(to, "           {line}")?;
        }
        for (test, said) in &tests.failed {
            writeln!(to, "           failed: {test}")?;
            for line in said {
                writeln!(to, "             {line}")?;
            }
        }
    }
    let skipped: usize = outcomes.iter().map(|outcome| outcome.tests.skipped.len()).sum();
    writeln!(to, "{skipped} skipped")?;
    let inexcusable: Vec<&str> = outcomes.iter().flat_map(Outcome::inexcusable).collect();
    if options.require_all {
        for line in &inexcusable {
            writeln!(to, "FAILED by --require-all: {line}")?;
        }
    }
    let complete = !options.require_all || inexcusable.is_empty();
    Ok(complete && outcomes.iter().all(|outcome| outcome.sound))
}

/// The advisories about dependencies, where cargo-audit and its database are installed: CI downloads neither.
fn advisories(root: &Path) -> Outcome {
    const NAME: &str = "advisories";
    let has_tool = Command::new("cargo-audit").arg("--version").output().is_ok();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    if has_tool && home.is_some_and(|home| home.join("advisory-db").exists()) {
        cargo(root, NAME, "audit --no-fetch --stale", &[])
    } else {
        skip(
            NAME,
            "cargo-audit and a database of advisories: cargo install cargo-audit; cargo audit",
        )
    }
}

/// A step under way, which may run several commands.
#[derive(Default)]
struct Step {
    tests: Tests,
}

impl Step {
    /// Runs one command of the step. True if it succeeds.
    fn run(&mut self, command: Command) -> bool {
        self.run_together(vec![command])
    }

    /// Runs commands of the step at the same time; their output mixes line by line. True if all succeed.
    fn run_together(&mut self, commands: Vec<Command>) -> bool {
        let run = |command: Command| {
            println!("   {command:?}");
            std::thread::spawn(|| watch(command, std::io::stdout(), AFTERMATH))
        };
        let running: Vec<_> = commands.into_iter().map(run).collect();
        running.into_iter().fold(true, |all_sound, command| match command.join() {
            Ok(Ok((sound, tests))) => {
                self.tests.passed += tests.passed;
                self.tests.skipped.extend(tests.skipped);
                self.tests.failed.extend(tests.failed);
                sound && all_sound
            }
            Ok(Err(error)) => {
                eprintln!("{error}");
                false
            }
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

fn run_step(name: &'static str, body: impl FnOnce(&mut Step) -> bool) -> Outcome {
    println!("── {name}");
    let begin = Instant::now();
    let mut step = Step::default();
    let sound = body(&mut step);
    Outcome { name, seconds: begin.elapsed().as_secs_f64(), sound, tests: step.tests }
}

/// A step that this machine lacks something for.
fn skip(name: &'static str, lacking: &str) -> Outcome {
    let line = format!("{SKIPPED}{lacking}");
    run_step(name, |step| {
        println!("{line}");
        step.tests.skipped.push(line);
        true
    })
}

fn cargo(root: &Path, name: &'static str, arguments: &str, variables: &[(&str, &str)]) -> Outcome {
    run_step(name, |step| step.run(cargo_command(root, arguments, variables)))
}

fn cargo_command(root: &Path, arguments: &str, variables: &[(&str, &str)]) -> Command {
    let mut cargo = command(&cargo_program(), root);
    cargo.args(arguments.split(' ')).envs(variables.iter().copied());
    cargo
}

/// The cargo that runs this command.
pub(crate) fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}

/// Runs a command, passes on its output, and collects the tests that it reports.
fn watch(
    mut command: Command,
    mut to: impl Write + Send + 'static,
    aftermath: Duration,
) -> std::io::Result<(bool, Tests)> {
    let (output, input) = std::io::pipe()?;
    let mut child =
        command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input).spawn()?;
    drop(command); // its ends of the pipe would keep the output open
    let (done, over) = mpsc::channel();
    std::thread::spawn(move || done.send(pass_on(output, &mut to)));
    let sound = child.wait()?.success();
    match over.recv_timeout(aftermath) {
        Ok(tests) => Ok((sound, tests)),
        Err(_) => {
            eprintln!(
                "a process that this step started still runs: it holds the step's output open"
            );
            Ok((false, Tests::default()))
        }
    }
}

fn pass_on(output: PipeReader, to: &mut dyn Write) -> Tests {
    let mut reader = TestReader::default();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // The checks go on when the terminal is closed.
        let _ = writeln!(to, "{line}");
        reader.read(&line);
    }
    reader.tests
}

/// Reads the output of test programs line by line.
#[derive(Default)]
struct TestReader {
    tests: Tests,
    /// What the tests of this program said when they panicked, by test. Some are expected to panic.
    panics: Vec<(String, Vec<String>)>,
    /// The lines are the names of the tests that failed.
    is_in_failures: bool,
    /// The line before says that a test failed. The harness of the attacks says why in the next one.
    has_just_failed: bool,
}

impl TestReader {
    fn read(&mut self, line: &str) {
        if let Some(at) = line.find(SKIPPED) {
            self.tests.skipped.push(line[at..].to_owned());
        }
        let passed = line.strip_prefix("test result: ok. ").and_then(|rest| rest.split(' ').next());
        self.tests.passed += passed.and_then(|number| number.parse().ok()).unwrap_or(0);
        let has_just_failed = std::mem::take(&mut self.has_just_failed);
        let failed = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
        if let Some(test) = failed {
            self.has_just_failed = true;
            self.tests.failed.push((test.to_owned(), Vec::new()));
        } else if let Some(reason) = line.strip_prefix("    ").filter(|_| has_just_failed) {
            self.tests.failed.last_mut().expect("one has failed").1.push(reason.to_owned());
        } else if line.starts_with("test result: ") {
            self.is_in_failures = false;
            self.panics.clear();
        } else if line == "failures:" {
            self.is_in_failures = true;
        } else if let Some(test) = line.strip_prefix("    ").filter(|_| self.is_in_failures) {
            let said = self.panics.iter().filter(|(thread, _)| thread == test);
            let said = said.flat_map(|(_, lines)| lines.iter().cloned()).collect();
            match self.tests.failed.iter_mut().rfind(|(failed, _)| failed == test) {
                Some((_, before)) => *before = said,
                None => self.tests.failed.push((test.to_owned(), said)),
            }
        } else if let Some(thread) = panicking_thread(line) {
            self.panics.push((thread.to_owned(), vec![line.to_owned()]));
        } else if let Some((_, lines)) = self.panics.last_mut()
            && lines.len() <= LINES_OF_A_PANIC
        {
            lines.push(line.to_owned());
        }
    }
}

/// The thread of a line like `thread 'pages::opens' (4711) panicked at …`, which has the name of its test.
fn panicking_thread(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("thread '")?;
    let (thread, rest) = rest.split_once('\'')?;
    rest.contains(" panicked at ").then_some(thread)
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
        let (sound, tests) = watch(shell(script), std::io::sink(), AFTERMATH).unwrap();
        assert!(sound);
        assert_eq!(tests.skipped, ["skipped: needs CAP_SYS_NICE", "skipped: needs gcc"]);
    }

    #[test]
    fn passed_tests_are_added_up_and_a_step_without_tests_fails() {
        let script = "echo 'test result: ok. 40 passed; 0 failed'; echo 'test result: ok. 2 passed; 0 failed'";
        let (sound, tests) = watch(shell(script), std::io::sink(), AFTERMATH).unwrap();
        assert_eq!(tests.passed, 42);
        assert!(Outcome { name: "x", seconds: 0.0, sound, tests }.with_tests().sound);
        assert!(
            !Outcome { name: "x", seconds: 0.0, sound, tests: Tests::default() }.with_tests().sound
        );
    }

    #[test]
    fn step_whose_tests_are_all_skipped_fails() {
        let step = |passed| {
            let skipped = vec!["skipped: needs gcc".to_owned()];
            let tests = Tests { passed, skipped, ..Tests::default() };
            Outcome { name: "x", seconds: 0.0, sound: true, tests }.with_tests().sound
        };
        assert!(!step(1));
        assert!(step(2));
    }

    #[test]
    fn skip_without_excuse_fails_only_when_all_is_required() {
        let check = |skipped: &str, require_all| {
            let skipped = vec![format!("{SKIPPED}{skipped}")];
            let tests = Tests { passed: 5, skipped, ..Tests::default() };
            let outcome = Outcome { name: "x", seconds: 0.0, sound: true, tests };
            let options = Options { require_all, ..Options::default() };
            conclude(&[outcome], options, &mut std::io::sink()).unwrap()
        };
        assert!(check("gcc", false));
        assert!(!check("gcc", true));
        assert!(check(EXCUSABLE[0].0, true));
    }

    #[test]
    fn failed_tests_are_named_at_the_end_with_what_they_said() {
        let script = "echo 'test a ... ok'
            echo \"thread 'expected::panic' (7) panicked at a.rs:1:2:\"; echo boom
            echo \"test b ... thread 'pages::opens' (8) panicked at b.rs:3:4:\"; echo 'no page'
            echo 'test pages::opens ... FAILED'
            echo; echo 'failures:'; echo; echo 'failures:'; echo '    pages::opens'; echo
            echo 'test result: FAILED. 2 passed; 1 failed'; echo '    no failure'
            echo 'test half-open_tcp ... FAILED'; echo '    the pair was late'; echo '    and more'
            exit 101";
        let (sound, tests) = watch(shell(script), std::io::sink(), AFTERMATH).unwrap();
        assert_eq!(tests.failed.len(), 2, "{tests:?}");
        let mut page = Vec::new();
        let outcome = Outcome { name: "tests", seconds: 0.0, sound, tests };
        assert!(!conclude(&[outcome], Options::default(), &mut page).unwrap());
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("failed: pages::opens\n"), "{page}");
        assert!(page.contains("b.rs:3:4:\n             no page\n"), "{page}");
        assert!(page.contains("failed: half-open_tcp\n             the pair was late\n"), "{page}");
        assert!(!page.contains("boom") && !page.contains("and more"), "{page}");
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
    fn commands_of_a_step_run_at_the_same_time_and_each_must_succeed() {
        let folder = std::env::temp_dir().join(format!("together-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // Each waits for the other's file.
        let meeting = |mine: &str, other: &str, status: i32| {
            let wait = format!("until [ -e {other} ]; do sleep 0.01; done");
            let script = format!("touch {mine}; {wait}; exit {status}");
            let mut command = shell(&script);
            command.current_dir(&folder);
            command
        };
        let mut step = Step::default();
        assert!(step.run_together(vec![meeting("a", "b", 0), meeting("b", "a", 0)]));
        assert!(!step.run_together(vec![meeting("a", "b", 1), meeting("b", "a", 0)]));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn step_has_no_input() {
        assert!(watch(shell("! read line"), std::io::sink(), AFTERMATH).unwrap().0);
    }

    #[test]
    fn one_failed_step_fails_the_whole() {
        let outcome = |sound| Outcome { name: "x", seconds: 0.0, sound, tests: Tests::default() };
        let sound =
            |all: &[Outcome]| conclude(all, Options::default(), &mut std::io::sink()).unwrap();
        assert!(sound(&[outcome(true), outcome(true)]));
        assert!(!sound(&[outcome(true), outcome(false)]));
    }
}
