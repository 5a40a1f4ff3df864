//! `hemiola trace -p`: recordings of a running program that other programs start, pause and end.

use std::thread::sleep;
use std::time::Duration;

use hemiola_rt::sys::process::{PidFd, Signal};
use hemiola_trace::sched::What;

use crate::command::{Ended, Running};
use crate::machine::Machine;
use crate::trace::{condition, notes, recording, runs, track, wait_for_file};

/// A running program that wakes up every 10 ms.
fn busy(machine: &Machine) -> Running {
    machine.script("busy", "while :; do sleep 0.01; done");
    Running::start(machine.command("./busy", &[]))
}

/// Starts to record a program under these options, controlled through the socket `s`.
fn attach(machine: &Machine, program: &Running, options: &[&str]) -> Running {
    let pid = program.pid().to_string();
    let words = ["trace", "-p", &pid, "--control", "s", "-o", "busy.trace"];
    let running = machine.start(&[&words, options].concat());
    wait_for_file(&machine.folder().join("s"));
    running
}

fn ask(machine: &Machine, words: &[&str]) -> Ended {
    machine.hemiola(&[&["trace"], words, &["--control", "s"]].concat())
}

#[test]
fn a_running_program_is_recorded_between_start_and_stop() {
    let machine = Machine::take("attached-paused");
    let mut busy = busy(&machine);
    let running = attach(&machine, &busy, &["--paused"]);
    let pause = || sleep(Duration::from_millis(300));
    pause();
    ask(&machine, &["start"]).with_code(0);
    pause();
    ask(&machine, &["snapshot", "half"]).with_code(0);
    pause();
    ask(&machine, &["stop"]).with_code(0);
    pause();
    running.signal(Signal::INT);
    let ended = running.end().with_code(0);
    // Pauses do not count as recorded, and those at the ends are named.
    assert!(ended.stderr.contains("busy.trace: "), "{}", ended.stderr);
    assert!(ended.stderr.contains(", the rest was paused"), "{}", ended.stderr);
    let analyzed = machine.hemiola(&["analyze", "busy.trace"]).with_code(0).stdout;
    let words = analyzed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("nothing was recorded in the first "), "{analyzed}");
    assert!(words.contains("because recording was stopped: no figure"), "{analyzed}");
    assert!(!busy.has_ended(), "the program continues without its recorder");
    busy.kill();

    let whole = recording(&machine, "busy.trace");
    assert_eq!(notes(&whole), ["start", "stop"]);
    // Nothing is recorded before the start and after the stop.
    let [start, stop] = [0, 1].map(|index| track(&whole, "hemiola trace").entries[index].at);
    let switches = whole.events().filter(|event| matches!(event.what, What::Switch { .. }));
    assert!(switches.map(|event| event.at).all(|at| start <= at && at <= stop));
    // The snapshot is a whole recording of the first part.
    let half = recording(&machine, "half.trace");
    assert_eq!(notes(&half), ["start"]);
    let counts = [&half, &whole].map(|recording| runs(recording, busy.pid()));
    assert!(3 < counts[0] && counts[0] + 3 < counts[1], "{counts:?}");
    machine.nothing_is_left();
}

#[test]
fn a_flight_recorder_of_a_running_program_ends_at_its_trigger_alone() {
    let machine = Machine::take("attached-trigger");
    let mut busy = busy(&machine);
    let running = attach(&machine, &busy, &["--paused", "--keep", "10s", "--trigger", "mark"]);
    ask(&machine, &["start"]).with_code(0);
    sleep(Duration::from_millis(300));
    ask(&machine, &["trigger", "too slow"]).with_code(0);
    let ended = running.end().with_code(0);
    assert!(ended.stderr.contains("trigger: requested: too slow\n"), "{}", ended.stderr);
    let kept = recording(&machine, "busy.trace");
    assert_eq!(notes(&kept), ["start", "trigger: too slow", "requested: too slow"]);
    assert_eq!(condition(&kept, "trigger"), Some("requested: too slow"));
    assert!(runs(&kept, busy.pid()) > 3, "{}", runs(&kept, busy.pid()));

    let running = attach(&machine, &busy, &["--keep", "10s", "--trigger", "signal"]);
    sleep(Duration::from_millis(300));
    let refused = ask(&machine, &["trigger", "too slow"]).with_code(1);
    assert!(refused.stderr.contains("--trigger mark"), "{}", refused.stderr);
    PidFd::open(running.pid()).unwrap().send_signal(Signal::USR1).unwrap();
    let ended = running.end().with_code(0);
    assert!(ended.stderr.contains("trigger: SIGUSR1\n"), "{}", ended.stderr);
    let kept = recording(&machine, "busy.trace");
    assert!(runs(&kept, busy.pid()) > 3, "{}", runs(&kept, busy.pid()));
    assert!(!busy.has_ended(), "the program continues without its recorder");
    busy.kill();
    machine.nothing_is_left();
}
