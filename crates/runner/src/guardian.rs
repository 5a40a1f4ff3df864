//! The guardian: a small process that cleans up when the runner dies without being able to.
//!
//! Shared memory and queues have no names and processes carry a parent-death signal, so a killed
//! runner leaves almost nothing behind. Two things remain: a process that a replacement unit started
//! on its own, and the files of iceoryx2. The guardian holds the other end of a socket that only the
//! runner writes to; when the socket closes before the runner sent `done`, the guardian kills what is left of the
//! run's process groups, and every process that holds shared memory of the run. It removes the files after `done`
//! too: iceoryx2 leaves some after an orderly end as well.
//!
//! The runner replaces a guardian that is killed or stopped. If both are killed, the next run removes the files.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant as WallInstant};

use hemiola_rt::sys::process::{Signal, exists, is_stopped, signal_group, signal_one};

use crate::{RunId, control};

/// The hidden subcommand that runs [`guardian_main`].
pub(crate) const SUBCOMMAND: &str = "guardian";

/// How long the guardian may take to read a line, and to end.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many guardians a run may need after its first.
const REPLACED_MAX: u32 = 8;

/// The runner's end.
#[derive(Debug)]
pub(crate) struct Guardian {
    run: RunId,
    child: Child,
    line: UnixStream,
    /// The process groups that it kills if the runner dies.
    groups: Vec<u32>,
    replaced: u32,
}

impl Guardian {
    /// Starts the guardian of this run, from the same executable.
    pub(crate) fn start(run: &RunId) -> io::Result<Self> {
        let (child, line) = spawn(run)?;
        Ok(Self { run: run.clone(), child, line, groups: Vec::new(), replaced: 0 })
    }

    /// Its process number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Adds a process group that the guardian kills if the runner dies.
    pub(crate) fn watch(&mut self, group: u32) -> io::Result<()> {
        self.groups.push(group);
        self.tell(&format!("+{group}\n"))
    }

    /// Removes a process group that has ended: its number may be reused.
    pub(crate) fn forget(&mut self, group: u32) -> io::Result<()> {
        self.groups.retain(|known| *known != group);
        self.tell(&format!("-{group}\n"))
    }

    /// Puts another guardian in the place of one that has ended or is stopped. Returns whether that was necessary.
    ///
    /// # Errors
    /// If no other can be started, or too many have ended.
    pub(crate) fn check(&mut self) -> io::Result<bool> {
        let is_gone = self.child.try_wait()?.is_some() || is_stopped(self.child.id());
        if is_gone {
            self.replace()?;
        }
        Ok(is_gone)
    }

    /// Ends the guardian, after the runner has cleaned up itself.
    pub(crate) fn dismiss(mut self) {
        let told = self.line.write_all(b"done\n").is_ok();
        drop(self.line);
        if !(told && has_ended(&mut self.child)) {
            end(&mut self.child);
            let _ = hemiola_bus::pubsub::sweep(self.run.as_str());
        }
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        self.line.write_all(line.as_bytes()).or_else(|_| self.replace())
    }

    fn replace(&mut self) -> io::Result<()> {
        self.replaced += 1;
        if self.replaced > REPLACED_MAX {
            return Err(io::Error::other(format!("{REPLACED_MAX} of them ended")));
        }
        // Killed before its line closes: else it would take the runner for dead.
        end(&mut self.child);
        (self.child, self.line) = spawn(&self.run)?;
        self.groups.iter().try_for_each(|group| writeln!(self.line, "+{group}"))
    }
}

fn spawn(run: &RunId) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_write_timeout(Some(TIMEOUT))?;
    let child = Command::new(crate::launch::own_executable()?)
        .args([SUBCOMMAND, run.as_str()])
        // Out of the terminal's process group from the start: Ctrl-C reaches only the runner.
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((child, ours))
}

/// Kills a guardian; one that a tracer holds may remain for as long as that does.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = has_ended(child);
}

/// Waits until the guardian has ended, or for too long.
fn has_ended(child: &mut Child) -> bool {
    let limit = WallInstant::now() + TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(None) if WallInstant::now() < limit => std::thread::sleep(Duration::from_millis(1)),
            outcome => return matches!(outcome, Ok(Some(_))),
        }
    }
}

/// Removes what earlier runs left in `/dev/shm` whose runner and guardian were both killed.
pub(crate) fn sweep_dead_runs() {
    let running = control::running::<control::Scenarios>().unwrap_or_default();
    for run in hemiola_bus::pubsub::runs().unwrap_or_default() {
        let is_dead = RunId::runner_of(&run).is_some_and(|runner| !exists(runner));
        if is_dead && !running.contains(&run) {
            let _ = hemiola_bus::pubsub::sweep(&run);
        }
    }
}

/// The guardian process: waits for the runner to end in any way, and cleans up.
pub fn guardian_main(run: &str) {
    let mut groups = Vec::new();
    for line in BufReader::new(io::stdin()).lines() {
        let Ok(line) = line else { break };
        if line == "done" {
            groups.clear();
            break;
        }
        match (line.strip_prefix('+'), line.strip_prefix('-')) {
            (Some(group), _) => groups.extend(group.parse::<u32>()),
            (_, Some(group)) => groups.retain(|known| Ok(*known) != group.parse()),
            _ => {}
        }
    }
    let is_killed = !groups.is_empty();
    for group in groups {
        let _ = signal_group(group, Signal::KILL);
    }
    if is_killed {
        // A process that left its group before.
        for holder in holders(run) {
            let _ = signal_one(holder, Signal::KILL);
        }
    }
    let _ = hemiola_bus::pubsub::sweep(run);
}

/// The processes that hold shared memory of this run, by descriptor or mapping.
fn holders(run: &str) -> Vec<u32> {
    let name = format!("/memfd:hemiola-{run}-");
    let holds = |pid: u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link| link.to_string_lossy().starts_with(&name))
            || fs::read_to_string(format!("/proc/{pid}/maps"))
                .is_ok_and(|maps| maps.contains(&name))
    };
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| *pid != std::process::id() && holds(*pid)).collect()
}
