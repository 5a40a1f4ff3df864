//! The guardian: a small process that cleans up when the runner dies without being able to.
//!
//! Shared memory and queues have no names and processes carry a parent-death signal, so a killed
//! runner leaves almost nothing behind. Two things remain: a process that a replacement unit started
//! on its own, and the files of iceoryx2. The guardian holds the other end of a pipe that only the
//! runner writes to; when the pipe closes before the runner sent `done`, the guardian kills what is left of the
//! run's process groups. It removes the files after `done` too: iceoryx2 leaves some after an orderly end as well.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use hemiola_rt::sys::process::{Signal, signal_group};

use crate::RunId;

/// The hidden subcommand that runs [`guardian_main`].
pub(crate) const SUBCOMMAND: &str = "guardian";

/// The runner's end.
#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
    pipe: ChildStdin,
}

impl Guardian {
    /// Starts the guardian of this run, from the same executable.
    pub(crate) fn start(run: &RunId) -> io::Result<Self> {
        let mut child = Command::new(crate::launch::own_executable()?)
            .args([SUBCOMMAND, run.as_str()])
            // Out of the terminal's process group from the start: Ctrl-C reaches only the runner.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = child.stdin.take().expect("asked for a pipe above");
        Ok(Self { child, pipe })
    }

    /// Adds a process group that the guardian kills if the runner dies.
    pub(crate) fn watch(&mut self, group: u32) -> io::Result<()> {
        writeln!(self.pipe, "+{group}")
    }

    /// Removes a process group that has ended: its number may be reused.
    pub(crate) fn forget(&mut self, group: u32) -> io::Result<()> {
        writeln!(self.pipe, "-{group}")
    }

    /// Ends the guardian, after the runner has cleaned up itself.
    pub(crate) fn dismiss(mut self) -> io::Result<()> {
        writeln!(self.pipe, "done")?;
        drop(self.pipe);
        self.child.wait().map(drop)
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
    for group in groups {
        let _ = signal_group(group, Signal::KILL);
    }
    let _ = hemiola_bus::pubsub::sweep(run);
}
