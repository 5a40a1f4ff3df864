//! `hemiola trace`: recordings of other programs, triggers, signals and kills.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::process::{Signal, clear_cloexec, signal_one};
use hemiola_trace::perfetto::Track;
use hemiola_trace::sched::{Tid, What};
use hemiola_trace::{EventKind, ReadError, Recording};
use hemiola_units::Span;

use crate::command::{Ended, PROGRAM, Running};
use crate::machine::{Machine, PATIENCE};
use crate::privileges;
use crate::scenario;
use crate::small_disk::SmallDisk;

/// Builds a C program with this body, which can use the mark header and sleep functions.
pub(crate) fn program(machine: &Machine, body: &str) -> Option<PathBuf> {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/include");
    let text = format!(
        "#include \"hemiola_mark.h\"\n\
         static inline void rest(long us) {{ struct timespec t = {{us / 1000000, us % 1000000 * 1000}}; nanosleep(&t, 0); }}\n\
         int main(void) {{\n    {body}\n}}\n"
    );
    let source = machine.write("program.c", &text);
    let options = ["-std=c11", "-Wall", "-Werror", "-I"].map(Path::new);
    machine.gcc("program", options.into_iter().chain([&*header, &*source]))
}

pub(crate) fn recording(machine: &Machine, name: &str) -> Recording {
    let (recording, errors) = Recording::read(&fs::read(machine.folder().join(name)).unwrap());
    assert!(errors.is_empty(), "{errors:?}");
    recording
}

pub(crate) fn condition<'r>(recording: &'r Recording, name: &str) -> Option<&'r str> {
    let found = recording.conditions.iter().find(|(key, _)| key == name);
    found.map(|(_, text)| text.as_str())
}

pub(crate) fn track<'r>(recording: &'r Recording, name: &str) -> &'r Track {
    let found = recording.tracks.iter().find(|track| track.name == name);
    found.unwrap_or_else(|| panic!("no {name} among {:?}", recording.tracks))
}

fn kinds(track: &Track) -> Vec<EventKind> {
    track.entries.iter().map(|entry| entry.kind).collect()
}

/// How many times the thread was switched in.
pub(crate) fn runs(recording: &Recording, tid: u32) -> usize {
    let came = |what| matches!(what, What::Switch { next, .. } if next == Tid(tid));
    recording.events().filter(|event| came(event.what)).count()
}

/// Whether this user may record the system. If not, prints that the test is skipped.
fn permitted(ended: &Ended) -> bool {
    let refused = ended.stderr.contains("needs CAP_PERFMON");
    if refused {
        println!("skipped: needs CAP_PERFMON");
    }
    !refused
}

#[test]
fn a_recording_has_marked_jobs_and_kernel_events() {
    let machine = Machine::take("trace-jobs");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 2000000, 0);
        for (int n = 0; n < 5; n++) {
            hemiola_begin(&t, 0); hemiola_mark(&t, \"input\", n); hemiola_end(&t); rest(2000);
        }
        return 3;";
    let Some(_) = program(&machine, body) else { return };
    let ended = machine.hemiola(&["trace", "--", "./program"]).with_code(3);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("program.trace: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("15 marks of 1 task\n"), "{}", ended.stderr);
    let recording = recording(&machine, "program.trace");
    let control = track(&recording, "control");
    let job = [EventKind::Start, EventKind::MarkSigned, EventKind::Finish];
    assert_eq!(kinds(control), job.repeat(5));
    assert_eq!(control.names.get(EventKind::Mark, 0), Some("input"));
    for job in control.entries.chunks(3) {
        assert_eq!((job[1].a, job[2].a), (job[0].cycle.into(), job[0].a + 2_000_000));
    }
    // The program slept after each job, on the same clock.
    assert!(runs(&recording, control.tid) >= 5, "{}", runs(&recording, control.tid));
    let thread = recording.thread(Tid(control.tid), control.entries[0].at).unwrap();
    assert_eq!((thread.name.as_str(), thread.pid), ("program", control.pid));
    assert!(condition(&recording, &format!("proc.stop.thread.{}", control.tid)).is_some());
    assert!(condition(&recording, "kernel").is_some());
    machine.nothing_is_left();
}

/// Under strict settings the headers of the C library declare less, and the first header fixes the setting for all.
#[test]
fn the_mark_header_works_with_every_setting_of_the_compiler() {
    let machine = Machine::take("trace-settings");
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/include");
    let header = header.to_str().unwrap();
    let text = "#ifdef BEFORE
        #include <stdlib.h>
        #include <stdio.h>
        #include <time.h>
        #include <fcntl.h>
        #endif
        #include \"hemiola_mark.h\"
        int main(void) {
            hemiola_task_t t = hemiola_task(\"control\", 0, 0);
            hemiola_begin(&t, 0); hemiola_mark(&t, \"half\", 0.5); hemiola_end(&t);
            return hemiola_is_recorded() ? 0 : 1;
        }\n";
    let (c, cc) = (machine.write("program.c", text), machine.write("program.cc", text));
    let standards = ["-std=c99", "-std=gnu99", "-std=c11", "-std=gnu11", "-std=gnu17"];
    let of_c = standards.map(|standard| ("gcc", &c, standard));
    let of_cc = ["-std=c++11", "-std=gnu++17", "-std=c++20"].map(|standard| ("g++", &cc, standard));
    let mut built = Vec::new();
    for (compiler, source, standard) in of_c.into_iter().chain(of_cc) {
        for more in ["-UBEFORE", "-DBEFORE", "-D_GNU_SOURCE"] {
            let name = format!("{compiler}{standard}{more}");
            let mut command = Command::new(compiler);
            command.args([
                standard,
                more,
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-I",
                header,
            ]);
            command.args(["-o", &name]).arg(source).current_dir(machine.folder());
            let Ok(output) = command.output() else {
                println!("skipped: needs {compiler}");
                continue;
            };
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            built.push(name);
        }
    }
    let each = built.iter().map(|name| format!("./{name} || echo {name} >&2"));
    let each = each.collect::<Vec<_>>().join("; ");
    let ended =
        machine.hemiola(&["trace", "-o", "all.trace", "--", "sh", "-c", &each]).with_code(0);
    for name in &built {
        assert!(!ended.stderr.contains(name), "{}", ended.stderr);
    }
    let recording = recording(&machine, "all.trace");
    let marked = recording.tracks.iter().filter(|track| track.name == "control").count();
    assert_eq!(marked, built.len());
}

#[test]
fn marked_values_of_any_type_are_in_the_recording() {
    let machine = Machine::take("trace-values");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 0, 0);
        for (int n = 0; n < 3; n++) hemiola_mark(&t, \"angle\", n / 4.0);
        hemiola_mark(&t, \"state\", \"recovering\");
        hemiola_mark(&t, \"step\", -1);
        return 0;";
    let Some(_) = program(&machine, body) else { return };
    machine.hemiola(&["trace", "--", "./program"]).with_code(0);
    let recording = recording(&machine, "program.trace");
    let control = track(&recording, "control");
    let values: Vec<_> =
        control.entries.iter().map(|entry| (entry.kind, entry.value(), entry.text())).collect();
    let real = |value| (EventKind::MarkReal, Some(value), None);
    let state = (EventKind::MarkText, None, Some("recovering".to_owned()));
    let step = (EventKind::MarkSigned, Some(-1.0), None);
    assert_eq!(values, [real(0.0), real(0.25), real(0.5), state, step]);
    for thread in [&[][..], &["--thread", "control"]] {
        let analyze = [&["analyze", "program.trace"], thread].concat();
        let ended = machine.hemiola(&analyze).with_code(0);
        assert!(ended.stdout.contains("Texts of marks"), "{ended:?}");
        assert!(ended.stdout.contains("recovering"), "{ended:?}");
    }
}

#[test]
fn what_a_program_marks_beyond_the_limits_is_a_problem_of_its_recording() {
    let machine = Machine::take("trace-limits");
    let body = "static hemiola_task_t t[70];
        static char name[40][16];
        for (int n = 0; n < 70; n++) t[n] = hemiola_task(\"t\", 0, 0);
        for (int n = 0; n < 40; n++) {
            snprintf(name[n], sizeof name[n], \"name %d\", n);
            hemiola_mark(&t[0], name[n], n);
        }
        rest(300000);
        return hemiola_control(\"s\", \"snapshot half\") ? 1 : 0;";
    let Some(_) = program(&machine, body) else { return };
    let sentences = [
        "7 tasks were not recorded: at most 63 can be marked at a time",
        "8 marks were not recorded: a task can have at most 32 names of marks",
    ];
    for options in [&[][..], &["--keep", "60s"]] {
        let words = [&["trace", "--control", "s"], options, &["--", "./program"]].concat();
        let ended = machine.hemiola(&words).with_code(0);
        let said = sentences.iter().all(|text| ended.stderr.contains(&format!("warning: {text}")));
        assert!(said, "{}", ended.stderr);
        for file in ["program.trace", "half.trace"] {
            let path = machine.folder().join(file);
            let (_, errors) = Recording::read(&fs::read(&path).unwrap());
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, sentences, "{options:?}: {file}");
            let ended = machine.hemiola(&["analyze", file, "--json", "--strict"]).with_code(1);
            let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(json["problems"][1]["text"], sentences[1], "{options:?}: {file}");
            fs::remove_file(path).unwrap();
        }
    }
    machine.nothing_is_left();
}

#[test]
fn a_users_own_program_is_recorded_without_privilege() {
    let machine = Machine::take("trace-nobody");
    let arguments =
        ["trace", "-o", "own.trace", "--", "sh", "-c", "sleep 0.05; sleep 0.05; exit 7"];
    let Some(ended) = privileges::unprivileged(&machine, &arguments) else { return };
    let ended = ended.with_code(7);
    assert!(
        ended.stderr.contains("sudo setcap cap_sys_nice,cap_ipc_lock,cap_perfmon,cap_bpf=ep /"),
        "{}",
        ended.stderr
    );
    let recording = recording(&machine, "own.trace");
    assert_eq!(condition(&recording, "scope"), Some("one process and its children"));
    assert_eq!(condition(&recording, "proc.start.cpu0"), None);
    let shell = recording.threads.iter().find(|thread| thread.name == "sh").unwrap();
    assert!(runs(&recording, shell.tid.0) >= 2);
    assert!(recording.threads.iter().any(|thread| thread.name == "sleep"), "{recording:?}");
    machine.nothing_is_left();
}

#[test]
fn a_process_of_another_user_is_named_as_such() {
    let machine = Machine::take("trace-another");
    let sleeper = machine.start(&["trace", "-o", "sleeper.trace", "--", "sleep", "600"]);
    wait_for(&machine.folder().join("sleeper.trace"));
    let pid = sleeper.pid().to_string();
    let ended = privileges::unprivileged(&machine, &["trace", "-p", &pid]);
    // Without root, the test and the recorder are the same user.
    if let Some(ended) = ended.filter(|ended| ended.status.code() != Some(0)) {
        for part in [
            "error: recording a process of another user needs CAP_PERFMON, which this process lacks; ",
            "recording a process of your own needs no privilege",
        ] {
            assert!(ended.stderr.contains(part), "{}", ended.stderr);
        }
        assert!(!machine.folder().join("hemiola.trace").exists());
    }
    sleeper.signal(Signal::INT);
    sleeper.end();
    machine.nothing_is_left();
}

#[test]
fn recording_the_system_without_privilege_names_the_missing_capability() {
    let machine = Machine::take("trace-refused");
    let Some(ended) = privileges::unprivileged(&machine, &["trace", "--all"]) else { return };
    let ended = ended.with_code(1);
    assert!(
        ended.stderr.starts_with("error: recording the system needs CAP_PERFMON, which"),
        "{}",
        ended.stderr
    );
    assert!(!machine.folder().join("system.trace").exists());
}

#[test]
fn only_events_between_start_and_stop_are_recorded() {
    let machine = Machine::take("trace-ranges");
    let body = "hemiola_task_t t = hemiola_task(\"phases\", 0, 0);
        for (int n = 0; n < 4; n++) {
            if (n % 2) hemiola_start();
            for (int k = 0; k < 10; k++) { hemiola_mark(&t, n % 2 ? \"inside\" : \"outside\", n); rest(1000); }
            if (n % 2) hemiola_stop();
        }
        return 0;";
    let Some(_) = program(&machine, body) else { return };
    machine.hemiola(&["trace", "--paused", "--", "./program"]).with_code(0);
    let recording = recording(&machine, "program.trace");
    let phases = track(&recording, "phases");
    let values: Vec<u64> = phases.entries.iter().map(|entry| entry.a).collect();
    assert_eq!(values, [[1; 10], [3; 10]].concat());
    let asked = track(&recording, "hemiola trace");
    let name = |arg| asked.names.get(EventKind::Mark, arg).unwrap();
    let asked: Vec<_> = asked.entries.iter().map(|entry| (name(entry.arg), entry.at)).collect();
    let words: Vec<&str> = asked.iter().map(|(word, _)| *word).collect();
    assert_eq!(words, ["start", "stop", "start", "stop"]);
    let times: Vec<_> = recording.events().map(|event| event.at).collect();
    let between = |from: usize, to: usize| {
        times.iter().filter(|at| (asked[from].1..asked[to].1).contains(*at)).count()
    };
    assert!(between(0, 1) >= 10 && between(2, 3) >= 10, "{times:?} {asked:?}");
    assert_eq!((between(1, 2), times.iter().filter(|at| **at > asked[3].1).count()), (0, 0));
    // Each processor with events before and after has a gap where the recording resumes.
    let gaps: Vec<_> = recording.events().filter(|event| event.what == What::Lost(0)).collect();
    assert!(gaps.iter().any(|gap| gap.at == asked[2].1), "{gaps:?}");
    // Accounts of the whole time are left out, because only parts were recorded.
    assert_eq!(condition(&recording, "proc.stop.at_ns"), None);
}

#[test]
fn a_flight_recorder_keeps_the_events_before_a_missed_deadline() {
    let machine = Machine::take("trace-miss");
    let body = "hemiola_task_t t = hemiola_task(\"control\", 1000000, 900000000);
        for (int n = 0; n < 900; n++) {
            hemiola_begin(&t, n == 700 ? hemiola_now() - 950000000 : 0); hemiola_end(&t); rest(1000);
        }
        return 4;";
    let Some(_) = program(&machine, body) else { return };
    let arguments = ["trace", "--keep", "200ms", "--trigger", "miss", "--", "./program"];
    let ended = machine.hemiola(&arguments).with_code(4);
    let found = "trigger: job 700 of control ended 50.";
    assert!(ended.stderr.contains(found), "{}", ended.stderr);
    let recording = recording(&machine, "program.trace");
    let jobs: Vec<u32> =
        track(&recording, "control").entries.iter().map(|entry| entry.cycle).collect();
    assert!(jobs.contains(&700) && jobs.contains(&690) && jobs[0] > 300, "{jobs:?}");
    assert!(!jobs.contains(&899));
    let said = condition(&recording, "trigger").unwrap();
    assert!(said.starts_with("job 700 of control ended"), "{said}");
    let times: Vec<_> = recording.events().map(|event| event.at).collect();
    let length = *times.last().unwrap() - times[0];
    assert!(length.nanos() < 600_000_000 && times.len() > 20, "{length}");
}

#[test]
fn a_flight_recorder_ends_at_a_call_and_the_program_continues() {
    let machine = Machine::take("trace-call");
    let body =
        "for (int n = 0; n < 300; n++) { if (n == 100) hemiola_trigger(\"too hot\"); rest(1000); }
        return 5;";
    let Some(_) = program(&machine, body) else { return };
    let ended = machine.hemiola(&["trace", "--keep", "10s", "--", "./program"]).with_code(5);
    assert!(ended.stderr.contains("triggered: too hot\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("kept: the last "), "{}", ended.stderr);
    let recording = recording(&machine, "program.trace");
    let asked = track(&recording, "hemiola trace");
    assert_eq!(asked.names.get(EventKind::Mark, asked.entries[0].arg), Some("trigger: too hot"));
}

#[test]
fn a_flight_recorder_of_the_system_ends_at_a_signal() {
    let machine = Machine::take("trace-signal");
    let arguments = ["trace", "--all", "--keep", "1s", "--trigger", "signal", "-o", "s.trace"];
    let running = machine.start(&arguments);
    wait_for(&machine.folder().join("s.trace"));
    sleep(Duration::from_millis(300));
    // Without privilege the command has already ended.
    let _ = hemiola_rt::sys::process::PidFd::open(running.pid())
        .and_then(|process| process.send_signal(Signal::USR1));
    let ended = running.end();
    if !permitted(&ended) {
        return;
    }
    let ended = ended.with_code(0);
    assert!(ended.stderr.contains("trigger: SIGUSR1\n"), "{}", ended.stderr);
    let recording = recording(&machine, "s.trace");
    assert!(recording.events().count() > 10 && !recording.cpus.is_empty());
    assert_eq!(condition(&recording, "scope"), Some("the whole system"));
}

/// Waits until a file exists and has content, up to a time limit.
pub(crate) fn wait_for(path: &Path) {
    let limit = Instant::now() + PATIENCE / 4;
    while fs::metadata(path).map_or(0, |meta| meta.len()) == 0 && Instant::now() < limit {
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn ctrl_c_ends_the_recording_and_keeps_it() {
    let machine = Machine::take("trace-ctrl-c");
    let running = machine.start(&["trace", "--", "sleep", "600"]);
    wait_for(&machine.folder().join("sleep.trace"));
    sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    running.end().with_code(130);
    let recording = recording(&machine, "sleep.trace");
    assert!(recording.events().count() > 0);
    assert!(condition(&recording, "proc.stop.at_ns").is_some(), "it was ended in order");
    machine.nothing_is_left();
}

#[test]
fn a_program_that_ignores_ctrl_c_gets_sigterm_and_its_exit_code_is_passed_on() {
    let machine = Machine::take("trace-deaf");
    let script = "trap '' INT; trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done";
    machine.script("deaf", script);
    let running = machine.start(&["trace", "--", "./deaf"]);
    wait_for_file(&machine.folder().join("ready"));
    running.signal(Signal::INT);
    running.end().with_code(9);
    machine.nothing_is_left();
}

/// When a recording ended, ns on the monotonic clock.
fn end_ns(recording: &Recording) -> u64 {
    condition(recording, "proc.stop.at_ns").unwrap().parse().unwrap()
}

#[test]
fn sigterm_is_passed_on_at_once_and_what_the_program_then_does_is_recorded() {
    let machine = Machine::take("trace-term");
    let script =
        "trap 'touch told; sleep 0.3; exit 9' TERM; touch ready; while :; do sleep 0.01; done";
    machine.script("tidy", script);
    let running = machine.start(&["trace", "--", "./tidy"]);
    wait_for_file(&machine.folder().join("ready"));
    let sent = MonotonicClock.now();
    signal_one(running.pid(), Signal::TERM).unwrap();
    running.end().with_code(9);
    assert!(machine.folder().join("told").exists());
    let end = end_ns(&recording(&machine, "tidy.trace"));
    assert!(end >= (sent + Span::from_millis(300)).nanos(), "{end} {}", sent.nanos());
    machine.nothing_is_left();
}

#[test]
fn a_program_that_ignores_sigterm_is_recorded_for_two_more_seconds_and_left() {
    let machine = Machine::take("trace-deaf-to-all");
    machine.script("deaf", "trap '' TERM; touch ready; exec sleep 3");
    let running = machine.start(&["trace", "--", "./deaf"]);
    wait_for_file(&machine.folder().join("ready"));
    let sent = MonotonicClock.now();
    signal_one(running.pid(), Signal::TERM).unwrap();
    let ended = running.end().with_code(130);
    assert!(ended.stderr.contains("did not end and is still running"), "{}", ended.stderr);
    let end = end_ns(&recording(&machine, "deaf.trace"));
    assert!(end >= (sent + Span::from_millis(2_000)).nanos(), "{end} {}", sent.nanos());
    machine.nothing_is_left();
}

pub(crate) fn wait_for_file(path: &Path) {
    let limit = Instant::now() + PATIENCE;
    while !path.exists() && Instant::now() < limit {
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_program_leaves_its_marks() {
    let machine = Machine::take("trace-killed");
    let body = "hemiola_task_t t = hemiola_task(\"short\", 0, 0);
        hemiola_begin(&t, 0); hemiola_mark(&t, \"last words\", 1); abort();";
    let Some(_) = program(&machine, body) else { return };
    machine.hemiola(&["trace", "--", "./program"]).with_code(128 + 6);
    let recording = recording(&machine, "program.trace");
    assert_eq!(kinds(track(&recording, "short")), [EventKind::Start, EventKind::MarkSigned]);
    let died = recording.events().any(|event| {
        let left = hemiola_trace::sched::Left::Dead;
        matches!(event.what, What::Switch { left: state, .. } if state == left)
    });
    assert!(died, "its end is seen");
}

#[test]
fn a_killed_recorder_leaves_a_readable_trace_and_a_running_program() {
    let machine = Machine::take("trace-recorder-killed");
    let body = "hemiola_task_t t = hemiola_task(\"steady\", 0, 0);
        for (int n = 0; n < 100000 && access(\"stop\", F_OK); n++) { hemiola_mark(&t, \"n\", n); rest(500); }
        return 0;";
    let Some(program) = program(&machine, body) else { return };
    let program = program.to_str().unwrap();
    let mut running = machine.start(&["trace", "--", program]);
    wait_for(&machine.folder().join("program.trace"));
    sleep(Duration::from_millis(500));
    running.kill();
    sleep(Duration::from_millis(100));
    let alive = machine.processes().iter().any(|(_, line)| line == program);
    assert!(alive, "the program does not need its recorder");
    machine.write("stop", "");
    let (recording, errors) =
        Recording::read(&fs::read(machine.folder().join("program.trace")).unwrap());
    assert!(track(&recording, "steady").entries.len() > 100);
    assert_eq!(errors.last(), Some(&ReadError::Unfinished));
    let ended = machine.hemiola(&["analyze", "--json", "program.trace"]).with_code(0);
    assert!(ended.stderr.contains("its recorder was killed"), "{}", ended.stderr);
    let said: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = said["problems"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!(text.contains("its recorder was killed"), "{text}");
    machine.hemiola(&["analyze", "--strict", "program.trace"]).with_code(1);
    machine.nothing_is_left();
}

#[test]
fn a_running_process_is_recorded_for_a_given_time() {
    let machine = Machine::take("trace-attach");
    let script = "while :; do sleep 0.01; done";
    machine.script("busy", script);
    let mut busy = Running::start(machine.command("./busy", &[]));
    let pid = busy.pid().to_string();
    let arguments = ["trace", "-p", &pid, "--duration", "300ms", "-o", "busy.trace"];
    machine.hemiola(&arguments).with_code(0);
    busy.kill();
    let recording = recording(&machine, "busy.trace");
    assert!(runs(&recording, busy.pid()) > 3, "{}", runs(&recording, busy.pid()));
}

#[test]
fn a_running_scenario_is_recorded_by_its_name() {
    let machine = Machine::take("trace-run");
    machine.write("scenario.toml", &scenario::of(&[scenario::SHARED_MEMORY]));
    let mut running = machine.start(&["run", "scenario.toml", "--output", "result"]);
    let name = running.run_name();
    let arguments = ["trace", "--run", &name, "--duration", "300ms"];
    let traced = machine.hemiola(&arguments);
    running.signal(Signal::INT);
    running.end();
    traced.with_code(0);
    let recording = recording(&machine, &format!("{name}.trace"));
    assert!(recording.events().count() > 10);
    let ended = machine.hemiola(&["trace", "--run", "no-such"]).with_code(1);
    assert!(ended.stderr.contains("error: no scenario is running"), "{}", ended.stderr);
}

#[test]
fn invalid_requests_are_refused_with_a_hint_and_leave_nothing() {
    let machine = Machine::take("trace-bad");
    machine.write("text", "no program");
    for (arguments, code, said) in [
        (&["trace"][..], 2, "required"),
        (&["trace", "--", "no-such-program"], 2, "there is no program no-such-program\nhint: "),
        (&["trace", "--", "./text"], 2, "run `chmod +x ./text`"),
        (&["trace", "--", "/tmp"], 2, "error: /tmp is a folder, not a program\nhint: "),
        (&["trace", "--all", "-p", "1"], 2, "cannot be used with"),
        (&["trace", "-p", "one"], 2, "invalid value"),
        (&["trace", "-p", "4194303"], 1, "there is no process 4194303 to record"),
        (&["trace", "--run", "../../etc"], 1, "no scenario is running"),
        (&["trace", "--trigger", "miss", "--", "true"], 2, "--keep"),
        (&["trace", "--paused", "--all"], 2, "hint: add --control SOCKET"),
        (&["trace", "start", "--control", "absent"], 1, "no recording answers at absent"),
        (&["trace", "start"], 2, "--control"),
        (&["trace", "mark", "", "--control", "absent"], 2, "it is empty"),
        (&["trace", "snapshot", " ", "--control", "absent"], 2, "it is empty"),
        (&["trace", "--duration", "soon", "--", "true"], 2, "\"20ms\""),
        (&["trace", "--duration", "0s", "--", "true"], 2, "it must be longer than 0"),
        (&["trace", "--keep", "0s", "--", "true"], 2, "it must be longer than 0"),
        (&["trace", "-o", "no/such/folder/x", "--", "true"], 1, "cannot be written: "),
        (
            &["trace", "-o", "-", "--", "true"],
            2,
            "standard output, which belongs to the program\nhint: ",
        ),
    ] {
        let ended = machine.hemiola(arguments).with_code(code);
        assert!(ended.stderr.contains(said), "{arguments:?}: {}", ended.stderr);
    }
    let files: Vec<_> = fs::read_dir(machine.folder()).unwrap().flatten().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    machine.nothing_is_left();
}

#[test]
fn a_second_recording_into_a_file_is_refused_while_the_first_one_writes_it() {
    let machine = Machine::take("trace-twice");
    let running = machine.start(&["trace", "--", "sleep", "600"]);
    let limit = Instant::now() + PATIENCE;
    while fs::metadata(machine.folder().join("sleep.trace")).map_or(0, |meta| meta.len()) == 0 {
        assert!(Instant::now() < limit, "the first recording does not begin");
        sleep(Duration::from_millis(10));
    }
    let words = ["trace", "-o", "sleep.trace", "--", "touch", "started"];
    let refused = machine.hemiola(&words).with_code(1);
    let said = "error: sleep.trace is being written by another recording\nhint: choose another file with -o FILE";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    assert!(!machine.folder().join("started").exists());
    sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    running.end();
    assert!(recording(&machine, "sleep.trace").events().count() > 0);
    // The lock ends with the recorder.
    machine.hemiola(&words).with_code(0);
    assert_eq!(condition(&recording(&machine, "sleep.trace"), "recording"), Some("touch"));
    machine.nothing_is_left();
}

#[test]
fn a_pipe_is_refused_and_a_device_is_not() {
    let machine = Machine::take("trace-pipe");
    assert!(machine.command("mkfifo", &["pipe"]).status().unwrap().success());
    let ended = machine.hemiola(&["trace", "-o", "pipe", "--", "true"]).with_code(1);
    assert!(
        ended.stderr.contains("pipe is a pipe, and a recording needs a file\nhint: "),
        "{ended:?}"
    );
    let ended = machine.hemiola(&["trace", "-o", "/dev/null", "--", "true"]).with_code(0);
    assert!(!ended.stderr.contains("error"), "{ended:?}");
    machine.nothing_is_left();
}

#[test]
fn a_program_ignores_the_signals_that_its_recorder_was_started_to_ignore() {
    let machine = Machine::take("trace-ignored");
    let program = "kill -INT $$; kill -TERM $$; echo survived";
    for words in ["trace -o x.trace --", "measure command -r 2 --show-output --"] {
        let shell = format!("trap '' INT TERM; exec {PROGRAM} {words} sh -c '{program}'");
        let ended = Running::start(machine.command("sh", &["-c", &shell])).end().with_code(0);
        assert!(ended.stdout.starts_with("survived\n"), "{ended:?}");
    }
    machine.nothing_is_left();
}

#[test]
fn a_program_that_becomes_another_user_is_recorded_with_its_marks() {
    let machine = Machine::take("trace-user");
    let body = "if (setgid(65534) || setuid(65534)) return 9;
        hemiola_task_t t = hemiola_task(\"control\", 0, 0);
        hemiola_begin(&t, 0); hemiola_end(&t);
        return hemiola_is_recorded() ? 0 : 1;";
    let Some(_) = program(&machine, body) else { return };
    let ended = machine.hemiola(&["trace", "--", "./program"]);
    if ended.status.code() == Some(9) {
        println!("skipped: needs root");
        return;
    }
    ended.with_code(0);
    assert_eq!(track(&recording(&machine, "program.trace"), "control").entries.len(), 2);
    machine.nothing_is_left();
}

#[test]
fn a_recording_that_does_not_begin_leaves_an_existing_one() {
    let machine = Machine::take("trace-survives");
    machine.hemiola(&["trace", "-o", "old.trace", "--", "true"]).with_code(0);
    let before = fs::read(machine.folder().join("old.trace")).unwrap();
    for file in ["old.trace", "new.trace"] {
        let words = ["trace", "-o", file, "--control", "no/such/folder/s", "--", "true"];
        let ended = machine.hemiola(&words).with_code(1);
        assert!(ended.stderr.contains("cannot listen at no/such/folder/s"), "{}", ended.stderr);
    }
    assert_eq!(fs::read(machine.folder().join("old.trace")).unwrap(), before);
    assert!(!machine.folder().join("new.trace").exists());
    // Where not even the beginning can be written, no part of it stays.
    let Some(disk) = SmallDisk::mount(&machine.folder().join("small"), "64k") else { return };
    disk.fill();
    machine.hemiola(&["trace", "-o", "small/x.trace", "--", "true"]).with_code(1);
    assert!(!machine.folder().join("small/x.trace").exists());
    machine.nothing_is_left();
}

#[test]
fn a_full_disk_ends_the_recording_but_not_the_program() {
    let machine = Machine::take("trace-full");
    let arguments = ["trace", "-o", "/dev/full", "--", "sh", "-c", "sleep 0.1; echo done"];
    let ended = machine.hemiola(&arguments).with_code(1);
    assert!(ended.stderr.contains("cannot be written: No space left"), "{}", ended.stderr);
    machine.nothing_is_left();
}

#[test]
fn a_disk_that_becomes_full_does_not_change_the_status_of_the_program() {
    let machine = Machine::take("trace-filled");
    let Some(_disk) = SmallDisk::mount(&machine.folder().join("small"), "96k") else { return };
    let script =
        "for n in $(seq 800); do head -c 1 /dev/zero | cat > /dev/null; done; echo done; exit 7";
    let arguments = ["trace", "-o", "small/x.trace", "--", "sh", "-c", script];
    let ended = machine.hemiola(&arguments).with_code(7);
    assert_eq!(ended.stdout, "done\n");
    assert!(
        ended.stderr.contains("small/x.trace: the trace cannot be written"),
        "{}",
        ended.stderr
    );
    let (_, errors) = Recording::read(&fs::read(machine.folder().join("small/x.trace")).unwrap());
    assert_eq!(errors.last(), Some(&ReadError::Unfinished));
}

#[test]
fn a_hang_up_ends_the_recording_in_order() {
    let machine = Machine::take("trace-hang-up");
    let running = machine.start(&["trace", "--", "sleep", "600"]);
    wait_for(&machine.folder().join("sleep.trace"));
    sleep(Duration::from_millis(200));
    running.signal(Signal::HUP);
    // As from a terminal, the program got it too.
    running.end().with_code(128 + 1);
    assert!(recording(&machine, "sleep.trace").events().count() > 0);
    machine.nothing_is_left();
}

/// The texts in the recorder's own track.
pub(crate) fn notes(recording: &Recording) -> Vec<String> {
    let track = track(recording, "hemiola trace");
    let name = |arg| track.names.get(EventKind::Mark, arg).unwrap().to_owned();
    track.entries.iter().map(|entry| name(entry.arg)).collect()
}

#[test]
fn any_program_controls_a_recording_of_the_system() {
    let machine = Machine::take("trace-control");
    let running = machine.start(&[
        "trace",
        "--all",
        "--paused",
        "--control",
        "s",
        "--duration",
        "60s",
        "-o",
        "all.trace",
    ]);
    wait_for_file(&machine.folder().join("s"));
    let ask = |words: &[&str]| machine.hemiola(&[&["trace"], words, &["--control", "s"]].concat());
    let started = ask(&["start"]);
    if started.stderr.contains("no recording answers") {
        permitted(&running.end());
        return;
    }
    started.with_code(0);
    ask(&["mark", "lap 1"]).with_code(0);
    // In C and in Python, one call each.
    if program(&machine, "return hemiola_control(\"s\", \"mark from C\") ? 1 : 0;").is_some() {
        let status = Command::new("./program").current_dir(machine.folder()).status().unwrap();
        assert!(status.success());
    }
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/python");
    let line = "import hemiola_mark; assert hemiola_mark.control('s', 'mark from Python')";
    let mut command = Command::new("python3");
    command.args(["-B", "-c", line]).env("PYTHONPATH", python).current_dir(machine.folder());
    assert!(command.status().is_ok_and(|status| status.success()));
    assert!(hemiola_mark::control(machine.folder().join("s").to_str().unwrap(), "mark from Rust"));
    ask(&["snapshot", "half"]).with_code(0);
    let again = ask(&["snapshot", "half"]).with_code(1);
    assert!(again.stderr.contains("half.trace cannot be written: File exists"), "{}", again.stderr);
    let refused = ask(&["trigger", "now"]).with_code(1);
    assert!(refused.stderr.contains("start it with --keep"), "{}", refused.stderr);
    ask(&["stop"]).with_code(0);
    sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    running.end().with_code(0);

    let all = recording(&machine, "all.trace");
    let marks = ["start", "lap 1", "from C", "from Python", "from Rust"];
    assert_eq!(notes(&all), [&marks[..], &["stop"]].concat());
    // Nothing is recorded before the start.
    let start = track(&all, "hemiola trace").entries[0].at;
    assert!(all.events().all(|event| event.at >= start));
    assert!(all.events().count() > 10);
    // The snapshot is a whole recording of the part before it.
    let half = recording(&machine, "half.trace");
    assert_eq!(notes(&half), marks);
    assert!(half.events().count() > 10 && half.events().count() <= all.events().count());
    assert!(!machine.folder().join("s").exists());
    machine.nothing_is_left();
}

/// Starts a recording that inherits this descriptor and is controlled through it.
fn controlled(machine: &Machine, fd: impl AsFd, words: &[&str]) -> Running {
    clear_cloexec(&fd).unwrap();
    let place = format!("fd:{}", fd.as_fd().as_raw_fd());
    machine.start(&[&["trace", "--control", &place], words].concat())
}

#[test]
fn an_inherited_connection_controls_a_recording() {
    let machine = Machine::take("trace-inherited");
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    // The program itself does not inherit the recorder's end.
    let program = format!("test ! -e /proc/self/fd/{} && sleep 600", theirs.as_raw_fd());
    let words = ["--paused", "-o", "p.trace", "--", "sh", "-c", &program];
    let running = controlled(&machine, &theirs, &words);
    drop(theirs);
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    let now = || hemiola_mark::now_ns();
    let lines = format!("{} start\n{} mark raw\n{} dance\n", now(), now(), now());
    ours.write_all(lines.as_bytes()).unwrap();
    let mut answers = BufReader::new(ours.try_clone().unwrap()).lines();
    let mut answer = || answers.next().unwrap().unwrap();
    assert_eq!((answer(), answer()), ("ok".into(), "ok".into()));
    assert!(answer().starts_with("error: expected"));

    // Each of the ways to send a request uses the connection too.
    clear_cloexec(&ours).unwrap();
    let place = format!("fd:{}", ours.as_raw_fd());
    assert!(hemiola_mark::control(&place, "mark from Rust"));
    assert!(
        !hemiola_mark::control(&place, "trigger refused") && !hemiola_mark::control("fd:x", "stop")
    );
    machine.hemiola(&["trace", "mark", "from a command", "--control", &place]).with_code(0);
    if self::program(
        &machine,
        &format!("return hemiola_control(\"{place}\", \"mark from C\") ? 1 : 0;"),
    )
    .is_some()
    {
        assert!(machine.command("./program", &[]).status().unwrap().success());
    }
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/python");
    let line =
        format!("import hemiola_mark; assert hemiola_mark.control('{place}', 'mark from Python')");
    let mut command = machine.command("python3", &["-B", "-c", &line]);
    assert!(command.env("PYTHONPATH", python).status().is_ok_and(|status| status.success()));
    machine.hemiola(&["trace", "snapshot", "half", "--control", &place]).with_code(0);
    // The recording continues without its other end.
    drop((ours, answers));
    sleep(Duration::from_millis(300));
    running.signal(Signal::INT);
    running.end();

    let marks = ["start", "raw", "from Rust", "from a command", "from C", "from Python"];
    assert_eq!(notes(&recording(&machine, "half.trace")), marks);
    assert_eq!(notes(&recording(&machine, "p.trace")), marks);
    machine.nothing_is_left();
}

#[test]
fn an_inherited_listening_socket_controls_a_recording() {
    let machine = Machine::take("trace-listening");
    let path = machine.folder().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let running = controlled(&machine, &listener, &["-o", "p.trace", "--", "sleep", "600"]);
    drop(listener);
    for text in ["one", "two"] {
        machine.hemiola(&["trace", "mark", text, "--control", "s"]).with_code(0);
    }
    running.signal(Signal::INT);
    running.end();
    assert_eq!(notes(&recording(&machine, "p.trace")), ["one", "two"]);
    // Only a socket that the recording created is removed.
    assert!(path.exists());

    // Other descriptors are refused before anything is created.
    fs::remove_file(machine.folder().join("p.trace")).unwrap();
    let file = fs::File::open(machine.write("text", "text")).unwrap();
    let ended = controlled(&machine, &file, &["-o", "p.trace", "--", "true"]).end().with_code(1);
    assert!(ended.stderr.contains("cannot be controlled through fd:"), "{}", ended.stderr);
    let ended = machine.hemiola(&["trace", "--control", "7", "-o", "p.trace", "--", "true"]);
    assert!(ended.with_code(2).stderr.contains("write fd:7 for the descriptor 7, or ./7"));
    assert!(!machine.folder().join("p.trace").exists());
    machine.nothing_is_left();
}

#[test]
fn a_flight_recorder_writes_snapshots_and_ends_at_a_request() {
    let machine = Machine::take("trace-snapshots");
    let arguments =
        ["trace", "--keep", "10s", "--control", "s", "-o", "p.trace", "--", "sleep", "600"];
    let running = machine.start(&arguments);
    wait_for_file(&machine.folder().join("s"));
    for request in [["snapshot", "one"], ["snapshot", "two"], ["trigger", "enough"]] {
        sleep(Duration::from_millis(200));
        machine.hemiola(&["trace", request[0], request[1], "--control", "s"]).with_code(0);
    }
    sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    let ended = running.end();
    assert!(ended.stderr.contains("trigger: requested: enough"), "{}", ended.stderr);
    let counts = ["one", "two", "p"]
        .map(|name| recording(&machine, &format!("{name}.trace")).events().count());
    assert!(counts[0] > 0 && counts.is_sorted(), "{counts:?}");
    machine.nothing_is_left();
}

#[test]
fn a_program_gets_its_own_arguments_and_streams() {
    let machine = Machine::take("trace-words");
    let words = ["trace", "-o", "w.trace", "--", "printf", "%s|", "--all", "a b", "-p", PROGRAM];
    let ended = machine.hemiola(&words).with_code(0);
    assert_eq!(ended.stdout, format!("--all|a b|-p|{PROGRAM}|"));
}
