//! Two recordings side by side, and the verdict on one, from the command line.

use std::fs;
use std::path::Path;

use hemiola_analyze::sched::synthetic::{Task, run};
use hemiola_trace::perfetto::TraceWriter;
use hemiola_trace::sched::Event;
use hemiola_units::Instant;
use serde_json::Value;

use crate::machine::Machine;
use crate::scenario::{self, MONOLITHIC};

/// Records two real-time tasks on processor 1 for two seconds; the urgent one computes for `execution_ns`.
pub(crate) fn recorded(machine: &Machine, name: &str, execution_ns: u64, seed: u64) {
    let task = |name: &str, tid, period_ns, execution_ns| Task {
        name: name.into(),
        tid,
        cpu: 1,
        priority: tid as i16,
        period_ns,
        offset_ns: 1_000_000,
        jitter_ns: 5_000,
        execution_min_ns: execution_ns * 9 / 10,
        execution_max_ns: execution_ns,
        ..Task::default()
    };
    let tasks =
        [task("urgent", 11, 1_000_000, execution_ns), task("slow", 12, 10_000_000, 3_000_000)];
    let (recording, _) = run(&tasks, 2_000_000_000, seed);
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
    writer.threads(&recording.threads).unwrap();
    writer.kernel(1, &recording.events().collect::<Vec<Event>>()).unwrap();
    writer.close().unwrap();
    drop(writer);
    fs::write(machine.folder().join(name), file).unwrap();
}

#[test]
fn recordings_differ_where_their_programs_do() {
    let machine = Machine::take("compare-recordings");
    recorded(&machine, "before.trace", 300_000, 1);
    recorded(&machine, "after.trace", 400_000, 2);
    let same = machine.hemiola(&["compare", "before.trace", "before.trace"]).with_code(0).stdout;
    assert!(same.contains("0 of") && same.contains("within noise"), "{same}");
    let shown = machine.hemiola(&["compare", "before.trace", "after.trace"]).with_code(0).stdout;
    for text in ["before.trace → after.trace", "differs", "Threads that made the difference"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let json = machine.hemiola(&["compare", "before.trace", "after.trace", "--json"]).with_code(0);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let slow =
        found["pairs"].as_array().unwrap().iter().find(|pair| pair["name"] == "slow").unwrap();
    assert_eq!(slow["cause"]["name"], "urgent");
    assert_eq!(slow["figures"][0]["verdict"], "within_noise");
}

#[test]
fn a_recording_has_its_verdict() {
    let machine = Machine::take("compare-verdict");
    recorded(&machine, "two.trace", 300_000, 1);
    let shown = machine.hemiola(&["analyze", "two.trace"]).with_code(0).stdout;
    for text in
        ["Task set of processor 1", "Processor 1: schedulable as it ran.", "Liu and Layland"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let json = machine.hemiola(&["analyze", "two.trace", "--json"]).with_code(0).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let processor = &found["schedulability"]["processors"][0];
    assert_eq!((&processor["cpu"], &processor["answer"]), (&1.into(), &"yes".into()));
    // 3 ms of its own, and at most 300 µs of the urgent task in each of five periods.
    assert!(processor["tasks"][1]["bound_ns"].as_u64().unwrap() <= 4_500_000, "{processor}");
}

#[test]
fn a_folder_that_lacks_something_is_not_compared_in_silence() {
    let machine = Machine::take("compare-damaged");
    machine.write("scenario.toml", &scenario::of(&[MONOLITHIC]));
    // On a busy machine the kernel's side may have gaps.
    let run = ["run", "scenario.toml", "--duration", "300ms", "--runs", "2", "--no-kernel"];
    machine.hemiola(&[&run[..], &["--output", "good"]].concat()).with_code(0);
    let changed = |name: &str, change: &dyn Fn(&Path)| {
        let folder = machine.folder().join(name);
        fs::create_dir_all(folder.join("traces")).unwrap();
        for file in ["run.json", "traces/monolithic-1.pftrace", "traces/monolithic-2.pftrace"] {
            fs::copy(machine.folder().join("good").join(file), folder.join(file)).unwrap();
        }
        change(&folder);
        machine.hemiola(&["report", name]).with_code(0);
    };
    let cut = |path: &Path, divisor: u64| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / divisor).unwrap();
    };
    changed("cut", &|folder| cut(&folder.join("traces/monolithic-2.pftrace"), 2));
    changed("empty", &|folder| {
        cut(&folder.join("traces/monolithic-1.pftrace"), u64::MAX);
        cut(&folder.join("traces/monolithic-2.pftrace"), u64::MAX);
    });
    changed("interrupted", &|folder| {
        let path = folder.join("run.json");
        let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        run["incomplete"] = "the run was interrupted".into();
        fs::write(&path, run.to_string()).unwrap();
    });
    let compared =
        |b: &str, option: &[&str]| machine.hemiola(&[&["compare", "good", b], option].concat());
    compared("good", &["--strict"]).with_code(0);
    for (b, expected) in [
        ("cut", "monolithic-2.pftrace is damaged"),
        ("empty", "no cycle after the warm-up"),
        ("interrupted", "the run is incomplete: the run was interrupted"),
    ] {
        let lax = compared(b, &[]).with_code(0);
        assert!(lax.stderr.contains(&format!("warning: {b}: ")), "{b}: {lax:?}");
        assert!(lax.stderr.contains(expected), "{b}: {lax:?}");
        let strict = compared(b, &["--strict"]).with_code(1);
        assert!(strict.stderr.contains("(--strict)") && strict.stdout == lax.stdout, "{strict:?}");
        let json: Value = serde_json::from_str(&compared(b, &["--json"]).stdout).unwrap();
        let problem = &json["problems"][0];
        assert_eq!(problem["file"], b);
        assert!(json["problems"].to_string().contains(expected), "{json:#}");
    }
    let shown = compared("empty", &[]).stdout;
    assert!(shown.contains("no cycle times in empty: monolithic"), "{shown}");
    machine.nothing_is_left();
}

#[test]
fn a_broken_summary_is_an_error_with_what_to_do() {
    let machine = Machine::take("compare-broken");
    fs::create_dir(machine.folder().join("broken")).unwrap();
    machine.write("broken/summary.json", "{ \"format\": 2, ");
    let ended = machine.hemiola(&["compare", "broken", "broken"]).with_code(2);
    assert!(ended.stderr.contains("hint: `hemiola report broken` makes it again"), "{ended:?}");
}

#[test]
fn inputs_that_cannot_be_compared_are_refused_with_the_reason() {
    let machine = Machine::take("compare-refused");
    recorded(&machine, "a.trace", 300_000, 1);
    fs::create_dir(machine.folder().join("folder")).unwrap();
    fs::write(machine.folder().join("noise"), b"no recording of anything").unwrap();
    fs::write(machine.folder().join("empty"), b"").unwrap();
    for (b, expected, code) in [
        ("folder", "folder is a folder and a.trace is not", 2),
        ("missing", "missing cannot be read", 2),
        ("noise", "noise is not a recording", 2),
        ("empty", "empty is not a recording: the file is empty", 2),
    ] {
        let ended = machine.hemiola(&["compare", "a.trace", b]).with_code(code);
        assert!(ended.stderr.contains(expected) && ended.stdout.is_empty(), "{b}: {ended:?}");
        assert!(ended.stderr.contains("hint: "), "{b}: {ended:?}");
    }
}
