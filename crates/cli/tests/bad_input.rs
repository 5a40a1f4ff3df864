//! Invalid input is reported clearly and leaves nothing behind.

use std::fs;

use crate::command::{Ended, PROGRAM};
use crate::machine::Machine;
use crate::results::Results;
use crate::scenario::{self, MONOLITHIC, SHARED_MEMORY, SIMPLEX};

/// Runs a scenario that must fail with `code`, print only the reason, and leave nothing. Returns standard error.
fn refused(machine: &Machine, scenario: &str, code: i32) -> String {
    machine.write("scenario.toml", scenario);
    let arguments = ["run", "scenario.toml", "--output", "result"];
    error_text(machine, machine.hemiola(&arguments), code)
}

fn error_text(machine: &Machine, ended: Ended, code: i32) -> String {
    let ended = ended.with_code(code);
    assert_eq!(ended.stdout, "", "a failed command printed data");
    assert!(!machine.folder().join("result").exists(), "the result folder is there");
    machine.nothing_is_left();
    ended.stderr
}

/// The error text for a small scenario after these edits. It is refused before anything starts.
fn said(test: &str, variant: &str, edits: &[(&str, &str)]) -> String {
    let machine = Machine::take(test);
    refused(&machine, &scenario::edited(&scenario::of(&[variant]), edits), 2)
}

/// With 1, a gate could not tell a verdict that is not kept from a file that is not there.
#[test]
fn an_input_that_cannot_be_read_has_the_status_of_wrong_input_in_every_command() {
    let machine = Machine::take("unreadable");
    let commands: [&[&str]; 13] = [
        &["run", "missing"],
        &["report", "missing"],
        &["analyze", "missing", "--gate", "--strict"],
        &["compare", "missing", "neither"],
        &["measure", "experiment", "missing", "--gate"],
        &["measure", "compare", "missing", "neither"],
        &["model", "missing", "--gate"],
        &["model", "check", "missing", "--gate"],
        &["view", "missing"],
        &["fom", "check", "missing"],
        &["universe", "check", "missing"],
        &["universe", "run", "missing"],
        &["universe", "run", "--resume", "missing"],
    ];
    for arguments in commands {
        let ended = machine.hemiola(arguments);
        let said = ended.stderr.trim_end();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("error: missing"), "{arguments:?}: {said}");
        assert!(said.contains("cannot be read: No such file"), "{arguments:?}: {said}");
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    machine.nothing_is_left();
}

#[test]
fn an_unknown_key_is_shown_in_its_line() {
    insta::assert_snapshot!(said("key", MONOLITHIC, &[("duration =", "durration =")]), @r#"
    error: a scenario has no key "durration"
     --> scenario.toml:3:1
      |
    3 | durration = "1s"
      | ^^^^^^^^^ unknown
      = hint: did you mean "duration"?
    "#);
}

#[test]
fn a_wrong_unit_is_shown_in_its_line() {
    insta::assert_snapshot!(said("unit", MONOLITHIC, &[("\"200Hz\"", "\"50m\"")]), @r#"
    error: rate: "50m" has the unit "m"; expected a rate from 1mHz to 1MHz such as "50Hz" or "1kHz", or a period such as "20ms"
     --> scenario.toml:2:8
      |
    2 | rate = "50m"
      |        ^^^^^
    "#);
}

#[test]
fn a_period_of_zero_is_refused() {
    insta::assert_snapshot!(said("zero", MONOLITHIC, &[("\"200Hz\"", "\"0ms\"")]), @r#"
    error: rate must be above zero
     --> scenario.toml:2:8
      |
    2 | rate = "0ms"
      |        ^^^^^
      = hint: write a rate such as "50Hz", or a period such as "20ms"
    "#);
}

#[test]
fn a_newest_value_with_two_writers_is_refused() {
    let second = "[variant.processes.another]
task = \"controller\"
gain = \"safety\"
receives = [\"sensors\"]
sends = [\"command\"]
[variant.processes.controller]";
    let edits = [("[variant.processes.controller]", second)];
    insta::assert_snapshot!(said("writers", SHARED_MEMORY, &edits), @r#"
    error: "another" and "controller" both write "command", but a latest value has one writer
      --> scenario.toml:43:10
       |
    43 | sends = ["command"]
       |          ^^^^^^^^^ second writer
       = hint: give each writer its own channel
    "#);
}

#[test]
fn a_circle_in_the_order_of_starting_is_refused() {
    let edits = [
        ("task = \"io\",", "task = \"io\", after = [\"controller\"],"),
        ("task = \"controller\"\n", "task = \"controller\"\nafter = [\"io\"]\n"),
    ];
    insta::assert_snapshot!(said("circle", SHARED_MEMORY, &edits), @r#"
    error: no process can start first: io after controller after io
      --> scenario.toml:32:30
       |
    32 | io = { task = "io", after = ["controller"], profile = "io", sends = ["sensors"], receives = ["command"] }
       |                              ^^^^^^^^^^^^
       = hint: remove one "after" of the circle
    "#);
}

#[test]
fn a_processor_that_does_not_exist_is_refused() {
    let text = said("processor", MONOLITHIC, &[("cpus = \"first\"", "cpus = \"1023\"")]);
    // The number of processors depends on the machine.
    assert!(
        text.contains("error: processor 1023 is not online; the online processors are 0"),
        "{text}"
    );
    assert!(text.contains("16 | cpus = \"1023\"\n   |        ^^^^^^\n"), "{text}");
}

#[test]
fn a_program_that_does_not_exist_is_refused() {
    let edits = [("gain = \"experimental\"", "command = [\"./no-such-unit\", \"fast\"]")];
    insta::assert_snapshot!(said("program", SIMPLEX, &edits), @r#"
    error: "./no-such-unit" is not an executable program
      --> scenario.toml:44:12
       |
    44 | command = ["./no-such-unit", "fast"]
       |            ^^^^^^^^^^^^^^^^
       = hint: paths are relative to the scenario's folder; check that the program is built and executable (chmod +x)
    "#);
}

#[test]
fn all_problems_are_reported_at_once() {
    let edits = [
        ("title =", "titel ="),
        ("\"1s\"", "\"1Hz\""),
        ("priority = 95", "priority = 100"),
        ("gain = \"experimental\"", "gain = \"experimantal\""),
    ];
    insta::assert_snapshot!(said("all", SIMPLEX, &edits), @r#"
    error: a scenario has no key "titel"
     --> scenario.toml:1:1
      |
    1 | titel = "A small one"
      | ^^^^^ unknown
      = hint: did you mean "title"?

    error: duration: "1Hz" has the unit "Hz"; expected a length of time such as "20ms", "50us" or "1.5s"
     --> scenario.toml:3:12
      |
    3 | duration = "1Hz"
      |            ^^^^^

    error: priority is 100; it must be from 1 to 99
      --> scenario.toml:11:12
       |
    11 | priority = 100
       |            ^^^

    error: there is no gain "experimantal"
      --> scenario.toml:44:8
       |
    44 | gain = "experimantal"
       |        ^^^^^^^^^^^^^^ did you mean "experimental"?
       = hint: choose from safety, lqr, published-safety, baseline, experimental, lmi, real-system-safety, real-system-baseline, real-system-experimental
    "#);
}

#[test]
fn a_program_that_ends_at_once_is_named_with_what_it_printed() {
    let machine = Machine::take("at-once");
    machine.script("unit", "echo 'no such table' >&2; exit 3");
    let edits = [("gain = \"experimental\"", "command = [\"./unit\"]")];
    let scenario = scenario::edited(&scenario::of(&[SIMPLEX]), &edits);
    insta::assert_snapshot!(last_error(&refused(&machine, &scenario, 1)), @r#"
    error: process "experimental" ended at once: exit code 3
      experimental: no such table
    "#);
}

#[test]
fn a_file_that_is_not_a_program_is_named_with_the_reason() {
    let machine = Machine::take("no-program");
    let path = machine.script("unit", "");
    fs::write(path, "#!/no/such/interpreter\n").unwrap();
    let edits = [("gain = \"experimental\"", "command = [\"./unit\"]")];
    let scenario = scenario::edited(&scenario::of(&[SIMPLEX]), &edits);
    let text = refused(&machine, &scenario, 1).replace(machine.folder().to_str().unwrap(), "…");
    let expected =
        "error: process \"experimental\" could not be started: …/unit cannot be executed: ";
    assert!(last_error(&text).starts_with(expected), "{text}");
}

/// The error without the progress lines before it.
fn last_error(text: &str) -> &str {
    &text[text.find("error: ").unwrap_or_else(|| panic!("no error in {text}"))..]
}

#[test]
fn a_wrong_command_line_or_file_is_refused() {
    let machine = Machine::take("line");
    machine.write("scenario.toml", &scenario::of(&[MONOLITHIC]));
    let run = |arguments: &[&str]| machine.hemiola(&[&["run"], arguments].concat());
    let text = error_text(&machine, run(&["scenario.toml", "--rate", "50"]), 2);
    assert!(text.contains("invalid value '50' for '--rate <R>'"), "{text}");
    let text = error_text(&machine, run(&["scenario.toml", "--runs", "0"]), 2);
    assert!(text.starts_with("error: --runs is 0"), "{text}");
    let text = error_text(&machine, run(&["missing.toml"]), 2);
    assert!(text.starts_with("error: missing.toml cannot be read"), "{text}");
    machine.write("latin.toml", "");
    fs::write(machine.folder().join("latin.toml"), b"title = \"\xe4\"").unwrap();
    let text = error_text(&machine, run(&["latin.toml"]), 2);
    assert!(text.contains("UTF-8"), "{text}");
    let text = error_text(&machine, machine.hemiola(&["report", "."]), 2);
    assert!(text.contains("hint: `hemiola run` prints the result folder"), "{text}");
}

#[test]
fn a_result_folder_that_cannot_be_made_is_refused_before_anything_starts() {
    let machine = Machine::take("unwritable");
    machine.write("scenario.toml", &scenario::of(&[MONOLITHIC]));
    machine.write("file", "mine");
    for folder in ["file/below", "/proc/result"] {
        let ended = machine.hemiola(&["run", "scenario.toml", "--output", folder]);
        let text = error_text(&machine, ended, 2);
        assert!(
            text.starts_with(&format!("error: the result folder {folder} cannot be ")),
            "{text}"
        );
        assert!(text.ends_with("choose another with --output\n"), "{text}");
    }
    fs::create_dir(machine.folder().join("used")).unwrap();
    machine.write("used/file", "mine");
    let text =
        error_text(&machine, machine.hemiola(&["run", "scenario.toml", "--output", "used"]), 2);
    insta::assert_snapshot!(
        text,
        @"error: the result folder used is not empty; name a new one with --output, or remove it"
    );
    let kept: Vec<_> = fs::read_dir(machine.folder().join("used")).unwrap().collect();
    assert_eq!(kept.len(), 1, "the folder has changed");
}

/// Runs `script` with a private file system of `size` bytes at `small`.
fn on_small_disk(machine: &Machine, size: u64, script: &str) -> Option<Ended> {
    fs::create_dir_all(machine.folder().join("small")).unwrap();
    // Root can create a mount namespace; other users need a user namespace, where permitted.
    let root =
        fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let flags = if root { "-m" } else { "-rm" };
    let mount = |then: &str| format!("mount -t tmpfs -o size={size} small small && {{ {then}\n}}");
    let possible = machine.command("unshare", &[flags, "sh", "-c", &mount("true")]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        println!("skipped: needs a mount namespace");
        return None;
    }
    let command = machine.command("unshare", &[flags, "sh", "-c", &mount(script)]);
    Some(crate::command::Running::start(command).end())
}

#[test]
fn a_disk_full_in_the_middle_of_a_run_ends_it_and_the_record_until_then_is_kept() {
    let machine = Machine::take("full-disk");
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    let script = format!(
        "{} run scenario.toml --duration 20s --output small/result; echo $?; ls -A small/result",
        crate::command::PROGRAM
    );
    let Some(ended) = on_small_disk(&machine, 128 << 10, &script) else { return };
    let text = last_error(&ended.stderr);
    assert!(text.starts_with("error: small/result/"), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    let left: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(left[..2], ["small/result", "1"], "the folder, and the exit code");
    assert!(left.contains(&"run.json") && left.contains(&"traces"), "{left:?}");
    machine.nothing_is_left();
}

#[test]
fn a_disk_full_at_the_end_of_a_run_keeps_the_record_for_a_report_later() {
    let machine = Machine::take("full-at-end");
    machine.write("scenario.toml", &scenario::of(&[MONOLITHIC]));
    let words = ["run", "scenario.toml", "--no-kernel", "--output", "whole"];
    let ended = machine.hemiola(&words).with_code(0);
    let whole = Results::open(machine.folder().join(ended.folder()));
    // Without kernel events the trace always has nearly the same size. Leave room for all but half of the page.
    let size =
        |name: &str| fs::metadata(whole.path().join(name)).unwrap().len().next_multiple_of(4096);
    let trace = size(&whole.run().variants[0].runs[0].trace);
    let others = ["scenario.toml", "plan.json", "run.json", "summary.json"];
    let room = trace + others.map(size).iter().sum::<u64>() + size("report.html") / 2;
    let script = format!(
        "{program} run scenario.toml --no-kernel --output small/result; echo $?; ls small/result
         mount -o remount,size=16m small; {program} report small/result > tables; echo $?",
        program = crate::command::PROGRAM
    );
    let Some(ended) = on_small_disk(&machine, room, &script) else { return };
    insta::assert_snapshot!(ended.stdout, @r#"
    1
    logs
    plan.json
    run.json
    scenario.toml
    summary.json
    traces
    0
    "#);
    insta::assert_snapshot!(last_error(&ended.stderr), @r#"
    error: small/result/report.html cannot be written: No space left on device (os error 28)
    hint: free some space, then run `hemiola report small/result`
    "#);
    machine.nothing_is_left();
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let machine = Machine::take("broken-pipe");
    let script = format!("(sleep 0.3; {PROGRAM} schema; echo \"code $?\" >&2) | true");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "code 141\n");
    machine.nothing_is_left();
}

#[test]
fn a_closed_standard_error_leaves_the_exit_status_as_it_is() {
    let machine = Machine::take("closed_error");
    let nobody = ["rti", "status", "127.0.0.1:1"];
    for (arguments, code) in [(&nobody[..], 1), (&["run", "absent"], 2)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = machine.command(PROGRAM, arguments).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn help_before_a_command_is_the_help_of_the_command() {
    let machine = Machine::take("help");
    for command in [&[][..], &["run"], &["universe", "plan"]] {
        let before = machine.hemiola(&[&["help"], command].concat()).with_code(0);
        let after = machine.hemiola(&[command, &["--help"]].concat()).with_code(0);
        assert_eq!(before.stdout, after.stdout);
        assert!(before.stdout.contains("Usage: hemiola"), "{}", before.stdout);
    }
}
