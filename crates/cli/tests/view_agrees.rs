//! What the page says of a recording is what the other commands say of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use hemiola_trace::perfetto::{Names, TraceWriter};
use hemiola_trace::sched::{Event, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind, ReadError, Recording};
use hemiola_units::Instant as Moment;
use serde_json::{Value, json};

use crate::command::PROGRAM;
use crate::machine::{Machine, PATIENCE};
use crate::view::{Page, jobs};

/// The recording of [`jobs`] of which no deadline was missed, by a recorder that was killed.
fn unclosed(machine: &Machine, name: &str) -> PathBuf {
    let path = jobs(machine, name, 0);
    let mut bytes = fs::read(&path).unwrap();
    // The packet that closes a recording is its last.
    let reads = |len: usize| Recording::open(Arc::new(bytes[..len].to_vec())).1;
    let is_unclosed = |len: &usize| reads(*len) == [ReadError::Unfinished];
    let len = (1..bytes.len()).rev().find(is_unclosed).unwrap();
    bytes.truncate(len);
    fs::write(&path, bytes).unwrap();
    path
}

/// What `hemiola analyze --json` prints in the folder of a test.
fn analyzed(machine: &Machine, path: &Path) -> Value {
    let path = path.to_str().unwrap();
    let ended = machine.hemiola(&["analyze", path, "--json"]).with_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_recording_without_an_end_is_in_progress_only_while_it_is_written() {
    let machine = Machine::take("view-killed");
    let path = unclosed(&machine, "killed.trace");
    let page = Page::serve(&[&path]);
    let about = |page: &Page| {
        let recording = page.json("api/recording?r=0");
        (recording["in_progress"].clone(), recording["problems"].to_string())
    };
    assert_eq!(about(&page), (json!(true), "[]".to_owned()));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let (in_progress, problems) = about(&page);
    assert!(in_progress == json!(false) && problems.contains("was not closed"), "{problems}");
    // A page that is open reads a recording again when it has another version.
    let version = || page.json("api/sources")["recordings"][0]["version"].as_u64();
    let limit = Instant::now() + PATIENCE;
    while version() < Some(2) {
        assert!(Instant::now() < limit, "the page is not told");
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_millis(100));
    assert_eq!((version(), about(&page).1), (Some(2), problems), "it is read once");
}

/// A machine file with this cost of a context switch, ns.
fn machine_file(machine: &Machine, path: &str, switch: u64) {
    let path = machine.folder().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!(
        "format = 1\nmeasured_unix_s = 1700000000\n[identity]\ncpu_model = \"Test\"\ncpus_online = 2\n\
         kernel = \"6.1\"\n[[figure]]\nname = \"context_switch.pipe.same_core.warm\"\nvalue = {switch}.0\n\
         unit = \"ns\"\nlow = {switch}.0\nhigh = {switch}.0\nstd = 0.0\nsystematic = 0.0\np99 = {switch}.0\n\
         samples = 5\nblocks = 5\nbatch = 1\noverhead = 0.0\ncircumstances = \"made up\"\n"
    );
    fs::write(path, text).unwrap();
}

#[test]
fn the_verdict_charges_the_measured_cost_of_a_switch() {
    let machine = Machine::take("view-verdict");
    let path = jobs(&machine, "met.trace", 0);
    let page = |more: &[&str]| {
        let words = [&["view", path.to_str().unwrap()], more].concat();
        let page = Page::start(machine.command(PROGRAM, &words));
        page.json("api/report?r=0")["verdict"]["words"].clone()
    };
    let printed = || {
        let verdict = analyzed(&machine, &path)["schedulability"].clone();
        let of = |of: &str| verdict[of].as_array().unwrap().clone().into_iter();
        let judged = of("processors").chain(of("reservations"));
        judged.map(|one| one["verdict"].clone()).chain(of("notes")).collect::<Value>()
    };
    let without = page(&[]);
    assert_eq!(without, printed());
    machine_file(&machine, "results/measure-1/machine.toml", 600_000);
    let newest = page(&[]);
    assert_eq!(newest, printed());
    assert_ne!(newest, without);
    machine_file(&machine, "other.toml", 600_000);
    fs::remove_dir_all(machine.folder().join("results")).unwrap();
    assert_eq!(page(&["--machine", "other.toml"]), newest);
}

/// A recording of a thread under these conditions: it runs from 1 ms on, and nothing is known of the time from 2 to
/// 3 ms. Its program marks one job of 5 ms that is due after 1 s, from 1.5 ms or 6 ms on.
fn paused(machine: &Machine, name: &str, conditions: &[(&str, &str)], start_us: u64) -> PathBuf {
    let at = |us: u64| Moment::from_nanos(5_000_000_000 + 1_000 * us);
    let (worker, idle) = (Tid(701), Tid::IDLE);
    let event = |us, what| Event { at: at(us), cpu: 0, what };
    let switch = |prev, next| What::Switch { prev, left: Left::Sleeping, next, priority: 120 };
    let before = [event(1_000, switch(idle, worker)), event(2_000, switch(worker, idle))];
    let after = [
        event(3_000, What::Lost(0)),
        event(5_000, switch(idle, worker)),
        event(20_000, switch(worker, idle)),
    ];
    let name_of =
        |since| Thread { tid: worker, since, pid: 700, name: "worker".into(), new: false };
    let mark =
        |us, kind, a: Moment| Entry { at: at(us), kind, arg: 0, cycle: 1, a: a.nanos(), b: 0 };
    let path = machine.folder().join(name);
    let file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let mut writer = TraceWriter::new(file, at(0), 0, conditions).unwrap();
    writer.threads(&[name_of(Moment::ZERO)]).unwrap();
    writer.kernel(0, &before).unwrap();
    writer.kernel(0, &after).unwrap();
    let track = writer.process(701, "work", Names::default()).unwrap();
    let start = mark(start_us, EventKind::Start, at(start_us));
    let finish = mark(start_us + 5_000, EventKind::Finish, at(start_us + 1_000_000));
    writer.entries(track, &[start, finish]).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn a_pause_is_not_called_a_loss() {
    let machine = Machine::take("view-pause");
    let about = |path: &Path| {
        let recording = Page::serve(&[path]).json("api/recording?r=0");
        ["gaps_lost", "pauses", "problems"].map(|key| recording[key].clone())
    };
    let own = paused(&machine, "own.trace", &[("hemiola", "0.1.0")], 6_000);
    assert_eq!(about(&own), [json!(0), json!(1), json!([])]);
    assert_eq!(analyzed(&machine, &own)["problems"], json!([]));
    // Another tool does not pause.
    let other = paused(&machine, "other.trace", &[], 6_000);
    let [lost, pauses, problems] = about(&other);
    assert_eq!(
        (lost, pauses, &problems[0]),
        (json!(1), json!(0), &analyzed(&machine, &other)["problems"][0]["text"])
    );
}

#[test]
fn a_gate_fails_for_a_marked_deadline_without_a_job_that_was_seen_to_its_end() {
    let machine = Machine::take("analyze-gate-marked");
    let gate = |start_us| {
        paused(&machine, "work.trace", &[("hemiola", "0.1.0")], start_us);
        machine.hemiola(&["analyze", "work.trace", "--gate", "--strict"])
    };
    assert_eq!(gate(6_000).with_code(0).stderr, "");
    let text = "gate: no job of work was seen to its end, so nothing shows that it keeps its deadline of 1.00 s\n";
    assert_eq!(gate(1_500).with_code(1).stderr, text);
    // Once it is stated on the command line, once is enough.
    let stated = ["analyze", "work.trace", "--gate", "--period", "work=20s"];
    assert_eq!(machine.hemiola(&stated).with_code(1).stderr.lines().count(), 1);
}

#[test]
fn an_empty_recording_is_called_one() {
    let machine = Machine::take("view-empty");
    let path = machine.folder().join("empty.trace");
    let file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    TraceWriter::new(file, Moment::ZERO, 0, &[("hemiola", "0.1.0")]).unwrap().close().unwrap();
    for command in [&["analyze", "empty.trace"][..], &["view", "empty.trace", "--no-open"]] {
        let text = machine.hemiola(command).with_code(2).stderr;
        assert!(
            text.starts_with("error: empty.trace is a recording without any event\nhint: "),
            "{text}"
        );
    }
}

#[test]
fn a_thread_whose_name_is_a_number_is_found_by_its_own() {
    let machine = Machine::take("analyze-number");
    let numbered = machine.folder().join("numbered.trace");
    let file = std::io::BufWriter::new(fs::File::create(&numbered).unwrap());
    let at = Moment::from_nanos;
    let mut writer = TraceWriter::new(file, at(0), 0, &[]).unwrap();
    let thread = Thread { tid: Tid(701), since: at(0), pid: 701, name: "123".into(), new: false };
    writer.threads(&[thread]).unwrap();
    let switch = |ns, prev, next| {
        let what = What::Switch { prev, left: Left::Sleeping, next, priority: 120 };
        Event { at: at(ns), cpu: 0, what }
    };
    let events = [switch(1_000, Tid::IDLE, Tid(701)), switch(2_000, Tid(701), Tid::IDLE)];
    writer.kernel(0, &events).unwrap();
    writer.close().unwrap();
    let by = |thread| machine.hemiola(&["analyze", "numbered.trace", "--thread", thread]);
    by("701").with_code(0);
    assert_eq!(
        by("123").with_code(2).stderr,
        "error: no thread or task of the recording has the number 123\n\
         hint: the thread of that name has the number 701: give that\n"
    );
}
