//! The lock that allows one measurement at a time: two would disturb each other.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use thiserror::Error;

/// The locked name, in the abstract name space (unix(7)), so that the kernel releases it even if the holder is killed.
const NAME: &str = "hemiola-measure";

/// The right to measure, held until it is dropped; valid in this network name space.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "held, not used")] UnixListener);

/// Why the right to measure cannot be taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotAlone {
    /// Another process is measuring.
    #[error(
        "another measurement is running on this machine, and the two would disturb each other\n\
         hint: wait until the other `hemiola measure` has ended"
    )]
    Taken,
    /// The kernel refused the name.
    #[error("cannot find out whether another measurement is running: {0}")]
    Failed(#[from] io::Error),
}

impl Alone {
    /// Takes the right to measure.
    ///
    /// # Errors
    /// [`NotAlone::Taken`] at once if another process holds it; that may take minutes.
    pub fn on_this_machine() -> Result<Self, NotAlone> {
        Self::named(NAME)
    }

    fn named(name: &str) -> Result<Self, NotAlone> {
        let address = SocketAddr::from_abstract_name(name)?;
        match UnixListener::bind_addr(&address) {
            Ok(held) => Ok(Self(held)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(NotAlone::Taken),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_process_holds_the_lock_until_it_is_dropped() {
        let name = format!("hemiola-test-{}", std::process::id());
        let held = Alone::named(&name).unwrap();
        assert!(matches!(Alone::named(&name), Err(NotAlone::Taken)));
        drop(held);
        Alone::named(&name).unwrap();
    }
}
