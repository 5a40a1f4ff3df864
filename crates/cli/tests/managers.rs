//! Managers as processes, in C, Python and Rust: slow, killed and hostile ones hurt nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::{Ended, Running};
use crate::living::{Living, record};
use crate::machine::{Machine, PATIENCE};

/// Fish that are born and die in each step. All of them get older by one in a step.
const POND: &str = "universe pond {
  constant OLD : integer = 60;
  element fish {
    property place : real<m>;
    property age : integer;
    property name : string<8> = \"fish\";
    update(dt : real<s>) { age += 1; place += 1<m/s> * dt; }
    constraint moved(far : real<m>) = place >= 0<m> and place - last_sent.place > far;
    constraint grown() = age >= last_sent.age + 20;
    constraint old(than : integer) = age > than;
  }
  element carp : fish { name = \"carp\"; }
}";

fn pond(machine: &Machine) -> Living<'_> {
    start(machine, "")
}

/// The pond at 60 Hz, with more processes.
fn start<'m>(machine: &'m Machine, processes: &str) -> Living<'m> {
    machine.write("pond.uml", POND);
    machine.write(
        "scenario.toml",
        &format!(
            "title = \"A pond\"\nrate = \"60Hz\"\nduration = \"120s\"\nallow_less = true\n
             [[variant]]\nname = \"pond\"\n[variant.processes.world]\ntask = \"universe\"\n
             definition = [\"pond.uml\"]\npopulate = [\"fish:300:age=0..60\", \"carp:30:age=0..60\"]\n
             monitor = [\"fish:age\"]\nbirth = [\"fish:grown():age=0\"]\ndeath = [\"fish:old(OLD)\"]\n
             entities_max = 500\noverrun = \"catch-up\"\n{processes}"
        ),
    );
    Living::start(machine, &["run", "scenario.toml", "--output", "result"])
}

fn tests() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

fn parts(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../manager").join(folder)
}

/// The manager in C, or nothing without a compiler.
fn in_c(machine: &Machine) -> Option<PathBuf> {
    let options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"].map(PathBuf::from);
    let files = [parts("include"), tests().join("manager.c")];
    machine.gcc("manager", options.into_iter().chain(files))
}

/// Starts the manager in C for the universe.
fn run_c(living: &Living<'_>, program: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new(program);
    command.args(arguments).env("HEMIOLA_RUN", &living.name);
    Running::start(command)
}

fn run_python(living: &Living<'_>, arguments: &[&str]) -> Option<Running> {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: needs python3");
        return None;
    }
    let mut command = Command::new("python3");
    command.arg("-B").arg(tests().join("manager.py")).args(arguments);
    command.env("HEMIOLA_RUN", &living.name).env("PYTHONPATH", parts("python"));
    Some(Running::start(command))
}

/// The monitors of managers in a status.
fn managers(living: &Living<'_>) -> Vec<Value> {
    let status = living.status();
    let monitors = status["monitors"].as_array().unwrap().iter();
    let is_manager = |of: &&Value| of["monitor"].as_str().unwrap().starts_with("manager ");
    monitors.filter(is_manager).cloned().collect()
}

/// Waits until the managers of the universe are as wanted.
#[track_caller]
fn wait_until(living: &Living<'_>, what: &str, is_so: impl Fn(&[Value]) -> bool) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let now = managers(living);
        if is_so(&now) {
            return;
        }
        assert!(Instant::now() < limit, "not within patience: {what}; {now:?}");
        sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn complete(ended: &Ended) {
    assert!(ended.stdout.contains("complete: "), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn managers_in_c_python_and_rust_have_the_picture_of_the_universe() {
    let machine = Machine::take("managers");
    let living = pond(&machine);
    let python = run_python(&living, &["fish:age,name", "40"]);
    let filtered = run_python(&living, &["carp:age,place:moved(100<m>)", "20"]);
    if let Some(program) = in_c(&machine) {
        complete(&run_c(&living, &program, &["fish:age,place", "read", "40"]).end().with_code(0));
    }
    for python in [python, filtered].into_iter().flatten() {
        complete(&python.end().with_code(0));
    }
    let watch = ["watch", "fish:age", "--json", "--steps", "40"];
    let rust = living.ask(&watch).with_code(0).stdout;
    let (mut known, mut dead) = (BTreeMap::new(), BTreeSet::new());
    let mut last = Value::Null;
    for line in rust.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let number = |of: &Value, key: &str| of[key].as_i64().unwrap();
        match line["event"].as_str().unwrap() {
            "step" => last = line,
            "died" => {
                let entity = number(&line, "entity");
                assert!(known.contains_key(&entity) && dead.insert(entity), "{line}");
            }
            event => {
                let (entity, step) = (number(&line, "entity"), number(&line, "step"));
                let age = number(&line["values"], "age");
                let before = known.insert(entity, (age, step));
                assert_eq!(before.is_some(), event == "row", "{line}");
                if let Some((former, at)) = before {
                    assert_eq!(age - former, step - at, "{line}");
                }
            }
        }
    }
    assert!(known.len() >= 100, "{} entities", known.len());
    assert!(last["step"].as_u64().unwrap() >= 40, "{last}");
    wait_until(&living, "managers that ended are gone", <[Value]>::is_empty);
    living.end();
    let world = record(&machine);
    let named: Vec<&str> = world.monitors.iter().map(|monitor| &*monitor.monitor).collect();
    assert!(named.contains(&"manager watch: fish:age"), "{named:?}");
    let watched = world.monitors.iter().find(|of| of.monitor.starts_with("manager watch"));
    assert!(watched.is_some_and(|of| of.sent > 100 && of.row_len == 4), "{watched:?}");
    let page = fs::read_to_string(machine.folder().join("result/report.html")).unwrap();
    assert!(page.contains("manager watch: fish:age"));
}

#[test]
fn managers_that_are_deaf_hostile_or_killed_hurt_nobody() {
    let machine = Machine::take("managers-hostile");
    let Some(program) = in_c(&machine) else { return };
    let living = pond(&machine);
    // One that never reads; one that writes all over its queue; one that is killed as soon as it has registered.
    let deaf = run_c(&living, &program, &["fish", "deaf"]);
    let scribbler = run_c(&living, &program, &["fish", "scribble"]);
    let silent = run_c(&living, &program, &["fish", "silent"]);
    let reader = run_c(&living, &program, &["fish:age", "read", "200"]);
    let scribbled = scribbler.end().with_code(0);
    assert!(scribbled.stdout.contains("the queue is damaged"), "{}", scribbled.stdout);
    assert_eq!(silent.end().signal(), Some(9));
    // Processes that are killed at other moments.
    for rest in [0, 1, 3, 10, 30, 100] {
        let mut killed = run_c(&living, &program, &["fish:age", "read", "100000"]);
        sleep(Duration::from_millis(rest));
        killed.kill();
    }
    complete(&reader.end().with_code(0));
    wait_until(&living, "only the deaf one is left, and rows are held back for it", |now| {
        now.len() == 1 && now[0]["held"].as_u64().unwrap() > 0
    });
    living.go_on();
    assert_eq!(living.status()["pace"]["skipped"], 0, "each release has its step");
    let mut deaf = deaf;
    deaf.kill();
    wait_until(&living, "no manager is left", <[Value]>::is_empty);
    living.end();
    let world = record(&machine);
    let others = world.monitors.iter().find(|of| of.monitor == "fish:age").unwrap();
    assert_eq!(others.held, 0, "the monitor of the scenario is sent all: {others:?}");
}

#[test]
fn a_manager_is_told_why_its_view_ended() {
    let machine = Machine::take("managers-view");
    let Some(program) = in_c(&machine) else { return };
    let living = pond(&machine);
    let ends = run_c(&living, &program, &["fish:age:grown()", "read", "100000"]);
    let goes_on = run_c(&living, &program, &["fish:age", "read", "150"]);
    wait_until(&living, "both are there", |now| now.len() == 2);
    let without = POND.replace("constraint grown()", "constraint bigger()");
    machine.write(
        "new.uml",
        &without.replace("property place", "property more : real; property place"),
    );
    let done = living.ask(&["apply", "new.uml"]).with_code(0);
    // The rule of the births ends, too.
    assert!(done.stdout.contains("2 monitors end"), "{}", done.stdout);
    let ended = ends.end().with_code(0);
    assert!(
        ended.stdout.contains("ended: the universe was redefined after step"),
        "{}",
        ended.stdout
    );
    complete(&goes_on.end().with_code(0));
    // A return brings the monitor back, but not its manager.
    living.ask(&["roll-back"]).with_code(0);
    living.go_on();
    assert_eq!(managers(&living).len(), 0);
    let new = run_c(&living, &program, &["fish:age:grown()", "read", "10"]);
    complete(&new.end().with_code(0));
    living.end();
}

#[test]
fn managers_that_are_not_possible_are_refused_with_the_reason() {
    let machine = Machine::take("managers-refused");
    let living = pond(&machine);
    let refused = |monitor: &str, more: &[&str], expected: &str| {
        let ended = living.ask(&[&["watch", monitor][..], more].concat()).with_code(1);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    };
    refused("bird", &[], "no element is named `bird`; the form is");
    refused("fish:size", &[], "`fish` has no property `size`");
    refused("fish:age:moved()", &[], "`fish.moved` has 1 arguments, not 0");
    refused("fish:age:moved(1<s>)", &[], "the value `1<s>`: ");
    refused("fish:age:old(OLD + NOTHING)", &[], "the value `OLD + NOTHING`: ");
    refused("fish", &["--queue", "100000000"], "a queue has 1 to 16777216 bytes");
    let watch = ["watch", "fish:age:old(OLD - 40)", "--steps", "3", "--json"];
    living.ask(&watch).with_code(0);
    living.kill();
}

#[test]
fn a_manager_hears_that_its_universe_is_gone() {
    let machine = Machine::take("managers-alone");
    let Some(program) = in_c(&machine) else { return };
    let living = pond(&machine);
    let manager = run_c(&living, &program, &["fish:age", "read", "100000"]);
    let python = run_python(&living, &["fish:age", "100000"]);
    wait_until(&living, "they are there", |now| now.len() == 1 + usize::from(python.is_some()));
    living.kill();
    let ended = manager.end().with_code(0);
    assert!(ended.stdout.contains("ended: the universe has ended"), "{}", ended.stdout);
    if let Some(python) = python {
        let ended = python.end().with_code(0);
        assert!(ended.stdout.contains("ended: the universe has ended"), "{}", ended.stdout);
    }
}

#[test]
fn a_scenario_starts_managers() {
    let machine = Machine::take("managers-scenario");
    let Some(program) = in_c(&machine) else { return };
    let process = format!(
        "[variant.processes.counter]\ntask = \"command\"\ncommand = [{:?}, \"fish:age\", \"deaf\"]\n",
        program.display().to_string()
    );
    let living = start(&machine, &process);
    wait_until(&living, "the manager of the scenario is there", |now| now.len() == 1);
    living.end();
}

#[test]
fn the_example_has_a_manager_that_knows_the_harbour() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: needs python3");
        return;
    }
    let machine = Machine::take("managers-example");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/17-managers");
    let living = Living::start(&machine, &["run", example.to_str().unwrap(), "--output", "result"]);
    wait_until(&living, "the harbour is told of ships", |now| {
        now.len() == 1 && now[0]["sent"].as_u64().unwrap() > 100
    });
    let watch = ["watch", "ship:place:near([0,0], [200<m>,200<m>], 10<m>)", "--steps", "5"];
    let told = living.ask(&watch).with_code(0).stdout;
    assert!(told.contains("ship ") && told.contains(" is born: place[0] = "), "{told}");
    let log = machine.folder().join("result/logs/harbour.log");
    let limit = Instant::now() + PATIENCE;
    while !fs::read_to_string(&log).is_ok_and(|text| text.contains("in the harbour")) {
        assert!(Instant::now() < limit, "{log:?} has no count");
        sleep(Duration::from_millis(50));
    }
    living.end();
}
