//! The name of a run, different from every other run on this machine.

use std::fmt;

use hemiola_rt::clock::unix_ns;

/// A run's name: the runner's process number and the time, in 5 to 15 of a-z, 0-9 and '-'.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// A fresh one. Two runs of one process differ by the microsecond they begin in.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "two calls give different values: no default")]
    pub fn new() -> Self {
        let micros = unix_ns() / 1000;
        // 32 bits of microseconds repeat after 71 minutes, by when the process number has moved on.
        Self(format!("{:x}-{:x}", std::process::id(), micros as u32))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
