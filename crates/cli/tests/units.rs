//! Replacement units of a running scenario: added, promoted, replaced and removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_trace::event::source;

use crate::command::{Ended, Running};
use crate::ends::pid_of;
use crate::machine::{Machine, PATIENCE};
use crate::results::{Results, actuations, assert_stands};
use crate::scenario::{self, SIMPLEX};

/// Builds the example unit in C.
fn unit_in_c(machine: &Machine) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/units/c/unit.c");
    let options = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"].map(Path::new);
    machine.gcc("unit-c", options.into_iter().chain([&*source, Path::new("-lm")]))
}

/// A Simplex variant that runs this long, once its unit has the plant.
pub(crate) fn simplex(machine: &Machine, rate: &str, duration: &str) -> Running {
    started(machine, &scenario::of(&[SIMPLEX]), rate, duration)
}

/// The same of a scenario with a Simplex variant.
fn started(machine: &Machine, scenario: &str, rate: &str, duration: &str) -> Running {
    machine.write("scenario.toml", scenario);
    let shape = ["--rate", rate, "--duration", duration, "--output", "result"];
    let mut run = machine.start(&[&["run", "scenario.toml"][..], &shape].concat());
    until(machine, &mut run, "experimental", "active");
    run
}

/// A unit's row of `unit list`, as words: slot, name, state, process, answers, faults, strikes, last fault.
pub(crate) fn row(list: &Ended, name: &str) -> Option<Vec<String>> {
    // The first two lines are the unit in control and the column heads.
    let rows = list.stdout.lines().skip(2).map(|line| line.split_whitespace().map(str::to_owned));
    rows.map(Iterator::collect::<Vec<_>>).find(|row| row.get(1).is_some_and(|word| word == name))
}

/// Waits until the unit is in this state.
pub(crate) fn until(machine: &Machine, run: &mut Running, name: &str, state: &str) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let list = run.unit(machine, &["list"]).with_code(0);
        if row(&list, name).is_some_and(|row| row[2] == state) {
            return;
        }
        assert!(Instant::now() < limit, "{name} is not {state}: {}", list.stdout);
        sleep(Duration::from_millis(20));
    }
}

/// Waits until this unit, or `safety`, has the plant.
pub(crate) fn commanded_by(machine: &Machine, run: &mut Running, who: &str) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let list = run.unit(machine, &["list"]).with_code(0);
        if list.stdout.starts_with(&format!("simplex: {who} has the plant\n")) {
            return;
        }
        assert!(Instant::now() < limit, "{who} has not the plant: {}", list.stdout);
        sleep(Duration::from_millis(20));
    }
}

/// Promotes a unit as soon as it has enough acceptable answers.
pub(crate) fn promote(machine: &Machine, run: &mut Running, name: &str) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let said = run.unit(machine, &["promote", name]);
        if said.status.success() {
            assert_eq!(said.stdout, format!("{name} has the plant\n"));
            return;
        }
        assert!(said.stderr.contains("acceptable") || said.stderr.contains("starting"), "{said:?}");
        assert!(Instant::now() < limit, "{name} cannot be promoted: {said:?}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_unit_written_in_c_takes_the_plant_over_and_gives_it_back() {
    let machine = Machine::take("unit-c");
    let Some(program) = unit_in_c(&machine) else { return };
    let crashes = machine.script("crashes", "echo 'out of luck' >&2; exit 1");
    let (program, crashes) = (program.to_str().unwrap(), crashes.to_str().unwrap());
    // Its gains are those of 50 Hz.
    let mut run = simplex(&machine, "50Hz", "8s");

    let said = run.unit(&machine, &["add", "in-c", "--", program]).with_code(0);
    assert_eq!(
        said.stdout,
        "in-c runs in shadow; give it the plant with: hemiola unit promote in-c\n"
    );
    // On a busy machine a unit may miss an answer and lose the plant for a moment.
    commanded_by(&machine, &mut run, "experimental");
    let list = run.unit(&machine, &["list"]).with_code(0);
    assert_eq!(row(&list, "in-c").unwrap()[2], "shadow");

    promote(&machine, &mut run, "in-c");
    until(&machine, &mut run, "in-c", "active");
    until(&machine, &mut run, "experimental", "standby");
    commanded_by(&machine, &mut run, "in-c");

    promote(&machine, &mut run, "experimental");
    until(&machine, &mut run, "in-c", "standby");
    let said = run.unit(&machine, &["remove", "in-c"]).with_code(0);
    assert_eq!(said.stdout, "in-c is removed\n");
    assert_eq!(row(&run.unit(&machine, &["list"]), "in-c"), None);

    let replace = ["replace", "experimental", "second", "--gain", "baseline"];
    let said = run.unit(&machine, &replace).with_code(0);
    assert_eq!(said.stdout, "second has replaced experimental\n");
    until(&machine, &mut run, "second", "active");

    // A program that crashes is removed again, and nothing else changes.
    let said = run.unit(&machine, &["replace", "second", "third", "--", crashes]).with_code(1);
    assert!(said.stderr.starts_with("error: third failed and was taken out: "), "{}", said.stderr);
    assert!(said.stderr.ends_with("; second stays\n"), "{}", said.stderr);
    commanded_by(&machine, &mut run, "second");
    let list = run.unit(&machine, &["list"]).with_code(0);
    assert_eq!(row(&list, "third"), None, "{}", list.stdout);

    let ended = run.end().with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let result = results.run();
    let [variant] = &result.variants[..] else { panic!("one variant") };
    let trace = results.trace(variant);
    let voltages = actuations(&trace);
    let from = |slot| voltages.iter().filter(|entry| entry.arg == source::unit(slot)).count();
    assert!(from(0) > 0 && from(1) > 0, "both slots had the plant: {} and {}", from(0), from(1));
    assert_stands(variant);
    let figures = &results.summary()["variants"][0]["combined"];
    assert_eq!(figures["actuations_missed"], figures["releases_skipped"]);
    for name in ["experimental", "in-c", "second", "third"] {
        assert!(variant.runs[0].processes.iter().any(|process| process.name == name), "{name}");
        assert!(trace.tracks.iter().any(|track| track.name == name), "{name}");
    }
    assert!(fs::read_to_string(results.path().join("logs/third.log")).unwrap().contains("luck"));
    machine.nothing_is_left();
}

#[test]
fn a_unit_in_python_may_compute_long_while_it_loads() {
    let machine = Machine::take("unit-python");
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/units/python/unit.py");
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: needs python3");
        return;
    }
    // Fifteen times the processor time that a unit may use at real-time priority without a pause.
    let loads =
        "import sys, time\nwhile time.process_time() < 0.3: pass\nexec(open(sys.argv[1]).read())";
    let mut run = simplex(&machine, "50Hz", "60s");
    let add = ["add", "in-python", "--user", "run", "--", "python3", "-c", loads];
    let said = run.unit(&machine, &[&add[..], &[unit.to_str().unwrap()]].concat()).with_code(0);
    assert!(said.stdout.starts_with("in-python runs in shadow; "), "{}", said.stdout);
    interrupt(&machine, run);
}

#[test]
fn a_replacement_proves_itself_as_long_as_the_scenario_wants() {
    let machine = Machine::take("unit-proof");
    let scenario = scenario::edited(
        &scenario::of(&[SIMPLEX]),
        &[("[decision]\n", "[decision]\npromote_after = 60\n")],
    );
    let mut run = started(&machine, &scenario, "200Hz", "60s");
    let replace = ["replace", "experimental", "second", "--gain", "baseline"];
    let said = run.unit(&machine, &replace).with_code(0);
    assert_eq!(said.stdout, "second has replaced experimental\n");
    commanded_by(&machine, &mut run, "second");
    assert_eq!(row(&run.unit(&machine, &["list"]), "experimental"), None);
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();
}

#[test]
fn a_unit_that_pauses_is_taken_over_and_gets_the_plant_back() {
    let machine = Machine::take("pause");
    let mut run = simplex(&machine, "200Hz", "4s");
    let list = run.unit(&machine, &["list"]).with_code(0);
    let pid = row(&list, "experimental").unwrap()[3].parse().unwrap();
    signal_group(pid, Signal::STOP).unwrap();
    commanded_by(&machine, &mut run, "safety");
    signal_group(pid, Signal::CONT).unwrap();
    commanded_by(&machine, &mut run, "experimental");
    let ended = run.end().with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let variant = &results.run().variants[0];
    actuations(&results.trace(variant));
    assert_stands(variant);
    assert!(variant.runs[0].switches >= 2);
    machine.nothing_is_left();
}

#[test]
fn invalid_unit_commands_are_refused_with_the_reason_and_change_nothing() {
    let machine = Machine::take("unit-errors");
    let mut run = simplex(&machine, "200Hz", "60s");
    let mut refused = |arguments: &[&str]| {
        let said = run.unit(&machine, arguments).with_code(1);
        assert_eq!(said.stdout, "");
        said.stderr.replace(machine.folder().to_str().unwrap(), "…")
    };
    let mut said = String::new();
    for arguments in [
        &["promote", "nobody"][..],
        &["remove", "nobody"],
        &["replace", "nobody", "new", "--gain", "baseline"],
        &["promote", "experimental"],
        &["add", "experimental", "--gain", "baseline"],
        &["add", "plant", "--gain", "baseline"],
        &["add", "a/b", "--gain", "baseline"],
        &["add", "new", "--gain", "basline"],
        &["add", "new", "--gain", "baseline", "--priority", "75"],
        &["add", "new", "--", "./no-such-program"],
        &["add", "new", "--", "no-such-program"],
    ] {
        said += &refused(arguments);
    }
    insta::assert_snapshot!(said, @r#"
    error: there is no unit "nobody"; there are: experimental
    error: there is no unit "nobody"; there are: experimental
    error: there is no unit "nobody"; there are: experimental
    error: the unit in slot 0 is active already
    error: "experimental" has been used in this run; choose another name
    error: "plant" has been used in this run; choose another name
    error: "a/b" is not a valid name of a unit; use 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'
    error: no gain is called "basline"
    error: priority 75 is not below the decision module's 75: a unit could starve it
    error: …/no-such-program does not exist
    error: new failed and was taken out: its process ended: no-such-program cannot be executed: No such file or directory (os error 2)
    "#);
    // The name of a unit that failed to start stays reserved; a unit of another name can be added.
    run.unit(&machine, &["add", "newer", "--gain", "baseline"]).with_code(0);
    let list = run.unit(&machine, &["list"]).with_code(0);
    assert_eq!(list.stdout.lines().count(), 4, "{}", list.stdout);
    run.unit(&machine, &["add", "both", "--gain", "baseline", "--", "x"]).with_code(2);
    run.unit(&machine, &["add", "neither"]).with_code(2);
    run.signal(Signal::INT);
    run.end().with_code(130);
    let alone = machine.hemiola(&["unit", "--run", "no-such-run", "list"]).with_code(1);
    assert!(
        alone.stderr.contains("no-such-run") || alone.stderr.contains("no scenario"),
        "{alone:?}"
    );
    machine.nothing_is_left();
}

#[test]
fn a_request_pending_at_the_end_of_the_run_fails_with_the_reason() {
    let machine = Machine::take("unit-late");
    let mut run = simplex(&machine, "50Hz", "2s");
    // A promotion needs acceptable answers for a second; with fewer cycles left the request cannot complete.
    loop {
        let list = run.unit(&machine, &["list"]);
        let answers = row(&list, "experimental").map_or(0, |row| row[4].parse::<u64>().unwrap());
        if answers > 70 {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    let said = run.unit(&machine, &["replace", "experimental", "late", "--gain", "baseline"]);
    let said = said.with_code(1);
    assert_eq!(said.stderr, "error: the run ended before the request was done\n");
    run.end().with_code(0);
    machine.nothing_is_left();
}

/// Starts a request in the background.
fn asked(machine: &Machine, run: &mut Running, arguments: &[&str]) -> Running {
    let name = run.run_name();
    machine.start(&[&["unit", "--run", &name], arguments].concat())
}

/// Ends a run by a signal, and checks that nothing is left.
fn interrupt(machine: &Machine, run: Running) {
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();
}

#[test]
fn a_module_that_cannot_be_read_is_an_error() {
    let machine = Machine::take("unit-no-module");
    let ended = machine.hemiola(&["unit", "add", "q", "--wasm", "missing.wasm"]).with_code(2);
    assert!(ended.stderr.starts_with("error: --wasm: "), "{}", ended.stderr);
}

#[test]
fn a_unit_added_during_a_replacement_is_not_removed_by_it() {
    let machine = Machine::take("unit-precious");
    let mut run = simplex(&machine, "200Hz", "60s");
    let replace = ["replace", "experimental", "new", "--gain", "baseline"];
    let replacement = asked(&machine, &mut run, &replace);
    until(&machine, &mut run, "new", "shadow");
    run.unit(&machine, &["remove", "experimental"]).with_code(0);
    run.unit(&machine, &["add", "precious", "--gain", "baseline"]).with_code(0);
    let said = replacement.end().with_code(0);
    assert_eq!(said.stdout, "new has replaced experimental\n");
    let list = run.unit(&machine, &["list"]).with_code(0);
    assert_eq!(row(&list, "precious").unwrap()[2], "shadow", "{}", list.stdout);
    assert_eq!(row(&list, "experimental"), None);
    until(&machine, &mut run, "new", "active");
    interrupt(&machine, run);
}

#[test]
fn two_replacements_at_once_leave_no_orphan() {
    let machine = Machine::take("unit-twice");
    let mut run = simplex(&machine, "200Hz", "60s");
    let replace = |name| ["replace", "experimental", name, "--gain", "baseline"];
    let both = ["first", "second"].map(|name| asked(&machine, &mut run, &replace(name)));
    let [first, second] = both.map(Running::end);
    let (done, refused) = if first.status.success() { (first, second) } else { (second, first) };
    let winner = done.with_code(0).stdout.replace(" has replaced experimental\n", "");
    let reason = refused.with_code(1).stderr;
    let meanwhile = format!("error: experimental is being replaced by {winner}; ");
    assert!(reason.starts_with(&meanwhile) || reason.contains("there is no unit"), "{reason}");
    let list = run.unit(&machine, &["list"]).with_code(0);
    assert_eq!(list.stdout.lines().count(), 3, "{}", list.stdout);
    assert!(row(&list, &winner).is_some());
    // Each unit in the list has a process, and no other unit has.
    let nodes = machine.processes().into_iter().map(|(_, line)| line);
    let names = ["experimental", "first", "second"].map(|name| format!("node {name}"));
    let units: Vec<String> =
        nodes.filter(|line| names.iter().any(|name| line.ends_with(name))).collect();
    assert!(units.len() == 1 && units[0].ends_with(&winner), "{units:?}");
    interrupt(&machine, run);
}

#[test]
fn several_units_are_replaced_in_one_transaction_or_none() {
    let machine = Machine::take("unit-also");
    let crashes = machine.script("crashes", "exit 1");
    let mut run = simplex(&machine, "200Hz", "60s");
    run.unit(&machine, &["add", "shadow", "--gain", "baseline"]).with_code(0);
    let mut replace = vec!["replace", "experimental", "new-a", "--gain", "baseline"];
    replace.extend(["--also", "shadow", "bad", crashes.to_str().unwrap()]);
    let said = run.unit(&machine, &replace).with_code(1);
    assert!(said.stderr.starts_with("error: bad failed and was taken out: "), "{}", said.stderr);
    assert!(said.stderr.ends_with(", and new-a with it; experimental, shadow stay\n"));
    let mut replace = vec!["replace", "experimental", "new-b", "--gain", "baseline"];
    replace.extend(["--also", "shadow", "new-c", "lqr"]);
    let said = run.unit(&machine, &replace).with_code(0);
    assert_eq!(said.stdout, "new-b has replaced experimental, new-c has replaced shadow\n");
    let list = run.unit(&machine, &["list"]).with_code(0);
    assert_eq!(list.stdout.lines().count(), 4, "{}", list.stdout);
    interrupt(&machine, run);
}

#[test]
fn a_unit_killed_at_any_stage_of_a_replacement_leaves_every_other_unit_alone() {
    let machine = Machine::take("unit-kills");
    let mut run = simplex(&machine, "200Hz", "60s");
    run.unit(&machine, &["add", "precious", "--gain", "baseline"]).with_code(0);
    let mut old = "experimental".to_owned();
    for (number, stage) in ["starting", "shadow", "active"].into_iter().enumerate() {
        let new = format!("new-{number}");
        let replacement = asked(&machine, &mut run, &["replace", &old, &new, "--gain", "baseline"]);
        // The stages are short: the victim may have gone on, or have replaced the old unit.
        let victim = loop {
            let list = run.unit(&machine, &["list"]).with_code(0);
            if let Some(found) = row(&list, &new)
                && (found[2] == stage || found[2] == "active")
            {
                break found[3].parse().unwrap();
            }
        };
        signal_group(victim, Signal::KILL).unwrap();
        let said = replacement.end();
        if said.status.success() {
            assert_eq!(said.stdout, format!("{new} has replaced {old}\n"));
            old = format!("after-{number}");
            run.unit(&machine, &["add", &old, "--gain", "baseline"]).with_code(0);
            promote(&machine, &mut run, &old);
        } else {
            assert!(said.stderr.contains("its process ended: killed by SIGKILL"), "{said:?}");
            assert!(said.stderr.ends_with(&format!("; {old} stays\n")), "{}", said.stderr);
        }
        let list = run.unit(&machine, &["list"]).with_code(0);
        assert_eq!(row(&list, "precious").unwrap()[2], "shadow", "{}", list.stdout);
        assert!(row(&list, &old).is_some());
    }
    interrupt(&machine, run);
}

#[test]
fn resume_outside_a_fail_safe_is_refused() {
    let machine = Machine::take("unit-resume");
    let mut run = simplex(&machine, "200Hz", "60s");
    let said = run.unit(&machine, &["resume"]).with_code(1);
    assert_eq!(said.stderr, "error: the decision module is not in its fail-safe\n");
    interrupt(&machine, run);
}

#[test]
fn a_process_that_left_the_group_of_its_unit_ends_before_the_slot_is_used_again() {
    let machine = Machine::take("unit-ghost");
    let unit = machine.script("unit", "setsid \"$0-child\" & while :; do sleep 0.1; done");
    machine.script("unit-child", "trap '' TERM INT HUP; while :; do sleep 0.1; done");
    let mut run = simplex(&machine, "200Hz", "60s");
    let ghost = ["add", "ghost", "--", unit.to_str().unwrap()];
    let adding = asked(&machine, &mut run, &ghost);
    machine.wait_for(&mut run, &["/unit-child"]);
    // It never answers, so it is given up.
    let said = adding.end().with_code(1);
    assert!(said.stderr.contains("missing"), "{}", said.stderr);
    // Its slot is used again, at once or after its last process has ended.
    for number in 0.. {
        let name = format!("honest-{number}");
        run.unit(&machine, &["add", &name, "--gain", "baseline"]).with_code(0);
        let list = run.unit(&machine, &["list"]).with_code(0);
        if row(&list, &name).unwrap()[0] == "1" {
            break;
        }
        run.unit(&machine, &["remove", &name]).with_code(0);
    }
    let left = machine.processes().into_iter().find(|(_, line)| line.ends_with("/unit-child"));
    assert_eq!(left, None, "the slot has another writer");
    interrupt(&machine, run);
}

#[test]
fn a_unit_that_forked_gives_its_slot_back() {
    let machine = Machine::take("unit-forked");
    let unit = machine.script("unit", "sleep 600 & while :; do sleep 0.1; done");
    let mut run = simplex(&machine, "200Hz", "60s");
    // It never answers, so it is given up.
    run.unit(&machine, &["add", "forked", "--", unit.to_str().unwrap()]).with_code(1);
    // Nothing else leaves the run: every removal would look for all processes that are left behind.
    let add = |name| ["add", name, "--gain", "baseline", "--budget", "100us"];
    for name in ["one", "two", "three", "four", "five", "six"] {
        run.unit(&machine, &add(name)).with_code(0);
    }
    let limit = Instant::now() + PATIENCE;
    while !run.unit(&machine, &add("seven")).status.success() {
        assert!(Instant::now() < limit, "the slot of the unit that forked is not free");
        sleep(Duration::from_millis(20));
    }
    interrupt(&machine, run);
}

/// Descriptors, and mappings of records, of the runner and of the processes that stay for the whole run.
fn held(machine: &Machine, run: &Running) -> Vec<(usize, usize)> {
    let stay = ["node plant", "node io", "node decision"].map(|node| pid_of(machine, node));
    let held_by = |pid: u32| {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let maps = fs::read_to_string(process.join("maps")).unwrap();
        let logs = maps.lines().filter(|line| line.contains("hemiola-log-")).count();
        (fs::read_dir(process.join("fd")).unwrap().count(), logs)
    };
    std::iter::once(run.pid()).chain(stay).map(held_by).collect()
}

#[test]
fn fifty_replacements_in_one_run_hold_no_more_than_none() {
    let machine = Machine::take("unit-fifty");
    let scenario = scenario::edited(
        &scenario::of(&[SIMPLEX]),
        &[("[decision]\n", "[decision]\npromote_after = 5\n")],
    );
    let mut run = started(&machine, &scenario, "200Hz", "600s");
    let before = held(&machine, &run);
    let count = std::env::var("HEMIOLA_UPGRADES").map_or(50, |text| text.parse().unwrap());
    let mut old = "experimental".to_owned();
    let mut done = 0;
    for number in 0..count {
        let new = format!("unit-{number}");
        let said = run.unit(&machine, &["replace", &old, &new, "--gain", "baseline"]);
        // On a busy machine a new unit may be given up; that must hold nothing either.
        if said.status.success() {
            (old, done) = (new, done + 1);
        }
    }
    // The last process may just be ending. And before, a connection may just have been closing.
    let limit = Instant::now() + PATIENCE;
    let holds_more = |after: &[(usize, usize)]| {
        after.iter().zip(&before).any(|(after, before)| after.0 > before.0 || after.1 > before.1)
    };
    let mut after = held(&machine, &run);
    while holds_more(&after) && Instant::now() < limit {
        sleep(Duration::from_millis(10));
        after = held(&machine, &run);
    }
    let what = format!("descriptors and records after {done} of {count}: {after:?}");
    assert!(!holds_more(&after), "{what}, and before: {before:?}");
    assert!(done > 0);
    interrupt(&machine, run);
}

#[test]
fn an_operator_watches_requests_and_events() {
    let machine = Machine::take("unit-watch");
    let mut run = simplex(&machine, "200Hz", "60s");
    let json = asked(&machine, &mut run, &["watch", "--json"]);
    let text = asked(&machine, &mut run, &["watch"]);
    for watch in [&json, &text] {
        let is_socket = |entry: fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        };
        while !fs::read_dir(format!("/proc/{}/fd", watch.pid())).unwrap().flatten().any(is_socket) {
            sleep(Duration::from_millis(5));
        }
    }
    run.unit(&machine, &["list"]).with_code(0);
    run.unit(&machine, &["add", "second", "--gain", "baseline"]).with_code(0);
    promote(&machine, &mut run, "second");
    run.unit(&machine, &["remove", "experimental"]).with_code(0);
    let second = run.unit(&machine, &["list"]).with_code(0);
    let pid = row(&second, "second").unwrap()[3].parse().unwrap();
    signal_group(pid, Signal::KILL).unwrap();
    until(&machine, &mut run, "second", "failed");
    interrupt(&machine, run);
    let (json, text) = (json.end().with_code(0), text.end().with_code(0));
    let events: Vec<serde_json::Value> =
        json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let saw = |wanted: serde_json::Value| {
        let wanted = wanted.as_object().unwrap();
        events.iter().any(|event| wanted.iter().all(|(key, value)| event[key] == *value))
    };
    for wanted in [
        serde_json::json!({"event": "state", "unit": "second", "state": "starting"}),
        serde_json::json!({"event": "state", "unit": "second", "state": "shadow"}),
        serde_json::json!({"event": "state", "unit": "second", "state": "active"}),
        serde_json::json!({"event": "state", "unit": "experimental", "state": "standby"}),
        serde_json::json!({"event": "state", "unit": "experimental", "state": "removed"}),
        serde_json::json!({"event": "done", "text": "experimental is removed"}),
        serde_json::json!({"event": "fault", "unit": "second", "fault": "exited"}),
        serde_json::json!({"event": "switch", "from": "second", "to": "safety"}),
        serde_json::json!({"event": "failed"}),
    ] {
        assert!(saw(wanted.clone()), "{wanted}: {}", json.stdout);
    }
    assert!(text.stdout.lines().any(|line| line.ends_with("state    second: active")), "{text:?}");
    assert!(text.stdout.lines().any(|line| line.ends_with("done     experimental is removed")));
}
