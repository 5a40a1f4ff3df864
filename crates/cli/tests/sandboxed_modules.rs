//! Modules of users in worlds, with the real sandbox: those that compute, and those that loop, trap, grow and lie.

use std::fs;

use serde_json::Value;

use crate::machine::Machine;
use crate::results::Results;

const WORLD: &str = "universe u {
  element e {
    property x : real;
    property flag : boolean;
    property items : integer[..3];
    update(dt : real<s>) { x += dt / 1<s>; }
  }
  element other { property y : real; update() { y += 1; } }
  entity first : e;
  entity second : other;
}";

/// The first bytes of `flag` and of the counts of `items`, behind 1024 values of `x`.
const FLAG: usize = 8192;
const COUNT: usize = 9216;

/// A module whose block is at address 0; `before` is code of its update before `x += dt` in every row.
struct Text {
    memory: &'static str,
    interface: String,
    block: &'static str,
    update: &'static str,
    before: String,
    more: &'static str,
}

impl Text {
    fn new(machine: &Machine) -> Self {
        let header = machine.hemiola(&["universe", "interface", "u.uml", "--element", "e"]);
        let header = header.with_code(0).stdout;
        let (_, code) = header.split_once("#define HEMIOLA_INTERFACE ").unwrap();
        let code = code.lines().next().unwrap().trim_end_matches('u').to_owned();
        Self {
            memory: "(memory (export \"memory\") 1)",
            interface: code,
            block: "(i32.const 0)",
            update: "(param $rows i32) (param $dt f64)",
            before: String::new(),
            more: "",
        }
    }

    fn text(&self) -> String {
        let Self { memory, interface, block, update, before, more } = self;
        format!(
            "(module {more} {memory} (global $calls (mut i32) (i32.const 0))
               (func $deep (call $deep))
               (func (export \"hemiola_interface\") (result i32) (i32.const {interface}))
               (func (export \"hemiola_block\") (result i32) {block})
               (func (export \"hemiola_update\") {update}
                 (local $row i32)
                 (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
                 {before}
                 (block $end (loop $next
                   (br_if $end (i32.ge_u (local.get $row) (local.get $rows)))
                   (f64.store (i32.mul (i32.const 8) (local.get $row))
                     (f64.add (f64.load (i32.mul (i32.const 8) (local.get $row))) (local.get $dt)))
                   (local.set $row (i32.add (local.get $row) (i32.const 1)))
                   (br $next)))))"
        )
    }
}

fn machine(test: &str) -> Machine {
    let machine = Machine::take(test);
    machine.write("u.uml", WORLD);
    machine
}

const RUN: [&str; 8] =
    ["universe", "run", "u.uml", "--json", "--dt", "0.5", "--populate", "e:2999:x=0..1"];

/// The report of ten steps with a module.
fn report(machine: &Machine, stated: &str, more: &[&str]) -> (Value, String) {
    let steps = ["--steps", "10", "--module", stated];
    let ended = machine.hemiola(&[&RUN[..], &steps, more].concat()).with_code(0);
    (serde_json::from_str(&ended.stdout).unwrap(), ended.stderr)
}

/// The text of a property of a named entity at the end.
fn property<'r>(report: &'r Value, name: &str, property: &str) -> &'r str {
    let named = report["named"].as_array().unwrap();
    let entity = named.iter().find(|entity| entity["name"] == name).unwrap();
    entity["properties"][property].as_str().unwrap()
}

#[test]
fn a_module_computes_what_the_language_computes_bit_by_bit() {
    let machine = machine("module");
    machine.write("good.wat", &Text::new(&machine).text());
    let with = |checkpoint, more: &[&str]| {
        let steps = ["--steps", "10", "--checkpoint", checkpoint];
        machine.hemiola(&[&RUN[..], &steps, more].concat()).with_code(0);
        let bytes = fs::read(machine.folder().join(checkpoint)).unwrap();
        // Behind the header, up to the modules: what both runs have.
        bytes[28..].to_vec()
    };
    let language = with("language", &[]);
    let module = with("module", &["--module", "e=good.wat"]);
    let rest = language.len() - 8;
    assert!(module[..rest] == language[..rest], "the same bits");
    let workers = with("workers", &["--module", "e=good.wat", "--workers", "2"]);
    assert!(workers == module, "the same bits");
    let (report, told) = report(&machine, "e=good.wat", &[]);
    let [run] = &report["modules"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&run["blocks"], &run["strikes"], &run["kept"]), (&30.into(), &0.into(), &0.into()));
    assert!(run["fuel"].as_u64().unwrap() > 10 * 3000, "{run}");
    assert_eq!((&*told, property(&report, "second", "y")), ("", "10.0"));
}

#[test]
fn the_example_that_is_printed_is_a_module_that_changes_nothing() {
    let machine = machine("example");
    let form = ["universe", "interface", "u.uml", "--element", "e", "--form", "wat"];
    machine.write("example.wat", &machine.hemiola(&form).with_code(0).stdout);
    let (report, _) = report(&machine, "e=example.wat", &[]);
    assert_eq!(report["modules"][0]["blocks"], 30);
    assert_eq!(property(&report, "first", "x"), "0.0");
}

/// What the code of an update does, and a part of the verdict.
fn hostile() -> Vec<(&'static str, String, &'static str)> {
    let store = |address: usize, value: u32| {
        format!("(i32.store8 (i32.const {address}) (i32.const {value}))")
    };
    vec![
        ("loops", "(loop $l (br $l))".into(), "longer than the budget of a block"),
        ("recurses", "(call $deep)".into(), "nested deeper than its stack"),
        ("traps", "unreachable".into(), "executed unreachable"),
        ("grows", "(drop (memory.grow (i32.const 1)))".into(), "more memory or table entries"),
        ("strays", "(f64.store (i32.const 65536) (f64.const 1))".into(), "outside its bounds"),
        ("divides", "(drop (i32.div_u (i32.const 1) (i32.const 0)))".into(), "divided by zero"),
        ("truth", store(FLAG + 5, 2), "`flag` in row 5 of a block became a byte"),
        (
            "count",
            store(COUNT + 4 * 7, 4),
            "`items.count` in row 7 of a block became an impossible",
        ),
        (
            "sign",
            store(COUNT + 4 * 7 + 3, 0x80),
            "`items.count` in row 7 of a block became an impossible",
        ),
    ]
}

#[test]
fn a_module_that_fails_costs_its_blocks_and_is_evicted_after_its_strikes() {
    let machine = machine("hostile-module");
    for (name, before, verdict) in hostile() {
        let text = Text { before, ..Text::new(&machine) };
        machine.write("bad.wat", &text.text());
        let (report, told) = report(&machine, "e=bad.wat:budget=1ms:strikes=3", &[]);
        let run = &report["modules"][0];
        let last = run["last"].as_str().unwrap();
        assert!(last.contains(verdict), "{name}: {last}");
        // Two strikes in the first step, the third in the second one; no block is ever taken over.
        let counts = ["strikes", "evicted", "blocks", "kept"].map(|key| run[key].as_u64().unwrap());
        assert_eq!(counts, [3, 2, 0, 6], "{name}");
        assert_eq!((&report["steps"], &report["faults"]), (&10.into(), &0.into()), "{name}");
        assert_eq!(
            (property(&report, "first", "x"), property(&report, "second", "y")),
            ("0.0", "10.0")
        );
        assert_eq!(report["entities"], 3001, "{name}");
        assert!(told.contains("strike 3: it is evicted"), "{name}: {told}");
    }
}

#[test]
fn eviction_keeps_the_rows_ends_the_entities_or_does_not_happen() {
    let machine = machine("evicted-module");
    // It fails in every second call of an instance.
    let before = "(if (i32.eq (global.get $calls) (i32.const 2)) (then unreachable))".to_owned();
    machine.write("bad.wat", &Text { before, ..Text::new(&machine) }.text());
    let run = |then: &str| report(&machine, &format!("e=bad.wat:strikes=4:then={then}"), &[]).0;
    let end = run("end");
    assert_eq!(
        (&end["entities"], &end["deaths"], &end["steps"]),
        (&1.into(), &3000.into(), &10.into())
    );
    let freeze = run("freeze");
    assert_eq!((&freeze["entities"], &freeze["modules"][0]["strikes"]), (&3001.into(), &4.into()));
    let keep = run("keep");
    let counts = ["blocks", "kept", "strikes"].map(|key| keep["modules"][0][key].as_u64().unwrap());
    assert_eq!((counts[0] + counts[1], &keep["modules"][0]["evicted"]), (30, &Value::Null));
    assert!(counts[2] > 4 && counts[0] > 8, "{counts:?}");
}

#[test]
fn what_is_not_a_number_is_stored_as_the_language_stores_it() {
    let machine = machine("nan-module");
    let before = "(i64.store (i32.const 0) (i64.const 0xfff8000000000123)) (return)";
    machine.write("nan.wat", &Text { before: before.into(), ..Text::new(&machine) }.text());
    let steps = ["--steps", "1", "--checkpoint", "nan", "--module", "e=nan.wat"];
    machine.hemiola(&[&RUN[..], &steps].concat()).with_code(0);
    let bytes = fs::read(machine.folder().join("nan")).unwrap();
    let count =
        |bits: u64| bytes.windows(8).filter(|window| **window == bits.to_le_bytes()).count();
    assert_eq!((count(0x7ff8_0000_0000_0000), count(0xfff8_0000_0000_0123)), (3, 0));
}

#[test]
fn a_module_that_cannot_work_is_refused_before_the_first_step() {
    let machine = machine("refused-module");
    let good = || Text::new(&machine);
    let refused = |text: &[u8], expected: &str| {
        fs::write(machine.folder().join("bad.wat"), text).unwrap();
        let ended = machine.hemiola(&[&RUN[..], &["--module", "e=bad.wat"]].concat()).with_code(2);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    };
    let text = |text: Text, expected| refused(text.text().as_bytes(), expected);
    refused(b"", "bad.wat");
    refused(b"\0asm\x01\0\0\0\xff", "it is not a valid WebAssembly module");
    refused(b"(module", "bad.wat:1:8");
    refused(&vec![b' '; (4 << 20) + 1], "the module has 4194305 bytes");
    refused(b"(module)", "it exports no function \"hemiola_interface\"");
    text(
        Text { more: "(import \"env\" \"time\" (func))", ..good() },
        "it imports \"time\" of \"env\"",
    );
    text(
        Text { interface: "1".into(), ..good() },
        "it was written for interface 0x00000001, and `e` has",
    );
    let update = "(param $rows i32) (param $other f32) (local $dt f64)";
    text(Text { update, ..good() }, "its export \"hemiola_update\" is (i32, f32) -> ()");
    text(Text { memory: "(memory 1)", ..good() }, "outside of its exported memory of 0 bytes");
    text(
        Text { memory: "(memory (export \"memory\") 2000)", ..good() },
        "at most 33554432 are allowed",
    );
    text(Text { block: "(i32.const 60000)", ..good() }, "at address 60000 lies outside");
    text(Text { block: "(i32.const -8)", ..good() }, "at address 4294967288 lies outside");
    text(
        Text { block: "unreachable", ..good() },
        "its function \"hemiola_block\" failed: it executed",
    );
    text(Text { block: "(loop $l (br $l)) unreachable", ..good() }, "for longer than its fuel");
    let more = "(start $s) (func $s (loop $l (br $l)))";
    text(Text { more, ..good() }, "its function \"start\" failed while it was prepared");
    machine.write("good.wat", &good().text());
    let stated = |stated: &[&str], expected: &str| {
        let modules = stated.iter().flat_map(|text| ["--module", text]);
        let arguments: Vec<&str> = RUN.into_iter().chain(modules).collect();
        let ended = machine.hemiola(&arguments).with_code(2);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    };
    stated(&["e=missing.wasm"], "missing.wasm cannot be read");
    stated(&["x=good.wat"], "the universe has no element `x`");
    stated(&["e"], "is not ELEMENT=FILE; the form is ELEMENT=FILE:budget=TIME");
    stated(&["e=good.wat", "e=good.wat:strikes=1"], "two modules compute `e`");
}

#[test]
fn a_checkpoint_goes_on_with_its_module_and_refuses_a_changed_one() {
    let machine = machine("module-checkpoint");
    machine.write("good.wat", &Text::new(&machine).text());
    let with = |arguments: &[&str]| machine.hemiola(&[&["universe", "run"], arguments].concat());
    let start = [&RUN[2..], &["--module", "e=good.wat"]].concat();
    with(&[&start[..], &["--steps", "20", "--checkpoint", "whole"]].concat()).with_code(0);
    with(&[&start[..], &["--steps", "8", "--checkpoint", "part"]].concat()).with_code(0);
    let on = ["--resume", "part", "--steps", "20", "--checkpoint"];
    with(&[&on[..], &["resumed"]].concat()).with_code(0);
    let bytes = |name: &str| fs::read(machine.folder().join(name)).unwrap();
    assert!(bytes("resumed") == bytes("whole"), "the same bits");
    machine.write("good.wat", &format!("{} ", Text::new(&machine).text()));
    let refused = with(&[&on[..], &["resumed"]].concat()).with_code(2).stderr;
    assert!(
        refused.contains("`good.wat` has changed since the checkpoint was written"),
        "{refused}"
    );
}

#[test]
fn a_scenario_runs_a_module_and_reports_its_strikes() {
    let machine = machine("module-scenario");
    let before = "(if (i32.eq (global.get $calls) (i32.const 20)) (then unreachable))".to_owned();
    machine.write("some.wat", &Text { before, ..Text::new(&machine) }.text());
    let scenario = |module: &str| {
        let text = format!(
            "title = \"Modules\"\nrate = \"50Hz\"\nduration = \"1s\"\nwarmup = \"0s\"\nallow_less = true\n
             [[variant]]\nname = \"v\"\n[variant.processes.world]\ntask = \"universe\"\n
             definition = [\"u.uml\"]\nmodule = [\"{module}\"]\noverrun = \"catch-up\"\n"
        );
        machine.write("scenario.toml", &text);
        machine.hemiola(&["run", "scenario.toml", "--output", "result"])
    };
    let ended = scenario("e=some.wat:strikes=2").with_code(0);
    machine.nothing_is_left();
    let results = Results::open(machine.folder().join(ended.folder()));
    let world = &results.run().variants[0].runs[0].universes[0];
    assert!(world.steps >= 50, "{world:?}");
    let [module] = &world.modules[..] else { panic!("{world:?}") };
    assert_eq!((module.strikes, module.restarts, module.evicted), (2, 1, Some(40)));
    assert_eq!((module.blocks, module.kept), (38, 2));
    let page = fs::read_to_string(results.path().join("report.html")).unwrap();
    assert!(page.contains("Modules of users") && page.contains("executed unreachable"));
    let refused = scenario("e=none.wat").with_code(2).stderr;
    assert!(refused.contains("module 'e=none.wat': none.wat cannot be read"), "{refused}");
}
