//! Starting a process of the run: which descriptors it inherits, how it is told what to do, how it ends.
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
use hemiola_trace::result::{FederateRun, Trajectory};
use hemiola_units::{Granted, Instant, RtiAddress, Span};

use crate::node::NodeSpec;

/// The hidden subcommand that runs [`crate::node_main`].
pub(crate) const SUBCOMMAND: &str = "node";

/// What runner and child say to each other, one JSON line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// Runner to child: everything the child needs to prepare.
    Prepare(Box<NodeSpec>),
    /// The RTI to the runner, before it is ready: where it listens.
    Serving(RtiAddress),
    /// Child to runner: prepared; this is what the kernel granted.
    Ready(Granted),
    /// Child to runner: could not prepare.
    Failed(String),
    /// Runner to child: the first release.
    Start(Instant),
    /// Runner to the RTI: serve no longer.
    Stop,
    /// Child to runner: finished, nothing more will be recorded.
    Finished(Box<Finished>),
}

/// What a child says of itself at the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// Context switches of its loop because it waited (getrusage(2), `ru_nvcsw`).
    pub(crate) voluntary_switches: u64,
    /// Context switches of its loop because something else took the processor (`ru_nivcsw`).
    pub(crate) involuntary_switches: u64,
    /// Jobs done.
    pub(crate) jobs: u64,
    /// Median of the time between two marks made back to back, in ns.
    pub(crate) mark_pair_ns_p50: f64,
    /// Why the loop ended before its time, if it did.
    pub(crate) stopped_early: Option<String>,
    /// Plant: when the rod fell, counted from the first release.
    pub(crate) fallen_after: Option<Span>,
    /// Plant: the highest Lyapunov value of the true state.
    pub(crate) peak_v: f64,
    /// Decision module: changes of who commands.
    pub(crate) switches: u64,
    /// Federate: what it counted.
    pub(crate) federate: Option<FederateRun>,
    /// Federate: the trajectory it received, where it holds one against the closed form.
    pub(crate) trajectory: Option<Trajectory>,
}

/// A started child.
#[derive(Debug)]
pub(crate) struct Launched {
    child: Child,
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    partial: String,
    ended: Option<ExitStatus>,
}

/// The executable this process runs, also when its file has been replaced meanwhile.
pub(crate) fn own_executable() -> io::Result<PathBuf> {
    // The link itself, not its target: after a rebuild the target would read "… (deleted)".
    let link = PathBuf::from("/proc/self/exe");
    link.try_exists()?.then_some(link).ok_or_else(|| io::Error::other("/proc is not mounted"))
}

impl Launched {
    /// Starts a child that inherits `descriptors`, writes what it prints to `log`, and is told `spec`.
    pub(crate) fn start(
        spec: NodeSpec,
        descriptors: &[BorrowedFd<'_>],
        log: &Path,
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let output = File::options().create(true).append(true).open(log)?;
        let child = {
            let _inherited = Inherited::open(descriptors)?;
            Command::new(own_executable()?)
                .args([SUBCOMMAND, &spec.name])
                // From its first instruction on: Ctrl-C in a terminal must reach only the runner, and
                // killing the group must reach whatever the child starts.
                .process_group(0)
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(output.try_clone()?)
                .stderr(output)
                .spawn()?
        };
        let mut launched = Self {
            child,
            reader: BufReader::new(ours.try_clone()?),
            writer: ours,
            partial: String::new(),
            ended: None,
        };
        launched.say(&Message::Prepare(Box::new(spec)))?;
        Ok(launched)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn say(&mut self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_string(message).expect("plain data has a JSON form");
        line.push('\n');
        self.writer.write_all(line.as_bytes())
    }

    /// The child's next message; nothing when it says none in time or has closed the line.
    pub(crate) fn hear(&mut self, timeout: Duration) -> Option<Message> {
        // A timeout of zero means "for ever" to the socket, so the shortest wait is one millisecond.
        self.writer.set_read_timeout(Some(timeout.max(Duration::from_millis(1)))).ok()?;
        // A line may arrive in pieces: what came before the timeout is kept for the next call.
        match self.reader.read_line(&mut self.partial) {
            Ok(len) if len > 0 && self.partial.ends_with('\n') => {
                serde_json::from_str(&std::mem::take(&mut self.partial)).ok()
            }
            _ => None,
        }
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

    /// Kills the process and everything in its group, and waits for its end.
    pub(crate) fn kill(&mut self) -> ExitStatus {
        let _ = signal_group(self.pid(), Signal::KILL);
        if let Some(status) = self.ended {
            return status;
        }
        let _ = self.child.kill();
        let status = self.child.wait().expect("a child of ours can be waited for");
        self.ended = Some(status);
        status
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

/// Descriptors that a child started now inherits; closed to children again when dropped.
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
