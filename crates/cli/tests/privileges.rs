//! A user without privileges: each refusal is reported with its remedy, or recorded.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hemiola_units::Policy;

use crate::command::{Ended, PROGRAM, Running};
use crate::machine::Machine;
use crate::results::{Results, actuations};
use crate::scenario::{self, SHARED_MEMORY, SIMPLEX};

/// Nobody's user and group on most systems; any will do that is not root's.
const NOBODY: &str = "--reuid=65534";

/// `hemiola` as a user who may have no real-time priority and lock 64 KiB of memory.
pub(crate) fn unprivileged(machine: &Machine, arguments: &[&str]) -> Option<Ended> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    // Writable for all, so that the user `nobody` can write there.
    for folder in ["", "tmp"] {
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(machine.folder().join(folder), everybody).unwrap();
    }
    let limits = ["prlimit", "--rtprio=0:0", "--memlock=65536:65536"];
    let drop = ["setpriv", NOBODY, "--regid=65534", "--clear-groups"];
    let prefix = if is_root { [&drop[..], &limits].concat() } else { limits.to_vec() };
    let command = |rest: &[&str]| {
        let words = [&prefix[..], rest].concat();
        machine.command(words[0], &words[1..])
    };
    if !command(&[PROGRAM, "schema"]).output().is_ok_and(|output| output.status.success()) {
        println!("skipped: needs setpriv, prlimit and a target folder readable for all users");
        return None;
    }
    Some(Running::start(command(&[&[PROGRAM], arguments].concat())).end())
}

/// The error text for a user without privileges if the scenario does not allow less.
pub(crate) fn refused(machine: &Machine, code: i32, edits: &[(&str, &str)]) -> Option<String> {
    let strict = scenario::edited(&scenario::of(&[SHARED_MEMORY]), &[("allow_less = true\n", "")]);
    machine.write("scenario.toml", &scenario::edited(&strict, edits));
    let ended = unprivileged(machine, &["run", "scenario.toml", "--output", "result"])?;
    let ended = ended.with_code(code);
    assert_eq!(ended.stdout, "");
    assert!(!machine.folder().join("result").exists());
    machine.nothing_is_left();
    Some(ended.stderr)
}

#[test]
fn a_priority_beyond_the_limit_is_refused_with_the_way_to_raise_it() {
    let machine = Machine::take("priority");
    let Some(text) = refused(&machine, 2, &[]) else { return };
    // Every profile that asks is shown; the first is enough here.
    let first = text.split("\n\n").next().unwrap();
    insta::assert_snapshot!(first, @r#"
    error: priority 95 is requested, but this user may not use real-time priorities
      --> scenario.toml:10:12
       |
    10 | priority = 95
       |            ^^
       = hint: raise it for this shell: sudo prlimit --pid $$ --rtprio=95; or accept less: allow_less = true
    "#);
}

#[test]
fn memory_that_may_not_be_locked_is_refused_with_the_limit_and_the_way_to_raise_it() {
    let machine = Machine::take("memory");
    let ordinary = "policy = \"other\"\nlock_memory = true\n";
    let edits = [
        ("policy = \"fifo\"\npriority = 95\n", ordinary),
        ("policy = \"fifo\"\npriority = 80\n", ordinary),
        ("policy = \"fifo\"\npriority = 75\n", ordinary),
        ("policy = \"fifo\"\npriority = 70\n", ordinary),
    ];
    let Some(text) = refused(&machine, 1, &edits) else { return };
    for part in [
        "error: the system grants less than the scenario asks for:\n  plant",
        "locked memory was refused: the limit of locked memory (RLIMIT_MEMLOCK) is 64KiB",
        "`sudo setcap cap_sys_nice,cap_ipc_lock,cap_perfmon,cap_bpf=ep /",
        "or set allow_less = true in the scenario: it then runs with less, and its figures say so",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn a_run_with_allow_less_records_the_request_and_the_grant() {
    let machine = Machine::take("less");
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    let arguments = ["run", "scenario.toml", "--output", "result"];
    let Some(ended) = unprivileged(&machine, &arguments) else { return };
    let ended = ended.with_code(0);
    assert!(
        ended.stderr.contains("note: priorities up to 95 are requested, but this user may not use"),
        "{}",
        ended.stderr
    );
    let results = Results::open(machine.folder().join(ended.folder()));
    let run = results.run();
    assert!(run.conditions.allow_less);
    for variant in &run.variants {
        actuations(&results.trace(variant));
        for process in &variant.processes {
            assert!(matches!(process.asked.scheduling, Policy::Fifo { .. }), "{process:?}");
        }
        for process in &variant.runs[0].processes {
            // The nice value is inherited from the tests.
            assert!(matches!(process.granted.scheduling, Policy::Other { .. }), "{process:?}");
            let [refusal] = &process.granted.refusals[..] else { panic!("{process:?}") };
            assert!(refusal.because.contains("RLIMIT_RTPRIO"), "{refusal}");
        }
    }
    let profiles = &results.summary()["variants"][0]["profiles"];
    assert!(profiles[0]["asked"].is_object() && profiles[0]["granted"].is_object(), "{profiles}");
    machine.nothing_is_left();
}
