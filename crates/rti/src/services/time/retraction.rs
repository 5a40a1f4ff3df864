//! Retraction of messages (clauses 8.22 and 8.23).

use std::collections::BTreeSet;
use std::sync::Arc;

use hemiola_hla::{Callback, Exception, FederateHandle, MessageRetractionHandle, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::message::{drop_stale, sender_and_number};
use crate::notice::Notice;
use crate::services::object;
use crate::time::Sent;

/// Clause 8.22. A federate may retract a message as long as it could still send it; later, receivers may have acted on
/// it. Receivers that have the message are asked to undo it (clause 8.23); the others never receive it.
pub(super) fn retract(
    federation: &mut Federation,
    me: FederateHandle,
    retraction: MessageRetractionHandle,
) -> Answer {
    let state = &federation.federate(me).time;
    let Some(bound) = state.output_bound() else {
        return Err(Exception::TimeRegulationIsNotEnabled.into());
    };
    let (sender, number) = sender_and_number(retraction);
    let sent = state.sent.get(&number).filter(|_| sender == me);
    if sent.is_none() && (sender != me || number == 0 || number > state.sent_count) {
        return Err(Exception::InvalidMessageRetractionHandle.because(retraction.to_string()));
    }
    if !sent.is_some_and(|sent| bound.allows(sent.time)) {
        return Err(Exception::MessageCanNoLongerBeRetracted.into());
    }
    let sent = federation.federate_mut(me).time.sent.remove(&number);
    let Sent { time, sequence, receivers, deletes } = sent.expect("just seen");
    let notice = Arc::new(Notice::new(Callback::RequestRetraction { retraction }));
    // A receiver that became constrained between two parts may have both kinds, and is asked once.
    let receivers: BTreeSet<FederateHandle> = receivers.into_iter().collect();
    for receiver in receivers {
        if federation.joined_federate(receiver).is_none() {
            continue;
        }
        let state = federation.time_mut(receiver);
        let has_it = !state.backlog.retract(retraction, time, sequence);
        drop_stale(federation, receiver);
        if has_it {
            federation.send_notice(receiver, Arc::clone(&notice));
        }
    }
    if let Some(instance) = deletes {
        object::undelete(federation, instance);
    }
    federation.time_changed = true;
    Ok(Reply::Done)
}

/// Forgets messages that a federate can no longer retract.
pub(super) fn prune(federation: &mut Federation, me: FederateHandle) {
    let state = &mut federation.federate_mut(me).time;
    if state.sent.is_empty() {
        return;
    }
    let bound = state.output_bound();
    let mut deleted = Vec::new();
    state.sent.retain(|_, sent| {
        let kept = bound.is_some_and(|bound| bound.allows(sent.time));
        if !kept {
            deleted.extend(sent.deletes);
        }
        kept
    });
    for instance in deleted {
        object::deletion_is_final(federation, instance);
    }
}
