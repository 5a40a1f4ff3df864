//! Hostile units beside healthy ones: each kind fails, or is harmless, and no other unit is failed for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::Signal;

use crate::command::Running;
use crate::machine::{Machine, PATIENCE};
use crate::scenario::{self, SIMPLEX};

/// What becomes of a kind, and under which name the list shows its last fault.
const KINDS: &[(&str, &str, &[&str])] = &[
    ("spins", "failed", &["over-budget"]),
    ("spins-3.9ms", "failed", &["over-budget"]),
    ("raises-priority", "failed", &["over-budget"]),
    ("sleeps", "failed", &["missing"]),
    ("stops-itself", "failed", &["missing"]),
    ("exits", "failed", &["exited"]),
    ("segfaults", "failed", &["exited"]),
    ("nan", "failed", &["not-finite"]),
    ("infinite", "failed", &["not-finite"]),
    ("out-of-range", "failed", &["out-of-range"]),
    // One cycle behind is an answer that came after its limit.
    ("stale", "failed", &["late"]),
    ("ahead", "failed", &["ahead"]),
    ("wrong-unit", "failed", &["wrong-unit"]),
    ("garbage", "failed", &["malformed"]),
    // Its child has no real-time priority, and ends with it.
    ("forks", "shadow", &[]),
];

fn hostile(machine: &Machine) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile.c");
    let program = machine.folder().join("hostile");
    let arguments = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"];
    let built = Command::new("gcc").args(arguments).args([&program, &source]).arg("-lm").output();
    let Ok(built) = built else {
        println!("skipped: needs gcc");
        return None;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

/// State and last fault of a unit.
fn unit(machine: &Machine, run: &mut Running, name: &str) -> (String, String) {
    let list = run.unit(machine, &["list"]).with_code(0);
    let rows = list.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.skip(2).find(|row| row.get(1) == Some(&name));
    let row = row.unwrap_or_else(|| panic!("{name} is not listed: {}", list.stdout));
    (row[2].into(), row.get(7).copied().unwrap_or_default().into())
}

fn until(machine: &Machine, run: &mut Running, name: &str, state: &str) -> String {
    let limit = Instant::now() + PATIENCE;
    loop {
        let (found, fault) = unit(machine, run, name);
        if found == state {
            return fault;
        }
        assert!(Instant::now() < limit, "{name} is {found} ({fault}) and not {state}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn every_kind_of_hostile_unit_fails_by_its_own_fault_and_harms_no_other() {
    let machine = Machine::take("unit-hostile");
    let Some(program) = hostile(&machine) else { return };
    // Losing the plant for a moment on a busy machine must not retire the healthy units of this long run.
    let edits = [
        ("rate = \"200Hz\"", "rate = \"100Hz\""),
        ("answer_within = \"2ms\"", "answer_within = \"4ms\"\nstrikes = 0"),
    ];
    let scenario = scenario::edited(&scenario::of(&[SIMPLEX]), &edits);
    machine.write("scenario.toml", &scenario);
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "10min", "--output", "result"]);
    until(&machine, &mut run, "experimental", "active");
    run.unit(&machine, &["add", "baseline", "--gain", "baseline"]).with_code(0);
    for (kind, state, faults) in KINDS {
        let add = ["add", kind, "--priority", "74", "--", program.to_str().unwrap(), kind, "50"];
        run.unit(&machine, &add).with_code(0);
        let fault = until(&machine, &mut run, kind, state);
        assert!(faults.is_empty() || faults.contains(&&*fault), "{kind} ended as {fault}");
        for (name, state) in [("experimental", "active"), ("baseline", "shadow")] {
            let (found, fault) = unit(&machine, &mut run, name);
            assert_eq!(found, *state, "{name} with {kind}, {fault}");
        }
        run.unit(&machine, &["remove", kind]).with_code(0);
    }
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();
}

#[test]
fn a_unit_that_does_not_fit_is_refused_with_the_sum() {
    let machine = Machine::take("unit-budget");
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "60s", "--output", "result"]);
    until(&machine, &mut run, "experimental", "active");
    let add = |name, budget| ["add", name, "--gain", "baseline", "--budget", budget];
    run.unit(&machine, &add("fits", "1500us")).with_code(0);
    let refused = run.unit(&machine, &add("one-too-many", "1ms")).with_code(1);
    assert_eq!(
        refused.stderr,
        "error: one-too-many needs 1ms of processor time in a cycle, but of the 2ms until answers are due only 250us \
         are left: experimental 250us + fits 1500us; give it a budget that fits, with --budget, or remove a unit\n"
    );
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();
}
