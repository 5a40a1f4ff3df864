//! The first example with half a second per variant: its result folder, and reports made from it.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use hemiola_trace::event::source;
use hemiola_units::Span;
use serde_json::Value;

use crate::command::Ended;
use crate::machine::Machine;
use crate::results::{Results, actuations, assert_stands};
use crate::scenario;

const EXAMPLE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/1-pendulum-ladder/scenario.toml"
));

const MODULE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/1-pendulum-ladder/state-feedback.wat"
));

const VARIANTS: &[&str] = &[
    "monolithic",
    "shared-memory",
    "message-queue",
    "publish-subscribe",
    "simplex-1",
    "simplex-2",
    "simplex-3",
    #[cfg(feature = "sandbox")]
    "sandboxed",
];

/// Runs the ladder once for all tests that only read its result.
fn ladder(machine: &Machine) -> (&'static Ended, Results) {
    static RUN: OnceLock<Ended> = OnceLock::new();
    let ended = RUN.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ladder");
        let _ = fs::remove_dir_all(&folder);
        let shorter = scenario::edited(EXAMPLE, &[("warmup = \"500ms\"", "warmup = \"100ms\"")]);
        machine.write("scenario.toml", &shorter);
        machine.write("state-feedback.wat", MODULE);
        let folder = folder.to_str().unwrap();
        // A folder stands for the scenario.toml in it.
        let arguments = ["run", ".", "--duration", "500ms", "--rate", "200Hz", "--output", folder];
        let ended = machine.hemiola(&arguments);
        machine.nothing_is_left();
        ended.with_code(0)
    });
    (ended, Results::open(ended.folder()))
}

fn names(variants: &Value) -> Vec<&str> {
    variants.as_array().unwrap().iter().map(|variant| variant["name"].as_str().unwrap()).collect()
}

#[test]
fn every_variant_balances_the_pendulum_in_processes_of_its_own() {
    let machine = Machine::take("ladder");
    let (_, results) = ladder(&machine);
    let run = results.run();
    let variants: Vec<&str> = run.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(variants, VARIANTS);
    let mut pids = Vec::new();
    for (variant, processes) in run.variants.iter().zip([2, 3, 3, 3, 4, 5, 6]) {
        let [once] = &variant.runs[..] else {
            panic!("{}: {} runs", variant.name, variant.runs.len())
        };
        assert_eq!(once.processes.len(), processes, "{}", variant.name);
        assert_eq!(once.stopped_early, None, "{}", variant.name);
        for process in &once.processes {
            assert_eq!((process.exit.as_str(), process.lost_events), ("ended", 0), "{process:?}");
        }
        pids.extend(once.processes.iter().map(|process| process.pid));
        assert_stands(variant);
    }
    let all = pids.len();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), all, "every process of every variant is another");
}

#[test]
fn the_trace_of_every_variant_shows_a_voltage_in_each_cycle() {
    let machine = Machine::take("trace");
    let (_, results) = ladder(&machine);
    for variant in &results.run().variants {
        let trace = results.trace(variant);
        assert_eq!(trace.tracks.len(), variant.runs[0].processes.len(), "{}", variant.name);
        let voltages = actuations(&trace);
        // 100 ms of warm-up and half a second.
        assert!(voltages.len() <= 120, "{}: {}", variant.name, voltages.len());
        let whose = |source| voltages.iter().filter(|entry| entry.arg == source).count();
        if variant.name.starts_with("simplex") || variant.name == "sandboxed" {
            assert_eq!(whose(source::CONTROLLER), 0);
            assert!(whose(source::UNIT_0) > 0, "{}: the unit never had the plant", variant.name);
        } else {
            assert!(
                whose(source::CONTROLLER) > 0,
                "{}: the controller was not heard",
                variant.name
            );
        }
    }
}

#[test]
fn the_summary_has_the_figures_other_programs_rely_on() {
    let machine = Machine::take("summary");
    let (_, results) = ladder(&machine);
    let summary = results.summary();
    assert_eq!(summary["problems"], Value::Array(Vec::new()));
    assert_eq!(names(&summary["variants"]), VARIANTS);
    assert!(summary["floor"]["context_switch_ns"].as_f64().unwrap() > 0.0);
    assert!(summary["conditions"]["kernel"].is_string());
    for variant in summary["variants"].as_array().unwrap() {
        let runs = variant["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1);
        for figures in [&variant["combined"], &runs[0]] {
            assert!(figures["observations"].as_u64().unwrap() > 0);
            for key in ["min", "mean", "p50", "p99", "p999", "max", "adjusted_max", "std"] {
                assert!(figures["cycle_ns"][key].is_number(), "{}: {key}", variant["name"]);
            }
            for key in ["deadlines_missed", "timing_overhead_ns", "context_switches_per_cycle"] {
                assert!(figures[key].is_number(), "{}: {key}", variant["name"]);
            }
            // On any machine, a cycle that ran wrote a voltage.
            assert_eq!(figures["actuations_missed"], figures["releases_skipped"]);
        }
        assert!(variant["combined"]["context_switches_per_cycle"].as_f64().unwrap() >= 1.0);
    }
}

#[test]
fn the_folder_holds_the_plan_the_result_and_a_page_that_opens_offline() {
    let machine = Machine::take("folder");
    let (ended, results) = ladder(&machine);
    for name in VARIANTS {
        assert!(ended.stdout.contains(name), "{name} is not in the tables");
    }
    let plan: Value = serde_json::from_str(&results.text("plan.json")).unwrap();
    assert_eq!(names(&plan["variants"]), VARIANTS);
    assert!(results.text("scenario.toml").contains("title = \"The pendulum ladder\""));
    let page = results.text("report.html");
    for foreign in ["src=\"http", "<link", "@import", "url(http"] {
        assert!(!page.contains(foreign), "the page needs the network: {foreign}");
    }
    // The table of features names the test of each feature; this one is in this file.
    assert!(page.contains("ladder::every_variant_balances_the_pendulum_in_processes_of_its_own"));
}

#[test]
fn a_report_made_again_is_the_same() {
    let machine = Machine::take("report");
    let (_, results) = ladder(&machine);
    let (summary, page) = (results.text("summary.json"), results.text("report.html"));
    for name in ["summary.json", "report.html"] {
        fs::remove_file(results.path().join(name)).unwrap();
    }
    let folder = results.path().to_str().unwrap();
    let ended = machine.hemiola(&["report", folder]).with_code(0);
    assert_eq!(ended.folder(), results.path());
    assert!(results.text("summary.json") == summary, "another summary");
    assert!(results.text("report.html") == page, "another page");
    assert!(machine.hemiola(&["report", folder, "--json"]).stdout == summary, "another text");
    let csv = machine.hemiola(&["report", folder, "--csv"]).with_code(0).stdout;
    assert!(csv.lines().count() > VARIANTS.len(), "{csv}");
}

#[test]
fn a_result_compared_with_itself_is_within_noise() {
    let machine = Machine::take("compare");
    let (_, results) = ladder(&machine);
    let folder = results.path().to_str().unwrap();
    let ended = machine.hemiola(&["compare", folder, folder]).with_code(0);
    assert_eq!(ended.stdout.matches("within noise").count(), VARIANTS.len(), "{}", ended.stdout);
    let ended = machine.hemiola(&["compare", folder, folder, "--json"]).with_code(0);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(names(&json["variants"]), VARIANTS);
}

#[test]
fn the_same_scenario_runs_five_times_as_fast() {
    let machine = Machine::take("fast");
    let variants = [scenario::MONOLITHIC, scenario::SHARED_MEMORY, scenario::SIMPLEX];
    machine.write("scenario.toml", &scenario::of(&variants));
    let arguments =
        ["run", "scenario.toml", "--rate", "1kHz", "--duration", "300ms", "--runs", "2"];
    let ended = machine.hemiola(&arguments).with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    for variant in &results.run().variants {
        assert_eq!((variant.period, variant.runs.len()), (Span::from_millis(1), 2));
        assert!(actuations(&results.trace(variant)).len() <= 400);
    }
    machine.nothing_is_left();
}
