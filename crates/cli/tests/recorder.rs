//! `hemiola trace`: what its recorder tells apart, refuses and survives.

use std::fs;

use hemiola_trace::{Missing, ReadError, Recording};

use crate::command::{PROGRAM, Running};
use crate::machine::Machine;
use crate::trace::{condition, notes, program, recording, runs, track};

#[test]
fn a_job_that_ends_in_a_pause_or_with_its_thread_is_no_missed_deadline() {
    let machine = Machine::take("trace-no-miss");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 500000000, 300000000);
        hemiola_begin(&t, 0); rest(150000); hemiola_stop(); rest(20000); hemiola_end(&t); rest(350000); hemiola_start();
        if (!fork()) {
            hemiola_task_t gone = hemiola_task(\"gone\", 0, 300000000);
            hemiola_begin(&gone, 0); rest(1000); return 0;
        }
        rest(600000);
        return 0;";
    let Some(_) = program(&machine, body) else { return };
    let words = ["trace", "--keep", "20s", "--trigger", "miss", "--", "./program"];
    let ended = machine.hemiola(&words).with_code(0);
    assert!(!ended.stderr.contains("trigger: "), "{}", ended.stderr);
    let recording = recording(&machine, "program.trace");
    assert_eq!(condition(&recording, "trigger"), None);
    assert_eq!(
        [track(&recording, "control"), track(&recording, "gone")].map(|t| t.entries.len()),
        [1; 2]
    );
    machine.nothing_is_left();
}

#[test]
fn marks_in_another_pid_namespace_belong_to_the_right_thread_or_are_a_problem() {
    let machine = Machine::take("trace-namespace");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 10000000, 5000000000);
        for (int n = 0; n < 40; n++) { hemiola_begin(&t, 0); hemiola_end(&t); rest(10000); }
        return 0;";
    let Some(_) = program(&machine, body) else { return };
    let namespace = ["unshare", "-pf", "--mount-proc"];
    let made = machine.command(namespace[0], &[&namespace[1..], &["true"]].concat()).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: needs the right to create a PID namespace");
        return;
    }
    let outside = [&["trace", "-o", "out.trace", "--"], &namespace[..], &["./program"]].concat();
    let ended = machine.hemiola(&outside).with_code(0);
    let out = recording(&machine, "out.trace");
    let control = track(&out, "control");
    // Without privilege, only own threads are recorded.
    let is_system = condition(&out, "scope") == Some("the whole system");
    assert!(control.tid > 1 && runs(&out, control.tid) >= 30, "{} {ended:?}", control.tid);

    let inside =
        [&namespace[1..], &[PROGRAM, "trace", "-o", "in.trace", "--", "./program"]].concat();
    let ended = Running::start(machine.command(namespace[0], &inside)).end().with_code(0);
    let (inner, errors) = Recording::read(&fs::read(machine.folder().join("in.trace")).unwrap());
    let missing = |what| errors.contains(&ReadError::Missing { what, count: 1 });
    let named = (missing(Missing::Threads), missing(Missing::Namespaces));
    assert_eq!(named, (is_system, is_system), "{ended:?}");
    let numbers = inner.tracks.iter().map(|track| track.tid);
    assert!(!is_system || numbers.into_iter().all(|tid| tid > 1 << 30), "{:?}", inner.tracks);
    machine.nothing_is_left();
}

#[test]
fn marks_with_many_texts_keep_them() {
    let machine = Machine::take("trace-texts");
    let body = "char text[32]; int refused = 0;
        for (int n = 0; n < 300; n++) {
            snprintf(text, sizeof text, \"trigger %d\", n);
            hemiola_trigger(text); if (n % 20 == 0) rest(250000);
        }
        for (int n = 0; n < 4; n++) refused |= hemiola_control(\"s\", n % 2 ? \"mark last\" : \"mark lap\");
        return refused ? 1 : 0;";
    let Some(_) = program(&machine, body) else { return };
    machine.hemiola(&["trace", "--control", "s", "--", "./program"]).with_code(0);
    let notes = notes(&recording(&machine, "program.trace"));
    assert_eq!(
        (notes.len(), &notes[300..]),
        (304, &["lap", "last", "lap", "last"].map(String::from)[..])
    );
    assert!((0..300).all(|n| notes[n] == format!("trigger: trigger {n}")), "{notes:?}");
    machine.nothing_is_left();
}
