//! The third and fourth example, shortened: federations in all modes, and their failures.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_trace::result::{FederationRecord, VariantRecord};

use crate::command::Running;
use crate::ends::{pid_of, wait_for_trace};
use crate::machine::Machine;
use crate::results::Results;
use crate::scenario;

const FORMATION: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/4-formation-flight/scenario.toml"
));
const PAYLOAD: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/5-formation-payload/scenario.toml"
));

/// The scenario of an example, reduced to one mode and one way to reach the RTI.
fn one_mode(example: &str, sync: &str, rti: &str) -> String {
    let edits = [
        ("sync = [\"interaction\", \"time-management\"]", &*format!("sync = \"{sync}\"")),
        ("priority = [\"low\", \"high\"]", "priority = \"low\""),
        ("affinity = [\"free\", \"pinned\"]", "affinity = \"free\"\nbare = \"0\""),
        ("rti = \"shm\"", &*format!("rti = \"{rti}\"")),
    ];
    scenario::edited(example, &edits)
}

fn results(folder: &Path) -> Results {
    Results::open(folder.to_owned())
}

/// Asserts that every federate completed its cycles and that the exchanged states lie on the orbits.
fn assert_whole(variant: &VariantRecord) {
    let federation: &FederationRecord = variant.federation.as_ref().unwrap();
    assert!(!variant.runs.is_empty(), "{}", variant.name);
    for run in &variant.runs {
        assert_eq!(run.stopped_early, None);
        let became = run.federation.as_ref().unwrap();
        assert_eq!(became.federates.len(), federation.federates.len());
        for (federate, counted) in federation.federates.iter().zip(&became.federates) {
            let name = (&variant.name, &federate.name);
            assert!(counted.cycles > 0 && counted.sent > 0 && counted.received > 0, "{name:?}");
            assert_eq!(counted.lost, 0, "{name:?}");
        }
        let trajectory = became.trajectory.as_ref().unwrap();
        assert!(trajectory.states > 0);
        assert!(trajectory.deviation_m_max < 1e-6, "{trajectory:?}");
        // Opposite to each other on an ellipse of 100 by 200 m.
        assert!(trajectory.distance_m[0] > 199.0 && trajectory.distance_m[1] < 450.0);
    }
}

#[test]
fn a_formation_flies_in_every_mode() {
    let machine = Machine::take("formation");
    machine.write("scenario.toml", FORMATION);
    let arguments = ["run", "scenario.toml", "--duration", "400ms", "--output", "result"];
    let ended = machine.hemiola(&arguments).with_code(0);
    machine.nothing_is_left();
    let run = results(&machine.folder().join(ended.folder())).run();
    assert_eq!(run.scenario, "federation");
    assert_eq!(run.variants.len(), 8);
    for variant in &run.variants {
        assert_whole(variant);
        let bare = &variant.federation.as_ref().unwrap().bare;
        assert_eq!(bare.iter().map(|bare| bare.after).collect::<Vec<_>>(), [false, true]);
        assert!(bare.iter().all(|bare| machine.folder().join("result").join(&bare.trace).exists()));
    }
}

#[test]
fn a_payload_twice_as_fast_flies_along_over_tcp() {
    let machine = Machine::take("payload");
    for sync in ["interaction", "time-management"] {
        machine.write("scenario.toml", &one_mode(PAYLOAD, sync, "tcp"));
        let arguments = ["run", "scenario.toml", "--duration", "400ms", "--output", sync];
        let ended = machine.hemiola(&arguments).with_code(0);
        machine.nothing_is_left();
        let run = results(&machine.folder().join(ended.folder())).run();
        assert_eq!(run.variants.len(), 1);
        assert_whole(&run.variants[0]);
        assert_eq!(run.variants[0].federation.as_ref().unwrap().transport, "tcp");
    }
}

/// Starts a run of a minute, waits until all its processes are there, and returns it with a way to find a process.
fn started<'m>(
    machine: &'m Machine,
    sync: &str,
    rti: &str,
) -> (Running, impl Fn(&str) -> u32 + use<'m>) {
    machine.write("scenario.toml", &one_mode(FORMATION, sync, rti));
    let arguments = ["run", "scenario.toml", "--duration", "60s", "--output", "result"];
    let mut run = machine.start(&arguments);
    let nodes = ["node rti", "node board-1", "node board-2", "node dynamics-1", "node dynamics-2"];
    machine.wait_for(&mut run, &nodes);
    (run, |name| pid_of(machine, &format!("node {name}")))
}

/// Sends a signal to one process in the middle of a run. Returns standard error.
fn signalled(signal: Signal, test: &str, victim: &str, sync: &str, rti: &str) -> String {
    let machine = Machine::take(test);
    let (mut run, pid) = started(&machine, sync, rti);
    wait_for_trace(&machine, &mut run, &format!("result/traces/{sync}-low-free-1.pftrace"));
    signal_group(pid(victim), signal).unwrap();
    let ended = run.end();
    machine.nothing_is_left();
    assert_ne!(ended.status.code(), Some(0));
    let reason = results(&machine.folder().join("result")).run().incomplete;
    assert!(reason.is_some_and(|reason| ended.stderr.ends_with(&format!("error: {reason}\n"))));
    ended.stderr
}

#[test]
fn a_federate_that_dies_around_the_start_ends_the_run_by_its_name() {
    for delay in [0, 100, 200, 300, 500, 800] {
        let machine = Machine::take(&format!("killed-early-{delay}"));
        let (run, pid) = started(&machine, "interaction", "tcp");
        sleep(Duration::from_millis(delay));
        signal_group(pid("board-1"), Signal::KILL).unwrap();
        let said = run.end().with_code(1).stderr;
        assert!(
            said.contains("\"board-1\"") && said.contains("SIGKILL"),
            "after {delay} ms: {said}"
        );
        machine.nothing_is_left();
    }
}

#[test]
fn a_killed_federate_ends_the_run_by_its_name() {
    for (sync, rti) in [("interaction", "shm"), ("time-management", "tcp")] {
        let said = signalled(Signal::KILL, "killed-federate", "dynamics-2", sync, rti);
        assert!(said.contains("\"dynamics-2\" died"), "{said}");
        assert!(said.contains("SIGKILL"), "{said}");
    }
}

#[test]
fn a_killed_rti_ends_the_run_by_its_name() {
    for (sync, rti) in [("interaction", "tcp"), ("time-management", "shm")] {
        let said = signalled(Signal::KILL, "killed-rti", "rti", sync, rti);
        assert!(said.contains("\"rti\" died"), "{said}");
    }
}

#[test]
fn a_federate_that_is_stopped_ends_the_run_by_its_name() {
    let said = signalled(Signal::STOP, "hanging", "board-2", "time-management", "tcp");
    assert!(said.contains("\"board-2\" was stopped"), "{said}");
}

#[test]
fn a_missing_network_namespace_is_reported_with_the_process_that_needs_it() {
    let machine = Machine::take("no-name-space");
    let scenario = one_mode(FORMATION, "interaction", "tcp");
    let edits = [
        ("rti", "rti_priority = 50", "rti_namespace = \"not-there\"\nrti_priority = 50"),
        ("board-2", "board-2 = { ", "board-2 = { namespace = \"not-there\", "),
    ];
    for (process, from, to) in edits {
        machine.write("scenario.toml", &scenario::edited(&scenario, &[(from, to)]));
        let arguments = ["run", "scenario.toml", "--duration", "400ms", "--output", "result"];
        let ended = machine.hemiola(&arguments);
        machine.nothing_is_left();
        assert_ne!(ended.status.code(), Some(0));
        let said = &ended.stderr;
        assert!(said.contains(&format!("process \"{process}\" could not be started")), "{said}");
        assert!(said.contains("ip netns add not-there"), "{said}");
    }
}
