//! Kernel events of a run: they are recorded if permitted, in the same trace, and show which thread had the processor.

use std::fs;

use hemiola_trace::Recording;
use hemiola_trace::result::RunFolder;
use hemiola_trace::sched::{Tid, What};
use hemiola_units::Policy;

use crate::machine::Machine;
use crate::privileges::refused;
use crate::results::Results;
use crate::scenario::{self, SHARED_MEMORY};

/// Whether the kernel was recorded. If not, asserts that the result gives the reason.
fn is_recorded(run: &RunFolder) -> bool {
    if run.kernel.interface.is_none() {
        let why = run.kernel.refused.as_ref().expect("one of the two");
        assert!(why.contains("CAP_") || why.contains("kernel"), "{why}");
        println!("skipped: needs the privilege to record the kernel: {why}");
        return false;
    }
    true
}

fn recording(results: &Results, run: &RunFolder) -> Recording {
    let bytes = fs::read(results.path().join(&run.variants[0].runs[0].trace)).unwrap();
    let (recording, mistakes) = Recording::read(&bytes);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    recording
}

#[test]
fn the_trace_of_a_run_has_kernel_events_if_permitted() {
    let machine = Machine::take("kernel");
    machine.write("scenario.toml", &scenario::of(&[SHARED_MEMORY]));
    let ended = machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = results.run();
    machine.nothing_is_left();
    if !is_recorded(&run) {
        return;
    }
    let recording = recording(&results, &run);
    let once = &run.variants[0].runs[0];
    for process in &once.processes {
        let came =
            |what: &What| matches!(what, What::Switch { next, .. } if *next == Tid(process.pid));
        let turns = recording.events().filter(|event| came(&event.what)).count() as u64;
        assert!(turns > 100, "{}: {turns} turns", process.name);
        let first = recording.events().next().unwrap().at;
        let named = recording.thread(Tid(process.pid), first).map(|thread| thread.name.as_str());
        assert_eq!(
            named,
            Some(process.name.as_str()),
            "the kernel knows it by the scenario's name"
        );
    }
    assert!(once.kernel.unwrap().events >= recording.events().count() as u64 / 2);
    assert_eq!(run.kernel.price_readings_ns.len() % 4, 0, "{:?}", run.kernel);
    assert!(ended.stdout.contains("Kernel's side"), "{}", ended.stdout);
}

#[test]
fn a_run_without_kernel_recording_has_only_program_events() {
    let machine = Machine::take("no-kernel");
    machine.write("scenario.toml", &scenario::of(&[SHARED_MEMORY]));
    let arguments = ["run", "scenario.toml", "--no-kernel", "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = results.run();
    assert_eq!(run.kernel, Default::default());
    assert_eq!(recording(&results, &run).events().count(), 0);
    assert!(!ended.stdout.contains("Kernel's side"), "{}", ended.stdout);
}

#[test]
fn a_refused_requirement_ends_the_run_before_it_begins() {
    let machine = Machine::take("demanded");
    let ordinary = "policy = \"other\"\n";
    let edits = [
        ("[plant]", "[trace]\nkernel = true\n[plant]"),
        ("policy = \"fifo\"\npriority = 95\n", ordinary),
        ("policy = \"fifo\"\npriority = 80\n", ordinary),
        ("policy = \"fifo\"\npriority = 75\n", ordinary),
        ("policy = \"fifo\"\npriority = 70\n", ordinary),
    ];
    let Some(text) = refused(&machine, 1, &edits) else { return };
    for part in ["recording the kernel: recording the system needs CAP_", "setcap", "--no-kernel"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn a_late_cycle_names_the_thread_that_had_the_processor() {
    let machine = Machine::take("witness");
    let intruder = "intruder = { task = \"workload\", rate = \"20Hz\", compute = \"12ms\", \
                    profile = \"io\", priority = 90 }\n[variant.processes.controller]";
    let text = scenario::of(&[SHARED_MEMORY]);
    machine.write(
        "scenario.toml",
        &scenario::edited(&text, &[("[variant.processes.controller]", intruder)]),
    );
    let ended = machine.hemiola(&["run", "scenario.toml", "--output", "result"]).with_code(0);
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = results.run();
    let real_time = run.variants[0].runs[0]
        .processes
        .iter()
        .all(|process| !matches!(process.granted.scheduling, Policy::Other { .. }));
    if !is_recorded(&run) || !real_time {
        println!("skipped: needs real-time priority, or the privilege to record the kernel");
        return;
    }
    let summary = results.summary();
    let misses = summary["variants"][0]["combined"]["misses"].as_array().unwrap();
    let named = |miss: &&serde_json::Value| {
        miss["explanation"].as_str().unwrap().contains("intruder had processor")
    };
    // 12 ms in a period of 5 ms, twenty times a second.
    assert!(misses.iter().filter(named).count() >= 3, "{misses:#?}");
}
