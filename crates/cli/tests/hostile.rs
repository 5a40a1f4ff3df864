//! Hostile units beside healthy ones: each kind fails, or is harmless, and no other unit is failed for it.

#[path = "hostile/table.rs"]
mod table;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::sys::local::own_uid;
use hemiola_rt::sys::process::{Signal, may_change_user};

use crate::command::Running;
use crate::machine::{Machine, PATIENCE};
use crate::results::Results;
use crate::scenario::{self, SIMPLEX};
use crate::units::{row, until};

/// What becomes of a unit.
#[derive(Clone, Copy)]
enum Outcome {
    /// It fails, and the list shows one of these as its last fault.
    Fails(&'static [&'static str]),
    /// Nothing: it stays in shadow and goes on to answer.
    Nothing,
    /// Nothing, or it fails because its attack takes more time than its budget.
    NothingInTime,
}

use Outcome::{Fails, Nothing, NothingInTime};

/// Every kind, in groups, with what becomes of it. Those of a group to which nothing happens run together. `hostile.c`
/// has what it does.
const KINDS: &[&[(&str, Outcome)]] = &[
    // Time: each alone, because it takes the time of the others in its group.
    &[("spins", Fails(SPINS))],
    // It leaves the others 0.1 ms of the 4 ms for answers: it is above its budget, and at fault where that is too
    // little.
    &[("spins-3.9ms", NothingInTime)],
    &[("spins-3.99ms", Fails(OVER))],
    &[("yields", Fails(SPINS))],
    &[("calls", Fails(SPINS))],
    &[("raises-priority", Fails(SPINS))],
    &[("raises-limit", Fails(SPINS))],
    &[("reserves", Fails(SPINS))],
    &[("moves", Fails(&["over-budget", "missing", "exited"]))],
    &[("storms", Fails(&["over-budget", "stale", "late", "exited"]))],
    &[("wakes", Fails(SPINS))],
    &[
        ("sleeps", Fails(&["missing"])),
        ("naps", Fails(&["missing", "late"])),
        ("stops-itself", Fails(&["missing"])),
    ],
    // Voltages.
    &[
        ("nan", Fails(&["not-finite"])),
        ("minus-nan", Fails(&["not-finite"])),
        ("infinite", Fails(&["not-finite"])),
        ("minus-infinite", Fails(&["not-finite"])),
        ("above-range", Fails(&["out-of-range"])),
    ],
    &[
        ("below-range", Fails(&["out-of-range"])),
        ("greatest", Fails(&["out-of-range"])),
        ("least", Nothing),
    ],
    // Messages. One cycle behind is an answer that came after its limit.
    &[
        ("stale", Fails(&["late", "missing"])),
        ("ahead", Fails(&["ahead"])),
        ("last-sequence", Fails(&["ahead"])),
        ("wrong-unit", Fails(&["wrong-unit"])),
        ("no-unit", Fails(&["wrong-unit"])),
    ],
    &[
        ("wrong-magic", Fails(&["malformed"])),
        ("wrong-version", Fails(&["malformed"])),
        ("wrong-length", Fails(&["malformed"])),
        ("garbage", Fails(&["malformed"])),
        ("zeros", Fails(&["malformed"])),
    ],
    &[
        ("short-slot", Fails(&["malformed"])),
        ("empty-slot", Fails(&["malformed"])),
        ("long-slot", Fails(&["malformed"])),
        ("tears", Nothing),
    ],
    &[
        ("counts-on", Nothing),
        ("counts-back", Nothing),
        ("wipes", Fails(&["missing"])),
        ("breaks-header", Nothing),
        ("breaks-all", Fails(&["missing", "malformed"])),
    ],
    // The segments as files.
    &[("resizes", Nothing), ("punches", Nothing), ("closes", Nothing), ("writes-sensors", Nothing)],
    &[("requeues", Nothing), ("requeues-decision", Nothing)],
    // The unit's own processes.
    &[
        ("exits", Fails(&["exited"])),
        ("ends-well", Fails(&["exited"])),
        ("segfaults", Fails(&["exited"])),
        ("aborts", Fails(&["exited"])),
        ("divides", Fails(&["exited"])),
    ],
    &[
        ("executes", Fails(&["missing"])),
        ("forks", Nothing),
        ("leaves", Nothing),
        ("hands-on", Fails(&["exited"])),
        ("ignores", Nothing),
    ],
    &[("spins-in-thread", Nothing)],
    // Resources.
    &[("hogs", Nothing), ("outgrows", Fails(&["exited"])), ("floods", Nothing)],
];

/// Those that only a user id of its own prevents.
const ISOLATED: &[&[(&str, Outcome)]] = &[
    &[("reopens-sensors", Nothing), ("escalates", Nothing)],
    &[("bombs", NothingInTime)],
    &[("threads", Nothing)],
    &[("signals", Nothing), ("stops", Nothing), ("kills", Nothing), ("kills-all", Nothing)],
    &[("traces", Nothing), ("writes-memory", Nothing), ("steals", Nothing)],
    &[("demotes", Nothing), ("pins", Nothing), ("limits", Nothing), ("offers", Nothing)],
    &[("asks", Nothing)],
];

const OVER: &[&str] = &["over-budget"];
/// A unit that never blocks again. Beside ordinary load it waits for the processor while it is held back, so it gets
/// another try at real-time priority, in which the kernel's limit may end it (`RLIMIT_RTTIME`). Until the runner has
/// reported that, its answers are missing.
const SPINS: &[&str] = &["over-budget", "exited", "missing"];

/// Good answers of a unit before it becomes hostile, and answers after which one has had its effect.
const AFTER: u64 = 15;
const SETTLED: u64 = AFTER + 30;

fn hostile(machine: &Machine) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile.c");
    let options = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"].map(Path::new);
    machine.gcc("hostile", options.into_iter().chain([&*source, Path::new("-lm")]))
}

/// A unit as the list shows it.
#[derive(Debug)]
struct Row {
    state: String,
    answers: u64,
    fault: String,
}

fn unit(machine: &Machine, run: &mut Running, name: &str) -> Row {
    let list = run.unit(machine, &["list"]).with_code(0);
    let row = row(&list, name).unwrap_or_else(|| panic!("{name} is not listed: {}", list.stdout));
    let fault = row.get(7).cloned().unwrap_or_default();
    Row { state: row[2].clone(), answers: row[4].parse().unwrap(), fault }
}

/// Waits until the unit has become what it should.
fn becomes(machine: &Machine, run: &mut Running, name: &str, outcome: Outcome) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let row = unit(machine, run, name);
        match outcome {
            Fails(faults) if row.state == "failed" => {
                assert!(faults.contains(&&*row.fault), "{name} ended as {}", row.fault);
                return;
            }
            NothingInTime if row.state == "failed" && OVER.contains(&&*row.fault) => return,
            Nothing | NothingInTime if row.state == "shadow" && row.answers >= SETTLED => return,
            _ => {}
        }
        assert!(Instant::now() < limit, "{name} is {row:?}");
        sleep(Duration::from_millis(20));
    }
}

/// Adds a hostile unit. Returns whether it is listed then: on a busy machine it may have failed, and have been taken
/// out, before the command returns.
fn add(machine: &Machine, run: &mut Running, program: &Path, kind: &str, outcome: Outcome) -> bool {
    let (program, after) = (program.to_str().unwrap(), AFTER.to_string());
    let said = run.unit(machine, &["add", kind, "--priority", "74", "--", program, kind, &after]);
    if !said.status.success() {
        let Fails(faults) = outcome else { panic!("{kind}: {said:?}") };
        let is_named = |fault: &&str| match *fault {
            "exited" => said.stderr.contains("its process ended"),
            fault => said.stderr.contains(&format!("last fault: {fault}\n")),
        };
        assert!(faults.iter().any(is_named), "{kind}: {said:?}");
    }
    said.status.success()
}

/// A long run with two healthy units.
fn running(machine: &Machine) -> Running {
    // Losing the plant for a moment on a busy machine must not retire the healthy units of this long run.
    let edits = [
        ("rate = \"200Hz\"", "rate = \"100Hz\""),
        ("answer_within = \"2ms\"", "answer_within = \"4ms\"\nstrikes = 0\ngive_up_after = 25"),
    ];
    let scenario = scenario::edited(&scenario::of(&[SIMPLEX]), &edits);
    machine.write("scenario.toml", &scenario);
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "10min", "--output", "result"]);
    until(machine, &mut run, "experimental", "active");
    run.unit(machine, &["add", "baseline", "--gain", "baseline"]).with_code(0);
    run
}

/// Runs groups of hostile units beside two healthy ones, which nothing happens to, to an orderly end of the run.
fn beside_healthy_units(machine: &Machine, program: &Path, groups: &[&[(&str, Outcome)]]) {
    let mut run = running(machine);
    for group in groups {
        let mut together = Vec::new();
        for &(kind, outcome) in *group {
            let is_listed = add(machine, &mut run, program, kind, outcome);
            match outcome {
                // One after the other: a new unit takes the place of a failed one in the list.
                Fails(_) if is_listed => {
                    becomes(machine, &mut run, kind, outcome);
                    run.unit(machine, &["remove", kind]).with_code(0);
                }
                Fails(_) => {}
                Nothing | NothingInTime => together.push((kind, outcome)),
            }
        }
        for &(kind, outcome) in &together {
            becomes(machine, &mut run, kind, outcome);
        }
        for (name, state) in [("experimental", "active"), ("baseline", "shadow")] {
            let row = unit(machine, &mut run, name);
            assert_eq!(row.state, state, "{name} beside {}: {row:?}", group[0].0);
        }
        for (kind, _) in &together {
            run.unit(machine, &["remove", kind]).with_code(0);
        }
    }
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();
}

#[test]
fn every_kind_of_hostile_unit_fails_by_its_own_fault_and_harms_no_other() {
    let machine = Machine::take("unit-hostile");
    let Some(program) = hostile(&machine) else { return };
    beside_healthy_units(&machine, &program, KINDS);
}

#[test]
fn a_unit_with_a_user_id_of_its_own_can_act_on_no_other_process() {
    if !isolates() {
        return;
    }
    let machine = Machine::take("unit-isolated");
    let Some(program) = hostile(&machine) else { return };
    beside_healthy_units(&machine, &program, ISOLATED);
}

/// Whether units get user ids of their own here.
fn isolates() -> bool {
    let permitted = may_change_user();
    if !permitted {
        println!("skipped: needs CAP_SETUID, CAP_SETGID and CAP_KILL");
    }
    permitted
}

/// The words of a line of /proc/PID/status.
fn status(pid: &str, key: &str) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_program_has_a_user_id_of_its_own_unless_it_is_told_otherwise() {
    if !isolates() {
        return;
    }
    let machine = Machine::take("unit-user");
    let Some(program) = hostile(&machine) else { return };
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "60s", "--output", "result"]);
    until(&machine, &mut run, "experimental", "active");
    let program = program.to_str().unwrap();
    let mut users = Vec::new();
    for (name, user) in [("one", "own"), ("two", "own"), ("three", "run")] {
        let add = ["add", name, "--user", user, "--", program, "least", "0"];
        run.unit(&machine, &add).with_code(0);
        let pid = row(&run.unit(&machine, &["list"]), name).unwrap()[3].clone();
        let user = status(&pid, "Uid:");
        assert_eq!(user, vec![user[0].clone(); 4]);
        assert_eq!(status(&pid, "NoNewPrivs:"), ["1"]);
        users.push((user[0].parse::<u32>().unwrap(), pid));
    }
    assert_eq!(users[2].0, own_uid(), "the user of the run");
    assert!(users[0].0 >= 0x7000_0000 && users[0].0 + 1 == users[1].0, "{users:?}");
    let pid = &users[0].1;
    assert_eq!(status(pid, "Groups:"), [""; 0]);
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(status(pid, set), ["0000000000000000"], "{set}");
    }
    run.signal(Signal::INT);
    run.end().with_code(130);
    let results = Results::open(machine.folder().join("result"));
    let units = &results.run().variants[0].runs[0].units;
    let recorded: Vec<_> = units.iter().map(|unit| (unit.name.as_str(), unit.user)).collect();
    let expected = [("experimental", None), ("one", Some(users[0].0)), ("two", Some(users[1].0))];
    assert_eq!(recorded[..3], expected);
    assert_eq!(recorded[3], ("three", None));
    machine.nothing_is_left();
}

#[test]
fn a_program_that_its_own_user_cannot_reach_is_refused_with_the_remedy() {
    if !isolates() {
        return;
    }
    let machine = Machine::take("unit-unreachable");
    let Some(program) = hostile(&machine) else { return };
    let closed = machine.folder().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(&program, closed.join("hostile")).unwrap();
    let unit =
        "[[variant.units]]\nname = \"mine\"\ncommand = [\"closed/hostile\", \"least\", \"0\"]\n";
    machine.write("scenario.toml", &(scenario::of(&[SIMPLEX]) + unit));
    let run = || machine.hemiola(&["run", "scenario.toml", "--output", "result"]);
    let ended = run().with_code(1);
    let remedy = "cannot be executed: Permission denied (os error 13); it has a user id of its own, which files and \
                  folders that are not open to all users refuse: open them, or write user = \"run\"";
    assert!(ended.stderr.contains(remedy), "{}", ended.stderr);
    machine.write("scenario.toml", &(scenario::of(&[SIMPLEX]) + unit + "user = \"run\"\n"));
    run().with_code(0);
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
