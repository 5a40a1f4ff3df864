//! Units as WebAssembly in real runs: one that balances, and those that loop, trap, recurse, grow and lie.

use std::thread::sleep;
use std::time::Duration;

use hemiola_rt::sys::process::Signal;
use hemiola_trace::event::source;

use crate::command::Running;
use crate::machine::Machine;
use crate::results::{Results, actuations, assert_stands};
use crate::scenario::{self, SIMPLEX};
use crate::units::{commanded_by, promote, row, simplex, until};

/// The unit of the ladder, which balances.
const GOOD: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/1-pendulum-ladder/state-feedback.wat"
));

/// The good unit until it has answered so many samples; then this happens in each call.
fn good_until(answers: u32, then: &str) -> String {
    let count = format!(
        "(global.set $n (i32.add (global.get $n) (i32.const 1)))
         (if (i32.gt_u (global.get $n) (i32.const {answers})) (then {then}))"
    );
    let with = "(module (memory 1) (global $n (mut i32) (i32.const 0)) (func $deep (call $deep))";
    let edits = [
        ("(module", with),
        (
            "(global.set $started (i32.const 1))",
            &format!("(global.set $started (i32.const 1)) {count}"),
        ),
    ];
    scenario::edited(GOOD, &edits)
}

/// What a unit does, and the fault that names it.
const HOSTILE: [(&str, &str, &str); 8] = [
    ("loops", "(loop $l (br $l))", "out-of-fuel"),
    ("recurses", "(call $deep)", "trapped"),
    ("grows", "(drop (memory.grow (i32.const 1)))", "trapped"),
    ("panics", "unreachable", "trapped"),
    ("strays", "(drop (f64.load (i32.const 65536)))", "trapped"),
    ("divides", "(drop (i32.div_u (i32.const 1) (i32.const 0)))", "trapped"),
    ("nan", "(return (f64.const nan))", "not-finite"),
    ("wild", "(return (f64.const 1e9))", "out-of-range"),
];

/// Waits until the unit has failed, and removes it.
fn fails(machine: &Machine, run: &mut Running, name: &str) {
    until(machine, run, name, "failed");
    run.unit(machine, &["remove", name]).with_code(0);
}

#[test]
fn a_sandboxed_unit_balances_the_pendulum_without_a_process() {
    let machine = Machine::take("sandboxed");
    machine.write("unit.wat", GOOD);
    let unit = "[[variant.units]]\nname = \"experimental\"\nwasm = \"unit.wat\"\n";
    let scenario = scenario::of(&[SIMPLEX]);
    let (before, _) = scenario.split_once("[[variant.units]]").unwrap();
    machine.write("scenario.toml", &format!("{before}{unit}"));
    let arguments =
        ["run", "scenario.toml", "--rate", "200Hz", "--duration", "1s", "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = results.run();
    let [variant] = &run.variants[..] else { panic!("one variant") };
    let trace = results.trace(variant);
    let voltages = actuations(&trace);
    let its = voltages.iter().filter(|entry| entry.arg == source::unit(0)).count();
    assert!(its * 10 > voltages.len() * 9, "{its} of {}", voltages.len());
    assert!(variant.runs[0].processes.iter().all(|process| process.name != "experimental"));
    assert!(variant.features.iter().any(|feature| feature == "sandboxed units"));
    assert_stands(variant);
    machine.nothing_is_left();
}

#[test]
fn a_hostile_module_in_shadow_fails_alone_and_by_its_name() {
    let machine = Machine::take("sandboxed-shadow");
    let mut run = simplex(&machine, "200Hz", "60s");
    let mut watcher = {
        let name = run.run_name();
        machine.start(&["unit", "--run", &name, "watch"])
    };
    sleep(Duration::from_millis(300));
    for (name, then, _) in HOSTILE {
        let file = machine.write(&format!("{name}.wat"), &good_until(40, then));
        let said = run.unit(&machine, &["add", name, "--wasm", file.to_str().unwrap()]);
        // It may fail before the command has returned.
        assert!(said.status.success() || said.stderr.contains(name), "{said:?}");
        fails(&machine, &mut run, name);
        let list = run.unit(&machine, &["list"]).with_code(0);
        let innocent = row(&list, "experimental").unwrap();
        assert_eq!((innocent[2].as_str(), innocent[6].as_str()), ("active", "0"), "{name}");
    }
    commanded_by(&machine, &mut run, "experimental");
    run.signal(Signal::INT);
    run.end().with_code(130);
    let _ = watcher.has_ended();
    let seen = watcher.end().stdout;
    for (name, _, fault) in HOSTILE {
        assert!(seen.contains(&format!("fault    {name}: {fault}\n")), "{name}: {fault}\n{seen}");
    }
    assert!(!seen.contains("fault    experimental: trapped"));
    machine.nothing_is_left();
}

#[test]
fn a_hostile_module_in_control_gives_the_plant_back_in_the_same_cycle() {
    let machine = Machine::take("sandboxed-active");
    let mut run = simplex(&machine, "200Hz", "60s");
    for (name, then, _) in [HOSTILE[0], HOSTILE[3]] {
        let file = machine.write(&format!("{name}.wat"), &good_until(800, then));
        run.unit(&machine, &["add", name, "--wasm", file.to_str().unwrap()]).with_code(0);
        promote(&machine, &mut run, name);
        commanded_by(&machine, &mut run, name);
        fails(&machine, &mut run, name);
        until(&machine, &mut run, "experimental", "active");
        commanded_by(&machine, &mut run, "experimental");
    }
    run.signal(Signal::INT);
    let ended = run.end().with_code(130);
    let results = Results::open(machine.folder().join(ended.folder()));
    let variant = &results.run().variants[0];
    actuations(&results.trace(variant));
    assert_stands(variant);
    machine.nothing_is_left();
}

#[test]
fn sandboxed_units_come_and_go_without_a_trace_in_memory() {
    let machine = Machine::take("sandboxed-many");
    let file = machine.write("unit.wat", GOOD);
    let mut run = simplex(&machine, "200Hz", "60s");
    for turn in 0..20 {
        let (old, new) = (turn.to_string(), (turn + 1).to_string());
        let old = if turn == 0 { "experimental" } else { &old };
        let said = run.unit(&machine, &["replace", old, &new, "--wasm", file.to_str().unwrap()]);
        assert_eq!(said.with_code(0).stdout, format!("{new} has replaced {old}\n"));
    }
    commanded_by(&machine, &mut run, "20");
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();
}

#[test]
fn a_module_that_cannot_be_a_unit_is_refused_before_anything_starts() {
    let machine = Machine::take("sandboxed-bad");
    let step = "(param f64 f64 f64) (result f64)";
    let cases = [
        ("(module (func", "unit.wat:1:14: expected `)`"),
        ("(module (func (result f64)))", "it is not a valid WebAssembly module"),
        ("(module (import \"env\" \"now\" (func)))", "it imports \"now\" of \"env\""),
        (
            "(module)",
            "it exports no function \"step\"; it must export \"step\" of type (f64, f64, f64) -> f64",
        ),
        (
            "(module (func (export \"step\") (param f64)))",
            "its export \"step\" is (f64) -> (); it must be a function of type (f64, f64, f64) -> f64",
        ),
        (
            &format!("(module (memory 100) (func (export \"step\") {step} (f64.const 0)))"),
            "it starts with 6553600 bytes of memory; at most 4194304 are allowed",
        ),
        (
            &format!(
                "(module (func (export \"step\") {step} (f64.const 0)) (func (export \"begin\") (param f64) (loop (br 0))))"
            ),
            "its function \"begin\" failed while it was prepared: it computed for longer than its fuel lasts",
        ),
        (
            &format!(
                "(module (memory 1) (func (export \"step\") {step} (drop (memory.grow (i32.const 1))) (f64.const 0)))"
            ),
            "its function \"step\" failed while it was prepared: it asked for more memory or table entries than it may \
             have",
        ),
        (
            &format!(
                "(module (func $step (export \"step\") {step} (call $step (local.get 0) (local.get 1) (local.get 2))))"
            ),
            "its function \"step\" failed while it was prepared: its calls were nested deeper than its stack",
        ),
    ];
    let scenario = scenario::of(&[SIMPLEX]);
    let (before, _) = scenario.split_once("[[variant.units]]").unwrap();
    let unit = "[[variant.units]]\nname = \"new\"\nwasm = \"unit.wat\"\n";
    machine.write("scenario.toml", &format!("{before}{unit}"));
    for (text, reason) in cases {
        let file = machine.write("unit.wat", text);
        let said = machine.hemiola(&["unit", "add", "new", "--wasm", file.to_str().unwrap()]);
        let said = said.with_code(2).stderr;
        assert!(said.contains(reason), "{text}\n{said}");
        let said =
            machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(2).stderr;
        assert!(
            said.contains(&format!("\"unit.wat\" cannot be a unit: {reason}")),
            "{text}\n{said}"
        );
        assert!(said.contains("wasm = \"unit.wat\"\n"), "the line with a caret below: {said}");
    }
    machine.nothing_is_left();
}
