//! `hemiola trace`: what its recorder tells apart, refuses and survives.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use hemiola_rt::sys::process::{PidFd, Signal};
use hemiola_trace::{Missing, ReadError, Recording};

use crate::command::{PROGRAM, Running};
use crate::machine::Machine;
use crate::trace::{condition, notes, program, recording, runs, track, wait_for, wait_for_file};

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
    // Those of the program itself are read after those of the socket.
    let (triggers, marks): (Vec<_>, Vec<_>) = notes.iter().partition(|n| n.starts_with("trigger"));
    assert_eq!(marks, ["lap", "last", "lap", "last"]);
    assert_eq!(triggers.len(), 300);
    assert!((0..300).all(|n| *triggers[n] == format!("trigger: trigger {n}")), "{notes:?}");
    machine.nothing_is_left();
}

#[test]
fn marks_of_rare_types_in_c_have_their_value_or_are_errors() {
    let machine = Machine::take("trace-types");
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/include");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 0, 0);
        struct { unsigned long wide : 40; int minus : 4; } bits = { 1ul << 39, -3 };
        enum colour { RED = 3 } colour = RED;
        hemiola_mark(&t, \"v\", (_Float32)0.75); hemiola_mark(&t, \"v\", (_Float64)0.25);
        hemiola_mark(&t, \"v\", (_Float128)0.125); hemiola_mark(&t, \"v\", bits.wide);
        hemiola_mark(&t, \"v\", bits.minus); hemiola_mark(&t, \"v\", colour);
        return 0;";
    // _Float128 is not that of every processor.
    if cfg!(target_arch = "x86_64") && program(&machine, body).is_some() {
        machine.hemiola(&["trace", "--", "./program"]).with_code(0);
        let recording = recording(&machine, "program.trace");
        let values =
            track(&recording, "control").entries.iter().map(|entry| entry.value().unwrap());
        let wide = (1_u64 << 39) as f64;
        assert_eq!(values.collect::<Vec<_>>(), [0.75, 0.25, 0.125, wide, -3.0, 3.0]);
    }
    let pointers = ["double v = 1; MARK(&v)", "void *v = 0; MARK(v)", "MARK(L\"hello\")"];
    let others = ["__int128 v = 1; MARK(v)", "const unsigned char *v = 0; MARK(v)", "MARK(main)"];
    let both = pointers.into_iter().chain(others).chain(["MARK(1)", "char v[2] = \"\"; MARK(v)"]);
    for (language, compiler, standard) in [("c", "gcc", "gnu11"), ("cc", "g++", "gnu++20")] {
        for statement in both.clone().chain((language == "cc").then_some("MARK(u8\"hello\")")) {
            let text = format!(
                "#include \"hemiola_mark.h\"\n#define MARK(v) hemiola_mark(&t, \"name\", v)\n\
                 int main(void) {{ hemiola_task_t t = hemiola_task(\"t\", 0, 0); {statement}; return 0; }}\n"
            );
            let source = machine.write(&format!("type.{language}"), &text);
            let mut command = Command::new(compiler);
            command.args([&format!("-std={standard}"), "-w", "-fsyntax-only", "-I"]);
            let Ok(output) = command.args([&header, &source]).output() else {
                println!("skipped: needs {compiler}");
                continue;
            };
            let is_right = statement.contains("MARK(1)") || statement.starts_with("char");
            assert_eq!(output.status.success(), is_right, "{compiler}: {statement}: {output:?}");
        }
    }
}

#[test]
fn a_limit_of_file_sizes_ends_the_recording_but_not_the_program() {
    let machine = Machine::take("trace-limit");
    let script = "touch ready; while ! test -e limited; do sleep 0.02; done
        for n in $(seq 500); do head -c 1 /dev/zero | cat > /dev/null; done; exit 7";
    let running = machine.start(&["trace", "-o", "x.trace", "--", "sh", "-c", script]);
    wait_for_file(&machine.folder().join("ready"));
    // The recorder has written its first packets.
    sleep(Duration::from_millis(500));
    let size = fs::metadata(machine.folder().join("x.trace")).unwrap().len();
    let words = ["--pid", &running.pid().to_string(), &format!("--fsize={}", size + 5000)];
    if !machine.command("prlimit", &words).status().is_ok_and(|status| status.success()) {
        println!("skipped: needs prlimit");
        return;
    }
    machine.write("limited", "");
    let ended = running.end().with_code(7);
    assert!(
        ended.stderr.contains("x.trace: the trace cannot be written: File too large"),
        "{ended:?}"
    );

    // The memory for marks is a file for the kernel, which does not let it be created. The program never starts.
    let shell = format!("ulimit -f 100; exec {PROGRAM} trace -o y.trace -- touch started");
    let ended = Running::start(machine.command("sh", &["-c", &shell])).end().with_code(1);
    assert!(ended.stderr.contains("raise `ulimit -f`"), "{ended:?}");
    assert!(
        !machine.folder().join("started").exists() && !machine.folder().join("y.trace").exists()
    );
    // The program keeps the signal.
    let script = "ulimit -f 100; head -c 1000000 /dev/zero > big";
    machine.hemiola(&["trace", "-o", "z.trace", "--", "bash", "-c", script]).with_code(128 + 25);
    machine.nothing_is_left();
}

#[test]
fn a_signal_that_is_no_trigger_leaves_a_flight_recorder_running() {
    let machine = Machine::take("trace-usr1");
    let words =
        ["trace", "--keep", "60s", "--trigger", "miss", "-o", "x.trace", "--", "sleep", "1"];
    let running = machine.start(&words);
    wait_for(&machine.folder().join("x.trace"));
    let recorder = PidFd::open(running.pid()).unwrap();
    recorder.send_signal(Signal::USR1).unwrap();
    let ended = running.end().with_code(0);
    assert!(ended.stderr.contains("note: SIGUSR1 is ignored"), "{ended:?}");
    assert!(!ended.stderr.contains("trigger: "), "{ended:?}");
    assert!(recording(&machine, "x.trace").events().count() > 0);
    machine.nothing_is_left();
}

#[test]
fn a_snapshot_is_of_the_recording_wherever_its_file_is() {
    let machine = Machine::take("trace-moved");
    let folder = machine.folder().to_owned();
    let running =
        machine.start(&["trace", "--control", "s", "-o", "a.trace", "--", "sleep", "600"]);
    wait_for(&folder.join("a.trace"));
    wait_for_file(&folder.join("s"));
    fs::rename(folder.join("a.trace"), folder.join("b.trace")).unwrap();
    machine.hemiola(&["trace", "-o", "a.trace", "--", "true"]).with_code(0);
    machine.hemiola(&["trace", "mark", "mine", "--control", "s"]).with_code(0);
    machine.hemiola(&["trace", "snapshot", "c", "--control", "s"]).with_code(0);
    running.signal(Signal::INT);
    running.end();
    assert_eq!(notes(&recording(&machine, "c.trace")), ["mine"]);

    let running =
        machine.start(&["trace", "--control", "s", "-o", "/dev/null", "--", "sleep", "600"]);
    wait_for_file(&folder.join("s"));
    let ended =
        machine.hemiola(&["trace", "snapshot", "hemiola-none", "--control", "s"]).with_code(1);
    assert!(ended.stderr.contains("the recording cannot be copied: a device"), "{ended:?}");
    assert!(!Path::new("/dev/hemiola-none.trace").exists());
    running.signal(Signal::INT);
    running.end();
    machine.nothing_is_left();
}

#[test]
fn marks_in_another_time_namespace_are_a_problem() {
    let machine = Machine::take("trace-time");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 10000000, 0);
        for (int n = 0; n < 20; n++) { hemiola_begin(&t, 0); hemiola_end(&t); rest(10000); }
        return 0;";
    let Some(_) = program(&machine, body) else { return };
    for offset in ["-100", "100"] {
        let namespace = ["unshare", "-T", "-f", "--monotonic", offset];
        let made = machine.command(namespace[0], &[&namespace[1..], &["true"]].concat()).output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("skipped: needs the right to create a time namespace");
            return;
        }
        let words = [&["trace", "-o", "x.trace", "--"], &namespace[..], &["./program"]].concat();
        machine.hemiola(&words).with_code(0);
        let (_, errors) = Recording::read(&fs::read(machine.folder().join("x.trace")).unwrap());
        assert_eq!(errors, [ReadError::Missing { what: Missing::InvalidMarks, count: 40 }]);
    }
    machine.nothing_is_left();
}
