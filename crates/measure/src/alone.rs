//! One measurement at a time on a machine: two would measure each other.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use thiserror::Error;

/// The name that is held while something is measured: in the abstract name space (unix(7)), so that the kernel
/// gives it back whatever becomes of its holder.
const NAME: &str = "hemiola-measure";

/// The right to measure, held until it is dropped; it reaches as far as the network name space.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "held, not used")] UnixListener);

/// Why nothing can be measured now.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotAlone {
    /// Another measurement has the machine.
    #[error(
        "this machine is being measured already, and two measurements would measure each other\n\
         hint: wait until the other `hemiola measure` has ended"
    )]
    Taken,
    /// The kernel refused the name.
    #[error("whether this machine is being measured already cannot be found out: {0}")]
    Failed(#[from] io::Error),
}

impl Alone {
    /// Takes the right to measure.
    ///
    /// # Errors
    ///
    /// [`NotAlone::Taken`] at once when another process has it: it may take minutes.
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
    fn only_one_holds_the_machine_and_gives_it_back() {
        let name = format!("hemiola-test-{}", std::process::id());
        let held = Alone::named(&name).unwrap();
        assert!(matches!(Alone::named(&name), Err(NotAlone::Taken)));
        drop(held);
        Alone::named(&name).unwrap();
    }
}
