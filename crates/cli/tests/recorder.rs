//! `hemiola trace`: what its recorder tells apart, refuses and survives.

use crate::machine::Machine;
use crate::trace::{condition, program, recording, track};

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
