//! Asynchronous delivery (clauses 8.15 and 8.16). Without it, a time-constrained federate receives messages in receive
//! order only while it advances.

use hemiola_hla::{Exception, FederateHandle, Reply};

use super::Answer;
use crate::federation::Federation;
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
    while !federation.federate(me).time.holds() {
        let Some(waiting) = federation.time_mut(me).backlog.pop_held() else { break };
        deliver(federation, me, waiting);
    }
}
