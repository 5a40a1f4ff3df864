//! Processes that a process of the run has started and left behind.
//!
//! A child that leaves its process group (setsid(2)) survives a signal to the group. While this process adopts orphans,
//! such a child becomes its own child once its parent has ended, and can be found and killed without any privilege.

use std::io;
use std::time::{Duration, Instant};

use hemiola_rt::sys::process::{Descendant, Signal, adopt_orphans, descendants, reap, signal_one};

/// How long strays may take to end at the end of a run; one in an uninterruptible wait may take for ever.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Adoption of orphans for the length of a run. At its end every stray is killed.
#[derive(Debug)]
pub(crate) struct Adoption {
    /// Children that this process had before.
    own: Vec<u32>,
}

impl Adoption {
    /// Begins to adopt. All children that this process has now are its own.
    pub(crate) fn begin() -> io::Result<Self> {
        let own = descendants()?.iter().map(|process| process.branch).collect();
        adopt_orphans()?;
        Ok(Self { own })
    }

    /// Kills every process below this one that belongs neither to `known` children nor to the own ones. Returns whether
    /// there was none.
    pub(crate) fn end_strays(&self, known: &[u32]) -> bool {
        let is_stray = |process: &&Descendant| {
            !known.contains(&process.branch) && !self.own.contains(&process.branch)
        };
        let Ok(processes) = descendants() else { return false };
        let strays: Vec<&Descendant> = processes.iter().filter(is_stray).collect();
        for stray in &strays {
            let _ = signal_one(stray.pid, Signal::KILL);
            // Only a child can be reaped; the others become children when their parents have ended.
            let _ = reap(stray.pid);
        }
        strays.iter().all(|stray| stray.has_ended)
    }
}

impl Drop for Adoption {
    fn drop(&mut self) {
        let limit = Instant::now() + END_TIMEOUT;
        while !self.end_strays(&[]) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
