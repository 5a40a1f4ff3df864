//! Universes whose functions are compiled, with the real sandbox, and redefined while they run.

use serde_json::Value;

use crate::living::{Living, record};
use crate::machine::Machine;

/// The update of the second element has a text, whose number only the world knows.
fn text(factor: u32, word: &str) -> String {
    format!(
        "universe u {{
          element e {{ property n : integer; update() {{ n += {factor}; }} }}
          element says {{ property s : string; update() {{ s = \"{word}\"; }} }}
          entity one : e; entity two : e; entity three : says;
        }}"
    )
}

#[test]
fn a_scenario_compiles_each_definition_of_its_universe() {
    for (interpret, compiled) in [(false, true), (true, false)] {
        let machine = Machine::take("sandboxed-worlds");
        machine.write("old.uml", &text(1, "old"));
        machine.write("new.uml", &text(2, "new"));
        machine.write(
            "scenario.toml",
            &format!(
                "title = \"Small\"\nrate = \"50Hz\"\nduration = \"30s\"\nallow_less = true\n\
                 [[variant]]\nname = \"small\"\n[variant.processes.world]\ntask = \"universe\"\n\
                 definition = [\"old.uml\"]\nmonitor = [\"e\"]\nworkers = 2\ninterpret = {interpret}\n\
                 overrun = \"catch-up\"\n"
            ),
        );
        let living = Living::start(&machine, &["run", "scenario.toml", "--output", "result"]);
        for arguments in [&["apply", "new.uml"][..], &["roll-back"], &["apply", "new.uml"]] {
            living.ask(arguments).with_code(0);
            living.go_on();
        }
        living.end();
        let world = record(&machine);
        assert_eq!((world.compiled, world.faults), (compiled, 0));
        assert_eq!(world.interpreted, Vec::<String>::new());
        assert_eq!(world.redefinitions.len(), 3);
    }
}

#[test]
fn a_run_is_the_same_when_it_is_compiled() {
    let machine = Machine::take("sandboxed-worlds-same");
    machine.write("old.uml", &text(1, "old"));
    machine.write("new.uml", &text(5, "new"));
    let run = |more: &[&str]| {
        let run = ["universe", "run", "old.uml", "--steps", "100", "--json"];
        let redefined = ["--redefine", "50:new.uml", "--roll-back", "80", "--workers", "2"];
        let ended = machine.hemiola(&[&run[..], &redefined, more].concat()).with_code(0);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let (compiled, interpreted) = (run(&[]), run(&["--interpret"]));
    assert_eq!(compiled["named"][0]["properties"]["n"], "220", "{compiled}");
    assert_eq!((&compiled["compiled"], &interpreted["compiled"]), (&true.into(), &false.into()));
    for same in ["named", "faults", "entities", "interpreted", "steps"] {
        assert_eq!(compiled[same], interpreted[same], "{same}");
    }
}
