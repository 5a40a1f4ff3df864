//! A custom plant in real processes: the example with two tanks.

use hemiola_rt::sys::process::Signal;
use hemiola_trace::EventKind;
use serde_json::Value;

use crate::machine::Machine;
use crate::results::Results;
use crate::scenario;
use crate::units::{commanded_by, until};

const EXAMPLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/14-two-tanks/scenario.toml"));

/// The pump runs at full voltage from the first second on. The safety controller takes over before the upper tank runs
/// over, and a unit with a gain in numbers gets control afterwards.
#[test]
fn the_tanks_survive_a_pump_at_full_voltage_and_take_a_new_unit() {
    let machine = Machine::take("linear");
    let edits = [("fault_after = \"5s\"", "fault_after = \"1s\""), ("strikes = 2", "strikes = 1")];
    machine.write("scenario.toml", &scenario::edited(EXAMPLE, &edits));
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "8s", "--output", "result"]);
    until(&machine, &mut run, "quick", "retired");
    let refused = run.unit(&machine, &["add", "named", "--gain", "lqr"]).with_code(1);
    assert!(refused.stderr.contains("has 2 finite numbers"), "{}", refused.stderr);
    run.unit(&machine, &["add", "third", "--gain", "-0.1,-0.1"]).with_code(0);
    run.end().with_code(0);
    machine.nothing_is_left();

    let results = Results::open(machine.folder().join("result"));
    let (summary, folder) = (results.summary(), results.run());
    assert_eq!(folder.measured, ["Upper, mm", "Lower, mm"]);
    let program = &summary["variants"][0];
    assert_eq!(program["combined"]["fallen"], 0);
    let control = &program["runs"][0]["control"];
    let authority = control["authority"].as_array().unwrap();
    let fault = &control["unit_faults"][0];
    assert_eq!((&fault["unit"], &fault["fault"]), (&"quick".into(), &"leaves-region".into()));
    let taken = authority.iter().find(|row| row["because"] == "leaves-region").unwrap();
    assert_eq!(taken["source"], "safety");
    // In millimetres: above the wanted level, and far from the edge.
    let level = taken["position_m"].as_f64().unwrap();
    assert!((5.0..60.0).contains(&level), "{level}");
    let page = results.text("report.html");
    assert!(page.contains("Upper, mm") && !page.contains("Angle, °"));

    let trace = results.trace(&folder.variants[0]);
    let states = trace.tracks.iter().flat_map(|track| &track.entries);
    let peak = states
        .filter(|entry| entry.kind == EventKind::PlantState)
        .fold(0.0, |peak: f64, entry| peak.max(entry.a_f64()));
    assert!((0.5..1.0).contains(&peak), "{peak}");
    assert_eq!(program["runs"][0]["fallen_after_ns"], Value::Null);
}

/// The lower tank runs over at first, because the upper one is full, and is within its limits once that has drained.
#[test]
fn a_fail_safe_ends_when_an_operator_resumes() {
    let machine = Machine::take("linear-resume");
    let edits = [
        ("[-0.1,  0.0]", "[-2.0,  0.0]"),
        ("[ 0.1, -0.1]", "[ 2.0, -0.5]"),
        ("name = \"tanks\"", "name = \"simplex\""),
        ("start = [20, -10]", "start = [55, 59]"),
        ("fault = \"constant\"", ""),
        ("fault_after = \"5s\"", ""),
    ];
    machine.write("scenario.toml", &scenario::edited(EXAMPLE, &edits));
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "10min", "--output", "result"]);
    commanded_by(&machine, &mut run, "fail-safe");
    until(&machine, &mut run, "steady", "shadow");
    let refused = run.unit(&machine, &["promote", "steady"]).with_code(1);
    assert!(refused.stderr.contains("in its fail-safe; resume first"), "{}", refused.stderr);
    // Two seconds later, thirty time constants of the filters, the level is far below the edge.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let said = run.unit(&machine, &["resume"]).with_code(0);
    assert!(said.stdout.starts_with("the safety controller has the plant again; "), "{said:?}");
    commanded_by(&machine, &mut run, "quick");
    run.signal(Signal::INT);
    run.end().with_code(130);
    machine.nothing_is_left();

    let summary = Results::open(machine.folder().join("result")).summary();
    let authority = summary["variants"][0]["runs"][0]["control"]["authority"].as_array().unwrap();
    let rows = authority.iter().map(|row| [&row["source"], &row["because"]]);
    let rows: Vec<_> = rows.map(|row| row.map(|text| text.as_str().unwrap_or_default())).collect();
    let lost = rows.iter().position(|row| *row == ["fail-safe", "plant-lost"]);
    let lost = lost.unwrap_or_else(|| panic!("{rows:?}"));
    assert_eq!(rows[lost + 1], ["safety", "resumed"], "{rows:?}");
    assert_eq!(rows[lost + 2][0], "quick", "{rows:?}");
}
