//! The report of a Simplex run: who commanded and why, which faults were found, and what became of each unit.

use hemiola_rt::sys::process::{Signal, signal_group};
use serde_json::Value;

use crate::machine::Machine;
use crate::results::Results;
use crate::scenario::{self, SIMPLEX};
use crate::units::{commanded_by, promote, until};

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap()
}

fn fault<'v>(control: &'v Value, unit: &str, kind: &str) -> &'v Value {
    let faults = list(control, "unit_faults");
    let found = faults.iter().find(|fault| fault["unit"] == unit && fault["fault"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} of {unit}: {faults:#?}"))
}

#[test]
fn the_report_names_every_fault_every_unit_and_every_change_of_authority() {
    let machine = Machine::take("authority");
    let wrong = "gain = \"experimental\"\nfault = \"not-a-number\"\nfault_after = \"1s\"";
    let edits = [
        ("gain = \"experimental\"", wrong),
        // On a busy machine a healthy unit may lose the plant for a moment.
        ("answer_within = \"2ms\"", "answer_within = \"4ms\"\nstrikes = 0\ngive_up_after = 20"),
        ("rate = \"200Hz\"", "rate = \"100Hz\""),
    ];
    machine.write("scenario.toml", &scenario::edited(&scenario::of(&[SIMPLEX]), &edits));
    let foreign = machine.script("foreign", "exec sleep 600");
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "10min", "--output", "result"]);

    // The first fails by not-a-number, the second is killed, the third is replaced.
    until(&machine, &mut run, "experimental", "failed");
    run.unit(&machine, &["add", "second", "--gain", "baseline"]).with_code(0);
    promote(&machine, &mut run, "second");
    commanded_by(&machine, &mut run, "second");
    let second = machine.processes().into_iter().find(|(_, line)| line.ends_with("node second"));
    signal_group(second.expect("it runs").0, Signal::KILL).unwrap();
    until(&machine, &mut run, "second", "failed");
    run.unit(&machine, &["add", "third", "--gain", "baseline"]).with_code(0);
    run.unit(&machine, &["replace", "third", "fourth", "--gain", "baseline"]).with_code(0);
    let add = ["add", "foreign", "--", foreign.to_str().unwrap()];
    let refused = run.unit(&machine, &add).with_code(1);
    assert!(refused.stderr.contains("foreign failed"), "{}", refused.stderr);
    run.signal(Signal::INT);
    run.end().with_code(130);

    let results = Results::open(machine.folder().join("result"));
    let summary = results.summary();
    let program = &summary["variants"][0];
    let control = &program["runs"][0]["control"];
    let wrong = fault(control, "experimental", "not-finite");
    assert_eq!((&wrong["samples"], &wrong["ended"]), (&1.into(), &"failed".into()), "{wrong}");
    assert!(wrong["takeovers"].as_u64().unwrap() >= 1, "{wrong}");
    let killed = fault(control, "second", "exited");
    assert_eq!(killed["ended"], "failed");
    // The answer of the cycle in which it was killed may have been the last, and the runner looks every 10 ms.
    assert!((1..100).contains(&killed["samples"].as_u64().unwrap()), "{killed}");
    assert_eq!(fault(control, "foreign", "missing")["ended"], "failed");

    let states: Vec<(&str, &str)> = list(control, "units")
        .iter()
        .map(|unit| (unit["unit"].as_str().unwrap(), unit["state"].as_str().unwrap()))
        .collect();
    // The last request of all removes the foreign unit, if it is carried out in time.
    let wanted = [
        ("experimental", "failed"),
        ("second", "failed"),
        ("third", "removed"),
        ("fourth", "shadow"),
    ];
    for unit in wanted {
        assert!(states.contains(&unit), "{unit:?} among {states:?}");
    }
    let authority = list(control, "authority");
    let commands = |source: &str| authority.iter().any(|command| command["source"] == source);
    assert!(commands("safety") && commands("experimental") && commands("second"), "{authority:#?}");
    let taken = authority.iter().find(|command| command["because"] == "not-finite").unwrap();
    assert_eq!(taken["source"], "safety");
    for key in ["v", "position_m", "angle_rad", "volts"] {
        assert!(taken[key].is_number(), "{key}: {taken}");
    }
    let processes = list(&program["combined"], "processes");
    for unit in ["second", "third", "fourth", "foreign"] {
        assert!(processes.iter().any(|process| process["name"] == unit), "{unit}: {processes:#?}");
        let profiles = list(program, "profiles");
        assert!(profiles.iter().any(|profile| profile["name"] == unit), "{unit}: {profiles:#?}");
    }

    // The kept trace gives the same again, in the terminal and on the page.
    std::fs::remove_file(results.path().join("summary.json")).unwrap();
    let report = machine.hemiola(&["report", "result"]).with_code(0).stdout;
    assert_eq!(&results.summary()["variants"][0]["runs"][0]["control"], control);
    for text in [&report, &results.text("report.html")] {
        for words in
            ["Time line of authority", "Faults that the decision module found", "not-finite"]
        {
            assert!(text.contains(words), "{words} is not in {text}");
        }
    }
    machine.nothing_is_left();
}
