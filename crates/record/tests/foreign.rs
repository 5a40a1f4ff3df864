//! Programs that know nothing of Hemiola but one header mark the same in every language.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hemiola_record::Marks;
use hemiola_record::marks::{CallKind, Tally, Task, VARIABLE};
use hemiola_rt::sys::process::clear_cloexec;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Span};

const CHILD: &str = "HEMIOLA_TEST_MARKS";

/// Not a test by itself: what the tests below start. It does what program.c does, or what its variable says.
#[test]
fn program() {
    let Some(what) = std::env::var_os(CHILD) else { return };
    let task =
        |name| hemiola_mark::Task::new(name, Duration::from_millis(1), Duration::from_micros(500));
    match what.to_str().unwrap() {
        "three jobs" => {
            let mut control = task("control");
            let mut other = hemiola_mark::Task::new(
                "überlanger Name von mehr als 31 Bytes",
                Duration::ZERO,
                Duration::ZERO,
            );
            hemiola_mark::start();
            for release in [1000, 2000, 3000] {
                control.begin_released(release);
                control.mark("sensor", release / 1000);
                control.mark("actuator", 7);
                control.end();
                control.end();
            }
            other.mark("real", 0.5);
            other.mark("real", -0.25_f32);
            other.mark("whole", -3);
            other.mark("whole", u64::MAX);
            other.mark("text", "fünfzehn Zeichen und mehr");
            other.begin();
            other.end();
            hemiola_mark::trigger("enough");
            hemiola_mark::stop();
        }
        "many" => {
            let mut tasks = [task("a"), task("b"), task("c")];
            assert_eq!(tasks.each_ref().map(hemiola_mark::Task::is_recorded), [true, true, false]);
            for value in 0..100 {
                tasks[0].mark("value", value);
            }
            (0..100).for_each(|_| hemiola_mark::trigger("again"));
        }
        "names" => {
            let mut task = task("many");
            for name in (0..40).chain([0, 39]) {
                task.mark(Box::leak(format!("name-{name}").into_boxed_str()), name);
            }
        }
        "alike" => {
            let mut task = task("alike");
            task.mark("a name of exactly thirty-two bytes", 1);
            task.mark("a name of exactly thirty-two bytes and more", 2);
            task.mark("thirty-one bytes and a half one\u{fc}", 3);
            task.mark("thirty-one bytes and a half one\u{4e2d}", 4);
            task.mark("front\0back", 5);
            task.mark("front\0other", 6);
        }
        "resized" => {
            assert!(hemiola_mark::is_recorded());
            resize();
            task("control").begin();
            hemiola_mark::start();
        }
        "dies" => {
            let mut task = task("short");
            task.begin();
            std::process::abort();
        }
        "threads" => {
            let mut task = task("worker");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    task.begin();
                    println!("tid {}", std::fs::read_link("/proc/thread-self").unwrap().display());
                });
            });
        }
        other => panic!("{other}"),
    }
}

/// Overwrites the sizes in the header of the memory, as any program that is recorded could.
fn resize() {
    use std::io::{Seek, SeekFrom, Write};
    let paths = std::env::var(VARIABLE).unwrap();
    let mut memory =
        std::fs::File::options().write(true).open(paths.split(':').next().unwrap()).unwrap();
    for at in [12, 20] {
        memory.seek(SeekFrom::Start(at)).unwrap();
        memory.write_all(&0x4000_0000_u32.to_le_bytes()).unwrap();
    }
}

fn this(what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "foreign::program", "--nocapture"]).env(CHILD, what);
    command
}

/// The programs in C, Python and Rust that do this, as far as there are a compiler and an interpreter.
fn in_every_language(what: &str) -> impl Iterator<Item = Command> {
    let c = compiled("gcc", ["-std=c11", "-x", "c"]).map(Command::new);
    let others = [c, python()].into_iter().flatten().map(move |mut command| {
        command.arg(what);
        command
    });
    others.chain([this(what)])
}

/// Runs it with the memory in its environment; its output.
fn run(mut command: Command, marks: &Marks) -> (u32, String) {
    clear_cloexec(marks.fd()).unwrap();
    command.env(VARIABLE, marks.paths()).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id();
    (pid, String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
}

fn drain(marks: &mut Marks) -> Vec<(Task, Vec<Entry>)> {
    let mut seen = Vec::new();
    marks.drain(&mut |task, entries| seen.push((task.clone(), entries.to_vec())));
    seen
}

/// Runs a program that does what program.c does, and compares.
fn check(command: Command) {
    let mut marks = Marks::create().unwrap();
    let (pid, said) = run(command, &marks);
    assert!(!said.contains("not recorded"), "{said}");
    let tasks = drain(&mut marks);
    let [(control, entries), (other, few)] = &tasks[..] else { panic!("{tasks:#?}") };

    assert_eq!((control.pid, control.name.as_str(), control.number), (pid, "control", 0));
    assert_eq!(
        (control.period, control.deadline),
        (Some(Span::from_millis(1)), Some(Span::from_micros(500)))
    );
    assert_eq!(control.marks, ["sensor", "actuator"]);
    // An integer is signed or not as the language has it.
    let marked = |entry: &Entry| match entry.kind {
        EventKind::MarkSigned => EventKind::MarkUnsigned,
        kind => kind,
    };
    let said: Vec<_> =
        entries.iter().map(|entry| (marked(entry), entry.arg, entry.cycle, entry.a)).collect();
    let job = |n: u32| {
        let release = u64::from(n + 1) * 1000;
        [
            (EventKind::Start, 0, n, release),
            (EventKind::MarkUnsigned, 0, n, release / 1000),
            (EventKind::MarkUnsigned, 1, n, 7),
            (EventKind::Finish, 0, n, release + 500_000),
        ]
    };
    assert_eq!(said, [job(0), job(1), job(2)].concat());
    assert!(entries.is_sorted_by_key(|entry| entry.at));

    // Cut at a whole character, in the middle of which the limit lies.
    assert_eq!((other.name.as_str(), other.period), ("überlanger Name von mehr als 31", None));
    assert_eq!(other.marks, ["real", "whole", "text"]);
    let [half, quarter, minus, most, text, start, finish] = few[..] else { panic!("{few:?}") };
    assert_eq!([half, quarter].map(|entry| entry.value()), [Some(0.5), Some(-0.25)]);
    assert_eq!((minus.kind, minus.value()), (EventKind::MarkSigned, Some(-3.0)));
    assert_eq!((most.kind, most.a), (EventKind::MarkUnsigned, u64::MAX));
    assert_eq!(text.text().as_deref(), Some("fünfzehn Zeiche"));
    assert_eq!((start.kind, start.a), (EventKind::Start, start.at.nanos()));
    assert_eq!((finish.kind, finish.a), (EventKind::Finish, u64::MAX));

    let calls = marks.calls();
    let said: Vec<_> = calls.iter().map(|call| (call.kind, call.pid, call.text.as_str())).collect();
    let (start, trigger, stop) = (CallKind::Start, CallKind::Trigger, CallKind::Stop);
    assert_eq!(said, [(start, pid, ""), (trigger, pid, "enough"), (stop, pid, "")]);
    assert!(Instant::from_nanos(calls[0].at) <= entries[0].at);
    let tally = Tally { tasks: 2, entries: 19, ..Tally::default() };
    assert_eq!(marks.tally(), tally);
    assert_eq!(drain(&mut marks), []);
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compiles program.c as strictly as can be.
fn compiled(compiler: &str, language: [&str; 3]) -> Option<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("marks-{}-{count}", std::process::id());
    let program = std::env::temp_dir().join(name);
    let built = Command::new(compiler)
        .args(language)
        .args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I"])
        .arg(here("../mark/include"))
        .arg("-o")
        .arg(&program)
        .arg(here("tests/foreign/program.c"))
        .status();
    match built {
        Ok(status) => assert!(status.success(), "{compiler} refuses the header"),
        Err(_) => {
            println!("skipped: needs {compiler}");
            return None;
        }
    }
    Some(program)
}

#[test]
fn a_program_in_rust_marks_its_jobs() {
    check(this("three jobs"));
}

#[test]
fn a_program_in_c_marks_its_jobs() {
    let Some(program) = compiled("gcc", ["-std=c11", "-x", "c"]) else { return };
    check(Command::new(&program));
    std::fs::remove_file(program).unwrap();
}

#[test]
fn a_program_in_cpp_marks_its_jobs() {
    let Some(program) = compiled("g++", ["-std=c++11", "-x", "c++"]) else { return };
    check(Command::new(&program));
    std::fs::remove_file(program).unwrap();
}

fn python() -> Option<Command> {
    let mut command = Command::new("python3");
    command.arg("-B").arg(here("tests/foreign/program.py"));
    command.env("PYTHONPATH", here("../mark/python"));
    if Command::new("python3").arg("-V").stdout(Stdio::null()).status().is_err() {
        println!("skipped: needs python3");
        return None;
    }
    Some(command)
}

#[test]
fn a_program_in_python_marks_its_jobs() {
    let Some(command) = python() else { return };
    check(command);
}

/// A program may not open the memory after it has become another user, but it still has the descriptor.
#[test]
fn a_program_of_another_user_marks_through_the_descriptor_that_it_inherited() {
    const NOBODY: u32 = 65534;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let may_read = |path: &Path| {
        let mut test = Command::new("test");
        test.arg("-r").arg(path).uid(NOBODY).gid(NOBODY);
        test.status().is_ok_and(|status| status.success())
    };
    let (own, module) = (std::env::current_exe().unwrap(), here("../mark/python/hemiola_mark.py"));
    if !is_root || !may_read(&own) || !may_read(&module) {
        println!("skipped: needs root, and folders that every user may read");
        return;
    }
    let c = compiled("gcc", ["-std=c11", "-x", "c"]);
    let commands = [Some(this("three jobs")), c.as_ref().map(Command::new), python()];
    for mut command in commands.into_iter().flatten() {
        command.uid(NOBODY).gid(NOBODY);
        check(command);
    }
    c.map(std::fs::remove_file).transpose().unwrap();
}

/// Values of other types are recorded as numbers or text, or left out; they never end the program.
#[test]
fn no_value_ends_a_python_program() {
    if python().is_none() {
        return;
    }
    let text = "
import decimal, hemiola_mark
class Silent:
    def __str__(self): raise RuntimeError
    def __float__(self): raise RuntimeError
    def __index__(self): raise RuntimeError
    def __int__(self): raise RuntimeError
task = hemiola_mark.Task('t', period_ns=1e6, deadline_ns=float('nan'))
task.begin(release_ns=1234.5)
for value in (1.5, True, 2**64, -2**70, 10**400, -10**400, float('nan'), None, 'x', b'y', decimal.Decimal('0.5'), Silent()):
    task.mark('value', value)
task.mark(7, 7)
task.end()
hemiola_mark.Task(Silent(), Silent(), Silent()).mark(Silent(), 1)
hemiola_mark.trigger(Silent())
print('alive')
";
    let program = std::env::temp_dir().join(format!("marks-{}.py", std::process::id()));
    std::fs::write(&program, text).unwrap();
    let mut command = Command::new("python3");
    command.arg("-B").arg(&program).env("PYTHONPATH", here("../mark/python"));
    let mut marks = Marks::create().unwrap();
    let (_, said) = run(command, &marks);
    std::fs::remove_file(program).unwrap();
    assert_eq!(said, "alive\n");
    let tasks = drain(&mut marks);
    let (task, entries) = &tasks[0];
    assert_eq!((task.period, task.marks.len()), (Some(Span::from_millis(1)), 2));
    let values: Vec<_> = entries[1..7].iter().map(Entry::value).map(Option::unwrap).collect();
    let [over, under] = [f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(values, [1.5, 1.0, 2_f64.powi(64), -(2_f64.powi(70)), over, under]);
    assert_eq!((entries[0].a, entries[10].value(), entries.len()), (1234, None, 15));
}

#[test]
fn a_program_that_nobody_records_runs_all_the_same() {
    let programs = [compiled("gcc", ["-std=c11", "-x", "c"]).map(Command::new), python()];
    for mut command in programs.into_iter().flatten() {
        for paths in [None, Some(""), Some("nowhere"), Some("/dev/null:/proc/self/exe:/dev/zero:")]
        {
            command.env_remove(VARIABLE);
            paths.map(|paths| command.env(VARIABLE, paths));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "not recorded\n", "{paths:?}");
        }
    }
}

#[test]
fn sizes_that_change_after_a_program_has_checked_them_are_not_used() {
    let c = compiled("gcc", ["-std=c11", "-x", "c"]).map(|program| {
        let mut command = Command::new(program);
        command.arg("resized");
        command
    });
    for command in [Some(this("resized")), c].into_iter().flatten() {
        let mut marks = Marks::with_sizes(3, 8).unwrap();
        // A lane taken, so that the next one's place depends on the size of a slot.
        run(this("dies"), &marks);
        run(command, &marks);
        let tasks = drain(&mut marks);
        assert_eq!(tasks.len(), 2, "{tasks:?}");
        assert_eq!((tasks[1].0.name.as_str(), tasks[1].1.len()), ("control", 1));
        assert_eq!(marks.calls().len(), 1);
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    let mut marks = Marks::with_sizes(2, 8).unwrap();
    run(this("many"), &marks);
    let tasks = drain(&mut marks);
    let (a, entries) = &tasks[0];
    assert_eq!((tasks.len(), a.marks.as_slice()), (2, &["value".to_owned()][..]));
    let lost = Entry { kind: EventKind::Lost, arg: 0, a: 92, ..*entries.last().unwrap() };
    assert_eq!((entries.len(), entries[7].a, entries[8]), (9, 7, lost));
    // A slot of 1,472 bytes has room for 23 calls.
    assert_eq!(marks.calls().len(), 23);
    let tally = marks.tally();
    assert_eq!((tally.entries, tally.lost), (8, 92));
    assert_eq!((tally.refused_tasks, tally.refused_calls), (1, 77));
}

#[test]
fn marks_with_more_names_than_a_task_can_have_are_counted_in_every_language() {
    for command in in_every_language("names") {
        let shown = format!("{command:?}");
        let mut marks = Marks::with_sizes(1, 64).unwrap();
        run(command, &marks);
        let tasks = drain(&mut marks);
        let [(task, entries)] = &tasks[..] else { panic!("{shown}: {tasks:?}") };
        let names: Vec<String> = (0..32).map(|name| format!("name-{name}")).collect();
        assert_eq!((&task.marks, entries.len()), (&names, 33), "{shown}");
        // Eight names, and one of them twice.
        assert_eq!(marks.tally().nameless, 9, "{shown}");
        drain(&mut marks);
        assert_eq!(marks.tally().nameless, 9, "{shown}");
    }
}

#[test]
fn names_that_agree_in_what_is_kept_are_one_name_in_every_language() {
    for command in in_every_language("alike") {
        let shown = format!("{command:?}");
        let mut marks = Marks::with_sizes(1, 64).unwrap();
        run(command, &marks);
        let tasks = drain(&mut marks);
        let [(task, entries)] = &tasks[..] else { panic!("{shown}: {tasks:?}") };
        let half = "thirty-one bytes and a half one";
        assert_eq!(task.marks, ["a name of exactly thirty-two byt", half, "front"], "{shown}");
        let marked: Vec<_> = entries.iter().map(|entry| (entry.arg, entry.a)).collect();
        assert_eq!(marked, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)], "{shown}");
    }
}

#[test]
fn a_name_in_a_buffer_that_a_program_uses_again_is_read_each_time() {
    let Some(program) = compiled("gcc", ["-std=c11", "-x", "c"]) else { return };
    let mut marks = Marks::create().unwrap();
    let mut command = Command::new(&program);
    command.arg("buffer");
    run(command, &marks);
    std::fs::remove_file(program).unwrap();
    let tasks = drain(&mut marks);
    let (task, entries) = &tasks[0];
    let long = "a name of exactly thirty-two byt";
    assert_eq!(task.marks, ["sensor-0", "sensor-1", "sensor-2", long]);
    let marked: Vec<_> = entries.iter().map(|entry| (entry.arg, entry.a)).collect();
    assert_eq!(marked, [(0, 0), (1, 1), (2, 2), (0, 3), (1, 4), (2, 5), (3, 6), (3, 7)]);
}

#[test]
fn what_a_program_marked_before_it_died_is_kept_and_its_lane_is_free_again() {
    let mut marks = Marks::with_sizes(1, 8).unwrap();
    for number in 0..3 {
        run(this("dies"), &marks);
        let tasks = drain(&mut marks);
        let [(task, entries)] = &tasks[..] else { panic!("{tasks:?}") };
        assert_eq!((task.name.as_str(), task.number, entries.len()), ("short", number, 1));
        // The next one needs the lane: it is looked for once a second.
        if number < 2 {
            std::thread::sleep(Duration::from_millis(1100));
            assert_eq!(drain(&mut marks), []);
        }
    }
    assert_eq!(marks.tally().refused_tasks, 0);
}

#[test]
fn a_task_belongs_to_the_thread_of_its_first_job() {
    let mut marks = Marks::with_sizes(1, 8).unwrap();
    let (pid, said) = run(this("threads"), &marks);
    let tasks = drain(&mut marks);
    let task = &tasks[0].0;
    assert!(said.contains(&format!("tid {}/task/{}", task.pid, task.tid)), "{said} {task:?}");
    assert_eq!(task.pid, pid);
}
