//! The greatest available logical time: how far each federate may be granted without waiting (clauses 8.1, 8.17).
//!
//! GALT of a federate is the least time stamp that any *other* time-regulating federate can still send: the
//! least of their contributions. The contribution of one that is granted, or that waits for a time by a time advance
//! request, is its promise. One that waits by a next message request may be granted at the first message before the time
//! it asked for, and such a message may come at its own GALT; so its contribution depends on others',
//! in circles.
//!
//! The circles are solved at once. Let each contribute what it would if no more messages came to it. The least of
//! these, `first`, stands: whatever any message that is still to be sent causes, comes later. It is the GALT of
//! all federates but the one it belongs to. With it, the contributions of the others are known, and the least of those
//! is the GALT of that one.

use hemiola_hla::FederateHandle;

use crate::federation::Federation;
use crate::time::Bound;

/// The GALT of all federates of a federation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Galts {
    /// The least contribution, and whose it is.
    first: Option<(Bound, FederateHandle)>,
    /// The least of the others, and whose it is.
    second: Option<(Bound, FederateHandle)>,
}

impl Galts {
    pub(crate) fn of(federation: &Federation) -> Self {
        let contribution = |federate: &FederateHandle, galt: Option<Bound>| {
            let bound = federation.federate(*federate).time.contribution(galt);
            (bound.expect("only regulating federates are in the list"), *federate)
        };
        let regulating = &federation.regulating;
        let first = regulating.iter().map(|one| contribution(one, None)).min();
        let second = first.and_then(|(bound, whose)| {
            let others = regulating.iter().filter(|one| **one != whose);
            others.map(|one| contribution(one, Some(bound))).min()
        });
        Self { first, second }
    }

    /// That of a federate; `None` if no other federate regulates.
    pub(crate) fn galt(self, federate: FederateHandle) -> Option<Bound> {
        self.held_by(federate).map(|(bound, _)| bound)
    }

    /// That of a federate, and who holds it there.
    pub(crate) fn held_by(self, federate: FederateHandle) -> Option<(Bound, FederateHandle)> {
        self.first.filter(|(_, whose)| *whose != federate).or(self.second)
    }
}

/// Checks what must be true of the times of federates between any two inputs.
pub(crate) fn check_invariants(federation: &Federation) {
    let galts = Galts::of(federation);
    for (handle, federate) in federation.federates() {
        let time = &federate.time;
        if time.constrained {
            let galt = galts.galt(handle);
            assert!(
                galt.is_none_or(|galt| galt >= time.floor()),
                "{} may still get what it was told would not come: {galt:?}, {:?}",
                federate.name,
                time.floor()
            );
        }
        assert!(
            !super::advance::is_due(federation, handle, galts),
            "{} waits for nothing",
            federate.name
        );
    }
}
