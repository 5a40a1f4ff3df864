//! The fifth example, shortened: a real-time load beside a benchmark.

use std::fs;

use hemiola_trace::result::Role;
use hemiola_units::Policy;
use serde_json::Value;

use crate::machine::Machine;
use crate::results::Results;
use crate::scenario;

const EXAMPLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/6-mixed-load/scenario.toml"));

#[test]
fn the_benchmark_measures_the_overhead_beyond_the_share_of_the_load() {
    let machine = Machine::take("mixed");
    let edits = [
        ("[0, 10, 16, 22, 30, 34.2, 52.2, 75]", "[0, 40]"),
        ("\"100Hz\", \"500Hz\", \"1kHz\", \"2kHz\", \"4kHz\", \"8kHz\"", "\"1kHz\", \"4kHz\""),
        ("runs = 5", "runs = 2"),
        ("turn = \"100ms\"", "turn = \"50ms\""),
        ("turn = \"100ms\"", "turn = \"50ms\""),
    ];
    machine.write("scenario.toml", &scenario::edited(EXAMPLE, &edits));
    let arguments = ["run", "scenario.toml", "--duration", "450ms", "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    machine.nothing_is_left();
    let results = Results::open(machine.folder().join(ended.folder()));
    let (run, summary) = (results.run(), results.summary());
    assert_eq!(summary["kind"], "mixed-load");
    let names: Vec<&str> = summary["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["share-0", "share-40", "rate-1kHz", "rate-4kHz"]);
    for (variant, record) in summary["variants"].as_array().unwrap().iter().zip(&run.variants) {
        let mixed = &variant["mixed"];
        // Two times four turns in 450 ms, in each of two runs.
        assert_eq!(mixed["comparisons"], 4, "{variant:#}");
        assert!(mixed["score"]["value"].as_f64().unwrap() > 0.0, "{mixed:#}");
        assert_eq!(mixed["wake_ups"][0]["name"], "interactive");
        let loaded = record.processes.iter().filter(|p| p.role == Role::Workload).count() == 2;
        assert_eq!(mixed["share"].is_object(), loaded, "{mixed:#}");
        let real_time = record.runs.iter().flat_map(|run| &run.processes).any(|process| {
            process.name == "load" && !matches!(process.granted.scheduling, Policy::Other { .. })
        });
        if loaded && real_time {
            // Nothing has higher priority: it gets at least its requested share, and the benchmark at most the rest.
            let share = mixed["share"]["value"].as_f64().unwrap();
            assert!(share > 0.9 * mixed["asked_share"].as_f64().unwrap(), "{mixed:#}");
        }
    }
    let series = |name: &str| {
        let mut all = summary["series"].as_array().unwrap().iter();
        all.find(|series| series["name"] == name).unwrap().clone()
    };
    assert!(series("rate")["per_release_ns"].is_object(), "{summary:#}");
    let plain = |problem: &&Value| !problem.as_str().unwrap().contains("kernel");
    assert_eq!(summary["problems"].as_array().unwrap().iter().find(plain), None);
    let page = fs::read_to_string(results.path().join("report.html")).unwrap();
    assert!(page.contains("Overhead over the switch rate") && page.contains("<svg"));
}
