//! A run that something ends, stops or disturbs: it never waits for ever, keeps its evidence, and says what happened.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_trace::event::source;
use hemiola_trace::result::RunFolder;
use rustix::fs::OFlags;

use crate::command::{Ended, PROGRAM, Running};
use crate::machine::{Machine, PATIENCE, objects};
use crate::results::{Results, actuations, assert_stands};
use crate::scenario::{self, MONOLITHIC, SHARED_MEMORY, SIMPLEX};
use crate::small_disk::SmallDisk;

/// The nodes of a Simplex variant.
const SIMPLEX_NODES: [&str; 4] = ["node plant", "node io", "node decision", "node experimental"];
/// Exit code of a shell after SIGINT: 128 + 2.
const INTERRUPTED: i32 = 130;

/// Starts a Simplex run of this length, and waits until it has some evidence.
fn started(machine: &Machine, duration: &str) -> Running {
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    // A test that nohup(1) started passes on that a hang-up is ignored.
    let shape = ["--default-signal=HUP", PROGRAM, "run", "scenario.toml", "--output", "result"];
    let arguments = [&shape[..], &["--duration", duration]].concat();
    let mut run = Running::start(machine.command("env", &arguments));
    machine.wait_for(&mut run, &SIMPLEX_NODES);
    wait_for_trace(machine, &mut run, "result/traces/simplex-1.pftrace");
    // Half a second of cycles after the warm-up.
    sleep(Duration::from_millis(500));
    run
}

/// Waits until the record of a run under way grows.
pub(crate) fn wait_for_trace(machine: &Machine, run: &mut Running, name: &str) {
    let path = machine.folder().join(name);
    let limit = Instant::now() + PATIENCE;
    while fs::metadata(&path).map_or(0, |meta| meta.len()) < 100_000 {
        assert!(!run.has_ended(), "it ended before {name} grew");
        assert!(Instant::now() < limit, "{name} does not grow");
        sleep(Duration::from_millis(5));
    }
}

/// The number of the run's process whose command line ends with these words.
pub(crate) fn pid_of(machine: &Machine, words: &str) -> u32 {
    let processes = machine.processes();
    let found = processes.iter().find(|(_, line)| line.ends_with(words));
    found.unwrap_or_else(|| panic!("no {words} among {processes:#?}")).0
}

/// The guardian's process number.
fn guardian_of(machine: &Machine) -> u32 {
    let processes = machine.processes();
    let found = processes.iter().find(|(_, line)| line.contains(" guardian "));
    found.unwrap_or_else(|| panic!("no guardian among {processes:#?}")).0
}

/// The last line of the error output.
fn last_line(ended: &Ended) -> &str {
    ended.stderr.lines().last().unwrap_or_default()
}

/// Asserts that the folder holds an incomplete run, for this reason, and that `report` and `analyze` work on it.
fn assert_evidence(machine: &Machine, reason: &str) -> RunFolder {
    let results = Results::open(machine.folder().join("result"));
    let folder = results.run();
    let why = folder.incomplete.clone().unwrap_or_default();
    assert!(why.contains(reason), "{why:?} instead of {reason:?}");
    let report = machine.hemiola(&["report", "result"]).with_code(0);
    assert!(report.stdout.contains("incomplete"), "{}", report.stdout);
    let summary = results.summary();
    assert!(
        summary["incomplete"].as_str().is_some_and(|text| text.contains(reason)),
        "{summary:#}"
    );
    let run = folder.variants[0].runs.last().expect("the run under way is in the record");
    let cycles = summary["variants"][0]["combined"]["observations"].as_u64().unwrap();
    assert!(cycles > 10, "{cycles} cycles of the run are in the figures");
    machine.hemiola(&["analyze", &format!("result/{}", run.trace)]).with_code(0);
    folder
}

#[test]
fn a_stopped_decision_module_does_not_lose_the_pendulum_and_is_reported() {
    let machine = Machine::take("stopped-decision");
    let run = started(&machine, "4s");
    signal_group(pid_of(&machine, "node decision"), Signal::STOP).unwrap();
    let ended = run.end().with_code(1);
    assert!(last_line(&ended).contains("decision was stopped"), "{}", ended.stderr);
    let results = Results::open(machine.folder().join("result"));
    let variant = &results.run().variants[0];
    assert_stands(variant);
    let trace = results.trace(variant);
    let voltages = actuations(&trace);
    let by_watchdog = voltages.iter().filter(|entry| entry.arg == source::WATCHDOG).count();
    assert!(by_watchdog > 200, "{by_watchdog} of {}", voltages.len());
    assert_eq!(voltages.last().unwrap().arg, source::WATCHDOG);
    machine.nothing_is_left();
}

#[test]
fn a_decision_module_that_continues_gets_the_plant_back() {
    let machine = Machine::take("continued-decision");
    let run = started(&machine, "4s");
    let decision = pid_of(&machine, "node decision");
    signal_group(decision, Signal::STOP).unwrap();
    sleep(Duration::from_millis(1000));
    signal_group(decision, Signal::CONT).unwrap();
    let ended = run.end().with_code(1);
    assert!(last_line(&ended).contains("decision was stopped"), "{}", ended.stderr);
    let results = Results::open(machine.folder().join("result"));
    let variant = &results.run().variants[0];
    assert_stands(variant);
    let trace = results.trace(variant);
    let voltages = actuations(&trace);
    assert!(voltages.iter().any(|entry| entry.arg == source::WATCHDOG));
    assert_eq!(voltages.last().unwrap().arg, source::unit(0));
    machine.nothing_is_left();
}

#[test]
fn a_stopped_process_that_the_run_needs_ends_it() {
    for name in ["io", "plant"] {
        let machine = Machine::take(&format!("stopped-{name}"));
        let run = started(&machine, "60s");
        signal_group(pid_of(&machine, &format!("node {name}")), Signal::STOP).unwrap();
        let began = Instant::now();
        let ended = run.end().with_code(1);
        assert!(began.elapsed() < PATIENCE, "it waited for {:?}", began.elapsed());
        assert!(last_line(&ended).contains(&format!("\"{name}\" was stopped")), "{}", ended.stderr);
        assert_evidence(&machine, "was stopped");
        machine.nothing_is_left();
    }
}

/// A tracer that seizes a process, stops it where asked, and never looks at it again.
fn tracer(pid: u32, stops: bool) -> Option<Child> {
    let program = format!(
        "import ctypes, time\n\
         trace = ctypes.CDLL(None).ptrace\n\
         assert trace(0x4206, {pid}, None, None) == 0\n\
         {stop}\
         print('seized', flush=True)\n\
         time.sleep(600)\n",
        stop = if stops {
            format!("assert trace(0x4207, {pid}, None, None) == 0\n")
        } else {
            String::new()
        },
    );
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", &program]).stdout(Stdio::piped()).spawn().ok()?;
    let mut said = [0; 6];
    let seized = std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).is_ok();
    if !seized {
        let _ = child.wait();
    }
    seized.then_some(child)
}

#[test]
fn a_traced_decision_module_does_not_hold_the_run_up() {
    for stops in [false, true] {
        let machine = Machine::take(&format!("traced-{stops}"));
        let run = started(&machine, "2s");
        let Some(mut tracer) = tracer(pid_of(&machine, "node decision"), stops) else {
            println!("skipped: needs python3 and the right to trace");
            return;
        };
        let began = Instant::now();
        let ended = run.end();
        assert!(began.elapsed() < PATIENCE, "it waited for {:?}", began.elapsed());
        tracer.kill().unwrap();
        tracer.wait().unwrap();
        let ended = ended.with_code(1);
        assert_eq!(ended.stderr.contains("decision was stopped"), stops, "{}", ended.stderr);
        assert!(last_line(&ended).contains("decision could not be ended"), "{}", ended.stderr);
        let results = Results::open(machine.folder().join("result"));
        assert_stands(&results.run().variants[0]);
        machine.nothing_is_left();
    }
}

#[test]
fn a_lost_pendulum_is_a_failed_run() {
    let machine = Machine::take("lost");
    let edits = [("gain = \"baseline\"", "gain = [-3.0, -20.0, -70.0, -14.0]")];
    machine.write("scenario.toml", &scenario::edited(&scenario::of(&[MONOLITHIC]), &edits));
    let ended = machine
        .hemiola(&["run", "scenario.toml", "--duration", "10s", "--output", "result"])
        .with_code(1);
    let said = last_line(&ended);
    assert!(said.starts_with("error: monolithic, run 1: the plant was lost after "), "{said}");
    assert_eq!(ended.folder(), Path::new("result"));
}

fn ended_by_the_death_of(name: &str) {
    let machine = Machine::take(&format!("death-{name}"));
    let run = started(&machine, "60s");
    signal_group(pid_of(&machine, &format!("node {name}")), Signal::KILL).unwrap();
    let ended = run.end().with_code(1);
    let died = format!("\"{name}\" died");
    assert!(last_line(&ended).contains(&died), "{}", ended.stderr);
    assert_eq!(ended.folder(), Path::new("result"));
    assert_evidence(&machine, &died);
    machine.nothing_is_left();
}

#[test]
fn the_death_of_the_decision_module_keeps_the_evidence() {
    ended_by_the_death_of("decision");
}

#[test]
fn the_death_of_io_keeps_the_evidence() {
    ended_by_the_death_of("io");
}

#[test]
fn the_death_of_the_plant_keeps_the_evidence() {
    ended_by_the_death_of("plant");
}

#[test]
fn a_signal_to_the_runner_keeps_the_evidence() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let machine = Machine::take("signal-evidence");
        let run = started(&machine, "60s");
        run.signal(signal);
        let ended = run.end().with_code(INTERRUPTED);
        assert_eq!(ended.folder(), Path::new("result"));
        assert!(last_line(&ended).contains("interrupted"), "{}", ended.stderr);
        assert_evidence(&machine, "interrupted");
        machine.nothing_is_left();
    }
}

/// Opens a named pipe once the run reads it, which then waits for bytes until this end is closed.
fn pipe_that_is_read(path: &Path, run: &mut Running) -> fs::File {
    let limit = Instant::now() + PATIENCE;
    loop {
        // Fails as long as no process reads (fifo(7)).
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        if let Ok(pipe) = fs::OpenOptions::new().write(true).custom_flags(flags).open(path) {
            return pipe;
        }
        assert!(!run.has_ended() && Instant::now() < limit, "it does not read its trace");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_second_signal_ends_the_report_and_keeps_the_evidence() {
    for signal in [Signal::INT, Signal::TERM] {
        let machine = Machine::take("signal-report");
        let mut run = started(&machine, "60s");
        let trace = machine.folder().join("result/traces/simplex-1.pftrace");
        let kept = trace.with_extension("kept");
        fs::rename(&trace, &kept).unwrap();
        // A report does not end while it reads a pipe.
        assert!(Command::new("mkfifo").arg(&trace).status().unwrap().success());
        run.signal(Signal::INT);
        let pipe = pipe_that_is_read(&trace, &mut run);
        run.signal(signal);
        let limit = Instant::now() + PATIENCE;
        while !run.has_ended() {
            assert!(Instant::now() < limit, "the report goes on");
            sleep(Duration::from_millis(5));
        }
        let ended = run.end().with_code(INTERRUPTED);
        assert!(ended.stderr.contains("`hemiola report result`"), "{}", ended.stderr);
        drop(pipe);
        fs::rename(&kept, &trace).unwrap();
        assert_evidence(&machine, "interrupted");
        machine.nothing_is_left();
    }
}

#[test]
fn a_killed_runner_leaves_its_evidence() {
    let machine = Machine::take("killed-evidence");
    let mut run = started(&machine, "60s");
    run.kill();
    assert_eq!(run.end().signal(), Some(9));
    machine.nothing_is_left();
    assert_evidence(&machine, "the runner ended without a word");
}

#[test]
fn a_killed_guardian_is_replaced_and_the_run_goes_on() {
    let machine = Machine::take("killed-guardian");
    let mut run = started(&machine, "2s");
    let first = guardian_of(&machine);
    signal_group(first, Signal::KILL).unwrap();
    let limit = Instant::now() + PATIENCE;
    while machine
        .processes()
        .iter()
        .all(|(pid, line)| !line.contains(" guardian ") || *pid == first)
    {
        assert!(!run.has_ended() && Instant::now() < limit, "no other guardian");
        sleep(Duration::from_millis(5));
    }
    let ended = run.end().with_code(0);
    assert!(ended.stderr.contains("the guardian process ended"), "{}", ended.stderr);
    machine.nothing_is_left();
}

#[test]
fn a_stopped_guardian_does_not_hold_the_run_up() {
    let machine = Machine::take("stopped-guardian");
    let run = started(&machine, "1s");
    signal_group(guardian_of(&machine), Signal::STOP).unwrap();
    run.end().with_code(0);
    machine.nothing_is_left();
}

#[test]
fn the_next_run_removes_what_a_killed_run_and_guardian_left() {
    let machine = Machine::take("leftovers");
    machine.write("scenario.toml", &scenario::of(&[&scenario::publish_subscribe()]));
    let before = objects();
    let mut run =
        machine.start(&["run", "scenario.toml", "--duration", "60s", "--output", "result"]);
    machine.wait_for(&mut run, &["node plant", "node io", "node controller"]);
    wait_for_trace(&machine, &mut run, "result/traces/publish-subscribe-1.pftrace");
    // Stopped, the runner cannot replace its guardian before it is killed itself.
    run.signal(Signal::STOP);
    signal_group(guardian_of(&machine), Signal::KILL).unwrap();
    run.kill();
    run.end();
    let limit = Instant::now() + PATIENCE;
    while !machine.processes().is_empty() {
        assert!(Instant::now() < limit, "{:?} remain", machine.processes());
        sleep(Duration::from_millis(5));
    }
    assert!(objects().difference(&before).count() > 0, "nothing was left to sweep");
    machine.write("next.toml", &scenario::of(&[SHARED_MEMORY]));
    machine.hemiola(&["run", "next.toml", "--duration", "200ms", "--output", "next"]).with_code(0);
    machine.nothing_is_left();
}

#[test]
fn a_full_disk_in_the_third_of_four_runs_keeps_the_first_two() {
    let machine = Machine::take("full-disk");
    let folder = machine.folder().join("small");
    let Some(disk) = SmallDisk::mount(&folder, "16m") else { return };
    machine.write("scenario.toml", &scenario::of(&[SIMPLEX]));
    let shape = ["run", "scenario.toml", "--duration", "1s", "--runs", "4"];
    let mut run = machine.start(&[&shape[..], &["--output", "small/result"]].concat());
    // Each run has the whole patience: on a busy machine three of them take long.
    for number in 1..=3 {
        let trace = format!("small/result/traces/simplex-{number}.pftrace");
        wait_for_trace(&machine, &mut run, &trace);
    }
    disk.fill();
    let ended = run.end().with_code(1);
    assert!(last_line(&ended).contains("cannot be written"), "{}", ended.stderr);
    disk.free();
    let results = Results::open(folder.join("result"));
    let kept = results.run();
    assert_eq!(kept.variants[0].runs.len(), 3);
    assert!(kept.incomplete.is_some());
    assert_stands(&hemiola_trace::result::VariantRecord {
        runs: kept.variants[0].runs[..2].to_vec(),
        ..kept.variants[0].clone()
    });
    let report = machine.hemiola(&["report", "small/result"]).with_code(0);
    assert!(report.stdout.contains("incomplete"), "{}", report.stdout);
    machine.nothing_is_left();
}

#[test]
fn a_report_is_printed_where_it_cannot_be_written() {
    let machine = Machine::take("full-report");
    let folder = machine.folder().join("small");
    let Some(disk) = SmallDisk::mount(&folder, "16m") else { return };
    machine.write("scenario.toml", &scenario::of(&[MONOLITHIC]));
    let run = ["run", "scenario.toml", "--duration", "300ms", "--output", "small/result"];
    machine.hemiola(&run).with_code(0);
    let summary = Results::open(folder.join("result")).text("summary.json");
    disk.fill();
    let report = machine.hemiola(&["report", "small/result"]).with_code(0);
    assert!(report.stdout.contains("Table 2"), "{}", report.stdout);
    assert!(report.stderr.starts_with("warning: summary.json and report.html are not renewed: "));
    assert!(report.stderr.contains("hint: free some space"), "{}", report.stderr);
    let json = machine.hemiola(&["report", "small/result", "--json"]).with_code(0);
    assert!(json.stdout == summary, "{}", json.stdout);
    disk.make_read_only();
    let report = machine.hemiola(&["report", "small/result"]).with_code(0);
    assert!(report.stdout.contains("Table 2"), "{}", report.stdout);
    assert!(report.stderr.contains("hint: copy small/result to a place"), "{}", report.stderr);
}
