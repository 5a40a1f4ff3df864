//! Advance requests and their grants (clauses 8.8 to 8.14).

use std::sync::Arc;

use hemiola_hla::{Callback, EncodedTime, Exception, FederateHandle, LogicalTime, Refusal, Reply};

use super::galt::Galts;
use super::{Answer, constrained, delivery, retraction};
use crate::federation::Federation;
use crate::message::{deliver, drop_stale, drop_unwanted};
use crate::notice::Notice;
use crate::time::{Advance, AdvanceService, Bound};

/// Checks the preconditions of every request and decodes the requested time.
fn requested(
    federation: &Federation,
    me: FederateHandle,
    time: EncodedTime,
) -> Result<LogicalTime, Refusal> {
    let state = &federation.federate(me).time;
    if state.constrained_pending.is_some() {
        return Err(Exception::RequestForTimeConstrainedPending.into());
    }
    if state.advance().is_some() {
        return Err(Exception::InTimeAdvancingState.into());
    }
    let time = time
        .decode(federation.implementation)
        .map_err(|error| Exception::InvalidLogicalTime.because(error.to_string()))?;
    if time < state.now() {
        let details = format!("{time} is before {}", state.now());
        return Err(Exception::LogicalTimeAlreadyPassed.because(details));
    }
    Ok(time)
}

/// Clauses 8.8 to 8.11. [`grant`] grants the request, possibly at once.
pub(super) fn request(
    federation: &mut Federation,
    me: FederateHandle,
    service: AdvanceService,
    time: EncodedTime,
) -> Answer {
    let until = requested(federation, me, time)?;
    let since = federation.now;
    federation.federate_mut(me).time.request(Advance { service, until, since });
    federation.waiting.insert(me);
    federation.time_changed = true;
    delivery::release(federation, me);
    Ok(Reply::Done)
}

/// Clause 8.12. Delivers every queued message whatever its time stamp, and grants at once: the least of GALT, the first
/// message's time and the requested time. The optimistic time leaves GALT out.
pub(super) fn flush_queue_request(
    federation: &mut Federation,
    me: FederateHandle,
    time: EncodedTime,
) -> Answer {
    let until = requested(federation, me, time)?;
    drop_unwanted(federation, me, |_| true);
    let state = &federation.federate(me).time;
    let optimistic = state.head().map_or(until, |head| head.min(until));
    let galt = if state.constrained { Galts::of(federation).galt(me) } else { None };
    let granted = galt.map_or(optimistic, |galt| galt.time().min(optimistic));
    let since = federation.now;
    let service = AdvanceService::TimeAdvanceRequestAvailable;
    let granted = granted.max(federation.federate(me).time.now());
    // While it advances, the federate receives held messages too.
    federation.federate_mut(me).time.request(Advance { service, until: granted, since });
    delivery::release(federation, me);
    while let Some(waiting) = federation.federate_mut(me).time.backlog.pop_if(|_| true) {
        deliver(federation, me, waiting);
    }
    federation.federate_mut(me).time.arrive(granted, Bound::from(granted));
    federation.time_changed = true;
    retraction::prune(federation, me);
    let callback =
        Callback::FlushQueueGrant { time: granted.into(), optimistic_time: optimistic.into() };
    federation.send_notice(me, Arc::new(Notice::new(callback)));
    Ok(Reply::Done)
}

/// Ends every wait that can end: grants advances (clause 8.14) and makes federates time-constrained (clause 8.6). This
/// does not change the GALT of other federates, so one pass is enough. A federate that does not want the message it
/// would stop at is handled in the next pass.
pub(crate) fn grant(federation: &mut Federation) {
    if federation.waiting.is_empty() {
        return;
    }
    let galts = Galts::of(federation);
    let waiting: Vec<FederateHandle> = federation.waiting.iter().copied().collect();
    for federate in waiting {
        if !is_due(federation, federate, galts) || skips_unwanted(federation, federate) {
            continue;
        }
        federation.waiting.remove(&federate);
        match federation.federate(federate).time.advance() {
            Some(advance) => grant_advance(federation, federate, advance),
            None => constrained::time_constrained_enabled(federation, federate),
        }
    }
}

/// Returns whether a federate's wait can end.
pub(super) fn is_due(federation: &Federation, federate: FederateHandle, galts: Galts) -> bool {
    let state = &federation.federate(federate).time;
    let galt = galts.galt(federate);
    match state.advance() {
        Some(_) if !state.constrained => true,
        Some(advance) => {
            let Some(galt) = galt else {
                return !federation.waits_for_regulation || !federation.regulating.is_empty();
            };
            let needed = advance.service.bound_at(destination(federation, federate, advance));
            galt >= needed
        }
        None if state.constrained_pending.is_some() => {
            galt.is_none_or(|galt| galt >= Bound::from(state.now()))
        }
        None => false,
    }
}

/// Drops messages that the federate would stop at but does not subscribe to. Returns whether its request now leads
/// further.
fn skips_unwanted(federation: &mut Federation, federate: FederateHandle) -> bool {
    let Some(advance) = federation.federate(federate).time.advance() else { return false };
    if !federation.delays_evaluation || !advance.service.stops_at_messages() {
        return false;
    }
    let time = destination(federation, federate, advance);
    drop_unwanted(federation, federate, |one| one <= time);
    destination(federation, federate, advance) != time
}

/// Returns where a request leads: to its time, or to an earlier message if it stops at messages.
fn destination(federation: &Federation, federate: FederateHandle, advance: Advance) -> LogicalTime {
    let head = federation.federate(federate).time.head();
    match head {
        Some(head) if advance.service.stops_at_messages() => head.min(advance.until),
        _ => advance.until,
    }
}

/// Clause 8.14. Delivers the messages that are due, in time stamp order, and then grants the time.
fn grant_advance(federation: &mut Federation, me: FederateHandle, advance: Advance) {
    let time = destination(federation, me, advance);
    while let Some(waiting) = federation.federate_mut(me).time.backlog.pop_if(|one| one <= time) {
        deliver(federation, me, waiting);
    }
    drop_stale(federation, me);
    let floor = advance.service.bound_at(time);
    federation.federate_mut(me).time.arrive(time, floor);
    retraction::prune(federation, me);
    federation.send_callback(me, Callback::TimeAdvanceGrant { time: time.into() });
}
