//! Retraction of messages (clauses 8.22 and 8.23).

use std::collections::BTreeSet;
use std::sync::Arc;

use hemiola_hla::{Callback, Exception, FederateHandle, MessageRetractionHandle, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::job::{DONE, Step, Task};
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
    let Sent { time, sequence, receivers, deletes, .. } = sent.expect("just seen");
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

/// Messages looked at in one step.
const MESSAGES: usize = 16;
/// The cost of forgetting one of them, in units of work: its entry is removed, and its list of receivers freed.
const FORGET: u64 = 2;

/// Forgets messages that a federate can no longer retract.
pub(super) fn prune(federation: &mut Federation, me: FederateHandle) {
    if !federation.federate(me).time.sent.is_empty() {
        federation.start(me, Task::Prune { from: 0 });
    }
}

/// Does so for the next few messages.
pub(crate) fn prune_step(federation: &mut Federation, me: FederateHandle, from: &mut u32) -> Step {
    let bound = federation.federate(me).time.output_bound();
    let is_over = |sent: &Sent| !bound.is_some_and(|bound| bound.allows(sent.time));
    if *from == 0 {
        // Mostly the messages are over in the order in which they were sent, and then none is left.
        for _ in 0..MESSAGES {
            let sent = &mut federation.federate_mut(me).time.sent;
            let Some(oldest) = sent.first_entry() else { return DONE };
            if !is_over(oldest.get()) {
                break;
            }
            let Sent { deletes, .. } = oldest.remove();
            federation.spend(FORGET);
            if let Some(instance) = deletes {
                object::deletion_is_final(federation, instance);
            }
        }
    }
    let state = &federation.federate(me).time;
    let (mut last, mut over) = (None, Vec::new());
    for (number, sent) in state.sent.range(*from..).take(MESSAGES) {
        last = Some(*number);
        over.extend(is_over(sent).then_some(*number));
    }
    for number in over {
        federation.spend(FORGET);
        let sent = federation.federate_mut(me).time.sent.remove(&number);
        if let Some(Sent { deletes: Some(instance), .. }) = sent {
            object::deletion_is_final(federation, instance);
        }
    }
    match last.and_then(|last| last.checked_add(1)) {
        Some(next) => {
            *from = next;
            Step::Continue(())
        }
        None => DONE,
    }
}
