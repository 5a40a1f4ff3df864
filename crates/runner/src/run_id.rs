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
