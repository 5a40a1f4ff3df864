//! Runs a command as a process.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use hemiola_probe::Load;
use hemiola_report::text::printable;
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::process::{PidFd, Signal};
use hemiola_rt::sys::usage::{ChildUsage, reap_child};
use hemiola_units::{Instant, Span};

use super::once::what;
use super::{CommandError, CommandRunner, Once, Run, Subject};
use crate::activity::{Meanwhile, Watch};

/// How often an interruption is looked for while a command runs. The end of the command is seen at once.
const LOOK: Span = Span::from_millis(100);

/// The time that an interrupted command has to end by itself.
const GRACE: Span = Span::from_millis(1_000);

/// The end of what a command writes to standard error that is kept, and the lines of it that are shown.
const TAIL_BYTES: usize = 4096;
const TAIL_LINES: usize = 10;

/// The time to wait for the rest of standard error, which a process in the background may keep open.
const REST: Duration = Duration::from_millis(200);

/// Runs commands as processes of this machine, one at a time.
#[derive(Debug)]
pub struct Processes<'i> {
    /// The shell of preparations, setups and cleanups.
    pub shell: String,
    /// The folder in which they run; otherwise this process's.
    pub folder: Option<PathBuf>,
    /// The file that commands read; otherwise they read nothing.
    pub input: Option<PathBuf>,
    /// Whether commands write to this process's standard output; otherwise what they write is dropped.
    pub shows_output: bool,
    /// Whether a command may fail.
    pub ignores_failure: bool,
    /// What to do about a command that fails.
    pub failure_hint: &'static str,
    /// Set by a signal: the command is ended.
    pub interrupted: &'i AtomicBool,
    watch: Watch,
}

impl<'i> Processes<'i> {
    /// Processes that read nothing, whose standard output is dropped, and none of which may fail.
    #[must_use]
    pub fn new(failure_hint: &'static str, interrupted: &'i AtomicBool) -> Self {
        Self {
            shell: "sh".into(),
            folder: None,
            input: None,
            shows_output: false,
            ignores_failure: false,
            failure_hint,
            interrupted,
            watch: Watch::start(),
        }
    }

    /// The work of others during the rounds so far.
    #[must_use]
    pub fn meanwhile(&self) -> Meanwhile {
        self.watch.meanwhile(Load::Idle)
    }
}

impl CommandRunner for Processes<'_> {
    fn run(&mut self, subject: &Subject, when: &str) -> Result<Run, CommandError> {
        let mut prepared = Span::ZERO;
        if let Some(text) = &subject.prepare {
            prepared = self.beside(what("preparation", text, subject), text, when)?;
        }
        let what = format!("`{}`", printable(&subject.name));
        let (used, wall, tail) = self.process(&subject.words, self.stdin(&what)?, &what)?;
        if !used.status.success() && !self.ignores_failure {
            let hint = format!("\nhint: {}", self.failure_hint);
            return Err(failed(what, when, used.status, &tail, &hint));
        }
        let ChildUsage { user, system, memory_max, status } = used;
        Ok(Run { prepared, wall, user, system, memory_max, exit_code: status.code() })
    }

    fn once(&mut self, subject: &Subject, once: Once) -> Result<(), CommandError> {
        let Some(text) = once.text(subject) else { return Ok(()) };
        self.beside(what(once.noun(), text, subject), text, once.when()).map(drop)
    }

    fn begin(&mut self) {
        self.watch = Watch::start();
    }

    /// The children of this round have been waited for, so their processor time is not that of others.
    fn end_round(&mut self) {
        self.watch.end_block(Span::ZERO);
    }
}

impl Processes<'_> {
    fn stdin(&self, what: &str) -> Result<Stdio, CommandError> {
        let Some(path) = &self.input else { return Ok(Stdio::null()) };
        let hint = "\nhint: `--input` names the file that it reads";
        let start = |source| CommandError::Start { what: what.into(), source, hint };
        Ok(File::open(path).map_err(start)?.into())
    }

    /// Runs a text beside a command, in a shell, and returns the time that it took.
    fn beside(&self, what: String, text: &str, when: &str) -> Result<Span, CommandError> {
        let words = [self.shell.clone(), "-c".into(), text.into()];
        let (used, took, tail) = self.process(&words, Stdio::null(), &what)?;
        if !used.status.success() {
            return Err(failed(what, when, used.status, &tail, ""));
        }
        Ok(took)
    }

    fn process(
        &self,
        words: &[String],
        stdin: Stdio,
        what: &str,
    ) -> Result<(ChildUsage, Span, Receiver<Vec<u8>>), CommandError> {
        let start = |source| CommandError::Start { what: what.into(), source, hint: "" };
        let stdout = if self.shows_output { Stdio::inherit() } else { Stdio::null() };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let before = MonotonicClock.now();
        let mut child = command.spawn().map_err(start)?;
        let tail = child.stderr.take().map(tail).expect("standard error is piped");
        let watched = PidFd::open(child.id()).map_err(start)?;
        let after = self.ended(&watched).map_err(start)?;
        let used = reap_child(child).map_err(start)?;
        match after {
            Some(after) => Ok((used, after - before, tail)),
            None => Err(CommandError::Interrupted),
        }
    }

    /// Waits for the end of a process and returns its moment; ends it if the measurement is interrupted.
    fn ended(&self, process: &PidFd) -> std::io::Result<Option<Instant>> {
        while !process.wait(MonotonicClock.now() + LOOK)? {
            if self.interrupted.load(Ordering::Relaxed) {
                process.send_signal(Signal::TERM)?;
                if !process.wait(MonotonicClock.now() + GRACE)? {
                    process.send_signal(Signal::KILL)?;
                }
                return Ok(None);
            }
        }
        Ok(Some(MonotonicClock.now()))
    }
}

/// Reads standard error to its end, so that no command waits for a reader, and keeps the end of it.
fn tail(mut stderr: ChildStderr) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; TAIL_BYTES]);
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..count]);
            kept.drain(..kept.len().saturating_sub(TAIL_BYTES));
        }
        let _ = sender.send(kept);
    });
    receiver
}

fn failed(
    what: String,
    when: &str,
    status: ExitStatus,
    tail: &Receiver<Vec<u8>>,
    hint: &str,
) -> CommandError {
    let wrote = tail.recv_timeout(REST).unwrap_or_default();
    let wrote = String::from_utf8_lossy(&wrote);
    let lines: Vec<&str> = wrote.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let shown: String = last.iter().map(|line| format!("\n  {}", printable(line))).collect();
    let how = status.to_string();
    CommandError::Failed { what, when: when.into(), how, stderr: shown + hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str], prepare: Option<&str>, ignores_failure: bool) -> Result<Run, String> {
        let interrupted = AtomicBool::new(false);
        let mut processes =
            Processes { ignores_failure, ..Processes::new("repair it", &interrupted) };
        let subject = Subject {
            name: words.join(" "),
            words: words.iter().map(ToString::to_string).collect(),
            prepare: prepare.map(Into::into),
            ..Subject::default()
        };
        processes.run(&subject, "in run 3").map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_has_its_time_its_use_and_its_status() {
        let ran =
            run(&["sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"], None, false);
        let ran = ran.unwrap();
        assert!(ran.user + ran.system > Span::ZERO && ran.memory_max.0 > 0, "{ran:?}");
        assert_eq!(ran.exit_code, Some(0));
        assert!(run(&["sleep", "0.05"], None, false).unwrap().wall >= Span::from_millis(50));
    }

    #[test]
    fn a_failure_is_an_error_with_the_end_of_standard_error() {
        let script = "seq 1 5000 >&2; echo 'no \u{1b}[1msuch file' >&2; exit 7";
        let error = run(&["sh", "-c", script], None, false).unwrap_err();
        assert!(error.contains("failed in run 3: exit status: 7\n  4992\n"), "{error}");
        assert!(error.contains("\n  no \\u{1b}[1msuch file\nhint: "), "{error}");
        assert_eq!(run(&["sh", "-c", script], None, true).unwrap().exit_code, Some(7));
        assert_eq!(run(&["sh", "-c", "kill -9 $$"], None, true).unwrap().exit_code, None);
    }

    #[test]
    fn a_preparation_that_fails_is_an_error_whatever_the_command_may_do() {
        let error = run(&["true"], Some("echo full >&2; false"), true).unwrap_err();
        let expected = "the preparation `echo full >&2; false` of `true` failed in run 3: exit status: 1\n  full";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&["no-such-program"], None, true).unwrap_err();
        assert!(error.starts_with("`no-such-program` cannot be started: No such file"), "{error}");
    }

    #[test]
    fn a_process_in_the_background_delays_nothing() {
        let ran = run(&["sh", "-c", "sleep 5 & exit 1"], None, false);
        assert!(ran.unwrap_err().contains("exit status: 1"));
    }

    #[test]
    fn an_interruption_ends_the_command() {
        let interrupted = AtomicBool::new(true);
        let processes = Processes::new("repair it", &interrupted);
        let words = ["sleep".to_owned(), "100".to_owned()];
        let ended = processes.process(&words, Stdio::null(), "`sleep 100`");
        assert!(matches!(ended, Err(CommandError::Interrupted)));
    }
}
