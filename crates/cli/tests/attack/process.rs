//! The processes of the harness: this program again, each in a role. None outlives the process that started it.

use std::env;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use hemiola_rt::sys::process::{Signal, set_parent_death_signal};
use hemiola_rt::sys::sched;
use hemiola_units::{Policy, Priority, RtiAddress};

pub(crate) const ROLE: &str = "--role=";

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

    /// Ends with the parent, and takes the ordered priority.
    pub(crate) fn settle_in(&self) {
        set_parent_death_signal(Signal::KILL).expect("prctl(2) knows it");
        if let Some(priority) = self.number("fifo") {
            let priority = Priority::try_from(priority as u8).expect("a priority");
            sched::set_policy(None, &Policy::Fifo { priority }).expect("the parent tried it");
        }
    }
}

/// A process in a role. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts this program again.
    pub(crate) fn start(role: &str, orders: &[String]) -> Self {
        let mut command = Command::new(env::current_exe().expect("a running program has a path"));
        command.arg(format!("{ROLE}{role}")).args(orders);
        Self::run(command)
    }

    /// Starts a command and collects the lines that it prints.
    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
        });
        Self { child, stdin, lines }
    }

    /// Returns the next line of its output; `None` if none arrives in time.
    pub(crate) fn line(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// Waits for a line with this content.
    pub(crate) fn says(&self, what: &str) {
        let line = self.line(PATIENCE);
        assert_eq!(line.as_deref(), Some(what), "see the error output of the process");
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
    pub(crate) fn finish(mut self, within: Duration) -> Vec<String> {
        drop(self.stdin.take());
        let until = std::time::Instant::now() + within;
        let mut all = Vec::new();
        while let Some(line) = self.line(until.saturating_duration_since(std::time::Instant::now()))
        {
            all.push(line);
        }
        all
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
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
