//! A run leaves no process, shared memory, queue or socket behind, however it ends.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use hemiola_rt::sys::process::Signal;

use crate::command::Running;
use crate::machine::{Machine, objects};
use crate::results::{Results, assert_stands};
use crate::scenario::{self, MONOLITHIC, SHARED_MEMORY, SIMPLEX};

/// Exit code of a shell after SIGINT: 128 + 2.
const INTERRUPTED: i32 = 130;
/// The nodes of a Simplex variant.
const SIMPLEX_NODES: [&str; 4] = ["node plant", "node io", "node decision", "node experimental"];

/// Starts a run of a minute and waits until these processes exist.
fn running(machine: &Machine, variants: &[&str], processes: &[&str]) -> Running {
    machine.write("scenario.toml", &scenario::of(variants));
    let arguments = ["run", "scenario.toml", "--duration", "60s", "--output", "result"];
    let mut running = machine.start(&arguments);
    machine.wait_for(&mut running, processes);
    running
}

#[test]
fn ctrl_c_at_any_time_during_the_start_leaves_no_process_and_no_half_written_folder() {
    let machine = Machine::take("any-moment");
    machine.write("scenario.toml", &scenario::of(&[SHARED_MEMORY]));
    for after_ms in [0, 2, 4, 8, 16, 32, 64, 128, 512, 800] {
        let arguments = ["run", "scenario.toml", "--duration", "60s", "--output", "result"];
        let run = machine.start(&arguments);
        sleep(Duration::from_millis(after_ms));
        run.signal(Signal::INT);
        let ended = run.end();
        // Early on, when there is nothing to clean up, the signal itself ends the process.
        let early = ended.signal() == Some(2);
        assert!(early || ended.status.code() == Some(INTERRUPTED), "{after_ms} ms: {ended:#?}");
        // A folder exists only once the first run has begun.
        let said = ended.stderr.lines().last().unwrap_or_default();
        let kept = said.ends_with("marked incomplete");
        assert_eq!(machine.folder().join("result").exists(), kept, "{after_ms} ms: {ended:#?}");
        machine.nothing_is_left();
        let _ = fs::remove_dir_all(machine.folder().join("result"));
    }
}

#[test]
fn ctrl_c_keeps_completed_runs() {
    let machine = Machine::take("second-variant");
    let endless = ["run", "scenario.toml", "--runs", "1000", "--duration", "200ms"];
    machine.write("scenario.toml", &scenario::of(&[MONOLITHIC, SIMPLEX]));
    let mut run = machine.start(&[&endless[..], &["--output", "result"]].concat());
    machine.wait_for(&mut run, &SIMPLEX_NODES);
    run.signal(Signal::INT);
    let ended = run.end().with_code(INTERRUPTED);
    assert!(
        ended.stderr.ends_with("everything until then, marked incomplete\n"),
        "{}",
        ended.stderr
    );
    let results = Results::open(machine.folder().join(ended.folder()));
    let kept = results.run();
    assert_eq!(kept.variants[0].runs.len(), 1);
    assert_stands(&kept.variants[0]);
    assert_eq!(results.summary()["variants"][0]["runs"].as_array().unwrap().len(), 1);
    machine.nothing_is_left();
}

#[test]
fn a_killed_runner_of_a_simplex_variant_leaves_nothing() {
    let machine = Machine::take("killed-simplex");
    let mut run = running(&machine, &[SIMPLEX], &SIMPLEX_NODES);
    run.run_name();
    run.kill();
    machine.nothing_is_left();
    assert_eq!(run.end().signal(), Some(9));
}

#[test]
fn a_killed_runner_of_a_publish_subscribe_variant_leaves_nothing() {
    let machine = Machine::take("killed-pubsub");
    let nodes = ["node plant", "node io", "node controller"];
    let before = objects();
    let mut run = running(&machine, &[&scenario::publish_subscribe()], &nodes);
    // The channel ends open shortly after the processes start; before that there is nothing to clean up.
    while objects().difference(&before).count() == 0 {
        assert!(!run.has_ended());
        sleep(Duration::from_millis(5));
    }
    run.kill();
    machine.nothing_is_left();
    assert_eq!(run.end().signal(), Some(9));
}

/// Starts a run with a unit that never answers and has a child process, which it starts by this command.
fn with_children(machine: &Machine, by: &str) -> Running {
    machine.script("unit", &format!("{by} \"$0-child\" & while :; do sleep 0.1; done"));
    machine.script("unit-child", "trap '' TERM INT HUP; while :; do sleep 0.1; done");
    let edits = [("gain = \"experimental\"", "command = [\"./unit\"]")];
    let scenario = scenario::edited(&scenario::of(&[SIMPLEX]), &edits);
    machine.write("scenario.toml", &scenario);
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "2s", "--output", "result"]);
    machine.wait_for(&mut run, &["/unit", "/unit-child"]);
    run
}

#[test]
fn a_process_that_a_unit_started_ends_with_the_run() {
    let machine = Machine::take("grandchild");
    let ended = with_children(&machine, "").end().with_code(0);
    machine.nothing_is_left();
    // No unit answered, so only the safety controller held the pendulum.
    let results = Results::open(machine.folder().join(ended.folder()));
    assert_stands(&results.run().variants[0]);
}

#[test]
fn a_process_that_a_unit_started_ends_with_a_killed_runner() {
    let machine = Machine::take("orphan");
    let mut run = with_children(&machine, "");
    run.kill();
    machine.nothing_is_left();
}

#[test]
fn a_process_that_left_the_group_of_its_unit_ends_with_the_run() {
    let machine = Machine::take("session");
    with_children(&machine, "setsid").end().with_code(0);
    machine.nothing_is_left();
}

#[test]
fn a_process_that_left_the_group_of_its_unit_ends_with_a_killed_runner() {
    let machine = Machine::take("session-orphan");
    let mut run = with_children(&machine, "setsid");
    run.kill();
    machine.nothing_is_left();
}
