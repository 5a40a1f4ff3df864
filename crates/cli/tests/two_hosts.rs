//! The fourth example on two hosts, and the reports of federations.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::{PROGRAM, Running};
use crate::machine::Machine;
use crate::results::Results;
use crate::scenario;

const SCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/5-formation-payload/two-hosts.sh");
const FORMATION: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/4-formation-flight/scenario.toml"
));

/// Network namespaces left by a script that has ended. Namespaces in use have a process.
fn left_name_spaces() -> Vec<String> {
    let listed = Command::new("ip").args(["netns", "list"]).output();
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    let ended = |line: &&str| {
        let pid = line.strip_prefix("hemiola-").and_then(|rest| rest.split('-').next());
        pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    text.lines().filter(ended).map(String::from).collect()
}

/// Whether namespaces can be created here. A container may refuse this even to root.
pub(crate) fn may_make_name_spaces() -> bool {
    let name = format!("hemiola-may-{}", std::process::id());
    let ip = |verb| Command::new("ip").args(["netns", verb, &name]).output();
    let made = ip("add").is_ok_and(|output| output.status.success());
    let _ = ip("del");
    made
}

#[test]
fn the_formation_flies_over_a_cable_between_two_hosts() {
    if !may_make_name_spaces() {
        println!("skipped: needs root and ip(8) to make network name spaces");
        return;
    }
    let machine = Machine::take("two-hosts");
    let before = left_name_spaces();
    let mut command = machine.command(SCRIPT, &["--duration", "300ms", "--output", "result"]);
    command.env("HEMIOLA", PROGRAM);
    let ended = Running::start(command).end().with_code(0);
    machine.nothing_is_left();
    assert_eq!(left_name_spaces(), before);
    let results = Results::open(machine.folder().join(ended.folder()));
    let summary = results.summary();
    let modes = summary["modes"].as_array().unwrap();
    assert_eq!(modes.len(), 8);
    for mode in modes {
        assert_eq!(mode["transport"], "tcp");
        assert_whole(mode, 6);
    }
    // The address is that of the cable, so it cannot be reached within one host.
    assert!(results.text("scenario.toml").contains("tcp:10.99.0.1:15164"));
}

/// Asserts that a mode has the figures of a working federation. At ordinary priority, a busy machine can keep federates
/// waiting until the run is over.
fn assert_whole(mode: &Value, federates: usize) {
    assert_eq!(mode["federates"].as_array().unwrap().len(), federates, "{mode:#}");
    let is_in_time = mode["priority"] == "high";
    for federate in mode["federates"].as_array().unwrap() {
        let exchanged = ["sent", "received"].map(|key| federate[key].as_u64().unwrap());
        assert!(exchanged.iter().sum::<u64>() > 0, "{federate:#}");
        assert_eq!(federate["updates_lost"], 0, "{federate:#}");
        if is_in_time {
            assert!(federate["cycles"].as_u64().unwrap() > 0, "{federate:#}");
            assert!(federate["cycle_ns"]["p50"].as_i64().unwrap() > 0, "{federate:#}");
            assert!(federate["rti_share_ns"]["p50"].as_i64().unwrap() > 0, "{federate:#}");
        }
    }
    if is_in_time {
        assert!(mode["bare_timer_ns"]["p50"].as_i64().unwrap() > 0, "{mode:#}");
    }
    let deviation = mode["trajectory"]["deviation_m_max"].as_f64().unwrap();
    assert!(deviation < 1e-6, "{mode:#}");
}

#[test]
fn a_federation_is_reported_mode_by_mode() {
    let machine = Machine::take("modes");
    let edits = [("affinity = [\"free\", \"pinned\"]", "affinity = \"free\"")];
    machine.write("scenario.toml", &scenario::edited(FORMATION, &edits));
    let arguments = ["run", "scenario.toml", "--duration", "500ms", "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    for said in [
        "Table 1: cycle of the master (dynamics-1 at 100 Hz), ms",
        "beside a bare timer's",
        "The RTI's share of the master's cycle",
        "Exchange between the federates",
    ] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    let folder = machine.folder().join(ended.folder());
    let results = Results::open(&folder);
    let summary = results.summary();
    let modes = summary["modes"].as_array().unwrap();
    let named: Vec<[&str; 2]> = modes
        .iter()
        .map(|mode| ["sync", "priority"].map(|key| mode[key].as_str().unwrap()))
        .collect();
    for wanted in
        ["interaction", "time-management"].into_iter().flat_map(|s| ["low", "high"].map(|p| [s, p]))
    {
        assert!(named.contains(&wanted), "{wanted:?} in {named:?}");
    }
    for mode in modes {
        assert_eq!(mode["affinity"], false);
        assert_eq!(mode["master"], "dynamics-1");
        assert_whole(mode, 4);
    }
    let page = results.text("report.html");
    assert!(page.contains("Figure 7: maximum and median cycle") && page.contains("Figure 8:"));
    compares_with_itself(&machine, &folder);
}

/// Asserts that two runs of a federation are compared by their masters' cycles.
fn compares_with_itself(machine: &Machine, folder: &Path) {
    let folder = folder.to_str().unwrap();
    let ended = machine.hemiola(&["compare", folder, folder]).with_code(0);
    assert!(ended.stdout.contains("time-management-high-free"), "{}", ended.stdout);
}
