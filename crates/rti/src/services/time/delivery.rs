//! Asynchronous delivery (clauses 8.15 and 8.16). Without it, a time-constrained federate receives messages in receive
//! order only while it advances.

use hemiola_hla::{Exception, FederateHandle, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::job::{DONE, Step, Task};
use crate::message::deliver;

/// Clause 8.15.
pub(super) fn enable_asynchronous_delivery(
    federation: &mut Federation,
    me: FederateHandle,
) -> Answer {
    let state = federation.time_mut(me);
    if state.asynchronous_delivery {
        return Err(Exception::AsynchronousDeliveryAlreadyEnabled.into());
    }
    state.asynchronous_delivery = true;
    release(federation, me);
    Ok(Reply::Done)
}

/// Clause 8.16.
pub(super) fn disable_asynchronous_delivery(
    federation: &mut Federation,
    me: FederateHandle,
) -> Answer {
    let state = federation.time_mut(me);
    if !state.asynchronous_delivery {
        return Err(Exception::AsynchronousDeliveryAlreadyDisabled.into());
    }
    state.asynchronous_delivery = false;
    Ok(Reply::Done)
}

/// Delivers held messages, in sending order, to a federate that may receive them now.
pub(super) fn release(federation: &mut Federation, me: FederateHandle) {
    let time = &federation.federate(me).time;
    if !time.holds() && time.backlog.has_held() {
        federation.start(me, Task::Release { newest: federation.sequence });
    }
}

/// Delivers the next held message.
pub(crate) fn release_step(federation: &mut Federation, me: FederateHandle, newest: u64) -> Step {
    match federation.federate_mut(me).time.backlog.pop_held_until(newest) {
        Some(waiting) => {
            deliver(federation, me, &waiting);
            Step::Continue(())
        }
        None => DONE,
    }
}

/// Delivers messages that arrived during a release, unless the federate has been granted time in between and holds them
/// again.
pub(crate) fn release_rest(federation: &mut Federation, me: FederateHandle) {
    if federation.joined_federate(me).is_some_and(|one| one.jobs == 0 && one.is_staying()) {
        release(federation, me);
    }
}
