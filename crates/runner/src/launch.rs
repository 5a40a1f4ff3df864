//! Starting a process of the run: the descriptors it inherits, its messages to and from the runner, its end.
//!
//! A child is this same executable with a hidden subcommand. Its standard input is a socket to the
//! runner that carries lines of JSON both ways ([`Message`]); kernel objects reach it as inherited
//! descriptors whose numbers stand in its [`NodeSpec`]. A foreign program is started the same way: the
//! child applies the profile, drops the socket and executes the program in its place.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant as WallInstant};

use rustix::io::FdFlags;
use serde::{Deserialize, Serialize};

use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_units::{Granted, Instant, RtiAddress};

use crate::spec::NodeSpec;

/// The hidden subcommand that runs [`crate::node_main`].
pub(crate) const SUBCOMMAND: &str = "node";

/// How long a killed process may take to end, and a message to be taken.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A message between runner and child, one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// Runner to child: everything the child needs to prepare.
    Prepare(Box<NodeSpec>),
    /// Child to runner: prepared.
    Ready {
        /// The profile that the kernel granted.
        granted: Granted,
        /// The user id of its own that it has.
        user: Option<u32>,
        /// Where an RTI listens.
        rti: Option<RtiAddress>,
    },
    /// Child to runner: it could not prepare, for this reason.
    Failed(String),
    /// Runner to child: the instant of the first release.
    Start(Instant),
    /// Runner to child: the run is over; see [`StopBy::Message`](crate::tasks::StopBy).
    Stop,
    /// Child to runner: finished, nothing more will be recorded.
    Finished(Box<Finished>),
}

/// The report of a child at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// Context switches of its loop because it waited (getrusage(2), `ru_nvcsw`).
    pub(crate) voluntary_switches: u64,
    /// Context switches of its loop because something else took the processor (`ru_nivcsw`).
    pub(crate) involuntary_switches: u64,
    /// Jobs done.
    pub(crate) jobs: u64,
    /// Why the loop ended early, if it did.
    pub(crate) stopped_early: Option<String>,
    /// The results of its task.
    pub(crate) report: serde_json::Value,
}

impl Message {
    fn line(&self) -> String {
        serde_json::to_string(self).expect("plain data has a JSON form") + "\n"
    }
}

/// The child's end of the socket to the runner.
pub(crate) struct Line {
    stream: BufReader<UnixStream>,
}

impl Line {
    /// Takes over standard input.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self { stream: BufReader::new(UnixStream::from(stdin)) })
    }

    /// A second one, for a thread that receives from now on.
    pub(crate) fn another(&self) -> io::Result<Self> {
        Ok(Self { stream: BufReader::new(self.stream.get_ref().try_clone()?) })
    }

    /// Sends to the runner. An error means that the runner is gone, which ends this process too.
    pub(crate) fn send(&mut self, message: &Message) {
        let _ = self.stream.get_mut().write_all(message.line().as_bytes());
    }

    pub(crate) fn receive(&mut self) -> Option<Message> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Reports that this process is prepared, with the user id of its own if it has one, and waits for the instant of
    /// the first release.
    pub(crate) fn await_start(
        &mut self,
        granted: Granted,
        user: Option<u32>,
    ) -> Result<Instant, String> {
        self.send(&Message::Ready { granted, user, rti: None });
        match self.receive() {
            Some(Message::Start(epoch)) => Ok(epoch),
            _ => Err("the runner gave no start".into()),
        }
    }
}

/// A started child.
#[derive(Debug)]
pub(crate) struct Launched {
    child: Child,
    /// `None` once the process has ended.
    line: Option<BufReader<UnixStream>>,
    partial: String,
    ended: Option<ExitStatus>,
    /// Whether its process group is empty: the number may belong to others by now.
    vanished: bool,
}

/// The executable this process runs, also when its file has been replaced meanwhile.
pub(crate) fn own_executable() -> io::Result<PathBuf> {
    // The link itself, not its target: after a rebuild the target would read "… (deleted)".
    let link = PathBuf::from("/proc/self/exe");
    link.try_exists()?.then_some(link).ok_or_else(|| io::Error::other("/proc is not mounted"))
}

impl Launched {
    /// Starts a child that inherits `descriptors` and prints into the file `log`, and sends it `spec`.
    pub(crate) fn start(
        spec: NodeSpec,
        descriptors: &[BorrowedFd<'_>],
        log: &Path,
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // A child that is stopped reads nothing.
        ours.set_write_timeout(Some(END_TIMEOUT))?;
        let output = File::options().create(true).append(true).open(log)?;
        let child = {
            let _inherited = Inherited::open(descriptors)?;
            Command::new(own_executable()?)
                .args([SUBCOMMAND, &spec.process.name])
                // From its first instruction on: Ctrl-C in a terminal must reach only the runner, and
                // killing the group must reach every process that the child starts.
                .process_group(0)
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(output.try_clone()?)
                .stderr(output)
                .spawn()?
        };
        let mut launched = Self {
            child,
            line: Some(BufReader::new(ours)),
            partial: String::new(),
            ended: None,
            vanished: false,
        };
        launched.send(&Message::Prepare(Box::new(spec)))?;
        Ok(launched)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, message: &Message) -> io::Result<()> {
        let line = self.line.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        line.get_mut().write_all(message.line().as_bytes())
    }

    /// The child's next message; `None` when none comes in time or the child has closed its end.
    pub(crate) fn receive(&mut self, timeout: Duration) -> Option<Message> {
        // To the socket a timeout of zero means no timeout, so the shortest wait is one millisecond.
        let line = self.line.as_mut()?;
        line.get_ref().set_read_timeout(Some(timeout.max(Duration::from_millis(1)))).ok()?;
        // A line may arrive in pieces: the part before the timeout is kept for the next call.
        match line.read_line(&mut self.partial) {
            Ok(len) if len > 0 && self.partial.ends_with('\n') => {
                serde_json::from_str(&std::mem::take(&mut self.partial)).ok()
            }
            _ => None,
        }
    }

    /// Closes the socket to a process that has ended, once its last message was received.
    pub(crate) fn hang_up(&mut self) {
        self.line = None;
    }

    /// How the process ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits until the process has ended, at most until `limit`.
    pub(crate) fn wait_until(&mut self, limit: WallInstant) -> Option<ExitStatus> {
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if WallInstant::now() >= limit {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills the process and everything in its group, without waiting; returns whether all of it has ended.
    pub(crate) fn end(&mut self) -> bool {
        if !self.vanished {
            // Before the process is reaped: its number cannot belong to another group yet.
            let is_empty = signal_group(self.pid(), Signal::KILL).is_err();
            self.vanished = self.ended().is_some() && is_empty;
        }
        self.vanished
    }

    /// Kills the process and everything in its group, and waits for its end. `None` if it does not end: a tracer that
    /// holds it hides its end from its parent (ptrace(2)).
    pub(crate) fn kill(&mut self) -> Option<ExitStatus> {
        self.end();
        if self.ended.is_none() {
            let _ = self.child.kill();
        }
        self.wait_until(WallInstant::now() + END_TIMEOUT)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An exit status in words.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "ended".into(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(9)) => "killed by SIGKILL".into(),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended in an unknown way".into(),
    }
}

/// Descriptors that a child started now inherits. Later children do not, once this is dropped.
struct Inherited<'fd>(&'fd [BorrowedFd<'fd>]);

impl<'fd> Inherited<'fd> {
    fn open(descriptors: &'fd [BorrowedFd<'fd>]) -> io::Result<Self> {
        let guard = Self(descriptors);
        for fd in descriptors {
            rustix::io::fcntl_setfd(fd.as_fd(), FdFlags::empty())?;
        }
        Ok(guard)
    }
}

impl Drop for Inherited<'_> {
    fn drop(&mut self) {
        for fd in self.0 {
            let _ = rustix::io::fcntl_setfd(fd.as_fd(), FdFlags::CLOEXEC);
        }
    }
}
