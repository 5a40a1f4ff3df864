//! `hemiola measure`: figures of merit, commands, experiments, comparisons, and errors.

use std::fs;
use std::process::Stdio;

use hemiola_rt::sys::process::Signal;
use serde_json::Value;

use crate::command::PROGRAM;
use crate::machine::Machine;
use crate::results::Results;
use crate::synthetic;

/// Groups of figures that every machine has.
const FEW: [&str; 7] = [
    "measure",
    "--quick",
    "--only",
    "clock.read",
    "processor",
    "system_call.empty",
    "context_switch.pipe.same_core.warm",
];

const EXPERIMENT: &str = r#"
title = "The clock"
need = "what a time stamp costs"
[quantity]
definition = "one call of the clock"
[accuracy]
relative = "50 %"
within = "5s"
[circumstances]
load = "idle"
[inputs.factor]
low = 0.01
high = 100
because = "nobody knows"
[set_up]
description = "many calls in a row"
readings = 20
blocks = 5
[[case]]
name = "read"
figure = "clock.read"
expectation = "factor * processor.instruction"
because = "some instructions"
"#;

#[test]
fn a_quick_measurement_leaves_a_machine_a_summary_and_a_page() {
    let machine = Machine::take("measure-quick");
    let ended = machine.hemiola(&FEW).with_code(0);
    let folder = machine.folder().join(ended.folder());
    assert!(ended.folder().to_str().unwrap().starts_with("results/measure-"), "{ended:?}");
    let summary = Results::open(&folder).summary();
    let names: Vec<&str> = summary["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|figure| figure["name"].as_str().unwrap())
        .collect();
    for name in ["clock.read", "processor.instruction", "context_switch.pipe.same_core.warm"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    for figure in summary["figures"].as_array().unwrap() {
        let number = |key: &str| figure[key].as_f64().unwrap();
        assert!(number("low") <= number("value") && number("value") <= number("high"), "{figure}");
        assert!(number("samples") >= 25.0 && figure["circumstances"].is_string(), "{figure}");
    }
    assert!(fs::read_to_string(folder.join("machine.toml")).unwrap().contains("format = 1"));
    assert!(fs::read_to_string(folder.join("report.html")).unwrap().contains("<h1>"));
    let names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    machine.nothing_is_left();

    // The same machine, compared with itself.
    let path = folder.to_str().unwrap();
    let same = machine.hemiola(&["measure", "compare", path, path, "--json"]).with_code(0);
    let comparison: Value = serde_json::from_str(&same.stdout).unwrap();
    assert_eq!(comparison["differences"], Value::Array(vec![]));
    assert!(comparison["figures"].as_array().unwrap().iter().all(|f| f["differs"] == false));

    // Of another machine, it is refused by an experiment, and the comparison says what differs.
    let text = fs::read_to_string(folder.join("machine.toml")).unwrap();
    let other = text.replace("cpus_online = ", "cpus_online = 9");
    let other = machine.write("other.toml", &other);
    let other = other.to_str().unwrap();
    let experiment = machine.write("clock.toml", EXPERIMENT);
    let experiment = experiment.to_str().unwrap();
    let refused =
        machine.hemiola(&["measure", "experiment", experiment, "--machine", other]).with_code(2);
    assert!(
        refused.stderr.contains("it was measured on another machine: the number of processors")
    );
    let compared = machine.hemiola(&["measure", "compare", path, other]).with_code(0);
    assert!(compared.stdout.contains("these are different machines"), "{compared:?}");
    let own = format!("{path}/machine.toml");
    machine.hemiola(&["measure", "experiment", experiment, "--machine", &own]).with_code(0);
}

#[test]
fn an_experiment_ends_with_a_verdict() {
    let machine = Machine::take("measure-experiment");
    let path = machine.write("clock.toml", EXPERIMENT);
    let path = path.to_str().unwrap();
    let ended = machine.hemiola(&["measure", "experiment", path, "--gate"]).with_code(0);
    for said in ["1 Need", "4B Expectation, read", "6 Measured, read", "7 Sanity check, read"] {
        assert!(ended.stdout.contains(said), "{said} is missing from {}", ended.stdout);
    }
    let folder = machine.folder().join(ended.folder());
    let summary = Results::open(&folder).summary();
    assert_eq!(summary["kind"], "experiment");
    assert!(summary["cases"][0]["measured"]["value"].as_f64().unwrap() > 0.0);
    for name in ["experiment.toml", "report.html"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    let too_much =
        EXPERIMENT.replace("low = 0.01", "low = 1e6").replace("high = 100", "high = 2e6");
    let path = machine.write("slow-clock.toml", &too_much);
    let gated = ["measure", "experiment", path.to_str().unwrap(), "--gate"];
    let ended = machine.hemiola(&gated).with_code(1);
    assert!(ended.stderr.contains("gate: read: ") && ended.stderr.contains("outside"), "{ended:?}");
    machine.nothing_is_left();
}

/// An experiment about three quantities of the user's own.
const OWN: &str = r#"
title = "Our own"
need = "what our work costs"
[quantity]
definition = "from the beginning to the end of each"
[accuracy]
relative = "50 %"
within = "20s"
[circumstances]
load = "idle"
priority = 0
[inputs.least]
low = "1 us"
high = "1 s"
because = "nobody knows"
[set_up]
description = "as users do it"
readings = 5
blocks = 5
[[case]]
name = "sleeping"
command = "sleep 0.01"
expectation = "least"
because = "it is asked to sleep"
[[case]]
name = "written"
readings = { file = "times.csv", column = "ms", unit = "ms" }
expectation = "least"
because = "as before"
[[case]]
name = "marked"
jobs = { recording = "marks.pftrace", task = "sensors" }
expectation = "least"
because = "150 µs to 260 µs of work"
"#;

#[test]
fn an_experiment_measures_commands_readings_and_jobs() {
    let machine = Machine::take("measure-own");
    let path = machine.write("own.toml", OWN);
    let rows: String =
        (0..20).map(|run| format!("{run},{}\n", 3.0 + f64::from(run) / 100.0)).collect();
    machine.write("times.csv", &format!("run,ms\n{rows}"));
    let trace = fs::File::create(machine.folder().join("marks.pftrace")).unwrap();
    synthetic::write(trace, 2_000).unwrap();
    let arguments = ["measure", "experiment", path.to_str().unwrap(), "--output", "result"];
    machine.hemiola(&arguments).with_code(0);
    let summary = Results::open(machine.folder().join("result")).summary();
    let case = |number: usize| {
        let case = &summary["cases"][number];
        (case["figure"].as_str().unwrap(), case["measured"]["value"].as_f64().unwrap())
    };
    assert!(matches!(case(0), ("command.sleeping", 10e6..60e9)), "{:?}", case(0));
    assert!(matches!(case(1), ("readings.written", 3.05e6..3.15e6)), "{:?}", case(1));
    assert!(matches!(case(2), ("jobs.marked", 150e3..450e3)), "{:?}", case(2));
    machine.nothing_is_left();

    // The rest of a recording might have shown something else.
    let trace = machine.folder().join("marks.pftrace");
    let whole = fs::read(&trace).unwrap();
    fs::write(&trace, &whole[..whole.len() - 3]).unwrap();
    let gated = [&arguments[..3], &["--output", "cut", "--gate"]].concat();
    let ended = machine.hemiola(&gated).with_code(1);
    assert!(ended.stderr.contains("marks.pftrace: the trace ends within"), "{ended:?}");
    let notes = Results::open(machine.folder().join("cut")).summary()["notes"].to_string();
    assert!(notes.contains("marks.pftrace: the trace ends within"), "{notes}");
    fs::write(&trace, whole).unwrap();

    let wrong = |from: &str, to: &str, said: &str, code: i32| {
        let path = machine.write("wrong.toml", &OWN.replace(from, to));
        let ended = machine.hemiola(&["measure", "experiment", path.to_str().unwrap()]);
        let ended = ended.with_code(code);
        assert!(ended.stderr.contains(said), "{said} is missing from {}", ended.stderr);
    };
    wrong("task = \"sensors\"", "task = \"sensor\"", "did you mean \"sensors\"?", 2);
    wrong("column = \"ms\"", "column = \"s\"", "it has no column `s`; its columns are run, ms", 2);
    wrong("times.csv", "nowhere.csv", "nowhere.csv cannot be read", 2);
    // The command runs beside the experiment, like its files.
    let beside = machine.folder().join("beside");
    fs::create_dir(&beside).unwrap();
    for name in ["times.csv", "marks.pftrace"] {
        fs::copy(machine.folder().join(name), beside.join(name)).unwrap();
    }
    fs::write(beside.join("own.toml"), OWN.replace("sleep 0.01", "mkdir -p made")).unwrap();
    machine.hemiola(&["measure", "experiment", "beside/own.toml"]).with_code(0);
    assert!(beside.join("made").exists() && !machine.folder().join("made").exists());
    wrong("sleep 0.01", "false", "`false` failed in run 1: exit status: 1", 2);
}

#[test]
fn an_experiment_without_an_expectation_is_refused_before_anything_is_measured() {
    let machine = Machine::take("measure-refused");
    let line = "expectation = \"factor * processor.instruction\"\n";
    let path = machine.write("none.toml", &EXPERIMENT.replace(line, ""));
    let ended = machine.hemiola(&["measure", "experiment", path.to_str().unwrap()]).with_code(2);
    assert!(ended.stderr.contains("the expectation of the case \"read\" is missing"), "{ended:?}");
    assert!(ended.stderr.contains("hint: write down what you expect before you measure"));
    assert!(ended.stdout.is_empty() && !machine.folder().join("results").exists());
}

#[test]
fn commands_are_measured_in_turns_and_compared_with_a_baseline() {
    let machine = Machine::take("measure-command");
    let order = machine.folder().join("order");
    let append = format!("printf {{n}} >> {}", order.display());
    let ended = machine.hemiola(&[
        "measure",
        "command",
        "sleep 0.0{n}",
        "-L",
        "n",
        "1,2",
        "--runs",
        "12",
        "--warmup",
        "1",
        "--prepare",
        &append,
        "--baseline",
        "sleep 0.02",
        "--export-json",
        "times.json",
    ]);
    let ended = ended.with_code(0);
    assert!(ended.stdout.contains("Compared with `sleep 0.02`"), "{ended:?}");
    assert!(ended.stdout.lines().any(|line| line.starts_with("sleep 0.01 ")));
    assert_eq!(fs::read_to_string(&order).unwrap(), format!("12{}", "1221".repeat(6)));
    let text = fs::read_to_string(machine.folder().join("times.json")).unwrap();
    let results: Value = serde_json::from_str(&text).unwrap();
    let first = &results["results"][0];
    let floor = first["memory_floor_byte"].as_u64().unwrap();
    assert!(floor > 1 << 20 && first["meanwhile"]["cpus"].as_u64() > Some(0), "{first}");
    // `sleep` has less memory than `hemiola`.
    let row = ended.stdout.lines().find(|line| line.starts_with("sleep 0.01 ")).unwrap();
    assert!(row.contains('≤'), "{row}");
    assert_eq!((&first["command"], &first["parameters"]["n"]), (&"sleep 0.01".into(), &"1".into()));
    assert_eq!(first["times"].as_array().unwrap().len(), 12);
    assert!(
        first["min"].as_f64().unwrap() >= 0.01 && first["low"].as_f64() <= first["high"].as_f64()
    );

    // The program behind `--` receives its arguments as they are, and is compared with the results of the file.
    let again = machine.hemiola(&[
        "measure",
        "command",
        "--runs",
        "12",
        "--import-json",
        "times.json",
        "--",
        "sh",
        "-c",
        "sleep 0.01; true | cat",
    ]);
    let again = again.with_code(0);
    assert!(again.stdout.contains("the results were read from a file"), "{again:?}");
    let row = again.stdout.lines().find(|line| line.starts_with("sleep 0.01 ")).unwrap();
    assert!(row.contains('≤'), "{row}");
    machine.hemiola(&["measure", "command", "--import-json", "times.json"]).with_code(0);
    machine.nothing_is_left();
}

#[test]
fn setups_and_cleanups_run_once_for_each_command() {
    let machine = Machine::take("measure-command-once");
    let order = machine.folder().join("order");
    let note = |what: &str| format!("printf ' {what}' >> {}", order.display());
    let ran = || {
        let ran = fs::read_to_string(&order).unwrap_or_default();
        let _ = fs::remove_file(&order);
        ran
    };
    let measure = |arguments: &[&str], code: i32| {
        let beside =
            ["--setup", &note("s{n}"), "--prepare", &note("p{n}"), "--cleanup", &note("c{n}")];
        let all = [&["measure", "command"], arguments, &beside, &["-L", "n", "1,2"]].concat();
        machine.hemiola(&all).with_code(code)
    };
    measure(&["true {n}", "sh -c 'exit 0' {n}", "--warmup", "1", "--runs", "2"], 0);
    let (there, back) = (" p1 p2 p1 p2", " p2 p1 p2 p1");
    assert_eq!(ran(), format!(" s1 s2 s1 s2{there}{there}{back} c1 c2 c1 c2"));

    // A run that fails, and one for each command.
    let failed = measure(&["sh -c 'test {n} = 1'", "--runs", "2", "--export-json", "x.json"], 1);
    assert!(failed.stderr.contains("failed in run 1: exit status: 1"), "{failed:?}");
    assert_eq!(ran(), " s1 s2 p1 p2 c1 c2");
    assert!(!machine.folder().join("x.json").exists());
    let [s, t, c, d] = ["s", "t", "c", "d"].map(note);
    let each = ["measure", "command", "true", "ls", "-r", "1", "-s", &s, "-s", &t, "-c", &c, "-c"];
    machine.hemiola(&[&each[..], &[&d]].concat()).with_code(0);
    assert_eq!(ran(), " s t c d");

    // A setup that fails: nothing is measured, and the commands before it are cleaned up.
    let setup = format!("{}; test {{n}} != 2", note("s{n}"));
    let cleanup = format!("{}; test {{n}} != 1", note("c{n}"));
    let one =
        ["measure", "command", "true {n}", "-r", "2", "-s", &setup, "-c", &cleanup, "-L", "n"];
    let failed = machine.hemiola(&[&one[..], &["1,2,3"]].concat()).with_code(1);
    assert_eq!(ran(), " s1 s2 c1 c2");
    for (what, of, when) in
        [("setup", 2, "before the first run"), ("cleanup", 1, "after the last run")]
    {
        let is_named = |line: &str| {
            line.starts_with(&format!("error: the {what} `"))
                && line.ends_with(&format!("` of `true {of}` failed {when}: exit status: 1"))
        };
        assert!(failed.stderr.lines().any(is_named), "{failed:?}");
    }
    // A cleanup that fails costs no readings, and the others run.
    let kept = ["1,3", "--export-json", "kept.json"];
    let failed = machine.hemiola(&[&one[..], &kept].concat()).with_code(1);
    assert_eq!(ran(), " s1 s3 c1 c3");
    assert!(failed.stdout.contains("true 3") && failed.stderr.contains("of `true 1` failed after"));
    assert!(fs::read_to_string(machine.folder().join("kept.json")).unwrap().contains("\"times\""));
    machine.nothing_is_left();
}

#[test]
fn ctrl_c_in_the_middle_of_a_command_runs_the_cleanups() {
    let machine = Machine::take("measure-command-interrupted");
    let begun = machine.folder().join("begun");
    let cleanup = "sleep 0.3; touch cleaned";
    let command = format!("touch {}; exec sleep 100", begun.display());
    let words = ["measure", "command", "-c", cleanup, "--", "sh", "-c", &command];
    let mut running = machine.start(&words);
    while !begun.exists() {
        assert!(!running.has_ended());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    running.signal(Signal::INT);
    let ended = running.end().with_code(130);
    assert_eq!(ended.stderr, "interrupted; nothing was kept\n");
    assert!(machine.folder().join("cleaned").exists());
    machine.nothing_is_left();
}

#[test]
fn the_times_of_a_file_count_and_a_note_names_the_figures_that_contradict_them() {
    let machine = Machine::take("measure-command-contradiction");
    let text = r#"{"results": [{"command": "odd", "mean": 1.1, "stddev": 0.1, "median": 3.0, "user": 0, "system": 0,
        "min": 1.0, "max": 1.2, "times": [1.0, 1.1, 1.2]}]}"#;
    machine.write("odd.json", text);
    let ended = machine.hemiola(&["measure", "command", "--import-json", "odd.json"]).with_code(0);
    let note = "note: odd.json: `odd`: `median` is 3.00 s, but that of its times is 1.10 s; the times count\n";
    assert_eq!(ended.stderr, note);
    let row = ended.stdout.lines().find(|line| line.starts_with("odd ")).unwrap();
    assert!(row.contains("1.10 s") && !row.contains("3.00 s"), "{row}");
    machine.nothing_is_left();
}

#[test]
fn a_command_that_cannot_be_measured_is_an_error_that_says_why() {
    let machine = Machine::take("measure-command-wrong");
    let wrong = |arguments: &[&str], said: &str, code: i32| {
        let ended = machine.hemiola(&[&["measure", "command"], arguments].concat()).with_code(code);
        assert!(ended.stderr.contains(said), "{said} is missing from {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    };
    wrong(&[], "there is nothing to measure\nhint: ", 2);
    wrong(&["ls | wc"], "needs a shell for `|`\nhint: add `--shell sh`", 2);
    wrong(&["A=1 true"], "needs a shell to set the variable `A`\nhint: add `--shell sh`", 2);
    wrong(&["no-such-program"], "`no-such-program` cannot be started: No such file", 2);
    wrong(&["ls no-such-file"], "failed in run 1: exit status: 2\n  ls: ", 1);
    wrong(&["--warmup", "1", "false"], "failed in warm-up run 1", 1);
    wrong(&["true", "--prepare", "false"], "the preparation `false` of `true` failed in run 1", 1);
    wrong(
        &["true", "true", "-p", "true", "-p", "true", "-p", "true"],
        "one for all, or one for each",
        2,
    );
    wrong(
        &["true", "ls", "pwd", "-s", "a", "-s", "b"],
        "2 setups for 3 commands: give one for all",
        2,
    );
    wrong(&["true", "-c", "a", "-c", "b"], "2 cleanups for 1 command: give one for all", 2);
    wrong(&["true", "-n", "a", "-n", "b"], "2 names for 1 command: give at most one", 2);
    wrong(&["true", "-L", "n", "1", "-L", "n", "2"], "the parameter `n` is given twice", 2);
    wrong(&["true", "--import-json", "nowhere"], "nowhere cannot be read", 2);
    let broken = machine.write("broken.json", "{}");
    wrong(&["--import-json", broken.to_str().unwrap()], "missing field `results`", 2);
    let empty = machine.write("empty.json", "{\"results\": []}");
    wrong(&["--import-json", empty.to_str().unwrap()], "has no results to compare", 2);
    wrong(&["true", "-L", "n", "1,2"], "no command has the parameter `n`\nhint: `{n}` in", 2);
    let twice = ["true", "ls", "-n", "a", "-n", "a", "--baseline", "a"];
    wrong(&twice, "several commands are called `a`\nhint: `-n NAME` gives", 2);

    // A measurement that would be of no use is not begun.
    let ran = machine.folder().join("ran");
    let touch = ["touch", ran.to_str().unwrap()].join(" ");
    wrong(&[&touch, "-n", "true", "--baseline", "tru"], "did you mean `true`?", 2);
    for (place, reason) in [("nowhere/x", "No such file"), (".", "is a directory")] {
        let reason = format!("{place} cannot be written: {reason}");
        let ended = machine.hemiola(&["measure", "command", &touch, "--export-json", place]);
        let ended = ended.with_code(2);
        assert!(ended.stderr.contains(&reason) && ended.stdout.is_empty(), "{ended:?}");
    }
    assert!(!ran.exists());
    // If the file cannot be written at the end, the tables are not lost.
    let lost = ["measure", "command", "true", "--runs", "2", "--export-json", "/dev/full"];
    let lost = machine.hemiola(&lost).with_code(1);
    assert!(
        lost.stdout.contains("true") && lost.stderr.contains("/dev/full cannot be written"),
        "{lost:?}"
    );
    // If the tables cannot be written, the file is not lost.
    let kept = ["measure", "command", "true", "--runs", "2", "--export-json", "kept.json"];
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = machine.command(PROGRAM, &kept).stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.unwrap().code(), Some(1));
    assert!(fs::read_to_string(machine.folder().join("kept.json")).unwrap().contains("\"times\""));
    // Both formats at once, each in its place.
    let both = [
        "measure",
        "command",
        "true",
        "--runs",
        "2",
        "--export-json",
        "b.json",
        "--export-markdown",
    ];
    let ended = machine.hemiola(&[&both[..], &["-"]].concat()).with_code(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |");
    assert!(lines[2].starts_with("| `true` | ") && lines[2].ends_with(" | 1.00 |"), "{lines:?}");
    assert!(lines.len() == 3 && machine.folder().join("b.json").exists());
    let same = machine.hemiola(&[&both[..], &["b.json"]].concat()).with_code(2);
    assert!(same.stderr.contains("b.json cannot take both JSON and Markdown"), "{same:?}");
    // Nor is there a file of a measurement that failed.
    let failed = ["measure", "command", "false", "--export-json", "none.json"];
    machine.hemiola(&failed).with_code(1);
    assert!(!machine.folder().join("none.json").exists());

    let failing = [
        "measure",
        "command",
        "--shell",
        "sh",
        "--ignore-failure",
        "--runs",
        "12",
        "exit 3 | false",
    ];
    let ended = machine.hemiola(&failing).with_code(0);
    assert!(ended.stdout.contains("failed in 12 of 12 runs"), "{ended:?}");
}

#[test]
fn invalid_requests_are_refused_with_a_hint() {
    let machine = Machine::take("measure-wrong");
    let wrong = |arguments: &[&str], said: &str, code: i32| {
        let ended = machine.hemiola(&[&["measure"], arguments].concat()).with_code(code);
        assert!(ended.stderr.contains(said), "{said} is missing from {}", ended.stderr);
    };
    wrong(&["--only", "clock.raed"], "did you mean `clock.read`?", 2);
    wrong(&["--load", "heavy"], "busy-neighbour", 2);
    wrong(&["compare", "here", "there"], "create it with `hemiola measure`", 2);
    let newer = machine.write("newer.toml", "format = 99\n");
    let newer = newer.to_str().unwrap();
    wrong(&["compare", newer, newer], "it has format 99, and this version reads up to 1", 2);
    let broken = machine.write("broken.toml", "format = 1\nfigure = 7\n");
    let broken = broken.to_str().unwrap();
    wrong(&["compare", broken, broken], "broken.toml:2:10", 2);
    fs::create_dir(machine.folder().join("full")).unwrap();
    machine.write("full/x", "x");
    wrong(&["--quick", "--output", "full"], "the result folder full is not empty", 2);
    wrong(&["--quick", "--output", "full/x/y"], "cannot be written", 2);
    wrong(&["experiment", "nowhere"], "nowhere cannot be read", 2);
    let other = machine.write("other.toml", "title = \"a scenario\"\n");
    let other = other.to_str().unwrap();
    wrong(&["compare", other, other], "hint: give a machine.toml", 2);
    wrong(&["link", "127.0.0.1:99999"], "the port `99999` is not a number from 1 to 65535", 2);
    wrong(&["compare", other, other, "--strict"], "unexpected argument '--strict'", 2);
}

#[test]
fn ctrl_c_in_the_middle_of_a_measurement_leaves_nothing() {
    let machine = Machine::take("measure-interrupted");
    let mut running = machine.start(&["measure", "--output", "result"]);
    machine.wait_for(&mut running, &[]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(!running.has_ended(), "a full measurement takes minutes");
    let second = machine.hemiola(&["measure", "--quick"]).with_code(1);
    assert!(second.stderr.contains("another measurement is running on this machine"), "{second:?}");
    running.signal(Signal::INT);
    let ended = running.end().with_code(130);
    assert!(ended.stderr.contains("interrupted; nothing was kept"), "{ended:?}");
    assert!(!machine.folder().join("result").exists());
    machine.nothing_is_left();
}
