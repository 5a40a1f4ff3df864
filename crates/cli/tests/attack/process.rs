//! The processes of the harness: this program again, each in a role. None outlives the process that started it.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::panic::set_hook;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, fmt};

use hemiola_rt::sys::process::{Signal, set_parent_death_signal};
use hemiola_rt::sys::sched;
use hemiola_units::{Policy, Priority, RtiAddress};

pub(crate) const ROLE: &str = "--role=";

/// How the line begins with which a process in a role says why it ends.
const GIVES_UP: &str = "gives up: ";

/// The time within which a process of the harness answers, on a busy machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Arguments of the form `key=value`.
#[derive(Debug)]
pub(crate) struct Orders(Vec<String>);

impl Orders {
    pub(crate) fn given() -> Self {
        Self(env::args().skip(1).collect())
    }

    /// Returns the role of this process, if it was started for one.
    pub(crate) fn role(&self) -> Option<&str> {
        self.0.iter().find_map(|argument| argument.strip_prefix(ROLE))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='))
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.text(key).map(|text| text.parse().expect("a number"))
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|argument| argument == word)
    }

    /// Returns the words that are neither options nor `key=value`.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .map(String::as_str)
            .filter(|word| !word.starts_with('-') && !word.contains('='))
    }

    /// Returns an address that the parent passed.
    pub(crate) fn address(&self, key: &str) -> RtiAddress {
        self.text(key).expect("the parent passes it").parse().expect("it is an address")
    }

    /// Ends with the parent and with a panic of any thread, and takes the ordered priority.
    pub(crate) fn settle_in(&self) {
        end_at_panics();
        set_parent_death_signal(Signal::KILL).expect("prctl(2) knows it");
        if let Some(priority) = self.number("fifo") {
            let priority = Priority::try_from(priority as u8).expect("a priority");
            sched::set_policy(None, &Policy::Fifo { priority }).expect("the parent tried it");
        }
    }
}

/// Why a process of the harness is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It says nothing, or does not end, within its time.
    Late(String),
    /// It has ended, although nobody asked it to, or with an error.
    Ended(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Late(what) | Self::Ended(what)) = self;
        f.write_str(what)
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.to_string()
    }
}

/// A process in a role. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its name in messages.
    name: String,
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Why it has given up, once it says so.
    reason: Arc<OnceLock<String>>,
}

/// What a process said after it was asked to end.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) lines: Vec<String>,
    /// Why it did not end as it should.
    pub(crate) failure: Option<Failure>,
}

impl Process {
    /// Starts this program again.
    pub(crate) fn start(role: &str, orders: &[String]) -> Self {
        let mut command = Command::new(env::current_exe().expect("a running program has a path"));
        command.arg(format!("{ROLE}{role}")).args(orders);
        Self::run(role, command)
    }

    /// Starts a command and collects the lines that it prints. The name is for messages.
    pub(crate) fn run(name: &str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        let reason = Arc::new(OnceLock::new());
        let gave_up = Arc::clone(&reason);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(why) = line.strip_prefix(GIVES_UP) {
                    // The first reason is the cause.
                    let _ = gave_up.set(why.to_owned());
                } else if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { name: name.to_owned(), child, stdin, lines, reason }
    }

    /// Returns the next line of its output.
    ///
    /// # Errors
    /// None arrives within this time, or before its end.
    pub(crate) fn line(&mut self, within: Duration) -> Result<String, Failure> {
        match self.lines.recv_timeout(within) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(self.late("says nothing", within)),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.ended_within(PATIENCE);
                let status = status.ok_or_else(|| self.late("does not end", PATIENCE))?;
                Err(self.ended(status))
            }
        }
    }

    /// Waits for a line with this content.
    ///
    /// # Errors
    /// Another line arrives, or none.
    pub(crate) fn says(&mut self, what: &str) -> Result<(), String> {
        let line = self.line(PATIENCE)?;
        let refused = || format!("the {} says {line:?} in place of {what:?}", self.name);
        if line == what { Ok(()) } else { Err(refused()) }
    }

    /// Sends a line.
    pub(crate) fn tell(&mut self, what: &str) {
        if let Some(stdin) = &mut self.stdin {
            // A process that has ended is noticed when its output is read.
            let _ = writeln!(stdin, "{what}");
        }
    }

    /// Closes its standard input, which asks it to end, and returns the rest of its output. It is killed if it does not
    /// end in time.
    pub(crate) fn finish(mut self, within: Duration) -> Finished {
        drop(self.stdin.take());
        let until = Instant::now() + within;
        let mut lines = Vec::new();
        while let Ok(line) =
            self.lines.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            lines.push(line);
        }
        let status = self.ended_within(until.saturating_duration_since(Instant::now()));
        let failure = match status {
            None => Some(self.late("does not end", within)),
            Some(status) => (!status.success()).then(|| self.ended(status)),
        };
        Finished { lines, failure }
    }

    /// Returns its status, once it has ended and within this time.
    pub(crate) fn ended_within(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + within;
        loop {
            let status = self.child.try_wait().expect("it is a child");
            if status.is_some() || Instant::now() >= until {
                return status;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn late(&self, what: &str, within: Duration) -> Failure {
        Failure::Late(format!("the {} {what} within {} ms", self.name, within.as_millis()))
    }

    /// Why it has ended, with the reason that it gave if it could.
    fn ended(&self, status: ExitStatus) -> Failure {
        let reason = self.reason.get().cloned().unwrap_or_else(|| status.to_string());
        Failure::Ended(format!("the {} ended: {reason}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a role: writes a line to the parent.
pub(crate) fn report(what: impl Display) {
    let mut out = stdout().lock();
    // Without a parent this process ends, too.
    let _ = writeln!(out, "{what}").and_then(|()| out.flush());
}

/// In a role: ends the process, and tells the parent why.
pub(crate) fn give_up(why: impl Display) -> ! {
    report(format_args!("{GIVES_UP}{}", why.to_string().lines().collect::<Vec<_>>().join("; ")));
    std::process::exit(1)
}

/// In a role: a panic of any thread ends the process. Otherwise a thread could end unnoticed, and with it a part of
/// what the process is for.
fn end_at_panics() {
    set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("a panic");
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
        give_up(format_args!("{message}{}", place.unwrap_or_default()))
    }));
}

/// In a role: returns the parent's next line; `None` once it asks to end.
pub(crate) fn next_order() -> Option<String> {
    stdin().lines().next().and_then(Result::ok)
}

/// In a role: whether the parent has asked to end. The first call starts to watch.
pub(crate) fn is_over() -> bool {
    static WATCH: LazyLock<JoinHandle<()>> =
        LazyLock::new(|| std::thread::spawn(|| while next_order().is_some() {}));
    WATCH.is_finished()
}
