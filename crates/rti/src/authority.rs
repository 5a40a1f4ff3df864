//! What federates may do: the passwords that an RTI accepts, and the permit of each (clauses 4.2, 4.5, 4.6 and 4.11).

use std::collections::BTreeSet;
use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use hemiola_hla::{Exception, Refusal};

use crate::input::SessionId;
use crate::kernel::Kernel;

/// A service for which a permit is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Create federations.
    Create,
    /// Destroy federations.
    Destroy,
    /// Join federations.
    Join,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Create, Self::Destroy, Self::Join];

    /// Returns the word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Destroy => "destroy",
            Self::Join => "join",
        }
    }
}

/// What federates with the same credentials may do.
#[derive(Clone, PartialEq, Eq)]
pub struct Permit {
    /// The password; `None` for federates that connect without credentials.
    pub password: Option<String>,
    /// The services that they may use.
    pub rights: BTreeSet<Right>,
    /// The names of the federations with which they may do it, or how these begin, followed by `*`.
    pub federations: Vec<String>,
}

/// Without the password.
impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Permit");
        text.field("rights", &self.rights).field("federations", &self.federations);
        text.finish_non_exhaustive()
    }
}

impl Permit {
    fn allows(&self, right: Right, federation: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(begin) => federation.starts_with(begin),
            None => pattern == federation,
        };
        self.rights.contains(&right) && self.federations.iter().any(fits)
    }
}

/// The permits of an RTI.
#[derive(Clone, Debug, Default)]
pub enum Authority {
    /// Every federate may do everything.
    #[default]
    Everyone,
    /// A federate needs one of these permits. No two have the same password.
    Permits(Arc<[Arc<Permit>]>),
}

impl Authority {
    /// Returns the permit for a password, or for no credentials; `None` if every federate may do everything.
    ///
    /// It takes as long for a wrong password as for the right one: only the length of the given one counts.
    pub(crate) fn admit(&self, password: Option<&str>) -> Result<Option<Arc<Permit>>, Refusal> {
        let Self::Permits(permits) = self else { return Ok(None) };
        let mut found = None;
        for permit in permits.iter() {
            let is_right = match (&permit.password, password) {
                (Some(password), Some(given)) => is_same(password.as_bytes(), given.as_bytes()),
                (password, given) => password.is_none() && given.is_none(),
            };
            if is_right {
                found = Some(permit);
            }
        }
        let reason = match password {
            Some(_) => "no permit of this RTI has this password",
            None => "this RTI requires credentials of the type HLAplainTextPassword",
        };
        found.cloned().map(Some).ok_or_else(|| Exception::Unauthorized.because(reason))
    }
}

/// Compares without a branch that depends on the content.
fn is_same(password: &[u8], given: &[u8]) -> bool {
    let mut difference = password.len() ^ given.len();
    for (at, byte) in given.iter().enumerate() {
        difference |= usize::from(byte ^ password.get(at).copied().unwrap_or_default());
    }
    black_box(difference) == 0
}

/// Refuses what the credentials of a session do not allow.
pub(crate) fn may(
    kernel: &Kernel,
    session: SessionId,
    right: Right,
    federation: &str,
) -> Result<(), Refusal> {
    let permit = kernel.sessions.get(&session).and_then(|state| state.permit.as_ref());
    if permit.is_none_or(|permit| permit.allows(right, federation)) {
        return Ok(());
    }
    let details = format!("the credentials do not allow to {} {federation:?}", right.word());
    Err(Exception::Unauthorized.because(details))
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn passwords_are_compared_as_a_whole() {
        let all: [&[u8]; 6] = [b"", b"a", b"b", b"ab", b"a\0", b"\0"];
        for one in all {
            for other in all {
                assert_eq!(is_same(one, other), one == other, "{one:?} {other:?}");
            }
        }
    }
}
