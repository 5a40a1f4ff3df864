//! A running `hemiola` command, and its result.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::{Signal, signal_group};

use crate::machine::{Machine, PATIENCE, objects};

/// The binary under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hemiola");

/// A running command, the head of a process group as a shell would make it. Killed when dropped.
pub(crate) struct Running {
    child: Option<Child>,
    pid: u32,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let child = command
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let pid = child.id();
        Self { child: Some(child), pid }
    }

    /// Sends a signal to the process group, as a terminal does at Ctrl-C.
    pub(crate) fn signal(&self, signal: Signal) {
        signal_group(self.pid, signal).unwrap();
    }

    /// Its process ID.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// SIGKILL to this process alone.
    pub(crate) fn kill(&mut self) {
        self.child.as_mut().unwrap().kill().unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    pub(crate) fn end(mut self) -> Ended {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Waits for the control socket and returns the name of the run.
    pub(crate) fn run_name(&mut self) -> String {
        let limit = Instant::now() + PATIENCE;
        let prefix = format!("@hemiola/{:x}-", self.pid);
        loop {
            if let Some(name) = objects().into_iter().find(|name| name.starts_with(&prefix)) {
                return name["@hemiola/".len()..].to_owned();
            }
            assert!(!self.has_ended(), "it ended before it opened a control socket");
            assert!(Instant::now() < limit, "it opens no control socket");
            sleep(Duration::from_millis(10));
        }
    }

    /// Runs `hemiola unit …` on this run.
    pub(crate) fn unit(&mut self, machine: &Machine, arguments: &[&str]) -> Ended {
        let run = self.run_name();
        machine.hemiola(&[&["unit", "--run", &run], arguments].concat())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _: io::Result<_> = child.kill().and_then(|()| child.wait());
        }
    }
}

impl Ended {
    /// Asserts the exit code. A run that only missed voltages counts as a success: a busy host can take a virtual
    /// processor for longer than a period, whatever the priority.
    pub(crate) fn with_code(self, code: i32) -> Self {
        if code == 0 && self.only_missed_voltages() {
            println!("skipped: needs a host that takes no processor away: {}", self.stderr);
            return self;
        }
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self
    }

    fn only_missed_voltages(&self) -> bool {
        let mut errors = self.stderr.lines().filter(|line| line.starts_with("error: ")).peekable();
        let is_missed = |line: &str| line.contains(" not written in ") && !line.contains("; ");
        self.status.code() == Some(1) && errors.peek().is_some() && errors.all(is_missed)
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// The result folder: the last line on standard output.
    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(self.stdout.lines().last().unwrap_or_else(|| panic!("{self:#?}")))
    }
}
