//! `hemiola analyze`: tables, JSON, CSV, a text chart, and errors.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use hemiola_analyze::sched::synthetic::{Task, run};
use hemiola_trace::perfetto::{Names, TraceWriter};
use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Random, Span};
use hemiola_wire::{put_message, put_number};

use crate::command::{PROGRAM, Running};
use crate::compare::recorded as steady;
use crate::machine::Machine;
use crate::small_disk::SmallDisk;
use crate::view::{Page, foreign, pipe};

/// Records two tasks on one processor for a second. The slower one marks its jobs and misses some deadlines.
fn recorded(machine: &Machine) {
    let task = |name: &str, tid, period_ns, execution_ns| Task {
        name: name.into(),
        tid,
        cpu: 0,
        priority: tid as i16,
        period_ns,
        offset_ns: 1_000_000,
        jitter_ns: 10_000,
        execution_min_ns: execution_ns / 2,
        execution_max_ns: execution_ns,
        ..Task::default()
    };
    let tasks = [task("urgent", 11, 1_000_000, 300_000), task("slow", 12, 10_000_000, 2_000_000)];
    let (recording, jobs) = run(&tasks, 1_000_000_000, 7);
    let mut file = Vec::new();
    let conditions = [("kernel", "Linux of a test")];
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &conditions).unwrap();
    writer.threads(&recording.threads).unwrap();
    writer.kernel(0, &recording.events().collect::<Vec<Event>>()).unwrap();
    let track = writer.process(12, "slow job", Names::default()).unwrap();
    let entries: Vec<Entry> = (0_u32..)
        .zip(&jobs[1])
        .flat_map(|(cycle, job)| {
            let entry =
                |at, kind, a| Entry { at: Instant::from_nanos(at), kind, arg: 0, cycle, a, b: 0 };
            let start = entry(job.start_ns, EventKind::Start, job.release_ns);
            [start, entry(job.finish_ns - 1, EventKind::Finish, job.release_ns + 2_200_000)]
        })
        .collect();
    writer.entries(track, &entries).unwrap();
    writer.close().unwrap();
    drop(writer);
    fs::write(machine.folder().join("two.trace"), file).unwrap();
}

#[test]
fn a_recording_has_its_figures_as_tables_json_and_csv() {
    let machine = Machine::take("analyze-figures");
    recorded(&machine);
    let shown = machine.hemiola(&["analyze", "two.trace"]).with_code(0).stdout;
    for text in
        ["urgent", "slow job", "ΣC/T", "Missed deadlines, explained", "late: ", "Linux of a test"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let json = machine.hemiola(&["analyze", "two.trace", "--json"]).with_code(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let threads = report["threads"].as_array().unwrap();
    let urgent = threads.iter().find(|thread| thread["name"] == "urgent").unwrap();
    assert_eq!(urgent["tid"], 11);
    assert!(urgent["invocations"].as_u64().unwrap() > 990);
    let period = urgent["period_ns"].as_f64().unwrap();
    assert!((period - 1e6).abs() < 1e4, "{period}");
    assert!((urgent["execution_ns"]["mean"].as_f64().unwrap() - 225e3).abs() < 7e3);
    assert!((urgent["utilization"].as_f64().unwrap() - 0.225).abs() < 0.007);
    assert!(urgent["response_ns"]["max"].as_u64().unwrap() <= 300_001);
    let slow = threads.iter().find(|thread| thread["name"] == "slow").unwrap();
    assert_eq!(slow["preempted_by"][0]["name"], "urgent");
    assert_eq!(
        (report["lost_events"].as_u64(), report["switches"].as_u64().unwrap() > 2000),
        (Some(0), true)
    );
    assert_eq!(report["tasks"][0]["missed"], report["missed_deadlines"]);
    let csv = machine.hemiola(&["analyze", "two.trace", "--csv"]).with_code(0).stdout;
    assert_eq!(csv.lines().count(), 4);
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| columns(line) == columns(csv.lines().next().unwrap())), "{csv}");
}

/// Records 1,200 threads that run one after another, 300 times each.
fn many_threads(machine: &Machine) {
    const THREADS: u32 = 1_200;
    let mut file = fs::File::create(machine.folder().join("many.trace")).unwrap();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
    let mut random = Random::from_seed(1);
    let (mut now, mut prev) = (1_000, Tid::IDLE);
    for _ in 0..300 {
        let mut events = Vec::new();
        for tid in (1..=THREADS).map(Tid) {
            let at = Instant::from_nanos(now);
            let what = What::Wake { tid, waker: prev, context: Context::Interrupt, target: 0 };
            events.push(Event { at, cpu: 0, what });
            let at = Instant::from_nanos(now + random.below(1_000));
            let what = What::Switch { prev, left: Left::Sleeping, next: tid, priority: 120 };
            events.push(Event { at, cpu: 0, what });
            (prev, now) = (tid, now + 1_000 + random.below(9_000));
        }
        writer.kernel(0, &events).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn figures_do_not_depend_on_the_room_for_temporary_data() {
    let machine = Machine::take("analyze-room");
    many_threads(&machine);
    let analyze = |directory: &Path| {
        let mut command = machine.command(PROGRAM, &["analyze", "--json", "many.trace"]);
        command.env("TMPDIR", directory);
        Running::start(command).end().with_code(0)
    };
    let outside = analyze(&machine.folder().join("tmp"));
    assert_eq!(outside.stderr, "");
    assert!(outside.stdout.contains("\"switches\": 360000"));
    machine.nothing_is_left();
    let refused = |directory: &Path, reason: &str| {
        let ended = analyze(directory);
        let warning =
            format!("temporary data cannot be written to {}: {reason}", directory.display());
        assert!(ended.stderr.contains(&warning), "{}", ended.stderr);
        assert!(
            ended.stdout == outside.stdout,
            "other figures without room in {}",
            directory.display()
        );
    };
    refused(&machine.folder().join("missing"), "No such file or directory");
    let small = machine.folder().join("small");
    if let Some(_disk) = SmallDisk::mount(&small, "96k") {
        refused(&small, "No space left on device");
    }
}

#[test]
fn a_gate_fails_for_missed_deadlines_and_passes_without() {
    let machine = Machine::take("analyze-gate");
    recorded(&machine);
    machine.hemiola(&["analyze", "two.trace"]).with_code(0);
    for arguments in
        [&["analyze", "two.trace", "--gate"][..], &["analyze", "two.trace", "--json", "--gate"]]
    {
        let ended = machine.hemiola(arguments).with_code(1);
        assert!(
            ended.stderr.contains("gate: ") && ended.stderr.contains("deadlines were missed"),
            "{ended:?}"
        );
        assert!(ended.stdout.contains("urgent"), "{arguments:?}");
    }
    // Without the marks, and at the periods that were found, nothing is late.
    steady(&machine, "steady.trace", 300_000, 1);
    let ended = machine.hemiola(&["analyze", "steady.trace", "--gate"]).with_code(0);
    assert_eq!(ended.stderr, "");
    let late = ["analyze", "steady.trace", "--gate", "--period", "urgent=200us"];
    machine.hemiola(&late).with_code(1);
}

#[test]
fn with_a_stated_period_other_threads_do_not_fail_the_gate() {
    let machine = Machine::take("analyze-gate-others");
    let task = |name: &str, tid, period_ns, execution_ns| Task {
        name: name.into(),
        tid,
        priority: tid as i16,
        period_ns,
        offset_ns: 1_000_000,
        execution_min_ns: execution_ns,
        execution_max_ns: execution_ns,
        asks: true,
        ..Task::default()
    };
    // Two less urgent loops of another program, one of which is late once the other comes with it.
    let tasks = [
        task("own", 11, 10_000_000, 2_000_000),
        task("long", 12, 35_000_000, 13_000_000),
        task("late", 13, 50_000_000, 25_000_000),
    ];
    let (recording, _) = run(&tasks, 2_000_000_000, 7);
    write(&machine, "others.trace", &recording.threads, &recording.events().collect::<Vec<_>>());
    let gate = ["analyze", "others.trace", "--gate"];
    let ended = machine.hemiola(&gate).with_code(1);
    assert!(ended.stderr.starts_with("gate: Processor 0: not schedulable"), "{}", ended.stderr);
    let with = |name| [&gate[..], &["--period", name]].concat();
    assert_eq!(machine.hemiola(&with("own=10ms")).with_code(0).stderr, "");
    machine.hemiola(&with("late=50ms")).with_code(1);
}

#[test]
fn a_gate_fails_for_a_stated_period_of_which_no_job_was_seen() {
    let machine = Machine::take("analyze-gate-unseen");
    let endless = Task {
        name: "endless".into(),
        tid: 11,
        period_ns: 10_000_000_000,
        offset_ns: 1_000_000,
        execution_min_ns: 5_000_000_000,
        execution_max_ns: 5_000_000_000,
        ..Task::default()
    };
    let (recording, _) = run(&[endless], 1_000_000_000, 7);
    write(&machine, "endless.trace", &recording.threads, &recording.events().collect::<Vec<_>>());
    machine.hemiola(&["analyze", "endless.trace", "--gate"]).with_code(0);
    let stated = ["analyze", "endless.trace", "--gate", "--period", "endless=20s"];
    let ended = machine.hemiola(&stated).with_code(1);
    let text = "gate: no job of endless was seen to its end, so nothing shows that it keeps 20s\n";
    assert_eq!(ended.stderr, text);
}

#[test]
fn a_gate_fails_where_it_is_not_known_that_a_stated_period_is_kept() {
    let machine = Machine::take("analyze-gate-doubt");
    let task = Task {
        name: "loop".into(),
        tid: 11,
        period_ns: 10_000_000,
        offset_ns: 1_000_000,
        execution_min_ns: 2_000_000,
        execution_max_ns: 2_000_000,
        ..Task::default()
    };
    let (recording, _) = run(&[task], 505_000_000, 7);
    // It asks for the release of each job, and hangs in its last one.
    let asks = |event: Event| match event.what {
        What::Switch { prev: Tid(11), .. } if event.at.nanos() < 500_000_000 => {
            let until = event.at + Span::from_millis(8);
            [Some(Event { what: What::SleepUntil(until.into()), ..event }), Some(event)]
        }
        _ => [None, Some(event)],
    };
    let mut events: Vec<Event> = recording.events().flat_map(asks).flatten().collect();
    let other = |at, prev, left, next| Event {
        at: Instant::from_nanos(at),
        cpu: 0,
        what: What::Switch { prev: Tid(prev), left, next: Tid(next), priority: 120 },
    };
    // Another thread runs later, so the loop has not been seen for half a second when the recording ends.
    events.push(other(1_000_000_000, 0, Left::Yielded, 12));
    events.push(other(1_000_100_000, 12, Left::Sleeping, 0));
    write(&machine, "hangs.trace", &recording.threads, &events);
    // Nobody has stated a requirement.
    machine.hemiola(&["analyze", "hangs.trace", "--gate"]).with_code(0);
    let stated = ["analyze", "hangs.trace", "--gate", "--period", "loop=10ms"];
    let ended = machine.hemiola(&stated).with_code(1);
    let text = "gate: it is not known that loop keeps 10ms: loop had slept for";
    assert!(ended.stderr.starts_with(text), "{}", ended.stderr);
}

/// Writes a recording of one processor.
fn write(machine: &Machine, name: &str, threads: &[Thread], events: &[Event]) {
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
    writer.threads(threads).unwrap();
    writer.kernel(0, events).unwrap();
    writer.close().unwrap();
    drop(writer);
    fs::write(machine.folder().join(name), file).unwrap();
}

#[test]
fn a_thread_a_time_range_and_a_period_can_be_selected() {
    let machine = Machine::take("analyze-parts");
    recorded(&machine);
    let one = machine.hemiola(&["analyze", "two.trace", "--thread", "slow"]).with_code(0).stdout;
    for text in ["slow [12]", "response", "Its slowest jobs", "preempted by urgent"] {
        assert!(one.contains(text), "{text}: {one}");
    }
    let picture =
        machine.hemiola(&["analyze", "two.trace", "--gantt", "100ms..104ms"]).with_code(0).stdout;
    let line = |name: &str| picture.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("urgent 11").contains('█') && line("slow 12").contains('·'), "{picture}");
    assert!(!line("urgent 11").contains('·'), "{picture}");
    let arguments = ["analyze", "two.trace", "--json", "--period", "urgent=200us"];
    let report: serde_json::Value =
        serde_json::from_str(&machine.hemiola(&arguments).with_code(0).stdout).unwrap();
    let threads = report["threads"].as_array().unwrap();
    let urgent = threads.iter().find(|thread| thread["name"] == "urgent").unwrap();
    assert_eq!(
        (urgent["period_ns"].as_u64(), urgent["period_from"].as_str()),
        (Some(200_000), Some("given"))
    );
    assert!(urgent["missed"].as_u64().unwrap() > 100);
}

#[test]
fn marks_of_other_programs_are_a_table_and_what_is_left_out_is_a_problem() {
    let machine = Machine::take("analyze-foreign");
    let path = foreign(&machine);
    let shown = machine.hemiola(&["analyze", "foreign.pftrace"]).with_code(0).stdout;
    for text in
        ["Marks", "worker [701]", "request", "4.00 ms", "connections", "cache miss", "7 jobs"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let one = machine.hemiola(&["analyze", "foreign.pftrace", "--thread", "worker"]).with_code(0);
    assert!(one.stdout.contains("parse") && !one.stdout.contains("connections"), "{}", one.stdout);

    // An instant on a clock that no snapshot relates to the others.
    let mut file = fs::read(&path).unwrap();
    put_message(&mut file, 1, |packet| {
        put_number(packet, 8, 5);
        put_number(packet, 58, 5);
        put_message(packet, 11, |event| put_number(event, 9, 3));
    });
    fs::write(&path, file).unwrap();
    let json = machine.hemiola(&["analyze", "foreign.pftrace", "--json"]).with_code(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let problem = json["problems"][0]["text"].as_str().unwrap();
    assert!(problem.starts_with("track events left out: 1 (no clock snapshot"), "{problem}");
    let of = |name: &str| {
        let marks = json["marks"].as_array().unwrap();
        marks.iter().find(|mark| mark["name"] == name).unwrap()
    };
    assert_eq!(of("request")["duration_ns"]["max"], 4_000_000);
    assert_eq!(
        (of("queue")["kind"].as_str(), of("queue")["values"]["mean"].as_f64()),
        (Some("counter"), Some(4.5))
    );
    machine.hemiola(&["analyze", "foreign.pftrace", "--strict"]).with_code(1);
}

/// Records a thread that runs for 1 ms in every 2 ms, marks each time, and has this in the middle.
fn with_gap(machine: &Machine, name: &str, conditions: &[(&str, &str)], gap: What) {
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, conditions).unwrap();
    let switch = |ns, prev, next| {
        let what =
            What::Switch { prev: Tid(prev), left: Left::Sleeping, next: Tid(next), priority: 20 };
        Event { at: Instant::from_nanos(ns), cpu: 0, what }
    };
    let jobs = |range: std::ops::Range<u64>| {
        let job = |n| [switch(n * 2_000_000, 0, 7), switch(n * 2_000_000 + 1_000_000, 7, 0)];
        range.flat_map(job).collect::<Vec<Event>>()
    };
    writer.kernel(0, &jobs(1..50)).unwrap();
    writer.kernel(0, &[Event { at: Instant::from_nanos(110_000_000), cpu: 0, what: gap }]).unwrap();
    writer.kernel(0, &jobs(60..100)).unwrap();
    let track = writer.process(7, "control", Names::default()).unwrap();
    let mark =
        |kind, a| Entry { at: Instant::from_nanos(3_000_000), kind, arg: 0, cycle: 0, a, b: 0 };
    let lost = if gap == What::Lost(12) { 5 } else { 0 };
    let entries = [mark(EventKind::Mark, 1), mark(EventKind::Lost, lost)];
    writer.entries(track, &entries).unwrap();
    writer.close().unwrap();
    drop(writer);
    fs::write(machine.folder().join(name), file).unwrap();
}

#[test]
fn a_recording_from_a_pipe_has_the_same_figures() {
    let machine = Machine::take("analyze-pipe");
    recorded(&machine);
    let bytes = fs::read(machine.folder().join("two.trace")).unwrap();
    pipe(&machine, "pipe", bytes.clone());
    let [file, piped] = ["two.trace", "pipe"]
        .map(|name| machine.hemiola(&["analyze", name, "--json"]).with_code(0).stdout);
    assert_eq!(file, piped);
    // A command that reads two.
    for name in ["left", "right"] {
        pipe(&machine, name, bytes.clone());
    }
    machine.hemiola(&["compare", "left", "right"]).with_code(0);
    pipe(&machine, "empty", Vec::new());
    let ended = machine.hemiola(&["analyze", "empty"]).with_code(2);
    assert!(ended.stderr.contains("error: empty is not a recording: the file is empty"));
}

#[test]
fn lost_events_are_problems_of_a_recording() {
    let machine = Machine::take("analyze-lost");
    let own = [("hemiola", "1.0")];
    with_gap(&machine, "lost.trace", &own, What::Lost(12));
    with_gap(&machine, "paused.trace", &own, What::Lost(0));
    with_gap(&machine, "offline.trace", &own, What::Online(true));
    with_gap(&machine, "foreign.trace", &[], What::Lost(0));
    let problems = |name: &str, code| {
        let ended = machine.hemiola(&["analyze", name, "--json", "--strict"]).with_code(code);
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let problems = json["problems"].as_array().unwrap();
        let texts: Vec<String> =
            problems.iter().map(|problem| problem["text"].as_str().unwrap().to_owned()).collect();
        assert!(texts.iter().all(|text| ended.stderr.contains(text)), "{}", ended.stderr);
        texts
    };
    let lost = ["12 kernel events were lost in one gap", "5 program marks were lost"];
    assert_eq!(problems("lost.trace", 1), lost);
    with_gap(&machine, "one.trace", &own, What::Lost(1));
    assert_eq!(problems("one.trace", 1), ["1 kernel event was lost in one gap"]);
    // A pause of the program, or a processor that was offline.
    assert_eq!(problems("paused.trace", 0), [""; 0]);
    assert_eq!(problems("offline.trace", 0), [""; 0]);
    let foreign = ["an unknown number of kernel events was lost in one gap"];
    assert_eq!(problems("foreign.trace", 1), foreign);

    machine.hemiola(&["compare", "paused.trace", "lost.trace"]).with_code(0);
    let compared = machine.hemiola(&["compare", "paused.trace", "lost.trace", "--strict"]);
    assert!(compared.with_code(1).stderr.contains(lost[0]));
    let page = Page::serve(&[&machine.folder().join("lost.trace")]);
    assert_eq!(page.json("api/recording?r=0")["problems"], serde_json::json!(lost));
}

#[test]
fn invalid_input_is_refused_with_the_reason() {
    let machine = Machine::take("analyze-refused");
    recorded(&machine);
    machine.write("empty.trace", "");
    machine.write("text.trace", "this is no recording");
    fs::create_dir_all(machine.folder().join("results/traces")).unwrap();
    machine.write("results/traces/loop-2.pftrace", "");
    machine.write("results/traces/loop-1.pftrace", "");
    let trace = fs::read(machine.folder().join("two.trace")).unwrap();
    fs::write(machine.folder().join("cut.trace"), &trace[..trace.len() - 3]).unwrap();
    for (arguments, code, expected) in [
        (&["analyze", "none.trace"][..], 2, "cannot be read"),
        (&["analyze", "empty.trace"], 2, "the file is empty"),
        (&["analyze", "text.trace"], 2, "is not a recording"),
        (
            &["analyze", "results"],
            2,
            "give one of its traces, such as results/traces/loop-1.pftrace",
        ),
        (&["analyze", "results/traces"], 2, "is a folder, not a recording"),
        (&["analyze", "two.trace", "--thread", "urgnt"], 2, "did you mean \"urgent\"?"),
        (&["analyze", "two.trace", "--thread", "99"], 2, "no thread or task"),
        (&["analyze", "two.trace", "--period", "urgent"], 2, "control=10ms"),
        (&["analyze", "two.trace", "--period", "nobody=1ms"], 2, "no thread or task"),
        (&["analyze", "two.trace", "--gantt", "2s..1s"], 2, "1.2s..1.25s"),
        (&["analyze", "two.trace", "--gantt", "5s..6s"], 2, "before the requested start at 5s"),
    ] {
        let ended = machine.hemiola(arguments).with_code(code);
        assert!(
            ended.stderr.contains(expected) && ended.stdout.is_empty(),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    // The readable part of a truncated recording is shown, with a warning.
    let ended = machine.hemiola(&["analyze", "cut.trace"]).with_code(0);
    assert!(
        ended.stderr.contains("the trace ends within") && ended.stdout.contains("urgent"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_name_that_is_no_text_is_a_name_like_any_other() {
    let machine = Machine::take("analyze-bytes");
    recorded(&machine);
    let name = OsStr::from_bytes(b"two\xff.trace");
    fs::copy(machine.folder().join("two.trace"), machine.folder().join(name)).unwrap();
    let ended = Command::new(PROGRAM)
        .current_dir(machine.folder())
        .args([OsStr::new("analyze"), name])
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(String::from_utf8(ended.stdout).unwrap().contains("urgent"));
}

#[test]
fn a_truncated_recording_is_a_problem_in_json_and_a_failure_under_strict() {
    let machine = Machine::take("analyze-cut");
    recorded(&machine);
    let trace = fs::read(machine.folder().join("two.trace")).unwrap();
    for len in [trace.len() / 2, trace.len() - 3, trace.len() - 1] {
        fs::write(machine.folder().join("cut.trace"), &trace[..len]).unwrap();
        let analyze = |options: &[&str]| {
            machine.hemiola(&[&["analyze", "cut.trace", "--json"], options].concat())
        };
        let lax = analyze(&[]).with_code(0);
        let json: serde_json::Value = serde_json::from_str(&lax.stdout).unwrap();
        let problems = json["problems"].as_array().unwrap();
        let text = problems[0]["text"].as_str().unwrap();
        assert!(text.contains("the trace ends within"), "{len}: {text}");
        assert!(problems.iter().all(|one| one["file"] == "cut.trace"), "{problems:?}");
        assert!(lax.stderr.contains(&format!("warning: cut.trace: {text}")), "{}", lax.stderr);
        // What could be read is shown in both cases.
        assert!(lax.stdout.contains("urgent"), "{}", lax.stdout);
        let strict = analyze(&["--strict"]).with_code(1);
        assert!(strict.stdout == lax.stdout && strict.stderr.contains(text), "{strict:?}");
    }
}

#[test]
fn the_name_of_a_file_cannot_control_the_terminal() {
    let machine = Machine::take("analyze-names");
    recorded(&machine);
    let trace = fs::read(machine.folder().join("two.trace")).unwrap();
    let [cut, none] = ["cut\u{1b}[31m.trace", "none\u{1b}]0;title\u{7}.trace"];
    fs::write(machine.folder().join(cut), &trace[..trace.len() - 3]).unwrap();
    for (arguments, code) in [
        (&["analyze", cut][..], 0),
        (&["analyze", "--json", cut], 0),
        (&["analyze", none], 2),
        (&["compare", cut, "two.trace"], 0),
        (&["compare", "two.trace", none], 2),
        (&["view", "--no-open", none], 2),
    ] {
        let ended = machine.hemiola(arguments).with_code(code);
        assert!(ended.stderr.contains(r"\u{1b}"), "{arguments:?}: {:?}", ended.stderr);
        let text = ended.stdout + &ended.stderr;
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{arguments:?}: {text:?}");
    }
}

#[test]
fn the_name_of_a_file_cannot_forge_a_message() {
    let machine = Machine::take("forged-names");
    recorded(&machine);
    let name = "none\nerror: forged\nhint: forged";
    let trace = fs::read(machine.folder().join("two.trace")).unwrap();
    fs::write(machine.folder().join("cut\nerror: forged"), &trace[..trace.len() - 3]).unwrap();
    for arguments in [
        &["analyze", "cut\nerror: forged"][..],
        &["analyze", name],
        &["compare", name, "two.trace"],
        &["fom", "check", name],
        &["generate", name],
        &["measure", "compare", name, name],
        &["measure", "command", "true", "--import-json", name],
        &["measure", "command", "true", "--export-json", "none\nerror: forged/x"],
        &["model", name],
        &["model", "check", name],
        &["report", name],
        &["run", name],
        &["universe", "check", name],
        &["view", "--no-open", name],
    ] {
        let ended = machine.hemiola(arguments);
        let mut lines = ended.stderr.lines();
        let forged = |line: &str| line.starts_with("error: forged") || line == "hint: forged";
        assert!(!lines.any(forged), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn what_clap_repeats_of_a_command_line_cannot_control_the_terminal() {
    let machine = Machine::take("clap-names");
    for arguments in [
        &["analyze", "--none\u{9b}31m"][..],
        &["\u{9b}2J"],
        &["measure", "command", "true", "--runs", "\u{9b}1m"],
    ] {
        let ended = machine.hemiola(arguments).with_code(2);
        let is_safe = ended.stderr.chars().all(|c| c == '\n' || !c.is_control());
        assert!(is_safe && ended.stderr.contains(r"\u{"), "{arguments:?}: {:?}", ended.stderr);
    }
    // Help and other messages are as before.
    let help = machine.hemiola(&["analyze", "--help"]).with_code(0);
    assert!(help.stdout.contains("--gantt") && help.stderr.is_empty(), "{help:?}");
    let wrong = machine.hemiola(&["analyze", "--none"]).with_code(2);
    assert!(wrong.stderr.contains("unexpected argument '--none'"), "{wrong:?}");
}

#[test]
fn standard_input_and_compressed_files_are_read_like_the_file_itself() {
    let machine = Machine::take("analyze-input");
    recorded(&machine);
    let plain = machine.hemiola(&["analyze", "two.trace", "--json"]).with_code(0).stdout;
    let read = |line: &str| {
        let line = line.replace("hemiola", crate::command::PROGRAM);
        let output = Command::new("sh").args(["-c", &line]).current_dir(machine.folder()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(read("cat two.trace | hemiola analyze --json -"), plain);
    for tool in ["gzip", "zstd"] {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: needs {tool}");
            continue;
        }
        let line = format!("{tool} -c two.trace > packed && hemiola analyze --json packed");
        assert_eq!(read(&line), plain, "{tool}");
        assert_eq!(
            read(&format!("{tool} -c two.trace | hemiola analyze --json -")),
            plain,
            "{tool}"
        );
    }
}

#[test]
fn the_hint_for_a_foreign_file_does_not_overwrite_it() {
    let machine = Machine::take("analyze-foreign");
    machine.write("precious.bin", "not a recording");
    let ended = machine.hemiola(&["analyze", "precious.bin"]).with_code(2);
    assert!(ended.stderr.contains("precious.bin is not a recording"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: `hemiola trace -o NEW.trace"), "{}", ended.stderr);
}
