//! The greatest available logical time: how far each federate can be granted without waiting (clauses 8.1, 8.17).
//!
//! A federate's GALT is the least time stamp that any *other* time-regulating federate can still send, which is the
//! least of their contributions. A federate that has been granted, or that waits for a time advance request,
//! contributes its promise. A federate that waits for a next message request may be granted at a message before the
//! requested time, and such a message may arrive at its own GALT; so contributions depend on each other in a cycle.
//!
//! The cycle has a closed form. Assume that no further messages arrive, and take the least contribution under this
//! assumption, `first`. It stands: everything that a future message causes comes later. It is the GALT of every
//! federate except the one that contributes it. With it, the contributions of the others are known, and the least of
//! these is the GALT of that one federate.

use hemiola_hla::FederateHandle;

use crate::federation::Federation;
use crate::time::Bound;

/// The GALTs of all federates of a federation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Galts {
    /// The least contribution, and the federate that makes it.
    pub(super) first: Option<(Bound, FederateHandle)>,
    /// The least contribution of the others, and the federate that makes it.
    pub(super) second: Option<(Bound, FederateHandle)>,
}

impl Galts {
    /// Computes them from the state of every federate. Services use [`Federation::galts`], which need not look at all.
    pub(crate) fn of(federation: &Federation) -> Self {
        let least = |galt: Option<Bound>, but: Option<FederateHandle>| {
            let others = federation.federates().filter(|(one, _)| Some(*one) != but);
            others
                .filter_map(|(one, federate)| Some((federate.time.contribution(galt)?, one)))
                .min()
        };
        let first = least(None, None);
        let second = first.and_then(|(galt, whose)| least(Some(galt), Some(whose)));
        Self { first, second }
    }

    /// Returns a federate's GALT; `None` if no other federate is regulating.
    pub(crate) fn galt(self, federate: FederateHandle) -> Option<Bound> {
        self.held_by(federate).map(|(bound, _)| bound)
    }

    /// Returns a federate's GALT and the federate that limits it.
    pub(crate) fn held_by(self, federate: FederateHandle) -> Option<(Bound, FederateHandle)> {
        self.first.filter(|(_, whose)| *whose != federate).or(self.second)
    }
}

/// Checks the invariants of time between any two inputs.
pub(crate) fn check_invariants(federation: &Federation) {
    let galts = Galts::of(federation);
    for (handle, federate) in federation.federates() {
        let time = &federate.time;
        if time.constrained {
            let galt = galts.galt(handle);
            assert!(
                galt.is_none_or(|galt| galt >= time.decided_floor()),
                "{} may still receive a message it was promised not to: {galt:?}, {:?}",
                federate.name,
                time.decided_floor()
            );
        }
        // A federate with jobs is granted when they have ended.
        let waits_for_work =
            federation.time_changed || federation.is_busy(handle) || federation.saving.holds(time);
        assert!(
            waits_for_work || !super::advance::is_due(federation, handle, galts),
            "{} waits although it can be granted",
            federate.name
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hemiola_fom::Model;
    use hemiola_hla::{LogicalInterval, LogicalTime, TimeImplementation};
    use hemiola_units::{Instant, Random};

    use super::*;
    use crate::backlog::QueuedMessage;
    use crate::federate::{Edition, Federate};
    use crate::input::SessionId;
    use crate::limits::Limits;
    use crate::time::{Advance, AdvanceService};

    fn time(value: u64) -> LogicalTime {
        LogicalTime::integer(value as i64).unwrap()
    }

    /// A federation whose federates have random times, requests and queued messages.
    fn random(model: &Arc<Model>, random: &mut Random) -> Federation {
        let integer = TimeImplementation::Integer64;
        let mut federation = Federation::new(
            "x".into(),
            Arc::clone(model),
            integer,
            Limits::default(),
            Arc::default(),
            Instant::ZERO,
        );
        for number in 0..1 + random.below(5) {
            let name = number.to_string();
            let session = SessionId(number);
            let (model, account) = (&federation.model, Arc::clone(&federation.account));
            let federate =
                Federate::new(name, String::new(), session, Edition::Hla4, model, integer, account);
            let handle = federation.join(federate);
            let state = federation.time_mut(handle);
            let now = random.below(4);
            if random.below(4) > 0 {
                let lookahead = LogicalInterval::integer(random.below(3) as i64).unwrap();
                state.regulate(time(now), lookahead, Bound::from(time(now)));
            }
            state.constrain();
            for sequence in 0..random.below(3) {
                let message = QueuedMessage::numbered(sequence);
                state.backlog.push_ordered(time(now + random.below(10)), message);
            }
            let services = [
                AdvanceService::NextMessageRequest,
                AdvanceService::NextMessageRequestAvailable,
                AdvanceService::TimeAdvanceRequest,
                AdvanceService::TimeAdvanceRequestAvailable,
            ];
            if let Some(service) = services.get(random.below(5) as usize) {
                let until = time(now + random.below(12));
                state.request(Advance { service: *service, until, since: Instant::ZERO });
            }
        }
        federation
    }

    /// Follows the definition: iterates from no bounds down to a fixed point.
    fn by_iteration(federation: &Federation) -> Vec<Option<Bound>> {
        let all: Vec<FederateHandle> = federation.joined().iter().copied().collect();
        let mut galts = vec![None; all.len()];
        loop {
            let contribution =
                |at: usize| federation.federate(all[at]).time.contribution(galts[at]);
            let contributions: Vec<Option<Bound>> = (0..all.len()).map(contribution).collect();
            let others = |at: usize| {
                (0..all.len())
                    .filter(|other| *other != at)
                    .filter_map(|other| contributions[other])
                    .min()
            };
            let next: Vec<Option<Bound>> = (0..all.len()).map(others).collect();
            if next == galts {
                return galts;
            }
            galts = next;
        }
    }

    #[test]
    fn the_closed_form_equals_the_fixed_point() {
        let (model, _) = hemiola_fom::merge(&[], None).unwrap();
        let model = Arc::new(model);
        let mut numbers = Random::from_seed(8);
        for _ in 0..20_000 {
            let mut federation = random(&model, &mut numbers);
            let fixed_point = by_iteration(&federation);
            for galts in [Galts::of(&federation), federation.galts()] {
                let closed: Vec<Option<Bound>> =
                    federation.joined().iter().map(|federate| galts.galt(*federate)).collect();
                assert_eq!(closed, fixed_point, "{federation:?}");
            }
        }
    }
}
