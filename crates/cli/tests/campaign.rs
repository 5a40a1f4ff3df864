//! Faults done to real processes: without the decision module the pendulum is lost, with it never.

use crate::machine::Machine;
use crate::results::Results;
use crate::scenario;

const EXAMPLE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/2-fault-campaign/scenario.toml"
));

/// Runs in which a fault was found, by the counts of its names.
fn with_found(effect: &serde_json::Value) -> u64 {
    effect["found_as"].as_object().unwrap().values().map(|runs| runs.as_u64().unwrap()).sum()
}

#[test]
fn no_process_fault_loses_the_pendulum_behind_the_decision_module() {
    let machine = Machine::take("campaign");
    let edits = [
        ("kinds = \"all\"\nruns = 20\n", "kinds = [\"sign-flipped\"]\nruns = 2\n"),
        (
            "kinds = \"all\"\nruns = 1\n",
            "kinds = [\"crash\", \"busy-loop\", \"message-storm\", \"bit-flip\"]\nruns = 1\n",
        ),
    ];
    machine.write("scenario.toml", &scenario::edited(EXAMPLE, &edits));
    let ended = machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = results.run();
    let kinds: Vec<&str> = run.faults.iter().map(|fault| fault.kind.as_str()).collect();
    assert_eq!(kinds, ["sign-flipped", "crash", "busy-loop", "message-storm", "bit-flip"]);
    for fault in &run.faults {
        let (with, without) = (fault.with.as_ref().unwrap(), fault.without.as_ref().unwrap());
        let runs = if fault.process { 1 } else { 2 };
        assert_eq!((with.runs, without.runs), (runs, runs), "{}", fault.kind);
        assert_eq!(with.lost, 0, "{}: {with:?}", fault.kind);
        assert!(with.peak_v < 1.0, "{}: {with:?}", fault.kind);
        if !fault.process {
            assert_eq!(without.lost, runs, "{}: {without:?}", fault.kind);
        }
    }
    // A voltage that stays as it was lets the pendulum fall sooner or later; not each time so soon.
    let lost = |kind| {
        let fault = run.faults.iter().find(|fault| fault.kind == kind).unwrap();
        fault.without.as_ref().unwrap().lost
    };
    assert!(lost("crash") + lost("busy-loop") >= 1, "{:?}", run.faults);
    let summary = results.summary();
    let faults = summary["faults"].as_array().unwrap();
    for (fault, record) in faults.iter().zip(&run.faults) {
        assert_eq!(fault["kind"], record.kind.as_str());
        assert_eq!(fault["process"], if record.process { "process" } else { "simulated" });
        let found = with_found(&fault["with"]);
        let undetected = fault["undetected"]["runs"].as_u64().unwrap_or(0);
        assert_eq!(found + undetected, record.with.as_ref().unwrap().runs, "{fault}");
        let bound = fault["with"]["lost_share_max"].as_f64().unwrap();
        assert!((0.05..1.0).contains(&bound), "{fault}");
        for side in ["with", "without"] {
            for key in ["runs", "lost", "peak_v", "false_switches"] {
                assert!(fault[side][key].is_number(), "{}: {side}.{key}", record.kind);
            }
            for key in ["earliest_loss_ns", "detection_cycles"] {
                assert!(fault[side].get(key).is_some(), "{}: {side}.{key}", record.kind);
            }
        }
        assert!(ended.stdout.contains(&record.kind), "{} is not in the table", record.kind);
    }
    let found = |kind: &str, names: &[&str]| {
        let fault = faults.iter().find(|fault| fault["kind"] == kind).unwrap();
        let name = fault["with"]["found_as"].as_object().unwrap().keys().next().unwrap();
        assert!(names.contains(&name.as_str()), "{fault}");
        assert!(ended.stdout.contains(name.as_str()), "{name} is not in the table");
    };
    found("sign-flipped", &["leaves-region"]);
    // The processor time that a process uses while it dies is not what ended it.
    found("crash", &["exited"]);
    found("busy-loop", &["over-budget", "missing"]);
    found("bit-flip", &["malformed"]);
    let folder = machine.folder().join(ended.folder());
    let csv = machine.hemiola(&["report", folder.to_str().unwrap(), "--csv"]).with_code(0);
    assert_eq!(csv.stdout.lines().count(), 1 + 2 * faults.len(), "{}", csv.stdout);
    machine.nothing_is_left();
}
