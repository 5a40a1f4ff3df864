//! `hemiola trace`: records which threads run when.

pub(crate) mod control;
mod ending;
mod file;
mod keep;
mod misses;
mod notes;
mod program;
mod ranges;
mod recorder;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::sleep;

use hemiola_record::kernel::{Capture, CaptureError, Interface, Options, Target};
use hemiola_record::{Marks, conditions, sees_every_number};
use hemiola_report::text::{counted, duration, printable, size, were};
use hemiola_rt::clock::{Calibration, Clock, MonotonicClock, unix_ns};
use hemiola_rt::shared::SegmentError;
use hemiola_rt::sys::process::PidFd;
use hemiola_runner::control as runs;
use hemiola_trace::result::Conditions;
use hemiola_units::{Instant, Span};

use crate::args::{Trace, Tracing, Trigger, command_line};
use crate::diagnostics::{Failure, INTERRUPTED, shown};
use crate::run;
use control::{Connection, Control, Place, Received, Request};
use ending::{Due, Ending, Signals};
use file::{ClaimError, Claimed};
use program::Program;
use recorder::{Outcome, Recorder, Settings};

pub(crate) use program::held;

/// The threads to record.
enum Subject {
    Program(Program),
    Process(PidFd),
    System,
}

pub(crate) fn trace(args: &Trace) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(action) => ask(action),
        None => record(args),
    }
}

/// Sends a request to a recording.
fn ask(action: &Tracing) -> Result<ExitCode, Failure> {
    let (of, request) = match action {
        Tracing::Start(of) => (of, "start".to_owned()),
        Tracing::Stop(of) => (of, "stop".to_owned()),
        Tracing::Mark { text, of } => (of, format!("mark {text}")),
        Tracing::Trigger { text, of } => (of, format!("trigger {text}")),
        Tracing::Snapshot { name, of } => (of, format!("snapshot {name}")),
    };
    control::ask(&of.control, &request).map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn record(args: &Trace) -> Result<ExitCode, Failure> {
    if args.paused && args.control.is_none() && args.program.is_empty() {
        return Err(Failure::bad_input(
            "error: nothing could start this recording: --paused needs a program that starts it, or --control\n\
             hint: add --control SOCKET, and start it with `hemiola trace start --control SOCKET`"
                .into(),
        ));
    }
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::bad_input(
            "error: a recording cannot be written to standard output, which belongs to the program\n\
             hint: name a file; a file that is called so is ./-"
                .into(),
        ));
    }
    let (name, pid) = subject(args)?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.trace")));
    // The program inherits what the recorder ignores, as it would without a recorder.
    // A flight recorder must not end without writing what it keeps.
    let is_trigger = args.keep.is_some();
    let signals = match args.program.as_slice() {
        [] => Signals::receive(run::ending_signals(), is_trigger)?,
        _ => Signals::receive(run::ending_signals_unless_ignored(), is_trigger)?,
    };
    survive_file_limit()?;

    // An inherited socket is taken first, so that the program does not inherit it too.
    let inherited = match args.control.as_ref() {
        Some(place @ Place::Descriptor(_)) => Some(controlled(place)?),
        Some(Place::Path(_)) | None => None,
    };
    // The program is created first, so that its process ID is known, and held; if anything fails it never starts.
    let (subject, mut marks) = match args.program.as_slice() {
        [] => match pid {
            Some(pid) => (Subject::Process(process(pid)?), None),
            None => (Subject::System, None),
        },
        words => {
            let marks = Marks::create().map_err(no_marks)?;
            let program = Program::hold(words, &marks)
                .map_err(|error| Failure::failed(format!("{name} cannot be started: {error}")))?;
            (Subject::Program(program), Some(marks))
        }
    };
    let target = match &subject {
        Subject::Program(program) => Target::Process(program.pid()),
        Subject::Process(_) => pid.map_or(Target::System, Target::Process),
        Subject::System => Target::System,
    };
    // Takes a while, so it comes before the recording.
    let machine = machine();
    let capture = Capture::start(&options(args, target)).map_err(refused)?;
    let control = match inherited {
        Some(inherited) => Some(inherited),
        None => args.control.as_ref().map(controlled).transpose()?,
    };
    // Without the privilege for the whole system, the events have the numbers of the recorder's own namespace.
    let are_numbers_known = !capture.is_system() || sees_every_number();
    if let Some(marks) = marks.as_mut().filter(|_| !are_numbers_known) {
        marks.forget_numbers();
    }
    let settings = Settings {
        paused: args.paused,
        keep: args.keep,
        until_miss: waits_for(args, Trigger::Miss),
        until_call: waits_for(args, Trigger::Mark),
        are_numbers_known,
        output: output.clone(),
    };
    let unix_ns = unix_ns();
    // A number of another namespace would name another process.
    let target = if are_numbers_known { target } else { Target::System };
    let conditions = trace_conditions(&machine, &name, &capture, target);
    // Last, because it empties a file that exists.
    let Claimed { file, is_new } = create(&output)?;
    let recorder = Recorder::begin(capture, marks, settings, file, unix_ns, &conditions);
    let recorder = recorder.map_err(|error| {
        if is_new {
            // If this fails, a file without events stays.
            let _ = fs::remove_file(&output);
        }
        Failure::failed(error)
    })?;
    follow(args, subject, recorder, control, &output, &signals)
}

/// The recording's end of the socket at this place.
fn controlled(place: &Place) -> Result<Control, Failure> {
    match place {
        Place::Path(path) => Control::listen(path).map_err(|error| {
            let hint = "choose a path where this user may create a file, and at which no other recording listens";
            Failure::failed(format!("cannot listen at {place}: {error}\nhint: {hint}"))
        }),
        Place::Descriptor(number) => Control::inherit(*number).map_err(|error| {
            let hint = "leave a Unix stream socket open under this number, connected or listening";
            Failure::failed(format!("cannot be controlled through {place}: {error}\nhint: {hint}"))
        }),
    }
}

/// Records until the end of the recording, then waits for the program if there is one.
fn follow(
    args: &Trace,
    mut subject: Subject,
    mut recorder: Recorder,
    mut control: Option<Control>,
    output: &Path,
    signals: &Signals,
) -> Result<ExitCode, Failure> {
    if let Subject::Program(program) = &mut subject {
        program.go().map_err(|error| {
            Failure::failed(format!("the program has ended before its start: {error}"))
        })?;
    }
    let until = args.duration.map_or(Instant::MAX, |length| MonotonicClock.now() + length);
    let mut ending = Ending::default();
    let recorded = loop {
        let until_round = recorder.next_round().min(until);
        let ended = subject.wait(until_round, signals).map_err(Failure::failed)?
            || subject.is_left(&mut ending, signals);
        let requests = control.as_mut().map_or_else(Vec::new, Control::requests);
        // A snapshot contains everything up to its request, the other requests concern what the round takes.
        let is_snapshot = |request: &Received| request.as_ref().is_ok_and(Request::is_snapshot);
        let (last, first) = requests.into_iter().partition(|(request, _)| is_snapshot(request));
        let requested = carry_out(&mut recorder, first);
        let reason = match recorder.round() {
            Ok(reason) => reason,
            Err(error) => break Err(error),
        };
        carry_out(&mut recorder, last);
        let signal = (signals.take_trigger() && triggers(args)).then(|| "SIGUSR1".to_owned());
        let reason = reason.or(requested).or(signal);
        let over = ended || MonotonicClock.now() >= until;
        if over || reason.is_some() {
            break recorder.end(reason.as_deref()).map(|outcome| (outcome, reason));
        }
    };
    drop(control);
    match (recorded, subject) {
        (Ok((outcome, reason)), subject) => {
            report(output, &outcome, reason.as_deref(), args.keep);
            match subject {
                Subject::Program(program) => last(program, ending, signals),
                Subject::Process(_) | Subject::System => Ok(ExitCode::SUCCESS),
            }
        }
        // The status is that of the program, whatever happened to its recording.
        (Err(error), Subject::Program(program)) => {
            say(&format!("error: {}: {error}", shown(output)));
            last(program, ending, signals)
        }
        (Err(error), Subject::Process(_) | Subject::System) => Err(Failure::failed(error)),
    }
}

/// Carries out requests and answers them. Returns the last reason to end the recording, if one was a trigger.
fn carry_out(recorder: &mut Recorder, requests: Vec<(Received, Connection)>) -> Option<String> {
    let mut reason = None;
    for (request, connection) in requests {
        let answer = request.and_then(|request| recorder.request(&request));
        connection.answer(answer.map(|found| reason = found.or(reason.take())));
    }
    reason
}

/// Prints a line on standard error, which may have been closed with its terminal.
fn say(text: &str) {
    eprintln!("{text}");
}

impl Subject {
    /// Waits until `until`, a signal or the end of the subject. Returns whether the subject has ended.
    fn wait(&self, until: Instant, signals: &Signals) -> std::io::Result<bool> {
        let ended = match self {
            Self::Program(program) => program.wait(until, signals),
            Self::Process(process) => process.wait_beside(signals, until),
            Self::System => {
                sleep((until - MonotonicClock.now()).to_duration());
                Ok(false)
            }
        };
        signals.clear();
        ended
    }

    /// Whether signals end the recording although the subject goes on. A program is first asked to end: what it does
    /// then is recorded.
    fn is_left(&self, ending: &mut Ending, signals: &Signals) -> bool {
        match self {
            Self::Program(program) => is_left(program, ending, signals),
            Self::Process(_) | Self::System => signals.end(),
        }
    }
}

/// Does what the signals so far require. Returns whether the program is left running.
fn is_left(program: &Program, ending: &mut Ending, signals: &Signals) -> bool {
    let due = ending.due(MonotonicClock.now(), signals.to_program());
    if due == Due::Terminate {
        program.terminate();
    }
    due == Due::Leave
}

/// Waits for the program and returns its exit code. After a signal, the wait is limited.
fn last(mut program: Program, mut ending: Ending, signals: &Signals) -> Result<ExitCode, Failure> {
    let soon = || MonotonicClock.now() + Span::from_millis(50);
    while !program.wait(soon(), signals).map_err(Failure::failed)? {
        signals.clear();
        if is_left(&program, &mut ending, signals) {
            say(&format!("note: process {} did not end and is still running", program.pid()));
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    program.status().map(program::code).map_err(Failure::failed)
}

/// The name of the recording, and the process to record if it already exists.
fn subject(args: &Trace) -> Result<(String, Option<u32>), Failure> {
    if let Some(first) = args.program.first() {
        found(first)?;
        let name = Path::new(first).file_name().unwrap_or(first);
        return Ok((name.to_string_lossy().into_owned(), None));
    }
    if let Some(pid) = args.pid {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        let name = name.map_err(|_| Failure::failed(CaptureError::NoProcess(pid)))?;
        // A process name may contain a slash.
        return Ok((name.trim().replace('/', "-"), Some(pid)));
    }
    if let Some(run) = &args.run {
        let running = runs::running::<runs::Scenarios>().map_err(Failure::failed)?;
        // The name begins with the process ID of the runner.
        let pid = run.split('-').next().and_then(|hex| u32::from_str_radix(hex, 16).ok());
        return match pid.filter(|_| running.contains(run)) {
            Some(pid) => Ok((run.clone(), Some(pid))),
            None if running.is_empty() => Err(Failure::failed("no scenario is running")),
            None => Err(Failure::failed(format!(
                "there is no run named {run}\nhint: active runs: {}",
                running.join(", ")
            ))),
        };
    }
    Ok(("system".into(), None))
}

/// Fails if the program does not exist, before anything is created.
fn found(program: &OsStr) -> Result<(), Failure> {
    let there = program.to_str().is_none_or(|program| run::executable(Path::new(""), program));
    if there {
        return Ok(());
    }
    let named = shown(program);
    if Path::new(program).is_dir() {
        return Err(Failure::bad_input(format!(
            "error: {named} is a folder, not a program\nhint: give the path of a program, such as {}/NAME",
            named.to_string().trim_end_matches('/')
        )));
    }
    let hint = if Path::new(program).is_file() {
        format!("{named} exists but is not executable; run `chmod +x {named}`")
    } else if program.to_string_lossy().contains('/') {
        "give the path of a program, relative to this folder".into()
    } else {
        "give its path, such as ./NAME, or a name in PATH".into()
    };
    Err(Failure::bad_input(format!("error: there is no program {named}\nhint: {hint}")))
}

fn process(pid: u32) -> Result<PidFd, Failure> {
    PidFd::open(pid).map_err(|_| Failure::failed(CaptureError::NoProcess(pid)))
}

fn options(args: &Trace, target: Target) -> Options {
    Options {
        target,
        interrupts: args.interrupts,
        page_faults: args.page_faults,
        calls: args.calls,
        interface: args.interface.map(|interface| match interface {
            crate::args::Interface::Bpf => Interface::Bpf,
            crate::args::Interface::Perf => Interface::Perf,
        }),
        ..Options::default()
    }
}

/// The conditions of the recording.
fn machine() -> Conditions {
    let commit = option_env!("HEMIOLA_COMMIT").map(str::to_owned);
    conditions::read(Calibration::measure(), false, commit, command_line())
}

/// The conditions that are written into the trace.
fn trace_conditions(
    machine: &Conditions,
    name: &str,
    capture: &Capture,
    target: Target,
) -> Vec<(String, String)> {
    let interface = match capture.interface() {
        Interface::Bpf => "bpf",
        Interface::Perf => "perf",
    };
    let system = capture.is_system();
    let scope = if system { "the whole system" } else { "one process and its children" };
    let own = [("recording", name), ("scope", scope), ("interface", interface)];
    let mut own: Vec<_> = own.map(|(name, text)| (name, text.to_owned())).into();
    if let Target::Process(pid) = target {
        own.push(("process", pid.to_string()));
    }
    conditions::for_trace(machine, &own)
}

fn create(path: &Path) -> Result<Claimed, Failure> {
    Claimed::at(path).map_err(|error| {
        let hint = match error {
            ClaimError::Taken => {
                "choose another file with -o FILE, or end the other recording first"
            }
            ClaimError::Pipe | ClaimError::File(_) => "choose another file with -o FILE",
        };
        Failure::failed(format!("{} {error}\nhint: {hint}", shown(path)))
    })
}

fn refused(error: CaptureError) -> Failure {
    Failure::failed(error)
}

/// Whether this trigger ends the recording; by default every trigger does.
fn waits_for(args: &Trace, trigger: Trigger) -> bool {
    args.keep.is_some() && (args.trigger.is_empty() || args.trigger.contains(&trigger))
}

/// The signal of a file that reaches its limit (`ulimit -f`) becomes an error of the write. It gets a handler, which
/// programs do not inherit, so that it ends them as ever.
fn survive_file_limit() -> Result<(), Failure> {
    let signal = signal_hook::consts::SIGXFSZ;
    if !run::is_ignored(signal) {
        signal_hook::flag::register(signal, Arc::default()).map_err(Failure::failed)?;
    }
    Ok(())
}

/// Why there is no memory for marks.
fn no_marks(error: SegmentError) -> Failure {
    let is_limit = matches!(&error, SegmentError::System { source, .. }
        if source.kind() == std::io::ErrorKind::FileTooLarge);
    let hint = match is_limit {
        true => "\nhint: the memory for marks counts as a file of 17 MiB; raise `ulimit -f`",
        false => "",
    };
    Failure::failed(format!("the marks of the program cannot be recorded: {error}{hint}"))
}

/// Whether SIGUSR1, which has arrived, is a trigger. If not, prints that it is ignored.
fn triggers(args: &Trace) -> bool {
    let triggers = waits_for(args, Trigger::Signal);
    if !triggers {
        say(
            "note: SIGUSR1 is ignored, because it is no trigger of this recording (`--trigger signal`)",
        );
    }
    triggers
}

/// Reports the outcome on standard error, because standard output belongs to the program.
fn report(path: &Path, outcome: &Outcome, reason: Option<&str>, keep: Option<Span>) {
    let seconds = |span: Span| duration(span.nanos() as f64);
    if let Some(reason) = reason {
        say(&format!("trigger: {}", printable(reason)));
    }
    let paused = match outcome.recorded < outcome.length {
        true => format!(" of {}, the rest was paused", seconds(outcome.length)),
        false => String::new(),
    };
    let mut text = format!(
        "{}: {} recorded{paused}, {}; {}, {}",
        shown(path),
        seconds(outcome.recorded),
        size(outcome.size as f64),
        counted(outcome.switches, "switch"),
        counted(outcome.others, "other event"),
    );
    if outcome.tasks > 0 {
        let (marks, tasks) = (counted(outcome.marks, "mark"), counted(outcome.tasks, "task"));
        text += &format!(", {marks} of {tasks}");
    }
    say(&text);
    if let Some((kept, crowded)) = outcome.kept {
        let why = if crowded { ": its memory was full" } else { "" };
        let asked = keep.map_or_else(String::new, |keep| format!(" of {keep}"));
        say(&format!("kept: the last {}{asked}{why}", seconds(kept)));
    }
    if !outcome.system {
        say(&format!(
            "note: without a privilege, only the program's own threads are visible; to record all threads:\n      {}",
            hemiola_rt::privilege::grant()
        ));
    } else if !outcome.wakes {
        say(
            "note: wake-ups are not recorded, so it is unknown what woke a thread and how long it was ready",
        );
    }
    let warn = |what: String| say(&format!("warning: {what}"));
    if outcome.lost > 0 {
        let gaps = if outcome.lost == 1 { "gap" } else { "gaps" };
        warn(format!("{} lost; the trace marks the {gaps}", were(outcome.lost, "kernel event")));
    }
    if outcome.lost_marks > 0 {
        warn(format!("{} lost: they came too fast", were(outcome.lost_marks, "program mark")));
    }
    for (missing, count) in &outcome.missing {
        warn(missing.sentence(*count).to_string());
    }
}
