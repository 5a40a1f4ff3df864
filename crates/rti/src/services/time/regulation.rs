//! Enabling and disabling time regulation (clauses 8.2 to 8.4).

use hemiola_hla::{Callback, EncodedInterval, Exception, FederateHandle, LogicalTime, Reply};

use super::{Answer, decoded};
use crate::federation::Federation;
use crate::job::{DONE, Step, Task};
use crate::message::{deliver, drop_stale};
use crate::time::Bound;

/// Clause 8.2. No message may arrive in the past of a time-constrained federate. A federate that could send one
/// therefore starts regulating at the time of the most advanced constrained federate. It never has to wait for that:
/// the promises of all other regulating federates are at that time or later, which also covers a federate that is
/// itself time-constrained.
pub(super) fn enable_time_regulation(
    federation: &mut Federation,
    me: FederateHandle,
    lookahead: EncodedInterval,
) -> Answer {
    let state = &federation.federate(me).time;
    if state.known_regulation().is_some() {
        return Err(Exception::TimeRegulationAlreadyEnabled.into());
    }
    if state.is_regulation_pending() {
        return Err(Exception::RequestForTimeRegulationPending.into());
    }
    if state.is_advancing() {
        return Err(Exception::InTimeAdvancingState.into());
    }
    let lookahead = decoded(federation, lookahead)?;
    let others =
        federation.federates().filter(|(handle, other)| *handle != me && other.time.constrained);
    let passed = others.map(|(_, other)| other.time.decided_floor()).max();
    let mut now = state.now();
    let least = passed.unwrap_or_else(|| Bound::from(now));
    if Bound::from(now).plus(lookahead) < least {
        now = now.max(least.time());
    }
    federation.time_mut(me).regulate(now, lookahead, least);
    federation.time_changed = true;
    federation.start(me, Task::Regulate(Regulate { now }));
    Ok(Reply::Done)
}

/// Delivery of the messages in the past of a federate that now regulates, and the confirmation.
#[derive(Debug)]
pub(crate) struct Regulate {
    now: LogicalTime,
}

impl Regulate {
    pub(crate) fn step(&mut self, federation: &mut Federation, me: FederateHandle) -> Step {
        let backlog = &mut federation.time_mut(me).backlog;
        if let Some(waiting) = backlog.pop_if(|one| one < self.now) {
            deliver(federation, me, &waiting);
            return Step::Continue(());
        }
        drop_stale(federation, me);
        // Clause 8.3.
        federation.send_callback(me, Callback::TimeRegulationEnabled { time: self.now.into() });
        DONE
    }
}

/// Clause 8.4. Messages already sent keep their time stamps, but can no longer be retracted.
pub(super) fn disable_time_regulation(federation: &mut Federation, me: FederateHandle) -> Answer {
    let state = federation.time_mut(me);
    if state.known_regulation().is_none() {
        return Err(Exception::TimeRegulationIsNotEnabled.into());
    }
    state.stop_regulating();
    super::retraction::prune(federation, me);
    federation.time_changed = true;
    Ok(Reply::Done)
}
