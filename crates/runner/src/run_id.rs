//! The name of a run, unique on this machine.

use std::fmt;

use hemiola_rt::sys::random::secret;

/// The name of a run: the runner's process number and 32 random bits, in 3 to 15 of a-z, 0-9 and '-'.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// Creates a new name.
    ///
    /// # Panics
    /// If the kernel gives no random bytes, which every supported kernel does.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "two calls give different values: no default")]
    pub fn new() -> Self {
        let random = u32::from_ne_bytes(secret().expect("the kernel gives random bytes"));
        Self(format!("{:x}-{random:x}", std::process::id()))
    }

    /// The runner's process number in the name of a run; `None` if it is not such a name.
    pub(crate) fn runner_of(name: &str) -> Option<u32> {
        let (process, random) = name.split_once('-')?;
        u32::from_str_radix(random, 16).ok()?;
        u32::from_str_radix(process, 16).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_process_that_made_it() {
        assert_eq!(RunId::runner_of(RunId::new().as_str()), Some(std::process::id()));
        for other in ["", "17", "-", "17-", "-17", "peer-17", "17-peer", "1f-2-3"] {
            assert_eq!(RunId::runner_of(other), None, "{other}");
        }
    }
}
